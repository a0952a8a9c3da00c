"""The short way to a whole log: `release --times --attributes …`."""

from __future__ import annotations

from typing import Any

from discreet.cli.options import reading_options
from discreet.mechanisms import WHOLE


def completed(
    mechanism: str, given: dict[str, Any], values: dict[str, Any], times: bool
) -> tuple[str, dict[str, Any]]:
    """The mechanism and its parameters, completed with times and attributes if asked for.

    Attributes that are declared as numbers are read as such, and hours are those of the zone in
    which times are read.
    """
    from discreet.log.types import declared
    from discreet.wholelogs.asking import asked_whole, declared_types, has_times

    if not has_times(mechanism):
        if not (times or given.get("attributes")):
            return mechanism, given
        mechanism, given = WHOLE, asked_whole(mechanism, given)
    reading = reading_options(values)
    whole = {"zone": reading.get("timezone") or "UTC", **given}
    types = reading.get("types")
    known = declared(types) if isinstance(types, str) else dict(types or {})
    kinds = declared_types(whole)
    if kinds:
        merged = {**known, **kinds}
        values["types"] = ", ".join(f"{column}:{kind}" for column, kind in merged.items())
    return mechanism, whole
