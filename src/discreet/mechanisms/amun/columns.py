"""Further columns: values per activity (or per case) by partition selection."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from discreet.arrays import Ints
from discreet.log.errors import LogError
from discreet.log.events import ACTIVITY, CASE, TIME, EventLog
from discreet.wholelogs.sampling import choose_by_row
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import Selecting


@dataclass(frozen=True)
class Column:
    """The values of a column that are shown: `weights[activity, value]`, noisy counts.

    A column of cases (`case:…`) has one row for all activities.
    """

    name: str
    values: pl.Series
    activities: tuple[str, ...] | None
    weights: np.ndarray[tuple[int, int], np.dtype[np.float64]]

    @classmethod
    def learn(cls, log: EventLog, name: str, spending: Selecting, rng: Randomness) -> Column:
        """Each case gives one value: its own, or that of one of its events chosen at random.

        So a case adds one to one key, (activity, value) or value, and the selection is (ε, δ)-DP.
        An event without a value gives none.
        """
        lengths = np.diff(log.offsets).astype(np.uint64)
        of_case = name.startswith("case:")
        place = (rng.words(log.cases) % lengths).astype(np.int64)
        event = log.offsets[:-1] + (0 if of_case else place)
        keys = pl.DataFrame(
            {
                "activity": np.zeros(log.cases, np.int32) if of_case else log.codes[event],
                "value": _plain(log.table[name]).gather(log.order[event]),
            }
        )
        counted = keys.drop_nulls().group_by("activity", "value").len().sort("activity", "value")
        shown, counts = spending.select(counted["len"].cast(pl.Int64).to_numpy(), rng)
        kept = counted[shown].with_columns(pl.col("value").rank("dense").alias("number") - 1)
        values = kept["value"].unique().sort()
        weights = np.zeros((1 if of_case else len(log.activities), max(1, len(values))))
        weights[kept["activity"].to_numpy(), kept["number"].to_numpy()] = np.maximum(counts, 1)
        return cls(
            name=name,
            values=values,
            activities=None if of_case else log.activities,
            weights=weights,
        )

    def draw(
        self, activities: tuple[str, ...], codes: Ints, offsets: Ints, rng: Randomness
    ) -> pl.Series:
        """A value for each event, by the shown counts of its activity; none where none is shown."""
        lengths = np.diff(offsets)
        if self.activities is None:
            rows = np.zeros(len(lengths), dtype=np.int64)
        else:
            row = {activity: i for i, activity in enumerate(self.activities)}
            rows = np.array([row[label] for label in activities], dtype=np.int64)[codes]
        value = choose_by_row(self.weights, rows, rng)
        known = self.weights.sum(axis=1)[rows] > 0
        if self.activities is None:
            value, known = np.repeat(value, lengths), np.repeat(known, lengths)
        place = pl.Series(value).set(pl.Series(~known), None)
        return self.values.gather(place).alias(self.name)


def chance(log: EventLog, name: str, spending: Selecting) -> float:
    """How likely the most frequent value of a column is to be shown; for the holder of the log."""
    of_case = name.startswith("case:")
    lengths = np.diff(log.offsets)
    first = np.zeros(log.events, dtype=bool)
    first[log.offsets[:-1]] = True
    keys = pl.DataFrame(
        {
            "activity": np.zeros(log.events, np.int32) if of_case else log.codes,
            "value": _plain(log.table[name]).gather(log.order),
            "weight": first if of_case else 1 / np.repeat(lengths, lengths),
        }
    )
    counts = keys.drop_nulls().group_by("activity", "value").agg(pl.col("weight").sum())["weight"]
    most = round(float(counts.max() or 0))  # type: ignore[arg-type]
    shown = spending.selection.probabilities()
    return float(sum(p for x, p in shown.items() if most + x > spending.selection.threshold))


def _further(log: EventLog) -> list[str]:
    return [name for name in log.table.columns if name not in (CASE, ACTIVITY, TIME)]


def check_column(log: EventLog, name: str) -> None:
    """Raise LogError if there is no such column, or not one of plain values."""
    if name not in log.table.columns:
        raise LogError(
            f"this log has no column {name!r}; its further columns are "
            + (", ".join(_further(log)) or "none")
        )
    kind = log.table[name].dtype
    if kind.is_nested():
        raise LogError(f"the column {name!r} holds {kind}; release plain values only")


def _plain(values: pl.Series) -> pl.Series:
    """Values whose type tells nothing of the others: an enumeration would list them all."""
    enumerated = isinstance(values.dtype, pl.Enum | pl.Categorical)
    return values.cast(pl.String) if enumerated else values
