from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs the extra generative")

from discreet.mechanisms.trained.clipping import (  # noqa: E402
    Factors,
    clipped_sum,
    exact_sum,
    grid_bound,
    squared_norms,
)
from discreet.mechanisms.trained.ddpm.denoiser import network, odds  # noqa: E402
from discreet.mechanisms.trained.layers import (  # noqa: E402
    LATENT,
    decoder_layers,
    denoiser_layers,
    discriminator_layers,
)
from discreet.mechanisms.trained.sgd import Recorder, fresh_weights  # noqa: E402
from discreet.mechanisms.trained.travag.networks import decode, discriminate  # noqa: E402
from discreet.privacy.randomness import Randomness  # noqa: E402

COLUMNS, CASES = 30, 12


def _seeded() -> Randomness:
    return Randomness.seeded(1)


def _setting(name: str) -> tuple[dict[str, tuple[int, int]], Callable[[Any], Any]]:
    """Layers, and a loss for each case, of a network of ours."""
    generator = torch.Generator().manual_seed(3)
    if name == "ddpm":
        points = torch.randn(CASES, COLUMNS, generator=generator)
        times = torch.randint(300, (CASES,), generator=generator)
        noise = torch.randn(CASES, COLUMNS, generator=generator)
        sizes = denoiser_layers(COLUMNS, 20)
        return sizes, lambda apply: (network(apply, points, times) - noise).square().mean(1)
    if name == "decoder":
        latent = torch.randn(CASES, LATENT, generator=generator)
        chosen = torch.randint(COLUMNS, (CASES,), generator=generator)
        entropy = partial(torch.nn.functional.cross_entropy, target=chosen, reduction="none")
        return decoder_layers(COLUMNS), lambda apply: entropy(decode(apply, latent))
    cases = torch.eye(COLUMNS)[torch.randint(COLUMNS, (CASES,), generator=generator)]
    return discriminator_layers(COLUMNS), lambda apply: -discriminate(apply, cases)


def _opacus(
    sizes: dict[str, tuple[int, int]], weights: dict[str, Any], losses: Callable[[Any], Any]
) -> dict[str, Any]:
    """Per-case gradients of the same network by Opacus' hooks, [weights, bias] by layer."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from opacus import GradSampleModule

        module = torch.nn.ModuleDict()
        for name, (inputs, outputs) in sizes.items():
            module[name] = torch.nn.Linear(inputs, outputs)
            module[name].weight.data.copy_(weights[name][:, :-1])
            module[name].bias.data.copy_(weights[name][:, -1])
        hooked = GradSampleModule(module)
        losses(lambda name, x: module[name](x)).mean().backward()
    return {
        name: torch.cat([layer.weight.grad_sample, layer.bias.grad_sample[:, :, None]], dim=2)
        for name, layer in hooked._module.items()
    }


@pytest.mark.parametrize("name", ["ddpm", "decoder", "discriminator"])
def test_same_norms_and_clipped_sums_as_opacus(name: str) -> None:
    sizes, losses = _setting(name)
    weights = fresh_weights(sizes, _seeded())
    theirs = _opacus(sizes, weights, losses)
    run = Recorder(weights)
    factors = run.factors(losses(run).sum())
    norms = sum(each.square().sum((1, 2)).double() for each in theirs.values()).sqrt()
    ours = torch.stack([squared_norms(factors[layer]) for layer in sizes]).sum(0).sqrt()
    assert torch.allclose(ours, norms, rtol=1e-5, atol=1e-7)
    clip = float(norms.median())
    wanted = {
        layer: ((clip / norms).clamp_max(1)[:, None, None] * each).sum(0)
        for layer, each in theirs.items()
    }
    scale = max(float(each.abs().max()) for each in wanted.values())
    floats = clipped_sum(list(factors.values()), clip)
    bound = grid_bound(1.0)
    integers = exact_sum(list(factors.values()), clip, bound)
    for layer, plain_sum, whole in zip(factors, floats, integers, strict=True):
        assert (plain_sum - wanted[layer]).abs().max() <= 1e-5 * scale
        assert (whole * clip / bound - wanted[layer]).abs().max() <= 0.01 * scale


@pytest.mark.parametrize("name", ["ddpm", "discriminator"])
@pytest.mark.parametrize("cases", [1, 7, 64, 65])
def test_a_case_does_the_same_in_company(name: str, cases: int) -> None:
    """The assumption of `clipping`, on our shapes: rows do not change when a case is added."""
    columns, rng = 60, _seeded()
    sizes = denoiser_layers(columns, 256) if name == "ddpm" else discriminator_layers(columns)
    weights = fresh_weights(sizes, rng)
    rng = torch.Generator().manual_seed(8)
    points = torch.randn(cases + 1, columns, generator=rng)
    times = torch.randint(300, (cases + 1,), generator=rng)
    bound = grid_bound(4.0)

    def parts(rows: int) -> list[list[Any]]:
        run = Recorder(weights)
        if name == "ddpm":
            loss = odds(run, points[:rows], times[:rows]).logsumexp(1).sum()
        else:
            loss = discriminate(run, points[:rows]).sum()
        factors = list(run.factors(loss).values())
        return [
            exact_sum(
                [Factors(f.inputs[i : i + 1], f.backprops[i : i + 1]) for f in factors], 1.0, bound
            )
            for i in range(rows)
        ]

    largest = max(
        float((a - b).abs().max())
        for one, other in zip(parts(cases), parts(cases + 1), strict=False)
        for a, b in zip(one, other, strict=True)
    )
    assert largest <= 2.0**-16 * bound
