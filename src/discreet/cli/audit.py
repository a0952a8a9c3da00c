"""The command `discreet audit`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from typer import Argument, Option

from discreet.cli.console import err, out, print_json, show_findings, show_table, stage
from discreet.cli.options import (
    Json,
    TakesOptions,
    given_parameters,
    mechanism_names_for_shells,
    read,
)
from discreet.parameters import ParameterError

if TYPE_CHECKING:
    from discreet.audits.auditing import Watch
    from discreet.audits.result import Audit
    from discreet.audits.result_store import ResultStore

STYLES = {
    "consistent": "green",
    "violated": "bold red",
    "no guarantee": "yellow",
    "not tested": "yellow",
}


@TakesOptions(parameters=True)
def audit(
    mechanism: Annotated[
        str | None,
        Argument(
            help="See `discreet mechanisms`; also laplace-count, gaussian-count. With --help "
            "after it, its own parameters are shown.",
            autocompletion=mechanism_names_for_shells,
        ),
    ] = None,
    everything: Annotated[bool, Option("--all", help="Every mechanism.")] = False,
    quick: Annotated[
        bool, Option("--quick", help="The most telling pairs, a second or so each.")
    ] = False,
    pair: Annotated[
        list[str] | None, Option(help="Only this pair of logs; may be repeated.")
    ] = None,
    releases: Annotated[
        int | None, Option(min=200, help="This many of each log, however long it takes.")
    ] = None,
    workers: Annotated[
        int | None, Option(min=1, help="Processes; one per processor if not given.")
    ] = None,
    mutants: Annotated[
        bool,
        Option(
            "--mutants",
            help="Also without the noise of each step: what the audit could have noticed. "
            "--all does so unless --quick.",
        ),
    ] = False,
    list_pairs: Annotated[
        bool, Option("--list", help="Show the pairs of neighbouring logs.")
    ] = False,
    markdown: Annotated[
        Path | None,
        Option(
            help="With --all: write the results as a page; with docs/audits.md of a clone also "
            "the results that the web app shows."
        ),
    ] = None,
    results: Annotated[
        Path | None,
        Option(
            help="With --all: a folder in which every result is kept at once and from which it is "
            "taken if it is there, so that an audit that was stopped goes on."
        ),
    ] = None,
    again: Annotated[
        list[str] | None,
        Option(
            help="With --results: audit this mechanism again, whose code has changed; may be "
            "repeated.",
            autocompletion=mechanism_names_for_shells,
        ),
    ] = None,
    file: Annotated[
        Path | None, Option(help="Audit a released file and its certificate instead.")
    ] = None,
    against: Annotated[
        Path | None, Option(help="With --file: the raw log, to try seeds on.")
    ] = None,
    seeds: Annotated[int, Option(min=1, help="With --against: how many to try.")] = 100,
    as_json: Json = False,
    **values: Any,
) -> None:
    """Measure what a mechanism really leaks, against its own certificate.

    Runs it many times on pairs of logs that differ in one case and proves a lower bound on
    epsilon: the event that shows it, how often it was seen on either log, and the verdict. Exit
    code 1 if the certificate is violated. One mechanism takes a minute or so, --all some ten
    minutes on two free processors, --all --quick a few minutes.

    [bold]Examples[/bold]

      discreet audit travas --epsilon 1 --delta 0.01
      discreet audit utravas --fidelity published --runs 3 --pair "tied runs"
      discreet audit --all --quick
      discreet audit --all --markdown docs/audits.md
      discreet audit --all --results kept --again headtail --markdown docs/audits.md
      discreet audit --file shared.xes --against log.xes
    """
    from discreet.audits import auditing
    from discreet.audits.measurement import Effort
    from discreet.audits.subjects import find_pair, pairs_of
    from discreet.releases import check_target

    if list_pairs:
        _list(mechanism, as_json)
        return
    if file is not None:
        _file(file, against, seeds, as_json, values)
        return
    if everything == (mechanism is not None):
        raise ParameterError("name one mechanism to audit, or give --all")
    if markdown is not None and not everything:
        raise ParameterError("--markdown writes the page of all mechanisms: give --all with it")
    if markdown is not None:
        check_target(markdown, (".md",))
    kept = _kept(results, again, everything)
    effort = Effort(releases, 3600.0, releases) if releases else None
    processes = workers or auditing.processors()
    left_out: dict[str, str] = {}
    with _progress() as watch:
        if mechanism is not None:
            pairs = [find_pair(name, pairs_of(mechanism)) for name in pair] if pair else None
            found = [
                auditing.audit(
                    mechanism,
                    pairs=pairs,
                    quick=quick,
                    mutants=mutants,
                    effort=effort,
                    workers=processes,
                    watch=watch,
                    **given_parameters(values),
                )
            ]
        else:
            if given_parameters(values) or pair:
                raise ParameterError("--all takes no parameters and no --pair: name a mechanism")
            found, left_out = auditing.audit_all(
                quick=quick,
                mutants=mutants or None,
                effort=effort,
                workers=processes,
                watch=watch,
                kept=kept,
            )
    if markdown is not None:
        _write(markdown, found, left_out, quick)
    if as_json:
        print_json({"audits": [one.to_dict() for one in found], "left_out": left_out})
    else:
        _show(found, left_out)
    if any(one.verdict == "violated" for one in found):
        raise typer.Exit(1)


def _show(found: list[Audit], left_out: dict[str, str]) -> None:
    from discreet.audits.audit_tables import overview, pair_rows, step_rows

    single = len(found) == 1
    for one in found:
        if single:
            heads = ("pair", "runs", "held against", "ε at least", "exact", "event", "seen on")
            show_table(heads, pair_rows(one))
        style = STYLES[one.verdict]
        mechanism, settings, claimed, certified, bound, words, event, pair = overview(one)
        out.print(f"[{style}]{words}[/{style}]  [bold]{mechanism}[/bold] {settings}")
        out.print(f"  certified {certified}, claimed {claimed}, measured ε ≥ {bound}", markup=False)
        if event:
            out.print(f"  shown by: {event} (pair: {pair})", markup=False)
    if steps := step_rows(found):
        show_table(
            ("mechanism", "step", "ε at least", "without its noise", "mutant"),
            [row[:5] for row in steps],
        )
    for name, reason in left_out.items():
        err.print(f"not audited: {name}: {reason}", markup=False)


def _write(path: Path, found: list[Audit], left_out: dict[str, str], quick: bool) -> None:
    """Write the page; for the documentation's own page also the results that ship with us."""
    from discreet.audits.audit_report import PAGE, page
    from discreet.audits.audit_tables import SHIPPED, AuditTables
    from discreet.log.files import atomic_write

    command = f"discreet audit --all{' --quick' if quick else ''} --markdown {path}"
    tables = AuditTables.of(found, left_out, command)
    texts = {path: page(tables)}
    if path.resolve() == PAGE:
        texts[SHIPPED] = tables.to_json()
    for target, text in texts.items():
        with atomic_write(target) as stream:
            stream.write(text.encode())
        err.print(f"Written: {target}", markup=False)


