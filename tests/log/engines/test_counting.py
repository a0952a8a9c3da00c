"""Selection by counts alone: the same distribution, and few sequences leave the engine."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from discreet.log.engines.counting import InEngine
from discreet.log.engines.lazy import EngineLog
from discreet.log.engines.memory import MemoryEngine
from discreet.log.errors import LogError
from discreet.log.reading import read_log
from discreet.log.samples import sample_log
from discreet.log.variants import Variants
from discreet.log.writing import write_log
from discreet.mechanisms.registry import mechanism
from discreet.privacy.partition import OptimalSelection, select
from discreet.privacy.randomness import Randomness
from discreet.privacy.reserved import ReservedSelection

pytest.importorskip("duckdb", reason="needs the extra duckdb")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("counting") / "log.parquet"
    write_log(sample_log("hospital", cases=900, seed=5), made)
    return made


@pytest.fixture
def many(path: Path, monkeypatch: pytest.MonkeyPatch) -> EngineLog:
    """A log whose variants are too many by a limit that is lowered for the test."""
    monkeypatch.setattr("discreet.log.engines.lazy.MOST_VARIANTS", 50)
    log = read_log(path, engine="duckdb")
    assert isinstance(log, EngineLog)
    return log


def test_selection_in_the_engine_is_selection(many: EngineLog) -> None:
    """With the variants in the engine's order, the same words select the same with the same noise.

    The order was there before the noise, and `select` treats variants of one count alike: that is
    all the proof there is to the two distributions being one.
    """
    assert isinstance(many.counted, InEngine)
    check_selection(many.counted)


def test_selection_of_what_stays_in_memory_is_selection() -> None:
    check_selection(InEngine(MemoryEngine(sample_log("hospital", cases=300, seed=5))))


def check_selection(counted: InEngine) -> None:
    """What is shown has the noisy counts of the selection, not its own."""
    whole = counted.take(np.arange(len(counted)))
    assert whole == counted.engine.variants()
    assert np.array_equal(whole.counts, counted.counts)
    for selection in (OptimalSelection(1.0, 1e-3), ReservedSelection(1.0, 1e-3, 0.6)):
        shown, noisy = select(selection, whole.counts, Randomness.seeded(3))
        again, same = select(selection, counted.counts, Randomness.seeded(3))
        assert counted.take(again, same) == whole.take(shown, noisy)


def test_what_is_shown_has_the_distribution_of_select() -> None:
    """Each variant, wherever the engine keeps it, is shown as often as its count says."""
    log = sample_log("hospital", cases=60, seed=2)
    counted = InEngine(MemoryEngine(log))
    selection, rng, runs = OptimalSelection(1.0, 0.1), Randomness.seeded(11), 1500
    place = {sequence: i for i, (sequence, _) in enumerate(log.variants)}
    seen = np.zeros(len(place))
    for _ in range(runs):
        released = counted.take(*select(selection, counted.counts, rng))
        for i in range(len(released)):
            seen[place[released.sequence(i)]] += 1
    chance = np.array([float(selection.probability(int(n))) for n in log.variants.counts])
    open_ones = (chance > 0) & (chance < 1)
    expected = runs * chance[open_ones]
    score = ((seen[open_ones] - expected) ** 2 / (expected * (1 - chance[open_ones]))).sum()
    assert score < stats.chi2.isf(1e-8, int(open_ones.sum()))
    assert np.array_equal(seen[~open_ones], runs * chance[~open_ones])


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("travas", {}),
        ("travas", {"fidelity": "published"}),
        ("utravas", {"runs": 2}),
        ("headtail", {"tail_sample": 0.2}),
    ],
)
def test_few_sequences_reach_this_process(
    name: str, more: dict[str, object], many: EngineLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched = []
    take = InEngine.take

    def counting(self: InEngine, *given: np.ndarray) -> Variants:
        found = take(self, *given)
        fetched.append(len(found))
        return found

    monkeypatch.setattr(InEngine, "take", counting)
    monkeypatch.setattr(type(many.engine), "variants", _forbidden)
    chosen = mechanism(name, epsilon=2.0, delta=1e-4, **more)
    released = chosen.release(many)
    assert 0 < released.artefact.cases < 2 * many.cases
    assert 0 < sum(fetched) < 0.5 * len(many.counted)
    assert chosen.advice(many) == chosen.advice(sample_log("hospital", cases=900, seed=5))


def _forbidden(engine: object) -> Variants:
    raise AssertionError("all variants are asked for")


def test_what_needs_all_variants_says_what_to_do(many: EngineLog) -> None:
    many.engine.memory = 1000  # type: ignore[misc]
    for name in ("laplace", "headtail"):
        chosen = mechanism(
            name, epsilon=1.0, **({"alphabet": "from-log"} if name == "laplace" else {})
        )
        with pytest.raises(LogError, match=r"its variants.*travas.*tail-sample.*--memory"):
            chosen.check(many)
    with pytest.raises(LogError, match="counts of its variants"):
        mechanism("travas", epsilon=1.0).check(many)
