from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from itertools import permutations, product
from math import exp, prod
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from discreet.privacy.noise import Rational
from discreet.privacy.randomness import Randomness
from discreet.privacy.selection import exponential, noisy_max, noisy_top_k

Floats = npt.NDArray[np.float64]
Shares = Callable[[Sequence[float], float], Floats]
Choose = Callable[[Any, Rational, Rational, bool, Randomness], int]
FALSE_ALARM = 1e-9
SYSTEM = Randomness.system()


def exponential_shares(scores: Sequence[float], scale: float) -> Floats:
    weights: Floats = np.exp(np.array(scores, float) / scale)
    shares: Floats = weights / weights.sum()
    return shares


def noisy_max_shares(scores: Sequence[float], scale: float) -> Floats:
    """Permute and flip as its authors wrote it, over every order."""
    chance = [exp((score - max(scores)) / scale) for score in scores]
    orders = list(permutations(range(len(scores))))
    shares = np.zeros(len(scores))
    for order in orders:
        for place, candidate in enumerate(order):
            passed = prod(1 - chance[earlier] for earlier in order[:place])
            shares[candidate] += passed * chance[candidate] / len(orders)
    return shares


def misfit(choose: Callable[[], int], shares: Floats, draws: int = 8_000) -> float:
    observed = np.bincount([choose() for _ in range(draws)], minlength=len(shares))
    return float(stats.chisquare(observed, np.array(shares) * draws).pvalue)


@pytest.mark.parametrize(
    ("choose", "shares"), [(noisy_max, noisy_max_shares), (exponential, exponential_shares)]
)
@pytest.mark.parametrize("monotone", [False, True])
def test_choices_have_their_distribution(choose: Choose, shares: Shares, monotone: bool) -> None:
    scores = [3, 5, 5, 1]
    scale = 2 if monotone else 4

    def draw(epsilon: Rational = 1) -> int:
        return choose(scores, epsilon, 2, monotone, SYSTEM)

    assert misfit(draw, shares(scores, scale)) > FALSE_ALARM
    assert misfit(lambda: draw(Fraction(3, 2)), shares(scores, scale)) < FALSE_ALARM


@pytest.mark.parametrize("choose", [noisy_max_shares, exponential_shares])
def test_the_loss_stays_within_epsilon(choose: Shares) -> None:
    """Every pair of neighbours on a small grid, by enumeration."""
    worst = {True: 0.0, False: 0.0}
    for scores in product(range(3), repeat=3):
        for change in product((-1, 0, 1), repeat=3):
            after = [score + step for score, step in zip(scores, change, strict=True)]
            for monotone in (True, False):
                if monotone and min(change) < 0:
                    continue
                scale = 1 if monotone else 2
                ratio = np.log(choose(list(scores), scale) / choose(after, scale))
                worst[monotone] = max(worst[monotone], abs(ratio).max())
    assert all(loss <= 1 + 1e-12 for loss in worst.values())
    assert min(worst.values()) > 0.4


def test_noisy_max_beats_the_exponential_mechanism() -> None:
    scores = [0, 3, 7, 8]
    assert noisy_max_shares(scores, 2) @ scores > exponential_shares(scores, 2) @ scores


