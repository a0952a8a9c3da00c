"""The report: one HTML file that needs nothing else, with tables, plots and the papers' figures."""

from __future__ import annotations

import platform
from collections import defaultdict
from collections.abc import Iterable, Sequence
from html import escape

from discreet._version import __version__
from discreet.bench.controls import CONTROLS
from discreet.bench.plan import Plan
from discreet.bench.store import Row
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
from discreet.drawing.plots import box_plot, heat_map
from discreet.utility.evaluation import WARNING

COUNTS = ("absolute_difference", "absolute_difference_published", "size_ratio")


def html_report(plan: Plan, rows: Iterable[Row], *, command: str, absent: Sequence[str]) -> str:
    """The whole report of a plan from its rows."""
    settings = settings_of(rows)
    differences = gaps(plan, settings)
    body = [
        f"<h1>{escape(plan.title)}</h1>",
        f'<p class="warning">Every figure here was {WARNING}.</p>',
        "".join(f"<p>{escape(text)}</p>" for text in plan.about.strip().split("\n\n") if text),
        _how(plan, settings, command),
        _not_run(plan, absent),
    ]
    if not settings:
        body.append("<p>There are no results yet.</p>")
    if plan.published or plan.claims:
        body.append(_against_the_paper(plan, settings, differences))
    for log in sorted({one.log for one in settings}):
        chosen = [one for one in settings if one.log == log]
        body += [f"<h2>{escape(log)}</h2>", _plots(plan, chosen, differences), _table(chosen)]
    body.append(_failures(settings))
    return _PAGE.format(title=escape(plan.title), style=_STYLE, body="\n".join(filter(None, body)))


def _how(plan: Plan, settings: Sequence[Setting], command: str) -> str:
    runs = sum(len(one.rows) for one in settings)
    versions = sorted({row.version for one in settings for row in one.rows} | {__version__})
    mixed = (
        " <b>Rows of several versions of the library are mixed; run with a fresh folder.</b>"
        if len(versions) > 1
        else ""
    )
    controls = "".join(
        f"<li><b>{name}</b>: {escape(control.meaning)}</li>" for name, control in CONTROLS.items()
    )
    return (
        f"<p>{runs} runs of the plan <code>{escape(plan.name)}</code>, {plan.repetitions} "
        f"repetitions each, with the operating system's randomness; discreet "
        f"{', '.join(versions)}, Python {platform.python_version()}.{mixed} Made by:</p>"
        f"<pre>{escape(command)}</pre><p>In heat maps darker is higher, and "
        "the small figure is the paper's. Controls in every table (none of them private; edits "
        "of the ceiling are doubled, as it compares halves):</p>"
        f"<ul>{controls}</ul>"
    )


def _not_run(plan: Plan, absent: Sequence[str]) -> str:
    missing = [f"mechanism <b>{escape(m)}</b> is not installed" for m in plan.missing_mechanisms()]
    missing += [f"log <b>{escape(file)}</b> was not found" for file in absent]
    if not missing:
        return ""
    items = "".join(f"<li>{item}</li>" for item in missing)
    return f'<div class="missing"><b>Not run:</b><ul>{items}</ul></div>'


def _against_the_paper(plan: Plan, settings: Sequence[Setting], found: Sequence[Gap]) -> str:
    parts = ["<h2>Against the paper</h2>"]
    if found:
        parts.append("<p>Ours minus published; relative for absolute differences.</p>")
        parts.append(_html_table(*gap_table(found)))
    elif plan.published is None:
        parts.append(
            "<p>The paper's text has no table of these figures; its sentences are below.</p>"
        )
    checks = verdicts(plan, settings)
    if checks:
        words = {True: "holds", False: "does not hold", None: "not measured"}
        lines = [
            [
                check.claim.text,
                check.claim.label,
                check.claim.measure,
                f"{shown(min(check.means))} to {shown(max(check.means))}" if check.means else "–",
                words[check.holds],
            ]
            for check in checks
        ]
        heads = ["the paper says", "mechanism", "figure", "measured means", "here it"]
        parts.append(_html_table(heads, lines))
    if plan.reasons:
        items = "".join(f"<li>{escape(reason)}</li>" for reason in plan.reasons)
        parts.append(f"<p>Known reasons for differences:</p><ul>{items}</ul>")
    return "\n".join(parts)


