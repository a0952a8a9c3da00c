"""Offers of stewards and requests of analysts.

An offer says which log stands for a source, what is released from it and how much an analyst may
spend without approval. All of that, and everything an analyst is shown, is public or released.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Row, delete, func, insert, select, update

from discreet.language import translate
from discreet.privacy.filters import Spend, decimal
from discreet.web import database as tables
from discreet.web.choosing import check_people
from discreet.web.database import Database, fresh_id, noted
from discreet.web.jobs import Job
from discreet.web.logs import Log
from discreet.web.once import Once
from discreet.web.people import Person
from discreet.web.settings import MissingError, Settings, WebError


class Asking:
    """The offers and requests in the database."""

    def __init__(self, database: Database, settings: Settings) -> None:
        self.database, self.settings = database, settings

    def offer(
        self,
        user: str,
        source: str,
        log: Log,
        about: str,
        at_once: float,
        at_once_delta: float = 0.0,
    ) -> None:
        """Offer the choice of a log, as it is read now; replaces the offer of the same source."""
        if not log.choice:
            raise WebError(translate("Choose first what is to be shared."))
        check_people(log.choice, log.reading)
        if not (math.isfinite(at_once) and 0 <= at_once <= 10):
            raise WebError(translate("What may be spent without asking lies between 0 and 10."))
        if not 0 <= at_once_delta < 1:
            raise WebError(
                translate("The δ that may be spent without asking is at least 0 and below 1.")
            )
        with self.database.writing() as connection:
            connection.execute(delete(tables.offers).where(tables.offers.c.source == source))
            connection.execute(
                insert(tables.offers).values(
                    id=fresh_id(),
                    source=source,
                    log=log.id,
                    reading=log.reading,
                    choice=log.choice,
                    about=about[:500],
                    at_once=at_once,
                    at_once_delta=at_once_delta,
                )
            )
            noted(connection, user, "offered", source)

    def known(self, once: Once) -> str | None:
        """The request entered earlier with the same `once`; different content is a conflict."""
        with self.database.reading() as connection:
            row = once.earlier(connection, tables.requests)
        return None if row is None else str(row.id)

    def withdraw(self, user: str, identity: str) -> None:
        """Withdraw an offer."""
        with self.database.writing() as connection:
            connection.execute(delete(tables.offers).where(tables.offers.c.id == identity))
            noted(connection, user, "withdrew an offer")

    def offers(self) -> list[Row[Any]]:
        """All offers, by source."""
        with self.database.reading() as connection:
            wanted = select(tables.offers).order_by(tables.offers.c.source)
            return list(connection.execute(wanted).all())

    def get_offer(self, identity: str) -> Row[Any]:
        """The offer with this identifier."""
        row = self.database.row(tables.offers, identity)
        if row is None:
            raise MissingError(translate("This is not offered any more."))
        return row

    def ask(
        self,
        person: Person,
        offer: Row[Any],
        choice: Mapping[str, Any],
        cost: Spend,
        purpose: str,
        once: Once,
    ) -> tuple[str, bool]:
        """Enter a request; return its identifier and whether it may be spent without approval.

        The room is read and the request entered under the offer's lock, so that two requests do not
        both see the same room. What counts is what the budget is charged, in ε and δ.
        """
        identity, table = fresh_id(), tables.requests
        with self.database.writing() as connection:
            still = select(tables.offers.c.id).where(tables.offers.c.id == offer.id)
            if connection.execute(still.with_for_update()).first() is None:
                raise MissingError(translate("This is not offered any more."))
            if (row := once.earlier(connection, table)) is not None:
                return str(row.id), False
            granted = connection.execute(
                select(table.c.cost_epsilon, table.c.cost_delta).where(
                    table.c.person == person.id,
                    table.c.source == offer.source,
                    table.c.state == "at once",
                )
            ).all()
            epsilon = sum((decimal(one.cost_epsilon) for one in granted), cost.epsilon)
            delta = sum((decimal(one.cost_delta) for one in granted), cost.delta)
            within = epsilon <= decimal(offer.at_once) and delta <= decimal(offer.at_once_delta)
            connection.execute(
                insert(table).values(
                    id=identity,
                    offer=offer.id,
                    source=offer.source,
                    person=person.id,
                    user=person.name,
                    asked=time.time(),
                    purpose=purpose,
                    epsilon=float(choice["parameters"]["epsilon"]),
                    delta=float(choice["parameters"].get("delta", 0.0)),
                    cost_epsilon=float(cost.epsilon),
                    cost_delta=float(cost.delta),
                    state="at once" if within else "waiting",
                    once=once.key,
                    content=once.content,
                )
            )
            what = f"{offer.source}, ε = {cost.epsilon:g}, δ = {cost.delta:g}"
            noted(connection, person.name, "asked for", what)
        return identity, within

    def decide(self, user: str, identity: str, *, approved: bool, answer: str) -> Row[Any]:
        """Approve or refuse a waiting request, once."""
        state = "approved" if approved else "refused"
        with self.database.writing() as connection:
            changed = connection.execute(
                update(tables.requests)
                .where(tables.requests.c.id == identity, tables.requests.c.state == "waiting")
                .values(state=state, answer=answer[:500], decided=time.time())
            ).rowcount
            if not changed:
                raise WebError(translate("This request does not wait any more."))
            noted(connection, user, state, f"request {identity}")
        return self.get(identity)

    def set_state(self, identity: str, state: str, **values: Any) -> None:
        """Set the state of a request."""
        with self.database.writing() as connection:
            connection.execute(
                update(tables.requests)
                .where(tables.requests.c.id == identity)
                .values(state=state, **values)
            )

    def set_job(self, identity: str, job: str) -> None:
        """Set the job that answers a request."""
        with self.database.writing() as connection:
            connection.execute(
                update(tables.requests).where(tables.requests.c.id == identity).values(job=job)
            )

    def get(self, identity: str) -> Row[Any]:
        """The request with this identifier."""
        row = self.database.row(tables.requests, identity)
        if row is None:
            raise MissingError(translate("There is no such request."))
        return row

    def all(self, person: Person | None = None) -> list[Row[Any]]:
        """All requests, or those of one person, newest first."""
        wanted = select(tables.requests).order_by(tables.requests.c.asked.desc())
        if person is not None:
            wanted = wanted.where(tables.requests.c.person == person.id)
        with self.database.reading() as connection:
            return list(connection.execute(wanted).all())

    def waiting(self) -> int:
        """The number of requests that wait for a steward."""
        many = select(func.count()).where(tables.requests.c.state == "waiting")
        with self.database.reading() as connection:
            return int(connection.execute(many).scalar_one())

    def seen(self, request: Row[Any], job: Job | None) -> str:
        """The state of a request for its owner: work on raw data shows in a fixed rhythm only."""
        if job is None:
            return str(request.state)
        if not job.over or job.ended is None:
            return "working"
        rhythm = self.settings.rhythm
        shown = job.asked + rhythm * math.ceil(max(job.ended - job.asked, 1e-9) / rhythm)
        if time.time() < shown:
            return "working"
        return "done" if job.state == "done" else "failed"
