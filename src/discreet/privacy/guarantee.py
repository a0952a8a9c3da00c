"""The promise of a release, stated so that a reviewer could defend every line."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, get_args

from discreet import notebook
from discreet.privacy.wording import (
    EXPOSED_WARNING,
    MODERATE_EPSILON,
    MOST_DELTA,
    MOST_EPSILON,
    Strength,
    TooWeakError,
    Vocabulary,
    certainty,
    odds,
    strength_of,
    vocabulary,
)

Status = Literal["proved", "conditional", "refuted", "unproved"]
Neighbours = Literal["add-remove", "swap"]
Unit = Literal["case", "individual"]
RandomnessKind = Literal["operating system", "seeded"]


@dataclass(frozen=True)
class Budget:
    """An (epsilon, delta) pair: how far one unit may move the odds, and with what exception."""

    epsilon: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.epsilon) and self.epsilon >= 0):
            raise ValueError(f"epsilon must be a finite number of at least 0, not {self.epsilon}")
        if not 0 <= self.delta <= 1:
            raise ValueError(f"delta must lie between 0 and 1, not {self.delta}")

    def share(self, epsilon: float, delta: float | None = None) -> Budget:
        """Shares of epsilon and delta (by default the same), rounded down.

        Shares that add up to 1 never add up to more than the budget.
        """
        if epsilon == 1 and delta in (None, 1):
            return self
        down = 1 - 2**-48
        of_delta = epsilon if delta is None else delta
        return Budget(self.epsilon * epsilon * down, self.delta * of_delta * down)

    @property
    def strength(self) -> Strength:
        """The strength of its protection, where it holds."""
        return strength_of(self.epsilon, self.delta)

    def refuse_if_too_weak(self) -> None:
        """Raise TooWeakError if it protects hardly anybody."""
        if self.strength == "hardly any":
            raise TooWeakError(
                f"{self} protects hardly anybody: releases stop at ε = {MOST_EPSILON:g} and "
                f"δ = {MOST_DELTA:g}. Choose less, or insist with --allow-weak (in Python "
                "allow_weak=True), which the certificate will say"
            )

    def __str__(self) -> str:
        return f"ε = {self.epsilon:.4g}" + (f", δ = {self.delta:.4g}" if self.delta else ", δ = 0")


@dataclass(frozen=True)
class Part:
    """One step of a release and what it spends; `rho` where it is accounted in zCDP.

    `rule` says by which noise or which composition of the steps below, `parts`.
    """

    name: str
    epsilon: float = 0.0
    delta: float = 0.0
    rho: float | None = None
    rule: str = ""
    parts: tuple[Part, ...] = ()

    @property
    def cost(self) -> str:
        """The cost in symbols."""
        if self.rho is None and not (self.epsilon or self.delta):
            return "converted with the rest"
        if self.rho is None:
            return str(Budget(self.epsilon, self.delta))
        return f"ρ = {self.rho:.4g}" + (f", δ = {self.delta:.4g}" if self.delta else "")

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Part:
        """Inverse of `asdict`."""
        below = tuple(cls.from_dict(part) for part in values.get("parts", ()))
        return cls(**values | {"parts": below})


@dataclass(frozen=True, repr=False)
class Guarantee:
    """The promise of a release, with everything it rests on.

    `claimed` is what was asked for or what the paper says, `holds` what is true; None where no
    finite bound is known. Where they differ, `holds` counts. The columns say what a case and, if
    the unit is the individual, an individual is; they are known once there is a log.
    """

    status: Status
    claimed: Budget | None
    holds: Budget | None
    reason: str
    neighbours: Neighbours = "add-remove"
    unit: Unit = "case"
    cases_per_individual: int | None = None
    conditions: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()
    composition: str = "one step"
    randomness: RandomnessKind = "operating system"
    case_column: str | None = None
    individual_column: str | None = None

    def __post_init__(self) -> None:
        for value, allowed in (
            (self.status, Status),
            (self.neighbours, Neighbours),
            (self.unit, Unit),
            (self.randomness, RandomnessKind),
        ):
            if value not in get_args(allowed):
                raise ValueError(f"{value!r} is not one of {', '.join(get_args(allowed))}")
        if self.status in ("proved", "conditional") and self.holds is None:
            raise ValueError(f"a {self.status} guarantee needs the budget that holds")
        if self.status == "conditional" and not self.conditions:
            raise ValueError("a conditional guarantee must name its conditions")

    @property
    def private(self) -> bool:
        """Whether a differential-privacy bound protects the people in this release."""
        return self.proved and self.randomness == "operating system"

    @property
    def proved(self) -> bool:
        """Whether a bound is proved, be it on conditions."""
        return self.status in ("proved", "conditional") and self.holds is not None

    def naming(self, case: str, individual: str | None) -> Guarantee:
        """The promise for a log whose cases and individuals are identified by these columns."""
        person = individual if self.unit == "individual" else None
        return replace(self, case_column=case, individual_column=person)

    @property
    def strength(self) -> Strength:
        """The strength of its protection; none where no bound holds or the noise can be redrawn."""
        return "none" if not self.private or self.holds is None else self.holds.strength

    def level(self, language: str | None = None) -> str:
        """Its strength in two or three words."""
        return vocabulary(language).levels[self.strength]

    def explain(self, language: str | None = None) -> str:
        """The promise in plain words, for a data-protection officer, one paragraph a line."""
        words = vocabulary(language)
        lines = []
        if self.randomness == "seeded":
            lines.append(words.seeded)
        if self.holds is None:
            lines.append(words.unbounded.format(one=words.one[self.unit], named=self._named(words)))
        else:
            epsilon, delta = self.holds.epsilon, f"{self.holds.delta:.4g}"
            excepted = self.holds.delta > 0
            precisely = words.precisely.format(
                change=words.change[self.neighbours][self.unit],
                odds=odds(epsilon),
                epsilon=f"{epsilon:.4g}",
                exception=words.exception.format(delta=delta) if excepted else "",
            )
            gist = words.gist[self.holds.strength][self.unit].format(named=self._named(words))
            lines.append(f"{gist} {precisely}")
            lines.append(
                words.example.format(
                    doubt=words.doubt[self.neighbours][self.unit],
                    sure=certainty(epsilon),
                    barring=words.barring.format(delta=delta) if excepted else "",
                )
            )
        if self.unit == "case" and self.holds is not None:
            lines.append(words.cases_only)
        if self.unit == "individual" and self.case_column is not None:
            lines.append(words.case_column.format(case=repr(self.case_column)))
        lines.append(f"{words.status[self.status]} {self.reason}".strip())
        if self.claimed and self.claimed != self.holds:
            holds = words.holds.format(holds=self.holds) if self.holds else words.holds_nothing
            lines.append(words.claimed.format(claimed=self.claimed, holds=holds))
        if self.conditions:
            lines.append(words.public.format(conditions="; ".join(self.conditions)))
        return "\n".join(lines)

    def _named(self, words: Vocabulary) -> str:
        """The column that tells units apart, and the most cases that count, in words."""
        column = self.case_column if self.unit == "case" else self.individual_column
        if column is None and self.unit == "case":
            return ""
        kind = "bounded" if column is None else self.unit
        return words.named[kind].format(column=repr(column), cases=self.cases_per_individual)

    @property
    def per(self) -> str:
        """The protected unit, for programmers."""
        most = self.cases_per_individual
        return f"per {self.unit}" if most is None else f"per {self.unit} of at most {most} cases"

    def bound(self, *, named: bool = True, language: str | None = None) -> str:
        """The budget that holds and its unit, with the unit's column if `named`."""
        words = vocabulary(language)
        whom = words.any_one[self.unit] + (self._named(words) if named else "")
        return f"{self.holds or words.no_bound} {whom}"

    def warnings(self, *, cases: int | None = None, language: str | None = None) -> tuple[str, ...]:
        """Warnings that must stand beside the promise when this many cases were released.

        It reads the promise and the released cases only, so it may stand in the certificate.
        """
        words, found = vocabulary(language), []
        if self.randomness == "seeded":
            found.append(words.seeded)
        if self.holds is None:
            return (*found, words.unbounded.format(one=words.one[self.unit], named=""))
        epsilon, delta = self.holds.epsilon, self.holds.delta
        if epsilon > MODERATE_EPSILON:
            found.append(
                words.weak_epsilon.format(
                    epsilon=f"{epsilon:.4g}",
                    level=words.levels[self.holds.strength],
                    sure=certainty(epsilon),
                )
            )
        if cases and delta * cases > EXPOSED_WARNING:
            found.append(
                words.large_delta.format(
                    delta=f"{delta:.4g}",
                    cases=f"{cases:,}",
                    exposed=f"{min(delta, 1) * cases:.2g}",
                    limit=f"{EXPOSED_WARNING / cases:.1g}",
                )
            )
        if self.claimed is not None and self.claimed.strength == "hardly any":
            found.append(words.insisted)
        return tuple(found)

    def __repr__(self) -> str:
        private = "" if self.private else ", NOT PRIVATE"
        return (
            f"Guarantee({self.holds or 'no bound'}, {self.status}, {self.neighbours}, "
            f"{self.per}{private})"
        )

    def _repr_html_(self) -> str:
        words = "".join(notebook.paragraph(line) for line in self.explain().splitlines())
        rows = [["· " * depth + p.name, p.cost, p.rule] for depth, p in self.walk()]
        listed = notebook.table(("step", "cost", "by"), rows)
        steps = notebook.folded("Every step and what it costs", listed) if rows else ""
        return notebook.box(repr(self), words, steps)

    def walk(self) -> Iterator[tuple[int, Part]]:
        """Every part of the release with its depth, those above before those below."""
        waiting = [(0, part) for part in reversed(self.parts)]
        while waiting:
            depth, part = waiting.pop()
            yield depth, part
            waiting += [(depth + 1, below) for below in reversed(part.parts)]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Guarantee:
        """Inverse of `to_dict`."""
        fresh = dict(values)
        for key in ("claimed", "holds"):
            fresh[key] = Budget(**fresh[key]) if fresh.get(key) is not None else None
        fresh["conditions"] = tuple(fresh.get("conditions", ()))
        fresh["parts"] = tuple(Part.from_dict(part) for part in fresh.get("parts", ()))
        return cls(**fresh)
