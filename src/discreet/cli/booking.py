"""How a release from the command line goes through the ledger, or past it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from discreet.cli.console import stage, steward_notes
from discreet.ledger.errors import LedgerError

if TYPE_CHECKING:
    from discreet.certificate import Certificate, LedgerUse
    from discreet.ledger import Ledger
    from discreet.log.events import EventLog
    from discreet.mechanisms.base import Mechanism
    from discreet.privacy.guarantee import Guarantee
    from discreet.release import Release


def ledger_for(source: str | None, purpose: str, *, bypass: bool) -> Booking:
    """Decide whether a release is booked: where there is a ledger, it must be or say otherwise."""
    from discreet.ledger import locate

    if bypass:
        if source is not None:
            raise LedgerError("--source books on a ledger and --no-ledger does not: choose one")
        return Booking("bypassed")
    if source is not None:
        from discreet.ledger import Ledger

        return LedgerBooking(Ledger(), source, purpose)
    location = locate()
    if location.in_use:
        raise LedgerError(
            f"there is a ledger ({location}): name the data source with --source NAME (see "
            "`discreet budget show`), or release without booking by --no-ledger, which the "
            "certificate will say"
        )
    return Booking("none")


@dataclass
class Booking:
    """A release that is not booked; the certificate says whether by choice."""

    use: LedgerUse

    def check(self, promise: Guarantee, *, seeded: bool) -> None:
        """Refuse on public parameters, before the data are read."""

    def recognise(self, log: EventLog) -> None:
        """Warn if the log is known under another name."""

    def release(self, mechanism: Mechanism, log: EventLog, seed: int | None) -> Release:
        """Draw the release."""
        return replace(mechanism.release(log, insecure_seed=seed), ledger=self.use)

    def book(self, mechanism: Mechanism, log: EventLog) -> dict[str, Any]:
        """Spend for what is drawn later, perhaps by another process; how to know the spend then."""
        mechanism.check(log)
        return {"use": self.use}

    def resume(self, noted: dict[str, Any]) -> None:
        """Go on with something that `book` has paid for; it must have been the same account."""
        if {key: noted.get(key) for key in self._account()} != self._account():
            began = _words(noted.get("use"), noted.get("source"))
            raise LedgerError(
                f"this was begun {began} and is to be gone on with "
                f"{_words(**self._account())}: give the same ledger options as then"
            )

    def _account(self) -> dict[str, Any]:
        return {"use": self.use}

    def confirm(self, certificate: Certificate) -> None:
        """Note that the release was written."""


class LedgerBooking(Booking):
    """A release on the budget of a source: spent before it is drawn, noted once written."""

    def __init__(self, ledger: Ledger, source: str, purpose: str) -> None:
        super().__init__("booked")
        self.ledger, self.source, self.purpose = ledger, source, purpose
        self.entry: int | None = None

    def check(self, promise: Guarantee, *, seeded: bool) -> None:
        """Refuse on public parameters, before the data are read."""
        if seeded:
            promise = replace(promise, randomness="seeded")
        self.ledger.check(self.source, promise)

    def recognise(self, log: EventLog) -> None:
        """Warn if the log is known under another name."""
        with stage("looking whether the log is known"):
            warnings = self.ledger.recognise(log, self.source)
        steward_notes(warnings)

    def release(self, mechanism: Mechanism, log: EventLog, seed: int | None) -> Release:
        """Spend, then draw."""
        booked = self.ledger.release(mechanism, log, source=self.source, purpose=self.purpose)
        self.entry = booked.entry
        return booked.release

    def book(self, mechanism: Mechanism, log: EventLog) -> dict[str, Any]:
        """Spend now for what is drawn later."""
        mechanism.check(log)
        self.entry = self.ledger.book(
            self.source,
            mechanism.guarantee(),
            mechanism=mechanism.name,
            parameters=mechanism.settings,
            purpose=self.purpose,
        ).number
        return self._account() | {"entry": self.entry}

    def resume(self, noted: dict[str, Any]) -> None:
        """Go on with something that was paid for."""
        super().resume(noted)
        self.entry = int(noted["entry"])

    def _account(self) -> dict[str, Any]:
        return {"use": self.use, "source": self.source}

    def confirm(self, certificate: Certificate) -> None:
        """Note that the release was written; the spend stands whether this succeeds or not."""
        assert self.entry is not None
        number = self.entry
        try:
            self.ledger.note_written(self.source, number, certificate)
        except LedgerError as error:
            steward_notes(
                [f"the release is written and paid for, but not noted as written: {error}"]
            )
        account = self.ledger.account(self.source)
        self.ledger.close()
        steward_notes([f"booked as entry {number} on {self.source}; {account.left()}"])


def _words(use: str | None, source: str | None = None) -> str:
    """How something is booked, for a message."""
    if use == "booked":
        return f"on the budget of {source}"
    return "with --no-ledger" if use == "bypassed" else "without a ledger"
