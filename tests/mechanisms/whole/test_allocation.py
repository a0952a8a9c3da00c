from __future__ import annotations

import pytest

from discreet.mechanisms.whole import Whole


def test_shares_add_up_and_never_cost_more() -> None:
    for attributes in ((), ("a",), ("a", "case:b:number", "c=x|y", "case:d:boolean")):
        for epsilon in (0.1, 1.0, 10.0):
            promise = Whole(epsilon=epsilon, attributes=attributes).guarantee()
            assert promise.holds is not None
            assert promise.holds.epsilon == pytest.approx(epsilon, rel=0.011)
            assert promise.holds.epsilon <= epsilon
            assert promise.holds.delta <= 1e-6
