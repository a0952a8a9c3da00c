"""The private form: variants by partition selection, times drawn from private histograms."""

from __future__ import annotations

import numpy as np

from discreet.arrays import Integers
from discreet.log.assemble import assemble
from discreet.log.events import EventLog
from discreet.log.instants import LATEST, microseconds
from discreet.log.variants import Variants, spans
from discreet.mechanisms.amun.columns import Column
from discreet.mechanisms.amun.gaps import Gaps, Steps
from discreet.mechanisms.amun.spending import VARIANTS, values_of
from discreet.mechanisms.amun.starts import Starts
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import Selecting, Step
from discreet.releases import fresh_names


def draw(log: EventLog, columns: tuple[str, ...], spending: Step, rng: Randomness) -> EventLog:
    """A new log. The log is read where something is learned, and nowhere else."""
    times = microseconds(log)
    shown, counts = spending.find(VARIANTS, Selecting).select(log.variants.counts, rng)
    variants = log.variants.take(shown, counts).trimmed()
    relations = relations_of(variants)
    starts = Starts.learn(times[log.offsets[:-1]], spending, rng)
    gaps = Gaps.learn(steps_of(log, times, variants, relations), spending, rng)
    further = [
        Column.learn(log, name, spending.find(values_of(name), Selecting), rng) for name in columns
    ]
    return _compose(variants, relations, starts, gaps, further, rng)


def _compose(
    variants: Variants,
    relations: Integers,
    starts: Starts,
    gaps: Gaps,
    columns: list[Column],
    rng: Randomness,
) -> EventLog:
    """Cases in random order under fresh names, each with a start and a duration per step."""
    order = rng.permutation(variants.cases)
    chosen = np.repeat(np.arange(len(variants)), variants.counts)[order]
    positions, offsets = spans(variants.offsets, chosen)
    codes = variants.codes[positions].astype(np.int64)
    lengths = np.diff(offsets)
    later = np.ones(len(codes), dtype=np.bool_)
    later[offsets[:-1]] = False
    second = np.flatnonzero(later)
    keys = codes[second - 1] * len(variants.activities) + codes[second]
    waited = np.zeros(len(codes), dtype=np.int64)
    waited[second] = gaps.draw(np.searchsorted(relations, keys), rng)
    since = np.cumsum(waited)
    begin = starts.draw(len(chosen), rng) - since[offsets[:-1]]
    times = np.minimum(np.repeat(begin, lengths) + since, LATEST)
    return assemble(
        fresh_names(len(chosen), rng),
        variants.activities,
        codes,
        offsets,
        times,
        {c.name: c.draw(variants.activities, codes, offsets, rng) for c in columns},
    )


def relations_of(variants: Variants) -> Integers:
    """The directly-follows relations of the variants, as sorted keys: first·activities + second."""
    later = np.ones(len(variants.codes), dtype=np.bool_)
    later[variants.offsets[:-1]] = False
    second = np.flatnonzero(later)
    codes = variants.codes.astype(np.int64)
    return np.unique(codes[second - 1] * len(variants.activities) + codes[second])


def steps_of(log: EventLog, times: Integers, variants: Variants, relations: Integers) -> Steps:
    """The steps of the raw log, by relation of the released variants."""
    size = max(1, len(variants.activities))
    number = {activity: i for i, activity in enumerate(variants.activities)}
    recode = np.array([number.get(activity, -1) for activity in log.activities], dtype=np.int64)
    codes = recode[log.codes]
    later = np.ones(log.events, dtype=np.bool_)
    later[log.offsets[:-1]] = False
    second = np.flatnonzero(later)
    first = second - 1
    keys = np.where(
        (codes[first] >= 0) & (codes[second] >= 0), codes[first] * size + codes[second], -1
    )
    place = np.searchsorted(relations, keys)
    found = place < len(relations)
    found[found] = relations[place[found]] == keys[found]
    per_case = np.diff(log.offsets) - 1
    return Steps(
        durations=times[second] - times[first],
        relation=np.where(found, place, -1),
        offsets=np.concatenate([[0], np.cumsum(per_case)]),
        targets=relations % size,
    )
