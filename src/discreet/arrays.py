"""The arrays that the whole library speaks of."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Booleans = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Ints = npt.NDArray[np.integer[Any]]
"""Whole numbers of any width, for what is only read."""
