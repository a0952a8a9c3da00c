"""What engines ask in SQL, written once; a dialect fills in the few words that differ.

Three tables hold everything: `events` (case_id, label, ts, what breaks ties, whose case it is),
`cases` (case_id and its sequence of codes) and `variants` (sequence, how many cases follow it, and
its place in canonical order).
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from itertools import count
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import polars as pl

from discreet.arrays import Integers
from discreet.log.cases import Sums
from discreet.log.columns import by_row
from discreet.log.engines.batches import Reader, flat
from discreet.log.engines.protocol import Courses, Facts, Sizes
from discreet.log.engines.sources import ReadingPlan, unbroken_ties
from discreet.log.errors import LogError
from discreet.log.events import LeftOut, no_individuals
from discreet.log.follows import Follows
from discreet.log.instants import SECOND
from discreet.log.reading import no_such_transition
from discreet.log.timestamps import Clocks, in_range
from discreet.log.variants import Variants

# Proof: no file has 2 to the power of 40 rows
FILE_BITS = 40
"""A position is the number of the file, then that of the row in this many bits."""

_ROW = (1 << FILE_BITS) - 1
"""The bits of a position that number the row."""


class SqlEngine(ABC):
    """Counts where the events are; what reaches this process are sums over cases."""

    name: ClassVar[str]
    text: ClassVar[str]
    """The dialect's type of texts."""

    def __init__(self, memory: int, plan: ReadingPlan) -> None:
        self.memory = memory
        self.plan = plan
        self.layout = plan.layout
        self.snapshot = plan.source.snapshot
        self._facts: Facts | None = None
        self._copies = count(1)

    @abstractmethod
    def _query(self, sql: str) -> pl.DataFrame:
        """The answer to a query."""

    @abstractmethod
    def _keep(self, name: str, sql: str, **values: str) -> int:
        """Keep the answer under a name, and say how many rows it has.

        Values are bound, never written into the text.
        """

    @abstractmethod
    def _view(self, name: str, sql: str) -> None:
        """Give a query a name, without asking it yet."""

    @abstractmethod
    def _ordered(self, value: str, keys: Sequence[str]) -> str:
        """An aggregate: a list of the values in the order of the keys."""

    @abstractmethod
    def _sorted(self, number: str, taken: str = "x") -> str:
        """An aggregate: the sorted numbers as a list, with `taken` computed of each, x."""

    @abstractmethod
    def _size(self, values: str) -> str:
        """The length of a list."""

    @abstractmethod
    def _hashed(self, name: str, text: str) -> str:
        """SHA-256, in hexadecimal, of a bound value followed by a text."""

    @abstractmethod
    def _number(self, digits: str) -> str:
        """The number that eight hexadecimal digits stand for; a sum of such does not overflow."""

    @abstractmethod
    def _steps(self, mark: int) -> str:
        """A query of source, target and cases of each step; the mark stands for both ends."""

    @abstractmethod
    def _summing(self, reader: Reader, events: str, keys: Sequence[str]) -> Sums:
        """Sums over the cases of a query, whose events are in the order of the keys."""

    @abstractmethod
    def _register(self, name: str, rows: pl.DataFrame) -> None:
        """Bring a small table from this process."""

    divided: ClassVar[str]
    """The operator that divides whole numbers."""

    room: ClassVar[dict[str, int]]
    """Types of whole numbers, the quickest first, and how many bits they have besides the sign."""

    heights: tuple[int, ...] = ()
    """The number of rows of each file, where positions number the rows of files."""

    clocks = Clocks()
    """How the times were written, where they were read as texts."""

    events_table = "events"
    checked_table = "events"
    """The events for checks that need no position, where a position costs something."""
    cases_table = "cases"
    variants_table = "variants"

    def count(self, *, drop_incomplete: bool = False) -> None:
        """Check the events, then put every case in order and count the variants."""
        left_out = self._complete() if drop_incomplete else LeftOut()
        per_label = self._per_label()
        self._check(per_label)
        labels = sorted(per_label["label"].to_list())
        codes = pl.Series(range(len(labels)), dtype=pl.Int32)
        self._register("labels", pl.DataFrame({"label": labels, "code": codes}))
        whose = ", min(person) AS person, max(person) AS other" if self.layout.people else ""
        cases = self._keep(
            self.cases_table,
            f"SELECT case_id, {self._sequence(per_label)} AS seq{whose} "
            f"FROM {self.events_table} JOIN labels USING (label) GROUP BY case_id",
        )
        if self.layout.people:
            self._check_individuals()
        self._count_variants()
        period = None
        if self.layout.timed:
            period = int(per_label["first"].min()), int(per_label["last"].max())  # type: ignore[arg-type]
        events = int(per_label["events"].sum())
        self._facts = Facts(cases, events, tuple(labels), period, left_out, self.clocks)

    def _sequence(self, per_label: pl.DataFrame) -> str:
        """An aggregate: the codes of a case's events in their order.

        Sorted as one number for each event where they fit, in little more than half the time.
        The numbers have the order of the keys, then of the codes; codes decide only between
        events that no key tells apart, and those have the same code or were refused.
        """
        rows = per_label.to_dicts()
        fields = []
        for key in self.layout.order:
            if key == "ts":
                first, last = min(row["first"] for row in rows), max(row["last"] for row in rows)
                unit = SECOND if all(row["whole"] for row in rows) else 1
                since = f"((ts - {first}) {self.divided} {unit})"
                fields.append(Field(since, (last - first) // unit))
            elif key == "pos":
                file, row = self._last_places(rows)
                fields += [Field(f"(pos >> {FILE_BITS})", file), Field(f"(pos & {_ROW})", row)]
            else:
                return self._ordered("code", self.layout.order)
        code = Field("code", len(rows) - 1)
        number = packed([*fields, code], self.room)
        if number is None:
            return self._ordered("code", self.layout.order)
        mask = (1 << code.largest.bit_length()) - 1
        return self._sorted(number, f"CAST(x & {mask} AS INTEGER)")

    def _last_places(self, rows: Sequence[dict[str, Any]]) -> tuple[int, int]:
        """The largest number of a file, and of a row in any of them."""
        if self.heights:
            return len(self.heights) - 1, max(self.heights)
        last = max(row["last_pos"] for row in rows)
        return last >> FILE_BITS, last & _ROW  # rows that were copied are numbered as one file

    def _place(self, column: str) -> str:
        """The place, in words, of the first event without a value in a column."""
        if not self.layout.placed:
            return "an event"
        found = self._query(f"SELECT min(pos) AS pos FROM events WHERE {column} IS NULL")["pos"][0]
        return self._where(found)

    def _where(self, position: int) -> str:
        """A position in the files, in words."""
        file, row = divmod(position, 1 << FILE_BITS)
        files = self.plan.source.parquet
        return f"{files[file].name}, {by_row(row)}" if len(files) > 1 else by_row(row)

    def _count_variants(self) -> None:
        self._keep(
            self.variants_table,
            "SELECT seq, count(*) AS cases, row_number() OVER (ORDER BY seq) - 1 AS place "
            f"FROM {self.cases_table} GROUP BY seq",
        )

    def _complete(self) -> LeftOut:
        """Leave out cases that lack a required value, and events without a case."""
        lacks = " OR ".join(f"{column} IS NULL" for column in self.layout.required)
        cases = self._keep(
            "incomplete",
            f"SELECT DISTINCT case_id FROM events WHERE case_id IS NOT NULL AND ({lacks})",
        )
        self._view(
            "complete",
            "SELECT * FROM events WHERE case_id IS NOT NULL AND NOT EXISTS "
            "(SELECT 1 FROM incomplete WHERE incomplete.case_id = events.case_id)",
        )
        self.events_table = self.checked_table = "complete"
        count = "(SELECT count(*) FROM {})"
        found = self._query(f"SELECT {count.format('events')} - {count.format('complete')} AS n")
        return LeftOut(cases, int(found["n"][0]))

    def _per_label(self) -> pl.DataFrame:
        missing = ", ".join(
            f"count(*) - count({column}) AS lacks_{column}" for column in self.layout.required
        )
        period = ", min(ts) AS first, max(ts) AS last" if self.layout.timed else ""
        return self._query(
            f"SELECT label, count(*) AS events, {missing}{period}{self._ranges()} "
            f"FROM {self.checked_table} GROUP BY label"
        )

    def _ranges(self) -> str:
        """Aggregates that bound the numbers by which events are sorted."""
        found = f", bool_and(ts % {SECOND} = 0) AS whole" if self.layout.timed else ""
        known = self.heights or not self.layout.placed
        return found if known else f"{found}, max(pos) AS last_pos"

    def _check(self, per_label: pl.DataFrame) -> None:
        """Refuse events that lack a value, lie outside the calendar, or have no order."""
        total = int(per_label["events"].sum())
        if not total and self.plan.transition is not None:
            raise no_such_transition(self.plan.reading.transitions, self.plan.transition)
        if not total:
            raise LogError("no events; there is nothing to release")
        for column, word in self.layout.required.items():
            lacking = int(per_label[f"lacks_{column}"].sum())
            if lacking:
                raise LogError(
                    f"{self._place(column)} has no {word} ({lacking} of {total} "
                    "events have none); fill it in, or leave such cases out with "
                    "drop_incomplete=True (--drop-incomplete)"
                )
        if self.layout.timed and not in_range(per_label["first"].min(), per_label["last"].max()):
            raise LogError("timestamps lie outside the years 1 to 9999; mend them")
        if not self.layout.placed:
            self._check_ties()

    def _check_ties(self) -> None:
        """Refuse events of one case whose order nothing tells: any other order is as true."""
        keys = ", ".join(["case_id", *self.layout.order])
        found = self._query(
            f"SELECT count(*) AS n FROM (SELECT 1 AS tied FROM {self.events_table} GROUP BY {keys} "
            "HAVING min(label) <> max(label)) AS ties"
        )
        if int(found["n"][0]):
            raise unbroken_ties(int(found["n"][0]))

    def _check_individuals(self) -> None:
        mixed = self._query(
            f"SELECT min(CAST(case_id AS {self.text})) AS name FROM {self.cases_table} "
            "WHERE person <> other"
        )["name"][0]
        if mixed is not None:
            raise LogError(
                f"case {mixed!r} belongs to several individuals; choose a column that is constant "
                "within a case"
            )

    @property
    def further_columns(self) -> int:
        """The number of columns without a role that it hands over with events."""
        return len(self.plan.further)

    def facts(self) -> Facts:
        """The size, activities and period of the log."""
        assert self._facts is not None, "count first"
        return self._facts

    def variant_events(self) -> tuple[int, int]:
        """The number of variants and of their events, each counted once."""
        found = self._query(
            f"SELECT count(*) AS variants, sum({self._size('seq')}) AS events "
            f"FROM {self.variants_table}"
        )
        return int(found["variants"][0]), int(found["events"][0] or 0)

    def variants(self) -> Variants:
        """The variants and their counts."""
        found = self._query(f"SELECT seq, cases, place FROM {self.variants_table}")
        return self._as_variants(found.sort("place"))

    def _as_variants(self, found: pl.DataFrame) -> Variants:
        codes, offsets = flat(found["seq"])
        counts = found["cases"].cast(pl.Int64).to_numpy()
        return Variants(self.facts().activities, codes.astype(np.int32), offsets, counts)

    def sizes(self) -> Sizes:
        """The number of cases and of events of each variant, in canonical order."""
        found = self._query(
            f"SELECT CAST(cases AS BIGINT) AS cases, CAST({self._size('seq')} AS BIGINT) AS "
            f"length, CAST(place AS BIGINT) AS place FROM {self.variants_table}"
        ).sort("place")
        return Sizes(found["cases"].to_numpy(), found["length"].to_numpy())

    def picked(self, places: Integers) -> Variants:
        """The variants at these places of the canonical order, in the order given."""
        picks = {"place": places.astype(np.int64), "pick": np.arange(len(places))}
        self._register("picks", pl.DataFrame(picks))
        found = self._query(
            f"SELECT pick, seq, cases FROM {self.variants_table} JOIN picks USING (place)"
        )
        return self._as_variants(found.sort("pick"))

    def lengths(self) -> dict[int, int]:
        """The number of cases by their number of events."""
        found = self._query(
            f"SELECT {self._size('seq')} AS length, CAST(sum(cases) AS BIGINT) AS cases "
            f"FROM {self.variants_table} GROUP BY {self._size('seq')}"
        )
        found = found.sort("length")
        return dict(zip(found["length"].to_list(), found["cases"].to_list(), strict=True))

    def follows(self) -> Follows:
        """The number of times one activity directly follows another, starts a case and ends one."""
        size = len(self.facts().activities) + 1
        found = self._query(
            "SELECT source, target, CAST(sum(cases) AS BIGINT) AS n "
            f"FROM ({self._steps(size - 1)}) AS steps GROUP BY source, target"
        )
        counts = np.zeros((size, size), dtype=np.int64)
        counts[found["source"].to_numpy(), found["target"].to_numpy()] = found["n"].to_numpy()
        return Follows(self.facts().activities, counts)

    def cases_of_individuals(self) -> Integers:
        """The number of cases of each individual, in ascending order."""
        if not self.layout.people:
            raise no_individuals()
        found = self._query(f"SELECT count(*) AS n FROM {self.cases_table} GROUP BY person")
        return np.sort(found["n"].cast(pl.Int64).to_numpy())

    def sums(self, columns: Collection[str]) -> Sums:
        """The cases for sums over them, with some of the further columns."""
        reader = Reader.of(self.plan, self.facts().activities, columns)
        some = self.cases_table != SqlEngine.cases_table
        chosen = f" WHERE case_id IN (SELECT case_id FROM {self.cases_table})" if some else ""
        events = f"SELECT * FROM {self.events_table} JOIN labels USING (label){chosen}"
        placed = self.layout.placed  # else what no key tells apart is sorted by all that is kept
        keys = [*self.layout.order, *(() if placed else reader.fields)]
        with self.snapshot.kept():
            return self._summing(reader, events, keys)

    def digest(self, key: bytes) -> tuple[int, ...]:
        """The sum over cases of a keyed hash of each, of its name, codes and times."""
        said, cases = f"CAST(seq AS {self.text}), ' '", self.cases_table
        if self.layout.timed:
            said += f", CAST(times AS {self.text}), ' '"
            cases += (
                f" JOIN (SELECT case_id, {self._sorted('ts')} AS times "
                f"FROM {self.events_table} GROUP BY case_id) AS clocks USING (case_id)"
            )
        hashed = self._hashed("key", f"{said}, CAST(case_id AS {self.text})")
        sums = ", ".join(
            f"CAST(sum({self._number(f'substr(hash, {8 * i + 1}, 8)')}) AS {self.text}) AS part_{i}"
            for i in range(8)
        )
        digest = f"SELECT {sums} FROM (SELECT {hashed} AS hash FROM {cases})"
        with self.snapshot.kept():
            self._keep("digest", digest, key=key.hex())
        return tuple(map(int, self._query("SELECT * FROM digest").row(0)))

    def courses(self) -> Courses:
        """The cases themselves, by name."""
        timed, people = self.layout.timed, self.layout.people
        if timed:
            times = self._ordered("ts", self.layout.order)
            clocks = f"SELECT case_id, {times} AS times FROM {self.events_table} GROUP BY case_id"
            with self.snapshot.kept():
                self._keep("clocks", clocks)
        found = self._query(
            f"SELECT CAST(case_id AS {self.text}) AS name, seq{', times' if timed else ''}"
            f"{', person' if people else ''} FROM {self.cases_table}"
            f"{' JOIN clocks USING (case_id)' if timed else ''}"
        ).sort("name")
        codes, offsets = flat(found["seq"])
        return Courses(
            names=found["name"].to_list(),
            codes=codes.astype(np.int64),
            offsets=offsets,
            times=flat(found["times"])[0].astype(np.int64) if timed else None,
            individuals=found["person"].to_list() if people else None,
        )

    def further(self) -> pl.DataFrame:
        """The columns without a role that were asked for, event by event as in `courses`."""
        wanted = self.plan.further
        if not wanted:
            return pl.DataFrame()
        columns = ", ".join(f"more_{i}" for i in range(len(wanted)))
        keys = ", ".join([f"CAST(case_id AS {self.text})", *self.layout.order])
        with self.snapshot.kept():
            found = self._query(
                f"SELECT {columns} FROM {self.events_table} "
                f"WHERE case_id IN (SELECT case_id FROM {self.cases_table}) ORDER BY {keys}"
            )
        kinds = {column: self.plan.source.schema.schema[column] for column in wanted}
        found = found.rename(dict(zip(found.columns, wanted, strict=True))).cast(kinds)  # type: ignore[arg-type]
        return self.plan.named(found)

    def bounded(self, cases: int, key: bytes) -> Self:
        """The log with at most `cases` cases of each individual, chosen by a secret key."""
        if not self.layout.people:
            raise no_individuals()
        fresh = copy.copy(self)
        fresh.restrict(next(self._copies), cases, key)
        return fresh

    def restrict(self, number: int, cases: int, key: bytes) -> None:
        """Leave out all but a few cases of each individual, in tables of its own."""
        hashed = self._hashed("key", f"CAST(case_id AS {self.text})")
        ranked = (
            "SELECT case_id, seq, person, "
            f"row_number() OVER (PARTITION BY person ORDER BY {hashed}) AS place "
            f"FROM {self.cases_table}"
        )
        self.cases_table, self.variants_table = f"cases_{number}", f"variants_{number}"
        kept = self._keep(
            self.cases_table,
            f"SELECT case_id, seq, person FROM ({ranked}) AS ranked WHERE place <= {int(cases)}",
            key=key.hex(),
        )
        self._count_variants()
        events = sum(length * many for length, many in self.lengths().items())
        whole = self.facts()
        self._facts = Facts(
            kept, events, whole.activities, whole.period, whole.left_out, whole.clocks
        )


class Field(NamedTuple):
    """A number as SQL computes it, and the largest that occurs; none is below zero."""

    expression: str
    largest: int


def packed(fields: Sequence[Field], room: Mapping[str, int]) -> str | None:
    """One number made of several side by side, the first in front; None if they do not fit.

    `room` says which types of numbers there are and how many bits they have besides the sign.
    Each field has as many bits as its largest number needs, so none reaches into another: numbers
    of this kind are in the same order as their fields one after another, and equal only if all
    fields are. The last field is the number modulo two to the power of its bits.
    """
    bits = [field.largest.bit_length() for field in fields]
    kind = next((kind for kind, size in room.items() if sum(bits) <= size), None)
    if kind is None or not fields:
        return None
    number = f"CAST({fields[0].expression} AS {kind})"
    for field, size in zip(fields[1:], bits[1:], strict=True):
        number = f"(({number} << {size}) | {field.expression})"
    return number


def quoted(name: str, mark: str = '"') -> str:
    """A name as SQL writes it, whatever it contains."""
    return mark + name.replace(mark, 2 * mark) + mark


def literal(value: Any) -> str:
    """A text as SQL writes it."""
    return "'" + str(value).replace("'", "''") + "'"
