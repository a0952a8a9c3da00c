"""A log and its release side by side, as pictures on a page. For the log's holder only."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl

from discreet._version import __version__
from discreet.arrays import Floats, Integers
from discreet.language import translate
from discreet.log.events import EventLog
from discreet.log.follows import Follows
from discreet.log.instants import SECOND
from discreet.privacy.randomness import Randomness
from discreet.report.pages import render_page
from discreet.report.plots import Curve, Dots, bar_chart, dotted_chart, evenly, line_plot, week_map
from discreet.report.process_maps import draw_follows
from discreet.report.svg import SERIES
from discreet.utility.attributes import alike, common_columns
from discreet.utility.before_after import month
from discreet.utility.calendar import Timed
from discreet.utility.evaluation import Evaluation

# Tuned
STEPS = 16
"""Number of the log's most frequent steps that a map shows."""

CASES_DOTTED = 250
"""Number of cases in a dotted chart."""

KINDS = 7
"""Number of activities that a dotted chart tells apart."""

BARS = 8
"""Number of values of an attribute shown."""

UNITS = ((1.0, "s"), (60.0, "min"), (3600.0, "h"), (86400.0, "d"), (365.25 * 86400, "y"))


def both() -> tuple[str, str]:
    """Names of the two sides of a picture."""
    return translate("the log"), translate("the release")


@dataclass(frozen=True)
class Picture:
    """A heading, how to read the picture, and one drawing or two side by side."""

    name: str
    reading: str
    drawings: tuple[str, ...]


def evaluation_page(found: Evaluation, log: EventLog, released: EventLog, title: str) -> str:
    """The figures of an evaluation and the pictures, as HTML."""
    figures = [
        [f.name, f"{f.value:.3g}", "" if f.reference is None else f"{f.reference:.3g}", f.meaning]
        for f in found
    ]
    return render_page(
        "discreet.utility",
        "pictures.html",
        title=title,
        warning=found.warning,
        figures=figures,
        notes=found.notes,
        pictures=pictures(log, released),
        version=__version__,
    )


def pictures(log: EventLog, released: EventLog, *, times: bool = True) -> list[Picture]:
    """Pictures of what both logs have: maps, and times and attributes if both have them.

    Without `times` those of the release are made up, and no picture shows them.
    """
    if not (log.events and released.events):
        return []
    timed = times and log.has_times and released.has_times
    found = [_maps(log, released, timed)]
    if timed:
        pair = Timed(log), Timed(released)
        found += [
            _durations(*pair),
            Picture(
                translate("Week and hour"),
                translate("When events happen, in UTC; both charts have the same scale."),
                tuple(_weeks(pair)),
            ),
            Picture(
                translate("Dotted chart"),
                translate(
                    "Up to %(cases)s cases each, by their start: a row for a case, a dot for an "
                    "event. The charts have their own random cases, but the same time axis.",
                    cases=CASES_DOTTED,
                ),
                tuple(_dotted(pair)),
            ),
        ]
    bars = [_bars(log, released, column) for column in common_columns(log, released)]
    if bars:
        reading = translate(
            "Shares of all events; numbers in groups of about equal size in the log."
        )
        found += [Picture(translate("Attributes"), reading, tuple(bars))]
    return found


def _maps(log: EventLog, released: EventLog, timed: bool) -> Picture:
    """Maps of the same steps of both logs, with how often they are taken and how long they take."""
    before, after = (Follows.of_variants(one.variants) for one in (log, released))
    order = np.argsort(-before.counts, axis=None, kind="stable")[:STEPS]
    rows, columns = np.unravel_index(order, before.counts.shape)
    labels = (*before.activities, "")
    wanted = {
        (labels[i], labels[j])
        for i, j in zip(rows.tolist(), columns.tolist(), strict=True)
        if before.counts[i, j]
    }
    drawings = tuple(
        _map(follows, wanted, Timed(one) if timed else None)
        for follows, one in ((before, log), (after, released))
    )
    said = (
        "The log's %(many)s most frequent steps: how often each is taken, with its median wait. "
        "First the log, then the release."
        if timed
        else "The log's %(many)s most frequent steps: how often each is taken. First the log, then "
        "the release."
    )
    return Picture(translate("Process map"), translate(said, many=len(wanted)), drawings)


def _map(follows: Follows, wanted: set[tuple[str, str]], timed: Timed | None) -> str:
    labels = (*follows.activities, "")
    shown = np.array([[(a, b) in wanted for b in labels] for a in labels])
    counts = np.where(shown, follows.counts, 0)
    used = np.flatnonzero((counts > 0).any(axis=0) | (counts > 0).any(axis=1))
    used = np.append(used[used < len(follows.activities)], len(follows.activities))
    smaller = Follows(tuple(labels[i] for i in used[:-1].tolist()), counts[np.ix_(used, used)])
    notes = {}
    for i, source in enumerate(smaller.activities):
        for j, target in enumerate(smaller.activities):
            waits = timed.waits.get((source, target)) if timed else None
            if waits is not None and smaller.counts[i, j]:
                notes[i, j] = f"{int(smaller.counts[i, j]):,} · {spelled(float(np.median(waits)))}"
    return draw_follows(smaller, notes)


