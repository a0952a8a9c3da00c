"""Spark passes the suite of engines, and reads a data frame by the rules of memory."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from discreet.log.engines.lazy import EngineLog
from discreet.log.engines.plan import Plan
from discreet.log.engines.protocol import Engine
from discreet.log.errors import LogError
from discreet.log.events import LIFECYCLE
from discreet.log.reading import read_log
from discreet.log.samples import PERSON, sample_log
from discreet.log.shaping import Reading
from discreet.mechanisms.registry import mechanism
from discreet.testing import ENGINE_CHECKS, check_engine
from tests import golden
from tests.ways.test_golden import compare

pytest.importorskip("pyspark", reason="needs the extra spark")
if shutil.which("java") is None:
    pytest.skip("Spark needs Java 17 (Debian: openjdk-17-jre-headless)", allow_module_level=True)

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")  # sockets that py4j leaves open


THRIFTY = {
    "spark_driver_extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xmn500m "
    "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote",
    "spark_sql_adaptive_enabled": "false",
    "spark_sql_codegen_wholeStage": "false",
    "spark_sql_shuffle_partitions": "2",
}
"""Small logs cost more to compile for than to count."""


@pytest.fixture(scope="module")
def session() -> Iterator[Any]:
    from discreet.log.engines.spark import session as started

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = started(1_000_000_000, **THRIFTY)
        yield found
        found.stop()


def build(
    files: Sequence[Path], *, threads: int, individual: str | None, drop_incomplete: bool
) -> Engine:
    from discreet.log.engines.spark import SparkEngine, from_files

    reading = Reading(individual=individual, drop_incomplete=drop_incomplete, further=False)
    plan = Plan.of(from_files(files, "log"), reading)
    return SparkEngine(plan, 1_000_000_000, partitions=threads).read()


@pytest.mark.parametrize("check", ENGINE_CHECKS)
def test_spark_conforms(check: str, session: Any) -> None:
    check_engine(build, only=check)


def test_a_data_frame_needs_what_tells_its_order(session: Any) -> None:
    table = sample_log("permits", cases=60, seed=2).table
    table = table.with_columns(pl.col("time:timestamp").dt.truncate("1w")).with_row_index("row")
    rows = session.createDataFrame(table.to_arrow().to_pandas())
    with pytest.raises(LogError, match=r"same time.*--tie-break"):
        read_log(rows)
    found = read_log(rows, tie_break="row", individual=PERSON)
    assert isinstance(found, EngineLog)
    assert found.variants == read_log(table).variants
    released = mechanism("travas", epsilon=2, cases_per_individual=1).release(found)
    assert released.guarantee.unit == "individual"
    texts = rows.selectExpr("*", "CAST(`time:timestamp` AS STRING) AS at")
    with pytest.raises(LogError, match="convert it in Spark"):
        read_log(texts, timestamp="at", tie_break="row")


def test_files_by_name(session: Any, tmp_path: Path) -> None:
    table = sample_log("permits", cases=60, seed=2).table
    table[:200].write_parquet(tmp_path / "a b.parquet")
    table[200:].write_parquet(tmp_path / "c.parquet")
    found = read_log(tmp_path, engine="spark")
    assert found.variants == read_log(table).variants
    (tmp_path / "x.csv").write_text("case,activity,time\n1,a,2020-01-01\n")
    with pytest.raises(LogError, match="not Parquet"):
        read_log(tmp_path / "x.csv", engine="spark")
    fine = pl.col("time:timestamp").cast(pl.Datetime("ns", "UTC"))
    table.with_columns(fine).write_parquet(tmp_path / "fine.parquet")
    with pytest.raises(LogError, match="Spark cannot read it"):
        read_log(tmp_path / "fine.parquet", engine="spark")


def test_a_whole_log_is_that_of_memory(session: Any, tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    table = sample_log("permits", cases=80, seed=2).table
    early = pl.col("time:timestamp") - pl.duration(minutes=20)
    table.with_columns(early.alias("begun")).write_parquet(path)
    chosen = mechanism(
        "whole", epsilon=5, variants="travas", attributes="org:resource", begun="begun"
    )
    found, expected = (
        chosen.release(read_log(path, engine=engine), insecure_seed=3).log().to_polars()
        for engine in ("spark", "memory")
    )
    assert found.equals(expected)


def test_spark_keeps_the_transitions_that_are_named(session: Any, tmp_path: Path) -> None:
    table = sample_log("permits", cases=30, seed=2).table
    kinds = pl.Series(LIFECYCLE, ["start", "it's", None])
    table = table.with_columns(kinds.sample(table.height, with_replacement=True, seed=1))
    table[:100].write_parquet(tmp_path / "1.parquet")
    table[100:].write_parquet(tmp_path / "2.parquet")
    forms: tuple[dict[str, Any], ...] = ({}, {"order": "file"})
    for options in ({"transitions": "it's", **form} for form in forms):
        memory = read_log(tmp_path, engine="memory", **options)
        found = read_log(tmp_path, engine="spark", **options)
        assert found.variants == memory.variants
        assert found.events < table.height
    table.with_columns(pl.lit("start").alias(LIFECYCLE)).write_parquet(tmp_path / "1.parquet")
    (tmp_path / "2.parquet").unlink()
    with pytest.raises(LogError, match="no event has the transition 'end'"):
        read_log(tmp_path, engine="spark", transitions="end")


@pytest.mark.parametrize("name", ["headtail", "travas", "whole, people", "dpim"])
def test_a_release_from_spark_is_as_it_was(name: str, session: Any, tmp_path: Path) -> None:
    counted = read_log(golden.LOG, engine="spark", **golden.reading(name))
    compare(name, golden.found(name, counted, tmp_path), "counted")
