"""Which columns an engine reads of a source, and in which role."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import polars as pl

from discreet.log.engines.sources import Source
from discreet.log.errors import LogError, option
from discreet.log.events import ACTIVITY, CASE, LIFECYCLE, TIME, labels_of
from discreet.log.raw import RawTable
from discreet.log.shaping import Reading, Shaped
from discreet.log.timestamps import Clocks, within_calendar


@dataclass(frozen=True)
class Layout:
    """What the events have: times, individuals, columns that break ties, a position in the file."""

    timed: bool = True
    people: bool = False
    ties: int = 0
    placed: bool = True

    @property
    def order(self) -> list[str]:
        """What the events of a case are sorted by."""
        return [
            *(["ts"] if self.timed else []),
            *(f"tie_{i}" for i in range(self.ties)),
            *(["pos"] if self.placed else []),
        ]

    @property
    def required(self) -> dict[str, str]:
        """The columns without which an event cannot be counted, in words."""
        return {
            "case_id": "case",
            "label": "activity",
            **({"ts": "timestamp"} if self.timed else {}),
            **({"person": "individual"} if self.people else {}),
        }


@dataclass(frozen=True)
class Plan:
    """The columns of a source by role, found by the same rules as in memory."""

    source: Source
    reading: Reading
    shaped: Shaped
    """What the table would look like in memory, without rows."""
    further: tuple[str, ...] = ()
    """Columns without a role that are to be had, too."""

    @classmethod
    def of(cls, source: Source, reading: Reading) -> Plan:
        """Find the columns; refuse what does not fit, before anything is read."""
        shaped = reading.without_rows(RawTable(source.name, source.schema, source.place))
        labels_of(shaped.table, reading.classifier)
        kinds = source.schema.schema
        others = [c for c in shaped.further if c != reading.individual and _plain(kinds[c])]
        return cls(source, reading, shaped, tuple(others) if reading.further else ())

    @property
    def case(self) -> str:
        """The column of the cases."""
        return self.shaped.names[CASE]

    @property
    def activity(self) -> str:
        """The column of the activities."""
        return self.shaped.names[ACTIVITY]

    @property
    def lifecycle(self) -> str | None:
        """The column that is part of the label, if the classifier says so."""
        joined = self.reading.classifier == "activity+lifecycle"
        return self.shaped.names[LIFECYCLE] if joined else None

    @property
    def transition(self) -> str | None:
        """The column that says which events are kept, if only some are."""
        return self.shaped.names[LIFECYCLE] if self.reading.transitions else None

    @property
    def time(self) -> str | None:
        """The column of the timestamps, unless the order of the file counts."""
        return self.shaped.names[TIME] if self.reading.order == "time" else None

    @property
    def columns(self) -> list[str]:
        """All that is read."""
        roles = (self.case, self.activity, self.lifecycle, self.time, self.reading.individual)
        listed = (*roles, self.transition, *self.reading.tie_break, *self.further)
        return list(dict.fromkeys(column for column in listed if column is not None))

    @property
    def layout(self) -> Layout:
        """What the events have."""
        if self.time is None and not self.source.ordered and not self.reading.tie_break:
            raise LogError(
                "the rows of a table have no order to keep; name columns that tell it with "
                "tie_break= (--tie-break), or read the times"
            )
        return Layout(
            timed=self.time is not None,
            people=self.reading.individual is not None,
            ties=len(self.reading.tie_break),
            placed=self.source.ordered,
        )

    def frames(self, note: Callable[[Clocks], None]) -> Iterator[pl.DataFrame]:
        """The events, batch by batch: each value is read by itself, so batches change nothing.

        Where cases that lack a value are to be left out, the values that are missing stay so.
        `note` is told how the times of each batch were written.
        """
        shape = replace(
            self.reading.narrowed(self.columns),
            case=self.case,
            activity=self.activity,
            timestamp=self.time,
            lifecycle=self.lifecycle or self.transition,
            drop_incomplete=False,
        )
        before = 0
        for batch in self.source.batches(self.columns):
            height, numbered = batch.height, batch.with_row_index("row")
            raw = self._raw(batch, before)
            if self.transition is not None:
                kept = shape.kept(batch[self.transition])
                batch, numbered, raw = batch.filter(kept), numbered.filter(kept), raw.only(kept)
            if self.reading.drop_incomplete:
                whole = pl.all_horizontal(pl.col(self._required).is_not_null())
                lacking = batch.filter(~whole).select(case_id=pl.col(self.case).cast(pl.String))
                yield lacking.with_columns(label=pl.lit(None, dtype=pl.String))
                numbered = numbered.filter(batch.select(whole).to_series())
                raw = raw.only(batch.select(whole).to_series())
            if raw.table.height:
                self._check_fine(raw)
                shaped = shape.of(raw)
                note(shaped.clocks)
                frame = self._frame(shaped, numbered["row"].cast(pl.Int64) + before)
                extra = [
                    within_calendar(raw.table[c]).alias(f"more_{i}")
                    for i, c in enumerate(self.further)
                ]
                yield frame.with_columns(extra)
            before += height

    def named(self, found: pl.DataFrame) -> pl.DataFrame:
        """Further columns as memory reads them, from values as they stand in the source."""
        raw = RawTable(self.source.name, found, lambda row: "an event")
        types = {name: kind for name, kind in self.reading.kinds.items() if name in found.columns}
        return pl.DataFrame(
            {
                self.shaped.further[c]: self.reading.further_column(raw, c, types.get(c))
                for c in found.columns
            }
        )

    @property
    def _required(self) -> list[str]:
        roles = (self.case, self.activity, self.time, self.reading.individual)
        return [column for column in roles if column is not None]

    def _raw(self, batch: pl.DataFrame, before: int) -> RawTable:
        return RawTable(self.source.name, batch, lambda row: self.source.place(before + row))

    def _frame(self, shaped: Shaped, rows: pl.Series) -> pl.DataFrame:
        table = shaped.table
        columns = {"case_id": table[CASE], "label": labels_of(table, self.reading.classifier)}
        if self.time is not None:
            columns["ts"] = table[TIME].to_physical()
        if shaped.individual is not None:
            columns["person"] = table[shaped.individual]
        for i, name in enumerate(shaped.tie_break):
            columns[f"tie_{i}"] = table[name]
        if self.source.ordered:
            columns["pos"] = rows
        return pl.DataFrame(columns)

    def _check_fine(self, raw: RawTable) -> None:
        """Refuse times finer than a microsecond: cut off, they would tie what has an order."""
        if self.time is None:
            return
        values = raw.table[self.time]
        if isinstance(values.dtype, pl.Datetime) and values.dtype.time_unit == "ns":
            fine = values.to_physical() % 1000 != 0
            if fine.any():
                raise finer_than_microseconds(raw.place(int(fine.arg_max() or 0)))


def _plain(kind: pl.DataType) -> bool:
    """Whether values are of a kind that every engine hands over as it is, whatever they are."""
    timed = isinstance(kind, pl.Datetime) and kind.time_unit != "ns"  # not every engine has these
    numeric = kind.is_float() or (kind.is_integer() and kind not in (pl.Int128, pl.UInt128))
    return numeric or timed or kind in (pl.String, pl.Boolean, pl.Date)


def finer_than_microseconds(place: str) -> LogError:
    """What is said of times that no engine keeps in full."""
    return LogError(
        f"{place} has a timestamp finer than a microsecond; round the times, or read the log with "
        "engine='memory' (--engine memory), which cuts them off"
    )


def unbroken_ties(many: int) -> LogError:
    """What is said where the order of events is open: any other order would be as true."""
    return LogError(
        f"different events of one case have the same time ({many} times), and the rows of a table "
        f"have no order: name columns that tell it with {option('tie_break', 'sequence_number')}; "
        "the activity's own column will do if any fixed order is good enough"
    )
