"""What an author of a mechanism imports, all in one place.

    from discreet.author import Budget, EventLog, Mechanism, Statement, Step, parameter

`discreet.testing` has the suite that a mechanism must pass, docs/add-a-mechanism.md builds one.
These names stay; the modules they come from may move.
"""

from discreet.arrays import Floats as Floats
from discreet.arrays import Integers as Integers
from discreet.log.errors import LogError as LogError
from discreet.log.events import EventLog as EventLog
from discreet.log.follows import Follows as Follows
from discreet.log.neighbours import Case as Case
from discreet.log.neighbours import Pair as Pair
from discreet.log.variants import Variants as Variants
from discreet.mechanisms.audit_cases import AuditCase as AuditCase
from discreet.mechanisms.base import Mechanism as Mechanism
from discreet.mechanisms.base import delta_parameter as delta_parameter
from discreet.parameters import ParameterError as ParameterError
from discreet.parameters import at_least as at_least
from discreet.parameters import between as between
from discreet.parameters import fraction as fraction
from discreet.parameters import parameter as parameter
from discreet.parameters import positive as positive
from discreet.parameters import unit_interval as unit_interval
from discreet.privacy.count_noise import CountNoise as CountNoise
from discreet.privacy.guarantee import Budget as Budget
from discreet.privacy.guarantee import Guarantee as Guarantee
from discreet.privacy.partition import LARGEST_EPSILON as LARGEST_EPSILON
from discreet.privacy.partition import OptimalSelection as OptimalSelection
from discreet.privacy.randomness import Randomness as Randomness
from discreet.privacy.steps import Choosing as Choosing
from discreet.privacy.steps import Concentrated as Concentrated
from discreet.privacy.steps import Gaussian as Gaussian
from discreet.privacy.steps import Laplace as Laplace
from discreet.privacy.steps import OneOf as OneOf
from discreet.privacy.steps import Selecting as Selecting
from discreet.privacy.steps import Sequential as Sequential
from discreet.privacy.steps import Statement as Statement
from discreet.privacy.steps import Step as Step
