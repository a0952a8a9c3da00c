"""Who gets what of the budget: stated once, for the guarantee and for the noise alike."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from discreet.privacy.guarantee import Budget, Part
from discreet.privacy.partition import LARGEST_EPSILON, OptimalSelection


@dataclass(frozen=True)
class StartsSpending:
    """Epsilon for the parts of the calendar, the cases in each, weekdays and hours."""

    halving: float
    counting: float
    weekdays: float
    hours: float


@dataclass(frozen=True)
class GapsSpending:
    """Epsilon for the durations of all steps, by the activity they lead to, by relation."""

    all_steps: float
    by_activity: float
    by_relation: float


@dataclass(frozen=True)
class Spending:
    """The budget of every step of a strict release; together never more than the whole."""

    variants: Budget
    starts: StartsSpending
    gaps: GapsSpending
    columns: tuple[tuple[str, Budget], ...]

    @classmethod
    def of(
        cls, budget: Budget, times_share: float, columns: tuple[str, ...], columns_share: float
    ) -> Spending:
        """Columns, if any, take their share of ε and δ; times theirs of the rest of ε.

        Half of what times get is for start times, half for durations.
        """
        taken = columns_share if columns else 0.0
        each = budget.share(taken / len(columns)) if columns else budget
        rest = budget.share(1 - taken)
        times = rest.share(times_share, 0)

        def part(share: float) -> float:
            return times.share(share, 0).epsilon

        return cls(
            variants=rest.share(1 - times_share, 1),
            starts=StartsSpending(part(0.25), part(0.125), part(0.05), part(0.075)),
            gaps=GapsSpending(part(0.1), part(0.2), part(0.2)),
            columns=tuple((column, each) for column in columns),
        )

    def parts(self) -> Iterator[Part]:
        """Every step by name, for the guarantee."""
        yield Part("variants and their counts", self.variants.epsilon, self.variants.delta)
        yield Part("start times: parts of the calendar", self.starts.halving)
        yield Part("start times: cases in each part", self.starts.counting)
        yield Part("start times: weekdays", self.starts.weekdays)
        yield Part("start times: hours", self.starts.hours)
        yield Part("durations of all steps", self.gaps.all_steps)
        yield Part("durations by activity", self.gaps.by_activity)
        yield Part("durations by relation", self.gaps.by_relation)
        for column, budget in self.columns:
            yield Part(f"values of {column}", budget.epsilon, budget.delta)


def selection(budget: Budget) -> OptimalSelection:
    """The partition selection that a budget buys."""
    return OptimalSelection(min(budget.epsilon, LARGEST_EPSILON), budget.delta)
