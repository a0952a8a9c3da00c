from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.log.follows import Follows
from discreet.report.process_maps import ALL, EACH, HEIGHT, draw_follows, most_frequent

SVG = "{http://www.w3.org/2000/svg}"


def dense(size: int, seed: int = 0) -> Follows:
    """A noisy graph: every step occurs."""
    counts = np.random.default_rng(seed).geometric(0.01, (size + 1, size + 1)).astype(np.int64)
    return Follows(tuple(f"activity {i}" for i in range(size)), counts)


def test_of_a_dense_graph_the_most_frequent_steps_are_drawn() -> None:
    follows = dense(50)
    shown = most_frequent(follows)
    assert shown.sum() == EACH * 50
    assert shown.any(axis=0).all()
    assert shown.any(axis=1).all()
    assert follows.counts.max() in follows.counts[shown]
    root = ElementTree.fromstring(draw_follows(follows))
    assert len(root.findall(f"{SVG}path")) == EACH * 50
    assert len(root.findall(f"{SVG}rect")) == 51
    assert "of 2,601 steps are drawn" in "".join(root.itertext())


def test_of_a_small_graph_everything_is() -> None:
    follows = dense(9)
    assert len(follows) <= ALL
    assert most_frequent(follows).all()
    assert "are drawn" not in draw_follows(follows)


@given(st.integers(2, 12), st.integers(0, 99))
@settings(max_examples=20, deadline=None)
def test_boxes_never_overlap_and_the_process_starts_at_the_top(size: int, seed: int) -> None:
    root = ElementTree.fromstring(draw_follows(dense(size, seed)))
    boxes = [
        (float(e.get("x", 0)), float(e.get("y", 0)), float(e.get("width", 0)))
        for e in root.findall(f"{SVG}rect")[1:]
    ]
    for i, (x, y, width) in enumerate(boxes):
        for x2, y2, _ in boxes[:i]:
            assert abs(x - x2) >= width or abs(y - y2) >= HEIGHT
    start, end = (float(e.get("cy", 0)) for e in root.findall(f"{SVG}circle"))
    assert start <= min(y + HEIGHT for _, y, _ in boxes)
    assert end >= max(y for _, y, _ in boxes)


def test_the_same_graph_gives_the_same_picture_within_its_frame() -> None:
    picture = draw_follows(dense(20))
    assert picture == draw_follows(dense(20))
    root = ElementTree.fromstring(picture)
    width, height = (float(root.get(name, 0)) for name in ("width", "height"))
    for path in root.findall(f"{SVG}path"):
        numbers = [float(n) for n in re.findall(r"-?\d+", path.get("d", ""))]
        assert all(0 <= x <= width for x in numbers[::2])
        assert all(0 <= y <= height for y in numbers[1::2])
