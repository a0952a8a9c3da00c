"""Bugs planted in the library itself, slips of a few characters, and the tests that catch them.

`PLANTED` is the table. A slip is a piece of a function's text and what stands in its place; while
it is planted every caller runs the changed function. Whoever writes noise, clipping, shares or
thresholds adds here what a tired hand might have written.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from importlib import import_module
from types import CodeType, FunctionType
from typing import Any

from discreet.mechanisms.headtail.spending import FEW_HIDDEN, NO_HEAD
from tests.log.engines import test_view
from tests.mechanisms import test_noise as counts
from tests.mechanisms.headtail import test_spending as headtail
from tests.mechanisms.whole import test_mechanism as whole_logs
from tests.privacy.steps import test_sampling


@dataclass(frozen=True)
class Planted:
    """A slip in one function of the library, named `module:qualified.name` below `discreet`."""

    name: str
    function: str
    right: str
    wrong: str
    caught_by: tuple[Callable[[], None], ...]
    """Checks of tests, each of which fails while the slip is planted."""

    @contextmanager
    def growing(self) -> Iterator[None]:
        """Plant it, and take it out again."""
        function = _function(self.function)
        before = function.__code__
        function.__code__ = self._changed(function)
        try:
            yield
        finally:
            function.__code__ = before

    def _changed(self, function: FunctionType) -> CodeType:
        source = textwrap.dedent(inspect.getsource(function))
        assert source.count(self.right) == 1, f"{self.name}: the text has changed; plant it anew"
        module = "from __future__ import annotations\n" + source.replace(self.right, self.wrong)
        space: dict[str, Any] = dict(function.__globals__)
        exec(compile(module, f"<{self.name}>", "exec"), space)
        return _plain(space[function.__name__]).__code__


def _function(place: str) -> FunctionType:
    module, _, path = place.partition(":")
    found: Any = import_module(f"discreet.{module}")
    owner, _, last = path.rpartition(".")
    for part in filter(None, owner.split(".")):
        found = getattr(found, part)
    return _plain(inspect.getattr_static(found, last))


def _plain(found: Any) -> FunctionType:
    """The function behind a method of a class, a property, or something that is remembered."""
    if isinstance(found, classmethod | staticmethod):
        found = found.__func__
    elif isinstance(found, property):
        found = found.fget
    elif isinstance(found, cached_property):
        found = found.func
    found = inspect.unwrap(found)
    assert isinstance(found, FunctionType)
    return found


def _both(check: Callable[..., None], **given: Any) -> tuple[Callable[[], None], ...]:
    """A check of whole logs, for either mechanism."""
    return tuple(partial(check, name, **given) for name in ("whole", "amun"))


TIMES = _both(whole_logs.check_cases, **whole_logs.GIVEN["times"])
ATTRIBUTES = _both(whole_logs.check_cases, **whole_logs.GIVEN["attributes"])
WORKING = _both(whole_logs.check_cases, **whole_logs.GIVEN["working times"])
LONE_VALUES = _both(whole_logs.check_lone_values, column="org:resource", epsilon=0.5)

WHOLE_LOGS = (
    Planted(
        "noise for a case that adds one, whatever it adds",
        "mechanisms.whole.noisy_tables:noisy_sum",
        "noise = step.noise(bound)",
        "noise = step.noise(1)",
        TIMES,
    ),
    Planted(
        "noise 32 times too small",
        "privacy.count_noise:CountNoise.finer",
        "grid**2",
        "grid",
        TIMES,
    ),
    Planted(
        "a naming threshold without the number of values",
        "mechanisms.whole.value_cells:naming_threshold",
        "math.log(t / step.failing)",
        "math.log(1 / step.failing)",
        LONE_VALUES,
    ),
    Planted(
        "names drawn at half the variance",
        "mechanisms.whole.value_cells:Names.find",
        "noise = step.noise(1)",
        "noise = step.noise(0.5)",
        ATTRIBUTES,
    ),
    Planted(
        "a case may add twice what the noise is for",
        "mechanisms.whole.noisy_tables:noisy_sum",
        "added_by(entries, size, bound, grid)",
        "added_by(entries, size, 4 * bound, grid)",
        TIMES[:1],
    ),
    Planted(
        "a threshold for one value where a case has eight",
        "mechanisms.whole.value_cells:Names.find",
        "naming_threshold(step, 1 if attribute.of_case else MOST_VOTES)",
        "naming_threshold(step, 1)",
        LONE_VALUES[:1],
    ),
    Planted(
        "the chance of naming left out of the certificate",
        "privacy.steps.leaves:Gaussian.exception",
        "return self.failing",
        "return 0.0",
        LONE_VALUES[:1],
    ),
    Planted(
        "a trait chosen as if a case moved scores by one",
        "mechanisms.whole.traits:choose_trait",
        "step.choose(scores, 2 * GRAIN, ",
        "step.choose(scores, GRAIN, ",
        ATTRIBUTES[:1],
    ),
    Planted(
        "a trait chosen as if scores only rose",
        "mechanisms.whole.traits:choose_trait",
        "monotone=False",
        "monotone=True",
        ATTRIBUTES[:1],
    ),
    Planted(
        "the share of one table spent on two",
        "mechanisms.whole.attribute_values:_by_trait",
        'spending.find(attribute.step("values by trait"), Gaussian)',
        'spending.find(attribute.step("values"), Gaussian)',
        ATTRIBUTES[:1],
    ),
    Planted(
        "the first round's share spent on all rounds",
        "mechanisms.whole.noisy_tables:learn",
        "least, bound, step, rng)",
        "least, bound, steps[0], rng)",
        TIMES[:1],
    ),
    Planted(
        "a long case counted as many short ones",
        "mechanisms.whole.working_times:WorkingTimes.learn",
        "noisy_sum(source, overlaps, 2, bound, step, rng)",
        "noisy_sum(source, lambda c: (overlaps(c)[0] * 0 + np.arange(len(c.second)), "
        "overlaps(c)[1]), 2, bound, step, rng)",
        WORKING[:1],
    ),
)

CONTEXTS = (partial(headtail.check_noise, NO_HEAD, "contexts", alphabet=None),)
GRADIENTS = (partial(headtail.check_noise, NO_HEAD, "gradients", alphabet=None),)
VOTES = (partial(headtail.check_noise, FEW_HIDDEN, None, alphabet=None),)
LONE_ACTIVITIES = (headtail.check_lone_activities,)

HEADTAIL = (
    Planted(
        "every level of contexts spends the whole share",
        "mechanisms.headtail.ngrams:Tables.part",
        "Fraction(self.bound) / Fraction(share * DOWN)",
        "self.bound",
        CONTEXTS,
    ),
    Planted(
        "noise for one of twenty gradient steps",
        "mechanisms.headtail.loglinear:trained",
        "step.noise(CLIP**2 * STEPS)",
        "step.noise(CLIP**2)",
        GRADIENTS,
    ),
    Planted(
        "gradients clipped to twice the norm",
        "mechanisms.headtail.loglinear:Examples.clipped_sum",
        "CLIP / norms",
        "2 * CLIP / norms",
        GRADIENTS,
    ),
    Planted(
        "a threshold for one activity where a case has many",
        "mechanisms.headtail.ngrams:Tables.unseen_threshold",
        " / MOST_LABELS",
        "",
        LONE_ACTIVITIES,
    ),
    Planted(
        "activities clipped by how many count, not by the bound",
        "mechanisms.headtail.ngrams:found_activities",
        "cases.counts, tables.bound,",
        "cases.counts, MOST_LABELS,",
        CONTEXTS,
    ),
    Planted(
        "contexts clipped as a sum, with noise for squares",
        "mechanisms.headtail.ngrams:learned",
        "tables.bound, tables.norm,",
        "tables.bound**2, tables.norm,",
        CONTEXTS,
    ),
    Planted(
        "votes that count events",
        "mechanisms.headtail.votes:noisy_votes",
        "cases.counts)",
        "cases.counts * cases.lengths)",
        VOTES,
    ),
    Planted(
        "lengths added up, with noise for one bucket",
        "mechanisms.headtail.lengths:Lengths.of",
        "noise.added(counts, rng)",
        "noise.added(np.cumsum(counts), rng)",
        CONTEXTS,
    ),
    Planted(
        "frequent cases probed twice",
        "mechanisms.headtail.mechanism:HeadTail._probed",
        "cases.cases - beyond]",
        "cases.cases]",
        VOTES,
    ),
    Planted(
        "shown cases read as hidden ones",
        "mechanisms.headtail.mechanism:HeadTail._draw",
        "places = np.setdiff1d(places, shown)",
        "pass",
        VOTES,
    ),
)

COUNTS = (
    Planted(
        "noise for a sensitivity of one, whatever was asked for",
        "privacy.steps.composition:noise_of",
        "return leaves[0].noise(sensitivity)",
        "return leaves[0].noise()",
        (partial(counts.check_noise, counts.counting("df-laplace")[0]),),
    ),
    Planted(
        "half the variance where Laplace or Gaussian noise is chosen",
        "privacy.steps.composition:least_noise",
        "l1 if isinstance(leaf, Laplace) else l2_squared",
        "l1 if isinstance(leaf, Laplace) else l2_squared / 2",
        (partial(counts.check_noise, counts.counting("sacofa")[0]),),
    ),
)

IN_ENGINE = (partial(whole_logs.check_engine, "amun", **whole_logs.INDIVIDUALS),)

ENGINES = (
    Planted(
        "one case more of each individual than was bounded",
        "mechanisms.base:kept_cases",
        "rank < cases",
        "rank <= cases",
        _both(whole_logs.check_individuals, **whole_logs.INDIVIDUALS),
    ),
    Planted(
        "one case more of each individual in an engine",
        "log.engines.sql:SqlEngine.restrict",
        "place <= {int(cases)}",
        "place <= {int(cases) + 1}",
        IN_ENGINE,
    ),
    Planted(
        "a long case cut in two, each part bounded by itself",
        "log.engines.batches:case_by_case",
        'begin = frame.height - int((frame["case_id"] == last).sum())',
        "begin = frame.height",
        IN_ENGINE,
    ),
    Planted(
        "true counts of the variants that an engine shows",
        "log.engines.view:EngineVariants.take",
        "return found if counts is None else",
        "return found if len(found) else",
        (test_view.test_selection_of_what_stays_in_memory_is_selection,),
    ),
    Planted(
        "a sample of twice the share",
        "privacy.steps.sampling:Sampled.draw",
        "int(Fraction(self.share) * 2**64)",
        "int(min(1, 2 * Fraction(self.share)) * (2**64 - 1))",
        (test_sampling.test_a_case_is_kept_with_its_share_whatever_the_others,),
    ),
)

PLANTED = (*WHOLE_LOGS, *HEADTAIL, *COUNTS, *ENGINES)
