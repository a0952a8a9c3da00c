"""Every command and every piece of Python in the README and the documents runs as it stands."""

from __future__ import annotations

import doctest
import json
import os
import re
import shlex
import sys
import tomllib
from pathlib import Path

import pytest

from discreet.bench import runner
from discreet.cli import main
from tests.commands import run_cells_here
from tests.documents.blocks import (
    DATA,
    FIRST,
    PAGES,
    ROOT,
    WRITTEN,
    Block,
    Page,
    commands,
    essence,
    read_page,
)

CASES = [read_page(path) for path in PAGES if str(path.relative_to(ROOT)) not in WRITTEN]
RUN = [page for page in CASES if not page.elsewhere]


@pytest.mark.filterwarnings("ignore:In the current version:UserWarning")  # PM4Py on reading XES
@pytest.mark.parametrize("page", RUN, ids=lambda page: page.name)
def test_blocks_run(
    page: Page,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("DISCREET_LANGUAGE", "en")
    monkeypatch.setattr(runner, "_run_pool", run_cells_here)
    session: dict[str, object] = {"__name__": "__main__", "Path": Path}
    for block in page.blocks:
        if block.reason:
            assert len(block.reason.split()) > 2, f"{page.name}:{block.line}: say why"
            continue
        where = f"{page.name}:{block.line}"
        if block.language == "console":
            for command, shown in commands(block.body):
                _command(command, shown, where, monkeypatch, capsys)
        elif block.language == FIRST and block.body.startswith("discreet "):
            _command(block.body, "", where, monkeypatch, capsys)
        elif block.language in (FIRST, "python"):
            exec(compile(block.body, where, "exec"), session)
        elif block.language == "pycon":
            _examples(block, where, session)
        elif block.language == "toml":
            tomllib.loads(block.body)
        elif block.language == "json":
            json.loads(block.body)
        else:
            assert block.language in DATA or block.language.startswith("{"), where


def _command(
    command: str,
    shown: str,
    where: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Run a command of ours in this process; what the page shows of it must be what it prints."""
    command = re.sub(r"--seconds \d+", "--seconds 1", command)  # how long it may take
    name, *arguments = shlex.split(command, comments=True)
    assert name == "discreet", f"{where}: `{command}` is neither ours nor marked as not run"
    monkeypatch.setattr(sys, "argv", [name, *arguments])
    monkeypatch.setattr(os, "cpu_count", lambda: 1)  # the others are busy with other tests
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main()
    printed = capsys.readouterr()
    assert not ended.value.code, f"{where}: {command}\n{printed.err}"
    if shown:
        assert essence(printed.out) == essence(shown), f"{where}: {command}"


def _examples(block: Block, where: str, session: dict[str, object]) -> None:
    test = doctest.DocTestParser().get_doctest(block.body, session, where, None, 0)
    runner = doctest.DocTestRunner(verbose=False)
    runner.run(test, clear_globs=False)
    session.update(test.globs)
    assert runner.summarize(verbose=False).failed == 0, where


@pytest.mark.parametrize("page", CASES, ids=lambda page: page.name)
def test_blocks_run_elsewhere_are_run_there(page: Page) -> None:
    if page.elsewhere:
        test = (ROOT / page.elsewhere).read_text()
        assert Path(page.name).name.removesuffix(".md") in test


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_block_by_indentation_escapes(path: Path) -> None:
    if str(path.relative_to(ROOT)) not in WRITTEN:
        plain = re.sub(r"^(```+).*?^\1$", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)
        assert not re.findall(r"(?<=\n\n)    (?:discreet|python|pip|make) .*", plain)
