"""One server for a folder, a port and a database, and one ledger for a folder."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest
from starlette.testclient import TestClient

from discreet.ledger.location import locate
from discreet.web.app import create_app
from discreet.web.choosing import chosen
from discreet.web.database import Database
from discreet.web.house import House
from discreet.web.once import Once
from discreet.web.settings import Settings, WebError
from tests.ledger.postgres import programs, temporary_server
from tests.web.conftest import HOST, TESTER, settled
from tests.web.test_api import token
from tests.web.test_killed import PATIENCE, answers, awaited, started


def served(settings: Settings, port: int, *options: str) -> tuple[int, str]:
    """How `discreet serve` ends that cannot begin, and what it says."""
    given = ["--port", str(port), "--folder", str(settings.folder), *options]
    over = subprocess.run(
        [sys.executable, "-m", "discreet.cli", "serve", *given],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env={**os.environ, "DISCREET_LEDGER": str(settings.ledger.file)},
    )
    return over.returncode, " ".join(over.stderr.split())


@contextmanager
def taken() -> Iterator[int]:
    """A port on which somebody else listens."""
    with socket.create_server(("127.0.0.1", 0)) as busy:
        yield int(busy.getsockname()[1])


def free() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def everything(folder: Path) -> dict[str, bytes]:
    """All files but those that SQLite writes by itself."""
    files = (path for path in folder.rglob("*") if path.is_file() and "web.db" not in path.name)
    return {str(path): path.read_bytes() for path in files}


def test_a_second_server_touches_nothing_of_the_first(settings: Settings) -> None:
    """Uploads, jobs and what is at work stay; the second says what to do and ends with 2."""
    before = House(settings)
    headers = {"authorization": f"Bearer {token(before)}"}
    before.stop()
    server, address = started(settings)
    try:
        with httpx2.Client(base_url=address, headers=headers, timeout=PATIENCE) as client:
            awaited(lambda: answers(client), "an answer")
            lines = b"case,activity,timestamp\n1,a,2024-01-01T00:00:00Z\n"
            upload = client.post("/logs", files={"file": ("x.csv", lines)}).json()
            awaited(
                lambda: client.get(f"/jobs/{upload['job']}").json()["state"] == "done", "a look"
            )
            kept = everything(settings.folder)
            assert any(name.endswith("log.csv") for name in kept)
            for port in (free(), int(address.partition("localhost:")[2].partition("/")[0])):
                status, said = served(settings, port)
                assert status == 2, said
                assert "--folder" in said or "--port" in said
                assert everything(settings.folder) == kept
            found = client.get(f"/jobs/{upload['job']}").json()
            assert (found["state"], found["result"]["facts"]["cases"]) == ("done", 1)
            status, said = served(settings, free())
            assert f"another discreet serve (process {server.pid}) works in" in said
    finally:
        server.send_signal(signal.SIGINT)
        assert server.wait(PATIENCE) == 0


def test_a_port_that_is_taken_is_said_before_anything_is_made(settings: Settings) -> None:
    with taken() as port:
        status, said = served(settings, port)
    assert (status, settings.folder.exists()) == (2, False)
    assert f"cannot listen on port {port}" in said
    assert "--port" in said
    assert "Traceback" not in said


def test_a_folder_is_free_again_when_its_server_has_ended(settings: Settings) -> None:
    first = House(settings)
    (settings.uploads / "raw").mkdir()
    with pytest.raises(WebError, match="another discreet serve"):
        House(settings)
    assert (settings.uploads / "raw").is_dir()
    first.stop()
    second = House(settings)
    (settings.uploads / "raw").mkdir()
    first.stop()
    assert (settings.uploads / "raw").is_dir(), "what ended twice deletes nothing of the next"
    second.stop()


def test_a_database_has_one_server(settings: Settings) -> None:
    if programs() is None:
        pytest.skip("PostgreSQL is not installed here (Debian: apt-get install postgresql)")
    with temporary_server() as url:
        place = replace(settings, database=url)
        first = Database(place)
        with pytest.raises(WebError, match="another discreet serve uses this database"):
            Database(place)
        first.close()
        Database(place).close()


def test_another_kind_of_database_is_refused(settings: Settings, tmp_path: Path) -> None:
    status, said = served(settings, free(), "--database", str(tmp_path / "x.db"))
    assert status == 2
    assert "--database takes the URL of a PostgreSQL" in said


def test_a_folder_keeps_to_its_ledger(settings: Settings, tmp_path: Path) -> None:
    """With another ledger all budgets would be full again; so with none."""
    house = House(settings)
    house.budgets.set("test", "town", {"epsilon": "3", "delta": "1e-5"})
    log = house.logs.choose("test", "permits.csv")
    choice = chosen({"mechanism": "travas", "parameters": {"epsilon": 1}})
    house.release(log, choice, person=TESTER, source="town", purpose="x", once=Once("x", ""))
    house.stop()
    other = replace(settings, ledger=locate(tmp_path / "other.db"))
    with pytest.raises(WebError, match="was booked on another ledger"):
        House(other)
    assert settings.ledger.file is not None
    House(settings).stop()
    copy = replace(settings, ledger=locate(tmp_path / "moved.db"))
    settings.ledger.file.rename(tmp_path / "moved.db")
    House(copy).stop()
    status, said = served(settings, free())
    assert (status, "DISCREET_LEDGER" in said) == (2, True), said


def test_a_folder_of_an_earlier_version_is_known_by_an_entry(
    settings: Settings, tmp_path: Path
) -> None:
    house = House(settings)
    with TestClient(create_app(settings, house), HOST):
        house.budgets.set("test", "town", {"epsilon": "3", "delta": "1e-5"})
        log = house.logs.choose("test", "permits.csv")
        choice = chosen({"mechanism": "travas", "parameters": {"epsilon": 1}})
        job = house.release(
            log, choice, person=TESTER, source="town", purpose="x", once=Once("x", "")
        )
        assert settled(house, job).state == "done"
        with house.database.writing() as connection:
            connection.exec_driver_sql("DELETE FROM web_ledger")
    other = replace(settings, ledger=locate(tmp_path / "other.db"))
    with pytest.raises(WebError, match="another ledger"):
        House(other)
    House(settings).stop()
