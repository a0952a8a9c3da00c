"""What one case changes of all that a release reads, for random logs whose variants many share.

Every noisy step of every mechanism, with the noise that it really draws, held to what it is paid.
"""

from __future__ import annotations

import os
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, ClassVar

import numpy as np
import pytest

from discreet.audits.subjects import AuditSubject, subjects_of
from discreet.log.events import EventLog
from discreet.log.instants import DAY
from discreet.log.neighbours import Case, Pair, make_log
from discreet.log.variants import Variants
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.registry import mechanism_names
from discreet.mechanisms.travas import TraVaS
from discreet.privacy.guarantee import Budget
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import Laplace, Selecting, Step
from discreet.privacy.transcript import transcript
from discreet.testing import ConformanceError
from discreet.testing.recording import compare, content, recordable
from tests.audits import bugs

COLUMNS = ("case:channel", "case:amount", "org:group", "start_timestamp")
OVER = Pair.told("alphabet", "all activities of these logs", "1 abcd + abcd")
SYSTEM = Randomness.system()
BEGIN = datetime(2021, 3, 1, tzinfo=UTC)


@dataclass(frozen=True, eq=False)
class Shared:
    """A random log: a long variant that twenty cases have, and some others."""

    cases: tuple[Case, ...]
    variants: tuple[tuple[str, ...], ...]
    seed: int

    @classmethod
    @cache
    def of(cls, seed: int, times: int = 1) -> Shared:
        """The log of a seed, with so many times as many cases."""
        rng = np.random.default_rng(seed)
        sizes = (int(rng.integers(16, 30)), *rng.integers(1, 9, 4).tolist())
        drawn = [tuple(rng.choice(list("abcd"), size).tolist()) for size in sizes]
        many = (20, *rng.choice([1, 2, 9, 40], 4).tolist())
        cases = [
            case_of(trace, rng)
            for trace, n in zip(drawn, many, strict=True)
            for _ in range(times * n)
        ]
        return cls(tuple(cases), tuple(drawn), seed)

    @cache  # noqa: B019 (few logs, which all mechanisms share)
    def log(self, *further: tuple[str, ...], without: int = 0) -> EventLog:
        """The log without the last few cases, and with these besides."""
        rng = np.random.default_rng([self.seed, 1])
        more = [case_of(trace, rng) for trace in further]
        return make_log([*self.cases[: len(self.cases) - without], *more], COLUMNS)


