import os
import subprocess
import sys
from collections import Counter
from itertools import pairwise, permutations

import numpy as np
import pytest
from scipy import stats

from discreet.privacy.randomness import Randomness

FALSE_ALARM = 1e-9
SYSTEM = Randomness.system()


def scripted(*words: int) -> Randomness:
    queue = list(words)
    return Randomness(
        lambda size: np.array([queue.pop(0) for _ in range(size)], np.uint64), secure=False
    )


def test_only_the_operating_system_is_secure() -> None:
    assert SYSTEM.secure
    assert not Randomness.seeded(1).secure


def test_a_seed_repeats_itself_and_differs_from_others() -> None:
    first, again, other = Randomness.seeded(7), Randomness.seeded(7), Randomness.seeded(8)
    words = first.words(5)
    assert (words == again.words(5)).all()
    assert (words != other.words(5)).all()
    assert (words != first.words(5)).all()
    assert first.permutation(9).tolist() != other.permutation(9).tolist()


def test_the_seeded_stream_is_the_same_everywhere() -> None:
    assert Randomness.seeded(0).words(2).tolist() == [259491006799949737, 4754966410622352325]


def test_every_bit_is_fair() -> None:
    words = SYSTEM.words(100_000)
    ones = [int((words >> np.uint64(bit) & np.uint64(1)).sum()) for bit in range(64)]
    assert min(stats.binomtest(count, words.size).pvalue for count in ones) > FALSE_ALARM


def test_bits_and_below_stay_in_range() -> None:
    rng = SYSTEM
    assert rng.bits(0) == 0
    assert {rng.bits(1) for _ in range(99)} == {0, 1}
    assert max(rng.bits(200) for _ in range(99)).bit_length() > 150
    assert rng.below(1) == 0
    assert {rng.below(3) for _ in range(199)} == {0, 1, 2}
    assert all(rng.below(10**40) < 10**40 for _ in range(99))


@pytest.mark.parametrize("bound", [1, 2, 6, 1000, 2**32, 3 * 2**61, 2**63])
def test_integers_are_uniform(bound: int) -> None:
    draws = SYSTEM.integers(bound, 100_000)
    assert draws.dtype == np.int64
    assert 0 <= draws.min() <= draws.max() < bound
    cells = min(bound, 10)
    edges = [-(-bound * cell // cells) for cell in range(cells + 1)]
    counts = Counter(np.searchsorted(np.array(edges[1:-1], np.int64), draws, "right").tolist())
    expected = [draws.size * (high - low) / bound for low, high in pairwise(edges)]
    observed = [counts[cell] for cell in range(cells)]
    assert cells == 1 or stats.chisquare(observed, expected).pvalue > FALSE_ALARM


def test_integers_redraw_the_incomplete_run() -> None:
    # 2**64 = 1 mod 3, so the largest word alone is left over
    assert scripted(2**64 - 2, 2**64 - 1, 5).integers(3, 2).tolist() == [2, 2]


def test_integers_below_bounds_of_their_own() -> None:
    assert scripted(2**64 - 2, 2**64 - 1, 2**64 - 1, 5).integers(
        np.array([3, 2, 3]), 3
    ).tolist() == [2, 1, 2]
    bounds = np.repeat([1, 3, 2**63 - 1], 30_000)
    draws = SYSTEM.integers(bounds, bounds.size)
    assert (draws < bounds).all()
    counts = np.bincount(draws[bounds == 3])
    assert stats.chisquare(counts).pvalue > FALSE_ALARM
    with pytest.raises(ValueError, match="bound"):
        SYSTEM.integers(np.array([1, 0]), 2)


def test_permutations_are_uniform() -> None:
    rng = SYSTEM
    counts = Counter(tuple(rng.permutation(4).tolist()) for _ in range(24_000))
    assert set(counts) == set(permutations(range(4)))
    assert stats.chisquare(list(counts.values())).pvalue > FALSE_ALARM


def test_a_permutation_with_tied_keys_is_drawn_again() -> None:
    assert scripted(5, 5, 9, 1, 8, 2).permutation(3).tolist() == [0, 2, 1]
    assert SYSTEM.permutation(0).tolist() == []


def test_bounds_are_checked() -> None:
    rng = SYSTEM
    with pytest.raises(ValueError, match="at least 1"):
        rng.below(0)
    for bound in (0, 2**63 + 1):
        with pytest.raises(ValueError, match="bound"):
            rng.integers(bound, 1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_process_draws_its_own_words() -> None:
    script = (
        "import os\n"
        "from discreet.privacy.randomness import Randomness\n"
        "rng = Randomness.system()\n"
        "rng.words(3)\n"
        "child = os.fork()\n"
        "os.write(1, rng.words(4).tobytes())\n"
        "child and os.waitpid(child, 0)\n"
    )
    output = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True).stdout
    words = np.frombuffer(output, np.uint64)
    assert words.size == 8
    assert len(set(words.tolist())) == 8
