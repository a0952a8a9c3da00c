"""ddpm: the diffusion itself, and what the published form gives away."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest, chisquare

from discreet.log.neighbours import Case, make_log
from discreet.log.variants import Variants
from discreet.mechanisms.base import Fidelity
from discreet.mechanisms.trained.ddpm import DDPM
from discreet.mechanisms.trained.dictionary import Dictionary
from discreet.mechanisms.trained.layers import denoiser_layers
from discreet.privacy.randomness import Randomness

torch = pytest.importorskip("torch", reason="the extra generative is missing")

from discreet.mechanisms.trained.ddpm.denoiser import (  # noqa: E402
    BETA,
    KEPT,
    STEPS,
    blurred,
    columns_of,
    noise_from_odds,
    odds,
    time_features,
)
from discreet.mechanisms.trained.sgd import fresh_weights, plain  # noqa: E402


def test_the_schedule_is_the_papers() -> None:
    assert (STEPS, float(BETA[0])) == (300, 1e-4)
    assert float(BETA[-1]) == pytest.approx(0.02)
    assert torch.all(BETA.diff() > 0)
    assert float(KEPT[0]) == pytest.approx(1 - 1e-4)


def test_blurring_at_once_is_blurring_step_by_step() -> None:
    """Equation 3: mean and variance after t single steps."""
    mean, variance = 1.0, 0.0
    for time in range(120):
        beta = float(BETA[time])
        mean, variance = mean * (1 - beta) ** 0.5, variance * (1 - beta) + beta
    point = torch.ones(1, 1, dtype=torch.float64)
    time = torch.tensor([119])
    assert float(blurred(point, time, torch.zeros(1, 1))) == pytest.approx(mean)
    moved = float(blurred(point, time, torch.ones(1, 1))) - mean
    assert moved**2 == pytest.approx(variance)


def test_noise_is_what_was_put_in() -> None:
    point = torch.eye(4, dtype=torch.float64)
    times = torch.tensor([0, 50, 200, 299])
    noise = torch.randn(4, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    assert torch.allclose(noise_from_odds(blurred(point, times, noise), times, point), noise)


def test_times_are_told_apart() -> None:
    features = time_features(torch.arange(STEPS))
    distance = torch.cdist(features, features) + torch.eye(STEPS)
    assert distance.min() > 1e-3


def exact_model(frequencies: list[float]) -> tuple[dict[str, np.ndarray], Dictionary]:
    """Weights that know frequencies and nothing else."""
    variants = Variants.from_counts(((str(place),), 1) for place in range(len(frequencies)))
    weights = fresh_weights(denoiser_layers(len(frequencies), 16), Randomness.seeded(2))
    weights["last"].zero_()
    weights["last"][:, -1] = torch.tensor(frequencies).log()
    return {name: w.numpy() for name, w in weights.items()}, Dictionary.of(variants, other=False)


def test_odds_are_bayes_rule() -> None:
    """The posterior of the column given a blurred point, for known frequencies."""
    frequencies = [0.5, 0.3, 0.2]
    arrays, _ = exact_model(frequencies)
    weights = {name: torch.tensor(array) for name, array in arrays.items()}
    point, time = torch.tensor([[0.3, -0.1, 0.6]]), torch.tensor([150])
    kept = float(KEPT[150])
    ours = odds(lambda name, x: plain(weights, name, x), point, time).softmax(1)[0]
    gaps = ((point - kept**0.5 * torch.eye(3)) ** 2).sum(1)
    by_hand = torch.tensor(frequencies) * torch.exp(-gaps / (2 * (1 - kept)))
    assert torch.allclose(ours, by_hand / by_hand.sum(), atol=1e-5)


@pytest.mark.parametrize("strides", [100, 300])
def test_the_exact_denoiser_generates_the_frequencies(strides: int) -> None:
    frequencies = [0.5, 0.25, 0.15, 0.07, 0.03]
    tensors, columns = exact_model(frequencies)
    drawn = columns_of(tensors, columns, 4000, strides, True, Randomness.seeded(6))
    shares = np.bincount(drawn, minlength=5) / 4000
    assert np.abs(shares - frequencies).max() < 0.05


def test_cases_are_independent_of_how_many_are_drawn() -> None:
    tensors, columns = exact_model([0.5, 0.5])
    found = columns_of(tensors, columns, 5000, 10, True, Randomness.seeded(1))
    halves = [np.bincount(half, minlength=2) for half in (found[:4096], found[4096:])]
    shares = halves[0] / halves[0].sum()
    assert chisquare(halves[1], shares * halves[1].sum()).pvalue > 1e-7


@pytest.mark.parametrize("fidelity", ["published", "strict"])
def test_published_shows_a_single_persons_variant(fidelity: Fidelity) -> None:
    """The support leak: a variant that one case has comes out of published, hardly of strict."""
    log = make_log([*(Case(("a",)) for _ in range(20)), Case(("b",))])
    mechanism = DDPM(
        fidelity=fidelity, epsilon=1.0, delta=0.01, strides=10, steps=2, width=4, cases=30
    )
    runs = 60
    shown = sum(("b",) in mechanism.release(log).artefact.to_dict() for _ in range(runs))
    leaks = binomtest(shown, runs, 0.05, alternative="greater").pvalue < 1e-7
    assert leaks == (fidelity == "published")


def test_microbatches_are_clipped_together() -> None:
    log = make_log([Case((label,)) for label in "aaabbbccd" * 10])
    for size in (1, 3, 1000):
        release = DDPM(
            fidelity="published", microbatch=size, strides=10, steps=3, sampling_rate=0.5
        ).release(log)
        assert release.artefact.cases == 90
