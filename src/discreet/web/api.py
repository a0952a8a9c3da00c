"""The API under /api/v1: everything that the pages do, for programs that send a token.

The docstrings of routes and models are published in the API's OpenAPI description.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from fastapi import APIRouter, File, Request, UploadFile
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field, create_model, model_validator
from sqlalchemy import Row

from discreet.language import translate
from discreet.log.reading import Reading
from discreet.parameters import Parameter
from discreet.web import choosing
from discreet.web.asked import approve, ask_for, bring_certificate
from discreet.web.asked import release as spend
from discreet.web.house import House
from discreet.web.jobs import Job
from discreet.web.logs import Log
from discreet.web.once import Once
from discreet.web.pages.common import Anybody, Inside, Steward, download
from discreet.web.seeing import (
    history_of,
    own_job,
    released,
    releases_of,
    request_facts,
    requests_of,
)
from discreet.web.settings import ConflictError, MissingError

PROBLEM = "application/problem+json"
Identity = Annotated[str, Field(max_length=64)]


class Problem(BaseModel):
    """What went wrong, as RFC 9457 writes it."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str


class Strict(BaseModel):
    """Something sent in, without unknown fields and without NUL, which databases refuse."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _without_nul(cls, given: Any) -> Any:
        if "\\u0000" in json.dumps(given, default=str):
            raise ValueError("texts must not have NUL characters")
        return given


class Choice(Strict):
    """What to share."""

    what: str | None = None
    mechanism: str | None = None
    suffix: str | None = None
    parameters: dict[str, Any] = {}
    unit: Literal["case", "individual"] | None = None


_TYPES: dict[type, Any] = {tuple: list[str] | str, dict: dict[str, str] | str}


def _field(option: Parameter) -> Any:
    """The field of the schema for a declared option."""
    kind = Literal[option.choices] if option.choices else _TYPES.get(option.type, option.type)
    return (kind | None, Field(None, description=option.help))


ReadingOptions: type[Strict] = create_model(
    "ReadingOptions",
    __base__=Strict,
    __doc__="Options of `discreet.read_log`.",
    **{name: _field(option) for name, option in Reading.parameters("form").items()},
)


class HowRead(Strict):
    """How a log is read."""

    options: ReadingOptions  # type: ignore[valid-type]


Word = Annotated[str, Field(min_length=8, max_length=64)]
"""Idempotency key: sent again with the same content it gets the same answer, else a conflict."""


class Asked(Strict):
    """A release on a budget; the same `once` never releases twice."""

    log: Identity
    source: str = Field(max_length=200)
    purpose: str = Field(max_length=300)
    once: Word
    choice: Choice
    reading: HowRead | None = None
    """How the log must be read; a conflict if it is read differently by now."""


class Seen(Strict):
    """A cap as whoever changes it has seen it."""

    epsilon: float
    delta: float


class Cap(Strict):
    """What a source may spend in all."""

    source: str = Field(max_length=200)
    epsilon: float
    delta: float
    unit: str = "case"
    neighbours: str = "add-remove"
    raised: bool = False
    purpose: str = ""
    seen: Seen | None = None
    """The cap to be changed; a conflict if another one has been set since."""


class Wanted(Strict):
    """What an analyst asks for."""

    offer: Identity
    epsilon: float
    delta: float = 0.0
    purpose: str = Field(max_length=300)
    once: Word


class Decision(Strict):
    """What a steward says to a request."""

    approve: bool
    answer: str = Field("", max_length=500)


class Offered(Strict):
    """What analysts may ask for."""

    log: Identity
    source: str = Field(max_length=200)
    about: str = Field("", max_length=500)
    at_once: float = 0.0
    at_once_delta: float = 0.0
    choice: Choice | None = None
    """The choice that the log must have; a conflict if it has another one by now."""
    reading: HowRead | None = None
    """How the log must be read; a conflict if it is read differently by now."""


def problem_response(status: int, title: str, detail: str) -> Response:
    """An error in a form for programs, with the same text as on the command line."""
    told = Problem(title=title, status=status, detail=detail)
    return JSONResponse(told.model_dump(), status, media_type=PROBLEM)


def _answers(*statuses: int) -> dict[int | str, dict[str, Any]]:
    return {
        status: {"content": {PROBLEM: {"schema": Problem.model_json_schema()}}, "description": word}
        for status, word in (
            (400, "malformed"),
            (401, "no token"),
            (403, "not allowed"),
            (404, "not found"),
            (409, "changed meanwhile, or sent before with other content"),
            (413, "too large"),
            (422, "refused, with the reason"),
        )
        if status in (401, 422, *statuses)
    }


router = APIRouter(prefix="/api/v1", responses=_answers(400, 403, 404, 409, 413))


@router.get("/me")
def me(person: Anybody) -> dict[str, Any]:
    """Whose token this is."""
    return {"name": person.name, "role": person.role}


@router.get("/mechanisms")
def mechanisms(person: Anybody) -> dict[str, Any]:
    """What can be shared, by which mechanisms, and their parameters."""
    return {
        what: {
            name: [
                {"name": one.name, "help": one.help, "range": one.range, "default": one.default}
                for one in choosing.declared_by(name).values()
                if one.name not in choosing.HIDDEN
            ]
            for name in choosing.offered(what)
        }
        for what in choosing.SHARED
    }


@router.post("/logs", status_code=201)
def upload(house: Inside, person: Steward, file: Annotated[UploadFile, File()]) -> dict[str, Any]:
    """Bring a log; it is read as a job, see `look`."""
    log = house.logs.upload(person.name, file.filename, file.file)
    return log_facts(log) | {"job": house.look(log, person).id}


@router.get("/logs")
def logs(house: Inside, person: Steward) -> list[dict[str, Any]]:
    """Logs at work."""
    return [log_facts(log) for log in house.logs.all()]


@router.get("/folder")
def folder(house: Inside, person: Steward) -> list[str]:
    """Names of logs in the server's folder."""
    return [path.name for path in house.logs.in_folder()]


