"""Seeded releases, certificates and ledger rows are those that were noted, on every engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from discreet.log.loading import read_log
from tests.golden import LOG, RELEASES, arithmetic, expected, found, in_engine, reading

pytest.importorskip("torch", reason="the extra generative is missing")
pytest.importorskip("duckdb", reason="needs the extra duckdb")


def compare(name: str, now: dict[str, Any], digest: str = "digest") -> None:
    """Everything must be as noted; digests too, where floats are computed as they were then."""
    held = expected()
    then = held["releases"][name]
    assert now["entry"] == then["entry"]
    assert now["certificate"] == then["certificate"]
    if held["arithmetic"] == arithmetic():
        assert now["digest"] == then[digest]


@pytest.mark.parametrize("name", RELEASES)
def test_a_release_is_as_it_was(name: str, tmp_path: Path) -> None:
    compare(name, found(name, read_log(LOG, **reading(name)), tmp_path))


@pytest.mark.parametrize("name", [name for name in RELEASES if in_engine(name)])
def test_a_release_from_duckdb_is_as_it_was(name: str, tmp_path: Path) -> None:
    counted = read_log(LOG, engine="duckdb", **reading(name))
    compare(name, found(name, counted, tmp_path), "counted")


def test_what_is_noted_is_what_is_drawn() -> None:
    assert expected()["releases"].keys() == RELEASES.keys()
