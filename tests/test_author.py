"""The face for authors of mechanisms is all that one of ours, small and whole, needs."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import discreet.author

PAGE = Path(__file__).parents[1] / "docs" / "add-a-mechanism.md"


def test_the_tutorial_imports_from_the_authors_face_only() -> None:
    for block in PAGE.read_text(encoding="utf-8").split("```python\n")[1:]:
        for node in ast.walk(ast.parse(block.split("```")[0])):
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("discreet."):
                assert node.module in ("discreet.author", "discreet.testing")


def test_it_loads_nothing_of_audits_faces_or_training() -> None:
    names = {name for name in vars(discreet.author) if not name.startswith("_")}
    assert {"Mechanism", "Budget", "Step", "parameter", "Randomness"} <= names
    heavy = ("discreet.audits", "discreet.bench", "discreet.cli", "discreet.web", "torch")
    code = f"import sys, discreet.author; print([n for n in {heavy} if n in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
