"""Before and after: one release drawn for the steward's eyes, never written, never released."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from discreet.drawing import draw
from discreet.drawing.follows import draw_follows
from discreet.language import translate
from discreet.log.events import EventLog
from discreet.log.follows import Follows
from discreet.log.variants import Variants
from discreet.utility.before_after import durations_plot, lengths_plot
from discreet.utility.evaluation import Evaluation, Evaluator
from discreet.utility.subject import Subject, subject_of
from discreet.web.choosing import build
from discreet.web.work.pictures import most_frequent, over_time_plot
from discreet.web.work.reading import read

ACTIVITIES = 15
"""How many activities the maps beside each other have at most."""

TOP = 8
"""Variants that are listed."""


def attempt(spec: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Draw once and measure. The release of later is drawn afresh."""
    log = read(spec)
    drawn = build(spec["choice"]).release(log)
    found = compared(log, subject_of(drawn), folder)
    return found | {"what": drawn.describe()}


def compared(log: EventLog, subject: Subject, folder: Path) -> dict[str, Any]:
    """Pictures and figures of a log before and after."""
    before, after = translate("original"), translate("released")
    pictures: dict[str, str] = {"map-before.svg": _map(log.variants)}
    if subject.variants is not None and subject.variants.cases:
        pictures["map-after.svg"] = _map(subject.variants)
        pictures["lengths.svg"] = lengths_plot({before: log.variants, after: subject.variants})
    elif subject.follows is not None:
        pictures["map-after.svg"] = draw(subject.follows)
    elif subject.tree is not None:
        pictures["map-after.svg"] = draw(subject.tree)
    if subject.log is not None and subject.log.cases and log.has_times:
        both = {before: log, after: subject.log}
        pictures["durations.svg"] = durations_plot(both)
        pictures["time.svg"] = over_time_plot(both)
    for name, picture in pictures.items():
        (folder / name).write_text(picture, encoding="utf-8")
    return {
        "pictures": list(pictures),
        "figures": figures(Evaluator(log).evaluate(subject)),
        "variants": _variants(log.variants, subject.variants),
    }


def figures(found: Evaluation) -> list[list[str]]:
    """Name, value, reference and meaning of each figure, as texts."""
    return [
        [
            figure.name,
            f"{figure.value:.4g}",
            "" if figure.reference is None else f"{figure.reference:.4g}",
            figure.meaning,
        ]
        for figure in found
        if np.isfinite(figure.value)
    ]


def _map(variants: Variants) -> str:
    return draw_follows(Follows.of_variants(most_frequent(variants, ACTIVITIES)))


def _variants(before: Variants, after: Variants | None) -> list[list[str]]:
    """The most frequent variants of the log, with how many cases follow them then and now."""
    if after is None:
        return []
    now = after.to_dict()
    top = np.argsort(-before.counts, kind="stable")[:TOP]
    return [
        [
            " → ".join(before.sequence(i)),
            f"{before.counts[i]:,}",
            f"{now.get(before.sequence(i), 0):,}",
        ]
        for i in top.tolist()
    ]
