"""A server that is killed in the middle of a release: no booking is lost, and no file is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
from starlette.testclient import TestClient

from discreet.ledger.ledger import Ledger
from discreet.log.samples import sample_log
from discreet.log.writing import write_log
from discreet.web.app import create_app
from discreet.web.house import House
from discreet.web.settings import Settings
from tests.ports import free_port
from tests.web.conftest import HOST
from tests.web.test_api import token

PATIENCE = 600.0


def awaited(found: Callable[[], Any], what: str) -> Any:
    """What is there as soon as it is there."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if value := found():
            return value
        time.sleep(0.01)
    raise AssertionError(f"{what} did not happen")


ENDLESS = """
import signal, sys
from pathlib import Path
from discreet.web.work.__main__ import main
from discreet.mechanisms.whole import Whole
Whole._draw = lambda *_: signal.pause()
main(Path(sys.argv[-1]))
"""
"""A worker whose draw never ends."""

SERVER = """
import sys
from discreet.cli import main
sys.executable, *sys.argv = sys.argv[1:]
main()
"""
"""`discreet`, whose workers another interpreter runs."""


def started(settings: Settings) -> tuple[subprocess.Popen[bytes], str]:
    """`discreet serve` in a process of its own, with workers that book and never end."""
    port = free_port()
    options = ["--port", str(port), "--folder", str(settings.folder), "--workers", "1"]
    endless = settings.folder.with_name("endless")
    endless.write_text(f"#!/bin/sh\nexec '{sys.executable}' -c '{ENDLESS}' \"$@\"\n")
    endless.chmod(0o700)
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(endless), "discreet", "serve", *options],
        stdout=subprocess.DEVNULL,
        env={**os.environ, "DISCREET_LEDGER": str(settings.ledger.file)},
    )
    return server, f"http://localhost:{port}/api/v1"


def children(server: int) -> list[int]:
    """The processes that a process has begun."""
    listed = Path(f"/proc/{server}/task").glob("*/children")
    return [int(child) for one in listed for child in one.read_text().split()]


def test_what_is_killed_loses_no_booking_and_leaves_no_file(
    settings: Settings, tmp_path: Path
) -> None:
    """A worker, then the server, each after a booking and before its draw ends."""
    before = House(settings)
    before.budgets.set("test", "town", {"epsilon": "3", "delta": "1e-5"})
    headers = {"authorization": f"Bearer {token(before)}"}
    before.stop()
    path = tmp_path / "hospital.csv"
    write_log(sample_log("hospital", cases=3000, seed=1), path)
    server, address = started(settings)
    with httpx2.Client(base_url=address, headers=headers, timeout=PATIENCE) as client:
        awaited(lambda: answers(client), "an answer")
        upload = client.post("/logs", files={"file": ("hospital.csv", path.read_bytes())})
        client.delete(f"/jobs/{upload.json()['job']}")
        asked = {
            "log": upload.json()["id"],
            "source": "town",
            "purpose": "a test",
            "choice": {"what": "log", "parameters": {"epsilon": 1, "delta": 1e-6}},
        }
        jobs = []
        for number in range(3):
            answer = client.post("/releases", json={**asked, "once": f"release {number}"})
            assert answer.status_code == 202, answer.text
            jobs.append(answer.json()["id"])
        awaited(lambda: len(booked(settings)) == 1, "a booking")
        (worker,) = children(server.pid)
        os.kill(worker, signal.SIGKILL)
        awaited(lambda: len(booked(settings)) == 2, "another booking")
        killed = client.get(f"/jobs/{jobs[0]}").json()
    assert killed["state"] == "failed"
    assert f"Entry {booked(settings)[0]} on town" in killed["problem"]
    workers = children(server.pid)
    server.send_signal(signal.SIGKILL)
    server.wait()
    assert workers
    awaited(lambda: not any(alive(pid) for pid in workers), "the end of the worker")
    assert list(settings.uploads.rglob("log.csv")), "a killed server cannot tidy up"
    (settings.releases / "half-moved").mkdir()

    after = House(settings)
    assert not list(settings.uploads.iterdir())
    assert not list(settings.jobs.iterdir())
    with TestClient(create_app(settings, after), HOST):
        found = [after.jobs.get(job) for job in jobs]
        assert [job.state for job in found] == ["failed"] * 3
        assert f"Entry {booked(settings)[1]} on town" in found[1].problem
        assert "stays spent" in found[1].problem
        assert "Nothing was spent." in found[2].problem
        assert not after.logs.all()
        assert not after.releases()
        assert not list(settings.releases.iterdir())
    with Ledger(settings.ledger) as ledger:
        assert ledger.account("town").releases == 2
        assert not ledger.verify()[1]
    assert not settings.uploads.exists()
    assert not settings.jobs.exists()


def answers(client: httpx2.Client) -> bool:
    """Whether the server is up."""
    try:
        return client.get("/me").status_code == 200
    except httpx2.ConnectError:
        return False


def booked(settings: Settings) -> list[int]:
    """The entries of releases."""
    with Ledger(settings.ledger) as ledger:
        rows = ledger.history("town")
    return [row["number"] for row in rows if row["kind"] == "release"]


def alive(pid: int) -> bool:
    """Whether it runs; one that ended and was not waited for does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
