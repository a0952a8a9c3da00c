"""The command line as a user runs it."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from discreet.cli import main
from discreet.log.samples import sample_log
from discreet.log.writing import write_log
from discreet.mechanisms.registry import mechanism_class
from discreet.privacy.guarantee import Guarantee


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command in this process, which saves starting another."""
    out, err = io.StringIO(), io.StringIO()
    with (
        pytest.MonkeyPatch.context() as patch,
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        patch.chdir(folder)
        patch.setenv("COLUMNS", "100")
        patch.setattr(sys, "argv", ["discreet", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
    code = int(ended.value.code or 0)
    return subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())


def run_alone(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own, as a shell runs it."""
    return subprocess.run(
        [sys.executable, "-m", "discreet.cli", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"COLUMNS": "100", "NO_COLOR": "1"},
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("logs")
    write_log(sample_log("permits", cases=1500, seed=3), path / "log.xes")
    return path


def test_help_teaches(folder: Path) -> None:
    top = run(folder, "--help")
    assert top.returncode == 0
    for command in ("sample", "inspect", "release", "mechanisms", "certificate"):
        assert command in top.stdout
        shown = run(folder, command, "--help")
        assert shown.returncode == 0
        assert "Example" in shown.stdout
        assert f"discreet {command}" in shown.stdout


def test_release_offers_the_declared_parameters(folder: Path) -> None:
    shown = run_alone(folder, "release", "--help").stdout
    for option in ("--epsilon", "--delta", "--alphabet", "--cases-per-individual"):
        assert option in shown
    for option in ("--fidelity", "--runs", "--min-fitness"):
        assert option not in shown
    assert len(shown.splitlines()) < 160


@pytest.mark.parametrize(
    ("arguments", "shown", "hidden"),
    [
        (["release", "-m", "dpim"], ["--min-fitness", "of dpim"], ["--runs", "of headtail"]),
        (["release", "--mechanism=utravas"], ["--runs", "--choose"], ["--alphabet"]),
        (["release", "-mamun"], ["--times-share"], ["--runs"]),
        (["train"], ["--max-length", "of sequence"], ["--dictionary"]),
        (["train", "-m", "ddpm"], ["--dictionary", "of ddpm"], ["--max-length"]),
        (["audit"], ["--epsilon"], ["--choose"]),
        (["audit", "utravas"], ["--runs", "of utravas"], ["--alphabet"]),
        (["compare"], ["--alphabet"], ["--runs"]),
        (["compare", "-m", "utravas", "-m", "sapa"], ["--runs", "--playout"], ["--attributes"]),
    ],
)
def test_help_shows_the_options_of_the_mechanism_that_is_named(
    folder: Path, arguments: list[str], shown: list[str], hidden: list[str]
) -> None:
    page = run(folder, *arguments, "--help").stdout
    for text in shown:
        assert text in page
    for text in hidden:
        assert text not in page


def test_what_help_says_of_a_parameter_is_what_the_mechanism_says(folder: Path) -> None:
    for name in ("amun", "travas"):
        page = " ".join(
            run(folder, "release", "-m", name, "--help").stdout.replace("│", "").split()
        )
        assert mechanism_class(name).parameters()["fidelity"].help in page


def test_an_option_of_another_mechanism_is_named(folder: Path) -> None:
    said = run(folder, "release", "log.xes", "-o", "out.xes", "--runs", "2").stderr
    assert "it is one of utravas" in " ".join(said.split())


def test_a_shell_completes_names(folder: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("_DISCREET_COMPLETE", "complete_bash")
        for typed, expected in (
            ("discreet release -m tra", {"travag", "travas"}),
            ("discreet audit utr", {"utravas"}),
            ("discreet mechanisms dp", {"dpim"}),
            ("discreet sample ho", {"hospital"}),
            ("discreet release -m dpim --min-f", {"--min-fitness"}),
        ):
            patch.setenv("COMP_WORDS", typed)
            patch.setenv("COMP_CWORD", str(len(typed.split()) - 1))
            done = run(folder)
            assert set(done.stdout.split()) == expected, done.stderr


def test_sample_release_certificate(folder: Path) -> None:
    made = run(folder, "sample", "loans", "--cases", "3000", "--seed", "1", "-o", "loans.csv")
    assert made.returncode == 0
    assert "3,000 cases" in made.stdout
    released = run_alone(folder, "release", "loans.csv", "-o", "shared.xes.gz", "--json")
    assert released.returncode == 0
    values = json.loads(released.stdout)
    assert values["certificate"]["guarantee"]["status"] == "proved"
    checked = run(folder, "certificate", "shared.xes.gz")
    assert checked.returncode == 0
    assert "This is proved." in checked.stdout
    as_json = json.loads(run(folder, "certificate", "shared.xes.gz", "--json").stdout)
    assert {check["outcome"] for check in as_json["checks"]} == {"holds"}
    promise = Guarantee.from_dict(as_json["guarantee"])
    shown = " ".join(checked.stdout.split())
    assert f"Steps ({promise.composition}):" in shown
    steps = [f"{part.name}: {part.cost} ({part.rule})" for _, part in promise.walk()]
    assert len(steps) > 3
    assert all(step in shown for step in steps)


def test_a_changed_file_ends_with_exit_code_one(folder: Path) -> None:
    assert run(folder, "release", "log.xes", "-o", "edited.csv", "--no-times").returncode == 0
    path = folder / "edited.csv"
    path.write_text(path.read_text().replace("1970-01-01", "1971-01-01", 1))
    assert run(folder, "certificate", "edited.csv").returncode == 1


def test_inspect_is_for_the_holder(folder: Path) -> None:
    shown = run(folder, "inspect", "log.xes")
    assert "not for publication" in shown.stderr
    assert "1,500" in shown.stdout
    facts = json.loads(run(folder, "inspect", "log.xes", "--json").stdout)
    assert facts["cases"] == 1500
    assert "holder" in facts["warning"]
    people = json.loads(
        run(folder, "inspect", "log.xes", "--individual", "case:person", "--json").stdout
    )
    assert 1 <= people["most_cases_per_individual"] <= 5


def test_a_seed_is_marked(folder: Path) -> None:
    shown = run(folder, "release", "log.xes", "-o", "seeded.csv", "--insecure-seed", "1")
    assert "NOT PRIVATE" in shown.stdout


def test_advice_goes_to_the_steward_only(folder: Path) -> None:
    shown = run(folder, "release", "log.xes", "-o", "advised.csv", "--delta", "0.01")
    assert "1/cases" in shown.stderr
    assert "1/cases" not in shown.stdout
    written = json.loads((folder / "advised.csv.certificate.json").read_text())
    stated = {key: value for key, value in written.items() if not key.endswith("sha256")}
    assert len(stated) == len(written) - 2
    assert "1500" not in json.dumps(stated)


def test_individuals(folder: Path) -> None:
    shown = run(
        folder,
        *("release", "log.xes", "-o", "people.csv", "--individual", "case:person"),
        *("--cases-per-individual", "2"),
    )
    assert shown.returncode == 0, shown.stderr
    assert "one person" in shown.stdout


def test_mechanisms_are_listed_and_shown(folder: Path) -> None:
    assert "travas" in run(folder, "mechanisms").stdout
    names = [row["name"] for row in json.loads(run(folder, "mechanisms", "--json").stdout)]
    assert {"travas", "utravas"} <= set(names)
    one = run(folder, "mechanisms", "travas").stdout
    assert "Neighbours: one case more or less" in one
    assert "--epsilon" in one
    assert json.loads(run(folder, "mechanisms", "travas", "--json").stdout)["parameters"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["release", "none.xes", "-o", "out.xes"], "no file"),
        (["release", "log.xes", "-o", "out.docx"], "ends in"),
        (["release", "log.xes", "-o", "none/out.xes"], "no folder"),
        (["release", "log.xes", "-o", "out.xes", "--epsilon", "0"], "epsilon must be"),
        (["release", "log.xes", "-o", "out.xes", "-m", "travaas"], "did you mean 'travas'"),
        (
            ["release", "log.xes", "-o", "out.xes", "--runs", "2"],
            "headtail and whole have no parameter",
        ),
        (["release", "log.xes", "-o", "out.xes", "--cases-per-individual", "2"], "--individual"),
        (["sample", "hospitals", "-o", "out.xes"], "hospital"),
        (["sample", "hospital", "--cases", "0", "-o", "out.xes"], "at least one case"),
        (["certificate", "log.xes"], "no certificate"),
        (["mechanisms", "nothing"], "no mechanism"),
    ],
)
def test_bad_input_is_one_message_and_exit_code_two(
    folder: Path, arguments: list[str], message: str
) -> None:
    shown = run(folder, *arguments)
    assert shown.returncode == 2
    assert message in " ".join(shown.stderr.split())
    assert "Traceback" not in shown.stderr
    assert shown.stdout == ""
    assert not list(folder.glob("out.*"))
