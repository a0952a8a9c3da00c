"""The model a reader would discover from a release, and how well it describes the real log.

Discovery is PM4Py's (the extra `pm4py`); the replay is ours.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from discreet.log.variants import Variants
from discreet.models.petri import Net
from discreet.models.pm4py import net_from_pm4py
from discreet.models.replay import replay

# Tuned
NOISE = 0.2
"""The share of infrequent behaviour that the inductive miner leaves out, as in the papers."""

Enabled = Callable[[frozenset[int]], Iterable[str]]
"""The labels that may come next while these places hold a token."""

MISSING = "model quality needs PM4Py: pip install 'discreet[pm4py]'"


def can_discover() -> bool:
    """Whether PM4Py is installed."""
    return find_spec("pm4py") is not None


@dataclass(frozen=True)
class Quality:
    """How well a model fits a log: the four dimensions, each 1 at best.

    Fitness is ½(1 − missing/consumed) + ½(1 − remaining/produced) over all cases (Rozinat and
    van der Aalst), precision is 1 − escaping/enabled over all prefixes that fit (Muñoz-Gama and
    Carmona), generalisation 1 − mean(1/√uses of a transition). These are PM4Py's definitions,
    except for what a prefix enables: its search through silent transitions forgets markings and so
    overstates precision (Sepsis: .452 instead of .354).
    """

    fitness: float
    precision: float
    """Precision by PM4Py's view of enabled activities, if there is one."""
    precision_complete: float
    """Precision that counts every activity reachable by silent steps as enabled."""
    generalisation: float
    simplicity: float

    @property
    def f_score(self) -> float:
        """Harmonic mean of fitness and precision."""
        total = self.fitness + self.precision
        return 2 * self.fitness * self.precision / total if total else 0.0


def quality(net: Net, variants: Variants, enabled: Enabled | None = None) -> Quality:
    """Replay a log on a net; `enabled` is another view of what a marking enables."""
    result = replay(net, variants)
    complete = result.precision
    return Quality(
        result.pooled_fitness if variants.cases else 0.0,
        result.precision_by(enabled) if enabled else complete,
        complete,
        result.generalisation if variants.cases else 0.0,
        net.simplicity,
    )


@dataclass(frozen=True)
class Model:
    """A net, and PM4Py's own view of which labels a marking enables."""

    net: Net
    pm4py_enabled: Enabled
    pm4py_net: tuple[Any, Any, Any]
    """PM4Py's net with its initial and final marking."""

    def quality(self, variants: Variants) -> Quality:
        """Replay a log on the model."""
        return quality(self.net, variants, self.pm4py_enabled)


def discover(variants: Variants) -> Model:
    """Discover the model of a log with the inductive miner (infrequent, 20%)."""
    from pm4py.algo.discovery.inductive.dtypes.im_ds import IMDataStructureUVCL
    from pm4py.algo.discovery.inductive.variants.imf import IMFUVCL
    from pm4py.objects.process_tree.utils import generic

    parameters = {"noise_threshold": NOISE}
    counts = Counter({sequence: count for sequence, count in variants if count})
    with _quiet():
        tree = generic.fold(IMFUVCL(parameters).apply(IMDataStructureUVCL(counts), parameters))
        generic.tree_sort(tree)
    return model_of(tree)


def model_of(tree: Any) -> Model:
    """The model of a PM4Py process tree."""
    from pm4py.objects.conversion.process_tree import converter
    from pm4py.objects.petri_net.obj import Marking
    from pm4py.objects.petri_net.utils import align_utils

    with _quiet():
        theirs = converter.apply(tree)
    net, places = net_from_pm4py(*theirs)

    def enabled(marked: frozenset[int]) -> Iterable[str]:
        tokens = Marking({places[number]: 1 for number in marked})
        found = align_utils.get_visible_transitions_eventually_enabled_by_marking(theirs[0], tokens)
        return {transition.label for transition in found}

    return Model(net, enabled, theirs)


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence PM4Py's own warnings, which do not concern our users."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
