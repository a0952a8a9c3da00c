"""One mechanism on one pair of logs: release, choose events, count them, confirm what they break.

First many independent releases of a small log, with what their steps answered; then the evidence
that two such samples give. The events are chosen on some runs and counted on others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from time import process_time
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from discreet.arrays import Floats
from discreet.audits.bounds import epsilon_from_runs, p_value
from discreet.audits.canaries import audit_canaries
from discreet.audits.distinguisher import Event, choose_event, train
from discreet.audits.exact import exact_leak
from discreet.audits.features import learn_answers, learn_features, shown_name
from discreet.audits.result import CONFIDENCE, FALSE_ALARM, Evidence, PairAudit
from discreet.log.neighbours import Pair
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.blocks.alphabet import FROM_LOG
from discreet.privacy.guarantee import Budget
from discreet.privacy.randomness import Randomness, known_coins
from discreet.privacy.transcript import Transcript, transcript
from discreet.releases import Artefact

if TYPE_CHECKING:
    from discreet.log.events import EventLog

# Tuned, on memory and on time per pair
CHUNK = 5_000
"""Releases measured together."""


@dataclass(frozen=True)
class Effort:
    """Limits of an audit per pair of logs."""

    runs: int
    """Most releases of each log."""
    seconds: float
    """Processor time for them, approximately."""
    fewest: int = 200
    """Fewest releases of each log."""
    trials: int = 20
    """Further releases of each log to learn features from; they count for nothing else."""


QUICK = Effort(runs=20_000, seconds=0.5, fewest=60)
FULL = Effort(runs=100_000, seconds=0.5, fewest=40, trials=8)


class AuditRun(NamedTuple):
    """One release: its artefact, None if it was refused, and what its steps answered."""

    artefact: Artefact | None
    answers: Transcript


Measure = Callable[[Sequence[AuditRun]], Floats]


def batched(mechanism: Mechanism) -> bool:
    """Whether the cheaper path draws what a release draws, and shows as much.

    It does not where a subclass replaced `_draw` alone, where individuals are bounded first, nor
    where several steps answer, of which the artefact may hide some.
    """
    owners = type(mechanism).__mro__
    one = next(i for i, owner in enumerate(owners) if "_draw" in vars(owner))
    many = next(i for i, owner in enumerate(owners) if "_draw_many" in vars(owner))
    single = mechanism.spending is None or sum(not s.steps for s in mechanism.spending.walk()) == 1
    return many <= one and mechanism.cases_per_individual is None and single


def releases(
    mechanism: Mechanism, log: EventLog, runs: int, until: str | None = None
) -> list[AuditRun]:
    """Independent releases with the operating system's randomness, or their beginnings.

    A release that ends with the first answer of a step is a part of the whole one: what the
    promise says of that it says of the part.
    """
    if batched(mechanism):
        try:
            drawn = mechanism._draw_many(log, runs, Randomness.system())
            return [AuditRun(artefact, {}) for artefact in drawn]
        except ValueError:
            pass
    return [_release(mechanism, log, until) for _ in range(runs)]


def _release(mechanism: Mechanism, log: EventLog, until: str | None) -> AuditRun:
    artefact: Artefact | None = None
    with transcript(until) as answers, known_coins(), suppress(ValueError):
        mechanism.check(log)
        artefact = mechanism._draw(log, Randomness.system())
    return AuditRun(artefact, answers)


def sample(
    mechanism: Mechanism, log: EventLog, runs: int, measure: Measure, until: str | None = None
) -> Floats:
    """The features of independent releases, one row each."""
    measured = []
    left = runs
    while left:
        size = min(left, CHUNK)
        measured.append(measure(releases(mechanism, log, size, until)))
        left -= size
    return np.vstack(measured)


def affordable(
    mechanism: Mechanism, logs: tuple[EventLog, EventLog], measure: Measure, effort: Effort
) -> int:
    """How many releases of each log the effort allows, from trials that are thrown away.

    Decided before the runs that count, so that nothing they show can stop them early.
    """
    if effort.runs <= effort.fewest:
        return effort.runs // 4 * 4
    for log in logs:
        sample(mechanism, log, 2, measure)  # tables of noise are made once and do not count
    trials = 4
    while True:
        begin = process_time()
        for log in logs:
            sample(mechanism, log, trials, measure)
        took = process_time() - begin
        if took > 0.1 * effort.seconds or trials >= min(effort.runs, 1000):
            break
        trials *= 4
    runs = min(effort.runs, int(trials * effort.seconds / max(took, 1e-9)))
    return min(effort.runs, max(effort.fewest, runs)) // 4 * 4


# Proof: fixed beforehand, so that the error can be divided among them
CONFIRMATIONS = (1, 8)
"""Fresh runs that test a suspicion, as multiples of the runs that raised it."""

RELEASED = "the release itself"
"""Source of an event that is not read off a step's answers."""


