"""Mechanism: what every mechanism declares and the one way in which it releases."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar, Generic, Literal, TypeVar

import numpy as np

from discreet.arrays import Integers
from discreet.errors import DiscreetWarning
from discreet.log.cautions import cautions
from discreet.log.columns import released_names
from discreet.log.events import EventLog, Reads
from discreet.log.files import LOG_SUFFIXES
from discreet.mechanisms.audit_cases import AuditCase
from discreet.parameters import (
    Parameter,
    ParameterError,
    between,
    declared,
    fraction,
    parameter,
)
from discreet.privacy.accounting import per_case
from discreet.privacy.count_noise import CountNoise
from discreet.privacy.guarantee import Budget, Guarantee
from discreet.privacy.noise import Rational
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import Found, Group, Statement, Step, noise_of, promised
from discreet.releases import A_co, Release

Fidelity = Literal["strict", "published"]

Changed = TypeVar("Changed", bound="Mechanism")

GROUP = "discreet.mechanisms"
"""The group of entry points through which packages offer mechanisms."""

# Proof
LEAST_EPSILON = 1e-6
"""Smallest epsilon of a case: below it noise overflows 64 bits."""


def delta_parameter(default: float = 1e-6) -> Any:
    """Declare delta, for mechanisms that need one."""
    return parameter(
        default, "probability of an exception from epsilon; keep it far below 1/cases", fraction
    )


@dataclass(frozen=True, kw_only=True)
class Mechanism(ABC, Generic[A_co]):
    """A differentially private release of a log.

    A subclass is a frozen dataclass. It declares its parameters as fields, divides a budget per
    case into steps in `_spending`, and draws its artefact in `_draw` with the noise of these very
    steps. The guarantee is what they cost together; `_statement` says the rest. It must read
    nothing of the log but what `_draw` is given.
    """

    name: ClassVar[str]
    """Its name on the command line."""
    summary: ClassVar[str]
    """One line: what it does."""
    paper: ClassVar[str] = ""
    """Where it was published, if it was."""
    returns: ClassVar[str]
    """What kind of artefact comes out."""
    suffixes: ClassVar[tuple[str, ...]] = LOG_SUFFIXES
    """How the file may end that it is written to."""
    reads: ClassVar[Reads] = "events"
    """What it reads of a log; what reads variants only can run on logs of any size."""

    epsilon: float = parameter(
        1.0,
        "how far one case may shift the odds of any outcome: e^epsilon; smaller is more private",
        between(1e-4, 100_000),
    )
    cases_per_individual: int | None = parameter(
        None,
        "protect individuals, not single cases: keep at most this many random cases of each",
        between(1, 10_000),
    )

    def __post_init__(self) -> None:
        for name, declaration in self.parameters().items():
            object.__setattr__(self, name, declaration.check(getattr(self, name)))
        self._validate()
        try:
            self.guarantee()
        except ParameterError:
            raise
        except (ValueError, ArithmeticError) as error:
            raise ParameterError(f"{self.name}: {error}; {self._remedy}") from error

    @property
    def _remedy(self) -> str:
        """Advice on what to change where the budget buys no noise."""
        if self.cases_per_individual is None:
            return "give a larger epsilon, or larger shares of it"
        return "give a larger epsilon, or allow fewer cases per individual"

    def _validate(self) -> None:
        """Refuse parameters that do not go together; a subclass extends this."""

    @classmethod
    def parameters(cls) -> dict[str, Parameter]:
        """The declared parameters by name."""
        return declared(cls)

    @classmethod
    def audit_cases(cls) -> tuple[AuditCase, ...]:
        """The parameters and the pairs of logs that it is audited with.

        Every noisy step should answer in one of them, and some pair should show if it had no
        noise. By default each fidelity on the usual pairs.
        """
        fidelity = cls.parameters().get("fidelity")
        choices = fidelity.choices if fidelity else ()
        return tuple(AuditCase({"fidelity": choice}) for choice in choices) or (AuditCase(),)

    @property
    def settings(self) -> dict[str, Any]:
        """The parameters' values."""
        return {name: getattr(self, name) for name in self.parameters()}

    @property
    def target(self) -> Budget:
        """The budget asked for, per case or per individual."""
        return Budget(self.epsilon, getattr(self, "delta", 0.0))

    @property
    def case_budget(self) -> Budget:
        """What each case may cost so that the target is met."""
        if self.cases_per_individual is None:
            return self.target
        asked, cases = self.target, self.cases_per_individual
        try:
            share = Budget(*per_case(asked.epsilon, asked.delta, cases))
        except ValueError as error:
            raise ParameterError(str(error)) from error
        if asked.delta and not share.delta:
            raise ParameterError(
                f"delta {asked.delta:g} is too small to divide over {cases} cases at epsilon "
                f"{asked.epsilon:g}: give a larger one, or allow fewer cases per individual"
            )
        return share

    @cached_property
    def spending(self) -> Step | None:
        """The steps that a release takes, with what each costs a case and the noise it draws."""
        return self._spending(self.case_budget)

    def step(self, name: str, kind: type[Found]) -> Found:
        """The step of that name, to draw with."""
        if self.spending is None:
            raise KeyError(f"{self.name} has no steps")
        return self.spending.find(name, kind)

    def noise(self, name: str, sensitivity: Rational = 1) -> CountNoise:
        """The noise of the step of that name, for counts of this sensitivity (see `noise_of`)."""
        if self.spending is None:
            raise KeyError(f"{self.name} has no steps")
        return noise_of(self.spending.named(name), sensitivity)

    def guarantee(self) -> Guarantee:
        """What a release will promise; answers before any data are read."""
        statement, tree, cases = self._statement(self.target), self.spending, None
        if self.cases_per_individual is not None:
            cases = self.cases_per_individual
            tree = tree and Group("cases of one individual", tree, cases)
            statement = replace(
                statement,
                reason=f"{statement.reason} Of each individual at most {cases} cases chosen at "
                f"random are kept, reading that individual's cases only; group privacy for {cases} "
                "cases.",
            )
        promise = promised(tree, self.target, statement)
        if cases is None:
            return promise
        return replace(promise, unit="individual", cases_per_individual=cases)

    def promise(self, log: EventLog) -> Guarantee:
        """The guarantee of a release of this log: it names what a case and an individual are."""
        return self.guarantee().naming(log.case_column, log.individual_column)

    def check_people(self, column: str | None) -> None:
        """Refuse to read a log by whose cases they are, and then to protect single cases.

        It asks for public things only, so it comes before the log is read.
        """
        if column is not None and self.cases_per_individual is None:
            raise ParameterError(
                f"the column {column!r} is named as the individual, and nothing says how many "
                "cases of each count: without a bound single cases would be protected, not people. "
                "Give cases_per_individual (--cases-per-individual), such as 3; `discreet inspect` "
                "says what a bound would keep. To protect single cases, leave the individual out"
            )

    def check(self, log: EventLog) -> None:
        """Raise LogError if the log lacks what a release needs; a ledger asks before it spends.

        A mechanism that needs more than cases and activities extends this. What is raised is for
        the holder of the log.
        """
        if self.cases_per_individual is not None:
            log.cases_of_individuals()
            log.prepare(self.cases_per_individual, self._needs, self._columns)
        else:
            log.require(self._needs, self._columns)
        if self.case_budget.epsilon < LEAST_EPSILON:
            raise ParameterError(
                f"each case would have {self.case_budget}, too little to say anything: raise "
                "epsilon, or allow fewer cases per individual"
            )
        try:
            self._prepare()
        except ParameterError:
            raise
        except (ValueError, ArithmeticError) as error:
            raise ParameterError(f"{error}; {self._remedy}") from error

    @property
    def _needs(self) -> Reads:
        """What it reads with these parameters; less than `reads` where it needs less."""
        return self.reads

    @property
    def _columns(self) -> tuple[str, ...]:
        """The further columns that it reads where it reads sums over cases."""
        return ()

    def _prepare(self) -> None:
        """Compute what follows from the parameters alone and may fail: the noise they buy."""
        for step in self.spending.walk() if self.spending else ():
            step.prepare()

    def release(self, log: EventLog, *, insecure_seed: int | None = None) -> Release[A_co]:
        """Draw a release. `insecure_seed` makes it repeatable and marks it as not private."""
        rng = Randomness.system() if insecure_seed is None else Randomness.seeded(insecure_seed)
        promise, origin = self.promise(log), log.origin
        self.check(log)
        if not rng.secure:
            promise = replace(promise, randomness="seeded")
        if self.cases_per_individual is not None:
            log = bound_individuals(log, self.cases_per_individual, rng)
        return Release(
            artefact=self._draw(log, rng),
            guarantee=promise,
            mechanism=self.name,
            parameters=self.settings,
            notes=self._notes(),
            seed=insecure_seed,
            provider=self.provider(),
            columns=released_names(log),
            classifier=log.classifier,
            origin=origin,
        )

    @classmethod
    def provider(cls) -> dict[str, str]:
        """The package that it comes from, with its version, unless that is this one."""
        home = cls.__module__.partition(".")[0]
        if home == "discreet":
            return {}
        from importlib.metadata import entry_points

        found = {
            entry.dist.name: entry.dist.version
            for entry in entry_points(group=GROUP, name=cls.name)
            if entry.dist and entry.module.partition(".")[0] == home
        }
        return found or {cls.__module__: "not installed as a package"}

    def advice(self, log: EventLog) -> list[str]:
        """Warnings for the holder of the log. They read the raw log: never part of a release."""
        found = []
        delta, unit = self.target.delta, "people"
        if self.cases_per_individual is None:
            unit = "cases"
        if delta * log.cases > 1:
            found.append(
                f"delta = {delta:g} is more than 1/cases = {1 / log.cases:.2g}: on average "
                f"{delta * log.cases:.3g} {unit} of this log may be exposed outright. "
                f"Choose delta well below {1 / log.cases:.1g}."
            )
        return [*found, *map(str, self.cautions(log))]

    def cautions(self, log: EventLog) -> list[DiscreetWarning]:
        """The warnings of `advice` about whom the promise covers and what counts as an event."""
        return cautions(log, people_protected=self.cases_per_individual is not None)

    def _notes(self) -> tuple[str, ...]:
        """Public facts about the release that follow from the parameters alone."""
        return ()

    @abstractmethod
    def _spending(self, budget: Budget) -> Step | None:
        """The steps of a release within a budget per case; None where no bound is known."""

    @abstractmethod
    def _statement(self, asked: Budget) -> Statement:
        """What the guarantee states besides the cost, when this much was asked for."""

    @abstractmethod
    def _draw(self, log: EventLog, rng: Randomness) -> A_co:
        """The artefact, with all randomness from `rng`; spends the steps."""

    def _draw_many(self, log: EventLog, runs: int, rng: Randomness) -> Iterator[A_co]:
        """Independent artefacts of one log, for audits; override where that is cheaper."""
        return (self._draw(log, rng) for _ in range(runs))


