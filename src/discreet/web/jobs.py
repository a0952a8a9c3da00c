"""Jobs: everything that reads a log or a stranger's file, in processes that can be killed.

A job is a row (what to do, for whom, how it went) and a folder (`spec.json` in; `result.json`,
pictures and released files out). The row outlives the server; the folder, with everything read
from a log and all output of the process, is deleted with the log or when the server stops. Jobs
that were running or queued when the server stopped are marked as failed when it starts again, with
what the ledger says they spent.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Row, insert, select, update
from sqlalchemy.exc import IntegrityError

from discreet.language import language, translate
from discreet.ledger.errors import LedgerError
from discreet.web import database as tables
from discreet.web.database import Database, fresh_id
from discreet.web.once import Once
from discreet.web.people import Person
from discreet.web.settings import MissingError, Settings, WebError

RANKS = {"release": 0, "look": 1, "verify": 1, "try": 2, "measure": 2, "advise": 3}
"""Rank of each kind of job; lower ranks run sooner."""

KEPT = ("files", "entry", "summary")
"""Keys of a result that its row keeps: those about a release."""

# Tuned
WAITING, EACH = 400, 40
"""Most jobs that may be queued, in total and for one user; any more are refused."""

# States
UNDER_WAY = ("queued", "running")
"""States of a job that is not over."""

# Tuned
VERIFIED_UNPACKED = 1 << 30
"""Most bytes that a file may unpack to if only its certificate is checked."""


@dataclass(frozen=True)
class Job:
    """A job and its present state."""

    id: str
    kind: str
    log: str | None
    person: str | None
    """Identifier of the owner."""
    user: str
    """Name of the owner when the job was queued."""
    state: str
    asked: float
    ended: float | None
    spec: dict[str, Any]
    result: dict[str, Any]
    problem: str

    @property
    def over(self) -> bool:
        """Whether the job has ended."""
        return self.state not in UNDER_WAY


class Jobs:
    """The queue of jobs and its workers."""

    def __init__(self, database: Database, settings: Settings, done: Callable[[Job], None]) -> None:
        self.database, self.settings, self.done = database, settings, done
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._lock = threading.Lock()
        self._taking = threading.Lock()
        self._wake = threading.Condition()
        self._stopping = False
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Mark the jobs that the last server left unfinished as failed, and start the workers."""
        for job in self._in_state(*UNDER_WAY):
            problem = translate("The server was stopped during this job.")
            self._end(job, "failed", problem=f"{problem} {self.spent(job)}".strip())
        for number in range(self.settings.workers):
            kept = number == 0 and self.settings.workers > 1
            thread = threading.Thread(target=self._work, args=(kept,), daemon=True)
            thread.start()
            self._threads.append(thread)

    def stop(self) -> None:
        """Kill all processes and stop the workers."""
        self._stopping = True
        with self._lock:
            running = list(self._processes.values())
        for process in running:
            _kill(process)
        with self._wake:
            self._wake.notify_all()
        for thread in self._threads:
            thread.join(10)

    def add(
        self,
        kind: str,
        person: Person,
        spec: dict[str, Any],
        *,
        log: str | None = None,
        once: Once | None = None,
    ) -> str:
        """Queue a job and return its identifier; the same `once` again returns the first job's."""
        if once is not None and (found := self.known(once)) is not None:
            return found
        self._check_room(person)
        identity = fresh_id()
        spec = {**spec, "language": language()}
        try:
            with self.database.writing() as connection:
                connection.execute(
                    insert(tables.jobs).values(
                        id=identity,
                        kind=kind,
                        log=log,
                        person=person.id,
                        user=person.name,
                        steward=person.steward,
                        state="queued",
                        rank=RANKS[kind],
                        asked=time.time(),
                        spec=spec,
                        once=once and once.key,
                        content=once and once.content,
                    )
                )
        except IntegrityError:
            if once is None or (found := self.known(once)) is None:
                raise
            return found
        with self._wake:
            self._wake.notify_all()
        return identity

    def known(self, once: Once) -> str | None:
        """The job queued earlier with the same `once`; different content is a conflict."""
        with self.database.reading() as connection:
            row = once.earlier(connection, tables.jobs)
        return None if row is None else str(row.id)

    def _check_room(self, person: Person) -> None:
        """Refuse a job if the queue is full; analysts leave room for one steward's share."""
        queued = select(tables.jobs.c.person).where(tables.jobs.c.state == "queued")
        with self.database.reading() as connection:
            waiting = list(connection.execute(queued).scalars())
        most = WAITING if person.steward else WAITING - EACH
        if len(waiting) >= most or waiting.count(person.id) >= EACH:
            raise WebError(translate("The server is busy: try again in a minute."))

    def get(self, identity: str) -> Job:
        """The job with this identifier."""
        row = self.database.row(tables.jobs, identity)
        if row is None:
            raise MissingError(translate("There is no such job."))
        return self._job(row)

    def latest(self, kind: str, log: str, **matching: Any) -> Job | None:
        """The newest job of a kind on a log whose spec matches and whose files still exist."""
        with self.database.reading() as connection:
            rows = connection.execute(
                select(tables.jobs)
                .where(tables.jobs.c.kind == kind, tables.jobs.c.log == log)
                .order_by(tables.jobs.c.asked.desc())
            ).all()
        for row in rows:
            gone = row.state == "done" and not self.folder(row.id).is_dir()
            if not gone and all(row.spec.get(key) == value for key, value in matching.items()):
                return self._job(row)
        return None

    def cancel(self, job: Job) -> None:
        """Cancel a job; what it has spent stays spent."""
        changed = self._moved(job.id, UNDER_WAY, state="cancelled", ended=time.time())
        with self._lock:
            process = self._processes.get(job.id)
        if process is not None:
            _kill(process)
        if changed:
            self._note_spent(job)
            self.done(self.get(job.id))

    def forget(self, log: str) -> None:
        """Cancel the jobs on a log and delete their files."""
        with self.database.reading() as connection:
            rows = connection.execute(select(tables.jobs).where(tables.jobs.c.log == log)).all()
        for row in rows:
            if row.state in UNDER_WAY:
                self.cancel(self._job(row))
            shutil.rmtree(self.folder(row.id), ignore_errors=True)

    def folder(self, identity: str) -> Path:
        """The folder of a job's files."""
        return self.settings.jobs / identity

    def spent(self, job: Job) -> str:
        """A sentence on what a failed release spent, by the ledger; empty for other jobs."""
        if job.kind != "release":
            return ""
        entry = self.entry(job)
        if entry is None:
            return translate("Nothing was spent.")
        return translate(
            "Entry %(entry)s on %(source)s was booked before the noise was drawn and stays spent.",
            entry=entry,
            source=job.spec["source"],
        )

    def entry(self, job: Job) -> int | None:
        """The number of the entry that pays for a release: entries name the job they pay for."""
        from discreet.ledger.ledger import Ledger

        try:
            with Ledger(self.settings.ledger) as ledger:
                rows = ledger.history(job.spec["source"])
        except LedgerError:
            return None
        mark = job_mark(job.id)
        booked = (row["number"] for row in rows if str(row.get("purpose")).endswith(mark))
        return next(booked, None)

    def _note_spent(self, job: Job) -> None:
        with self.database.writing() as connection:
            connection.execute(
                update(tables.jobs)
                .where(tables.jobs.c.id == job.id)
                .values(problem=self.spent(job))
            )

    def _in_state(self, *states: str) -> list[Job]:
        with self.database.reading() as connection:
            rows = connection.execute(
                select(tables.jobs).where(tables.jobs.c.state.in_(states))
            ).all()
        return [self._job(row) for row in rows]

    def _work(self, kept: bool) -> None:
        """Work until the server stops; a worker `kept` for stewards takes only their jobs."""
        while not self._stopping:
            job = self._next(kept)
            if job is None:
                with self._wake:
                    self._wake.wait(1.0)
                continue
            try:
                self._run(job)
            except Exception as error:
                self._end(job, "failed", problem=f"{type(error).__name__}: {error}")

    def _next(self, kept: bool = False) -> Job | None:
        """Take the next queued job, in the order of `turns`; only stewards' if `kept` for them."""
        table = tables.jobs
        wanted = select(table.c.id, table.c.person, table.c.rank, table.c.state).order_by(
            table.c.rank, table.c.asked
        )
        queued = table.c.state == "queued"
        if kept:
            queued &= table.c.steward & (table.c.kind != "verify")
        with self._taking:
            with self.database.reading() as connection:
                rows = connection.execute(wanted.where(queued | (table.c.state == "running"))).all()
            for identity in turns(rows, self._share):
                if self._moved(identity, ("queued",), state="running"):
                    return self.get(identity)
        return None

    @property
    def _share(self) -> int:
        """Most jobs of one person that run at once; a user without a team may use all workers."""
        return max(1, self.settings.workers - 1) if self.settings.team else WAITING

    def _run(self, job: Job) -> None:
        """Run a job in a process, and note how it ended."""
        folder = self.folder(job.id)
        folder.mkdir(mode=0o700)
        spec = {
            **job.spec,
            "kind": job.kind,
            "job": job.id,
            "user": job.user,
            "memory": self.settings.memory,
            "unpacked": self.settings.unpacked if job.kind != "verify" else VERIFIED_UNPACKED,
        }
        seconds = self.settings.seconds
        if job.kind == "verify":
            seconds = min(seconds, self.settings.verify_seconds)
        (folder / "spec.json").write_text(json.dumps(spec), encoding="utf-8")
        with (folder / "output.txt").open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "discreet.web.work", str(folder)],
                stdin=subprocess.PIPE,  # closes when the server ends, however that happens
                stdout=output,
                stderr=output,
                start_new_session=True,
                env=_environment(self.settings, job.spec["language"]),
            )
        with self._lock:
            self._processes[job.id] = process
        try:
            if self.get(job.id).state == "cancelled" or self._stopping:
                _kill(process)
            try:
                process.wait(seconds)
                problem = ""
            except subprocess.TimeoutExpired:
                _kill(process)
                problem = translate(
                    "It took longer than %(minutes)s minutes and was ended.",
                    minutes=f"{seconds / 60:.3g}",
                )
        finally:
            with self._lock:
                del self._processes[job.id]
            if process.stdin is not None:
                process.stdin.close()
        self._finish(job, problem)

    def _finish(self, job: Job, problem: str) -> None:
        found = self._found(job.id)
        if found and not problem and "problem" not in found:
            self._end(job, "done", result={key: found[key] for key in KEPT if key in found})
            return
        if not problem and not found:
            problem = translate("The job ended early: it may have needed more memory than allowed.")
        self._end(job, "failed", problem=f"{problem} {self.spent(job)}".strip())

    def _found(self, identity: str) -> dict[str, Any]:
        """The result that a job has written; empty once its folder is deleted."""
        with suppress(OSError, ValueError):
            text = (self.folder(identity) / "result.json").read_text(encoding="utf-8")
            return dict(json.loads(text))
        return {}

    def _job(self, row: Row[Any]) -> Job:
        found = self._found(row.id)
        said = found.pop("problem", "")
        return Job(
            row.id,
            row.kind,
            row.log,
            row.person,
            row.user,
            row.state,
            row.asked,
            row.ended,
            row.spec,
            {**(row.result or {}), **found},
            f"{said} {row.problem or ''}".strip(),
        )

    def _end(
        self, job: Job, state: str, *, problem: str = "", result: dict[str, Any] | None = None
    ) -> None:
        ended = time.time()
        if self._moved(job.id, UNDER_WAY, state=state, problem=problem, result=result, ended=ended):
            self.done(self.get(job.id))

    def _moved(self, identity: str, states: tuple[str, ...], **values: Any) -> bool:
        """Update a job if it is in one of these states; whether it was."""
        with self.database.writing() as connection:
            changed = connection.execute(
                update(tables.jobs)
                .where(tables.jobs.c.id == identity, tables.jobs.c.state.in_(states))
                .values(**values)
            ).rowcount
        return bool(changed)


