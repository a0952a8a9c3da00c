"""sequence: the guarantee, gradients of single cases, what is written, and an audit."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, chi2

from discreet.arrays import Booleans, Floats
from discreet.audits.canaries import audit_one_run
from discreet.log.neighbours import Case, make_log
from discreet.log.samples import sample_log
from discreet.log.variants import Variants
from discreet.mechanisms.trained.base import ModelState, Watch
from discreet.mechanisms.trained.layers import MEMORY, SEQUENCE_NETWORK, sequence_layers
from discreet.mechanisms.trained.sequence import Sequence
from discreet.mechanisms.trained.sequence.mechanism import (
    ACTIVITIES,
    PER_CASE,
    SIZE,
    UNDISCLOSED,
    ActivitySearch,
    seen_through,
)
from discreet.models.similarity import relative_log_similarity
from discreet.parameters import ParameterError
from discreet.privacy.guarantee import Budget
from discreet.privacy.randomness import Randomness
from discreet.privacy.renyi import TrainingPlan, rdp_epsilon
from discreet.privacy.steps import SampledGaussian
from tests.composition import basic
from tests.loss_distributions import training_epsilon

torch = pytest.importorskip("torch", reason="the extra generative is missing")

from discreet.mechanisms.trained.clipping import clipped_sum, exact_sum  # noqa: E402
from discreet.mechanisms.trained.sequence.network import (  # noqa: E402
    CaseBlocks,
    case_factors,
    clip_for,
    surprises,
    written,
)
from discreet.mechanisms.trained.sgd import fresh_weights, plain  # noqa: E402

BOUND = 1 << 20


def some_cases(labels: int, cases: int, longest: int, seed: int) -> Variants:
    generator = np.random.default_rng(seed)
    names = [f"{code:02d}" for code in range(labels)]
    rows = [generator.choice(names, generator.integers(1, longest + 1)) for _ in range(cases)]
    found = Variants.from_counts((tuple(row), 1) for row in rows)
    assert found.activities == tuple(names)
    return found


def some_weights(labels: int, seed: int) -> dict[str, Any]:
    weights = fresh_weights(sequence_layers(labels), Randomness.seeded(seed), torch.float64)
    return {name: 2 * weight for name, weight in weights.items()}


# The guarantee


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 2.0, 20.0])
@pytest.mark.parametrize("alphabet", [None, ("a", "b")])
def test_what_is_accounted_is_what_was_asked_for(epsilon: float, alphabet: Any) -> None:
    for delta in (1e-6, 1e-4, 1e-2):
        mechanism = Sequence(epsilon=epsilon, delta=delta, alphabet=alphabet)
        budget = mechanism.training_budget
        assert budget.delta == pytest.approx(delta if alphabet else 0.8 * delta)
        plans = list(mechanism.plans.values())
        assert 0.99 * epsilon <= rdp_epsilon(plans, budget.delta) <= epsilon
        assert mechanism.plans[SEQUENCE_NETWORK].steps == mechanism.steps
        assert (ACTIVITIES in mechanism.plans) == (alphabet is None)
        assert mechanism.epsilon_so_far({SEQUENCE_NETWORK: mechanism.steps}) <= epsilon
        assert 0 <= mechanism.epsilon_so_far({SEQUENCE_NETWORK: 0}) < 0.7 * epsilon


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_the_second_accountant_agrees(epsilon: float) -> None:
    mechanism = Sequence(epsilon=epsilon, delta=1e-6)
    other = training_epsilon(list(mechanism.plans.values()), mechanism.training_budget.delta)
    assert 0.8 * epsilon < other <= epsilon * 1.001


def test_the_guarantee_says_what_it_rests_on() -> None:
    found = Sequence(epsilon=1, delta=1e-6).guarantee()
    assert (found.status, found.neighbours, found.conditions) == ("proved", "add-remove", ())
    total = basic(found.parts)
    assert total.epsilon <= 1
    assert 0.999e-6 < total.delta <= 1e-6
    given = Sequence(epsilon=1, delta=1e-6, alphabet=("a",)).guarantee()
    assert given.status == "proved"
    assert "list of 1 activities" in given.conditions[0]
    assert given.holds == Budget(1, 1e-6)
    assert 0.99 < basic(given.parts).epsilon <= 1
    assert Sequence(alphabet="from-log").guarantee().status == "conditional"
    people = Sequence(epsilon=1, delta=1e-6, cases_per_individual=3).guarantee()
    assert (people.unit, people.holds) == ("individual", Budget(1, 1e-6))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alphabet": ()}, "empty"),
        ({"alphabet": tuple(str(i) for i in range(1001))}, "at most 1,000"),
        ({"max_length": 0}, "max_length must be"),
        ({"steps": 0}, "steps must be"),
        ({"sampling_rate": 0}, "sampling_rate must be"),
        ({"delta": 0}, "delta must be"),
        ({"delta": 1e-200}, "too little"),
    ],
)
def test_parameters_out_of_range(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Sequence(**parameters)


def counting(noise_multiplier: float) -> SampledGaussian:
    return SampledGaussian(ACTIVITIES, TrainingPlan(Fraction(1), 1, noise_multiplier))


def test_an_activity_of_one_case_is_hardly_ever_named() -> None:
    """A case with many activities of its own, at a chance that can be seen."""
    finding = ActivitySearch(counting(3.0), chance=0.2, most=1000)
    alone = Variants.from_counts({tuple(f"{i:03d}" for i in range(3 * PER_CASE)): 1})
    rng = Randomness.system()
    runs = 1500
    named = [finding.of(alone, rng) for _ in range(runs)]
    assert binom.sf(sum(map(bool, named)) - 1, runs, finding.chance) > 1e-7
    assert all(int(label) < PER_CASE for labels in named for label in labels)
    assert any(named), "the threshold is far too high"


def test_frequent_activities_are_found_and_the_most_frequent_first() -> None:
    log = Variants.from_counts({("a", "b"): 5000, ("a", "c"): 3000, ("d",): 3})
    rng = Randomness.system()
    assert ActivitySearch(counting(2.0), 1e-9, 10).of(log, rng) == ("a", "b", "c")
    assert ActivitySearch(counting(2.0), 1e-9, 2).of(log, rng) == ("a", "b")


def test_each_case_is_read_on_its_own() -> None:
    log = some_cases(6, 30, 12, seed=4)
    labels = log.activities[:4]
    everyone = seen_through(log, labels, 5).to_dict()
    assert all(len(trace) <= 5 and set(trace) <= set(labels) for trace in everyone)
    for index, (trace, count) in enumerate(log):
        others = log.take(np.delete(np.arange(len(log)), index))
        left = seen_through(others, labels, 5).to_dict()
        own = tuple(label for label in trace if label in labels)[:5]
        changed = {key: everyone[key] - left.get(key, 0) for key in everyone}
        assert {key: n for key, n in changed.items() if n} == ({own: count} if own else {})


# Gradients of single cases


def brute_force(weights: dict[str, Any], trace: list[int], mark: int) -> dict[str, Any]:
    """The gradient of one case's surprise by plain automatic differentiation."""
    leaves = {name: weight.clone().requires_grad_() for name, weight in weights.items()}
    row = torch.tensor([[*trace, mark]])
    loss = surprises(partial(plain, leaves), row, mark, MEMORY).sum()
    grads = torch.autograd.grad(loss, list(leaves.values()))
    return dict(zip(leaves, grads, strict=True))