def _kept(folder: Path | None, again: list[str] | None, everything: bool) -> ResultStore | None:
    """Open the folder of kept results, without those to be audited again; None without a folder."""
    from discreet.audits.result_store import ResultStore
    from discreet.audits.subjects import audited_class

    if folder is None or not everything:
        if folder is not None or again:
            raise ParameterError("--results goes with --all, and --again with --results")
        return None
    kept = ResultStore(folder)
    for name in again or ():
        audited_class(name)
        kept.forget(name)
    return kept


def _list(mechanism: str | None, as_json: bool) -> None:
    from discreet.audits.subjects import audited_names, pairs_of

    names = audited_names() if mechanism is None else [mechanism]
    pairs = {(p.name, p.describe()): p for name in names for p in pairs_of(name).values()}.values()
    if as_json:
        print_json([{"pair": p.name, "shows": p.story, "logs": p.describe()} for p in pairs])
        return
    lines = [(one.name, one.neighbours, one.story, one.describe()) for one in pairs]
    show_table(("pair", "neighbours", "what it shows", "logs"), lines)


def _file(
    file: Path, against: Path | None, seeds: int, as_json: bool, values: dict[str, Any]
) -> None:
    from discreet.audits.auditing import audit_file

    log = read(against, values) if against is not None else None
    with stage(f"auditing {file.name}"):
        _, findings = audit_file(file, log, range(seeds))
    if as_json:
        print_json({"checks": [asdict(finding) for finding in findings]})
    else:
        show_findings(findings)
    if any(finding.outcome == "fails" for finding in findings):
        raise typer.Exit(1)


@contextmanager
def _progress() -> Iterator[Watch]:
    named = TextColumn("{task.description}")
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), named)
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as progress:
        task = progress.add_task("", total=None)

        def watch(done: int, total: int, name: str) -> None:
            progress.update(task, completed=done, total=total, description=name)

        yield watch
