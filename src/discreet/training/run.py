"""Train a mechanism on a log, now or in several goes."""

from __future__ import annotations

import contextlib
import hashlib
import math
import secrets
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from types import FrameType
from typing import Any

from discreet.certificate import Certificate
from discreet.log.events import EventLog
from discreet.mechanisms.base import Mechanism, kept_cases
from discreet.mechanisms.registry import mechanism as named
from discreet.mechanisms.trained.base import Generative, ModelState, Watch, require_torch
from discreet.parameters import ParameterError
from discreet.privacy.randomness import Randomness
from discreet.training.checkpoint import (
    CHECKPOINT_SECONDS,
    Checkpoint,
    CheckpointError,
    Payment,
    Progress,
    StoppedError,
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
    return Training(chosen, log, insecure_seed).train(show=show)


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
class Training(Watch):
    """One training of a mechanism on a log; it may be kept, stopped, resumed and paid for.

    While the mechanism trains, it watches every step: it keeps a checkpoint every so often and
    when asked to stop, and shows how it goes.
    """

    mechanism: Generative
    log: EventLog
    seed: int | None = None
    kept_at: Path | None = None
    """Path of its checkpoint; None if it keeps none."""
    found: Checkpoint | None = None
    """What an earlier process left."""
    checkpoint: Checkpoint | None = None
    """The newest checkpoint; None before the training has begun."""
    payment: Payment = field(default_factory=Unpaid)
    every: float = CHECKPOINT_SECONDS
    show: Show | None = None
    stop: int | None = None
    """The signal that asked it to stop."""
    _last: float = field(default_factory=monotonic, repr=False)
    """When the last checkpoint was kept, in seconds of a monotonic clock."""
    _loss: float = field(default=math.nan, repr=False)
    """The loss of the last step that may be shown."""

    @property
    def first(self) -> Checkpoint:
        """The training before its first step."""
        return Checkpoint(identity(self.log, self.mechanism, self.seed))

    @property
    def path(self) -> Path:
        """Path of its checkpoint."""
        assert self.kept_at is not None
        return self.kept_at

    @contextlib.contextmanager
    def kept_beside(self, output: Path) -> Iterator[Training]:
        """The same with a checkpoint beside the model's file, which no other process may touch."""
        path = checkpoint_path(output)
        with alone(path):
            found = Checkpoint.read(path)
            if found is not None and found.identity != self.first.identity:
                raise CheckpointError(
                    f"{path.name} belongs to a training of another log or with other parameters. "
                    "Finish it with the command that began it, write to another file, or remove "
                    "the checkpoint: what that training cost stays spent"
                )
            yield Training(self.mechanism, self.log, self.seed, kept_at=path, found=found)

    def begin(self, payment: Payment, booking: dict[str, Any]) -> None:
        """Note that it is paid for, before its first step, and how to know that later."""
        mark = payment.mark or secrets.token_hex(16)
        self.payment = payment
        self.checkpoint = replace(self.first, booking=booking, before=mark, mark=mark)
        self.checkpoint.write(self.path)

    def resume(self, payment: Payment) -> None:
        """Continue what an earlier process left, if its payment allows it."""
        assert self.found is not None
        payment.resumed(self.found.before, self.found.mark)
        self.payment = payment
        self.checkpoint = self.found
        self._keep(self.found.state)

    def train(self, *, show: Show | None = None, every: float = CHECKPOINT_SECONDS) -> TrainedModel:
        """Train to the end; raises StoppedError, with all kept, when asked to stop."""
        if self.kept_at is None:
            self.checkpoint = self.first
        elif self.checkpoint is None:
            self._begin_unpaid()
        assert self.checkpoint is not None
        self.show, self.every, self.stop = show, every, None
        self._last, self._loss = monotonic(), math.nan
        rng = self._rng(self.checkpoint)
        log = self.log
        if self.mechanism.cases_per_individual is not None:
            kept = self.checkpoint.kept
            if kept is None:
                kept = kept_cases(log, self.mechanism.cases_per_individual, rng)
                self.checkpoint = replace(self.checkpoint, kept=kept)
            log = log.take_cases(kept)
        with self.stopping_gently():
            state = self.mechanism._train(log, rng, self)
        promise = self.mechanism.promise(self.log)
        if not rng.secure:
            promise = replace(promise, randomness="seeded")
        return TrainedModel(self.mechanism, promise, state, origin=self.log.origin)

    def save(self, model: TrainedModel, output: Path) -> Certificate:
        """Write the model, if its payment allows it, and remove the checkpoint."""
        assert self.checkpoint is not None
        digest = model.certificate().content_sha256
        assert digest is not None
        self.payment.finished(self.checkpoint.mark, digest)
        certificate = model.save(output, overwrite=True)  # whether it may was asked at first
        self.path.unlink(missing_ok=True)
        return certificate

    def resumed(self) -> ModelState | None:
        """What the checkpoint holds of the training itself."""
        return None if self.checkpoint is None else self.checkpoint.state

    def step(
        self, network: str, done: int, steps: int, loss: float, save: Callable[[], ModelState]
    ) -> None:
        """Note a step; keep it at once if it is the first or the last of a network."""
        assert self.checkpoint is not None
        taken = self.checkpoint.taken | {network: done}
        self.checkpoint = replace(self.checkpoint, taken=taken)
        due = monotonic() - self._last >= self.every or done in (0, steps) or self.stop is not None
        if self.kept_at is not None and due:
            self._keep(save())
        if self.kept_at is None or due:
            self._loss = loss
        if self.show is not None:
            self.show(Progress(network, done, steps, self._loss, taken))
        if self.kept_at is not None and self.stop is not None:
            if not due:
                self._keep(save())
            raise StoppedError(self.stop, self.kept_at)

    @contextlib.contextmanager
    def stopping_gently(self) -> Iterator[None]:
        """Let SIGINT and SIGTERM end the training after the step under way; a second at once."""
        if self.kept_at is None or threading.current_thread() is not threading.main_thread():
            yield
            return

        def ask(number: int, _: FrameType | None) -> None:
            if self.stop is not None:
                raise KeyboardInterrupt
            self.stop = number

        before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _begin_unpaid(self) -> None:
        """Begin or resume without a payment."""
        if self.found is None:
            self.begin(Unpaid(), {})
            return
        if self.found.booking.get("use") == "booked":
            raise CheckpointError(
                f"{self.path.name} is of a training on the budget of "
                f"{self.found.booking.get('source')}: finish it through the ledger"
            )
        self.resume(Unpaid())

    def _keep(self, state: ModelState | None) -> None:
        """Write a checkpoint, then let the payment move on to it."""
        assert self.checkpoint is not None
        before, mark = self.checkpoint.mark, secrets.token_hex(16)
        self.checkpoint = replace(self.checkpoint, state=state, before=before, mark=mark)
        self.checkpoint.write(self.path)
        self.payment.kept(before, mark)
        self._last = monotonic()

    def _rng(self, checkpoint: Checkpoint) -> Randomness:
        """Fresh randomness; a seeded run never draws again what it drew before it was stopped."""
        if self.seed is None:
            return Randomness.system()
        if not checkpoint.taken:
            return Randomness.seeded(self.seed)
        text = f"{self.seed} {sorted(checkpoint.taken.items())}"
        return Randomness.seeded(int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]))
