from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from discreet.utility.evaluation import evaluate
from discreet.utility.pictures import evaluation_page, pictures, spelled
from tests.mechanisms.whole.logs import log_of, office


def test_a_page_has_every_picture_twice_and_well_formed() -> None:
    log, other = log_of(office(200)), log_of(office(180, seed=2))
    found = pictures(log, other)
    assert [one.name for one in found] == [
        "Process map", "Durations", "Week and hour", "Dotted chart", "Attributes",
    ]  # fmt: skip
    for one in found:
        for drawing in one.drawings:
            assert ET.fromstring(drawing).tag.endswith("svg")
    before, after = found[0].drawings
    waits = sum("· " in text for text in ET.fromstring(before).itertext())
    assert waits == 3
    assert "register" in after
    page = evaluation_page(evaluate(log, other, measures=("times", "attributes")), log, other, "A")
    assert page.count("<svg") == sum(len(one.drawings) for one in found)
    assert "not for publication" in page


def test_an_empty_release_has_no_pictures() -> None:
    assert pictures(log_of(office(20)), log_of([])) == []


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (90, "1.5 min"), (86400 * 2.5, "2.5 d"), (86400 * 300, "300 d")],
)
def test_times_are_written_in_their_unit(seconds: float, text: str) -> None:
    assert spelled(seconds) == text
