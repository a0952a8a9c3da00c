"""discreet release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli.console import out, panel, print_json, stage, steward_note, steward_notes
from discreet.cli.options import (
    Json,
    LogPath,
    NoLedger,
    Purpose,
    Seed,
    Source,
    given_parameters,
    read,
    with_options,
)


@with_options(parameters=True)
def release(
    log: LogPath,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="Where to write: .xes, .csv (both also .gz), .parquet; a graph or tree also as "
            ".json, .svg, .mmd (graph: .dot; tree: .ptml, .bpmn).",
        ),
    ],
    mechanism: Annotated[
        str, typer.Option("--mechanism", "-m", help="See `discreet mechanisms`.")
    ] = "headtail",
    insecure_seed: Seed = None,
    source: Source = None,
    purpose: Purpose = "",
    no_ledger: NoLedger = False,
    as_json: Json = False,
    **values: Any,
) -> None:
    """Release a log under differential privacy.

    Writes the released log and a certificate beside it (and, where the format allows, inside).
    The only file that may leave is the one that was written; what is printed on standard error
    is for the holder of the log.

    [bold]Examples[/bold]

      discreet release log.xes -o shared.xes --epsilon 1 --delta 1e-6
      discreet release log.csv -o shared.csv --case patient --activity step --timestamp at
      discreet release log.xes -o shared.xes --individual case:person --cases-per-individual 3
      discreet release log.xes -o shared.xes --source hospital-a --purpose "yearly report"
    """
    from discreet.ledger import booking_for
    from discreet.mechanisms.registry import mechanism as build
    from discreet.releases import check_target

    chosen = build(mechanism, **given_parameters(values))
    check_target(output, chosen.suffixes)
    promise = chosen.guarantee()
    booking = booking_for(source, purpose=purpose, bypass=no_ledger, tell=steward_note)
    booking.check(chosen, seeded=insecure_seed is not None)
    events = read(log, values)
    with stage("looking whether the log is known"):
        booking.recognise(events)
    with stage(f"releasing with {mechanism}"):
        released = booking.release(chosen, events, insecure_seed)
    with stage(f"writing {output.name}"):
        certificate = released.write(output)
    booking.confirm(certificate)
    steward_notes(chosen.advice(events))
    if as_json:
        print_json({"output": str(output), "certificate": certificate.to_dict()})
        return
    style = "green" if released.guarantee.private else "red"
    panel(released.guarantee.explain(), f"{mechanism}: {promise.holds or 'no guarantee'}", style)
    out.print(f"Written: {output} ({released.describe()})", markup=False)
    out.print(f"         {output}.certificate.json", markup=False)
