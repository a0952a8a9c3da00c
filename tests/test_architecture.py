"""The maps in CONTRIBUTING and docs/architecture.md are those of the code."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import grimp

ROOT = Path(__file__).parent.parent
FOR_ALL = {"_version", "arrays", "errors", "language", "notebook", "parameters"}


def imports() -> dict[str, set[str]]:
    """What each package or module right below discreet imports, lazily or not."""
    graph = grimp.build_graph("discreet", cache_dir=None)
    children = graph.find_children("discreet")
    for child in children:
        graph.squash_module(child)
    short = {child: child.removeprefix("discreet.") for child in children}
    return {
        short[child]: {short[found] for found in graph.find_modules_directly_imported_by(child)}
        - {short[child]}
        for child in children
    }


def quoted(text: str) -> set[str]:
    """Names in backticks, without what makes them a folder or a file."""
    return {name.removesuffix("/").removesuffix(".py") for name in re.findall(r"`([^`]+)`", text)}


def test_the_table_of_contributing_is_the_import_graph() -> None:
    rows = [
        line.strip("|").split("|")
        for line in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").splitlines()
        if line.startswith("| `")
    ]
    stated = {quoted(row[0]).pop(): quoted(row[2]) for row in rows}
    found = imports()
    assert stated == {name: used - FOR_ALL for name, used in found.items() if name not in FOR_ALL}
    assert all(found[name] <= FOR_ALL for name in FOR_ALL)


def test_the_map_of_the_architecture_has_the_order_of_the_layers() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    floor = {
        name: number
        for number, line in enumerate(page.split("```")[1].splitlines())
        for name in re.findall(r"\w+", re.sub(r"\([^)]*\)", "", line[len("services  ") :]))
    }
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    ordered = [re.findall(r"\w+", layer) for layer in layers]
    assert set(floor) == {name for layer in ordered for name in layer}
    for above, below in pairwise(ordered):
        assert max(floor[name] for name in above) <= min(floor[name] for name in below)


def test_faces_import_nothing_that_books_reads_or_builds() -> None:
    """What import-linter lets pass is named, used, and nothing of a release."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    (faces,) = [one for one in contracts if one["type"] == "forbidden"]
    graph = grimp.build_graph("discreet", cache_dir=None)
    found = {
        f"{module} -> {forbidden}"
        for forbidden in faces["forbidden_modules"]
        for module in graph.find_modules_that_directly_import(forbidden)
        if module.startswith(tuple(f"{face}." for face in faces["source_modules"]))
    }
    assert found == set(faces["ignore_imports"])
    assert {"discreet.cli", "discreet.web", "discreet.advice"} <= set(faces["source_modules"])
    assert {
        "discreet.log.loading",
        "discreet.mechanisms.registry",
        "discreet.releasing.booking",
    } <= set(faces["forbidden_modules"])


def private_imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in (
            "discreet",
            "tests",
        ):
            for name in (alias.name for alias in node.names):
                if name.startswith("_") and not name.endswith("__"):
                    yield f"{path}:{node.lineno}: {node.module}.{name}"


def test_no_module_imports_a_private_name() -> None:
    folders = (ROOT / name for name in ("src", "tests", "bench"))
    paths = [path for folder in folders for path in folder.rglob("*.py")]
    assert len(paths) > 300
    assert not [found for path in paths for found in private_imports(path)]


def test_a_private_import_is_found(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text("def f():\n    from discreet.privacy.noise import Rational, _powers\n")
    assert list(private_imports(path)) == [f"{path}:2: discreet.privacy.noise._powers"]
