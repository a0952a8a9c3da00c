"""The short way to a whole log: `release --times --attributes …`."""

from __future__ import annotations

import json
from typing import Any

from discreet.cli.options import WHOLE, reading_options


def completed(
    mechanism: str, given: dict[str, Any], values: dict[str, Any], times: bool
) -> tuple[str, dict[str, Any]]:
    """The mechanism and its parameters, completed with times and attributes if asked for.

    What only the mechanism of the variants knows becomes an option of it. Attributes that are
    declared as numbers are read as such, and hours are those of the zone in which times are read.
    """
    if mechanism == WHOLE or times or (given.get("attributes") and mechanism != "amun"):
        from discreet.mechanisms.parameters import ParameterError
        from discreet.mechanisms.registry import mechanism_class

        own = mechanism_class(WHOLE).parameters()
        if mechanism != WHOLE:
            inner = mechanism_class(mechanism).parameters()
            options = [f"{k}={json.dumps(v)}" for k, v in given.items() if k not in own]
            for name in given:
                if name not in own and name not in inner:
                    raise ParameterError(
                        f"{mechanism} has no parameter {name!r}; it takes {', '.join(inner)}"
                    )
            given = {k: v for k, v in given.items() if k in own} | {"variants": mechanism}
            if options:
                given["options"] = tuple(options)
        reading = reading_options(values)
        given.setdefault("zone", reading.get("timezone") or "UTC")
        _declare(given.get("attributes", ""), values, reading.get("types"))
        return WHOLE, given
    return mechanism, given


def _declare(attributes: str, values: dict[str, Any], types: Any) -> None:
    """Add the types of the attributes to those that the log is read with."""
    from discreet.log.types import declared
    from discreet.wholelogs.declaring import listed, reading_types

    known = declared(types) if isinstance(types, str) else dict(types or {})
    merged = reading_types(listed(attributes), known)
    if merged != known:
        values["types"] = ", ".join(f"{column}:{kind}" for column, kind in merged.items())
