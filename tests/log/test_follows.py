import csv
import io
import json
import re
from collections import Counter
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.log.errors import LogError
from discreet.log.follows import Follows
from discreet.log.samples import sample_log
from discreet.log.variants import Variants
from discreet.releases import Document, render
from discreet.report import draw

LOGS = st.dictionaries(
    st.lists(st.sampled_from("abcd"), min_size=1, max_size=6).map(tuple),
    st.integers(1, 50),
    max_size=8,
)


def counted(log: dict[tuple[str, ...], int]) -> dict[tuple[str | None, str | None], int]:
    """Pairs counted one by one."""
    found: Counter[tuple[str | None, str | None]] = Counter()
    for sequence, count in log.items():
        for pair in zip((None, *sequence), (*sequence, None), strict=True):
            found[pair] += count
    return dict(found)


@given(LOGS)
def test_counts_every_pair_with_start_and_end(log: dict[tuple[str, ...], int]) -> None:
    follows = Follows.of_variants(Variants.from_counts(log))
    assert {(source, target): n for source, target, n in follows} == counted(log)
    assert follows.cases == sum(log.values())


@given(LOGS)
def test_json_comes_back(log: dict[tuple[str, ...], int]) -> None:
    follows = Follows.of_variants(Variants.from_counts(log))
    again = Follows.from_json(follows.to_json())
    assert again == follows
    assert again.activities == follows.activities


def test_is_a_document_in_five_formats() -> None:
    follows = Follows.of_variants(sample_log("hospital", cases=200, seed=1).variants)
    assert isinstance(follows, Document)
    rendered = {suffix: render(follows, suffix) for suffix in Follows.suffixes}
    rows = list(csv.reader(io.StringIO(rendered[".csv"])))
    assert rows[0] == ["source", "target", "count"]
    assert len(rows) == len(follows) + 1
    assert {(s or "⊤", t or "⊥", str(n)) for s, t, n in follows} == {tuple(r) for r in rows[1:]}
    assert rendered[".dot"].count("->") == len(follows)
    assert rendered[".mmd"].count("-->") == len(follows)
    drawing = ElementTree.fromstring(rendered[".svg"])
    lines = drawing.findall("{http://www.w3.org/2000/svg}path")
    assert len(lines) == len(follows)
    with pytest.raises(KeyError):
        follows.render(".xes")


def test_labels_with_odd_letters_stay_inside_their_quotes() -> None:
    label = 'a "b" <c> #1 \\ \n d & e'
    follows = Follows.of_variants(Variants.from_counts({(label,): 3}))
    ElementTree.fromstring(draw(follows))
    assert "<c>" not in follows.render(".mmd")
    assert re.search(r'label="a \\"b\\" <c> #1 \\\\ \\n d & e"', follows.render(".dot"))
    assert Follows.from_json(follows.to_json()) == follows
    rows = list(csv.reader(io.StringIO(follows.to_csv(), newline="")))
    assert ["⊤", label, "3"] in rows


def test_an_empty_graph_draws_start_and_end() -> None:
    empty = Follows((), np.zeros((1, 1), dtype=np.int64))
    assert len(empty) == 0
    assert empty.cases == 0
    drawing = ElementTree.fromstring(draw(empty))
    assert len(drawing.findall("{http://www.w3.org/2000/svg}circle")) == 2


def test_trimmed_names_only_activities_that_occur() -> None:
    counts = np.zeros((4, 4), dtype=np.int64)
    counts[3, 2] = counts[2, 3] = 5
    assert Follows(("a", "b", "c"), counts).trimmed().activities == ("c",)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "else"}, "format"),
        ({"activities": ["a", "a"]}, "distinct"),
        ({"follows": [["a", "zzz", 1]]}, "zzz"),
        ({"follows": [["a", None, -1]]}, "count"),
        ({"follows": [["a", None, True]]}, "count"),
        ({"follows": [["a", None]]}, "values"),
    ],
)
def test_bad_json_is_refused_with_a_reason(change: dict[str, object], message: str) -> None:
    good = json.loads(Follows.of_variants(Variants.from_counts({("a",): 1})).to_json())
    with pytest.raises(LogError, match=message):
        Follows.from_json(json.dumps(good | change))


def test_text_that_is_no_json_is_refused() -> None:
    with pytest.raises(LogError, match="not a directly-follows graph"):
        Follows.from_json("{")
