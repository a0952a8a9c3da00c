"""discreet release."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text
from typer import Option

from discreet.cli.booking import booking_of
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
    read,
    reading_options,
)
from discreet.mechanisms import DEFAULT_MECHANISM

if TYPE_CHECKING:
    from discreet.certificate import Certificate
    from discreet.ledger.booking import Booking
    from discreet.log.events import EventLog
    from discreet.mechanisms.base import Mechanism
    from discreet.releases import Release


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
    from discreet.log.formats.variant_tables import is_variant_table
    from discreet.product import product
    from discreet.releases import check_room

    if times is None and is_variant_table(output):
        times = False
    reading = reading_options(values)
    asked = product(mechanism, given_parameters(values), times=times, reading=reading)
    if asked.types:
        values["types"] = ", ".join(f"{column}:{kind}" for column, kind in asked.types.items())
    chosen = asked.mechanism
    if not look:
        chosen.check_people(reading.get("individual"))
    tell = _nothing if quiet else steward_note
    booking = booking_of(chosen, log, output, values, suffixes=chosen.suffixes, tell=tell)
    booking.check(chosen, seeded=insecure_seed is not None)
    if dry_run:
        _rehearse(chosen, booking, output, as_json)
        return
    events = read(log, values, further=chosen.reads in ("cases", "events"))
    chosen = asked.of(events)
    if look:
        _look(chosen, events)
        return
    check_room(output, events.events)
    draw = partial(booking.release, chosen, events, insecure_seed)
    released, certificate = _drawn(chosen, booking, draw, output, force=values["force"])
    if quiet:
        return
    if as_json:
        _print(released, certificate, output)
        return
    show_written(certificate, output, released.describe())


def _nothing(note: str) -> None:
    """Print nothing."""


def _look(chosen: Mechanism, events: EventLog) -> None:
    """Tell the holder of the log what the raw log says of a release, without one."""
    chosen.check(events)
    warnings = chosen.advice(events)
    for warning in warnings:
        steward_note(warning)
    if warnings:
        err.print("This was read from the raw log: no guarantee covers it.", markup=False)
    err.print("Nothing was spent or written.")


def _drawn(
    chosen: Mechanism,
    booking: Booking,
    draw: Callable[[], Release],
    output: Path,
    *,
    force: bool,
) -> tuple[Release, Certificate]:
    """Pay, draw and write; if that stops or fails, say what stands."""
    try:
        with stage(f"releasing with {chosen.name}"):
            released = draw()
        with stage(f"writing {output.name}"):
            return released, _written(released, output, force=force)
    except KeyboardInterrupt:
        complain(f"stopped; {booking.standing()}")
        raise typer.Exit(130) from None
    except Exception as error:
        error.add_note(booking.standing())
        raise


def _written(released: Release, output: Path, *, force: bool) -> Certificate:
    """Write it; what cannot be written there is written elsewhere, since it cannot be redrawn."""
    from discreet.log.formats.variant_tables import is_variant_table

    try:
        return released.write(output, overwrite=force)
    except Exception as error:
        found = released.rescue(output)
        if found is None:
            raise
        place = found[0]
        table = " (discreet expand makes a log of it)" if is_variant_table(place) else ""
        complain(f"{error or type(error).__name__}")
        err.print(f"What was drawn is not lost: it was written to {place}{table}", markup=False)
        raise typer.Exit(2) from error


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


def _rehearse(chosen: Mechanism, booking: Booking, output: Path, as_json: bool) -> None:
    """What a release would promise, whether it fits the budget, and what it would write."""
    from discreet.certificate import certificate_path

    promise = chosen.guarantee()
    files = [str(output), str(certificate_path(output))]
    if as_json:
        print_json(
            {
                "would_write": files,
                "explanation": promise.explain(),
                "warnings": promise.warnings(),
                "guarantee": promise.to_dict(),
                "budget": booking.outlook(),
            }
        )
        return
    out.print(f"{chosen.name} would promise {promise.bound()} ({promise.level()}):")
    out.print(Text(promise.explain()))
    show_steps(promise)
    for note in chosen._notes():
        out.print(Text(f"Note: {note}"))
    out.print(Text(f"Budget: {booking.outlook()}"))
    out.print(f"Would write: {files[0]}\n             {files[1]}", markup=False)
    err.print("Nothing was read, spent or written.")
