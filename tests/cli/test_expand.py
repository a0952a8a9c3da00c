"""A released table of variants written out as a log: the same cases under the same certificate."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from discreet.log.digest import content_digest
from discreet.log.engines.duckdb import write_expanded
from discreet.log.errors import LogError
from discreet.log.expansion import one_by_one
from discreet.log.loading import read_log
from discreet.log.variants import Variants
from tests.cli.conftest import Desk

pytest.importorskip("duckdb", reason="needs the extra duckdb")

TABLE = "out.variants.parquet"
HOSTILE = Variants.from_counts(
    {("a", "b", "a"): 3, ('say "x", ;', "é'\n"): 2, ("b",): 0, ("+", " a "): 1}
)


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".xes"])
def test_it_reads_as_the_table_does(suffix: str, desk: Desk) -> None:
    desk.run("release", "log.csv", "-m", "travas", "--epsilon", "2", "-o", TABLE)
    found = desk.json("expand", TABLE, "-o", f"cases{suffix}", "--memory", "200MB")
    log, table = read_log(desk.folder / f"cases{suffix}"), read_log(desk.folder / TABLE)
    assert content_digest(log) == content_digest(table)
    assert (log.cases, log.events) == (found["cases"], found["events"])
    checks = desk.json("certificate", f"cases{suffix}")["checks"]
    assert {check["outcome"] for check in checks} == {"holds"}
    frame = read_log(desk.folder / f"cases{suffix}").table
    changed = frame.with_columns(pl.col("concept:name").reverse())
    changed.write_csv(desk.folder / "changed.csv")
    (desk.folder / f"cases{suffix}.certificate.json").rename(
        desk.folder / "changed.csv.certificate.json"
    )
    assert "was changed" in desk.run("certificate", "changed.csv", code=1).stdout


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_every_label_comes_through(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"log{suffix}"
    write_expanded(HOSTILE, path, attributes={"note": 'it\'s "said"'}, memory="100MB")
    assert content_digest(read_log(path)) == content_digest(one_by_one(HOSTILE))
    if suffix == ".parquet":
        assert read_log(path).attributes == {"note": 'it\'s "said"'}
    write_expanded(Variants.empty(), path)
    assert read_log(path, allow_empty=True).cases == 0


def test_what_does_not_fit_is_refused_and_nothing_is_written(desk: Desk) -> None:
    desk.run("release", "log.csv", "-m", "travas", "--epsilon", "2", "-o", TABLE)
    assert ".variants.parquet" in desk.refused("expand", "log.csv", "-o", "log.parquet")
    assert ".variants.parquet" in desk.refused("expand", TABLE, "-o", "again.variants.parquet")
    assert "exists already" in desk.refused("expand", TABLE, "-o", "log.csv")
    assert "too little" in desk.refused("expand", TABLE, "-o", "new.csv", "--memory", "1MB")
    table = pl.read_parquet(TABLE)
    more = table.with_columns(pl.col("cases") + 1)
    more.write_parquet(TABLE, metadata=pl.read_parquet_metadata(TABLE))
    assert "changed after its release" in desk.refused("expand", TABLE, "-o", "new.csv")
    Path(f"{TABLE}.certificate.json").unlink()
    table.write_parquet(TABLE)
    assert "carries no certificate" in desk.refused("expand", TABLE, "-o", "new.csv")
    assert not list(desk.folder.glob("*new*"))
    with pytest.raises(LogError, match="no folder"):
        write_expanded(HOSTILE, desk.folder / "none" / "log.csv")
