"""Pages: HTML files that need nothing else, in one style, for light and dark screens and paper."""

from __future__ import annotations

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
