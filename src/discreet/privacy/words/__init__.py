"""A promise in words, for a data-protection officer: the same on a screen, a page and in a file.

English or German, as the environment variable DISCREET_LANGUAGE says (en, de).
"""

from __future__ import annotations

import math
import tomllib
from functools import cache
from importlib.resources import files

from discreet.language import Language
from discreet.language import language as spoken
from discreet.privacy.words.sentences import Vocabulary


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
