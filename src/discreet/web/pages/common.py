"""What all pages share: who asks, forms with their token, and how a page is made."""

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
    """Nobody is signed in."""


class NotAllowedError(DiscreetError):
    """Somebody is, but may not do this."""


def house_of(request: Request) -> House:
    """The server's parts."""
    house: House = request.app.state.house
    return house


def anybody(request: Request) -> Person:
    """Whoever is signed in."""
    person: Person | None = request.state.person
    if person is None:
        raise NotSignedInError
    return person


def only_steward(request: Request) -> Person:
    """A steward; everything raw is behind this."""
    person = anybody(request)
    if person.role != "steward":
        raise NotAllowedError
    return person


async def sent_form(request: Request) -> AsyncIterator[FormData]:
    """A form of this session: it sends the session's token along. Its files go with the request."""
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
    """A field of a form."""
    value = form.get(name)
    return value.replace("\0", "").strip()[:longest] if isinstance(value, str) else ""


def page(request: Request, template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """A page of ours."""
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
    """A number that somebody typed; none is zero."""
    try:
        return float(given.replace(",", ".") or 0)
    except ValueError:
        raise WebError(problem) from None


def status_of(problem: str | Exception) -> int:
    """The status of a page that says what is wrong, or that nothing is."""
    if isinstance(problem, ConflictError):
        return 409
    return 422 if str(problem) else 200


def back_to(where: str) -> RedirectResponse:
    """Go back to a page of ours that a form or an address names, or to the beginning."""
    return to(where if where.startswith("/") and not where.startswith(("//", "/\\")) else "/")


def to(where: str) -> RedirectResponse:
    """Go on elsewhere, by GET: reloading sends nothing twice."""
    return RedirectResponse(where, 303)


def picture(path: Path) -> Response:
    """A picture of ours, which brings its own style and may do nothing."""
    return FileResponse(
        path, media_type="image/svg+xml", headers={"content-security-policy": STILL}
    )


def download(path: Path, name: str) -> Response:
    """A file to be kept; a browser never shows it as a page of ours."""
    return FileResponse(
        path,
        filename=name,
        media_type="application/octet-stream",
        headers={"content-security-policy": STILL},
    )