def audit_pair(mechanism: Mechanism, pair: Pair, effort: Effort, alpha: float) -> PairAudit:
    """Measure one pair; each piece of evidence errs with probability at most alpha."""
    begin = process_time()
    promise = mechanism.guarantee()
    holds, claimed = promise.holds, promise.claimed
    if not _conditions_met(mechanism, pair):
        holds = None
    if holds is None and claimed is None:
        claimed = mechanism.target
    if pair.canaries:
        evidence, runs = _one_run(mechanism, pair)
    else:
        evidence, runs = _many(mechanism, pair, effort, alpha)
    return PairAudit(
        pair=pair.name,
        logs=pair.describe(),
        runs=runs,
        promise=evidence(holds) if holds else None,
        claim=evidence(claimed) if claimed and claimed != holds else None,
        seconds=process_time() - begin,
    )


class Turn(NamedTuple):
    """Limits of one attempt to catch a mutant."""

    learnt: int
    """Runs of either log to learn features from."""
    trials: int
    """Further runs of either log to choose an event."""
    counted: float
    """Runs of either log to count it, as a multiple of what a certain event takes."""
    first: bool
    """Whether a run ends with the first answer of the step."""

    def runs(self, epsilon: float) -> int:
        """Runs of either log to count the event, against an ε."""
        return math.ceil(self.counted * certain_runs(epsilon))


# Tuned, on the mutants of all mechanisms; the error is divided among the turns
TURNS = (Turn(3, 12, 1.0, True), Turn(60, 60, 4.0, False), Turn(240, 240, 16.0, False))
"""Without its noise an answer is mostly certain, and few runs show it. Where it depends on what
else is random, such as the first weights of a network, the best event takes more to be found."""


def audit_mutant(
    mechanism: Mechanism, step: str, pair: Pair, against: Budget, turn: Turn
) -> Evidence | None:
    """Hold a step that should draw no noise against a budget; None where it does not answer.

    One event of its answers (of the release, where these are not noted) is chosen on some runs of
    either log and counted on fresh ones. It breaks the budget at the confidence that permits
    blocking, whichever of the turns shows it. In all turns but the last an event that does not
    seem enough is not counted.
    """
    first, second = pair.logs
    until = step if turn.first else None
    trials = (
        releases(mechanism, first, turn.learnt, until),
        releases(mechanism, second, turn.learnt, until),
    )
    noted = any(step in run.answers for side in trials for run in side)
    if not noted and not batched(mechanism):
        return None
    looking = _looking(pair, trials, only=step if noted else None)
    left, right = (sample(mechanism, log, turn.trials, looking.measure, until) for log in pair.logs)
    event = choose_event(left, right, against.delta)[1]
    shares = _shares(event, left, right)
    words = event.describe(looking.names)
    runs = turn.runs(against.epsilon)
    if turn != TURNS[-1] and not breaks(shares, runs, against):
        return Evidence(against, 0.0, words, shares, None, False)
    left, right = (sample(mechanism, log, runs, looking.measure, until) for log in pair.logs)
    hits, other = _hits(event, left, right)
    shares = hits / runs, other / runs
    bound = epsilon_from_runs(hits, other, runs, against.delta, 1 - CONFIDENCE)
    return Evidence(against, bound, words, shares, None, breaks(shares, runs, against))