def turns(rows: Sequence[Any], share: int) -> list[str]:
    """The queued jobs, in the order in which they are taken.

    The more urgent kind comes first; then every person's first job before anyone's second, counting
    those that run; then the one queued earlier. A person with `share` running jobs waits.
    """
    running = Counter(row.person for row in rows if row.state == "running")
    ahead = Counter(running)
    found = []
    for number, row in enumerate(rows):
        if row.state == "queued" and running[row.person] < share:
            found.append((row.rank, ahead[row.person], number, row.id))
            ahead[row.person] += 1
    return [identity for *_, identity in sorted(found)]


JOB_MARK = re.compile(r"\[web ([0-9a-f]{12})\]$")


def job_mark(identity: str) -> str:
    """The mark by which a ledger entry names the job that it pays for."""
    return f"[web {identity[:12]}]"


def _kill(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _environment(settings: Settings, spoken: str) -> dict[str, str]:
    """The environment variables of a job's process."""
    few = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "POLARS_MAX_THREADS": "2"}
    return {
        **os.environ,
        **few,
        "DISCREET_LANGUAGE": spoken,
        "DISCREET_LEDGER": settings.ledger.url,
        "DISCREET_LEDGER_KEY": str(settings.ledger.key),
        "TMPDIR": str(settings.jobs),
    }
