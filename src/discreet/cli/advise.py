"""The command `discreet advise`."""

from __future__ import annotations

import shlex
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.text import Text
from typer import Option

from discreet.cli.console import err, out, print_json, show_table, steward_note, watched
from discreet.cli.options import (
    Delta,
    Epsilons,
    Json,
    LogPath,
    TakesOptions,
    check_page,
    given_parameters,
    mechanism_option,
    more_time,
    read,
)
from discreet.language import translate

if TYPE_CHECKING:
    from discreet.advice.advising import Advice


@TakesOptions(parameters=True, booking=True, every=True)
def advise(
    log: LogPath,
    epsilon: Epsilons = None,
    delta: Delta = 1e-6,
    mechanism: Annotated[
        list[str] | None,
        mechanism_option(
            "Try this one beside the default; may be repeated. Default: all that can."
        ),
    ] = None,
    times: Annotated[
        bool | None,
        Option(
            "--times/--no-times",
            help="As for a release, for which this answers. Default: times where the log has them.",
        ),
    ] = None,
    seconds: Annotated[float, Option(help="About how long it may take.", min=1)] = 60.0,
    repetitions: Annotated[int, Option(help="Runs of each setting, if time allows.", min=1)] = 10,
    output: Annotated[
        Path | None, Option("--output", "-o", help="Also as a page with plots, .html.")
    ] = None,
    private: Annotated[
        Path | None,
        Option(
            metavar="STAND-IN",
            help="Release a stand-in for the log to this file, and read nothing else.",
            rich_help_panel="Advice that is covered",
        ),
    ] = None,
    spend: Annotated[
        float,
        Option(
            help="With --private: the epsilon of the stand-in.",
            rich_help_panel="Advice that is covered",
        ),
    ] = 0.2,
    as_json: Json = False,
    **values: Any,
) -> None:
    """Help choose a budget: what each would leave of this log. For its holder only.

    Says how many cases people have and how rare variants are; then releases the log at several
    budgets with several mechanisms, again and again while time lasts, and measures what is left.
    It answers for what `discreet release` gives with the same options; that line is marked.
    All of this reads the raw log: if you choose by it, no certificate covers the choice.

    With --private a stand-in is released, paid for like any release, and only that is read. A
    choice by it is covered: together with a later release it costs the sum of both. The stand-in
    lacks rare behaviour, so the figures look better than they are.

    [bold]Examples[/bold]

      discreet advise log.xes
      discreet advise log.csv --individual patient --cases-per-individual 3 -o advice.html
      discreet advise log.xes --epsilon 0.5 --epsilon 2 --seconds 300 -m travas
      discreet advise log.xes --private stand-in.xes --spend 0.1 --source hospital-a
    """
    from discreet.advice.advising import EPSILONS
    from discreet.advice.advising import advise as look
    from discreet.advice.page import advice_page
    from discreet.releasing.catalogue import mechanism_class
    from discreet.report.pages import write_page

    for name in mechanism or []:
        mechanism_class(name)
    if output is not None:
        check_page(output, log, force=values["force"])
    parameters = given_parameters(values)
    covered = ""
    if private is not None:
        covered = _stand_in(log, private, spend, delta, values)
        log, values = private, _reading(private, parameters)
    events = read(log, values)
    with watched("looking at the log") as on_start:
        found = look(
            events,
            epsilons=epsilon or EPSILONS,
            delta=delta,
            parameters=parameters,
            names=mechanism or (),
            times=times,
            seconds=seconds,
            repetitions=repetitions,
            stand_in=private is not None,
            on_start=on_start,
        )
    if output is not None:
        command = shlex.join(["discreet", *sys.argv[1:]])
        title = translate("Advice on %(file)s", file=log.name)
        write_page(output, advice_page(found, title=title, command=command, stand_in=covered))
    if as_json:
        facts = found.to_dict()
        print_json(facts | ({"warning": covered, "cost": ""} if covered else {}))
        return
    _show(found, covered)
    if output is not None:
        out.print(f"\nPage: {output}", markup=False)


def _stand_in(log: Path, target: Path, spend: float, delta: float, values: dict[str, Any]) -> str:
    """Release the stand-in, which spends like any release; return what to say of it."""
    from discreet.cli.release import release
    from discreet.mechanisms import DEFAULT_MECHANISM
    from discreet.releasing.catalogue import mechanism_class

    known = mechanism_class(DEFAULT_MECHANISM).parameters()
    others = given_parameters(values).keys() - known.keys()
    values = {name: value for name, value in values.items() if name not in others}
    values["purpose"] = values["purpose"] or "stand-in for advice"
    with redirect_stdout(sys.stderr):
        release(log, target, DEFAULT_MECHANISM, **values | {"epsilon": spend, "delta": delta})
    return translate(
        "These figures are about %(file)s, a release of ε = %(spent)s that was paid for, not about "
        "the raw log: a choice by them is covered. It lacks rare behaviour, so they come out too "
        "good, and mechanisms that differ in what they make of it look alike.",
        file=target.name,
        spent=f"{spend:g}",
    )


def _reading(stand_in: Path, parameters: dict[str, Any]) -> dict[str, Any]:
    """Options that read the stand-in by the names it has, each of its cases as one person's own.

    So budgets for people are divided as for the log; the cases that a bound loses are lost already.
    """
    from discreet.certificate import reading_of
    from discreet.log.events import CASE

    options = reading_of(stand_in)
    if parameters.get("cases_per_individual") is not None:
        options["individual"] = options.get("case", CASE)
    return options


def _show(advice: Advice, covered: str) -> None:
    from discreet.advice import page
    from discreet.advice.trials import COST
    from discreet.utility.evaluation import WARNING

    warning = covered or translate("For you: %(warning)s.", warning=translate(WARNING))
    err.print(Text(warning, "bold yellow"))
    for caution in advice.cautions:
        steward_note(caution)
    if advice.people is not None:
        people = advice.people
        title = translate(
            "People: %(people)s with %(cases)s cases, up to %(most)s each",
            people=f"{people.people:,}",
            cases=f"{people.cases:,}",
            most=f"{people.most:,}",
        )
        show_table(*page.people_table(advice), title)
        out.print()
    if advice.rarity:
        show_table(*page.rarity_table(advice), translate("Rare variants"))
        out.print()
    if advice.visible:
        title = f"{translate('What each ε promises')} (δ = {advice.delta:g})"
        show_table(*page.budget_table(advice), title)
        out.print(Text(f"\n{page.budget_words(advice)}\n", "dim"))
    title = translate("What is left of the log (mean ± standard deviation)")
    show_table(*page.trial_table(advice), title)
    out.print()
    for reason, names in advice.left_out.items():
        err.print(Text(f"left out: {', '.join(names)}: {reason}"))
    if advice.trials.short_of_time:
        err.print(Text(more_time(advice.seconds)))
    if not covered:
        err.print(Text.assemble(("Note: ", "bold yellow"), translate(COST)))