@pytest.mark.parametrize(("labels", "longest", "seed"), [(3, 8, 1), (16, 40, 2), (2, 70, 3)])
def test_clipped_sums_equal_one_case_at_a_time(labels: int, longest: int, seed: int) -> None:
    log = some_cases(labels, 25, longest, seed)
    weights = some_weights(labels, seed)
    cases = CaseBlocks(log)
    clip = 3.0
    expected = {name: torch.zeros_like(weight) for name, weight in weights.items()}
    for index in range(len(log)):
        trace = log.codes[log.offsets[index] : log.offsets[index + 1]].tolist()
        gradient = brute_force(weights, trace, labels)
        norm = math.sqrt(sum(float(g.square().sum()) for g in gradient.values()))
        for name, part in gradient.items():
            expected[name] += part * min(1.0, clip / norm)
    plain_sum = {name: torch.zeros_like(weight) for name, weight in weights.items()}
    exact = {name: torch.zeros_like(weight) for name, weight in weights.items()}
    for rows, block in cases.blocks(np.arange(len(log))):
        factors, _ = case_factors(weights, rows, labels)
        counts = torch.tensor([1] * len(block) + [0] * (len(rows) - len(block)))
        for total, form in ((plain_sum, clipped_sum), (exact, partial(exact_sum, bound=BOUND))):
            layers = [factors[name] for name in weights]
            for name, part in zip(weights, form(layers, clip, counts=counts), strict=True):
                total[name] += part
    for name, wanted in expected.items():
        assert float((plain_sum[name] - wanted).abs().max()) < 1e-9
        assert torch.equal(exact[name], exact[name].round())
        found = exact[name] * (clip / BOUND)
        assert float((found - wanted).norm() / wanted.norm()) < 5e-3, "inputs have 8 bits"


