"""Trials: releases of one log with several mechanisms at several budgets, measured against it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean, stdev
from typing import Any

from discreet.bench.runner import limited
from discreet.log.events import EventLog
from discreet.mechanisms.base import Mechanism
from discreet.releasing.catalogue import mechanism_class, mechanism_names
from discreet.releasing.request import Product
from discreet.utility.evaluation import Evaluator, Group
from discreet.utility.model import can_discover

COST = (
    "Choosing a mechanism or a budget by these figures reads the raw log once more and is not "
    "covered by any release's guarantee. To be covered, choose before looking, or with --private."
)

DELEGATES = ("choice",)
"""Mechanisms that only delegate to others, which are tried themselves."""


LATE = "not finished in its share of the time"

# Tuned
RUNS_FOR_SCATTER = 5
"""Smallest number of runs whose standard deviation means something."""


@dataclass(frozen=True)
class Trial:
    """How a mechanism did at one budget, or why it could not be tried."""

    name: str
    epsilon: float
    status: str = ""
    budget: str = ""
    runs: tuple[dict[str, float], ...] = ()
    seconds: float = 0.0
    """Seconds of one run, measuring included."""
    problem: str = ""
    late: bool = False
    """Whether the trial failed because time was short."""
    default: bool = False
    """Whether this is the product released if no mechanism is named."""

    @property
    def figures(self) -> dict[str, float]:
        """The mean of every figure over the runs."""
        names = dict.fromkeys(name for run in self.runs for name in run)
        return {name: fmean(self.values(name)) for name in names}

    def values(self, figure: str) -> list[float]:
        """The values of a figure in all runs that have it."""
        return [run[figure] for run in self.runs if figure in run]

    def deviation(self, figure: str) -> float | None:
        """The standard deviation of a figure; None below two runs."""
        values = self.values(figure)
        return stdev(values) if len(values) > 1 else None

    @property
    def score(self) -> float | None:
        """Mean similarity, by which trials are ordered."""
        return self.figures.get("similarity")

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        figures = self.figures
        return {
            "name": self.name,
            "default": self.default,
            "epsilon": self.epsilon,
            "status": self.status,
            "budget": self.budget,
            "figures": figures,
            "deviations": {name: self.deviation(name) for name in figures},
            "runs": len(self.runs),
            "seconds": self.seconds,
            "problem": self.problem,
        }


@dataclass(frozen=True)
class Trials:
    """All trials, the best first at each budget, and what a perfect copy would score."""

    trials: tuple[Trial, ...]
    references: dict[str, float]
    repetitions: int = 1

    @property
    def ran(self) -> list[Trial]:
        """The trials that were measured."""
        return [trial for trial in self.trials if trial.runs]

    @property
    def left_out(self) -> dict[str, list[str]]:
        """Names of the mechanisms that were not measured, by reason."""
        found: dict[str, list[str]] = {}
        for trial in self.trials:
            names = found.setdefault(trial.problem, []) if trial.problem else []
            if trial.name not in names:
                names.append(trial.name)
        return found

    @property
    def short_of_time(self) -> bool:
        """Whether more time would have shown more."""
        return any(
            trial.late or 0 < len(trial.runs) < min(self.repetitions, RUNS_FOR_SCATTER)
            for trial in self.trials
        )


@dataclass
class _Cell:
    """The runs so far of one mechanism at one budget."""

    built: Mechanism | None
    trial: Trial
    durations: list[float] = field(default_factory=list)
    runs: list[dict[str, float]] = field(default_factory=list)


def trial_of(name: str, given: Mapping[str, Any], times: bool | None = None) -> Mechanism:
    """Build a mechanism with those of the parameters that it has, with times if asked for."""
    over = bool(times) and mechanism_class(name).returns == "variants"
    return Product.taking(given, name, times=over).resolved().mechanism


def run_trials(
    log: EventLog,
    *,
    epsilons: Sequence[float],
    delta: float,
    parameters: dict[str, Any] | None = None,
    names: Sequence[str] = (),
    times: bool | None = None,
    seconds: float = 60.0,
    repetitions: int = 1,
    on_start: Callable[[str], None] = lambda text: None,
) -> Trials:
    """Release the log with each mechanism at each epsilon and measure the releases.

    Further parameters (an alphabet, a maximum length) go to the mechanisms that declare them. The
    default product always takes part, and first; budgets around 1 come first. No mechanism
    gets a second run before all had a first, no run may take more than twice its share of the time
    that is left (the default product: all of it), and all stop after about `seconds`, but not
    before the very first had as much time. Those that were not done are named with that reason.
    """
    deadline = time.monotonic() + seconds
    evaluator = Evaluator(log)
    measures: tuple[Group, ...] = ("similarity", "follows", "size")
    if can_discover():
        measures += ("model",)
    on_start("what a fresh sample of the process would score")
    references = _references(evaluator, measures)
    chosen = dict.fromkeys(names or (one for one in mechanism_names() if one not in DELEGATES))
    given = {"delta": delta, **(parameters or {})}
    cells = []
    for epsilon in sorted(set(epsilons), key=lambda e: abs(math.log(max(e, 1e-9)))):
        budget = {**given, "epsilon": epsilon}
        usual = Product.taking(budget, times=times).resolved().of(log)
        cells.append(_cell(usual.name, usual, default=True))
        cells += [_built(name, budget, times) for name in chosen if name != usual.name]
    for turn in range(repetitions):
        waiting = [cell for cell in cells if cell.built and len(cell.runs) == turn]
        for index, cell in enumerate(waiting):
            left = deadline - time.monotonic()
            if not turn and not index:
                left = max(left, seconds, 1.0)  # one trial must have a turn
            if left < max(cell.durations, default=0.0):
                cell.trial = cell.trial if turn else replace(cell.trial, problem=LATE, late=True)
                continue
            on_start(f"{cell.trial.name} at ε = {cell.trial.epsilon:g}")
            share = 1 if cell.trial.default else 2 / (len(waiting) - index)
            _run(cell, evaluator, measures, share * max(left, 0.1))
    trials = [_done(cell) for cell in cells]
    trials.sort(key=lambda one: (one.epsilon, one.score is None, -(one.score or 0.0), one.name))
    return Trials(tuple(trials), references, repetitions)


def _references(evaluator: Evaluator, measures: tuple[Group, ...]) -> dict[str, float]:
    """What a fresh sample, or the raw log's own model, scores for each figure."""
    found = {"similarity": evaluator.ceiling}
    if evaluator.follows_ceiling is not None:
        found["follows_total_variation"] = evaluator.follows_ceiling.total_variation
    if "model" in measures:
        own = evaluator.own_quality
        found |= {name: getattr(own, name) for name in ("fitness", "precision", "f_score")}
    return {name: value for name, value in found.items() if value is not None}


