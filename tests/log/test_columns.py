"""Recognising columns."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.log.columns import USUAL, choose, existing
from discreet.log.errors import LogError
from discreet.log.events import ACTIVITY, CASE, LIFECYCLE, TIME
from discreet.log.loading import column_names

ROLES = dict.fromkeys((CASE, ACTIVITY, TIME, LIFECYCLE))


@pytest.mark.parametrize("role", USUAL)
def test_every_usual_name_is_recognised(role: str) -> None:
    for name in USUAL[role]:
        for written in (name, name.upper(), name.replace(" ", "_"), name.title().replace(" ", "")):
            assert choose(["other", written], ROLES, ())[role] == written


def test_the_exact_name_comes_first() -> None:
    assert choose(["Case ID", CASE], ROLES, ()) == {CASE: CASE}
    assert choose(["timestamp", TIME], ROLES, ()) == {TIME: TIME}


def test_given_names_are_not_taken_twice() -> None:
    given = {**ROLES, ACTIVITY: "case"}
    assert choose(["case", "trace"], given, ()) == {ACTIVITY: "case", CASE: "trace"}


def test_near_misses_are_suggested() -> None:
    with pytest.raises(LogError, match="did you mean 'Case ID'"):
        existing(["Case ID", "Activity"], "case_idd", "case")
    with pytest.raises(LogError) as caught:
        existing(["Case ID", "Activity"], "zzzzzz", "case")
    assert "did you mean" not in str(caught.value)


def test_missing_columns_are_named() -> None:
    with pytest.raises(LogError, match=r"looks like the activity.*'x', 'case'"):
        choose(["x", "case"], ROLES, (CASE, ACTIVITY))


def test_columns_are_named_before_they_have_roles(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("who;what;when\n1;a;yesterday\n", encoding="utf-8")
    assert column_names(path) == ["who", "what", "when"]
