"""choice: several mechanisms compete on a log, and the choice among them is paid for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from discreet.log.events import EventLog, Reads
from discreet.log.neighbours import Case, Pair, traces
from discreet.log.variants import Variants
from discreet.mechanisms.audit_cases import ONE_MORE, UNIQUE_VARIANT, AuditCase
from discreet.mechanisms.base import Mechanism, delta_parameter
from discreet.mechanisms.blocks import closest
from discreet.mechanisms.blocks.alphabet import alphabet_parameter
from discreet.parameters import ParameterError, parameter
from discreet.privacy.guarantee import Budget
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import Choosing, Delegated, Sequential, Statement, Step
from discreet.releases import Artefact

TIED_CANDIDATES = Pair(
    "tied candidates",
    "travas shows ten cases of ⟨c, d⟩, laplace ⟨c⟩ for cases that nobody else has, and one decides",
    traces("ab", 46, "cd", 10, "dc", 1, *(w for x in "efghijklmnopqrstu" for w in (f"{x}c", 1))),
    Case(("v", "c")),
)
"""At ε = 1 and δ = .01, of the activities only a to d being public."""

# Proof
MARGIN = 1 - 1e-8
"""Factor of the shares, so that candidates may round their own accounting up."""


@dataclass(frozen=True, kw_only=True)
class Choice(Mechanism[Variants]):
    """Draw one release with each of several mechanisms and choose one of them privately.

    Comparing releases with the raw log and taking the best is a query of its own: the winner
    depends on the log beyond the candidates' guarantees. Here it is paid for. Each of the n
    candidates gets an n-th of nine tenths of ε and of δ; the exponential mechanism picks one
    with the last tenth, by how close it comes to the log (`blocks/closest.py`, where the argument
    stands). All candidates and the choice compose basically to (ε, δ), and all but the chosen one
    are thrown away. Candidates must be proved (or conditional) for cases added or removed; their
    conditions become those of the choice.
    """

    name: ClassVar[str] = "choice"
    summary: ClassVar[str] = "several mechanisms compete; the best is chosen privately"
    paper: ClassVar[str] = (
        "exponential mechanism: F. McSherry, K. Talwar: Mechanism Design via Differential "
        "Privacy. FOCS 2007"
    )
    returns: ClassVar[str] = "variants"
    reads: ClassVar[Reads] = "variants"

    delta: float = delta_parameter()
    candidates: str = parameter(
        "travas,headtail", "the mechanisms that compete, by name, separated by commas"
    )
    alphabet: tuple[str, ...] | str | None = alphabet_parameter()

    def _validate(self) -> None:
        super()._validate()
        names = self.names
        if len(names) < 2 or len(set(names)) < len(names):
            raise ParameterError("candidates must name at least two different mechanisms")
        if self.name in names:
            raise ParameterError(f"{self.name} cannot be a candidate of itself")
        self.built_at(self.case_budget)

    @classmethod
    def audit_cases(cls) -> tuple[AuditCase, ...]:
        """The default candidates, and two that are quick to draw; see the base class."""
        return (
            AuditCase({}, (ONE_MORE, UNIQUE_VARIANT), usual=False),
            AuditCase(
                {"candidates": "travas,laplace", "alphabet": tuple("abcd")},
                (TIED_CANDIDATES, UNIQUE_VARIANT),
                usual=False,
            ),
        )

    @property
    def names(self) -> list[str]:
        """The names of the candidates."""
        return [name.strip() for name in self.candidates.split(",") if name.strip()]

    def built_at(self, budget: Budget) -> list[Mechanism]:
        """The candidates, each with its share of the budget."""
        from discreet.mechanisms.registry import mechanism_class, mechanism_taking

        many = len(self.names)
        share = budget.share((1 - closest.CHOICE_SHARE) * MARGIN / many, MARGIN / many)
        built = []
        for name in self.names:
            if mechanism_class(name).returns not in ("variants", "log"):
                raise ParameterError(
                    f"{name} returns a {mechanism_class(name).returns}, which has no variants to "
                    "compare; leave it out of the candidates"
                )
            candidate = mechanism_taking(
                name, {"epsilon": share.epsilon, "delta": share.delta, "alphabet": self.alphabet}
            )
            promise = candidate.guarantee()
            if promise.status not in ("proved", "conditional") or promise.holds is None:
                raise ParameterError(f"{name} is {promise.status}; a choice needs proved ones")
            if not _within(promise.holds, share):
                raise ParameterError(
                    f"{name} holds only at {promise.holds}, more than its share {share}"
                )
            if promise.neighbours != "add-remove":
                raise ParameterError(
                    f"{name} is proved for {promise.neighbours} neighbours; a choice needs "
                    "add-remove"
                )
            built.append(candidate)
        return built

    def _spending(self, budget: Budget) -> Step:
        return Sequential(
            "candidates and choice",
            (
                *(
                    Delegated(f"candidate {name}", built.guarantee())
                    for name, built in zip(self.names, self.built_at(budget), strict=True)
                ),
                closest.choosing(budget),
            ),
        )

    def _statement(self, asked: Budget) -> Statement:
        promises = [built.guarantee() for built in self.built_at(self.case_budget)]
        conditions = tuple(dict.fromkeys(c for promise in promises for c in promise.conditions))
        proved = all(promise.status == "proved" for promise in promises)
        return Statement(
            "Every candidate is drawn at a part of the budget, and the exponential mechanism "
            "chooses one by a score that a case raises by at most 2.",
            status="proved" if proved else "conditional",
            conditions=conditions,
        )

    def check(self, log: EventLog) -> None:
        """Refuse before anything is spent: what any candidate refuses, and too large a log."""
        super().check(log)
        closest.check_comparable(log)
        for candidate in self.built_at(self.case_budget):
            candidate.check(log)

    def _draw(self, log: EventLog, rng: Randomness) -> Variants:
        built = self.built_at(self.case_budget)
        releases = [_variants(candidate._draw(log, rng)) for candidate in built]
        scores = [closest.closeness(log.variants, release) for release in releases]
        return releases[closest.chosen(scores, self.step(closest.CHOICE, Choosing), rng)]


def _within(holds: Budget, share: Budget) -> bool:
    """Whether a candidate keeps to its share, but for the rounding of its own accounting."""
    slack = 1 + 1e-9
    return holds.epsilon <= share.epsilon * slack and holds.delta <= share.delta * slack


def _variants(artefact: Artefact) -> Variants:
    if isinstance(artefact, EventLog):
        return artefact.variants.trimmed()
    assert isinstance(artefact, Variants)
    return artefact
