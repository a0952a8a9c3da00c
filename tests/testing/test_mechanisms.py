"""All of our mechanisms pass the suite that others are asked to pass; what breaks it is found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, ClassVar
from zlib import crc32

import numpy as np
import pytest

from discreet.audits.mutation import ByCounts
from discreet.log.events import EventLog
from discreet.log.variants import Variants
from discreet.mechanisms.audit_cases import SWAP_ONLY_CASE, AuditCase
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.registry import mechanism_class, mechanism_names
from discreet.mechanisms.travas import VARIANTS, TraVaS
from discreet.privacy.guarantee import Budget, Guarantee
from discreet.privacy.partition import OptimalSelection, TruncatedSelection
from discreet.privacy.randomness import Randomness
from discreet.privacy.reserved import ReservedSelection
from discreet.privacy.steps import (
    Choosing,
    Delegated,
    Gaussian,
    Laplace,
    Proved,
    Reserved,
    SampledGaussian,
    Selecting,
    Sequential,
    Step,
)
from discreet.releases import Release
from discreet.testing import MECHANISM_CHECKS, ConformanceError, check_mechanism

QUICK: dict[str, dict[str, Any]] = {
    "sacofa": {"rules": "learn"},
    "ddpm": {"steps": 2, "width": 8, "strides": 4},
    "travag": {"steps": 2},
    "sequence": {"steps": 2},
    "choice": {"candidates": "travas,laplace"},
    "dpim": {"min_fitness": 0.0},
    "whole": {"variants": "travas"},
}
"""What a mechanism needs to run at all, or to run quickly."""

TRAINED = ("ddpm", "sequence", "travag")


@pytest.mark.parametrize("check", MECHANISM_CHECKS)
@pytest.mark.parametrize("name", mechanism_names())
def test_ours_conform(name: str, check: str) -> None:
    if name in TRAINED:
        pytest.importorskip("torch", reason="needs the extra generative")
    check_mechanism(mechanism_class(name), only=check, **QUICK.get(name, {}))


@dataclass(frozen=True, kw_only=True)
class Forgetful(TraVaS):
    """A copy of TraVaS whose notes tell how many cases the log has: no mechanism may do that."""

    name: ClassVar[str] = "forgetful"

    def release(self, log: EventLog, *, insecure_seed: int | None = None) -> Release[Variants]:
        found = super().release(log, insecure_seed=insecure_seed)
        return replace(found, notes=(f"{log.cases} cases",))


@dataclass(frozen=True, kw_only=True)
class Stumbling(TraVaS):
    """A copy of TraVaS that fails on a log without cases, but only after it was paid for."""

    name: ClassVar[str] = "stumbling"

    def _draw(self, log: EventLog, rng: Randomness) -> Variants:
        _ = 1 / log.cases
        return super()._draw(log, rng)


@dataclass(frozen=True, kw_only=True)
class Random(TraVaS):
    """A copy of TraVaS that takes its randomness from elsewhere, so that no seed repeats it."""

    name: ClassVar[str] = "random"
    elsewhere: ClassVar[Iterator[int]] = count(1)

    def _draw(self, log: EventLog, rng: Randomness) -> Variants:
        return Variants.from_counts({("a",): next(self.elsewhere)})


@dataclass(frozen=True, kw_only=True)
class FirstCome(TraVaS):
    """A copy of TraVaS whose variants come out in the order of their first cases, which says how
    the log was sorted, and by it who came first."""

    name: ClassVar[str] = "first come"

    def _draw(self, log: EventLog, rng: Randomness) -> Variants:
        found = super()._draw(log, rng)
        came = [log.variants.sequence(i) for i in dict.fromkeys(log.variant_of_case.tolist())]
        places = sorted(range(len(found)), key=lambda i: came.index(found.sequence(i)))
        return found.take(np.array(places, dtype=np.int64))


@dataclass(frozen=True, kw_only=True)
class Hashed(TraVaS):
    """A copy of TraVaS whose variants come out in the order of a hash, as elements of a set do."""

    name: ClassVar[str] = "hashed"

    def _draw(self, log: EventLog, rng: Randomness) -> Variants:
        found = super()._draw(log, rng)
        hashes = [crc32(" ".join(found.sequence(i)).encode()) for i in range(len(found))]
        return found.take(np.argsort(hashes))


@dataclass(frozen=True, kw_only=True)
class Nameless(TraVaS):
    """A copy of TraVaS that does not say in one line what it does, as the list of all shows."""

    summary: ClassVar[str] = ""


@dataclass(frozen=True, kw_only=True)
class Misled(TraVaS):
    """A copy of TraVaS to be audited on logs of another neighbour relation than it promises for."""

    name: ClassVar[str] = "misled"

    @classmethod
    def audit_cases(cls) -> tuple[AuditCase, ...]:
        return (AuditCase({}, (SWAP_ONLY_CASE,)),)


@dataclass(frozen=True, kw_only=True)
class Listing(TraVaS):
    """A copy of TraVaS whose notes tell how many activities the log has: it may read none there."""

    name: ClassVar[str] = "listing"

    def release(self, log: EventLog, *, insecure_seed: int | None = None) -> Release[Variants]:
        found = super().release(log, insecure_seed=insecure_seed)
        return replace(found, notes=(f"{len(log.activities)} activities",))


@dataclass(frozen=True, kw_only=True)
class Planted(TraVaS):
    """A copy of TraVaS whose noise grows out of a seed that the log gives, so others know it."""

    name: ClassVar[str] = "planted"

    def _draw(self, log: EventLog, rng: Randomness) -> Variants:
        return super()._draw(log, Randomness.seeded(log.cases))


@dataclass(frozen=True, kw_only=True)
class Divided(TraVaS):
    """A copy of TraVaS that seeds its noise from the log's number of cases and from coins."""

    name: ClassVar[str] = "divided"

    def _draw(self, log: EventLog, rng: Randomness) -> Variants:
        return super()._draw(log, Randomness.seeded(log.cases + rng.below(1000)))


