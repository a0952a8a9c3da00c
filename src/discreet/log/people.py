"""Whose cases they are: the column that names people, or looks as if it did, and what it says.

A column looks like a person's by its name alone, which is public. What its values say is for the
holder of the log only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import polars as pl

from discreet.arrays import Integers
from discreet.log.columns import WORDS
from discreet.log.events import CASE, EventLog

BOUNDS = (1, 2, 3, 5, 10, 20, 50, 100)
"""Bounds on the cases of a person that are offered."""

ENOUGH = 0.95
"""The share of the cases that a bound worth offering keeps."""

_WHO = (
    "patient", "person", "individual", "people", "customer", "client", "citizen", "applicant",
    "claimant", "insured", "policyholder", "member", "student", "pupil", "passenger", "guest",
    "resident", "debtor", "borrower", "taxpayer", "employee", "mrn", "ssn", "bsn",
    "patientin", "kunde", "kundin", "mandant", "bürger", "buerger", "versicherter", "versicherte",
    "antragsteller", "antragstellerin", "mitglied", "schüler", "schueler", "bewohner", "schuldner",
    "mitarbeiter",
)  # fmt: skip
"""How people are called."""

_ID = (
    "id", "no", "nr", "num", "number", "nummer", "key", "code", "name", "identifier", "ident",
    "ref", "reference", "hash", "pseudonym", "uuid", "guid",
)  # fmt: skip

_PERSON = re.compile(rf"(case)?(id)?({'|'.join(_WHO)})(s|e?n)?({'|'.join(_ID)})*")


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
        """What the cases of each person say."""
        bound, kept = offered(owned)
        return cls(column, named, len(owned), int(owned.sum()), int(owned.max()), bound, kept)


def looks_like_a_person(column: str) -> bool:
    """Whether a column is called as one that tells people apart, such as `patient_id`."""
    return _PERSON.fullmatch(re.sub(r"[\W_]+", "", column).casefold()) is not None


def kept_by(owned: Integers, bound: int) -> float:
    """The share of the cases that are left if each person keeps at most so many."""
    return float(np.minimum(owned, bound).sum() / owned.sum())


def offered(owned: Integers) -> tuple[int, float]:
    """The smallest bound that keeps nearly all cases, and the share that it keeps."""
    for bound in BOUNDS:
        if kept_by(owned, bound) >= ENOUGH:
            return bound, kept_by(owned, bound)
    return BOUNDS[-1], kept_by(owned, BOUNDS[-1])


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


def _owned(rows: pl.DataFrame) -> Integers | None:
    """How many cases each person has, if none changes within a case; None otherwise."""
    kind = rows.dtypes[1]
    if kind.is_nested() or kind in (pl.Binary, pl.Object):
        return None
    pairs = rows.drop_nulls().unique()
    case, person = pairs.columns
    if pairs.is_empty() or pairs[case].n_unique() < pairs.height:
        return None
    return pairs.group_by(person).len()["len"].cast(pl.Int64).to_numpy()
