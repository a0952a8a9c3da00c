from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import partial
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from discreet.arrays import Floats, Integers
from discreet.privacy.noise import (
    CHUNK,
    GUARD,
    TABLE_BITS,
    Categorical,
    Inversion,
    Rational,
    digit_tables,
    discrete_gaussian,
    discrete_laplace,
    exp_enclosure,
    exp_lower,
    exp_upper,
    gaussian_table,
    geometric,
    geometric_below,
    half_gaussian_table,
    outlasts,
    short_words,
    sign_table,
    truncated_laplace,
)
from discreet.privacy.randomness import Randomness, Words

FALSE_ALARM = 1e-9
DRAWS = 400_000
SYSTEM = Randomness.system()
LAST = 2**64 - 1


class Scripted(Randomness):
    """Replays the given words, and says how many are left."""

    def __init__(self, *words: int) -> None:
        self.queue = list(words)
        super().__init__(self._next, secure=False)

    def _next(self, size: int) -> Words:
        return np.array([self.queue.pop(0) for _ in range(size)], np.uint64)


def coin_table(x: Rational) -> Inversion:
    """0 with probability exp(-x), else 1: the smallest table there is."""

    def weigh(bits: int) -> tuple[list[tuple[int, int]], int]:
        low, high = exp_enclosure(-Fraction(x), bits + GUARD)
        one = 1 << bits + GUARD
        return [(low, high), (one - high, one - low)], 0

    return Inversion(weigh)


def exp_decimal(x: Rational, digits: int = 120) -> Decimal:
    with localcontext() as context:
        context.prec = digits
        return (Decimal(Fraction(x).numerator) / Decimal(Fraction(x).denominator)).exp()


def misfit(draws: Integers, weight: Callable[[Floats], Floats], reach: int) -> float:
    """Return the chi-square p-value of draws against weights on [-reach, reach].

    Neighbouring outcomes are pooled into at most fifty cells, none expecting fewer than 50.
    """
    support = np.arange(-reach, reach + 1)
    weights = weight(support.astype(float))
    cumulative = np.cumsum(weights) / weights.sum()
    smallest = max(1 / 50, 50 / draws.size)
    edges, filled = [], 0.0
    for value, share in zip(support, cumulative, strict=True):
        if share - filled >= smallest and 1 - share >= smallest:
            edges.append((value, share))
            filled = share
    places, shares = zip(*edges, strict=True)
    observed = np.bincount(np.searchsorted(places, draws, "left"), minlength=len(edges) + 1)
    expected = np.diff([0.0, *shares, 1.0]) * draws.size
    assert expected.min() >= 50
    return float(stats.chisquare(observed, expected).pvalue)


def laplace_misfit(draws: Integers, scale: float) -> float:
    return misfit(draws, lambda n: np.exp(-abs(n) / scale), int(45 * scale) + 2)


def gaussian_misfit(draws: Integers, sigma: float) -> float:
    return misfit(draws, lambda n: np.exp(-(n**2) / (2 * sigma**2)), int(10 * sigma) + 2)


def truncated_misfit(draws: Integers, epsilon: float, bound: int) -> float:
    if abs(draws).max() > bound:
        return 0.0
    return misfit(draws, lambda n: np.exp(-abs(n) * epsilon), bound)


# exponentials


@settings(deadline=None)
@given(
    st.fractions(min_value=-500, max_value=60, max_denominator=10**12),
    st.integers(min_value=1, max_value=300),
)
def test_exp_is_enclosed_tightly(x: Rational, bits: int) -> None:
    lower, upper = exp_enclosure(x, bits)
    truth = Fraction(exp_decimal(x, 300)) * 2**bits
    slack = Fraction(1, 10**80)
    assert lower * (1 - slack) <= truth <= upper * (1 + slack)
    assert upper - lower <= 2


@pytest.mark.parametrize("x", [Fraction(1, 10**30), Fraction(1, 2), 1, 1.5, 500])
def test_exp_bounds_point_outward(x: Rational) -> None:
    assert exp_lower(x, 80) < exp_upper(x, 80)
    assert exp_lower(x) * exp_lower(-x, 1000) < 1 < exp_upper(x) * exp_upper(-x, 1000)
    assert exp_lower(0) == exp_upper(0) == 1


