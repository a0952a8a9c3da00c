"""Exact integer noise, vectorised.

Every sampler inverts a distribution function whose values are known only through certified
integer bounds. A 64-bit word is compared with the bounds of all outcomes at once; when it falls
between the lower and the upper bound of a threshold, both it and the bounds are extended by
64 bits until it does not. The outcome is therefore the one that infinitely many bits would have
chosen: the distribution is exact, and only the running time is random.

Rates and scales are rationals; a float stands for the dyadic rational it is.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from itertools import accumulate, islice, pairwise, repeat
from math import ceil, floor, isqrt
from operator import index

import numpy as np
import numpy.typing as npt

from discreet.arrays import Booleans, Integers
from discreet.privacy.randomness import Randomness, Words

Rational = Fraction | int | float
Enclosure = tuple[int, int]
Weights = tuple[Sequence[Enclosure], int]

# Proof

LARGEST_SCALE = 1 << 50
"""Largest scale of Laplace noise, whose draws fit into 64 bits."""
LARGEST_VARIANCE = 1 << 60
"""Largest variance of Gaussian noise, whose draws fit into 64 bits."""

# Tuned: on speed alone; every draw stays exact.

GUARD = 64
"""Bits of precision beyond those that are compared."""
TABLE_BITS = 9
"""Bits of an outcome that one table decides."""
CHUNK = 1 << 15
"""Draws that are made at a time, few enough to stay in the processor's cache."""


def exp_enclosure(x: Rational, bits: int) -> Enclosure:
    """Return integers lower ≤ 2**bits · exp(x) ≤ upper, at most two apart.

    For y in [0, ½] the terms of exp(-y) are floored one by one. If e bounds the error of a term,
    the next one's is at most (e/2 + 1)/n + 1, so never more than 2, and the series alternates:
    N terms, the last floored to zero, are within 2N + 2 of the truth. Squaring, rounded outward,
    undoes the halving of the argument; a positive argument is the reciprocal of a negative one.
    """
    x = Fraction(x)
    if x == 0:
        return 1 << bits, 1 << bits
    if x > 0:
        wide = bits + 2 * ceil(x * 3 / 2) + 4
        lower, upper = exp_enclosure(-x, wide)
        return (1 << wide + bits) // upper, -((-1 << wide + bits) // lower)
    if -x * 10 > (bits + 1) * 7:
        return 0, 1
    halvings = floor(-x).bit_length() + 1
    precision = bits + 2 * halvings + 16 + bits.bit_length()
    y = floor(-x * (1 << precision) / (1 << halvings))
    term, total, count = 1 << precision, 0, 0
    while term:
        total += -term if count % 2 else term
        count += 1
        term = term * y // (count << precision)
    enclosure = total - 2 * count - 2, total + 2 * count + 2
    for _ in range(halvings):
        enclosure = _product(precision, enclosure, enclosure)
    spare = precision - bits
    return enclosure[0] >> spare, min(1 << bits, -(-enclosure[1] >> spare))


def exp_lower(x: Rational, bits: int = 64) -> Fraction:
    """Return a fraction with denominator 2**bits that is at most exp(x), and close to it."""
    return Fraction(exp_enclosure(x, bits)[0], 1 << bits)


def exp_upper(x: Rational, bits: int = 64) -> Fraction:
    """Return a fraction with denominator 2**bits that is at least exp(x), and close to it."""
    return Fraction(exp_enclosure(x, bits)[1], 1 << bits)


def _product(precision: int, left: Enclosure, right: Enclosure) -> Enclosure:
    return left[0] * right[0] >> precision, -(-left[1] * right[1] >> precision)


def products(precision: int, ratios: Iterable[Enclosure]) -> Iterator[Enclosure]:
    """Yield enclosures of 1, r₁, r₁r₂, … in units of 2**-precision."""
    return accumulate(ratios, partial(_product, precision), initial=(1 << precision,) * 2)


