"""Draw the pictures of these pages: `python docs/pictures.py` writes docs/images/*.svg.

Logs are samples, and releases are seeded so that a picture changes only when the code does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import discreet
from discreet.drawing import svg
from discreet.drawing.charts import bar_chart
from discreet.drawing.plots import Curve, line_plot
from discreet.privacy.partition import OptimalSelection
from discreet.utility.pictures import pictures

IMAGES = Path(__file__).parent / "images"

HIDDEN = "0.35"
"""The strength of what a release leaves out."""


def before_after() -> str:
    """The same steps of a log and of its release, and the hours of the week below them."""
    log = discreet.sample_log("permits", cases=5000, seed=1)
    released = discreet.release(
        log, epsilon=1, delta=1e-6, times=True, no_ledger=True, insecure_seed=1
    ).log()
    maps, _, weeks, *_ = pictures(log, released)
    return beside(
        [maps.drawings, weeks.drawings],
        ["the log: stays with its holder", "the release: ε = 1, δ = 1e-6, may be shared"],
        "A process map and the hours of the week, before and after a private release",
    )


def beside(rows: Sequence[Sequence[str]], headings: Sequence[str], title: str) -> str:
    """Rows of drawings, two in each, under a heading for each column."""
    columns = [max(_size(row[i])[0] for row in rows) for i in range(2)]
    y, parts = 44.0, []
    for i, heading in enumerate(headings):
        parts.append(svg.text(24 + i * columns[0], 26, heading, font_size="16"))
    for row in rows:
        for i, drawing in enumerate(row):
            parts.append(drawing.replace("<svg ", f'<svg x="{i * columns[0]:.0f}" y="{y:.0f}" ', 1))
        y += max(_size(drawing)[1] for drawing in row)
    return svg.page(sum(columns), y, parts, title)


def _size(drawing: str) -> tuple[float, float]:
    width, height = drawing.split('viewBox="0 0 ', 1)[1].split('"', 1)[0].split()
    return float(width), float(height)


def belief() -> str:
    """How sure somebody can become that a certain case is in the log."""
    epsilon = np.linspace(0, 5, 101)
    curves = []
    for number, prior in enumerate((0.5, 0.1, 0.01)):
        odds = prior / (1 - prior) * np.exp(epsilon)
        sure = 100 * odds / (1 + odds)
        curves.append(Curve(f"{prior:.0%} before", epsilon, sure, svg.SERIES[number]))
    return line_plot(
        "How sure can somebody become, at most?",
        curves,
        across=lambda value: f"ε = {value:g}",
        down="% sure afterwards",
    )


def two_worlds() -> str:
    """The noisy count of a variant in two logs that differ by one case."""
    steps = np.arange(0, 26)
    ratio = math.exp(-1)
    curves = [
        Curve(
            name,
            steps.astype(np.float64),
            100 * (1 - ratio) / (1 + ratio) * ratio ** np.abs(steps - count),
            svg.SERIES[number],
        )
        for number, (name, count) in enumerate((("with you", 13), ("without you", 12)))
    ]
    return line_plot(
        "What is released of a variant with 13 cases, or 12 (noise for ε = 1)",
        curves,
        across=lambda value: f"{value:.0f}",
        down="% of releases",
    )


def shown() -> str:
    """How likely a variant is shown, by the number of its cases."""
    counts = np.arange(0, 61)
    curves = []
    for number, epsilon in enumerate((3.0, 1.0, 0.3)):
        selection = OptimalSelection(epsilon, 1e-6)
        chance = np.array([100 * float(selection.probability(int(n))) for n in counts])
        curves.append(
            Curve(f"ε = {epsilon:g}", counts.astype(np.float64), chance, svg.SERIES[number])
        )
    return line_plot(
        "How often travas shows a variant (δ = 1e-6)",
        curves,
        across=lambda value: f"{value:.0f} cases",
        down="% of releases",
    )


def variants() -> str:
    """Counts of a log's variants, true and released."""
    log = discreet.sample_log("permits", cases=600, seed=1)
    released = discreet.mechanism("travas", epsilon=1, delta=1e-6).release(log, insecure_seed=1)
    true, noisy = log.variants.to_dict(), released.artefact.to_dict()
    order = sorted(true, key=lambda variant: -true[variant])[:14]
    names = [f"{place}. variant, {true[variant]} cases" for place, variant in enumerate(order, 1)]
    shares = [np.array([one.get(variant, 0) for variant in order]) / 600 for one in (true, noisy)]
    return bar_chart(
        "Variants of a small log, and what travas releases of them",
        names,
        shares,
        ("the log", "the release"),
    )


