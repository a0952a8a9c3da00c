"""What is refused before anything is read, and how what is left is paid for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.cli.console import steward_note

if TYPE_CHECKING:
    from discreet.ledger.booking import Booking
    from discreet.mechanisms.base import Mechanism


def booking_of(
    chosen: Mechanism,
    log: Path,
    output: Path,
    values: dict[str, Any],
    *,
    suffixes: tuple[str, ...],
    tell: Callable[[str], None] = steward_note,
) -> Booking:
    """How the options of `BOOKING` pay for what is to be written to `output`."""
    from discreet.ledger.booking import booking_for
    from discreet.log.errors import LogError
    from discreet.log.files import origin_of
    from discreet.log.formats.variant_tables import is_variant_table
    from discreet.releases import check_room, check_target, check_unused

    check_target(output, suffixes)
    if is_variant_table(output) and chosen.returns != "variants":
        raise LogError(
            f"{chosen.name} releases a {chosen.returns}, of which {output.name} would keep the "
            "variants only; use a name that does not end in .variants.parquet"
        )
    check_unused(output, *origin_of(log), force=bool(values.get("force")))
    check_room(output)
    if not values.get("allow_weak"):
        chosen.target.refuse_if_too_weak()
    return booking_for(
        values.get("source"),
        purpose=values.get("purpose") or "",
        bypass=bool(values.get("no_ledger")),
        tell=tell,
    )
