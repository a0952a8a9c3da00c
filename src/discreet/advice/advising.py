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

from discreet.advice.facts import People, Rarity, Visible, people_of, rarity_of, visible_by
from discreet.advice.trials import COST, DELEGATES, Trials, run_trials, trial_of
from discreet.log.cautions import cautions
from discreet.log.events import EventLog
from discreet.mechanisms.trained.base import Generative
from discreet.parameters import ParameterError
from discreet.privacy.wording import certainty
from discreet.releasing.catalogue import mechanism_class, mechanism_names
from discreet.releasing.request import Product
from discreet.utility.evaluation import WARNING

# Tuned
EPSILONS = (0.1, 0.3, 1.0, 3.0)
"""Budgets tried if none is given."""

REPETITIONS = 10
"""Runs of each setting; fewer if time is short."""

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
    default: str
    """The mechanism released with these options if none is named."""
    cautions: tuple[str, ...] = ()
    """Warnings about whom it would protect and what is read as an event, if that may surprise."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "warning": WARNING,
            "cost": COST,
            "cautions": list(self.cautions),
            "delta": self.delta,
            "default": self.default,
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
        """What the budgets protect: a case or an individual."""
        return "case" if self.cases_per_individual is None else "person"


def meaning(epsilon: float, unit: str = "case") -> str:
    """Explain an epsilon by the doubt that it leaves."""
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
    times: bool | None = None,
    seconds: float = 60.0,
    repetitions: int = REPETITIONS,
    stand_in: bool = False,
    on_start: Callable[[str], None] = lambda text: None,
) -> Advice:
    """Describe the log, and try budgets on it for about `seconds` seconds.

    The answer is for the product that is released with the same `parameters` and `times` if no
    mechanism is named. `names` are the mechanisms to try beside it; by default all that need no
    more than these parameters and train no model. For a stand-in nothing is said about people and
    rare variants: it has neither.
    """
    given = parameters or {}
    budgets = sorted(set(epsilons))
    bound = given.get("cases_per_individual")
    chosen, left_out = (list(names), {}) if names else _alternatives(given, delta)
    default = ""
    visible = []
    for epsilon in budgets:
        budget = {**given, "epsilon": epsilon, "delta": delta}
        for name in chosen:
            trial_of(name, budget, times)
        usual = Product.taking(budget, times=times).resolved().of(log)
        default = usual.name
        visible.append(visible_by(log, usual))
    trials = run_trials(
        log,
        epsilons=budgets,
        delta=delta,
        parameters=given,
        names=chosen,
        times=times,
        seconds=seconds,
        repetitions=repetitions,
        on_start=on_start,
    )
    return Advice(
        people=None if stand_in else people_of(log),
        rarity=() if stand_in else rarity_of(log),
        visible=tuple(one for one in visible if one is not None),
        trials=trials,
        delta=delta,
        cases_per_individual=bound,
        seconds=seconds,
        left_out=left_out | trials.left_out,
        default=default,
        cautions=() if stand_in else tuple(map(str, cautions(log, people_protected=bool(bound)))),
    )


def _alternatives(given: dict[str, Any], delta: float) -> tuple[list[str], dict[str, list[str]]]:
    """The mechanisms that can run with these parameters, and the reasons why others cannot."""
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
                trial_of(name, {"epsilon": 1.0, "delta": delta, **given})
            except ParameterError as error:
                reason = str(error)
        if reason:
            left_out.setdefault(reason, []).append(name)
        else:
            chosen.append(name)
    return chosen, left_out
