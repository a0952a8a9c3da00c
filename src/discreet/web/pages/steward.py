"""The steward's pages: upload a log, inspect it, choose, preview, confirm, release."""

from __future__ import annotations

import secrets
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from sqlalchemy import select
from starlette.datastructures import FormData, UploadFile

from discreet.errors import DiscreetError
from discreet.language import translate
from discreet.log.reading import Reading, load_mapping
from discreet.web import choosing
from discreet.web.asked import approve, checked_seal
from discreet.web.asked import release as spend
from discreet.web.database import trail
from discreet.web.jobs import Job
from discreet.web.logs import Log
from discreet.web.once import Once
from discreet.web.pages.common import (
    Anybody,
    Form,
    Inside,
    Steward,
    download,
    number,
    page,
    picture,
    status_of,
    text,
    to,
)
from discreet.web.pages.shared import budgets_page, requests_page
from discreet.web.people import Person
from discreet.web.settings import ConflictError, MissingError, WebError
from discreet.web.work.pictures import DEPTHS

router = APIRouter(include_in_schema=False)

ROLES = ("case", "activity", "timestamp", "lifecycle", "individual")

# Tuned
TRAIL = 500
"""Most entries of the trail shown."""


@router.get("/")
def home(request: Request, house: Inside, person: Anybody) -> Response:
    """Show the steward's logs; analysts start with what is offered."""
    if person.role != "steward":
        return to("/sources")
    return page(
        request,
        "home.html",
        logs=house.logs.all(),
        folder=house.logs.in_folder(),
        budgets=house.budgets.all(),
        upload=house.settings.upload >> 20,
    )


@router.post("/logs")
def bring(house: Inside, person: Steward, form: Form) -> Response:
    """Upload a log."""
    sent = form.get("log")
    if not isinstance(sent, UploadFile) or not sent.filename:
        raise WebError(translate("Choose a file first."))
    log = house.logs.upload(person.name, sent.filename, sent.file)
    return to(f"/logs/{log.id}/columns")


@router.post("/logs/chosen")
def choose_file(house: Inside, person: Steward, form: Form) -> Response:
    """Add a log from the server's folder."""
    log = house.logs.choose(person.name, text(form, "name"))
    return to(f"/logs/{log.id}/columns")


@router.get("/logs/{identity}/columns")
def columns(request: Request, house: Inside, person: Steward, identity: str) -> Response:
    """Show the columns of a log and their roles."""
    log = house.logs.get(identity)
    job = house.look(log, person)
    return page(
        request,
        "columns.html",
        log=log,
        job=job,
        roles=ROLES,
        others=[o for o in Reading.parameters("form").values() if o.name not in ROLES],
    )


@router.post("/logs/{identity}/columns")
def set_columns(house: Inside, person: Steward, form: Form, identity: str) -> Response:
    """Set how a log is read."""
    log = house.logs.get(identity)
    house.logs.set_reading(log, _reading(house.settings.uploads, form))
    if text(form, "again"):
        house.look_again(house.logs.get(identity), person)
    return to(f"/logs/{identity}/columns")


def _reading(folder: Any, form: FormData) -> dict[str, Any]:
    """The options of reading, from a saved mapping or from the fields of a form."""
    sent = form.get("mapping")
    if isinstance(sent, UploadFile) and sent.filename:
        path = folder / f"{secrets.token_hex(8)}.toml"
        try:
            path.write_bytes(sent.file.read(1 << 16))
            return load_mapping(path)
        finally:
            path.unlink(missing_ok=True)
    offered = Reading.parameters("form")
    given = {name: text(form, name) for name in offered}
    return {
        name: True if offered[name].type is bool else value
        for name, value in given.items()
        if value
    }


@router.get("/logs/{identity}/mapping.toml")
def mapping(house: Inside, person: Steward, identity: str) -> Response:
    """Send how the log is read, as a mapping to use for the next one."""
    log = house.logs.get(identity)
    job = _done(house.look(log, person))
    return download(house.jobs.folder(job.id) / "mapping.toml", "mapping.toml")


