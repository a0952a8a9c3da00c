"""Tidy: leave out invented sequences that blur the model which a reader would discover.

Post-processing only: it reads the release itself, the best picture of the log there is.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.log.variants import Variants
from discreet.models.inductive import inductive_miner
from discreet.models.prefixes import PrefixTree
from discreet.models.replay import replay
from discreet.utility.similarity import edit_distances

Flags = npt.NDArray[np.bool_]

WORTH = 0.8
"""How much a better model counts: F-score against the distance that cases are moved."""

NOISE = 0.2
"""The share of rare behaviour that the reader's miner leaves out."""

LANGUAGES = (0.05, 0.1, 0.2, 0.3, 0.4)
"""Models of the release, by the share of rare behaviour they leave out, that sequences may have to
fit."""

TRIALS = 16
"""Choices of sequences that are compared at most."""

LARGE = 600
"""Releases of more sequences are left as they are: too many comparisons."""


class Judge:
    """Scores of choices among the sequences of one release."""

    def __init__(self, release: Variants) -> None:
        self.release = release
        self.prefixes = PrefixTree(release)
        self.apart = edit_distances(release, release)
        self.trials = 0

    def kept(self, keep: Flags) -> tuple[Variants, float]:
        """These sequences, the cases of each other one moved to the nearest; how far on average."""
        places = np.flatnonzero(keep)
        distances = self.apart[:, places]
        counts = np.zeros(len(places), dtype=np.int64)
        np.add.at(counts, distances.argmin(axis=1), self.release.counts)
        moved = float(distances.min(axis=1) @ self.release.counts) / self.release.cases
        return self.release.take(places, counts), moved

    def score(self, keep: Flags) -> float:
        """The F-score, on the release, of the model of these sequences, less what is moved."""
        self.trials += 1
        chosen, moved = self.kept(keep)
        found = replay(inductive_miner(chosen, NOISE), self.prefixes)
        fitness, precision = found.pooled_fitness, found.precision
        return WORTH * 2 * fitness * precision / max(fitness + precision, 1e-9) - moved

    def fitting(self, log: Variants, noise: float) -> Flags:
        """The sequences that the model of a log allows."""
        found = replay(inductive_miner(log, noise), self.prefixes)
        fits: Flags = found.variant_fitness > 1 - 1e-9
        return fits


def tidied(release: Variants, head: Variants) -> Variants:
    """The release without the invented sequences that cost more in its model than they bring.

    First the best of all sequences, those that fit the head's model, those that fit stricter
    models of the release, and none but the head's; then sequences that were left out come back,
    in halves, where that does no harm. What the head shows always stays.
    """
    shown = head.to_dict()
    real = np.array([sequence in shown for sequence, _ in release], dtype=bool)
    if real.all() or not 3 <= len(release) <= LARGE:
        return release
    judge = Judge(release)
    best = np.ones(len(release), dtype=bool)
    most = judge.score(best)
    languages = [judge.fitting(release, noise) for noise in LANGUAGES]
    if len(head):
        languages += [real, judge.fitting(head, 0.0)]
    for fits in languages:
        keep = real | fits
        if keep.sum() > 1 and not keep.all() and (score := judge.score(keep)) > most:
            best, most = keep, score
    out = np.flatnonzero(~best)
    order = np.argsort(release.counts[out], kind="stable")
    waiting = [part for part in np.array_split(out[order], 2) if len(part)]
    while waiting and judge.trials < TRIALS:
        part = waiting.pop()
        again = best.copy()
        again[part] = True
        if (score := judge.score(again)) > most:
            best, most = again, score
        elif len(part) > 1:
            waiting += np.array_split(part, 2)
    return judge.kept(best)[0]
