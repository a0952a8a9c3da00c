"""Release: an artefact that may leave, with the certificate that goes with it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

from discreet.certificate import Certificate, LedgerUse, certificate_path, versions
from discreet.log.files import LOG_SUFFIXES
from discreet.log.variants import Variants
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.randomness import Randomness

if TYPE_CHECKING:
    from discreet.log.events import Classifier, EventLog


@runtime_checkable
class Document(Protocol):
    """An artefact that is not a log and knows how to write itself, by suffix."""

    @property
    def kind(self) -> str:
        """What it is, in a word or two."""

    @property
    def suffixes(self) -> tuple[str, ...]:
        """The endings it can be written with."""

    def render(self, suffix: str) -> str:
        """The text of the file."""


def render(artefact: Document, suffix: str) -> str:
    """The text of a file with that ending; graphs and trees are drawn where it is .svg."""
    from discreet.drawing import can_draw, draw

    return draw(artefact) if suffix == ".svg" and can_draw(artefact) else artefact.render(suffix)


def check_target(path: Path, suffixes: tuple[str, ...] = LOG_SUFFIXES) -> None:
    """Refuse a file that could not be written, before anything is read or spent."""
    from discreet.log.errors import LogError

    if not path.name.lower().endswith(suffixes):
        raise LogError(
            f"{path.name} cannot be written; use a name that ends in {', '.join(suffixes)}"
        )
    if path.is_dir():
        raise LogError(f"{path} is a folder; name a file")
    if not path.parent.is_dir():
        raise LogError(f"there is no folder {path.parent}; create it first")
    if not os.access(path.parent, os.W_OK):
        raise LogError(f"no permission to write in {path.parent}")


Artefact: TypeAlias = "Variants | EventLog | Document"


@dataclass(frozen=True)
class Release:
    """What leaves the house: artefact, guarantee, and how it was made. Nothing raw.

    Everything in here is either drawn under the guarantee or follows from the parameters.
    """

    artefact: Any
    guarantee: Guarantee
    mechanism: str
    parameters: dict[str, Any]
    notes: tuple[str, ...] = ()
    seed: int | None = field(default=None, repr=False)
    ledger: LedgerUse = "none"
    provider: dict[str, str] = field(default_factory=dict)
    """The package of the mechanism and its version, where it is not this one."""
    columns: dict[str, str] = field(default_factory=dict)
    """What the file of the log called its columns, where that is not their standard name."""
    classifier: Classifier = "activity"

    def log(self) -> EventLog:
        """The release as an event log: fresh case ids in random order.

        Variants have no times; they get plainly artificial ones (1970, a second per event).
        """
        from discreet.log.events import EventLog
        from discreet.log.expand import expand
        from discreet.log.layout import laid_out

        if isinstance(self.artefact, EventLog):
            return laid_out(self.artefact, self.columns, self.classifier)
        if not isinstance(self.artefact, Variants):
            raise TypeError(f"a {self.artefact.kind} is not a log; write it or use .artefact")
        source = Randomness.system() if self.seed is None else Randomness.seeded(self.seed)
        cases = self.artefact.cases
        log = expand(self.artefact, source.permutation(cases), fresh_names(cases, source))
        return laid_out(log, self.columns, self.classifier)

    def describe(self) -> str:
        """What was released, in a few words."""
        if isinstance(self.artefact, Document):
            return f"a {self.artefact.kind}"
        if not self.artefact.cases:
            return "empty: no variant passed; more cases or a larger budget would help"
        if isinstance(self.artefact, Variants):
            return f"{self.artefact.cases:,} cases, {len(self.artefact):,} variants"
        return f"{self.artefact.cases:,} cases, {self.artefact.events:,} events"

    def certificate(self, content_sha256: str | None = None) -> Certificate:
        """The certificate of this release; with a digest once the content is written."""
        kind = "variants" if isinstance(self.artefact, Variants) else "log"
        if isinstance(self.artefact, Document):
            kind = self.artefact.kind
        return Certificate(
            guarantee=self.guarantee,
            mechanism=self.mechanism,
            parameters=self.parameters,
            artefact=kind,
            artificial_times=isinstance(self.artefact, Variants),
            notes=self.notes,
            ledger=self.ledger,
            versions=versions() | self.provider,
            columns={} if isinstance(self.artefact, Document) else self.columns,
            content_sha256=content_sha256,
        )

    def write(self, path: str | Path) -> Certificate:
        """Write the artefact, chosen by suffix, and `<name>.certificate.json` beside it.

        Both files appear complete or not at all.
        """
        from discreet.log.digest import content_digest
        from discreet.log.files import atomic_write
        from discreet.log.writing import write_log

        path = Path(path)
        if isinstance(self.artefact, Document):
            check_target(path, self.artefact.suffixes)
            content = render(self.artefact, path.suffix.lower()).encode()
            certificate = self.certificate(_sha256(content))
            with atomic_write(certificate_path(path)) as beside, atomic_write(path) as stream:
                beside.write(certificate.to_file())
                stream.write(content)
        else:
            log = self.log()
            certificate = self.certificate(content_digest(log))
            with atomic_write(certificate_path(path)) as beside:
                beside.write(certificate.to_file())
                write_log(log, path, attributes=certificate.log_attributes())
        return certificate


def _sha256(content: bytes) -> str:
    import hashlib

    return hashlib.sha256(content).hexdigest()


def fresh_names(count: int, source: Randomness) -> list[str]:
    """Random distinct names."""
    while True:
        text = source.words(count).tobytes().hex()
        names = [text[i : i + 16] for i in range(0, len(text), 16)]
        if len(set(names)) == count:
            return names
