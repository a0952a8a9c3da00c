"""Cases that are read only through sums over them, wherever they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

import polars as pl

from discreet.arrays import Integers, Ints

KEY, AMOUNT = "key", "amount"
"""The columns of an answer."""


@dataclass(frozen=True, eq=False)
class Cases:
    """Some cases of a log, each with all its events in order.

    Case `i` has the events `offsets[i]` to `offsets[i + 1]`: `codes` number the `activities`,
    `times` are microseconds since 1970, and `column` gives a further column event by event.
    """

    activities: tuple[str, ...]
    codes: Integers
    offsets: Integers
    times: Integers
    column: Callable[[str], pl.Series]
    kept: dict[Any, Any] = field(default_factory=dict)
    """What one question computed of these cases and later ones reuse."""

    def __len__(self) -> int:
        return len(self.offsets) - 1


Question = Callable[[Cases], pl.DataFrame]
"""What some cases add to an answer: whole amounts by key, each key once and in order. Each case
adds by itself, so that the answer for all cases is the sum, however they are divided."""


class Sums(Protocol):
    """The cases of a log, read through sums over them only."""

    @property
    def schema(self) -> pl.DataFrame:
        """The further columns that can be read, without rows."""

    def total(self, question: Question) -> pl.DataFrame:
        """The answer for all cases: the amounts of each key added up, in the order of the keys."""


def amounts(key: Ints | pl.Series, amount: Ints) -> pl.DataFrame:
    """An answer: the amount of each key."""
    return pl.DataFrame({KEY: key, AMOUNT: pl.Series(amount, dtype=pl.Int64)})


def added(answers: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """The answers for parts of the cases as one answer for all of them."""
    found = list(answers)  # an empty log has one, too
    if len(found) == 1:
        return found[0]
    return pl.concat(found).group_by(KEY).agg(pl.col(AMOUNT).sum()).sort(KEY)
