"""What a person may see: stewards everything, analysts what is public, released or their own."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Row

from discreet.language import translate
from discreet.web.house import House
from discreet.web.jobs import Job
from discreet.web.people import Person
from discreet.web.settings import MissingError


def own_job(house: House, person: Person, identity: str) -> Job:
    """A job, if this person may see it: analysts see only checks of files they brought."""
    job = house.jobs.get(identity)
    if person.role != "steward" and (job.kind != "verify" or job.person != person.id):
        raise MissingError(translate("There is no such job."))
    return job


def history_of(house: House, person: Person, source: str) -> list[dict[str, Any]]:
    """The entries for a source; for analysts without the users and purposes of others' entries.

    An entry belongs to the person whose job it pays for: the ledger knows people by name only, and
    the same name may stand for two people.
    """
    rows = house.budgets_for(person).history(source)
    if person.role == "steward":
        return rows
    own = {one.job[:12] for one in house.asking.all(person) if one.job}
    return [
        row if row["job"] in own else {**row, "user": "", "purpose": "", "job": ""} for row in rows
    ]


def releases_of(house: House, person: Person) -> list[Row[Any]]:
    """The releases that a person may see: analysts see those they asked for, once shown as done."""
    if person.role == "steward":
        return house.releases()
    shown = _shown(house, person)
    return [row for row in house.releases(person) if row.job in shown]


def _shown(house: House, person: Person) -> set[str]:
    """The jobs of a person's requests that are shown to them as done."""
    asked = [one for one in house.asking.all(person) if one.job]
    return {one.job for one in asked if house.asking.seen(one, house.jobs.get(one.job)) == "done"}


def released(house: House, person: Person, identity: str) -> Row[Any]:
    """A release, if this person may see it."""
    row = house.release_of(identity=identity)
    allowed = row is not None and (
        person.role == "steward" or (row.person == person.id and row.job in _shown(house, person))
    )
    if row is None or not allowed:
        raise MissingError(translate("There is no such release."))
    return row


def requests_of(house: House, person: Person) -> list[dict[str, Any]]:
    """The requests that a person may see: stewards see all, analysts their own."""
    own = None if person.role == "steward" else person
    return [request_facts(house, one) for one in house.asking.all(own)]


def request_facts(house: House, row: Row[Any]) -> dict[str, Any]:
    """A request as its owner may see it: no time and no text of the work on raw data."""
    job = house.jobs.get(row.job) if row.job else None
    state = house.asking.seen(row, job)
    return {
        "id": row.id,
        "source": row.source,
        "user": row.user,
        "asked": datetime.fromtimestamp(row.asked, UTC).strftime("%Y-%m-%d %H:%M"),
        "purpose": row.purpose,
        "epsilon": row.epsilon,
        "delta": row.delta,
        "state": state,
        "answer": row.answer,
        "release": row.job if state == "done" else None,
    }
