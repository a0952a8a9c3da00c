"""discreet certificate."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.console import out, print_json, show_promise, stage
from discreet.cli.options import Json

MARKS = {"holds": "[green]✓[/green]", "fails": "[red]✗[/red]", "unknown": "[yellow]?[/yellow]"}


def certificate(
    file: Annotated[Path, typer.Argument(help="A file written by discreet release.")],
    as_json: Json = False,
) -> None:
    """Show and check the certificate of a released file.

    Checks that the content is what was released and that the stated guarantee follows from the
    mechanism and its parameters. Exit code 1 if a check fails.

    [bold]Example[/bold]

      discreet certificate shared.xes
    """
    from discreet.verification import check_certificate

    with stage(f"checking {file.name}"):
        found, findings = check_certificate(file)
    failed = any(finding.outcome == "fails" for finding in findings)
    if as_json:
        print_json(found.to_dict() | {"checks": [asdict(finding) for finding in findings]})
    else:
        show_promise(found, failed=failed)
        for key, value in found.parameters.items():
            out.print(f"  {key}: {value}", markup=False)
        for note in found.notes:
            out.print(f"  note: {note}", markup=False)
        out.print(f"  ledger: {found.ledger}")
        for finding in findings:
            detail = f": {finding.detail}" if finding.detail else ""
            out.print(f"{MARKS[finding.outcome]} {finding.check}{detail}")
    if failed:
        raise typer.Exit(1)
