"""Rules for every mechanism, ours and others', whatever it releases.

The suite cannot tell whether a proof is right; `discreet audit` looks for what a mechanism leaks.
It checks that the mechanism keeps the rules that ledger, certificate, audits and faces rely on.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl

from discreet.certificate import Certificate
from discreet.log.engines.view import staying
from discreet.log.errors import LogError
from discreet.log.events import CASE, TIME, EventLog
from discreet.log.instants import DAY
from discreet.log.loading import read_log
from discreet.log.neighbours import Case, make_log
from discreet.log.variants import Variants
from discreet.mechanisms.audit_cases import ONE_MORE
from discreet.mechanisms.base import Mechanism
from discreet.parameters import ParameterError
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import (
    Gaussian,
    Laplace,
    OneOf,
    Reserved,
    SampledGaussian,
    SpendingError,
    Step,
)
from discreet.privacy.transcript import transcript
from discreet.releasing.verification import check_certificate
from discreet.testing.conformance import ConformanceError, demand, refusing
from discreet.testing.recording import compare, recordable

PERSON = "case:person"
HOSTILE = ("<img src=x onerror=alert(1)>", "a\tb\nc", "🩺" * 40, " ", "../../etc/passwd")


@dataclass(frozen=True)
class Subject:
    """A mechanism under test, with parameters that make it quick."""

    owner: type[Mechanism]
    parameters: dict[str, Any]

    def build(self, **changed: Any) -> Mechanism:
        """Build the mechanism, with the test log's labels as public alphabet if it takes one."""
        given = dict(self.parameters)
        if "alphabet" in self.owner.parameters():
            given.setdefault("alphabet", LABELS)
        return self.owner(**given | changed)

    @cached_property
    def usual(self) -> Mechanism:
        """The mechanism with the parameters given."""
        return self.build()


def _log(traces: dict[str, int], labels: dict[str, str] | None = None) -> EventLog:
    """A log of cases with times, two cases to each person."""
    names = labels or {}
    cases = [
        Case(
            tuple(names.get(a, a) for a in trace), DAY * number, values={PERSON: f"p{number // 2}"}
        )
        for number, trace in enumerate(trace for trace in traces for _ in range(traces[trace]))
    ]
    return replace(make_log(cases, (PERSON,)), individual=PERSON)


LABELS = ("a", "b", "c", "d")
LONG = "abcd" * 5
FEW = {"abcd": 30, "acbd": 16, "abd": 9, "ad": 3, "abbcd": 1}


def declared(subject: Subject) -> None:
    """The mechanism states its name, summary and kind of artefact, and explains every parameter."""
    owner = subject.owner
    for field in ("name", "summary", "returns"):
        value = getattr(owner, field, None)
        demand(isinstance(value, str) and value.strip(), f"{field} must be a text")
    demand(owner.__doc__ and len(owner.__doc__) > 80, "the docstring must hold the proof")
    for name, parameter in owner.parameters().items():
        demand(parameter.help.strip(), f"the parameter {name} has no help")
    for wrong in (0.0, -1.0, float("nan"), float("inf"), "much"):
        with refusing(f"epsilon = {wrong!r}", ParameterError):
            subject.build(epsilon=wrong)


def composes(subject: Subject) -> None:
    """The promise follows from the steps, and none could have less noise at the same cost."""
    usual = subject.usual
    promise, tree = usual.guarantee(), usual.spending
    demand(promise == subject.build().guarantee(), "the guarantee changes from call to call")
    if not promise.proved:
        return
    demand(tree is not None, "a proved mechanism must state its steps")
    assert tree is not None
    assert promise.holds is not None
    spent = tree.spent
    demand(
        spent.epsilon <= promise.holds.epsilon and spent.delta <= promise.holds.delta,
        f"the steps cost {spent}, more than {promise.holds}",
    )
    for step in tree.walk():
        demand(step.name.strip() and step.rule.strip(), "a step has no name or no rule")
    for leaf in tree.walk():
        louder = _twice_as_dear(leaf)
        if louder is not None:
            try:
                changed = tree.mapped({leaf: louder}.get)
            except SpendingError:
                continue  # it does not even compose
            demand(changed != tree, f"{leaf.name} is not in the tree it was found in")
            demand(
                changed.spent != spent or _is_spare(tree, leaf),
                f"the cost of the whole does not follow from {leaf.name}",
            )


