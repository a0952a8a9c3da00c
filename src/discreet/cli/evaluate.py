"""The command `discreet evaluate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from discreet.cli.console import err, out, print_json, show_table, stage
from discreet.cli.options import Force, Json, LogPath, TakesOptions, check_page, read

BEST = {"high": "↑", "low": "↓", "near": "≈"}


@TakesOptions()
def evaluate(
    log: LogPath,
    released: Annotated[Path, Argument(help="The released file to measure against it.")],
    measures: Annotated[
        list[str] | None,
        Option(
            "--measure",
            "-m",
            help="Only this group: similarity, difference, follows, model, entropy, size, normal, "
            "times, attributes. May be repeated.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        Option("--output", "-o", help="Also as a page, .html, with pictures before and after."),
    ] = None,
    force: Force = False,
    as_json: Json = False,
    **values: Any,
) -> None:
    """Measure what a release is still good for, against the raw log. For its holder only.

    Each figure stands beside a reference: what a fresh sample of the same process (one random
    half of the log against the other) or the raw log itself would score. The arrow says which
    way is better.

    [bold]Examples[/bold]

      discreet evaluate log.xes shared.xes
      discreet evaluate log.xes shared.xes --measure similarity --measure model
      discreet evaluate log.xes shared.xes -o before-and-after.html
      discreet evaluate log.csv shared.csv --case patient --activity step --timestamp at --json
    """
    from discreet.parameters import ParameterError
    from discreet.utility.evaluation import GROUPS, USUAL, Evaluator
    from discreet.utility.subject import subject_of

    chosen = tuple(measures) if measures else USUAL
    unknown = set(chosen) - set(GROUPS)
    if unknown:
        raise ParameterError(
            f"unknown measure {', '.join(sorted(unknown))}; known are {', '.join(GROUPS)}"
        )
    if output is not None:
        check_page(output, log, released, force=force)
    raw = read(log, values)
    with stage(f"reading {released.name}"):
        subject = subject_of(released)
    with stage("measuring"):
        found = Evaluator(raw).evaluate(subject, measures=chosen)  # type: ignore[arg-type]
    if output is not None:
        from discreet.report.pages import write_page
        from discreet.utility.pictures import evaluation_page

        shown = subject.log
        if shown is None:
            raise ParameterError(
                f"--output: {released.name} has no times of its own, so there is no page of it; "
                "release them with --times"
            )
        with stage(f"drawing {output.name}"):
            title = f"{log.name} and {released.name}"
            write_page(output, evaluation_page(found, raw, shown, title))
    if as_json:
        print_json(found.to_dict())
        return
    err.print(f"[bold yellow]For you: {found.warning}.[/bold yellow]")
    lines = [
        (one.name, _shown(one.value), _shown(one.reference), BEST[one.best], one.meaning)
        for one in found
    ]
    show_table(("figure", "value", "reference", "", "meaning"), lines)
    for note in found.notes:
        err.print(f"note: {note}", markup=False)
    if output is not None:
        out.print(f"Written: {output}", markup=False)


def _shown(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3f}"
