"""The idea of each mechanism as a drawing; `python docs/pictures.py` writes them.

Numbers in them are made up to show an idea, except in `blur` and `steps_with_noise`, which are
computed. What is measured stands in the tables of the pages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

import discreet
from discreet.log.follows import Follows
from discreet.report import svg
from discreet.report.plots import bar_chart

HIDDEN = "0.35"
"""The strength of what a release leaves out."""


def box(x: float, y: float, width: float, lines: Sequence[str], kind: str = "task") -> str:
    """A box with its left upper corner at a point, 20 high for each line and 18 around them."""
    high = 18 + 20 * len(lines)
    texts = (
        svg.text(x + width / 2, y + 23 + 20 * i, one, anchor="middle", font_size="13")
        for i, one in enumerate(lines)
    )
    return svg.rect(x, y, width, high, kind, rx="7") + "".join(texts)


def arrow(x: float, y: float, x2: float, y2: float, strength: str = "1") -> str:
    """A straight arrow."""
    return (
        f'<path class="flow" d="M{x:.0f} {y:.0f}L{x2:.0f} {y2:.0f}" marker-end="url(#tip)" '
        f'stroke-opacity="{strength}"/>'
    )


def bent(x: float, y: float, x2: float, y2: float) -> str:
    """An arrow that leaves and arrives level."""
    middle = (x + x2) / 2
    return (
        f'<path class="flow" d="M{x:.0f} {y:.0f}C{middle:.0f} {y:.0f} {middle:.0f} {y2:.0f} '
        f'{x2:.0f} {y2:.0f}" marker-end="url(#tip)"/>'
    )


def note(x: float, y: float, said: str, anchor: str = "start") -> str:
    """A remark."""
    return svg.text(x, y, said, "quiet", anchor=anchor, font_size="13")


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


Node = tuple[float, float, str, bool, str]
"""Of a tree of prefixes: where, its noisy count, whether it is kept, its class in the style."""


def prefix_tree() -> str:
    """The idea of laplace: prefixes with noisy counts, grown where they are large."""
    nodes: dict[str, Node] = {
        "⊤": (60, 110, "", True, "task"),
        "a": (190, 60, "203", True, "task"),
        "b": (190, 160, "−2", False, "task"),
        "a b": (330, 30, "121", True, "task"),
        "a c": (330, 90, "84", True, "task"),
        "a a": (330, 150, "3", False, "task"),
        "a b d": (480, 30, "118", True, "task"),
        "a c d": (480, 90, "80", True, "task"),
        "a c a": (480, 150, "−1", False, "task"),
    }
    said = "faded: too small a noisy count, so nothing below it is asked"
    return _tree(nodes, said, "A tree of prefixes with noisy counts")


def ruled_tree() -> str:
    """The idea of sacofa: the same tree, with prefixes that break a rule."""
    nodes: dict[str, Node] = {
        "⊤": (60, 110, "", True, "task"),
        "a": (190, 60, "203", True, "task"),
        "b": (190, 160, "not asked", False, "end"),
        "a b": (330, 30, "121", True, "task"),
        "a c": (330, 90, "84", True, "task"),
        "a d": (330, 150, "not asked", False, "end"),
        "a b d": (480, 30, "118", True, "task"),
        "a c d": (480, 90, "80", True, "task"),
        "a c a": (480, 150, "19", True, "end"),
    }
    said = "red: breaks a rule of the process; few of these are let in, drawn by lot"
    return _tree(nodes, said, "A tree of prefixes in which some break a rule")


def _tree(nodes: Mapping[str, Node], said: str, title: str) -> str:
    lines, boxes = [svg.TIP], []
    for name, (x, y, count, kept, kind) in nodes.items():
        faded = {} if kept else {"fill_opacity": HIDDEN, "stroke_opacity": HIDDEN}
        if name != "⊤":
            x0, y0, *_ = nodes[" ".join(name.split()[:-1]) or "⊤"]
            lines.append(arrow(x0 + 42, y0, x - 44, y, "1" if kept else HIDDEN))
        boxes.append(svg.rect(x - 42, y - 18, 84, 36, kind, rx="7", **faded))
        boxes.append(svg.text(x, y - (3 if count else -4), name, anchor="middle"))
        if count:
            boxes.append(svg.text(x, y + 12, count, "quiet", anchor="middle", font_size="11"))
    return svg.page(560, 216, [*lines, *boxes, note(18, 204, said)], title)


def tables(variants: str) -> str:
    """The idea of whole and amun: tables with noise, from which cases are drawn anew."""
    parts = [
        svg.TIP,
        box(16, 68, 90, ["the log"]),
        box(160, 10, 170, [variants], "gateway"),
        box(160, 68, 170, ["starts, weekday, hour"], "gateway"),
        box(160, 126, 170, ["waits, durations"], "gateway"),
        box(384, 68, 120, ["a new log"], "start"),
        note(245, 186, "noisy tables: all that is paid for", "middle"),
        note(448, 126, "drawn, nothing copied", "middle"),
    ]
    for y in (29, 87, 145):
        parts += [arrow(108, 87, 157, y), arrow(332, y, 381, 87)]
    return svg.page(540, 200, parts, "Noisy tables, and a new log drawn from them")


def steps_with_noise() -> str:
    """The idea of df-laplace, computed: how often steps occur, and what is released of it."""
    log = discreet.sample_log("permits", cases=5000, seed=1)
    made = discreet.mechanism("df-laplace", epsilon=1, delta=0, alphabet="from-log")
    true = Follows.of_variants(log.variants)
    graphs = [
        {(a, b): n for a, b, n in one}
        for one in (true, made.release(log, insecure_seed=1).artefact)
    ]
    order = sorted(graphs[0], key=lambda step: -graphs[0][step])[:42:3]
    total = sum(graphs[0].values())
    return bar_chart(
        "Every third step of a log, and what df-laplace releases of it (ε = 1)",
        [f"{3 * i + 1}. step, {graphs[0][step]:,} times" for i, step in enumerate(order)],
        [np.array([graph.get(step, 0) for step in order]) / total for graph in graphs],
        ("the log", "the release"),
    )


def walks() -> str:
    """The idea of sapa: a graph with noisy counts, used up by walks through it."""
    places = {"⊤": (40, 100), "a": (120, 100), "b": (210, 40), "c": (210, 160), "⊥": (300, 100)}
    steps = (
        ("⊤a", "100", (80, 92)),
        ("ab", "61", (154, 62)),
        ("ac", "39", (154, 146)),
        ("bc", "8", (220, 104)),
        ("b⊥", "53", (266, 62)),
        ("c⊥", "47", (266, 146)),
    )
    parts = [svg.TIP]
    for (start, end), count, (x, y) in steps:
        (x1, y1), (x2, y2) = places[start], places[end]
        long = float(np.hypot(x2 - x1, y2 - y1))
        dx, dy = 20 * (x2 - x1) / long, 20 * (y2 - y1) / long
        parts.append(arrow(x1 + dx, y1 + dy, x2 - dx, y2 - dy))
        parts.append(note(x, y, count, "middle" if start != "b" or end != "c" else "start"))
    for name, (x, y) in places.items():
        parts.append(svg.circle(x, y, 18, {"⊤": "start", "⊥": "end"}.get(name, "task")))
        parts.append(svg.text(x, y + 5, name, anchor="middle", font_size="14"))
    parts.append(arrow(336, 100, 366, 100))
    for place, (walk, count) in enumerate((("a → b", 53), ("a → c", 39), ("a → b → c", 8))):
        y = 34 + 50 * place
        parts += [box(372, y, 96, [walk]), note(476, y + 24, f"{count} cases")]
    parts.append(note(170, 208, "noisy counts of steps, balanced", "middle"))
    parts.append(note(450, 208, "walks that use them up", "middle"))
    return svg.page(548, 222, parts, "A noisy graph, and the walks through it")


def trees() -> str:
    """The idea of dpim: one noisy matrix, many trees of it, one chosen privately."""
    rng = np.random.default_rng(1)  # a drawing, not a release
    true = np.zeros((5, 5))
    for (row, column), count in {
        (0, 1): 100,
        (1, 2): 60,
        (1, 3): 40,
        (2, 4): 60,
        (3, 4): 40,
        (4, 0): 100,
    }.items():
        true[row, column] = count
    noisy = np.clip(true + rng.normal(0, 6, true.shape), 0, 100)
    parts = [svg.TIP]
    for i, name in enumerate(("⊤", "a", "b", "c", "d")):
        parts.append(note(22, 51 + 26 * i, name, "middle"))
    for i, name in enumerate(("⊥", "a", "b", "c", "d")):
        parts.append(note(47 + 26 * i, 28, name, "middle"))
    for (row, column), count in np.ndenumerate(noisy):
        x, y = 35 + 26 * column, 34 + 26 * row
        parts.append(svg.rect(x, y, 24, 24, "absent"))
        parts.append(svg.rect(x, y, 24, 24, fill=svg.SERIES[0], fill_opacity=f"{count / 100:.2f}"))
    for place, (name, score) in enumerate(
        (("→(a, ×(b, c), d)", ".91"), ("→(a, +(b, c), d)", ".78"), ("any order", ".42"))
    ):
        y = 24 + 52 * place
        parts.append(arrow(172, 99, 209, y + 19))
        parts.append(box(212, y, 142, [name], "start" if place == 0 else "task"))
        parts.append(note(360, y + 24, f"score {score}"))
    parts.append(arrow(420, 43, 448, 43))
    parts.append(svg.text(454, 40, "released, with", font_size="13"))
    parts.append(svg.text(454, 57, "noisy fitness", font_size="13"))
    parts.append(note(98, 190, "noisy counts of steps", "middle"))
    parts.append(note(292, 190, "trees made of them", "middle"))
    parts.append(note(454, 76, "chosen with noise"))
    return svg.page(580, 204, parts, "dpim: a noisy matrix, trees made of it, one chosen privately")


def next_activity() -> str:
    """The idea of sequence: what came so far gives the odds of what comes next."""
    parts = [svg.TIP]
    for place, name in enumerate(("⊤", "Register", "Triage")):
        parts.append(box(14 + 108 * place, 60, 84, [name], "task" if place else "start"))
        parts.append(arrow(100 + 108 * place, 79, 119 + 108 * place, 79))
    parts.append(box(338, 60, 34, ["?"], "gateway"))
    odds = (("Lactate", 48), ("CRP", 31), ("Triage", 13), ("the end", 8))
    for place, (name, share) in enumerate(odds):
        y = 30 + 28 * place
        parts.append(svg.text(446, y + 14, name, anchor="end", font_size="13"))
        parts.append(svg.rect(454, y + 2, 1.6 * share, 16, fill=svg.SERIES[0]))
        parts.append(note(460 + 1.6 * share, y + 15, f"{share}%"))
    parts.append(note(14, 130, "last activity, those seen, position,"))
    parts.append(note(14, 148, "and a small memory"))
    parts.append(note(454, 164, "odds learned by noisy steps", "middle"))
    return svg.page(580, 178, parts, "sequence: the odds of the next activity, given those before")


def blur() -> str:
    """The idea of ddpm, computed: a case as a point, blurred as the mechanism blurs it."""
    from discreet.mechanisms.trained.ddpm.denoiser import KEPT, STEPS

    case, noise = np.eye(6)[2], np.array([0.4, -0.9, -0.2, 0.8, -0.4, 1.0])
    parts, foot = [svg.TIP], 92.0
    for place, step in enumerate((0, 60, 140, STEPS - 1)):
        kept = float(KEPT[step]) if step else 1.0
        point = kept**0.5 * case + (1 - kept) ** 0.5 * noise
        left = 20 + 136 * place
        for column, value in enumerate(point):
            high = 48 * abs(float(value))
            top = foot - high if value > 0 else foot
            parts.append(svg.rect(left + 16 * column, top, 12, high, fill=svg.SERIES[0]))
        parts.append(svg.line(left - 4, foot, left + 98, foot, "grid"))
        parts.append(note(left + 46, 158, f"step {step}" if step else "a case", "middle"))
        if place:
            parts += [arrow(left - 36, 66, left - 10, 66), arrow(left - 10, 116, left - 36, 116)]
    parts.append(note(20, 24, "→ blurred, one column for each variant"))
    parts.append(note(20, 182, "← undone by the network, which makes new cases of pure noise"))
    return svg.page(560, 196, parts, "ddpm: a case blurred step by step, and the way back")


def game() -> str:
    """The idea of travag: a generator that learns from a discriminator alone."""
    parts = [
        svg.TIP,
        box(14, 20, 84, ["random", "numbers"], "start"),
        box(130, 30, 96, ["generator"]),
        box(258, 30, 84, ["decoder"]),
        box(400, 20, 96, ["generated", "variants"], "start"),
        box(400, 124, 96, ["the log's", "cases"]),
        box(196, 134, 116, ["discriminator"], "gateway"),
        arrow(100, 49, 127, 49),
        arrow(228, 49, 255, 49),
        arrow(344, 49, 397, 49),
        bent(418, 80, 316, 146),
        arrow(398, 162, 316, 160),
        arrow(204, 132, 186, 71),
        note(356, 178, "noisy steps", "middle"),
        note(182, 112, "score", "end"),
        note(254, 192, "alone sees cases", "middle"),
    ]
    return svg.page(512, 208, parts, "travag: generator, decoder and discriminator")


def contest() -> str:
    """The idea of choice: candidates with a share each, and a private choice among them."""
    parts = [
        svg.TIP,
        box(12, 62, 76, ["the log"]),
        box(128, 14, 110, ["travas", ".45 ε"]),
        box(128, 98, 110, ["headtail", ".45 ε"]),
        box(332, 54, 84, ["choice", ".1 ε"], "gateway"),
        box(456, 62, 84, ["release"], "start"),
        arrow(90, 81, 125, 43),
        arrow(90, 81, 125, 127),
        arrow(240, 43, 329, 74),
        arrow(240, 127, 329, 92),
        arrow(418, 82, 453, 82),
        note(284, 42, "score", "middle"),
        note(284, 132, "score", "middle"),
        note(332, 134, "the other is thrown away"),
    ]
    return svg.page(552, 170, parts, "choice: two candidates, one picked within the same budget")
