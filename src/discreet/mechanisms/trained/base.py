"""What mechanisms that train a model by private gradient steps have in common.

Nothing here loads torch: the guarantee, the parameters and the noise follow from numbers alone.
"""

from __future__ import annotations

import importlib.util
import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

import numpy.typing as npt

from discreet.log.events import EventLog
from discreet.log.variants import Variants
from discreet.mechanisms.base import Mechanism, delta_parameter
from discreet.parameters import ParameterError, between, parameter
from discreet.privacy.guarantee import Budget
from discreet.privacy.randomness import Randomness
from discreet.privacy.renyi import TrainingPlan, rdp_epsilon
from discreet.privacy.steps import Renyi, SampledGaussian

if TYPE_CHECKING:
    from discreet.mechanisms.trained.sgd import PrivateSteps

Value = TypeVar("Value")


@dataclass(frozen=True)
class ModelState:
    """Tensors and facts (plain JSON values): a trained model, or training under way.

    Of a trained model everything in here is covered by the guarantee: noisy or public. Training
    under way is for the holder of the log only.
    """

    tensors: dict[str, npt.NDArray[Any]]
    facts: dict[str, Any]


class Watch:
    """Watches a training and may keep it for later; this one does neither."""

    def resumed(self) -> ModelState | None:
        """What an earlier, interrupted run of the same training left."""
        return None

    def step(
        self, network: str, done: int, steps: int, loss: float, save: Callable[[], ModelState]
    ) -> None:
        """Called before the first and after each step of a network.

        `loss` is raw, for the holder of the log only; `save` returns the training as it is.
        """

    def follow(
        self,
        network: str,
        steps: PrivateSteps,
        losses: Iterable[float],
        save: Callable[[], ModelState],
    ) -> None:
        """Take the steps of a network that give these losses, noting each."""
        for loss in chain([math.nan], losses):
            self.step(network, steps.taken, steps.plan.steps, loss, save)


def joined(networks: Mapping[str, Mapping[str, Value]]) -> dict[str, Value]:
    """Values of several networks in one mapping, as network/name."""
    return {f"{n}/{name}": kept for n, own in networks.items() for name, kept in own.items()}


def under(network: str, kept: Mapping[str, Value]) -> dict[str, Value]:
    """Values of one network from a mapping that `joined` made, by their own names."""
    prefix = f"{network}/"
    return {k.removeprefix(prefix): value for k, value in kept.items() if k.startswith(prefix)}


def require_torch(name: str) -> None:
    """Raise ParameterError if torch is not there, saying what to install."""
    if importlib.util.find_spec("torch") is None:
        raise ParameterError(
            f"{name} trains a neural network and needs torch; install it with: "
            "pip install 'discreet[generative]' "
            "(for processors alone add --extra-index-url https://download.pytorch.org/whl/cpu)"
        )


@dataclass(frozen=True, kw_only=True)
class Generative(Mechanism[Variants]):
    """A model trained under the budget; whatever is generated from it afterwards is free."""

    delta: float = delta_parameter()
    cases: int | None = parameter(
        None,
        "how many cases to generate, a public number; by default the noisy number of the log's",
        between(0, 10_000_000),
    )

    @abstractmethod
    def _plans(self, budget: Budget) -> dict[str, TrainingPlan]:
        """The noisy steps of each network by its name, fitted to the budget; public."""

    @abstractmethod
    def _train(self, log: EventLog, rng: Randomness, watch: Watch) -> ModelState:
        """Train, resuming from `watch.resumed()` if there is anything.

        The result's facts hold at least `cases`, a noisy or public number.
        """

    @abstractmethod
    def _generate(self, model: ModelState, cases: int, rng: Randomness) -> Variants:
        """Cases drawn from a trained model: post-processing."""

    def _check_model(self, model: ModelState) -> None:
        """Raise ValueError unless these are tensors and facts of such a model; reads a file's."""

    @property
    def plans(self) -> dict[str, TrainingPlan]:
        """The noisy steps of each network by its name."""
        return self._plans(self.case_budget)

    def noisy_step(self, name: str) -> SampledGaussian:
        """The noisy sums of that name, to draw with."""
        if self.spending is None:  # a published form whose steps prove nothing
            return SampledGaussian(name, self.plans[name])
        return self.step(name, SampledGaussian)

    def _training(self, name: str, budget: Budget, exception: float = 0.0) -> Renyi:
        """All noisy sums, composed at the training's share of a budget."""
        steps = tuple(SampledGaussian(*item) for item in self._plans(budget).items())
        return Renyi(name, steps, self._training_share(budget).delta, exception)

    def epsilon_so_far(self, taken: Mapping[str, int]) -> float:
        """The part of epsilon spent after these steps, by the certifying accountant.

        What is asked before training (a plan of one step, or a share of its own) counts.
        """
        done = [
            replace(plan, steps=taken.get(name, int(plan.steps == 1)))
            for name, plan in self.plans.items()
        ]
        before = self.case_budget.epsilon - self.training_budget.epsilon
        return before + rdp_epsilon(done, self.training_budget.delta)

    def _training_share(self, budget: Budget) -> Budget:
        """The part of a budget that the noisy sums have."""
        return budget

    @property
    def training_budget(self) -> Budget:
        """The part of a case's budget that the noisy sums have."""
        return self._training_share(self.case_budget)

    def check(self, log: EventLog) -> None:
        """Refuse before anything is spent; see the base class."""
        super().check(log)
        require_torch(self.name)

    def _draw(self, log: EventLog, rng: Randomness) -> Variants:
        model = self._train(log, rng, Watch())
        return self._generate(model, model.facts["cases"], rng)
