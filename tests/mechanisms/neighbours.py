"""A first simple audit: how often an event happens on two neighbouring logs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import log
from pathlib import Path
from typing import Any

from scipy.stats import beta

from discreet.log.variants import Key, Variants
from discreet.mechanisms.base import Mechanism
from discreet.privacy.randomness import Randomness

MISTAKE = 1e-7
"""The chance that a bound is wrong."""


@dataclass(frozen=True)
class Small:
    """A log that is only its variants."""

    counts: Mapping[Any, int]
    case_column: str = "case:concept:name"
    individual_column: str | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    classifier: str = "activity"
    origin: tuple[Path, ...] = ()

    @cached_property
    def variants(self) -> Variants:
        return Variants.from_counts(self.counts)

    def require(self, reads: str, columns: Sequence[str] = ()) -> None:
        """All that a mechanism reads of it is there."""


def loss_at_least(
    mechanism: Mechanism,
    log_: Mapping[Key, int],
    case: tuple[str, ...],
    event: Callable[[object], bool],
    runs: int,
) -> float:
    """A lower bound (wrong with probability 2·MISTAKE) on ln P[event | case] / P[event | not]."""
    more: dict[tuple[str, ...], int] = dict(log_.items())
    more[case] = more.get(case, 0) + 1
    rng = Randomness.system()
    hits = [
        sum(event(mechanism._draw(Small(counts), rng)) for _ in range(runs))  # type: ignore[arg-type]
        for counts in (log_, more)
    ]
    if hits[1] == 0:
        return float("-inf")
    highest = float(beta.isf(MISTAKE, hits[0] + 1, runs - hits[0])) if hits[0] < runs else 1.0
    lowest = float(beta.isf(1 - MISTAKE, hits[1], runs - hits[1] + 1))
    return log(lowest / highest)
