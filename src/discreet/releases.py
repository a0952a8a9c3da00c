"""Release: an artefact that may leave, with its certificate."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeAlias, runtime_checkable

import polars as pl
from typing_extensions import TypeVar

from discreet import notebook
from discreet.certificate import Certificate, LedgerUse, certificate_path, versions
from discreet.language import grouped, translate
from discreet.log.columns import laid_out
from discreet.log.digest import content_digest
from discreet.log.errors import ExistsError, LogError
from discreet.log.events import Classifier, EventLog
from discreet.log.expansion import Expansion
from discreet.log.files import LOG_SUFFIXES, atomic_write
from discreet.log.formats.variant_tables import SUFFIX as TABLE_SUFFIX
from discreet.log.formats.variant_tables import is_variant_table, variants_digest, write_variants
from discreet.log.variants import Variants
from discreet.log.writing import carried, write_log
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.randomness import Randomness
from discreet.privacy.wording import vocabulary
from discreet.report import can_draw, draw


@runtime_checkable
class Document(Protocol):
    """An artefact that is not a log and renders itself, by suffix."""

    @property
    def kind(self) -> str:
        """The kind of artefact, in a word or two."""

    @property
    def suffixes(self) -> tuple[str, ...]:
        """The suffixes it can be written with."""

    def render(self, suffix: str) -> str:
        """Return the text of a file with this suffix."""


def render(artefact: Document, suffix: str) -> str:
    """Return the text of a file with this suffix; graphs and trees are drawn for .svg."""

    return draw(artefact) if suffix == ".svg" and can_draw(artefact) else artefact.render(suffix)


def check_target(path: Path, suffixes: tuple[str, ...] = LOG_SUFFIXES) -> None:
    """Refuse a file that could not be written, before anything is read or spent."""
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


def check_unused(path: Path, *inputs: Path, force: bool = False) -> None:
    """Refuse to write over or among what is read, ever; and over any other file unless told to.

    A file that is write-protected stays. What lies beside a release, its certificate, counts.
    """
    for written in (path, certificate_path(path)):
        for given in inputs:
            _check_apart(written, given)
        if not written.exists():
            continue
        if not force:
            raise ExistsError(
                f"{written} exists already; name another file, or replace it with overwrite=True "
                "(--force)"
            )
        if not written.stat().st_mode & 0o222:
            raise ExistsError(f"{written} is write-protected; name another file")


def _check_apart(written: Path, given: Path) -> None:
    """Refuse a file that is the one given, by whatever name, or lies in the folder given."""
    if given.is_dir() and written.resolve().is_relative_to(given.resolve()):
        raise ExistsError(f"{written} is in the folder that is read ({given}); name another place")
    if written.exists() and given.exists() and written.samefile(given):
        raise ExistsError(
            f"{written} is the file that is read ({given}); name another one to write"
        )


# Tuned
MARGIN = 64 << 20
"""Bytes that must stay free on a disk."""

BYTES = {".xes": 400, ".csv": 150}
"""Approximate bytes of an event in a file of that suffix; for other suffixes `FEW`; a quarter if
packed."""

FEW = 60
"""Approximate bytes of an event in a file of any other kind."""


def check_room(path: Path, events: int = 0) -> None:
    """Refuse a disk without room for this many events, before anything is spent."""
    plain, packed = path.name.lower().removesuffix(".gz"), path.name.lower().endswith(".gz")
    each = next((size for suffix, size in BYTES.items() if plain.endswith(suffix)), FEW)
    needed = MARGIN + events * each // (4 if packed else 1)
    free = shutil.disk_usage(path.parent).free
    if free < needed:
        raise LogError(
            f"the disk of {path.parent} has {free >> 20:,} MB left, and {path.name} may need "
            f"{needed >> 20:,} MB; make room, or write to another disk"
        )


class Confirming(Protocol):
    """A payment that records what was written for it."""

    def confirm(self, certificate: Certificate) -> None:
        """Record that a release was written under this certificate."""


Artefact: TypeAlias = "Variants | EventLog | Document"

A_co = TypeVar("A_co", covariant=True, default=Any)
"""The type of what is released; anything by default."""


@dataclass(frozen=True, repr=False)
class Release(Generic[A_co]):
    """What may be shared: artefact, guarantee, and how it was made. Nothing raw.

    Everything in here is either drawn under the guarantee or follows from the parameters.
    """

    artefact: A_co
    guarantee: Guarantee
    mechanism: str
    parameters: dict[str, Any]
    notes: tuple[str, ...] = ()
    seed: int | None = field(default=None, repr=False)
    ledger: LedgerUse = "none"
    provider: dict[str, str] = field(default_factory=dict)
    """The package of the mechanism and its version, if it is not this one."""
    columns: dict[str, str] = field(default_factory=dict)
    """Names of columns in the file of the log, if not the standard ones."""
    classifier: Classifier = "activity"
    """What counts as an activity in the log."""
    origin: tuple[Path, ...] = field(default=(), repr=False)
    """The files that the log came from, so that none is written over; never part of a file."""
    booking: Confirming | None = field(default=None, repr=False, compare=False)
    """The payment for the release, which records each file that is written."""

    @property
    def _form(self) -> Form:
        """The form of the artefact."""
        artefact: Any = self.artefact
        if isinstance(artefact, Variants):
            return OfVariants(self, artefact)
        return OfLog(self, artefact) if isinstance(artefact, EventLog) else OfDocument(artefact)

    def log(self) -> EventLog:
        """The release as an event log: fresh case ids in random order.

        Variants have no times; they get plainly artificial ones (1970, a second per event).
        """
        return self._form.log()

    @property
    def digests(self) -> dict[str, str]:
        """Digests of what it could be written as, by suffix."""
        return self._form.digests()

    def to_polars(self) -> pl.DataFrame:
        """The events of the release as a Polars frame, under XES names; see `log`."""
        return self.log().to_polars()

    def to_pandas(self) -> Any:
        """The events of the release as a pandas frame, ready for PM4Py."""
        return self.log().to_pandas()

    def __repr__(self) -> str:
        promise = self.guarantee
        private = "" if promise.private else ", NOT PRIVATE"
        return (
            f"Release({self.mechanism}: {self.describe()}; {promise.holds or 'no bound'}, "
            f"{promise.status}, {promise.per}{private})"
        )

    def _repr_html_(self) -> str:
        notes = "".join(notebook.paragraph(note) for note in self.notes)
        title = f"Release by {self.mechanism}: {self.describe()}"
        return notebook.box(title, notebook.of(self.guarantee), notes, self._form.picture())

    def describe(self) -> str:
        """Describe what was released, in a few words."""
        return self._form.describe()

    def certificate(self, content_sha256: str | None = None) -> Certificate:
        """Build the certificate of this release; with a digest once the content is written."""
        form = self._form
        return Certificate(
            guarantee=self.guarantee,
            mechanism=self.mechanism,
            parameters=self.parameters,
            artefact=form.kind,
            artificial_times=form.artificial_times,
            notes=(*self.notes, *form.notes),
            ledger=self.ledger,
            strength=self.guarantee.strength,
            warnings=self.guarantee.warnings(cases=form.cases),
            versions=versions() | self.provider,
            columns=self.columns if form.has_columns else {},
            content_sha256=content_sha256,
        )

    def write(self, path: str | Path, *, overwrite: bool = False) -> Certificate:
        """Write the artefact, chosen by suffix, and `<name>.certificate.json` beside it.

        Variants become a log of cases; or, if the name ends in .variants.parquet, a table of
        variants and their counts, which is as small as it can be. Both files appear complete or
        not at all. Characters that the format cannot carry become a mark (U+FFFD).

        Existing files are replaced with `overwrite` only, those that the log was read from never.
        If the release is booked, the ledger notes that it was written.
        """
        path = Path(path)
        check_target(path, self._form.suffixes)
        check_unused(path, *self.origin, force=overwrite)
        certificate = self._form.write(path, self.certificate)
        if self.booking is not None:
            self.booking.confirm(certificate)
        return certificate

    def rescue(self, path: Path) -> tuple[Path, Certificate] | None:
        """Write what could not be written to `path` in another place or form, if possible.

        It is the same draw, so it costs nothing more. Variants become a table, the smallest form.
        """
        for folder in (path.parent, Path.cwd(), Path(tempfile.gettempdir())):
            for ending in self._form.rescued(path):
                try:
                    own = Path(tempfile.mkdtemp(prefix="discreet-", dir=folder))
                except OSError:
                    break
                file = own / f"{path.name.partition('.')[0] or 'release'}{ending}"
                try:
                    return file, self.write(file)
                except Exception:
                    shutil.rmtree(own, ignore_errors=True)
        return None


class Form(Protocol):
    """The form of an artefact: its kind, its suffixes, and how it is written."""

    @property
    def kind(self) -> str:
        """The kind of artefact, as certificates name it."""

    @property
    def suffixes(self) -> tuple[str, ...]:
        """The suffixes it can be written with."""

    @property
    def cases(self) -> int | None:
        """The number of cases; None if it has none."""

    artificial_times: ClassVar[bool]
    """Whether its times are made up."""
    has_columns: ClassVar[bool]
    """Whether its files name columns as the log did."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes of its certificate besides those of the mechanism."""

    def describe(self) -> str:
        """Describe the artefact in a few words."""

    def picture(self) -> str:
        """The artefact as HTML for a notebook."""

    def log(self) -> EventLog:
        """The artefact as an event log."""

    def digests(self) -> dict[str, str]:
        """Digests of what it could be written as, by suffix."""

    def write(self, path: Path, certify: Certify) -> Certificate:
        """Write it with its certificate, both or none; returns the certificate."""

    def rescued(self, path: Path) -> Iterator[str]:
        """The suffixes under which it may be rescued if it could not be written to a path."""