@router.get("/logs/{identity}/look")
def look(
    request: Request, house: Inside, person: Steward, identity: str, depth: int = 3
) -> Response:
    """Show what a log holds."""
    log = house.logs.get(identity)
    job = house.look(log, person)
    shown = min(max(depth, 1), DEPTHS)
    template = "map.html" if "hx-request" in request.headers else "look.html"
    return page(request, template, log=log, job=job, depth=shown, depths=DEPTHS)


@router.get("/logs/{identity}/choose")
def choose(
    request: Request,
    house: Inside,
    person: Steward,
    identity: str,
    what: str = "",
    mechanism: str = "",
) -> Response:
    """Show the form for what to share and how much protection."""
    return _choosing(request, house, house.logs.get(identity), what, mechanism, person)


def _choosing(
    request: Request,
    house: Inside,
    log: Log,
    what: str,
    mechanism: str,
    person: Person,
    problem: str = "",
    form: FormData | None = None,
) -> Response:
    kept = log.choice.get("what") or choosing.usual(timed=house.timed(log))
    shared = what if what in choosing.SHARED else kept
    names = choosing.offered(shared)
    if mechanism not in names:
        same = shared == kept and log.choice.get("mechanism") in names
        mechanism = log.choice["mechanism"] if same else names[0]
    values = (
        dict(log.choice.get("parameters", {})) if mechanism == log.choice.get("mechanism") else {}
    )
    if form is not None:
        values |= _prefixed(form, "p.")
        attributes = _prefixed(form, "a.")
    else:
        attributes, values["attributes"] = choosing.split_attributes(values.get("attributes") or ())
    advice = house.jobs.latest("advise", log.id, reading=log.reading)
    unit = log.choice.get("unit") if form is None else text(form, "unit")
    return page(
        request,
        "choose.html",
        422 if problem else 200,
        log=log,
        look=house.look(log, person),
        what=shared,
        shared={name: choosing.words(name) for name in choosing.SHARED},
        mechanism=mechanism,
        mechanisms=names,
        reason=choosing.reason(names[0]),
        suffixes=choosing.SHARED[shared].suffixes,
        levels=[(one, choosing.level_words(one)) for one in choosing.LEVELS],
        expert=choosing.expert(mechanism),
        has_delta="delta" in choosing.declared_by(mechanism),
        values=values,
        unit=unit,
        attributes=attributes,
        names="alphabet" in choosing.declared_by(mechanism),
        advice=advice,
        problem=problem,
    )


def _prefixed(form: FormData, prefix: str) -> dict[str, Any]:
    return {key.removeprefix(prefix): form[key] for key in form if key.startswith(prefix)}


@router.post("/logs/{identity}/choose")
def set_choice(
    request: Request, house: Inside, person: Steward, form: Form, identity: str
) -> Response:
    """Keep the choice, or show what is wrong with it."""
    log = house.logs.get(identity)
    what, mechanism = text(form, "what"), text(form, "mechanism")
    given: dict[str, Any] = _prefixed(form, "p.")
    unit = text(form, "unit") or None
    if unit == "case":
        given.pop("cases_per_individual", None)
    columns = [f"{column}:{kind}" for column, kind in _prefixed(form, "a.").items() if kind]
    if columns:
        given["attributes"] = "\n".join([*columns, str(given.get("attributes", ""))])
    level = text(form, "level")
    if level and level != "own":
        given["epsilon"] = level
    try:
        choice = house.chosen(
            log,
            {
                "what": what,
                "mechanism": mechanism,
                "suffix": text(form, "suffix"),
                "parameters": given,
                "unit": unit,
            },
        )
    except DiscreetError as error:
        return _choosing(request, house, log, what, mechanism, person, str(error), form)
    house.logs.set_choice(log, choice)
    return to(f"/logs/{identity}/try")


@router.post("/logs/{identity}/advise")
def advise(house: Inside, person: Steward, form: Form, identity: str) -> Response:
    """Queue the sweep over budgets."""
    log = house.logs.get(identity)
    if not log.choice:
        house.logs.set_choice(log, house.usual(log, {"parameters": {"epsilon": 1.0}}))
    house.advise(house.logs.get(identity), person)
    return to(f"/logs/{identity}/choose#advice")


