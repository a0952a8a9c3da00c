"""Programs that a paper measured its own against, run as its authors ran them. None is private.

A plan names one where it would name a mechanism, as `baseline:...`; ε and δ are what the paper
wrote beside its figures. Both here draw again until the number of variants is in a range that was
chosen by looking at the log, which no budget pays for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from inspect import signature
from math import log1p
from typing import Any

import numpy as np

from discreet.log.errors import LogError
from discreet.log.events import EventLog
from discreet.log.variants import Variants
from discreet.mechanisms.registry import mechanism
from discreet.parameters import ParameterError
from discreet.privacy.count_noise import CountNoise
from discreet.privacy.randomness import Randomness

MOST_DRAWS = 1000
"""Number of draws outside the range after which the range is taken to be wrong."""


def travas_benchmark(
    log: EventLog,
    rng: Randomness,
    *,
    epsilon: float,
    delta: float,
    max_length: int,
    min_count: int,
    variants: tuple[int, int],
) -> Variants:
    """The trace-variant query as TraVaS's authors wrote it anew, with (ε, δ)/max_length per level.

    Each prefix gets two noisy counts: of the cases that end there, which is shown if it exceeds
    min_count, and of those that go on, which decides whether the prefix is extended. Unlike the
    query's own authors it prunes ends too, and shows of the longest prefixes only what ends there.
    """
    noise = CountNoise.laplace(1, _per_count(epsilon / max_length, delta / max_length))
    return _within(variants, lambda: _query(log.variants, noise, max_length, min_count, rng))


def travas_sacofa(
    log: EventLog,
    rng: Randomness,
    *,
    epsilon: float,
    delta: float,
    max_length: int,
    min_count: int,
    variants: tuple[int, int],
) -> Variants:
    """SaCoFa as TraVaS's authors ran it: (ε, δ) on every level, one threshold for all prefixes."""
    chosen = mechanism(
        "sacofa",
        fidelity="published",
        epsilon=float(_per_count(epsilon, delta)),
        max_length=max_length,
        min_count=min_count,
        min_count_harmful=min_count,
    )
    return _within(variants, lambda: _longer_than_one(chosen.release(log).artefact))


BASELINES: dict[str, Callable[..., Variants]] = {
    "baseline:travas-benchmark": travas_benchmark,
    "baseline:travas-sacofa": travas_sacofa,
}


def check(name: str, parameters: dict[str, Any]) -> None:
    """Raise a ParameterError if a baseline lacks one of these, or has no such parameter."""
    try:
        signature(BASELINES[name]).bind(None, None, **parameters)
    except TypeError as error:
        raise ParameterError(str(error)) from None


def drawn(name: str, log: EventLog, rng: Randomness, **parameters: Any) -> Variants:
    """One release of a baseline."""
    return BASELINES[name](log, rng, **parameters)


def _per_count(epsilon: float, delta: float) -> Fraction:
    """The ε of Laplace noise that is (ε, δ)-DP: its scale is 1/(ε − ln(1 − δ))."""
    return Fraction(epsilon - log1p(-delta))


def _within(range_of: tuple[int, int], draw: Callable[[], Variants]) -> Variants:
    """The first draw whose number of variants is in the range."""
    fewest, most = range_of
    for _ in range(MOST_DRAWS):
        found = draw()
        if fewest <= len(found) <= most:
            return found
    raise LogError(f"none of {MOST_DRAWS} draws had {fewest} to {most} variants")


def _longer_than_one(variants: Variants) -> Variants:
    """Without variants of a single event, which the authors drop."""
    return variants.take(np.flatnonzero(variants.lengths > 1))


def _query(
    variants: Variants, noise: CountNoise, max_length: int, min_count: int, rng: Randomness
) -> Variants:
    through: Counter[tuple[str, ...]] = Counter()
    ended = variants.to_dict()
    for sequence, count in ended.items():
        for length in range(1, min(len(sequence), max_length) + 1):
            through[sequence[:length]] += count
    shown: dict[tuple[str, ...], int] = {}
    open_prefixes: list[tuple[str, ...]] = [()]
    for _ in range(max_length):
        found = [(*prefix, label) for prefix in open_prefixes for label in variants.activities]
        ends = np.array([ended.get(one, 0) for one in found], dtype=np.int64)
        goes_on = np.array([through[one] for one in found], dtype=np.int64) - ends
        ends, goes_on = ends + noise.draw(len(found), rng), goes_on + noise.draw(len(found), rng)
        shown |= {found[i]: int(ends[i]) for i in np.flatnonzero(ends > min_count)}
        open_prefixes = [found[i] for i in np.flatnonzero(goes_on > min_count)]
    return _longer_than_one(Variants.from_counts(shown))
