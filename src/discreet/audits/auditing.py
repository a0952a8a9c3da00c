"""Run a mechanism on neighbouring logs and hold what it leaks against what it promises."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.audits.bounds import epsilon_from_runs
from discreet.audits.distinguisher import Distinguisher, train
from discreet.audits.events import Event, choose_event
from discreet.audits.exact import exact_leak
from discreet.audits.features import Features, learn_features, shown_name
from discreet.audits.neighbours import Pair, pairs_for
from discreet.audits.result import CONFIDENCE, Audit, Evidence, PairAudit
from discreet.audits.sampling import FULL, QUICK, Effort, affordable, releases, sample
from discreet.audits.yardsticks import YARDSTICKS
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.parameters import ParameterError
from discreet.mechanisms.registry import mechanism_class
from discreet.privacy.guarantee import Budget

Floats = npt.NDArray[np.float64]
FALSE_ALARM = 1e-9
"""The chance that one pair is called a violation though the promise holds."""
CONFIRMATIONS = (2, 8)
"""Fresh runs of a suspicion, as multiples of the runs that raised it."""
EPSILON, DELTA = 1.0, 0.01
"""What is audited unless told: a δ that thousands of runs can see."""


def audit(
    mechanism: str | Mechanism,
    *,
    pairs: Iterable[Pair] | None = None,
    quick: bool = False,
    effort: Effort | None = None,
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
    effort = effort or (QUICK if quick else FULL)
    given = mechanism if isinstance(mechanism, Mechanism) else None
    name = given.name if given is not None else str(mechanism)
    if given is not None and parameters:
        raise ParameterError("give parameters with the mechanism's name, or a mechanism without")

    def built(pair: Pair | None) -> Mechanism:
        return given if given is not None else build(name, parameters, pair)

    chosen = list(pairs) if pairs is not None else None
    if chosen is None:
        # Which pairs fit depends on the neighbour relation, which the certificate states.
        chosen = pairs_for(name, built(next(iter(pairs_for(name, "add-remove")))).guarantee().neighbours)
    if not chosen:
        raise ParameterError(f"there is no pair of logs to audit {name} on")
    alpha = (1 - CONFIDENCE) / len(chosen)
    results = [audit_pair(built(pair), pair, effort, alpha) for pair in chosen]
    first = built(chosen[0])
    return Audit(name, first.settings, first.guarantee(), tuple(results))


def build(name: str, parameters: dict[str, Any], pair: Pair | None = None) -> Mechanism:
    """A mechanism for an audit on a pair of logs.

    Parameters that are not given: ε = 1 and δ = .01, the pair's own, and as public alphabet the
    activities of both logs.
    """
    owner = YARDSTICKS.get(name) or mechanism_class(name)
    known = owner.parameters()
    for key in parameters:
        if key not in known:
            raise ParameterError(f"{name} has no parameter {key!r}; it takes {', '.join(known)}")
    usual: dict[str, Any] = {"epsilon": EPSILON, "delta": DELTA}
    if pair is not None:
        usual |= {"alphabet": pair.alphabet, **pair.public}
    return owner(**{key: value for key, value in usual.items() if key in known} | parameters)


def audit_pair(mechanism: Mechanism, pair: Pair, effort: Effort, alpha: float) -> PairAudit:
    """Measure one pair; each piece of evidence errs with probability at most alpha."""
    begin = perf_counter()
    promise = mechanism.guarantee()
    trials = [a for log in pair.logs for a in releases(mechanism, log, 20)]
    bench = _Bench(mechanism, pair, learn_features(pair, trials), effort)
    holds, claimed = promise.holds, promise.claimed
    against_promise = bench.evidence(holds, alpha) if holds else None
    against_claim = bench.evidence(claimed, alpha) if claimed and claimed != holds else None
    return PairAudit(
        pair=pair.name,
        logs=pair.describe(),
        runs=bench.runs,
        seconds=perf_counter() - begin,
        promise=against_promise,
        claim=against_claim,
    )


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
