from __future__ import annotations

from collections.abc import Generator
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from scipy import stats

torch = pytest.importorskip("torch", reason="needs the extra generative")

from discreet.mechanisms.trained.sgd import PrivateSteps, Recorder, fresh_weights  # noqa: E402
from discreet.privacy.randomness import Randomness  # noqa: E402
from discreet.privacy.renyi import TrainingPlan  # noqa: E402
from discreet.privacy.steps import SampledGaussian  # noqa: E402


def steps(
    plan: TrainingPlan, rng: Randomness | None = None, clip: float = 1.0, size: int = 3
) -> PrivateSteps:
    return PrivateSteps(
        {"map": torch.zeros(size, size + 1)},
        SampledGaussian("training", plan),
        clip=clip,
        expected_cases=10.0,
        optimiser=partial(torch.optim.SGD, lr=1.0),
        rng=rng or Randomness.system(),
    )


def test_each_case_is_sampled_on_its_own() -> None:
    """Sizes of samples are binomial, and every case has the same chance."""
    rate = Fraction(3, 10)
    private = steps(TrainingPlan(rate, 1, 1.0), Randomness.seeded(1))
    drawn = [private.sample(20) for _ in range(5_000)]
    sizes = np.bincount([len(sample) for sample in drawn], minlength=21)
    chances = stats.binom.pmf(np.arange(21), 20, float(rate))
    often = chances * 5_000 >= 5
    assert (
        stats.chisquare(
            np.append(sizes[often], sizes[~often].sum()),
            5_000 * np.append(chances[often], chances[~often].sum()),
        ).pvalue
        > 1e-7
    )
    cases = np.bincount(np.concatenate(drawn), minlength=20)
    pvalues = [stats.binomtest(int(seen), 5_000, float(rate)).pvalue for seen in cases]
    assert min(pvalues) > 1e-8


def test_equal_cases_are_sampled_one_by_one() -> None:
    private = steps(TrainingPlan(Fraction(1, 2), 1, 1.0), Randomness.seeded(2))
    drawn = np.array([private.sample_counts(np.array([4, 0, 1])) for _ in range(4_000)])
    assert drawn[:, 1].max() == 0
    seen = np.bincount(drawn[:, 0], minlength=5)
    assert stats.chisquare(seen, 4_000 * stats.binom.pmf(np.arange(5), 4, 0.5)).pvalue > 1e-7


def test_a_step_without_cases_is_noise() -> None:
    private = steps(TrainingPlan(Fraction(1, 2), 1, 2.0), Randomness.seeded(3), clip=0.5, size=200)
    gradients = private.step(None)["map"].numpy().ravel()
    deviation = 2.0 * 0.5 / 10
    assert stats.kstest(gradients / deviation, "norm").pvalue > 1e-7
    assert torch.equal(private.weights["map"], torch.from_numpy(-gradients.reshape(200, 201)))


def test_the_sum_is_behind_the_noise() -> None:
    """With next to no noise a step is the clipped sum over the public expected size."""
    private = steps(TrainingPlan(Fraction(1), 1, 2.0**-10))
    record = Recorder(private.weights)
    output = record("map", torch.eye(3))
    gradients = private.step(record.factors((output * torch.tensor([3.0, 0.0, 0.0])).sum()))
    expected = torch.zeros(3, 4)
    expected[0] = torch.tensor([1.0, 1.0, 1.0, 3.0]) / 2**0.5 / 10  # each case clipped from 3·√2
    assert torch.allclose(gradients["map"], expected, atol=1e-3)


def test_no_step_beyond_the_plan() -> None:
    private = steps(TrainingPlan(Fraction(1, 2), 2, 1.0))
    private.step(None)
    private.step(None)
    assert private.left == 0
    with pytest.raises(RuntimeError, match="all 2 steps"):
        private.step(None)


def test_it_goes_on_where_it_stopped() -> None:
    first = steps(TrainingPlan(Fraction(1, 2), 5, 1.0))
    first.step(None)
    first.step(None)
    second = steps(TrainingPlan(Fraction(1, 2), 5, 1.0))
    second.restore(first.state())
    assert second.left == 3
    assert torch.equal(second.weights["map"], first.weights["map"])
    with pytest.raises(ValueError, match="steps"):
        steps(TrainingPlan(Fraction(1, 2), 1, 1.0)).restore(first.state())


def test_a_seed_repeats_a_step_and_the_system_does_not() -> None:
    once, again = (
        steps(TrainingPlan(Fraction(1, 2), 1, 1.0), Randomness.seeded(7)).step(None)["map"]
        for _ in range(2)
    )
    assert torch.equal(once, again)
    one, other = (steps(TrainingPlan(Fraction(1, 2), 1, 1.0)).step(None)["map"] for _ in range(2))
    assert not torch.equal(one, other)


def test_a_public_size_must_be_given() -> None:
    with pytest.raises(ValueError, match="positive"):
        PrivateSteps(
            {"map": torch.zeros(2, 3)},
            SampledGaussian("training", TrainingPlan(Fraction(1, 2), 1, 1.0)),
            clip=1.0,
            expected_cases=0.0,
            optimiser=torch.optim.SGD,
            rng=Randomness.system(),
        )


def test_fresh_weights_read_nothing_but_their_source() -> None:
    sizes = {"one": (9, 4), "two": (4, 2)}
    weights = fresh_weights(sizes, Randomness.seeded(1))
    assert {name: tuple(w.shape) for name, w in weights.items()} == {"one": (4, 10), "two": (2, 5)}
    assert all(w.abs().max() <= 1 / sizes[name][0] ** 0.5 for name, w in weights.items())
    assert torch.equal(weights["one"], fresh_weights(sizes, Randomness.seeded(1))["one"])


def test_noise_drawn_ahead_is_new_in_every_step() -> None:
    """A large network's noise comes from a thread; every step has its own, of the full size."""
    private = steps(TrainingPlan(Fraction(1, 2), 3, 2.0), size=300)
    seen = [private.step(None)["map"].numpy().ravel() for _ in private.remaining()]
    assert len(seen) == 3
    assert all(stats.kstest(part / (2.0 / 10), "norm").pvalue > 1e-8 for part in seen)
    assert max(abs(np.corrcoef(seen)[np.triu_indices(3, 1)])) < 6 / 300  # six deviations
    with pytest.raises(RuntimeError, match="all 3 steps"):
        private.step(None)


def test_a_seed_repeats_large_networks_too() -> None:
    once, again = [
        steps(TrainingPlan(Fraction(1, 2), 2, 1.0), Randomness.seeded(7), size=300)
        for _ in range(2)
    ]
    for _ in once.remaining():
        assert torch.equal(once.step(None)["map"], again.step(None)["map"])


def test_processors_are_given_back() -> None:
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        for size, used in ((300, 2), (3, 1)):
            going_on = steps(TrainingPlan(Fraction(1, 2), 2, 1.0), size=size).remaining()
            next(going_on)
            assert torch.get_num_threads() == used
            assert isinstance(going_on, Generator)
            going_on.close()
            assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(threads)