# the thresholds behind every table, against an independent computation of the distribution


def geometric_shares(x: Rational, count: int) -> list[Decimal]:
    with localcontext() as context:
        context.prec = 120
        return [1 - exp_decimal(-Fraction(x) * (n + 1)) for n in range(count)]


def assert_thresholds(table: Inversion, shares: Sequence[Decimal]) -> None:
    """Check that the table's thresholds enclose the distribution function, and closely."""
    lower, upper = table._thresholds(64)
    complete = len(shares) - len(lower)
    assert complete in (0, 1)
    for low, high, share in zip(lower, upper, shares, strict=False):
        assert low <= share * 2**64 <= high
        assert high - low <= 2
    if not complete:
        assert (1 - shares[-1]) * 2**64 <= 1
        assert upper[-1] >= 2**64


@pytest.mark.parametrize("x", [Fraction(1, 11), Fraction(1, 7), 1.3, 60, 1000])
def test_geometric_tables_enclose_the_distribution(x: Rational) -> None:
    ((shift, table),) = digit_tables(Fraction(x))
    assert shift == 0
    assert_thresholds(table, geometric_shares(x, len(table._lower) - 1))


@pytest.mark.parametrize("x", [Fraction(1, 1000), Fraction(1, 10**9), Fraction(1, 2**40 - 1)])
def test_digit_tables_enclose_their_distribution(x: Rational) -> None:
    *digits, (top, unbounded) = digit_tables(x)
    assert [shift for shift, _ in digits] == list(range(0, top, TABLE_BITS))
    for shift, table in digits:
        size = 2 ** min(TABLE_BITS, top - shift)
        raw = geometric_shares(x * 2**shift, size)
        assert_thresholds(table, [share / raw[-1] for share in raw])
    assert_thresholds(unbounded, geometric_shares(x * 2**top, len(unbounded._lower) - 1))


@pytest.mark.parametrize("x", [Fraction(1, 2 * 32**2), Fraction(1, 200), Fraction(1, 2), 500])
def test_half_gaussian_tables_enclose_the_distribution(x: Rational) -> None:
    table = half_gaussian_table(Fraction(x))
    shares = half_gaussian_shares(Fraction(x), 3 * len(table._lower))
    assert_thresholds(table, shares[: len(table._lower) - 1])


