"""The command `discreet expand`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from discreet.cli.console import out, print_json, stage
from discreet.cli.options import Force, Json


def expand(
    table: Annotated[Path, Argument(help="A release that ends in .variants.parquet.")],
    output: Annotated[Path, Option("--output", "-o", help="Where to write: .parquet, .csv, .xes.")],
    memory: Annotated[
        str | None, Option(help="How much memory may be used, such as 4GB; half of it without.")
    ] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Write a released table of variants out as a log, case by case.

    Cases get numbers as names and plainly artificial times (1970, a second per event). Nothing is
    spent: the log says what the table says, under the same certificate, which is checked first.
    Parquet and CSV are written by DuckDB, however many cases there are.

    [bold]Examples[/bold]

      discreet expand shared.variants.parquet -o shared.parquet
      discreet expand shared.variants.parquet -o shared.csv --memory 2GB
    """
    from discreet.certificate import certificate_path
    from discreet.log.engines.duckdb import write_expanded
    from discreet.log.errors import LogError
    from discreet.log.files import atomic_write
    from discreet.log.formats.variant_tables import is_variant_table, read_variants, variants_digest
    from discreet.releases import check_target, check_unused
    from discreet.releasing.verification import checked

    if not is_variant_table(table) or is_variant_table(output):
        raise LogError(
            "expand makes a log of a table of variants: name a file that ends in "
            ".variants.parquet to read, and another kind to write"
        )
    check_target(output)
    check_unused(output, table, certificate_path(table), force=force)
    with stage(f"checking {table.name}"):
        certificate, findings = checked(table)
    for finding in findings:
        if finding.outcome == "fails":
            raise LogError(f"{table.name}: {finding.check}: {finding.detail}; ask for it again")
    whole = read_variants(table)[0]
    kept = whole.take((whole.lengths > 0).nonzero()[0])  # a log has no place for an empty case
    shown = replace(certificate, columns={}, content_sha256=variants_digest(kept))
    with stage(f"writing {output.name}"), atomic_write(certificate_path(output)) as beside:
        beside.write(shown.to_file())
        write_expanded(kept, output, attributes=shown.log_attributes(), memory=memory)
    events = int(kept.counts @ kept.lengths)
    if as_json:
        print_json({"output": str(output), "cases": kept.cases, "events": events})
    else:
        out.print(f"Written: {output} ({kept.cases:,} cases, {events:,} events)", markup=False)
