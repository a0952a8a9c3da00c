"""Catalogue: the mechanisms that can be asked for by name, and what each declares.

For lists, help and forms. What is released by one of them is a `Request`.
"""

from discreet.mechanisms.registry import mechanism_class as mechanism_class
from discreet.mechanisms.registry import mechanism_names as mechanism_names
from discreet.mechanisms.registry import mechanism_problems as mechanism_problems
