"""Where the ledger is: a file in the user's data folder, or what DISCREET_LEDGER names."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from discreet.ledger.errors import LedgerError

VARIABLE = "DISCREET_LEDGER"
KEY_VARIABLE = "DISCREET_LEDGER_KEY"


@dataclass(frozen=True)
class Location:
    """A ledger's place: the database, the file it is in (for SQLite), the fingerprint key."""

    url: str
    file: Path | None
    key: Path
    chosen: bool
    """Whether it was named, rather than being the default."""

    @property
    def in_use(self) -> bool:
        """Whether releases are expected to be booked here."""
        return self.chosen or (self.file is not None and self.file.exists())

    def __str__(self) -> str:
        if self.file is not None:
            return str(self.file)
        from sqlalchemy import make_url

        return make_url(self.url).render_as_string(hide_password=True)


def locate(named: str | Path | None = None) -> Location:
    """The ledger that was named (a file or a database URL), else the configured, else the default.

    The key lies beside a SQLite file; for a shared database it is each user's copy of the team's
    key, in the data folder or where DISCREET_LEDGER_KEY says.
    """
    text = str(named) if named is not None else os.environ.get(VARIABLE, "").strip()
    chosen = bool(text)
    file: Path | None = None
    if "://" not in text:
        file = Path(text).expanduser() if text else data_folder() / "ledger.db"
        url = f"sqlite:///{file.absolute()}"
    elif text.startswith("sqlite:"):
        file = Path(text.partition("://")[2].removeprefix("/"))
        url = text
    elif text.startswith(("postgresql://", "postgres://", "postgresql+psycopg://")):
        url = "postgresql+psycopg://" + text.partition("://")[2]
    else:
        raise LedgerError(
            f"{VARIABLE} is {text.partition('://')[0]}://…, which is not a ledger: name a file or "
            "a URL that begins with postgresql+psycopg://"
        )
    default_key = file.with_name(file.name + ".key") if file else data_folder() / "ledger.key"
    key = Path(os.environ.get(KEY_VARIABLE) or default_key).expanduser()
    return Location(url, file, key, chosen)


def data_folder() -> Path:
    """The user's data folder for discreet."""
    from platformdirs import user_data_path

    return user_data_path("discreet", appauthor=False)
