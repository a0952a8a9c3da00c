"""The budget of headtail: one tree of steps, whose leaves draw all of its noise.

The argument that they may be added up so is in `mechanism.py`.
"""

from __future__ import annotations

from functools import lru_cache

from discreet.privacy.accounting import zcdp_rho
from discreet.privacy.guarantee import Budget
from discreet.privacy.partition import LARGEST_EPSILON
from discreet.privacy.reserved import ReservedSelection
from discreet.privacy.steps import (
    Concentrated,
    Gaussian,
    Laplace,
    OneOf,
    Reserved,
    Sampled,
    Selecting,
    Sequential,
    Step,
)

NO_HEAD, FEW_HIDDEN, MANY_HIDDEN = "no head", "few hidden", "many hidden"
"""The ways of a release: a tail of all cases, or a head and a tail of the cases that it hides."""

# Proof
DOWN = 1 - 2.0**-40
"""Factor that rounds a share down by more than floats err."""

# Tuned on generated logs (bench/headtail_fit.py; docs/mechanisms/headtail.md says what on what)
PROBE, LEAST_PROBE, MOST_PROBE = 0.04, 0.01, 0.065
"""Share of epsilon for the coverage probe; the epsilon that it gets at least, and the largest share
for that: with less it says nothing about a thousand cases."""

RESERVES = {FEW_HIDDEN: 0.75, MANY_HIDDEN: 0.85}
"""Part of epsilon that is kept for the cases which the head does not show."""

CLEAR_RESERVE = 0.6
"""That part if few cases are hidden and a clear model is wanted, which the head makes."""

HEAD_DELTA = 0.8
"""Part of delta for the head; the rest is for a model of the hidden cases."""

SIZE = 0.06
"""Share of a tail's epsilon for the number of hidden cases."""

LENGTHS, LEAST_LENGTHS, MOST_LENGTHS = 0.05, 0.01, 0.2
"""Share of a tail's epsilon for the lengths of cases; the epsilon that they get at least, and the
largest share for that: not to know how long cases are costs more than anything else."""

VOTES, VOTES_BESIDE_HEAD = 0.3, 0.4
"""Share of a tail's epsilon for the votes if a model is learned: without a head, where the model is
all there is, and beside one."""

ACTIVITIES = 0.3
"""Share of a model's budget for the activities."""

UNSEEN_DELTA = 0.2
"""Part of a model's delta for showing an activity that only one case has."""


def probe_share(epsilon: float) -> float:
    """The share of epsilon for the coverage probe."""
    return max(PROBE, min(LEAST_PROBE / epsilon, MOST_PROBE))


@lru_cache(maxsize=64)
def spending(budget: Budget, share: float = 1.0, clear_model: bool = False) -> Step:
    """The steps of a release: the probe, then a head and a tail, or a tail of all cases.

    `share` is the part of the cases that the tail reads.
    """
    budget = Budget(min(budget.epsilon, LARGEST_EPSILON), budget.delta)
    probing = probe_share(budget.epsilon)
    probe = Laplace("coverage probe", budget.share(probing, 0).epsilon)
    rest = budget.share(1 - probing, 1)
    ways: tuple[Step, ...] = (sampled(NO_HEAD, rest, share, sized=False),)
    if rest.delta:
        reserves = RESERVES | ({FEW_HIDDEN: CLEAR_RESERVE} if clear_model else {})
        ways += tuple(with_head(of, rest, kept, share) for of, kept in reserves.items())
    return Sequential("release", (probe, OneOf("ways", ways)))


def with_head(of: str, budget: Budget, reserve: float, share: float = 1.0) -> Reserved:
    """The steps of a head, and of a tail of what it hides."""
    kept = budget.epsilon * reserve * DOWN
    selection = ReservedSelection(budget.epsilon, budget.delta * HEAD_DELTA * DOWN, kept)
    left = Budget(kept, budget.delta * (1 - HEAD_DELTA) * DOWN)
    hidden = sampled(of, left, share, sized=True)
    return Reserved(f"{of}: head and tail", Selecting(f"{of}: head", selection), hidden)


def reserved(selecting: Selecting) -> ReservedSelection:
    """The selection with a reserve that a step makes."""
    if not isinstance(selecting.selection, ReservedSelection):
        raise TypeError(f"{selecting.name} reserves nothing")
    return selecting.selection


def sampled(of: str, budget: Budget, share: float, *, sized: bool) -> Step:
    """The steps of a tail of all cases, or of a random sample, which may spend more on each."""
    if share == 1:
        return tail(of, budget, sized=sized)
    room = Sampled.affordable(budget, share)
    return Sampled(sample_name(of), tail(of, room, sized=sized), share)


def sample_name(of: str) -> str:
    """The name of the step that samples the cases of a tail."""
    return f"{of}: sample"


def tail(of: str, budget: Budget, *, sized: bool) -> Step:
    """Steps that read the cases of a tail: with a model of them or, beside a head, without."""
    size, voting = (SIZE, VOTES_BESIDE_HEAD) if sized else (0.0, VOTES)
    lengths = max(LENGTHS, min(LEAST_LENGTHS / budget.epsilon, MOST_LENGTHS))
    learning = Sequential(
        f"{of}: model and votes",
        (
            Laplace(f"{of}: lengths", budget.share(lengths).epsilon),
            model(of, budget.share(1 - size - lengths - voting, 1)),
            Laplace(f"{of}: votes on a model", budget.share(voting).epsilon),
        ),
    )
    if not sized:
        return learning
    counted = Laplace(f"{of}: number of cases", budget.share(SIZE).epsilon)
    votes = Laplace(f"{of}: votes", budget.share(1 - SIZE).epsilon)
    return Sequential(f"{of}: tail", (counted, OneOf(f"{of}: candidates", (learning, votes))))


def model(of: str, budget: Budget) -> Step:
    """The steps of a model: activities, then tables or gradients of what follows what.

    The tables, or the gradient steps, share the ρ (or ε) of their leaf: what is drawn with the
    noise of 1/s times the true (squared) sensitivity costs s of it, and the parts add up to 1.
    """
    names = f"{of}: activities", f"{of}: what follows"
    shares = ACTIVITIES, 1 - ACTIVITIES
    if not budget.delta:
        parts = zip(names, shares, strict=True)
        pure = (Laplace(name, budget.epsilon * share * DOWN) for name, share in parts)
        return Sequential(f"{of}: model", tuple(pure))
    unseen = budget.delta * UNSEEN_DELTA * DOWN
    delta = budget.delta * (1 - UNSEEN_DELTA) * DOWN
    rho = zcdp_rho(budget.epsilon, delta) * DOWN
    activities = Gaussian(names[0], rho * shares[0] * DOWN, unseen)
    following = Gaussian(names[1], rho * shares[1] * DOWN)
    return Concentrated(f"{of}: model", (activities, following), delta)
