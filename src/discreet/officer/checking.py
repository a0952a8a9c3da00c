"""A certificate with all that can be checked of it here: file, mechanism, ledger."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.artefacts.certificate import Certificate, Finding
from discreet.log.files import readable
from discreet.mechanisms.certified import follows_from_parameters
from discreet.releasing.verification import check_certificate

if TYPE_CHECKING:
    from discreet.ledger.account import Account

SUFFIX = ".certificate.json"


@dataclass(frozen=True)
class Entry:
    """Where the ledger at hand has booked a release, and how its account stands now."""

    source: str
    number: int
    time: str
    purpose: str
    account: Account


def checked(path: Path) -> tuple[Certificate, list[Finding]]:
    """The certificate of a released file, or one that came alone, and how its checks came out."""
    released = path.with_name(path.name.removesuffix(SUFFIX))
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


def entry_of(certificate: Certificate) -> Entry | None:
    """What the ledger at hand, if there is one, says of the release with this certificate."""
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


def _entry(row: dict[str, Any], account: Account) -> Entry:
    time = str(row["time"])[:16].replace("T", " ")
    return Entry(row["source"], row["number"], time, row.get("purpose") or "", account)
