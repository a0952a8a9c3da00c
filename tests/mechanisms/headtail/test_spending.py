"""What headtail draws its noise for: no case moves counts, gradients or votes by more."""

from __future__ import annotations

from bisect import bisect_left
from functools import partial
from operator import itemgetter
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from discreet.arrays import Integers, Ints
from discreet.log.variants import Variants
from discreet.mechanisms.headtail import HeadTail, tail
from discreet.mechanisms.headtail.ngrams import Tables, found_activities
from discreet.mechanisms.headtail.spending import FEW_HIDDEN, MANY_HIDDEN, NO_HEAD
from discreet.privacy.randomness import Randomness
from discreet.privacy.reserved import ReservedSelection
from tests.mechanisms.neighbours import Small
from tests.watching import Draw, Watch

FREQUENT = 40
"""Variants of so many cases are shown here, and no others: which ones is the selection's matter."""

LOG = {
    **{f"a{one}{two}d": 3 for one in "abcd" for two in "abc"},
    "abcd": 60,
    "acbd": 50,
    "abcdabcdabcdabcdabcdabcd": 20,
    "abbbbbbbbbbbbbbbbbbbbd": 12,
    "abd": 30,
    "acd": 9,
}

FURTHER = (
    "abcd",
    "d",
    "abcdefghijklmn",
    "ab" * 150,
    "b" * 90,
    "abcdabcdabcdabcdabcdabcd",
    "xyz",
    "".join(map(chr, range(500, 700))),
)
"""Of the head, short, varied, long, of one activity, long as many are, of unheard activities."""

PROBES = {NO_HEAD: (0, 3000), FEW_HIDDEN: (60_000, 100), MANY_HIDDEN: (30_000, 40_000)}
"""What the coverage probe is said to have answered, so that this way is gone."""


def watched(mechanism: HeadTail, way: str, model: str | None, patch: pytest.MonkeyPatch) -> Watch:
    """Releases of the log, and of it with each further case."""
    given = {"coverage probe": lambda _: PROBES[way]}
    watch = Watch(given, unnamed=f"{way}: activities")

    def selected(selection: ReservedSelection, counts: Ints, rng: Randomness) -> Integers:
        return np.where(np.asarray(counts) >= FREQUENT, 90, selection.threshold)

    def found(cases: Variants, *rest: Any) -> dict[str, float]:
        watch.keys = cases.activities
        return found_activities(cases, *rest)

    patch.setattr(ReservedSelection, "noisy", selected)
    patch.setattr(tail, "found_activities", found)
    patch.setattr(tail, "worth_learning", lambda *_: model is not None)
    patch.setattr(tail, "learnable", lambda *_: model == "gradients")
    for case in (None, *FURTHER):
        log = Small(LOG | ({} if case is None else {case: LOG.get(case, 0) + 1}))
        watch.run(partial(mechanism._draw, log, Randomness.seeded(3)))  # type: ignore[arg-type]
    return watch


def check_noise(way: str, model: str | None, **given: Any) -> None:
    """Each step that is taken pays for what a case adds, and hardly for more.

    A case that is shown moves the probe and nothing else: it does not pay for the tail.
    """
    mechanism = HeadTail(**{"epsilon": 4.0, "delta": 1e-4, **given})
    with pytest.MonkeyPatch.context() as patch:
        watch = watched(mechanism, way, model, patch)
    names = {one.step for one in watch.runs[0]}
    assert len(names) == 1 + (way != NO_HEAD) + (4 if model else 1)
    assert mechanism.spending is not None
    drawn = [step for step in mechanism.spending.walk() if step.name in names]
    used = watch.used(drawn)
    assert min(used.values()) > 0.7, min(used.items(), key=itemgetter(1))
    if way != NO_HEAD:
        shown = watch.used(drawn, runs=[1 + FURTHER.index("abcd")])
        assert {name for name, part in shown.items() if part} == {"coverage probe"}


LABELS = tuple("abcdefghijklmnxyz")


@pytest.mark.parametrize("alphabet", [None, LABELS], ids=["found", "public"])
@pytest.mark.parametrize(
    ("way", "model"),
    [
        (NO_HEAD, "contexts"),
        (NO_HEAD, "gradients"),
        (FEW_HIDDEN, None),
        (FEW_HIDDEN, "contexts"),
        (FEW_HIDDEN, "gradients"),
        (MANY_HIDDEN, "contexts"),
    ],
)
def test_a_case_costs_no_more_than_its_noise_pays_for(
    way: str, model: str | None, alphabet: tuple[str, ...] | None
) -> None:
    check_noise(way, model, alphabet=alphabet)


def test_a_case_costs_no_more_than_its_laplace_noise_pays_for() -> None:
    check_noise(NO_HEAD, "contexts", alphabet=LABELS, delta=0.0)


def check_lone_activities(epsilon: float = 0.2) -> None:
    """That any activity of one case alone is named fails with the probability that is stated."""
    mechanism = HeadTail(epsilon=epsilon, delta=1e-4)
    assert mechanism.spending is not None
    tables = Tables.of(mechanism.spending, NO_HEAD, 5.0)
    case = "".join(map(chr, range(500, 700)))
    watch = Watch(unnamed=tables.activities.name)

    def named(answer: int) -> bool:
        watch.given[tables.activities.name] = lambda counts: np.full_like(counts, answer)
        watch.forget()
        log, rng = Variants.from_counts({tuple(case): 1}), Randomness.seeded(3)
        return bool(watch.run(partial(found_activities, log, False, 8, tables, rng)))

    least = bisect_left(range(1 << 40), True, key=named)
    (draw,) = watch.runs[0]
    assert isinstance(draw, Draw)
    beyond = least - 1 - draw.counts[draw.counts > 0].astype(np.float64)
    chance = float(norm.sf(beyond / float(draw.noise.size) ** 0.5).sum())
    assert tables.activities.exception / 4 < chance <= tables.activities.exception


def test_activities_of_one_case_alone_are_kept_back() -> None:
    check_lone_activities()
