"""What is audited: mechanisms with parameters, on the pairs that they declare."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Any

from discreet.audits.exact import REFERENCE_MECHANISMS
from discreet.audits.forced_answers import with_answers
from discreet.audits.result import GIVEN
from discreet.log.neighbours import Pair
from discreet.mechanisms.audit_cases import (
    BROKEN_RULE,
    CANARIES,
    COMMON_VALUE,
    EMPTIED_HEAD,
    FILLED_HEAD,
    FIRST_CASE,
    LONE_VALUE,
    LONG_LOOP,
    NO_HOSPITAL,
    SECOND_CASE,
    SWAP_NO_HOSPITAL,
    THREE_STEPS,
    USUAL,
    USUAL_SWAP,
    AuditCase,
)
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.registry import mechanism_class, mechanism_names
from discreet.parameters import ParameterError

# Tuned
EPSILON, DELTA = 1.0, 0.01
"""Default budget of an audit: a δ that thousands of runs can see."""
QUICK_PAIRS = 3
"""Pairs of a quick audit, the most telling ones."""

LIBRARY = {
    pair.name: pair
    for pair in (
        *USUAL,
        NO_HOSPITAL,
        SECOND_CASE,
        FIRST_CASE,
        THREE_STEPS,
        LONG_LOOP,
        BROKEN_RULE,
        FILLED_HEAD,
        EMPTIED_HEAD,
        LONE_VALUE,
        COMMON_VALUE,
        CANARIES,
        *USUAL_SWAP,
        SWAP_NO_HOSPITAL,
    )
}
"""Pairs that fit more than one mechanism."""


@dataclass(frozen=True)
class AuditSubject:
    """One mechanism with parameters, to be audited."""

    mechanism: str
    case: AuditCase = AuditCase()
    ready: Mechanism | None = None
    """The mechanism itself, if it was given."""

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters and answers that were given."""
        if self.ready:
            return dict(self.ready.settings)
        answers = {GIVEN: dict(self.case.given)} if self.case.given else {}
        return dict(self.case.parameters) | answers

    def build(self, pair: Pair | None = None) -> Mechanism:
        """The mechanism for an audit on a pair of logs.

        Defaults: ε = 1 and δ = .01, the pair's own parameters, and the activities of both logs
        as public alphabet.
        """
        if self.ready is not None:
            return self.ready
        owner = audited_class(self.mechanism)
        known = owner.parameters()
        for key in self.case.parameters:
            if key not in known:
                raise ParameterError(
                    f"{self.mechanism} has no parameter {key!r}; it takes {', '.join(known)}"
                )
        usual: dict[str, Any] = {"epsilon": EPSILON, "delta": DELTA}
        if pair is not None:
            usual |= {"alphabet": pair.alphabet, **pair.public}
        chosen = {key: value for key, value in usual.items() if key in known}
        built = owner(**chosen | dict(self.case.parameters))
        return with_answers(built, self.case.given)

    def pairs(self, quick: bool = False) -> list[Pair]:
        """The pairs for its neighbour relation, or the most telling ones."""
        first = self.case.pairs[0] if self.case.pairs else USUAL[0]
        found = list(self.case.all_pairs(self.build(first).guarantee().neighbours))
        return found[:QUICK_PAIRS] if quick else found


def audited_names() -> list[str]:
    """Everything that can be audited: reference mechanisms and installed ones."""
    return [*REFERENCE_MECHANISMS, *mechanism_names()]


def audited_class(name: str) -> type[Mechanism]:
    """The mechanism of that name."""
    return REFERENCE_MECHANISMS.get(name) or mechanism_class(name)


def subjects_of(name: str) -> list[AuditSubject]:
    """One mechanism with all parameters that it declares for audits."""
    return [AuditSubject(name, case) for case in audited_class(name).audit_cases()]


def pairs_of(name: str) -> dict[str, Pair]:
    """All pairs that a mechanism may be audited on, by name: its own and the library's."""
    own = [pair for case in audited_class(name).audit_cases() for pair in case.pairs]
    return LIBRARY | {pair.name: pair for pair in own}


def find_pair(name: str, known: dict[str, Pair] = LIBRARY) -> Pair:
    """The pair of that name, or an error that suggests the nearest."""
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise ParameterError(f"there is no pair {name!r}; {hint}known: {', '.join(known)}")
    return known[name]
