"""The optimum of transport problems, whatever the solver underneath says."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from discreet.log.variants import Variants
from discreet.models import transport
from discreet.models.similarity import cases_in_place
from discreet.models.transport import proposed, proved, solve
from tests.models.small_logs import cheapest

Problem = tuple[np.ndarray, np.ndarray, np.ndarray]


def problem(seed: int, most: int = 6) -> Problem:
    random = np.random.default_rng(seed)
    n, m = random.integers(1, most, 2)
    source = random.integers(1, 9, n)
    target = np.bincount(random.integers(0, m, source.sum()), minlength=m)
    target = target[target > 0]
    return source, target, random.integers(0, 12, (n, len(target)))


def shifted(plan: np.ndarray, log: dict[str, Any]) -> tuple[np.ndarray, dict[str, Any]]:
    """Prices a little off, as a tolerance of floats would let pass."""
    log["u"] = log["u"] + np.linspace(-2, 2, len(log["u"]))
    return plan, log


def greedy(plan: np.ndarray, log: dict[str, Any]) -> tuple[np.ndarray, dict[str, Any]]:
    return plan[::-1, ::-1].copy(), log


def nothing(plan: np.ndarray, log: dict[str, Any]) -> tuple[np.ndarray, dict[str, Any]]:
    return np.full_like(plan, np.nan), {"u": np.full(len(plan), np.inf), "warning": "stopped"}


def doubled(plan: np.ndarray, log: dict[str, Any]) -> tuple[np.ndarray, dict[str, Any]]:
    warnings.warn("numItermax reached before optimality", stacklevel=1)
    return 2 * plan, log


LIES = [shifted, greedy, nothing, doubled]
Lie = Callable[[np.ndarray, dict[str, Any]], tuple[np.ndarray, dict[str, Any]]]


def lying(monkeypatch: pytest.MonkeyPatch, lie: Lie) -> list[Lie]:
    """A solver that lies, and the lies that it has told so far."""
    honest = transport.solver()
    told: list[Lie] = []

    def liar(*given: Any, **options: Any) -> tuple[np.ndarray, dict[str, Any]]:
        told.append(lie)
        return lie(*honest(*given, **options))

    monkeypatch.setattr(transport, "solver", lambda: liar)
    return told


@pytest.mark.parametrize("seed", range(30))
def test_agrees_with_a_linear_program(seed: int) -> None:
    source, target, cost = problem(seed)
    expected = cheapest(list(source), list(target), cost.tolist())
    assert solve(source, target, cost) == round(expected)
    assert expected == pytest.approx(round(expected), abs=1e-6)


@pytest.mark.parametrize("lie", LIES)
def test_a_solver_that_is_wrong_changes_nothing(monkeypatch: pytest.MonkeyPatch, lie: Lie) -> None:
    problems = [problem(seed, 12) for seed in range(40)]
    honest = [solve(*each) for each in problems]
    told = lying(monkeypatch, lie)
    assert [solve(*each) for each in problems] == honest
    assert len(told) == len(problems)


def log_of_ten_million() -> Variants:
    return Variants.from_counts({tuple(f"{i:06b}"): 300_000 + 7 * i for i in range(40)})


@pytest.mark.parametrize("lie", LIES)
def test_ten_million_cases_and_one_more(monkeypatch: pytest.MonkeyPatch, lie: Lie) -> None:
    """A relative tolerance of 1e-7 would be a whole case here; there is none."""
    log = log_of_ten_million()
    added = tuple("0101")
    larger = Variants.from_counts([*log, (added, 1)])
    released = Variants.from_counts({tuple(f"{i:06b}"): 3 * i for i in range(10, 50)})
    before, after = cases_in_place(log, released), cases_in_place(larger, released)
    assert 0 <= after - before <= 2
    told = lying(monkeypatch, lie)
    assert (cases_in_place(log, released), cases_in_place(larger, released)) == (before, after)
    assert told


@pytest.mark.parametrize("most", [10**8, 10**12])
def test_the_solver_does_not_give_up_on_large_masses(most: int) -> None:
    """It would say "infeasible", and paths would have to be found one by one."""
    random = np.random.default_rng(2)
    source = random.integers(1, most, 200)
    shares = random.dirichlet(np.full(50, 0.1))
    target = 1 + random.multinomial(int(source.sum()) - 50, shares)
    cost = random.integers(0, 1 << 30, (200, 50))
    assert proved(source, target, cost, proposed(source, target, cost)) is not None


def test_the_solver_alone_leaves_the_package_as_it_is() -> None:
    program = (
        "import sys; from discreet.models.transport import solver; found = solver(); "
        "assert 'ot' not in sys.modules and 'scipy.stats' not in sys.modules; "
        "sys.modules.update(sklearn=None, networkx=None); "  # they take long
        "import ot; assert ot.emd is found and ot.sinkhorn and ot.utils and ot.lp.emd2"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
