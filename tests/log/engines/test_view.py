"""Selection by counts alone: the same distribution, and few sequences leave the engine."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import stats

from discreet.arrays import Integers
from discreet.log.engines.memory import MemoryEngine
from discreet.log.engines.view import EngineLog, EngineVariants
from discreet.log.errors import LogError
from discreet.log.events import ACTIVITY, CASE, TIME, EventLog
from discreet.log.loading import read_log
from discreet.log.samples import sample_log
from discreet.log.variants import Variants
from discreet.log.writing import write_log
from discreet.mechanisms.headtail import HeadTail
from discreet.mechanisms.headtail.votes import noisy_votes
from discreet.mechanisms.registry import mechanism
from discreet.privacy.count_noise import CountNoise
from discreet.privacy.partition import OptimalSelection, Selection, select
from discreet.privacy.randomness import Randomness
from discreet.privacy.reserved import ReservedSelection
from tests.ways.test_mechanisms_in_engines import of_the_mechanism

pytest.importorskip("duckdb", reason="needs the extra duckdb")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("counting") / "log.parquet"
    write_log(sample_log("hospital", cases=900, seed=5), made)
    return made


@pytest.fixture
def many(path: Path, monkeypatch: pytest.MonkeyPatch) -> EngineLog:
    """A log whose variants are too many by a limit that is lowered for the test."""
    monkeypatch.setattr("discreet.log.engines.view.MOST_VARIANTS", 50)
    log = read_log(path, engine="duckdb")
    assert isinstance(log, EngineLog)
    return log


def test_selection_in_the_engine_is_selection(many: EngineLog) -> None:
    """The variants have one order in the engine and in memory: the same words select the same.

    That order was there before the noise, and `select` treats variants of one count alike: that is
    all the proof there is to the two distributions being one.
    """
    assert isinstance(many.counted, EngineVariants)
    check_selection(many.counted)


def test_selection_of_what_stays_in_memory_is_selection() -> None:
    check_selection(EngineVariants(MemoryEngine(sample_log("hospital", cases=300, seed=5))))


def check_selection(counted: EngineVariants) -> None:
    """What is shown has the noisy counts of the selection, not its own."""
    whole = counted.take(np.arange(len(counted)))
    assert list(whole) == list(counted.engine.variants())
    assert np.array_equal(whole.counts, counted.counts)
    for selection in (OptimalSelection(1.0, 1e-3), ReservedSelection(1.0, 1e-3, 0.6)):
        shown, noisy = select(selection, whole.counts, Randomness.seeded(3))
        again, same = select(selection, counted.counts, Randomness.seeded(3))
        assert counted.take(again, same) == whole.take(shown, noisy)


def test_what_is_shown_has_the_distribution_of_select() -> None:
    """Each variant, wherever the engine keeps it, is shown as often as its count says."""
    log = sample_log("hospital", cases=60, seed=2)
    counted = EngineVariants(MemoryEngine(log))
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


FEW_SEQUENCES: list[tuple[str, dict[str, object]]] = [
    ("travas", {}),
    ("travas", {"fidelity": "published"}),
    ("utravas", {}),
    ("utravas", {"runs": 2}),
    ("headtail", {"tail_sample": 0.2}),
]
"""What reads counts, and the sequences of a few."""


@pytest.mark.parametrize(("name", "more"), FEW_SEQUENCES)
def test_one_seed_gives_one_release_wherever_the_variants_are(
    name: str, more: dict[str, object], many: EngineLog
) -> None:
    """Each variant has the count that was drawn for it, by its place in one and the same order."""
    chosen = mechanism(name, epsilon=2.0, delta=1e-4, **more)
    expected = chosen.release(sample_log("hospital", cases=900, seed=5), insecure_seed=3)
    found = chosen.release(many, insecure_seed=3)
    assert isinstance(many.counted, EngineVariants)
    assert len(expected.artefact) > 5
    assert list(found.artefact) == list(expected.artefact)


@pytest.mark.parametrize(("name", "more"), FEW_SEQUENCES)
def test_few_sequences_reach_this_process(
    name: str, more: dict[str, object], many: EngineLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched = []
    take = EngineVariants.take

    def counting(self: EngineVariants, *given: np.ndarray) -> Variants:
        found = take(self, *given)
        fetched.append(len(found))
        return found

    monkeypatch.setattr(EngineVariants, "take", counting)
    monkeypatch.setattr(type(many.engine), "variants", _forbidden)
    chosen = mechanism(name, epsilon=2.0, delta=1e-4, **more)
    released = chosen.release(many)
    assert 0 < released.artefact.cases < 2 * many.cases
    assert 0 < sum(fetched) < 0.5 * len(many.counted)
    memory = sample_log("hospital", cases=900, seed=5)
    assert of_the_mechanism(chosen, many) == of_the_mechanism(chosen, memory)


PAIRS = ["".join(pair) for pair in product("abcd", repeat=2)]
"""Variants of two events, each followed by sixty cases or by one more."""


def tied_log(folder: Path, one_more: str = "") -> EventLog:
    """Sixteen frequent variants beside eighty cases that no other is like."""
    rare = ["abcdabcd" + "".join(rest) for rest in product("abcd", repeat=4)][:80]
    cases = [word for word in PAIRS for _ in range(60 + (word == one_more))]
    path = folder / f"tied{one_more}.parquet"
    rows = [
        (str(number), label, 1000 * number + place)
        for number, word in enumerate([*cases, *rare])
        for place, label in enumerate(word)
    ]
    names = dict(zip((CASE, ACTIVITY, TIME), zip(*rows, strict=True), strict=True))
    pl.DataFrame(names).with_columns(pl.col(TIME).cast(pl.Datetime("us"))).write_parquet(path)
    return read_log(path, engine="duckdb", memory="100MB")


def same_answers(selection: Selection, counts: np.ndarray, rng: Randomness) -> np.ndarray:
    """A noisy count of sixty for what is frequent, whatever the count was; the rest is hidden."""
    return np.where(counts > 50, 60, 0)


def test_ties_at_the_cut_of_the_votes_are_not_broken_by_raw_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of variants with one noisy count those open to votes are chosen by what they are.

    Were they chosen in the order of the raw counts, a variant with one case more than the others
    would come last of them: an event that hardly ever happens with the case and often without.
    """
    monkeypatch.setattr("discreet.log.engines.view.MOST_VARIANTS", 50)
    monkeypatch.setattr("discreet.mechanisms.headtail.tail.MOST_VOTED", 8)
    monkeypatch.setattr(ReservedSelection, "noisy", same_answers)
    ballots = []

    def watched(hidden: Variants, ballot: Variants, noise: CountNoise, rng: Randomness) -> Integers:
        ballots.append({"".join(sequence) for sequence, _ in ballot}.intersection(PAIRS))
        return noisy_votes(hidden, ballot, noise, rng)

    monkeypatch.setattr("discreet.mechanisms.headtail.tail.noisy_votes", watched)
    chosen = HeadTail(epsilon=1.0, delta=1e-6, tail_sample=0.5)
    for one_more in ("", "ab", "ad", "da", "dd"):
        log = tied_log(tmp_path, one_more)
        assert isinstance(log.counted, EngineVariants)
        assert log.cases == 16 * 60 + 80 + bool(one_more)
        chosen.release(log, insecure_seed=1)
    assert len(ballots[0]) == 8
    assert all(ballot == ballots[0] for ballot in ballots)


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
