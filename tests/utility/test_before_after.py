"""The measures of Amun's paper on small logs, and their plots."""

from __future__ import annotations

from collections.abc import Callable
from xml.etree import ElementTree

import numpy as np
import pytest

from discreet.log.events import EventLog, assemble
from discreet.log.instants import DAY
from discreet.utility.before_after import (
    active_cases,
    active_cases_plot,
    durations_plot,
    lengths_plot,
    smape,
    variant_frequencies,
    variant_frequencies_plot,
)


def log_of(*cases: tuple[str, list[int]]) -> EventLog:
    lengths = [len(times) for _, times in cases]
    return assemble(
        [f"c{i}" for i in range(len(cases))],
        ["a", "b"],
        np.array(["ab".index(label) for word, _ in cases for label in word], dtype=np.int64),
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        np.array([t for _, times in cases for t in times], dtype=np.int64) * DAY,
    )


def test_smape() -> None:
    assert smape(np.array([0, 10]), np.array([0, 30])) == pytest.approx((0 + 20 / 40) / 2)
    assert smape(np.array([5, 7]), np.array([5, 7])) == 0
    assert smape(np.array([5, 7]), np.array([0, 0])) == 1
    assert smape(np.zeros(0, int), np.zeros(0, int)) == 0


def test_active_cases_count_from_the_first_to_the_last_event() -> None:
    log = log_of(("ab", [1, 4]), ("ab", [3, 9]), ("a", [4]))
    moments = np.arange(11) * DAY
    assert active_cases(log, moments).tolist() == [0, 1, 1, 2, 3, 1, 1, 1, 1, 1, 0]


def test_variant_frequencies_pair_up_and_sort_by_the_original() -> None:
    before = log_of(("ab", [0, 1]), ("ab", [0, 1]), ("a", [0]))
    after = log_of(("b", [0]), ("a", [0]), ("a", [1]))
    ours, theirs = variant_frequencies(before, after)
    assert ours.tolist() == [2, 1, 0]
    assert theirs.tolist() == [0, 2, 1]


@pytest.mark.parametrize("plot", [active_cases_plot, variant_frequencies_plot])
def test_plots_are_well_formed_and_hold_both_curves(
    plot: Callable[[EventLog, EventLog], str],
) -> None:
    before = log_of(("ab", [0, 900]), ("ab", [3, 40]), ("a", [7]))
    after = log_of(("ab", [2, 3]))
    root = ElementTree.fromstring(plot(before, after))
    lines = [line for line in root.iter() if line.tag.endswith("polyline")]
    assert len(lines) == 2
    for line in lines:
        points = [tuple(map(float, pair.split(","))) for pair in line.attrib["points"].split()]
        assert all(0 <= x <= 680 and 0 <= y <= 320 for x, y in points)
    words = {element.text for element in root.iter() if element.tag.endswith("text")}
    assert {"original", "released"} <= words


def test_lengths_and_durations_are_shares_of_the_cases() -> None:
    before = log_of(("ab", [0, 900]), ("ab", [3, 40]), ("a", [7]))
    after = log_of(("ab", [2, 3]))
    drawn = (
        lengths_plot({"original": before.variants, "released": after.variants}),
        durations_plot({"original": before, "released": after}),
    )
    for picture in drawn:
        root = ElementTree.fromstring(picture)
        lines = [line for line in root.iter() if line.tag.endswith("polyline")]
        assert len(lines) == 2
        for line in lines:
            heights = [float(pair.split(",")[1]) for pair in line.attrib["points"].split()]
            assert heights == sorted(heights, reverse=True), "a share only grows"


def test_a_plot_of_an_empty_release_and_of_a_log_at_one_moment() -> None:
    before, nothing = log_of(("a", [5])), log_of()
    for plot in (active_cases_plot, variant_frequencies_plot):
        assert ElementTree.fromstring(plot(before, nothing)) is not None
