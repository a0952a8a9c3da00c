"""Logs in use: uploaded or chosen from a folder, with their reading and their choice.

The server names uploaded files itself: it uses only the suffix of the name that a browser sends,
and that must be a known one. A log in the folder is chosen by a name that the server itself lists.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from sqlalchemy import Row, delete, insert, select, update

from discreet.language import translate
from discreet.log.files import PARQUET, files_of
from discreet.log.loading import SUFFIXES
from discreet.log.reading import Reading
from discreet.web import database as tables
from discreet.web.database import Database, fresh_id, noted, now
from discreet.web.settings import MissingError, Settings, WebError

# Tuned
CHUNK = 1 << 20
"""Number of bytes copied at a time."""

LOOKED_THROUGH = 1000
"""Most files of a folder inspected to see whether it holds Parquet."""


@dataclass(frozen=True)
class Log:
    """A log in use."""

    id: str
    name: str
    path: Path
    uploaded: bool
    user: str
    reading: dict[str, Any]
    choice: dict[str, Any]


class Logs:
    """All logs in use."""

    def __init__(self, database: Database, settings: Settings) -> None:
        self.database, self.settings = database, settings

    def upload(self, user: str, name: str | None, stream: BinaryIO) -> Log:
        """Store an uploaded log in the private folder."""
        suffix = _suffix(name or "")
        identity = fresh_id()
        folder = self.settings.uploads / identity
        folder.mkdir(mode=0o700)
        path = folder / f"log{suffix}"
        try:
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as to:
                shutil.copyfileobj(stream, to, CHUNK)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return self._add(identity, user, shown_name(name or ""), path, uploaded=True)

    def choose(self, user: str, name: str) -> Log:
        """Add a log from the folder that the server was started with."""
        for path in self.in_folder():
            if path.name == name and _without_links(path):
                return self._add(fresh_id(), user, path.name, path, uploaded=False)
        raise WebError(translate("There is no such log in the server's folder."))

    def in_folder(self) -> list[Path]:
        """The logs in the server's folder, by name."""
        if self.settings.logs is None:
            return []
        found = [path for path in self.settings.logs.iterdir() if _readable(path)]
        return sorted(found, key=lambda path: path.name)

    def _add(self, identity: str, user: str, name: str, path: Path, *, uploaded: bool) -> Log:
        with self.database.writing() as connection:
            connection.execute(
                insert(tables.logs).values(
                    id=identity,
                    name=name,
                    file=str(path),
                    uploaded=uploaded,
                    user=user,
                    made=now(),
                    reading={},
                    choice={},
                )
            )
            noted(connection, user, "brought a log", name)
        return self.get(identity)

    def get(self, identity: str) -> Log:
        """The log with this identifier."""
        row = self.database.row(tables.logs, identity)
        if row is None or not Path(row.file).exists():
            raise MissingError(translate("This log is not here any more: bring it again."))
        return _log(row)

    def all(self) -> list[Log]:
        """All logs in use, newest first."""
        with self.database.reading() as connection:
            rows = connection.execute(select(tables.logs).order_by(tables.logs.c.made.desc()))
            return [_log(row) for row in rows if Path(row.file).exists()]

    def set_reading(self, log: Log, options: dict[str, Any]) -> None:
        """Set the options by which a log is read."""
        unknown = options.keys() - set(Reading.parameters("form"))
        if unknown:
            raise WebError(f"unknown options of reading: {', '.join(sorted(unknown))}")
        Reading(**options)
        self._update(log, reading=options)

    def set_choice(self, log: Log, choice: dict[str, Any]) -> None:
        """Set the choice of what to share of a log."""
        self._update(log, choice=choice)

    def _update(self, log: Log, **values: Any) -> None:
        with self.database.writing() as connection:
            connection.execute(
                update(tables.logs).where(tables.logs.c.id == log.id).values(**values)
            )

    def remove(self, log: Log, user: str) -> None:
        """Remove a log: an upload is deleted, a file in the folder is left alone."""
        with self.database.writing() as connection:
            connection.execute(delete(tables.offers).where(tables.offers.c.log == log.id))
            connection.execute(delete(tables.logs).where(tables.logs.c.id == log.id))
            noted(connection, user, "removed a log", log.name)
        if log.uploaded:
            shutil.rmtree(self.settings.uploads / log.id, ignore_errors=True)

    def forget_lost(self) -> None:
        """Remove logs whose file is gone: uploads do not outlive the server."""
        with self.database.writing() as connection:
            for row in connection.execute(select(tables.logs)).all():
                if not Path(row.file).exists():
                    connection.execute(delete(tables.offers).where(tables.offers.c.log == row.id))
                    connection.execute(delete(tables.logs).where(tables.logs.c.id == row.id))


def _log(row: Row[Any]) -> Log:
    return Log(
        row.id, row.name, Path(row.file), row.uploaded, row.user, dict(row.reading), row.choice
    )


def shown_name(name: str) -> str:
    """The file name that a browser sent, made safe to show; used for nothing else."""
    last = name.replace("\\", "/").rpartition("/")[2]
    return "".join(c if c.isprintable() else "·" for c in last)[:200] or "log"


def _suffix(name: str) -> str:
    for suffix in sorted(SUFFIXES, key=len, reverse=True):
        if name.lower().endswith(suffix):
            return suffix
    raise WebError(
        translate(
            "This is no kind of log that can be read: known are %(kinds)s.",
            kinds=", ".join(SUFFIXES),
        )
    )


def _readable(path: Path) -> bool:
    """Whether a path is a log or a folder of Parquet, neither hidden nor a symbolic link."""
    if path.name.startswith(".") or path.is_symlink():
        return False
    if path.is_dir():
        inside = islice(path.rglob("*"), LOOKED_THROUGH)
        return any(file.name.lower().endswith(PARQUET) for file in inside)
    return path.is_file() and path.name.lower().endswith(SUFFIXES)


def _without_links(path: Path) -> bool:
    """Whether no file of a log is reached through a symbolic link."""
    return all(file.resolve() == file for file in files_of(path.resolve()))
