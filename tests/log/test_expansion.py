"""Variants written out as cases: making each variant once gives what making each case gave."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from discreet.log.digest import content_digest
from discreet.log.events import Classifier
from discreet.log.expansion import Expansion
from discreet.log.formats.xes.writer import expanded_pieces, xes_pieces
from discreet.log.loading import read_log
from discreet.log.log_attributes import as_attributes
from discreet.log.variants import Variants
from discreet.log.writing import write_log

COUNTS = {
    ("a", "b", "a"): 3,
    ("a", "é & <ü>+start"): 2,
    ('say "x"', "b+", "+"): 2,
    (): 2,
    ("b",): 0,
    ("a" * 40, "a", "a", "a"): 1,
}


@pytest.fixture(params=["activity", "activity+lifecycle"])
def expansion(request: pytest.FixtureRequest) -> Expansion:
    variants = Variants.from_counts(COUNTS)
    order = np.random.default_rng(3).permutation(variants.cases)
    names = ["case é", "z", "10", "9", "&<", "b", "a", "x", "Ω", "y"][: variants.cases]
    classifier: Classifier = request.param
    return Expansion(variants, order, names, {"concept:name": "what"}, classifier)


def test_the_digest_is_that_of_the_log(expansion: Expansion) -> None:
    assert content_digest(expansion) == content_digest(expansion.log())
    none = Expansion(Variants.empty(("a",)), np.zeros(0, np.int64), [])
    assert content_digest(none) == content_digest(none.log())


def test_the_markup_is_that_of_the_log(expansion: Expansion) -> None:
    given = as_attributes({"made by": "a test"})
    expected = b"".join(xes_pieces(expansion.log(), given))
    assert b"".join(expanded_pieces(expansion, given)) == expected


@pytest.mark.parametrize("suffix", [".xes", ".xes.gz", ".csv", ".parquet"])
def test_every_form_reads_as_it_was(suffix: str, expansion: Expansion, tmp_path: Path) -> None:
    path = tmp_path / f"log{suffix}"
    write_log(expansion, path)
    activity = None if ".xes" in suffix else "what"
    found = read_log(path, classifier=expansion.classifier, activity=activity)
    assert content_digest(found) == content_digest(expansion)
    assert sorted(found.case_ids) == sorted(expansion.case_ids)
