"""discreet inspect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.table import Table

from discreet.cli.console import err, out, print_json
from discreet.cli.options import Json, LogPath, read, with_options

if TYPE_CHECKING:
    from discreet.log.events import EventLog


@with_options()
def inspect(log: LogPath, as_json: Json = False, **values: Any) -> None:
    """Describe a log: what is in it and how hard it is to protect. For its holder only.

    [bold]Examples[/bold]

      discreet inspect log.xes
      discreet inspect log.csv --case patient --activity step --timestamp at
    """
    facts = describe(read(log, values))
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
    out.print("\nMost frequent variants")
    for entry in facts["frequent"]:
        out.print(f"  {entry['count']:>8,}  {' → '.join(entry['sequence'])}", markup=False)


def describe(log: EventLog, frequent: int = 5) -> dict[str, Any]:
    """The exact figures of a log, for its holder."""
    import numpy as np

    from discreet.log.events import TIME

    variants = log.variants
    lengths = np.diff(log.offsets)
    top = np.argsort(-variants.counts, kind="stable")[:frequent]
    times = log.frame[TIME] if log.has_times else None
    people = np.bincount(log.individual_of_case) if log.individual else None
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
        "first": None if times is None else str(times.min()),
        "last": None if times is None else str(times.max()),
        "individuals": None if people is None else len(people),
        "most_cases_per_individual": None if people is None else int(people.max()),
        "frequent": [
            {"sequence": list(variants.sequence(i)), "count": int(variants.counts[i])} for i in top
        ],
    }
