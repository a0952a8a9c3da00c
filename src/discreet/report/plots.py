"""Plots and charts in SVG.

Plots: curves over common axes, heat maps over two budgets, boxes over one. Charts of one log that
stand beside those of another: dots, bars, and the hours of a week.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import quantiles

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.language import translate
from discreet.report import svg

WIDTH, HEIGHT = 680, 320
LEFT, RIGHT, TOP, BOTTOM = 64, 40, 56, 44
DOTTED = 12
"""Most points of a curve that shows each of them."""
LOW, MIDDLE, HIGH = (253, 246, 227), (118, 183, 178), (23, 63, 95)
"""Colours of the scale of a heat map; a cell has its own background, in the dark too."""

CHART_WIDTH = 480
LETTERS = 24
"""Most letters of a name in a chart."""
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


@dataclass(frozen=True)
class Curve:
    """A named line through points."""

    name: str
    x: Floats
    y: Floats
    colour: str


@dataclass(frozen=True, eq=False)
class Dots:
    """Points in the unit square, each of one of a few named kinds."""

    x: Floats
    y: Floats
    kind: Integers


def line_plot(
    title: str,
    curves: Sequence[Curve],
    *,
    across: Callable[[float], str],
    down: str,
    logarithmic: bool = False,
    marks: Floats | None = None,
) -> str:
    """Curves over common axes; `across` writes a value of x, at `marks` if given; `down` names y.

    With `logarithmic` both axes show powers of ten, and a value of y below 1 lies at the foot.
    """

    def scaled(values: Floats) -> Floats:
        return np.asarray(np.log10(np.maximum(values, 1)) if logarithmic else values)

    xs = np.concatenate([scaled(curve.x) for curve in curves])
    ys = np.concatenate([scaled(curve.y) for curve in curves])
    low, high = (float(xs.min()), float(xs.max())) if len(xs) else (0.0, 1.0)
    top = float(ys.max(initial=0)) or 1.0
    span = (high - low) or 1.0

    def place_x(value: float) -> float:
        return LEFT + (value - low) / span * (WIDTH - LEFT - RIGHT)

    def place_y(value: float) -> float:
        return HEIGHT - BOTTOM - value / top * (HEIGHT - TOP - BOTTOM)

    parts = [svg.text(LEFT, 20, title, font_size="14")]
    for value in _ticks(0.0, top, logarithmic).tolist():
        y = place_y(value)
        name = f"{10**value:g}" if logarithmic else f"{value:g}"
        parts.append(svg.line(LEFT, y, WIDTH - RIGHT, y, "grid"))
        parts.append(svg.text(LEFT - 6, y + 4, name, anchor="end"))
    if marks is None:
        marks = _ticks(low, high, logarithmic) if logarithmic else np.linspace(low, high, 6)
    for value in marks.tolist():
        name = across(10**value if logarithmic else value)
        parts.append(svg.text(place_x(value), HEIGHT - BOTTOM + 18, name, anchor="middle"))
    for number, curve in enumerate(curves):
        pairs = zip(scaled(curve.x).tolist(), scaled(curve.y).tolist(), strict=True)
        places = [(place_x(x), place_y(y)) for x, y in pairs]
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        legend = LEFT + 110 * number
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{curve.colour}" '
            'stroke-width="1.5" stroke-opacity="0.85"/>'
        )
        if len(curve.x) <= DOTTED:
            parts += [
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{curve.colour}"/>'
                for x, y in places
            ]
        if curve.name:
            mark = svg.line(legend, 37, legend + 18, 37, stroke=curve.colour, stroke_width="3")
            parts += [mark, svg.text(legend + 24, 41, curve.name)]
    middle = (TOP + HEIGHT - BOTTOM) / 2
    turned = f"rotate(-90 14 {middle})"
    parts.append(svg.text(14, middle, down, anchor="middle", transform=turned))
    return svg.page(WIDTH, HEIGHT, parts, title)


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
    parts = [svg.text(left, 18, title, font_size="13", font_weight="bold")]
    parts.append(svg.text(left - 8, top - 6, "ε \\ δ", anchor="end", font_size="10"))
    for j, column in enumerate(columns):
        parts.append(svg.text(left + wide * (j + 0.5), top - 6, column, anchor="middle"))
    for i, row in enumerate(rows):
        parts.append(svg.text(left - 8, top + high * i + 23, row, anchor="end"))
        for j, value in enumerate(values[i]):
            x, y, note = left + wide * j, top + high * i, notes[i][j]
            middle = x + wide / 2 - 1
            if value is None:
                ink = ""
                parts.append(svg.rect(x, y, wide - 2, high - 2, "absent"))
            else:
                colour, ink = _colour(value, bounds, logarithmic)
                parts.append(svg.rect(x, y, wide - 2, high - 2, fill=colour))
            shift = 15 if note else 22
            parts.append(svg.text(middle, y + shift, texts[i][j], ink, anchor="middle"))
            if note:
                parts.append(svg.text(middle, y + 29, note, ink, anchor="middle", font_size="9"))
    return svg.page(left + wide * len(columns) + 8, top + high * len(rows) + 8, parts, title)


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
    end = left + step * len(groups)
    height = max(
        top + plot + 20 + 14 * max(map(len, names), default=1),
        top + 16 * (len(series) + len(lines)) + 10,
    )

    def y(value: float) -> float:
        if logarithmic:
            many = math.log(max(value, low) / low) / (math.log(high / low) or 1.0)
        else:
            many = (value - low) / span
        return top + plot * (1 - many)

    parts = []
    for k in range(5):
        at = low * (high / low) ** (k / 4) if logarithmic else low + span * k / 4
        parts.append(svg.line(left, y(at), end, y(at), "grid"))
        parts.append(svg.text(left - 6, y(at) + 4, _tick(at), anchor="end", font_size="10"))
    for i, words in enumerate(names):
        centre = left + step * (i + 0.5)
        for k, word in enumerate(words):
            below = top + plot + 18 + 14 * k
            parts.append(svg.text(centre, below, word, anchor="middle", font_size="11"))
        for j, _ in enumerate(series):
            begin = centre + box * (j - len(series) / 2)
            parts += _box(values[i][j], begin, box - 5, y, svg.series(j))
    for j, name in enumerate(series):
        at = top + 12 + 16 * j
        parts.append(svg.rect(end + 12, at - 9, 11, 11, fill=svg.series(j), fill_opacity=".6"))
        parts.append(svg.text(end + 32, at, name, font_size="11"))
    for k, (name, value) in enumerate(lines):
        if not logarithmic or value > 0:
            dashed = {"stroke": svg.series(len(svg.SERIES) - 1 - k), "stroke_dasharray": "5 3"}
            at = top + 12 + 16 * (len(series) + k)
            parts.append(svg.line(left, y(value), end, y(value), **dashed))
            parts.append(svg.line(end + 12, at - 4, end + 26, at - 4, **dashed))
            parts.append(svg.text(end + 32, at, f"{name} {_tick(value)}", font_size="11"))
    return svg.page(end + 150, height, parts)


def dotted_chart(title: str, dots: Dots, kinds: Sequence[str], marks: Sequence[str]) -> str:
    """Dots in the colours of their kinds; `marks` are written below, from left to right."""
    left, top, wide, high = 14.0, 30.0, CHART_WIDTH - 28.0, 300.0
    parts = [svg.text(left, 18, title, font_size="13")]
    for number, mark in enumerate(marks):
        share = number / max(1, len(marks) - 1)
        anchor = ("start", "end")[number == len(marks) - 1] if number in (0, len(marks) - 1) else ""
        x = left + share * wide
        parts.append(svg.line(x, top, x, top + high, "grid"))
        parts.append(svg.text(x, top + high + 16, mark, "quiet", anchor=anchor or "middle"))
    for number in range(len(kinds)):
        own = np.flatnonzero(dots.kind == number)
        places = zip((left + dots.x[own] * wide), (top + dots.y[own] * high), strict=True)
        path = "".join(f"M{x:.1f} {y:.1f}h0" for x, y in places)
        parts.append(
            f'<path d="{path}" stroke="{svg.series(number)}" stroke-width="2.2" '
            'stroke-linecap="round" stroke-opacity="0.7"/>'
        )
    below = top + high + 36
    for number, name in enumerate(kinds):
        x, y = left + number % 2 * wide / 2, below + number // 2 * 16
        parts.append(svg.rect(x, y - 9, 10, 10, fill=svg.series(number)))
        parts.append(svg.text(x + 16, y, _short(name, 30), font_size="11"))
    return svg.page(CHART_WIDTH, below + (len(kinds) + 1) // 2 * 16, parts, title)


def week_map(title: str, shares: Floats, most: float) -> str:
    """The hours of a week, a cell each; the darkest has the share `most`."""
    wide, high, left, top = 18.0, 24.0, 36.0, 44.0
    parts = [svg.text(left, 18, title, font_size="13")]
    for hour in range(0, 24, 3):
        parts.append(svg.text(left + wide * (hour + 0.5), top - 6, f"{hour}", anchor="middle"))
    for day, name in enumerate(DAYS):
        parts.append(svg.text(left - 6, top + high * day + 16, translate(name), anchor="end"))
        for hour in range(24):
            colour = shade(float(shares[day, hour]) / most if most else 0.0)
            x, y = left + wide * hour, top + high * day
            parts.append(svg.rect(x, y, wide - 1, high - 1, fill=colour))
    return svg.page(CHART_WIDTH, top + high * 7 + 10, parts, title)


def bar_chart(
    title: str, names: Sequence[str], shares: Sequence[Floats], series: Sequence[str]
) -> str:
    """Horizontal bars: for each name a share of each series."""
    left, top, each = 190.0, 52.0, 9.0 * len(series) + 9
    most = max((float(one.max(initial=0)) for one in shares), default=0) or 1.0
    wide = 1.4 * CHART_WIDTH - left - 60
    parts = [svg.text(14, 18, title, font_size="13")]
    for number, name in enumerate(series):
        parts.append(svg.rect(left + 110 * number, 30, 11, 10, fill=svg.series(number)))
        parts.append(svg.text(left + 110 * number + 17, 39, name, font_size="11"))
    for place, name in enumerate(names):
        y = top + each * place
        parts.append(svg.text(left - 8, y + each / 2, _short(name, LETTERS), anchor="end"))
        for number, one in enumerate(shares):
            long = float(one[place]) / most * wide
            parts.append(svg.rect(left, y + 9 * number, long, 8, fill=svg.series(number)))
            shown = f"{float(one[place]):.1%}"
            parts.append(
                svg.text(left + long + 5, y + 9 * number + 7, shown, "quiet", font_size="9")
            )
    return svg.page(1.4 * CHART_WIDTH, top + each * len(names) + 6, parts, title)


def shade(part: float) -> str:
    """The colour at a part of the scale, from 0 to 1."""
    red, green, blue = _mixed(part)
    return f"rgb({red},{green},{blue})"


def evenly(low: float, high: float, many: int, written: Callable[[float], str]) -> list[str]:
    """Texts of `many` values at equal distances from `low` to `high`."""
    return [written(value) for value in np.linspace(low, high, many).tolist()]


def _ticks(low: float, high: float, logarithmic: bool) -> Floats:
    """Round values between two bounds; exponents of ten where the axis is logarithmic."""
    if logarithmic:
        return np.arange(math.ceil(low), math.floor(high) + 1, dtype=np.float64)
    rough = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)
    return np.arange(0.0, high + step * 1e-9, step) + math.ceil(low / step) * step


def _colour(value: float, bounds: tuple[float, float], logarithmic: bool) -> tuple[str, str]:
    """The colour of a value, and the class of the text on it."""
    low, high = bounds
    if logarithmic:
        low, high, value = (math.log(max(v, 1e-12)) for v in (low, high, value))
    red, green, blue = _mixed((value - low) / (high - low) if high > low else 0.5)
    dark = 0.299 * red + 0.587 * green + 0.114 * blue < 130
    return f"rgb({red},{green},{blue})", "ondark" if dark else "onlight"


def _mixed(part: float) -> tuple[int, int, int]:
    part = min(max(part, 0.0), 1.0)
    begin, end, part = (LOW, MIDDLE, 2 * part) if part < 0.5 else (MIDDLE, HIGH, 2 * part - 1)
    red, green, blue = (round(a + (b - a) * part) for a, b in zip(begin, end, strict=True))
    return red, green, blue


def _box(
    values: Sequence[float], x: float, wide: float, y: Callable[[float], float], colour: str
) -> list[str]:
    if not values:
        return []
    if len(values) > 1:
        first, middle, third = quantiles(values, n=4, method="inclusive")
    else:
        first = middle = third = values[0]
    centre, top = x + wide / 2, y(third)
    inside = {"fill": colour, "fill_opacity": ".35", "stroke": colour}
    return [
        svg.line(centre, y(min(values)), centre, y(max(values)), stroke=colour),
        svg.rect(x, top, wide, max(y(first) - top, 1), **inside),
        svg.line(x, y(middle), x + wide, y(middle), stroke=colour, stroke_width="2.5"),
    ]


def _tick(value: float) -> str:
    return f"{value:.2g}" if abs(value) < 1000 else f"{value:.1e}"


def _short(name: str, letters: int) -> str:
    return name if len(name) <= letters else name[: letters - 1] + "…"
