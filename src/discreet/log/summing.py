"""Sums over the cases of any log: in this process, or where an engine holds them."""

from __future__ import annotations

from collections.abc import Collection

from discreet.log.cases import Sums
from discreet.log.engines.lazy import EngineLog
from discreet.log.engines.memory import InMemory
from discreet.log.events import EventLog


def sums_over(log: EventLog, columns: Collection[str] = ()) -> Sums:
    """The cases of a log for questions whose answers are sums, with some further columns."""
    return log.sums(columns) if isinstance(log, EngineLog) else InMemory.of(log)
