"""The command `discreet sample`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from discreet.cli.console import out, print_json, stage
from discreet.cli.options import Force, Json


def _names(incomplete: str) -> list[str]:
    """Names of the processes that begin with what was typed, for shells."""
    from discreet.log.samples.catalogue import PROCESSES

    return [name for name in PROCESSES if name.startswith(incomplete)]


def sample(
    name: Annotated[str, Argument(help="hospital, loans or permits.", autocompletion=_names)],
    output: Annotated[Path, Option("--output", "-o", help="Where to write: .xes, .csv, .parquet.")],
    cases: Annotated[int, Option(help="How many cases.")] = 10_000,
    seed: Annotated[int | None, Option(help="Make it repeatable.")] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Make a sample log: synthetic, realistic, nobody's data.

    The column case:person says whose case it is. The same seed gives the same log.

    [bold]Examples[/bold]

      discreet sample hospital --cases 10000 -o hospital.xes
      discreet sample loans --cases 500 --seed 7 -o loans.csv
    """
    from discreet.log.samples import sample_log
    from discreet.log.writing import write_log
    from discreet.releases import check_target, check_unused

    check_target(output)
    check_unused(output, force=force)
    with stage(f"making {cases} cases of {name}"):
        log = sample_log(name, cases=cases, seed=seed)
    with stage(f"writing {output.name}"):
        write_log(log, output)
    if as_json:
        print_json({"output": str(output), "cases": log.cases, "events": log.events})
    else:
        out.print(f"Written: {output} ({log.cases:,} cases, {log.events:,} events)", markup=False)
