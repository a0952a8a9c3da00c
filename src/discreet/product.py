"""The product that is released: the mechanism that is named, or the default one.

Every face asks `product`, so the same words give the same mechanism: whole logs where the log has
times, and otherwise its variants, in whichever engine its events are.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.log.datatypes import declared
from discreet.mechanisms import DEFAULT_MECHANISM, WHOLE
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.registry import mechanism as build
from discreet.mechanisms.registry import mechanism_class
from discreet.parameters import ParameterError

if TYPE_CHECKING:
    from discreet.log.events import EventLog


@dataclass(frozen=True)
class Product:
    """What is asked for, before the log is read."""

    mechanism: Mechanism
    """The mechanism of a log that has times, and of any log if it was chosen by name."""
    types: Mapping[str, str]
    """The types as which columns must be read; empty where those given to the reader stand."""
    default: bool
    """Whether nobody chose between times and no times."""
    timeless: Mapping[str, Any] | None = None
    """The parameters of the variants that stand in where the log has no times, if they may."""

    def of(self, log: EventLog) -> Mechanism:
        """The mechanism of this log."""
        if self.timeless is None or log.has_times:
            return self.mechanism
        return build(DEFAULT_MECHANISM, **self.timeless)


def product(
    mechanism: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    *,
    times: bool | None = None,
    reading: Mapping[str, Any] | None = None,
) -> Product:
    """The product of these options; `reading` are those by which the log is read.

    Where neither a mechanism nor `times` is given it is the default: a whole log, or the variants
    of a log without times. A parameter that is about columns takes times for granted.
    """
    given = dict(parameters or {})
    default = mechanism is None and times is None
    name, own, types = completed(
        mechanism or DEFAULT_MECHANISM, given, reading or {}, times=default or bool(times)
    )
    columns = given.get("attributes") or given.get("begun")
    return Product(build(name, **own), types, default, None if columns or not default else given)


def default_mechanism(*, timed: bool = True) -> str:
    """The name of the mechanism of the default product, of a log with times or of one without."""
    return WHOLE if timed else DEFAULT_MECHANISM


def default_product(given: Mapping[str, Any], *, times: bool | None = None) -> Product:
    """The default product with those of the given parameters that it has."""
    return product(None, taken(DEFAULT_MECHANISM, given), times=times)


def taken(mechanism: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the given parameters that a mechanism has, or times and attributes over it."""
    known = {*mechanism_class(mechanism).parameters(), *mechanism_class(WHOLE).parameters()}
    return {name: value for name, value in given.items() if name in known}


def variants_of(mechanism: Mechanism) -> Mechanism:
    """The mechanism that releases the variants: the one inside a whole log's, or itself."""
    inner = getattr(mechanism, "inner", None)
    return inner if isinstance(inner, Mechanism) else mechanism


def has_times(mechanism: str) -> bool:
    """Whether a mechanism releases times and attributes by itself."""
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
    own = mechanism_class(WHOLE).parameters()
    inner = mechanism_class(mechanism).parameters()
    for name in given:
        if name not in own and name not in inner:
            raise ParameterError(
                f"{mechanism} has no parameter {name!r}; it takes {', '.join(inner)}"
            )
    options = tuple(f"{k}={json.dumps(v)}" for k, v in given.items() if k not in own)
    kept = {"variants": mechanism} | {k: v for k, v in given.items() if k in own}
    return kept | ({"options": options} if options else {})


def declared_types(parameters: Mapping[str, Any]) -> dict[str, str]:
    """As which types the columns that are asked for must be read."""
    from discreet.mechanisms.whole.declared_attributes import listed, read_attributes

    asked = parameters.get("attributes") or ()
    texts = listed(asked) if isinstance(asked, str) else tuple(asked)
    kinds: dict[str, str] = {
        one.column: one.kind for one in read_attributes(texts) if one.kind != "text"
    }
    if parameters.get("begun"):
        kinds[parameters["begun"]] = "date"
    return kinds