@router.post("/folder/{name}", status_code=201)
def take(house: Inside, person: Steward, name: str) -> dict[str, Any]:
    """Take a log of the server's folder."""
    log = house.logs.choose(person.name, name)
    return log_facts(log) | {"job": house.look(log, person).id}


@router.get("/logs/{identity}")
def log(house: Inside, person: Steward, identity: str) -> dict[str, Any]:
    """One log, with the job that reads it."""
    found = house.logs.get(identity)
    return log_facts(found) | {"job": house.look(found, person).id}


@router.put("/logs/{identity}/reading")
def read(house: Inside, person: Steward, identity: str, reading: HowRead) -> dict[str, Any]:
    """Say how it is read, and read it again."""
    house.logs.set_reading(house.logs.get(identity), _options(reading))
    found = house.logs.get(identity)
    return log_facts(found) | {"job": house.look(found, person).id}


@router.delete("/logs/{identity}", status_code=204)
def remove(house: Inside, person: Steward, identity: str) -> None:
    """Remove a log with all that was found in it."""
    house.forget(house.logs.get(identity), person.name)


@router.put("/logs/{identity}/choice")
def choose(house: Inside, person: Steward, identity: str, choice: Choice) -> dict[str, Any]:
    """Say what is to be shared; answers what would be promised."""
    found = house.logs.get(identity)
    checked = house.chosen(found, choice.model_dump())
    house.logs.set_choice(found, checked)
    promise = house.promise(found, checked)
    return {"choice": checked, "guarantee": promise.to_dict(), "explanation": promise.explain()}


@router.post("/logs/{identity}/try", status_code=202)
def attempt(house: Inside, person: Steward, identity: str) -> dict[str, Any]:
    """Draw once to see; what is drawn is never released."""
    found = _chosen(house.logs.get(identity))
    house.attempt(found, person)
    return job_facts(house.jobs.latest("try", found.id))