@pytest.mark.parametrize("x", [Fraction(1, 2 * 15**2), Fraction(1, 2), 500])
def test_gaussian_tables_enclose_the_distribution(x: Rational) -> None:
    table = gaussian_table(Fraction(x))
    with localcontext() as context:
        context.prec = 120
        places = range(3 * len(table._lower))
        weights = [exp_decimal(-Fraction(x) * ((n + 1) // 2) ** 2) for n in places]
        total = sum(weights)
        shares = [part / total for part in accumulate(weights)]
        assert_thresholds(table, shares[: len(table._lower) - 1])


def half_gaussian_shares(x: Rational, blocks: int) -> list[Decimal]:
    """What is sure of a block, then what is doubtful."""
    with localcontext() as context:
        context.prec = 250
        tops = [exp_decimal(-x * n * n, 250) for n in range(blocks + 1)]
        weights = [w for before, after in pairwise(tops) for w in (after, before - after)]
        total = sum(weights)
        return [part / total for part in accumulate(weights)]


@pytest.mark.parametrize("x", [Fraction(1, 10**18), Fraction(1, 3), 1, 30, 1000])
def test_two_way_tables_enclose_the_distribution(x: Rational) -> None:
    with localcontext() as context:
        context.prec = 1000
        q = exp_decimal(-x, 1000)
        assert_thresholds(coin_table(Fraction(x)), [q, Decimal(1)])
        assert_thresholds(sign_table(Fraction(x)), [1 / (1 + q), Decimal(1)])


@settings(deadline=None)
@given(
    st.lists(st.integers(min_value=0, max_value=10**30), min_size=1, max_size=20).filter(any),
    st.integers(min_value=0, max_value=LAST),
    st.integers(min_value=0, max_value=LAST),
)
def test_categorical_is_the_inverse_of_its_distribution(
    weights: list[int], word: int, more: int
) -> None:
    """Zero-padded to 128 bits and beyond, a word lands where exact arithmetic puts it."""
    total = sum(weights)
    table = Categorical(weights)
    for first in {word, int(table._lower[word % len(table._lower)])}:
        uniform = Fraction(first << 64 | more, 2**128)
        shares = [Fraction(part, total) for part in accumulate(weights)]
        expected = sum(share <= uniform for share in shares)
        rng = Scripted(first, more, 0, 0, 0, 0, 0)
        assert table.draw(1, rng).tolist() == [expected]


# words that fall between the bounds of a threshold


def test_an_undecided_word_is_extended_until_decided() -> None:
    third = 2**64 // 3
    table = Categorical([1, 2])
    assert table.draw(2, Scripted(third - 1, third + 1)).tolist() == [0, 1]
    assert table.draw(1, Scripted(third, 0)).tolist() == [0]
    assert table.draw(1, Scripted(third, LAST)).tolist() == [1]
    rng = Scripted(third, third, third, third + 1, 77)
    assert table.draw(1, rng).tolist() == [1]
    assert rng.queue == [77]


def test_a_dyadic_threshold_is_decided_at_once() -> None:
    rng = Scripted(2**63 - 1, 2**63)
    assert Categorical([3, 3]).draw(2, rng).tolist() == [0, 1]


@pytest.mark.parametrize("x", [Fraction(1, 10), 1, 200])
def test_the_tail_of_a_geometric_is_reached(x: Rational) -> None:
    """Where 1 - U = 2**-k the outcome is the whole part of k·ln 2 / x."""
    ((_, table),) = digit_tables(Fraction(x))
    for ones in (1, 2, 3):
        expected = int(Fraction(Decimal(2).ln()) * (64 * ones + 1) / Fraction(x))
        words = [LAST] * ones + [2**63] + [0] * 5
        assert table.draw(1, Scripted(*words)).tolist() == [expected]


def test_the_tail_of_a_gaussian_is_reached() -> None:
    table = half_gaussian_table(Fraction(1, 2))
    with localcontext() as context:
        context.prec = 250
        uniform = 1 - Decimal(2) ** -128
        shares = half_gaussian_shares(Fraction(1, 2), 60)
    expected = sum(share <= uniform for share in shares)
    assert expected > len(table._lower) - 1
    assert table.draw(1, Scripted(LAST, LAST, 0, 0, 0)).tolist() == [expected]


def test_a_coin_of_vanishing_probability_can_still_fall() -> None:
    below = [0] * 23 + [1]
    assert coin_table(1000).draw(1, Scripted(*below)).tolist() == [0]
    assert coin_table(1000).draw(1, Scripted(0, 1, 1)).tolist() == [1]


def test_outlasting_is_decided_by_the_lowest_digit_on_a_tie() -> None:
    x = Fraction(1, 10**6)
    times = np.array([geometric(x, 1, Scripted(*[2**62] * 9))[0]])
    assert outlasts(x, times, Scripted(*[2**62] * 9)).tolist() == [True]
    assert outlasts(x, times + 1, Scripted(*[2**62] * 9)).tolist() == [False]
    assert outlasts(x, times - 1, Scripted(*[2**62] * 9)).tolist() == [True]


# draws


@pytest.mark.parametrize("scale", [0.3, 1, Fraction(10, 3), 100, 1000])
def test_laplace_has_its_distribution(scale: Rational) -> None:
    assert laplace_misfit(discrete_laplace(scale, DRAWS, SYSTEM), float(scale)) > FALSE_ALARM


@pytest.mark.parametrize("scale", [1, 100])
def test_a_laplace_scale_wrong_by_three_percent_is_noticed(scale: int) -> None:
    for wrong in (Fraction(97, 100), Fraction(103, 100)):
        draws = discrete_laplace(scale * wrong, DRAWS, SYSTEM)
        assert laplace_misfit(draws, scale) < FALSE_ALARM


@pytest.mark.parametrize("sigma", [0.4, 1, 10, 15, 16, 127, 128, 1000])
def test_gaussian_has_its_distribution(sigma: float) -> None:
    draws = discrete_gaussian(Fraction(sigma) ** 2, DRAWS, SYSTEM)
    assert gaussian_misfit(draws, sigma) > FALSE_ALARM


@pytest.mark.parametrize("sigma", [1, 300])
def test_a_gaussian_scale_wrong_by_three_percent_is_noticed(sigma: int) -> None:
    for wrong in (Fraction(97, 100), Fraction(103, 100)):
        draws = discrete_gaussian((sigma * wrong) ** 2, DRAWS, SYSTEM)
        assert gaussian_misfit(draws, sigma) < FALSE_ALARM


def test_many_gaussians_have_their_distribution() -> None:
    """Large draws take their words and their pieces another way."""
    for sigma in (1, 300, 2**18):
        draws = discrete_gaussian(sigma**2, CHUNK + 5, SYSTEM)
        assert gaussian_misfit(draws, sigma) > FALSE_ALARM
        assert draws.size == CHUNK + 5


@pytest.mark.parametrize("x", [Fraction(1, 3), Fraction(1, 1000), 2])
def test_geometric_variables_below_bounds_of_their_own(x: Rational) -> None:
    bounds = np.repeat([1, 2, 7, 40], 20_000)
    draws = geometric_below(Fraction(x), bounds, SYSTEM)
    for bound in (1, 2, 7, 40):
        found = np.bincount(draws[bounds == bound], minlength=bound)
        assert found.size == bound
        expected = np.exp(-float(x) * np.arange(bound))
        expected *= 20_000 / expected.sum()
        if bound > 1:
            cells = pooled(found, expected), pooled(expected, expected)
            assert stats.chisquare(*cells).pvalue > FALSE_ALARM


def test_neighbouring_integers_differ_as_they_should() -> None:
    """A low digit of the wrong weight hides from wide cells, not from residues."""
    draws = discrete_gaussian(2**40, DRAWS, SYSTEM)
    assert stats.chisquare(np.bincount(draws % 16)).pvalue > FALSE_ALARM
    draws = discrete_laplace(2**20, DRAWS, SYSTEM)
    assert stats.chisquare(np.bincount(draws % 16)).pvalue > FALSE_ALARM
    draws = discrete_gaussian(300**2, DRAWS, SYSTEM)
    assert stats.chisquare(np.bincount(draws % 16)).pvalue > FALSE_ALARM


def pooled(values: npt.NDArray[Any], expected: Floats) -> list[float]:
    """The cells expected at least 20 times; the last of them takes the others in."""
    usual = expected >= 20
    return [*values[usual][:-1], values[usual][-1] + values[~usual].sum()]


@pytest.mark.parametrize(
    ("epsilon", "bound"), [(1, 5), (1, 1), (0.5, 9), (Fraction(1, 100), 3), (0.01, 300), (9, 2)]
)
def test_truncated_laplace_has_its_distribution(epsilon: Rational, bound: int) -> None:
    draws = truncated_laplace(epsilon, bound, DRAWS, SYSTEM)
    weights = np.exp(-abs(np.arange(-bound, bound + 1)) * float(epsilon))
    expected = weights / weights.sum() * DRAWS
    observed = np.bincount(draws + bound, minlength=2 * bound + 1)
    assert stats.chisquare(pooled(observed, expected), pooled(expected, expected)).pvalue > (
        FALSE_ALARM
    )


@pytest.mark.parametrize(("epsilon", "bound"), [(1, 5), (Fraction(1, 100), 3)])
def test_a_bound_off_by_one_is_noticed(epsilon: Rational, bound: int) -> None:
    right = truncated_laplace(epsilon, bound, DRAWS, SYSTEM)
    assert truncated_misfit(right, float(epsilon), bound) > FALSE_ALARM
    for wrong in (bound - 1, bound + 1):
        draws = truncated_laplace(epsilon, wrong, DRAWS, SYSTEM)
        assert truncated_misfit(draws, float(epsilon), bound) < FALSE_ALARM


def test_a_bound_of_zero_leaves_no_noise() -> None:
    assert not truncated_laplace(1, 0, 100, SYSTEM).any()


def geometric_weight(q: float, n: Floats) -> Floats:
    return q**n * (n >= 0)


def test_geometric_has_its_distribution() -> None:
    for x in (2, Fraction(1, 3), Fraction(1, 5000)):
        draws = geometric(x, DRAWS, SYSTEM)
        q = float(exp_lower(-x))
        weight = partial(geometric_weight, q)
        signed = misfit(draws, weight, int(45 / x) + 2)
        assert signed > FALSE_ALARM
        wrong = geometric(x * Fraction(103, 100), DRAWS, SYSTEM)
        assert misfit(wrong, weight, int(45 / x) + 2) < FALSE_ALARM


@pytest.mark.parametrize("x", [Fraction(1, 2**61), Fraction(1, 10**6), Fraction(1, 3), 2])
def test_outlasting_has_its_probability(x: Rational) -> None:
    times = [0, 1, int(1 / (3 * x)), int(1 / x), int(Fraction(5, 2) / x)]
    for count in times:
        heads = outlasts(x, np.full(DRAWS // 4, count), SYSTEM)
        expected = float(exp_lower(-x * count))
        assert stats.binomtest(int(heads.sum()), heads.size, expected).pvalue > FALSE_ALARM


@pytest.mark.parametrize("x", [Fraction(1, 1000), 0.25, 1, 7, 10**6])
def test_coin_has_its_probability(x: Rational) -> None:
    heads = int((coin_table(x).draw(DRAWS, SYSTEM) == 0).sum())
    assert stats.binomtest(heads, DRAWS, float(exp_lower(-x))).pvalue > FALSE_ALARM


def test_categorical_has_its_distribution() -> None:
    weights = [0, 5, 10**40, 0, 3 * 10**40, 10**39, 0]
    counts = np.bincount(Categorical(weights).draw(DRAWS, SYSTEM), minlength=7)
    assert counts[[0, 1, 3, 6]].tolist() == [0] * 4
    expected = np.array([10, 30, 1]) / 41 * DRAWS
    assert stats.chisquare(counts[[2, 4, 5]], expected).pvalue > FALSE_ALARM


@pytest.mark.parametrize("distribution", ["laplace", "gaussian"])
@pytest.mark.parametrize("scale", [2.0, 150.0])
def test_draws_agree_with_opendp(distribution: str, scale: float) -> None:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    size = 50_000
    space = dp.vector_domain(dp.atom_domain(T=int))
    if distribution == "laplace":
        other = dp.m.make_laplace(space, dp.l1_distance(T=int), scale=scale)
        draw = partial(discrete_laplace, size=size, rng=SYSTEM)
        wrong = draw(scale * 1.1)
        ours = draw(scale)
    else:
        other = dp.m.make_gaussian(space, dp.l2_distance(T=float), scale=scale)
        draw = partial(discrete_gaussian, size=size, rng=SYSTEM)
        wrong = draw((scale * 1.1) ** 2)
        ours = draw(scale**2)
    theirs = np.array(other([0] * size))
    edges = np.unique(np.quantile(theirs, np.linspace(0.02, 0.98, 40)).astype(int))

    def difference(draws: list[Integers]) -> float:
        cells = [np.bincount(np.searchsorted(edges, d), minlength=edges.size + 1) for d in draws]
        return float(stats.chi2_contingency(cells).pvalue)

    assert difference([ours, theirs]) > FALSE_ALARM
    assert difference([wrong, theirs]) < FALSE_ALARM


# extremes


@pytest.mark.parametrize("scale", [1e-3, 1e9, 2**50])
def test_extreme_scales_have_the_right_spread(scale: float) -> None:
    draws = discrete_laplace(scale, 100_000, SYSTEM)
    assert np.median(abs(draws)) == pytest.approx(int(scale * np.log(2)), rel=0.05)
    if scale < 2**30:
        draws = discrete_gaussian(Fraction(scale) ** 2, 100_000, SYSTEM)
        assert np.median(abs(draws)) == pytest.approx(int(scale * 0.6745), rel=0.05)


def test_sizes_and_types() -> None:
    for size in (0, 1, 3):
        for draws in (
            discrete_laplace(1, size, SYSTEM),
            discrete_gaussian(1, size, SYSTEM),
            truncated_laplace(1, 3, size, SYSTEM),
            geometric(Fraction(1, 10**5), size, SYSTEM),
            Categorical([1, 2]).draw(size, SYSTEM),
        ):
            assert draws.shape == (size,)
            assert draws.dtype == np.int64


def test_a_seed_repeats_the_noise() -> None:
    for draw in (partial(discrete_laplace, 30), partial(discrete_gaussian, 10**5)):
        first, again, other = (draw(99, Randomness.seeded(seed)) for seed in (1, 1, 2))
        assert (first == again).all()
        assert (first != other).any()


@pytest.mark.parametrize("bad", [0, -1, Fraction(-1, 3), 0.0])
def test_scales_must_be_positive(bad: Rational) -> None:
    for draw in (
        discrete_laplace,
        discrete_gaussian,
        geometric,
        lambda x, size, rng: truncated_laplace(x, 3, size, rng),
        lambda x, size, rng: outlasts(x, np.zeros(size, np.int64), rng),
    ):
        with pytest.raises(ValueError, match="must be positive"):
            draw(bad, 1, SYSTEM)


def test_what_64_bits_cannot_hold_is_refused() -> None:
    with pytest.raises(ValueError, match=r"2\*\*50"):
        discrete_laplace(2**50 + 1, 1, SYSTEM)
    with pytest.raises(ValueError, match=r"2\*\*60"):
        discrete_gaussian(2**60 + 1, 1, SYSTEM)
    with pytest.raises(ValueError, match="too small"):
        outlasts(Fraction(1, 2**80), np.ones(1, np.int64), SYSTEM)
    with pytest.raises(ValueError, match="negative"):
        truncated_laplace(1, -1, 1, SYSTEM)


@pytest.mark.parametrize("weights", [[], [0, 0], [1, -1]])
def test_weights_must_make_a_distribution(weights: list[int]) -> None:
    with pytest.raises(ValueError, match="weights"):
        Categorical(weights).draw(1, SYSTEM)


def test_float_weights_are_refused() -> None:
    with pytest.raises(TypeError):
        Categorical([0.5, 0.5]).draw(1, SYSTEM)  # type: ignore[list-item]


# the guide by the first 16 bits, for many draws at once


@pytest.mark.parametrize("table", [Categorical([1, 2, 5]), Categorical([1] * 300), coin_table(1)])
def test_the_guide_says_what_the_search_says(table: Inversion) -> None:
    begin = np.arange(1 << 16, dtype=np.uint64) << np.uint64(48)
    end = begin | np.uint64((1 << 48) - 1)
    sure = table._guide >= 0
    assert sure.mean() > 0.99
    for words in (begin[sure], end[sure]):
        assert (table._decide(words, Scripted()) == table._guide[sure]).all()


def test_many_draws_follow_the_table() -> None:
    weights = np.array([5, 1, 0, 700, 30_000, 4])
    drawn = Categorical(weights.tolist()).draw(1_000_000, Randomness.seeded(4))
    seen = np.bincount(drawn, minlength=len(weights))
    assert seen[2] == 0
    expected = weights[weights > 0] / weights.sum() * 1_000_000
    assert stats.chisquare(seen[weights > 0], expected).pvalue > 1e-7


@pytest.mark.parametrize(("bits", "size"), [(1, 10), (12, 70_000), (20, 70_000), (64, 70_000)])
def test_short_words_are_uniform_in_their_top_bit(bits: int, size: int) -> None:
    words = short_words(bits, size, Randomness.seeded(8))
    assert len(words) == size
    assert int(words.max()) < 1 << bits
    ones = int((words >> words.dtype.type(bits - 1)).sum())
    assert stats.binomtest(ones, size).pvalue > 1e-7
