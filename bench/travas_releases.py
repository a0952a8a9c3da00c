"""What TraVaS's authors released, and how they measured it: their 1,900 releases, no noise of ours.

    python bench/travas_releases.py          # Sepsis at ε = 1, δ = .01: forty releases
    python bench/travas_releases.py all 2    # all of them, with two processes: docs/papers.md

Reads travas-releases.parquet from the folder `published` beside that of the logs: log, mechanism,
file, variant and count; a file's name ends in ε, δ and the number of the run, and its variants
stand in its order. Each release is measured by the authors' rules and exactly, and written to
build/travas-releases.csv as it comes; whoever stops the script goes on where it stopped. Empty
releases are left out, as the authors do.
"""

from __future__ import annotations

import csv
import multiprocessing
import os
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache
from importlib.resources import files
from pathlib import Path
from statistics import fmean

import numpy as np
import polars as pl

from discreet.log.loading import read_log
from discreet.log.variants import Variants
from discreet.models.similarity import relative_log_similarity
from discreet.utility.difference import absolute_log_difference
from discreet.utility.published import (
    absolute_difference_as_travas,
    by_appearance,
    similarity_by_index,
)

LOGS = Path(os.environ.get("DISCREET_LOGS", Path(__file__).parents[2] / "shared" / "logs"))
NAMES = {"Sepsis": "Sepsis", "BPIC13": "BPIC2013_incidents"}
LABELS = {"TraVaS": "travas", "uTraVaS": "utravas", "sacofa": "sacofa", "benchmark": "laplace"}
SOURCE = LOGS.parent / "published" / "travas-releases.parquet"
RESULTS = Path("build") / "travas-releases.csv"

SIMILARITY, EDITS = "similarity_by_index", "absolute_difference_as_travas"
"""The authors' two rules."""

Place = tuple[str, str, float, float]
"""A log, a label, ε and δ."""

FIGURES = (SIMILARITY, "similarity", EDITS, "absolute_difference", "variants", "cases")
HEADS = ("log", "label", "file", *FIGURES)

Means = dict[Place, dict[str, float]]
Stored = dict[tuple[Place, str], float]


@cache
def raw(name: str) -> Variants:
    """The variants of a log as they first appear in it."""
    return by_appearance(read_log(LOGS / f"{name}.xes.gz"))


def measured(name: str, label: str, file: str, pairs: Sequence[tuple[str, int]]) -> list[object]:
    """One release: the line of the results."""
    log, release = raw(name), written(pairs)
    figures = (
        similarity_by_index(log, release, limit=None).value,
        relative_log_similarity(log, release),
        absolute_difference_as_travas(log, release, limit=None).cost,
        absolute_log_difference(log, release, limit=None).cost,
        len(release),
        release.cases,
    )
    return [name, label, file, *figures]


def written(pairs: Sequence[tuple[str, int]]) -> Variants:
    """The variants of a file in its order."""
    sequences = [tuple(text.split(",")) for text, _ in pairs]
    release = Variants.from_counts(zip(sequences, (count for _, count in pairs), strict=True))
    position = {sequence: i for i, (sequence, _) in enumerate(release)}
    return release.take(np.array([position[sequence] for sequence in sequences]))


def missing(budget: str) -> Iterator[tuple[str, str, str, list[tuple[str, int]]]]:
    """The releases, of files whose names have this in them, that the results do not have yet."""
    done = {(line["log"], line["label"], line["file"]) for line in results()}
    found = pl.read_parquet(SOURCE).with_columns(pl.col("log", "mechanism", "file").cast(pl.String))
    found = found.filter(pl.col("file").str.contains(budget, literal=True))
    if budget:
        found = found.filter(log="Sepsis")
    groups = found.group_by("log", "mechanism", "file", maintain_order=True)
    for (log, mechanism, file), rows in groups:
        key = NAMES[str(log)], LABELS[str(mechanism)], str(file)
        if key not in done:
            yield *key, list(rows.select("variant", "count").iter_rows())


def results() -> list[dict[str, str]]:
    """What has been measured so far."""
    if not RESULTS.is_file():
        return []
    with RESULTS.open(encoding="utf-8") as stream:
        return [line for line in csv.DictReader(stream) if line["cases"]]