Certify = Callable[[str], Certificate]
"""A function from a digest to the certificate of the content that has it."""


@dataclass(frozen=True)
class OfLog:
    """A log of cases: with times, or variants written out."""

    release: Release[Any]
    artefact: Any

    kind: ClassVar[str] = "log"
    suffixes: ClassVar[tuple[str, ...]] = LOG_SUFFIXES
    artificial_times: ClassVar[bool] = False
    has_columns: ClassVar[bool] = True
    notes: ClassVar[tuple[str, ...]] = ()

    @property
    def cases(self) -> int:
        """The number of cases."""
        return int(self.artefact.cases)

    def describe(self) -> str:
        """Describe the log by its numbers of cases and events."""
        if not self.cases:
            return translate("empty: no variant passed; more cases or a larger budget would help")
        return self.counted(grouped(self.cases))

    def counted(self, cases: str) -> str:
        """Describe its size, after the number of cases."""
        events = grouped(self.artefact.events)
        return translate("%(cases)s cases, %(events)s events", cases=cases, events=events)

    def picture(self) -> str:
        """The log as HTML for a notebook."""
        return notebook.of(self.artefact)

    def log(self) -> EventLog:
        """The log, with the columns of the one that it came from."""
        return laid_out(self.artefact, self.release.columns, self.release.classifier)

    def cases_written(self) -> EventLog | Expansion:
        """The cases as they are written."""
        return self.log()

    def digests(self) -> dict[str, str]:
        """One digest for all suffixes; none for an empty log, which is like any other."""
        return {LOG_SUFFIXES[0]: content_digest(self.log())} if self.cases else {}

    def write(self, path: Path, certify: Certify) -> Certificate:
        """Write the cases, and the certificate in the file too where its format allows."""
        if is_variant_table(path):
            return self.write_table(path, certify)
        log = carried(self.cases_written(), path)
        certificate = certify(content_digest(log))
        with atomic_write(certificate_path(path)) as beside:
            beside.write(certificate.to_file())
            write_log(log, path, attributes=certificate.log_attributes())
        return certificate

    def write_table(self, path: Path, certify: Certify) -> Certificate:
        """Refuse to leave times out of a file."""
        raise LogError(
            "only variants make a table of variants, and this release says more; give the "
            "file a name that ends in .parquet or .xes"
        )

    def rescued(self, path: Path) -> Iterator[str]:
        """The same suffix at another place, or Parquet."""
        yield next(s for s in LOG_SUFFIXES[::-1] if path.name.lower().endswith(s))
        yield ".parquet"


