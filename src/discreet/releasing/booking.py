"""Booking: how a release or a training goes through the ledger, or past it.

    booking = booking_for("hospital-a", purpose="yearly report")
    booking.check(mechanism)                       # refuse on public grounds
    log = read_log("log.xes")
    mechanism.check(log)
    booking.advise(mechanism, log)                 # warn the holder of the log
    booking.recognise(log)                         # also if it came under another name
    booking.draw(mechanism, log).write("shared.xes")

`releasing.way` takes these steps; a model goes by `booking.train(mechanism, log, path)`. What is
written is noted on the ledger.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import DiscreetWarning
from discreet.language import translate
from discreet.ledger.errors import LedgerError

if TYPE_CHECKING:
    from discreet.certificate import Certificate, LedgerUse
    from discreet.ledger.ledger import Ledger
    from discreet.ledger.location import Location
    from discreet.ledger.runs import Paid, PaidRun
    from discreet.log.events import EventLog
    from discreet.mechanisms.base import Mechanism
    from discreet.mechanisms.trained.base import Generative
    from discreet.privacy.guarantee import Guarantee
    from discreet.releases import Release
    from discreet.training.checkpoint import Payment
    from discreet.training.run import Show
    from discreet.training.trained_model import TrainedModel

Tell = Callable[[str], None]
"""Tells the holder of the log something that is never part of a release."""

Warn = Callable[[str | DiscreetWarning], None]
"""Warns the holder of the log before it is released."""


def booking_for(
    source: str | None,
    *,
    purpose: str = "",
    bypass: bool = False,
    user: str | None = None,
    cost: Mapping[str, str] | None = None,
    where: str | Path | Location | None = None,
    tell: Tell | None = None,
    warn: Warn | None = None,
) -> Booking:
    """Choose the booking of a release: where there is a ledger, a source or a bypass is required.

    `user` is entered as the one who spends; without it, the account on this computer. `cost` is the
    part of the budget that was confirmed; it is not booked for anything else. `warn` gets what the
    holder of the log should think about, `tell` everything else; without `warn`, `tell` gets both.
    """
    tell = tell or silent
    warn = warn or _saying(tell)
    if bypass:
        if source is not None:
            raise LedgerError("--source books on a ledger and --no-ledger does not: choose one")
        return Booking("bypassed", tell, warn)
    from discreet.ledger.location import Location, locate

    location = where if isinstance(where, Location) else locate(where)
    if source is not None:
        from discreet.ledger.ledger import Ledger

        return LedgerBooking(Ledger(location, user=user), source, purpose, tell, warn, cost)
    if location.in_use:
        raise LedgerError(
            f"there is a ledger ({location}): name the data source with --source NAME (see "
            "`discreet budget show`), or release without booking by --no-ledger, which the "
            "certificate will say"
        )
    return Booking("none", tell, warn)


def silent(said: object) -> None:
    """Ignore what is said."""


def _saying(tell: Tell) -> Warn:
    """Pass warnings on as their text."""
    return lambda said: tell(str(said))


@dataclass(frozen=True)
class Trained:
    """A trained model that was written, with its certificate."""

    model: TrainedModel
    certificate: Certificate


@dataclass
class Booking:
    """A release or training that is not booked; the certificate says whether by choice."""

    use: LedgerUse
    tell: Tell = field(default=silent, repr=False)
    warn: Warn = field(default=silent, repr=False)

    def check(self, mechanism: Mechanism, *, seeded: bool = False) -> None:
        """Refuse on public parameters, before the data are read."""

    def recognise(self, log: EventLog) -> None:
        """Warn if the log is known under another name."""

    def advise(self, mechanism: Mechanism, log: EventLog) -> bool:
        """Warn of what the log reveals about a release by this mechanism; return whether there was
        anything."""
        cautions = {str(one): one for one in mechanism.cautions(log)}
        advice = mechanism.advice(log)
        for warning in advice:
            self.warn(cautions.get(warning, warning))
        return bool(advice)

    def draw(self, mechanism: Mechanism, log: EventLog, seed: int | None = None) -> Release:
        """Draw from a checked log; a booking on a ledger spends first."""
        return replace(mechanism.release(log, insecure_seed=seed), ledger=self.use)

    def train(
        self,
        mechanism: Generative,
        log: EventLog,
        output: Path,
        *,
        seed: int | None = None,
        show: Show | None = None,
    ) -> Trained:
        """Train on a checked log and write the model; a booking on a ledger spends first.

        A training that was stopped is finished, and not paid for again. Raises StoppedError, with
        all kept and paid for, when asked to stop.
        """
        from discreet.training.run import Training

        with Training(mechanism, log, seed).kept_beside(output) as kept:
            if kept.found is not None:
                kept.resume(self._resume(kept.found.booking, mechanism))
                self.tell(f"resuming from {kept.path.name}, which is paid for")
            else:
                self.check(mechanism, seeded=seed is not None)
                self.recognise(log)
                kept.begin(*self._begin(mechanism, log))
            model = replace(kept.train(show=show), ledger=self.use)
            trained = Trained(model, kept.save(model, output))
        self._confirm(trained.certificate)
        return trained

    @property
    def entry(self) -> int | None:
        """The number of the entry, once it is booked."""
        return None

    def outlook(self) -> str:
        """Describe what this would do to a budget."""
        return "there is no ledger" if self.use == "none" else "the ledger is bypassed"

    def standing(self) -> str:
        """Describe what stands after a stop or a failure, and what to do."""
        return "nothing was written"

    def _confirm(self, certificate: Certificate) -> None:
        """Record that the model that was paid for is written."""

    def _begin(self, mechanism: Generative, log: EventLog) -> tuple[Payment, dict[str, Any]]:
        """Return the payment of a new training, and its note for the checkpoint; a booking on a
        ledger spends."""
        from discreet.training.checkpoint import Unpaid

        return Unpaid(), self._account()

    def _resume(self, noted: dict[str, Any], mechanism: Generative) -> Payment:
        """Return the payment of a training that was begun earlier; spends nothing."""
        from discreet.training.checkpoint import Unpaid

        self._check_account(noted)
        return Unpaid()

    def _check_account(self, noted: dict[str, Any]) -> None:
        """Refuse a training that was begun on another account, or on none."""
        if {key: noted.get(key) for key in self._account()} != self._account():
            began = _words(noted.get("use"), noted.get("source"))
            raise LedgerError(
                f"this training was started {began} and would be finished "
                f"{_words(**self._account())}: give the same ledger options as before"
            )

    def _account(self) -> dict[str, Any]:
        return {"use": self.use}


class LedgerBooking(Booking):
    """A release or training that spends a source's budget before it is drawn, then notes it."""

    def __init__(
        self,
        ledger: Ledger,
        source: str,
        purpose: str,
        tell: Tell,
        warn: Warn,
        cost: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__("booked", tell, warn)
        self.cost = cost
        self.ledger, self.source, self.purpose = ledger, ledger.name_of(source), purpose
        self.paid: Paid | None = None

    def check(self, mechanism: Mechanism, *, seeded: bool = False) -> None:
        """Refuse on public parameters, before the data are read."""
        promise = mechanism.guarantee()
        self.ledger.check(self.source, replace(promise, randomness="seeded") if seeded else promise)
        self._check_cost(promise)

    def _check_cost(self, promise: Guarantee) -> None:
        """Refuse a cost that has become more or less than the one confirmed."""
        if self.cost is None:
            return
        if self.ledger.account(self.source).cost(promise).to_dict() != dict(self.cost):
            raise LedgerError(
                translate(
                    "The source counts in another way than when this was confirmed, and the "
                    "release would cost something else. Confirm it again."
                )
            )

    def recognise(self, log: EventLog) -> None:
        """Warn if the log is known under another name."""
        for warning in self.ledger.recognise(log, self.source):
            self.warn(warning)

    def draw(self, mechanism: Mechanism, log: EventLog, seed: int | None = None) -> Release:
        """Draw from a checked log; spends first."""
        self.check(mechanism, seeded=seed is not None)
        booked = self.ledger.release(
            mechanism, log, source=self.source, purpose=self.purpose, paid=self._note
        )
        return replace(booked.release, booking=Entered(self, booked.paid))

    def _note(self, paid: Paid) -> None:
        self.paid = paid

    @property
    def entry(self) -> int | None:
        """The number of the entry, once it is booked."""
        return None if self.paid is None else self.paid.entry

    def outlook(self) -> str:
        """Describe what is left before this is spent; `check` has found that it fits."""
        return f"it fits on {self.source}: {self.ledger.account(self.source).left()}"

    def standing(self) -> str:
        """Describe what stands after a stop or a failure, and what to do."""
        if self.paid is None:
            return f"nothing was spent on {self.source}"
        return (
            f"entry {self.paid.entry} on {self.source} was booked before the noise was drawn and "
            "stays spent: a second draw costs as much again (docs/ledger.md says why). Nothing was "
            "written. The same command draws again, and is booked again"
        )

    def _confirm(self, certificate: Certificate) -> None:
        assert self.paid is not None
        self.note_written(self.paid, certificate)

    def note_written(self, paid: Paid, certificate: Certificate) -> None:
        """Record that it was written; the spend stands whether this succeeds or not."""
        said = f"booked as entry {paid.entry} on {self.source}"
        try:
            self.ledger.confirm(paid, certificate)
            said += f"; {self.ledger.account(self.source).left()}"
        except LedgerError as error:
            self.warn(f"the release is written and paid for; the ledger could not note it: {error}")
        finally:
            self.ledger.close()
        self.tell(said)

    def _begin(self, mechanism: Generative, log: EventLog) -> tuple[Payment, dict[str, Any]]:
        run = self.ledger.begin(mechanism, log, source=self.source, purpose=self.purpose)
        return self._paid(run), self._account() | run.paid.to_dict()

    def _resume(self, noted: dict[str, Any], mechanism: Generative) -> Payment:
        self._check_account(noted)
        return self._paid(self.ledger.resume(noted, mechanism))

    def _paid(self, run: PaidRun) -> PaidRun:
        self.paid = run.paid
        return run

    def _account(self) -> dict[str, Any]:
        return {"use": self.use, "source": self.source}


@dataclass(frozen=True)
class Entered:
    """The payment of one release; records on the ledger each file that is written of it."""

    booking: LedgerBooking
    paid: Paid

    def confirm(self, certificate: Certificate) -> None:
        """Record that it was written under this certificate."""
        self.booking.note_written(self.paid, certificate)


def _words(use: str | None, source: str | None = None) -> str:
    """Words for how something is booked, for a message."""
    if use == "booked":
        return f"on the budget of {source}"
    return "with --no-ledger" if use == "bypassed" else "without a ledger"
