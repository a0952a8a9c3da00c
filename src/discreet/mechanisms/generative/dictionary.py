"""The dictionary: the variants that a model has a column for."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from discreet.arrays import Integers
from discreet.log.variants import Variants
from discreet.parameters import ParameterError, parameter

MOST_COLUMNS = 100_000


@dataclass(frozen=True)
class Dictionary:
    """Variants by column, in canonical order; what else there may be is in a last column."""

    variants: Variants
    other: bool
    """Whether there is a column for cases of any other variant."""

    @classmethod
    def of(cls, variants: Variants, *, other: bool) -> Dictionary:
        """A column for each variant; their counts are left behind."""
        trimmed = variants.trimmed()
        return cls(trimmed.take(np.arange(len(trimmed)), np.ones(len(trimmed), np.int64)), other)

    @property
    def columns(self) -> int:
        """How many columns a case is encoded in."""
        return len(self.variants) + self.other

    def counts(self, log: Variants) -> Integers:
        """How many cases of the log belong to each column; each case is judged on its own."""
        known = log.to_dict()
        found = [known.get(sequence, 0) for sequence, _ in self.variants]
        if self.other:
            found.append(log.cases - sum(found))
        return np.array(found, dtype=np.int64)

    def decode(self, columns: Integers) -> Variants:
        """The cases with these columns, those of the last one left out if it stands for others."""
        counts = np.bincount(columns, minlength=self.columns)[: len(self.variants)]
        shown = np.flatnonzero(counts)
        return self.variants.take(shown, counts[shown]).trimmed()

    def to_facts(self) -> dict[str, Any]:
        """Plain values for a model's file."""
        bounds, codes = self.variants.offsets.tolist(), self.variants.codes.tolist()
        return {
            "activities": list(self.variants.activities),
            "variants": [codes[a:b] for a, b in pairwise(bounds)],
            "other": self.other,
        }

    @classmethod
    def from_facts(cls, facts: dict[str, Any]) -> Dictionary:
        """Inverse of `to_facts`; raises ValueError if they do not make sense."""
        labels, rows = facts.get("activities"), facts.get("variants")
        if (
            not isinstance(labels, list)
            or not isinstance(rows, list)
            or not all(isinstance(label, str) for label in labels)
            or not all(isinstance(row, list) and set(map(type, row)) <= {int} for row in rows)
            or not isinstance(facts.get("other"), bool)
        ):
            raise ValueError("its dictionary of variants is malformed")
        if any(not 0 <= code < len(labels) for row in rows for code in row):
            raise ValueError("its dictionary names an activity that is not listed")
        sequences = [tuple(labels[code] for code in row) for row in rows]
        built = cls.of(Variants.from_counts((s, 1) for s in sequences), other=facts["other"])
        if [sequence for sequence, _ in built.variants] != sequences:
            raise ValueError("its dictionary is not in canonical order")
        return built


def dictionary_parameter() -> Any:
    """Declare the field `dictionary: tuple[tuple[str, ...], ...] | str | None` of a mechanism."""
    return parameter(
        None,
        "strict only: a public list of variants instead of one found in the log: a file with one "
        "variant per line, its activities separated by tabs",
        read=read_dictionary,
        canonical=_canonical,
    )


def read_dictionary(text: str) -> tuple[tuple[str, ...], ...]:
    """Variants from a file, one per line, activities separated by tabs."""
    try:
        lines = Path(text).read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise ParameterError(
            f"the dictionary {text!r} cannot be read ({error}); give a UTF-8 text file with one "
            "variant per line, its activities separated by tabs"
        ) from error
    return tuple(tuple(line.split("\t")) for line in lines if line.strip())


def _canonical(given: Any) -> tuple[tuple[str, ...], ...]:
    """The public variants, each once."""
    if not given or isinstance(given, str) or any(isinstance(row, str) for row in given):
        raise ParameterError(
            "the dictionary must be a list of variants, each a list of activities, with at least "
            "one variant in it"
        )
    if len(given) > MOST_COLUMNS:
        raise ParameterError(f"a dictionary may have at most {MOST_COLUMNS:,} variants")
    return tuple(sorted({tuple(row) for row in given}))
