"""A release: written whole or not at all, read back with its guarantee, opened by others."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import pytest

from discreet.log.errors import LogError
from discreet.log.events import TIME
from discreet.log.files import LOG_SUFFIXES
from discreet.log.loading import read_log
from discreet.log.samples import sample_log
from discreet.mechanisms.travas import TraVaS
from discreet.releases import Release, check_target
from discreet.releasing.verification import check_certificate, read_certificate


@pytest.fixture(scope="module")
def release() -> Release:
    return TraVaS(epsilon=1, delta=1e-4).release(sample_log("permits", cases=2000, seed=1))


@pytest.mark.parametrize("suffix", LOG_SUFFIXES)
def test_what_is_written_reads_back_with_its_guarantee(
    release: Release, tmp_path: Path, suffix: str
) -> None:
    path = tmp_path / f"shared{suffix}"
    written = release.write(path)
    assert read_log(path).variants == release.artefact
    certificate, findings = check_certificate(path)
    assert certificate == written
    assert certificate.guarantee == release.guarantee
    assert {finding.outcome for finding in findings} == {"holds"}
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(
        [path.name, f"{path.name}.certificate.json"]
    )


def test_cases_are_fresh_in_random_order_with_artificial_times(release: Release) -> None:
    one, two = release.log(), release.log()
    assert not set(one.case_ids) & set(two.case_ids)
    assert one.codes.tolist() != two.codes.tolist()
    assert one.variants == two.variants == release.artefact
    assert str(one.frame[TIME].max()) < "1970-01-02"
    assert release.certificate().artificial_times


def test_an_empty_release_is_a_valid_file(tmp_path: Path) -> None:
    empty = TraVaS(epsilon=1, delta=1e-9).release(sample_log("loans", cases=3, seed=1))
    assert len(empty.artefact) == 0
    for suffix in LOG_SUFFIXES:
        path = tmp_path / f"empty{suffix}"
        empty.write(path)
        assert read_certificate(path).guarantee == empty.guarantee
        assert {f.outcome for f in check_certificate(path)[1]} == {"holds"}
        with pytest.raises(LogError, match="no events"):
            read_log(path)


def test_pm4py_reads_it_and_discovers_a_model(release: Release, tmp_path: Path) -> None:
    pm4py = pytest.importorskip("pm4py", reason="needs the extra pm4py")
    path = tmp_path / "shared.xes"
    release.write(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frame = pm4py.read_xes(str(path))
        tree = pm4py.discover_process_tree_inductive(frame)
    assert frame["case:concept:name"].nunique() == release.artefact.cases
    assert {leaf.label for leaf in tree._get_leaves() if leaf.label} <= set(
        release.artefact.activities
    )


def test_nothing_is_left_behind_when_writing_fails(
    release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("discreet.log.files.os.fsync", full)
    for suffix in LOG_SUFFIXES:
        with pytest.raises(LogError, match="No space left"):
            release.write(tmp_path / f"shared{suffix}")
    assert list(tmp_path.iterdir()) == []


def test_targets_that_cannot_be_written_are_named_early(tmp_path: Path) -> None:
    with pytest.raises(LogError, match=r"ends in \.xes"):
        check_target(tmp_path / "shared.txt")
    with pytest.raises(LogError, match="no folder"):
        check_target(tmp_path / "none" / "shared.xes")
    (tmp_path / "dir.xes").mkdir()
    with pytest.raises(LogError, match="is a folder"):
        check_target(tmp_path / "dir.xes")


def test_privacy_metadata_names_operations_but_no_raw_counts(
    release: Release, tmp_path: Path
) -> None:
    path = tmp_path / "shared.xes"
    release.write(path)
    text = path.read_text()
    for key in ("privacy:anonymizations", "privacy:anonymizer1", "privacy:operation type"):
        assert key in text
    assert "no_modified_traces" not in text
    stated, digests = re.subn(r"[0-9a-f]{64}", "", text.split("<trace>")[0])
    assert digests >= 2
    assert "2000" not in stated
