"""People: told apart by identifiers, kept from each other, and never without a steward."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from discreet.web.house import House
from discreet.web.pages.shared import local_name
from discreet.web.people import TRIES, Person, SignInError
from discreet.web.settings import WebError
from tests.web.conftest import HOST, PASSWORD, TESTER, Browser, identity_of, settled
from tests.web.test_analyst_way import ask, offered

WRONG = "wrong wrong wrong"


def let_in(steward: Browser, house: House, name: str, role: str = "analyst") -> Browser:
    """A browser of somebody new."""
    steward.post("/people", name=name, role=role, password=PASSWORD)
    browser = Browser(TestClient(steward.client.app, HOST))
    browser.sign_in(name)
    return browser


def person(house: House, name: str) -> Person:
    found = house.people.get(identity_of(house, name))
    assert found is not None
    return found


def test_who_gets_a_name_again_gets_nothing_else_of_it(steward: Browser, house: House) -> None:
    """Releases, requests, checks, purposes and the share without asking stay with the first."""
    offered(steward, house, "1", "1e-6")
    first = let_in(steward, house, "mara")
    ask(first, house, "1.0")
    (request,) = house.asking.all()
    job = settled(house, request.job)
    assert job.state == "done", job.problem
    bundle = f"/releases/{job.id}/bundle"
    assert first.client.get(bundle).status_code == 200
    sent = {"files": ("x.csv.certificate.json", b"{}")}
    checked = first.post("/verify", files=sent)
    settled(house, checked.partition("job=")[2])
    assert "to learn" in first.get("/budgets?source=town")
    before = identity_of(house, "mara")
    steward.post("/people", remove=before)
    second = let_in(steward, house, "mara")
    assert identity_of(house, "mara") != before
    for where in (f"/releases/{job.id}", bundle, f"/releases/{job.id}/files/town.csv", checked):
        assert second.client.get(where).status_code == 404, where
    assert job.id not in second.get("/releases")
    for where in ("/requests", "/budgets?source=town"):
        assert "to learn" not in second.get(where)
    token = house.people.fresh_token(person(house, "mara"), "test")
    program = TestClient(steward.client.app, HOST, headers={"authorization": f"Bearer {token}"})
    assert program.get("/api/v1/releases").json() == program.get("/api/v1/requests").json() == []
    history = program.get("/api/v1/budgets/history?source=town").json()
    assert {row["purpose"] for row in history} == {""}
    ask(second, house, "1.0")
    assert house.asking.all()[0].state == "at once", "the first one's spending is not the second's"
    assert steward.client.get(bundle).status_code == 200


def test_a_name_that_is_here_keeps_its_password(steward: Browser, house: House) -> None:
    """In every spelling: with spaces around it, and with an accent of its own."""
    for name, again in (("Bo", " Bo "), ("Bo\u0301", "B\u00f3")):
        form = {"name": name, "role": "analyst", "password": PASSWORD}
        steward.post("/people", **form)
        other = {**form, "name": again, "role": "steward", "password": "another password"}
        assert "is here already" in steward.post("/people", 422, **other)
        assert house.people.sign_in(again, PASSWORD).session
        with pytest.raises(SignInError):
            house.people.sign_in(name, "another password")
    assert [one.steward for one in house.people.everybody() if one.name != local_name()] == [
        False,
        False,
    ]


def test_a_password_or_role_is_changed_on_purpose(steward: Browser, house: House) -> None:
    bo = let_in(steward, house, "Bo")
    where = {"change": identity_of(house, "Bo")}
    steward.post("/people", **where, role="steward", password="")
    assert bo.client.get("/verify", follow_redirects=False).status_code == 303, "signed out"
    bo.sign_in("Bo")
    assert "Trail" in bo.get("/")
    assert "Choose a role" in steward.post("/people", 422, **where, role="king", password="")
    steward.post("/people", **where, role="analyst", password="another password")
    bo.sign_in("Bo", "another password")
    assert "Trail" not in bo.get("/sources")
    assert "changed a person" in steward.get("/trail")


def test_nobody_demotes_themselves_and_no_two_each_other(steward: Browser, house: House) -> None:
    stu, bo = (let_in(steward, house, name, "steward") for name in ("Stu", "Bo"))
    own = identity_of(house, "Stu")
    form = {"change": own, "role": "analyst", "password": ""}
    assert "Nobody changes themselves" in stu.post("/people", 422, **form)
    assert "Nobody can remove themselves" in stu.post("/people", 422, remove=own)
    again = {"name": "Stu", "role": "analyst", "password": PASSWORD}
    assert "is here already" in stu.post("/people", 422, **again)
    both = [person(house, name) for name in ("Stu", "Bo")]
    house.people.change(both[0], both[1].id, "analyst")
    with pytest.raises(WebError, match="Only a steward"):
        house.people.change(both[1], both[0].id, "analyst")
    with pytest.raises(WebError, match="Only a steward"):
        house.people.remove(both[1], both[0].id)
    assert person(house, "Stu").steward
    assert bo.client.get("/people", follow_redirects=False).status_code == 303


def test_wrong_passwords_keep_nobody_else_out(steward: Browser, house: House) -> None:
    """All of one address; a name is still guessed at most five times in five minutes."""
    for name in ("Stu", "Ana"):
        house.people.add("test", name, "analyst", PASSWORD)
    home = TestClient(steward.client.app, HOST)
    assert home.post("/sign-in", data={"name": "Ana", "password": PASSWORD}).status_code == 200
    guesser = TestClient(steward.client.app, HOST)
    for number in range(60):
        name = "Ana" if number < TRIES else f"nobody {number}"
        answer = guesser.post("/sign-in", data={"name": name, "password": WRONG})
        assert "Wrong name or password" in answer.text
    right = {"name": "Ana", "password": PASSWORD}
    assert "Too many wrong passwords" in guesser.post("/sign-in", data=right).text
    Browser(TestClient(steward.client.app, HOST)).sign_in("Stu")
    home.cookies.delete("discreet_session")
    assert home.post("/sign-in", data=right).url.path == "/sources", "where Ana was before"
    other = {"name": "Stu", "password": WRONG}
    for _ in range(TRIES):
        home.post("/sign-in", data=other)
    assert "Too many" in home.post("/sign-in", data={**other, "password": PASSWORD}).text
    for _ in range(TRIES):
        assert "Wrong name" in home.post("/sign-in", data={**right, "password": WRONG}).text
    assert "Too many" in home.post("/sign-in", data=right).text, "a known browser guesses no more"


def test_a_browser_is_known_by_our_word_alone_and_until_the_password_is_given_anew(
    house: House,
) -> None:
    house.people.add("test", "Ana", "analyst", PASSWORD)
    planted = house.people.sign_in("Ana", PASSWORD, "planted").browser
    assert planted != "planted"
    assert house.people.sign_in("Ana", PASSWORD, planted).browser == planted
    house.people.enter(house.people.fresh_link(), "root")
    house.people.change(
        person(house, "root"), identity_of(house, "Ana"), "analyst", "another password"
    )
    assert house.people.sign_in("Ana", "another password", planted).browser != planted


def test_the_link_brings_back_nobody_and_promotes_nobody(house: House) -> None:
    name = local_name()
    house.people.enter(house.people.fresh_link(), name)
    first = identity_of(house, name)
    house.people.enter(house.people.fresh_link(), name)
    assert identity_of(house, name) == first, "the same steward of this computer"
    house.people.add("test", "Stu", "steward", PASSWORD)
    house.people.remove(person(house, "Stu"), first)
    house.people.add("test", name, "analyst", PASSWORD)
    house.people.enter(house.people.fresh_link(), name)
    assert not person(house, name).steward
    assert person(house, f"{name} (link)").steward
    assert first not in [one.id for one in house.people.everybody()]
    assert TESTER.id not in [one.id for one in house.people.everybody()]
