"""What the holder of a log should know before it is released: whom a promise covers, and of what.

It is read from the raw log: said to its holder, and never part of a release.
"""

from __future__ import annotations

from discreet.errors import DiscreetWarning
from discreet.log.events import EventLog
from discreet.log.people import PeopleColumn, people_in
from discreet.log.transitions import Transitions, transitions_in


class PeopleWarning(DiscreetWarning):
    """People may have several cases, and single cases are protected."""


class TransitionsWarning(DiscreetWarning):
    """Every transition of a lifecycle is read as an event of its own."""


def cautions(log: EventLog, *, people_protected: bool = False) -> list[DiscreetWarning]:
    """What is to be said of a log; about people unless a bound on their cases protects them."""
    found: list[DiscreetWarning] = []
    people = None if people_protected else people_in(log)
    if people is not None and people.most != 1:
        found.append(PeopleWarning(_of_people(people)))
    transitions = transitions_in(log)
    if transitions is not None:
        found.append(TransitionsWarning(_of_transitions(transitions)))
    return found


def _of_people(found: PeopleColumn) -> str:
    column = repr(found.column)
    if found.named:
        who = f"the column {column} names people"
        how = "set cases_per_individual (--cases-per-individual)"
    else:
        who = f"the column {column} looks as if it named people"
        how = (
            f"name it with individual={column} (--individual {_shell(found.column)}) and set "
            "cases_per_individual (--cases-per-individual)"
        )
    if found.people is None:
        return (
            f"the promise is about any one case, not any one person: {who}, and somebody with "
            f"several cases is protected less, with k cases by k times ε. To protect people, {how}"
        )
    kept = f"{100 * (found.kept or 0):.0f}%"
    return (
        f"the promise is about any one case, not any one person: {who}, {found.people:,} with "
        f"{found.cases:,} cases, up to {found.most:,} each, and somebody with k cases is protected "
        f"less, by k times ε. To protect people, {how}: {found.bound} would keep {kept} of the "
        "cases, which is read from the raw log, so no guarantee covers a choice by it"
    )


def _of_transitions(found: Transitions) -> str:
    keep = f"transitions={found.offered!r} (--transitions {_shell(found.offered)})"
    both = "classifier='activity+lifecycle' (--classifier activity+lifecycle)"
    if found.repeating is None or found.alone is None:
        return (
            f"the column {found.column!r} says which transition of an activity an event is, and "
            "is not read: if there are several, such as start and complete, every activity comes "
            f"out once for each. Keep one with {keep}, or tell them apart with {both}"
        )
    named = ", ".join(f"{many:,} × {name}" for name, many in found.events.items())
    return (
        f"every transition in the column {found.column!r} ({named}) is read as an event of its "
        f"own, so activities come out several times: in {100 * found.repeating:.2f}% of the cases "
        f"one is repeated, and in {100 * found.alone:.2f}% if only {found.offered!r} is kept. Keep "
        f"one with {keep}, or tell them apart with {both}"
    )


def _shell(name: str) -> str:
    return f"'{name}'" if " " in name else name
