"""The README stays true: its commands run and print what it shows; its links lead somewhere."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from discreet.cli import main
from discreet.mechanisms.registry import mechanism_names

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def essence(text: str) -> list[str]:
    """Words, with numbers and frames left out: those of a private release differ each time."""
    plain = re.sub(r"[│╭╮╰╯─]", " ", text)
    return re.sub(r"\d[\d.,]*", "#", plain).split()


SMALLER = {"--cases 10000": "--cases 1000", "--seconds 15": "--seconds 1"}
"""The tour in the time that a test may take; the words are the same."""


def test_the_tour_prints_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    shown = 0
    for block in blocks("console"):
        command, _, expected = block.partition("\n")
        for long, short in SMALLER.items():
            command = command.replace(long, short)
        monkeypatch.setattr(sys, "argv", shlex.split(command.removeprefix("$ ")))
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        assert not ended.value.code, (command, printed.err)
        if expected:
            assert essence(printed.out) == essence(expected), command
            shown += 1
    assert shown >= 2
    for block in blocks("python"):
        exec(compile(block, "README.md", "exec"), {})
        assert "This is proved." in capsys.readouterr().out


@pytest.mark.parametrize("name", mechanism_names())
def test_every_mechanism_is_in_the_readme_and_has_a_page(name: str) -> None:
    assert f"`{name}`" in README
    pages = [path.read_text() for path in (ROOT / "docs" / "mechanisms").glob("*.md")]
    assert any(re.search(rf"^# .*\b{name}\b", page) for page in pages)


@pytest.mark.parametrize("page", sorted([ROOT / "README.md", *ROOT.glob("docs/**/*.md")]), ids=str)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / target).exists(), target


def test_make_alone_prints_help() -> None:
    run = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True)
    for target in ("demo", "test", "lint", "bench"):
        assert f"make {target}" in run.stdout