class Inversion:
    """Draws outcomes 0, 1, 2, … with probabilities proportional to weights known by enclosure.

    `weigh(bits)` returns enclosures of the first weights in any common unit, and an upper bound
    for the sum of those it left out (zero: none were). More bits must give tighter enclosures and
    a smaller remainder; how tight decides the speed, never the distribution.
    """

    def __init__(self, weigh: Callable[[int], Weights]) -> None:
        self._weigh = weigh
        lower, upper = self._thresholds(64)
        widths = [high - low for low, high in zip(lower, upper, strict=True)]
        self._lower = np.array([0, *lower], np.uint64)
        self._width = np.array([0, *widths], np.uint64)

    def _thresholds(self, bits: int) -> tuple[list[int], list[int]]:
        """Bound 2**bits times the distribution function; a last value of 1 is left unsaid.

        If weights were left out, the last upper bound is at least 2**bits: words beyond the last
        lower one are undecided.
        """
        weights, rest = self._weigh(bits)
        lows = list(accumulate(low for low, _ in weights))
        highs = list(accumulate(high for _, high in weights))
        least, most = lows[-1], highs[-1] + rest
        if rest == 0:
            del lows[-1], highs[-1]
        lower = [(low << bits) // most for low in lows]
        upper = [-((-high << bits) // least) for high in highs]
        return lower, upper

    def draw(self, size: int, rng: Randomness) -> Integers:
        """Return `size` independent outcomes."""
        if size < CHUNK:
            return self._decide(rng.words(size), rng)
        first = short_words(16, size, rng)
        outcomes: Integers = self._guide[first].astype(np.int64)
        unsure = np.flatnonzero(outcomes < 0)
        rest = rng.words(unsure.size) >> np.uint64(16)
        words = first[unsure].astype(np.uint64) << np.uint64(48) | rest
        outcomes[unsure] = self._decide(words, rng)
        return outcomes

    @cached_property
    def _guide(self) -> npt.NDArray[np.signedinteger]:
        """The outcome of all words that begin with 16 bits, or -1 where they differ."""
        begin = np.arange(1 << 16, dtype=np.uint64) << np.uint64(48)
        end = begin | np.uint64((1 << 48) - 1)
        outcomes = np.searchsorted(self._lower, begin, side="right") - 1
        sure = begin - self._lower[outcomes] >= self._width[outcomes]
        sure &= outcomes == np.searchsorted(self._lower, end, side="right") - 1
        kind = np.int16 if outcomes[-1] < 1 << 15 else np.int64
        return np.where(sure, outcomes, -1).astype(kind)

    def _decide(self, words: Words, rng: Randomness) -> Integers:
        """The outcomes of uniform words, with further bits where 64 do not tell."""
        outcomes = self._lower.searchsorted(words, side="right") - 1
        undecided = words - self._lower[outcomes] < self._width[outcomes]
        for position in undecided.nonzero()[0]:
            outcomes[position] = self._refine(int(words[position]), rng)
        return outcomes

    def _refine(self, word: int, rng: Randomness) -> int:
        bits = 64
        while True:
            bits += 64
            word = word << 64 | rng.bits(64)
            lower, upper = self._thresholds(bits)
            outcome = bisect_right(lower, word)
            if outcome == 0 or word >= upper[outcome - 1]:
                return outcome


class Categorical(Inversion):
    """A prepared table of integer weights of any size: P[i] = weights[i] / sum(weights)."""

    def __init__(self, weights: Iterable[int]) -> None:
        exact = [index(weight) for weight in weights]
        while exact and exact[-1] == 0:
            exact.pop()
        if not exact or min(exact) < 0:
            raise ValueError("weights must be nonnegative integers, at least one of them positive")
        super().__init__(lambda bits: ([(weight, weight) for weight in exact], 0))


def geometric(x: Rational, size: int, rng: Randomness) -> Integers:
    """Draw n ≥ 0 with P[n] = (1 - q)·qⁿ, q = exp(-x).

    Cut into binary digits, n has independent parts, since qⁿ factors over them: the part below
    2**s has weights qⁿ, and n >> s is geometric with x·2**s.
    """
    x = _positive("x", x)
    if x < Fraction(1, LARGEST_SCALE):
        raise ValueError("scale (1/x) must be at most 2**50 for 64-bit noise")
    total = np.zeros(size, np.int64)
    for shift, digit in digit_tables(x):
        part = digit.draw(size, rng)
        total |= part << shift
    if size and int(part.max()) >= 1 << 62 - shift:  # the top part; the others are bounded
        raise OverflowError("a geometric variable exceeds 64 bits")
    return total


def outlasts(x: Rational, times: Integers, rng: Randomness) -> Booleans:
    """Draw booleans with P[True] = exp(-x·times), element by element, times ≥ 0.

    A geometric variable reaches `times` with that probability; the two are compared digit by
    digit from the top, so the lower digits are drawn only where the higher ones tie.
    """
    *lower, (beyond, top) = digit_tables(_positive("x", x))
    wanted = times >> beyond
    part = top.draw(times.size, rng)
    result: Booleans = part >= wanted
    ties = np.flatnonzero(part == wanted)
    for shift, digit in reversed(lower):
        wanted = times[ties] >> shift & (1 << beyond - shift) - 1
        part = digit.draw(ties.size, rng)
        result[ties] = part >= wanted
        ties = ties[part == wanted]
        beyond = shift
    return result


def discrete_laplace(scale: Rational, size: int, rng: Randomness) -> Integers:
    """Draw integers with P[n] ∝ exp(-|n|/scale).

    A geometric g stands for n = g, or with odds q = exp(-1/scale) for n = -1-g.
    """
    x = 1 / _positive("scale", scale)
    negative = sign_table(x).draw(size, rng)
    return geometric(x, size, rng) ^ -negative


def truncated_laplace(epsilon: Rational, bound: int, size: int, rng: Randomness) -> Integers:
    """Draw from the discrete Laplace of scale 1/epsilon conditioned on |n| ≤ bound.

    By rejection: from the uniform where the bound is narrow, else from the discrete Laplace. At
    least one proposal in three is accepted.
    """
    x = _positive("epsilon", epsilon)
    if bound < 0:
        raise ValueError(f"bound must not be negative, not {bound}")

    def uniform(missing: int) -> Integers:
        proposal = rng.integers(2 * bound + 1, missing) - bound
        return proposal[outlasts(x, abs(proposal), rng)]

    def laplace(missing: int) -> Integers:
        proposal = discrete_laplace(1 / x, missing, rng)
        return proposal[abs(proposal) <= bound]

    return _fill(uniform if x * bound < 1 else laplace, size)


def discrete_gaussian(sigma_squared: Rational, size: int, rng: Randomness) -> Integers:
    """Draw integers with P[n] ∝ exp(-n²/(2σ²)).

    A small variance has one table. Else zigzag order 0, -1, 1, -2, 2, … is cut into blocks of as
    many magnitudes, a power of two. A block is drawn by the weight of its smallest magnitude m, a
    place in it uniformly, and n is kept with probability exp(-(n² - m²)/(2σ²)): if a geometric
    variable of rate 1/(2σ²) is at least n² - m². Whether it is at least the largest such number
    of the block, so that every place is kept, is drawn together with the block; the variable
    itself is needed only where it is not.
    """
    variance = _positive("sigma_squared", sigma_squared)
    if variance > LARGEST_VARIANCE:
        raise ValueError("sigma_squared must be at most 2**60 for 64-bit noise")
    log_width = max(0, isqrt(floor(variance)).bit_length() - 5)
    rate = 1 / (2 * variance)
    if log_width == 0:
        return _unzigzag(gaussian_table(rate).draw(size, rng))
    blocks = half_gaussian_table(rate * 4**log_width)

    def place(block: Integers) -> Integers:
        zigzag = short_words(log_width + 1, block.size, rng).astype(np.int64)
        zigzag |= block << log_width + 1
        return _unzigzag(zigzag)

    def propose(missing: int) -> Integers:
        values, doubtful, in_block = np.empty(missing, np.int64), [], []
        for begin in range(0, missing, CHUNK):
            kind = blocks.draw(min(CHUNK, missing - begin), rng)
            block = kind >> 1
            if int(block.max()) >> 10:
                raise OverflowError("a discrete Gaussian variable exceeds 64 bits")
            values[begin : begin + kind.size] = place(block)
            unsure = np.flatnonzero(kind & 1)
            doubtful.append(unsure + begin)
            in_block.append(block[unsure])
        where, block = np.concatenate(doubtful), np.concatenate(in_block)
        least, magnitude = block << log_width, abs(values[where])
        wanted = (magnitude - least) * (magnitude + least)
        reached = geometric_below(rate, 2 * block + 1 << 2 * log_width, rng) >= wanted
        return np.delete(values, where[~reached])

    return _fill(propose, size)


def _unzigzag(places: Integers) -> Integers:
    """0, 1, 2, 3, 4, … stand for 0, -1, 1, -2, 2, …"""
    values: Integers = places >> 1 ^ -(places & 1)
    return values


def geometric_below(x: Fraction, bounds: Integers, rng: Randomness) -> Integers:
    """Draw n with P[n] ∝ exp(-x·n), 0 ≤ n < bound, element by element: uniform, then thinned."""
    found = np.empty_like(bounds)
    missing = np.arange(bounds.size)
    while missing.size:
        found[missing] = rng.integers(bounds[missing], missing.size)
        missing = missing[~outlasts(x, found[missing], rng)]
    return found


def _positive(name: str, value: Rational) -> Fraction:
    exact = Fraction(value)
    if exact <= 0:
        raise ValueError(f"{name} must be positive, not {value}")
    return exact


def short_words(bits: int, size: int, rng: Randomness) -> npt.NDArray[np.unsignedinteger]:
    """Independent uniform integers of up to 64 bits, using no more randomness than it must."""
    width = next(width for width in (16, 32, 64) if width >= bits) if size >= CHUNK else 64
    words: npt.NDArray[np.unsignedinteger] = rng.words(-(-size * width // 64)).view(
        f"u{width // 8}"
    )[:size]
    return words >> words.dtype.type(width - bits)


def _fill(propose: Callable[[int], Integers], size: int) -> Integers:
    accepted = np.empty(size, np.int64)
    filled = 0
    while filled < size:
        batch = propose(size - filled)
        accepted[filled : filled + batch.size] = batch
        filled += batch.size
    return accepted


def _negligible(bits: int) -> Fraction:
    """Return a little more than the exponent at which exp(-x) falls below 2**-bits."""
    return Fraction(7, 10) * (bits + 1)


def _powers(x: Fraction, count: int | None, bits: int) -> Weights:
    """Weigh n by exp(-x·n), for n < count or for every n."""
    precision = bits + GUARD
    q = exp_enclosure(-x, precision)
    size = ceil(_negligible(bits) / x) if count is None else count
    *weights, last = islice(products(precision, repeat(q)), size + 1)
    return weights, _series(precision, last, q) if count is None else 0


def _squares(x: Fraction, bits: int) -> Weights:
    """Weigh n by exp(-x·n²)."""
    precision = bits + GUARD
    q, q2 = exp_enclosure(-x, precision), exp_enclosure(-2 * x, precision)
    size = isqrt(ceil(_negligible(bits) / x)) + 2
    ratios = (_product(precision, q, power) for power in products(precision, repeat(q2)))
    *weights, last = islice(products(precision, ratios), size + 1)
    return weights, _series(precision, last, exp_enclosure(-x * (2 * size + 1), precision))


def _zigzag(x: Fraction, bits: int) -> Weights:
    """Weigh places in the order 0, -1, 1, -2, 2, … by exp(-x·n²)."""
    (first, *others), rest = _squares(x, bits)
    return [first, *(weight for weight in others for _ in range(2))], 2 * rest


def _blocks(x: Fraction, bits: int) -> Weights:
    """Weigh 2n by exp(-x·(n+1)²) and 2n+1 by what exp(-x·n²) has more."""
    weights, rest = _squares(x, bits)
    pairs = (
        (after, (before[0] - after[1], before[1] - after[0])) for before, after in pairwise(weights)
    )
    return [weight for pair in pairs for weight in pair], weights[-1][1] + rest


def _series(precision: int, first: Enclosure, ratio: Enclosure) -> int:
    """Bound first·(1 + ratio + ratio² + …) from above."""
    return -((-first[1] << precision) // ((1 << precision) - ratio[1]))


@lru_cache(maxsize=1024)
def digit_tables(x: Fraction) -> tuple[tuple[int, Inversion], ...]:
    """Return the parts of a geometric variable with their places, the lowest first.

    The top part is unbounded, and as fine as a table of 2**TABLE_BITS outcomes allows.
    """
    top = max(0, (ceil(_negligible(64) / x) - 1).bit_length() - TABLE_BITS)
    if top > 62:
        raise ValueError(f"x = {float(x)} is too small for 64-bit noise")
    starts = range(0, top, TABLE_BITS)
    counts = [2 ** min(TABLE_BITS, top - start) for start in starts]
    return tuple(
        (shift, Inversion(partial(_powers, x * 2**shift, count)))
        for shift, count in zip([*starts, top], [*counts, None], strict=True)
    )


@lru_cache(maxsize=1024)
def gaussian_table(x: Fraction) -> Inversion:
    """Places of the discrete Gaussian, in the order of `_zigzag`."""
    return Inversion(partial(_zigzag, x))


@lru_cache(maxsize=1024)
def half_gaussian_table(x: Fraction) -> Inversion:
    """Places of half a discrete Gaussian, in the pairs of `_blocks`."""
    return Inversion(partial(_blocks, x))


@lru_cache(maxsize=1024)
def sign_table(x: Fraction) -> Inversion:
    """0 or 1, weighed 1 to exp(-x)."""
    return Inversion(partial(_powers, x, 2))
