"""Model pruning: leave out sequences that blur the model which a reader would discover.

It reads the release only, the best picture of the log there is: post-processing.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.arrays import Booleans, Floats
from discreet.log.follows import pairs
from discreet.log.variants import Variants
from discreet.models.edits import edit_distances
from discreet.models.inductive import inductive_miner
from discreet.models.replay import PrefixTree, replay
from discreet.models.tree import Tree

# Tuned on generated logs (bench/headtail_fit.py; docs/mechanisms/headtail.md says what on what)
WORTH = 1.0
"""Weight of the model's F-score against the mean distance by which cases are moved."""

SHOWN = 0.007
"""Largest mean distance by which cases of the head are moved: what was seen is worth more than a
model."""

MOVED = 0.15
"""Largest mean distance by which all cases are moved."""

READERS = {0.1: 0.25, 0.2: 0.75}
"""Shares of rare behaviour that the reader's miner may leave out, and the weight of each. Miners
differ in details: what is good for the usual one and not bad for another is good for more."""

LANGUAGES = (0.05, 0.1, 0.2, 0.3, 0.4)
"""Shares of rare behaviour left out of models of the release that invented sequences may have to
fit."""

RARE = (0.001, 0.003, 0.01, 0.03, 0.1)
"""Shares of the cases: invented sequences with a step that fewer cases take may have to go."""

COMMON = 0.3
"""Share of the cases from which on a step is not questioned."""

# Tuned for speed on two cores
TRIALS = 150
"""Most choices of sequences that are compared."""

MOST_SEQUENCES, MOST_LABELS = 600, 60
"""Most sequences and activities of a release that is pruned: more take too many comparisons and
make models that nobody reads."""


class Judge:
    """The best choice so far among the sequences of one release.

    `best` says which ones are kept, `most` is its score: the F-score, on the release, of the model
    that is discovered from them, less what is moved.
    """

    def __init__(self, release: Variants, head: Variants) -> None:
        shown = head.to_dict()
        self.release = release
        self.shown = np.array([shown.get(sequence, 0) for sequence, _ in release], dtype=np.int64)
        self._prefixes = PrefixTree(release)
        self._apart = edit_distances(release, release)
        self._tried: set[bytes] = set()
        self._known: dict[Tree, float] = {}
        self.best: Booleans = np.zeros(len(release), dtype=bool)
        self.most = -np.inf
        self.improves(~self.best)

    @property
    def tired(self) -> bool:
        """Whether as many choices were tried as may be."""
        return len(self._tried) >= TRIALS

    def improves(self, keep: Booleans) -> bool:
        """Try a choice; whether it is the best so far."""
        if self.tired or keep.sum() < 2 or keep.tobytes() in self._tried:
            return False
        chosen, moved = self.kept(keep)
        if moved @ self.shown > SHOWN or moved @ self.release.counts > MOVED:
            return False
        self._tried.add(keep.tobytes())
        score = WORTH * self._f_score(chosen) - float(moved @ self.release.counts)
        if score <= self.most:
            return False
        self.best, self.most = keep, score
        return True

    def kept(self, keep: Booleans) -> tuple[Variants, Floats]:
        """These sequences, with the cases of each other one moved to the nearest of them.

        And how far a case of each sequence moves, over the number of cases.
        """
        places = np.flatnonzero(keep)
        distances = self._apart[:, places]
        counts = np.zeros(len(places), dtype=np.int64)
        np.add.at(counts, distances.argmin(axis=1), self.release.counts)
        return self.release.take(places, counts), distances.min(axis=1) / self.release.cases

    def _f_score(self, chosen: Variants) -> float:
        """The mean F-score over the models that readers may discover."""
        return sum(
            counts * self._harmonic(inductive_miner(chosen, noise, greedy=True))
            for noise, counts in READERS.items()
        )

    def _harmonic(self, tree: Tree) -> float:
        if tree not in self._known:
            found = replay(tree, self._prefixes)
            fitness, precision = found.pooled_fitness, found.precision
            self._known[tree] = 2 * fitness * precision / max(fitness + precision, 1e-9)
        return self._known[tree]

    def fitting(self, log: Variants, noise: float) -> Booleans:
        """The sequences that the model of a log allows."""
        found = replay(inductive_miner(log, noise, greedy=True), self._prefixes)
        fits: Booleans = found.variant_fitness > 1 - 1e-9
        return fits


def pruned(release: Variants, head: Variants) -> Variants:
    """The release without the sequences that cost more in its model than they bring.

    First the best of some broad choices: all sequences, those that fit the head's model or
    stricter models of the release, those without rare steps, none but the head's. Then, step by
    step, rarest first, the sequences that take it go or come back, as long as that helps.
    """
    if not 3 <= len(release) <= MOST_SEQUENCES or len(release.activities) > MOST_LABELS:
        return release
    judge = Judge(release, head)
    real = judge.shown > 0
    takes, often = _steps(release)
    broad = [judge.fitting(release, noise) for noise in LANGUAGES]
    if len(head):
        broad += [real, judge.fitting(head, 0.0)]
    broad += [np.logical_not(takes[often < share].any(axis=0)) for share in RARE]
    for keep in broad:
        judge.improves(real | keep)
    rare = takes[often < COMMON]
    helped = True
    while helped and not judge.tired:
        gone = [judge.improves(judge.best & ~taken) for taken in rare]
        back = [judge.improves(judge.best | taken) for taken in rare[::-1]]
        helped = any(gone) or any(back) or _restored(judge)
    return judge.kept(judge.best)[0]


def _steps(release: Variants) -> tuple[npt.NDArray[np.bool_], Floats]:
    """The sequences that take each step from an activity to the next, and the share of cases.

    The rarest step first; starts and ends are steps too.
    """
    source, target, owner = pairs(release)
    _, step = np.unique(source * (len(release.activities) + 1) + target, return_inverse=True)
    takes = np.zeros((int(step.max()) + 1, len(release)), dtype=bool)
    takes[step, owner] = True
    often = takes @ release.counts / release.cases
    order = np.argsort(often, kind="stable")
    return takes[order], often[order]


def _restored(judge: Judge) -> bool:
    """Bring back sequences that were left out, by halves, where it helps; whether any came back."""
    out = np.flatnonzero(~judge.best)
    order = np.argsort(judge.release.counts[out], kind="stable")
    waiting = [part for part in np.array_split(out[order], 2) if len(part)]
    helped = False
    while waiting and not judge.tired:
        part = waiting.pop()
        again = judge.best.copy()
        again[part] = True
        if judge.improves(again):
            helped = True
        elif len(part) > 1:
            waiting += np.array_split(part, 2)
    return helped
