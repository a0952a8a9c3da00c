"""All of our mechanisms pass the suite that others are asked to pass; what breaks it is found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import pytest

from discreet.log.events import EventLog
from discreet.log.variants import Variants
from discreet.mechanisms.registry import mechanism_class, mechanism_names
from discreet.mechanisms.travas import TraVaS
from discreet.privacy.guarantee import Budget
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import Laplace, Sequential, Step
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

    def _draw(self, log: EventLog, rng: Randomness) -> Variants:
        return super()._draw(log, Randomness.system())


@dataclass(frozen=True, kw_only=True)
class Nameless(TraVaS):
    """A copy of TraVaS that does not say in one line what it does, as the list of all shows."""

    summary: ClassVar[str] = ""


@pytest.mark.parametrize(
    ("owner", "check"),
    [
        (Forgetful, "speaks of parameters only"),
        (Stumbling, "small logs"),
        (Random, "drawn"),
        (Nameless, "declared"),
    ],
)
def test_a_mechanism_that_breaks_a_rule_is_told_which(owner: type[TraVaS], check: str) -> None:
    with pytest.raises(ConformanceError, match=f"{owner.__name__}, {check}"):
        check_mechanism(owner)


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


def scaled(factor: float) -> Callable[[Step], Step | None]:
    def change(step: Step) -> Step | None:
        return replace(step, epsilon=step.epsilon * factor) if isinstance(step, Laplace) else None

    return change


@pytest.mark.parametrize("name", ["amun", "df-laplace", "laplace", "sapa"])
def test_a_changed_scale_changes_the_promise(name: str) -> None:
    """The very steps that draw are those that are promised."""
    owner = mechanism_class(name)
    given: dict[str, Any] = {"alphabet": ("a", "b")} if "alphabet" in owner.parameters() else {}

    class Quieter(owner):  # type: ignore[misc, valid-type]
        factor = 0.5

        def _spending(self, budget: Budget) -> Step | None:
            tree: Step = super()._spending(budget)
            return tree.mapped(scaled(self.factor))

    usual, quieter = (kind(epsilon=1, **given).guarantee() for kind in (owner, Quieter))
    assert usual.holds is not None
    assert quieter.holds is not None
    assert quieter.holds.epsilon < usual.holds.epsilon
    Quieter.factor = 2.0
    with pytest.raises(ValueError, match="more than ε = 1"):
        Quieter(epsilon=1, **given)
