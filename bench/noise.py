"""Time our exact noise against OpenDP's: seconds per million draws; `noise.py DRAWS` for others."""

from __future__ import annotations

import sys
from collections.abc import Callable
from fractions import Fraction
from time import process_time

import opendp.prelude as dp

from discreet.privacy.noise import discrete_gaussian, discrete_laplace
from discreet.privacy.randomness import Randomness

DRAWS = 1_000_000
RNG = Randomness.system()


def seconds_per_million(draw: Callable[[int], object], draws: int) -> float:
    """Time one run, tables included."""
    start = process_time()
    draw(draws)
    return (process_time() - start) * 1_000_000 / draws


def ours(distribution: str, scale: float) -> Callable[[int], object]:
    """Return our sampler for a scale, or for a standard deviation."""
    if distribution == "laplace":
        return lambda draws: discrete_laplace(scale, draws, RNG)
    return lambda draws: discrete_gaussian(Fraction(scale) ** 2, draws, RNG)


def theirs(distribution: str, scale: float) -> Callable[[int], object]:
    """Return OpenDP's sampler for the same distribution."""
    space = dp.vector_domain(dp.atom_domain(T=int))
    if distribution == "laplace":
        measurement = dp.m.make_laplace(space, dp.l1_distance(T=int), scale=scale)
    else:
        measurement = dp.m.make_gaussian(space, dp.l2_distance(T=float), scale=scale)
    return lambda draws: measurement([0] * draws)


def main(draws: int = DRAWS) -> None:
    """Print one line per distribution and scale."""
    dp.enable_features("contrib")
    print(f"{'seconds per million draws':<26}{'ours':>8}{'OpenDP':>9}{'ratio':>8}")
    for distribution, scales in (
        ("laplace", (0.5, 1.0, 10.0, 100.0, 1e6)),
        ("gaussian", (1.0, 10.0, 100.0, 1000.0, 1e6)),
    ):
        for scale in scales:
            mine = seconds_per_million(ours(distribution, scale), draws)
            other = seconds_per_million(theirs(distribution, scale), draws // 50)
            print(f"{distribution:<14}{scale:>12g}{mine:>8.2f}{other:>9.2f}{other / mine:>8.1f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
