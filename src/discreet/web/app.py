"""The app: pages, API and static files, behind the guard."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import cache
from importlib.resources import files
from socket import SOCK_STREAM, create_server, getaddrinfo, socket

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import RedirectResponse, Response
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp

from discreet._version import __version__
from discreet.errors import DiscreetError
from discreet.language import translate
from discreet.web.api import invalid, problem_response
from discreet.web.api import router as api
from discreet.web.guard import Guard, TooLargeError
from discreet.web.house import House
from discreet.web.pages import shared, steward
from discreet.web.pages.common import NotAllowedError, NotSignedInError, page
from discreet.web.settings import ConflictError, MissingError, Settings, WebError

TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
DAY = "public, max-age=86400"

# Tuned
HASHES = 2
"""Number of passwords checked at a time: each takes 64 MiB and a whole processor."""


def create_app(settings: Settings, house: House | None = None) -> ASGIApp:
    """The ASGI app of one server; jobs run as long as its lifespan lasts."""
    inside = house or House(settings)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        before = tempfile.tempdir
        tempfile.tempdir = str(settings.uploads)  # keeps forms while they arrive
        app.state.signing_in = CapacityLimiter(HASHES)
        await run_sync(inside.start)
        try:
            yield
        finally:
            tempfile.tempdir = before
            await run_sync(inside.stop)

    app = FastAPI(
        title="discreet",
        version=__version__,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/v1/openapi.json",
    )
    app.state.house = inside
    app.include_router(steward.router)
    app.include_router(shared.router)
    app.include_router(api)
    app.add_api_route("/static/{name}", static, include_in_schema=False)
    app.add_exception_handler(NotSignedInError, _not_signed_in)
    app.add_exception_handler(NotAllowedError, _not_allowed)
    app.add_exception_handler(MissingError, _missing)
    app.add_exception_handler(ConflictError, _conflict)
    app.add_exception_handler(DiscreetError, _wrong)
    app.add_exception_handler(TooLargeError, _too_large)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(500, _failed)
    return Guard(app, settings, lambda: inside.people)


@cache
def _asset(name: str) -> bytes | None:
    """The content of a static file; None if there is none of that name."""
    here = files("discreet.web").joinpath("static")
    if name == "style.css":
        common = files("discreet.report").joinpath("templates", "page.css").read_bytes()
        return common + here.joinpath("web.css").read_bytes()
    known = {entry.name for entry in here.iterdir()}
    return here.joinpath(name).read_bytes() if name in known else None


def static(name: str) -> Response:
    """Send a static file: the stylesheet, a script or the icon."""
    content = _asset(name)
    if content is None:
        raise MissingError(name)
    suffix = f".{name.rpartition('.')[2]}"
    return Response(content, media_type=TYPES[suffix], headers={"cache-control": DAY})


def _is_api(request: Request) -> bool:
    return request.url.path.startswith("/api/")


def _problem(request: Request, status: int, title: str, problem: str) -> Response:
    if _is_api(request):
        return problem_response(status, title, problem)
    return page(request, "problem.html", status, title=title, problem=problem)


def _not_signed_in(request: Request, _: Exception) -> Response:
    if _is_api(request):
        return problem_response(401, "Not signed in", "send a token: Authorization: Bearer …")
    if "hx-request" in request.headers:
        return Response(status_code=401, headers={"hx-redirect": "/sign-in"})
    return RedirectResponse("/sign-in", 303)


def _not_allowed(request: Request, _: Exception) -> Response:
    said = translate("Only a steward may do this.")
    return _problem(request, 403, translate("Not allowed"), said)


def _missing(request: Request, error: Exception) -> Response:
    said = str(error.args[0]) if error.args else ""
    return _problem(request, 404, translate("Not found"), said)


def _conflict(request: Request, error: Exception) -> Response:
    return _problem(request, 409, translate("Changed meanwhile"), str(error))


def _wrong(request: Request, error: Exception) -> Response:
    return _problem(request, 422, translate("That did not work"), str(error))


def _too_large(request: Request, _: Exception) -> Response:
    said = translate("This is more than the server takes.")
    return _problem(request, 413, translate("Too large"), said)


def _invalid(request: Request, error: Exception) -> Response:
    if _is_api(request):
        return invalid(request, error)
    return _problem(request, 404, translate("Not found"), translate("There is no such page."))


def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _problem(request, error.status_code, str(error.detail), str(error.detail))


def _failed(request: Request, error: Exception) -> Response:
    """The answer to an unexpected error: its details go to the server's log, not on the page."""
    said = translate("Something went wrong in the server. Its log says what.")
    return _problem(request, 500, translate("A fault"), said)


def bound(host: str, port: int) -> socket:
    """A socket that listens at `host` and `port`; a server starts nothing before it has one."""
    try:
        family = getaddrinfo(host, port, type=SOCK_STREAM)[0][0]
        return create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise WebError(
            f"cannot listen on port {port} of {host} ({error.strerror or error}): if another "
            "program is there, perhaps another discreet serve, stop it, or choose another port "
            "with --port"
        ) from None


def serve(settings: Settings, place: socket, house: House) -> None:
    """Answer requests on the socket until stopped."""
    import uvicorn

    config = uvicorn.Config(
        create_app(settings, house), server_header=False, access_log=False, log_level="warning"
    )
    server = uvicorn.Server(config)
    with suppress(KeyboardInterrupt):
        server.run(sockets=[place])
    if not server.started:
        raise WebError("the server could not begin: what it said above tells why")