@dataclass(frozen=True, kw_only=True)
class Untrimmed(TraVaS):
    """A copy of TraVaS that keeps the labels of cases that it does not show, for anyone to read."""

    name: ClassVar[str] = "untrimmed"

    def _draw(self, log: EventLog, rng: Randomness) -> Variants:
        variants = log.variants
        return variants.take(*self.step(VARIANTS, Selecting).select(variants.counts, rng))


@dataclass(frozen=True, kw_only=True)
class Ranked(TraVaS):
    """A copy of TraVaS that shows variants by their true number of cases, most frequent first."""

    name: ClassVar[str] = "ranked"

    def _draw(self, log: EventLog, rng: Randomness) -> Variants:
        found, often = super()._draw(log, rng), log.variants.to_dict()
        order = np.argsort([-often[sequence] for sequence, _ in found], kind="stable")
        return found.take(order, found.counts[order])


@dataclass(frozen=True, kw_only=True)
class Counting(TraVaS):
    """A copy of TraVaS that brings its counts to the true number of cases of a large log."""

    name: ClassVar[str] = "counting"

    def _draw(self, log: EventLog, rng: Randomness) -> Variants:
        found = super()._draw(log, rng)
        return found if log.cases < 1000 else replace(found, counts=found.counts + log.cases)


@pytest.mark.parametrize(
    ("owner", "check"),
    [
        (Listing, "speaks of parameters only"),
        (Planted, "drawn"),
        (Divided, "reads by its steps only"),
        (Counting, "reads by its steps only"),
        (Untrimmed, "shows nothing unused"),
        (Ranked, "shows nothing unused"),
        (Forgetful, "speaks of parameters only"),
        (Stumbling, "small logs"),
        (Random, "drawn"),
        (FirstCome, "reads no order"),
        (Hashed, "reads no names"),
        (Nameless, "declared"),
        (Misled, "auditable"),
    ],
)
def test_a_mechanism_that_breaks_a_rule_is_told_which(owner: type[TraVaS], check: str) -> None:
    with pytest.raises(ConformanceError, match=f"{owner.__name__}, {check}"):
        check_mechanism(owner)


