"""The plots of Amun's paper: a log before and after. Reads the raw log, so for its holder only."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.language import translate
from discreet.log.events import EventLog
from discreet.log.instants import DAY, SECOND, microseconds
from discreet.log.variants import Variants
from discreet.report.plots import Curve, line_plot

COLOURS = ("#2a9d5c", "#d1495b")
"""Colours as in the paper: green for the original, red for the anonymised log."""


def smape(true: Integers, given: Integers) -> float:
    """Symmetric mean absolute percentage error, events matched one to one; in [0, 1].

    The mean of |t − a|/(|t| + |a|), equal zeros counting 0. The unit of time does not matter.
    """
    total = np.abs(true) + np.abs(given)
    apart = np.abs(true - given)
    ratio = np.divide(apart, total, out=np.zeros(len(total)), where=total > 0)
    return float(ratio.mean()) if len(ratio) else 0.0


def active_cases(log: EventLog, moments: Integers) -> Integers:
    """Number of cases begun and not yet ended at each moment (microseconds since 1970)."""
    if not log.cases:
        return np.zeros(len(moments), dtype=np.int64)
    times = microseconds(log)
    begun = np.searchsorted(np.sort(times[log.offsets[:-1]]), moments, side="right")
    ended = np.searchsorted(np.sort(times[log.offsets[1:] - 1]), moments, side="left")
    return np.asarray(begun - ended, dtype=np.int64)


def variant_frequencies(log: EventLog, released: EventLog) -> tuple[Integers, Integers]:
    """Number of cases of each variant of either log, the most frequent of the original first."""
    before, after = log.variants.to_dict(), released.variants.to_dict()
    order = sorted(before | after, key=lambda v: (-before.get(v, 0), -after.get(v, 0), v))
    return (
        np.array([before.get(variant, 0) for variant in order], dtype=np.int64),
        np.array([after.get(variant, 0) for variant in order], dtype=np.int64),
    )


def month(seconds: float) -> str:
    """Month and year of a moment in seconds since 1970."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%b %Y")


def active_cases_plot(log: EventLog, released: EventLog, *, points: int = 300) -> str:
    """Plot of the active cases of both logs over time, as SVG."""
    stamps = [microseconds(one) for one in (log, released) if one.events]
    first, last = min(int(s.min()) for s in stamps), max(int(s.max()) for s in stamps)
    moments = np.linspace(first, last, points).astype(np.int64)
    curves = [
        Curve(name, moments / SECOND, active_cases(one, moments).astype(np.float64), colour)
        for name, one, colour in zip(
            ("original", "released"), (log, released), COLOURS, strict=True
        )
    ]
    return line_plot("Active cases over time", curves, across=month, down="active cases")


def variant_frequencies_plot(log: EventLog, released: EventLog) -> str:
    """Plot of the cases of each variant of both logs, as SVG; both axes are logarithmic."""
    pair = variant_frequencies(log, released)
    rank = np.arange(1, len(pair[0]) + 1).astype(np.float64)
    curves = [
        Curve(name, rank, counts.astype(np.float64), colour)
        for name, counts, colour in zip(("original", "released"), pair, COLOURS, strict=True)
    ]
    return line_plot(
        "Cases of each variant, by its rank in the original",
        curves,
        across=lambda value: f"{value:g}",
        down="cases",
        logarithmic=True,
    )


def lengths_plot(logs: Mapping[str, Variants]) -> str:
    """Plot of the share of cases with at most that many events, as SVG."""
    curves = []
    for (name, variants), colour in zip(logs.items(), COLOURS, strict=False):
        counts = np.bincount(variants.lengths, weights=variants.counts, minlength=2)
        curves.append(_shares(name, np.arange(len(counts)).astype(np.float64), counts, colour))
    return line_plot(
        translate("Events per case"),
        curves,
        across=lambda value: f"{value:.0f}",
        down=translate("% of cases, at most"),
    )


def durations_plot(logs: Mapping[str, EventLog]) -> str:
    """Plot of the share of cases that take at most that many days, as SVG."""
    curves = []
    for (name, log), colour in zip(logs.items(), COLOURS, strict=False):
        times = microseconds(log)
        days = np.sort((times[log.offsets[1:] - 1] - times[log.offsets[:-1]]) / DAY)
        days = days[np.linspace(0, len(days) - 1, min(len(days), POINTS)).astype(np.int64)]
        curves.append(_shares(name, days, np.ones(len(days)), colour))
    return line_plot(
        translate("Days from first to last event"),
        curves,
        across=lambda value: f"{value:.3g}",
        down=translate("% of cases, at most"),
    )


# Tuned
POINTS = 300
"""Most points of a curve of durations."""


def _shares(name: str, values: Floats, counts: Integers | Floats, colour: str) -> Curve:
    """The share of all counts up to each value, without the longest twentieth."""
    share = 100 * np.cumsum(counts.astype(np.float64)) / max(float(counts.sum()), 1.0)
    kept = slice(0, int(np.searchsorted(share, 95)) + 1)
    return Curve(name, values[kept], share[kept], colour)
