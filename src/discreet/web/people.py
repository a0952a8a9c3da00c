"""People: who they are, their roles, how they sign in, and how often they may try."""

from __future__ import annotations

import hashlib
import secrets
import threading
import time
from collections import defaultdict, deque
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import Connection, Row, delete, func, insert, select, update

from discreet.language import translate
from discreet.ledger.entries import spelling
from discreet.web.database import (
    Database,
    browsers,
    fresh_id,
    noted,
    now,
    sessions,
    tokens,
    users,
)
from discreet.web.settings import WebError

Role = Literal["steward", "analyst"]

# Tuned
DAY = 12 * 3600.0
"""Longest duration of a session, in seconds."""
IDLE = 2 * 3600.0
"""Longest idle time of a session, in seconds."""

REMEMBERED = 365 * 86400.0
"""How long a browser is remembered in which a person has signed in, in seconds."""

TRIES, WINDOW = 5, 300.0
"""Failed sign-ins allowed in WINDOW seconds for one name: for all browsers together in which its
owner never signed in, and for each browser in which they did."""

KEPT = 10_000
"""Most counters of failed sign-ins kept before expired ones are dropped."""

SHORTEST = 10
"""Fewest characters of a password."""


@dataclass(frozen=True)
class Person:
    """A person who is signed in, or whom the server knows."""

    id: str
    name: str
    role: Role
    csrf: str = ""
    """The token that every form of this session must send; empty outside a browser session."""

    @property
    def steward(self) -> bool:
        """Whether this person may see raw data."""
        return self.role == "steward"


@dataclass(frozen=True)
class SignedIn:
    """The keys that a browser is given for a correct password."""

    session: str
    browser: str
    """Key by which this browser is recognised the next time."""


class SignInError(WebError):
    """A wrong name or password, or too many tries."""


class People:
    """All people that the server knows, with their sessions, tokens and browsers."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.link: str | None = None
        """Secret that opens the server once, where nobody signs in."""
        self._failures: dict[str, deque[float]] = defaultdict(deque)
        self._lock = threading.Lock()

    def fresh_link(self) -> str:
        """A secret that opens the server once, for a steward."""
        self.link = secrets.token_urlsafe(32)
        return self.link

    def enter(self, link: str, name: str) -> str:
        """A session for the holder of the link, which works only once."""
        with self._lock:
            if self.link is None or not same_secret(link, self.link):
                raise SignInError(
                    translate("This link was used before or is not ours. Start the server again.")
                )
            self.link = None
        with self.database.writing() as connection:
            row = _called(connection, name)
            if row is not None and row.role != "steward":
                row = _called(connection, name := f"{name} (link)")
            identity = fresh_id() if row is None else row.id
            if row is None:
                connection.execute(insert(users).values(id=identity, name=name, role="steward"))
            noted(connection, name, "entered", "by link")
        return self._session(identity)

    def sign_in(self, name: str, password: str, browser: str = "") -> SignedIn:
        """A session for the correct password.

        Guesses are limited for each name, so that guessing one does not lock out the others, and
        separately from the browsers that its owner uses, so that it does not lock out the owner.
        """
        name = spelling(name)
        with self.database.reading() as connection:
            row = _called(connection, name)
            known = _knows(connection, browser, "" if row is None else row.id)
        self._prove(row, password, f"browser {_hashed(browser)}" if known else f"name {name}")
        assert row is not None
        self.database.note(name, "signed in")
        return SignedIn(self._session(row.id), self._remember(browser, row.id))

    def _prove(self, row: Row[Any] | None, password: str, counted: str) -> None:
        """Check a password, unless too many have failed; takes as long for an unknown name."""
        from argon2 import PasswordHasher
        from argon2.exceptions import VerificationError

        self._check_tries(counted)
        hashed = row.password if row is not None and row.password else _NOBODY
        try:
            PasswordHasher().verify(hashed, password)
            right = hashed != _NOBODY
        except VerificationError:
            right = False
        if not right:
            with self._lock:
                self._failures[counted].append(time.monotonic())
            who = row.name if row is not None else counted.removeprefix("name ")
            self.database.note(who[:200], "was refused", "wrong name or password")
            raise SignInError(translate("Wrong name or password."))

    def _check_tries(self, counted: str) -> None:
        begin = time.monotonic() - WINDOW
        with self._lock:
            if len(self._failures) > KEPT:
                recent = {key: one for key, one in self._failures.items() if one[-1] >= begin}
                self._failures = defaultdict(deque, recent)
            tries = self._failures[counted]
            while tries and tries[0] < begin:
                tries.popleft()
            if len(tries) >= TRIES:
                raise SignInError(
                    translate("Too many wrong passwords. Wait five minutes and try again.")
                )
            if not tries:
                del self._failures[counted]

    def _remember(self, browser: str, identity: str) -> str:
        """Remember this browser for a person; return its key, a fresh one if it had none."""
        moment = time.time()
        with self.database.writing() as connection:
            connection.execute(delete(browsers).where(browsers.c.seen < moment - REMEMBERED))
            same = select(browsers.c.user).where(browsers.c.key == _hashed(browser))
            users_of = set(connection.execute(same).scalars())
            if not users_of:  # trust no key that this server did not issue
                browser = secrets.token_urlsafe(32)
            if identity not in users_of:
                values = {"key": _hashed(browser), "user": identity, "seen": moment}
                connection.execute(insert(browsers).values(**values))
        return browser

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
        """The person whose session this is; None if it has ended."""
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
        """The person whose token this is; None if there is none."""
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
        """Add a person with a role and a password; the name must be free."""
        name = spelling(name)
        if not name or len(name) > 100 or not name.isprintable():
            raise WebError(translate("A name has 1 to 100 printable characters."))
        values = {"role": _role(role), "password": _password(password)}
        with self.database.writing() as connection:
            if _called(connection, name) is not None:
                raise WebError(
                    translate(
                        "%(name)s is here already. Change their password or role beside the name, "
                        "or take another name.",
                        name=name,
                    )
                )
            connection.execute(insert(users).values(id=fresh_id(), name=name, **values))
            noted(connection, by, "let in", f"{name} ({role})")

    def change(self, by: Person, identity: str, role: str, password: str = "") -> None:
        """Change a person's role, or role and password; end all their sessions and tokens."""
        values = {"role": _role(role), **({"password": _password(password)} if password else {})}
        if identity == by.id:
            raise WebError(translate("Nobody changes themselves here: another steward can."))
        with self.database.writing() as connection:
            row = _other(connection, by, identity)
            connection.execute(update(users).where(users.c.id == row.id).values(**values))
            _put_out(connection, row.id)
            noted(connection, by.name, "changed a person", f"{row.name} ({role})")

    def remove(self, by: Person, identity: str) -> None:
        """Remove a person; their identifier is never used again."""
        if identity == by.id:
            raise WebError(translate("Nobody can remove themselves: another steward can."))
        with self.database.writing() as connection:
            row = _other(connection, by, identity)
            connection.execute(
                update(users).where(users.c.id == row.id).values(active=False, password=None)
            )
            _put_out(connection, row.id)
            noted(connection, by.name, "removed", row.name)

    def everybody(self) -> list[Person]:
        """All active people, by name."""
        with self.database.reading() as connection:
            rows = connection.execute(select(users).where(users.c.active).order_by(users.c.name))
            return [Person(row.id, row.name, row.role) for row in rows]

    def get(self, identity: str) -> Person | None:
        """The person who has or had this identifier; None if there is none."""
        row = self.database.row(users, identity)
        return None if row is None else Person(row.id, row.name, row.role)

    def change_password(self, person: Person, before: str, fresh: str) -> str:
        """Change a person's password, given the present one; end all sessions, return a new one."""
        self._prove(self.database.row(users, person.id), before, f"person {person.id}")
        hashed = _password(fresh)
        with self.database.writing() as connection:
            connection.execute(update(users).where(users.c.id == person.id).values(password=hashed))
            connection.execute(delete(sessions).where(sessions.c.user == person.id))
            noted(connection, person.name, "changed the password")
        return self._session(person.id)

    def anybody_signs_in(self, role: Role | None = None) -> bool:
        """Whether any active person, or any with this role, has a password."""
        many = select(func.count()).where(users.c.active, users.c.password.is_not(None))
        if role is not None:
            many = many.where(users.c.role == role)
        with self.database.reading() as connection:
            return bool(connection.execute(many).scalar_one())

    def fresh_token(self, person: Person, name: str) -> str:
        """A new token for programs, which is shown once."""
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
        """Identifier, name and time of creation of each token of a person."""
        with self.database.reading() as connection:
            rows = connection.execute(
                select(tokens).where(tokens.c.user == person.id).order_by(tokens.c.made)
            )
            return [(row.id, row.name, row.made) for row in rows]

    def drop_token(self, person: Person, identity: str) -> None:
        """Delete one of a person's tokens."""
        with self.database.writing() as connection:
            connection.execute(
                delete(tokens).where(tokens.c.id == identity, tokens.c.user == person.id)
            )
            noted(connection, person.name, "ended a token")