COUNTED: list[tuple[str, dict[str, Any]]] = [
    ("travas", {}),
    ("utravas", {}),
    ("utravas", {"runs": 2, "choose": "private"}),
    ("headtail", {"alphabet": None, "delta": 1e-3, "tail_sample": 0.5}),
    ("whole", {"variants": "travas"}),
]
"""What may leave variants in an engine."""


@pytest.mark.parametrize(("name", "given"), COUNTED)
def test_ours_read_no_order_of_variants_in_an_engine(name: str, given: dict[str, Any]) -> None:
    check_mechanism(mechanism_class(name), only="reads no order", **given)


@pytest.mark.parametrize(("name", "given"), [one for one in COUNTED if "choose" not in one[1]])
def test_variants_numbered_by_raw_counts_are_found(
    name: str, given: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As engines once numbered them: ties of noisy counts were broken by raw ones."""
    monkeypatch.setattr("discreet.log.engines.view.MemoryEngine", ByCounts)
    with pytest.raises(ConformanceError, match="variants in an engine: another release"):
        check_mechanism(mechanism_class(name), only="reads no order", **given)


def overspent(budget: Budget) -> Step:
    return Sequential("release", (Laplace("a", budget.epsilon), Laplace("b", budget.epsilon)))


def test_steps_that_cost_more_than_the_budget_make_no_mechanism() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Overspending(TraVaS):
        """Twice the budget."""

        def _spending(self, budget: Budget) -> Step:
            return overspent(budget)

    with pytest.raises(ValueError, match=r"the steps cost ε = 2.*more than ε = 1"):
        Overspending(epsilon=1)


def scaled(step: Step, factor: float) -> Step:
    """The step with its noise made for that many times its cost."""
    match step:
        case Laplace() | Choosing() | Proved():
            return replace(step, epsilon=step.epsilon * factor)
        case Gaussian():
            return replace(step, concentrated=step.concentrated * factor)
        case SampledGaussian(plan=plan):
            multiplier = plan.noise_multiplier / factor
            return replace(step, plan=replace(plan, noise_multiplier=multiplier))
        case Selecting(
            selection=OptimalSelection() | ReservedSelection() | TruncatedSelection() as selection
        ):
            return replace(step, selection=replace(selection, epsilon=selection.epsilon * factor))
        case Delegated(guarantee=promise):
            holds = Budget(step.spent.epsilon * factor, step.spent.delta)
            return replace(step, guarantee=replace(promise, holds=holds))
    raise TypeError(f"{step.name} has no scale that this test knows")


def promise_with(usual: Mechanism, changed: Mapping[str, float]) -> Guarantee | None:
    """What the mechanism promises if these steps cost that many times as much; None if refused."""
    owner = type(usual)

    class Changed(owner):  # type: ignore[misc, valid-type]
        def _spending(self, budget: Budget) -> Step | None:
            tree: Step = super()._spending(budget)
            return tree.mapped(
                lambda step: scaled(step, changed[step.name]) if step.name in changed else None
            )

    try:
        built: Mechanism = Changed(**usual.settings)
    except ValueError:
        return None
    return built.guarantee()


@pytest.mark.parametrize("name", mechanism_names())
def test_a_changed_scale_changes_the_promise(name: str) -> None:
    """The very steps that draw are those that are promised, each of them."""
    owner = mechanism_class(name)
    given: dict[str, Any] = {"alphabet": ("a", "b")} if "alphabet" in owner.parameters() else {}
    usual = owner(epsilon=1, **given, **QUICK.get(name, {}))
    promise, tree = usual.guarantee(), usual.spending
    assert tree is not None
    assert promise.holds is not None
    assert promise_with(usual, {}) == promise
    leaves = [step.name for step in tree.walk() if not step.steps]
    for leaf in leaves:
        for factor in (0.5, 2.0):
            assert promise_with(usual, {leaf: factor}) != promise, (leaf, factor)
    assert promise_with(usual, dict.fromkeys(leaves, 2.0)) is None
    quieter = promise_with(usual, dict.fromkeys(leaves, 0.5))
    if quieter is not None:  # else a reserve no longer covers what it was kept for
        assert quieter.holds is not None
        assert quieter.holds.epsilon < promise.holds.epsilon
    else:
        assert any(isinstance(step, Reserved) for step in tree.walk())