def measure(budget: str, workers: int) -> None:
    """Measure what is missing; each line is written at once."""
    RESULTS.parent.mkdir(exist_ok=True)
    fresh = not RESULTS.is_file()
    context = multiprocessing.get_context("spawn")  # a fork of Polars would hang
    with (
        ProcessPoolExecutor(workers, context) as pool,
        RESULTS.open("a", encoding="utf-8") as stream,
    ):
        out = csv.writer(stream, lineterminator="\n")
        if fresh:
            out.writerow(HEADS)
        quick_first = sorted(missing(budget), key=lambda release: len(release[-1]))
        waiting = [pool.submit(measured, *release) for release in quick_first]
        for many, done in enumerate(as_completed(waiting), 1):
            out.writerow(done.result())
            stream.flush()
            if many % 100 == 0:
                print(f"{many} of {len(waiting)}", file=sys.stderr)


def means() -> Means:
    """Each figure's mean over the runs of a budget, and how many runs there are."""
    groups: dict[Place, list[dict[str, str]]] = defaultdict(list)
    for line in results():
        epsilon, delta, _ = line["file"].rsplit("_", 3)[1:]
        groups[line["log"], line["label"], float(epsilon), float(delta)].append(line)
    return {
        place: {name: fmean(float(line[name]) for line in group) for name in FIGURES}
        | {"runs": len(group)}
        for place, group in groups.items()
    }


def stored() -> Stored:
    """What the authors' files say."""
    text = (files("discreet.bench") / "published" / "travas.csv").read_text(encoding="utf-8")
    return {
        (
            (one["log"], one["label"], float(one["epsilon"]), float(one["delta"])),
            one["measure"],
        ): float(one["value"])
        for one in csv.DictReader(text.splitlines())
        if one["epsilon"]
    }


def main(which: str = "", workers: str = "1") -> None:
    """Print what was released and how it was measured, in brief and budget by budget."""
    if not SOURCE.is_file():
        print(f"nothing to measure: {SOURCE} is not there")
        return
    measure("" if which == "all" else "_1_0.01_", int(workers))
    ours, theirs = means(), stored()
    print(*table(BRIEF, brief(ours, theirs)), "", *table(FULL, full(ours, theirs)), sep="\n")


BRIEF = (
    *("log", "mechanism", "budgets", "releases", "similarity: their rule − their file"),
    *("largest", "their file − exact", "largest", "edits: their rule / their file − 1"),
    *("largest", "their file / exact"),
)
FULL = (
    *("log", "mechanism", "ε", "δ", "releases", "variants", "cases", "similarity: their file"),
    *("their rule", "exact", "edits: their file", "their rule", "exact"),
)


def brief(ours: Means, theirs: Stored) -> Iterator[list[str]]:
    """A line for each log and mechanism: gaps over all budgets, mean and largest."""
    for log, label in dict.fromkeys(place[:2] for place in sorted(ours)):
        places = [place for place in ours if place[:2] == (log, label)]
        rule = [ours[p][SIMILARITY] - theirs[p, SIMILARITY] for p in places]
        over = [theirs[p, SIMILARITY] - ours[p]["similarity"] for p in places]
        cost = [ours[p][EDITS] / theirs[p, EDITS] - 1 for p in places]
        times = fmean(theirs[p, EDITS] / ours[p]["absolute_difference"] for p in places)
        yield [
            *(log, label, str(len(places)), f"{sum(ours[p]['runs'] for p in places):.0f}"),
            *(f"{fmean(rule):+.4f}", f"{largest(rule):+.4f}"),
            *(f"{fmean(over):+.3f}", f"{largest(over):+.3f}"),
            *(f"{fmean(cost):+.3%}", f"{largest(cost):+.3%}", f"{times:.1f}"),
        ]


def full(ours: Means, theirs: Stored) -> Iterator[list[str]]:
    """A line for each budget: what was released, and its figures by both rules."""
    for place in sorted(ours, key=lambda p: (p[0], p[1], -p[2], -p[3])):
        one = ours[place]
        yield [
            *(place[0], place[1], f"{place[2]:g}", f"{place[3]:g}", f"{one['runs']:.0f}"),
            *(f"{one['variants']:.0f}", f"{one['cases']:.0f}"),
            *(f"{value:.3f}" for value in (theirs[place, SIMILARITY], one[SIMILARITY])),
            f"{one['similarity']:.3f}",
            *(f"{value:.4g}" for value in (theirs[place, EDITS], one[EDITS])),
            f"{one['absolute_difference']:.4g}",
        ]


def table(heads: Sequence[str], lines: Iterator[list[str]]) -> Iterator[str]:
    """Markdown."""
    for cells in (heads, ["---"] * len(heads), *lines):
        yield f"| {' | '.join(cells)} |"


def largest(values: Sequence[float]) -> float:
    """The value that is farthest from 0."""
    return max(values, key=abs)


if __name__ == "__main__":
    main(*sys.argv[1:])
