"""Every engine passes the suite that others are asked to pass; what breaks it is found."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from discreet.log.engines.memory import MemoryEngine
from discreet.log.engines.protocol import Engine
from discreet.log.engines.sources import ReadingPlan, from_parquet
from discreet.log.loading import read_log
from discreet.log.reading import Reading
from discreet.testing import ENGINE_CHECKS, ConformanceError, check_engine
from tests.conftest import RealLog, read_once


def in_memory(
    files: Sequence[Path], *, threads: int, individual: str | None, drop_incomplete: bool
) -> Engine:
    pattern = f"{files[0].parent}/{files[0].stem.rpartition('-')[0]}-*.parquet"
    return MemoryEngine(
        read_log(pattern, individual=individual, drop_incomplete=drop_incomplete, engine="memory")
    )


def in_duckdb(
    files: Sequence[Path], *, threads: int, individual: str | None, drop_incomplete: bool
) -> Engine:
    pytest.importorskip("duckdb", reason="needs the extra duckdb")
    from discreet.log.engines.duckdb import DuckDBEngine

    reading = Reading(individual=individual, drop_incomplete=drop_incomplete, further=False)
    plan = ReadingPlan.of(from_parquet(files, "log"), reading)
    return DuckDBEngine(plan, 500_000_000, threads).read()


@pytest.mark.parametrize("check", ENGINE_CHECKS)
def test_duckdb_conforms(check: str) -> None:
    check_engine(in_duckdb, only=check)


@pytest.mark.parametrize("check", ["several_files", "individuals", "numbering", "refusals"])
def test_memory_conforms_where_it_is_not_the_measure_itself(check: str) -> None:
    check_engine(in_memory, only=check)


def test_real_logs_are_counted_alike(small_real_log: tuple[RealLog, Path]) -> None:
    check_engine(in_duckdb, only="given_logs", logs=[read_once(small_real_log[1])])


@pytest.mark.parametrize("check", ["ties", "repeats", "several_files"])
def test_an_engine_that_forgets_the_position_is_found(
    check: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from discreet.log.engines.sources import Layout

    reversed_order = property(lambda self: ["ts", "-pos"])
    monkeypatch.setattr(Layout, "order", reversed_order)
    with pytest.raises(ConformanceError, match="variants"):
        check_engine(in_duckdb, only=check)


def test_numbers_that_forget_the_position_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.log.engines import sql

    packed = sql.packed

    def forgetful(fields: list[sql.Field], room: dict[str, int]) -> str | None:
        return packed([field for field in fields if "pos" not in field.expression], room)

    monkeypatch.setattr(sql, "packed", forgetful)
    with pytest.raises(ConformanceError, match="variants"):
        check_engine(in_duckdb, only="ties")


@pytest.mark.parametrize("room", [{}, {"HUGEINT": 127}], ids=["none", "wide"])
def test_numbers_that_do_not_fit_change_nothing(
    room: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    from discreet.log.engines.duckdb import DuckDBEngine

    monkeypatch.setattr(DuckDBEngine, "room", room)
    check_engine(in_duckdb, only="ties")


def test_an_engine_that_bounds_by_a_fixed_order_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.log.engines.duckdb import DuckDBEngine

    monkeypatch.setattr(
        DuckDBEngine, "_hashed", lambda self, name, text: f"concat(left(${name}, 0), {text})"
    )
    with pytest.raises(ConformanceError, match="kept"):
        check_engine(in_duckdb, only="individuals")


def test_an_engine_that_numbers_variants_by_their_counts_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from discreet.log.engines.duckdb import DuckDBEngine

    keep = DuckDBEngine._keep

    def by_counts(self: DuckDBEngine, name: str, sql: str, **values: str) -> int:
        return keep(self, name, sql.replace("ORDER BY seq", "ORDER BY count(*), seq"), **values)

    monkeypatch.setattr(DuckDBEngine, "_keep", by_counts)
    with pytest.raises(ConformanceError, match="canonical order"):
        check_engine(in_duckdb, only="numbering")
