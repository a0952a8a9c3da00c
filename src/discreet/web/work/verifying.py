"""Checking a certificate that any user brings, alone or with its released file."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from discreet.releasing.verification import checked
from discreet.report.officer import officer_page
from discreet.web.work.reading import check_unpacked


def verify(spec: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Check a certificate; the page says everything that `discreet certificate --html` would."""
    path = Path(spec["file"])
    check_unpacked(path, spec["unpacked"])
    certificate, findings = checked(path)
    page = officer_page(certificate, findings, file=spec["name"])
    (folder / "certificate.html").write_text(page, encoding="utf-8")
    return {
        "checks": [asdict(finding) for finding in findings],
        "mechanism": certificate.mechanism,
        "holds": certificate.guarantee.bound(),
        "explanation": certificate.guarantee.explain(),
        "certificate": certificate.to_dict(),
        "page": "certificate.html",
    }