def bound_individuals(log: EventLog, cases: int, rng: Randomness) -> EventLog:
    """Keep at most `cases` cases of each individual, chosen uniformly at random.

    Where an engine holds the cases, it chooses by a secret key; it may have done so already, by a
    key of the operating system, so that what can fail has failed before anything is spent.
    """
    from discreet.log.engines.view import EngineLog

    if isinstance(log, EngineLog):
        prepared = log.prepared(cases) if rng.secure else None
        return prepared or log.bounded(cases, rng.words(4).tobytes())
    return log.take_cases(kept_cases(log, cases, rng))


def kept_cases(log: EventLog, cases: int, rng: Randomness) -> Integers:
    """The places of at most `cases` cases of each individual, chosen uniformly at random.

    The choice for one individual reads nothing of the others: a random order of all cases,
    then the first few of each individual.
    """
    individual = log.individual_of_case
    shuffled = rng.permutation(len(individual))
    by_individual = shuffled[np.argsort(individual[shuffled], kind="stable")]
    sorted_individual = individual[by_individual]
    starts = np.flatnonzero(np.diff(sorted_individual, prepend=-1))
    rank = np.arange(len(individual)) - np.repeat(
        starts, np.diff(np.append(starts, len(individual)))
    )
    kept: Integers = np.sort(by_individual[rank < cases])
    return kept


def with_leaves(mechanism: Changed, change: Callable[[Step], Step | None]) -> Changed:
    """The same mechanism with other leaves in its tree of steps: silent, given or recorded ones."""
    assert mechanism.spending is not None
    tree = mechanism.spending.mapped(change)
    mutant = copy(mechanism)
    mutant.__dict__.update(spending=tree, _spending=partial(_as_given, tree))
    return mutant


def _as_given(tree: Step, budget: Budget) -> Step:
    return tree
