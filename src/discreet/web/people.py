"""People: who they are, what they may, how they come in, and how often they may try."""

from __future__ import annotations

import hashlib
import secrets
import threading
import time
from collections import defaultdict, deque
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import delete, func, insert, select, update

from discreet.language import translate
from discreet.web.database import Database, fresh_id, noted, now, sessions, tokens, users
from discreet.web.settings import WebError

Role = Literal["steward", "analyst"]

DAY = 12 * 3600.0
"""How long a session lasts at most, in seconds."""
IDLE = 2 * 3600.0
"""How long it lasts if nothing is done."""

TRIES, WINDOW = 5, 300.0
"""So many wrong passwords for one name, or ten times as many from one address, in so many seconds;
then one waits."""

KEPT = 10_000
"""Names and addresses with wrong passwords that are kept before old ones are forgotten."""

SHORTEST = 10
"""Letters of a password."""


@dataclass(frozen=True)
class Person:
    """Somebody who is signed in."""

    id: str
    name: str
    role: Role
    csrf: str = ""
    """What every form of this session must send along; empty for who came by a token."""


class SignInError(WebError):
    """A wrong name or password, or too many tries."""


class People:
    """Everybody the server knows."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.link: str | None = None
        """What opens the server once, where nobody signs in."""
        self._failures: dict[str, deque[float]] = defaultdict(deque)
        self._lock = threading.Lock()

    def fresh_link(self) -> str:
        """A secret that opens the server once, for a steward."""
        self.link = secrets.token_urlsafe(32)
        return self.link

    def enter(self, link: str, name: str) -> str:
        """The session of whoever has the link, which then opens nothing more."""
        with self._lock:
            if self.link is None or not same_secret(link, self.link):
                raise SignInError(
                    translate("This link was used before or is not ours. Start the server again.")
                )
            self.link = None
        with self.database.writing() as connection:
            row = connection.execute(select(users).where(users.c.name == name)).one_or_none()
            if row is None:
                identity = fresh_id()
                connection.execute(insert(users).values(id=identity, name=name, role="steward"))
            else:
                identity = row.id
                connection.execute(
                    update(users).where(users.c.id == identity).values(role="steward", active=True)
                )
            noted(connection, name, "entered", "by link")
        return self._session(identity)

    def sign_in(self, name: str, password: str, address: str) -> str:
        """A session for the right password."""
        from argon2 import PasswordHasher
        from argon2.exceptions import VerificationError

        self._check_tries(name, address)
        with self.database.reading() as connection:
            row = connection.execute(
                select(users).where(users.c.name == name, users.c.active)
            ).one_or_none()
        known = row.password if row is not None and row.password else _NOBODY
        try:
            PasswordHasher().verify(known, password)
            right = row is not None and known != _NOBODY
        except VerificationError:
            right = False
        if not right or row is None:
            with self._lock:
                for key in (f"name {name}", f"from {address}"):
                    self._failures[key].append(time.monotonic())
            self.database.note(name[:200], "was refused", "wrong name or password")
            raise SignInError(translate("Name and password do not go together."))
        self.database.note(name, "signed in")
        return self._session(row.id)

    def _check_tries(self, name: str, address: str) -> None:
        begin = time.monotonic() - WINDOW
        with self._lock:
            if len(self._failures) > KEPT:
                recent = {key: one for key, one in self._failures.items() if one[-1] >= begin}
                self._failures = defaultdict(deque, recent)
            for key, most in ((f"name {name}", TRIES), (f"from {address}", 10 * TRIES)):
                tries = self._failures[key]
                while tries and tries[0] < begin:
                    tries.popleft()
                if len(tries) >= most:
                    raise SignInError(
                        translate("Too many wrong passwords. Wait five minutes and try again.")
                    )
                if not tries:
                    del self._failures[key]

    def _session(self, identity: str) -> str:
        key, moment = secrets.token_urlsafe(32), time.time()
        with self.database.writing() as connection:
            connection.execute(delete(sessions).where(sessions.c.began < moment - DAY))
            connection.execute(
                insert(sessions).values(
                    key=_hashed(key),
                    user=identity,
                    csrf=secrets.token_urlsafe(24),
                    began=moment,
                    seen=moment,
                )
            )
        return key

    def of_session(self, key: str) -> Person | None:
        """Whose session it is, if it still lasts."""
        moment = time.time()
        with self.database.reading() as connection:
            row = connection.execute(
                select(sessions, users.c.id, users.c.name, users.c.role)
                .join(users)
                .where(sessions.c.key == _hashed(key), users.c.active)
            ).one_or_none()
        if row is None or row.began < moment - DAY or row.seen < moment - IDLE:
            return None
        if row.seen < moment - 60:
            with self.database.writing() as connection:
                connection.execute(
                    update(sessions).where(sessions.c.key == row.key).values(seen=moment)
                )
        return Person(row.id, row.name, row.role, row.csrf)

    def of_token(self, token: str) -> Person | None:
        """Whose token it is."""
        with self.database.reading() as connection:
            row = connection.execute(
                select(users)
                .join(tokens, tokens.c.user == users.c.id)
                .where(tokens.c.key == _hashed(token), users.c.active)
            ).one_or_none()
        return None if row is None else Person(row.id, row.name, row.role)

    def sign_out(self, key: str, name: str) -> None:
        """End a session."""
        with self.database.writing() as connection:
            connection.execute(delete(sessions).where(sessions.c.key == _hashed(key)))
            noted(connection, name, "signed out")

    def add(self, by: str, name: str, role: str, password: str) -> None:
        """Let somebody in from now on, or give them another password or role."""
        name = name.strip()
        if not name or len(name) > 100 or not name.isprintable():
            raise WebError(translate("A name has 1 to 100 printable characters."))
        if role not in ("steward", "analyst"):
            raise WebError(translate("Choose a role: steward or analyst."))
        hashed = _password(password)
        with self.database.writing() as connection:
            row = connection.execute(select(users).where(users.c.name == name)).one_or_none()
            values = {"role": role, "password": hashed, "active": True}
            if row is None:
                connection.execute(insert(users).values(id=fresh_id(), name=name, **values))
            else:
                connection.execute(update(users).where(users.c.id == row.id).values(**values))
                for table in (sessions, tokens):
                    connection.execute(delete(table).where(table.c.user == row.id))
            noted(connection, by, "let in", f"{name} ({role})")

    def remove(self, by: Person, name: str) -> None:
        """Let somebody in no more."""
        if name == by.name:
            raise WebError(translate("Nobody can remove themselves: another steward can."))
        with self.database.writing() as connection:
            row = connection.execute(select(users).where(users.c.name == name)).one_or_none()
            if row is None:
                raise WebError(translate("Nobody has that name."))
            connection.execute(update(users).where(users.c.id == row.id).values(active=False))
            for table in (sessions, tokens):
                connection.execute(delete(table).where(table.c.user == row.id))
            noted(connection, by.name, "removed", name)

    def everybody(self) -> list[tuple[str, str]]:
        """Names and roles."""
        with self.database.reading() as connection:
            rows = connection.execute(select(users).where(users.c.active).order_by(users.c.name))
            return [(row.name, row.role) for row in rows]

    def change_password(self, person: Person, before: str, fresh: str, address: str) -> str:
        """Another password, for who knows the present one; all other sessions end."""
        self.sign_in(person.name, before, address)
        hashed = _password(fresh)
        with self.database.writing() as connection:
            connection.execute(update(users).where(users.c.id == person.id).values(password=hashed))
            connection.execute(delete(sessions).where(sessions.c.user == person.id))
            noted(connection, person.name, "changed the password")
        return self._session(person.id)

    def anybody_signs_in(self, role: Role | None = None) -> bool:
        """Whether somebody, or somebody of that role, can sign in by a password."""
        many = select(func.count()).where(users.c.active, users.c.password.is_not(None))
        if role is not None:
            many = many.where(users.c.role == role)
        with self.database.reading() as connection:
            return bool(connection.execute(many).scalar_one())

    def fresh_token(self, person: Person, name: str) -> str:
        """A token for programs, which is shown once."""
        token = f"discreet_{secrets.token_urlsafe(32)}"
        with self.database.writing() as connection:
            connection.execute(
                insert(tokens).values(
                    key=_hashed(token), id=fresh_id(), user=person.id, name=name[:100], made=now()
                )
            )
            noted(connection, person.name, "made a token", name)
        return token

    def tokens_of(self, person: Person) -> list[tuple[str, str, str]]:
        """Identifier, name and day of each of somebody's tokens."""
        with self.database.reading() as connection:
            rows = connection.execute(
                select(tokens).where(tokens.c.user == person.id).order_by(tokens.c.made)
            )
            return [(row.id, row.name, row.made) for row in rows]

    def drop_token(self, person: Person, identity: str) -> None:
        """End one of somebody's tokens."""
        with self.database.writing() as connection:
            connection.execute(
                delete(tokens).where(tokens.c.id == identity, tokens.c.user == person.id)
            )
            noted(connection, person.name, "ended a token")


def same_secret(given: str, known: str) -> bool:
    """Whether they are the same, without telling by the time where they differ."""
    return secrets.compare_digest(given.encode(), known.encode())


def _hashed(secret: str) -> str:
    """What is kept of a secret of 256 random bits."""
    return hashlib.sha256(secret.encode()).hexdigest()


def _password(password: str) -> str:
    from argon2 import PasswordHasher

    if len(password) < SHORTEST:
        raise WebError(
            translate("A password has at least %(letters)s characters.", letters=SHORTEST)
        )
    if len(password) > 1000:
        raise WebError(translate("A password has at most 1000 characters."))
    return PasswordHasher().hash(password)


_NOBODY = (
    "$argon2id$v=19$m=65536,t=3,p=4$AAAAAAAAAAAAAAAAAAAAAA$"
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
)
"""What a password is compared with where there is no such name, so that both take as long."""