@router.post("/logs/{identity}/advise", status_code=202)
def advise(house: Inside, person: Steward, identity: str, seconds: float = 60) -> dict[str, Any]:
    """Begin the sweep over budgets."""
    found = _chosen(house.logs.get(identity))
    house.advise(found, person, max(1.0, min(seconds, 600.0)))
    return job_facts(house.jobs.latest("advise", found.id))


@router.get("/jobs/{identity}")
def job(house: Inside, person: Anybody, identity: str) -> dict[str, Any]:
    """How a job goes, and what it found."""
    return job_facts(own_job(house, person, identity))


@router.delete("/jobs/{identity}")
def cancel(house: Inside, person: Anybody, identity: str) -> dict[str, Any]:
    """End a job; what it has spent stays spent."""
    found = own_job(house, person, identity)
    house.jobs.cancel(found)
    return job_facts(house.jobs.get(found.id))


@router.post("/releases", status_code=202)
def release(house: Inside, person: Steward, asked: Asked) -> dict[str, Any]:
    """Spend and release; the job's identifier is that of the release."""
    once = Once.of(person, asked.once, asked.model_dump(exclude={"once"}))
    if (known := house.jobs.known(once)) is not None:
        return job_facts(house.jobs.get(known))
    log = _as_seen(house, house.logs.get(asked.log), asked.reading)
    identity = spend(
        house,
        person,
        log,
        house.chosen(log, asked.choice.model_dump()),
        source=asked.source,
        purpose=asked.purpose,
        once=once,
    )
    return job_facts(house.jobs.get(identity))


@router.get("/releases")
def releases(house: Inside, person: Anybody) -> list[dict[str, Any]]:
    """What was released; analysts see what they asked for."""
    return [release_facts(row) for row in releases_of(house, person)]


@router.get("/releases/{identity}")
def one_release(house: Inside, person: Anybody, identity: str) -> dict[str, Any]:
    """One release."""
    return release_facts(released(house, person, identity))


@router.get("/releases/{identity}/files/{name}", response_class=FileResponse)
def release_file(house: Inside, person: Anybody, identity: str, name: str) -> Response:
    """One of its files."""
    row = released(house, person, identity)
    if name not in row.summary["files"]:
        raise MissingError("there is no such file")
    return download(house.settings.releases / row.id / name, name)


@router.post("/releases/{identity}/report", status_code=202)
def measure(house: Inside, person: Steward, identity: str) -> dict[str, Any]:
    """Find out what a release is worth, by the raw log; for stewards only."""
    job = house.jobs.get(released(house, person, identity).job)
    if not house.jobs.folder(job.id).is_dir():
        raise MissingError("the log is not here any more")
    house.measure(job, person)
    return job_facts(house.report(job))


@router.post("/certificates", status_code=202)
def verify(
    house: Inside, person: Anybody, files: Annotated[list[UploadFile], File()]
) -> dict[str, Any]:
    """Check a released file with its certificate, or one of them."""
    sent = [(one.filename or "", one.file) for one in files]
    return job_facts(house.jobs.get(bring_certificate(house, person, sent)))


@router.get("/budgets")
def budgets(house: Inside, person: Anybody) -> list[dict[str, Any]]:
    """What every source may spend, and what is left."""
    return [one.to_dict() for one in house.budgets_for(person).all()]


@router.put("/budgets")
def set_budget(house: Inside, person: Steward, cap: Cap) -> dict[str, Any]:
    """Set what a source may spend in all."""
    form = {key: str(value) for key, value in cap.model_dump(exclude={"seen"}).items()}
    form["raised"] = "yes" if cap.raised else ""
    if cap.seen is not None:
        form |= house.budgets.shown(cap.source, cap.seen.epsilon, cap.seen.delta)
    house.budgets.set(person.name, cap.source, form)
    house.database.note(person.name, "set a budget", cap.source)
    return house.budgets.of(cap.source).to_dict()


@router.get("/budgets/history")
def history(house: Inside, person: Anybody, source: str) -> list[dict[str, Any]]:
    """What was entered for a source."""
    return history_of(house, person, source)