def _twice_as_dear(step: Step) -> Step | None:
    if isinstance(step, Laplace):
        return replace(step, epsilon=2 * step.epsilon)
    if isinstance(step, Gaussian):
        return replace(step, concentrated=4 * step.concentrated)
    if isinstance(step, SampledGaussian):
        plan = step.plan
        return replace(step, plan=replace(plan, noise_multiplier=plan.noise_multiplier / 2))
    return None


def _is_spare(tree: Step, leaf: Step) -> bool:
    """Whether a leaf may cost less than others because a case pays for only one of them."""
    return any(
        isinstance(step, OneOf | Reserved) and any(below is leaf for below in step.walk())
        for step in tree.walk()
    )


def budgeted(subject: Subject) -> None:
    """A smaller budget gives another promise, and never a larger one."""
    promises = [subject.build(epsilon=epsilon).guarantee() for epsilon in (2.0, 1.0, 0.5)]
    for more, less in pairwise(promises):
        if more.proved and more.holds and less.holds:
            demand(less.holds.epsilon <= more.holds.epsilon, "less epsilon promises less")


def drawn(subject: Subject) -> None:
    """A seed repeats a release and marks it; a release without one is private if it is proved."""
    log, usual = _log(FEW), subject.usual
    first, again = (usual.release(log, insecure_seed=7) for _ in range(2))
    demand(_shown(first.artefact) == _shown(again.artefact), "a seed does not repeat a release")
    demand(not first.guarantee.private, "a seeded release is called private")
    free = usual.release(log)
    demand(
        free.guarantee.private == usual.guarantee().proved,
        "a release is called private though it is not proved, or the reverse",
    )
    seven = _answers(usual, log, 7)
    others = (_answers(usual, log, seed) for seed in range(8, 40))
    demand(not seven or any(one != seven for one in others), "the noise is always the same")


def _answers(mechanism: Mechanism, log: EventLog, seed: int) -> dict[str, list[Any]]:
    with transcript() as answers:
        mechanism._draw(log, Randomness.seeded(seed))
    return {step: [answer.tolist() for answer in given] for step, given in answers.items()}


def reads_no_order(subject: Subject) -> None:
    """The same seed gives the same release, however cases are ordered, named and kept.

    Otherwise the order of the cases, or an engine's numbering of variants, would help decide what
    is chosen where noisy answers tie, or the order of what comes out: an order nobody has paid for.
    A mechanism that draws for each case draws in an order given by the content of the cases.
    """
    log, usual = _log(TIED), subject.usual
    if not usual.guarantee().proved:
        return
    expected = _shown(usual.release(log, insecure_seed=7).artefact)
    with tempfile.TemporaryDirectory() as folder:
        for where, same in _elsewhere(log, Path(folder)):
            found = _shown(usual.release(same, insecure_seed=7).artefact)
            demand(str(found) == str(expected), f"{where}: another release")


def reads_no_names(subject: Subject) -> None:
    """Activities renamed in the same order give the same release under the new names.

    Otherwise the order of a set or of hashes would help decide it, another one in each process.
    """
    if "alphabet" in subject.parameters or not subject.usual.guarantee().proved:
        return
    found = []
    for prefix in ("one ", "two "):
        labels = {label: prefix + label for label in LABELS}
        takes = "alphabet" in subject.owner.parameters()
        renamed = subject.build(alphabet=tuple(labels.values())) if takes else subject.usual
        released = renamed.release(_log(TIED, labels), insecure_seed=7)
        found.append(str(_shown(released.artefact)).replace(prefix, ""))
    demand(found[0] == found[1], "other names of activities give another release")


