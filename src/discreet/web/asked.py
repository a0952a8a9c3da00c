"""What people ask the house for: releases within a steward's limits, approvals, checks."""

from __future__ import annotations

import shutil
from typing import Any, BinaryIO

from discreet.language import translate
from discreet.log.files import LOG_SUFFIXES
from discreet.verification import CERTIFICATE_SUFFIX
from discreet.web import choosing
from discreet.web.database import fresh_id
from discreet.web.house import House, checked_purpose
from discreet.web.logs import shown_name
from discreet.web.people import Person
from discreet.web.settings import MissingError, WebError

VERIFIED = (*LOG_SUFFIXES, ".json", ".csv", ".dot", ".mmd", ".svg", ".ptml", ".bpmn", ".dpm")
"""Endings of files whose certificate can be checked."""


def asked_choice(offered: dict[str, Any], epsilon: Any, delta: Any) -> dict[str, Any]:
    """What is offered, at the budget asked for."""
    parameters = {**offered["parameters"], "epsilon": epsilon}
    if "delta" in choosing.declared_by(offered["mechanism"]):
        parameters["delta"] = delta
    return choosing.chosen({**offered, "parameters": parameters})


def ask_for(
    house: House, person: Person, offer: str, epsilon: Any, delta: Any, purpose: str
) -> str:
    """Enter a request; within what the steward allows it runs at once.

    Whether it fits is judged by the budget as analysts are told of it: the answer would otherwise
    tell when others' releases were booked. A job that then does not fit fails, in the rhythm.
    """
    offered = house.asking.get_offer(offer)
    choice = asked_choice(offered.choice, epsilon, delta)
    purpose = checked_purpose(purpose)
    house.budgets_for(person).after(offered.source, choosing.build(choice))
    identity, at_once = house.asking.ask(person, offered, choice, purpose)
    if at_once:
        try:
            log = house.logs.get(offered.log)
        except MissingError:
            house.asking.set_state(identity, "waiting")
            return identity
        job = house.release(
            log,
            choice,
            user=person.name,
            source=offered.source,
            purpose=purpose,
            once=f"request {identity}",
        )
        house.asking.set_job(identity, job)
    return identity


def approve(house: House, person: Person, identity: str, answer: str) -> None:
    """Approve a request and release what it asks for; refused where the budget cannot bear it."""
    request = house.asking.get(identity)
    offered = house.asking.get_offer(request.offer)
    log = house.logs.get(offered.log)
    choice = asked_choice(offered.choice, request.epsilon, request.delta)
    choosing.check_people(choice, log.reading)
    house.budgets.after(request.source, choosing.build(choice))
    house.asking.decide(person.name, identity, approved=True, answer=answer)
    job = house.release(
        log,
        choice,
        user=request.user,
        source=request.source,
        purpose=request.purpose,
        once=f"request {identity}",
    )
    house.asking.set_job(identity, job)


def bring_certificate(house: House, person: Person, files: list[tuple[str, BinaryIO]]) -> str:
    """Keep a released file, its certificate or both, under names of ours, and queue the check."""
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
                shutil.copyfileobj(stream, kept, 1 << 20)
        return house.jobs.add("verify", person.name, {"file": str(path), "name": shown})
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
