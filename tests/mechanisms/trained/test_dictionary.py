"""ddpm and travag: what holds for both, dictionary and guarantee above all."""

from __future__ import annotations

import importlib.util
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.log.events import EventLog
from discreet.log.neighbours import Case, make_log
from discreet.log.samples import sample_log
from discreet.log.variants import Variants
from discreet.mechanisms.trained.base import ModelState, Watch
from discreet.mechanisms.trained.ddpm import DDPM
from discreet.mechanisms.trained.dictionary import SIZE, Dictionary, OverDictionary
from discreet.mechanisms.trained.travag import TraVaG
from discreet.parameters import ParameterError
from discreet.privacy.guarantee import Budget
from discreet.privacy.randomness import Randomness
from discreet.privacy.renyi import rdp_epsilon
from tests.composition import basic
from tests.loss_distributions import training_epsilon

BOTH = [DDPM, TraVaG]
QUICK: dict[type[OverDictionary], dict[str, Any]] = {
    DDPM: {"strides": 20, "steps": 8},
    TraVaG: {"steps": 8},
}
needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="the extra generative is missing"
)


def quick(kind: type[OverDictionary], **parameters: Any) -> OverDictionary:
    return kind(**QUICK[kind] | parameters)


def some_log(**counts: int) -> EventLog:
    """A log with so many cases of each word, its letters being the activities."""
    return make_log([Case(tuple(word)) for word, n in counts.items() for _ in range(n)])


# What is promised


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 2.0])
@pytest.mark.parametrize("delta", [1e-6, 1e-4, 1e-2])
def test_what_is_asked_for_is_accounted(
    kind: type[OverDictionary], epsilon: float, delta: float
) -> None:
    """The parts add up to the budget, and training costs its part by both accountants."""
    mechanism = kind(epsilon=epsilon, delta=delta)
    promise = mechanism.guarantee()
    assert promise.status == "proved"
    total = basic(promise.parts)
    assert 0.99 * epsilon <= total.epsilon <= epsilon
    assert promise.holds == Budget(epsilon, delta)
    assert 0.999 * delta <= total.delta <= delta
    share = mechanism.training_budget
    plans = list(mechanism.plans.values())
    assert SIZE in mechanism.plans
    assert 0.99 * share.epsilon <= rdp_epsilon(plans, share.delta) <= share.epsilon
    assert training_epsilon(plans, share.delta) <= share.epsilon * 1.001


@pytest.mark.parametrize("kind", BOTH)
def test_a_public_dictionary_is_named_as_such(kind: type[OverDictionary]) -> None:
    promise = kind(dictionary=(("a", "b"), ("c",))).guarantee()
    assert promise.status == "proved"
    assert promise.conditions == ("the list of 2 variants that was given",)
    assert promise.holds == Budget(1.0, 1e-6)
    assert [part.epsilon for part in promise.parts] == pytest.approx([1.0], rel=0.01)


def test_published_says_what_does_not_hold() -> None:
    assert DDPM(fidelity="published").guarantee().status == "conditional"
    assert "set of variants" in DDPM(fidelity="published").guarantee().conditions[0]
    promise = DDPM(fidelity="published", epsilon=1, delta=1e-6).guarantee()
    assert promise.neighbours == "swap", "with the number of cases public there is no other"
    assert promise.holds is not None
    assert promise.holds.epsilon == pytest.approx(2, rel=0.01)
    assert promise.holds.delta == pytest.approx((1 + math.e) * 1e-6, rel=0.01)
    grouped = DDPM(fidelity="published", microbatch=4).guarantee()
    assert (grouped.status, grouped.holds) == ("unproved", None)
    refuted = TraVaG(fidelity="published").guarantee()
    assert (refuted.status, refuted.holds) == ("refuted", None)
    assert not refuted.private


@pytest.mark.parametrize("kind", BOTH)
def test_individuals_are_protected_by_their_share(kind: type[OverDictionary]) -> None:
    promise = kind(cases_per_individual=3).guarantee()
    assert promise.holds is not None
    assert (promise.unit, promise.holds.epsilon) == ("individual", 1.0)


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize(
    "wrong",
    [
        {"dictionary": ()},
        {"dictionary": ("abc",)},
        {"dictionary": (("a",),), "fidelity": "published"},
        {"dictionary": "no/such/file.txt"},
        {"sampling_rate": 0.0},
        {"steps": 0},
    ],
)
def test_senseless_parameters_are_refused(
    kind: type[OverDictionary], wrong: dict[str, Any]
) -> None:
    with pytest.raises(ParameterError):
        kind(**wrong)


def test_strict_takes_no_microbatches() -> None:
    with pytest.raises(ParameterError, match="microbatch"):
        DDPM(microbatch=2)


