"""Pictures of logs: process maps at several depths, and cases over time."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from discreet.language import translate
from discreet.log.events import EventLog
from discreet.log.follows import Follows
from discreet.log.instants import DAY, SECOND, microseconds
from discreet.log.variants import Variants
from discreet.report.plots import Curve, line_plot
from discreet.report.process_maps import draw_follows
from discreet.report.svg import SERIES

# Tuned
DEPTHS = 5
"""Number of positions of a map's slider."""

FEWEST = 5
"""Number of activities at the first position."""

EACH, FEW = 2, 15
"""Steps drawn per activity; with at most FEW activities the last map draws more."""

WEEKS = 150
"""Approximate number of points of a curve over time."""


def write_maps(variants: Variants, folder: Path) -> list[str]:
    """Write a map for each position of the slider, from the most frequent activities to all.

    From one position to the next the number of activities grows by the same factor, and each
    activity has two steps, so that a map of 50 is as legible as one of 15; the last map of a small
    log has as many steps as can be told apart.
    """
    found = []
    size = len(variants.activities)
    for depth in range(1, DEPTHS + 1):
        file = f"map-{depth}.svg"
        kept = round(FEWEST * max(1.0, size / FEWEST) ** ((depth - 1) / (DEPTHS - 1)))
        shown = Follows.of_variants(most_frequent(variants, kept))
        drawing = draw_follows(shown, each=EACH if depth < DEPTHS or size > FEW else None)
        (folder / file).write_text(drawing, encoding="utf-8")
        found.append(file)
    return found


def most_frequent(variants: Variants, many: int) -> Variants:
    """The variants of the `many` most frequent activities; events of others are skipped."""
    weights = np.repeat(variants.counts, variants.lengths)
    often = np.bincount(variants.codes, weights=weights, minlength=len(variants.activities))
    chosen = np.zeros(len(often), dtype=bool)
    chosen[np.argsort(-often, kind="stable")[:many]] = True
    sums = np.concatenate([[0], np.cumsum(chosen[variants.codes])])
    kept = Variants(
        variants.activities,
        variants.codes[chosen[variants.codes]],
        sums[variants.offsets],
        variants.counts,
    )
    return kept.take(np.flatnonzero(kept.lengths)).trimmed()


def over_time_plot(logs: Mapping[str, EventLog]) -> str:
    """A plot of the number of cases that begin in each period, as SVG."""
    starts = {name: microseconds(log)[log.offsets[:-1]] for name, log in logs.items() if log.cases}
    first = min(int(times.min()) for times in starts.values())
    last = max(int(times.max()) for times in starts.values())
    days = max(1, round((last - first) / DAY / WEEKS))
    edges = np.arange(first, last + days * DAY + 1, days * DAY)
    curves = [
        Curve(name, edges[:-1] / SECOND, np.histogram(times, edges)[0].astype(np.float64), colour)
        for (name, times), colour in zip(starts.items(), SERIES, strict=False)
    ]
    title = translate("Cases that begin, for every %(days)s days", days=days)
    return line_plot(title, curves, across=_date, down=translate("cases"))


def _date(seconds: float) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m")
