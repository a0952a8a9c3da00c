"""Account: what a source may spend, what it has spent, and whether one more release fits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from discreet.ledger.errors import LedgerError, RefusedError
from discreet.privacy.filters import FilterName, Limit, Spend, limits
from discreet.privacy.guarantee import Budget, Guarantee, Neighbours, Unit


@dataclass(frozen=True)
class Account:
    """The cap of a source with its filters, and the total of its releases so far.

    Filter, unit and neighbour relation are fixed with the first release: choosing another filter
    after seeing a release is not covered by the proofs in `privacy/filters.py`. So are the columns
    that say what a case and, if the unit is the individual, an individual is: costs of releases
    that mean different things by them do not add up to a promise about either.
    """

    cap: Budget
    filter: FilterName
    neighbours: Neighbours
    unit: Unit
    limits: tuple[Limit, ...]
    spent: Spend = Spend()
    releases: int = 0
    case_column: str | None = None
    individual_column: str | None = None

    @classmethod
    def opened(cls, cap: Budget, filter: FilterName, neighbours: Neighbours, unit: Unit) -> Account:
        """A fresh account under a cap."""
        if not (0 < cap.epsilon <= 100_000 and cap.delta < 1):
            raise LedgerError(
                "a cap needs epsilon above 0 and at most 100000, and delta of at least 0 and "
                f"below 1, not {cap}"
            )
        try:
            return cls(cap, filter, neighbours, unit, limits(cap, filter))
        except ValueError as error:
            raise LedgerError(str(error)) from error

    def with_cap(self, fresh: Account, *, raised: bool) -> Account:
        """This account under another cap; what was spent stays spent."""
        terms = (fresh.filter, fresh.neighbours, fresh.unit)
        if self.releases and terms != (self.filter, self.neighbours, self.unit):
            raise LedgerError(
                "filter, neighbours and unit are fixed with the first release (here "
                f"{self.filter}, {self.neighbours}, {self.unit}): what was spent cannot be counted "
                "by other rules afterwards. Only epsilon and delta may still change."
            )
        higher = fresh.cap.epsilon > self.cap.epsilon or fresh.cap.delta > self.cap.delta
        if higher and not raised:
            raise LedgerError(
                f"this raises the cap from {self.cap} to {fresh.cap}: everybody in the data is "
                "then protected only by the higher one. If that is meant, say so with --raise."
            )
        return replace(
            fresh,
            spent=self.spent,
            releases=self.releases,
            case_column=self.case_column,
            individual_column=self.individual_column,
        )

    def naming(self, case: str | None, individual: str | None) -> Account:
        """The account with the columns of its first release fixed, or a refusal of others.

        A release from before columns were kept names none and fixes none.
        """
        person = individual if self.unit == "individual" else None
        return replace(
            self,
            case_column=_fixed("case", self.case_column, case),
            individual_column=_fixed("individual", self.individual_column, person),
        )

    def cost(self, promise: Guarantee) -> Spend:
        """The cost of a release in this account's unit and neighbour relation, or a refusal."""
        if promise.randomness == "seeded":
            raise RefusedError(
                "a release with a seed is not private and cannot be booked; leave out "
                "--insecure-seed, or use --no-ledger if it is never to leave your hands"
            )
        if not promise.private or promise.holds is None:
            raise RefusedError(
                f"the guarantee of this release is {promise.status}: there is no bound to book "
                "against the cap. Choose a mechanism or fidelity whose guarantee is proved; "
                "--no-ledger releases it unbooked, and the certificate then says so."
            )
        cost = Spend.of(promise)
        if promise.unit == "case" and self.unit == "individual":
            raise RefusedError(
                "this source is protected per individual, the release only per case, and a person "
                "may have any number of cases; use --individual and --cases-per-individual"
            )
        if promise.unit == "individual" and self.unit == "case":
            if promise.neighbours == "swap":
                raise RefusedError(
                    "a guarantee for replacing one individual says nothing of adding a case; "
                    "this source is counted per case"
                )
            cost = cost.doubled()
        if promise.neighbours == "swap" and self.neighbours == "add-remove":
            raise RefusedError(
                "this source is counted for adding or removing a case, the release promises only "
                "for replacing one (its number of cases is public); the one never gives the "
                "other. A source set with --neighbours swap takes both."
            )
        if promise.neighbours == "add-remove" and self.neighbours == "swap":
            cost = cost.doubled()
        return cost

    def charged(self, cost: Spend) -> Account:
        """The account after one more release, or a refusal that says what is left."""
        total = self.spent + cost
        if not any(limit.fits(total) for limit in self.limits):
            raise RefusedError(
                f"this release ({Budget(float(cost.epsilon), float(cost.delta))}) does not fit: "
                f"{self.left()}. Ask for less, or raise the cap on purpose with "
                "`discreet budget set … --raise`."
            )
        return replace(self, spent=total, releases=self.releases + 1)

    @property
    def used(self) -> float:
        """The share of the cap that is spent, by the filter that has the most left."""
        return min(limit.used(self.spent) for limit in self.limits)

    def left(self) -> str:
        """The most that the next release may cost, in words."""
        parts = [
            f"ε up to {epsilon:.4g} with δ up to {delta:.3g} ({name})"
            for name, (epsilon, delta) in self.room().items()
            if epsilon
        ]
        return f"the cap ({self.cap}) leaves " + (", or ".join(parts) or "nothing")

    def room(self) -> dict[str, tuple[float, float]]:
        """The largest ε and the largest δ that each filter still takes."""
        return {
            limit.name: (
                limit.next_epsilon(self.spent),
                max(0.0, float(limit.delta - limit.of(self.spent)[1])),
            )
            for limit in self.limits
        }

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "epsilon": self.cap.epsilon,
            "delta": self.cap.delta,
            "filter": self.filter,
            "neighbours": self.neighbours,
            "unit": self.unit,
            "limits": [limit.to_dict() for limit in self.limits],
            "spent": self.spent.to_dict(),
            "releases": self.releases,
            "case_column": self.case_column,
            "individual_column": self.individual_column,
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Account:
        """Inverse of `to_dict`."""
        return cls(
            cap=Budget(values["epsilon"], values["delta"]),
            filter=values["filter"],
            neighbours=values["neighbours"],
            unit=values["unit"],
            limits=tuple(Limit.from_dict(limit) for limit in values["limits"]),
            spent=Spend.from_dict(values["spent"]),
            releases=values["releases"],
            case_column=values.get("case_column"),
            individual_column=values.get("individual_column"),
        )


def _fixed(word: str, before: str | None, named: str | None) -> str | None:
    """The column that the account is fixed to from now on."""
    if before is not None and named not in (None, before):
        raise RefusedError(
            f"this source tells {word}s apart by the column {before!r}, fixed with its first "
            f"release; this release goes by {named!r}, and what the two cost does not add up. "
            f"Read the log with --{word} {before!r} (rename the column if it is the same under "
            "another name), or book on a source with a budget of its own"
        )
    return before if named is None else named
