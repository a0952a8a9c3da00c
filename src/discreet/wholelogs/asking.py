"""The short way to a whole log: a mechanism for variants, and that times are wanted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from discreet.log.types import declared
from discreet.mechanisms import WHOLE
from discreet.parameters import ParameterError


def has_times(mechanism: str) -> bool:
    """Whether a mechanism releases times and attributes by itself."""
    from discreet.mechanisms.registry import mechanism_class

    return "zone" in mechanism_class(mechanism).parameters()


def completed(
    mechanism: str, given: Mapping[str, Any], reading: Mapping[str, Any], *, times: bool
) -> tuple[str, dict[str, Any], dict[str, str]]:
    """A mechanism and its parameters, with times and attributes where these are asked for.

    Also the types as which columns must be read, if any: attributes that are declared as numbers
    are read as such. Hours are those of the zone in which times are read.
    """
    if not has_times(mechanism):
        if not (times or given.get("attributes")):
            return mechanism, dict(given), {}
        mechanism, given = WHOLE, _asked_whole(mechanism, given)
    whole = {"zone": reading.get("timezone") or "UTC", **given}
    kinds = declared_types(whole)
    types = reading.get("types") or {}
    known = declared(types) if isinstance(types, str) else types
    return mechanism, whole, {**known, **kinds} if kinds else {}


def _asked_whole(mechanism: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of `whole` over the variants of a mechanism.

    What only the mechanism of the variants knows becomes an option of it.
    """
    from discreet.mechanisms.registry import mechanism_class

    own = mechanism_class(WHOLE).parameters()
    inner = mechanism_class(mechanism).parameters()
    for name in given:
        if name not in own and name not in inner:
            raise ParameterError(
                f"{mechanism} has no parameter {name!r}; it takes {', '.join(inner)}"
            )
    options = tuple(f"{k}={json.dumps(v)}" for k, v in given.items() if k not in own)
    kept = {k: v for k, v in given.items() if k in own} | {"variants": mechanism}
    return kept | ({"options": options} if options else {})


def declared_types(parameters: Mapping[str, Any]) -> dict[str, str]:
    """As which types the columns that are asked for must be read."""
    from discreet.wholelogs.declaring import listed, read_attributes

    asked = parameters.get("attributes") or ()
    texts = listed(asked) if isinstance(asked, str) else tuple(asked)
    kinds: dict[str, str] = {
        one.column: one.kind for one in read_attributes(texts) if one.kind != "text"
    }
    if parameters.get("begun"):
        kinds[parameters["begun"]] = "date"
    return kinds
