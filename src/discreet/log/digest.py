"""A fingerprint of what a log says, whatever file it stands in."""

from __future__ import annotations

import hashlib

import numpy as np
import polars as pl

from discreet.log.events import TIME, EventLog
from discreet.log.texts import as_text
from discreet.log.variants import spans


def content_digest(log: EventLog) -> str:
    """SHA-256 of the events: every column by name, cases by identifier, events in their order.

    Written to XES, CSV or Parquet and read again, a log keeps its digest; a changed, added or
    removed value, event or column changes it. Attributes of the whole log do not count.
    """
    by_name = np.argsort(pl.Series(log.case_ids, dtype=pl.String).rank("ordinal").to_numpy())
    rows = log.order[spans(log.offsets, by_name)[0]]
    total = hashlib.sha256()
    for name in sorted(log.table.columns):
        values = log.table[name].gather(rows)
        if values.null_count() == len(values):
            continue
        texts = values.to_physical().cast(pl.String) if name == TIME else as_text(values)
        lengths = texts.str.len_bytes().cast(pl.Int64).fill_null(-1).to_numpy()
        joined: str = texts.fill_null("").str.join("").item()
        for part in (name.encode(), lengths.tobytes(), joined.encode()):
            total.update(len(part).to_bytes(8, "big"))
            total.update(part)
    return total.hexdigest()
