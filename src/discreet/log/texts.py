"""Values as text, the same text in every format that is written or digested."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import polars as pl

from discreet.arrays import Ints
from discreet.log.errors import LogError


def as_text(values: pl.Series) -> pl.Series:
    """Each value as XES writes it; times in UTC, to the millisecond or as fine as needed."""
    dtype = values.dtype
    if isinstance(dtype, pl.Datetime) or dtype == pl.Date:
        return _times(values)
    if dtype.is_float():
        texts = values.cast(pl.String)
        return texts.replace(["inf", "-inf"], ["INF", "-INF"])
    if dtype.is_nested() or dtype in (pl.Binary, pl.Object):
        raise LogError(
            f"the column {values.name!r} holds {dtype}, which cannot be written as text; "
            "convert or drop it"
        )
    return values.cast(pl.String)


MARK = "\ufffd"
"""Stands where a character cannot be written."""


def marked(values: pl.Series, forbidden: str) -> pl.Series:
    """Texts with a mark in place of each forbidden character; other values as they are."""
    return values.str.replace_all(forbidden, MARK) if values.dtype == pl.String else values


def xes_type(values: pl.Series) -> str:
    """The XES type of a column."""
    dtype = values.dtype
    if isinstance(dtype, pl.Datetime) or dtype == pl.Date:
        return "date"
    if dtype.is_integer():
        return "int"
    if dtype.is_float():
        return "float"
    return "boolean" if dtype == pl.Boolean else "string"


def per_case(texts: pl.Series, offsets: Ints) -> list[bytes]:
    """The texts of each case, one after another; missing ones leave nothing."""
    plain = texts.fill_null("")
    sizes = np.concatenate([[0], np.cumsum(plain.str.len_bytes().to_numpy(), dtype=np.int64)])
    joined: str = plain.str.join("").item()
    whole = joined.encode()
    return [whole[begin:end] for begin, end in pairwise(sizes[offsets].tolist())]


def _times(values: pl.Series) -> pl.Series:
    stamps = values.cast(pl.Datetime("us")) if values.dtype == pl.Date else values
    if stamps.dtype.time_zone is not None:  # type: ignore[attr-defined]
        stamps = stamps.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    stamps = stamps.dt.cast_time_unit("us")
    fine = (stamps.to_physical() % 1000 != 0).any()
    return stamps.dt.strftime(f"%Y-%m-%dT%H:%M:%S%.{6 if fine else 3}f+00:00")
