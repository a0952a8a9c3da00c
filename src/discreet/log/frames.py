"""Frames of other libraries, where they are installed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.log.errors import LogError

if TYPE_CHECKING:
    import polars as pl


def as_pandas(frame: pl.DataFrame) -> Any:
    """A pandas frame of the same columns."""
    try:
        return frame.to_pandas()
    except ImportError as error:
        raise LogError(
            f"pandas frames need pandas and pyarrow (pip install 'discreet[pm4py]'): {error}"
        ) from None
