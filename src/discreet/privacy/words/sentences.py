"""Everything that is said of a promise, to be filled in by each language."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.privacy.words.levels import Strength


@dataclass(frozen=True)
class Vocabulary:
    """Sentences with places for numbers and nouns; the same places in every language."""

    one: dict[str, str]
    """By unit: the noun in singular."""
    change: dict[str, dict[str, str]]
    """By neighbours and unit: what the change is that one must not notice."""
    doubt: dict[str, dict[str, str]]
    """By neighbours and unit: what somebody may be undecided about."""
    seeded: str
    unbounded: str
    gist: dict[Strength, dict[str, str]]
    """By strength and unit: what a reader may learn of one case or person."""
    precisely: str
    exception: str
    example: str
    barring: str
    bounded_cases: str
    case_column: str
    individual_column: str
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