def test_one_more_case_moves_the_sum_by_the_bound_at_most() -> None:
    """In integers, whatever shares its block: the others' parts do not change in any bit."""
    log = some_cases(5, 60, 30, seed=7)
    weights = some_weights(5, 7)

    def total(chosen: list[int]) -> dict[str, Any]:
        cases = CaseBlocks(log.take(np.array(chosen)))
        sums = {name: torch.zeros_like(weight) for name, weight in weights.items()}
        for rows, block in cases.blocks(np.arange(len(chosen))):
            factors, _ = case_factors(weights, rows, 5)
            counts = torch.tensor([1] * len(block) + [0] * (len(rows) - len(block)))
            layers = [factors[name] for name in weights]
            for name, part in zip(weights, exact_sum(layers, 6.0, BOUND, counts), strict=True):
                sums[name] += part
        return sums

    everyone = total(list(range(len(log))))
    for out in range(0, len(log), 7):
        without = total([index for index in range(len(log)) if index != out])
        alone = total([out])
        moved = sum(int((everyone[n] - without[n]).long().square().sum()) for n in weights)
        assert 0 < moved <= BOUND**2
        for name in weights:
            assert torch.equal(everyone[name] - without[name], alone[name])


# What is written


def test_cases_are_written_as_likely_as_they_are() -> None:
    labels, longest, cases = 2, 3, 40_000
    weights = some_weights(labels, 11)
    arrays = {name: weight.numpy() for name, weight in weights.items()}
    codes, lengths = written(arrays, labels, MEMORY, longest, cases, Randomness.system())
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    found = Variants.of_cases(("0", "1"), codes.astype(np.int32), offsets)[0].to_dict()
    chances = {}
    for length in range(1, longest + 1):
        for trace in product((0, 1), repeat=length):
            chances[tuple(map(str, trace))] = _chance(weights, trace, labels, longest)
    empty = math.exp(-float(surprises(partial(plain, weights), torch.tensor([[2]]), 2, MEMORY)))
    total = sum(chances.values())
    assert total == pytest.approx(1 - empty)
    assert set(found) <= set(chances)
    expected = np.array([cases * chance / total for chance in chances.values()])
    observed = np.array([found.get(trace, 0) for trace in chances])
    assert expected.min() > 10
    assert chi2.sf(((observed - expected) ** 2 / expected).sum(), len(expected) - 1) > 1e-7


def _chance(weights: dict[str, Any], trace: tuple[int, ...], mark: int, longest: int) -> float:
    """A case's probability; at the greatest length it ends whatever comes next."""
    apply = partial(plain, weights)
    if len(trace) < longest:
        row = torch.tensor([[*trace, mark]])
        return math.exp(-float(surprises(apply, row, mark, MEMORY)))
    row = torch.tensor([trace])
    return math.exp(-float(surprises(apply, row, mark, MEMORY)))


def test_the_clip_grows_with_what_stands_out() -> None:
    plan = Sequence(epsilon=1, alphabet=("a",)).plans[SEQUENCE_NETWORK]
    clips = [clip_for(plan, cases) for cases in (1, 1000, 10_000, 10_000_000)]
    assert clips == sorted(clips)
    assert (clips[0], clips[-1]) == (3.0, 30.0)


