"""discreet inspect."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from discreet.cli.console import err, out, print_json
from discreet.cli.options import Force, Json, LogPath, read, reading_options, with_options

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
    from discreet.advice.describing import describe
    from discreet.releases import check_unused

    if save_mapping is not None:
        check_unused(save_mapping, log, force=force)
    found = read(log, values, further=False)
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
