"""What is audited: mechanisms with parameters, and the pairs that tell most about each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from discreet.audits.neighbours import Pair, pair, pairs_for
from discreet.audits.yardsticks import YARDSTICKS
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.parameters import ParameterError
from discreet.mechanisms.registry import mechanism_class, mechanism_names

EPSILON, DELTA = 1.0, 0.01
"""What is audited unless told: a δ that thousands of runs can see."""

TELLING: dict[str, tuple[str, ...]] = {
    "amun": ("one more", "new activity", "extreme times"),
    "choice": ("one more", "unique variant"),
    "df-laplace": ("one more", "long loop", "very long case"),
    "dpim": ("swap: new activity", "swap: endless case"),
    "headtail": ("one more", "filled head", "emptied head", "new activity"),
    "laplace": ("one more", "three steps", "new activity"),
    "sacofa": ("one more", "three steps", "broken rule"),
    "sapa": ("one more", "broken rule", "surgery twice"),
    "gaussian-count": ("one more",),
    "laplace-count": ("one more",),
    "travas": ("one more", "unique variant", "first case", "second case", "surgery twice"),
    "utravas": ("one more", "unique variant", "second case", "tied runs", "surgery twice"),
}
"""The pairs of a quick audit."""

USUAL = ("one more", "unique variant", "first case", "three steps", "new activity")
USUAL_SWAP = ("swap: surgery twice", "swap: new activity", "swap: other order")

VARIATIONS: dict[str, tuple[dict[str, Any], ...]] = {
    "ddpm": (
        {"fidelity": "strict", "delta": 1e-6, "cases": 5000, "strides": 50},
        {"fidelity": "published", "delta": 1e-6, "cases": 20000, "strides": 20, "steps": 16},
    ),
    "df-laplace": (
        {"fidelity": "strict"},
        {"fidelity": "strict", "delta": 0.0, "bound": 3, "min_count": 1},
        {"fidelity": "published"},
    ),
    "dpim": (
        {"fidelity": "strict"},
        {"fidelity": "strict", "method": "sampler"},
        {
            "fidelity": "published",
            "share_pairs": 0.7,
            "share_structure": 0.05,
            "share_fitness": 0.25,
            "min_fitness": 0.0,
            "fewest_pairs": 3,
            "most_pairs": 3,
        },
    ),
    "laplace": (
        {"fidelity": "strict", "max_length": 3},
        {"fidelity": "strict", "max_length": 1, "form": "levels", "min_count": 1},
        {"fidelity": "strict", "max_length": 3, "form": "gaussian"},
        {"fidelity": "strict", "form": "privtree"},
        {"fidelity": "published", "max_length": 3, "min_count": 1},
    ),
    "sacofa": (
        {"fidelity": "strict", "max_length": 3, "rules": (("never_follows", "a", "d"),)},
        {"fidelity": "strict", "max_length": 3, "rules": "learn"},
        {"fidelity": "published", "max_length": 3, "min_count": 1},
    ),
    "sequence": (
        {"delta": 1e-6, "cases": 20000, "max_length": 8},
        {"delta": 1e-6, "cases": 20000, "max_length": 8, "alphabet": None},
    ),
    "travag": (
        {"fidelity": "strict", "delta": 1e-6, "cases": 5000},
        {"fidelity": "published", "delta": 1e-6, "cases": 20000, "steps": 30},
    ),
    "utravas": (
        {"fidelity": "strict"},
        {"fidelity": "strict", "runs": 2},
        {"fidelity": "strict", "runs": 2, "choose": "private"},
        {"fidelity": "published", "runs": 3},
    ),
}
"""The parameters a mechanism is audited with, where its fidelities alone do not say it."""


@dataclass(frozen=True)
class AuditPlan:
    """One mechanism with parameters, to be audited."""

    mechanism: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    ready: Mechanism | None = None
    """The mechanism itself, where it was given."""

    def build(self, pair: Pair | None = None) -> Mechanism:
        """The mechanism for an audit on a pair of logs.

        Parameters that are not given: ε = 1 and δ = .01, the pair's own, and as public alphabet
        the activities of both logs.
        """
        if self.ready is not None:
            return self.ready
        owner = YARDSTICKS.get(self.mechanism) or mechanism_class(self.mechanism)
        known = owner.parameters()
        for key in self.parameters:
            if key not in known:
                raise ParameterError(
                    f"{self.mechanism} has no parameter {key!r}; it takes {', '.join(known)}"
                )
        usual: dict[str, Any] = {"epsilon": EPSILON, "delta": DELTA}
        if pair is not None:
            usual |= {"alphabet": pair.alphabet, **pair.public}
        return owner(
            **{key: value for key, value in usual.items() if key in known} | dict(self.parameters)
        )

    def pairs(self, quick: bool) -> list[Pair]:
        """All pairs for its neighbour relation, or the most telling ones."""
        any_pair = pair("one more")
        neighbours = self.build(any_pair).guarantee().neighbours
        fitting = pairs_for(self.mechanism, neighbours)
        if not quick:
            return fitting
        usual = USUAL if neighbours == "add-remove" else USUAL_SWAP
        wanted = TELLING.get(self.mechanism, usual)
        return [one for one in fitting if one.name in wanted or one.canaries]


def audited_names() -> list[str]:
    """Everything that can be audited: the yardsticks and the installed mechanisms."""
    return [*YARDSTICKS, *mechanism_names()]


def plans_of(name: str) -> list[AuditPlan]:
    """One mechanism in every fidelity."""
    owner = YARDSTICKS.get(name) or mechanism_class(name)
    fidelity = owner.parameters().get("fidelity")
    default = [{"fidelity": choice} for choice in fidelity.choices] if fidelity else [{}]
    return [AuditPlan(name, settings) for settings in VARIATIONS.get(name, default)]