def case_of(trace: tuple[str, ...], rng: np.random.Generator) -> Case:
    """A case with random times and values."""
    start = int(rng.integers(0, 3000)) * DAY + int(rng.integers(0, DAY))
    step = int(rng.choice([0, DAY // 100, DAY, 7000 * DAY]))
    values: dict[str, str | float | datetime] = {
        "case:channel": str(rng.choice(["letter", "mail"])),
        "case:amount": float(rng.choice([40.0, 900.0, 17.25])),
        "org:group": str(rng.choice(["desk", "field"])),
        "start_timestamp": BEGIN + timedelta(days=int(rng.integers(0, 900))),
    }
    return Case(trace, start, step, values)


def every() -> list[Any]:
    """Each mechanism with each of the parameters that it is audited with."""
    subjects = [one for name in mechanism_names() for one in subjects_of(name)]
    fitting = [one for one in subjects if recordable(one.build(OVER)) or at_once(one)]
    return [pytest.param(one, id=f"{one.mechanism}-{i}") for i, one in enumerate(fitting)]


def at_once(subject: AuditSubject) -> bool:
    """Whether a sampler accepts whatever its first round finds."""
    return subject.parameters.get("method") == "sampler" and "min_fitness" in subject.parameters


def neighbours(
    mechanism: Mechanism, shared: Shared, further: tuple[str, ...]
) -> tuple[EventLog, EventLog]:
    """Two logs that differ by this case, or in which it replaces another."""
    swapped = mechanism.guarantee().neighbours == "swap"
    return shared.log(), shared.log(further, without=int(swapped))


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Public warm-ups of models may be short."""
    pytest.importorskip("torch", reason="needs the extra generative")
    from discreet.mechanisms.trained.travag import games as strict

    monkeypatch.setattr(strict, "COMPRESSING_STEPS", 1)
    monkeypatch.setattr(strict, "STARTING_STEPS", 1)


@pytest.mark.parametrize(("seed", "times"), [(1, 1), (2, 1), (5, 30)])
@pytest.mark.parametrize("subject", every())
def test_a_case_of_a_variant_that_many_have_costs_what_is_paid(
    subject: AuditSubject, seed: int, times: int
) -> None:
    """Also among thousands of cases, where noise might be less."""
    shared, mechanism = Shared.of(seed, times), subject.build(OVER)
    costs = compare(mechanism, *neighbours(mechanism, shared, shared.variants[0]))
    assert costs
    assert max(costs.values()) > 0, "nothing of the case was read"


@pytest.mark.parametrize("subject", every())
def test_a_case_that_is_like_no_other_costs_what_is_paid(subject: AuditSubject) -> None:
    mechanism = subject.build(OVER)
    if any(isinstance(step, Selecting) for step in held_steps(mechanism)):
        pytest.skip("a new variant is a further key, which may be shown with a chance of δ")
    shared = Shared.of(3)
    for further in ("abcd" * 40, "d", "cb" * 9):
        assert compare(mechanism, *neighbours(mechanism, shared, tuple(further)))


@pytest.mark.parametrize("subject", every())
def test_cases_of_one_individual_cost_what_is_paid_for_them(subject: AuditSubject) -> None:
    mechanism = subject.build(OVER)
    if mechanism.guarantee().neighbours == "swap":
        pytest.skip("as many cases of the other log would have to go")
    shared = Shared.of(4)
    many = [shared.variants[0], shared.variants[0], shared.variants[1]]
    assert compare(mechanism, shared.log(), shared.log(*many), cases=3)


def held_steps(mechanism: Mechanism) -> list[Any]:
    """All steps, also those of the mechanism that releases the variants."""
    inner = getattr(mechanism, "inner", None)
    found = list(mechanism.spending.walk()) if mechanism.spending else []
    if mechanism.name == "choice":
        found += [s for one in mechanism.built_at(mechanism.case_budget) for s in held_steps(one)]  # type: ignore[attr-defined]
    return found + (held_steps(inner) if inner is not None else [])


@pytest.mark.parametrize("bug", bugs.SHARED_BUGS)
def test_what_only_a_case_like_many_others_shows_is_told(
    bug: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, parameters, owner, method, wrong = bugs.SHARED_BUGS[bug]
    mechanism = bugs.led_there(name, parameters).build(OVER)
    shared = Shared.of(1)
    logs = shared.log(), shared.log(shared.variants[0])
    assert compare(mechanism, *logs)
    monkeypatch.setattr(owner, method, wrong)
    with pytest.raises(ConformanceError, match=r"a case changes|released differently"):
        compare(mechanism, *logs)


class Stream:
    """Bytes in place of those of the operating system."""

    def __init__(self, seed: int) -> None:
        self.left = np.random.default_rng(seed)

    def __call__(self, size: int) -> bytes:
        return self.left.bytes(size)


@pytest.mark.parametrize("name", mechanism_names())
def test_all_randomness_comes_from_the_operating_system(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same bytes give the same release, others give another; the log gives no seed."""
    quick = next(one for one in subjects_of(name) if recordable(one.build(OVER)))
    mechanism, log = quick.build(OVER), Shared.of(1).log()
    mechanism.release(log)  # libraries that are loaded take random bytes too
    seen = []
    monkeypatch.setattr(Randomness, "system", lambda: SYSTEM)
    for seed in (1, 1, 2):
        monkeypatch.setattr(os, "urandom", Stream(seed))
        with transcript() as answers:
            released = mechanism.release(log).artefact
        seen.append(content((released, list(answers.items()))))
    assert seen[0] == seen[1]
    assert seen[0] != seen[2]


@dataclass(frozen=True, kw_only=True)
class Scanty(TraVaS):
    """Noise of a tenth of the size, but only for large logs."""

    name: ClassVar[str] = "scanty"

    def _spending(self, budget: Budget) -> Step:
        return Laplace("number of cases", budget.epsilon)

    def _draw(self, log: EventLog, rng: Randomness) -> Variants:
        noise = self.noise("number of cases")
        large = log.cases >= 1000
        noise = replace(noise, size=noise.size / 10) if large else noise
        return Variants.from_counts({("a",): max(1, int(noise.added(np.array(log.cases), rng)))})


def test_too_little_noise_for_large_logs_only_is_told() -> None:
    scanty = Scanty(delta=0.01)
    for times, caught in ((1, False), (30, True)):
        shared = Shared.of(1, times)
        logs = shared.log(), shared.log(shared.variants[0])
        with pytest.raises(ConformanceError, match="a case changes") if caught else nullcontext():
            compare(scanty, *logs)
