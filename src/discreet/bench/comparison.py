"""One log, one budget, every mechanism that can run: which serves best?"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from discreet.bench.runner import limited
from discreet.mechanisms.registry import mechanism, mechanism_class, mechanism_names
from discreet.utility.evaluation import Evaluator, Group
from discreet.utility.model import can_discover

if TYPE_CHECKING:
    from discreet.log.events import EventLog

COST = (
    "Choosing a mechanism by these figures reads the raw log once more and is not covered by any "
    "release's guarantee. To be covered, choose before looking, or with --private."
)


DELEGATES = ("auto", "choice")
"""Mechanisms that only hand on to others, which take part themselves."""


@dataclass(frozen=True)
class Contender:
    """How a mechanism did, or why it could not take part."""

    name: str
    status: str = ""
    budget: str = ""
    figures: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    problem: str = ""

    @property
    def score(self) -> float | None:
        """Its similarity, by which contenders are ordered."""
        return self.figures.get("similarity")


def compare(
    log: EventLog,
    *,
    epsilon: float,
    delta: float,
    parameters: dict[str, Any] | None = None,
    names: Sequence[str] = (),
    seconds: float = 60.0,
    on_start: Callable[[str], None] = lambda name: None,
) -> tuple[list[Contender], float | None]:
    """Release the log once with each mechanism and measure; best first, and the ceiling.

    Further parameters (an alphabet, a maximum length) go to the mechanisms that declare them.
    All together stop after about `seconds`; who was not done is named with that reason.
    """
    evaluator = Evaluator(log)
    measures: tuple[Group, ...] = ("similarity", "difference", "follows", "size")
    if can_discover():
        measures += ("model",)
    given = {"epsilon": epsilon, "delta": delta, **(parameters or {})}
    ceiling = evaluator.ceiling
    chosen = list(names) or [name for name in mechanism_names() if name not in DELEGATES]
    deadline = time.monotonic() + seconds
    found = []
    for index, name in enumerate(chosen):
        on_start(name)
        left = max(deadline - time.monotonic(), 1.0) / (len(chosen) - index)
        found.append(_contender(name, given, evaluator, measures, 2 * left))
    found.sort(key=lambda one: (one.score is None, -(one.score or 0.0), one.name))
    return found, ceiling


def _contender(
    name: str,
    given: dict[str, Any],
    evaluator: Evaluator,
    measures: tuple[Group, ...],
    seconds: float,
) -> Contender:
    assert evaluator.log is not None
    began = time.perf_counter()
    status = budget = ""
    try:
        declared = mechanism_class(name).parameters()
        built = mechanism(name, **{k: v for k, v in given.items() if k in declared})
        promise = built.guarantee()
        status = promise.status
        budget = "nothing finite" if promise.holds is None else str(promise.holds)
        if promise.neighbours != "add-remove":
            budget += f" ({promise.neighbours})"
        with limited(seconds):
            release = built.release(evaluator.log)
            found = evaluator.evaluate(release, measures=measures, reference=False)
    except Exception as error:
        text = " ".join(str(error).split()) or type(error).__name__
        return Contender(name, status, budget, problem=text)
    return Contender(
        name,
        status,
        budget,
        {figure.name: figure.value for figure in found},
        time.perf_counter() - began,
    )
