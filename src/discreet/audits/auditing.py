"""Audit one mechanism, all of them, or a released file.

Pairs of logs are audited side by side on several processors. A released file is checked for
whether its certificate is true to the file, the mechanism and the noise.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from discreet.audits.measurement import FULL, QUICK, Effort, audit_pair
from discreet.audits.mutation import measure_power, mutant_steps
from discreet.audits.result import CONFIDENCE, Audit, PairAudit, Power
from discreet.audits.result_store import ResultStore
from discreet.audits.subjects import AuditSubject, audited_names, subjects_of
from discreet.certificate import Certificate, Finding
from discreet.log.neighbours import Pair
from discreet.mechanisms.audit_cases import AuditCase
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.trained.base import Generative
from discreet.parameters import ParameterError
from discreet.releasing.verification import check_certificate

if TYPE_CHECKING:
    from discreet.log.events import EventLog

Watch = Callable[[int, int, str], None]
"""Called with the pieces of work done, their total number, and the title of the last one."""
Outcome = PairAudit | Power | ImportError


class Task(NamedTuple):
    """A piece of work that a process of its own may do."""

    mechanism: str
    title: str
    trains: bool
    """Whether it trains models."""
    key: str
    """What decides the run, except the code: the key of its result."""
    run: Callable[[], PairAudit | Power]


def audit(
    mechanism: str | Mechanism,
    *,
    pairs: Iterable[Pair] | None = None,
    quick: bool = False,
    mutants: bool = False,
    effort: Effort | None = None,
    workers: int = 1,
    watch: Watch | None = None,
    **parameters: Any,
) -> Audit:
    """Measure what a mechanism leaks about one case, against its own certificate.

    Runs it many times on pairs of neighbouring logs (its own and the usual ones, or `pairs`). For
    each pair the most telling events are chosen on one half of the runs and measured on the
    other: of the release, and of the answers of each noisy step. Where output distributions are
    known the leak is computed exactly as well. The bound on ε holds with 95% confidence over all
    pairs together. `violated` is said only after fresh runs confirmed it, wrongly at most once in
    10⁹ per pair. With `mutants` every noisy step is also audited without its noise, which shows
    what the audit could have noticed.

    >>> import discreet
    >>> discreet.audit("travas", epsilon=1, delta=0.01, quick=True).verdict
    'consistent'
    """
    if isinstance(mechanism, Mechanism):
        if parameters:
            raise ParameterError("give parameters with a mechanism's name, not with a mechanism")
        subject = AuditSubject(mechanism.name, _declared(mechanism), ready=mechanism)
    else:
        subject = _subject(mechanism, parameters)
    chosen = list(pairs) if pairs is not None else subject.pairs(quick)
    job = _Job(subject, chosen, effort or (QUICK if quick else FULL))
    tasks = job.tasks()
    silent = _mutant_tasks([*_ways(subject, job.effort), job]) if mutants else []
    found = _run([*tasks, *silent], workers, watch)
    return _with_powers([job.result(found[: len(tasks)])], found)[0]


def audit_all(
    *,
    quick: bool = False,
    mutants: bool | None = None,
    effort: Effort | None = None,
    workers: int | None = None,
    watch: Watch | None = None,
    kept: ResultStore | None = None,
) -> tuple[list[Audit], dict[str, str]]:
    """Audit every mechanism with all parameters that it declares for audits.

    With `mutants` (by default unless `quick`) also without the noise of each step. What is `kept`
    is not run again, and what is run is kept there at once. Returns the audits, and the mechanisms
    that could not be built or imported, with the reason.
    """
    effort = effort or (QUICK if quick else FULL)
    mutants = not quick if mutants is None else mutants
    jobs: dict[str, list[_Job]] = {}
    tasks: dict[str, list[Task]] = {}
    left_out: dict[str, str] = {}
    for name in audited_names():
        try:
            jobs[name] = [_Job(one, one.pairs(quick), effort) for one in subjects_of(name)]
            tasks[name] = [task for job in jobs[name] for task in job.tasks()]
            tasks[name] += _mutant_tasks(jobs[name]) if mutants else []
        except (ParameterError, ImportError) as error:
            left_out[name] = str(error)
    work = [task for part in tasks.values() for task in part]
    outcomes = iter(_run(work, workers or processors(), watch, kept))
    audits: list[Audit] = []
    for name, part in tasks.items():
        found = [next(outcomes) for _ in part]
        ordered = iter(found)
        try:
            own = [job.result([next(ordered) for _ in job.pairs]) for job in jobs[name]]
            audits += _with_powers(own, found)
        except ImportError as error:
            left_out[name] = str(error)
    return audits, left_out


def processors() -> int:
    """How many processes work side by side unless told."""
    return os.cpu_count() or 1


def _subject(name: str, parameters: dict[str, Any]) -> AuditSubject:
    """The mechanism with these parameters, on the pairs of what it declares nearest to them."""
    declared = [one for one in subjects_of(name) if not one.case.given]
    shared = [
        sum(parameters.get(key) == value for key, value in one.case.parameters.items())
        for one in declared
    ]
    nearest = declared[shared.index(max(shared))].case
    return AuditSubject(name, AuditCase(parameters, nearest.pairs, nearest.usual))


def _ways(subject: AuditSubject, effort: Effort) -> list[_Job]:
    """The same mechanism where given answers lead it."""
    if subject.ready is not None:
        return []
    cases = [one.case for one in subjects_of(subject.mechanism) if one.case.given]
    ways = [
        AuditSubject(
            subject.mechanism,
            replace(case, parameters={**case.parameters, **subject.case.parameters}),
        )
        for case in cases
    ]
    return [_Job(one, one.pairs(), effort) for one in ways]


def _declared(mechanism: Mechanism) -> AuditCase:
    """What a ready mechanism declares nearest to its own parameters."""
    return max(
        (case for case in type(mechanism).audit_cases() if not case.given),
        key=lambda case: sum(mechanism.settings[k] == v for k, v in case.parameters.items()),
    )


@dataclass(frozen=True)
class _Job:
    """One subject on its pairs; the share of error is divided over them."""

    subject: AuditSubject
    pairs: list[Pair]
    effort: Effort

    def tasks(self) -> list[Task]:
        if not self.pairs:
            raise ParameterError(f"there is no pair of logs to audit {self.subject.mechanism} on")
        alpha = (1 - CONFIDENCE) / len(self.pairs)
        tasks = []
        for pair in self.pairs:
            mechanism = self.subject.build(pair)
            _check_fit(mechanism, pair)
            work = partial(audit_pair, mechanism, pair, self.effort, alpha)
            name = self.subject.mechanism
            title = f"{name}: {pair.name}"
            key = f"{title} ({pair.describe()}), {self.subject.parameters}, {self.effort}, {alpha}"
            tasks.append(Task(name, title, isinstance(mechanism, Generative), key, work))
        return tasks

    def result(self, found: list[Outcome]) -> Audit:
        for outcome in found:
            if isinstance(outcome, ImportError):
                raise outcome
        return Audit(
            self.subject.mechanism,
            self.subject.parameters,
            self.subject.build(self.pairs[0]).guarantee(),
            tuple(one for one in found if isinstance(one, PairAudit)),
        )


def _mutant_tasks(jobs: list[_Job]) -> list[Task]:
    """One for each noisy step of one mechanism, whatever the parameters that it answers with."""
    looked = [(job.subject, job.pairs) for job in jobs]
    trains = any(isinstance(job.subject.build(job.pairs[0]), Generative) for job in jobs)
    name = jobs[0].subject.mechanism
    cases = [(job.subject.parameters, [pair.describe() for pair in job.pairs]) for job in jobs]
    titles = {step: f"{name} without the noise of {step}" for step in mutant_steps(looked)}
    return [
        Task(name, title, trains, f"{title}, {cases}", partial(measure_power, looked, step))
        for step, title in titles.items()
    ]


def _with_powers(audits: list[Audit], found: list[Outcome]) -> list[Audit]:
    """Each mutant beside the audit with its parameters; the first where it never answered."""
    powers = [one for one in found if isinstance(one, Power)]
    rest = [one for one in powers if all(one.parameters != a.parameters for a in audits)]
    return [
        replace(
            one,
            powers=tuple(
                power
                for power in powers
                if power.parameters == one.parameters or (not place and power in rest)
            ),
        )
        for place, one in enumerate(audits)
    ]


def _check_fit(mechanism: Mechanism, pair: Pair) -> None:
    if mechanism.cases_per_individual is not None:
        raise ParameterError(
            "an audit looks at single cases: leave out cases_per_individual, whose guarantee "
            "follows from that for cases"
        )
    relation = mechanism.guarantee().neighbours
    if not pair.fits(relation):
        raise ParameterError(
            f"{mechanism.name} promises something for {relation} neighbours; the pair "
            f"{pair.name!r} is {pair.neighbours}, so it could not contradict it"
        )


def _run(
    tasks: list[Task], workers: int, watch: Watch | None, kept: ResultStore | None = None
) -> list[Outcome]:
    """Do the work that is not kept, in this process or in several fresh ones."""
    known = [kept.get(task.mechanism, task.key) if kept else None for task in tasks]
    left = [task for task, found in zip(tasks, known, strict=True) if found is None]
    fresh: dict[int, Outcome] = {}
    for place, outcome in _done(left, workers):
        if kept and not isinstance(outcome, ImportError):
            kept.put(left[place].mechanism, left[place].key, outcome)
        fresh[place] = outcome
        if watch is not None:
            watch(len(fresh), len(left), left[place].title)
    rest = iter([fresh[place] for place in range(len(left))])
    return [next(rest) if found is None else found for found in known]


def _done(tasks: list[Task], workers: int) -> Iterator[tuple[int, Outcome]]:
    """Each piece of work with its place, as it is done."""
    if workers == 1 or len(tasks) < 2:
        for place, task in enumerate(tasks):
            yield place, _task(task)
        return
    with ProcessPoolExecutor(min(workers, len(tasks)), mp_context=get_context("spawn")) as pool:
        places = {pool.submit(_task, task): place for place, task in enumerate(tasks)}
        try:
            for future in as_completed(places):
                yield places[future], future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _task(task: Task) -> Outcome:
    """One piece of work; a mechanism whose libraries are missing must not stop the others."""
    try:
        if not task.trains:
            return task.run()
        with _one_thread():
            return task.run()
    except ImportError as error:
        return error


@contextmanager
def _one_thread() -> Iterator[None]:
    """Train with one thread: threads that wait for each other take longer on tiny models."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


