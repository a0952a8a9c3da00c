"""A small line plot as SVG, with nothing to install."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from discreet.arrays import Floats

WIDTH, HEIGHT = 680, 320
LEFT, RIGHT, TOP, BOTTOM = 64, 40, 56, 44


@dataclass(frozen=True)
class Curve:
    """A named line through points."""

    name: str
    x: Floats
    y: Floats
    colour: str


def line_plot(
    title: str,
    curves: Sequence[Curve],
    *,
    across: Callable[[float], str],
    down: str,
    logarithmic: bool = False,
) -> str:
    """Curves over common axes; `across` writes a value of x, `down` names y.

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

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{LEFT}" y="20" font-size="14">{escape(title)}</text>',
    ]
    for value in _ticks(0.0, top, logarithmic).tolist():
        y = place_y(value)
        label = f"{10**value:g}" if logarithmic else f"{value:g}"
        parts.append(
            f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>'
            f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{label}</text>'
        )
    marks = _ticks(low, high, logarithmic) if logarithmic else np.linspace(low, high, 6)
    for value in marks.tolist():
        x = place_x(value)
        label = across(10**value if logarithmic else value)
        parts.append(
            f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">'
            f"{escape(label)}</text>"
        )
    for number, curve in enumerate(curves):
        pairs = zip(scaled(curve.x).tolist(), scaled(curve.y).tolist(), strict=True)
        points = " ".join(f"{place_x(x):.1f},{place_y(y):.1f}" for x, y in pairs)
        legend = LEFT + 110 * number
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{curve.colour}" '
            'stroke-width="1.5" stroke-opacity="0.85"/>'
            f'<line x1="{legend}" x2="{legend + 18}" y1="37" y2="37" stroke="{curve.colour}" '
            f'stroke-width="3"/><text x="{legend + 24}" y="41">{escape(curve.name)}</text>'
        )
    middle = (TOP + HEIGHT - BOTTOM) / 2
    parts.append(
        f'<text x="14" y="{middle}" transform="rotate(-90 14 {middle})" '
        f'text-anchor="middle">{escape(down)}</text></svg>'
    )
    return "\n".join(parts) + "\n"


def _ticks(low: float, high: float, logarithmic: bool) -> Floats:
    """Round values between two bounds; exponents of ten where the axis is logarithmic."""
    if logarithmic:
        return np.arange(math.ceil(low), math.floor(high) + 1, dtype=np.float64)
    rough = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)
    return np.arange(0.0, high + step * 1e-9, step) + math.ceil(low / step) * step
