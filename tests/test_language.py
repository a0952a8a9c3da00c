"""Every sentence that is translated has its German, with the same placeholders."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import discreet
from discreet.language import VARIABLE, LanguageError, catalogue, language, speaking, translate
from discreet.report.pages import environment

SOURCE = Path(discreet.__file__).parent


def in_templates() -> Iterator[str]:
    for path in SOURCE.rglob("templates/*.html"):
        pages = environment("discreet.report")
        for _, _, found in pages.extract_translations(path.read_text("utf-8")):  # type: ignore[attr-defined]
            yield from [found] if isinstance(found, str) else [one for one in found if one]


@cache
def code() -> list[ast.Call | ast.Constant]:
    """All calls and constants of the package."""
    trees = [ast.parse(path.read_text("utf-8")) for path in SOURCE.rglob("*.py")]
    nodes = (node for tree in trees for node in ast.walk(tree))
    return [node for node in nodes if isinstance(node, ast.Call | ast.Constant)]


def in_code() -> Iterator[str]:
    """What `translate` is called with, as far as it is written there."""
    for node in code():
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "translate"
            and isinstance(node.args[0], ast.Constant)
        ):
            yield str(node.args[0].value)


def strings() -> set[str]:
    """All strings in the code."""
    constants = (node.value for node in code() if isinstance(node, ast.Constant))
    return {value for value in constants if isinstance(value, str)}


def test_every_sentence_has_its_german() -> None:
    said = {*in_templates(), *in_code()}
    assert len(said) > 80
    assert said - catalogue().keys() == set()


def test_no_line_of_the_catalogue_is_left_over() -> None:
    assert catalogue().keys() - {*in_templates()} - strings() == set()


def test_placeholders_are_the_same() -> None:
    for english, german in catalogue().items():
        names = [sorted(re.findall(r"%\((\w+)\)s", text)) for text in (english, german)]
        assert names[0] == names[1], english
        assert german.strip()


def test_the_language_is_the_one_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert translate("%(many)s cases", many=3) == "3 cases"
    monkeypatch.setenv(VARIABLE, "de")
    assert translate("%(many)s cases", many=3) == "3 Fällen"
    assert translate("a sentence nobody translated") == "a sentence nobody translated"
    assert language("en") == "en"
    with speaking("en"):
        assert translate("%(many)s cases", many=3) == "3 cases", "for this reader"
    assert language() == "de"
    with pytest.raises(LanguageError, match="en or de"):
        language("fr")
