"""A promise in words, for a data-protection officer: the same on a screen, a page and in a file.

English or German, as the environment variable DISCREET_LANGUAGE says (en, de).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from discreet.language import language as spoken
from discreet.privacy.words.levels import (
    EXPOSED_WARNING,
    MODERATE_EPSILON,
    strength,
    strength_of,
    too_weak,
)

if TYPE_CHECKING:
    from discreet.privacy.guarantee import Guarantee
    from discreet.privacy.words.sentences import Vocabulary


def vocabulary(language: str | None = None) -> Vocabulary:
    """What is said in that language, or in the one that the environment names."""
    from discreet.privacy.words.english import ENGLISH
    from discreet.privacy.words.german import GERMAN

    return {"en": ENGLISH, "de": GERMAN}[spoken(language)]


def explain(promise: Guarantee, language: str | None = None) -> str:
    """The promise in plain words, one paragraph a line."""
    words = vocabulary(language)
    kind = promise.neighbours, promise.unit
    lines = []
    if promise.randomness == "seeded":
        lines.append(words.seeded)
    if promise.holds is None:
        lines.append(words.unbounded.format(one=words.one[promise.unit]))
    else:
        epsilon, delta = promise.holds.epsilon, f"{promise.holds.delta:.4g}"
        excepted = promise.holds.delta > 0
        precisely = words.precisely.format(
            change=words.change[kind],
            odds=f"{math.exp(epsilon):.4g}" if epsilon < 700 else f"e^{epsilon:.4g}",
            epsilon=f"{epsilon:.4g}",
            exception=words.exception.format(delta=delta) if excepted else "",
        )
        lines.append(f"{words.gist[strength_of(promise.holds)][promise.unit]} {precisely}")
        lines.append(
            words.example.format(
                doubt=words.doubt[kind],
                sure=certainty(epsilon),
                barring=words.barring.format(delta=delta) if excepted else "",
            )
        )
    if promise.unit == "individual":
        lines.append(words.bounded_cases.format(cases=promise.cases_per_individual))
    if promise.individual_column is not None:
        lines.append(
            words.individual_column.format(
                case=repr(promise.case_column), individual=repr(promise.individual_column)
            )
        )
    elif promise.case_column is not None:
        lines.append(words.case_column.format(case=repr(promise.case_column)))
    lines.append(f"{words.status[promise.status]} {promise.reason}".strip())
    if promise.claimed and promise.claimed != promise.holds:
        holds = words.holds.format(holds=promise.holds) if promise.holds else words.holds_nothing
        lines.append(words.claimed.format(claimed=promise.claimed, holds=holds))
    if promise.conditions:
        lines.append(words.public.format(conditions="; ".join(promise.conditions)))
    return "\n".join(lines)


def level(promise: Guarantee, language: str | None = None) -> str:
    """How strong the promise is, in two or three words."""
    return vocabulary(language).levels[strength(promise)]


def warnings(
    promise: Guarantee, *, cases: int | None = None, language: str | None = None
) -> tuple[str, ...]:
    """What must be said beside the promise when so many cases were released.

    It reads the promise and the released cases only, so it may stand in the certificate.
    """
    words, found = vocabulary(language), []
    if promise.randomness == "seeded":
        found.append(words.seeded)
    if promise.holds is None:
        return (*found, words.unbounded.format(one=words.one[promise.unit]))
    epsilon, delta = promise.holds.epsilon, promise.holds.delta
    if epsilon > MODERATE_EPSILON:
        found.append(
            words.weak_epsilon.format(
                epsilon=f"{epsilon:.4g}",
                level=words.levels[strength_of(promise.holds)],
                sure=certainty(epsilon),
            )
        )
    if cases and delta * cases > EXPOSED_WARNING:
        found.append(
            words.large_delta.format(
                delta=f"{delta:.4g}",
                cases=f"{cases:,}",
                exposed=f"{min(delta, 1) * cases:.2g}",
                limit=f"{EXPOSED_WARNING / cases:.1g}",
            )
        )
    if promise.claimed is not None and too_weak(promise.claimed):
        found.append(words.insisted)
    return tuple(found)


def certainty(epsilon: float) -> str:
    """How sure somebody may be who was undecided, in percent."""
    return f"{100 / (1 + math.exp(-epsilon)):.3g}"
