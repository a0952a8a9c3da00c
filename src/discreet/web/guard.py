"""The checks that every request passes before a page sees it: host, size, user and language.

It also adds headers to every answer that keep a browser from running, embedding or fetching
anything from elsewhere. Pages have no inline script or style at all.
"""

from __future__ import annotations

from collections.abc import Callable
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import urlsplit

from anyio.to_thread import run_sync
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.errors import DiscreetError
from discreet.language import LanguageError, language, speaking
from discreet.web.people import People, Person
from discreet.web.settings import Settings

SESSION = "discreet_session"
BROWSER = "discreet_browser"
LANGUAGE = "discreet_language"
# Tuned
SMALL = 1 << 20
"""Most bytes in the body of a request that brings no file."""

# Headers
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
STILL = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox"
"""Policy for pictures and the officer's page, which bring their own style and no script."""

HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}

# Paths
LOGS = ("/logs", "/api/v1/logs")
"""Paths to which stewards upload logs."""

CHECKED = ("/verify", "/api/v1/certificates")
"""Paths to which any user uploads a release to be checked."""

# Tuned
MODERATE = 1 << 28
"""Most bytes of an upload to be checked."""


class TooLargeError(DiscreetError):
    """The body of a request is larger than its limit."""


class Guard:
    """The outermost middleware of the app."""

    def __init__(self, app: ASGIApp, settings: Settings, people: Callable[[], People]) -> None:
        self.app, self.settings, self.people = app, settings, people

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        cookies = _cookies(headers)
        protected = self._protecting(send)
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            await refusal(scope, receive, protected)
            return
        person = await self._person(scope, headers, cookies)
        scope.setdefault("state", {})["person"] = person
        limit = self._limit(scope, person)
        if (length := headers.get("content-length", "0")).isdigit() and int(length) > limit:
            await _too_large(limit)(scope, receive, protected)
            return
        with speaking(_language(headers, cookies)):
            try:
                await self.app(scope, _limited(receive, limit), protected)
            except TooLargeError:
                await _too_large(limit)(scope, receive, protected)

    def _refusal(self, scope: Scope, headers: Headers) -> ASGIApp | None:
        """Refuse foreign host names (DNS rebinding) and forms sent by another site."""
        host = headers.get("host", "")
        name = host if host.endswith("]") else host.rpartition(":")[0] or host
        if name.lower() not in self.settings.hosts:
            return PlainTextResponse("unknown host\n", 421)
        if "\0" in scope["path"] or b"%00" in scope["query_string"]:
            return PlainTextResponse("an address has no NUL\n", 400)
        if scope["method"] in ("GET", "HEAD", "OPTIONS"):
            return None
        site, origin = headers.get("sec-fetch-site"), headers.get("origin")
        foreign = site not in (None, "same-origin", "none")
        foreign = foreign or (origin is not None and urlsplit(origin).netloc != host)
        return PlainTextResponse("sent by another site\n", 403) if foreign else None

    async def _person(
        self, scope: Scope, headers: Headers, cookies: dict[str, str]
    ) -> Person | None:
        """The user: pages go by the session's cookie, programs by a token, never the other way."""
        if scope["path"].startswith("/api/"):
            kind, _, token = headers.get("authorization", "").partition(" ")
            if kind.lower() != "bearer" or not token:
                return None
            return await run_sync(self.people().of_token, token.strip())
        if SESSION not in cookies or scope["path"].startswith("/static/"):
            return None
        return await run_sync(self.people().of_session, cookies[SESSION])

    def _limit(self, scope: Scope, person: Person | None) -> int:
        if person is None or scope["path"] not in (*LOGS, *CHECKED):
            return SMALL
        if scope["path"] in CHECKED:
            return min(self.settings.upload, MODERATE)
        return self.settings.upload if person.role == "steward" else SMALL

    def _protecting(self, send: Send) -> Send:
        async def protected(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                if self.settings.secure:
                    headers.setdefault("strict-transport-security", "max-age=31536000")
            await send(message)

        return protected


def _limited(receive: Receive, limit: int) -> Receive:
    """Count the bytes that arrive, whatever length was announced, and stop beyond the limit."""
    total = 0

    async def counted() -> Message:
        nonlocal total
        message = await receive()
        total += len(message.get("body", b""))
        if total > limit:
            raise TooLargeError
        return message

    return counted


def _too_large(limit: int) -> PlainTextResponse:
    return PlainTextResponse(f"more than {limit >> 20} MiB are not taken\n", 413)


def _cookies(headers: Headers) -> dict[str, str]:
    try:
        jar = SimpleCookie(headers.get("cookie", ""))
    except CookieError:
        return {}
    return {name: morsel.value for name, morsel in jar.items()}


def _language(headers: Headers, cookies: dict[str, str]) -> str:
    """The language chosen, else the browser's first that is supported, else the server's."""
    accepted = [part.partition(";")[0] for part in headers.get("accept-language", "").split(",")]
    for named in (cookies.get(LANGUAGE, ""), *accepted):
        try:
            if named:
                return language(named.strip()[:2].lower())
        except LanguageError:
            continue
    return language()


def cookie_options(settings: Settings) -> dict[str, Any]:
    """Options of every cookie: for this server only, out of reach of scripts."""
    return {"httponly": True, "samesite": "lax", "secure": settings.secure, "path": "/"}
