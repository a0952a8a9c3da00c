"""What all pages share: the user, forms with their token, and rendering."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.datastructures import FormData

from discreet.errors import DiscreetError
from discreet.language import translate
from discreet.report.pages import render_page
from discreet.web.guard import STILL
from discreet.web.house import House
from discreet.web.people import Person, same_secret
from discreet.web.settings import ConflictError, WebError


class NotSignedInError(DiscreetError):
    """The user is not signed in."""


class NotAllowedError(DiscreetError):
    """The user is signed in, but may not do this."""


def house_of(request: Request) -> House:
    """The parts of the server that answers this request."""
    house: House = request.app.state.house
    return house


def anybody(request: Request) -> Person:
    """The person who is signed in; raises if there is none."""
    person: Person | None = request.state.person
    if person is None:
        raise NotSignedInError
    return person


def only_steward(request: Request) -> Person:
    """The person who is signed in, if a steward; all raw data is behind this check."""
    person = anybody(request)
    if person.role != "steward":
        raise NotAllowedError
    return person


async def sent_form(request: Request) -> AsyncIterator[FormData]:
    """A form with this session's token; its files are deleted when the request ends."""
    person = anybody(request)
    form = await request.form(max_files=4, max_fields=1000)
    try:
        token = form.get("csrf")
        if not isinstance(token, str) or not same_secret(token, person.csrf):
            raise WebError(
                translate("This form is too old: go back, reload the page and try again.")
            )
        yield form
    finally:
        await form.close()


Inside = Annotated[House, Depends(house_of)]
Anybody = Annotated[Person, Depends(anybody)]
Steward = Annotated[Person, Depends(only_steward)]
Form = Annotated[FormData, Depends(sent_form)]


def text(form: Mapping[str, Any], name: str, longest: int = 5000) -> str:
    """The text of a form's field, at most `longest` characters; empty if missing."""
    value = form.get(name)
    return value.replace("\0", "").strip()[:longest] if isinstance(value, str) else ""


def page(request: Request, template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """A page rendered from a template."""
    person: Person | None = request.state.person
    house = house_of(request)
    waiting = 0
    if person is not None and person.role == "steward":
        waiting = house.asking.waiting()
    return HTMLResponse(
        render_page(
            "discreet.web",
            template,
            person=person,
            csrf=person.csrf if person else "",
            here=request.url.path,
            waiting=waiting,
            team=house.settings.team,
            **values,
        ),
        status,
    )


def number(given: str, problem: str) -> float:
    """The number that a user typed; an empty text is zero."""
    try:
        return float(given.replace(",", ".") or 0)
    except ValueError:
        raise WebError(problem) from None


def status_of(problem: str | Exception) -> int:
    """The HTTP status of a page with this problem; 200 without one."""
    if isinstance(problem, ConflictError):
        return 409
    return 422 if str(problem) else 200


def back_to(where: str) -> RedirectResponse:
    """Redirect to a path on this server that a form or an address names, or else to the start."""
    return to(where if where.startswith("/") and not where.startswith(("//", "/\\")) else "/")


def to(where: str) -> RedirectResponse:
    """Redirect by GET, so that reloading sends nothing twice."""
    return RedirectResponse(where, 303)


def picture(path: Path) -> Response:
    """An SVG picture, which brings its own style and may run nothing."""
    return FileResponse(
        path, media_type="image/svg+xml", headers={"content-security-policy": STILL}
    )


def download(path: Path, name: str) -> Response:
    """A file to be saved; a browser never shows it as a page of this server."""
    return FileResponse(
        path,
        filename=name,
        media_type="application/octet-stream",
        headers={"content-security-policy": STILL},
    )