@pytest.mark.parametrize("choose", [noisy_max, exponential])
def test_choices_agree_with_opendp(choose: Choose) -> None:
    """OpenDP adds exponential noise under pure DP and Gumbel noise under zCDP."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    scores = [3, 5, 4, 1]
    space = dp.vector_domain(dp.atom_domain(T=int))
    measure = dp.max_divergence() if choose is noisy_max else dp.zero_concentrated_divergence()
    other = dp.m.make_noisy_max(space, dp.linf_distance(T=int), measure, scale=3.0)
    size = 4_000
    theirs = np.bincount([other(scores) for _ in range(size)], minlength=4)
    ours = [choose(scores, 1, Fraction(3, 2), False, SYSTEM) for _ in range(size)]
    table = [theirs, np.bincount(ours, minlength=4)]
    assert stats.chi2_contingency(table).pvalue > FALSE_ALARM


def test_top_k_is_peeling() -> None:
    scores = [4, 2, 3, 0]
    size = 10_000
    pairs: list[tuple[int, ...]] = list(permutations(range(4), 2))
    expected = []
    for first, second in pairs:
        rest = [n for n in range(4) if n != first]
        later = noisy_max_shares([scores[n] for n in rest], 4)[rest.index(second)]
        expected.append(noisy_max_shares(scores, 4)[first] * later)
    observed = np.zeros(len(pairs))
    for _ in range(size):
        observed[pairs.index(tuple(noisy_top_k(scores, 2, 1, 1, False, SYSTEM)))] += 1
    assert stats.chisquare(observed, np.array(expected) * size).pvalue > FALSE_ALARM


def test_top_k_of_all_is_an_order() -> None:
    assert sorted(noisy_top_k(range(5), 5, 1, 1, True, SYSTEM)) == list(range(5))
    assert noisy_top_k([0, 1000, 2000], 3, 9, 1, True, SYSTEM) == [2, 1, 0]


def test_fractions_are_scores_too() -> None:
    scores = [Fraction(1, 3), Fraction(1, 2), Fraction(1)]
    for choose, shares in ((noisy_max, noisy_max_shares), (exponential, exponential_shares)):
        expected = shares([float(score) for score in scores], 0.5)
        draw = partial(choose, scores, 2, Fraction(1, 2), False, SYSTEM)
        assert misfit(draw, expected) > FALSE_ALARM


def test_far_scores_still_count() -> None:
    """A crowd of 20 000 at e^-10 each outweighs one leader about half the time."""
    scores = np.zeros(20_000, np.int64)
    scores[123] = 10
    wins = sum(exponential(scores, 1, 1, True, SYSTEM) == 123 for _ in range(100))
    expected = 1 / (1 + 19_999 * exp(-10))
    assert stats.binomtest(wins, 100, expected).pvalue > FALSE_ALARM


def test_many_candidates() -> None:
    scores = np.random.default_rng(0).integers(0, 10**5, 100_000)
    for choose in (noisy_max, exponential):
        assert scores[choose(scores, 1, 1, True, SYSTEM)] > 10**5 - 100
    assert len(set(noisy_top_k(scores, 5, 1, 1, True, SYSTEM))) == 5


def test_a_seed_repeats_the_choice() -> None:
    scores = list(range(50))
    for choose in (noisy_max, exponential):
        runs = [choose(scores, 0.01, 1, True, Randomness.seeded(3)) for _ in range(2)]
        assert runs[0] == runs[1]


@pytest.mark.parametrize("scores", [[1.0, 2], np.array([0.5]), [float("nan")], ["1"]])
def test_inexact_scores_are_refused_with_the_fix(scores: Any) -> None:
    with pytest.raises(TypeError, match=r"fractions\.Fraction"):
        noisy_max(scores, 1, 1, True, SYSTEM)


def test_impossible_requests_are_refused() -> None:
    with pytest.raises(ValueError, match="no candidates"):
        noisy_max([], 1, 1, True, SYSTEM)
    for epsilon, sensitivity in ((0, 1), (1, 0), (-1, 1)):
        with pytest.raises(ValueError, match="positive"):
            exponential([1], epsilon, sensitivity, True, SYSTEM)
    with pytest.raises(ValueError, match="cannot choose"):
        noisy_top_k([1], 2, 1, 1, True, SYSTEM)
    with pytest.raises(ValueError, match="at least 1"):
        noisy_top_k([1], 0, 1, 1, True, SYSTEM)
    with pytest.raises(OverflowError, match="too far apart"):
        noisy_max([0, 2**62], 1, 1, True, SYSTEM)
