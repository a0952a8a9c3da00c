"""The parts of the server put together, and the handling of finished jobs."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from sqlalchemy import Row, insert, select

from discreet.language import translate
from discreet.privacy.guarantee import Guarantee
from discreet.releasing.request import Payment
from discreet.web import database as tables
from discreet.web.asking import Asking
from discreet.web.budgets import Budgets
from discreet.web.choosing import build, check_people, chosen, request_of
from discreet.web.database import Database, noted, stamp
from discreet.web.jobs import Job, Jobs
from discreet.web.logs import Log, Logs
from discreet.web.once import Once, digest
from discreet.web.people import People, Person
from discreet.web.settings import Settings, WebError

# Tuned
ADVICE_SECONDS = 60
"""Duration of a sweep over budgets, in seconds."""

PURPOSE = 300
"""Most characters of a purpose."""

# Payment
UNPAID = Payment()
"""Payment of a draw that is looked at and never released."""


class House:
    """The parts of one server: database, budgets, people, logs, jobs and requests."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._stopped = False
        with ExitStack() as held:
            held.enter_context(settings.lock())
            self.database = held.enter_context(closing(Database(settings)))
            self.budgets = held.enter_context(closing(Budgets(settings.ledger)))
            self.told = held.enter_context(closing(Budgets(settings.ledger, settings.rhythm)))
            self.people = People(self.database)
            self.logs = Logs(self.database, settings)
            self.jobs = Jobs(self.database, settings, self._over)
            self.asking = Asking(self.database, settings)
            self._bind()
            settings.prepare()
            self._held = held.pop_all()

    def start(self) -> None:
        """Clean up after the last server and start the workers."""
        self.logs.forget_lost()
        self._forget_unfinished()
        self.jobs.start()

    def stop(self) -> None:
        """Stop all jobs, delete all raw data and release the folder for another server; once."""
        if self._stopped:
            return
        self._stopped = True
        self.jobs.stop()
        self.settings.clear()
        self._held.close()

    def look(self, log: Log, person: Person) -> Job:
        """The job that looks into a log as it is read now; queued once for each reading."""
        job = self.jobs.latest("look", log.id, reading=log.reading)
        if job is None:
            job = self.jobs.get(self.jobs.add("look", person, self._spec(log), log=log.id))
        return job

    def chosen(self, log: Log, given: Mapping[str, Any]) -> dict[str, Any]:
        """The checked choice of a form or program, including whom it protects."""
        choice = self.usual(log, given)
        check_people(choice, log.reading)
        return choice

    def usual(self, log: Log, given: Mapping[str, Any]) -> dict[str, Any]:
        """The choice of a form or program, before it is settled who is protected."""
        return chosen(given, timed=self.timed(log))

    def timed(self, log: Log) -> bool:
        """Whether a log has times; assumed until the log has been looked into."""
        job = self.jobs.latest("look", log.id, reading=log.reading)
        return not (job and job.result) or bool(job.result.get("timed", True))

    def promise(self, log: Log, choice: Mapping[str, Any]) -> Guarantee:
        """The guarantee of a choice; it names the columns if the log has been read already."""
        promise = build(choice).guarantee()
        job = self.jobs.latest("look", log.id, reading=log.reading)
        if job is None or job.state != "done":
            return promise
        return promise.naming(job.result["roles"]["case"], job.result["individual"])

    def look_again(self, log: Log, person: Person) -> None:
        """Queue another look into a log."""
        self.jobs.add("look", person, self._spec(log), log=log.id)

    def advise(self, log: Log, person: Person, seconds: float = ADVICE_SECONDS) -> None:
        """Queue the sweep over budgets."""
        spec = {**self._asked(log, log.choice), "seconds": min(seconds, 600.0)}
        self.jobs.add("advise", person, spec, log=log.id)

    def attempt(self, log: Log, person: Person) -> None:
        """Queue a preview: one draw that is never released."""
        build(log.choice)
        job = self.jobs.add("try", person, self._asked(log, log.choice), log=log.id)
        self.database.note(
            person.name, "tried", f"{log.name}: {log.choice['mechanism']}, job {job}"
        )

    def release(
        self,
        log: Log,
        choice: Mapping[str, Any],
        *,
        person: Person,
        source: str,
        purpose: str,
        once: Once,
    ) -> str:
        """Queue a release that spends at its present cost, one for each `once`."""
        purpose = checked_purpose(purpose)
        self._bind()
        cost = self.budgets.cost(source, build(choice)).to_dict()
        payment = Payment(source, purpose, person.name, cost=cost)
        spec = {
            **self._asked(log, choice, payment, _stem(source)),
            "source": source,
            "purpose": purpose,
        }
        job = self.jobs.add("release", person, spec, log=log.id, once=once)
        self.database.note(person.name, "asked to release", f"{source}, job {job}")
        return job

    def seal(self, log: Log, choice: Mapping[str, Any], source: str) -> str:
        """A digest of what a page shows before budget is spent: choice, reading and cost."""
        cost = self.budgets.cost(source, build(choice)).to_dict()
        return digest(log.id, log.reading, dict(choice), source, cost)

    def measure(self, job: Job, person: Person) -> None:
        """Queue a measurement of a release's utility, against the log it was released from."""
        assert job.log is not None
        file = self.settings.releases / job.id / job.result["files"][0]
        spec = {key: job.spec[key] for key in ("reading", "choice", "request")}
        self.jobs.add("measure", person, {**spec, "file": str(file), "of": job.id}, log=job.log)

    def report(self, job: Job) -> Job | None:
        """The job that measures a release; None if none was asked for or the log is gone."""
        if job.log is None or not self.jobs.folder(job.id).is_dir():
            return None
        return self.jobs.latest("measure", job.log, of=job.id)

    def releases(self, person: Person | None = None) -> list[Row[Any]]:
        """All releases, or those of one person, newest first."""
        wanted = select(tables.releases).order_by(tables.releases.c.made.desc())
        if person is not None:
            wanted = wanted.where(tables.releases.c.person == person.id)
        with self.database.reading() as connection:
            return list(connection.execute(wanted).all())

    def release_of(self, *, job: str | None = None, identity: str | None = None) -> Row[Any] | None:
        """The release with this identifier, or the one made by this job; None if there is none."""
        table = tables.releases
        condition = table.c.job == job if job is not None else table.c.id == identity
        with self.database.reading() as connection:
            return connection.execute(select(table).where(condition)).one_or_none()

    def budgets_for(self, person: Person) -> Budgets:
        """Budgets as they stand, for stewards; as they stood in the rhythm, for analysts."""
        return self.budgets if person.role == "steward" else self.told

    def forget(self, log: Log, user: str) -> None:
        """Remove a log with everything that jobs found in it."""
        self.jobs.forget(log.id)
        self.logs.remove(log, user)

    def _bind(self) -> None:
        """Bind this folder to the ledger on which its releases were booked.

        With another ledger all budgets would start over. A folder is bound by its first release, or
        by the first start that finds a ledger; earlier versions kept no identifier of the ledger,
        so their folders are recognised by an entry that pays for one of their releases.
        """
        identity = self.budgets.identity()
        with self.database.reading() as connection:
            bound = connection.execute(select(tables.ledgers.c.id)).scalar_one_or_none()
        if bound is None and self.releases():
            known = self.jobs.entry(self.jobs.get(self.releases()[0].job)) is not None
        else:
            known = bound in (None, identity)
        if not known:
            raise WebError(
                f"what {self.settings.folder} holds was booked on another ledger than "
                f"{self.settings.ledger}, on which all budgets would begin anew: name that one "
                "in DISCREET_LEDGER, or another folder with --folder"
            )
        if bound is None and identity is not None:
            with self.database.writing() as connection:
                connection.execute(insert(tables.ledgers).values(id=identity))

    def _spec(self, log: Log) -> dict[str, Any]:
        return {"log": str(log.path), "reading": log.reading}

    def _asked(
        self,
        log: Log,
        choice: Mapping[str, Any],
        payment: Payment = UNPAID,
        stem: str = "release",
    ) -> dict[str, Any]:
        """The spec of a job: the request, with the reading and choice it was made from."""
        request = request_of(log.path, log.reading, choice, payment, stem)
        return {"reading": log.reading, "choice": dict(choice), "request": request.to_dict()}

    def _over(self, job: Job) -> None:
        """Keep the files of a finished release, and record how the job ended.

        Released files bear the time at which they were asked for: the time of completion would
        reveal how long the work took.
        """
        if job.kind == "verify":
            shutil.rmtree(Path(job.spec["file"]).parent, ignore_errors=True)
        if job.kind != "release" or job.state == "cancelled":
            return
        if job.state != "done":
            self.database.note(job.user, "failed to release", job.spec["source"])
            return
        kept = self.settings.releases / job.id
        shutil.move(self.jobs.folder(job.id) / "share", kept)
        for path in kept.iterdir():
            os.utime(path, (job.asked, job.asked))
        with self.database.writing() as connection:
            connection.execute(
                insert(tables.releases).values(
                    id=job.id,
                    job=job.id,
                    person=job.person,
                    user=job.user,
                    source=job.spec["source"],
                    purpose=job.spec["purpose"],
                    file=job.result["files"][0],
                    made=stamp(job.asked),
                    summary=job.result["summary"],
                )
            )
            entry = job.result["entry"]
            noted(connection, job.user, "released", f"{job.spec['source']}, entry {entry}")

    def _forget_unfinished(self) -> None:
        """Delete files of releases that were never recorded."""
        known = {row.id for row in self.releases()}
        for folder in self.settings.releases.iterdir():
            if folder.name not in known:
                shutil.rmtree(folder, ignore_errors=True)


def checked_purpose(purpose: str) -> str:
    """The purpose without extra spaces; refused if empty or too long, as the ledger keeps it."""
    purpose = " ".join(purpose.split())
    if not purpose:
        raise WebError(translate("Say what for: the purpose is kept in the ledger."))
    if len(purpose) > PURPOSE:
        raise WebError(translate("A purpose has at most %(letters)s characters.", letters=PURPOSE))
    return purpose


def _stem(source: str) -> str:
    """A file name's stem for a release of a source, of ASCII letters, digits and hyphens only."""
    plain = "".join(c if c.isascii() and c.isalnum() else "-" for c in source)
    return "-".join(part for part in plain.split("-") if part)[:60] or "release"