TIED = {"abcd": 40, "acbd": 40, "abd": 39, "acd": 41, "ad": 12, "abbcd": 11, "dcba": 1, "db": 2}
"""Variants of which several may well get one noisy count; neither which have equal counts nor
their order may be told."""


def _elsewhere(log: EventLog, folder: Path) -> Iterator[tuple[str, EventLog]]:
    """The same cases in other orders and under other names, in memory and in engines."""
    for number in range(2):
        table = _in_other_order(log.table, number)
        other = replace(EventLog.from_table(table), individual=PERSON)
        yield "cases in another order", other
        yield "variants in an engine", staying(other)
        if find_spec("duckdb") is not None:
            path = folder / f"{number}.parquet"
            table.write_parquet(path)
            kept = read_log(path, engine="duckdb", individual=PERSON)
            yield "cases in DuckDB", kept
            yield "variants in DuckDB", staying(kept)


def _in_other_order(table: pl.DataFrame, seed: int) -> pl.DataFrame:
    """The cases shuffled and renamed by their new order."""
    names = table[CASE].unique().sort().sample(fraction=1, shuffle=True, seed=seed).to_list()
    fresh = {name: f"{number:06d}" for number, name in enumerate(names)}
    return table.with_columns(pl.col(CASE).replace_strict(fresh)).sort(CASE, TIME)


def speaks_of_parameters_only(subject: Subject) -> None:
    """Guarantee, notes and parameters of a release do not depend on the log."""
    logs = FEW, {"ab": 4, "dcba": 21, "c": 1}, {**FEW, "abce": 1}, {"b": 2}
    one, *others = (subject.usual.release(_log(traces)) for traces in logs)
    for field in ("guarantee", "notes", "parameters", "mechanism"):
        for other in others:
            demand(
                getattr(one, field) == getattr(other, field),
                f"{field} of a release depend on the log",
            )


def reads_by_its_steps_only(subject: Subject) -> None:
    """One more case changes what each step reads by no more than is paid for, and nothing else.

    The case is of a frequent variant, on a small log and on one of more than a thousand cases.
    """
    usual = subject.usual
    if not usual.guarantee().proved or not recordable(usual):
        return
    swapped = usual.guarantee().neighbours == "swap"
    for times in (1, 12):
        many = {trace: times * count for trace, count in {LONG: 40, **FEW}.items()}
        more = {**many, LONG: many[LONG] + 1, "ad": many["ad"] - swapped}
        compare(usual, _log(many), _log(more))


def shows_nothing_unused(subject: Subject) -> None:
    """A release has no label that none of its cases has, and reveals no order of the log."""
    for traces in (FEW, {"ba": 60, "ab": 40, "cab": 1, "abd": 1}):
        artefact = subject.usual.release(_log(traces), insecure_seed=7).artefact
        for column in artefact.table if isinstance(artefact, EventLog) else ():
            demand(
                column.dtype not in (pl.Categorical, pl.Enum),
                f"{column.name} of the release is categorical: it may list what no case has",
            )
        variants = artefact.variants if isinstance(artefact, EventLog) else artefact
        if isinstance(variants, Variants):
            plain = Variants.from_counts(variants.to_dict())
            demand(
                variants.activities == plain.activities,
                "the release lists activities that none of its cases has",
            )
            demand(list(variants) == list(plain), "the variants of a release are not in order")


def checks_before_it_spends(subject: Subject) -> None:
    """`check` says what the log lacks, and reads and draws nothing else."""
    usual = subject.build(cases_per_individual=2)
    nobody = replace(_log(FEW), individual=None)
    with refusing("individuals of a log that names none", LogError):
        usual.check(nobody)
    usual.check(_log(FEW))


def individuals(subject: Subject) -> None:
    """The same budget is promised per person, and a release keeps to it."""
    per_person = subject.build(cases_per_individual=2)
    promise, alone = per_person.guarantee(), subject.usual.guarantee()
    demand(promise.unit == "individual", "the unit is not the individual")
    demand(promise.cases_per_individual == 2, "the bound on cases is not stated")
    if alone.proved and promise.holds is not None:
        target = per_person.target
        demand(
            promise.holds.epsilon <= target.epsilon and promise.holds.delta <= target.delta,
            f"a person is promised {promise.holds}, more than {target}",
        )
    released = per_person.release(_log(FEW))
    demand(released.guarantee.unit == "individual", "the release forgets the individual")


