"""Audit one mechanism, or all: the pairs of logs side by side on several processors."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any

from discreet.audits.measuring import audit_pair
from discreet.audits.neighbours import Pair
from discreet.audits.plans import AuditPlan, audited_names, plans_of
from discreet.audits.result import CONFIDENCE, Audit, PairAudit
from discreet.audits.sampling import FULL, QUICK, Effort
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.parameters import ParameterError

Watch = Callable[[int, int, str], None]
"""Is told how many pairs are done, of how many, and which comes next."""
Task = tuple[Mechanism, Pair, Effort, float]
Outcome = PairAudit | ImportError


def audit(
    mechanism: str | Mechanism,
    *,
    pairs: Iterable[Pair] | None = None,
    quick: bool = False,
    effort: Effort | None = None,
    workers: int = 1,
    watch: Watch | None = None,
    **parameters: Any,
) -> Audit:
    """Measure what a mechanism leaks about one case, against its own certificate.

    Runs it many times on pairs of neighbouring logs (the library's, or `pairs`). For each pair
    the most telling event is chosen on one half of the runs and measured on the other; where
    output distributions are known the leak is computed exactly as well. The bound on ε holds
    with 95% confidence over all pairs together. `violated` is said only after fresh runs
    confirmed it, wrongly at most once in 10⁹ per pair.

    >>> import discreet
    >>> discreet.audit("travas", epsilon=1, delta=0.01, quick=True).verdict
    'consistent'
    """
    if isinstance(mechanism, Mechanism):
        if parameters:
            raise ParameterError("give parameters with a mechanism's name, not with a mechanism")
        plan = AuditPlan(mechanism.name, mechanism.settings, ready=mechanism)
    else:
        plan = AuditPlan(mechanism, parameters)
    chosen = list(pairs) if pairs is not None else plan.pairs(quick)
    job = _Job(plan, chosen, effort or (QUICK if quick else FULL))
    return job.result(_run(job.tasks(), workers, watch))


def audit_all(
    *,
    quick: bool = False,
    effort: Effort | None = None,
    workers: int | None = None,
    watch: Watch | None = None,
) -> tuple[list[Audit], dict[str, str]]:
    """Audit every mechanism in every fidelity.

    Returns the audits, and the mechanisms that could not be built or imported, with the reason.
    """
    effort = effort or (QUICK if quick else FULL)
    jobs: list[_Job] = []
    left_out: dict[str, str] = {}
    for name in audited_names():
        try:
            jobs += [_Job(plan, plan.pairs(quick), effort) for plan in plans_of(name)]
        except (ParameterError, ImportError) as error:
            left_out[name] = str(error)
    tasks = [task for job in jobs for task in job.tasks()]
    found = iter(_run(tasks, workers or os.cpu_count() or 1, watch))
    audits = []
    for job in jobs:
        outcomes = [next(found) for _ in job.pairs]
        try:
            audits.append(job.result(outcomes))
        except ImportError as error:
            left_out[job.plan.mechanism] = str(error)
    return audits, left_out


@dataclass(frozen=True)
class _Job:
    """One plan on its pairs; the share of error is divided over them."""

    plan: AuditPlan
    pairs: list[Pair]
    effort: Effort

    def tasks(self) -> list[Task]:
        if not self.pairs:
            raise ParameterError(f"there is no pair of logs to audit {self.plan.mechanism} on")
        alpha = (1 - CONFIDENCE) / len(self.pairs)
        built = [(self.plan.build(pair), pair) for pair in self.pairs]
        for mechanism, pair in built:
            if mechanism.cases_per_individual is not None:
                raise ParameterError(
                    "an audit looks at single cases: leave out cases_per_individual, whose "
                    "guarantee follows from that for cases"
                )
            relation = mechanism.guarantee().neighbours
            if not pair.fits(relation):
                raise ParameterError(
                    f"{mechanism.name} promises something for {relation} neighbours; the pair "
                    f"{pair.name!r} is {pair.neighbours}, so it could not contradict it"
                )
        return [(mechanism, pair, self.effort, alpha) for mechanism, pair in built]

    def result(self, found: list[Outcome]) -> Audit:
        done = []
        for outcome in found:
            if isinstance(outcome, ImportError):
                raise outcome
            done.append(outcome)
        first = self.plan.build(self.pairs[0])
        given = dict(self.plan.parameters)
        return Audit(self.plan.mechanism, given, first.guarantee(), tuple(done))


def _run(tasks: list[Task], workers: int, watch: Watch | None) -> list[Outcome]:
    """Audit the pairs, in this process or in several fresh ones."""
    if workers == 1:
        return list(_watched(map(_task, tasks), tasks, watch))
    with ProcessPoolExecutor(min(workers, len(tasks)), mp_context=get_context("spawn")) as pool:
        try:
            return list(_watched(pool.map(_task, tasks), tasks, watch))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _task(task: Task) -> Outcome:
    """Audit one pair; a mechanism whose libraries are not installed must not stop the others."""
    try:
        return audit_pair(*task)
    except ImportError as error:
        return error


def _watched(
    found: Iterator[Outcome],
    tasks: list[Task],
    watch: Watch | None,
) -> Iterator[Outcome]:
    for done, (mechanism, pair, _, _) in enumerate(tasks):
        if watch is not None:
            watch(done, len(tasks), f"{mechanism.name}: {pair.name}")
        yield next(found)
