"""discreet inspect."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from discreet.cli.console import err, out, print_json
from discreet.cli.options import Force, Json, LogPath, read, reading_options, with_options

if TYPE_CHECKING:
    from discreet.log.events import EventLog


SaveMapping = Annotated[
    Path | None,
    typer.Option(
        "--save-mapping",
        help="Keep how the log was read in this TOML file, for --mapping.",
        rich_help_panel="How the log is read",
    ),
]


@with_options()
def inspect(
    log: LogPath,
    as_json: Json = False,
    save_mapping: SaveMapping = None,
    force: Force = False,
    **values: Any,
) -> None:
    """Describe a log: what is in it and how hard it is to protect. For its holder only.

    [bold]Examples[/bold]

      discreet inspect log.xes
      discreet inspect log.csv --case patient --activity step --timestamp at
      discreet inspect log.csv --case patient --save-mapping hospital.toml
    """
    from discreet.releases import check_unused

    if save_mapping is not None:
        check_unused(save_mapping, log, force=force)
    found = read(log, values)
    facts = describe(found)
    if save_mapping is not None:
        from discreet.log.mapping import save_mapping as save

        save(save_mapping, found, reading_options(values))
    if as_json:
        print_json({"warning": "computed on the raw log: for its holder only", **facts})
        return
    err.print("[bold yellow]For you, not for publication: these figures are exact.[/bold yellow]")
    table = Table(show_header=False, box=None)
    for key in ("cases", "events", "activities", "variants"):
        table.add_row(key, f"{facts[key]:,}")
    table.add_row("cases with a variant of their own", f"{100 * facts['unique_cases']:.1f}%")
    table.add_row("events per case", "{min} to {max}, median {median:g}".format(**facts["length"]))
    if facts["first"]:
        table.add_row("from, to (UTC)", f"{facts['first']}, {facts['last']}")
    if facts["individuals"]:
        table.add_row("individuals", f"{facts['individuals']:,}")
        table.add_row("cases per individual", f"up to {facts['most_cases_per_individual']:,}")
    out.print(table)
    out.print("\nColumns")
    columns = Table(show_header=False, box=None)
    for column in facts["columns"]:
        columns.add_row(escape(column["name"]), column["role"] or "", column["type"])
    out.print(columns)
    out.print("\nMost frequent variants")
    for entry in facts["frequent"]:
        out.print(f"  {entry['count']:>8,}  {' → '.join(entry['sequence'])}", markup=False)


def describe(log: EventLog, frequent: int = 5) -> dict[str, Any]:
    """The exact figures of a log, for its holder."""
    import numpy as np

    variants = log.variants
    lengths = np.repeat(variants.lengths, variants.counts)
    top = np.argsort(-variants.counts, kind="stable")[:frequent]
    period = log.period()
    people = log.cases_of_individuals() if log.individual else None
    return {
        "cases": log.cases,
        "events": log.events,
        "activities": len(log.activities),
        "variants": len(variants),
        "unique_cases": float((variants.counts == 1).sum() / log.cases),
        "length": {
            "min": int(lengths.min()),
            "median": float(np.median(lengths)),
            "max": int(lengths.max()),
        },
        "first": None if period is None else _moment(period[0]),
        "last": None if period is None else _moment(period[1]),
        "columns": _columns(log),
        "individuals": None if people is None else len(people),
        "most_cases_per_individual": None if people is None else int(people.max()),
        "frequent": [
            {"sequence": list(variants.sequence(i)), "count": int(variants.counts[i])} for i in top
        ],
    }


def _moment(microseconds: int) -> str:
    return str(datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds))


def _columns(log: EventLog) -> list[dict[str, str | None]]:
    """What each column is called in the file, what it was taken as, and the type it has."""
    from discreet.log.columns import WORDS
    from discreet.log.texts import xes_type

    words = {"string": "text", "int": "integer", "float": "number"}
    found: list[dict[str, str | None]] = []
    for values in log.schema():
        roles = [WORDS[values.name]] if values.name in WORDS else []
        roles += ["individual"] if values.name == log.individual else []
        kind = xes_type(values)
        found.append(
            {
                "name": log.names.get(values.name, values.name.removeprefix("original:")),
                "role": " and ".join(roles) or None,
                "type": words.get(kind, kind),
            }
        )
    return found
