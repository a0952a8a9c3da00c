"""Check a released file's certificate against the file and against the mechanism it names."""

from __future__ import annotations

import hashlib
from pathlib import Path

from discreet.certificate import (
    Certificate,
    CertificateError,
    Finding,
    certificate_path,
    reading_of,
)
from discreet.generative.model import SUFFIX, model_certificate
from discreet.log.digest import content_digest
from discreet.log.errors import LogError
from discreet.log.files import LOG_SUFFIXES
from discreet.log.reading import read_log
from discreet.log.variant_tables import is_variant_table, read_variants, variants_digest
from discreet.mechanisms.certified import follows_from_parameters


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
        inside, digest = None, _digest(path)
    else:
        inside, digest = _inside(path)
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
    same = certificate.content_sha256 == digest
    problem = "the file was changed after its release"
    findings.append(Finding.of("the content is what was released", same, problem))
    findings.append(follows_from_parameters(certificate))
    if not any(finding.outcome == "fails" for finding in findings):
        findings.append(Finding.of_seal(certificate))
    return certificate, findings


def _inside(path: Path) -> tuple[Certificate | None, str]:
    """The certificate embedded in a log or a model, if any, and the digest of the content."""
    if path.name.lower().endswith(SUFFIX):
        return model_certificate(path)
    if not path.name.lower().endswith(LOG_SUFFIXES):
        return None, _digest(path)
    if is_variant_table(path):
        variants, attributes = read_variants(path)
        digest = variants_digest(variants)
    else:
        log = read_log(path, allow_empty=True, **reading_of(path))
        attributes, digest = log.attributes, content_digest(log)
    text = attributes.get("dp:certificate")
    return (Certificate.from_json(text) if isinstance(text, str) else None), digest


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise LogError(f"{path} cannot be read: {error.strerror or error}") from None
