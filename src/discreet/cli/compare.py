"""discreet compare."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from discreet.cli.console import err, out, print_json, stage
from discreet.cli.options import (
    Json,
    LogPath,
    given_parameters,
    mechanism_option,
    read,
    with_options,
)
from discreet.cli.release import release
from discreet.mechanisms.parameters import ParameterError

if TYPE_CHECKING:
    from discreet.bench.comparison import Contender

WIDTH = 40
COLUMNS = {
    "similarity": "similar",
    "follows_total_variation": "steps",
    "fitness": "fitness",
    "precision": "precise",
    "size_ratio": "size",
}


@with_options(parameters=True, every=True)
def compare(
    log: LogPath,
    mechanism: Annotated[
        list[str] | None,
        mechanism_option("Only these; may be repeated. Default: all."),
    ] = None,
    private: Annotated[
        bool,
        typer.Option("--private", help="Choose by a private selection and release the winner."),
    ] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="With --private: where to write it.")
    ] = None,
    source: Annotated[
        str | None, typer.Option(help="With --private: the data source to book on.")
    ] = None,
    purpose: Annotated[
        str | None, typer.Option(help="With --private: why, for the ledger.")
    ] = None,
    seconds: Annotated[float, typer.Option(help="About how long all may take together.")] = 60.0,
    as_json: Json = False,
    **values: Any,
) -> None:
    """Which mechanism serves this log best at this budget? For its holder only.

    Releases the log once with every mechanism and shows what is left of it. Mechanisms that
    need more public inputs than were given say which; parameters of every mechanism may be
    given, those shown below are the default one's, or with -m those of the mechanisms named.
    Choosing by this table costs privacy that
    no certificate covers; with --private the candidates share the budget, one is chosen by the
    exponential mechanism, and the total is proved.

    [bold]Examples[/bold]

      discreet compare log.xes --epsilon 1 --delta 1e-6
      discreet compare log.xes --epsilon 1 --delta 1e-6 --private -o shared.xes
    """
    parameters = given_parameters(values)
    epsilon = parameters.pop("epsilon", 1.0)
    delta = parameters.pop("delta", 1e-6)
    names = mechanism or []
    if private:
        if output is None:
            raise ParameterError("--private releases the winner: say where with --output")
        rivals = {"candidates": ",".join(names)} if names else {}
        release(
            log,
            output,
            "choice",
            source=source,
            purpose=purpose,
            as_json=as_json,
            **values | rivals,
        )
        return
    if output is not None:
        raise ParameterError("--output goes with --private; otherwise use discreet release")
    from discreet.bench.comparison import COST
    from discreet.bench.comparison import compare as measure
    from discreet.mechanisms.registry import mechanism_class

    for name in names:
        mechanism_class(name)
    events = read(log, values)
    with stage("releasing with every mechanism, and measuring"):
        found, ceiling = measure(
            events,
            epsilon=epsilon,
            delta=delta,
            parameters=parameters,
            names=names,
            seconds=seconds,
        )
    if as_json:
        from discreet.utility.evaluation import WARNING

        body = [vars(one) for one in found]
        print_json({"warning": WARNING, "cost": COST, "ceiling": ceiling, "mechanisms": body})
        return
    err.print("[bold yellow]For you, not for publication: these read the raw log.[/bold yellow]")
    _show(found, ceiling)
    err.print(Text.assemble(("Note: ", "bold yellow"), COST))


def _show(found: list[Contender], ceiling: float | None) -> None:
    ran = [one for one in found if not one.problem]
    present = {name for one in ran for name in one.figures}
    columns = {k: v for k, v in COLUMNS.items() if k in present}
    table = Table("mechanism", *columns.values(), "seconds", "guarantee", box=None)
    for one in ran:
        figures = [f"{one.figures[k]:.3f}" if k in one.figures else "–" for k in columns]
        promise = f"{one.status}: {one.budget}"
        table.add_row(one.name, *figures, f"{one.seconds:.1f}", promise)
    out.print(table)
    out.print("\nsimilarity to the log" + (f" (ceiling {ceiling:.3f})" if ceiling else ""))
    widest = max((len(one.name) for one in ran), default=0)
    for one in ran:
        if one.score is not None:
            filled = round(WIDTH * max(one.score, 0.0))
            bar = Text("█" * filled, "green" if one.status == "proved" else "yellow")
            bar.append("░" * (WIDTH - filled), "dim")
            out.print(Text.assemble(f"  {one.name:<{widest}} ", bar, f" {one.score:.3f}"))
    problems: dict[str, list[str]] = {}
    for one in found:
        if one.problem:
            problems.setdefault(one.problem, []).append(one.name)
    for problem, names in problems.items():
        err.print(Text(f"not run: {', '.join(names)}: {problem}"))
