"""Spark: logs of a cluster, in a session that is there or is started on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from discreet.log.engines.lazy import EngineLog
from discreet.log.engines.limits import in_words, memory_limit
from discreet.log.engines.plan import Plan, finer_than_microseconds
from discreet.log.engines.sources import Source
from discreet.log.engines.sql import SqlEngine, quoted
from discreet.log.errors import LogError, option
from discreet.log.shaping import Shape

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.log.events import Classifier
