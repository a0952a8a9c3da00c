"""The blocks of a page: what is run, what is data, and what says why it is not run.

A comment before a block may say `<!-- not run: why -->`. A comment `<!-- run first: … -->` holds
what a reader brings along, a command of ours or a line of Python, and runs in its place. A page
whose blocks another test runs says `<!-- run by tests/… -->`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent

WRITTEN = {"docs/audits.md": "written by `discreet audit --all`, which takes some ten minutes"}
"""Pages that a command writes whole."""

PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/**/*.md")])

FIRST = "run first"

DATA = ("text", "toml", "json", "mermaid")
"""Languages of blocks that show something and are not run."""

_PIECE = re.compile(
    r"^<!-- run by (?P<elsewhere>\S+) -->$"
    r"|^<!-- run first: (?P<first>.*?) -->$"
    r"|(?:^<!-- not run: (?P<reason>.*?) -->\n+)?"
    r"^(?P<fence>```+)(?P<language>\S*)[^\n]*\n(?P<body>.*?)^(?P=fence)$",
    flags=re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    """One block of a page; what is to be run first has the language of that name."""

    language: str
    body: str
    reason: str
    line: int


@dataclass(frozen=True)
class Page:
    """The blocks of a page, and the test that runs them if it is not ours."""

    name: str
    blocks: tuple[Block, ...]
    elsewhere: str


def read_page(path: Path) -> Page:
    """The blocks of a page in their order."""
    text = path.read_text()
    blocks, elsewhere = [], ""
    for found in _PIECE.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        if found["elsewhere"]:
            elsewhere = found["elsewhere"]
        elif found["first"]:
            blocks.append(Block(FIRST, found["first"], "", line))
        else:
            blocks.append(
                Block(
                    found["language"],
                    found["body"],
                    " ".join((found["reason"] or "").split()),
                    line,
                )
            )
    return Page(str(path.relative_to(ROOT)), tuple(blocks), elsewhere)


def commands(body: str) -> list[tuple[str, str]]:
    """The commands of a console, each with what is printed below it."""
    found: list[tuple[str, str]] = []
    for line in body.replace("\\\n", " ").splitlines():
        if line.startswith("$ "):
            found.append((line[2:], ""))
        elif found:
            found[-1] = (found[-1][0], found[-1][1] + line + "\n")
    return found


def essence(text: str) -> list[str]:
    """Words, with numbers and frames left out: those of a private release differ each time."""
    plain = re.sub(r"[│╭╮╰╯─]", " ", text)
    return re.sub(r"\d[\d.,]*", "#", plain).split()