@dataclass(frozen=True)
class OfVariants(OfLog):
    """Variants and their counts: a log of cases without times, or a table."""

    kind: ClassVar[str] = "variants"
    artificial_times: ClassVar[bool] = True

    @property
    def notes(self) -> tuple[str, ...]:  # type: ignore[override]
        """The note that there are neither times nor attributes."""
        return (vocabulary().dropped,)

    def counted(self, cases: str) -> str:
        """Describe its size: the numbers of cases and variants."""
        many = grouped(len(self.artefact))
        return translate("%(cases)s cases, %(variants)s variants", cases=cases, variants=many)

    def log(self) -> EventLog:
        """The cases in random order, under fresh names."""
        return self.cases_written().log()

    def cases_written(self) -> Expansion:
        """Cases in random order under fresh names, without a log of all their events."""
        made, variants = self.release, self.artefact
        rng = Randomness.system() if made.seed is None else Randomness.seeded(made.seed)
        order = rng.permutation(variants.cases)
        names = fresh_names(variants.cases, rng)
        return Expansion(variants, order, names, made.columns, made.classifier)

    def write_table(self, path: Path, certify: Certify) -> Certificate:
        """Write the variants with their counts, which is as small as it can be."""
        variants = self.artefact.trimmed()
        certificate = certify(variants_digest(variants))
        with atomic_write(certificate_path(path)) as beside:
            beside.write(certificate.to_file())
            write_variants(variants, path, attributes=certificate.log_attributes())
        return certificate

    def rescued(self, path: Path) -> Iterator[str]:
        """A table, the smallest form."""
        yield TABLE_SUFFIX


