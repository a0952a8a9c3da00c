"""Training in several goes: nothing lost, nothing paid or taken twice, nobody else's run."""

from __future__ import annotations

import json
import math
import os
import signal
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.log.events import EventLog
from discreet.log.samples import sample_log
from discreet.mechanisms.trained.base import ModelState
from discreet.mechanisms.trained.sequence import Sequence
from discreet.training.checkpoint import (
    Checkpoint,
    CheckpointError,
    Progress,
    StoppedError,
    alone,
    checkpoint_path,
    identity,
)
from discreet.training.run import Training
from discreet.training.tensors import pack, unpack

pytest.importorskip("torch", reason="the extra generative is missing")

STEPS = 6


@pytest.fixture(scope="module")
def log() -> EventLog:
    return sample_log("hospital", cases=40, seed=1)


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "model.discreet"


def small(**parameters: Any) -> Sequence:
    return Sequence(max_length=8, steps=STEPS, **parameters)


def at_step(number: int, act: Callable[[], object]) -> Callable[[Progress], None]:
    def show(progress: Progress) -> None:
        if progress.done == number:
            act()

    return show


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def state_of(path: Path) -> Checkpoint:
    found = Checkpoint.read(path)
    assert found is not None
    return found


@pytest.mark.parametrize("number", [0, 1, 3, STEPS])
def test_stopped_and_gone_on_with(log: EventLog, output: Path, number: int) -> None:
    path = checkpoint_path(output)
    run = Training(small(), log)
    with pytest.raises(StoppedError), run.kept_beside(output) as kept:
        kept.train(show=at_step(number, interrupt), every=1e9)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    found = state_of(path)
    assert found.taken == {"network": number}
    assert found.state is not None
    assert int(found.state.tensors["taken"]) == number
    seen: list[int] = []
    with run.kept_beside(output) as kept:
        model = kept.train(show=lambda progress: seen.append(progress.done))
        assert seen == list(range(number + 1, STEPS + 1))
        assert state_of(path).taken == {"network": STEPS}
        assert model.state.facts == found.state.facts
        kept.save(model, output)
    assert not path.exists()
    assert [entry.name for entry in output.parent.iterdir()] == [output.name]


def test_a_crash_goes_on_from_the_last_checkpoint(log: EventLog, output: Path) -> None:
    class CrashError(Exception):
        pass

    def crash() -> None:
        raise CrashError

    run = Training(small(), log)
    with pytest.raises(CrashError), run.kept_beside(output) as kept:
        kept.train(show=at_step(4, crash), every=0)
    before = state_of(checkpoint_path(output))
    assert before.taken == {"network": 4}, "kept before it is shown"
    assert before.state is not None
    seen: list[int] = []
    with run.kept_beside(output) as kept:
        kept.train(show=lambda progress: seen.append(progress.done), every=0)
    assert seen == [5, 6]


def test_going_on_gives_what_one_go_gives(log: EventLog, output: Path) -> None:
    """With the same noise in every step the weights are the same to the last bit."""
    whole: dict[int, Checkpoint] = {}
    run = Training(small(), log, seed=5)
    path = checkpoint_path(output)

    def remember(progress: Progress) -> None:
        whole[progress.done] = state_of(path)

    with run.kept_beside(output) as kept:
        first = kept.train(show=remember, every=0)
    whole[2].write(path)
    with run.kept_beside(output) as kept:
        again = kept.train(every=0)
    whole[2].write(path)
    with run.kept_beside(output) as kept:
        twice = kept.train(every=0)
    for name, tensor in again.state.tensors.items():
        np.testing.assert_array_equal(twice.state.tensors[name], tensor)
        assert not np.array_equal(first.state.tensors[name], tensor), "noise was drawn again"
    assert whole[2].state is not None
    assert whole[2].state.facts == again.state.facts


def test_the_kept_cases_of_individuals_stay(output: Path) -> None:
    log = replace(sample_log("permits", cases=60, seed=3), individual="case:person")
    run = Training(small(cases_per_individual=1), log)
    with pytest.raises(StoppedError), run.kept_beside(output) as kept:
        kept.train(show=at_step(2, interrupt))
    kept_before = state_of(checkpoint_path(output)).kept
    assert kept_before is not None
    assert len(np.unique(log.individual_of_case[kept_before])) == len(kept_before)
    with run.kept_beside(output) as kept:
        kept.train()
        after = state_of(kept.path).kept
    assert after is not None
    np.testing.assert_array_equal(kept_before, after)


def test_another_run_is_refused(log: EventLog, output: Path) -> None:
    with pytest.raises(StoppedError), Training(small(), log).kept_beside(output) as kept:
        kept.train(show=at_step(2, interrupt))
    content = checkpoint_path(output).read_bytes()
    others = (
        Training(small(epsilon=2), log),
        Training(small(delta=1e-7), log),
        Training(small(), log, seed=1),
        Training(small(), sample_log("hospital", cases=40, seed=2)),
        Training(small(), log.take_cases(np.arange(39))),
    )
    for other in others:
        with (
            pytest.raises(CheckpointError, match="another log or with other parameters"),
            other.kept_beside(output),
        ):
            pass
    assert checkpoint_path(output).read_bytes() == content


