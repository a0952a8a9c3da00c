"""What is read off variants, logs and documents."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.audits.exact import Figures
from discreet.audits.features import learn_features, shown_name
from discreet.audits.subjects import find_pair as pair
from discreet.log.neighbours import Case, Pair, make_log
from discreet.log.variants import Variants

PAIR = Pair("test", "", {("a", "b"): 3}, Case(("a", "c")))


def values(features: object, artefact: object) -> dict[str, float]:
    return dict(zip(features.names, features.measure([artefact])[0], strict=True))  # type: ignore[attr-defined]


def test_variants() -> None:
    released = Variants.from_counts({("a", "b"): 4, ("a", "c"): 2, ("z",): 1})
    found = values(learn_features(PAIR, [released]), released)
    assert found[shown_name(("a", "b"))] == 4
    assert found[shown_name(("a", "c"))] == 2
    assert found["cases that begin with ⟨a⟩"] == 6
    assert found["cases with c"] == 2
    assert found["steps a → b"] == 4
    assert found["cases"] == 7
    assert found["events"] == 13
    assert found["variants"] == 3
    assert found["longest case"] == 2
    assert found["refusals"] == 0


def test_an_empty_release_is_all_zero() -> None:
    released = Variants.from_counts({("a", "b"): 4})
    features = learn_features(PAIR, [released])
    assert not features.measure([Variants.empty()]).any()


def test_a_refusal_is_an_outcome() -> None:
    released = Variants.from_counts({("a", "b"): 4})
    features = learn_features(PAIR, [released, None])
    measured = features.measure([None, released])
    assert measured[:, features.names.index("refusals")].tolist() == [1, 0]
    assert measured[0].sum() == 1


def test_a_log_has_times() -> None:
    before, after = pair("extreme times").logs
    features = learn_features(pair("extreme times"), [before, after])
    first, second = values(features, before), values(features, after)
    assert second["first event"] == 0 < first["first event"]
    assert second["longest duration of a case"] > 100 * first["longest duration of a case"]
    assert first["shortest time between two events"] == 3_600_000_000


def test_a_document_is_read_by_its_places() -> None:
    document = Figures(
        {"cases": 5, "pairs": [["a", "b", 3], ["b", "c", 4]], "tree": {"name": "x", "children": []}}
    )
    found = values(learn_features(PAIR, [document]), document)
    assert found["cases"] == 5
    assert found["pairs a b"] == 3
    assert found["pairs b c"] == 4
    assert found["tree.name is x"] == 1
    assert found["tree.children entries"] == 0
    other = values(learn_features(PAIR, [document]), Figures({"cases": 2}))
    assert other["pairs a b"] == 0


def test_other_things_are_refused() -> None:
    with pytest.raises(TypeError, match="cannot read a float"):
        learn_features(PAIR, [1.5])  # type: ignore[list-item]


def test_measuring_many_is_measuring_each() -> None:
    artefacts = [Variants.from_counts({("a", "b"): n, ("c",) * n: 1}) for n in range(1, 6)]
    features = learn_features(PAIR, artefacts)
    together = features.measure(artefacts)
    assert np.array_equal(together, np.vstack([features.measure([one]) for one in artefacts]))
    assert make_log([]).cases == 0
