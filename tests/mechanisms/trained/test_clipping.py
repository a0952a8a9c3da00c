from __future__ import annotations

import warnings

import pytest

torch = pytest.importorskip("torch", reason="needs the extra generative")

from torch import Tensor, nn  # noqa: E402

from discreet.mechanisms.trained.clipping import (  # noqa: E402
    Factors,
    clipped_sum,
    exact_sum,
    grid_bound,
    squared_norms,
)
from discreet.mechanisms.trained.sgd import Recorder  # noqa: E402

BOUND = 1 << 16


def random_layers(seed: int, cases: int, uses: int = 1, scale: float = 1.0) -> list[Factors]:
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        drawn: Tensor = torch.randn(*shape, generator=generator)
        return drawn

    return [
        Factors(normal(cases, uses, 5), scale * normal(cases, uses, 3)),
        Factors(normal(cases, uses, 4), scale * normal(cases, uses, 2)),
    ]


def one_case(layers: list[Factors], case: int) -> list[Factors]:
    rows = slice(case, case + 1)
    return [Factors(layer.inputs[rows], layer.backprops[rows]) for layer in layers]


def without(layers: list[Factors], case: int) -> list[Factors]:
    kept = [row for row in range(layers[0].cases) if row != case]
    return [Factors(layer.inputs[kept], layer.backprops[kept]) for layer in layers]


def norm_squared(sums: list[Tensor]) -> int:
    """Of integer matrices, in Python's own integers."""
    return sum(int(entry) ** 2 for part in sums for entry in part.flatten().tolist())


@pytest.mark.parametrize("uses", [1, 7])
def test_norms_are_those_of_written_out_gradients(uses: int) -> None:
    (layer, _) = random_layers(1, 6, uses)
    whole = torch.einsum("cuo,cui->coi", layer.backprops.double(), layer.inputs.double())
    assert torch.allclose(squared_norms(layer), whole.square().sum((1, 2)), rtol=1e-6)


@pytest.mark.parametrize("uses", [1, 4])
@pytest.mark.parametrize("scale", [1e-2, 1.0, 1e5])
def test_the_exact_sum_is_the_clipped_sum(uses: int, scale: float) -> None:
    layers = random_layers(2, 40, uses, scale)
    clip = 1.0
    plain = clipped_sum(layers, clip)
    exact = [part * (clip / 2**22) for part in exact_sum(layers, clip, 1 << 22)]
    size = torch.cat([part.flatten() for part in plain]).norm()
    gap = torch.cat([(a - b).flatten() for a, b in zip(plain, exact, strict=True)]).norm()
    assert gap <= 0.005 * size


@pytest.mark.parametrize("uses", [1, 5])
@pytest.mark.parametrize("scale", [1e-6, 0.3, 1.0, 1e3, 1e30])
def test_one_case_moves_the_sum_by_at_most_the_bound(uses: int, scale: float) -> None:
    """In integers, with no tolerance: this is the sensitivity that the noise is made for."""
    for seed in range(5):
        layers = random_layers(seed, 9, uses, scale)
        total = exact_sum(layers, 1.0, BOUND)
        for case in (0, 4, 8):
            alone = exact_sum(one_case(layers, case), 1.0, BOUND)
            assert norm_squared(alone) <= BOUND**2
            rest = exact_sum(without(layers, case), 1.0, BOUND)
            for whole, other, part in zip(total, rest, alone, strict=True):
                assert torch.equal(whole, other + part)
                assert torch.equal(whole, whole.round())


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_a_case_with_an_undefined_gradient_counts_nothing(bad: float) -> None:
    layers = random_layers(3, 5)
    rest = exact_sum(without(layers, 2), 1.0, BOUND)
    layers[1].backprops[2, 0, 0] = bad
    spoilt = exact_sum(layers, 1.0, BOUND)
    alone = exact_sum(one_case(layers, 2), 1.0, BOUND)
    assert norm_squared(alone) <= BOUND**2
    for whole, other, part in zip(spoilt, rest, alone, strict=True):
        assert torch.equal(whole, other + part)


