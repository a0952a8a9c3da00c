"""The command `discreet release`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text
from typer import Option

from discreet.cli.console import (
    complain,
    err,
    out,
    print_json,
    show_steps,
    show_written,
    stage,
    steward_note,
)
from discreet.cli.options import (
    Json,
    LogPath,
    Quiet,
    Seed,
    TakesOptions,
    given_parameters,
    mechanism_option,
    request_of,
)
from discreet.mechanisms import DEFAULT_MECHANISM

if TYPE_CHECKING:
    from discreet.certificate import Certificate
    from discreet.releases import Release
    from discreet.releasing.way import End, Outcome, RescuedError


@TakesOptions(parameters=True, booking=True)
def release(
    log: LogPath,
    output: Annotated[
        Path,
        Option(
            "--output",
            "-o",
            help="Where to write: .xes, .csv (both also .gz), .parquet; .variants.parquet for a "
            "table of variants and counts; a graph or tree also as .json, .svg, .mmd (graph: .dot; "
            "tree: .ptml, .bpmn).",
        ),
    ],
    mechanism: Annotated[
        str | None,
        mechanism_option(
            f"See `discreet mechanisms`; with --help after it, its own parameters are shown. "
            f"Default {DEFAULT_MECHANISM}, with times where the log has them."
        ),
    ] = None,
    times: Annotated[
        bool | None,
        Option(
            "--times/--no-times",
            help="Release times too, for a mechanism that returns variants; half of the budget "
            "goes there (--times-share). --attributes adds further columns. Default: times where "
            "the log has them and no mechanism is named.",
        ),
    ] = None,
    insecure_seed: Seed = None,
    dry_run: Annotated[
        bool,
        Option("--dry-run", help="Say what would be promised, spent and written; read no log."),
    ] = False,
    look: Annotated[
        bool,
        Option(
            "--look",
            help="Read the log and warn its holder of what would come out badly; spend and write "
            "nothing. No guarantee covers what is said.",
        ),
    ] = False,
    quiet: Quiet = False,
    as_json: Json = False,
    **values: Any,
) -> None:
    """Release a log under differential privacy.

    Writes the released log and a certificate beside it (and, where the format allows, inside).
    Only what was written may be shared; what is printed on standard error is for the holder of
    the log. No existing file is replaced without --force.

    Below are the parameters of the mechanism that is named, or else of the default one.

    [bold]Examples[/bold]

      discreet release log.xes -o shared.xes --epsilon 1 --delta 1e-6
      discreet release log.csv -o shared.csv --case patient --activity step --timestamp at
      discreet release log.xes -o shared.xes --individual case:person --cases-per-individual 3
      discreet release log.xes -o shared.xes --attributes org:resource,case:amount:number
      discreet release log.xes -o shared.xes --attributes org:resource --look
      discreet release log.xes -o variants.xes --no-times
      discreet release log.xes -o shared.xes --source hospital-a --purpose "yearly report"
      discreet release log.xes -o shared.xes --epsilon 2 --dry-run
      discreet release --mechanism dpim --help
    """
    from discreet.releasing.request import Product
    from discreet.releasing.way import RescuedError, carry_out

    request = request_of(
        log, output, Product(mechanism, given_parameters(values), times), values, insecure_seed
    )
    until: End = "afford" if dry_run else "warn" if look else "confirm"
    tell = _nothing if quiet and not look else steward_note
    try:
        outcome = carry_out(request, tell=tell, progress=stage, until=until)
    except KeyboardInterrupt as stopped:
        if not (notes := getattr(stopped, "__notes__", ())):
            raise
        complain(f"stopped; {notes[0]}")
        raise typer.Exit(130) from None
    except RescuedError as error:
        _show_place(error)
        raise typer.Exit(2) from error
    if dry_run:
        _rehearse(outcome, output, as_json)
    elif look:
        _show_look(outcome)
    elif not quiet:
        _show(outcome, output, as_json)


def _nothing(note: object) -> None:
    """Print nothing."""


def _show_look(outcome: Outcome) -> None:
    """Print that no guarantee covers what the holder of the log was warned of."""
    if outcome.warned:
        err.print("This was read from the raw log: no guarantee covers it.", markup=False)
    err.print("Nothing was spent or written.")


def _show_place(error: RescuedError) -> None:
    """Print where a release lies that could not be written to its place."""
    from discreet.log.formats.variant_tables import is_variant_table

    table = " (discreet expand makes a log of it)" if is_variant_table(error.place) else ""
    complain(error.reason)
    err.print(f"What was drawn is not lost: it was written to {error.place}{table}", markup=False)


def _show(outcome: Outcome, output: Path, as_json: bool) -> None:
    assert outcome.release is not None
    assert outcome.certificate is not None
    if as_json:
        _print(outcome.release, outcome.certificate, output)
    else:
        show_written(outcome.certificate, output, outcome.release.describe())


def _print(released: Release, certificate: Certificate, output: Path) -> None:
    artefact = released.artefact
    print_json(
        {
            "output": str(output),
            "released": {
                name: int(getattr(artefact, name))
                for name in ("cases", "events")
                if hasattr(artefact, name)
            }
            | ({"variants": len(artefact)} if certificate.artefact == "variants" else {}),
            "explanation": released.guarantee.explain(),
            "certificate": certificate.to_dict(),
        }
    )


def _rehearse(outcome: Outcome, output: Path, as_json: bool) -> None:
    """Print what a release would promise, whether it fits the budget, and what it would write."""
    from discreet.certificate import certificate_path

    chosen, budget = outcome.mechanism, outcome.booking.outlook()
    promise = chosen.guarantee()
    files = [str(output), str(certificate_path(output))]
    if as_json:
        print_json(
            {
                "would_write": files,
                "explanation": promise.explain(),
                "warnings": promise.warnings(),
                "guarantee": promise.to_dict(),
                "budget": budget,
            }
        )
        return
    out.print(f"{chosen.name} would promise {promise.bound()} ({promise.level()}):")
    out.print(Text(promise.explain()))
    show_steps(promise)
    for note in chosen._notes():
        out.print(Text(f"Note: {note}"))
    out.print(Text(f"Budget: {budget}"))
    out.print(f"Would write: {files[0]}\n             {files[1]}", markup=False)
    err.print("Nothing was read, spent or written.")