@router.get("/logs/{identity}/try")
def trying(request: Request, house: Inside, person: Steward, identity: str) -> Response:
    """Show the preview of a release, before and after."""
    log = house.logs.get(identity)
    if not log.choice or _undecided(log):
        return to(f"/logs/{identity}/choose")
    job = house.jobs.latest("try", log.id, reading=log.reading, choice=log.choice)
    return page(request, "try.html", log=log, job=job)


@router.post("/logs/{identity}/try")
def attempt(house: Inside, person: Steward, form: Form, identity: str) -> Response:
    """Queue a preview: one draw for the steward's eyes, never released."""
    house.attempt(house.logs.get(identity), person)
    return to(f"/logs/{identity}/try")


@router.get("/logs/{identity}/confirm")
def confirm(
    request: Request, house: Inside, person: Steward, identity: str, source: str = ""
) -> Response:
    """Show what a release costs and what is left afterwards."""
    return _confirming(request, house, house.logs.get(identity), source)


def _confirming(
    request: Request,
    house: Inside,
    log: Log,
    source: str,
    problem: str | Exception = "",
    purpose: str = "",
) -> Response:
    if not log.choice or _undecided(log):
        return to(f"/logs/{log.id}/choose")
    built = choosing.build(log.choice)
    known = house.budgets.all()
    source = source if source in [one.source for one in known] else ""
    before = after = None
    refused = ""
    if source:
        try:
            before, after = house.budgets.after(source, built)
        except DiscreetError as error:
            refused = str(error)
    promise = house.promise(log, log.choice)
    return page(
        request,
        "confirm.html",
        status_of(problem),
        log=log,
        sources=known,
        source=source,
        before=before,
        after=after,
        refused=refused,
        promise=promise,
        paragraphs=promise.explain().splitlines(),
        costs=[("· " * depth + part.name, part.cost, part.rule) for depth, part in promise.walk()],
        seal=house.seal(log, log.choice, source) if after else "",
        once=secrets.token_hex(16),
        problem=str(problem),
        purpose=purpose,
        offers={one.source: one for one in house.asking.offers()},
    )


@router.post("/logs/{identity}/budget")
def open_budget(
    request: Request, house: Inside, person: Steward, form: Form, identity: str
) -> Response:
    """Set a budget from the page that confirms a release."""
    source = text(form, "source", 200)
    try:
        house.budgets.set(person.name, source, {key: text(form, key) for key in form})
    except DiscreetError as error:
        return _confirming(request, house, house.logs.get(identity), source, error)
    source = house.budgets.of(source).source
    house.database.note(person.name, "set a budget", source)
    return to(f"/logs/{identity}/confirm?source={_quoted(source)}")


@router.post("/logs/{identity}/release")
def release(
    request: Request, house: Inside, person: Steward, form: Form, identity: str
) -> Response:
    """Spend budget and release, once."""
    log = house.logs.get(identity)
    source, word = text(form, "source", 200), text(form, "once", 64)
    purpose, seal = text(form, "purpose"), text(form, "seal", 64)
    if not word or not seal:
        raise WebError(translate("This form is too old: go back, reload the page and try again."))
    try:
        job = spend(
            house,
            person,
            log,
            log.choice,
            source=source,
            purpose=purpose,
            once=Once.of(person, word, log.id, source, purpose, seal),
            seal=seal,
        )
    except DiscreetError as error:
        return _confirming(request, house, house.logs.get(identity), source, error, purpose)
    return to(f"/releases/{job}")


