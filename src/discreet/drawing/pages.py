"""Pages: HTML files that need nothing else, in one style, for light and dark screens and paper."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def render_page(package: str, template: str, **values: Any) -> str:
    """A template of a package, which may extend our `page.html`; every value is escaped."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    pages = Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader("discreet.drawing")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return pages.get_template(template).render(**values)


def write_page(path: Path, text: str) -> None:
    """Write a page, all of it or nothing."""
    from discreet.log.files import atomic_write

    with atomic_write(path) as stream:
        stream.write(text.encode())
