"""Options built from declarations: the mechanisms' parameters, and how a log is read."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from discreet.log.events import EventLog
    from discreet.mechanisms.parameters import Parameter

Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
LogPath = Annotated[
    Path,
    typer.Argument(
        metavar="LOG",
        help="The event log: .xes, .csv, .tsv, .txt (all also .gz), .parquet, .xlsx; - for "
        "standard input.",
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(help="Repeatable noise for tests. What comes out is then NOT private."),
]
Source = Annotated[
    str | None,
    typer.Option(
        help="Book on the budget of this data source; see `discreet budget`.",
        rich_help_panel="The ledger",
    ),
]
Purpose = Annotated[
    str, typer.Option(help="What for; kept in the ledger.", rich_help_panel="The ledger")
]
NoLedger = Annotated[
    bool,
    typer.Option(
        "--no-ledger",
        help="Book nothing, though there is a ledger; the certificate says so.",
        rich_help_panel="The ledger",
    ),
]
Epsilons = Annotated[
    list[float] | None,
    typer.Option("--epsilon", help="Try this budget; may be repeated. Smaller is more private."),
]
Delta = Annotated[
    float,
    typer.Option("--delta", help="Probability of an exception; keep it far below 1/cases."),
]

READING = {
    "mapping": "TOML file with options of this section, as `inspect --save-mapping` writes it",
    "case": "column of the case id (CSV, Parquet)",
    "activity": "column of the activity",
    "timestamp": "column of the timestamp",
    "lifecycle": "column of the lifecycle transition",
    "individual": "column that names the person a case belongs to",
    "classifier": "what counts as an activity: activity, or activity+lifecycle",
    "case_attributes": "columns that say something of a whole case, as in age,sex",
    "timezone": "zone of times that carry no offset, as in Europe/Amsterdam; default UTC",
    "timestamp_format": "day-first, month-first, a format such as '%d/%m/%Y %H:%M', or seconds, "
    "milliseconds or microseconds since 1970",
    "types": "types of further columns, which are text else, as in amount:number, case:age:integer "
    "(text, integer, number, boolean, date)",
    "decimal": "the mark of decimal fractions in numbers: . or ,",
    "delimiter": "what separates the fields of a CSV file; else the header tells",
    "encoding": "encoding of a CSV file, such as windows-1252; else UTF-8, or UTF-16 by its mark",
    "sheet": "sheet of an Excel file that has several",
    "order": "time, or file to keep the order of the file and leave times out",
    "duplicates": "XES traces of one name: error, or merge to read them as one case",
    "drop_incomplete": "leave out cases that lack a required value",
}
READING_TYPES = {"drop_incomplete": bool, "mapping": Path}

_called: frozenset[str] | None = None


def only_for(arguments: Iterable[str]) -> None:
    """Build mechanisms' options only for commands named in these arguments.

    They take loading every mechanism, which `discreet --help` can do without.
    """
    global _called
    _called = frozenset(arguments)


def with_options(
    *, parameters: bool = False, trained: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Put options in place of a command's **values: reading, and mechanisms' parameters.

    `trained` leaves the parameters of mechanisms that train no model out.
    """
    keywords = [
        _keyword(name, READING_TYPES.get(name, str), help=text, panel="How the log is read")
        for name, text in READING.items()
    ]

    def extend(function: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(function, eval_str=True)
        kept = [p for p in signature.parameters.values() if p.kind != p.VAR_KEYWORD]
        wanted = parameters and (_called is None or function.__name__ in _called)
        further = [*keywords, *(_parameter_keywords(trained) if wanted else ())]
        own = {parameter.name for parameter in kept}
        fresh = [*kept, *(keyword for keyword in further if keyword.name not in own)]
        function.__signature__ = signature.replace(parameters=fresh)  # type: ignore[attr-defined]
        function.__annotations__ = {p.name: p.annotation for p in fresh}
        return function

    return extend


def _parameter_keywords(trained: bool) -> list[inspect.Parameter]:
    """One keyword for each parameter that any mechanism declares."""
    from discreet.mechanisms.generative import Generative
    from discreet.mechanisms.parameters import declared
    from discreet.mechanisms.registry import mechanism_class, mechanism_names

    names = mechanism_names()
    if trained:
        names = [name for name in names if issubclass(mechanism_class(name), Generative)]
    owners: dict[str, list[str]] = {}
    first: dict[str, Parameter] = {}
    for name in names:
        for parameter in declared(mechanism_class(name)).values():
            owners.setdefault(parameter.name, []).append(name)
            first.setdefault(parameter.name, parameter)
    keywords = []
    for name, parameter in first.items():
        default = _shown_default(name, owners[name])
        text = f"{parameter.help} ({parameter.range}; default {default})"
        if len(owners[name]) < len(names):
            text += f" — {', '.join(owners[name])}"
        keywords.append(
            _keyword(
                name,
                str if parameter.type is tuple else parameter.type,
                help=text,
                panel="The mechanism's parameters",
            )
        )
    return keywords


def _shown_default(name: str, owners: list[str]) -> str:
    """The default, or that it differs."""
    from discreet.mechanisms.registry import mechanism_class

    defaults = {str(mechanism_class(owner).parameters()[name].default) for owner in owners}
    if len(defaults) > 1:
        return "depends on the mechanism"
    return "none" if defaults <= {"None", "()"} else defaults.pop()


def given_parameters(values: dict[str, Any]) -> dict[str, Any]:
    """Of a command's extra values those that are a mechanism's parameters and were given."""
    return {k: v for k, v in values.items() if k not in READING and v is not None}


def reading_options(values: dict[str, Any]) -> dict[str, Any]:
    """How the log is to be read: what the mapping file says, unless an option says otherwise."""
    from discreet.log.mapping import load_mapping

    given = {k: values[k] for k in READING if values.get(k) is not None}
    mapping = given.pop("mapping", None)
    return given if mapping is None else {**load_mapping(mapping), **given}


def read(path: Path, values: dict[str, Any]) -> EventLog:
    """Read the log as the options say."""
    from discreet.cli.console import err, stage
    from discreet.log.reading import read_log

    options = reading_options(values)
    with stage(f"reading {path.name}"):
        log = read_log("-" if str(path) == "-" else path, **options)
    if log.left_out.events:
        err.print(
            "[bold yellow]For you, not for publication:[/bold yellow] left out since values are "
            f"missing: cases: {log.left_out.cases:,}, events: {log.left_out.events:,}"
        )
    return log


def more_time(seconds: float) -> str:
    """How to go on where time was short."""
    return f"Time was short: --seconds {4 * seconds:.0f} would show more."


def _keyword(name: str, kind: Any, *, help: str, panel: str) -> inspect.Parameter:
    option = "--" + name.replace("_", "-")
    names = (f"{option}/--no-{option[2:]}",) if kind is bool else (option,)
    annotation = Annotated[kind | None, typer.Option(*names, help=help, rich_help_panel=panel)]
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation
    )
