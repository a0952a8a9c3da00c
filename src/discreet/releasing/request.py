"""Request: what to release, of which log, how the log is read, and who pays.

Every face builds one, and `releasing.way` carries it out, so the same words give the same release
for every face. It holds no data: as JSON it is the order for a job of another process.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import DiscreetError
from discreet.ledger.errors import LedgerError
from discreet.log.formats.variant_tables import is_variant_table
from discreet.log.reading import Reading
from discreet.mechanisms import DEFAULT_MECHANISM, WHOLE
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.registry import mechanism as build
from discreet.mechanisms.registry import mechanism_class
from discreet.parameters import ParameterError

if TYPE_CHECKING:
    from discreet.log.events import EventLog

FORMAT = "discreet request 1"

FOLLOWING = ("zone",)
"""Parameters that follow the reading unless they are given, so a given default is kept."""


class RequestError(DiscreetError, ValueError):
    """No request was found where one was expected, or it cannot be read."""


@dataclass(frozen=True)
class Product:
    """What is released: a mechanism with its parameters, or the default product.

    With neither a mechanism nor `times` it is the default: a whole log, or the variants of a log
    without times. Two products that say the same are equal: parameters given at their default are
    left out, and lists become tuples, however they were written.
    """

    mechanism: str | None = None
    """The name of the mechanism; None for the default."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Public values; ε is always among them."""
    times: bool | None = None
    """Whether times come with the variants; None leaves it to the log and the default rule."""
    model: bool = False
    """Whether a trained model is kept, not only a log drawn from it."""
    cases_alone: bool = False
    """Whether single cases are protected even if it is known whose they are."""

    def __post_init__(self) -> None:
        if self.mechanism is not None and self.times is None:
            object.__setattr__(self, "times", False)
        object.__setattr__(self, "parameters", self._canonical())

    @classmethod
    def taking(
        cls, given: Mapping[str, Any], mechanism: str | None = None, *, times: bool | None = None
    ) -> Product:
        """Build a product from those of the given parameters that it has."""
        known = set(mechanism_class(mechanism or DEFAULT_MECHANISM).parameters())
        if mechanism is None or times:
            known |= set(mechanism_class(WHOLE).parameters())
        return cls(mechanism, {k: v for k, v in given.items() if k in known}, times)

    @property
    def open(self) -> bool:
        """Whether the choice between times and no times is open."""
        return self.mechanism is None and self.times is None

    def _canonical(self) -> dict[str, Any]:
        """The checked parameters that differ from their defaults, and always ε."""
        first = mechanism_class(self.mechanism or DEFAULT_MECHANISM).parameters()
        completed = self.open or self.times or self.parameters.get("attributes")
        owners = (first, mechanism_class(WHOLE).parameters()) if completed else (first,)
        given = {"epsilon": first["epsilon"].default, **self.parameters}
        kept = {}
        for name, value in sorted(given.items()):
            known = [owner[name] for owner in owners if name in owner]
            value = known[0].check(value) if known else value
            usual = known and all(value == one.default for one in known)
            if not usual or name in ("epsilon", *FOLLOWING):
                kept[name] = value
        return kept

    def resolved(self, reading: Reading | None = None) -> Resolved:
        """Resolve the mechanism, for a log that is read in this way.

        A parameter that is about columns implies times. Refuses what no mechanism takes.
        """
        given = dict(self.parameters)
        name, own, types = completed(
            self.mechanism or DEFAULT_MECHANISM,
            given,
            reading or Reading(),
            times=self.open or bool(self.times),
        )
        columns = given.get("attributes") or given.get("begun")
        fixed = columns or not self.open
        return Resolved(build(name, **own), types, self.open, None if fixed else given)


@dataclass(frozen=True)
class Resolved:
    """The mechanism of a product, before the log is read."""

    mechanism: Mechanism
    """The mechanism of a log that has times, and of any log if it was chosen by name."""
    types: Mapping[str, Any]
    """The types by which columns must be read; empty if those given to the reader stand."""
    default: bool
    """Whether the choice between times and no times was left open."""
    timeless: Mapping[str, Any] | None = None
    """Parameters of the variants released if the log has no times; None if they may not be."""

    def of(self, log: EventLog) -> Mechanism:
        """The mechanism for this log."""
        if self.timeless is None or log.has_times:
            return self.mechanism
        return build(DEFAULT_MECHANISM, **self.timeless)

    def reading(self, asked: Reading) -> Reading:
        """The reading that it needs: declared columns by their types, others only if needed."""
        further = asked.further and self.mechanism.reads in ("cases", "events")
        return replace(asked, further=further, types=dict(self.types) or asked.types)


