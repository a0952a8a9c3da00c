"""The guarantee: consistent, plain, and the same after a trip through JSON."""

from __future__ import annotations

import json

import pytest

from discreet.privacy.guarantee import Budget, Guarantee, Part


def proved(**changes: object) -> Guarantee:
    values: dict[str, object] = {
        "status": "proved",
        "claimed": Budget(1.0, 1e-6),
        "holds": Budget(1.0, 1e-6),
        "reason": "Because.",
        "parts": (Part("one", 1.0, 1e-6),),
    }
    return Guarantee(**(values | changes))  # type: ignore[arg-type]


def test_round_trip_through_json() -> None:
    for guarantee in (
        proved(),
        proved(conditions=("the alphabet",), status="conditional", unit="case"),
        proved(status="refuted", holds=None),
        proved(parts=(Part("noise", rho=0.25),), randomness="seeded"),
    ):
        assert Guarantee.from_dict(json.loads(json.dumps(guarantee.to_dict()))) == guarantee


def test_explain_says_what_matters() -> None:
    text = proved(conditions=("the alphabet",)).explain()
    assert "adding or removing one case" in text
    assert "2.718" in text
    assert "δ = 1e-06" in text
    assert "73.1%" in text
    assert "Taken as public: the alphabet." in text
    assert "NOT PRIVATE" not in text


def test_explain_of_what_does_not_hold() -> None:
    text = proved(status="refuted", holds=None).explain()
    assert "no differential-privacy guarantee" in text
    assert "Claimed: ε = 1, δ = 1e-06. What holds: nothing finite." in text
    larger = proved(status="refuted", holds=Budget(23.0)).explain()
    assert "What holds: ε = 23, δ = 0." in larger


def test_a_seed_is_never_private() -> None:
    seeded = proved(randomness="seeded")
    assert not seeded.private
    assert seeded.explain().startswith("NOT PRIVATE")
    assert proved().private
    assert not proved(status="unproved", holds=None).private


def test_huge_epsilon_is_explained_without_overflow() -> None:
    assert "e^1e+05" in proved(claimed=Budget(1e5), holds=Budget(1e5)).explain()


@pytest.mark.parametrize(
    "changes",
    [
        {"status": "certain"},
        {"neighbours": "friends"},
        {"unit": "event"},
        {"randomness": "dice"},
        {"holds": None},
        {"status": "conditional"},
    ],
)
def test_inconsistent_statements_are_refused(changes: dict[str, object]) -> None:
    with pytest.raises(ValueError):
        proved(**changes)


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(-1, 0), (float("nan"), 0), (float("inf"), 0), (1, 2)]
)
def test_budgets_out_of_range_are_refused(epsilon: float, delta: float) -> None:
    with pytest.raises(ValueError):
        Budget(epsilon, delta)


def test_shares_never_exceed_the_budget() -> None:
    budget = Budget(0.1, 1e-7)
    for count in (1, 3, 7, 49, 1000):
        share = budget.share(1 / count)
        assert count * share.epsilon <= budget.epsilon
        assert count * share.delta <= budget.delta
    assert budget.share(1) is budget
    assert budget.share(0.5, 0).delta == 0
