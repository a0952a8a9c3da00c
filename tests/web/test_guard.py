"""Who comes in, what every answer carries, and what is refused at the door."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from discreet.web.app import create_app
from discreet.web.guard import SESSION
from discreet.web.house import House
from discreet.web.people import TRIES
from discreet.web.settings import Settings
from tests.web.conftest import HOST, PASSWORD, Browser, identity_of

HOSTILE = "<img src=x onerror=alert(1)>\"'.csv"


def test_the_link_works_once(steward: Browser, house: House) -> None:
    link = house.people.fresh_link()
    other = TestClient(steward.client.app, HOST)
    for wrong in ("wrong", "%C3%A9", ""):
        assert other.get(f"/enter?key={wrong}").status_code == 403
    assert other.get("/enter?key=%00").status_code == 400
    assert other.get(f"/enter?key={link}").status_code == 200
    assert TestClient(steward.client.app, HOST).get(f"/enter?key={link}").status_code == 403


def test_nothing_is_shown_to_nobody(steward: Browser, house: House) -> None:
    nobody = TestClient(steward.client.app, HOST)
    for where in ("/", "/budgets", "/releases", "/verify", "/people", "/trail", "/logs/x/look"):
        answer = nobody.get(where, follow_redirects=False)
        assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in"), where
    answer = nobody.get("/api/v1/logs")
    assert answer.status_code == 401
    assert answer.headers["content-type"] == "application/problem+json"
    assert nobody.post("/logs", files={"log": ("a.csv", b"x")}).status_code in (303, 200)
    assert not house.logs.all()


def test_every_answer_is_fenced_in(steward: Browser) -> None:
    for where in ("/", "/trust", "/static/style.css", "/nowhere", "/api/v1/openapi.json"):
        headers = steward.client.get(where).headers
        policy = headers["content-security-policy"]
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"
    assert steward.client.get("/").headers["cache-control"] == "no-store"


def test_pages_have_no_inline_script_or_style() -> None:
    import discreet.web

    for path in Path(discreet.web.__file__).parent.glob("templates/*.html"):
        text = path.read_text("utf-8")
        assert " style=" not in text, path
        assert "<script" not in text.replace('<script src="/static/htmx.min.js" defer>', ""), path
        assert not re.search(r"\son[a-z]+=", text), path
        assert "//" not in text.replace("http-equiv", ""), f"{path}: another host"


def test_the_script_is_the_one_that_was_published() -> None:
    """htmx 2.0.11 as its registry has it."""
    import discreet.web

    script = Path(discreet.web.__file__).parent / "static" / "htmx.min.js"
    digest = hashlib.sha256(script.read_bytes()).hexdigest()
    assert digest == "d6fdc75f204e6bdefa99b69bf1e6d4ac69b8a364f77929f45c13476b4000f717"


def test_a_foreign_name_is_refused(steward: Browser) -> None:
    for host in ("evil.example", "127.0.0.1.evil.example", ""):
        assert steward.client.get("/", headers={"host": host}).status_code == 421


def test_a_form_of_another_site_or_session_is_refused(steward: Browser, house: House) -> None:
    form = {"csrf": steward.csrf, "name": "permits.csv"}
    for headers in (
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ):
        answer = steward.client.post("/logs/chosen", data=form, headers=headers)
        assert answer.status_code == 403
    for wrong in ("x", "é", ""):
        answer = steward.client.post("/logs/chosen", data={"csrf": wrong, "name": "permits.csv"})
        assert answer.status_code == 422
    assert not house.logs.all()


def test_cookies_are_out_of_reach(settings: Settings, tmp_path: Path) -> None:
    secure = Settings(
        folder=tmp_path / "secure", ledger=settings.ledger, hosts=("localhost",), secure=True
    )
    house = House(secure)
    with TestClient(create_app(secure, house), "https://localhost") as client:
        answer = client.get(f"/enter?key={house.people.fresh_link()}", follow_redirects=False)
    said = answer.headers["set-cookie"].lower()
    assert SESSION in said
    for word in ("httponly", "samesite=lax", "secure"):
        assert word in said
    assert "strict-transport-security" in answer.headers


def test_passwords(steward: Browser, house: House) -> None:
    with pytest.raises(ValueError, match="at least 10"):
        house.people.add("test", "Bo", "analyst", "short")
    steward.post("/people", name="Bo", role="steward", password=PASSWORD)
    other = TestClient(steward.client.app, HOST)
    for _ in range(TRIES):
        answer = other.post("/sign-in", data={"name": "Bo", "password": "wrong wrong wrong"})
        assert answer.status_code == 403
        assert "Wrong name or password" in answer.text
    answer = other.post("/sign-in", data={"name": "Bo", "password": PASSWORD})
    assert "Too many wrong passwords" in answer.text
    assert steward.post("/people", remove=identity_of(house, "Bo")) == "/people"


def test_a_removed_person_is_out_at_once(steward: Browser, analyst: Browser, house: House) -> None:
    analyst.get("/sources")
    steward.post("/people", remove=identity_of(house, "Ana"))
    assert analyst.client.get("/sources", follow_redirects=False).status_code == 303


def test_large_bodies_are_refused_before_they_are_kept(steward: Browser, house: House) -> None:
    object.__setattr__(house.settings, "upload", 3 << 20)
    large = b"x" * (4 << 20)
    csrf = steward.csrf
    answer = steward.client.post("/logs", data={"csrf": csrf}, files={"log": ("a.csv", large)})
    assert answer.status_code == 413

    def chunks() -> Iterator[bytes]:
        yield from (large[: 1 << 20] for _ in range(4))

    answer = steward.client.post(
        "/logs", content=chunks(), headers={"content-type": "multipart/form-data; boundary=x"}
    )
    assert answer.status_code in (400, 413)
    answer = steward.client.post("/people", content=b"a" * (2 << 20))
    assert answer.status_code == 413
    assert not list(house.settings.uploads.iterdir())


def test_hostile_names_stay_text(steward: Browser, house: House) -> None:
    content = b"case,activity,timestamp\n1,a,2020-01-01T00:00:00Z\n"
    for name in (f"../../{HOSTILE}", "..\\..\\evil.csv"):
        steward.post("/logs", files={"log": (name, content)})
    kept = [path for path in house.settings.uploads.rglob("*") if path.is_file()]
    assert {path.name for path in kept} == {"log.csv"}
    assert {path.parent.parent for path in kept} == {house.settings.uploads}
    assert all(path.stat().st_mode & 0o077 == 0 for path in kept)
    assert house.settings.folder.stat().st_mode & 0o077 == 0
    page = steward.get("/")
    assert "<img" not in page
    assert "&lt;img src=x onerror=alert(1)&gt;" in page
    steward.post("/logs", 422, files={"log": ("log.exe", b"x")})
    steward.post("/logs/chosen", 422, name="../web/web.db")


def test_languages(steward: Browser) -> None:
    assert 'lang="de"' in steward.get("/", **{"accept-language": "de-CH, en;q=0.5"})
    assert "Ein Log bringen" in steward.get("/", **{"accept-language": "de"})
    where = steward.client.get("/language/de?back=//evil.example", follow_redirects=False)
    assert where.headers["location"] == "/"
    assert "Ein Log bringen" in steward.get("/")