@dataclass(frozen=True)
class OfDocument:
    """A graph, a tree or any other artefact that renders itself."""

    artefact: Document

    artificial_times: ClassVar[bool] = False
    has_columns: ClassVar[bool] = False
    notes: ClassVar[tuple[str, ...]] = ()

    @property
    def kind(self) -> str:
        """The kind, as the document names it."""
        return self.artefact.kind

    @property
    def suffixes(self) -> tuple[str, ...]:
        """The suffixes of the document."""
        return self.artefact.suffixes

    @property
    def cases(self) -> int | None:
        """The number of cases, if the document states it."""
        return getattr(self.artefact, "cases", None)

    def describe(self) -> str:
        """Describe the document by its kind."""
        return translate("a %(kind)s", kind=translate(self.kind))

    def picture(self) -> str:
        """The drawing, if there is one."""

        return draw(self.artefact) if can_draw(self.artefact) else ""

    def log(self) -> EventLog:
        """Refuse: it has no cases."""
        raise TypeError(f"a {self.kind} is not a log; write it or use .artefact")

    def digests(self) -> dict[str, str]:
        """One digest for each suffix, for each is another file."""
        return {one: _sha256(render(self.artefact, one).encode()) for one in self.suffixes}

    def write(self, path: Path, certify: Certify) -> Certificate:
        """Write its text, and the certificate beside it."""
        content = render(self.artefact, path.suffix.lower()).encode()
        certificate = certify(_sha256(content))
        with atomic_write(certificate_path(path)) as beside, atomic_write(path) as stream:
            beside.write(certificate.to_file())
            stream.write(content)
        return certificate

    def rescued(self, path: Path) -> Iterator[str]:
        """All suffixes of the document."""
        yield from self.suffixes


def _sha256(content: bytes) -> str:
    import hashlib

    return hashlib.sha256(content).hexdigest()


def fresh_names(count: int, rng: Randomness) -> list[str]:
    """Draw random distinct names."""
    while True:
        text = rng.words(count).tobytes().hex()
        names = [text[i : i + 16] for i in range(0, len(text), 16)]
        if len(set(names)) == count:
            return names
