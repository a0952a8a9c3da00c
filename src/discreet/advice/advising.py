"""Advice on a log: how hard it is to protect, and what each budget would leave of it.

Everything here reads the log itself and is for its holder. What is chosen by it is the holder's
choice: it tells something about the log that no guarantee of a later release covers. Advice on a
stand-in, a release that was paid for, is post-processing: it costs nothing more and covers the
choice, for a budget chosen by it depends on the log through that release alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from discreet.advice.facts import People, Rarity, Visible, people_of, rarity_of, visible_at
from discreet.advice.trials import COST, DELEGATES, Trials, run_trials, with_default
from discreet.log.cautions import cautions
from discreet.log.events import EventLog
from discreet.mechanisms.generative.base import Generative
from discreet.mechanisms.parameters import ParameterError
from discreet.mechanisms.registry import mechanism_class, mechanism_names, mechanism_taking
from discreet.privacy.words import certainty
from discreet.utility.evaluation import WARNING

EPSILONS = (0.1, 0.3, 1.0, 3.0)

REPETITIONS = 10
"""Runs of each setting; fewer where time is short."""

SLOW = "it trains a model, which takes minutes; name it to include it"


@dataclass(frozen=True)
class Advice:
    """What the holder of a log may want to know before choosing a budget."""

    people: People | None
    rarity: tuple[Rarity, ...]
    visible: tuple[Visible, ...]
    trials: Trials
    delta: float
    cases_per_individual: int | None
    seconds: float
    left_out: dict[str, list[str]]
    cautions: tuple[str, ...] = ()
    """Whom it would protect, and what is read as an event, where that may surprise."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "warning": WARNING,
            "cost": COST,
            "cautions": list(self.cautions),
            "delta": self.delta,
            "cases_per_individual": self.cases_per_individual,
            "people": None if self.people is None else asdict(self.people),
            "rare_variants": [asdict(one) for one in self.rarity],
            "budgets": [
                asdict(one) | {"meaning": meaning(one.epsilon, self.unit)} for one in self.visible
            ],
            "references": self.trials.references,
            "trials": [trial.to_dict() for trial in self.trials.trials],
            "left_out": [{"reason": k, "mechanisms": v} for k, v in self.left_out.items()],
        }

    @property
    def unit(self) -> str:
        """Whom the budgets protect."""
        return "case" if self.cases_per_individual is None else "person"


def meaning(epsilon: float, unit: str = "case") -> str:
    """What an epsilon promises, by the doubt that it leaves."""
    return (
        f"someone undecided (50%) whether a certain {unit} is in the log is at most "
        f"{certainty(epsilon)}% sure afterwards"
    )


def advise(
    log: EventLog,
    *,
    epsilons: Sequence[float] = EPSILONS,
    delta: float = 1e-6,
    parameters: dict[str, Any] | None = None,
    names: Sequence[str] = (),
    seconds: float = 60.0,
    repetitions: int = REPETITIONS,
    stand_in: bool = False,
    on_start: Callable[[str], None] = lambda text: None,
) -> Advice:
    """Look at the log, and try budgets on it for about `seconds` seconds.

    `names` are the mechanisms to be tried beside the default one; without them all that need no
    more than the `parameters` given and train no model. Of a stand-in nothing is said about people
    and rare variants: it has neither.
    """
    given = parameters or {}
    budgets = sorted(set(epsilons))
    bound = given.get("cases_per_individual")
    chosen, left_out = (with_default(names), {}) if names else _alternatives(given, delta)
    for name in chosen:
        for epsilon in budgets:
            mechanism_taking(name, {**given, "epsilon": epsilon, "delta": delta})
    visible = tuple(visible_at(log, e, delta, bound) for e in budgets) if delta else ()
    trials = run_trials(
        log,
        epsilons=budgets,
        delta=delta,
        parameters=given,
        names=chosen,
        seconds=seconds,
        repetitions=repetitions,
        on_start=on_start,
    )
    return Advice(
        people=None if stand_in else people_of(log),
        rarity=() if stand_in else rarity_of(log),
        visible=visible,
        trials=trials,
        delta=delta,
        cases_per_individual=bound,
        seconds=seconds,
        left_out=left_out | trials.left_out,
        cautions=() if stand_in else tuple(map(str, cautions(log, people_protected=bool(bound)))),
    )


def _alternatives(given: dict[str, Any], delta: float) -> tuple[list[str], dict[str, list[str]]]:
    """The mechanisms that can run as things are, and why others cannot."""
    chosen: list[str] = []
    left_out: dict[str, list[str]] = {}
    for name in mechanism_names():
        owner = mechanism_class(name)
        reason = ""
        if name in DELEGATES:
            continue
        if issubclass(owner, Generative):
            reason = SLOW
        else:
            try:
                mechanism_taking(name, {"epsilon": 1.0, "delta": delta, **given})
            except ParameterError as error:
                reason = str(error)
        if reason:
            left_out.setdefault(reason, []).append(name)
        else:
            chosen.append(name)
    return with_default(chosen), left_out
