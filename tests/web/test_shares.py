"""Nobody holds all that works: one worker for stewards, shares, and limits of checking."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace

import pytest
from starlette.testclient import TestClient

from discreet.web import guard, jobs
from discreet.web.app import create_app
from discreet.web.database import fresh_id
from discreet.web.house import House
from discreet.web.people import Person
from discreet.web.settings import Settings, WebError
from tests.web.conftest import HOST, TESTER, Browser, settled

ANA, BO = (Person(letter * 32, letter, "analyst") for letter in "ab")
STU = Person("5" * 32, "Stu", "steward")


@pytest.fixture
def waiting(settings: Settings) -> Iterator[House]:
    """A server of a team with three workers, none of whom has begun."""
    house = House(replace(settings, workers=3, team=True))
    yield house
    house.stop()


def add(house: House, kind: str, person: Person) -> str:
    return house.jobs.add(kind, person, {"file": str(house.settings.uploads / "x" / "y")})


def taken(house: House, kept: bool = False) -> str | None:
    job = house.jobs._next(kept)
    return None if job is None else job.id


def test_one_worker_is_kept_for_stewards(waiting: House) -> None:
    """Neither analysts' releases nor anybody's certificates reach it."""
    add(waiting, "release", ANA)
    add(waiting, "verify", STU)
    assert taken(waiting, kept=True) is None
    look = add(waiting, "look", STU)
    assert taken(waiting, kept=True) == look


def test_one_of_several_workers_is_kept_and_an_only_one_is_not(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[bool] = []
    monkeypatch.setattr(jobs.Jobs, "_work", lambda _, kept: begun.append(kept))
    for workers in (1, 3):
        house = House(replace(settings, workers=workers))
        house.start()
        house.stop()
    assert begun == [False, True, False, False]


def test_two_checks_do_not_hold_all_workers(waiting: House) -> None:
    for person in (ANA, BO, STU):
        add(waiting, "verify", person)
    assert taken(waiting) is not None
    assert taken(waiting) is not None
    assert taken(waiting, kept=True) is None, "the third worker waits for a steward"


def test_one_person_has_a_share_and_everybody_a_first_before_anybody_a_second(
    waiting: House,
) -> None:
    own = [add(waiting, "look", STU) for _ in range(4)]
    other = add(waiting, "look", TESTER)
    urgent = add(waiting, "release", STU)
    assert taken(waiting) == urgent, "what costs a budget first"
    assert taken(waiting) == other, "a first before another's second"
    assert taken(waiting) == own[0]
    assert taken(waiting) is None, "two of three workers are one person's share"
    waiting.jobs.cancel(waiting.jobs.get(urgent))
    assert taken(waiting) == own[1]


def test_of_those_who_wait_everybody_has_a_turn() -> None:
    """Also where nothing is at work yet."""
    waiting = [("a1", "a"), ("a2", "a"), ("a3", "a"), ("b1", "b"), ("b2", "b")]
    rows = [SimpleNamespace(id=i, person=who, rank=1, state="queued") for i, who in waiting]
    assert jobs.turns(rows, 2) == ["a1", "b1", "a2", "b2", "a3"]


def test_analysts_leave_room_in_the_queue(waiting: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "WAITING", 6)
    monkeypatch.setattr(jobs, "EACH", 2)
    for name in "cdef":
        person = Person(name * 32, "of one name", "analyst")
        if name in "cd":
            for _ in range(2):
                add(waiting, "verify", person)
        with pytest.raises(WebError, match="busy"):
            add(waiting, "verify", person)
    for _ in range(2):
        add(waiting, "look", STU)
    with pytest.raises(WebError, match="busy"):
        add(waiting, "look", STU)


def test_a_check_that_takes_too_long_is_ended(settings: Settings) -> None:
    """Of a file that never comes, so that no computer is quick enough."""
    house = House(replace(settings, verify_seconds=0.5))
    with TestClient(create_app(house.settings, house), HOST):
        folder = house.settings.uploads / fresh_id()
        folder.mkdir()
        os.mkfifo(folder / "file.csv")
        spec = {"file": str(folder / "file.csv"), "name": "file.csv"}
        over = settled(house, house.jobs.add("verify", TESTER, spec))
    assert over.state == "failed"
    assert "was ended" in over.problem


def test_a_file_to_be_checked_is_of_moderate_size_for_stewards_too(
    steward: Browser, house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "MODERATE", 2 << 20)
    large = b"x" * (3 << 20)
    sent = {"files": ("a.csv", large)}
    answer = steward.client.post("/verify", data={"csrf": steward.csrf}, files=sent)
    assert answer.status_code == 413
    assert not list(house.settings.uploads.iterdir())


def test_a_file_to_be_checked_unpacks_to_a_moderate_size(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: dict[str, str] = {}
    house = House(settings)
    monkeypatch.setattr(jobs.Jobs, "_finish", lambda _, job, __: told.update({job.kind: job.id}))
    identity = house.jobs.add("verify", TESTER, {"file": "/nowhere/x.csv", "name": "x"})
    house.jobs._run(house.jobs.get(identity))
    spec = (house.jobs.folder(identity) / "spec.json").read_text("utf-8")
    assert f'"unpacked": {1 << 30}' in spec
    assert told == {"verify": identity}
    house.stop()
