"""How a log was laid out in its file, given back to what is released of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import polars as pl

from discreet.log.events import ACTIVITY, LIFECYCLE, Classifier, EventLog


def laid_out(log: EventLog, names: Mapping[str, str], classifier: Classifier) -> EventLog:
    """A log made of released labels, in the layout of the one they come from.

    Both are public: the options of reading and the header of the file. Where activity and
    lifecycle together made a label, it is taken apart again, at its last plus sign: joined as on
    reading, the parts give the same label, whatever they contain.
    """
    table = log.table
    if classifier == "activity+lifecycle" and LIFECYCLE not in table.columns:
        label, parts = pl.col(ACTIVITY), r"(?s)^(.*)\+([^+]*)$"
        transition = label.str.extract(parts, 2)
        table = table.with_columns(
            label.str.extract(parts, 1).fill_null(label).alias(ACTIVITY),
            pl.when(transition != "").then(transition).alias(LIFECYCLE),
        )
    kept = {column: name for column, name in names.items() if column in table.columns}
    return replace(log, table=table, names=kept, classifier=classifier)


def released_names(log: EventLog) -> dict[str, str]:
    """What a release calls its columns, where not by their standard name; all of it is public.

    A lifecycle comes out only if it is part of the label.
    """
    left_out = () if log.classifier == "activity+lifecycle" else (LIFECYCLE,)
    named = log.names.items()
    return {role: name for role, name in named if name != role and role not in left_out}


def file_names(log: EventLog) -> dict[str, str]:
    """What each column is called in a file without names of its own: as where it came from."""
    found = {
        column: log.names.get(column, column.removeprefix("original:"))
        for column in log.table.columns
    }
    return found if len(set(found.values())) == len(found) else {}