def _called(connection: Connection, name: str) -> Row[Any] | None:
    """The active person of this name; None if there is none."""
    wanted = select(users).where(users.c.name == name, users.c.active)
    return connection.execute(wanted).one_or_none()


def _knows(connection: Connection, browser: str, identity: str) -> bool:
    """Whether this person has signed in with this browser before."""
    known = select(browsers).where(browsers.c.key == _hashed(browser), browsers.c.user == identity)
    return connection.execute(known).first() is not None


def _other(connection: Connection, by: Person, identity: str) -> Row[Any]:
    """The row of a person that a steward changes, locked until the transaction ends.

    The one who changes it must still be a steward: two who demote each other at the same time would
    leave none.
    """
    both = select(users).where(users.c.id.in_((by.id, identity)), users.c.active)
    found = {row.id: row for row in connection.execute(both.order_by(users.c.id).with_for_update())}
    if identity not in found:
        raise WebError(translate("No user has that name."))
    if by.id not in found or found[by.id].role != "steward":
        raise WebError(translate("Only a steward may do this."))
    return found[identity]


def _put_out(connection: Connection, identity: str) -> None:
    """Delete a person's sessions, tokens and remembered browsers; their password stays."""
    for table in (sessions, tokens, browsers):
        connection.execute(delete(table).where(table.c.user == identity))


def _role(role: str) -> str:
    if role not in ("steward", "analyst"):
        raise WebError(translate("Choose a role: steward or analyst."))
    return role


def same_secret(given: str, known: str) -> bool:
    """Whether two secrets are equal, compared in constant time."""
    return secrets.compare_digest(given.encode(), known.encode())


def _hashed(secret: str) -> str:
    """The SHA-256 digest that is stored instead of a secret of 256 random bits."""
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
"""Hash that a password is checked against if the name is unknown, so that both take as long."""
