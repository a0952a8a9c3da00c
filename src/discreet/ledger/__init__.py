"""The ledger: no data source is ever spent past its budget, whatever happens.

Names are loaded when first used: the database layer costs a third of a second to import.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.ledger.account import Account
    from discreet.ledger.booking import Booking, booking_for
    from discreet.ledger.errors import LedgerError, RefusedError
    from discreet.ledger.ledger import Booked, Ledger
    from discreet.ledger.location import Location, locate

__all__ = [
    "Account",
    "Booked",
    "Booking",
    "Ledger",
    "LedgerError",
    "Location",
    "RefusedError",
    "booking_for",
    "locate",
]

_HOMES = {
    "Account": "account",
    "Booked": "ledger",
    "Booking": "booking",
    "Ledger": "ledger",
    "LedgerError": "errors",
    "Location": "location",
    "RefusedError": "errors",
    "booking_for": "booking",
    "locate": "location",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'discreet.ledger' has no attribute {name!r}")
    return getattr(import_module(f"discreet.ledger.{_HOMES[name]}"), name)