def test_equal_cases_may_share_a_row() -> None:
    layers = random_layers(4, 3)
    counts = torch.tensor([2, 0, 5])
    repeated = [
        Factors(
            layer.inputs.repeat_interleave(counts, 0), layer.backprops.repeat_interleave(counts, 0)
        )
        for layer in layers
    ]
    for shared, apart in zip(
        exact_sum(layers, 1.0, BOUND, counts), exact_sum(repeated, 1.0, BOUND), strict=True
    ):
        assert torch.equal(shared, apart)


@pytest.mark.parametrize("multiplier", [1e-3, 0.5, 1.0, 300.0, 1e6])
def test_noise_fits_into_64_bits(multiplier: float) -> None:
    bound = grid_bound(multiplier)
    assert bound >= 1
    assert (multiplier * bound) ** 2 <= 2**60


@pytest.mark.parametrize("clip", [0.01, 1.0, 100.0])
def test_the_same_as_opacus(clip: float) -> None:
    """Norms and clipped sums of a network of linear layers against Opacus' per-sample hooks."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from opacus.grad_sample import GradSampleModule

        torch.manual_seed(5)
        network = nn.Sequential(
            nn.Linear(20, 30), nn.ReLU(), nn.Linear(30, 30), nn.Tanh(), nn.Linear(30, 20)
        )
        inputs, target = torch.randn(50, 20), torch.randn(50, 20)
        hooked = GradSampleModule(network, loss_reduction="sum")
        (hooked(inputs) - target).square().sum().backward()
        theirs = [parameter.grad_sample for parameter in hooked.parameters()]
    weights = {
        str(place): torch.cat([layer.weight, layer.bias[:, None]], dim=1).detach()
        for place, layer in enumerate(network)
        if isinstance(layer, nn.Linear)
    }
    record = Recorder(weights)
    hidden = torch.tanh(record("2", torch.relu(record("0", inputs))))
    loss = (record("4", hidden) - target).square().sum()
    layers = list(record.factors(loss).values())

    norms = torch.stack([grad.flatten(1).norm(dim=1) for grad in theirs]).norm(dim=0)
    ours = torch.stack([squared_norms(layer) for layer in layers]).sum(0).sqrt()
    assert torch.allclose(ours.float(), norms, rtol=1e-5)
    scale = (clip / norms).clamp_max(1.0)
    for place, part in enumerate(clipped_sum(layers, clip)):
        weight, bias = theirs[2 * place], theirs[2 * place + 1]
        assert torch.allclose(
            part[:, :-1].float(), torch.einsum("c,coi->oi", scale, weight), atol=1e-5 * clip * 50
        )
        assert torch.allclose(
            part[:, -1].float(), torch.einsum("c,co->o", scale, bias), atol=1e-5 * clip * 50
        )


def test_very_many_cases_are_still_added_up_exactly() -> None:
    bound = 1 << 24
    layer = Factors(torch.tensor([[1.0], [0.7]]), torch.tensor([[1e9], [-1e9]]))
    first, second = (
        exact_sum([Factors(layer.inputs[i : i + 1], layer.backprops[i : i + 1])], 1.0, bound)[0]
        for i in (0, 1)
    )
    counts = torch.tensor([20_000_001, 20_000_000])
    (total,) = exact_sum([layer], 1.0, bound, counts)
    assert int(total) == 20_000_001 * int(first) + 20_000_000 * int(second)


@pytest.mark.parametrize("uses", [1, 3])
def test_no_case_at_all_is_a_sum_of_nothing(uses: int) -> None:
    for part, layer in zip(
        exact_sum(random_layers(1, 0, uses), 1.0, BOUND), random_layers(1, 1, uses), strict=True
    ):
        shape = (layer.backprops.shape[2], layer.inputs.shape[2])
        assert torch.equal(part, torch.zeros(shape, dtype=torch.float64))
