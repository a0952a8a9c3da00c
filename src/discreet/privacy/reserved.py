"""Partition selection that keeps a budget for the cases it hides."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from discreet.privacy.partition import OptimalSelection, optimal_table


@dataclass(frozen=True)
class ReservedSelection(OptimalSelection):
    """Show keys with noisy counts at full ε, and leave (ε′, δ′) to whatever reads the hidden cases.

    First every key is shown or hidden, with noise of its own. Then any (ε′, δ′)-DP mechanism, which
    may depend on what was shown, reads the cases whose key was hidden. The claim: both together
    are (ε, δ + δ′)-DP under add-remove, for ε′ < ε. Basic composition would charge ε + ε′. It
    overcharges because a case pays for only one of the two: if its key is shown, the hidden
    cases are the same without it.

    The noise is made as in `OptimalSelection`: a key of n cases is shown with probability π(n), its
    count being t + 1 + n − j with probability p(j) = π(j) − π(j − 1) for j ≤ n, and hidden with
    s(n) = 1 − π(n). Here π(0) = 0 and

        π(n + 1) = min(r·π(n) + δ, 1 − (r′·s(n) − δ)/r, 1),   r = e^ε, r′ = e^ε′.

    Proof. Neighbours differ in one case, of a key with n and n + 1 cases. The other keys' outcomes
    have one distribution for both; fix them. If the key is shown with a given count, the second
    mechanism reads the same cases in both, so what counts is p. If it is hidden, the second
    mechanism's inputs are neighbours, so for any set of its outputs with probabilities y and z
    under the two, y ≤ r′·z + δ′ and the reverse. The hockey-stick divergences at ε are at most

        more over fewer:  p(1) + Σ_{j ≤ n} max(0, p(j + 1) − r·p(j)) + s(n + 1)·δ′
                          + max(0, r′·s(n + 1) − r·s(n))
        fewer over more:  Σ_{j ≤ n} max(0, p(j) − r·p(j + 1)) + s(n)·δ′
                          + max(0, r′·s(n) − r·s(n + 1)).

    The last term of the first line is 0, since s falls and r′ ≤ r. Everything without δ′ is
    evaluated exactly, in integers, for every n when the table is built, and must not pass δ
    (`_certify`); the terms with δ′ are at most δ′. While the first minimum rules,
    p(j + 1) = r·p(j); then r·s(j + 1) = r′·s(j) − δ: p falls by e^{ε − ε′} at a time.
    """

    reserve: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.reserve < self.epsilon:
            raise ValueError(f"the reserve must lie in [0, epsilon), not {self.reserve}")

    @cached_property
    def _table(self) -> tuple[tuple[int, ...], int]:
        return optimal_table(self.epsilon, self.delta, self.reserve)
