"""From variants back to a log of cases."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress

import numpy as np

from discreet.arrays import Ints
from discreet.log.assemble import assemble
from discreet.log.events import EventLog
from discreet.log.instants import SECOND
from discreet.log.variants import Variants, spans


def expand(variants: Variants, order: Ints, names: Sequence[str]) -> EventLog:
    """One case per count, in the given order and under the given names.

    Times are plainly artificial: every case begins on 1970-01-01 and takes a second per event.
    """
    chosen = np.repeat(np.arange(len(variants)), variants.counts)[order]
    written = variants.lengths[chosen] > 0  # a case without events leaves no trace in a file
    positions, offsets = spans(variants.offsets, chosen[written])
    seconds = np.arange(len(positions)) - np.repeat(offsets[:-1], np.diff(offsets))
    return assemble(
        list(compress(names, written)),
        variants.activities,
        variants.codes[positions].astype(np.int64),
        offsets,
        seconds * SECOND,
    )


def one_by_one(variants: Variants) -> EventLog:
    """The cases in the order of their variants, with numbers as names."""
    return expand(variants, np.arange(variants.cases), list(map(str, range(1, variants.cases + 1))))