@router.get("/offers")
def offers(house: Inside, person: Anybody) -> list[dict[str, Any]]:
    """What analysts may ask for."""
    return [
        {
            "id": one.id,
            "source": one.source,
            "about": one.about,
            "at_once": one.at_once,
            "at_once_delta": one.at_once_delta,
            "what": one.choice["what"],
            "mechanism": one.choice["mechanism"],
        }
        for one in house.asking.offers()
    ]


@router.put("/offers")
def offer(house: Inside, person: Steward, offered: Offered) -> list[dict[str, Any]]:
    """Let analysts ask for what was chosen for a log."""
    source = house.budgets.of(offered.source).source
    found = _as_seen(house, _chosen(house.logs.get(offered.log)), offered.reading, offered.choice)
    house.asking.offer(
        person.name, source, found, offered.about, offered.at_once, offered.at_once_delta
    )
    return offers(house, person)


@router.delete("/offers/{identity}", status_code=204)
def withdraw(house: Inside, person: Steward, identity: str) -> None:
    """Offer it no more."""
    house.asking.get_offer(identity)
    house.asking.withdraw(person.name, identity)


@router.get("/requests")
def requests(house: Inside, person: Anybody) -> list[dict[str, Any]]:
    """What was asked for; analysts see their own requests."""
    return requests_of(house, person)


@router.post("/requests", status_code=202)
def ask(house: Inside, person: Anybody, wanted: Wanted) -> dict[str, Any]:
    """Ask for a release; within the steward's limit it runs at once."""
    identity = ask_for(
        house, person, wanted.offer, wanted.epsilon, wanted.delta, wanted.purpose, wanted.once
    )
    return request_facts(house, house.asking.get(identity))


@router.post("/requests/{identity}/decision")
def decide(house: Inside, person: Steward, identity: str, decision: Decision) -> dict[str, Any]:
    """Approve or refuse a request."""
    house.asking.get(identity)
    if decision.approve:
        approve(house, person, identity, decision.answer)
    else:
        house.asking.decide(person.name, identity, approved=False, answer=decision.answer)
    return request_facts(house, house.asking.get(identity))


def log_facts(log: Log) -> dict[str, Any]:
    """A log as plain values, without its path."""
    return {
        "id": log.id,
        "name": log.name,
        "user": log.user,
        "reading": log.reading,
        "choice": log.choice,
    }


def job_facts(job: Job | None) -> dict[str, Any]:
    """A job as plain values, without the path of its files."""
    assert job is not None
    return {
        "id": job.id,
        "kind": job.kind,
        "state": job.state,
        "problem": job.problem,
        "result": job.result,
    }


def release_facts(row: Row[Any]) -> dict[str, Any]:
    """A release as plain values."""
    return {
        "id": row.id,
        "source": row.source,
        "user": row.user,
        "purpose": row.purpose,
        "made": row.made,
        **row.summary,
    }


def _chosen(log: Log) -> Log:
    if not log.choice:
        raise MissingError("choose first what is to be shared")
    return log


def _options(reading: HowRead) -> dict[str, Any]:
    """The options of reading that were sent."""
    given: dict[str, Any] = reading.options.model_dump(exclude_none=True)  # type: ignore[attr-defined]
    return given


def _as_seen(house: House, log: Log, reading: HowRead | None, choice: Choice | None = None) -> Log:
    """The log; raises a conflict if its reading or choice is not the one the user has seen."""
    read = reading is None or _options(reading) == log.reading
    if not read or (choice is not None and house.chosen(log, choice.model_dump()) != log.choice):
        raise ConflictError(
            translate("Somebody has changed how the log is read, or what was chosen for it.")
        )
    return log


def invalid(request: Request, error: Exception) -> Response:
    """The answer to a body that does not match its schema."""
    assert isinstance(error, RequestValidationError)
    told = "; ".join(
        f"{'.'.join(str(part) for part in one['loc'][1:])}: {one['msg']}" for one in error.errors()
    )
    return problem_response(422, "That did not work", told)
