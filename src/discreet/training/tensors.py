"""The safetensors format: named arrays behind a JSON header, and nothing that could run.

Written and read here, so that a certificate can be shown and a model used without any further
library. Reading believes nothing: sizes, types and places are checked before an array is made.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.errors import DiscreetError

Arrays = dict[str, npt.NDArray[Any]]

TYPES: dict[str, np.dtype[Any]] = {
    "F32": np.dtype("<f4"),
    "F64": np.dtype("<f8"),
    "I64": np.dtype("<i8"),
}
_NAMES = {dtype: name for name, dtype in TYPES.items()}
LARGEST_HEADER = 1 << 24
"""Largest header that is read, in bytes."""
ALIGNMENT = 8
"""Bytes; the data begin at a multiple of it."""


class TensorError(DiscreetError, ValueError):
    """Bytes that are not what they should be; the message completes "the file …"."""


def pack(arrays: Mapping[str, npt.NDArray[Any]], metadata: Mapping[str, str]) -> bytes:
    """The bytes of a file; the same arrays and metadata always give the same bytes."""
    header: dict[str, Any] = {"__metadata__": dict(sorted(metadata.items()))}
    blocks = []
    place = 0
    for name in sorted(arrays, key=lambda name: (-arrays[name].dtype.itemsize, name)):
        array = np.asarray(arrays[name], order="C")
        little = array.astype(array.dtype.newbyteorder("<"), copy=False)
        block = little.tobytes()
        header[name] = {
            "dtype": _NAMES[little.dtype],
            "shape": list(array.shape),
            "data_offsets": [place, place + len(block)],
        }
        blocks.append(block)
        place += len(block)
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    text += b" " * (-len(text) % ALIGNMENT)
    return struct.pack("<Q", len(text)) + text + b"".join(blocks)


def unpack_header(content: bytes) -> tuple[dict[str, Any], dict[str, str], int]:
    """The arrays' descriptions, the metadata, and where the data begin."""
    if len(content) < 8:
        raise TensorError("is too short")
    (size,) = struct.unpack("<Q", content[:8])
    if size > LARGEST_HEADER or 8 + size > len(content):
        raise TensorError("is cut off, or is something else")
    try:
        header = json.loads(content[8 : 8 + size].decode(), object_pairs_hook=_once)
    except (ValueError, RecursionError):
        raise TensorError("has no readable header") from None
    metadata = header.pop("__metadata__", {}) if isinstance(header, dict) else None
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise TensorError("has no readable header")
    return header, metadata, 8 + size


def unpack(content: bytes) -> tuple[Arrays, dict[str, str]]:
    """The arrays and the metadata of a file."""
    header, metadata, begin = unpack_header(content)
    arrays: Arrays = {}
    place = 0
    for name, entry in header.items():
        dtype, shape, end = _described(name, entry, place)
        block = content[begin + place : begin + end]
        if len(block) != end - place:
            raise TensorError("is cut off")
        array = np.frombuffer(block, dtype).reshape(shape).copy()
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise TensorError(f"holds values that are not numbers, in {name!r}")
        arrays[name] = array
        place = end
    if begin + place != len(content):
        raise TensorError("holds more than it describes")
    return arrays, metadata


def _described(name: str, entry: Any, place: int) -> tuple[np.dtype[Any], tuple[int, ...], int]:
    """Type, shape and end of an array that must begin at `place`."""
    wrong = TensorError(f"describes {name!r} wrongly")
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise wrong
    shape, offsets = entry["shape"], entry["data_offsets"]
    for numbers in (shape, offsets):
        if not isinstance(numbers, list) or not all(type(n) is int and n >= 0 for n in numbers):
            raise wrong
    if len(shape) > 8 or len(offsets) != 2 or offsets[0] != place:
        raise wrong
    dtype = TYPES.get(str(entry["dtype"]))
    if dtype is None or offsets[1] - place != math.prod(shape) * dtype.itemsize:
        raise wrong
    return dtype, tuple(shape), offsets[1]


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name is given twice")
    return found
