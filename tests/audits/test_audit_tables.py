"""The results that ship with the library, and the page that is rendered from them."""

from __future__ import annotations

from pathlib import Path

from discreet.audits.audit_report import page
from discreet.audits.audit_tables import OVERVIEW, STEPS, AuditTables, shipped_tables
from discreet.audits.subjects import audited_names


def some(**others: object) -> AuditTables:
    values: dict[str, object] = {
        "command": "discreet audit --all",
        "version": "1",
        "date": "today",
        "minutes": 3,
        "runs": 1000,
        "caught": 1,
        "overview": [["one", "a|b", *["x"] * 6], ["two", *["y"] * 7]],
        "findings": [["one strict", "A reason.", ["**pair**. Event: the whole is {\n}"]]],
        "left_out": {"three": "needs something"},
        "steps": [["two", *["z"] * 9]],
        "pairs": [["one strict", [["pair", *["1"] * 6]]]],
    }
    return AuditTables(**values | others)  # type: ignore[arg-type]


def test_the_page_is_what_ships() -> None:
    """Both are written by one command; a release with a page of its own tells two stories."""
    written = Path(__file__).parents[2] / "docs" / "audits.md"
    assert written.read_text(encoding="utf-8") == page(shipped_tables())


def test_every_mechanism_was_audited() -> None:
    listed = {row[0] for row in shipped_tables().overview}
    assert listed | set(shipped_tables().left_out) == set(audited_names())
    assert shipped_tables().caught == len(shipped_tables().steps)


def test_nothing_is_lost_on_the_way_to_a_file() -> None:
    tables = some()
    assert AuditTables.from_json(tables.to_json()) == tables


def test_a_mechanism_is_shown_with_what_was_found_of_it() -> None:
    tables = some()
    assert tables.about("one") == [(OVERVIEW[1:], [["a|b", *["x"] * 6]])]
    assert [heads for heads, _ in tables.about("two")] == [OVERVIEW[1:], STEPS[1:]]
    assert tables.about("three") == []


def test_a_cell_never_breaks_its_table() -> None:
    """An event may be a whole document, of several lines and with bars in it."""
    text = page(some(overview=[["one", "a|b", "c\nd", *["x"] * 5]]))
    assert "| one | a\\|b | c d | x | x | x | x | x |" in text
