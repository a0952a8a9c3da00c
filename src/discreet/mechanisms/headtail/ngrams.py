"""Noisy n-grams of the hidden cases, and the Markov chain that they make.

`Tables` says how much a case may add to each table and which noise each draws, from the steps that
the tail may spend. First the activities are counted (`found_activities`), then what follows which
context (`learned`); contexts of the next table are chosen by the noisy tables before. The proof is
that of `mechanism.py`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import NormalDist

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.log.follows import pairs
from discreet.log.variants import Variants
from discreet.mechanisms.blocks.contributions import Contributions, Norm
from discreet.mechanisms.headtail.candidates import (
    PHASES,
    Chain,
    context,
    located,
)
from discreet.mechanisms.headtail.spending import DOWN
from discreet.privacy.count_noise import CountNoise
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import LARGEST_BOUND, Gaussian, Laplace, Step
from discreet.privacy.transcript import note

# Proof
MOST_STEPS = LARGEST_BOUND // 64
"""Largest bound on a case's contribution to a table: a table takes a small part of the budget, and
its noise must still fit."""

MOST_LABELS = 64
"""Most activities of a case that can be named through it, if the alphabet is not public; see
`Tables.unseen_threshold`."""

# Tuned on generated logs (bench/headtail_fit.py; docs/mechanisms/headtail.md says what on what)
CLEAR_LABEL = 5.0
"""Deviations of the noise by which a public activity must stand out to be used: a model of more
activities has more weights, and learns each of them worse."""

FEWEST_LABELS, LABELS_PER_EVENT = 12, 0.5
"""Number of the most frequent public activities that are used whatever the noise where no head
names any, in all or per event of a case, whichever is more: a few cannot tell long cases."""

LEVELS = ((1.0,), (0.45, 0.55), (0.28, 0.44, 0.28))
"""Shares of the budget for contexts, by level, for one, two and three levels of context."""

REACH = (8.0, 40.0)
"""Deviations of the noise by which the average activity stands out where there is a second and a
third level of context."""

OPEN = 5.0
"""Deviations of the noise that a context's count exceeds where the next level refines it."""

ZERO, FAINT_ZERO = 2.0, 0.8
"""Deviations of the noise below which a count is taken as noise; the second where nearly all
counts are faint."""

FAINT = 2.0
"""Deviations by which the average pair stands out below which nearly all counts are faint."""

SMOOTH = (0.3, 10.0)
"""Weight of the shorter context, in deviations of the noise: for pairs, and for longer ones."""

SHARPEN = 1.35
"""Exponent of the probabilities: likely sequences make better candidates than typical ones."""


@dataclass(frozen=True)
class Tables:
    """The noise for counts of activities, and for counts of what follows what.

    `bound` limits what a case adds to a table: as a sum where the noise is Laplace, as a sum of
    squares where it is Gaussian.
    """

    activities: Laplace | Gaussian
    following: Laplace | Gaussian
    bound: int

    @classmethod
    def of(cls, steps: Step, name: str, length: float) -> Tables:
        """The tables that the steps of a tail pay for, for cases of about this length."""
        leaves = [steps.named(f"{name}: activities"), steps.named(f"{name}: what follows")]
        activities, following = (x for x in leaves if isinstance(x, Laplace | Gaussian))
        bound = length + 1 if isinstance(following, Laplace) else length / 2 + 1
        return cls(activities, following, max(1, min(MOST_STEPS, round(bound))))

    @property
    def norm(self) -> Norm:
        """The norm in which a case's contribution is bounded."""
        return "l1" if isinstance(self.following, Laplace) else "l2"

    @property
    def naming(self) -> CountNoise:
        """The noise on the counts of activities."""
        return self.activities.noise(self.bound)

    def part(self, share: float) -> CountNoise:
        """The noise of a table that spends this share of what contexts may cost."""
        return self.following.noise(Fraction(self.bound) / Fraction(share * DOWN))

    @property
    def rho(self) -> float:
        """The ρ that contexts may cost."""
        return float(self.following.rho or 0.0)

    def standing_out(self, length: float) -> float:
        """Weight of one step of a case of this length, in deviations of the noise."""
        if isinstance(self.following, Laplace):
            return self.following.epsilon / (math.sqrt(2) * length)
        return math.sqrt(2 * self.rho / length)

    @property
    def unseen_threshold(self) -> float:
        """A noisy count that activities of a single case pass with probability `exception` at most.

        Such an activity has a count of at most the root of `bound`, and a case has at most
        MOST_LABELS of them. Discrete Gaussian noise reaches x no more likely than the continuous
        one reaches a step of the grid less.
        """
        delta = self.activities.exception
        chance = delta * (1 - delta) / MOST_LABELS
        spread = -NormalDist().inv_cdf(chance) * self.naming.deviation
        return (math.sqrt(self.bound) + 1 + spread) * (1 + 1e-6)


