"""Certificate: the guarantee as it travels with a released file, and the check of it."""

from __future__ import annotations

import hashlib
import json
import platform
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from discreet._version import __version__
from discreet.privacy.guarantee import Guarantee

if TYPE_CHECKING:
    from discreet.log.attributes import Attribute

FORMAT = "discreet certificate 1"

LedgerUse = Literal["none", "booked", "bypassed"]
"""Whether the release was booked against a cap, or the ledger passed over by choice."""


def versions() -> dict[str, str]:
    """What a release is made with."""
    return {"discreet": __version__, "python": platform.python_version()}


@dataclass(frozen=True)
class Certificate:
    """What a released file says of itself: the promise, how it was made, a digest."""

    guarantee: Guarantee
    mechanism: str
    parameters: dict[str, Any]
    artefact: str
    artificial_times: bool
    notes: tuple[str, ...] = ()
    ledger: LedgerUse = "none"
    versions: dict[str, str] = field(default_factory=versions)
    content_sha256: str | None = None
    columns: dict[str, str] = field(default_factory=dict)
    """What CSV and Parquet files of the release call columns, where not by their standard name."""
    seal_sha256: str = field(init=False, default="")
    """A digest of everything above, so that no line of it is changed unnoticed."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "seal_sha256", self._sealed())

    @property
    def intact(self) -> bool:
        """Whether the certificate still reads as it was written."""
        return self.seal_sha256 == self._sealed()

    def _sealed(self) -> str:
        values = {key: value for key, value in asdict(self).items() if key != "seal_sha256"}
        if not self.columns:  # as certificates were sealed before there were names
            del values["columns"]
        text = json.dumps(values, ensure_ascii=False, sort_keys=True, allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {"format": FORMAT, **asdict(self)}

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
            values["guarantee"] = Guarantee.from_dict(values["guarantee"])
            values["notes"] = tuple(values["notes"])
            seal = str(values.pop("seal_sha256", ""))
            certificate = cls(**values)
            object.__setattr__(certificate, "seal_sha256", seal)
            return certificate
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise CertificateError(f"this is not a certificate of discreet: {error}") from error

    def log_attributes(self) -> dict[str, Attribute]:
        """The certificate as attributes of a log: our dp: extension and the privacy: one.

        The privacy metadata of Rafiei and van der Aalst names the operations on the log; its
        `no_modified_traces` is a raw count and is never written.
        """
        from discreet.log.attributes import Attribute

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
            Attribute("dp:certificate", self.to_json()),
            Attribute("privacy:anonymizations", len(anonymizers), anonymizers),
        ]
        return {attribute.key: attribute for attribute in stated}

    def to_file(self) -> bytes:
        """The text that lies beside a released file."""
        text = json.dumps(self.to_dict(), ensure_ascii=False, indent=2, sort_keys=True)
        return text.encode() + b"\n"


class CertificateError(ValueError):
    """No certificate where one was expected, or one that cannot be read."""


@dataclass(frozen=True)
class Finding:
    """One check of a certificate and how it came out."""

    check: str
    outcome: Literal["holds", "fails", "unknown"]
    detail: str


def certificate_path(path: Path) -> Path:
    """Where the certificate of a released file lies."""
    return path.with_name(path.name + ".certificate.json")


def reading_of(path: Path) -> dict[str, Any]:
    """The options with which a released CSV or Parquet file is read, by the names it was given."""
    from discreet.log.columns import WORDS
    from discreet.log.tables import metadata_of

    text = None
    if certificate_path(path).is_file():
        text = certificate_path(path).read_text(encoding="utf-8", errors="replace")
    elif path.name.lower().endswith(".parquet"):
        text = metadata_of(path).get("dp:certificate")
    if text is None or path.name.lower().endswith((".xes", ".xes.gz")):
        return {}
    columns = Certificate.from_json(text).columns
    found: dict[str, Any] = {WORDS[r]: name for r, name in columns.items() if r in WORDS}
    of_cases = [name for role, name in columns.items() if role not in WORDS]
    return found | ({"case_attributes": of_cases} if of_cases else {})


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
        findings.append(
            Finding(
                "the certificate inside the file and the one beside it agree",
                "holds" if same else "fails",
                "" if same else "they differ: one of them was changed",
            )
        )
    same = certificate.content_sha256 == digest
    findings.append(
        Finding(
            "the content is what was released",
            "holds" if same else "fails",
            "" if same else "the file was changed after its release",
        )
    )
    findings.append(follows_from_parameters(certificate))
    if not any(finding.outcome == "fails" for finding in findings):
        findings.append(
            Finding(
                "the certificate reads as it was written",
                "holds" if certificate.intact else "fails",
                "" if certificate.intact else "its text was changed after the release",
            )
        )
    return certificate, findings


def _inside(path: Path) -> tuple[Certificate | None, str]:
    """The certificate embedded in a log or a model, if any, and the digest of the content."""
    from discreet.log.digest import content_digest
    from discreet.log.files import LOG_SUFFIXES
    from discreet.log.reading import read_log

    if path.name.lower().endswith(".discreet"):
        from discreet.training.model import model_certificate

        return model_certificate(path)
    if not path.name.lower().endswith(LOG_SUFFIXES):
        return None, _digest(path)
    log = read_log(path, allow_empty=True, **reading_of(path))
    text = log.attributes.get("dp:certificate")
    inside = Certificate.from_json(text) if isinstance(text, str) else None
    return inside, content_digest(log)


def _digest(path: Path) -> str:
    from discreet.log.errors import LogError

    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise LogError(f"{path} cannot be read: {error.strerror or error}") from None


def follows_from_parameters(certificate: Certificate) -> Finding:
    """Ask the mechanism again what these parameters promise."""
    from dataclasses import replace

    from discreet.mechanisms.registry import mechanism

    check = "the guarantee follows from the mechanism and its parameters"
    try:
        promised = mechanism(certificate.mechanism, **certificate.parameters).guarantee()
    except (ValueError, TypeError) as error:
        return Finding(check, "unknown", str(error))
    stated = certificate.guarantee
    promised = replace(
        promised,
        randomness=stated.randomness,
        case_column=stated.case_column,
        individual_column=stated.individual_column,
    )
    if promised == stated:
        return Finding(check, "holds", "")
    if certificate.versions.get("discreet") != __version__:
        return Finding(
            check,
            "unknown",
            f"written by discreet {certificate.versions.get('discreet')}, read by {__version__}, "
            "which states it differently",
        )
    return Finding(check, "fails", "the parameters and the stated guarantee do not belong together")
