"""A promise in words, for a data-protection officer: the same on a screen, a page and in a file.

English or German, as the environment variable DISCREET_LANGUAGE says (en, de).
"""

from __future__ import annotations

import math
import os

from discreet.errors import DiscreetError
from discreet.privacy.words.english import ENGLISH
from discreet.privacy.words.german import GERMAN
from discreet.privacy.words.sentences import Vocabulary

VARIABLE = "DISCREET_LANGUAGE"
VOCABULARIES = {"en": ENGLISH, "de": GERMAN}


class LanguageError(DiscreetError, ValueError):
    """A language that is not spoken here."""


def vocabulary(language: str | None = None) -> Vocabulary:
    """What is said in that language, or in the one that the environment names."""
    named = language or os.environ.get(VARIABLE) or "en"
    if named not in VOCABULARIES:
        raise LanguageError(
            f"there is no language {named!r}: choose {' or '.join(VOCABULARIES)} "
            f"(--language, {VARIABLE})"
        )
    return VOCABULARIES[named]


def certainty(epsilon: float) -> str:
    """How sure somebody may be who was undecided, in percent."""
    return f"{100 / (1 + math.exp(-epsilon)):.3g}"


def odds(epsilon: float) -> str:
    """The factor e^ε by which probabilities may change."""
    return f"{math.exp(epsilon):.4g}" if epsilon < 700 else f"e^{epsilon:.4g}"
