"""Step: a part of what a release does with the log, and its cost."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from discreet.errors import DiscreetError
from discreet.privacy.guarantee import Budget, Part

Found = TypeVar("Found", bound="Step")


class SpendingError(DiscreetError, ValueError):
    """Steps that together cost more than they may, or that do not compose."""


@dataclass(frozen=True)
class Step(ABC):
    """A part of what a release does with the log, and its cost."""

    name: str

    @property
    @abstractmethod
    def spent(self) -> Budget:
        """The cost of the step by itself, rounded up."""

    @property
    @abstractmethod
    def rule(self) -> str:
        """The reason for that cost, in a few words."""

    @cached_property
    def rho(self) -> Fraction | None:
        """The cost in zCDP, beside its delta; None if nothing is known but `spent`."""
        if self.spent.delta:
            return None
        return Fraction(self.spent.epsilon) ** 2 / 2

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The steps below: those among its fields, or in a tuple of them."""
        held = (getattr(self, entry.name) for entry in fields(self))
        listed = (value if isinstance(value, tuple) else (value,) for value in held)
        return tuple(step for values in listed for step in values if isinstance(step, Step))

    def prepare(self) -> None:  # noqa: B027 (only noise can fail)
        """Compute what may fail, so that it fails before anything is spent."""

    def walk(self) -> Iterator[Step]:
        """This step and all below it."""
        yield self
        for step in self.steps:
            yield from step.walk()

    def named(self, name: str) -> Step:
        """The step of that name, here or below."""
        try:
            return self._by_name[name]
        except KeyError:
            raise KeyError(f"there is no step {name!r}") from None

    @cached_property
    def _by_name(self) -> dict[str, Step]:
        return {step.name: step for step in reversed(list(self.walk()))}

    def find(self, name: str, kind: type[Found]) -> Found:
        """The step of that name, which is of this kind."""
        step = self.named(name)
        if not isinstance(step, kind):
            raise KeyError(f"the step {name!r} is a {type(step).__name__}, not a {kind.__name__}")
        return step

    def mapped(self, change: Callable[[Step], Step | None]) -> Step:
        """The tree with every step for which `change` gives another one replaced by that."""
        other = change(self)
        if other is not None:
            return other
        changed: dict[str, Any] = {}
        for entry in fields(self):
            value = getattr(self, entry.name)
            if isinstance(value, Step):
                changed[entry.name] = value.mapped(change)
            elif isinstance(value, tuple) and value and isinstance(value[0], Step):
                changed[entry.name] = tuple(step.mapped(change) for step in value)
        return replace(self, **changed) if changed else self

    def stated(self) -> Part:
        """The part of the certificate about it and the steps below."""
        below = tuple(step.stated() for step in self.steps)
        return Part(self.name, self.spent.epsilon, self.spent.delta, None, self.rule, below)

    def stated_in_zcdp(self) -> Part:
        """The part of the certificate about it where ρ adds up."""
        rho = self.rho
        if rho is None:
            raise SpendingError(f"{self.name} has no cost in zCDP")
        return Part(self.name, delta=self.exception, rho=rounded_up(rho), rule=self.rule)

    @property
    def exception(self) -> float:
        """The probability with which its cost in zCDP may not hold."""
        return 0.0


def rounded_up(value: Fraction) -> float:
    """The least float that is no smaller."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else float(np.nextafter(nearest, math.inf))
