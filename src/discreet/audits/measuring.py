"""One mechanism on one pair of logs: choose an event, measure it, confirm what it breaks."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time

import numpy as np

from discreet.arrays import Floats
from discreet.audits.bounds import epsilon_from_runs
from discreet.audits.canaries import audit_canaries
from discreet.audits.distinguisher import train
from discreet.audits.events import Event, choose_event
from discreet.audits.exact import exact_leak
from discreet.audits.features import Features, learn_features, shown_name
from discreet.audits.neighbours import Pair
from discreet.audits.result import FALSE_ALARM, Evidence, PairAudit
from discreet.audits.sampling import Effort, affordable, releases, sample
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.blocks.alphabet import FROM_LOG
from discreet.privacy.guarantee import Budget

TRIALS = 20
CONFIRMATIONS = (2, 8)
"""Fresh runs of a suspicion, as multiples of the runs that raised it."""


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


def _many(
    mechanism: Mechanism, pair: Pair, effort: Effort, alpha: float
) -> tuple[Callable[[Budget], Evidence], int]:
    """Evidence from many runs on either log."""
    trials = [artefact for log in pair.logs for artefact in releases(mechanism, log, TRIALS)]
    if all(artefact is None for artefact in trials):
        mechanism.release(pair.logs[1])  # says why it refuses
    bench = _Bench(mechanism, pair, learn_features(pair, trials), effort)
    return lambda against: bench.evidence(against, alpha), bench.runs


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

    def __init__(
        self, mechanism: Mechanism, pair: Pair, features: Features, effort: Effort
    ) -> None:
        self.mechanism, self.pair, self.features = mechanism, pair, features
        self.runs = affordable(mechanism, pair.logs, features, effort)
        left, right = (sample(mechanism, log, self.runs, features) for log in pair.logs)
        quarter, half = self.runs // 4, self.runs // 2
        self.distinguisher = train(left[:quarter], right[:quarter])
        self.names = [*features.names, "score of the trained distinguisher"]
        self.left, self.right = self._scored(left), self._scored(right)
        self.quarter, self.half = quarter, half

    def _scored(self, features: Floats) -> Floats:
        return np.column_stack([features, self.distinguisher.score(features)])

    def evidence(self, against: Budget, alpha: float) -> Evidence:
        """The most telling event against a budget, and whether it breaks it."""
        exact = exact_leak(self.mechanism, *self.pair.logs, against)
        candidates = [(self._chosen(against.delta), self.half)]
        presence = self._presence()
        if presence is not None:
            candidates.append((presence, 0))
        measured = []
        for event, begin in candidates:
            hits, other = self._hits(event, self.left[begin:], self.right[begin:])
            runs = self.runs - begin
            bound = epsilon_from_runs(hits, other, runs, against.delta, alpha / len(candidates))
            measured.append((bound, event, (hits / runs, other / runs)))
        bound, event, shares = max(measured, key=lambda found: found[0])
        words = event.describe(self.names)
        broken = bool(exact and exact.contradicts)
        if not broken and bound > against.epsilon:
            broken = self._confirmed(event, against)
        return Evidence(against, bound, words, shares, exact, broken)

    def _chosen(self, delta: float) -> Event:
        """The best event by the first half: a feature's, or the distinguisher's.

        The distinguisher was trained on the first quarter, so its threshold is chosen on the
        second.
        """
        last = len(self.names) - 1
        plain = choose_event(self.left[: self.half], self.right[: self.half], delta, range(last))
        trained = choose_event(
            self.left[self.quarter : self.half],
            self.right[self.quarter : self.half],
            delta,
            range(last, last + 1),
        )
        return max(plain, trained, key=lambda found: found[0])[1]

    def _presence(self) -> Event | None:
        """A case's variant that nobody else has is shown: fixed beforehand, no choosing needed."""
        trace = self.pair.appears
        if trace is None or shown_name(trace) not in self.names:
            return None
        return Event(self.names.index(shown_name(trace)), "≥", 1.0, 1)

    def _confirmed(self, event: Event, against: Budget) -> bool:
        """Measure the same event on fresh runs, at a confidence that permits blocking."""
        alpha = FALSE_ALARM / len(CONFIRMATIONS)
        for factor in CONFIRMATIONS:
            runs = factor * self.runs
            left, right = (
                self._scored(sample(self.mechanism, log, runs, self.features))
                for log in self.pair.logs
            )
            hits, other = self._hits(event, left, right)
            if epsilon_from_runs(hits, other, runs, against.delta, alpha) > against.epsilon:
                return True
        return False

    @staticmethod
    def _hits(event: Event, left: Floats, right: Floats) -> tuple[int, int]:
        counts = event.hits(left), event.hits(right)
        return (counts[1], counts[0]) if event.likelier else counts
