"""What a payment buys: one draw, or one training that may be stopped and resumed, not repeated.

A training is paid for once and may take many processes. Its checkpoint is a file, and files are
copied. The ledger therefore keeps, beside the entry, the *mark* of the newest checkpoint: a random
token that changes with every checkpoint. A checkpoint names its own mark and the one before it.

- Keeping: the checkpoint is written with a fresh mark; then, in one transaction, the ledger moves
  from the mark before to the fresh one, or refuses if it is not at the mark before. Only then is
  anything of these steps shown.
- Resuming: the entry must exist and be of this source, run, mechanism and parameters, and the
  ledger must be at the checkpoint's mark, or at the one before it (a crash between writing and
  moving). The process then keeps a checkpoint at once, which takes the run over.
- Finishing: the ledger must be at the last checkpoint's mark. It notes the digest of the model,
  durably, before the model is written. The same model may be written again, no other.

So the marks that the ledger accepts form one line. Of all copies of a checkpoint, run one after
another or at the same time, on one computer or several, at most one moves on from each mark: the
others are refused before they show or write anything of what they did. At most one model comes out
of a payment, and what was shown on the way belongs to the steps that lead to it. A checkpoint that
is older than the newest, or booked in another ledger, is refused. Not covered: a person who reads
the checkpoints, or restores a backup of ledger and checkpoint together; they have the log anyway.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Collection
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self

from sqlalchemy import Connection

from discreet.ledger import storage
from discreet.ledger.chain import Entry
from discreet.ledger.entries import append, user_name
from discreet.ledger.errors import LedgerError, RefusedError
from discreet.ledger.storage import Storage, TrainingRun

if TYPE_CHECKING:
    from discreet.mechanisms.base import Mechanism


def fresh_token() -> str:
    """A random name that no other run or checkpoint has."""
    return secrets.token_hex(16)


@dataclass(frozen=True)
class Paid:
    """A payment, noted in an entry, and the one run that it pays for."""

    source: str
    entry: int
    run: str

    @classmethod
    def by(cls, entry: Entry) -> Self:
        """The payment that an entry notes."""
        return cls(entry.source, entry.number, entry.content()["run"])

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for a checkpoint."""
        return asdict(self)

    @classmethod
    def from_dict(cls, noted: dict[str, Any]) -> Self:
        """Inverse of `to_dict`; ignores what else is noted."""
        try:
            return cls(str(noted["source"]), int(noted["entry"]), str(noted["run"]))
        except (KeyError, TypeError, ValueError):
            raise LedgerError(
                "this checkpoint does not say which run was paid for; remove it and start "
                "over, which costs the budget again"
            ) from None

    def release(self, connection: Connection) -> dict[str, Any]:
        """The content of the entry, which must be in this ledger and have paid for this run."""
        entry = storage.entry(connection, self.entry)
        content = entry.content() if entry is not None and entry.kind == "release" else {}
        if (content.get("source"), content.get("run")) != (self.source, self.run):
            raise RefusedError(
                f"entry {self.entry} of this ledger did not pay for this run on the budget of "
                f"{self.source}: it was booked in another ledger, or this one was put back to an "
                "earlier state. Use the ledger that it was booked in (DISCREET_LEDGER), or start "
                "over, which costs the budget again"
            )
        return content


class PaidRun:
    """A training on the budget of a source, by the rules at the top of this module."""

    def __init__(
        self, storage: Storage, paid: Paid, mechanism: Mechanism, mark: str | None = None
    ) -> None:
        self.storage, self.paid, self.mechanism = storage, paid, mechanism
        self.mark = mark
        """The mark of the first checkpoint, if the training has just begun."""

    def resumed(self, before: str, mark: str) -> None:
        """Continue from a checkpoint with these marks, or refuse."""
        with self.storage.writing() as (connection, _):
            stated = self.paid.release(connection)
            settings = json.loads(json.dumps(self.mechanism.settings))
            if (stated["mechanism"], stated["parameters"]) != (self.mechanism.name, settings):
                raise RefusedError(
                    f"entry {self.paid.entry} paid for {stated['mechanism']} with other "
                    "parameters: give those that the training was begun with"
                )
            self._move(connection, {before, mark}, mark)

    def kept(self, before: str, mark: str) -> None:
        """Move on to a checkpoint that is safe on disk, or refuse."""
        with self.storage.writing() as (connection, _):
            self._move(connection, {before}, mark)

    def finished(self, mark: str, model: str) -> None:
        """Note the digest of the model that the training has ended in, or refuse."""
        with self.storage.writing() as (connection, head):
            known = self._move(connection, {mark}, mark).model
            if known == model:
                return
            if known is not None:
                raise RefusedError(
                    f"entry {self.paid.entry} paid for one model, and another was finished "
                    "before; this one is not written. Train again, which costs the budget again"
                )
            content = {
                "model": model,
                "release": self.paid.entry,
                "run": self.paid.run,
                "user": user_name(),
            }
            append(connection, head, self.paid.source, "finished", content)
            storage.end_run(connection, self.paid.entry, model)

    def _move(self, connection: Connection, expected: Collection[str], mark: str) -> TrainingRun:
        """Move on from one of the expected marks to this one."""
        run = storage.run_of(connection, self.paid.entry)
        if run is None or run.id != self.paid.run or run.mark not in expected:
            raise RefusedError(
                f"the training that entry {self.paid.entry} paid for was continued elsewhere, from "
                "a newer checkpoint or a copy of this one, and one payment gives one model. "
                "Continue from the newest checkpoint; if it is lost, remove this one and "
                "start over, which costs the budget again"
            )
        storage.move_run(connection, self.paid.entry, mark)
        return run
