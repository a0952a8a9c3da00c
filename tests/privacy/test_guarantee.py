"""The guarantee: consistent, plain, and the same after a trip through JSON."""

from __future__ import annotations

import json
from dataclasses import asdict
from string import Formatter

import pytest

from discreet.language import LanguageError
from discreet.privacy.guarantee import Budget, Guarantee, Part
from discreet.privacy.wording import TooWeakError, vocabulary


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


@pytest.mark.parametrize(
    ("budget", "level", "gist"),
    [
        (Budget(0.5, 1e-6), "strong", "almost the same"),
        (Budget(1, 1e-6), "strong", "almost the same"),
        (Budget(2, 1e-6), "moderate", "left in doubt"),
        (Budget(5), "weak", "WEAK PROTECTION"),
        (Budget(20), "hardly any", "HARDLY ANY PROTECTION"),
        (Budget(0.1, 0.9999), "hardly any", "HARDLY ANY PROTECTION"),
    ],
)
def test_the_words_depend_on_the_numbers(budget: Budget, level: str, gist: str) -> None:
    promise = proved(claimed=budget, holds=budget)
    assert promise.strength == level
    assert gist in promise.explain()
    assert ("almost the same" in promise.explain()) == (level == "strong")
    assert bool(promise.warnings()) == (level in ("weak", "hardly any"))


def test_delta_is_read_against_the_released_cases() -> None:
    promise = proved(claimed=Budget(1, 1e-3), holds=Budget(1, 1e-3))
    assert promise.warnings(cases=99) == ()
    (said,) = promise.warnings(cases=1000)
    assert "δ = 0.001 is too large for 1,000 released cases" in said


def test_what_has_no_bound_or_a_seed_has_no_strength() -> None:
    assert proved(status="refuted", holds=None).strength == "none"
    assert proved(randomness="seeded").strength == "none"
    assert "NOT PRIVATE" in proved(randomness="seeded").warnings()[0]


def test_too_little_protection_is_refused_for_who_does_not_insist() -> None:
    Budget(10, 0.01).refuse_if_too_weak()
    for budget in (Budget(10.1), Budget(1, 0.02)):
        with pytest.raises(TooWeakError, match="--allow-weak"):
            budget.refuse_if_too_weak()


def test_every_language_says_everything() -> None:
    """The same sentences with the same places for numbers, and none left untranslated."""

    def places(text: str) -> set[str]:
        return {name for _, name, _, _ in Formatter().parse(text) if name}

    english, german = asdict(vocabulary("en")), asdict(vocabulary("de"))
    for name, said in english.items():
        other = german[name]
        if isinstance(said, str):
            assert places(said) == places(other), name
            assert said != other
        else:
            assert said.keys() == other.keys(), name
            assert said != other
    with pytest.raises(LanguageError, match="en or de"):
        vocabulary("fr")


def test_german_by_argument_or_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "fast dasselbe" in proved().explain("de")
    monkeypatch.setenv("DISCREET_LANGUAGE", "de")
    assert "Das ist bewiesen." in proved().explain()


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
