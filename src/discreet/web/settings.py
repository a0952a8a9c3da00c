"""Settings of a server: where it keeps its files, which hosts it answers as, and its limits."""

from __future__ import annotations

import fcntl
import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from discreet.errors import DiscreetError
from discreet.ledger.location import Location, locate

GIB = 1 << 30
LOCAL = ("127.0.0.1", "localhost", "[::1]")


class WebError(DiscreetError, ValueError):
    """An error that the user of the web app can correct."""


class MissingError(DiscreetError, LookupError):
    """Something that does not exist, or that the user may not see."""


class ConflictError(DiscreetError):
    """Something changed since the user saw it, or was sent before with different content."""


@dataclass(frozen=True)
class Settings:
    """The settings of one server."""

    folder: Path
    """The server's private folder: database, uploads, results of jobs, released files."""
    logs: Path | None = None
    """A folder of logs that stewards may choose from."""
    ledger: Location = field(default_factory=locate)
    database: str | None = None
    """Database URL for jobs, people and requests; by default a file in the folder."""
    hosts: tuple[str, ...] = LOCAL
    """Host names that the server answers to."""
    team: bool = False
    """Whether people sign in; otherwise the server is opened by a link that works once."""
    secure: bool = False
    """Whether browsers reach the server by HTTPS."""
    workers: int = 2
    """Number of jobs that run at once."""
    memory: int = 8 * GIB
    """Limit on the address space of one job, in bytes."""
    seconds: float = 3600
    """Time limit of one job, in seconds."""
    verify_seconds: float = 120
    """Time limit of checking a certificate, in seconds: every user may have one checked."""
    upload: int = 2 * GIB
    """Largest upload, in bytes."""
    unpacked: int = 8 * GIB
    """Most bytes that an uploaded file may unpack to."""
    rhythm: float = 60
    """Seconds: analysts learn how work on raw data stands only at multiples of this time since they
    asked, because finer times could reveal something about the data."""

    @property
    def uploads(self) -> Path:
        """The folder of uploaded logs, kept until they are removed or the server stops."""
        return self.folder / "uploads"

    @property
    def jobs(self) -> Path:
        """The folder of the specs and results of jobs; raw, and deleted when the server stops."""
        return self.folder / "jobs"

    @property
    def releases(self) -> Path:
        """The folder of released files with their certificates; nothing in it is raw."""
        return self.folder / "releases"

    def lock(self) -> IO[str]:
        """Lock the folder for this server, until the returned file is closed or the process ends.

        A second server would take what the first is reading for leftovers, and delete it.
        """
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.folder.chmod(0o700)
        file = (self.folder / "lock").open("a+", encoding="ascii")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            who = file.read().strip() or "unknown"
            file.close()
            raise WebError(
                f"another discreet serve (process {who}) works in {self.folder}: stop that one, "
                "or name another folder with --folder"
            ) from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        return file

    def prepare(self) -> None:
        """Delete all raw data of the last server, and make the folders, private to its account."""
        self.clear()
        for place in (self.uploads, self.jobs, self.releases):
            place.mkdir(exist_ok=True, mode=0o700)

    def clear(self) -> None:
        """Delete all raw data."""
        for place in (self.uploads, self.jobs):
            shutil.rmtree(place, ignore_errors=True)