def test_the_identity_reads_what_matters(log: EventLog) -> None:
    seen = {
        identity(log, small(), None),
        identity(log, small(), 0),
        identity(log, Sequence(max_length=8), None),
        identity(log.take_cases(np.arange(1, log.cases)), small(), None),
    }
    assert len(seen) == 4
    assert identity(log, small(), None) in seen


def test_two_processes_do_not_share_a_run(log: EventLog, output: Path) -> None:
    with (
        alone(checkpoint_path(output)),
        pytest.raises(CheckpointError, match="another process"),
        Training(small(), log).kept_beside(output),
    ):
        pass
    with Training(small(), log).kept_beside(output) as kept:
        assert kept.found is None


def test_a_checkpoint_is_secret_and_says_so(log: EventLog, output: Path) -> None:
    with pytest.raises(StoppedError), Training(small(), log).kept_beside(output) as kept:
        kept.train(show=at_step(2, interrupt))
    path = checkpoint_path(output)
    assert path.stat().st_mode & 0o777 == 0o600
    _, metadata = unpack(path.read_bytes())
    assert metadata["notice"].startswith("Secret")
    assert not [entry for entry in output.parent.iterdir() if entry.name.startswith(".")]


def test_checkpoints_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "x.checkpoint"
    state = ModelState({"a": np.ones((2, 2)), "n": np.array(3)}, {"cases": 3})
    written = Checkpoint("id", {"use": "none"}, np.array([1, 5]), {"network": 2}, state, "b", "m")
    written.write(path)
    read = state_of(path)
    assert (read.identity, read.booking, read.taken) == ("id", {"use": "none"}, {"network": 2})
    assert (read.before, read.mark) == ("b", "m")
    assert read.kept is not None
    assert read.kept.tolist() == [1, 5]
    assert read.state is not None
    assert read.state.facts == state.facts
    np.testing.assert_array_equal(read.state.tensors["a"], state.tensors["a"])
    Checkpoint("id").write(path)
    assert state_of(path) == Checkpoint("id")
    assert Checkpoint.read(tmp_path / "none") is None
    path.write_bytes(b"")
    assert Checkpoint.read(path) is None, "a first write that a crash cut off"


@pytest.mark.parametrize(
    "content",
    [
        b"nonsense",
        pack({}, {"format": "discreet model 1"}),
        pack({}, {"format": "discreet checkpoint 2"}),
        pack({}, {"format": "discreet checkpoint 2", "run": "[]"}),
        pack({}, {"format": "discreet checkpoint 2", "run": json.dumps({"identity": "x"})}),
    ],
)
def test_a_damaged_checkpoint_says_what_to_do(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.checkpoint"
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match="remove it to start over"):
        Checkpoint.read(path)


def test_a_second_signal_stops_at_once(log: EventLog, tmp_path: Path) -> None:
    run = Training(small(), log, kept_at=tmp_path / "x.checkpoint")
    with run.stopping_gently():
        os.kill(os.getpid(), signal.SIGTERM)
        assert run.stop == signal.SIGTERM
        with pytest.raises(KeyboardInterrupt):
            interrupt()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_other_threads_leave_signals_alone(log: EventLog, tmp_path: Path) -> None:
    seen: list[object] = []

    def run() -> None:
        with Training(small(), log, kept_at=tmp_path / "x.checkpoint").stopping_gently():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert seen == [signal.default_int_handler]


def test_nothing_of_a_step_is_shown_before_a_checkpoint_holds_it(
    log: EventLog, output: Path
) -> None:
    """A loss that is shown and then lost in a crash would be drawn again, for nothing."""
    path = checkpoint_path(output)
    shown: list[tuple[int, int, float]] = []

    def look(progress: Progress) -> None:
        shown.append((progress.done, state_of(path).taken["network"], progress.loss))

    with Training(small(), log).kept_beside(output) as kept:
        kept.train(show=look, every=1e9)
    assert [done for done, _, _ in shown] == list(range(STEPS + 1))
    assert [held for _, held, _ in shown] == [0] * STEPS + [STEPS]
    assert [math.isnan(loss) for _, _, loss in shown] == [True] * STEPS + [False]

    shown.clear()
    with Training(small(), log).kept_beside(output.with_name("other.discreet")) as kept:
        path = kept.path
        kept.train(show=look, every=0)
    assert all(done == held for done, held, _ in shown)
    assert not any(math.isnan(loss) for _, _, loss in shown[1:])


def test_the_end_gives_the_same_model_again(log: EventLog, output: Path) -> None:
    """So that a crash between the last step and the model's file costs nothing."""
    run = Training(small(), log)
    with run.kept_beside(output) as kept:
        first = kept.train()
    with run.kept_beside(output) as kept:
        again = kept.train()
        assert again.certificate().content_sha256 == first.certificate().content_sha256
        kept.save(again, output)
    assert not checkpoint_path(output).exists()


def test_a_training_that_is_not_kept_begins_anew_each_time(log: EventLog) -> None:
    run = Training(small(), log, seed=5)
    first, again = run.train(), run.train()
    assert again.certificate().content_sha256 == first.certificate().content_sha256
