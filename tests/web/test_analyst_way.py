"""The analyst's way, and that an analyst finds nothing of the steward's, wherever they look."""

from __future__ import annotations

import time
from dataclasses import replace

from starlette.testclient import TestClient

from discreet.ledger.ledger import Ledger
from discreet.web import database as tables
from discreet.web.guard import SESSION
from discreet.web.house import House
from discreet.web.people import Person
from tests.web.conftest import HOST, SECRET, Browser, hidden_field, routes, settled


def offered(steward: Browser, house: House, at_once: str = "1", at_once_delta: str = "2e-6") -> str:
    """A log with a choice, offered to analysts; its identifier."""
    log = steward.post("/logs/chosen", name="permits.csv").split("/")[2]
    steward.post(
        f"/logs/{log}/choose", what="variants", mechanism="travas", level="1.0", suffix=".csv"
    )
    page = steward.get(
        steward.post(f"/logs/{log}/budget", source="town", epsilon="3", delta="1e-5", unit="case")
    )
    limits = {"at_once": at_once, "at_once_delta": at_once_delta}
    seal = hidden_field(page, "seal")
    steward.post(f"/logs/{log}/offer", source="town", about="permits", seal=seal, **limits)
    return log


def ask(
    analyst: Browser, house: House, epsilon: str, status: int = 303, delta: str = "1e-6"
) -> str:
    offer = house.asking.offers()[0].id
    once = hidden_field(analyst.get("/sources"), "once")
    wanted = {"offer": offer, "epsilon": epsilon, "delta": delta, "purpose": "to learn"}
    return analyst.post("/requests", status, once=once, **wanted)


def test_within_the_limit_at_once_beyond_it_a_steward_decides(
    steward: Browser, analyst: Browser, house: House
) -> None:
    log = offered(steward, house)
    assert "permits" in analyst.get("/sources")
    assert analyst.client.get("/").url.path == "/sources"
    ask(analyst, house, "1.0")
    first = house.asking.all()[0]
    assert first.state == "at once"
    job = settled(house, first.job)
    assert job.state == "done", job.problem
    shown = analyst.get("/requests")
    assert f"/releases/{job.id}" in shown
    released = analyst.client.get(f"/releases/{job.id}/files/town.csv")
    assert released.status_code == 200
    assert SECRET not in released.text
    assert "What it is worth" not in analyst.get(f"/releases/{job.id}")

    ask(analyst, house, "0.3")
    waiting = house.asking.all()[0]
    assert (waiting.state, waiting.job) == ("waiting", None)
    assert 'class="count">1<' in steward.get("/requests")
    analyst.post(f"/requests/{waiting.id}/decide", 403, decision="approve")
    steward.post(f"/requests/{waiting.id}/decide", decision="refuse", answer="not now")
    assert "not now" in analyst.get("/requests")
    steward.post(f"/requests/{waiting.id}/decide", 422, decision="approve")

    ask(analyst, house, "1.0")
    second = house.asking.all()[0]
    seal = hidden_field(steward.get("/requests"), "seal")
    steward.post(f"/requests/{second.id}/decide", decision="approve", answer="", seal=seal)
    approved = house.jobs.get(house.asking.get(second.id).job)
    assert (approved.kind, approved.user) == ("release", "Ana")
    house.jobs.cancel(approved)
    assert "does not fit" in ask(analyst, house, "3.0", 422)
    with Ledger(house.settings.ledger) as ledger:
        users = [row["user"] for row in ledger.history("town") if row["kind"] == "release"]
    assert set(users) == {"Ana"}
    crawl(steward, analyst, house, log)


def crawl(steward: Browser, analyst: Browser, house: House, log: str) -> None:
    """Ask as an analyst for every page, with every identifier there is; read every answer."""
    looked = house.jobs.latest("look", log)
    assert looked is None, "nobody has looked yet"
    steward.get(f"/logs/{log}/look")
    looked = house.jobs.latest("look", log)
    assert looked is not None
    looked = settled(house, looked.id)
    assert SECRET in steward.get(f"/logs/{log}/columns")
    with house.database.reading() as connection:
        jobs = [row.id for row in connection.execute(tables.jobs.select())]
        offers = [row.id for row in connection.execute(tables.offers.select())]
        asked = [row.id for row in connection.execute(tables.requests.select())]
    identities = [log, *jobs, *offers, *asked]
    token = house.people.fresh_token(person(analyst, house), "crawl")
    program = TestClient(analyst.client.app, HOST, headers={"authorization": f"Bearer {token}"})
    raw = 0
    for method, path in routes():
        for identity in identities if "{identity}" in path else [""]:
            where = path.replace("{identity}", identity)
            for name in names(where, looked.result):
                full = where.replace("{name}", name)
                client = program if path.startswith("/api/") else analyst.client
                answer = client.request(method, full, follow_redirects=False)
                assert answer.status_code < 500, (method, full, answer.text[:500])
                assert SECRET not in answer.text, (method, full)
                raw += 1
    assert raw > 150
    kept = house.settings.folder.glob("web.db*")
    assert all(SECRET.encode() not in file.read_bytes() for file in kept), "raw in the database"
    assert analyst.client.get(f"/jobs/{looked.id}/status").status_code == 404
    assert program.get(f"/api/v1/jobs/{looked.id}").status_code == 404
    assert program.get("/api/v1/logs").status_code == 403


def person(analyst: Browser, house: House) -> Person:
    found = house.people.of_session(analyst.client.cookies[SESSION])
    assert found is not None
    return found


def names(where: str, result: dict[str, list[str]]) -> list[str]:
    if "{name}" not in where:
        return [""]
    return ["town.csv", "result.json", "..%2fresult.json", *result["maps"][:1], "mapping.toml"]


def test_work_shows_in_a_fixed_rhythm(steward: Browser, analyst: Browser, house: House) -> None:
    object.__setattr__(house.settings, "rhythm", 3600.0)
    offered(steward, house)
    ask(analyst, house, "1.0")
    request = house.asking.all()[0]
    house.jobs.cancel(house.jobs.get(request.job))
    assert "at work" in analyst.get("/requests"), "over, but not yet told"
    analyst.get(f"/releases/{request.job}", 404)
    over = replace(house.jobs.get(request.job), state="done")
    for asked, ended, seen in ((0, 1, "working"), (-1800, -100, "working"), (-3601, -100, "done")):
        moved = replace(over, asked=time.time() + asked, ended=time.time() + ended)
        assert house.asking.seen(request, moved) == seen
    failed = replace(over, state="failed", asked=time.time() - 7201, ended=time.time() - 3601)
    assert house.asking.seen(request, failed) == "failed"
