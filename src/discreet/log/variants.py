"""Variants: distinct activity sequences and how many cases follow each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from discreet import notebook
from discreet.arrays import Booleans, Integers, Ints
from discreet.log.errors import LogError

if TYPE_CHECKING:
    import polars as pl

Key = TypeVar("Key", bound=tuple[str, ...])

# Tuned
MANY = 20_000
"""Sequences from which on Polars sorts and distinguishes them faster than Python; timed."""


@dataclass(frozen=True, eq=False, repr=False)
class Variants:
    """A multiset of activity sequences on integer arrays; the pivot of the library.

    Sequence `i` is `codes[offsets[i]:offsets[i + 1]]`, indices into `activities`, followed by
    `counts[i]` cases. Sequences are distinct. Activities are sorted and sequences are in
    canonical order (by codes, then by length), so that the order tells nothing of the log.
    """

    activities: tuple[str, ...]
    codes: Ints
    offsets: Ints
    counts: Ints

    @classmethod
    def from_counts(
        cls, counts: Mapping[Key, int] | Iterable[tuple[Sequence[str], int]]
    ) -> Variants:
        """Build from sequences and counts; repeated sequences are added up."""
        pairs = counts.items() if isinstance(counts, Mapping) else counts
        total: dict[tuple[str, ...], int] = {}
        for sequence, count in pairs:
            key = tuple(sequence)
            total[key] = total.get(key, 0) + int(count)
        activities = tuple(sorted({label for sequence in total for label in sequence}))
        code = {label: i for i, label in enumerate(activities)}
        ordered = sorted([code[label] for label in sequence] for sequence in total)
        lengths = [len(sequence) for sequence in ordered]
        return cls(
            activities=activities,
            codes=np.array([c for sequence in ordered for c in sequence], dtype=np.int32),
            offsets=np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64),
            counts=np.array(
                [total[tuple(activities[c] for c in sequence)] for sequence in ordered],
                dtype=np.int64,
            ),
        )

    @classmethod
    def of_cases(
        cls, activities: tuple[str, ...], codes: Ints, offsets: Ints
    ) -> tuple[Variants, Integers]:
        """Count the variants of cases given as one flat array of codes and case offsets.

        Returns the variants and, for each case, the index of its variant.
        """
        keys, kind = _spelled(activities, codes, offsets)
        found, variant_of = _distinct(keys)
        lengths = np.fromiter(map(len, found), np.int64, len(found)) // kind.itemsize
        ordered = np.frombuffer(b"".join(found), dtype=kind).astype(np.int32)
        counts = np.bincount(variant_of, minlength=len(found))
        return cls(activities, ordered, _ends(lengths), counts), variant_of

    @classmethod
    def empty(cls, activities: tuple[str, ...] = ()) -> Variants:
        """The variants of no case."""
        none = np.zeros(0, dtype=np.int64)
        return cls(activities, none.astype(np.int32), np.zeros(1, dtype=np.int64), none)

    @cached_property
    def lengths(self) -> Ints:
        """Number of events of each sequence."""
        return np.diff(self.offsets)

    @property
    def cases(self) -> int:
        """Number of cases."""
        return int(self.counts.sum())

    @property
    def events(self) -> int:
        """Number of events over all cases."""
        return int((self.counts * self.lengths).sum())

    def __len__(self) -> int:
        return len(self.counts)

    def __iter__(self) -> Iterator[tuple[tuple[str, ...], int]]:
        for i, count in enumerate(self.counts):
            yield self.sequence(i), int(count)

    def sequence(self, index: int) -> tuple[str, ...]:
        """The labels of one sequence."""
        begin, end = self.offsets[index], self.offsets[index + 1]
        return tuple(self.activities[c] for c in self.codes[begin:end])

    def to_dict(self) -> dict[tuple[str, ...], int]:
        """Sequences of labels with their counts."""
        return dict(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Variants) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    def take(self, indices: Ints, counts: Ints | None = None) -> Variants:
        """The chosen sequences in the order given, with new counts if any are given."""
        kept = self.counts[indices] if counts is None else np.asarray(counts, dtype=np.int64)
        return _gather(self.activities, self.codes, self.offsets, indices, kept)

    def trimmed(self) -> Variants:
        """Only the activities that occur, in canonical order: tells nothing of what was dropped."""
        used = np.unique(self.codes)
        recode = np.zeros(len(self.activities), dtype=np.int32)
        recode[used] = np.arange(len(used), dtype=np.int32)
        labels = tuple(self.activities[c] for c in used)
        fresh = Variants(labels, recode[self.codes], self.offsets, self.counts)
        order = fresh.canonical_order()
        return fresh if (order[1:] > order[:-1]).all() else fresh.take(order)

    def keeping(self, kept: Booleans) -> Variants:
        """Only these events of each sequence; what has become equal is not merged."""
        offsets = np.concatenate([[0], np.cumsum(kept)])[self.offsets].astype(np.int64)
        return Variants(self.activities, self.codes[kept], offsets, self.counts)

    def through(self, labels: tuple[str, ...]) -> Variants:
        """Only the events with these labels, coded by place; equal sequences are not merged."""
        place = {label: code for code, label in enumerate(labels)}
        recode = np.array([place.get(label, -1) for label in self.activities], dtype=np.int32)
        codes = recode[self.codes] if len(self.codes) else self.codes
        return Variants(labels, codes, self.offsets, self.counts).keeping(codes >= 0)

    def merged(self) -> Variants:
        """Equal sequences as one, with the sum of their counts."""
        distinct, place = Variants.of_cases(self.activities, self.codes, self.offsets)
        counts = np.zeros(len(distinct), dtype=np.int64)
        np.add.at(counts, place, self.counts)
        return Variants(self.activities, distinct.codes, distinct.offsets, counts)

    def canonical_order(self) -> Integers:
        """The order of the sequences by their codes, shorter first where one begins another."""
        keys = _spelled(self.activities, self.codes, self.offsets)[0]
        if len(keys) < MANY:
            return np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.int64)
        import polars as pl

        return pl.Series(keys, dtype=pl.Binary).arg_sort().to_numpy().astype(np.int64)

    def to_polars(self) -> pl.DataFrame:
        """A Polars frame with the sequences (`variant`, a list) and their counts (`cases`)."""
        import polars as pl

        rows = np.repeat(np.arange(len(self)), self.lengths)
        labels = pl.Series(self.activities, dtype=pl.String).gather(self.codes.astype(np.int64))
        sequences = pl.DataFrame({"row": rows, "variant": labels}).group_by("row").agg("variant")
        return (
            pl.DataFrame({"row": np.arange(len(self)), "cases": self.counts.astype(np.int64)})
            .join(sequences, on="row", how="left", maintain_order="left")
            .select(pl.col("variant").fill_null(pl.lit([], dtype=pl.List(pl.String))), "cases")
        )

    def to_pandas(self) -> Any:
        """The variants as a pandas frame."""
        return as_pandas(self.to_polars())

    def __repr__(self) -> str:
        return (
            f"Variants({len(self):,} variants, {self.cases:,} cases, "
            f"{len(self.activities):,} activities)"
        )

    def _repr_html_(self) -> str:
        top = np.argsort(-self.counts, kind="stable")[:10]
        rows = [[f"{self.counts[i]:,}", " → ".join(self.sequence(int(i)))] for i in top]
        return notebook.box(repr(self), notebook.table(("cases", "variant"), rows))


class VariantCounts(Protocol):
    """A multiset of sequences that may be too many for this process to hold.

    `counts` says how many cases follow each sequence; `take` brings the sequences themselves.
    Whatever is decided by the counts alone can be decided for all and fetched for a few. The
    sequences are in canonical order, as `Variants` are: their order tells nothing of the counts.
    """

    @property
    def activities(self) -> tuple[str, ...]:
        """The labels that the sequences are made of."""

    @property
    def counts(self) -> Ints:
        """The number of cases of each sequence."""

    @property
    def lengths(self) -> Ints:
        """Number of events of each sequence."""

    @property
    def cases(self) -> int:
        """Number of cases."""

    def __len__(self) -> int:
        """Number of sequences."""

    def take(self, indices: Ints, counts: Ints | None = None) -> Variants:
        """The chosen sequences in the order given, with new counts if any are given."""


def as_pandas(frame: pl.DataFrame) -> Any:
    """The frame as one of pandas, where that is installed."""
    try:
        return frame.to_pandas()
    except ImportError as error:
        raise LogError(
            f"pandas frames need pandas and pyarrow (pip install 'discreet[pm4py]'): {error}"
        ) from None


def spans(offsets: Ints, chosen: Ints) -> tuple[Integers, Integers]:
    """Positions of the chosen spans of a flat array, one after another, and their offsets."""
    begin = offsets[:-1][chosen]
    lengths = offsets[1:][chosen] - begin
    fresh = _ends(lengths)
    return np.arange(fresh[-1]) + np.repeat(begin - fresh[:-1], lengths), fresh


def _ends(lengths: Ints) -> Integers:
    """Where spans of these lengths, one after another, begin and end."""
    found: Integers = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=found[1:])
    return found


def _spelled(
    activities: tuple[str, ...], codes: Ints, offsets: Ints
) -> tuple[list[bytes], np.dtype[Any]]:
    """Each sequence as bytes that sort as its codes do, and how a code is written in them."""
    kind = np.dtype("u1" if len(activities) <= 256 else ">u4")
    text = codes.astype(kind).tobytes()
    bounds = (kind.itemsize * offsets).tolist()
    return [text[a:b] for a, b in pairwise(bounds)], kind


def _distinct(keys: list[bytes]) -> tuple[list[bytes], Integers]:
    """The distinct keys in their order, and the place of each key among them."""
    if len(keys) < MANY:
        found = sorted(set(keys))
        place = dict(zip(found, range(len(found)), strict=True))
        return found, np.fromiter(map(place.__getitem__, keys), np.int64, len(keys))
    import polars as pl

    column = pl.DataFrame({"key": pl.Series(keys, dtype=pl.Binary)})
    distinct = column.unique().sort("key").with_row_index("place")
    places = column.join(distinct, on="key", how="left", maintain_order="left")["place"]
    return distinct["key"].to_list(), places.to_numpy().astype(np.int64)


def _gather(
    activities: tuple[str, ...], codes: Ints, offsets: Ints, chosen: Ints, counts: Ints
) -> Variants:
    positions, fresh = spans(offsets, chosen)
    return Variants(activities, codes[positions].astype(np.int32), fresh, counts)
