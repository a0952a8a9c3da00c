from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.log.variants import Variants
from discreet.mechanisms.dpim.case_statistics import GRID, CaseStatistics
from discreet.models.inductive import inductive_miner
from discreet.models.tree import activity, flower, sequence

LETTERS = tuple("abcd")


sequences = st.lists(st.sampled_from(LETTERS), max_size=12).map(tuple)


def one(*sequence_: str) -> CaseStatistics:
    return CaseStatistics(Variants.from_counts({tuple(sequence_): 1}), LETTERS)


class TestSensitivity:
    """The proofs rest on these bounds; each is checked on arbitrary cases."""

    @given(sequences, sequences, st.integers(1, 6))
    @settings(max_examples=120, deadline=None)
    def test_a_swap_moves_the_bounded_pairs_by_no_more_than_stated(
        self, old: tuple[str, ...], new: tuple[str, ...], max_pairs: int
    ) -> None:
        before, after = one(*old), one(*new)
        l2 = before.bounded_pair_counts(max_pairs, 2) - after.bounded_pair_counts(max_pairs, 2)
        assert (l2.astype(object) ** 2).sum() <= 2 * max_pairs * GRID**2
        l1 = before.bounded_pair_counts(max_pairs, 1) - after.bounded_pair_counts(max_pairs, 1)
        assert abs(l1).sum() <= 2 * max_pairs * GRID
        # A case that only vanishes moves less.
        assert before.bounded_pair_counts(max_pairs, 1).sum() <= max_pairs * GRID

    @given(sequences, sequences)
    @settings(max_examples=80, deadline=None)
    def test_a_swap_moves_counts_starts_and_ends_as_stated(
        self, old: tuple[str, ...], new: tuple[str, ...]
    ) -> None:
        before, after = one(*old), one(*new)
        assert abs(before.pair_counts() - after.pair_counts()).max() <= 1
        for members in ({0, 1}, {0, 1, 2, 3}, {3}):
            for x, y in zip(
                before.first_and_last(members), after.first_and_last(members), strict=True
            ):
                assert abs(x - y).sum() <= 2

    @given(sequences, st.floats(0, 1))
    @settings(max_examples=50, deadline=None)
    def test_a_case_adds_between_nothing_and_one_to_the_scores(
        self, sequence_: tuple[str, ...], weight: float
    ) -> None:
        case = one(*sequence_)
        for tree in (flower(LETTERS), sequence(activity("a"), activity("b")), activity("z")):
            result = case.replay(tree)
            assert 0 <= case.fitness_sum(result) <= GRID
            assert 0 <= case.quality_sum(result, weight) <= GRID

    @given(st.lists(sequences, min_size=1, max_size=6), st.floats(0, 1))
    @settings(max_examples=60, deadline=None)
    def test_scores_are_sums_over_cases(self, log: list[tuple[str, ...]], weight: float) -> None:
        tree = inductive_miner({("a", "b", "c"): 1, ("a", "c"): 1})
        whole = CaseStatistics(Variants.from_counts([(case, 1) for case in log]), LETTERS)
        result = whole.replay(tree)
        single = [one(*case) for case in log]
        assert whole.quality_sum(result, weight) == sum(
            case.quality_sum(case.replay(tree), weight) for case in single
        )
        assert whole.fitness_sum(result) == sum(
            case.fitness_sum(case.replay(tree)) for case in single
        )
        assert (
            whole.bounded_pair_counts(3, 2)
            == sum(case.bounded_pair_counts(3, 2) for case in single)
        ).all()

    def test_events_outside_the_alphabet_are_passed_over(self) -> None:
        assert (one("a", "x", "b").pair_counts() == one("a", "b").pair_counts()).all()
        nothing = one("x")
        assert nothing.number == 1
        assert nothing.pair_counts()[-1, -1] == 1