def test_it_learns() -> None:
    """With a large budget: far better than a model that has seen nothing."""
    log = sample_log("permits", cases=300, seed=3)
    mechanism = Sequence(epsilon=100, delta=1e-6, max_length=16, steps=40)
    model = mechanism._train(log, Randomness.seeded(1), Watch())
    drawn = mechanism._generate(model, 300, Randomness.seeded(2))
    untrained = ModelState({n: np.zeros_like(t) for n, t in model.tensors.items()}, model.facts)
    blind = mechanism._generate(untrained, 300, Randomness.seeded(2))
    found = relative_log_similarity(log.variants, drawn)
    assert found > 0.7
    assert found > relative_log_similarity(log.variants, blind) + 0.3


@pytest.mark.parametrize(
    "traces",
    [
        [("a",)],
        [("a", "b") * 40],
        [("a",)] * 200,
        [tuple(f"{i:03d}" for i in range(300))],
        [(f"{i:03d}",) for i in range(100)],
        [("a",) * 3000, ("b",)],
    ],
)
@pytest.mark.parametrize("alphabet", [None, "from-log", ("x", "y")])
def test_odd_logs(traces: list[tuple[str, ...]], alphabet: Any) -> None:
    log = make_log([Case(trace) for trace in traces])
    mechanism = Sequence(epsilon=1, delta=1e-6, steps=2, alphabet=alphabet, cases=50)
    drawn = mechanism.release(log).artefact
    assert drawn.cases == 50
    assert drawn.lengths.min() >= 1
    assert drawn.lengths.max() <= 64
    if isinstance(alphabet, tuple):
        assert set(drawn.activities) <= set(alphabet)


def test_where_nothing_may_be_named() -> None:
    log = make_log([Case((f"{i}",)) for i in range(30)])
    drawn = Sequence(epsilon=0.1, delta=1e-9, steps=2, cases=7).release(log).artefact
    assert drawn.to_dict() == {(UNDISCLOSED,): 7}


def test_a_seed_repeats_a_release() -> None:
    log = sample_log("hospital", cases=50, seed=1)
    mechanism = Sequence(steps=3, max_length=10)
    first, second = (mechanism.release(log, insecure_seed=4) for _ in range(2))
    assert first.artefact == second.artefact
    assert not first.guarantee.private
    assert mechanism.release(log, insecure_seed=5).artefact != first.artefact


def test_the_size_is_noisy() -> None:
    log = make_log([Case(("a", "b"))] * 40)
    mechanism = Sequence(epsilon=0.5, steps=1, max_length=2, alphabet=("a", "b"))
    sizes = {mechanism.release(log).artefact.cases for _ in range(12)}
    assert len(sizes) > 1
    assert mechanism.plans[SIZE].noise_multiplier > 5


def test_advice_is_for_the_holder() -> None:
    log = make_log([Case(("a", "z") * 50), Case(("a",))])
    advice = " ".join(Sequence(alphabet=("a",), delta=1e-6).advice(log))
    assert "'z'" in advice
    assert "max_length" in advice


# An audit: one training, and a guess for every canary

CANARIES = 160


class Spy(Watch):
    """Sees every noisy gradient, as the guarantee allows: more than the released model shows."""

    def __init__(self) -> None:
        self.gradients = np.zeros(())

    def step(
        self, network: str, done: int, steps: int, loss: float, save: Callable[[], ModelState]
    ) -> None:
        if done == steps:
            self.gradients = save().tensors["optimiser/exp_avg/direct"]


def canary_scores(epsilon: float) -> Any:
    """Train with some of many cases that repeat an activity of their own.

    The gradient of the weight from an activity to itself says which were there.
    """
    labels = tuple(f"{i:03d}" for i in range(CANARIES))
    mechanism = Sequence(
        epsilon=epsilon, delta=1e-6, alphabet=labels, max_length=16, steps=4, sampling_rate=1
    )

    def run(included: Booleans) -> Floats:
        chosen = [Case((label,) * 16) for label, used in zip(labels, included, strict=True) if used]
        spy = Spy()
        mechanism._train(make_log([*chosen, Case((labels[0],))]), Randomness.system(), spy)
        return -np.diagonal(spy.gradients)[:CANARIES].astype(np.float64)

    return run


def test_the_audit_does_not_contradict_and_would_notice_too_little_noise() -> None:
    assert not audit_one_run(canary_scores(1.0), CANARIES, Budget(1.0, 1e-6)).contradicts
    found = audit_one_run(canary_scores(100.0), CANARIES, Budget(1.0, 1e-6))
    assert found.contradicts
    assert found.epsilon > 1