def _plots(plan: Plan, settings: Sequence[Setting], differences: Sequence[Gap]) -> str:
    private = [one for one in settings if not one.control]
    controls = [one for one in settings if one.control]
    published = {
        (gap.setting.label, gap.measure, gap.setting.epsilon, gap.setting.delta): gap.published
        for gap in differences
        if gap.setting.log == settings[0].log
    }
    parts = []
    for measure in measured(private):
        parts.append(f'<section><h3>{measure}</h3><div class="plots">')
        lines = [(one.label, mean) for one in controls if (mean := one.mean(measure)) is not None]
        means = [m for one in private if (m := one.mean(measure)) is not None]
        bounds = _bounds(means)
        flat: list[Setting] = []
        for label in dict.fromkeys(one.label for one in private):
            mine = [one for one in private if one.label == label]
            grid = len({one.epsilon for one in mine}) > 1 and len({one.delta for one in mine}) > 1
            if grid and len(mine) == len({(one.epsilon, one.delta) for one in mine}):
                parts.append(_map(label, measure, mine, bounds, published))
            else:
                flat += mine
        if flat:
            parts.append(_boxes(flat, measure, lines))
        listed = ", ".join(f"{name} {shown(value)}" for name, value in lines)
        parts.append(
            f'</div><p class="controls">Controls: {escape(listed) or "none"}</p></section>'
        )
    return '<div class="measures">' + "\n".join(parts) + "</div>"


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


def _table(settings: Sequence[Setting]) -> str:
    axes, columns = axes_of(settings), measured(settings)
    heads = ["mechanism", "setting", "guarantee", *columns, "runs", "empty", "failed", "s/run"]
    lines = [
        [
            one.label,
            one.named(axes) or "–",
            "control" if one.control else one.status or "–",
            *(shown(one.mean(name)) for name in columns),
            str(len(one.rows)),
            str(one.empty or "–"),
            str(one.failed or "–"),
            f"{one.seconds:.2f}",
        ]
        for one in settings
    ]
    table = _html_table(heads, lines, marked=[one.control for one in settings])
    return f"<details open><summary>All figures (means)</summary>{table}</details>"


def _failures(settings: Sequence[Setting]) -> str:
    seen: dict[tuple[str, str, str], int] = defaultdict(int)
    for one in settings:
        for row in one.rows:
            if row.outcome == "failed":
                seen[row.log, row.label, row.error] += 1
    if not seen:
        return "<h2>Failures</h2><p>None.</p>"
    lines = [[log, label, str(many), error] for (log, label, error), many in seen.items()]
    return "<h2>Failures</h2>" + _html_table(["log", "mechanism", "runs", "error"], lines)


def _html_table(
    heads: Sequence[str], lines: Sequence[Sequence[str]], marked: Sequence[bool] = ()
) -> str:
    head = "".join(f"<th>{escape(text.replace('_', ' '))}</th>" for text in heads)
    rows = []
    for index, line in enumerate(lines):
        kind = ' class="control"' if marked and marked[index] else ""
        rows.append(f"<tr{kind}>" + "".join(f"<td>{escape(cell)}</td>" for cell in line) + "</tr>")
    return (
        f'<div class="wide"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;color:#1f2933;max-width:1200px;margin:2rem auto;
padding:0 1rem}
h1{font-size:1.7rem}h2{margin-top:2.5rem;border-bottom:2px solid #dde3e8}h3{margin:1.4rem 0 .3rem}
.warning{background:#fff4d6;border-left:5px solid #d9a400;padding:.6rem 1rem;font-weight:600}
.missing{background:#fde8e4;border-left:5px solid #c0392b;padding:.4rem 1rem}
.measures,.plots{display:flex;flex-wrap:wrap;gap:0 1.5rem}section{break-inside:avoid}
.controls{color:#52606d;margin:.2rem 0}.wide{overflow-x:auto}
table{border-collapse:collapse;font-size:13px;font-variant-numeric:tabular-nums;margin:.6rem 0}
th,td{padding:.25rem .6rem;border-bottom:1px solid #e4e7eb;text-align:left;white-space:nowrap}
th{background:#f1f4f7;vertical-align:bottom}tr.control td{background:#f7f9fb;font-style:italic}
pre{background:#f1f4f7;padding:.6rem 1rem;overflow-x:auto}svg{margin:.3rem 1rem .3rem 0}
td:first-child{white-space:normal}
"""

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title><style>{style}</style></head>
<body>
{body}
</body></html>
"""
