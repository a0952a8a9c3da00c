"""Where a server keeps its things, whom it answers, and how much it takes."""

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
    """Something that whoever uses the web app can mend."""


class MissingError(DiscreetError, LookupError):
    """Something that is not here, or not for whoever asks."""


class ConflictError(DiscreetError):
    """Something that is not any more as whoever asks has seen it, or was asked otherwise before."""


@dataclass(frozen=True)
class Settings:
    """One server."""

    folder: Path
    """Private to the server: its database, uploads, what jobs find, released files."""
    logs: Path | None = None
    """A folder of logs that stewards may choose from."""
    ledger: Location = field(default_factory=locate)
    database: str | None = None
    """Where jobs, people and requests are kept: a database URL; by default a file in the folder."""
    hosts: tuple[str, ...] = LOCAL
    """The names under which it answers."""
    team: bool = False
    """Whether people sign in; otherwise one opens it by a link that works once."""
    secure: bool = False
    """Whether browsers reach it by HTTPS."""
    workers: int = 2
    memory: int = 8 * GIB
    """Of the address space of one job."""
    seconds: float = 3600
    """What one job may take."""
    verify_seconds: float = 120
    """What checking a certificate may take: anybody may ask for it."""
    upload: int = 2 * GIB
    unpacked: int = 8 * GIB
    """What an uploaded file may unpack to."""
    rhythm: float = 60
    """Analysts are told of work on raw data only when so many seconds, or twice as many, or three
    times, have passed since they asked: finer times could tell something of the data."""

    @property
    def uploads(self) -> Path:
        """Where logs lie that were uploaded: until they are removed, or the server stops."""
        return self.folder / "uploads"

    @property
    def jobs(self) -> Path:
        """What jobs were told and found; raw, and gone with the server."""
        return self.folder / "jobs"

    @property
    def releases(self) -> Path:
        """Released files, with their certificates. Nothing raw."""
        return self.folder / "releases"

    def lock(self) -> IO[str]:
        """The folder for this server alone, until this is closed or the process ends.

        A second one would take what the first is reading for left over, and delete it.
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
        """Remove what is raw from before, and make the folders, for the server's account only."""
        self.clear()
        for place in (self.uploads, self.jobs, self.releases):
            place.mkdir(exist_ok=True, mode=0o700)

    def clear(self) -> None:
        """Remove everything raw."""
        for place in (self.uploads, self.jobs):
            shutil.rmtree(place, ignore_errors=True)
