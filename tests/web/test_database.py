"""The server's tables in PostgreSQL: the same queue, taken by one worker each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from threading import Thread

import pytest

from discreet.web.database import Database
from discreet.web.jobs import Job, Jobs
from discreet.web.once import Once
from discreet.web.settings import Settings
from tests.ledger.postgres import programs, temporary_server
from tests.web.conftest import TESTER


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, settings: Settings) -> Iterator[Settings]:
    settings.folder.mkdir()
    if request.param == "sqlite":
        yield settings
        return
    if programs() is None:
        pytest.skip("PostgreSQL is not installed here (Debian: apt-get install postgresql)")
    with temporary_server() as url:
        yield replace(settings, database=url)


def test_each_job_is_taken_once_and_asked_for_once(place: Settings) -> None:
    database = Database(place)
    over: list[Job] = []
    jobs = Jobs(database, place, over.append)
    names = [jobs.add("verify", TESTER, {"file": "", "number": n}) for n in range(30)]
    once = Once("x", "")
    assert jobs.add("release", TESTER, {"source": "s"}, once=once) == jobs.add(
        "release", TESTER, {"source": "s"}, once=once
    )
    first = jobs._next()
    assert first is not None
    assert first.id not in names, "a release comes first"
    taken = [first.id]

    def take() -> None:
        while (job := jobs._next()) is not None:
            taken.append(job.id)

    threads = [Thread(target=take) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(taken) == len(set(taken)) == 31
    assert set(names) < set(taken)
    jobs.cancel(jobs.get(names[0]))
    assert jobs.get(names[0]).state == "cancelled"
    database.close()
