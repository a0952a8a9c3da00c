"""Spark passes the suite of engines, and reads a data frame by the rules of memory."""

from __future__ import annotations

import gc
import shutil
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from discreet.log.engines.protocol import Engine
from discreet.log.engines.sources import ReadingPlan
from discreet.log.engines.view import EngineLog
from discreet.log.errors import LogError
from discreet.log.events import LIFECYCLE
from discreet.log.loading import read_log
from discreet.log.reading import Reading
from discreet.log.samples import PERSON, sample_log
from discreet.mechanisms.registry import mechanism
from discreet.testing import ENGINE_CHECKS, check_engine
from tests import golden
from tests.log.test_datatypes import NOT_PLAIN, ROLES, with_odd
from tests.ways.test_golden import compare
from tests.ways.test_snapshot import BEFORE, CHANGES, check_one_log, check_read_anew, put

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
    plan = ReadingPlan.of(from_files(files, "log"), reading)
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


@pytest.mark.parametrize(
    ("change", "in_place"), [("all cases of one person", True), ("redacted", False)]
)
def test_a_replaced_file_is_read_anew(
    change: str, in_place: bool, session: Any, tmp_path: Path
) -> None:
    check_read_anew("spark", ".parquet", CHANGES[change], in_place=in_place, folder=tmp_path)


@pytest.mark.parametrize("in_place", [True, False], ids=["rewritten", "renamed"])
def test_a_file_replaced_before_the_draw_gives_the_log_that_was_read_or_none(
    in_place: bool, session: Any, tmp_path: Path
) -> None:
    check_one_log("spark", ".parquet", in_place=in_place, folder=tmp_path)


def test_a_table_that_others_cached_by_its_path_is_not_taken(session: Any, tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    put(BEFORE, path)
    session.read.parquet(str(path)).persist().count()
    put(CHANGES["redacted"](BEFORE), path)
    assert read_log(path, engine="spark").variants == read_log(path).variants
    session.catalog.clearCache()


def test_a_frame_of_a_replaced_file_is_read_anew(session: Any, tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    put(BEFORE, path)
    was = read_log(session.read.parquet(str(path)), tie_break="concept:name")
    put(CHANGES["redacted"](BEFORE), path)
    found = read_log(session.read.parquet(str(path)), tie_break="concept:name")
    assert found.variants == read_log(path, tie_break="concept:name").variants
    assert was.table.height == BEFORE.height  # read once: the file that is there now is another


def test_what_spark_holds_of_a_log_goes_with_it(session: Any, tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    put(BEFORE, path)
    held = session.sparkContext._jsc.sc().getPersistentRDDs
    gc.collect()
    before = held().size()
    log = read_log(path, engine="spark", individual=PERSON)
    assert isinstance(log, EngineLog)
    one = log.bounded(1, bytes(32))
    some = one.sums(["org:resource"])
    del log
    gc.collect()
    assert one.engine.digest(bytes(32))
    assert len(some.schema.columns) == 1
    assert held().size() > before
    del one, some
    gc.collect()
    assert held().size() == before


def test_types_are_refused_as_in_memory(session: Any, tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    odd = [with_odd(values)["odd"].alias(kind) for kind, values in NOT_PLAIN.items()]
    with_odd(NOT_PLAIN["Binary"]).with_columns(odd).write_parquet(path)
    log = read_log(path, engine="spark")
    for kind in NOT_PLAIN:
        chosen = mechanism("whole", epsilon=5, variants="travas", attributes=kind)
        with pytest.raises(LogError, match=f"'{kind}' holds {kind}.*cannot be an attribute"):
            chosen.check(log)
    for word, options in ROLES.values():
        with pytest.raises(LogError, match=f"'odd' holds Binary.*cannot be {word}.*convert it"):
            read_log(path, engine="spark", **options)


def test_types_of_a_frame_are_refused_as_in_memory(session: Any) -> None:
    odd = {
        "Binary": "CAST('a' AS BINARY)",
        "Duration": "INTERVAL '1' DAY",
        "Object": "INTERVAL '1' MONTH",
        "List": "array(1)",
        "Map": "map('a', 1)",
        "Struct": "struct(1)",
    }
    rows = session.createDataFrame(BEFORE.to_arrow().to_pandas())
    rows = rows.selectExpr("*", *(f"{made} AS {kind}" for kind, made in odd.items()))
    log = read_log(rows, tie_break="concept:name")
    for kind in odd:
        with pytest.raises(LogError, match=f"'{kind}' holds {kind}.*cannot be the activity"):
            read_log(rows, activity=kind, tie_break="concept:name")
        chosen = mechanism("whole", epsilon=5, variants="travas", attributes=kind)
        with pytest.raises(LogError, match=f"'{kind}' holds {kind}.*cannot be an attribute"):
            chosen.check(log)
