"""Draw the pictures of these pages: `python docs/pictures.py` writes docs/images/*.svg.

Logs are samples, and releases are seeded so that a picture changes only when the code does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import ideas
import numpy as np

import discreet
from discreet.privacy.partition import OptimalSelection
from discreet.report import svg
from discreet.report.plots import Curve, bar_chart, line_plot
from discreet.utility.pictures import pictures

IMAGES = Path(__file__).parent / "images"


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


PICTURES = {
    "before-after": before_after,
    "belief": belief,
    "two-worlds": two_worlds,
    "shown": shown,
    "variants": variants,
    "head-and-tail": ideas.head_and_tail,
    "prefix-tree": ideas.prefix_tree,
    "ruled-tree": ideas.ruled_tree,
    "learnt": lambda: ideas.tables("variants by headtail"),
    "learnt-amun": lambda: ideas.tables("variants by travas"),
    "noisy-steps": ideas.steps_with_noise,
    "walks": ideas.walks,
    "trees": ideas.trees,
    "next-activity": ideas.next_activity,
    "blur": ideas.blur,
    "game": ideas.game,
    "contest": ideas.contest,
}


def main() -> None:
    """Write them all."""
    for name, draw in PICTURES.items():
        (IMAGES / f"{name}.svg").write_text(draw())
        print("Written:", f"docs/images/{name}.svg")


if __name__ == "__main__":
    main()
