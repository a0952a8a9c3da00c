"""Console output: results on standard output, progress and warnings on standard error."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.padding import Padding
from rich.panel import Panel
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Column, Table
from rich.text import Text

if TYPE_CHECKING:
    from discreet.certificate import Certificate, Finding
    from discreet.privacy.guarantee import Guarantee

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)


def complain(error: object) -> None:
    """Print an error as one plain line."""
    err.print(Text.assemble(("error: ", "bold red"), str(error)))


def print_json(values: Any) -> None:
    """Print values for programs."""
    print(json.dumps(values, ensure_ascii=False, indent=2, allow_nan=False))


def panel(text: str, title: str, style: str = "green") -> None:
    """Print a framed text, word for word."""
    out.print(Panel(Text(text), title=title, title_align="left", border_style=style))


def show_table(heads: Sequence[str], rows: Iterable[Sequence[str]], title: str = "") -> None:
    """Print a table, every cell word for word; the first column is never broken."""
    columns = [Column(head, no_wrap=not place) for place, head in enumerate(heads)]
    table = Table(*columns, box=None, show_header=bool(heads))
    for row in rows:
        table.add_row(*map(Text, row))
    if title:
        out.print(Text(title, "bold"))
    out.print(table)


FIGURE_HEADS = {
    "similarity": "similar",
    "follows_total_variation": "steps",
    "fitness": "fitness",
    "precision": "precise",
    "size_ratio": "size",
}
"""The figures that narrow tables show, with their headings there."""

MARKS = {"holds": "[green]✓[/green]", "fails": "[red]✗[/red]", "unknown": "[yellow]?[/yellow]"}

STYLES = {"strong": "green", "moderate": "green", "weak": "yellow"}


def show_promise(certificate: Certificate, *, failed: bool = False) -> None:
    """Print a certificate's promise in a frame, its warnings first."""
    promise = certificate.guarantee
    lines = [*(f"! {warning}" for warning in certificate.warnings), promise.explain()]
    style = "red" if failed else STYLES.get(promise.strength, "red")
    title = f"{certificate.mechanism}: {promise.bound(named=False)}, {promise.level()}"
    panel("\n".join(lines), title, style)


def show_steps(promise: Guarantee) -> None:
    """Print every step of a release, what it costs and by which rule."""
    if promise.parts:
        out.print(Text(f"Steps ({promise.composition}):"))
    for depth, part in promise.walk():
        line = Text(f"{part.name}: {part.cost} ({part.rule})")
        out.print(Padding.indent(line, 2 + 2 * depth))


def show_findings(findings: Iterable[Finding]) -> None:
    """Print every check of a certificate and how it came out."""
    for finding in findings:
        detail = f": {finding.detail}" if finding.detail else ""
        out.print(f"{MARKS[finding.outcome]} {finding.check}{detail}")


def steward_note(note: str) -> None:
    """Print what only the holder of the log may see, on standard error."""
    err.print(Text.assemble(("For you, not for publication: ", "bold yellow"), note))


def show_written(certificate: Certificate, output: object, what: str) -> None:
    """Print the promise, the notes, and where the files are."""
    show_promise(certificate)
    for note in certificate.notes:
        out.print(Text(f"Note: {note}"))
    out.print(f"Written: {output} ({what})", markup=False)
    out.print(f"         {output}.certificate.json", markup=False)


@contextmanager
def stage(text: str) -> Iterator[None]:
    """Show that a step is running and for how long, on an interactive terminal."""
    with watched(text):
        yield


@contextmanager
def watched(text: str) -> Iterator[Callable[[str], None]]:
    """Show a running step as `stage` does; the function it yields changes the text."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as progress:
        task = progress.add_task(text, total=None)
        yield lambda now: progress.update(task, description=now)
