"""The variants of any mechanism, with times and attributes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from discreet.mechanisms.audit_cases import (
    BEGUN,
    DAYS_APART,
    EXTREME_TIMES,
    FREQUENT,
    NO_CASE,
    ONE_MORE,
    OTHER_COLUMNS,
    SAME_COLUMNS,
    TIED_COLUMNS,
    TIED_TRAITS,
    VERY_LONG_CASE,
    AuditCase,
)
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.blocks.alphabet import alphabet_parameter
from discreet.parameters import ParameterError, parameter
from discreet.wholelogs.declaring import listed
from discreet.wholelogs.wholelog import WholeLog


@dataclass(frozen=True, kw_only=True)
class Whole(WholeLog):
    """Variants by any mechanism, completed into a whole log with times and attributes.

    Neighbours: one case, with all its events, more or less. The variants are (ε₁, δ₁)-DP by their
    own mechanism. Times and attributes are drawn from noisy tables: with the released variants and
    all answers so far fixed, each question is a function of these alone and what a case adds to a
    table is a function of that case alone, bounded in L2, so discrete Gaussian noise makes it
    ρᵢ-zCDP; names of values and what an attribute goes with are chosen privately. The ρᵢ are
    fixed shares that add up and are converted once; with the variants basic composition gives
    (ε, δ). `WholeLog` has the argument in full, with what is public.
    """

    name: ClassVar[str] = "whole"
    summary: ClassVar[str] = "variants by another mechanism, with private times and attributes"
    paper: ClassVar[str] = "this library"

    variants: str = parameter("headtail", "the mechanism that releases the variants, by name")
    options: tuple[str, ...] | str = parameter(
        (), "parameters of that mechanism, as in runs=3,choose=private", read=listed
    )
    alphabet: tuple[str, ...] | str | None = alphabet_parameter()

    @classmethod
    def audit_cases(cls) -> tuple[AuditCase, ...]:
        """The default, and variants that are quick to draw, also with every kind of attribute."""
        pairs = DAYS_APART, EXTREME_TIMES, ONE_MORE, NO_CASE, VERY_LONG_CASE
        columns = ("case:channel", "case:amount:number", "org:group")
        quick = {"variants": "travas"}
        return (
            AuditCase(quick, pairs, usual=False),
            AuditCase({**quick, "attributes": TIED_COLUMNS}, (TIED_TRAITS,), usual=False),
            AuditCase(
                {**quick, "attributes": columns, "begun": BEGUN},
                (SAME_COLUMNS, OTHER_COLUMNS),
                usual=False,
            ),
            AuditCase({}, (FREQUENT,), usual=False),
        )

    def _validate(self) -> None:
        super()._validate()
        _ = self.inner

    @cached_property
    def inner(self) -> Mechanism[Any]:
        """The mechanism that releases the variants, with its share of the budget."""
        from discreet.mechanisms.registry import mechanism, mechanism_class

        if self.variants == self.name or mechanism_class(self.variants).returns != "variants":
            raise ParameterError(
                f"variants: {self.variants} does not return variants; name a mechanism that does, "
                "such as headtail or travas"
            )
        usual: dict[str, Any] = {
            "epsilon": self.of_variants.epsilon,
            "delta": self.of_variants.delta,
        }
        if self.alphabet is not None:
            usual["alphabet"] = self.alphabet
        known = mechanism_class(self.variants).parameters()
        given = {name: value for name, value in usual.items() if name in known}
        for name, value in _options(tuple(self.options)).items():
            if name in ("epsilon", "delta", "cases_per_individual", "alphabet"):
                raise ParameterError(f"options: {name} is a parameter of {self.name} itself")
            given[name] = value
        built = mechanism(self.variants, **given)
        promise = built.guarantee()
        if not promise.proved or promise.neighbours != "add-remove":
            raise ParameterError(
                f"{self.variants} is {promise.status} for {promise.neighbours} neighbours; whole "
                "logs need variants that are proved for add-remove"
            )
        return built


def _options(texts: tuple[str, ...]) -> dict[str, Any]:
    """Parameters written as name=value; values as JSON writes them, or else texts."""
    found = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or not name.strip():
            raise ParameterError(f"options: write name=value, not {text!r}")
        try:
            found[name.strip().replace("-", "_")] = json.loads(value)
        except json.JSONDecodeError:
            found[name.strip().replace("-", "_")] = value.strip()
    return found
