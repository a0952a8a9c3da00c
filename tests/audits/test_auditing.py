"""The audit as people call it: verdicts, refusals, the command line, all mechanisms.

Certificates under attack: tampered parameters, edited files, seeds passed off as noise.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from discreet.audits import audit, audit_all
from discreet.audits.audit_report import page
from discreet.audits.audit_tables import AuditTables
from discreet.audits.auditing import SEEDED, audit_file
from discreet.audits.exact import LaplaceCount
from discreet.audits.measurement import Effort, batched
from discreet.audits.subjects import LIBRARY, AuditSubject, audited_names, pairs_of, subjects_of
from discreet.audits.subjects import find_pair as pair
from discreet.certificate import certificate_path
from discreet.cli.app import build
from discreet.log.events import EventLog
from discreet.log.samples import sample_log
from discreet.log.writing import write_log
from discreet.mechanisms.registry import mechanism_names
from discreet.mechanisms.travas import TraVaS
from discreet.parameters import ParameterError
from tests.audits import bugs
from tests.audits.efforts import exactly

FEW = exactly(400)
HARDLY_ANY = Effort(runs=24, seconds=0.0, fewest=24, trials=6)


def run(arguments: list[str]) -> Any:
    """A command in this process."""
    return CliRunner().invoke(build(arguments), arguments)


def test_sampling_alone_comes_within_15_percent() -> None:
    effort = exactly(16_000)
    for mechanism in (LaplaceCount(epsilon=1), TraVaS(epsilon=1, delta=0.01)):
        (found,) = audit(mechanism, pairs=[pair("one more")], effort=effort).pairs
        assert found.promise is not None
        assert found.promise.epsilon > 0.85
        assert not found.promise.contradicts


def test_a_published_claim_is_refuted_without_violating_its_certificate() -> None:
    tied = pair("tied runs", pairs_of("utravas"))
    found = audit("utravas", fidelity="published", runs=3, pairs=[tied], effort=exactly(2000))
    assert found.verdict == "no guarantee"
    assert found.claim_refuted
    assert found.words() == "claim refuted"
    assert found.epsilon > 1


def test_a_violation_is_in_the_result() -> None:
    found = audit(bugs.RawSupport(delta=0.01), pairs=[pair("no hospital")], effort=FEW)
    assert found.worst is not None
    values = found.to_dict()
    assert values["verdict"] == "violated"
    assert values["pairs"][0]["promise"]["contradicts"]
    assert "cases of ⟨R, M, D⟩" in found.worst.promise.event  # type: ignore[union-attr]
    text = page(AuditTables.of([found], {"other": "needs something"}, "discreet audit --all"))
    assert "63× ⟨R, H, M, D⟩" in text
    assert "| raw support |" in text
    assert "- other: needs something" in text


def test_a_replaced_draw_is_not_bypassed_by_the_batched_path() -> None:
    assert batched(TraVaS())
    assert not batched(bugs.RawSupport())
    assert batched(bugs.OffByOne())
    assert not batched(TraVaS(cases_per_individual=2))


def test_several_processes_find_the_same() -> None:
    found = audit(
        "laplace-count", pairs=[pair("one more"), pair("first case")], effort=HARDLY_ANY, workers=2
    )
    assert [one.pair for one in found.pairs] == ["one more", "first case"]
    assert found.verdict == "consistent"


def test_pairs_must_fit_the_promise() -> None:
    with pytest.raises(ParameterError, match="add-remove neighbours"):
        audit("travas", pairs=[pair("swap: no hospital")], effort=FEW)
    with pytest.raises(ParameterError, match="leave out cases_per_individual"):
        audit("travas", cases_per_individual=2, effort=FEW)
    with pytest.raises(ParameterError, match="no pair of logs"):
        audit("travas", pairs=[], effort=FEW)
    with pytest.raises(ParameterError, match="did you mean 'one more'"):
        pair("one mor")


def test_parameters_belong_to_a_name() -> None:
    with pytest.raises(ParameterError, match="has no parameter 'size'"):
        audit("travas", size=3)
    with pytest.raises(ParameterError, match="not with a mechanism"):
        audit(TraVaS(), epsilon=1)
    with pytest.raises(ParameterError, match="did you mean"):
        audit("travaz")


@pytest.mark.parametrize("mechanism", audited_names())
def test_pairs_are_neighbours(mechanism: str) -> None:
    for one in pairs_of(mechanism).values():
        before, after = one.logs
        assert after.cases - before.cases == (1 if one.neighbours == "add-remove" else 0)
        was, now = before.variants.to_dict(), after.variants.to_dict()
        moved = {trace: now.get(trace, 0) - was.get(trace, 0) for trace in was.keys() | now.keys()}
        assert sorted(change for change in moved.values() if change) in ([1], [-1, 1])
        assert before.table.columns == after.table.columns
        assert one.describe()


def test_every_mechanism_declares_pairs_that_fit() -> None:
    assert set(audited_names()) > set(mechanism_names())
    for name in audited_names():
        for subject in subjects_of(name):
            assert subject.pairs(quick=True)
            assert len(subject.pairs()) >= len(subject.pairs(quick=True))
            for one in subject.pairs():
                assert one.fits(subject.build(one).guarantee().neighbours)
    assert AuditSubject("travas").build().settings["delta"] == 0.01


def test_a_mechanism_of_others_gets_the_usual_pairs() -> None:
    (case,) = LaplaceCount.audit_cases()
    assert not case.pairs
    names = {one.name for one in case.all_pairs("add-remove")}
    assert {"no case", "one more", "new activity", "very long case", "extreme times"} <= names
    assert {one.neighbours for one in case.all_pairs("swap")} == {"swap"}
    assert names <= LIBRARY.keys()


def test_not_tested_is_a_verdict() -> None:
    """The only pair changes what the promise takes as public, so nothing was held against it."""
    effort = exactly(200)
    found = audit("df-laplace", alphabet="from-log", pairs=[pair("new activity")], effort=effort)
    assert found.guarantee.holds is not None
    assert found.verdict == "not tested"
    assert "certificate not tested" in found.words()


def test_mutants_are_part_of_an_audit() -> None:
    found = audit("laplace-count", pairs=[pair("one more")], effort=FEW, mutants=True)
    (power,) = found.powers
    assert power.caught
    assert power.mutant > 1
    assert found.to_dict()["mutants"][0]["step"] == "number of cases"
    text = page(AuditTables.of([found], {}, "discreet audit --all"))
    assert "1 of 1 are caught" in text
    assert "| laplace-count | number of cases |" in text


def test_the_command_line() -> None:
    result = run(["audit", "travas", "--quick", "--pair", "one more", "--workers", "1"])
    assert result.exit_code == 0, result.output
    assert "consistent" in result.output
    result = run(
        ["audit", "laplace-count", "--pair", "one more", "--releases", "400", "--json"],
    )
    values = json.loads(result.stdout)
    assert values["audits"][0]["verdict"] == "consistent"
    assert values["audits"][0]["pairs"][0]["runs"] == 400
    assert "surgery twice" in run(["audit", "--list"]).output


def test_the_command_line_says_what_is_missing() -> None:
    for arguments in (
        ["audit"],
        ["audit", "travas", "--all"],
        ["audit", "--all", "--epsilon", "1"],
    ):
        result = run(arguments)
        assert result.exit_code != 0
        assert isinstance(result.exception, ParameterError)


def test_the_command_line_audits_a_file(tmp_path: Path) -> None:
    raw, shared = tmp_path / "raw.csv", tmp_path / "shared.csv"
    log = sample_log("permits", cases=300, seed=1)
    write_log(log, raw)
    TraVaS(delta=1e-3).release(log, insecure_seed=3).write(shared)
    assert run(["audit", "--file", str(shared)]).exit_code == 0
    result = run(["audit", "--file", str(shared), "--against", str(raw), "--seeds", "5"])
    assert result.exit_code == 1
    assert "seed 3" in result.output


def test_a_violation_is_exit_code_1(monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.audits import exact

    monkeypatch.setitem(exact.REFERENCE_MECHANISMS, "raw support", bugs.RawSupport)
    result = run(
        ["audit", "raw support", "--pair", "surgery twice", "--releases", "400", "--workers", "1"],
    )
    assert result.exit_code == 1
    assert "violated" in result.output


REFUTED = {
    "amun": ("new activity", 110),
    "df-laplace": ("long loop", 240),
    "dpim": ("swap: endless case", 400),
    "laplace": ("three steps", 800),
    "sacofa": ("three steps", 260),
    "sapa": ("surgery twice", 240),
}
"""Mechanisms whose published claim fails, the pair that shows it, and runs that do not miss it: its
event would have to be seen five deviations less or more often than it is."""


@pytest.mark.parametrize("name", REFUTED)
def test_a_published_claim_is_refuted(name: str) -> None:
    telling, runs = REFUTED[name]
    published = subjects_of(name)[-1].parameters
    effort = exactly(runs)
    found = audit(name, pairs=[pair(telling, pairs_of(name))], effort=effort, **published)
    assert found.claim_refuted


def test_all_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.audits import auditing

    monkeypatch.setattr(auditing, "audited_names", lambda: ["laplace-count", "travas"])
    found, left_out = audit_all(quick=True, mutants=True, effort=FEW, workers=1)
    assert not left_out
    assert [one.mechanism for one in found] == ["laplace-count", *["travas"] * 3]
    assert {one.verdict for one in found} == {"consistent"}
    assert [power.caught for one in found for power in one.powers] == [True, True]


def test_what_is_kept_is_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.audits import audit_report, audit_tables, auditing

    page_, shipped = tmp_path / "page.md", tmp_path / "results.json"
    monkeypatch.setattr(audit_report, "PAGE", page_.resolve())
    monkeypatch.setattr(audit_tables, "SHIPPED", shipped)
    command = ["audit", "--all", "--quick", "--mutants", "--releases", "200", "--workers", "1"]
    command += ["--results", str(tmp_path / "kept"), "--markdown", str(page_)]
    monkeypatch.setattr(auditing, "audited_names", lambda: ["laplace-count", "travas"])
    assert run(command).exit_code == 0
    written = page_.read_text()
    assert "| laplace-count | number of cases |" in written
    assert page(AuditTables.from_json(shipped.read_text())) == written
    shipped.unlink()

    done: list[str] = []

    def counted(task: Any) -> Any:
        done.append(task.mechanism)
        return task.run()

    monkeypatch.setattr(auditing, "_task", counted)
    assert run([*command[:-1], str(tmp_path / "other.md")]).exit_code == 0
    assert not done
    assert not shipped.exists(), "only the page of the documentation comes with what ships"
    assert run(command).exit_code == 0
    assert not done
    assert page_.read_text() == written
    assert run([*command, "--again", "laplace-count"]).exit_code == 0
    assert set(done) == {"laplace-count"}
    for wrong in ("audit travas --results kept", "audit --all --again travas"):
        assert isinstance(run(wrong.split()).exception, ParameterError)


SEAL = "the certificate reads as it was written"


@pytest.fixture(scope="module")
def log() -> EventLog:
    return sample_log("permits", cases=400, seed=1)


def released(log: EventLog, path: Path, seed: int | None = None) -> Path:
    TraVaS(epsilon=1, delta=1e-3).release(log, insecure_seed=seed).write(path)
    return path


def forge(path: Path, old: str, new: str) -> None:
    """Change the certificate beside a file and inside it, where it has one inside."""
    beside = certificate_path(path)
    text = beside.read_text()
    assert old in text
    beside.write_text(text.replace(old, new))
    if path.suffix == ".xes":
        inside = path.read_text()
        compact = json.dumps(old)[1:-1].replace('\\"', "&quot;")
        assert compact in inside
        path.write_text(inside.replace(compact, json.dumps(new)[1:-1].replace('\\"', "&quot;")))


def failed(path: Path, log: EventLog | None = None) -> list[str]:
    return [found.check for found in audit_file(path, log)[1] if found.outcome == "fails"]


@pytest.mark.parametrize("name", ["shared.xes", "shared.csv", "shared.parquet"])
def test_an_honest_release_passes(tmp_path: Path, log: EventLog, name: str) -> None:
    assert failed(released(log, tmp_path / name), log) == []


def test_parameters_and_guarantee_changed_together_are_found(tmp_path: Path, log: EventLog) -> None:
    path = released(log, tmp_path / "shared.csv")
    forge(path, '"epsilon": 1.0', '"epsilon": 0.1')
    assert failed(path) == [SEAL]


def test_one_changed_parameter_is_found(tmp_path: Path, log: EventLog) -> None:
    path = released(log, tmp_path / "shared.csv")
    forge(path, '"fidelity": "strict"', '"fidelity": "published"')
    assert failed(path)


def test_an_edited_file_is_found(tmp_path: Path, log: EventLog) -> None:
    path = released(log, tmp_path / "shared.csv")
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:-1]))
    assert failed(path) == ["the content is what was released"]


@pytest.mark.parametrize("name", ["shared.csv", "shared.xes"])
def test_a_seeded_release_passed_off_as_private_is_found(
    tmp_path: Path, log: EventLog, name: str
) -> None:
    path = released(log, tmp_path / name, seed=7)
    assert failed(path) == []
    assert failed(path, log) == [SEEDED]
    forge(path, '"randomness": "seeded"', '"randomness": "operating system"')
    assert failed(path) == [SEAL]
    assert SEEDED in failed(path, log)


def test_a_private_release_is_not_taken_for_a_seeded_one(tmp_path: Path, log: EventLog) -> None:
    path = released(log, tmp_path / "shared.csv")
    certificate, findings = audit_file(path, log, seeds=range(50))
    assert certificate.guarantee.private
    assert findings[-1].outcome == "holds"
    assert "50 seeds" in findings[-1].detail
