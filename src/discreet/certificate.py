"""Certificate: the guarantee as it travels with a released file."""

from __future__ import annotations

import hashlib
import json
import platform
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from discreet._version import __version__
from discreet.errors import DiscreetError
from discreet.log.log_attributes import Attribute
from discreet.privacy.guarantee import Guarantee

FORMAT = "discreet certificate 1"

_ESCAPES = {0xFFFE: "\\ufffe", 0xFFFF: "\\uffff"}
"""Characters that JSON allows unescaped and XML cannot carry, with their escapes."""

LedgerUse = Literal["none", "booked", "bypassed"]
"""Whether the release was booked against a cap, or bypassed the ledger by choice."""


def versions() -> dict[str, str]:
    """Versions of the software that writes a certificate."""
    return {"discreet": __version__, "python": platform.python_version()}


@dataclass(frozen=True)
class Certificate:
    """A released file's statement about itself: the promise, how it was made, a digest."""

    guarantee: Guarantee
    mechanism: str
    parameters: dict[str, Any]
    artefact: str
    artificial_times: bool
    notes: tuple[str, ...] = ()
    ledger: LedgerUse = "none"
    strength: str = ""
    """Strength of the protection: strong, moderate, weak, hardly any or none."""
    warnings: tuple[str, ...] = ()
    """Warnings beside the promise; they follow from it and from what was released."""
    versions: dict[str, str] = field(default_factory=versions)
    content_sha256: str | None = None
    columns: dict[str, str] = field(default_factory=dict)
    """Names of columns in CSV and Parquet files of the release, if not the standard ones."""
    seal_sha256: str = field(init=False, default="")
    """A digest of everything above, so that no line of it is changed unnoticed."""

    intact: bool = field(init=False, default=True, compare=False)
    """Whether it still reads as it was written."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "seal_sha256", _sealed(self.to_dict()))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        values = asdict(self)
        del values["intact"]
        return {"format": FORMAT, **values}

    def to_json(self) -> str:
        """The canonical text."""
        return json.dumps(self.to_dict(), ensure_ascii=False, sort_keys=True, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Certificate:
        """Inverse of `to_json`; raises CertificateError on anything else."""
        try:
            values = json.loads(text)
            if values.pop("format") != FORMAT:
                raise ValueError("unknown format")
            seal = str(values.get("seal_sha256", ""))
            intact = seal == _sealed(values)  # as it was read: later versions may say more
            values.pop("seal_sha256", None)
            values["guarantee"] = Guarantee.from_dict(values["guarantee"])
            values["notes"] = tuple(values["notes"])
            values["warnings"] = tuple(values.get("warnings", ()))
            certificate = cls(**values)
            object.__setattr__(certificate, "seal_sha256", seal)
            object.__setattr__(certificate, "intact", intact)
            return certificate
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise CertificateError(f"this is not a certificate of discreet: {error}") from error

    def log_attributes(self) -> dict[str, Attribute]:
        """The certificate as attributes of a log: our dp: extension and the privacy: one.

        The privacy metadata of Rafiei and van der Aalst names the operations on the log; its
        `no_modified_traces` is a raw count and is never written.
        """
        promise = self.guarantee
        stated = [
            Attribute("dp:mechanism", self.mechanism),
            Attribute("dp:status", promise.status),
            Attribute("dp:neighbours", promise.neighbours),
            Attribute("dp:unit", promise.unit),
            Attribute("dp:private", promise.private),
        ]
        if promise.holds is not None:
            stated.append(Attribute("dp:epsilon", promise.holds.epsilon))
            stated.append(Attribute("dp:delta", promise.holds.delta))
        operations = [("substitution", "case", "case:concept:name")]
        if self.artefact == "variants":
            operations += [
                ("suppression", "case", "concept:name"),
                ("addition", "case", "concept:name"),
            ]
        if self.artificial_times:
            operations.append(("substitution", "event", "time:timestamp"))
            stated.append(Attribute("dp:times", "artificial"))
        anonymizers = tuple(
            Attribute(
                f"privacy:anonymizer{number}",
                number,
                (
                    Attribute("privacy:operation type", operation),
                    Attribute("privacy:level", level),
                    Attribute("privacy:target", target),
                ),
            )
            for number, (operation, level, target) in enumerate(operations, start=1)
        )
        stated += [
            Attribute("dp:certificate", self.to_json().translate(_ESCAPES)),
            Attribute("privacy:anonymizations", len(anonymizers), anonymizers),
        ]
        return {attribute.key: attribute for attribute in stated}

    def to_file(self) -> bytes:
        """The text that lies beside a released file."""
        text = json.dumps(self.to_dict(), ensure_ascii=False, indent=2, sort_keys=True)
        return text.encode() + b"\n"


def _sealed(values: dict[str, Any]) -> str:
    """The digest of everything that a certificate says, except that digest and the format."""
    said = {key: value for key, value in values.items() if key not in ("seal_sha256", "format")}
    text = json.dumps(said, ensure_ascii=False, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


class CertificateError(DiscreetError, ValueError):
    """No certificate was found where one was expected, or it cannot be read."""


@dataclass(frozen=True)
class Finding:
    """One check of a certificate and how it came out."""

    check: str
    outcome: Literal["holds", "fails", "unknown"]
    detail: str

    @classmethod
    def of(cls, check: str, holds: bool, problem: str) -> Finding:
        """A check that holds, or one that fails with its problem."""
        return cls(check, "holds", "") if holds else cls(check, "fails", problem)

    @classmethod
    def of_seal(cls, certificate: Certificate) -> Finding:
        """The check whether a certificate's own seal fits it."""
        problem = "its text was changed after the release"
        return cls.of("the certificate reads as it was written", certificate.intact, problem)


def certificate_path(path: Path) -> Path:
    """The path of a released file's certificate."""
    return path.with_name(path.name + ".certificate.json")


def reading_of(path: Path) -> dict[str, Any]:
    """Options that read a released CSV or Parquet file by its own column names."""
    from discreet.log.columns import WORDS
    from discreet.log.files import XES_SUFFIXES
    from discreet.log.formats.parquet import metadata_of

    text = None
    if certificate_path(path).is_file():
        text = certificate_path(path).read_text(encoding="utf-8", errors="replace")
    elif path.name.lower().endswith(".parquet"):
        text = metadata_of(path).get("dp:certificate")
    if text is None or path.name.lower().endswith(XES_SUFFIXES):
        return {}
    columns = Certificate.from_json(text).columns
    found: dict[str, Any] = {WORDS[r]: name for r, name in columns.items() if r in WORDS}
    of_cases = [name for role, name in columns.items() if role not in WORDS]
    return found | ({"case_attributes": of_cases} if of_cases else {})
