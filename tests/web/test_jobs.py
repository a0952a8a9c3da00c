"""Jobs: cancelled, too long, too large, killed, and left undone by a server that stopped."""

from __future__ import annotations

import gzip
import io
import os
import signal
import time
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from discreet.log.errors import LogError
from discreet.web.app import create_app
from discreet.web.choosing import chosen
from discreet.web.house import House
from discreet.web.logs import Log
from discreet.web.once import Once
from discreet.web.settings import Settings
from discreet.web.work.reading import check_unpacked
from tests.web.conftest import HOST, TESTER, Browser, held, settled


def running(house: House, job: str) -> int:
    """The process of a job, as soon as it runs."""
    end = time.monotonic() + 600
    while time.monotonic() < end:
        process = house.jobs._processes.get(job)
        if process is not None:
            return process.pid
        time.sleep(0.02)
    raise AssertionError("it does not run")


def brought(house: House) -> Log:
    return house.logs.upload("test", "x.csv", io.BytesIO(b"case,activity,timestamp\n"))


def test_a_job_is_cancelled_and_its_process_is_gone(
    steward: Browser, house: House, tmp_path: Path
) -> None:
    log = steward.post("/logs/chosen", name="permits.csv").split("/")[2]
    with held(tmp_path):
        steward.get(f"/logs/{log}/look")
        job = house.jobs.latest("look", log)
        assert job is not None
        pid = running(house, job.id)
        steward.post(f"/jobs/{job.id}/cancel", back="/")
        assert house.jobs.get(job.id).state == "cancelled"
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    page = steward.client.get(f"/jobs/{job.id}/status")
    assert page.headers["hx-refresh"] == "true"


def test_a_worker_that_is_killed_fails_and_says_what_was_spent(
    steward: Browser, house: House, tmp_path: Path
) -> None:
    log = house.logs.choose("test", "permits.csv")
    house.budgets.set("test", "town", {"epsilon": "3", "delta": "1e-5"})
    choice = chosen({"mechanism": "travas", "parameters": {"epsilon": 1}})
    with held(tmp_path):
        job = house.release(
            log, choice, person=TESTER, source="town", purpose="killed", once=Once("once", "")
        )
        os.kill(running(house, job), signal.SIGKILL)
        over = settled(house, job)
    assert over.state == "failed"
    assert "Nothing was spent." in over.problem
    assert house.release_of(job=job) is None


def test_a_job_that_takes_too_long_or_too_much_is_ended(settings: Settings, tmp_path: Path) -> None:
    small = Settings(
        folder=tmp_path / "small",
        logs=settings.logs,
        ledger=settings.ledger,
        hosts=("localhost",),
        seconds=0.3,
    )
    house = House(small)
    with held(tmp_path), TestClient(create_app(small, house), HOST):
        job = house.look(house.logs.choose("test", "permits.csv"), TESTER)
        over = settled(house, job.id)
    assert over.state == "failed"
    assert "was ended" in over.problem


def test_too_much_memory_is_refused_in_words(settings: Settings, tmp_path: Path) -> None:
    small = Settings(
        folder=tmp_path / "small",
        logs=settings.logs,
        ledger=settings.ledger,
        hosts=("localhost",),
        memory=150 << 20,
    )
    house = House(small)
    with TestClient(create_app(small, house), HOST):
        over = settled(house, house.look(house.logs.choose("test", "permits.csv"), TESTER).id)
    assert over.state == "failed"
    assert "memory" in over.problem or "Error" in over.problem


def test_a_small_file_that_unpacks_to_a_huge_one_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(b"0" * (8 << 20)))
    check_unpacked(path, 8 << 20)
    with pytest.raises(LogError, match="unpacks to more than"):
        check_unpacked(path, (8 << 20) - 1)
