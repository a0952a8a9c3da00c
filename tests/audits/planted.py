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

from tests.wholelogs import test_privacy as whole_logs


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
LONE_VALUES = _both(whole_logs.check_lone_values, column="org:resource", epsilon=0.5)

WHOLE_LOGS = (
    Planted(
        "noise for a case that adds one, whatever it adds",
        "wholelogs.tables:noisy_sum",
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
        "wholelogs.naming:naming_threshold",
        "math.log(t / step.failing)",
        "math.log(1 / step.failing)",
        LONE_VALUES,
    ),
    Planted(
        "names drawn at half the variance",
        "wholelogs.naming:Names.find",
        "noise = step.noise(1)",
        "noise = step.noise(0.5)",
        ATTRIBUTES,
    ),
)

PLANTED = WHOLE_LOGS
