"""From rows to tables: means with failures and empty outputs counted beside them."""

from __future__ import annotations

import csv
import json
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from statistics import fmean, stdev

from discreet.bench.bench_plan import BenchPlan, Claim
from discreet.bench.controls import CONTROLS
from discreet.bench.store import ResultRow
from discreet.parameters import ParameterError


@dataclass(frozen=True)
class Setting:
    """All repetitions of one mechanism with the same parameters on one log.

    Empty outputs count in every figure that is defined for them (a similarity of 0); `empty`
    and `failed` say how many there were.
    """

    log: str
    label: str
    parameters: dict[str, object]
    rows: tuple[ResultRow, ...]

    @property
    def epsilon(self) -> float | None:
        """Its ε; None for controls."""
        return self.rows[0].epsilon

    @property
    def delta(self) -> float | None:
        """Its δ; None for controls and for mechanisms without."""
        return self.rows[0].delta

    @property
    def control(self) -> bool:
        """Whether this is a control."""
        return self.rows[0].mechanism.startswith("control:")

    @property
    def failed(self) -> int:
        """Runs that ended with an error."""
        return sum(row.outcome == "failed" for row in self.rows)

    @property
    def empty(self) -> int:
        """Runs that released nothing."""
        return sum(row.outcome == "empty" for row in self.rows)

    @property
    def status(self) -> str:
        """What the guarantee of these releases is worth."""
        return next((row.status for row in self.rows if row.status), "")

    @property
    def seconds(self) -> float:
        """Mean time of a run, measuring included."""
        return fmean(row.seconds for row in self.rows)

    def values(self, measure: str) -> list[float]:
        """A figure of every run that has it."""
        return [row.figures[measure] for row in self.rows if measure in row.figures]

    def released(self) -> Setting:
        """The runs that released something: what papers' means are of."""
        return replace(self, rows=tuple(row for row in self.rows if row.outcome == "ok"))

    def mean(self, measure: str) -> float | None:
        """Its mean, if any run has it."""
        values = self.values(measure)
        return fmean(values) if values else None

    def deviation(self, measure: str) -> float | None:
        """Its standard deviation over the runs, if several have it."""
        values = self.values(measure)
        return stdev(values) if len(values) > 1 else None

    def cell(self, measure: str) -> str:
        """Mean and standard deviation, for a table."""
        mean, deviation = self.mean(measure), self.deviation(measure)
        return shown(mean) if deviation is None else f"{shown(mean)} ± {shown(deviation)}"

    def named(self, axes: Sequence[str]) -> str:
        """The chosen parameters in words."""
        symbols = {"epsilon": "ε", "delta": "δ"}
        given = [(symbols.get(a, a), self.parameters[a]) for a in axes if a in self.parameters]
        return ", ".join(f"{name} = {_short(value)}" for name, value in given)


def _short(value: object) -> str:
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def settings_of(rows: Iterable[ResultRow]) -> list[Setting]:
    """Group rows, controls first, then in order of label and falling budget."""
    groups: dict[tuple[str, str, str], list[ResultRow]] = defaultdict(list)
    for row in rows:
        groups[row.log, row.label, json.dumps(row.parameters, sort_keys=True)].append(row)
    found = [
        Setting(log, label, group[0].parameters, tuple(sorted(group, key=lambda r: r.repetition)))
        for (log, label, _), group in groups.items()
    ]
    controls = list(CONTROLS)

    def order(one: Setting) -> tuple[object, ...]:
        rank = controls.index(one.label) if one.control else len(controls)
        budget = (-(one.epsilon or 0.0), -(one.delta or 0.0))
        return one.log, rank, one.label, budget, json.dumps(one.parameters, sort_keys=True)

    return sorted(found, key=order)


def measured(settings: Iterable[Setting]) -> list[str]:
    """The figures that occur, the most telling first."""
    seen = {name for one in settings for row in one.rows for name in row.figures}
    return sorted(
        seen, key=lambda name: (name not in MAIN, MAIN.index(name) if name in MAIN else 0, name)
    )


def axes_of(settings: Sequence[Setting]) -> list[str]:
    """The parameters that tell settings of the same label and log apart: ε, δ, then others.

    Those that only follow the budget, such as a pruning threshold for each ε, do not count.
    """
    by_label: dict[tuple[str, str], list[Setting]] = defaultdict(list)
    for one in settings:
        by_label[one.log, one.label].append(one)
    varying: set[str] = {n for one in settings for n in one.parameters if n in ("epsilon", "delta")}
    for group in by_label.values():
        if len({(one.epsilon, one.delta) for one in group}) < len(group):
            varying |= {
                name
                for name in {n for one in group for n in one.parameters}
                if len({json.dumps(one.parameters.get(name)) for one in group}) > 1
            }
    first = [name for name in ("epsilon", "delta") if name in varying]
    return first + sorted(varying - set(first))


