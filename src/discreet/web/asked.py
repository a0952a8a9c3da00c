"""What users ask of the server: releases, requests within a steward's limits, approvals, checks."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, BinaryIO

from sqlalchemy import Row

from discreet.errors import DiscreetError
from discreet.language import translate
from discreet.log.files import LOG_SUFFIXES
from discreet.privacy.guarantee import Budget
from discreet.releasing.verification import CERTIFICATE_SUFFIX
from discreet.web import choosing
from discreet.web.database import fresh_id
from discreet.web.house import House, checked_purpose
from discreet.web.logs import Log, shown_name
from discreet.web.once import Once
from discreet.web.people import Person
from discreet.web.settings import ConflictError, MissingError, WebError

VERIFIED = (*LOG_SUFFIXES, ".json", ".csv", ".dot", ".mmd", ".svg", ".ptml", ".bpmn", ".dpm")
"""Suffixes of files whose certificate can be checked."""

# Tuned
COPIED = 1 << 20
"""Number of bytes copied at a time."""


def checked_seal(house: House, log: Log, choice: Mapping[str, Any], source: str, seal: str) -> None:
    """Refuse to go on if anything that the page showed has been changed since."""
    if seal != house.seal(log, choice, source):
        raise ConflictError(
            translate(
                "Since this page was shown, somebody has changed what would be released, how the "
                "log is read or what it costs. Nothing was done. This is how it stands now."
            )
        )


def release(
    house: House,
    person: Person,
    log: Log,
    choice: Mapping[str, Any],
    *,
    source: str,
    purpose: str,
    once: Once,
    seal: str | None = None,
) -> str:
    """Queue a steward's release, which spends budget; the same `once` again returns its job."""
    if (known := house.jobs.known(once)) is not None:
        return known
    now, _ = house.budgets.after(source, choosing.build(choice))
    if seal is not None:
        checked_seal(house, log, choice, now.source, seal)
    choosing.check_people(choice, log.reading)
    return house.release(log, choice, person=person, source=now.source, purpose=purpose, once=once)


def asked_choice(offered: dict[str, Any], epsilon: Any, delta: Any) -> dict[str, Any]:
    """The choice that is offered, at the ε and δ asked for."""
    parameters = {**offered["parameters"], "epsilon": epsilon}
    if "delta" in choosing.declared_by(offered["mechanism"]):
        parameters["delta"] = delta
    return choosing.chosen({**offered, "parameters": parameters})


def ask_for(
    house: House, person: Person, offer: str, epsilon: Any, delta: Any, purpose: str, word: str
) -> str:
    """Enter a request, once for each `word`; within the steward's limit it runs at once and spends.

    Whether it fits is judged by the budget that analysts are shown: otherwise the answer would
    reveal when others' releases were booked. A job that then does not fit fails, in the rhythm.
    """
    once = Once.of(person, word, offer, str(epsilon), str(delta), purpose)
    if (known := house.asking.known(once)) is not None:
        return known
    offered = house.asking.get_offer(offer)
    choice = asked_choice(offered.choice, epsilon, delta)
    purpose = checked_purpose(purpose)
    built = choosing.build(choice)
    told = house.budgets_for(person)
    told.after(offered.source, built)
    cost = told.cost(offered.source, built)
    identity, at_once = house.asking.ask(person, offered, choice, cost, purpose, once)
    if at_once:
        try:
            _release_asked(house, person, identity)
        except (MissingError, WebError):
            house.asking.set_state(identity, "waiting")
    return identity


def _release_asked(house: House, person: Person, identity: str) -> None:
    """Queue the release asked for, which spends budget; the log is read as it was when offered."""
    request, log, choice = _asked(house, identity)
    job = house.release(
        log,
        choice,
        person=person,
        source=request.source,
        purpose=request.purpose,
        once=Once(f"request {identity}", ""),
    )
    house.asking.set_job(identity, job)


def _asked(house: House, identity: str) -> tuple[Row[Any], Log, dict[str, Any]]:
    """A request, its log with the reading it was offered with, and its choice."""
    request = house.asking.get(identity)
    offered = house.asking.get_offer(request.offer)
    log = replace(house.logs.get(offered.log), reading=dict(offered.reading))
    return request, log, asked_choice(offered.choice, request.epsilon, request.delta)


@dataclass(frozen=True)
class Asked:
    """What a steward decides on: the mechanism, its cost to the budget, and the seal shown."""

    mechanism: str
    cost: Budget
    seal: str


def asked_of(house: House) -> dict[str, Asked]:
    """The waiting requests that can still be approved, by their identifiers."""
    found = {}
    for one in house.asking.all():
        if one.state != "waiting":
            continue
        with suppress(DiscreetError):
            request, log, choice = _asked(house, one.id)
            cost = house.budgets.cost(request.source, choosing.build(choice))
            charged = Budget(float(cost.epsilon), float(cost.delta))
            seal = house.seal(log, choice, request.source)
            found[one.id] = Asked(choice["mechanism"], charged, seal)
    return found


def approve(
    house: House, person: Person, identity: str, answer: str, seal: str | None = None
) -> None:
    """Approve a request and queue its release, which spends; refused if the budget is too small."""
    request, log, choice = _asked(house, identity)
    if request.state != "waiting":
        raise WebError(translate("This request does not wait any more."))
    choosing.check_people(choice, log.reading)
    house.budgets.after(request.source, choosing.build(choice))
    if seal is not None:
        checked_seal(house, log, choice, request.source, seal)
    whose = house.people.get(request.person or "")
    if whose is None:
        raise WebError(translate("No user has that name."))
    house.asking.decide(person.name, identity, approved=True, answer=answer)
    try:
        _release_asked(house, whose, identity)
    except DiscreetError:
        house.asking.set_state(identity, "waiting")
        raise


def bring_certificate(house: House, person: Person, files: list[tuple[str, BinaryIO]]) -> str:
    """Store a release, its certificate or both under the server's own names, and queue a check."""
    if not 1 <= len(files) <= 2:
        raise WebError(translate("Choose a released file and its certificate, or one of them."))
    others = [name for name, _ in files if not name.endswith(CERTIFICATE_SUFFIX)]
    if len(others) == 2 or (len(files) == 2 and not others):
        raise WebError(translate("One of the two files must end in .certificate.json."))
    kind = ""
    if others:
        known = [one for one in VERIFIED if others[0].lower().endswith(one)]
        if not known:
            raise WebError(translate("No release is written to a file of that kind."))
        kind = max(known, key=len)
    folder = house.settings.uploads / fresh_id()
    folder.mkdir(mode=0o700)
    path = folder / f"file{kind}" if others else folder / f"file{CERTIFICATE_SUFFIX}"
    shown = shown_name((others or [files[0][0]])[0]).removesuffix(CERTIFICATE_SUFFIX)
    try:
        for name, stream in files:
            ending = kind if name in others else f"{kind}{CERTIFICATE_SUFFIX}"
            with (folder / f"file{ending}").open("wb") as kept:
                shutil.copyfileobj(stream, kept, COPIED)
        return house.jobs.add("verify", person, {"file": str(path), "name": shown})
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
