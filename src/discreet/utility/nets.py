"""Petri nets on integers, and the silent steps that lead where a visible one wants to start."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import Any

Marking = tuple[int, ...]
"""Tokens per place."""

Plan = tuple[tuple[int, ...], Marking]
"""Silent transitions to fire in turn, and the marking they lead to."""


@dataclass(frozen=True)
class Net:
    """A Petri net with arcs of weight one; a transition without label is silent."""

    inputs: tuple[tuple[int, ...], ...]
    outputs: tuple[tuple[int, ...], ...]
    labels: tuple[str | None, ...]
    initial: Marking
    final: Marking

    @classmethod
    def from_pm4py(cls, net: Any, initial: Any, final: Any) -> Net:
        """Copy PM4Py's net with its initial and final marking."""
        places = sorted(net.places, key=lambda place: str(place.name))
        index = {place: i for i, place in enumerate(places)}
        transitions = sorted(net.transitions, key=lambda t: (str(t.label), str(t.name)))
        if any(arc.weight != 1 for arc in net.arcs):
            raise ValueError("only nets whose arcs have weight one can be replayed")
        return cls(
            inputs=tuple(tuple(sorted(index[a.source] for a in t.in_arcs)) for t in transitions),
            outputs=tuple(tuple(sorted(index[a.target] for a in t.out_arcs)) for t in transitions),
            labels=tuple(t.label for t in transitions),
            initial=tuple(initial.get(place, 0) for place in places),
            final=tuple(final.get(place, 0) for place in places),
        )

    @cached_property
    def by_label(self) -> dict[str, list[int]]:
        """The transitions of each label."""
        found: dict[str, list[int]] = defaultdict(list)
        for transition, label in enumerate(self.labels):
            if label is not None:
                found[label].append(transition)
        return dict(found)

    @cached_property
    def silent_producers(self) -> dict[int, list[int]]:
        """For each place the silent transitions that put a token there."""
        found: dict[int, list[int]] = defaultdict(list)
        for transition, label in enumerate(self.labels):
            if label is None:
                for place in self.outputs[transition]:
                    found[place].append(transition)
        return found

    @property
    def simplicity(self) -> float:
        """One over one plus the mean arc degree beyond two (as PM4Py: arc-degree simplicity)."""
        places = [0] * len(self.initial)
        degrees = []
        for source, target in zip(self.inputs, self.outputs, strict=True):
            degrees.append(len(source) + len(target))
            for place in source + target:
                places[place] += 1
        degrees += places
        mean = sum(degrees) / len(degrees) if degrees else 0.0
        return 1 / (1 + max(mean - 2, 0.0))

    def fire(self, marking: Marking, transition: int) -> Marking:
        """The marking after a transition; tokens it lacks are lent (counts may not go below 0)."""
        tokens = list(marking)
        for place in self.inputs[transition]:
            tokens[place] = max(tokens[place] - 1, 0)
        for place in self.outputs[transition]:
            tokens[place] += 1
        return tuple(tokens)

    def enabling(self, marking: Marking, transition: int) -> Plan | None:
        """The silent steps after which the transition can fire, if there are any."""
        return self._gather(marking, self.inputs[transition], (), frozenset())

    def _gather(
        self,
        marking: Marking,
        places: tuple[int, ...],
        kept: tuple[int, ...],
        sought: frozenset[int],
    ) -> Plan | None:
        """Bring a token to each of the places without using those in `kept`."""
        fired: tuple[int, ...] = ()
        held = kept + tuple(p for p in places if marking[p] > kept.count(p))
        for place in places:
            if place in held:
                continue
            plan = self.bring(marking, place, held, sought)
            if plan is None:
                return None
            fired, marking = fired + plan[0], plan[1]
            held += (place,)
        return fired, marking

    def bring(
        self,
        marking: Marking,
        place: int,
        kept: tuple[int, ...] = (),
        sought: frozenset[int] = frozenset(),
    ) -> Plan | None:
        """The shortest silent way found to a token in `place`; tokens in `kept` stay.

        Searches backwards from the place, so that choices that do not matter are never opened.
        """
        if place in sought:
            return None
        best: Plan | None = None
        for transition in self.silent_producers.get(place, ()):
            plan = self._gather(marking, self.inputs[transition], kept, sought | {place})
            if plan is None or (best is not None and len(plan[0]) + 1 >= len(best[0])):
                continue
            best = plan[0] + (transition,), self.fire(plan[1], transition)
        return best
