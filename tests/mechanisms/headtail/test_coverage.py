from __future__ import annotations

from discreet.mechanisms.headtail import coverage
from discreet.mechanisms.headtail.spending import FEW_HIDDEN, MANY_HIDDEN, NO_HEAD
from discreet.privacy.count_noise import CountNoise


def test_the_way_follows_the_probe() -> None:
    def gone(frequent: int, rare: int, epsilon: float = 0.04, *, public: bool = False) -> str:
        return coverage.chosen_way(frequent, rare, CountNoise.laplace(1, epsilon), 0.007, public)

    assert gone(900, 100) == FEW_HIDDEN
    assert gone(10, 2990) == NO_HEAD
    assert gone(80_000, 20_000) == MANY_HIDDEN
    # Few cases leave nothing to learn: a head is looked for even if it covers little.
    assert gone(80, 320, 10.0) == FEW_HIDDEN
    # Where activities are public a poor model has names for them, so a head must cover more.
    assert gone(20, 180, 10.0) != NO_HEAD
    assert gone(20, 180, 10.0, public=True) == NO_HEAD
    assert gone(60, 140, 10.0, public=True) != NO_HEAD
    # A probe that says nothing leaves the middle likely, whatever it seems to show.
    assert gone(10, 990, 1e-6) == gone(500, 500, 1e-6)


def test_a_model_is_learned_beside_a_head_if_the_hidden_cases_say_more() -> None:
    assert coverage.worth_learning(clear=20, covered=0.7)
    assert not coverage.worth_learning(clear=2, covered=0.7)
    assert coverage.worth_learning(clear=2, covered=0.1)
