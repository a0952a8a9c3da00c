"""A promise in words, for a data-protection officer: the same on a screen, a page and in a file.

English or German, as the environment variable DISCREET_LANGUAGE says (en, de).
"""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from discreet.language import Language
from discreet.language import language as spoken
from discreet.privacy.words.levels import Strength


@dataclass(frozen=True)
class Vocabulary:
    """Sentences with places for numbers and nouns; the same places in every language."""

    one: dict[str, str]
    """By unit: the noun in singular."""
    any_one: dict[str, str]
    """By unit: whom a budget is about."""
    change: dict[str, dict[str, str]]
    """By neighbours and unit: what the change is that one must not notice."""
    doubt: dict[str, dict[str, str]]
    """By neighbours and unit: what somebody may be undecided about."""
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
    """By unit: its column, and for a person how many cases count; `bounded` without a column."""
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
    """What is said in that language, or in the one that the environment names."""
    return _read(spoken(language))


@cache
def _read(language: Language) -> Vocabulary:
    text = files("discreet.privacy.words").joinpath(f"{language}.toml").read_text(encoding="utf-8")
    return Vocabulary(**tomllib.loads(text))


def certainty(epsilon: float) -> str:
    """How sure somebody may be who was undecided, in percent."""
    return f"{100 / (1 + math.exp(-epsilon)):.3g}"


def odds(epsilon: float) -> str:
    """The factor e^ε by which probabilities may change."""
    return f"{math.exp(epsilon):.4g}" if epsilon < 700 else f"e^{epsilon:.4g}"
