"""What is confirmed is what happens, once: other tabs, other stewards, and forms sent twice."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from starlette.testclient import TestClient

from discreet.ledger.errors import LedgerError
from discreet.ledger.ledger import Ledger
from discreet.releasing.request import Request
from discreet.releasing.way import carry_out
from discreet.web.choosing import chosen
from discreet.web.house import House
from discreet.web.settings import Settings
from tests.web.conftest import HOST, PASSWORD, Browser, hidden_field
from tests.web.test_api import token


@pytest.fixture
def house(settings: Settings) -> Iterator[House]:
    """A server whose jobs all wait."""
    made = House(replace(settings, workers=0))
    yield made
    made.stop()


@pytest.fixture
def log(steward: Browser, house: House) -> str:
    """A log with a choice of ε = .1, and a source of ε = 3."""
    found = house.logs.choose("test", "permits.csv")
    parameters = {"epsilon": 0.1, "delta": 1e-6}
    house.logs.set_choice(found, chosen({"mechanism": "travas", "parameters": parameters}))
    house.budgets.set("test", "town", {"epsilon": "3", "delta": "1e-5"})
    return found.id


def choose(steward: Browser, log: str, level: str) -> None:
    steward.post(f"/logs/{log}/choose", what="variants", mechanism="travas", level=level)


def confirmed(steward: Browser, log: str) -> dict[str, str]:
    """The form of a page that shows what would be released."""
    page = steward.get(f"/logs/{log}/confirm?source=town")
    return {name: hidden_field(page, name) for name in ("seal", "once")} | {
        "source": "town",
        "purpose": "a test",
    }


def specs(house: House, kind: str = "release") -> list[dict[str, Any]]:
    return [job.spec for job in house.jobs._in_state("queued") if job.kind == kind]


def swapped(house: House) -> None:
    """The source counts replaced cases from now on, so everything costs twice as much."""
    terms = {"epsilon": "3", "delta": "1e-5", "neighbours": "swap"}
    house.budgets.set("test", "town", terms)


def test_what_another_tab_has_chosen_since_is_not_released(
    steward: Browser, house: House, log: str
) -> None:
    form = confirmed(steward, log)
    choose(steward, log, "3.0")
    page = steward.post(f"/logs/{log}/release", 409, **form)
    assert "somebody has changed what would be released" in page
    assert "Used afterwards: 100.0%" in page, "as it stands now"
    assert specs(house) == []
    steward.post(f"/logs/{log}/release", **confirmed(steward, log))
    assert [one["choice"]["parameters"]["epsilon"] for one in specs(house)] == [3.0]


def test_a_log_that_is_read_otherwise_since_is_not_released(
    steward: Browser, house: House, log: str
) -> None:
    form = confirmed(steward, log)
    steward.post(f"/logs/{log}/columns", case="case_id", activity="what")
    steward.post(f"/logs/{log}/release", 409, **form)
    assert specs(house) == []


def test_a_price_that_has_changed_since_is_not_paid(
    steward: Browser, house: House, log: str
) -> None:
    form = confirmed(steward, log)
    swapped(house)
    assert "what it costs" in steward.post(f"/logs/{log}/release", 409, **form)
    assert specs(house) == []


def test_a_price_that_changes_while_a_release_waits_is_not_paid(
    steward: Browser, house: House, log: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISCREET_LEDGER", str(house.settings.ledger))
    steward.post(f"/logs/{log}/release", **confirmed(steward, log))
    (spec,) = specs(house)
    asked = Request.from_dict(spec["request"])
    asked = replace(asked, output=None)
    assert carry_out(asked, until="afford").booking.outlook().startswith("it fits on town")
    swapped(house)
    with pytest.raises(LedgerError, match="would cost something else"):
        carry_out(asked, until="afford")


def test_a_form_sent_twice_releases_once_and_with_other_content_nothing(
    steward: Browser, house: House, log: str
) -> None:
    choose(steward, log, "3.0")
    form = confirmed(steward, log)
    first = steward.post(f"/logs/{log}/release", **form)
    choose(steward, log, "0.1")
    assert steward.post(f"/logs/{log}/release", **form) == first, "as it was asked for then"
    for other in ({"purpose": "another"}, {"seal": "0" * 64}):
        steward.post(f"/logs/{log}/release", 409, **{**form, **other})
    assert len(specs(house)) == 1


def test_what_is_offered_is_what_the_page_showed(steward: Browser, house: House, log: str) -> None:
    """And it stays that: an offer keeps how the log was read then."""
    page = steward.get(f"/logs/{log}/confirm?source=town")
    form = {"source": "town", "about": "permits", "at_once": "1", "at_once_delta": "1e-5"}
    choose(steward, log, "3.0")
    where = f"/logs/{log}/offer"
    steward.post(where, 409, **form, seal=hidden_field(page, "seal"))
    assert house.asking.offers() == []
    page = steward.get(f"/logs/{log}/confirm?source=town")
    steward.post(where, **form, seal=hidden_field(page, "seal"))
    reading = house.logs.get(log).reading
    steward.post(f"/logs/{log}/columns", case="another column", activity="what")
    ana = analyst(steward, house)
    ana.post("/requests", **wanted(ana, house))
    assert [one["reading"] for one in specs(house)] == [reading]


def analyst(steward: Browser, house: House) -> Browser:
    house.people.add("test", "Ana", "analyst", PASSWORD)
    ana = Browser(TestClient(steward.client.app, HOST))
    ana.sign_in("Ana")
    return ana


def wanted(ana: Browser, house: House, epsilon: str = "1.0") -> dict[str, str]:
    """A form by which an analyst asks."""
    once = hidden_field(ana.get("/sources"), "once")
    offer = house.asking.offers()[0].id
    return {"offer": offer, "once": once, "epsilon": epsilon, "delta": "1e-6", "purpose": "why"}


def offered(house: House, log: str, at_once: float = 1.0) -> None:
    house.asking.offer("test", "town", house.logs.get(log), "permits", at_once, 1e-5)


def test_a_request_sent_twice_is_one(steward: Browser, house: House, log: str) -> None:
    offered(house, log)
    ana = analyst(steward, house)
    form = wanted(ana, house)
    for _ in range(2):
        ana.post("/requests", **form)
    assert len(house.asking.all()) == len(specs(house)) == 1
    ana.post("/requests", 409, **{**form, "epsilon": "0.1"})
    ana.post("/requests", 422, **{**form, "once": ""})
    assert len(house.asking.all()) == 1
    house.asking.withdraw("test", form["offer"])
    ana.post("/requests", **form)


def test_an_approval_at_another_price_is_none(steward: Browser, house: House, log: str) -> None:
    offered(house, log, 0.0)
    ana = analyst(steward, house)
    ana.post("/requests", **wanted(ana, house))
    (request,) = house.asking.all()
    page = steward.get("/requests")
    assert "the budget is charged ε=1" in page.replace(" = ", "=")
    form = {"decision": "approve", "answer": "", "seal": hidden_field(page, "seal")}
    swapped(house)
    page = steward.post(f"/requests/{request.id}/decide", 409, **form)
    assert house.asking.get(request.id).state == "waiting"
    form["seal"] = hidden_field(page, "seal")
    steward.post(f"/requests/{request.id}/decide", **form)
    assert len(specs(house)) == 1
    assert "does not wait" in steward.post(f"/requests/{request.id}/decide", 422, **form)


def test_a_cap_that_another_steward_has_set_since_is_not_changed(
    steward: Browser, house: House, log: str
) -> None:
    page = steward.get("/budgets?source=town")
    form = {name: hidden_field(page, name) for name in ("of", "seen")}
    form |= {"source": "town", "epsilon": "4", "delta": "1e-5", "unit": "case", "raised": "yes"}
    lower = {"epsilon": "1", "delta": "1e-5"}
    house.budgets.set("Bo", "town", lower)
    page = steward.post("/budgets", 409, **form)
    assert "has a budget that this page did not show" in page
    assert house.budgets.of("town").account.cap.epsilon == 1
    form["seen"] = hidden_field(page, "seen")
    steward.post("/budgets", **form)
    assert house.budgets.of("town").account.cap.epsilon == 4
    steward.post("/budgets", **form)
    steward.post("/budgets", **{**form, "source": "another town"})
    where = f"/logs/{log}/budget"
    fresh = {"seen": "", "source": " town", "epsilon": "9", "delta": "1e-5", "raised": "yes"}
    assert "did not show" in steward.post(where, 409, **fresh)
    with Ledger(house.settings.ledger) as ledger:
        caps = [row["account"]["epsilon"] for row in ledger.history("town")]
    assert [float(cap) for cap in caps] == [3, 1, 4], "the same again is no other entry"


def test_programs_say_what_they_have_seen(steward: Browser, house: House, log: str) -> None:
    headers = {"authorization": f"Bearer {token(house)}"}
    client = TestClient(steward.client.app, HOST, headers=headers)
    choice = {"mechanism": "travas", "parameters": {"epsilon": 1.0, "delta": 1e-6}}
    asked = {"log": log, "source": "town", "purpose": "why", "once": "the first", "choice": choice}
    first = client.post("/api/v1/releases", json=asked)
    assert first.status_code == 202, first.text
    assert client.post("/api/v1/releases", json=asked).json() == first.json()
    answer = client.post("/api/v1/releases", json={**asked, "purpose": "another"})
    assert answer.status_code == 409
    assert "other content" in answer.json()["detail"]
    read = {"once": "the second", "reading": {"options": {"case": "another"}}}
    assert client.post("/api/v1/releases", json=asked | read).status_code == 409
    offer = {"log": log, "source": "town", "choice": choice}
    assert client.put("/api/v1/offers", json=offer).status_code == 409
    mine = {**choice, "parameters": {"epsilon": 0.1, "delta": 1e-6}, "what": "variants"}
    limits = {"at_once": 1.0, "at_once_delta": 1e-6}
    answer = client.put("/api/v1/offers", json={**offer, **limits, "choice": mine})
    assert answer.status_code == 200, answer.text
    wanted = {"offer": answer.json()[0]["id"], "epsilon": 0.1, "delta": 1e-6, "purpose": "why"}
    assert client.post("/api/v1/requests", json=wanted).status_code == 422, "no `once`"
    wanted["once"] = "the third"
    requests = [client.post("/api/v1/requests", json=wanted).json()["id"] for _ in range(2)]
    assert len(set(requests)) == 1
    assert client.post("/api/v1/requests", json={**wanted, "delta": 0.0}).status_code == 409
    cap = {"source": "town", "epsilon": 4, "delta": 1e-5, "raised": True}
    seen = {"seen": {"epsilon": 2, "delta": 1e-5}}
    assert client.put("/api/v1/budgets", json=cap | seen).status_code == 409
    seen["seen"]["epsilon"] = 3
    assert client.put("/api/v1/budgets", json=cap | seen).json()["cap"]["epsilon"] == 4
    assert json.dumps(specs(house)).count("the first") == 0


def test_a_delta_without_an_epsilon_is_spent_too(steward: Browser, house: House, log: str) -> None:
    """ε = .0001 with δ = 4e-6 three times would use a source up for everybody."""
    house.asking.offer("test", "town", house.logs.get(log), "permits", 1.0, 5e-6)
    ana = analyst(steward, house)
    for state in ("at once", "waiting"):
        ana.post("/requests", **{**wanted(ana, house, "0.0001"), "delta": "4e-6"})
        assert house.asking.all()[0].state == state
    ana.post("/requests", **{**wanted(ana, house, "0.1"), "delta": "1e-6"})
    assert house.asking.all()[0].state == "at once", "ε and δ to the last digit"
    ana.post("/requests", **{**wanted(ana, house, "0.1"), "delta": "1e-9"})
    assert house.asking.all()[0].state == "waiting", "the limit holds for an analyst in all"
    assert "δ = 5e-06" in ana.get("/sources").replace("0.000005", "5e-06")
    offered_none = {"source": "town", "about": "", "at_once": "1"}
    seal = hidden_field(steward.get(f"/logs/{log}/confirm?source=town"), "seal")
    for wrong in ("1", "-1e-9", "nan"):
        where = f"/logs/{log}/offer"
        steward.post(where, 422, **offered_none, at_once_delta=wrong, seal=seal)


def test_what_counts_is_what_the_budget_is_charged(
    steward: Browser, house: House, log: str
) -> None:
    swapped(house)
    offered(house, log, 1.0)
    ana = analyst(steward, house)
    ana.post("/requests", **wanted(ana, house, "1.0"))
    assert house.asking.all()[0].state == "waiting", "2 for whoever counts replaced cases"
    ana.post("/requests", **wanted(ana, house, "0.3"))
    assert house.asking.all()[0].state == "at once"
