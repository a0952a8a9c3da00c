"""A tail that reads a random sample of the cases: for logs of more variants than can be compared.

What it costs and why is proved beside the step (`privacy/steps/sampling.py`). The tail works in
numbers of the sample; the share turns numbers of all cases into those, and its votes back. Which
cases are in the sample is decided by coins of the operating system, case by case, and never told.
"""

from __future__ import annotations

import math

from discreet.arrays import Ints
from discreet.log.variants import VariantCounts, Variants
from discreet.mechanisms.headtail.spending import sample_name
from discreet.mechanisms.headtail.votes import Estimate
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import Sampled, Step


def read_cases(
    cases: VariantCounts, places: Ints, steps: Step, way: str, share: float, rng: Randomness
) -> Variants:
    """The cases that the tail of a way reads: those at the places, or a sample of them."""
    if share == 1:
        return cases.take(places)
    sampling = steps.find(sample_name(way), Sampled)
    present, counts = sampling.draw(cases.counts[places], rng)
    return cases.take(places[present], counts)


def in_sample(about: Estimate, share: float) -> Estimate:
    """What an estimate of the number of cases says of how many are in the sample."""
    spread = max(about.value, 0.0) * share * (1 - share)
    deviation = math.hypot(about.deviation * share, math.sqrt(spread))
    return Estimate(about.value * share, deviation)
