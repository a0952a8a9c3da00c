from discreet.models.tree import TAU, activity, exclusive, loop, parallel, sequence
from tests.models.playout import play_out


def test_play_out_draws_the_language() -> None:
    a, b, c = (activity(label) for label in "abc")
    drawn = play_out(sequence(a, exclusive(b, TAU), c), cases=200, seed=1).to_dict()
    assert set(drawn) == {("a", "b", "c"), ("a", "c")}
    assert sum(drawn.values()) == 200
    assert min(drawn.values()) > 50


def test_interleavings_are_even() -> None:
    drawn = play_out(
        parallel(sequence(activity("a"), activity("b")), activity("c")), cases=3000, seed=2
    ).to_dict()
    assert set(drawn) == {tuple("abc"), tuple("acb"), tuple("cab")}
    # Three ways, each a third: 3000 cases, five standard deviations.
    assert all(abs(count - 1000) < 130 for count in drawn.values())


def test_loops_stop_at_the_longest_case() -> None:
    drawn = play_out(loop(activity("a")), cases=50, seed=3, max_length=4)
    assert max(drawn.lengths) <= 5
