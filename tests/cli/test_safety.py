"""Nothing is destroyed, nobody is reassured without reason, and a stop says what it cost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from discreet.ledger.ledger import Ledger
from discreet.mechanisms.travas import TraVaS
from discreet.privacy.guarantee import Budget
from tests.cli.conftest import Desk


def released(desk: Desk, *arguments: str, code: int = 0) -> str:
    ended = desk.run("release", "log.csv", "-m", "travas", *arguments, code=code)
    return ended.stdout if code == 0 else ended.stderr


class TestFiles:
    def test_the_log_is_never_replaced(self, desk: Desk) -> None:
        raw = (desk.folder / "log.csv").read_bytes()
        (desk.folder / "linked.csv").symlink_to("log.csv")
        os.link(desk.folder / "log.csv", desk.folder / "hard.csv")
        (desk.folder / "sub").mkdir()
        for target in ("log.csv", "./sub/../log.csv", "linked.csv", "hard.csv"):
            for force in ((), ("--force",)):
                assert "is the file that is read" in released(desk, "-o", target, *force, code=2)
        assert (desk.folder / "log.csv").read_bytes() == raw

    def test_an_existing_file_stays_unless_forced(self, desk: Desk) -> None:
        paid = desk.folder / "paid.csv"
        paid.write_text("paid for")
        assert "exists already" in released(desk, "-o", "paid.csv", code=2)
        assert paid.read_text() == "paid for"
        released(desk, "-o", "paid.csv", "--force")
        assert paid.read_text() != "paid for"
        paid.unlink()
        assert "paid.csv.certificate.json exists" in released(desk, "-o", "paid.csv", code=2)
        released(desk, "-o", "paid.csv", "--force")
        paid.chmod(0o444)
        assert "write-protected" in released(desk, "-o", "paid.csv", "--force", code=2)

    def test_other_commands_that_write(self, desk: Desk) -> None:
        raw = (desk.folder / "log.csv").read_bytes()
        sample = ("sample", "permits", "--cases", "5", "-o", "log.csv")
        assert "exists already" in desk.refused(*sample)
        assert "is read" in desk.refused("inspect", "log.csv", "--save-mapping", "log.csv")
        assert (desk.folder / "log.csv").read_bytes() == raw
        desk.run(*sample, "--force")
        assert (desk.folder / "log.csv").read_bytes() != raw


class TestWords:
    def test_a_budget_that_protects_hardly_anybody_is_refused(self, desk: Desk) -> None:
        weak = ("-o", "out.csv", "--epsilon", "20", "--delta", "0.9999")
        said = released(desk, *weak, code=2)
        assert "hardly anybody" in said
        assert "--allow-weak" in said
        assert not (desk.folder / "out.csv").exists()
        shown = released(desk, *weak, "--allow-weak")
        assert "HARDLY ANY PROTECTION" in shown
        assert "almost the same" not in shown
        certificate = json.loads((desk.folder / "out.csv.certificate.json").read_text())
        assert certificate["strength"] == "hardly any"
        assert "insisted" in " ".join(certificate["warnings"])
        checked = desk.run("certificate", "out.csv").stdout
        assert "HARDLY ANY PROTECTION" in checked
        assert "insisted" in checked

    def test_a_warning_stands_in_the_certificate(self, desk: Desk) -> None:
        released(desk, "-o", "weak.csv", "--epsilon", "5", "--delta", "0.01")
        certificate = json.loads((desk.folder / "weak.csv.certificate.json").read_text())
        assert certificate["strength"] == "weak"
        said = " ".join(certificate["warnings"])
        assert "ε = 5 is weak protection" in said
        assert "δ = 0.01 is too large" in said
        assert "insisted" not in said
        released(desk, "-o", "strong.csv", "--epsilon", "1", "--delta", "1e-6")
        certificate = json.loads((desk.folder / "strong.csv.certificate.json").read_text())
        assert (certificate["strength"], certificate["warnings"]) == ("strong", [])

    def test_german(self, desk: Desk) -> None:
        desk.monkeypatch.setenv("DISCREET_LANGUAGE", "en")
        ended = desk.run(
            "--language", "de", "release", "log.csv", "-o", "out.csv", "--epsilon", "5"
        )
        assert "SCHWACHER SCHUTZ" in ended.stdout
        certificate = json.loads((desk.folder / "out.csv.certificate.json").read_text())
        assert "schwacher Schutz" in certificate["warnings"][0]
        assert "en or de" in desk.refused("--language", "fr", "mechanisms")

    def test_what_is_left_out_is_said(self, desk: Desk) -> None:
        assert "times are artificial" in released(desk, "-o", "out.csv")
        certificate = json.loads((desk.folder / "out.csv.certificate.json").read_text())
        assert "--times" in certificate["notes"][-1]
        kept = desk.run("release", "log.csv", "-o", "kept.csv", "-m", "amun").stdout
        assert "times are artificial" not in kept


class TestTrouble:
    """What used to end in a traceback."""

    def test_a_folder_that_cannot_be_made(self, desk: Desk) -> None:
        said = desk.refused("bench", "--log", "log.csv", "-m", "travas", "-o", "log.csv/results")
        assert "log.csv/results cannot be made" in said

    def test_logs_that_are_not_there(self, desk: Desk) -> None:
        said = desk.refused("bench", "--log", "none.csv", "-m", "travas", "-o", "results")
        assert "not found in this folder: none.csv" in said
        assert not (desk.folder / "results").exists()

    def test_the_plans_are_json_if_asked_for(self, desk: Desk) -> None:
        listed = json.loads(desk.run("bench", "--plans", "--json").stdout)
        assert "papers/travas" in {plan["name"] for plan in listed}

    def test_an_empty_release_scores_nothing(self, desk: Desk) -> None:
        (desk.folder / "tiny.csv").write_text(
            "".join((desk.folder / "log.csv").read_text().splitlines(keepends=True)[:3])
        )
        tiny = ("release", "tiny.csv", "-o", "empty.csv", "-m", "travas", "--epsilon", "0.1")
        desk.run(*tiny, "--delta", "1e-7")
        found = desk.json("evaluate", "log.csv", "empty.csv", "-m", "similarity", "-m", "size")
        assert [figure["value"] for figure in found["figures"]] == [0, 0]

    def test_a_full_disk(self, desk: Desk) -> None:
        """A limit on the size of files stands for a disk without room."""
        code = (
            "import resource, sys; from discreet.cli import main; "
            "resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000)); main()"
        )
        arguments = ("sample", "permits", "--cases", "3000", "-o", "out.parquet")
        run = subprocess.run(
            [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False
        )
        assert run.returncode == 2
        assert "out.parquet cannot be written" in " ".join(run.stderr.split())
        assert "Traceback" not in run.stderr
        assert not list(desk.folder.glob("*out*"))


class TestBeforeAndAfter:
    def test_a_rehearsal_reads_spends_and_writes_nothing(self, desk: Desk) -> None:
        with Ledger(desk.folder / "ledger.db", create=True) as ledger:
            ledger.set_budget("ward", Budget(3, 1e-3))
        desk.monkeypatch.setenv("DISCREET_LEDGER", str(desk.folder / "ledger.db"))
        arguments = ("release", "none.csv", "-o", "out.csv", "--source", "ward", "--dry-run")
        ended = desk.run(*arguments)
        assert "would promise ε = 1, δ = 1e-06 for any one case (strong protection)" in ended.stdout
        assert "it fits on ward" in ended.stdout
        assert "out.csv.certificate.json" in ended.stdout
        assert desk.json(*arguments)["would_write"][0] == "out.csv"
        assert not (desk.folder / "out.csv").exists()
        with Ledger(desk.folder / "ledger.db") as ledger:
            assert ledger.account("ward").releases == 0
        desk.refused(*arguments, "--epsilon", "4")

    def test_json_has_the_counts_and_quiet_says_nothing(self, desk: Desk) -> None:
        values = desk.json("release", "log.csv", "-o", "out.csv", "--epsilon", "2", "--no-times")
        counts = values["released"]
        assert counts["events"] >= counts["cases"] >= counts["variants"] > 0
        ended = desk.run("release", "log.csv", "-o", "still.csv", "--delta", "0.01", "--quiet")
        assert (ended.stdout, ended.stderr) == ("", "")
        assert (desk.folder / "still.csv").exists()

    @pytest.mark.parametrize("booked", [True, False])
    def test_a_stop_says_what_was_spent(self, desk: Desk, booked: bool) -> None:
        def stop(*_: object) -> None:
            raise KeyboardInterrupt

        desk.monkeypatch.setattr(TraVaS, "_draw", stop)
        arguments = ["release", "log.csv", "-o", "out.csv", "-m", "travas"]
        if booked:
            path = desk.folder / "ledger.db"
            with Ledger(path, create=True) as ledger:
                ledger.set_budget("ward", Budget(3, 1e-3))
            desk.monkeypatch.setenv("DISCREET_LEDGER", str(path))
            said = desk.run(*arguments, "--source", "ward", code=130).stderr
            assert "on ward was booked" in said
            assert "booked again" in said
        else:
            assert "nothing was written" in desk.run(*arguments, code=130).stderr
        assert not list(Path(desk.folder).glob("out*"))