SEEDED = "the noise is not that of a guessable seed"
"""Title of the check for seeds."""


def audit_file(
    path: str | Path, log: EventLog | None = None, seeds: Iterable[int] = range(100)
) -> tuple[Certificate, list[Finding]]:
    """Check a released file's certificate; with the raw log, also try seeds.

    A release whose noise came from a seed can be drawn again by anyone who guesses the seed. If one
    of `seeds` gives this very file, its noise protects nobody, whatever its certificate says.
    """
    certificate, findings = check_certificate(path)
    if log is None:
        return certificate, findings
    tried = list(seeds)
    seed = _reproduced(certificate, log, tried)
    if seed is None:
        findings.append(Finding(SEEDED, "holds", f"{len(tried)} seeds tried"))
    else:
        admitted = "" if certificate.guarantee.randomness == "seeded" else ", though it says not"
        detail = f"seed {seed} draws this very release from the log{admitted}"
        findings.append(Finding(SEEDED, "fails", detail))
    return certificate, findings


def _reproduced(certificate: Certificate, log: EventLog, seeds: Iterable[int]) -> int | None:
    from discreet.mechanisms.certified import mechanism_of

    chosen = mechanism_of(certificate)
    for seed in seeds:
        release = chosen.release(log, insecure_seed=seed)
        if certificate.content_sha256 in release.digests.values():
            return seed
    return None
