"""The budgets of sources as pages show them: what is left, and how it was spent over time."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from discreet.language import translate
from discreet.ledger.account import Account
from discreet.ledger.chain import Head
from discreet.ledger.entries import spelling
from discreet.ledger.errors import LedgerError, NoLedgerError
from discreet.ledger.ledger import Ledger
from discreet.ledger.location import Location
from discreet.mechanisms.base import Mechanism
from discreet.privacy.filters import Spend
from discreet.privacy.guarantee import Budget
from discreet.report.plots import Curve, line_plot
from discreet.report.svg import SERIES
from discreet.web.jobs import JOB_MARK
from discreet.web.once import digest
from discreet.web.settings import ConflictError, MissingError


@dataclass(frozen=True)
class Standing:
    """A source and the state of its account."""

    source: str
    account: Account

    @property
    def used(self) -> float:
        """The share of the cap that is used, in percent."""
        return min(100.0, 100 * self.account.used)

    @property
    def room(self) -> tuple[float, float]:
        """The largest ε that any filter still takes, with the largest δ that this filter takes."""
        return max(self.account.room().values(), default=(0.0, 0.0))

    def to_dict(self) -> dict[str, Any]:
        """The account as plain values, for programs."""
        epsilon, delta = self.room
        return {
            "source": self.source,
            "cap": {"epsilon": self.account.cap.epsilon, "delta": self.account.cap.delta},
            "unit": self.account.unit,
            "neighbours": self.account.neighbours,
            "releases": self.account.releases,
            "used": self.account.used,
            "next": {"epsilon": epsilon, "delta": delta},
        }


class Budgets:
    """What the ledger allows to be spent on each source.

    With a `rhythm` in seconds, accounts are shown as they stood at its last multiple since 1970: a
    spend is booked after the log was read, and its time would reveal how long that took.
    """

    def __init__(self, location: Location, rhythm: float | None = None) -> None:
        self.location, self.rhythm = location, rhythm
        self._kept: Ledger | None = None
        self._read: dict[str | None, tuple[Head, list[dict[str, Any]]]] = {}
        """Rows read from the ledger, by source, with the head of the ledger they were read at."""

    def _ledger(self) -> Ledger:
        """The ledger; its connections are kept open for the next call."""
        if self._kept is None:
            self._kept = Ledger(self.location)
        return self._kept

    def close(self) -> None:
        """Close the ledger."""
        if self._kept is not None:
            self._kept.close()

    def identity(self) -> str | None:
        """The ledger's unique identifier; None while the ledger has no entry."""
        try:
            return self._ledger().identity()
        except NoLedgerError:
            return None

    def all(self) -> list[Standing]:
        """All sources with their accounts, by name; empty while there is no ledger."""
        if not self._exists():
            return []
        if self.rhythm is None:
            accounts = self._ledger().accounts()
        else:
            rows = self._rows(None)
            told = [row for row in rows if "account" in row]
            accounts = {row["source"]: Account.from_dict(row["account"]) for row in told}
        return [Standing(name, account) for name, account in sorted(accounts.items())]

    def of(self, source: str) -> Standing:
        """The account of one source."""
        if self.rhythm is None:
            ledger = self._ledger()
            return Standing(ledger.name_of(source), ledger.account(source))
        told = [one for one in self.all() if one.source == source]
        if not told:
            raise MissingError(translate("This is not offered any more."))
        return told[0]

    def after(self, source: str, mechanism: Mechanism) -> tuple[Standing, Standing]:
        """The account now and after a release by `mechanism`; raises what booking would raise."""
        now = self.of(source)
        cost = now.account.cost(mechanism.guarantee())
        return now, Standing(now.source, now.account.charged(cost))

    def cost(self, source: str, mechanism: Mechanism) -> Spend:
        """What a release takes from a budget: more than it promises if the source counts more."""
        return self.of(source).account.cost(mechanism.guarantee())

    def seen(self, source: str) -> str:
        """A digest of a source's terms, to notice a later change; empty if it has no budget."""
        known = {one.source: one for one in self.all()}
        return digest(*_terms(known[source].account)) if source in known else ""

    def shown(self, source: str, epsilon: float, delta: float) -> dict[str, str]:
        """The fields `of` and `seen` of a form that showed this cap."""
        known = {spelling(one.source): one.account for one in self.all()}
        terms = _terms(known[spelling(source)])[2:] if spelling(source) in known else []
        return {"of": source, "seen": digest(epsilon, delta, *terms)}

    def set(self, user: str, source: str, form: dict[str, str]) -> None:
        """Set the total budget of a source.

        A form says in `seen` which cap it showed, and in `of` for which source; if another steward
        has set a different one since, nothing is done.
        """
        try:
            cap = Budget(_number(form, "epsilon"), _number(form, "delta"))
        except ValueError as error:
            raise LedgerError(str(error)) from error
        unit, neighbours = form.get("unit", "case"), form.get("neighbours", "add-remove")
        if unit not in ("case", "individual") or neighbours not in ("add-remove", "swap"):
            raise LedgerError("unit is case or individual, neighbours add-remove or swap")
        with Ledger(self.location, create=True) as ledger:
            if "seen" in form and not self._as_seen(source, form, cap, unit, neighbours):
                return
            ledger.set_budget(
                source,
                cap,
                neighbours=neighbours,  # type: ignore[arg-type]
                unit=unit,  # type: ignore[arg-type]
                raised=bool(form.get("raised")),
                user=user,
                purpose=form.get("purpose", ""),
            )

    def _as_seen(
        self, source: str, form: dict[str, str], cap: Budget, unit: str, neighbours: str
    ) -> bool:
        """Whether there is a change to make; raises if the present cap is not the one shown."""
        source = spelling(source)
        known = {spelling(one.source): one for one in self.all()}
        shown = form["seen"] if spelling(form.get("of", "")) == source else ""
        if source not in known:
            return True
        account = known[source].account
        if digest(*_terms(account)) == shown:
            return True
        if _terms(account) == [cap.epsilon, cap.delta, unit, neighbours]:
            return False
        raise ConflictError(
            translate(
                "%(source)s has a budget that this page did not show: %(cap)s. Look at it, and set "
                "it again if you still want to.",
                source=known[source].source,
                cap=str(account.cap),
            )
        )

    def history(self, source: str) -> list[dict[str, Any]]:
        """The entries for a source, oldest first, without the fields that only the ledger needs."""
        return [_line(row) for row in self._rows(source)]

    def plot(self, source: str) -> str:
        """A plot of the used share of the cap over time, as SVG."""
        rows = self._rows(source)
        if not rows:
            raise MissingError(translate("There is no such picture."))
        times: list[float] = []
        used: list[float] = []
        for row in rows:
            share = min(100.0, 100 * Account.from_dict(row["account"]).used)
            times += [datetime.fromisoformat(row["time"]).timestamp()] * 2
            used += [used[-1] if used else share, share]
        times.append(datetime.now(UTC).timestamp())
        used.append(used[-1])
        curves = [
            Curve(translate("used"), np.array(times), np.array(used), SERIES[0]),
            Curve(translate("cap"), np.array([times[0], times[-1]]), np.array([100.0] * 2), "#d33"),
        ]
        long = times[-1] - times[0] > 3 * 86400
        form = "%d.%m.%Y" if long else "%d.%m. %H:%M"
        return line_plot(
            translate("Used of the cap"),
            curves,
            across=lambda value: datetime.fromtimestamp(value, UTC).strftime(form),
            down="%",
        )

    def _rows(self, source: str | None) -> list[dict[str, Any]]:
        ledger = self._ledger()
        head = ledger.head()
        known, rows = self._read.get(source, (None, []))
        if known != head:
            rows = ledger.history(source)
            self._read[source] = head, rows
        if self.rhythm is None:
            return rows
        full = time.time() // self.rhythm * self.rhythm
        return [row for row in rows if datetime.fromisoformat(row["time"]).timestamp() <= full]

    def _exists(self) -> bool:
        file = self.location.file
        return file is None or file.exists()


def _terms(account: Account) -> list[Any]:
    """The terms of an account that a steward sets."""
    return [account.cap.epsilon, account.cap.delta, account.unit, account.neighbours]


def _line(row: dict[str, Any]) -> dict[str, Any]:
    released = row["kind"] == "release"
    bound = row["guarantee"]["holds"] if released else row.get("account", {})
    return {
        "number": row["number"],
        "time": row["time"][:16].replace("T", " "),
        "kind": row["kind"],
        "user": row["user"],
        "job": marked[1] if (marked := JOB_MARK.search(str(row.get("purpose")))) else "",
        "mechanism": row.get("mechanism", ""),
        "epsilon": bound.get("epsilon"),
        "delta": bound.get("delta"),
        "purpose": str(row.get("purpose") or "").partition(" [web ")[0].partition("[web ")[0],
        "written": bool(row.get("certificate")),
    }


def _number(form: dict[str, str], name: str) -> float:
    text = str(form.get(name, "")).strip().replace(",", ".")
    try:
        return float(text)
    except ValueError:
        raise LedgerError(f"{name} must be a number, not {text!r}") from None
