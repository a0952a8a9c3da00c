"""Lower bounds on epsilon from counted runs, each with its confidence."""

from __future__ import annotations

import math

import numpy as np

from discreet.arrays import Floats


def at_least(hits: int, runs: int, alpha: float) -> float:
    """Clopper–Pearson: below the true probability, except with probability at most alpha."""
    from scipy.special import betaincinv

    return float(betaincinv(hits, runs - hits + 1, alpha)) if hits else 0.0


def at_most(hits: int, runs: int, alpha: float) -> float:
    """Clopper–Pearson: above the true probability, except with probability at most alpha."""
    from scipy.special import betaincinv

    return float(betaincinv(hits + 1, runs - hits, 1 - alpha)) if hits < runs else 1.0


def epsilon_from_runs(hits: int, other: int, runs: int, delta: float, alpha: float) -> float:
    """An ε that no mechanism of true (ε, δ) below it gives, except with probability alpha.

    `hits` of `runs` on the log that makes the event likelier, `other` of as many on its
    neighbour. (ε, δ) demands P[E] ≤ e^ε·P′[E] + δ, hence ε ≥ ln((P[E] − δ)/P′[E]); each of the
    two probabilities may be misjudged with probability alpha/2. 0 where nothing follows.
    """
    likely = at_least(hits, runs, alpha / 2) - delta
    if likely <= 0:
        return 0.0
    return max(0.0, math.log(likely / at_most(other, runs, alpha / 2)))


def promising(hits: Floats, other: Floats, runs: int, delta: float, z: float = 4.0) -> Floats:
    """A quick version of the same bound for many events at once: to choose one, not to judge it.

    Wilson's interval instead of Clopper and Pearson's.
    """
    low, high = _wilson(hits, runs, -z), _wilson(other, runs, z)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(low > delta, np.log((low - delta) / high), -np.inf)


def _wilson(hits: Floats, runs: int, z: float) -> Floats:
    share = hits / runs
    square = z * z / runs
    spread = z * np.sqrt(share * (1 - share) / runs + square / (4 * runs))
    return np.clip((share + square / 2 + spread) / (1 + square), 0.0, 1.0)


def one_run_p_value(
    canaries: int, guesses: int, correct: int, epsilon: float, delta: float
) -> float:
    """The chance of so many correct guesses about canaries of one run, were it (ε, δ)-DP.

    Steinke, Nasr, Jagielski: Privacy Auditing with One (1) Training Run, NeurIPS 2023,
    Theorem 5.2. Each canary is included by an independent fair coin; under pure ε the number of
    correct guesses is dominated by a binomial with the accuracy of randomised response, and δ
    adds 2·m·δ·max_i P[v − i ≤ B < v]/i.
    """
    from scipy.stats import binom

    if not 0 <= correct <= guesses <= canaries:
        raise ValueError(
            f"needs correct ≤ guesses ≤ canaries, not {correct}, {guesses} and {canaries}"
        )
    accuracy = 1 / (1 + math.exp(-epsilon))
    chance = float(binom.sf(correct - 1, guesses, accuracy))
    if delta and correct:
        below = np.cumsum(binom.pmf(np.arange(correct - 1, -1, -1), guesses, accuracy))
        steepest = float((below / np.arange(1, correct + 1)).max())
        chance += 2 * canaries * delta * steepest
    return min(1.0, chance)


def epsilon_from_one_run(
    canaries: int, guesses: int, correct: int, delta: float, alpha: float
) -> float:
    """The largest ε that so many correct guesses refute, with confidence 1 − alpha."""
    low, high = 0.0, 1.0
    if one_run_p_value(canaries, guesses, correct, 0.0, delta) >= alpha:
        return 0.0
    while high < 100 and one_run_p_value(canaries, guesses, correct, high, delta) < alpha:
        low, high = high, 2 * high
    for _ in range(40):
        middle = (low + high) / 2
        if one_run_p_value(canaries, guesses, correct, middle, delta) < alpha:
            low = middle
        else:
            high = middle
    return low
