"""Suites that outsiders run too: is this mechanism one that the rest of the library can trust?

from discreet.testing import check_mechanism

def test_it_conforms() -> None:
    check_mechanism(MyMechanism)
"""

from discreet.testing.mechanisms import MECHANISM_CHECKS, ConformanceError, check_mechanism

__all__ = ["MECHANISM_CHECKS", "ConformanceError", "check_mechanism"]
