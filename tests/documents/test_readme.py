"""The README stays true: its commands run and print what it shows; its links lead somewhere."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from discreet.mechanisms.registry import mechanism_names

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def essence(text: str) -> list[str]:
    """Words, with numbers and frames left out: those of a private release differ each time."""
    plain = re.sub(r"[│╭╮╰╯─]", " ", text)
    return re.sub(r"\d[\d.,]*", "#", plain).split()


def test_the_tour_prints_what_it_shows(tmp_path: Path) -> None:
    environment = os.environ | {"COLUMNS": "80", "NO_COLOR": "1"}
    shown = 0
    for block in blocks("console"):
        command, _, expected = block.partition("\n")
        arguments = shlex.split(command.removeprefix("$ discreet "))
        run = subprocess.run(
            [sys.executable, "-m", "discreet.cli", *arguments],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == 0, (command, run.stderr)
        if expected:
            assert essence(run.stdout) == essence(expected), command
            shown += 1
    assert shown >= 2
    for block in blocks("python"):
        run = subprocess.run(
            [sys.executable, "-c", block],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == 0, run.stderr
        assert "This is proved." in run.stdout


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
