"""The command `discreet bench`."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from typer import Argument, Option

from discreet.cli.console import FIGURE_HEADS, err, out, print_json, show_table, steward_note
from discreet.cli.options import Json, TakesOptions, mechanism_option, reading_options

if TYPE_CHECKING:
    from discreet.bench.bench_plan import BenchPlan, Cell
    from discreet.bench.store import Store
    from discreet.bench.summary import Setting

Texts = list[str] | None
Numbers = list[float] | None

SYMBOLS = {"epsilon": "ε", "delta": "δ"}


@TakesOptions()
def bench(
    plan: Annotated[
        str | None,
        Argument(help="A plan's name, as in papers/travas, or a TOML file. None: see below."),
    ] = None,
    output: Annotated[
        Path | None,
        Option("--output", "-o", help="Folder for results and report; default bench-NAME."),
    ] = None,
    logs: Annotated[
        Path | None,
        Option(help="Folder of the plan's logs; default the folder named in DISCREET_LOGS."),
    ] = None,
    log: Annotated[Texts, Option(help="Only this log, or without a plan its file.")] = None,
    mechanism: Annotated[Texts, mechanism_option("Only this one.")] = None,
    epsilon: Annotated[Numbers, Option(help="These instead of the plan's.")] = None,
    delta: Annotated[Numbers, Option(help="These instead of the plan's.")] = None,
    repetitions: Annotated[int | None, Option(help="Runs of each setting.")] = None,
    workers: Annotated[int | None, Option(help="Processes; default one per core.")] = None,
    retry: Annotated[bool, Option("--retry", help="Try failed runs again.")] = False,
    plans: Annotated[bool, Option("--plans", help="List the plans and stop.")] = False,
    as_json: Json = False,
    **values: Any,
) -> None:
    """Run logs × mechanisms × budgets × repetitions and write a report. For the logs' holder.

    Results go to OUTPUT/results.sqlite as they come; run the same command again after an
    interruption and it continues. The report, OUTPUT/report.html, has every figure, the controls,
    the failures, and for the papers' plans how far we are from what was published; table.md and
    plots/ have its main tables and its pictures for documents.

    [bold]Examples[/bold]

      discreet bench --plans
      discreet bench papers/travas --logs ~/logs
      discreet bench papers/travas --logs ~/logs --repetitions 2 --epsilon 1 --delta 0.01
      discreet bench --log ward.csv --mapping hospital.toml -m travas --epsilon 1 --delta 1e-6
      discreet bench --log hospital.xes -m travas -m utravas --epsilon 0.1 --epsilon 1 --delta 1e-6
    """
    from discreet.bench.bench_plan import load_plan, plan_names
    from discreet.bench.bench_report import html_report, plots
    from discreet.bench.store import Store
    from discreet.bench.summary import gaps, markdown, settings_of
    from discreet.log.errors import LogError
    from discreet.log.files import atomic_write
    from discreet.releases import check_target

    if plans and as_json:
        print_json([{"name": name, "title": load_plan(name).title} for name in plan_names()])
        return
    if plans:
        for name in plan_names():
            out.print(f"{name:22} {load_plan(name).title}", markup=False)
        return
    wanted: dict[str, Any] = {
        "mechanisms": mechanism or [],
        "epsilon": epsilon or [],
        "delta": delta or [],
        "repetitions": repetitions,
        "reading": reading_options(values),
    }
    if plan is None:
        chosen = _from_options(log or [], mechanism or []).reduced(**wanted)
    else:
        chosen = load_plan(plan).reduced(logs=log or [], **wanted)
    chosen.check()
    for label in chosen.missing_mechanisms():
        err.print(f"not run: mechanism {label} is not installed", markup=False)
    folder = logs or (Path(os.environ["DISCREET_LOGS"]) if "DISCREET_LOGS" in os.environ else None)
    cells, absent = chosen.cells(folder)
    if absent:
        raise LogError(
            f"not found in {folder or 'this folder'}: {', '.join(absent)}; name the folder of the "
            "logs with --logs, or choose among those that are there with --log"
        )
    target = output or Path("bench-" + Path(chosen.name).name.removesuffix(".toml"))
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LogError(
            f"{target} cannot be made: {error.strerror}; name another folder with --output"
        ) from None
    check_target(target / "report.html", (".html",))
    store = Store(target / "results.sqlite")
    if retry:
        store.forget_failures()
    _run(chosen, cells, store, workers)
    keys = {cell.key for cell in cells}
    rows = [row for row in store.rows() if row.key in keys]
    command = shlex.join(["discreet", *sys.argv[1:]])
    page = html_report(chosen, rows, command=command)
    with atomic_write(target / "report.html") as stream:
        stream.write(page.encode())
    settings = settings_of(rows)
    with atomic_write(target / "table.md") as stream:
        stream.write(markdown(settings, gaps(chosen, settings)).encode())
    (target / "plots").mkdir(exist_ok=True)
    for name, picture in plots(chosen, rows).items():
        with atomic_write(target / "plots" / name) as stream:
            stream.write(picture.encode())
    if as_json:
        print_json(_plain(settings))
    else:
        _show(settings)
        out.print(f"\nReport: {target / 'report.html'}", markup=False)


def _from_options(logs: list[str], names: list[str]) -> BenchPlan:
    from discreet.bench.bench_plan import BenchPlan, PlanEntry, PlanLog
    from discreet.parameters import ParameterError
    from discreet.releasing.catalogue import mechanism_class

    if not logs or not names:
        raise ParameterError("name a plan, or at least one --log and one --mechanism")
    for name in names:
        mechanism_class(name)
    return BenchPlan(
        name="options",
        title="Comparison of " + ", ".join(names),
        logs=tuple(PlanLog(file) for file in logs),
        entries=tuple(PlanEntry(name, name) for name in names),
        epsilon=(1.0,),
        delta=(1e-6,),
    )


def _run(plan: BenchPlan, cells: list[Cell], store: Store, workers: int | None) -> None:
    from discreet.bench.runner import run

    left = len({cell.key for cell in cells} - store.keys())
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=err, disable=not err.is_terminal) as progress:
        task = progress.add_task(plan.name, total=len(cells), completed=len(cells) - left)
        run(cells, store, workers=workers, on_row=lambda row: progress.advance(task))


def _plain(settings: list[Setting]) -> dict[str, object]:
    from discreet.bench.summary import measured
    from discreet.utility.evaluation import WARNING

    return {
        "warning": WARNING,
        "settings": [
            {
                "log": one.log,
                "mechanism": one.label,
                "parameters": one.parameters,
                "guarantee": "control" if one.control else one.status,
                "runs": len(one.rows),
                "empty": one.empty,
                "failed": one.failed,
                "means": {name: one.mean(name) for name in measured([one])},
                "deviations": {name: one.deviation(name) for name in measured([one])},
            }
            for one in settings
        ],
    }


def _show(settings: list[Setting]) -> None:
    from discreet.bench.summary import axes_of, measured

    steward_note("these read the raw logs.")
    present = measured(settings)
    columns = {name: head for name, head in FIGURE_HEADS.items() if name in present}
    axes = axes_of(settings)
    for log in dict.fromkeys(one.log for one in settings):
        heads = ["mechanism", *(SYMBOLS.get(axis, axis) for axis in axes), *columns.values()]
        lines = []
        for one in (one for one in settings if one.log == log):
            values = [one.parameters.get(axis, "") for axis in axes]
            budget = [f"{v:g}" if isinstance(v, int | float) else str(v) for v in values]
            lines.append([one.label, *budget, *(one.cell(name) for name in columns), _counts(one)])
        show_table([*heads, "runs"], lines, log)


def _counts(one: Setting) -> str:
    """The number of runs, and how many of them gave nothing."""
    parts = [str(len(one.rows))]
    parts += [f"{one.empty} empty"] if one.empty else []
    parts += [f"{one.failed} failed"] if one.failed else []
    return ", ".join(parts)
