"""Elements of SVG. All text is escaped here, and all colours that change in the dark are here.

Colours are classes, not CSS variables: Inkscape and librsvg do not read variables, and both show
the light colours where they do not know what the reader prefers.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from textwrap import wrap

from discreet.models.writers import xml_text

_LIGHT = """text{font-family:system-ui,sans-serif;fill:#1f2933}
.page{fill:#fff}.quiet{fill:#52606d}.grid{stroke:#dde3e8}.absent{fill:#e5e7eb}
.task{fill:#eef4fb;stroke:#3b6ea5}.start{fill:#e6f6ec;stroke:#2f855a}
.end{fill:#fde8e8;stroke:#9b2c2c;stroke-width:2.5}.gateway{fill:#fff7e0;stroke:#b7791f}
.mark{stroke:#b7791f;stroke-width:2.5}.flow{fill:none;stroke:#52606d}.tip{fill:#52606d}
.count{stroke:#fff;stroke-width:4;paint-order:stroke}.onlight{fill:#1f2933}.ondark{fill:#fff}
"""

_DARK = """text{fill:#e4e7eb}.page{fill:#14181d}.quiet{fill:#9aa5b1}.grid{stroke:#323f4b}
.absent{fill:#323f4b}.task{fill:#1b2c40;stroke:#7fb2e5}.start{fill:#173426;stroke:#68d391}
.end{fill:#41191b;stroke:#fc8181}.gateway{fill:#3a2c0b;stroke:#ecc94b}.mark{stroke:#ecc94b}
.flow{stroke:#9aa5b1}.tip{fill:#9aa5b1}.count{stroke:#14181d}
"""

STYLE = _LIGHT + "@media(prefers-color-scheme:dark){" + _DARK + "}"

SERIES = ("#3182bd", "#e07a3f", "#4f9d69", "#a06cb0", "#d1495b", "#7f8c8d", "#b8860b", "#5f7fa8")
"""Colours of curves and boxes, in turn, that differ clearly on white and on black."""

TIP = (
    '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
    'markerUnits="userSpaceOnUse" orient="auto"><path class="tip" d="M0 0L8 4L0 8z"/></marker>'
    "</defs>"
)
"""The head of an arrow, used by lines with `marker-end="url(#tip)"`."""


def series(number: int) -> str:
    """The colour of a curve or box by its number."""
    return SERIES[number % len(SERIES)]


def page(width: float, height: float, body: Iterable[str], title: str = "") -> str:
    """A self-contained picture."""
    name = f"<title>{escaped(title)}</title>\n" if title else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" font-size="12" role="img">\n{name}'
        f'<style>{STYLE}</style>\n<rect class="page" width="100%" height="100%"/>\n'
        + "\n".join(filter(None, body))
        + "\n</svg>\n"
    )


def text(
    x: float, y: float, content: str, kind: str = "", *, anchor: str = "start", **more: str
) -> str:
    """One line of text; `kind` is a class of the style, `more` are attributes (_ stands for -)."""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{_class(kind)}{_attributes(more)}>'
        f"{escaped(content)}</text>"
    )


def label(x: float, y: float, content: str, letters: int, rows: int, leading: float = 14) -> str:
    """Text around a point on at most `rows` lines; the whole text is shown on hovering."""
    shown = wrap(" ".join(_printable(content).split()), letters) or [""]
    if len(shown) > rows:
        shown = [*shown[: rows - 1], shown[rows - 1][: letters - 1] + "…"]
    top = y + 4 - leading * (len(shown) - 1) / 2
    lines = "".join(
        f'<tspan x="{x:.1f}" y="{top + leading * i:.1f}">{escaped(line)}</tspan>'
        for i, line in enumerate(shown)
    )
    return f'<text text-anchor="middle"><title>{escaped(content)}</title>{lines}</text>'


def rect(x: float, y: float, width: float, height: float, kind: str = "", **more: str) -> str:
    """A rectangle."""
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
        f"{_class(kind)}{_attributes(more)}/>"
    )


def circle(x: float, y: float, radius: float, kind: str) -> str:
    """A circle."""
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}"{_class(kind)}/>'


def line(x: float, y: float, x2: float, y2: float, kind: str = "", **more: str) -> str:
    """A straight line."""
    return (
        f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"{_class(kind)}'
        f"{_attributes(more)}/>"
    )


def escaped(content: str) -> str:
    """Text as it may stand in XML, between tags and in attributes."""
    return escape(xml_text(content))


def _printable(content: str) -> str:
    return "".join(c if c.isprintable() else " " for c in content)


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""


def _attributes(more: dict[str, str]) -> str:
    return "".join(f' {key.replace("_", "-")}="{escaped(value)}"' for key, value in more.items())
