"""Checks of a certificate against the released file, its mechanism, and the ledger at hand."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.certificate import (
    Certificate,
    CertificateError,
    Finding,
    certificate_path,
    reading_of,
)
from discreet.log.digest import content_digest
from discreet.log.errors import LogError
from discreet.log.events import EventLog
from discreet.log.expansion import numbered
from discreet.log.files import LOG_SUFFIXES, readable
from discreet.log.formats.variant_tables import is_variant_table, read_variants, variants_digest
from discreet.log.loading import read_log
from discreet.mechanisms.certified import follows_from_parameters
from discreet.report.officer import BookedEntry
from discreet.training.trained_model import SUFFIX, model_certificate

if TYPE_CHECKING:
    from discreet.ledger.account import Account


CERTIFICATE_SUFFIX = ".certificate.json"


def read_certificate(path: str | Path) -> Certificate:
    """The certificate inside a released file, or else the one beside it."""
    return check_certificate(path)[0]


def check_certificate(path: str | Path) -> tuple[Certificate, list[Finding]]:
    """Read a file's certificate and check it against the file and against its own mechanism.

    It finds a file or a certificate edited by accident or in haste. Someone who forges both
    consistently is not found: that takes a signature and a key.
    """
    path = Path(path)
    beside_path = certificate_path(path)
    beside = None
    if beside_path.is_file():
        beside = Certificate.from_json(beside_path.read_text(encoding="utf-8", errors="replace"))
    if beside is not None and beside.artefact not in ("log", "variants"):
        inside, digests = None, iter((_digest(path),))
    else:
        inside, digests = _inside(path)
    certificate = inside or beside
    if certificate is None:
        raise CertificateError(
            f"{path.name} carries no certificate and {beside_path.name} is not beside it; "
            "only files written by discreet release or discreet train have one"
        )
    findings = []
    if inside is not None and beside is not None:
        same = inside.to_json() == beside.to_json()
        check = "the certificate inside the file and the one beside it agree"
        findings.append(Finding.of(check, same, "they differ: one of them was changed"))
    same = any(certificate.content_sha256 == digest for digest in digests)
    problem = "the file was changed after its release"
    findings.append(Finding.of("the content is what was released", same, problem))
    findings.append(follows_from_parameters(certificate))
    if not any(finding.outcome == "fails" for finding in findings):
        findings.append(Finding.of_seal(certificate))
    return certificate, findings


def checked(path: Path) -> tuple[Certificate, list[Finding]]:
    """The certificate of a released file, or one without its file, with the findings about it."""
    released = path.with_name(path.name.removesuffix(CERTIFICATE_SUFFIX))
    if released == path or released.is_file():
        return check_certificate(released)
    with readable(path):
        text = path.read_text(encoding="utf-8", errors="replace")
    certificate = Certificate.from_json(text)
    return certificate, [
        Finding("the content is what was released", "unknown", f"{released.name} is not beside it"),
        follows_from_parameters(certificate),
        Finding.of_seal(certificate),
    ]


def entry_of(certificate: Certificate) -> BookedEntry | None:
    """The ledger's entry that booked the certified release, if there is a ledger and an entry."""
    from discreet.ledger.errors import LedgerError
    from discreet.ledger.ledger import Ledger
    from discreet.ledger.location import locate

    location = locate()
    if certificate.ledger != "booked" or not location.in_use:
        return None
    digest = hashlib.sha256(certificate.to_json().encode()).hexdigest()
    try:
        with Ledger(location) as ledger:
            for row in ledger.history():
                if digest in row.get("certificates", ()):
                    return _entry(row, ledger.account(row["source"]))
    except LedgerError:
        return None
    return None


def _inside(path: Path) -> tuple[Certificate | None, Iterator[str]]:
    """The certificate embedded in a log or a model, if any, and digests of the content."""
    digests: Iterator[str]
    if path.name.lower().endswith(SUFFIX):
        found, digest = model_certificate(path)
        return found, iter((digest,))
    if not path.name.lower().endswith(LOG_SUFFIXES):
        return None, iter((_digest(path),))
    if is_variant_table(path):
        variants, attributes = read_variants(path)
        digests = iter((variants_digest(variants),))
    else:
        log = read_log(path, allow_empty=True, **reading_of(path))
        attributes, digests = log.attributes, _digests(log)
    text = attributes.get("dp:certificate")
    return (Certificate.from_json(text) if isinstance(text, str) else None), digests


def _digests(log: EventLog) -> Iterator[str]:
    """The digest of the log; also that of its variants, if it is only their table written out."""
    content = content_digest(log)
    yield content
    if content == content_digest(numbered(log.variants)):
        yield variants_digest(log.variants)


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise LogError(f"{path} cannot be read: {error.strerror or error}") from None


def _entry(row: dict[str, Any], account: Account) -> BookedEntry:
    return BookedEntry(
        source=row["source"],
        number=row["number"],
        time=str(row["time"])[:16].replace("T", " "),
        purpose=row.get("purpose") or "",
        unit=account.unit,
        neighbours=account.neighbours,
        cap=str(account.cap),
        releases=account.releases,
        used=account.used,
        left=account.left(),
    )