@dataclass(frozen=True)
class Payment:
    """The budget that a release is booked on, if any."""

    source: str | None = None
    """The data source whose budget pays; None books nothing."""
    purpose: str = ""
    user: str | None = None
    """The user entered as the one who spends; None is the account on this computer."""
    bypassed: bool = False
    """Whether the ledger is bypassed by choice, which the certificate says."""
    allow_weak: bool = False
    """Whether a budget is insisted on that protects hardly anybody."""
    cost: Mapping[str, str] | None = None
    """The part of the budget that it takes, as confirmed; it is booked for nothing else."""

    def __post_init__(self) -> None:
        if self.bypassed and self.source is not None:
            raise LedgerError("--source books on a ledger and --no-ledger does not: choose one")


@dataclass(frozen=True)
class Output:
    """The place where a release is written."""

    path: str
    overwrite: bool = False
    """Whether an existing file may be replaced; the log itself never is."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """One release, or one training, as it is asked for."""

    log: str | None = None
    """The place of the log: a path or pattern, the address of a database, or - for standard input.

    None for data that are in memory already.
    """
    reading: Reading = field(default_factory=Reading)
    product: Product = field(default_factory=Product)
    payment: Payment = field(default_factory=Payment)
    output: Output | None = None
    """The file to write; None for a release that the caller writes later."""
    seed: int | None = None
    """Seed of repeatable noise, for tests: the release is then not private."""

    def __post_init__(self) -> None:
        if self.output is not None and self.product.open and is_variant_table(self.file):
            object.__setattr__(self, "product", replace(self.product, times=False))

    @property
    def file(self) -> Path:
        """The path to write to."""
        if self.output is None:
            raise RequestError("this request names no file")
        return Path(self.output.path)

    def resolved(self) -> Resolved:
        """The mechanism that is asked for."""
        return self.product.resolved(self.reading)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        product = {**asdict(self.product), "parameters": _plain(dict(self.product.parameters))}
        return {
            "format": FORMAT,
            "log": self.log,
            "reading": self.reading.given,
            "product": product,
            "payment": asdict(self.payment),
            "output": None if self.output is None else asdict(self.output),
            "seed": self.seed,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Request:
        """Inverse of `to_dict`; the request is checked again."""
        try:
            given = dict(values)
            if given.pop("format") != FORMAT:
                raise ValueError("unknown format")
            output = given.pop("output")
            return cls(
                reading=Reading(**given.pop("reading")),
                product=Product(**given.pop("product")),
                payment=Payment(**given.pop("payment")),
                output=None if output is None else Output(**output),
                **given,
            )
        except DiscreetError:
            raise
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise RequestError(f"this is not a request of discreet: {error}") from error

    def to_json(self) -> str:
        """The canonical text."""
        return json.dumps(self.to_dict(), ensure_ascii=False, sort_keys=True, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Request:
        """Inverse of `to_json`; raises RequestError on anything else."""
        try:
            values = json.loads(text)
        except ValueError as error:
            raise RequestError(f"this is not a request of discreet: {error}") from error
        return cls.from_dict(values)


def _plain(value: Any) -> Any:
    """Turn tuples into lists, at any depth, as JSON gives them back."""
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value


def default_mechanism(*, timed: bool = True) -> str:
    """The name of the default product's mechanism, for a log with times or without."""
    return WHOLE if timed else DEFAULT_MECHANISM


def variants_of(mechanism: Mechanism) -> Mechanism:
    """The mechanism that releases the variants: the inner one of a whole log's, or itself."""
    inner = getattr(mechanism, "inner", None)
    return inner if isinstance(inner, Mechanism) else mechanism


def has_times(mechanism: str) -> bool:
    """Whether a mechanism releases times and attributes by itself."""
    return "zone" in mechanism_class(mechanism).parameters()


def completed(
    mechanism: str, given: Mapping[str, Any], reading: Reading, *, times: bool
) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """A mechanism and its parameters, with times and attributes if these are asked for.

    Also the types by which columns must be read, if any: attributes that are declared as numbers
    are read as such. Hours are those of the zone in which times are read.
    """
    if not has_times(mechanism):
        if not (times or given.get("attributes")):
            return mechanism, dict(given), {}
        mechanism, given = WHOLE, _asked_whole(mechanism, given)
    whole = {"zone": reading.zone, **given}
    kinds = declared_types(whole)
    return mechanism, whole, {**reading.kinds, **kinds} if kinds else {}


def _asked_whole(mechanism: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of `whole` over the variants of a mechanism.

    A parameter that only the mechanism of the variants has becomes an option of `whole`.
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
    """The types by which the columns asked for must be read."""
    from discreet.mechanisms.whole.declared_attributes import listed, read_attributes

    asked = parameters.get("attributes") or ()
    texts = listed(asked) if isinstance(asked, str) else tuple(asked)
    kinds: dict[str, str] = {
        one.column: one.kind for one in read_attributes(texts) if one.kind != "text"
    }
    if parameters.get("begun"):
        kinds[parameters["begun"]] = "date"
    return kinds
