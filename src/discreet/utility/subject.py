"""The subject of an evaluation: a release in any of its forms, taken apart."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from discreet.certificate import reading_of
from discreet.log.errors import LogError
from discreet.log.events import TIME, EventLog
from discreet.log.files import opened
from discreet.log.follows import FORMAT as FOLLOWS
from discreet.log.follows import Follows
from discreet.log.formats.variant_tables import is_variant_table, read_variants
from discreet.log.loading import read_log
from discreet.log.variants import Variants
from discreet.models.tree import Tree
from discreet.models.writers import TreeDocument
from discreet.releases import Release


@dataclass(frozen=True)
class Subject:
    """The views that a release offers; those it lacks are None."""

    kind: str
    variants: Variants | None = None
    log: EventLog | None = None
    """The log, if its times are real."""
    follows: Follows | None = None
    tree: Tree | None = None

    @property
    def empty(self) -> bool:
        """Whether nothing was released: no case, or no accepted tree."""
        if self.variants is not None:
            return self.variants.cases == 0
        return self.follows is None and self.tree is None


def subject_of(released: Any) -> Subject:
    """Take apart a Release, EventLog, Variants, Follows, process tree or a path to any of them."""
    if isinstance(released, Subject):
        return released
    if isinstance(released, Release):
        released = released.artefact
    if isinstance(released, str | os.PathLike):
        return _read(Path(released))
    if isinstance(released, Variants):
        occurring = released.take(np.flatnonzero(released.counts))
        return Subject("variants", variants=occurring)
    if isinstance(released, EventLog):
        timed = released if released.has_times and not _artificial(released) else None
        return Subject("log", variants=released.variants, log=timed)
    if isinstance(released, Follows):
        return Subject("directly-follows graph", follows=released)
    if isinstance(released, Tree):
        return Subject("process tree", tree=released)
    if isinstance(released, TreeDocument):
        return Subject("process tree", tree=released.tree)
    raise LogError(
        f"cannot evaluate a {type(released).__name__}; give a Release, an EventLog, Variants, a "
        "directly-follows graph, a process tree, or the path of a released file"
    )


def _read(path: Path) -> Subject:
    if is_variant_table(path):
        return subject_of(read_variants(path)[0])
    if path.suffix.lower() != ".json":
        return subject_of(read_log(path, allow_empty=True, **reading_of(path)))
    with opened(path) as stream:
        text = stream.read().decode("utf-8", errors="replace")
    try:
        values = json.loads(text)
    except ValueError as error:
        raise LogError(f"{path.name} is not JSON: {error}") from None
    kind = values.get("format") if isinstance(values, dict) else None
    try:
        if kind == FOLLOWS:
            return subject_of(Follows.from_json(text))
        return subject_of(TreeDocument.from_json(text))
    except ValueError as error:
        raise LogError(
            f"{path.name} is neither a directly-follows graph nor a process tree: {error}"
        ) from None


def _artificial(log: EventLog) -> bool:
    """Whether the times are those of `expand`: every case from 1970-01-01, a second per event."""
    stamps = log.table[TIME].gather(log.order).dt.epoch("us").to_numpy()
    begin = np.repeat(log.offsets[:-1], np.diff(log.offsets))
    return bool((stamps == (np.arange(log.events) - begin) * 1_000_000).all())
