"""Pages that a command writes."""

from __future__ import annotations

from pathlib import Path


def check_page(path: Path, *, force: bool) -> None:
    """Refuse a page that could not be written, or would replace something unasked."""
    from discreet.log.errors import LogError

    if path.suffix.lower() not in (".html", ".htm"):
        raise LogError(f"{path.name} is to be a page: use a name that ends in .html")
    if path.exists() and not force:
        raise LogError(f"{path} exists already; choose another name, or replace it with --force")


def write_page(path: Path, text: str) -> None:
    """Write the page, all of it or nothing."""
    from discreet.log.files import atomic_write

    with atomic_write(path) as stream:
        stream.write(text.encode())
