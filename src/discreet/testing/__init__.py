"""Conformance suites, for others too: can the library rely on this mechanism, this engine?

from discreet.testing import check_engine, check_mechanism

def test_it_conforms() -> None:
    check_mechanism(MyMechanism)
"""

from discreet.testing.conformance import ConformanceError as ConformanceError
from discreet.testing.engines import ENGINE_CHECKS as ENGINE_CHECKS
from discreet.testing.engines import check_engine as check_engine
from discreet.testing.mechanisms import MECHANISM_CHECKS as MECHANISM_CHECKS
from discreet.testing.mechanisms import check_mechanism as check_mechanism