@pytest.mark.parametrize("kind", BOTH)
def test_a_dictionary_is_read_from_a_file(kind: type[OverDictionary], tmp_path: Path) -> None:
    path = tmp_path / "variants.txt"
    path.write_text("a\tb\n\na\tb\tc\n", encoding="utf-8")
    assert kind(dictionary=str(path)).dictionary == (("a", "b"), ("a", "b", "c"))


@pytest.mark.parametrize("kind", BOTH)
def test_without_torch_it_says_what_to_install(
    kind: type[OverDictionary], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Building it and asking for its guarantee works; a release says what is missing."""
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "torch" else find(name)
    )
    mechanism = kind()
    assert mechanism.guarantee().private
    with pytest.raises(ParameterError, match=r"pip install 'discreet\[generative\]'"):
        mechanism.release(some_log(ab=3))


# What comes out


@needs_torch
@pytest.mark.parametrize("kind", BOTH)
def test_frequencies_are_learned(kind: type[OverDictionary]) -> None:
    """A log of four variants at a generous budget: frequencies within a few points."""
    log = some_log(ab=600, abc=300, b=90, xy=10)
    release = kind(epsilon=50.0, delta=1e-4).release(log)
    assert release.guarantee.private
    found = release.artefact.to_dict()
    size = release.artefact.cases
    assert abs(size - 1000) < 50
    for word, count in {"ab": 600, "abc": 300, "b": 90}.items():
        assert abs(found[tuple(word)] / size - count / 1000) < 0.12


@needs_torch
def test_ddpm_learns_a_public_dictionary_from_nothing() -> None:
    log = some_log(ab=800, abc=150, b=50)
    words = tuple(tuple(word) for word in ("ab", "abc", "b", "bb", "ca"))
    found = DDPM(epsilon=20.0, dictionary=words, strides=60).release(log).artefact.to_dict()
    total = sum(found.values())
    assert found[("a", "b")] / total > 0.5
    assert found.get(("b", "b"), 0) / total < 0.12


@needs_torch
@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("fidelity", ["strict", "published"])
@pytest.mark.parametrize(
    "log",
    [some_log(ab=1), some_log(abc=40), some_log(a=1, b=1, c=1), make_log([])],
    ids=["one case", "one variant", "all unique", "no case"],
)
def test_small_logs(kind: type[OverDictionary], fidelity: str, log: EventLog) -> None:
    release = quick(kind, fidelity=fidelity).release(log)
    known = log.variants.to_dict()
    assert set(release.artefact.to_dict()) <= set(known)
    assert release.artefact.cases == 0 or release.artefact.cases >= 1


@needs_torch
@pytest.mark.parametrize("kind", BOTH)
def test_an_empty_dictionary_gives_an_empty_log(kind: type[OverDictionary]) -> None:
    log = make_log([Case((str(number),)) for number in range(200)])
    release = quick(kind, epsilon=0.1, delta=1e-11).release(log)
    assert len(release.artefact) == 0


@needs_torch
@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("fidelity", ["strict", "published"])
def test_a_seed_repeats_a_release(kind: type[OverDictionary], fidelity: str) -> None:
    log = sample_log("hospital", cases=200, seed=1)
    mechanism = quick(kind, fidelity=fidelity, epsilon=4.0, delta=1e-3)
    first, second = (mechanism.release(log, insecure_seed=5) for _ in range(2))
    assert first.artefact.to_dict() == second.artefact.to_dict()
    assert not first.guarantee.private


@needs_torch
@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("cases", [0, 1, 500])
def test_the_number_of_cases_may_be_given(kind: type[OverDictionary], cases: int) -> None:
    mechanism = quick(kind, epsilon=5.0, cases=cases)
    assert mechanism.release(some_log(ab=300, b=80)).artefact.cases == cases


class Stopping(Watch):
    """Stops a training once, after some steps of its last network."""

    def __init__(self, after: int) -> None:
        self.after, self.seen = after, 0
        self.state: ModelState | None = None
        self.taken: dict[str, list[int]] = {}

    def resumed(self) -> ModelState | None:
        return self.state

    def step(self, network: str, done: int, steps: int, loss: float, save: Any) -> None:
        self.taken.setdefault(network, []).append(done)
        self.seen += 1
        if self.seen == self.after:
            self.state = save()
            raise KeyboardInterrupt


@needs_torch
@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("fidelity", ["strict", "published"])
@pytest.mark.parametrize("after", [1, 6, 12])
def test_a_stopped_training_goes_on_to_the_planned_steps(
    kind: type[OverDictionary], fidelity: str, after: int
) -> None:
    log, rng = some_log(ab=60, abc=40, b=30), Randomness.system()
    mechanism = quick(kind, fidelity=fidelity, epsilon=5.0)
    watch = Stopping(after)
    try:
        mechanism._train(log, rng, watch)
    except KeyboardInterrupt:
        assert watch.state is not None
        json.dumps(watch.state.facts)
        model = mechanism._train(log, rng, watch)
        mechanism._check_model(model)
    for name, plan in mechanism.plans.items():
        if name != SIZE:
            done = watch.taken[name]
            assert done[-1] == plan.steps == 8
            assert sorted(set(done)) == list(range(9))


@needs_torch
@pytest.mark.parametrize("kind", BOTH)
def test_what_a_model_holds_is_checked(kind: type[OverDictionary]) -> None:
    mechanism = quick(kind, epsilon=5.0)
    model = mechanism._train(some_log(ab=60, abc=40), Randomness.system(), Watch())
    mechanism._check_model(model)
    some = next(iter(model.tensors))
    for facts, tensors in (
        (model.facts | {"variants": [[99]]}, model.tensors),
        (model.facts | {"activities": "ab"}, model.tensors),
        (model.facts | {"other": 1}, model.tensors),
        (model.facts, model.tensors | {some: model.tensors[some][:-1]}),
    ):
        with pytest.raises(ValueError):
            mechanism._check_model(ModelState(tensors, facts))


# Nothing raw but what is paid for


@needs_torch
@pytest.mark.parametrize("kind", BOTH)
def test_a_model_tells_nothing_else(kind: type[OverDictionary]) -> None:
    """Facts are the dictionary, noisy numbers and the start; no true count, no loss."""
    log = some_log(ab=600, abc=300, q=1)
    model = quick(kind, delta=1e-9)._train(log, Randomness.system(), Watch())
    assert set(model.facts) == {"activities", "variants", "other", "cases", "trained_on", "start"}
    assert "q" not in model.facts["activities"]
    assert all(np.isfinite(array).all() for array in model.tensors.values())


@needs_torch
@pytest.mark.parametrize("kind", BOTH)
def test_neighbours_do_the_same_to_the_weights_but_for_one_case(kind: type[OverDictionary]) -> None:
    """With equal randomness one more case moves a step's exact sum by the bound at most."""
    import torch

    from discreet.mechanisms.trained.sgd import PrivateSteps

    mechanism = quick(kind, dictionary=(("a",), ("b",)), epsilon=1e5, sampling_rate=1.0, steps=1)
    sums: list[list[torch.Tensor]] = []
    original = PrivateSteps.bounded

    def spy(self: PrivateSteps, *given: Any) -> list[torch.Tensor]:
        sums.append(original(self, *given))
        return sums[-1]

    bounds = []
    for counts in ([5, 3, 1], [5, 4, 1], [5, 3, 2]):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(PrivateSteps, "bounded", spy)
            facts = mechanism._begin(Variants.from_counts([(("a",), 9)]), Randomness.seeded(3))
            facts |= {"trained_on": 10, "start": [3.0, 3.0, 4.0]}
            mechanism._fit(np.array(counts), facts, Randomness.seeded(4), Watch())
        from discreet.mechanisms.trained.clipping import grid_bound

        plan = next(plan for name, plan in mechanism.plans.items() if name != SIZE)
        bounds.append(grid_bound(plan.noise_multiplier))
    for more in sums[1:]:
        moved = sum(
            int(value) ** 2
            for a, b in zip(more, sums[0], strict=True)
            for value in (a - b).flatten().tolist()
        )
        assert 0 < moved <= bounds[0] ** 2


# The dictionary


def test_every_case_has_one_column() -> None:
    columns = Dictionary.of(Variants.from_counts([(("a",), 4), (("a", "b"), 2)]), other=True)
    log = Variants.from_counts([(("a",), 7), (("c",), 5), (("a", "b"), 1), ((), 2)])
    assert columns.counts(log).tolist() == [7, 1, 7]
    assert columns.decode(np.array([0, 0, 1, 2, 2])).to_dict() == {("a",): 2, ("a", "b"): 1}
    again = Dictionary.from_facts(json.loads(json.dumps(columns.to_facts())))
    assert again.variants.to_dict() == columns.variants.to_dict()


# An audit in one training


@needs_torch
@pytest.mark.parametrize("kind", BOTH)
def test_canaries_tell_published_from_strict(kind: type[OverDictionary]) -> None:
    """A coin for each of 256 unusual cases: published shows which came in, strict does not."""
    from discreet.audits.measurement import QUICK as LITTLE
    from discreet.audits.measurement import audit_pair
    from discreet.audits.subjects import find_pair as pair

    given: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "steps": 8, "cases": 8000}
    given |= {"strides": 10} if kind is DDPM else {}
    sound = audit_pair(kind(**given), pair("canaries"), LITTLE, 0.01)
    assert sound.promise is not None
    assert not sound.promise.contradicts
    leaking = audit_pair(kind(fidelity="published", **given), pair("canaries"), LITTLE, 0.01)
    assert leaking.promise is None  # the canaries change what is taken as public
    assert leaking.claim is not None
    assert kind is not DDPM or leaking.claim.epsilon > 1.5
