"""The language of messages and pages: English, or German.

English sentences are their own keys: `translate` gives the sentence of `languages/de.toml` where
German is wanted, and the pages' templates have their `{% trans %}` from the same file. The promise
itself has its words in `privacy/wording`, since they are put together from parts.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib.resources import files
from typing import Literal, get_args

from discreet.errors import DiscreetError

Language = Literal["en", "de"]
VARIABLE = "DISCREET_LANGUAGE"

_spoken: ContextVar[str | None] = ContextVar("spoken", default=None)


class LanguageError(DiscreetError, ValueError):
    """A language that is not supported."""


def language(named: str | None = None) -> Language:
    """The language named, else the one set here, else the environment's, else English."""
    wanted = named or _spoken.get() or os.environ.get(VARIABLE) or "en"
    for known in get_args(Language):
        if known == wanted:
            return known  # type: ignore[no-any-return]
    raise LanguageError(
        f"there is no language {wanted!r}: choose {' or '.join(get_args(Language))} "
        f"(--language, {VARIABLE})"
    )


@contextmanager
def speaking(named: str) -> Iterator[None]:
    """Use a language for one reader of many, such as the browser that asks a server for a page."""
    before = _spoken.set(language(named))
    try:
        yield
    finally:
        _spoken.reset(before)


def translate(sentence: str, **values: object) -> str:
    """Translate an English sentence to the current language, with its `%(name)s` filled in."""
    spoken = sentence if language() == "en" else catalogue().get(sentence, sentence)
    return spoken % values if values else spoken


def grouped(number: int) -> str:
    """Format a whole number in groups of three digits: 1,050, or 1 050 where a comma is a point."""
    return f"{number:,}" if language() == "en" else f"{number:,}".replace(",", "\u202f")


@cache
def catalogue() -> dict[str, str]:
    """German sentences by their English keys."""
    text = files("discreet").joinpath("languages", "de.toml").read_text(encoding="utf-8")
    return {key: str(value) for key, value in tomllib.loads(text).items()}
