"""The command `discreet compare`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.text import Text
from typer import Option

from discreet.cli.console import (
    FIGURE_HEADS,
    err,
    out,
    print_json,
    show_table,
    steward_note,
    watched,
)
from discreet.cli.options import (
    Delta,
    Epsilons,
    Json,
    LogPath,
    TakesOptions,
    given_parameters,
    mechanism_option,
    more_time,
    read,
)
from discreet.cli.release import release
from discreet.parameters import ParameterError

if TYPE_CHECKING:
    from discreet.advice.trials import Trial, Trials

# Tuned
BAR_WIDTH = 40
"""Characters of the longest bar."""


@TakesOptions(parameters=True, booking=True, every=True)
def compare(
    log: LogPath,
    epsilon: Epsilons = None,
    delta: Delta = 1e-6,
    mechanism: Annotated[
        list[str] | None,
        mechanism_option("Only this and the default; may be repeated. Default: all."),
    ] = None,
    private: Annotated[
        bool, Option("--private", help="Choose by a private selection and release the winner.")
    ] = False,
    output: Annotated[
        Path | None, Option("--output", "-o", help="With --private: where to write it.")
    ] = None,
    seconds: Annotated[float, Option(help="About how long all may take together.")] = 60.0,
    as_json: Json = False,
    **values: Any,
) -> None:
    """Which mechanism serves this log best at this budget? For its holder only.

    Releases the log once with every mechanism and shows what is left of it, beside the default.
    Mechanisms that need further public inputs say which. Parameters of any mechanism may be given;
    shown below are those of headtail, or with -m those of the mechanisms named. Choosing by this
    table costs privacy that no certificate covers. With --private the candidates share the budget,
    the exponential mechanism chooses one, and the total is proved and booked like any release. To
    choose a budget, see `discreet advise`.

    [bold]Examples[/bold]

      discreet compare log.xes --epsilon 1 --delta 1e-6
      discreet compare log.xes -m travas --epsilon 0.5 --epsilon 2 --seconds 300
      discreet compare log.xes --epsilon 1 --delta 1e-6 --private -o shared.xes
    """
    parameters = given_parameters(values)
    budgets = epsilon or [1.0]
    names = mechanism or []
    if private:
        if output is None:
            raise ParameterError("--private releases the winner: say where with --output")
        if len(budgets) > 1:
            raise ParameterError("--private releases once: give one --epsilon")
        rivals = {"candidates": ",".join(names)} if names else {}
        release(
            log,
            output,
            "choice",
            as_json=as_json,
            **values | rivals | {"epsilon": budgets[0], "delta": delta},
        )
        return
    if output is not None:
        raise ParameterError("--output goes with --private; otherwise use discreet release")
    from discreet.advice.trials import COST, run_trials
    from discreet.log.cautions import cautions
    from discreet.releasing.catalogue import mechanism_class

    for name in names:
        mechanism_class(name)
    events = read(log, values)
    with watched("releasing with every mechanism, and measuring") as on_start:
        found = run_trials(
            events,
            epsilons=budgets,
            delta=delta,
            parameters=parameters,
            names=names,
            seconds=seconds,
            on_start=on_start,
        )
    if as_json:
        from discreet.utility.evaluation import WARNING

        print_json(
            {
                "warning": WARNING,
                "cost": COST,
                "ceiling": found.references.get("similarity"),
                "mechanisms": [trial.to_dict() for trial in found.trials],
            }
        )
        return
    steward_note("these read the raw log.")
    bounded = parameters.get("cases_per_individual") is not None
    for caution in cautions(events, people_protected=bounded):
        steward_note(str(caution))
    for budget in sorted(set(budgets)):
        _show([trial for trial in found.ran if trial.epsilon == budget], found)
    for problem, names in found.left_out.items():
        err.print(Text(f"left out: {', '.join(names)}: {problem}"))
    if found.short_of_time:
        err.print(Text(more_time(seconds)))
    err.print(Text.assemble(("Note: ", "bold yellow"), COST))


def _show(ran: list[Trial], found: Trials) -> None:
    """Print the table and the bars of one budget."""
    from discreet.advice.page import label

    present = {name for one in ran for name in one.figures}
    columns = {k: v for k, v in FIGURE_HEADS.items() if k in present}
    lines = []
    for one in ran:
        figures = [f"{one.figures[k]:.3f}" if k in one.figures else "–" for k in columns]
        lines.append([label(one), *figures, f"{one.seconds:.1f}", f"{one.status}: {one.budget}"])
    show_table(["mechanism", *columns.values(), "seconds", "guarantee"], lines)
    ceiling = found.references.get("similarity")
    out.print("\nsimilarity to the log" + (f" (ceiling {ceiling:.3f})" if ceiling else ""))
    widest = max((len(label(one)) for one in ran), default=0)
    for one in ran:
        if one.score is not None:
            filled = round(BAR_WIDTH * max(one.score, 0.0))
            bar = Text("█" * filled, "green" if one.status == "proved" else "yellow")
            bar.append("░" * (BAR_WIDTH - filled), "dim")
            out.print(Text.assemble(f"  {label(one):<{widest}} ", bar, f" {one.score:.3f}"))
    out.print()
