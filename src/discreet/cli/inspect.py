"""The command `discreet inspect`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from typer import Option

from discreet.cli.console import out, print_json, show_table, steward_note
from discreet.cli.options import Force, Json, LogPath, TakesOptions, read, reading_options

SaveMapping = Annotated[
    Path | None,
    Option(
        "--save-mapping",
        help="Keep how the log was read in this TOML file, for --mapping.",
        rich_help_panel="How the log is read",
    ),
]


@TakesOptions()
def inspect(
    log: LogPath,
    as_json: Json = False,
    save_mapping: SaveMapping = None,
    force: Force = False,
    **values: Any,
) -> None:
    """Describe a log: what is in it and how hard it is to protect. For its holder only.

    Shows exact counts, the columns with what each was taken for, and the most frequent variants.

    [bold]Examples[/bold]

      discreet inspect log.xes
      discreet inspect log.csv --case patient --activity step --timestamp at
      discreet inspect log.csv --case patient --save-mapping hospital.toml
    """
    from discreet.advice.describing import describe
    from discreet.log.files import files_read
    from discreet.releases import check_unused

    if save_mapping is not None:
        check_unused(save_mapping, *files_read(log), force=force)
    found = read(log, values, further=False)
    facts = describe(found)
    if save_mapping is not None:
        from discreet.log.reading import save_mapping as save

        save(save_mapping, found, reading_options(values))
    if as_json:
        print_json({"warning": "computed on the raw log: for its holder only", **facts})
        return
    steward_note("these figures are exact.")
    rows = [(key, f"{facts[key]:,}") for key in ("cases", "events", "activities", "variants")]
    rows.append(("cases with a variant of their own", f"{100 * facts['unique_cases']:.1f}%"))
    rows.append(("events per case", "{min} to {max}, median {median:g}".format(**facts["length"])))
    if facts["first"]:
        rows.append(("from, to (UTC)", f"{facts['first']}, {facts['last']}"))
    if len(facts["times"]["offsets"]) > 1:
        offsets = [f"{many:,} × {one}" for one, many in facts["times"]["offsets"].items()]
        rows.append(("offsets of times", ", ".join(sorted(offsets))))
    if facts["individuals"]:
        rows.append(("individuals", f"{facts['individuals']:,}"))
        rows.append(("cases per individual", f"up to {facts['most_cases_per_individual']:,}"))
    show_table((), rows)
    for caution in facts["cautions"]:
        steward_note(caution)
    out.print("\nColumns")
    show_table((), [(one["name"], one["role"] or "", one["type"]) for one in facts["columns"]])
    out.print("\nMost frequent variants")
    for entry in facts["frequent"]:
        out.print(f"  {entry['count']:>8,}  {' → '.join(entry['sequence'])}", markup=False)
