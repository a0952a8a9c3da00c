"""The file format: our bytes against the safetensors library, and bytes that are wrong."""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np
import pytest

from discreet.training.tensors import TensorError, pack, unpack

ARRAYS = {
    "b": np.arange(6, dtype=np.float32).reshape(2, 3),
    "a": np.array([1.5, -2.5]),
    "n": np.array(7, dtype=np.int64),
    "none": np.zeros((0, 4), dtype=np.float32),
}
METADATA = {"format": "a test", "ü": "\n"}


def file_of(header: Any, data: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def described(**entry: Any) -> bytes:
    usual = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
    return file_of({"x": usual | entry}, bytes(8))


def test_round_trip_and_the_same_bytes_again() -> None:
    content = pack(ARRAYS, METADATA)
    arrays, metadata = unpack(content)
    assert metadata == METADATA
    for name, array in ARRAYS.items():
        assert (arrays[name].dtype, arrays[name].shape) == (array.dtype, array.shape)
        np.testing.assert_array_equal(arrays[name], array)
    assert pack(dict(reversed(ARRAYS.items())), METADATA) == content


def test_the_safetensors_library_agrees() -> None:
    import safetensors.numpy as library

    read = library.load(pack(ARRAYS, METADATA))
    assert set(read) == set(ARRAYS)
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(read[name], array)
    arrays, metadata = unpack(library.save(ARRAYS, METADATA))
    assert metadata == METADATA
    assert set(arrays) == set(ARRAYS)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"1234567",
        struct.pack("<Q", 1 << 62) + b"{}",
        struct.pack("<Q", (1 << 24) + 1) + bytes((1 << 24) + 1),
        file_of(b"not json"),
        file_of(b"\xff\xfe"),
        file_of(b"[" * 100_000),
        file_of([1]),
        file_of({"__metadata__": {"a": 1}}),
        file_of(b'{"x": 1, "x": 2}'),
        file_of({"x": 1}),
        described(dtype="U8"),
        described(dtype=["F32"]),
        described(shape=[3]),
        described(shape=[-2]),
        described(shape=[2.0]),
        described(shape=[True, 2]),
        described(shape=[1 << 40, 1 << 40]),
        described(shape=[1] * 9 + [2]),
        described(data_offsets=[0, 4]),
        described(data_offsets=[4, 12]),
        described(data_offsets=[0, 8, 16]),
        described(extra=1),
        described() + b"more",
        described()[:-1],
        pack({"x": np.array([1.0, np.nan])}, {}),
        pack({"x": np.array([np.inf], dtype=np.float32)}, {}),
    ],
)
def test_anything_else_is_refused(content: bytes) -> None:
    with pytest.raises(TensorError):
        unpack(content)