@dataclass(frozen=True)
class Gap:
    """A published figure beside ours."""

    source: str
    setting: Setting
    measure: str
    ours: float
    published: float

    @property
    def difference(self) -> float:
        """Ours minus published; relative for counts, which have no common scale."""
        if self.measure.startswith("absolute"):
            return (self.ours - self.published) / self.published
        return self.ours - self.published


def gaps(plan: BenchPlan, settings: Sequence[Setting]) -> list[Gap]:
    """Every published figure of the plan that was measured here, empty outputs left out as there.

    Where our mechanism has no δ, or 0, the published figures of all δ are averaged.
    """
    if plan.published is None:
        return []
    table = files("discreet.bench") / "published" / plan.published
    if not table.is_file():
        raise ParameterError(f"plan {plan.name}: there is no table of published figures {table}")
    found: dict[tuple[object, ...], list[tuple[float, str]]] = defaultdict(list)
    for line in csv.DictReader(table.read_text(encoding="utf-8").splitlines()):
        budget = [float(line[name]) if line[name] else None for name in ("epsilon", "delta")]
        entry = float(line["value"]), line["source"]
        place = line["log"], line["label"], line["measure"], budget[0]
        found[*place, budget[1]].append(entry)
        found[*place, "any"].append(entry)
    result = []
    for one in settings:
        for measure in measured([one]):
            mean = one.released().mean(measure)
            delta = one.delta or "any"
            known = found.get((one.log, one.label, measure, one.epsilon, delta))
            if known and mean is not None:
                published = fmean(value for value, _ in known)
                result.append(Gap(known[0][1], one, measure, mean, published))
    return result


def gap_table(found: Sequence[Gap]) -> tuple[list[str], list[list[str]]]:
    """Heads and lines: how far each mechanism is from the paper in each figure."""
    groups: dict[tuple[str, str, str], list[Gap]] = defaultdict(list)
    for gap in found:
        groups[gap.setting.log, gap.setting.label, gap.measure].append(gap)
    lines = []
    for (log, label, measure), group in groups.items():
        worst = max(group, key=lambda gap: abs(gap.difference))
        form = "{:+.0%}" if measure.startswith("absolute") else "{:+.3f}"
        place = worst.setting.named(("epsilon", "delta")) or "the raw log"
        empty = f" ({worst.setting.empty} of {len(worst.setting.rows)} runs empty)"
        lines.append(
            [
                *(log, label, measure, group[0].source, str(len(group))),
                form.format(fmean(gap.difference for gap in group)),
                form.format(worst.difference),
                f"{shown(worst.ours)} for {shown(worst.published)} at {place}"
                + (empty if worst.setting.empty else ""),
            ]
        )
    return ["log", "mechanism", "figure", "source", "cells", "mean gap", "largest", "where"], lines


@dataclass(frozen=True)
class Verdict:
    """A paper's sentence and the means it speaks of."""

    claim: Claim
    means: tuple[float, ...]

    @property
    def holds(self) -> bool | None:
        """Whether the means lie in the range; None if nothing was measured."""
        low = -math.inf if self.claim.low is None else self.claim.low
        high = math.inf if self.claim.high is None else self.claim.high
        inside = [low <= mean <= high for mean in self.means]
        if not inside:
            return None
        return any(inside) if self.claim.some else all(inside)


def verdicts(plan: BenchPlan, settings: Sequence[Setting]) -> list[Verdict]:
    """Each claim of the plan against the means it speaks of."""
    return [
        Verdict(
            claim,
            tuple(
                mean
                for one in settings
                if one.label == claim.label
                and (not claim.logs or one.log in claim.logs)
                and (claim.epsilon is None or one.epsilon == claim.epsilon)
                and (mean := one.mean(claim.measure)) is not None
            ),
        )
        for claim in plan.claims
    ]


MAIN = (
    *("similarity", "absolute_difference", "follows_total_variation", "fitness", "precision"),
    *("f_score", "generalisation", "simplicity", "entropy", "size_ratio", "normal_share"),
    *("similarity_by_index", "absolute_difference_as_travas"),
    *("times_smape", "duration_distance"),
)


def shown(value: float | None) -> str:
    """A figure as a table shows it."""
    if value is None:
        return "–"
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g}{letter}"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3f}"


def markdown(settings: Sequence[Setting], found: Sequence[Gap] = ()) -> str:
    """The main table and the gaps, for documents."""
    axes = axes_of(settings)
    present = set(measured(settings))
    columns = [name for name in MAIN if name in present]
    heads = ["log", "mechanism", "setting", *columns, "runs", "empty", "failed"]
    lines = [
        [
            *(one.log, one.label, one.named(axes) or "–"),
            *(one.cell(name) for name in columns),
            *(str(len(one.rows)), str(one.empty), str(one.failed)),
        ]
        for one in settings
    ]
    tables = [(heads, lines)] + ([gap_table(found)] if found else [])
    return "\n\n".join(_grid(*table) for table in tables) + "\n"


def _grid(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rows = [heads, ["---"] * len(heads), *lines]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)