def small_logs(subject: Subject) -> None:
    """A log without cases, with one case, or with unexpected labels is released or refused."""
    names = dict(zip("abcd", HOSTILE, strict=False))
    logs = {
        "no case": _log({}),
        "one case": _log({"abc": 1}),
        "one event": _log({"a": 1}),
        "unknown activities": _log(FEW, {"a": "x", "b": "y", "c": "z", "d": "w"}),
        "hostile labels": _log(FEW, names),
    }
    for what, log in logs.items():
        try:
            subject.usual.check(log)
        except (LogError, ParameterError):
            continue
        try:
            subject.usual.release(log)
        except Exception as error:
            raise ConformanceError(
                f"{what}: passes `check` and then raises {type(error).__name__}: {error}"
            ) from error


def certified(subject: Subject) -> None:
    """The certificate reads back, and the guarantee in it follows from the parameters."""
    released = subject.usual.release(_log(FEW))
    text = released.certificate("0" * 64).to_json()
    demand(Certificate.from_json(text).to_json() == text, "the certificate does not read back")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"release{subject.owner.suffixes[0]}"
        released.write(path)
        _, findings = check_certificate(path)
        for finding in findings:
            demand(finding.outcome != "fails", f"{finding.check}: {finding.detail}")


def auditable(subject: Subject) -> None:
    """The mechanism names parameters and pairs of logs to audit it with; it accepts both and makes
    a promise about them."""
    owner = subject.owner
    cases = owner.audit_cases()
    demand(cases, "there is nothing to audit it with")
    for case in cases:
        for pair in case.pairs or (ONE_MORE,):
            usual = {"epsilon": 1.0, "delta": 0.01, "alphabet": pair.alphabet, **pair.public}
            taken: dict[str, Any] = {k: v for k, v in usual.items() if k in owner.parameters()}
            try:
                built = owner(**taken | dict(case.parameters))
                for log in pair.logs:
                    built.check(log)
            except (LogError, ParameterError) as error:
                raise ConformanceError(f"the pair {pair.name!r} is refused: {error}") from error
            neighbours = built.guarantee().neighbours
            fits = not case.pairs or pair.fits(neighbours)
            demand(fits, f"the pair {pair.name!r} says nothing about {neighbours} neighbours")


def _shown(artefact: Any) -> Any:
    """A value that is equal for equal artefacts."""
    if isinstance(artefact, EventLog):
        return artefact.table.to_dict(as_series=False)
    to_dict = getattr(artefact, "to_dict", None)
    return to_dict() if callable(to_dict) else artefact


MECHANISM_CHECKS: dict[str, Callable[[Subject], None]] = {
    check.__name__.replace("_", " "): check
    for check in (
        declared,
        composes,
        budgeted,
        drawn,
        reads_no_order,
        reads_no_names,
        speaks_of_parameters_only,
        reads_by_its_steps_only,
        shows_nothing_unused,
        checks_before_it_spends,
        individuals,
        small_logs,
        certified,
        auditable,
    )
}
"""Each check by name, so that a test runner can run and report it alone."""


def check_mechanism(owner: type[Mechanism], *, only: str | None = None, **parameters: Any) -> None:
    """Run the suite on a mechanism; raise ConformanceError with what fails, and why.

    `parameters` are those that it needs, or those that make it quick; it gets a public alphabet
    if it takes one. `only` names one check of `MECHANISM_CHECKS`.
    """
    subject = Subject(owner, parameters)
    for name, check in MECHANISM_CHECKS.items():
        if only in (None, name):
            try:
                check(subject)
            except ConformanceError as error:
                raise ConformanceError(f"{owner.__name__}, {name}: {error}") from error
