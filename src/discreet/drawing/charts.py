"""Charts of one log that stand beside those of another: dots, bars, and the hours of a week."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.drawing import svg
from discreet.drawing.plots import shade
from discreet.language import translate

WIDTH = 480
LETTERS = 24
"""What a chart shows of a name."""

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


@dataclass(frozen=True, eq=False)
class Dots:
    """Points in the unit square, each of one of a few named kinds."""

    x: Floats
    y: Floats
    kind: Integers


def dotted_chart(title: str, dots: Dots, kinds: Sequence[str], marks: Sequence[str]) -> str:
    """Dots in the colours of their kinds; `marks` are written below, from left to right."""
    left, top, wide, high = 14.0, 30.0, WIDTH - 28.0, 300.0
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
    return svg.page(WIDTH, below + (len(kinds) + 1) // 2 * 16, parts, title)


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
    return svg.page(WIDTH, top + high * 7 + 10, parts, title)


def bar_chart(
    title: str, names: Sequence[str], shares: Sequence[Floats], series: Sequence[str]
) -> str:
    """Horizontal bars: for each name a share of each series."""
    left, top, each = 190.0, 52.0, 9.0 * len(series) + 9
    most = max((float(one.max(initial=0)) for one in shares), default=0) or 1.0
    wide = 1.4 * WIDTH - left - 60
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
    return svg.page(1.4 * WIDTH, top + each * len(names) + 6, parts, title)


def evenly(low: float, high: float, many: int, written: Callable[[float], str]) -> list[str]:
    """Values from one to another, at equal distances, as they are written."""
    return [written(value) for value in np.linspace(low, high, many).tolist()]


def _short(name: str, letters: int) -> str:
    return name if len(name) <= letters else name[: letters - 1] + "…"
