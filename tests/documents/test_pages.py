"""The pages as a reader meets them: links lead somewhere, pictures say what they show."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import nbformat
import pytest

from discreet import __version__
from discreet.mechanisms.registry import mechanism_names
from tests.documents.blocks import PAGES, ROOT

README = (ROOT / "README.md").read_text()
DOCS = ROOT / "docs"
NOTEBOOKS = sorted(DOCS.glob("notebooks/*.ipynb"))


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def prose(path: Path) -> str:
    """A page without its blocks."""
    return re.sub(r"^(```+).*?^\1$", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)


def anchors(path: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub and MyST make them."""
    headings = re.findall(r"^#+ (.*)$", prose(path), flags=re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {heading.strip().replace(" ", "-") for heading in plain}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    for target, _, anchor in re.findall(r"\]\(([^)#:\s]*)(#([^)\s]*))?\)", prose(page)):
        path = page.parent / target if target else page
        assert path.exists(), target
        if anchor and path.suffix == ".md":
            assert anchor in anchors(path), f"{target}#{anchor}"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_pictures_say_what_they_show(page: Path) -> None:
    text = prose(page)
    said = re.findall(r"!\[(.*?)\]\(", text) + re.findall(r'<img [^>]*alt="(.*?)"', text)
    assert len(said) == len(re.findall(r"!\[|<img ", text))
    assert all(len(words.split()) >= 3 for words in said), said


def test_every_page_of_the_site_is_reached_from_its_index() -> None:
    listed = re.findall(r"^([\w./-]+)$", _trees(DOCS / "index.md"), flags=re.MULTILINE)
    for group in ("mechanisms", "notebooks"):
        inner = re.findall(r"^([\w./-]+)$", _trees(DOCS / group / "index.md"), flags=re.MULTILINE)
        listed += [f"{group}/{one}" for one in inner]
    pages = [*DOCS.glob("**/*.md"), *NOTEBOOKS]
    there = {str(page.relative_to(DOCS).with_suffix("")) for page in pages} - {"index"}
    assert sorted(listed) == sorted(there)


def _trees(page: Path) -> str:
    return "".join(re.findall(r"^```\{toctree\}\n(.*?)^```", page.read_text(), re.M | re.S))


@pytest.mark.parametrize("mechanism", mechanism_names())
def test_every_mechanism_is_in_the_readme_and_has_a_page_with_parameters_and_a_drawing(
    mechanism: str,
) -> None:
    assert f"`{mechanism}`" in README
    pages = [path.read_text() for path in (DOCS / "mechanisms").glob("*.md")]
    own = [page for page in pages if re.search(rf"^# .*\b{mechanism}\b", page)]
    assert any(re.search(rf"^```\{{parameters\}}.*\b{mechanism}\b", page, re.M) for page in own)
    assert all("![" in page for page in own), "a page without a drawing"


def test_the_readme_is_at_most_two_screens() -> None:
    assert len(README.splitlines()) <= 100


def test_make_alone_prints_help() -> None:
    run = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True)
    for target in ("demo", "test", "lint", "docs", "bench"):
        assert f"make {target}" in run.stdout


def test_the_version_is_the_same_everywhere() -> None:
    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text()
    metadata = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert metadata["project"]["dynamic"] == ["version"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=name)
def test_notebooks_are_kept_without_outputs(path: Path) -> None:
    for cell in nbformat.read(path, 4).cells:  # type: ignore[no-untyped-call]
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None


def test_the_site_builds_offline_without_a_warning_and_runs_the_notebooks(tmp_path: Path) -> None:
    """What a notebook raises, and whatever Sphinx warns of, ends the build."""
    unreachable = dict.fromkeys(("http_proxy", "https_proxy"), "http://127.0.0.1:9")
    run = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", str(DOCS), str(tmp_path)],
        env=os.environ | unreachable | {"XDG_DATA_HOME": str(tmp_path / "data")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert "violated" in (tmp_path / "notebooks" / "researcher.html").read_text()
    assert "--epsilon" in (tmp_path / "mechanisms" / "travas.html").read_text()
    for page in tmp_path.glob("**/*.html"):
        assert _foreign(page.read_text()) == [], page
    for style in tmp_path.glob("_static/**/*.css"):
        assert not re.findall(r"url\([\"']?https?:", style.read_text()), style


def _foreign(page: str) -> list[str]:
    """What a browser would fetch from another host."""
    fetched = re.findall(r"<(?:script|img|iframe|source)\b[^>]*?\bsrc=\"(https?://[^\"]*)", page)
    return fetched + re.findall(r"<link\b[^>]*?\bhref=\"(https?://[^\"]*)", page)
