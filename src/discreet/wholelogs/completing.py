"""From released variants and noisy tables to a whole log."""

from __future__ import annotations

import numpy as np
import polars as pl

from discreet.log.cases import Sums
from discreet.log.events import EventLog, assemble
from discreet.log.variants import Variants, spans
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import Step
from discreet.releases import fresh_names
from discreet.wholelogs.clock import Clock
from discreet.wholelogs.courses import Source
from discreet.wholelogs.declaring import Attribute
from discreet.wholelogs.drawing import draw_times
from discreet.wholelogs.learning import Times
from discreet.wholelogs.released import Released
from discreet.wholelogs.traits import traits
from discreet.wholelogs.values import draw_attribute
from discreet.wholelogs.work import Work


def complete(
    sums: Sums,
    variants: Variants,
    attributes: tuple[Attribute, ...],
    begun: str | None,
    zone: str,
    spending: Step,
    rng: Randomness,
) -> EventLog:
    """A new log. Of the old one only sums over its cases are asked, each with noise."""
    variants = variants.take(np.flatnonzero(variants.counts > 0)).trimmed()
    order = rng.permutation(variants.cases)
    chosen = np.repeat(np.arange(len(variants)), variants.counts)[order]
    positions, offsets = spans(variants.offsets, chosen)
    codes = variants.codes[positions].astype(np.int64)
    del positions
    times = np.zeros(0, dtype=np.int64)
    columns: dict[str, pl.Series] = {}
    clock = Clock(zone)
    released = Released.of(variants)
    source = Source(sums, variants.activities, clock)
    if len(codes):
        learnt = Times.learn(source, released, spending, rng)
        times = draw_times(learnt, released, codes, offsets, clock, rng)
        if begun:
            work = Work.learn(source, begun, released, spending, rng)
            began = work.draw(codes, offsets, times, learnt, clock, rng)
            columns[begun] = pl.Series(began).cast(pl.Datetime("us", "UTC"))
    candidates = traits(codes, offsets, times) if any(a.of_case for a in attributes) else []
    for attribute in attributes:
        columns[attribute.column] = draw_attribute(
            source, released, attribute, codes, offsets, candidates, spending, rng
        )
    return assemble(
        fresh_names(len(chosen), rng), variants.activities, codes, offsets, times, columns
    )