def certain_runs(epsilon: float) -> int:
    """Runs of either log that refute an ε by an event that is certain on one log only.

    The chance of n hits and none other is at most (p·(1 − p′))ⁿ with p ≤ e^ε·p′, which is largest
    where p = 1, or p′ = 1/2 if that is smaller. Three tenths more leave room for chance.
    """
    other = min(0.5, math.exp(-epsilon))
    alpha = FALSE_ALARM / len(TURNS)
    product = alpha / (1 - 1.2 * math.log(alpha))  # so that product·(1 − ln product) < alpha
    enough = math.log(product) / math.log(math.exp(epsilon) * other * (1 - other))
    return math.ceil(1.3 * enough)


def breaks(shares: tuple[float, float], runs: int, against: Budget) -> bool:
    """Whether an event seen in these shares of the runs breaks a budget, in one of the turns."""
    hits, other = (round(share * runs) for share in shares)
    alpha = FALSE_ALARM / len(TURNS)
    return p_value(hits, other, runs, against.epsilon, against.delta) < alpha


def fixed_before(mechanism: Mechanism, step: str, pair: Pair) -> bool:
    """Whether all answers before a step are the same in every run on both logs."""
    runs = [run for log in pair.logs for run in releases(mechanism, log, 3, step)]
    before = [
        [(name, [answer.tolist() for answer in run.answers[name]]) for name in _until(run, step)]
        for run in runs
    ]
    return all(one == before[0] for one in before)


def _until(run: AuditRun, step: str) -> list[str]:
    """The steps that answered before one, which answers once."""
    names = list(run.answers)
    return names[: names.index(step)] if step in names else names


def _many(
    mechanism: Mechanism, pair: Pair, effort: Effort, alpha: float
) -> tuple[Callable[[Budget], Evidence], int]:
    """Evidence from many runs on either log."""
    first, second = pair.logs
    trials = (
        releases(mechanism, first, effort.trials),
        releases(mechanism, second, effort.trials),
    )
    if all(run.artefact is None for side in trials for run in side):
        mechanism.release(pair.logs[1])  # says why it refuses
    bench = _Bench(mechanism, pair, _looking(pair, trials), effort)
    return lambda against: bench.evidence(against, alpha), bench.runs


@dataclass(frozen=True)
class _Looking:
    """Features of a run, grouped by where they are read off."""

    names: list[str]
    groups: dict[str, range]
    measure: Measure


def _looking(
    pair: Pair, trials: tuple[list[AuditRun], list[AuditRun]], only: str | None = None
) -> _Looking:
    """Learn features of the release and of each step's answers from trials."""
    left, right = trials
    names: list[str] = []
    groups: dict[str, range] = {}
    measures: list[Measure] = []
    if only is None:
        released = learn_features(pair, [run.artefact for run in (*left, *right)])
        names += released.names
        groups[RELEASED] = range(len(names))
        measures.append(lambda runs: released.measure([run.artefact for run in runs]))
    steps, read = learn_answers([run.answers for run in left], [run.answers for run in right], only)
    for step in steps:
        groups[step.step] = range(len(names), len(names) + len(step.names))
        names += step.names
    measures.append(lambda runs: read([run.answers for run in runs]))

    def measure(runs: Sequence[AuditRun]) -> Floats:
        return np.hstack([one(runs) for one in measures])

    return _Looking(names, groups, measure)


def _one_run(mechanism: Mechanism, pair: Pair) -> tuple[Callable[[Budget], Evidence], int]:
    """Evidence from the canaries of one run."""

    def evidence(against: Budget) -> Evidence:
        found = audit_canaries(mechanism, pair.logs[0], pair.canaries, against=against)
        share = found.correct / found.guesses
        words = f"{found.correct} of {found.guesses} canaries guessed rightly"
        return Evidence(against, found.epsilon, words, (share, 0.5), None, found.contradicts)

    return evidence, 1


