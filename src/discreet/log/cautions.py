"""What the holder of a log should know before it is released: whom a promise covers, and of what.

Two mistakes are common: people have several cases, and every transition of a lifecycle is read as
an event. A column looks like a person's by its name alone, which is public. Everything else here is
read from the raw log: it is said to the log's holder and never part of a release.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import polars as pl

from discreet.arrays import Integers
from discreet.errors import DiscreetWarning
from discreet.log.columns import WORDS
from discreet.log.events import ACTIVITY, CASE, LIFECYCLE, EventLog

_WHO = (
    "patient", "person", "individual", "people", "customer", "client", "citizen", "applicant",
    "claimant", "insured", "policyholder", "member", "student", "pupil", "passenger", "guest",
    "resident", "debtor", "borrower", "taxpayer", "employee", "mrn", "ssn", "bsn",
    "patientin", "kunde", "kundin", "mandant", "bürger", "buerger", "versicherter", "versicherte",
    "antragsteller", "antragstellerin", "mitglied", "schüler", "schueler", "bewohner", "schuldner",
    "mitarbeiter",
)  # fmt: skip
"""Words for people in the names of columns, in English and German."""

_ID = (
    "id", "no", "nr", "num", "number", "nummer", "key", "code", "name", "identifier", "ident",
    "ref", "reference", "hash", "pseudonym", "uuid", "guid",
)  # fmt: skip

_PERSON = re.compile(rf"(case)?(id)?({'|'.join(_WHO)})(s|e?n)?({'|'.join(_ID)})*")

_USUAL = "complete"

# Tuned
BOUNDS = (1, 2, 3, 5, 10, 20, 50, 100)
"""Bounds on the cases of a person to choose from."""

ENOUGH = 0.95
"""Least share of the cases that an offered bound keeps."""


class PeopleWarning(DiscreetWarning):
    """People may have several cases, and single cases are protected."""


class TransitionsWarning(DiscreetWarning):
    """Every transition of a lifecycle is read as an event of its own."""


def cautions(log: EventLog, *, people_protected: bool = False) -> list[DiscreetWarning]:
    """The warnings about a log; about people unless a bound on their cases protects them."""
    found: list[DiscreetWarning] = []
    people = None if people_protected else people_in(log)
    if people is not None and people.most != 1:
        found.append(PeopleWarning(_of_people(people)))
    transitions = transitions_in(log)
    if transitions is not None:
        found.append(TransitionsWarning(_of_transitions(transitions)))
    return found


@dataclass(frozen=True)
class PeopleColumn:
    """A column of people; the figures are None where the events are not in this process."""

    column: str
    named: bool
    """Whether it was named as the column of the individuals, or only looks like it."""
    people: int | None = None
    cases: int | None = None
    most: int | None = None
    """The most cases of one person."""
    bound: int | None = None
    """A bound on the cases of a person that keeps nearly all of them."""
    kept: float | None = None
    """The share of the cases that it keeps."""

    @classmethod
    def of(cls, column: str, owned: Integers, *, named: bool) -> PeopleColumn:
        """The figures of a column, from the number of cases of each person."""
        bound, kept = offered(owned)
        return cls(column, named, len(owned), int(owned.sum()), int(owned.max()), bound, kept)


def looks_like_a_person(column: str) -> bool:
    """Whether the name of a column is one for people, such as `patient_id`."""
    return _PERSON.fullmatch(re.sub(r"[\W_]+", "", column).casefold()) is not None


def people_in(log: EventLog) -> PeopleColumn | None:
    """The people of a log: as they were named, or by a column that looks like theirs.

    A column that changes within a case is no person's, and where everybody has one case only, to
    protect cases is to protect people.
    """
    if log.individual is not None:
        return PeopleColumn.of(log.individual_column or "", log.cases_of_individuals(), named=True)
    unknown = None
    for name in log.schema().columns:
        column = log.names.get(name, name.removeprefix("original:"))
        if name in WORDS or not looks_like_a_person(column):
            continue
        rows = log.at_hand(CASE, name)
        if rows is None:
            unknown = unknown or PeopleColumn(column, named=False)
            continue
        owned = _owned(rows)
        if owned is not None and owned.max() > 1:
            return PeopleColumn.of(column, owned, named=False)
    return unknown


def kept_by(owned: Integers, bound: int) -> float:
    """The share of the cases left if each person keeps at most `bound` of them."""
    return float(np.minimum(owned, bound).sum() / owned.sum())


def offered(owned: Integers) -> tuple[int, float]:
    """The smallest bound that keeps nearly all cases, and the share that it keeps."""
    for bound in BOUNDS:
        if kept_by(owned, bound) >= ENOUGH:
            return bound, kept_by(owned, bound)
    return BOUNDS[-1], kept_by(owned, BOUNDS[-1])


def _owned(rows: pl.DataFrame) -> Integers | None:
    """The number of cases of each person; None if the column changes within a case."""
    kind = rows.dtypes[1]
    if kind.is_nested() or kind in (pl.Binary, pl.Object):
        return None
    pairs = rows.drop_nulls().unique()
    case, person = pairs.columns
    if pairs.is_empty() or pairs[case].n_unique() < pairs.height:
        return None
    return pairs.group_by(person).len()["len"].cast(pl.Int64).to_numpy()


@dataclass(frozen=True)
class Transitions:
    """The lifecycle column; its counts are empty where the events are not in this process."""

    column: str
    events: dict[str, int]
    """The number of events of each transition, the most frequent first."""
    repeating: float | None = None
    """The share of the cases in which some activity comes more than once."""
    alone: float | None = None
    """The same share if only events of the offered transition are kept."""

    @property
    def offered(self) -> str:
        """The transition that may stand for the others."""
        usual = (name for name in self.events if name.casefold() == _USUAL)
        return next(usual, next(iter(self.events), _USUAL))


def transitions_in(log: EventLog) -> Transitions | None:
    """The transitions of a log whose events are read as if there were none; None if all is well."""
    if log.classifier != "activity" or log.transitions or LIFECYCLE not in log.schema().columns:
        return None
    column = log.names.get(LIFECYCLE, LIFECYCLE)
    rows = log.at_hand(CASE, ACTIVITY, LIFECYCLE)
    if rows is None:
        return Transitions(column, {})
    many = rows[LIFECYCLE].drop_nulls().value_counts(sort=True)
    if many.height < 2:
        return None
    found = Transitions(column, dict(many.iter_rows()))
    only = rows.filter(pl.col(LIFECYCLE).is_null() | (pl.col(LIFECYCLE) == found.offered))
    return Transitions(column, found.events, _repeating(rows), _repeating(only))


def _repeating(rows: pl.DataFrame) -> float:
    """The share of the cases in which some activity comes more than once."""
    each = rows.group_by(CASE).agg((pl.len() > pl.col(ACTIVITY).n_unique()).alias("repeats"))
    return float(each["repeats"].mean() or 0.0)  # type: ignore[arg-type]


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
