"""Results on disk: one row per run, written as it comes, safe against a kill at any moment."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from discreet.log.errors import LogError

Outcome = Literal["ok", "empty", "failed"]


@dataclass(frozen=True)
class ResultRow:
    """The result of one run. Failed and empty runs are rows like any other."""

    key: str
    log: str
    label: str
    mechanism: str
    parameters: dict[str, Any]
    repetition: int
    outcome: Outcome
    error: str = ""
    seconds: float = 0.0
    status: str = ""
    """What its guarantee says: proved, conditional, refuted, unproved; empty for controls."""
    version: str = ""
    figures: dict[str, float] = field(default_factory=dict)

    @property
    def epsilon(self) -> float | None:
        """Its ε, if it has one."""
        return self.parameters.get("epsilon")

    @property
    def delta(self) -> float | None:
        """Its δ, if it has one."""
        return self.parameters.get("delta")


_SCHEMA = """
create table if not exists results (
  key text primary key, log text not null, label text not null, mechanism text not null,
  parameters text not null, repetition integer not null, outcome text not null,
  error text not null, seconds real not null, status text not null, version text not null,
  figures text not null
)
"""

_JSON = ("parameters", "figures")


class Store:
    """A SQLite file of results. A row is there completely or not at all, and never twice."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with self._open() as connection:
                connection.execute("pragma journal_mode = wal")
                connection.execute(_SCHEMA)
                connection.execute("select key, figures from results limit 1")
        except sqlite3.Error as error:
            raise LogError(f"{path} cannot be used for results: {error}") from error

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self.path, timeout=60)) as connection, connection:
            yield connection

    def add(self, row: ResultRow) -> None:
        """Write one row durably; a row of the same key stays as it is."""
        values = dict(vars(row))
        for name in _JSON:
            values[name] = json.dumps(values[name], sort_keys=True)
        names = ", ".join(values)
        marks = ", ".join(f":{name}" for name in values)
        with self._open() as connection:
            connection.execute(f"insert or ignore into results ({names}) values ({marks})", values)

    def keys(self) -> set[str]:
        """The runs that are done."""
        with self._open() as connection:
            return {key for (key,) in connection.execute("select key from results")}

    def rows(self) -> list[ResultRow]:
        """All results, in no particular order."""
        with self._open() as connection:
            connection.row_factory = sqlite3.Row
            found = [dict(row) for row in connection.execute("select * from results")]
        for values in found:
            for name in _JSON:
                values[name] = json.loads(values[name])
        return [ResultRow(**values) for values in found]

    def forget_failures(self) -> int:
        """Remove failed rows, so that they are tried again; returns how many."""
        with self._open() as connection:
            return connection.execute("delete from results where outcome = 'failed'").rowcount