def _conditions_met(mechanism: Mechanism, pair: Pair) -> bool:
    """Whether both logs agree in what the guarantee takes as public from the log."""
    first, second = pair.logs
    if getattr(mechanism, "columns_from_log", False):
        return first.variants.to_dict().keys() == second.variants.to_dict().keys()
    taken = getattr(mechanism, "alphabet", None) == FROM_LOG
    return not taken or first.activities == second.activities


class _Bench:
    """The runs of one mechanism on one pair: a half to choose events, a half to measure them."""

    def __init__(self, mechanism: Mechanism, pair: Pair, looking: _Looking, effort: Effort) -> None:
        self.mechanism, self.pair, self.looking = mechanism, pair, looking
        self.runs = affordable(mechanism, pair.logs, looking.measure, effort)
        left, right = (sample(mechanism, log, self.runs, looking.measure) for log in pair.logs)
        quarter, half = self.runs // 4, self.runs // 2
        self.distinguisher = train(left[:quarter], right[:quarter])
        self.names = [*looking.names, "score of the trained distinguisher"]
        self.left, self.right = self._scored(left), self._scored(right)
        self.quarter, self.half = quarter, half

    def _scored(self, features: Floats) -> Floats:
        return np.column_stack([features, self.distinguisher.score(features)])

    def evidence(self, against: Budget, alpha: float) -> Evidence:
        """The most telling event against a budget, whether it breaks it, and each step's own."""
        exact = exact_leak(self.mechanism, *self.pair.logs, against)
        candidates = self._candidates(against.delta)
        measured = []
        by_step: dict[str, float] = {}
        for group, event, begin in candidates:
            hits, other = _hits(event, self.left[begin:], self.right[begin:])
            runs = self.runs - begin
            bound = epsilon_from_runs(hits, other, runs, against.delta, alpha / len(candidates))
            measured.append((bound, event, (hits / runs, other / runs)))
            by_step[group] = max(bound, by_step.get(group, 0.0))
        bound, event, shares = max(measured, key=lambda found: found[0])
        words = event.describe(self.names)
        broken = bool(exact and exact.contradicts)
        if not broken and bound > against.epsilon:
            broken = self._confirmed(event, against)
        return Evidence(against, bound, words, shares, exact, broken, by_step)

    def _candidates(self, delta: float) -> list[tuple[str, Event, int]]:
        """Events with where they are read off and from which run on they may be measured.

        One for each step and one for the release, chosen on the first half; one of the
        distinguisher, trained on the first quarter, its threshold chosen on the second; and that
        a variant is shown which nobody else has, which was not chosen at all.
        """
        half, last = self.half, len(self.names) - 1
        left, right = self.left[:half], self.right[:half]
        found = [
            (group, choose_event(left, right, delta, columns)[1], half)
            for group, columns in self.looking.groups.items()
        ]
        trained = choose_event(
            left[self.quarter :], right[self.quarter :], delta, range(last, last + 1)
        )
        found.append((RELEASED, trained[1], half))
        trace = self.pair.appears
        if trace is not None and shown_name(trace) in self.names:
            found.append((RELEASED, Event(self.names.index(shown_name(trace)), "≥", 1.0, 1), 0))
        return found

    def _confirmed(self, event: Event, against: Budget) -> bool:
        """Measure the same event on fresh runs, at a confidence that permits blocking."""
        alpha = FALSE_ALARM / len(CONFIRMATIONS)
        for factor in CONFIRMATIONS:
            runs = factor * self.runs
            left, right = (
                self._scored(sample(self.mechanism, log, runs, self.looking.measure))
                for log in self.pair.logs
            )
            hits, other = _hits(event, left, right)
            if p_value(hits, other, runs, against.epsilon, against.delta) < alpha:
                return True
        return False


def _shares(event: Event, left: Floats, right: Floats) -> tuple[float, float]:
    """Shares of the runs that showed an event, on the log that makes it likelier first."""
    hits, other = _hits(event, left, right)
    return hits / len(left), other / len(right)


def _hits(event: Event, left: Floats, right: Floats) -> tuple[int, int]:
    """Counts of an event, that of the log that makes it likelier first."""
    counts = event.hits(left), event.hits(right)
    return (counts[1], counts[0]) if event.likelier else counts
