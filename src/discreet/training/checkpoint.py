"""Training under way, kept on disk so that an interruption neither loses nor doubles its cost.

A run is paid for once, before its first step. Its checkpoint holds what it has learned so far
and how many steps that took, so that a later process continues where it stopped and the released
model is the result of exactly the planned steps. Steps after the last checkpoint that a crash
swallowed are taken again with fresh noise: what they gave was never released.

A checkpoint is as secret as the log: it tells which log it belongs to, and steps that are still
to come would hide what it shows. It is readable by its owner only and is removed at the end.

What a step gave is shown only once a checkpoint holds it, and for a run that is paid for only once
its payment has moved on to that checkpoint (`Payment`). Otherwise an
attacker who kills and reruns a training, or runs copies of it, would see several outcomes of a
step for the price of one.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from discreet.arrays import Integers
from discreet.errors import DiscreetError
from discreet.log.errors import LogError
from discreet.log.events import EventLog
from discreet.log.files import atomic_write, readable
from discreet.mechanisms.trained.base import Generative, ModelState, under
from discreet.training.tensors import TensorError, pack, unpack

FORMAT = "discreet checkpoint 2"
SECRET = "Secret: training under way. Not a release; never share it. Keep it as the log is kept."

# Tuned
CHECKPOINT_SECONDS = 30.0
"""Seconds between checkpoints."""


class CheckpointError(LogError):
    """A checkpoint that cannot be resumed; says what to do with it."""


class StoppedError(DiscreetError):
    """Training was asked to stop and can be resumed from its checkpoint."""

    def __init__(self, by: int, path: Path) -> None:
        super().__init__(f"stopped by {signal.Signals(by).name}; kept in {path}")
        self.by, self.path = by, path


def checkpoint_path(output: Path) -> Path:
    """Where training that is to end in `output` is kept meanwhile."""
    return output.with_name(output.name + ".checkpoint")


@dataclass(frozen=True)
class Checkpoint:
    """All that is needed to resume a run."""

    identity: str
    """A digest of the log, the mechanism and its parameters: what it is a run of."""
    booking: dict[str, Any] = field(default_factory=dict)
    """How the ledger knows the run; empty if it is not booked."""
    kept: Integers | None = None
    """The cases that were kept of each individual, if they were bounded."""
    taken: dict[str, int] = field(default_factory=dict)
    """Steps taken so far by network."""
    state: ModelState | None = None
    before: str = ""
    """The mark of the checkpoint before this one."""
    mark: str = ""
    """A random token of this very checkpoint, by which a payment tells it from all others."""

    def write(self, path: Path) -> None:
        """Replace the file in one go, readable by its owner only."""
        arrays = {}
        if self.kept is not None:
            arrays["kept"] = self.kept.astype(np.int64)
        if self.state is not None:
            for name, tensor in self.state.tensors.items():
                plain = tensor if tensor.dtype.kind == "f" else tensor.astype(np.int64)
                arrays[f"state/{name}"] = plain
        run = {
            "identity": self.identity,
            "booking": self.booking,
            "taken": self.taken,
            "facts": None if self.state is None else self.state.facts,
            "before": self.before,
            "mark": self.mark,
        }
        content = pack(arrays, {"format": FORMAT, "notice": SECRET, "run": json.dumps(run)})
        if not path.exists():
            with _writing(path):
                os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
        with atomic_write(path) as stream:
            stream.write(content)

    @classmethod
    def read(cls, path: Path) -> Checkpoint | None:
        """The checkpoint at that place; None if there is none, or none was finished."""
        if not path.exists():
            return None
        with readable(path):
            content = path.read_bytes()
        if not content:
            return None
        try:
            arrays, metadata = unpack(content)
            if metadata.get("format") != FORMAT:
                raise TensorError("is something else")
            run, tensors = json.loads(metadata["run"]), under("state", arrays)
            return cls(
                identity=str(run["identity"]),
                booking=dict(run["booking"]),
                kept=arrays.get("kept"),
                taken={str(name): int(steps) for name, steps in run["taken"].items()},
                state=None if run["facts"] is None else ModelState(tensors, dict(run["facts"])),
                before=str(run["before"]),
                mark=str(run["mark"]),
            )
        except (TensorError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise CheckpointError(
                f"{path} is not a checkpoint that can be resumed ({error}); remove it to "
                "start over, which costs the budget again"
            ) from error


def identity(log: EventLog, mechanism: Generative, seed: int | None) -> str:
    """A digest of what a run is a run of."""
    total = hashlib.sha256(FORMAT.encode())
    settings = [mechanism.name, mechanism.settings, seed, list(log.activities), log.individual]
    total.update(json.dumps(settings, sort_keys=True).encode())
    total.update(np.ascontiguousarray(log.offsets, dtype="<i8").tobytes())
    total.update(np.ascontiguousarray(log.codes, dtype="<i4").tobytes())
    if mechanism.cases_per_individual is not None:
        total.update(np.ascontiguousarray(log.individual_of_case, dtype="<i8").tobytes())
    return total.hexdigest()


class Payment(Protocol):
    """What paid for a run and lets it continue from one checkpoint to the next.

    Each method raises if the run must not continue: it is another user's, or continued elsewhere.
    """

    mark: str | None
    """The mark of the first checkpoint, of a run that has just begun."""

    def resumed(self, before: str, mark: str) -> None:
        """Continue from a checkpoint with these marks."""

    def kept(self, before: str, mark: str) -> None:
        """A checkpoint is safe on disk, after the one marked `before`."""

    def finished(self, mark: str, model: str) -> None:
        """The run has ended, at the checkpoint so marked, in the model with this digest."""


class Unpaid:
    """No ledger knows of the run: nothing stands in its way."""

    mark: str | None = None

    def resumed(self, before: str, mark: str) -> None:
        """Let it continue."""

    def kept(self, before: str, mark: str) -> None:
        """Let it continue."""

    def finished(self, mark: str, model: str) -> None:
        """Let it be written."""


@dataclass(frozen=True)
class Progress:
    """Progress of a training, for the holder of the log only: the loss is raw.

    The loss is that of the last step that a checkpoint holds, and not a number before there is
    one. Where no checkpoints are kept, nothing can be resumed, and it is that of the last step.
    """

    network: str
    done: int
    steps: int
    loss: float
    taken: dict[str, int]
    """Steps taken so far by every network."""


@contextlib.contextmanager
def alone(path: Path) -> Iterator[None]:
    """Hold a run for this process: two that continued from one checkpoint would spend twice."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    lock = path.with_name(path.name + ".lock")
    while True:
        with _writing(lock):
            handle = os.open(lock, os.O_CREAT | os.O_RDWR, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(handle)
            raise CheckpointError(
                f"another process is training towards {path.name.removesuffix('.checkpoint')}; "
                "wait for it, or write to another file"
            ) from None
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(handle), lock.stat()):
                break
        os.close(handle)  # its holder has just removed it: what we hold, nobody else looks at
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            lock.unlink()
        os.close(handle)


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise LogError(f"{path} cannot be written: {error.strerror or error}") from None
