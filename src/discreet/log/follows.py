"""Follows: how often one activity directly follows another, with start ⊤ and end ⊥."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from discreet.arrays import Floats, Integers, Ints
from discreet.log.errors import LogError
from discreet.log.variants import Variants

START = "⊤"
END = "⊥"
FORMAT = "discreet follows 1"


@dataclass(frozen=True, eq=False)
class Follows:
    """Directly-follows counts on a square matrix; an artefact of its own.

    `counts[i, j]` says how often activity j directly follows activity i. The last row is the
    start ⊤ (what cases begin with), the last column the end ⊥ (what they end with). Estimates
    need not be whole.
    """

    activities: tuple[str, ...]
    counts: Integers | Floats

    kind: ClassVar[str] = "directly-follows graph"
    suffixes: ClassVar[tuple[str, ...]] = (".json", ".csv", ".dot", ".mmd", ".svg")

    def __post_init__(self) -> None:
        size = len(self.activities) + 1
        if self.counts.shape != (size, size):
            raise ValueError(f"needs a matrix of {size} by {size}, not {self.counts.shape}")

    @classmethod
    def of_variants(cls, variants: Variants) -> Follows:
        """Count the pairs of a log's variants."""
        sources, targets, owners = pairs(variants)
        size = len(variants.activities) + 1
        counts = np.zeros(size * size, dtype=np.int64)
        np.add.at(counts, sources * size + targets, variants.counts[owners])
        return cls(variants.activities, counts.reshape(size, size))

    @classmethod
    def joined(
        cls,
        activities: tuple[str, ...],
        between: Integers | Floats,
        starts: Integers | Floats,
        ends: Integers | Floats,
    ) -> Follows:
        """A graph from the counts between activities, and how often each starts and ends a case."""
        counts = np.zeros((len(starts) + 1, len(starts) + 1))
        counts[:-1, :-1], counts[-1, :-1], counts[:-1, -1] = between, starts, ends
        return cls(activities, counts)

    @property
    def between(self) -> Integers | Floats:
        """The counts without start and end."""
        return self.counts[:-1, :-1]

    @property
    def starts(self) -> Integers | Floats:
        """The number of cases that each activity starts."""
        return self.counts[-1, :-1]

    @property
    def ends(self) -> Integers | Floats:
        """The number of cases that each activity ends."""
        return self.counts[:-1, -1]

    @property
    def cases(self) -> int:
        """The number of cases that begin."""
        return int(self.counts[-1].sum())

    def __iter__(self) -> Iterator[tuple[str | None, str | None, int]]:
        """(source, target, count) of every pair that occurs; None is the start or the end."""
        names = (*self.activities, None)
        for i, j in zip(*np.nonzero(self.counts), strict=True):
            yield names[i], names[j], int(self.counts[i, j])

    def __len__(self) -> int:
        return int(np.count_nonzero(self.counts))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Follows) and set(self) == set(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Follows({len(self.activities)} activities, {len(self)} pairs, {self.cases} cases)"

    def trimmed(self) -> Follows:
        """The graph without activities that no pair names."""
        named = (self.counts[:-1] != 0).any(axis=1) | (self.counts[:, :-1] != 0).any(axis=0)
        return self if named.all() else self.part(np.flatnonzero(named).tolist())

    def part(self, members: Iterable[int]) -> Follows:
        """The graph of only these activities, given by their numbers."""
        chosen = sorted(members)
        kept = [*chosen, len(self.activities)]
        labels = tuple(self.activities[i] for i in chosen)
        return Follows(labels, self.counts[np.ix_(kept, kept)])

    def render(self, suffix: str) -> str:
        """The text of a .json (read back by `from_json`), .csv, .dot or .mmd file."""
        return {
            ".json": self.to_json,
            ".csv": self.to_csv,
            ".dot": self.to_dot,
            ".mmd": self.to_mermaid,
        }[suffix]()

    def to_json(self) -> str:
        """Activities, and (source, target, count) rows; null is the start or the end."""
        body = {"format": FORMAT, "activities": self.activities, "follows": list(self)}
        return json.dumps(body, ensure_ascii=False, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Follows:
        """Inverse of `to_json`; says what is wrong with anything else."""
        try:
            body: dict[str, Any] = json.loads(text)
            if body.get("format") != FORMAT:
                raise ValueError(f"the field 'format' is not {FORMAT!r}")
            activities = tuple(body["activities"])
            if len(set(activities)) < len(activities) or not all(
                isinstance(label, str) for label in activities
            ):
                raise ValueError("activities must be distinct texts")
            place: dict[str | None, int] = {label: i for i, label in enumerate(activities)}
            place[None] = len(activities)
            counts = np.zeros((len(place), len(place)), dtype=np.int64)
            for source, target, count in body["follows"]:
                if isinstance(count, bool) or not isinstance(count, int) or count < 0:
                    raise ValueError(f"{count!r} is not a count")
                counts[place[source], place[target]] += count
        except KeyError as error:
            raise LogError(f"this is not a directly-follows graph: {error} is missing") from error
        except (ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
            raise LogError(f"this is not a directly-follows graph: {error}") from error
        return cls(activities, counts)

    def to_csv(self) -> str:
        """Rows source, target, count, with ⊤ and ⊥."""
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["source", "target", "count"])
        for source, target, count in self:
            writer.writerow([_named(source, START), _named(target, END), count])
        return stream.getvalue()

    def to_dot(self) -> str:
        """A graph for Graphviz."""
        lines = ["digraph follows {", '  node [shape=box, style=rounded, fontname="sans-serif"];']
        lines += [
            f'  start [label="{START}", shape=circle];',
            f'  end [label="{END}", shape=circle];',
        ]
        lines += [f"  a{i} [label={_quoted(label)}];" for i, label in enumerate(self.activities)]
        lines += [f'  {s} -> {t} [label="{n}"];' for s, t, n in self._edges("start", "end")]
        return "\n".join([*lines, "}"]) + "\n"

    def to_mermaid(self) -> str:
        """A graph for Mermaid."""
        lines = ["flowchart TD", f"  start(({START}))", f"  stop(({END}))"]
        lines += [f'  a{i}["{_escaped(label)}"]' for i, label in enumerate(self.activities)]
        lines += [f"  {s} -->|{n}| {t}" for s, t, n in self._edges("start", "stop")]
        return "\n".join(lines) + "\n"

    def _edges(self, start: str, end: str) -> Iterator[tuple[str, str, int]]:
        last = len(self.activities)
        for i, j in zip(*np.nonzero(self.counts), strict=True):
            source = start if i == last else f"a{i}"
            yield source, end if j == last else f"a{j}", int(self.counts[i, j])


def pairs(variants: Variants) -> tuple[Ints, Ints, Ints]:
    """Every directly-follows pair of every variant: source, target, and the variant's index.

    Codes as in `variants`; the number of activities stands for ⊤ as source and ⊥ as target.
    """
    mark = len(variants.activities)
    many = len(variants)
    lengths = variants.lengths
    place = variants.offsets[:-1] + np.arange(many)  # one mark before each sequence
    padded = np.full(len(variants.codes) + many + 1, mark, dtype=np.int64)
    inner = np.ones(len(padded), dtype=bool)
    inner[place] = False
    inner[-1] = False
    padded[inner] = variants.codes
    return padded[:-1], padded[1:], np.repeat(np.arange(many), lengths + 1)


def _named(label: str | None, mark: str) -> str:
    return mark if label is None else label


def _quoted(label: str) -> str:
    return '"' + label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _escaped(label: str) -> str:
    marks = {"#": "#35;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "\n": " "}
    return "".join(marks.get(letter, letter) for letter in label)