def found_activities(
    cases: Variants, public: bool, fewest: int, tables: Tables, rng: Randomness
) -> dict[str, float]:
    """Activities that may be named, with noisy numbers of cases; spends their step.

    Those whose noisy count passes a threshold: without a public alphabet one that hides single
    cases, with one the count that tells them from noise, and the `fewest` most frequent ones in
    any case. Without one only activities that some case counts towards may pass at all, and a
    case with more than MOST_LABELS activities of its own adds no further chances.
    """
    owner = np.repeat(np.arange(len(cases)), cases.lengths)
    given = Contributions.of(owner, cases.codes, len(cases.activities))
    first = np.searchsorted(given.owner, np.arange(len(cases)))
    few = np.arange(len(given.owner)) - first[given.owner] < MOST_LABELS
    given = Contributions(
        given.owner[few], given.key[few], np.ones(few.sum(), np.int64), given.size
    )
    noise = tables.naming
    noted = noise if public else replace(noise, name="")  # counts of unnamed ones stay unsaid
    shown = given.noisy_counts(cases.counts, tables.bound, tables.norm, noted, rng)
    if public:
        passed = shown > CLEAR_LABEL * noise.deviation
        passed[np.argsort(-shown, kind="stable")[:fewest]] = True
    else:
        passed = np.zeros(given.size, dtype=bool)
        passed[given.key] = True
        passed &= shown > tables.unseen_threshold
        note(noise.name, np.sort(shown[passed])[::-1])
    return {cases.activities[i]: float(shown[i]) for i in np.flatnonzero(passed)}


def reach(tables: Tables, labels: int, cases: float, length: float) -> float:
    """Deviations of the noise by which the average activity stands out."""
    return max(cases, 0.0) * length * tables.standing_out(length) / (labels + 1)


def learned(
    cases: Variants,
    overall: Floats,
    tables: Tables,
    reached: float,
    rng: Randomness,
) -> Chain:
    """A chain of noisy counts of what follows which context; spends `tables.following`.

    Each level is smoothed by the less precise one. `overall` is how likely each activity, and the
    end, is anywhere, and `reached` by how much activities stand out: the more they do, the more
    precise the contexts.
    """
    mark = len(cases.activities)
    base = mark + 1
    last, following, owner = pairs(cases)
    steps = np.arange(len(owner)) - np.searchsorted(owner, owner)
    shares = LEVELS[sum(reached > least for least in REACH)]
    depth = len(shares)
    zero = FAINT_ZERO if depth == 1 and reached < FAINT * base else ZERO
    past = [np.where(steps >= back, np.roll(last, back), mark) for back in range(max(depth - 1, 1))]
    contexts = np.arange(base)
    shorter: Floats = np.repeat((overall / overall.sum())[None], base, axis=0)
    levels: list[tuple[Integers, Floats]] = []
    for level in range(depth):
        noise = tables.part(shares[level])
        deviation = noise.deviation
        place, known = located(contexts, context(level, base, steps, past))
        table = Contributions.of(
            owner[known], place[known] * base + following[known], len(contexts) * base
        )
        counts = table.noisy_counts(cases.counts, tables.bound, tables.norm, noise, rng).reshape(
            -1, base
        )
        weights = np.where(counts > zero * deviation, counts, 0)
        weights += SMOOTH[min(level, 1)] * deviation * shorter
        weights = (weights / weights.sum(axis=1, keepdims=True)) ** SHARPEN
        levels.append((contexts, weights / weights.sum(axis=1, keepdims=True)))
        contexts = _refined(level, contexts, counts, deviation, base)
        if not len(contexts):
            break
        shorter = _less_precise(levels, contexts, base)
    return Chain(cases.activities, levels)


def _refined(
    level: int, contexts: Integers, counts: Floats, deviation: float, base: int
) -> Integers:
    """The contexts of the next level that are frequent enough to be worth a row."""
    if level == 0:
        often = np.flatnonzero(counts.sum(axis=0)[:-1] > OPEN * deviation)
        later = (np.arange(1, PHASES)[:, None] * base + often).ravel()
        return np.append(base - 1, later)
    row, column = np.nonzero(counts[:, :-1] > OPEN * deviation)
    phase, symbols = np.divmod(contexts[row], base**level)
    grown = symbols * base + column
    # A step later the phase is the next one or, if it lasts longer than a step, the same.
    following = np.minimum(phase + 1, PHASES - 1)
    lasting = np.where(phase > 2, phase, following)
    return np.unique(np.concatenate([following, lasting]) * base ** (level + 1) + np.tile(grown, 2))


def _less_precise(levels: list[tuple[Integers, Floats]], contexts: Integers, base: int) -> Floats:
    """The weights of the most precise context that each one of the next level refines."""
    found = levels[0][1][contexts % base]
    phase = contexts // base ** len(levels)
    for level, (listed, weights) in enumerate(levels[1:], start=1):
        place, known = located(listed, phase * base**level + contexts % base**level)
        found[known] = weights[place[known]]
    return found
