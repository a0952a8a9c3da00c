"""Options built from declarations: the mechanisms' parameters, and how a log is read."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from discreet.mechanisms import DEFAULT_MECHANISM, WHOLE

if TYPE_CHECKING:
    from discreet.log.events import EventLog
    from discreet.parameters import Parameter
    from discreet.releasing.request import Product, Request


def mechanism_names_for_shells(incomplete: str) -> list[str]:
    """Names of the mechanisms that begin with what was typed."""
    from discreet.releasing.catalogue import mechanism_names

    return [name for name in mechanism_names() if name.startswith(incomplete)]


def mechanism_option(help: str) -> Any:
    """Build the option that names a mechanism; a shell completes it."""
    return Option("--mechanism", "-m", help=help, autocompletion=mechanism_names_for_shells)


Json = Annotated[bool, Option("--json", help="Print JSON, for programs.")]
LogPath = Annotated[
    Path,
    Argument(
        metavar="LOG",
        help="The event log: .xes, .csv, .tsv, .txt (all also .gz), .parquet, .xlsx; - for "
        "standard input; a folder or pattern of Parquet files; a database (see --query).",
    ),
]
Force = Annotated[bool, Option("--force", help="Replace existing files; never the log itself.")]
AllowWeak = Annotated[
    bool,
    Option(
        "--allow-weak",
        help="Insist on a budget that protects hardly anybody; the certificate says so.",
    ),
]
Quiet = Annotated[bool, Option("--quiet", "-q", help="Print nothing but errors.")]
Seed = Annotated[
    int | None, Option(help="Repeatable noise for tests. What comes out is then NOT private.")
]
Source = Annotated[
    str | None,
    Option(
        help="Book on the budget of this data source; see `discreet budget`.",
        rich_help_panel="The ledger",
    ),
]
Purpose = Annotated[str, Option(help="Why; kept in the ledger.", rich_help_panel="The ledger")]
NoLedger = Annotated[
    bool,
    Option(
        "--no-ledger",
        help="Book nothing, even if there is a ledger; the certificate says so.",
        rich_help_panel="The ledger",
    ),
]
Epsilons = Annotated[
    list[float] | None,
    Option("--epsilon", help="Try this budget; may be repeated. Smaller is more private."),
]
Delta = Annotated[
    float, Option("--delta", help="Probability of an exception; keep it far below 1/cases.")
]

MAPPING = "TOML file with options of this section, as `inspect --save-mapping` writes it"

BOOKING: dict[str, tuple[Any, Any]] = {
    "source": (Source, None),
    "purpose": (Purpose, ""),
    "no_ledger": (NoLedger, False),
    "force": (Force, False),
    "allow_weak": (AllowWeak, False),
}
"""Options of every command that pays for a release and writes it, with their defaults."""

_WANTED = "__wanted_options__"


@dataclass(frozen=True)
class TakesOptions:
    """Lets a command take options that depend on its other arguments, as **values."""

    parameters: bool = False
    """Whether parameters of mechanisms are taken, besides the options for reading the log."""
    booking: bool = False
    """Whether the options of a release that is paid for and written are taken."""
    default: str = DEFAULT_MECHANISM
    """The mechanism whose options are shown if none is named."""
    every: bool = False
    """Whether options of all mechanisms are taken if none is named (only the default's show), and
    the default's if others are, since it runs beside them."""

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Mark a command."""
        setattr(function, _WANTED, self)
        return function


def extended(function: Callable[..., Any], arguments: Sequence[str]) -> Callable[..., Any]:
    """Return the command with the options it has when it is called with these arguments.

    Mechanisms are loaded only for the command that is called, and only those it names.
    """
    from discreet.log.reading import Reading

    wanted: TakesOptions | None = getattr(function, _WANTED, None)
    if wanted is None:
        return function
    signature = inspect.signature(function, eval_str=True)
    fresh = [p for p in signature.parameters.values() if p.kind != p.VAR_KEYWORD]
    if wanted.booking:
        fresh += [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=usual, annotation=kind)
            for name, (kind, usual) in BOOKING.items()
        ]
    panel = "How the log is read"
    reading = [_keyword("mapping", Path, help=MAPPING, panel=panel)]
    reading += [
        _keyword(option.name, _kind(option), help=option.help, panel=panel)
        for option in Reading.parameters("command").values()
    ]
    if wanted.parameters and function.__name__ in arguments:
        named = _named(arguments, positional="mechanism" in _positional(signature))
        names = named
        if "times" in signature.parameters and _completed(arguments, names):
            names = [*(names or [wanted.default]), WHOLE]  # completes the variants of the first
        own = {parameter.name for parameter in fresh}
        keywords = _parameter_keywords(wanted, names or [wanted.default], everything=not named)
        fresh += [one for one in keywords if one.name not in own]
        offered = {p.name for p in (*fresh, *reading)}
        _check_owners(arguments, offered, names or [wanted.default])

    @wraps(function)
    def command(**values: Any) -> Any:
        return function(**values)

    fresh += reading
    command.__signature__ = signature.replace(parameters=fresh)  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in fresh}
    return command


def _completed(arguments: Sequence[str], names: list[str]) -> bool:
    """Whether times or attributes are asked for, or come with the default mechanism."""
    given = {argument.partition("=")[0] for argument in arguments}
    return bool({"--times", "--attributes"} & given) or not (names or "--no-times" in given)


def _positional(signature: inspect.Signature) -> set[str]:
    """Names of a command's arguments that are not options."""
    return {
        name
        for name, parameter in signature.parameters.items()
        if any(
            type(extra).__name__ == "ArgumentInfo"
            for extra in getattr(parameter.annotation, "__metadata__", ())
        )
    }


def _named(arguments: Sequence[str], *, positional: bool) -> list[str]:
    """The mechanisms named in these arguments."""
    from discreet.releasing.catalogue import mechanism_names

    if positional:
        return [argument for argument in arguments if argument in mechanism_names()][:1]
    found = []
    for argument, following in zip(arguments, [*arguments[1:], ""], strict=True):
        if argument in ("-m", "--mechanism"):
            found.append(following)
        elif argument.startswith("--mechanism="):
            found.append(argument.partition("=")[2])
        elif argument.startswith("-m") and not argument.startswith("--"):
            found.append(argument[2:])
    return [name for name in found if name]


def _parameter_keywords(
    wanted: TakesOptions, shown: list[str], *, everything: bool
) -> list[inspect.Parameter]:
    """Build a keyword for each parameter of the mechanisms shown or only taken."""
    from discreet.releasing.catalogue import mechanism_class, mechanism_names

    taken = shown
    if wanted.every:
        taken = mechanism_names() if everything else [wanted.default, WHOLE]
    keywords: dict[str, inspect.Parameter] = {}
    for owner in (*shown, *(name for name in taken if name not in shown)):
        for parameter in mechanism_class(owner).parameters().values():
            having = [n for n in shown if parameter.name in mechanism_class(n).parameters()]
            if parameter.name in keywords:
                continue
            default = "none" if parameter.default in (None, ()) else parameter.default
            text = f"{parameter.help} ({parameter.range}; default {default})"
            if len(shown) > 1:
                text += f" — {', '.join(having)}" if having != shown else ""
            keywords[parameter.name] = _keyword(
                parameter.name,
                _kind(parameter),
                help=text,
                panel=f"Parameters of {', '.join(shown)}",
                hidden=owner not in shown,
            )
    return list(keywords.values())


def _check_owners(arguments: Sequence[str], offered: set[str], chosen: list[str]) -> None:
    """Refuse an option that only other mechanisms have, and name those."""
    from discreet.parameters import ParameterError
    from discreet.releasing.catalogue import mechanism_class, mechanism_names

    for argument in arguments:
        name = argument.partition("=")[0].removeprefix("--").replace("-", "_")
        if not argument.startswith("--") or name in offered | {"mechanism", "help", "json"}:
            continue
        owners = [one for one in mechanism_names() if name in mechanism_class(one).parameters()]
        if owners:
            raise ParameterError(
                f"{' and '.join(chosen)} {'has' if len(chosen) == 1 else 'have'} no parameter "
                f"{name!r}; it is one of "
                f"{', '.join(owners)} (choose by --mechanism)"
            )


def given_parameters(values: dict[str, Any]) -> dict[str, Any]:
    """Select from a command's extra values the parameters of a mechanism that were given."""
    from discreet.log.reading import Reading

    others = {"mapping", *Reading.parameters(), *BOOKING}
    return {k: v for k, v in values.items() if k not in others and v is not None}


def reading_options(values: dict[str, Any]) -> dict[str, Any]:
    """Options for reading the log: those of the mapping file, unless the command overrides them."""
    from discreet.log.reading import Reading, load_mapping

    offered = Reading.parameters("command")
    given = {k: v for k, v in values.items() if k in offered and v is not None}
    mapping = values.get("mapping")
    return given if mapping is None else {**load_mapping(mapping), **given}


def request_of(
    log: Path, output: Path, product: Product, values: dict[str, Any], seed: int | None
) -> Request:
    """Build the request from a command that has the options of `BOOKING`."""
    from discreet.log.reading import Reading
    from discreet.releasing.request import Output, Payment, Request

    return Request(
        log=str(_address(log)),
        reading=Reading(**reading_options(values)),
        product=product,
        payment=Payment(
            values.get("source"),
            values.get("purpose") or "",
            bypassed=bool(values.get("no_ledger")),
            allow_weak=bool(values.get("allow_weak")),
        ),
        output=Output(str(output), overwrite=bool(values.get("force"))),
        seed=seed,
    )


def read(path: Path, values: dict[str, Any], *, further: bool = True) -> EventLog:
    """Read the log as the options say; without further columns if none are asked for."""
    from discreet.cli.console import stage, steward_note
    from discreet.log.reading import Reading
    from discreet.releasing.way import read as read_as

    reading = Reading(**{"further": further, **reading_options(values)})
    return read_as(str(_address(path)), reading, tell=steward_note, progress=stage)


def _address(path: Path) -> str | Path:
    """The log as `read_log` takes it: standard input, the address of a database, or the path."""
    text = str(path)
    if text == "-":
        return text
    scheme = re.match(r"([A-Za-z][A-Za-z0-9+]+):/+", text)  # a path keeps one slash only
    return f"{scheme[1]}://{text[scheme.end() :]}" if scheme else path


def check_page(path: Path, *inputs: Path, force: bool) -> None:
    """Refuse a page that could not be written, or would replace something."""
    from discreet.log.files import files_read
    from discreet.releases import check_target, check_unused

    check_target(path, (".html", ".htm"))
    check_unused(path, *(file for one in inputs for file in files_read(one)), force=force)


def more_time(seconds: float) -> str:
    """Advice for a run that was short of time."""
    return f"Time was short: --seconds {4 * seconds:.0f} would show more."


def _kind(parameter: Parameter) -> type:
    """The type of a parameter on the command line, where a list is written as one text."""
    return str if parameter.type in (tuple, dict) else parameter.type


def _keyword(
    name: str, kind: Any, *, help: str, panel: str, hidden: bool = False
) -> inspect.Parameter:
    option = "--" + name.replace("_", "-")
    names = (f"{option}/--no-{option[2:]}",) if kind is bool else (option,)
    info = Option(*names, help=_sentence(help), rich_help_panel=panel, hidden=hidden)
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind | None, info]
    )


def _sentence(text: str) -> str:
    """Write a declared phrase as a sentence, as the other options of a command have it."""
    first = text.partition(" ")[0]
    begun = text[:1].upper() + text[1:] if first.isalpha() else text
    return begun if begun.endswith((".", ".)")) else f"{begun}."
