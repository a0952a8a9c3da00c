"""Privacy filters: whether one more release, chosen after seeing the earlier ones, fits a cap.

Setting. Fix two neighbouring logs. Step i is chosen from the outputs so far and is (ε_i, δ_i)-DP
given them; which release comes next, how many there are and every parameter may depend on what
was seen. P and Q are the laws of everything seen. A release draws its randomness afresh, so one
that is booked now and drawn a little later, beside others, is as if drawn at its booking.

Leaks. If step i is (ε_i, δ_i)-DP then P_i = (1 − δ_i)P′_i + δ_i·P″_i and likewise Q_i, with P′_i,
Q′_i within e^{±ε_i} of each other (Kairouz, Oh, Viswanath 2015). So suppose each step leaks with
probability δ_i and is P′_i, Q′_i otherwise, and that Σδ_i ≤ D along every path. With
w = Π(1 − δ_i), P(S) ≤ ∫_S w dP′ + D and Q(S) ≥ ∫_S w dQ′; w lies in [0, 1], so if P′, Q′ are
(ε, δ′)-close, ∫_S w dP′ ≤ e^ε ∫_S w dQ′ + δ′ and P(S) ≤ e^ε Q(S) + δ′ + D. It is enough to study
P′, Q′ and to add D.

- basic: on every path the privacy loss of P′, Q′ is at most Σε_i ≤ ε, so δ′ = 0 (Rogers, Roth,
  Ullman, Vadhan 2016).
- zcdp: where D_α(P′_i‖Q′_i) ≤ αρ_i, exp((α − 1)Σ(ℓ_i − αρ_i)) is a supermartingale under P′, so
  Σρ_i ≤ ρ on every path makes the whole ρ-zCDP (Feldman, Zrnic 2021; Whitehouse, Ramdas, Rogers,
  Wu 2023). δ′ by `zcdp_epsilon`. A pure ε_i is ρ_i = ε_i²/2 (Bun, Steinke 2016).
- advanced: the same with the weaker conversion ρ + 2√(ρ·ln(1/δ′)) ≤ ε, which for ρ = ½Σε_i² is
  advanced composition at its usual rate (Whitehouse et al.). zcdp admits whatever it admits.
- gdp: where P′_i, Q′_i are μ_i-GDP they are, by Blackwell, functions of a Brownian motion with
  drift 0 or 1 watched for a time μ_i². Steps use up stretches one after another, Σμ_i² ≤ μ² of
  them, so all is a function of the motion up to time μ², whose endpoint is sufficient: N(0, μ²)
  or N(μ², μ²), that is μ-GDP (Smith, Thakurta 2022). A pure ε_i is μ_i = −2Φ⁻¹(1/(1 + e^{ε_i})):
  its trade-off curve joins (0, 1), the diagonal at 1/(1 + e^{ε_i}) and (1, 0) by straight lines,
  and the convex Gaussian curve through the same three points lies below.

best. Grant where any one of several filters j does, each with δ_j of its own and Σδ_j ≤ δ.
Switching between filters is itself adaptive, and this is why it is valid: the sums only grow, so
the histories R_j that filter j accepts contain their own beginnings. Compare with the interaction
that stops before it would leave R_j. A full history that ends in R_j has the same probability in
both, under P and under Q, so for every event S the part S_j that ends in R_j (and in no earlier
R) has P(S_j) ≤ e^ε Q(S_j) + δ_j. Adding up over j, P(S) ≤ e^ε Q(S) + δ. Choosing the best filter
after the fact with the whole δ for each would not be covered by this.

Limits are fixed when the cap is set. Amounts are summed as the decimal numbers people write (ten
times 0.1 is 1), with what cannot be held exactly rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from decimal import ROUND_CEILING, Context, Decimal
from statistics import NormalDist
from typing import Literal, get_args

from discreet.privacy.accounting import to_swap, zcdp_epsilon, zcdp_rho
from discreet.privacy.guarantee import Budget, Guarantee, Part

FilterName = Literal["best", "basic", "zcdp", "gdp", "advanced"]
FILTERS: tuple[FilterName, ...] = get_args(FilterName)

# Proof

_TOLERANCE = 1e-9
"""Relative slack, on the safe side, that covers the rounding errors of floats."""
_SUM = Context(prec=80, rounding=ROUND_CEILING)
"""Sums that round up what 80 digits cannot hold."""

# Tuned: on the costs that releases state. Any shares that add up to at most 1 are valid.

DELTA_SHARES = {"basic": 0.5, "zcdp": 0.5}
"""The parts of δ that `best` gives to its filters. advanced lies within zcdp, and gdp within the
two as long as releases state their cost in ε or ρ (a pure ε is π/2 times dearer in μ² than in 2ρ),
so neither has a share; gdp pays off for a source whose releases are stated in μ."""

COMPOSITION_SHARE = 0.5
"""The part of a filter's δ that pays for composition (δ′); the rest is for the releases' own."""


def decimal(value: float) -> Decimal:
    """The decimal number that a float is written as."""
    return Decimal(repr(float(value)))


@dataclass(frozen=True)
class Spend:
    """The cost of releases in the currency of each filter, each with the leak δ beside it."""

    epsilon: Decimal = Decimal(0)
    delta: Decimal = Decimal(0)
    rho: Decimal = Decimal(0)
    rho_delta: Decimal = Decimal(0)
    mu_squared: Decimal = Decimal(0)
    mu_delta: Decimal = Decimal(0)

    def __add__(self, other: Spend) -> Spend:
        return Spend(
            *(_SUM.add(getattr(self, f.name), getattr(other, f.name)) for f in fields(Spend))
        )

    def to_dict(self) -> dict[str, str]:
        """Plain texts that lose nothing."""
        return {f.name: str(getattr(self, f.name)) for f in fields(Spend)}

    @classmethod
    def from_dict(cls, values: dict[str, str]) -> Spend:
        """Inverse of `to_dict`."""
        return cls(**{f.name: Decimal(values[f.name]) for f in fields(Spend)})

    @classmethod
    def of_budget(cls, budget: Budget) -> Spend:
        """The cost of an (ε, δ) of which nothing more is known."""
        epsilon, delta = decimal(budget.epsilon), decimal(budget.delta)
        mu = decimal(pure_mu(budget.epsilon))
        rho = _SUM.divide(_SUM.multiply(epsilon, epsilon), Decimal(2))
        return cls(epsilon, delta, rho, delta, _SUM.multiply(mu, mu), delta)

    @classmethod
    def of(cls, promise: Guarantee) -> Spend:
        """The cost of a release with this guarantee, in its own unit and neighbour relation.

        The parts of a release tell more than their sum, √Σε² being less than Σε, but they are
        believed only where together they account for the whole of what holds.
        """
        if promise.holds is None:
            raise ValueError("a release without a finite bound has no cost that could be booked")
        whole = cls.of_budget(promise.holds)
        if promise.unit != "case" or not _accounts_for(promise.parts, promise.holds):
            return whole
        total = Spend()
        for part in promise.parts:
            total += cls._of_part(part)
        rho_better = total.rho <= whole.rho and total.rho_delta <= whole.rho_delta
        mu_better = total.mu_squared <= whole.mu_squared and total.mu_delta <= whole.mu_delta
        return cls(
            whole.epsilon,
            whole.delta,
            *((total.rho, total.rho_delta) if rho_better else (whole.rho, whole.rho_delta)),
            *((total.mu_squared, total.mu_delta) if mu_better else (whole.mu_squared, whole.delta)),
        )

    @classmethod
    def _of_part(cls, part: Part) -> Spend:
        if part.rho is None:
            return cls.of_budget(Budget(part.epsilon, part.delta))
        delta, never = decimal(part.delta), Decimal("Infinity")
        return cls(never, delta, decimal(part.rho), delta, never, delta)

    def doubled(self) -> Spend:
        """The cost where one change is two: a swap is a removal and an addition.

        (ε, δ) by `to_swap`; ρ and μ² of leak-free releases by group privacy, four times as much.
        """
        epsilon, delta = to_swap(float(self.epsilon), float(self.delta))
        whole, four = Spend.of_budget(Budget(epsilon, delta)), Decimal(4)
        rho, mu = _SUM.multiply(four, self.rho), _SUM.multiply(four, self.mu_squared)
        rho_better = not self.rho_delta and rho <= whole.rho
        mu_better = not self.mu_delta and mu <= whole.mu_squared
        return Spend(
            whole.epsilon,
            whole.delta,
            *((rho, Decimal(0)) if rho_better else (whole.rho, whole.rho_delta)),
            *((mu, Decimal(0)) if mu_better else (whole.mu_squared, whole.mu_delta)),
        )


def _accounts_for(parts: tuple[Part, ...], holds: Budget) -> bool:
    """Whether the parts compose to no less than what holds, so that none is missing."""
    own = math.fsum(part.delta for part in parts)
    pure = math.fsum(part.epsilon for part in parts if part.rho is None)
    rho = math.fsum(part.rho for part in parts if part.rho is not None)
    least = holds.epsilon * (1 - _TOLERANCE)
    if not any(part.rho is not None for part in parts):
        return pure >= least and own >= holds.delta * (1 - _TOLERANCE)
    if not 0 < holds.delta - own <= 1:
        return False
    return pure + zcdp_epsilon(rho, holds.delta - own) >= least


@dataclass(frozen=True)
class Limit:
    """One filter of a cap: the most that may be spent in its currency, and the most leak."""

    name: str
    amount: Decimal
    delta: Decimal

    def fits(self, spent: Spend) -> bool:
        """Whether this total stays within the filter."""
        amount, delta = self.of(spent)
        return amount <= self.amount and delta <= self.delta

    def of(self, spent: Spend) -> tuple[Decimal, Decimal]:
        """The amount and the leak that this filter counts."""
        currency, leak = _CURRENCY[self.name]
        return getattr(spent, currency), getattr(spent, leak)

    def used(self, spent: Spend) -> float:
        """The share of the limit that is used up, of the amount or of δ, whichever is more."""
        amount, delta = self.of(spent)
        return max(float(amount / self.amount), float(delta / self.delta) if self.delta else 0.0)

    def next_epsilon(self, spent: Spend) -> float:
        """The largest pure ε that still fits, rounded down."""
        amount, delta = self.of(spent)
        left = float(self.amount - amount)
        if left <= 0 or delta > self.delta:
            return 0.0
        largest = _NEXT[self.name](left)
        for margin in (0.0, 2**-40, 2**-20, 2**-10):
            epsilon = largest * (1 - margin)
            if self.fits(spent + Spend.of_budget(Budget(epsilon))):
                return epsilon
        return 0.0

    def to_dict(self) -> dict[str, str]:
        """Plain texts that lose nothing."""
        return {"name": self.name, "amount": str(self.amount), "delta": str(self.delta)}

    @classmethod
    def from_dict(cls, values: dict[str, str]) -> Limit:
        """Inverse of `to_dict`."""
        return cls(values["name"], Decimal(values["amount"]), Decimal(values["delta"]))


_CURRENCY = {
    "basic": ("epsilon", "delta"),
    "zcdp": ("rho", "rho_delta"),
    "advanced": ("rho", "rho_delta"),
    "gdp": ("mu_squared", "mu_delta"),
}
_NEXT: dict[str, Callable[[float], float]] = {
    "basic": lambda left: left,
    "zcdp": lambda left: math.sqrt(2 * left),
    "advanced": lambda left: math.sqrt(2 * left),
    "gdp": lambda left: pure_epsilon(math.sqrt(left)),
}


def limits(cap: Budget, name: FilterName) -> tuple[Limit, ...]:
    """The filters that a cap stands for; a release passes if any one of them allows it."""
    if name not in FILTERS:
        raise ValueError(f"{name!r} is not one of {', '.join(FILTERS)}")
    if name != "best":
        return (_limit(cap, name),)
    if not cap.delta:
        return (_limit(cap, "basic"),)
    return tuple(
        _limit(Budget(cap.epsilon, cap.delta * share), kind) for kind, share in DELTA_SHARES.items()
    )


def _limit(cap: Budget, name: str) -> Limit:
    if name == "basic":
        return Limit(name, decimal(cap.epsilon), decimal(cap.delta))
    if not 0 < cap.delta < 1:
        raise ValueError(f"the filter {name} needs a delta above 0 and below 1; use basic")
    slack = cap.delta * COMPOSITION_SHARE
    if name == "zcdp":
        amount = zcdp_rho(cap.epsilon, slack)
    elif name == "advanced":
        log = -math.log(slack)
        amount = (cap.epsilon / (math.sqrt(cap.epsilon + log) + math.sqrt(log))) ** 2
    else:
        amount = gdp_mu(cap.epsilon, slack) ** 2
    return Limit(name, decimal(amount * (1 - _TOLERANCE)), decimal(cap.delta - slack))


def pure_mu(epsilon: float) -> float:
    """The μ (rounded up) for which every ε-DP release is μ-GDP."""
    if epsilon == 0:
        return 0.0
    if epsilon > 700:
        return math.inf
    mu = -2 * NormalDist().inv_cdf(1 / (1 + math.exp(epsilon)))
    return mu * (1 + _TOLERANCE) + 1e-14


def pure_epsilon(mu: float) -> float:
    """The ε at which `pure_mu` reaches μ: ln((1 − p)/p) with p = Φ(−μ/2)."""
    p = math.erfc(mu / 2 / math.sqrt(2)) / 2
    return math.log1p(-p) - math.log(p) if p else 700.0


def gdp_delta(epsilon: float, mu: float) -> float:
    """The δ at which μ-GDP gives ε: Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ) (Dong, Roth, Su 2022)."""
    if mu == 0:
        return 0.0
    root = math.sqrt(2)
    upper = math.erfc((epsilon / mu - mu / 2) / root) / 2
    tail = math.erfc((epsilon / mu + mu / 2) / root) / 2
    return upper - (math.exp(epsilon + math.log(tail)) if tail else 0.0)


def gdp_mu(epsilon: float, delta: float) -> float:
    """The largest μ (rounded down) that gives (ε, δ)."""
    low, high = 0.0, 1.0
    while gdp_delta(epsilon, high) <= delta:
        low, high = high, 2 * high
    for _ in range(100):
        middle = (low + high) / 2
        if gdp_delta(epsilon, middle) <= delta * (1 - _TOLERANCE):
            low = middle
        else:
            high = middle
    return low
