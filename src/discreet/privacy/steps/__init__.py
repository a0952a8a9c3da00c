"""What a release spends, step by step: the promise and the noise come from the same objects.

A mechanism builds one tree of steps from its budget. Leaves read the log: each knows what it
costs one case and makes the noise that buys, so neither can change without the other. Inner
nodes compose: each computes its cost from those below it by the rule it is named after. From the
whole, `promised` derives the `Guarantee`; a tree that costs more than was asked for has none.

Every cost holds for one case more or less, or for one case replaced, whichever the mechanism's
sensitivities are computed for; rules of composition are the same for both. Sums are exact and
rounded up once.

Certificates, ledgers and checkpoints outlive this code and quote it. So for ever:

1. The name of a rule means what it meant; another argument for the same cost is another rule.
2. The name of a mechanism, of a parameter or of a step is never given to anything else.
3. A parameter that is added has a default that is what was done before it was there.
4. What the same parameters cost changes with a new version only, by a better proof or because a
   mistake was found, and the changelog says so: certificates are checked against it, and for one
   of an earlier version that says otherwise the check answers "unknown", not "holds".
5. What is read from JSON is read by name, and a name that is missing has its old meaning.
6. Noise is drawn by the step that paid for it; a step that draws nothing is not in the tree.
"""

from discreet.privacy.steps.base import Found as Found
from discreet.privacy.steps.base import SpendingError as SpendingError
from discreet.privacy.steps.base import Step as Step
from discreet.privacy.steps.composition import Composed as Composed
from discreet.privacy.steps.composition import Concentrated as Concentrated
from discreet.privacy.steps.composition import Group as Group
from discreet.privacy.steps.composition import OneOf as OneOf
from discreet.privacy.steps.composition import RandomStopping as RandomStopping
from discreet.privacy.steps.composition import Renyi as Renyi
from discreet.privacy.steps.composition import Reserved as Reserved
from discreet.privacy.steps.composition import Sequential as Sequential
from discreet.privacy.steps.composition import gaussian as gaussian
from discreet.privacy.steps.composition import laplace_or_gaussian as laplace_or_gaussian
from discreet.privacy.steps.composition import least_noise as least_noise
from discreet.privacy.steps.composition import noise_of as noise_of
from discreet.privacy.steps.leaves import LARGEST_BOUND as LARGEST_BOUND
from discreet.privacy.steps.leaves import Choosing as Choosing
from discreet.privacy.steps.leaves import Delegated as Delegated
from discreet.privacy.steps.leaves import Gaussian as Gaussian
from discreet.privacy.steps.leaves import Laplace as Laplace
from discreet.privacy.steps.leaves import Proved as Proved
from discreet.privacy.steps.leaves import SampledGaussian as SampledGaussian
from discreet.privacy.steps.leaves import Selecting as Selecting
from discreet.privacy.steps.promise import Statement as Statement
from discreet.privacy.steps.promise import as_asked as as_asked
from discreet.privacy.steps.promise import promised as promised
from discreet.privacy.steps.sampling import Sampled as Sampled
