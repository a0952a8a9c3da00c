"""Pages: HTML files that need nothing else, in one style, for light and dark screens and paper."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.language import grouped, language, translate

if TYPE_CHECKING:
    from jinja2 import Environment


def render_page(package: str, template: str, **values: Any) -> str:
    """The page of a template of a package, which may extend our `page.html`; values are escaped."""
    pages = environment(package)
    return pages.get_template(template).render(**values)


@cache
def environment(package: str) -> Environment:
    """The environment of a package's templates: escaped, strict, and translated."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    pages = Environment(
        extensions=["jinja2.ext.i18n"],
        loader=ChoiceLoader([PackageLoader(package), PackageLoader("discreet.report")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    pages.globals["language"] = language
    pages.filters |= {"grouped": grouped, "translated": translate}
    pages.policies["ext.i18n.trimmed"] = True
    pages.install_gettext_callables(  # type: ignore[attr-defined]
        translate, lambda one, many, number: translate(one if number == 1 else many), newstyle=True
    )
    return pages


def write_page(path: Path, text: str) -> None:
    """Write a page, all of it or nothing."""
    from discreet.log.files import atomic_write

    with atomic_write(path) as stream:
        stream.write(text.encode())
