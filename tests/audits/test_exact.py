"""Known distributions: TraVaS and plain noise come within 15% of ε, and are what is drawn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

from discreet.audits.exact import GaussianCount, LaplaceCount, exact_leak, factors
from discreet.audits.measurement import releases
from discreet.audits.subjects import AuditSubject
from discreet.audits.subjects import find_pair as pair
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.travas import TraVaS, UTraVaS
from discreet.privacy.guarantee import Budget

TIGHT = [
    LaplaceCount(epsilon=1),
    LaplaceCount(epsilon=0.25),
    GaussianCount(epsilon=1, delta=0.01),
    GaussianCount(epsilon=0.5, delta=1e-6),
    TraVaS(epsilon=1, delta=0.01),
    TraVaS(epsilon=0.1, delta=1e-4),
    TraVaS(epsilon=2, delta=1e-6),
    TraVaS(epsilon=1, delta=0.01, fidelity="published"),
    TraVaS(epsilon=0.1, delta=1e-4, fidelity="published"),
    TraVaS(epsilon=2, delta=1e-6, fidelity="published"),
    UTraVaS(epsilon=1, delta=0.01),
]
NAMES = [f"{m.name} {m.epsilon}" for m in TIGHT]


def holds(mechanism: Mechanism) -> Budget:
    budget = mechanism.guarantee().holds
    assert budget is not None
    return budget


@pytest.mark.parametrize("mechanism", TIGHT, ids=NAMES)
def test_the_promise_is_kept_exactly_and_nearly_used_up(mechanism: Mechanism) -> None:
    leaks = [
        exact_leak(mechanism, *chosen.logs, holds(mechanism))
        for chosen in AuditSubject(mechanism.name, ready=mechanism).pairs()
        if mechanism.returns == "variants" or chosen.name == "one more"
    ]
    assert not any(leak is None or leak.contradicts for leak in leaks)
    assert max(leak.epsilon for leak in leaks if leak) > 0.85 * mechanism.epsilon


def test_presence_costs_delta_and_no_more() -> None:
    for fidelity in ("strict", "published"):
        mechanism = TraVaS(epsilon=1, delta=0.01, fidelity=fidelity)
        leak = exact_leak(mechanism, *pair("unique variant").logs, Budget(1, 0.01))
        assert leak is not None
        assert 0.005 < leak.delta <= 0.01


def test_a_budget_that_is_too_small_is_contradicted() -> None:
    leak = exact_leak(TraVaS(epsilon=1, delta=0.01), *pair("one more").logs, Budget(0.9, 0.01))
    assert leak is not None
    assert leak.contradicts
    assert leak.epsilon == pytest.approx(1)


def test_several_runs_of_utravas_compose_within_the_budget() -> None:
    for runs in (2, 3):
        mechanism = UTraVaS(epsilon=1, delta=0.01, runs=runs)
        leak = exact_leak(mechanism, *pair("one more").logs, Budget(1, 0.01))
        assert leak is not None
        assert not leak.contradicts


def test_what_cannot_be_computed_is_left_to_runs() -> None:
    assert (
        exact_leak(UTraVaS(runs=3, fidelity="published"), *pair("one more").logs, Budget(1)) is None
    )
    bounded = TraVaS(delta=0.01, cases_per_individual=2)
    assert exact_leak(bounded, *pair("one more").logs, Budget(1)) is None


@pytest.mark.parametrize(
    "mechanism",
    [
        TraVaS(epsilon=1, delta=0.01),
        TraVaS(epsilon=1, delta=0.01, fidelity="published"),
        UTraVaS(epsilon=1, delta=0.1, runs=2),
    ],
    ids=["strict", "published", "two runs"],
)
def test_both_paths_draw_the_computed_distribution(mechanism: Mechanism) -> None:
    """χ² of batched draws and of real releases against the exact probabilities."""
    log = pair("second case").logs[1]
    parts = factors(mechanism, log)
    assert parts is not None
    expected = parts["a", "b"]
    draws: tuple[Sequence[Any], ...] = (
        [run.artefact for run in releases(mechanism, log, 8_000)],
        [mechanism.release(log).artefact for _ in range(500)],
    )
    for drawn in draws:
        counts = Counter(artefact.to_dict().get(("a", "b")) for artefact in drawn)
        assert set(counts) <= set(expected)
        kept, rest = list(expected), Fraction(0)
        for outcome in sorted(expected, key=expected.__getitem__):  # none expects a handful
            if rest * len(drawn) >= 20:
                break
            kept.remove(outcome)
            rest += expected[outcome]
        assert len(kept) > 3
        observed = [*(counts[x] for x in kept), len(drawn) - sum(counts[x] for x in kept)]
        wanted = np.array([*(float(expected[x]) for x in kept), float(rest)]) * len(drawn)
        statistic = sum((o - w) ** 2 / w for o, w in zip(observed, wanted, strict=True))
        assert chi2.sf(statistic, len(kept)) > 1e-9
