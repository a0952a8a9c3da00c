"""Audit a released file: is its certificate true to the file, the mechanism and the noise?"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.certificate import Certificate, Finding
from discreet.verification import check_certificate

if TYPE_CHECKING:
    from discreet.log.events import EventLog
    from discreet.releases import Release

SEEDED = "the noise is not that of a guessable seed"


def audit_file(
    path: str | Path, log: EventLog | None = None, seeds: Iterable[int] = range(100)
) -> tuple[Certificate, list[Finding]]:
    """Check a released file's certificate; with the raw log, also try seeds.

    A release whose noise came from a seed can be drawn again by whoever guesses the seed. If one
    of `seeds` gives this very file, its noise protects nobody, whatever its certificate says.
    """
    certificate, findings = check_certificate(path)
    if log is None:
        return certificate, findings
    tried = list(seeds)
    seed = _reproduced(certificate, log, tried)
    if seed is None:
        findings.append(Finding(SEEDED, "holds", f"{len(tried)} seeds tried"))
    else:
        admitted = "" if certificate.guarantee.randomness == "seeded" else ", though it says not"
        detail = f"seed {seed} draws this very release from the log{admitted}"
        findings.append(Finding(SEEDED, "fails", detail))
    return certificate, findings


def _reproduced(certificate: Certificate, log: EventLog, seeds: Iterable[int]) -> int | None:
    from discreet.mechanisms.certified import mechanism_of

    chosen = mechanism_of(certificate)
    for seed in seeds:
        release = chosen.release(log, insecure_seed=seed)
        if certificate.content_sha256 in _digests(release):
            return seed
    return None


def _digests(release: Release) -> list[str]:
    """What the file would be, in each format it could be written in.

    An empty release is the same whatever the seed, so it shows nothing.
    """
    import hashlib

    from discreet.log.digest import content_digest
    from discreet.releases import Document, render

    if isinstance(release.artefact, Document):
        texts = [render(release.artefact, suffix) for suffix in release.artefact.suffixes]
        return [hashlib.sha256(text.encode()).hexdigest() for text in texts]
    log = release.log()
    return [content_digest(log)] if log.cases else []
