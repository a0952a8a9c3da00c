"""Plots as plain SVG: heat maps over two budgets, box plots over one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape
from statistics import quantiles

LOW, MIDDLE, HIGH = (253, 246, 227), (118, 183, 178), (23, 63, 95)
INK = "#1f2933"
SERIES = ("#1f6f8b", "#e07a3f", "#5b8c5a", "#8d5a97", "#c0392b", "#7f8c8d", "#b8860b", "#34495e")


def heat_map(
    title: str,
    rows: Sequence[str],
    columns: Sequence[str],
    values: Sequence[Sequence[float | None]],
    texts: Sequence[Sequence[str]],
    notes: Sequence[Sequence[str]],
    bounds: tuple[float, float],
    *,
    logarithmic: bool = False,
) -> str:
    """A coloured table: value and, smaller, a note (the published value) in each cell."""
    wide, high, left, top = 66, 38, 62, 46
    width, height = left + wide * len(columns) + 8, top + high * len(rows) + 34
    parts = [_text(left, 18, title, size=13, weight="bold")]
    for i, row in enumerate(rows):
        parts.append(_text(left - 8, top + high * i + 23, row, anchor="end"))
        for j, _ in enumerate(columns):
            value = values[i][j]
            colour, ink = _colour(value, bounds, logarithmic)
            x, y = left + wide * j, top + high * i
            parts.append(
                f'<rect x="{x}" y="{y}" width="{wide - 2}" height="{high - 2}" fill="{colour}"/>'
            )
            middle = x + wide / 2 - 1
            shift = 15 if notes[i][j] else 22
            parts.append(_text(middle, y + shift, texts[i][j], anchor="middle", colour=ink))
            if notes[i][j]:
                parts.append(
                    _text(middle, y + 29, notes[i][j], anchor="middle", size=9, colour=ink)
                )
    for j, column in enumerate(columns):
        parts.append(_text(left + wide * (j + 0.5), top - 6, column, anchor="middle"))
    parts.append(_text(left - 8, top - 6, "ε \\ δ", anchor="end", size=10))
    return _svg(width, height - 26, parts)


def box_plot(
    groups: Sequence[str],
    series: Sequence[str],
    values: Sequence[Sequence[Sequence[float]]],
    lines: Sequence[tuple[str, float]] = (),
    *,
    logarithmic: bool = False,
) -> str:
    """Boxes of each series in each group (median, quartiles, extremes); dashed reference lines."""
    everything = [v for group in values for one in group for v in one] + [v for _, v in lines]
    finite = [v for v in everything if not logarithmic or v > 0]
    if not finite:
        return ""
    low, high = min(finite), max(finite)
    if not logarithmic:
        low, high = min(low, 0.0), max(high, 1.0) if high <= 1.2 else high
    span = (high - low) or 1.0
    left, top, plot = 64, 16, 200
    box, gap = 22, 26
    names = [group.split(", ") for group in groups]
    widest = max((len(part) for parts in names for part in parts), default=0)
    step = max(box * max(len(series), 1) + gap, 6.5 * widest + 12)
    width = left + step * len(groups) + 150
    legend = top + 16 * (len(series) + len(lines))
    height = max(top + plot + 20 + 14 * max(map(len, names), default=1), legend + 10)

    def y(value: float) -> float:
        if logarithmic:
            many = math.log(max(value, low) / low) / (math.log(high / low) or 1.0)
        else:
            many = (value - low) / span
        return top + plot * (1 - many)

    parts = []
    for k in range(5):
        at = low * (high / low) ** (k / 4) if logarithmic else low + span * k / 4
        parts.append(_line(left, y(at), left + step * len(groups), y(at), "#dde3e8"))
        parts.append(_text(left - 6, y(at) + 4, _tick(at), anchor="end", size=10))
    for k, (name, value) in enumerate(lines):
        if not logarithmic or value > 0:
            colour = ("#2c3e50", "#95a5a6", "#b03a2e", "#7d6608", "#1b4f72")[k % 5]
            parts.append(
                _line(left, y(value), left + step * len(groups), y(value), colour, dash="5 3")
            )
            place = top + 12 + 16 * (len(series) + k)
            x = left + step * len(groups) + 12
            parts.append(_line(x, place - 4, x + 14, place - 4, colour, dash="5 3"))
            parts.append(_text(x + 20, place, f"{name} {_tick(value)}", size=11))
    for i, lines_of_name in enumerate(names):
        for k, part in enumerate(lines_of_name):
            x, below = left + step * (i + 0.5), top + plot + 18 + 14 * k
            parts.append(_text(x, below, part, anchor="middle", size=11))
        for j, _ in enumerate(series):
            begin = left + step * (i + 0.5) + box * (j - len(series) / 2)
            parts += _box(values[i][j], begin, box - 5, y, SERIES[j % len(SERIES)])
    for j, name in enumerate(series):
        x = left + step * len(groups) + 12
        at = top + 12 + 16 * j
        parts.append(
            f'<rect x="{x}" y="{at - 9}" width="11" height="11" '
            f'fill="{SERIES[j % len(SERIES)]}" fill-opacity=".6"/>'
        )
        parts.append(_text(x + 20, at, name, size=11))
    return _svg(width, height, parts)


def _box(
    values: Sequence[float], x: float, wide: float, y: Callable[[float], float], colour: str
) -> list[str]:
    if not values:
        return []
    if len(values) > 1:
        first, middle, third = quantiles(values, n=4, method="inclusive")
    else:
        first = middle = third = values[0]
    centre = x + wide / 2
    top, bottom = y(third), y(first)
    return [
        _line(centre, y(min(values)), centre, y(max(values)), colour),
        f'<rect x="{x:.1f}" y="{top:.1f}" width="{wide:.1f}" height="{max(bottom - top, 1):.1f}" '
        f'fill="{colour}" fill-opacity=".35" stroke="{colour}"/>',
        _line(x, y(middle), x + wide, y(middle), colour, width=2.5),
    ]


def _tick(value: float) -> str:
    return f"{value:.2g}" if abs(value) < 1000 else f"{value:.1e}"


def _colour(value: float | None, bounds: tuple[float, float], logarithmic: bool) -> tuple[str, str]:
    if value is None:
        return "#e5e7eb", INK
    low, high = bounds
    if logarithmic:
        low, high, value = (math.log(max(v, 1e-12)) for v in (low, high, value))
    part = min(max((value - low) / (high - low), 0.0), 1.0) if high > low else 0.5
    begin, end, part = (LOW, MIDDLE, 2 * part) if part < 0.5 else (MIDDLE, HIGH, 2 * part - 1)
    red, green, blue = (round(a + (b - a) * part) for a, b in zip(begin, end, strict=True))
    dark = 0.299 * red + 0.587 * green + 0.114 * blue < 130
    return f"rgb({red},{green},{blue})", "#ffffff" if dark else INK


def _text(
    x: float,
    y: float,
    text: str,
    *,
    anchor: str = "start",
    size: int = 12,
    weight: str = "normal",
    colour: str = INK,
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" '
        f'font-weight="{weight}" fill="{colour}">{escape(text)}</text>'
    )


def _line(
    x: float, y: float, x2: float, y2: float, colour: str, *, dash: str = "", width: float = 1.0
) -> str:
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return (
        f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" '
        f'stroke-width="{width}"{dashes}/>'
    )


def _svg(width: float, height: float, parts: Sequence[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="system-ui, sans-serif" '
        f'role="img">{"".join(parts)}</svg>'
    )
