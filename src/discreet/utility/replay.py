"""Token replay and escaping-edges precision, with every step computed once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from discreet.log.variants import Variants
from discreet.utility.nets import Marking, Net


@dataclass(frozen=True)
class Quality:
    """How well a model fits a log: the four dimensions, each at best 1."""

    fitness: float
    precision: float
    """As PM4Py computes it where its view of enabled activities was given."""
    precision_complete: float
    """With every activity that silent steps can lead to counted as enabled."""
    generalisation: float
    simplicity: float

    @property
    def f_score(self) -> float:
        """Harmonic mean of fitness and precision."""
        total = self.fitness + self.precision
        return 2 * self.fitness * self.precision / total if total else 0.0


@dataclass(frozen=True)
class _Step:
    marking: Marking
    missing: int
    consumed: int
    produced: int
    fired: tuple[int, ...]


Enabled = Callable[[Marking], frozenset[str]]


def replay(net: Net, variants: Variants, enabled: Enabled | None = None) -> Quality:
    """Replay a log on a net by tokens.

    Fitness is ½(1 − missing/consumed) + ½(1 − remaining/produced) over all cases (Rozinat and
    van der Aalst), precision is 1 − escaping/enabled over all prefixes that fit (Muñoz-Gama and
    Carmona), generalisation 1 − mean(1/√uses of a transition). Events whose activity the model
    does not have are passed over. These are PM4Py's definitions, but for what a prefix enables:
    its search through silent transitions forgets markings and so overstates precision (Sepsis:
    .452 for .354). `enabled` puts another view, such as PM4Py's own, beside the complete one.
    """
    player = Player(net)
    fitness, generalisation = player.totals(variants)
    complete = player.precision(variants, player.enabled)
    precision = player.precision(variants, cache(enabled)) if enabled else complete
    return Quality(fitness, precision, complete, generalisation, net.simplicity)


class Player:
    """A net with its steps remembered by marking: cases share them, so few are computed."""

    def __init__(self, net: Net) -> None:
        self.net = net
        self._steps: dict[tuple[Marking, str], _Step] = {}
        self._finals: dict[Marking, _Step] = {}
        self._enabled: dict[Marking, frozenset[str]] = {}

    def step(self, marking: Marking, label: str) -> _Step:
        """Fire the transition of that label, after silent ones if need be."""
        key = (marking, label)
        if key not in self._steps:
            self._steps[key] = self._compute(marking, label)
        return self._steps[key]

    def _compute(self, marking: Marking, label: str) -> _Step:
        transitions = self.net.by_label[label]
        plans = [(self.net.enabling(marking, t), t) for t in transitions]
        found = [(len(plan[0]), t, plan) for plan, t in plans if plan is not None]
        if found:
            _, transition, (silent, marking) = min(found)
        else:
            transition, silent = transitions[0], ()
            for place in self.net.inputs[transition]:
                plan = None if marking[place] else self.net.bring(marking, place)
                if plan is not None:
                    silent, marking = silent + plan[0], plan[1]
        missing = sum(marking[place] == 0 for place in self.net.inputs[transition])
        return self._tally((*silent, transition), self.net.fire(marking, transition), missing)

    def finish(self, marking: Marking) -> _Step:
        """Go to the final marking by silent transitions, as far as there is a way."""
        if marking not in self._finals:
            silent: tuple[int, ...] = ()
            end = marking
            for place, tokens in enumerate(self.net.final):
                plan = None if end[place] >= tokens else self.net.bring(end, place)
                if plan is not None:
                    silent, end = silent + plan[0], plan[1]
            missing = sum(max(f - m, 0) for f, m in zip(self.net.final, end, strict=True))
            self._finals[marking] = self._tally(silent, end, missing)
        return self._finals[marking]

    def _tally(self, fired: tuple[int, ...], marking: Marking, missing: int) -> _Step:
        consumed = sum(len(self.net.inputs[t]) for t in fired)
        produced = sum(len(self.net.outputs[t]) for t in fired)
        return _Step(marking, missing, consumed, produced, fired)

    def enabled(self, marking: Marking) -> frozenset[str]:
        """The labels that may come next, silent steps first if need be."""
        if marking not in self._enabled:
            self._enabled[marking] = frozenset(
                label
                for label, transitions in self.net.by_label.items()
                if any(self.net.enabling(marking, t) is not None for t in transitions)
            )
        return self._enabled[marking]

    def totals(self, variants: Variants) -> tuple[float, float]:
        """Fitness and generalisation over all cases."""
        missing = consumed = remaining = produced = 0
        uses: Counter[int] = Counter()
        for sequence, count in variants:
            marking = self.net.initial
            m, c, p = 0, sum(self.net.final), sum(self.net.initial)
            steps = []
            for label in sequence:
                if label in self.net.by_label:
                    steps.append(self.step(marking, label))
                    marking = steps[-1].marking
            steps.append(self.finish(marking))
            for step in steps:
                m += step.missing
                c += step.consumed
                p += step.produced
                for transition in step.fired:
                    uses[transition] += count
            end = steps[-1].marking
            r = sum(max(a - b, 0) for a, b in zip(end, self.net.final, strict=True))
            missing, consumed = missing + m * count, consumed + c * count
            remaining, produced = remaining + r * count, produced + p * count
        if not consumed or not produced:
            return 0.0, 0.0
        fitness = 1 - (missing / consumed + remaining / produced) / 2
        terms = [1 / np.sqrt(uses[t]) if uses[t] else 1.0 for t in range(len(self.net.labels))]
        return float(fitness), float(1 - np.mean(terms)) if terms else 1.0

    def precision(self, variants: Variants, view: Enabled) -> float:
        """1 − the share of enabled labels that never follow a prefix, over prefixes that fit."""
        prefixes: dict[tuple[int, str], int] = {}  # a prefix and a label lead to a prefix
        followers: list[Counter[str]] = [Counter()]
        states: list[Marking | None] = [self.net.initial]
        for sequence, count in variants:
            prefix = 0
            for label in sequence:
                followers[prefix][label] += count
                if (prefix, label) not in prefixes:
                    prefixes[prefix, label] = len(states)
                    states.append(self.follow(states[prefix], label))
                    followers.append(Counter())
                prefix = prefixes[prefix, label]
        possible = escaping = 0
        for marking, seen in zip(states, followers, strict=True):
            if marking is not None and seen:
                labels, weight = view(marking), sum(seen.values())
                possible += weight * len(labels)
                escaping += weight * len(labels - seen.keys())
        return 1 - escaping / possible if possible else 1.0

    def follow(self, marking: Marking | None, label: str) -> Marking | None:
        """The marking after one more activity; None once the prefix does not fit."""
        if marking is None or label not in self.net.by_label:
            return marking
        step = self.step(marking, label)
        return None if step.missing else step.marking