@router.post("/logs/{identity}/offer")
def offer(request: Request, house: Inside, person: Steward, form: Form, identity: str) -> Response:
    """Offer the choice of a log to analysts."""
    log = house.logs.get(identity)
    source = house.budgets.of(text(form, "source", 200)).source
    wrong = translate("What may be spent without asking is a number.")
    epsilon, delta = (number(text(form, key), wrong) for key in ("at_once", "at_once_delta"))
    try:
        checked_seal(house, log, log.choice, source, text(form, "seal", 64))
        house.asking.offer(person.name, source, log, text(form, "about"), epsilon, delta)
    except ConflictError as error:
        return _confirming(request, house, log, source, error)
    return to("/requests")


@router.post("/offers/{identity}/withdraw")
def withdraw(house: Inside, person: Steward, form: Form, identity: str) -> Response:
    """Withdraw an offer."""
    house.asking.withdraw(person.name, identity)
    return to("/requests")


@router.post("/logs/{identity}/remove")
def remove(house: Inside, person: Steward, form: Form, identity: str) -> Response:
    """Remove a log with everything that jobs found in it."""
    house.forget(house.logs.get(identity), person.name)
    return to("/")


@router.get("/jobs/{identity}/picture/{name}")
def job_picture(house: Inside, person: Steward, identity: str, name: str) -> Response:
    """Send a picture that a job drew; only names that its result lists are accepted."""
    job = house.jobs.get(identity)
    found = job.result
    listed = {
        *found.get("maps", ()),
        *found.get("plots", ()),
        *(file for picture in found.get("pictures", ()) for file in picture["files"]),
    }
    path = house.jobs.folder(job.id) / name
    if name not in listed or not path.is_file():
        raise MissingError(translate("There is no such picture."))
    return picture(path)


@router.post("/requests/{identity}/decide")
def decide(request: Request, house: Inside, person: Steward, form: Form, identity: str) -> Response:
    """Approve a request, which spends, or refuse it."""
    if text(form, "decision") != "approve":
        house.asking.decide(person.name, identity, approved=False, answer=text(form, "answer"))
        return to("/requests")
    try:
        approve(house, person, identity, text(form, "answer"), text(form, "seal", 64))
    except ConflictError as error:
        return requests_page(request, house, person, error)
    return to("/requests")


@router.get("/people")
def people(request: Request, house: Inside, person: Steward) -> Response:
    """List the people who may sign in."""
    return page(request, "people.html", everybody=house.people.everybody(), problem="")


@router.post("/people")
def let_in(request: Request, house: Inside, person: Steward, form: Form) -> Response:
    """Add a person, change their role or password, or remove them."""
    role, password = text(form, "role"), str(form.get("password", ""))
    try:
        if text(form, "remove"):
            house.people.remove(person, text(form, "remove", 64))
        elif text(form, "change"):
            house.people.change(person, text(form, "change", 64), role, password)
        else:
            house.people.add(person.name, text(form, "name"), role, password)
    except DiscreetError as error:
        everybody = house.people.everybody()
        return page(request, "people.html", 422, everybody=everybody, problem=str(error))
    return to("/people")


@router.get("/trail")
def show_trail(request: Request, house: Inside, person: Steward) -> Response:
    """Show the trail of who did what."""
    with house.database.reading() as connection:
        rows = connection.execute(select(trail).order_by(trail.c.number.desc()).limit(TRAIL)).all()
    return page(request, "trail.html", rows=rows, most=TRAIL)


@router.post("/budgets")
def set_budget(request: Request, house: Inside, person: Steward, form: Form) -> Response:
    """Set the total budget of a source."""
    source = text(form, "source", 200)
    try:
        house.budgets.set(person.name, source, {key: text(form, key) for key in form})
    except ConflictError as error:
        return budgets_page(request, house, person, source, error)
    source = house.budgets.of(source).source
    house.database.note(person.name, "set a budget", source)
    return to(f"/budgets?source={_quoted(source)}")


def _undecided(log: Log) -> bool:
    """Whether the log names people and it has not been chosen who is protected."""
    try:
        choosing.check_people(log.choice, log.reading)
    except DiscreetError:
        return True
    return False


def _done(job: Job) -> Job:
    if job.state != "done":
        raise WebError(translate("The log was not read yet."))
    return job


def _quoted(source: str) -> str:
    from urllib.parse import quote

    return quote(source, safe="")
