"""Tables of variants: written, read, expanded, checked; what is none is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import discreet
from discreet.log.errors import LogError
from discreet.log.formats.variant_tables import read_variants, variants_digest, write_variants
from discreet.log.loading import read_log
from discreet.log.samples import sample_log
from discreet.log.variants import Variants
from discreet.mechanisms.registry import mechanism
from discreet.releasing.verification import check_certificate
from discreet.utility.subject import subject_of

VARIANTS = Variants.from_counts({("a", "b"): 3, ("a",): 1, (): 2, ("é", "a", "é"): 5})


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "out.variants.parquet"
    write_variants(VARIANTS, path, attributes={"note": "x"})
    found, attributes = read_variants(path)
    assert found == VARIANTS
    assert attributes == {"note": "x"}
    assert variants_digest(found) == variants_digest(VARIANTS)
    assert pl.read_parquet(path).columns == ["variant", "cases"]
    other = Variants.from_counts({("a", "b"): 3, ("a",): 2, (): 2, ("é", "a", "é"): 5})
    assert variants_digest(other) != variants_digest(VARIANTS)
    write_variants(Variants.empty(), path)
    assert read_variants(path)[0] == Variants.empty()


def test_it_is_read_as_a_log_of_its_cases(tmp_path: Path) -> None:
    path = tmp_path / "out.variants.parquet"
    write_variants(VARIANTS, path)
    log = read_log(path)
    assert log.variants.to_dict() == {k: v for k, v in VARIANTS if k}
    assert subject_of(path).variants == VARIANTS


@pytest.mark.parametrize(
    "table",
    [
        {"variant": [["a"], ["a"]], "cases": [1, 2]},
        {"variant": [["a", None]], "cases": [1]},
        {"variant": [None, ["a"]], "cases": [1, 1]},
        {"variant": [["a"]], "cases": [-1]},
        {"variant": [["a"]], "cases": pl.Series([None], dtype=pl.Int64)},
        {"variant": ["a"], "cases": [1]},
        {"variant": [["a"]], "cases": [1.5]},
        {"case": ["1"], "activity": ["a"]},
    ],
)
def test_what_is_no_table_of_variants_is_refused(table: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "out.variants.parquet"
    pl.DataFrame(table).write_parquet(path)
    with pytest.raises(LogError, match=r"out\.variants\.parquet"):
        read_log(path)


def test_a_release_as_table_is_certified(tmp_path: Path) -> None:
    path = tmp_path / "out.variants.parquet"
    log = sample_log("permits", cases=500, seed=1)
    released = mechanism("travas", epsilon=2).release(log)
    released.write(path)
    assert read_variants(path)[0] == released.artefact
    assert {finding.outcome for finding in check_certificate(path)[1]} == {"holds"}
    changed = pl.read_parquet(path).with_columns(pl.col("cases") + 1)
    changed.write_parquet(path, metadata=pl.read_parquet_metadata(path))
    assert "fails" in {finding.outcome for finding in check_certificate(path)[1]}
    timed = discreet.mechanism("amun", epsilon=2).release(log)
    with pytest.raises(LogError, match="says more"):
        timed.write(tmp_path / "timed.variants.parquet")
    assert not (tmp_path / "timed.variants.parquet").exists()
