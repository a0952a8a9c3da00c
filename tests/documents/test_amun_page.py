"""The page on amun: its examples run, and its automaton is drawn as computed."""

from __future__ import annotations

import doctest
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "mechanisms" / "amun.md"


def test_the_examples_of_the_page() -> None:
    found = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert found.attempted > 8
    assert found.failed == 0


def test_the_page_draws_the_automaton_it_computes() -> None:
    text = PAGE.read_text(encoding="utf-8")
    drawn = text.split("```mermaid\n")[1].split("```")[0]
    assert text.count(drawn.strip()) == 2
    for figure in text.split("](figures/")[1:]:
        assert (PAGE.parent / "figures" / figure.partition(")")[0]).is_file()
