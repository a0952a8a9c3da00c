from __future__ import annotations

from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.log.errors import LogError
from discreet.mechanisms.whole import Whole
from discreet.mechanisms.whole.declared_attributes import MOST_VOTES, ObservedValues
from tests.mechanisms.whole.logs import log_of, office


@pytest.mark.parametrize(
    ("attribute", "message"),
    [("colour", "no column 'colour'"), ("org:resource:number", "not numbers")],
)
def test_columns_that_do_not_fit_are_refused(attribute: str, message: str) -> None:
    with pytest.raises(LogError, match=message):
        Whole(attributes=(attribute,)).check(log_of(office(5)))


@given(seed=st.integers(0, 2**32))
@settings(max_examples=20, deadline=None)
def test_votes_are_few_and_distinct(seed: int) -> None:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 30, 12)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    codes = rng.integers(-1, 15, offsets[-1])
    observed = ObservedValues(codes, pl.Series(range(15)))
    instants = rng.integers(0, 10**15, offsets[-1])
    owner, value = observed.votes(offsets, instants, seed)
    for case, (begin, end) in enumerate(pairwise(offsets.tolist())):
        own = set(codes[begin:end].tolist()) - {-1}
        voted = value[owner == case].tolist()
        assert len(voted) == len(set(voted)) == min(len(own), MOST_VOTES)
        assert set(voted) <= own
        alone = ObservedValues(codes[begin:end], observed.values)
        same = alone.votes(np.array([0, end - begin]), instants[begin:end], seed)[1]
        assert same.tolist() == voted, "which values a case votes for depends on other cases"