def _built(name: str, budget: dict[str, Any], times: bool | None) -> _Cell:
    """Build the mechanism for one budget, or keep the reason why it cannot be built."""
    try:
        return _cell(name, trial_of(name, budget, times))
    except Exception as error:
        return _Cell(None, Trial(name, budget["epsilon"], problem=_words(error)))


def _cell(name: str, built: Mechanism, *, default: bool = False) -> _Cell:
    """A mechanism and what it promises, before its first run."""
    promise = built.guarantee()
    budget = "nothing finite" if promise.holds is None else str(promise.holds)
    budget += f" {promise.per}"
    if promise.neighbours != "add-remove":
        budget += f" ({promise.neighbours})"
    return _Cell(built, Trial(name, built.epsilon, promise.status, budget, default=default))


def _run(cell: _Cell, evaluator: Evaluator, measures: tuple[Group, ...], seconds: float) -> None:
    """Release once and measure; any failure ends the trial and is kept as its problem."""
    assert evaluator.log is not None
    assert cell.built is not None
    began = time.perf_counter()
    try:
        with limited(seconds):
            released = cell.built.release(evaluator.log)
            found = evaluator.evaluate(released, measures=measures, reference=False)
    except Exception as error:
        late = isinstance(error, TimeoutError)
        if not (late and cell.runs):
            problem = LATE if late else _words(error)
            cell.trial = replace(cell.trial, problem=problem, late=late)
        cell.built = None
        return
    cell.durations.append(time.perf_counter() - began)
    cell.runs.append({figure.name: figure.value for figure in found})


def _done(cell: _Cell) -> Trial:
    if not cell.runs:
        return cell.trial
    return replace(cell.trial, runs=tuple(cell.runs), seconds=fmean(cell.durations))


def _words(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
