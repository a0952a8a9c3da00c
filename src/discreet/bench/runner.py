"""Running a plan: in parallel, every result stored at once, resumed where it stopped."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from discreet._version import __version__
from discreet.bench.baselines import BASELINES, drawn
from discreet.bench.bench_plan import Cell
from discreet.bench.controls import CONTROLS
from discreet.bench.store import Outcome, ResultRow, Store
from discreet.log.loading import read_log
from discreet.privacy.randomness import Randomness
from discreet.releasing.request import Product, Request
from discreet.releasing.way import try_out
from discreet.utility.evaluation import Evaluator
from discreet.utility.subject import subject_of

DIED = "the process died, perhaps for lack of memory"
"""Error of a run whose process died."""


def run(
    cells: Sequence[Cell],
    store: Store,
    *,
    workers: int | None = None,
    on_row: Callable[[ResultRow], None] = lambda row: None,
) -> int:
    """Run the cells that have no row yet, and return how many those were.

    Only this process writes, one row per finished cell. If it is killed, finished cells keep
    their rows and the next call runs the others.
    """
    done = store.keys()
    waiting = deque(cell for cell in cells if cell.key not in done)
    total = len(waiting)
    many = min(workers or os.cpu_count() or 1, max(total, 1))

    def keep(row: ResultRow) -> None:
        store.add(row)
        on_row(row)

    while waiting:
        suspects = _run_pool(waiting, many, keep)
        for cell in suspects:  # one of them killed its worker: each again, alone
            for unfinished in _run_pool(deque([cell]), 1, keep):
                keep(_row(unfinished, "failed", error=DIED))
    return total


def _run_pool(waiting: deque[Cell], workers: int, keep: Callable[[ResultRow], None]) -> list[Cell]:
    """Work off the queue; returns the cells that were under way if a worker died."""
    running: dict[Future[ResultRow], Cell] = {}
    context = multiprocessing.get_context("spawn")  # forking a process with threads may hang
    with _single_threaded(), ProcessPoolExecutor(workers, mp_context=context) as pool:
        while waiting or running:
            try:
                while waiting and len(running) < workers:
                    running[pool.submit(run_cell, waiting[0])] = waiting[0]
                    waiting.popleft()
            except BrokenProcessPool:
                return list(running.values())
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            broken = False
            for future in finished:
                try:
                    keep(future.result())
                except BrokenProcessPool:
                    broken = True
                    continue
                del running[future]
            if broken:
                return list(running.values())
    return []


def run_cell(cell: Cell) -> ResultRow:
    """One run: release, then measure. Whatever goes wrong becomes a row."""
    began = time.perf_counter()
    try:
        with limited(cell.timeout):
            status, empty, figures = _measured(cell)
    except Exception as error:
        text = f"{type(error).__name__}: {error}"[:500]
        return _row(cell, "failed", error=text, seconds=time.perf_counter() - began)
    seconds = time.perf_counter() - began
    outcome: Outcome = "empty" if empty else "ok"
    return _row(cell, outcome, seconds=seconds, status=status, figures=figures)


def _measured(cell: Cell) -> tuple[str, bool, dict[str, float]]:
    evaluator = _evaluator(cell.path, cell.digest, json.dumps(cell.log.options, sort_keys=True))
    log = evaluator.log
    assert log is not None
    control = CONTROLS[cell.label] if cell.mechanism.startswith("control:") else None
    if control:
        against, artefact = control.draw(log, Randomness.system())
        measuring = evaluator if against is log else Evaluator(against)
        status = ""
    elif cell.mechanism in BASELINES:
        artefact = drawn(cell.mechanism, log, Randomness.system(), **cell.parameters)
        status, measuring = "", evaluator
    else:
        request = Request(product=Product(cell.mechanism, cell.parameters))
        release = try_out(request, log)
        artefact, status, measuring = release.artefact, release.guarantee.status, evaluator
    subject = subject_of(artefact)
    found = measuring.evaluate(subject, measures=cell.measures, reference=False)
    figures = {figure.name: figure.value for figure in found}
    return status, subject.empty, control.scaled(figures) if control else figures


@lru_cache(maxsize=2)
def _evaluator(path: str, digest: str, options: str) -> Evaluator:
    """The evaluator of a log file, cached by its digest."""
    return Evaluator(read_log(path, **json.loads(options)))


def _row(cell: Cell, outcome: Outcome, **more: Any) -> ResultRow:
    return ResultRow(
        key=cell.key,
        log=cell.log.name,
        label=cell.label,
        mechanism=cell.mechanism,
        parameters=cell.parameters,
        repetition=cell.repetition,
        outcome=outcome,
        version=__version__,
        **more,
    )


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise TimeoutError in this process after a while, where the system can.

    Raised in a destructor, or while garbage is collected, it would be printed and forgotten: then
    it is raised again.
    """
    if not hasattr(signal, "setitimer"):
        yield
        return

    said = f"took longer than {seconds:g} s"

    def stop(*_: object) -> None:
        raise TimeoutError(said)

    def again(ignored: sys.UnraisableHookArgs) -> None:
        if ignored.exc_type is TimeoutError and str(ignored.exc_value) == said:
            signal.setitimer(signal.ITIMER_REAL, 0.001)
        else:
            printing(ignored)

    before = signal.signal(signal.SIGALRM, stop)
    printing, sys.unraisablehook = sys.unraisablehook, again
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        sys.unraisablehook = printing


@contextmanager
def _single_threaded() -> Iterator[None]:
    """Workers already fill the cores: their libraries must not start threads of their own."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS")
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(dict.fromkeys(names, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