def _durations(log: Timed, released: Timed) -> Picture:
    pair = [np.log1p(one.spans) for one in (log, released)]
    edges = np.linspace(0, max(one.max() for one in pair) + 0.1, 61)
    curves = []
    for name, one, colour in zip(both(), pair, SERIES, strict=False):
        many = np.histogram(one, edges)[0]
        curves.append(Curve(name, edges[:-1], 100 * many / max(1, many.sum()), colour))
    plot = line_plot(
        translate("How long cases take"),
        curves,
        across=lambda value: spelled(float(np.expm1(value))),
        down=translate("% of cases"),
    )
    reading = translate("The share of cases by their duration, on a logarithmic scale.")
    return Picture(translate("Durations"), reading, (plot,))


def _weeks(pair: tuple[Timed, Timed]) -> list[str]:
    shares = [np.bincount(one.week_hours, minlength=168) / one.log.events for one in pair]
    most = float(max(share.max() for share in shares))
    return [
        week_map(name, share.reshape(7, 24), most)
        for name, share in zip(both(), shares, strict=True)
    ]


def _dotted(pair: tuple[Timed, Timed]) -> list[str]:
    """Dotted charts of both logs over the stretch in which the log has events."""
    first, last = int(pair[0].instants.min()), int(pair[0].instants.max())
    log = pair[0].log
    frequent = np.argsort(-np.bincount(log.codes, minlength=len(log.activities)), kind="stable")
    kinds = [log.activities[i] for i in frequent[:KINDS].tolist()]
    named = [*kinds, translate("others")] if len(log.activities) > KINDS else kinds
    marks = evenly(first / SECOND, last / SECOND, 5, month)
    return [
        dotted_chart(name, _dots(one, kinds, first, max(1, last - first)), named, marks)
        for name, one in zip(both(), pair, strict=True)
    ]


def _dots(timed: Timed, kinds: list[str], first: int, span: int) -> Dots:
    log = timed.log
    chosen = Randomness.system().permutation(log.cases)[:CASES_DOTTED]
    order = chosen[np.argsort(timed.instants[log.offsets[:-1]][chosen], kind="stable")]
    row = np.full(log.cases, -1)
    row[order] = np.arange(len(order))
    of_event = np.repeat(row, np.diff(log.offsets))
    place = (timed.instants - first) / span
    shown = np.flatnonzero((of_event >= 0) & (place >= 0) & (place <= 1))
    number = {name: i for i, name in enumerate(kinds)}
    kind = np.array([number.get(label, len(kinds)) for label in log.activities], dtype=np.int64)
    height = (of_event[shown] + 0.5) / max(1, len(order))
    return Dots(place[shown], height, kind[log.codes[shown]])


def _bars(log: EventLog, released: EventLog, column: str) -> str:
    own, other = alike(log.frame[column], released.frame[column])
    compared = _groups_of_numbers if own.dtype.is_numeric() else _frequent_values
    names, shares = compared(own, other)
    return bar_chart(column, names, shares, both())


def _groups_of_numbers(own: pl.Series, other: pl.Series) -> tuple[list[str], list[Floats]]:
    given = own.drop_nulls().to_numpy().astype(np.float64)
    inner = np.unique(np.quantile(given, np.arange(1, BARS) / BARS)) if len(given) else given[:0]
    names = [f"< {edge:,.6g}" for edge in inner[:1].tolist()]
    names += [f"{a:,.6g} – {b:,.6g}" for a, b in pairwise(inner.tolist())]
    names += [f"≥ {inner[-1]:,.6g}" if len(inner) else translate("any"), translate("none")]

    def share(values: pl.Series) -> Floats:
        held = values.drop_nulls().to_numpy()
        cells: Integers = np.searchsorted(inner, held, side="right").astype(np.int64)
        many = np.append(np.bincount(cells, minlength=len(inner) + 1), values.null_count())
        return np.asarray(many / max(1, len(values)), dtype=np.float64)

    return names, [share(own), share(other)]


def _frequent_values(own: pl.Series, other: pl.Series) -> tuple[list[str], list[Floats]]:
    values = own.drop_nulls().value_counts(sort=True).head(BARS)[own.name].to_list()

    def share(one: pl.Series) -> Floats:
        known = [int((one == value).sum()) for value in values]
        missing = one.null_count()
        many = [*known, len(one) - missing - sum(known), missing]
        return np.array(many, dtype=np.float64) / max(1, len(one))

    return [*values, translate("all others"), translate("none")], [share(own), share(other)]


def spelled(seconds: float) -> str:
    """Format a time in the largest unit of which it has at least one: 3 min, 2.5 d."""
    size, unit = next(((s, u) for s, u in reversed(UNITS) if seconds >= s), UNITS[0])
    return (
        f"{seconds / size:.2g} {unit}" if seconds / size < 100 else f"{seconds / size:.0f} {unit}"
    )
