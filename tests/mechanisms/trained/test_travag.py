"""travag: the four networks, the game, and why the published form is refuted."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from discreet.mechanisms.trained.base import Watch
from discreet.mechanisms.trained.layers import (
    LATENT,
    decoder_layers,
    discriminator_layers,
    encoder_layers,
    generator_layers,
)
from discreet.mechanisms.trained.travag import TraVaG
from discreet.privacy.randomness import Randomness

torch = pytest.importorskip("torch", reason="the extra generative is missing")

from discreet.mechanisms.trained.clipping import clipped_sum  # noqa: E402
from discreet.mechanisms.trained.travag.games import (  # noqa: E402
    DECODER_CLIP,
    PublishedGame,
    StrictGame,
)
from discreet.mechanisms.trained.travag.networks import columns_of  # noqa: E402


def test_layers_are_the_authors() -> None:
    assert encoder_layers(846) == {"first": (846, 487), "last": (487, 128)}
    assert decoder_layers(846) == {"first": (128, 487), "last": (487, 846)}
    critic = {"first": (846, 564), "second": (564, 282), "last": (282, 1)}
    assert discriminator_layers(846) == critic
    assert generator_layers() == dict.fromkeys(("first", "second", "last"), (LATENT, LATENT))


def facts(counts: list[int]) -> dict[str, object]:
    return {"trained_on": sum(counts), "start": [float(max(1, count)) for count in counts]}


def game(counts: list[int], **parameters: Any) -> StrictGame:
    mechanism = TraVaG(epsilon=10.0, **parameters)
    run = StrictGame(mechanism, np.array(counts), facts(counts), Randomness.seeded(1))
    run.begin(torch.tensor(facts(counts)["start"], dtype=torch.float64))
    return run


def test_the_game_begins_with_the_known_frequencies() -> None:
    run = game([500, 300, 150, 50])
    chances = torch.stack([run.chances(run.generator.weights) for _ in range(20)]).mean(0)
    assert torch.allclose(chances, torch.tensor([0.5, 0.3, 0.15, 0.05]).double(), atol=0.03)


def test_only_the_discriminator_is_told_of_cases() -> None:
    """Two logs, no noise to speak of but equal: the start of the generator is the same."""
    one, other = game([500, 300, 150, 50]), game([500, 300, 150, 50])
    other.counts = np.array([50, 150, 300, 500])
    for name, weight in one.generator.weights.items():
        assert torch.equal(weight, other.generator.weights[name])
    before = {name: w.clone() for name, w in one.discriminator.weights.items()}
    one.step()
    assert any(not torch.equal(w, before[name]) for name, w in one.discriminator.weights.items())


def test_generator_and_decoder_follow_the_scores() -> None:
    """Told which columns are real, all weights of both move, and those columns come more often."""
    run = game([250, 250, 250, 250])
    before = {name: weight.clone() for name, weight in run.generator.weights.items()}
    scores = torch.tensor([1.0, 1.0, -1.0, -1.0])
    for _ in range(20):
        run.imitate(scores)
    assert all(not torch.equal(w, before[name]) for name, w in run.generator.weights.items())
    assert float(run.chances(run.generator.weights)[:2].sum()) > 0.6


def test_all_steps_are_taken_and_stay_finite() -> None:
    run = game([700, 200, 100], dictionary=(("a",), ("b",)))
    while run.discriminator.left:
        assert math.isfinite(run.step())
    assert run.discriminator.taken == run.discriminator.plan.steps == 40
    assert all(torch.isfinite(weight).all() for weight in run.average.values())


def test_strict_draws_by_the_odds_and_published_takes_the_likeliest() -> None:
    from discreet.log.neighbours import Case, make_log

    log = make_log([Case((label,)) for label in "aaab" * 100])
    mechanism = TraVaG(epsilon=50.0, delta=1e-3)
    model = mechanism._train(log, Randomness.seeded(1), Watch())
    from discreet.mechanisms.trained.dictionary import Dictionary

    columns = Dictionary.from_facts(model.facts)
    drawn = columns_of(model.tensors, columns, 4000, True, Randomness.seeded(2))
    assert drawn.max() < len(columns.variants)
    assert abs((drawn == 0).mean() - 0.75) < 0.1


def test_an_encoder_without_noise_moves_every_gradient() -> None:
    """The published flaw: one case more in the encoder's data, and the sum of the decoder's
    clipped gradients over a batch of *other* cases moves by several times the clip."""
    counts, steps = np.array([64, 0]), 30
    sums = []
    for extra in (False, True):
        run = PublishedGame(
            TraVaG(fidelity="published", epsilon=1e5, sampling_rate=1.0, steps=steps),
            counts,
            64,
            Randomness.seeded(4),
        )
        decoder = {name: weight.clone() for name, weight in run.decoder.weights.items()}
        if extra:
            run.column_of = np.append(run.column_of, 1)
        for _ in range(steps):
            run.compress()
        for name, weight in run.decoder.weights.items():
            weight.copy_(decoder[name])
        sums.append(decoder_sum(run, np.zeros(64, dtype=np.int64)))
    moved = math.sqrt(sum(float((a - b).square().sum()) for a, b in zip(*sums, strict=True)))
    assert moved > 5 * DECODER_CLIP


def decoder_sum(run: PublishedGame, batch: np.ndarray) -> list[Any]:
    """Clipped gradients of the decoder over these cases, as the noisy step adds them up."""
    from functools import partial

    from discreet.mechanisms.trained.sgd import Recorder, plain
    from discreet.mechanisms.trained.travag.networks import decode, encode

    cases = torch.eye(run.columns)[batch]
    record = Recorder(run.decoder.weights)
    odds = decode(record, encode(partial(plain, run.encoder.weights), cases))
    loss = torch.nn.functional.binary_cross_entropy_with_logits(odds, cases, reduction="none")
    factors = record.factors(loss.mean(1).sum())
    return clipped_sum(list(factors.values()), DECODER_CLIP)
