import itertools
import math

import numpy as np
import pytest
from scipy.stats import beta

from discreet.log.variants import Variants
from discreet.mechanisms.dpim.case_statistics import CaseStatistics
from discreet.mechanisms.dpim.sampler import FITNESS as ROUND_FITNESS
from discreet.mechanisms.dpim.sampler import Sampler, TreeBuilder, noisy_max_repeatedly, round_steps
from discreet.models.tree import activity, sequence
from discreet.privacy.count_noise import CountNoise
from discreet.privacy.randomness import Randomness

SHARES = (0.65, 0.25, 0.1)


LETTERS = tuple("abcd")


def one(*sequence_: str) -> CaseStatistics:
    return CaseStatistics(Variants.from_counts({tuple(sequence_): 1}), LETTERS)


class TestSampler:
    def sampler(self, *, published: bool, epsilon: float = 0.5) -> Sampler:
        return Sampler(
            round=round_steps(epsilon, SHARES),
            pairs=(4, 8),
            stop=0.01,
            min_fitness=0.95,
            max_cuts=3,
            published=published,
            rounds=530 if published else None,
        )

    def test_noisy_maximum_with_laplace_noise_costs_twice_what_is_claimed(self) -> None:
        """Exactly: the chance that the second of two wins, at counts (9, 0) and (8, 1), ε = 1."""
        noise = {n: math.tanh(0.5) * math.exp(-abs(n)) for n in range(-60, 61)}

        def second_wins(first: int, second: int) -> float:
            total = 0.0
            for (x, p), (y, q) in itertools.product(noise.items(), noise.items()):
                gap = second + y - first - x
                total += p * q * (1.0 if gap > 0 else 0.5 if gap == 0 else 0.0)
            return total

        loss = math.log(second_wins(8, 1) / second_wins(9, 0))
        assert loss > 1.7

    def test_repeated_maximum_chooses_without_replacement(self) -> None:
        counts = np.array([5, 900, 3, 700, 0])
        rng = Randomness.seeded(1)
        chosen = noisy_max_repeatedly(counts, 2, CountNoise.laplace(1, 10), rng)
        assert chosen.tolist() == [1, 3]

    def test_siblings_read_the_log_again_and_again_as_published(self) -> None:
        """Four parallel pairs after one another: each spends half of the share for all of them."""
        labels = tuple("abcdefgh")
        chosen = np.zeros((9, 9), dtype=bool)
        for i in range(0, 8, 2):
            chosen[i, i + 1] = chosen[i + 1, i] = True
            if i:
                chosen[np.ix_([i - 2, i - 1], [i, i + 1])] = True
        chosen[8, [0, 1]] = chosen[[6, 7], 8] = True
        counts = np.where(chosen, 50.0, 0.0)
        spent = []

        def ends(members: set[int], share: float):  # type: ignore[no-untyped-def]
            spent.append(share)
            flags = np.zeros(8, dtype=bool)
            flags[list(members)] = True
            return flags, flags

        tree = TreeBuilder(labels, chosen, counts, 10.0, ends).tree()
        assert str(tree).count("+(") == 4
        assert spent == [0.5] * 4

    @pytest.mark.parametrize("published", [True, False])
    def test_the_fitness_of_neighbours(self, published: bool) -> None:
        """As published one long case moves the pooled fitness by much more than the noise hides."""
        tree = sequence(activity("a"), activity("b"))
        logs = [
            CaseStatistics(Variants.from_counts({tuple("ab"): 100}), LETTERS),
            CaseStatistics(Variants.from_counts({tuple("ab"): 99, tuple("b" * 200): 1}), LETTERS),
        ]
        sampler = self.sampler(published=published, epsilon=2)
        rng = Randomness.seeded(5)
        runs = 200
        high = [
            sum(sampler.fitness(cases, tree, rng) >= 0.85 for _ in range(runs)) for cases in logs
        ]
        claimed = sampler.round.named(ROUND_FITNESS).spent.epsilon
        found = _least_epsilon(high[0], high[1], runs)
        if published:
            assert found > 4 * claimed
        else:
            assert found <= claimed

    def test_strict_reads_starts_and_ends_no_more_than_max_cuts_times(self) -> None:
        from discreet.mechanisms.dpim.sampler import EndReader

        cases = CaseStatistics(Variants.from_counts({tuple("ab"): 5}), LETTERS)
        reader = EndReader(self.sampler(published=False), cases, Randomness.seeded(1))
        answers = [reader({0, 1}, 0.5) for _ in range(5)]
        assert [answer is None for answer in answers] == [False] * 3 + [True] * 2

    def test_random_stopping_gives_up_sometimes(self) -> None:
        sampler = Sampler(round_steps(1.0, SHARES), (2, 4), 0.5, 2.0, 2, False, None)
        cases = CaseStatistics(Variants.from_counts({tuple("ab"): 5}), LETTERS)
        outcomes = {sampler.draw(cases, Randomness.seeded(seed))[0] is None for seed in range(60)}
        assert outcomes == {True, False}


def _least_epsilon(hits: int, others: int, runs: int) -> float:
    """A lower bound on ε that is wrong with probability below 1e-6 (Clopper and Pearson)."""
    alpha = 5e-7
    low = beta.ppf(alpha, hits, runs - hits + 1) if hits else 0.0
    high = beta.ppf(1 - alpha, others + 1, runs - others) if others < runs else 1.0
    return math.log(low / high) if low else 0.0
