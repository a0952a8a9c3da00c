"""The report: one HTML file that needs nothing else, with tables, plots and the papers' figures."""

from __future__ import annotations

import platform
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from discreet._version import __version__
from discreet.bench.bench_plan import BenchPlan
from discreet.bench.controls import CONTROLS
from discreet.bench.store import ResultRow
from discreet.bench.summary import (
    Gap,
    Setting,
    axes_of,
    gap_table,
    gaps,
    measured,
    settings_of,
    shown,
    verdicts,
)
from discreet.report.pages import render_page
from discreet.report.plots import box_plot, heat_map
from discreet.utility.evaluation import WARNING

HEADS = ("mechanism", "setting", "guarantee")
COUNTS = ("absolute_difference", "absolute_difference_as_travas", "size_ratio")
"""Figures without an upper limit, drawn on a logarithmic scale where they spread."""


def html_report(plan: BenchPlan, rows: Iterable[ResultRow], *, command: str) -> str:
    """The whole report of a plan from its rows; everything but our own drawings is escaped."""
    settings = settings_of(rows)
    differences = gaps(plan, settings)
    return render_page(
        "discreet.bench",
        "report.html",
        plan=plan,
        warning=WARNING,
        about=[text for text in plan.about.strip().split("\n\n") if text],
        runs=sum(len(one.rows) for one in settings),
        versions=sorted({row.version for one in settings for row in one.rows} | {__version__}),
        python=platform.python_version(),
        command=command,
        controls=CONTROLS,
        uninstalled=plan.missing_mechanisms(),
        gaps=gap_table(differences) if differences else None,
        claims=_claims(plan, settings),
        logs=[
            _log(name, [one for one in settings if one.log == name], differences)
            for name in sorted({one.log for one in settings})
        ],
        failures=_failures(settings),
    )


def plots(plan: BenchPlan, rows: Iterable[ResultRow]) -> dict[str, str]:
    """The report's pictures by the name of a file, for documents."""
    settings = settings_of(rows)
    differences = gaps(plan, settings)
    found = {}
    for log in sorted({one.log for one in settings}):
        mine = [one for one in settings if one.log == log]
        for measure in _measures(mine, differences):
            for label, picture in measure["plots"].items():
                name = "-".join(filter(None, (log, measure["name"], label)))
                found[re.sub(r"\W+", "-", name).strip("-").lower() + ".svg"] = picture
    return found


def _claims(plan: BenchPlan, settings: Sequence[Setting]) -> list[list[str]]:
    """A line for each sentence of the paper, and whether it holds here."""
    words = {True: "holds", False: "does not hold", None: "not measured"}
    return [
        [
            check.claim.text,
            check.claim.label,
            check.claim.measure,
            f"{shown(min(check.means))} to {shown(max(check.means))}" if check.means else "–",
            words[check.holds],
        ]
        for check in verdicts(plan, settings)
    ]


def _log(name: str, settings: Sequence[Setting], differences: Sequence[Gap]) -> dict[str, Any]:
    """What the report shows of one log."""
    axes, columns = axes_of(settings), measured(settings)
    return {
        "name": name,
        "measures": _measures(settings, differences),
        "heads": [*HEADS, *columns, "runs", "empty", "failed", "s/run"],
        "marked": [one.control for one in settings],
        "lines": [
            [
                one.label,
                one.named(axes) or "–",
                "control" if one.control else one.status or "–",
                *(one.cell(column) for column in columns),
                str(len(one.rows)),
                str(one.empty or "–"),
                str(one.failed or "–"),
                f"{one.seconds:.2f}",
            ]
            for one in settings
        ],
    }


def _measures(settings: Sequence[Setting], differences: Sequence[Gap]) -> list[dict[str, Any]]:
    """Each measure's plots: a map for a mechanism over two budgets, boxes for all others."""
    private = [one for one in settings if not one.control]
    controls = [one for one in settings if one.control]
    published = {
        (gap.setting.label, gap.measure, gap.setting.epsilon, gap.setting.delta): gap.published
        for gap in differences
        if gap.setting.log == settings[0].log
    }
    found = []
    for measure in measured(private):
        drawn: dict[str, str] = {}
        lines = [(one.label, mean) for one in controls if (mean := one.mean(measure)) is not None]
        means = [m for one in private if (m := one.mean(measure)) is not None]
        flat: list[Setting] = []
        for label in dict.fromkeys(one.label for one in private):
            mine = [one for one in private if one.label == label]
            grid = len({one.epsilon for one in mine}) > 1 and len({one.delta for one in mine}) > 1
            if grid and len(mine) == len({(one.epsilon, one.delta) for one in mine}):
                drawn[label] = _map(label, measure, mine, _bounds(means), published)
            else:
                flat += mine
        if flat:
            drawn[""] = _boxes(flat, measure, lines)
        listed = ", ".join(f"{name} {shown(value)}" for name, value in lines)
        found.append({"name": measure, "plots": drawn, "controls": listed})
    return found


def _bounds(means: Sequence[float]) -> tuple[float, float]:
    """The range of colours: never so narrow that noise looks like a pattern."""
    low, high = min(means), max(means)
    return (low, high) if high > 2 else (low, max(high, low + 0.2))


def _map(
    label: str,
    measure: str,
    mine: Sequence[Setting],
    bounds: tuple[float, float],
    published: dict[tuple[str, str, float | None, float | None], float],
) -> str:
    epsilons = sorted({one.epsilon or 0.0 for one in mine}, reverse=True)
    deltas = sorted({one.delta or 0.0 for one in mine}, reverse=True)
    found = {(one.epsilon, one.delta): one for one in mine}
    values: list[list[float | None]] = []
    notes = []
    for e in epsilons:
        cells = [found.get((e, d)) for d in deltas]
        values.append([cell.mean(measure) if cell else None for cell in cells])
        papers = [published.get((label, measure, e, d)) for d in deltas]
        notes.append(["" if p is None else f"paper {shown(p)}" for p in papers])
    return heat_map(
        label,
        [f"{e:g}" for e in epsilons],
        [f"{d:g}" for d in deltas],
        values,
        [[shown(v) for v in row] for row in values],
        notes,
        bounds,
        logarithmic=measure in COUNTS and bounds[0] > 0,
    )


def _boxes(flat: Sequence[Setting], measure: str, lines: Sequence[tuple[str, float]]) -> str:
    axes = axes_of(flat)
    series = list(dict.fromkeys(one.label for one in flat))
    main = [axis for axis in axes if axis != "delta" or len({one.delta for one in flat}) > 2]
    groups = list(dict.fromkeys(one.named(main) for one in flat))
    values = [
        [
            [
                v
                for one in flat
                if one.named(main) == g and one.label == s
                for v in one.values(measure)
            ]
            for s in series
        ]
        for g in groups
    ]
    wide = [v for group in values for one in group for v in one if v > 0]
    stretched = measure in COUNTS and bool(wide) and max(wide) > 20 * min(wide)
    return box_plot(groups, series, values, lines, logarithmic=stretched)


def _failures(settings: Sequence[Setting]) -> list[list[str]]:
    """What failed, how often, and why."""
    seen = Counter(
        (row.log, row.label, row.error)
        for one in settings
        for row in one.rows
        if row.outcome == "failed"
    )
    return [[log, label, str(many), error] for (log, label, error), many in seen.items()]