def head_and_tail() -> str:
    """The idea of headtail: bars above a threshold are shown, the others vote."""
    counts = [96, 71, 52, 38, 29, 7, 5, 4, 3, 2, 2, 1, 1, 1, 1, 1, 1]
    foot, each, parts = 190.0, 21.0, [svg.TIP]
    for place, count in enumerate(counts):
        high, head = 1.3 * count + 3, count > 13
        strength = {} if head else {"fill_opacity": HIDDEN}
        x = 30 + each * place
        parts.append(svg.rect(x, foot - high, 15, high, fill=svg.SERIES[0], **strength))
    parts.append(svg.line(24, foot - 24, 400, foot - 24, "grid", stroke_dasharray="4 3"))
    parts.append(svg.text(400, foot - 30, "noisy threshold", "quiet", anchor="end"))
    parts.append(svg.text(30, 24, "head: frequent variants,", font_size="13"))
    parts.append(svg.text(30, 40, "shown with a noisy count", font_size="13"))
    parts.append(svg.text(30 + each * 5, foot + 20, "tail: rare variants, never shown", "quiet"))
    names = ("a → b → c → e", "a → c → d → e", "a → b → b → e")
    for place, (name, votes) in enumerate(zip(names, (14, 9, 6), strict=True)):
        y = 50.0 + 54 * place
        parts.append(
            f'<path class="flow" d="M{250 + 40 * place} {foot - 12}C420 {foot - 20} 420 {y + 18} '
            f'458 {y + 18}" marker-end="url(#tip)"/>'
        )
        parts.append(svg.rect(462, y, 126, 36, "task", rx="7"))
        parts.append(svg.text(525, y + 22, name, anchor="middle"))
        parts.append(svg.text(598, y + 22, f"{votes} noisy votes"))
    parts.append(svg.text(462, 24, "sequences found privately;", font_size="13"))
    parts.append(svg.text(462, 40, "each hidden case votes for the nearest", font_size="13"))
    return svg.page(760, 224, parts, "headtail: frequent variants are shown, rare ones vote")


def prefix_tree() -> str:
    """The idea of laplace and sacofa: prefixes with noisy counts, grown where they are large."""
    nodes = {  # name: (x, y, noisy count, kept)
        "⊤": (60, 110, "", True),
        "a": (190, 60, "203", True),
        "b": (190, 160, "−2", False),
        "a b": (330, 30, "121", True),
        "a c": (330, 90, "84", True),
        "a a": (330, 150, "3", False),
        "a b d": (480, 30, "118", True),
        "a c d": (480, 90, "80", True),
        "a c a": (480, 150, "−1", False),
    }
    ways = ("⊤|a", "⊤|b", "a|a b", "a|a c", "a|a a", "a b|a b d", "a c|a c d", "a c|a c a")
    lines, boxes = [svg.TIP], []
    for way in ways:
        (x, y, *_), (x2, y2, *_, kept) = (nodes[name] for name in way.split("|"))
        faded = "" if kept else f' stroke-opacity="{HIDDEN}"'
        lines.append(
            f'<path class="flow" d="M{x + 42} {y}L{x2 - 44} {y2}" marker-end="url(#tip)"{faded}/>'
        )
    for name, (x, y, count, kept) in nodes.items():
        faded = {} if kept else {"fill_opacity": HIDDEN, "stroke_opacity": HIDDEN}
        boxes.append(svg.rect(x - 42, y - 18, 84, 36, "task", rx="7", **faded))
        boxes.append(svg.text(x, y - (3 if count else -4), name, anchor="middle"))
        if count:
            boxes.append(svg.text(x, y + 12, count, "quiet", anchor="middle", font_size="11"))
    said = "faded: too small a noisy count, so nothing below it is asked"
    boxes.append(svg.text(18, 204, said, "quiet"))
    return svg.page(560, 216, [*lines, *boxes], "A tree of prefixes with noisy counts")


def learnt() -> str:
    """The idea of whole: tables with noise, from which cases are drawn anew."""
    parts = [svg.TIP]
    boxes = (
        (20, 70, "the log", "task"),
        (230, 16, "variants by headtail", "gateway"),
        (230, 70, "starts, weekday, hour", "gateway"),
        (230, 124, "waits, durations", "gateway"),
        (460, 70, "a new log, drawn", "start"),
    )
    for x, y, name, kind in boxes:
        parts.append(svg.rect(x, y, 170, 38, kind, rx="7"))
        parts.append(svg.text(x + 85, y + 23, name, anchor="middle"))
    for y in (35, 89, 143):
        parts.append(f'<path class="flow" d="M190 89L226 {y}" marker-end="url(#tip)"/>')
        parts.append(f'<path class="flow" d="M400 {y}L456 89" marker-end="url(#tip)"/>')
    parts.append(svg.text(315, 184, "noisy tables: all that is paid for", "quiet", anchor="middle"))
    parts.append(svg.text(545, 128, "no value is copied", "quiet", anchor="middle"))
    return svg.page(650, 196, parts, "whole: noisy tables, and a new log drawn from them")


PICTURES = {
    "before-after": before_after,
    "belief": belief,
    "two-worlds": two_worlds,
    "shown": shown,
    "variants": variants,
    "head-and-tail": head_and_tail,
    "prefix-tree": prefix_tree,
    "learnt": learnt,
}


def main() -> None:
    """Write them all."""
    for name, draw in PICTURES.items():
        (IMAGES / f"{name}.svg").write_text(draw())
        print("Written:", f"docs/images/{name}.svg")


if __name__ == "__main__":
    main()
