"""Somebody at a desk who types commands."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from discreet.cli import main
from discreet.log.samples import sample_log
from discreet.log.writing import write_log


@dataclass(frozen=True)
class Ended:
    """What a command printed, in one line each."""

    stdout: str
    stderr: str


@dataclass(frozen=True)
class Desk:
    """A folder with a log, a ledger of its own, and somebody who types commands."""

    folder: Path
    monkeypatch: pytest.MonkeyPatch
    capsys: pytest.CaptureFixture[str]

    def run(self, *arguments: str, code: int = 0) -> Ended:
        self.monkeypatch.setattr(sys, "argv", ["discreet", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        printed = self.capsys.readouterr()
        assert (ended.value.code or 0) == code, printed.err
        return Ended(" ".join(printed.out.split()), " ".join(printed.err.split()))

    def refused(self, *arguments: str) -> str:
        """What is said on standard error when a command ends with exit code 2."""
        return self.run(*arguments, code=2).stderr

    def json(self, *arguments: str) -> Any:
        return json.loads(self.run(*arguments, "--json").stdout)


@pytest.fixture
def desk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Desk:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("DISCREET_LEDGER", raising=False)
    monkeypatch.setenv("DISCREET_LANGUAGE", "en")
    write_log(sample_log("permits", cases=300, seed=3), tmp_path / "log.csv")
    return Desk(tmp_path, monkeypatch, capsys)
