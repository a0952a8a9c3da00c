"""A step on a sample: what it costs, and that the coins are fair."""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet.privacy.guarantee import Budget
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import Laplace, Proved, Sampled, SpendingError
from discreet.privacy.steps.sampling import COINS_AT_ONCE


def sampled(epsilon: float, delta: float, share: float) -> Sampled:
    return Sampled("sample", Proved("below", epsilon, delta, "as given"), share)


@pytest.mark.parametrize("epsilon", [1e-5, 0.3, 1.0, 8.0, 45.0, 699.0])
@pytest.mark.parametrize("share", [1e-4, 0.01, 0.5, 0.999])
def test_the_cost_is_rounded_up_and_what_is_affordable_costs_no_more(
    epsilon: float, share: float
) -> None:
    precise = Context(prec=80)
    grown = precise.exp(Decimal(epsilon))
    exact = precise.ln(precise.fma(Decimal(share), precise.subtract(grown, 1), 1))
    spent = sampled(epsilon, 1e-3, share).spent
    assert Decimal(spent.epsilon) >= exact
    assert spent.epsilon <= min(float(exact) * (1 + 1e-12), epsilon)
    assert Fraction(spent.delta) >= Fraction(1e-3) * Fraction(share)
    room = Sampled.affordable(Budget(epsilon, 1e-7), share)
    again = sampled(room.epsilon, room.delta, share).spent
    assert epsilon * (1 - 1e-10) <= again.epsilon <= epsilon or room.epsilon > 690
    assert again.delta <= 1e-7


@pytest.mark.parametrize("share", [0.05, 0.5, 0.9])
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_a_noisy_count_of_a_sample_meets_its_cost_exactly(share: float, epsilon: float) -> None:
    """The distribution of the noisy count is known: no outcome is likelier than promised."""
    values = np.arange(-120, 130)
    ratio = math.exp(-epsilon)

    def chances(cases: int) -> np.ndarray:
        kept = stats.binom.pmf(np.arange(cases + 1), cases, share)
        noise = (1 - ratio) / (1 + ratio) * ratio ** np.abs(values[:, None] - np.arange(cases + 1))
        return np.asarray(noise @ kept)

    promised = Sampled("sample", Laplace("count", epsilon), share).spent.epsilon
    for cases in (0, 1, 5):
        fewer, more = chances(cases), chances(cases + 1)
        worst = max(np.abs(np.log(more / fewer)))
        assert worst <= promised + 1e-9
        if cases == 0:
            assert worst >= promised - 1e-6  # the bound is tight: nothing is given away


def test_a_case_is_kept_with_its_share_whatever_the_others() -> None:
    counts = np.array([1, 2, 3, 40, 500])
    sampling, rng = sampled(1.0, 0.0, 0.3), Randomness.seeded(8)
    runs = 4000
    found = np.zeros((runs, len(counts)), dtype=np.int64)
    for row in found:
        present, kept = sampling.draw(counts, rng)
        assert (kept > 0).all()
        row[present] = kept
    for column, count in zip(found.T, counts, strict=True):
        expected = stats.binom.pmf(np.arange(count + 1), count, 0.3) * runs
        clear = np.flatnonzero(expected > 10)
        first, last = clear[0], clear[-1]  # what is rarer is counted with the nearest of these
        cells = np.bincount(np.clip(column, first, last) - first, minlength=last - first + 1)
        hoped = np.bincount(np.clip(np.arange(count + 1), first, last) - first, expected)
        score = ((cells - hoped) ** 2 / hoped).sum()
        assert score < stats.chi2.isf(1e-8, len(hoped) - 1)
    both = np.corrcoef(found[:, 3], found[:, 4])[0, 1]
    assert abs(both) < 6 / math.sqrt(runs)


def test_many_coins_are_tossed_piece_by_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = np.array([3, 5, 1, 40, 2, 2])
    sampling = sampled(1.0, 0.0, 0.5)
    whole = sampling.draw(counts, Randomness.seeded(2))
    monkeypatch.setattr("discreet.privacy.steps.sampling.COINS_AT_ONCE", 4)
    assert counts.sum() < COINS_AT_ONCE
    pieces = sampling.draw(counts, Randomness.seeded(2))
    assert all(np.array_equal(a, b) for a, b in zip(whole, pieces, strict=True))
    empty = sampling.draw(counts[:0], Randomness.seeded(2))
    assert [part.size for part in empty] == [0, 0]


@pytest.mark.parametrize("share", [0.0, 1.0, -0.1, 1.5])
def test_a_sample_is_a_part(share: float) -> None:
    with pytest.raises(SpendingError, match="part of the cases"):
        sampled(1.0, 0.0, share)
