"""Train a mechanism on a log, now or in several goes."""

from __future__ import annotations

import contextlib
import hashlib
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from discreet.certificate import Certificate
from discreet.log.events import EventLog
from discreet.mechanisms.base import Mechanism, kept_cases
from discreet.mechanisms.registry import mechanism as named
from discreet.mechanisms.trained.base import Generative, require_torch
from discreet.parameters import ParameterError
from discreet.privacy.randomness import Randomness
from discreet.training.checkpoint import (
    CHECKPOINT_SECONDS,
    Checkpoint,
    CheckpointError,
    Keeper,
    Payment,
    Progress,
    Unpaid,
    alone,
    checkpoint_path,
    identity,
)
from discreet.training.trained_model import TrainedModel

Show = Callable[[Progress], None]


def train(
    log: EventLog,
    mechanism: Mechanism | str,
    *,
    insecure_seed: int | None = None,
    show: Show | None = None,
    **parameters: Any,
) -> TrainedModel:
    """Train a generative mechanism on a log: one guarantee for everything drawn from it later.

    The mechanism is given ready or by name with its parameters. `insecure_seed` makes the
    training repeatable and marks the model as not private; `show` is called after every step, with
    its raw loss; nothing is kept that could be resumed.
    """
    ready = named(mechanism, **parameters) if isinstance(mechanism, str) else mechanism
    chosen = trainable(ready)
    chosen.check(log)
    run = Training(chosen, log, insecure_seed)
    return run.train(Keeper(None, run.first, show=show))


def trainable(mechanism: Mechanism) -> Generative:
    """The mechanism, if it is one that trains a model and all it needs is installed."""
    if not isinstance(mechanism, Generative):
        raise ParameterError(
            f"{mechanism.name} trains no model; use discreet release, or one of ddpm, sequence "
            "and travag here"
        )
    require_torch(mechanism.name)
    return mechanism


@dataclass
class Training:
    """One run of a mechanism on a log."""

    mechanism: Generative
    log: EventLog
    seed: int | None = None

    @property
    def first(self) -> Checkpoint:
        """The run before its first step."""
        return Checkpoint(identity(self.log, self.mechanism, self.seed))

    @contextlib.contextmanager
    def kept_beside(self, output: Path) -> Iterator[Kept]:
        """The run with a checkpoint beside the model's file, which no other process may touch."""
        path = checkpoint_path(output)
        with alone(path):
            found = Checkpoint.read(path)
            if found is not None and found.identity != self.first.identity:
                raise CheckpointError(
                    f"{path.name} belongs to a training of another log or with other parameters. "
                    "Finish it with the command that began it, write to another file, or remove "
                    "the checkpoint: what that training cost stays spent"
                )
            yield Kept(self, path, found)

    def train(self, keeper: Keeper) -> TrainedModel:
        """Train to the end, resuming from what the keeper has."""
        rng = self._rng(keeper.checkpoint)
        log = self.log
        if self.mechanism.cases_per_individual is not None:
            kept = keeper.checkpoint.kept
            if kept is None:
                kept = kept_cases(log, self.mechanism.cases_per_individual, rng)
                keeper.checkpoint = replace(keeper.checkpoint, kept=kept)
            log = log.take_cases(kept)
        with keeper.stopping_gently():
            state = self.mechanism._train(log, rng, keeper)
        promise = self.mechanism.promise(self.log)
        if not rng.secure:
            promise = replace(promise, randomness="seeded")
        return TrainedModel(self.mechanism, promise, state, origin=self.log.origin)

    def _rng(self, checkpoint: Checkpoint) -> Randomness:
        """Fresh randomness; a seeded run never draws again what it drew before it was stopped."""
        if self.seed is None:
            return Randomness.system()
        if not checkpoint.taken:
            return Randomness.seeded(self.seed)
        text = f"{self.seed} {sorted(checkpoint.taken.items())}"
        return Randomness.seeded(int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]))


@dataclass
class Kept:
    """A run and the place where it is kept between goes."""

    run: Training
    path: Path
    found: Checkpoint | None
    """What an earlier go left."""
    payment: Payment = field(default_factory=Unpaid)
    last: Checkpoint | None = None
    """The checkpoint that the finished run left."""

    def begin(self, payment: Payment, booking: dict[str, Any]) -> None:
        """Note that a new run is paid for, before its first step, and how to know it later."""
        mark = payment.mark or secrets.token_hex(16)
        self.payment = payment
        self.last = replace(self.run.first, booking=booking, before=mark, mark=mark)
        self.last.write(self.path)

    def resume(self, payment: Payment) -> None:
        """Continue what an earlier run left, if its payment allows it."""
        assert self.found is not None
        payment.resumed(self.found.before, self.found.mark)
        self.payment = payment
        keeper = Keeper(self.path, self.found, payment=payment)
        keeper.keep(self.found.state)
        self.last = keeper.checkpoint

    def train(self, *, show: Show | None = None, every: float = CHECKPOINT_SECONDS) -> TrainedModel:
        """Train to the end; raises StoppedError, with all kept, when asked to stop."""
        if self.last is None and self.found is not None:
            if self.found.booking.get("use") == "booked":
                raise CheckpointError(
                    f"{self.path.name} is of a training on the budget of "
                    f"{self.found.booking.get('source')}: finish it through the ledger"
                )
            self.resume(Unpaid())
        elif self.last is None:
            self.begin(Unpaid(), {})
        assert self.last is not None
        keeper = Keeper(self.path, self.last, payment=self.payment, every=every, show=show)
        model = self.run.train(keeper)
        self.last = keeper.checkpoint
        return model

    def save(self, model: TrainedModel, output: Path) -> Certificate:
        """Write the model, if its payment allows it, and remove the checkpoint."""
        assert self.last is not None
        digest = model.certificate().content_sha256
        assert digest is not None
        self.payment.finished(self.last.mark, digest)
        certificate = model.save(output, overwrite=True)  # whether it may was asked at first
        self.path.unlink(missing_ok=True)
        return certificate
