"""The command `discreet certificate`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from discreet.cli.console import out, print_json, show_findings, show_promise, show_steps, stage
from discreet.cli.options import Force, Json, check_page


def certificate(
    file: Annotated[
        Path, Argument(help="A file written by discreet release, or its certificate alone.")
    ],
    as_json: Json = False,
    html: Annotated[
        bool, Option("--html", help="Write it as a page for the data-protection officer.")
    ] = False,
    output: Annotated[
        Path | None, Option("--output", "-o", help="With --html: the page; default FILE.html.")
    ] = None,
    force: Force = False,
) -> None:
    """Show and check the certificate of a released file.

    Shows every step of the release with its cost and the rule by which costs add up. Checks that
    the content is what was released and that the stated guarantee follows from the mechanism and
    its parameters. Exit code 1 if a check fails. With --html all of it is explained
    on one printable page, including what the ledger says, if there is one.

    [bold]Examples[/bold]

      discreet certificate shared.xes
      discreet certificate shared.xes --html -o certificate.html
      discreet certificate shared.xes.certificate.json --html
    """
    from discreet.parameters import ParameterError
    from discreet.releasing.verification import CERTIFICATE_SUFFIX, checked, entry_of

    if output is not None and not html:
        raise ParameterError("--output goes with --html, which writes a page")
    released = file.name.removesuffix(CERTIFICATE_SUFFIX)
    target = output or file.with_name(f"{released}.html")
    if html:
        check_page(target, file, force=force)
    with stage(f"checking {file.name}"):
        found, findings = checked(file)
    failed = any(finding.outcome == "fails" for finding in findings)
    if html:
        from discreet.report.officer import officer_page
        from discreet.report.pages import write_page

        write_page(target, officer_page(found, findings, file=released, entry=entry_of(found)))
    if as_json:
        print_json(found.to_dict() | {"checks": [asdict(finding) for finding in findings]})
    elif html:
        out.print(f"Written: {target}", markup=False)
    else:
        show_promise(found, failed=failed)
        show_steps(found.guarantee)
        out.print("Parameters:")
        for key, value in found.parameters.items():
            out.print(f"  {key}: {value}", markup=False)
        for note in found.notes:
            out.print(f"Note: {note}", markup=False)
        out.print(f"Ledger: {found.ledger}")
        show_findings(findings)
    if failed:
        raise typer.Exit(1)
