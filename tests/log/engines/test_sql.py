"""Numbers side by side: sorted as their fields are, and taken apart again."""

from __future__ import annotations

import random

import pytest

from discreet.log.engines.duckdb import DuckDBEngine
from discreet.log.engines.sql import Field, packed

duckdb = pytest.importorskip("duckdb", reason="needs the extra duckdb")

ROOM = DuckDBEngine.room


@pytest.mark.parametrize("bits", [(1, 2, 3), (40, 18, 5), (59, 46, 22), (0, 63, 0), (63, 63, 1)])
def test_they_sort_as_their_fields_do(bits: tuple[int, int, int]) -> None:
    chance = random.Random(1)
    largest = [(1 << size) - 1 for size in bits]
    rows = [tuple(chance.choice((0, most // 2, most)) for most in largest) for _ in range(200)]
    number = packed([Field(name, most) for name, most in zip("abc", largest, strict=True)], ROOM)
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t (a BIGINT, b BIGINT, c BIGINT)")
    connection.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
    found = connection.execute(f"SELECT a, b, c, {number} FROM t ORDER BY 4").fetchall()
    assert [row[:3] for row in found] == sorted(rows)
    assert len({row[3] for row in found}) == len(set(rows))
    assert all(row[3] & largest[2] == row[2] for row in found)


def test_what_does_not_fit_is_not_packed() -> None:
    assert packed([Field("a", 1 << 63), Field("b", 1 << 63)], ROOM) is None
    assert packed([], ROOM) is None
