"""The wording of a promise for a data-protection officer: the same on screen, on pages, in files.

In English or German, as the environment variable DISCREET_LANGUAGE says (en, de); the sentences
are in `wording.en.toml` and `wording.de.toml`.

A promise has one of a few named strengths. They are those of Ponomareva et al., "How to DP-fy ML"
(JAIR 77, 2023): up to ε = 1 strong, up to 10 at most reasonable, above it hardly any. The middle is
divided at ε = 3, where someone who was undecided may be 95% sure: what is called moderate keeps
real doubt, what is called weak does not. δ is read as the chance that one person is exposed
outright: times the number of people that is how many to expect, which must be far below one (Dwork
and Roth 2014, section 2.3).
"""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

from discreet.errors import DiscreetError
from discreet.language import Language
from discreet.language import language as spoken

Strength = Literal["strong", "moderate", "weak", "hardly any", "none"]

# Tuned: on the levels of Ponomareva et al. (see above), not on data.

STRONG_EPSILON = 1.0
"""Largest ε that is called strong protection."""
MODERATE_EPSILON = 3.0
"""Largest ε that is called moderate protection."""
MOST_EPSILON = 10.0
"""Largest ε of a release that nobody has to insist on."""
MOST_DELTA = 0.01
"""Largest δ of such a release: one person in a hundred may be exposed."""
EXPOSED_WARNING = 0.1
"""A warning is given if more people than this are expected to be exposed outright."""


class TooWeakError(DiscreetError, ValueError):
    """A promise so weak that it is made only on insistence."""


def strength_of(epsilon: float, delta: float) -> Strength:
    """How well a bound protects that holds."""
    if epsilon > MOST_EPSILON or delta > MOST_DELTA:
        return "hardly any"
    if epsilon > MODERATE_EPSILON:
        return "weak"
    return "moderate" if epsilon > STRONG_EPSILON else "strong"


@dataclass(frozen=True)
class Vocabulary:
    """Sentences with places for numbers and nouns; the same places in every language."""

    one: dict[str, str]
    """By unit: the noun in singular."""
    any_one: dict[str, str]
    """By unit: the subject of a budget."""
    change: dict[str, dict[str, str]]
    """By neighbours and unit: the change that must go unnoticed."""
    doubt: dict[str, dict[str, str]]
    """By neighbours and unit: what a reader may be undecided about."""
    seeded: str
    unbounded: str
    no_bound: str
    gist: dict[Strength, dict[str, str]]
    """By strength and unit: what a reader may learn of one case or person."""
    precisely: str
    exception: str
    example: str
    barring: str
    named: dict[str, str]
    """By unit: its column and, for a person, the most cases that count; `bounded`: no column."""
    cases_only: str
    case_column: str
    status: dict[str, str]
    claimed: str
    holds: str
    holds_nothing: str
    public: str
    levels: dict[Strength, str]
    weak_epsilon: str
    large_delta: str
    insisted: str
    dropped: str


def vocabulary(language: str | None = None) -> Vocabulary:
    """The vocabulary of a language, by default of the one that the environment names."""
    return _read(spoken(language))


@cache
def _read(language: Language) -> Vocabulary:
    source = files("discreet.privacy").joinpath(f"wording.{language}.toml")
    return Vocabulary(**tomllib.loads(source.read_text(encoding="utf-8")))


def certainty(epsilon: float) -> str:
    """The certainty that a reader who was undecided can reach, in percent."""
    return f"{100 / (1 + math.exp(-epsilon)):.3g}"


def odds(epsilon: float) -> str:
    """The factor e^ε by which probabilities may change."""
    return f"{math.exp(epsilon):.4g}" if epsilon < 700 else f"e^{epsilon:.4g}"
