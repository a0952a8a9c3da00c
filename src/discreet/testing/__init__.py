"""Suites that outsiders run too: can the rest of the library trust this mechanism, this engine?

from discreet.testing import check_engine, check_mechanism

def test_it_conforms() -> None:
    check_mechanism(MyMechanism)
"""

from discreet.testing.conformance import ConformanceError
from discreet.testing.engines import ENGINE_CHECKS, check_engine
from discreet.testing.mechanisms import MECHANISM_CHECKS, check_mechanism

__all__ = [
    "ENGINE_CHECKS",
    "MECHANISM_CHECKS",
    "ConformanceError",
    "check_engine",
    "check_mechanism",
]
