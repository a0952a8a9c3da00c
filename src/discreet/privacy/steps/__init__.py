"""What a release spends, step by step: the promise and the noise come from the same objects.

A mechanism builds one tree of steps from its budget. Leaves read the log: each knows what it
costs one case and makes the noise that buys, so neither can change without the other. Inner
nodes compose: each computes its cost from those below it by the rule it is named after. From the
whole, `promised` derives the `Guarantee`; a tree that costs more than was asked for has none.

Every cost holds for one case more or less, or for one case replaced, whichever the mechanism's
sensitivities are computed for; rules of composition are the same for both. Sums are exact and
rounded up once.
"""

from discreet.privacy.steps.base import Found, SpendingError, Step
from discreet.privacy.steps.composition import (
    Composed,
    Concentrated,
    Group,
    OneOf,
    RandomStopping,
    Renyi,
    Reserved,
    Sequential,
)
from discreet.privacy.steps.counts import gaussian, laplace_or_gaussian, least_noise, noise_of
from discreet.privacy.steps.leaves import (
    Choosing,
    Delegated,
    Gaussian,
    Laplace,
    Proved,
    SampledGaussian,
    Selecting,
)
from discreet.privacy.steps.promise import Statement, as_asked, promised
from discreet.privacy.steps.sampling import Sampled

__all__ = [
    "Choosing",
    "Composed",
    "Concentrated",
    "Delegated",
    "Found",
    "Gaussian",
    "Group",
    "Laplace",
    "OneOf",
    "Proved",
    "RandomStopping",
    "Renyi",
    "Reserved",
    "Sampled",
    "SampledGaussian",
    "Selecting",
    "Sequential",
    "SpendingError",
    "Statement",
    "Step",
    "as_asked",
    "gaussian",
    "laplace_or_gaussian",
    "least_noise",
    "noise_of",
    "promised",
]
