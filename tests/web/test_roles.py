"""Who may do what: every address there is, asked for by nobody and by an analyst."""

from __future__ import annotations

from starlette.testclient import TestClient

from discreet.web.house import House
from tests.web.conftest import HOST, Browser, routes
from tests.web.test_api import token

OPEN = {("GET", "/enter"), ("GET", "/sign-in"), ("POST", "/sign-in"), ("GET", "/language/{named}")}
"""For everybody."""

FOR_BOTH = {
    ("GET", "/"),
    ("POST", "/sign-out"),
    ("GET", "/jobs/{identity}/status"),
    ("POST", "/jobs/{identity}/cancel"),
    ("GET", "/budgets"),
    ("GET", "/budgets/plot"),
    ("GET", "/releases"),
    ("GET", "/releases/{identity}"),
    ("GET", "/releases/{identity}/bundle"),
    ("GET", "/releases/{identity}/files/{name}"),
    ("GET", "/sources"),
    ("GET", "/requests"),
    ("POST", "/requests"),
    ("GET", "/verify"),
    ("POST", "/verify"),
    ("GET", "/verify/{identity}/page"),
    ("GET", "/trust"),
    ("GET", "/account"),
    ("POST", "/account/tokens"),
    ("POST", "/account/password"),
    ("GET", "/api/v1/me"),
    ("GET", "/api/v1/mechanisms"),
    ("GET", "/api/v1/jobs/{identity}"),
    ("DELETE", "/api/v1/jobs/{identity}"),
    ("GET", "/api/v1/releases"),
    ("GET", "/api/v1/releases/{identity}"),
    ("GET", "/api/v1/releases/{identity}/files/{name}"),
    ("POST", "/api/v1/certificates"),
    ("GET", "/api/v1/budgets"),
    ("GET", "/api/v1/budgets/history"),
    ("GET", "/api/v1/offers"),
    ("GET", "/api/v1/requests"),
    ("POST", "/api/v1/requests"),
}
"""For analysts too; a new address is for stewards until it is entered here."""


def filled(path: str) -> str:
    return path.replace("{identity}", "0" * 32).replace("{name}", "x").replace("{named}", "de")


def test_nobody_reaches_anything(steward: Browser) -> None:
    nobody = TestClient(steward.client.app, HOST)
    for method, path in routes():
        answer = nobody.request(method, filled(path), follow_redirects=False)
        if (method, path) in OPEN:
            assert answer.status_code < 500, path
        elif path.startswith("/api/"):
            assert answer.status_code == 401, (method, path)
            assert answer.headers["content-type"] == "application/problem+json"
        else:
            where = answer.headers.get("location")
            assert (answer.status_code, where) == (303, "/sign-in"), (method, path)


def test_an_analyst_reaches_what_is_for_analysts(analyst: Browser, house: House) -> None:
    program = TestClient(
        analyst.client.app,
        HOST,
        headers={"authorization": f"Bearer {token(house, 'Bo', 'analyst')}"},
    )
    csrf = analyst.csrf
    refused = 0
    for method, path in routes():
        if (method, path) in {*OPEN, *FOR_BOTH}:
            continue
        client = program if path.startswith("/api/") else analyst.client
        data = {"csrf": csrf} if method == "POST" and client is analyst.client else None
        answer = client.request(method, filled(path), data=data, follow_redirects=False)
        assert answer.status_code == 403, (method, path, answer.status_code)
        refused += 1
    assert refused > 40


def test_an_analyst_may_bring_little(analyst: Browser, house: House) -> None:
    large = {"log": ("a.csv", b"x" * (2 << 20))}
    answer = analyst.client.post("/logs", files=large)
    assert answer.status_code == 413, "only stewards bring logs"
    analyst.post("/verify", 422, files={"files": ("a.exe", b"x")})
    assert not list(house.settings.uploads.iterdir())
