"""The model a reader would discover from a release, and how well it describes the real log.

Discovery is PM4Py's (the extra `pm4py`); the replay is ours.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from discreet.log.variants import Variants
from discreet.utility.nets import Marking, Net
from discreet.utility.replay import Quality, replay

NOISE = 0.2
"""The share of infrequent behaviour that the inductive miner leaves out, as in the papers."""

MISSING = "model quality needs PM4Py: pip install 'discreet[pm4py]'"


def can_discover() -> bool:
    """Whether PM4Py is installed."""
    return find_spec("pm4py") is not None


@dataclass(frozen=True)
class Model:
    """A net, and PM4Py's own idea of which labels a marking enables."""

    net: Net
    pm4py_enabled: Callable[[Marking], frozenset[str]]
    source: tuple[Any, Any, Any]
    """PM4Py's net with its initial and final marking."""

    def quality(self, variants: Variants) -> Quality:
        """Replay a log on the model."""
        return replay(self.net, variants, self.pm4py_enabled)


def discover(variants: Variants) -> Model:
    """The model that the inductive miner (infrequent, 20%) finds in a log."""
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
    from pm4py.objects.petri_net.obj import Marking as TheirMarking
    from pm4py.objects.petri_net.utils import align_utils

    with _quiet():
        net, initial, final = converter.apply(tree)
    places = sorted(net.places, key=lambda place: str(place.name))

    def enabled(marking: Marking) -> frozenset[str]:
        tokens = TheirMarking({p: n for p, n in zip(places, marking, strict=True) if n})
        found = align_utils.get_visible_transitions_eventually_enabled_by_marking(net, tokens)
        return frozenset(transition.label for transition in found)

    return Model(Net.from_pm4py(net, initial, final), enabled, (net, initial, final))


@contextmanager
def _quiet() -> Iterator[None]:
    """PM4Py's own warnings are not our users' business."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
