"""A server in the test's own process, with a sample log and people."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from fastapi.routing import APIRoute
from starlette.testclient import TestClient

from discreet.ledger.location import locate
from discreet.log.samples import sample_log
from discreet.log.writing import write_log
from discreet.web import api
from discreet.web.app import create_app
from discreet.web.house import House
from discreet.web.pages import shared
from discreet.web.pages import steward as stewards
from discreet.web.people import Person
from discreet.web.settings import Settings

HOST = "http://localhost"
TESTER = Person("7" * 32, "test", "steward")
PASSWORD = "correct horse battery"
RHYTHM = 0.01
"""Seconds; work on raw data shows to analysts when so many are full."""
SECRET = "Zyzzyx-Geheim-4711"
"""An activity of the log that no analyst may ever read."""


@dataclass
class Browser:
    """Somebody with a browser, who sends forms as pages offer them."""

    client: TestClient

    def get(self, where: str, status: int = 200, /, **headers: str) -> str:
        answer = self.client.get(where, headers=headers)
        assert answer.status_code == status, (where, answer.status_code, answer.text[:2000])
        return answer.text

    @property
    def csrf(self) -> str:
        found = re.search(r'name="csrf" value="([^"]*)"', self.get("/verify"))
        assert found is not None
        return found[1]

    def post(self, where: str, status: int = 303, /, *, files: Any = None, **fields: Any) -> str:
        """Send a form; where it leads, or the page that says what is wrong."""
        data = {"csrf": self.csrf, **fields}
        answer = self.client.post(where, data=data, files=files, follow_redirects=False)
        assert answer.status_code == status, (where, answer.status_code, answer.text[:2000])
        return answer.headers["location"] if status == 303 else answer.text

    def sign_in(self, name: str, password: str = PASSWORD) -> None:
        answer = self.client.post("/sign-in", data={"name": name, "password": password})
        assert answer.status_code == 200, answer.text[:500]


def hidden_field(page: str, name: str) -> str:
    """What a form of a page sends along unseen; its first such field."""
    found = re.search(rf'name="{name}" value="([^"]*)"', page)
    assert found is not None, (name, page)
    return found[1]


def identity_of(house: House, name: str) -> str:
    """The identifier of who may come in by a name."""
    (found,) = [one.id for one in house.people.everybody() if one.name == name]
    return found


def settled(house: House, job: str, seconds: float = 600) -> Any:
    """A job when it is over."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = house.jobs.get(job)
        if found.over:
            time.sleep(2 * RHYTHM)  # until whoever asked is told
            return found
        time.sleep(0.05)
    raise AssertionError(f"{found.kind} is not over: {found}")


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Jobs that start meanwhile wait until this ends, or until they are killed.

    Each opens a pipe to which nobody writes, before Python starts; whoever ends by whatever means
    closes it.
    """
    gate, python = folder / "gate", folder / "python"
    os.mkfifo(gate)
    waiting = f'{{ read -r line < "{gate}"; }} 2> /dev/null'
    python.write_text(f'#!/bin/sh\n{waiting}\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o700)
    opened = os.open(gate, os.O_RDWR)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "executable", str(python))
        try:
            yield
        finally:
            gate.unlink()
            os.close(opened)


def routes() -> list[tuple[str, str]]:
    """Every address and method, from the routers themselves."""
    found = []
    for router in (stewards.router, shared.router, api.router):
        for route in router.routes:
            assert isinstance(route, APIRoute)
            found += [(method, route.path) for method in sorted(route.methods or ())]
    assert len(found) > 60
    return found


@pytest.fixture(scope="session")
def logs_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a log in which one activity is a secret."""
    folder = tmp_path_factory.mktemp("logs")
    log = sample_log("permits", cases=400, seed=1)
    write_log(log, folder / "permits.csv")
    lines = (folder / "permits.csv").read_text(encoding="utf-8").splitlines()
    rare = [lines[1].replace(lines[1].split(",")[1], SECRET)]
    (folder / "permits.csv").write_text("\n".join([lines[0], *rare, *lines[2:], ""]), "utf-8")
    begin = datetime(2024, 1, 1)
    lake = pl.DataFrame(
        {
            "patient": [f"p{case}" for case in range(60) for _ in range(2)],
            "what": ["enter", "leave"] * 60,
            "when": [begin + timedelta(hours=hour) for hour in range(120)],
            "ward": ["A", "B"] * 60,
            "age": [30 + case // 2 for case in range(120)],
        }
    )
    (folder / "lake").mkdir()
    for part in range(2):
        lake[60 * part : 60 * (part + 1)].write_parquet(folder / "lake" / f"{part}.parquet")
    (folder / "elsewhere").symlink_to(folder / "lake")
    return folder


@pytest.fixture
def settings(tmp_path: Path, logs_folder: Path) -> Settings:
    return Settings(
        folder=tmp_path / "web",
        logs=logs_folder,
        ledger=locate(tmp_path / "ledger.db"),
        hosts=("localhost", "127.0.0.1"),
        rhythm=RHYTHM,
        seconds=600,
    )


@pytest.fixture
def house(settings: Settings) -> Iterator[House]:
    made = House(settings)
    yield made
    made.stop()


@pytest.fixture
def steward(settings: Settings, house: House) -> Iterator[Browser]:
    """The server, opened by its link."""
    with TestClient(create_app(settings, house), HOST) as client:
        client.get(f"/enter?key={house.people.fresh_link()}")
        yield Browser(client)


@pytest.fixture
def analyst(steward: Browser, house: House) -> Browser:
    """Another browser at the same server, of an analyst."""
    house.people.add("test", "Ana", "analyst", PASSWORD)
    other = Browser(TestClient(steward.client.app, HOST))
    other.sign_in("Ana")
    return other
