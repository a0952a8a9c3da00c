"""An option of reading is declared once: adding one line gives it to every face."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import discreet

pytest.importorskip("fastapi", reason="needs the extra web")

ROOT = Path(__file__).parents[2]
BEFORE = "    timezone: str | None = parameter("
LINE = '    colour: str | None = parameter(None, "colour of the folder, as in red", faces=ALL)\n'

LOOK = """
import inspect, json, sys, types
from pathlib import Path

import discreet
from discreet.cli.app import build
from discreet.log.reading import Reading, load_mapping
from discreet.report.pages import render_page
from discreet.web.api import HowRead

folder = Path(sys.argv[1])
(folder / "how.toml").write_text("colour = 'red'")
sys.path.insert(0, sys.argv[2])
import declared, typer

said = []
declared._parsed = lambda directive, lines: said.extend(lines)
declared.HowToRead.run(None)
job = types.SimpleNamespace(over=True, state="failed", result={}, problem="", id="j")
log = types.SimpleNamespace(id="l", name="log.csv", reading={"colour": "red"})
form = render_page(
    "discreet.web", "columns.html", person=None, csrf="", here="/", waiting=0, team=False, log=log,
    job=job, roles=(), others=list(Reading.parameters("form").values()),
)
command = typer.main.get_command(build(["inspect"])).commands["inspect"]
print(json.dumps({
    "keyword": "colour" in inspect.signature(discreet.read_log).parameters,
    "command": [p.help for p in command.params if "--colour" in p.opts],
    "form": 'name="colour" value="red"' in form,
    "schema": "colour" in json.dumps(HowRead.model_json_schema()),
    "mapping": load_mapping(folder / "how.toml"),
    "reference": any("`colour`" in line for line in said),
}))
"""


def test_adding_a_reading_option_is_one_edit(tmp_path: Path) -> None:
    copy = tmp_path / "src" / "discreet"
    shutil.copytree(Path(discreet.__file__).parent, copy)
    module = copy / "log" / "reading.py"
    text = module.read_text(encoding="utf-8")
    assert text.count(BEFORE) == 1
    module.write_text(text.replace(BEFORE, LINE + BEFORE), encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": str(copy.parent)}
    ran = subprocess.run(
        [sys.executable, "-c", LOOK, str(tmp_path), str(ROOT / "docs" / "_ext")],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == {
        "keyword": True,
        "command": ["Colour of the folder, as in red."],
        "form": True,
        "schema": True,
        "mapping": {"colour": "red"},
        "reference": True,
    }
