"""A preview, before and after: one draw for the steward's eyes, never written, never released."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from discreet.language import translate
from discreet.log.events import EventLog
from discreet.log.expansion import one_by_one
from discreet.log.variants import Variants
from discreet.releasing.request import Request
from discreet.releasing.way import try_out
from discreet.report import draw
from discreet.utility.before_after import lengths_plot
from discreet.utility.evaluation import Evaluation, Evaluator
from discreet.utility.pictures import Picture, both
from discreet.utility.pictures import pictures as side_by_side
from discreet.utility.subject import Subject, subject_of
from discreet.web.work.pictures import over_time_plot
from discreet.web.work.reading import read

# Tuned
TOP = 8
"""Number of variants listed."""


def attempt(spec: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Draw once and compare; a later release is drawn afresh."""
    log = read(spec)
    drawn = try_out(Request.from_dict(spec["request"]), log)
    found = compared(log, subject_of(drawn), folder)
    return found | {"what": drawn.describe()}


def compared(log: EventLog, subject: Subject, folder: Path) -> dict[str, Any]:
    """Pictures and figures of a log before and after."""
    shown = []
    for number, picture in enumerate(_pictures(log, subject)):
        files = [f"picture-{number}-{side}.svg" for side in range(len(picture.drawings))]
        for file, drawing in zip(files, picture.drawings, strict=True):
            (folder / file).write_text(drawing, encoding="utf-8")
        shown.append({"name": picture.name, "reading": picture.reading, "files": files})
    return {
        "pictures": shown,
        "figures": figures(Evaluator(log).evaluate(subject)),
        "variants": _variants(log.variants, subject.variants),
    }


def _pictures(log: EventLog, subject: Subject) -> list[Picture]:
    """The same pictures of both: maps, lengths, attributes; with times durations and calendar."""
    other = subject.follows if subject.variants is None else None
    if (drawn := other or subject.tree) is not None:
        return [Picture(translate("What would be released"), "", (draw(drawn),))]
    if subject.variants is None or not subject.variants.cases:
        return []
    released = subject.log or one_by_one(subject.variants)
    names = both()
    lengths = lengths_plot(dict(zip(names, (log.variants, subject.variants), strict=True)))
    found = side_by_side(log, released, times=subject.log is not None)
    found.insert(1, Picture(translate("Events per case"), "", (lengths,)))
    if subject.log is not None and log.has_times:
        over_time = over_time_plot(dict(zip(names, (log, released), strict=True)))
        found.insert(3, Picture(translate("Cases over time"), "", (over_time,)))
    return found


def figures(found: Evaluation) -> list[list[str]]:
    """Name, value, reference and meaning of each figure, as texts."""
    return [
        [
            figure.name,
            f"{figure.value:.4g}",
            "" if figure.reference is None else f"{figure.reference:.4g}",
            translate(figure.meaning),
        ]
        for figure in found
        if np.isfinite(figure.value)
    ]


def _variants(before: Variants, after: Variants | None) -> list[list[str]]:
    """The log's most frequent variants, with their numbers of cases before and after."""
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
