"""What headtail could reach if one of its parts were perfect. Not private: for judging parts only.

    python bench/headtail_bounds.py 20 CoSeLoG_receipt BPIC2020_PrepaidTravelCost

Each line replaces one thing by what the log says: the hidden cases, the head's counts, the votes,
the total of the votes, or the candidates. "support of hidden cases" finds the support among the
hidden cases themselves, and "of nameable activities" among what is left of them without activities
that neither the head nor a candidate shows. These are experiments, not proofs that nothing could be
better: the support is still found greedily. "half against half" is the similarity of two random
halves of the log.

Real logs are found in DISCREET_LOGS (by default ../shared/logs beside the repository).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

import numpy as np
from headtail import FOLDER, Counted, drawn

from discreet.log.loading import read_log
from discreet.log.variants import Variants
from discreet.mechanisms.blocks.alphabet import projected
from discreet.mechanisms.headtail import tail
from discreet.mechanisms.headtail.candidates import central
from discreet.mechanisms.headtail.votes import Estimate, joined, nearest
from discreet.models.similarity import relative_log_similarity

RELEASE = tail.Tail.release
Parts = dict[str, Callable[..., Any]]


@dataclass
class Oracle:
    """Parts of headtail that look at the log."""

    log: Variants
    hidden: Variants = field(init=False)

    def release(self, *given: Any) -> Variants:
        """As it is, but the hidden cases are remembered."""
        self.hidden = given[2]
        return RELEASE(*given)

    def everything(self, _: Any, head: Variants, hidden: Variants, *__: Any) -> Variants:
        """The hidden cases as they are, beside the noisy head."""
        return joined(head, hidden)[0]

    def true_head(self, the: Any, head: Variants, hidden: Variants, *rest: Any) -> Variants:
        """The head with its true counts."""
        found, (ours, shown) = joined(self.log, head)
        truth = np.bincount(ours, self.log.counts, len(found)).astype(np.int64)
        return self.release(the, head.take(np.arange(len(head)), truth[shown]), hidden, *rest)

    def true_total(self, the: Any, head: Variants, hidden: Variants, _: Any, rng: Any) -> Variants:
        """The number of hidden cases is known."""
        return self.release(the, head, hidden, Estimate(hidden.cases, 1e-6), rng)

    def true_votes(self, cases: Variants, support: Variants, *_: Any) -> Any:
        """Votes without noise."""
        return np.bincount(nearest(cases, support), cases.counts, len(support)).astype(np.int64)

    def true_support(self, _: Variants, head: Variants, *rest: Any) -> Variants:
        """The most central hidden cases."""
        return central(self.hidden, head, *rest)

    def nameable_support(self, found: Variants, head: Variants, *rest: Any) -> Variants:
        """The most central hidden cases, of activities that the head or a candidate shows."""
        names = {*head.trimmed().activities, *found.trimmed().activities}
        return central(projected(self.hidden, tuple(sorted(names))), head, *rest)

    def parts(self) -> dict[str, tuple[Parts, Parts]]:
        """What to replace in the tail and in its module, by what it shows."""
        seen: Parts = {"release": self.release}
        return {
            "as it is": ({}, {}),
            "hidden cases exact": ({"release": self.everything}, {}),
            "head's counts exact": ({"release": self.true_head}, {}),
            "number of hidden cases exact": ({"release": self.true_total}, {}),
            "votes exact": (seen, {"noisy_votes": self.true_votes}),
            "support of hidden cases": (seen, {"central": self.true_support}),
            "… of nameable activities": (seen, {"central": self.nameable_support}),
        }


def halves(log: Variants) -> float:
    """The similarity of one random half of the cases to the other."""
    owner = np.random.default_rng(1).permutation(np.repeat(np.arange(len(log)), log.counts))
    parts = [np.bincount(half, minlength=len(log)) for half in np.array_split(owner, 2)]
    left, right = (log.take(np.flatnonzero(x), x[x > 0]) for x in parts)
    return relative_log_similarity(left, right)


def main(releases: int = 1, *names: str) -> None:
    """One line for each part of each log."""
    for name in names or ("CoSeLoG_receipt",):
        log = Counted(read_log(FOLDER / f"{name}.xes.gz").variants)
        print(f"{name}, half against half: {halves(log.variants):.4f}", flush=True)
        for part, (methods, functions) in Oracle(log.variants).parts().items():
            with ExitStack() as stack:
                for attribute, value in methods.items():
                    method = lambda *given, value=value: value(*given)  # noqa: E731
                    stack.enter_context(patch.object(tail.Tail, attribute, method))
                for attribute, value in functions.items():
                    stack.enter_context(patch.object(tail, attribute, value))
                found = drawn(log, releases)
            error = np.std(found) / np.sqrt(releases)
            print(f"{name}, {part}: {np.mean(found):.4f} ± {error:.4f}", flush=True)


if __name__ == "__main__":
    main(int([*sys.argv, "1"][1]), *sys.argv[2:])
