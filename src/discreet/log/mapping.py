"""Reading options kept in a file, so that the next export is read like the last."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from discreet.log.columns import WORDS
from discreet.log.errors import LogError
from discreet.log.events import EventLog
from discreet.log.files import atomic_write, readable
from discreet.log.shaping import Reading
from discreet.log.types import declared


def load_mapping(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The options of reading that a TOML file holds, checked."""
    path = Path(path)
    try:
        with readable(path):
            found = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise LogError(f"{path.name} is not TOML: {error}") from None
    known = Reading.parameters("file")
    for key in found:
        if key not in known:
            raise LogError(
                f"{path.name}: {key!r} is not an option of reading; known are "
                f"{', '.join(sorted(known))}"
            )
    try:
        Reading(**found)
    except LogError as error:
        raise LogError(f"{path.name}: {error}") from None
    return found


def save_mapping(
    path: str | os.PathLike[str], log: EventLog, options: Mapping[str, Any] | None = None
) -> None:
    """Keep how a log was read: the columns that were found, and the options that were given.

    Standard names of columns need no entry. An existing file is left alone.
    """
    path = Path(path)
    if path.exists():
        raise LogError(f"{path} exists already; choose another name, or remove it first")
    kept = {WORDS[role]: name for role, name in log.names.items() if name != role and role in WORDS}
    offered = Reading.parameters("file")
    said = {key: value for key, value in (options or {}).items() if key in offered}
    kept |= {key: value for key, value in said.items() if value is not None}
    given: Mapping[str, str] | str = kept.pop("types", {})
    types = declared(given) if isinstance(given, str) else given
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in kept.items()]
    if types:
        lines += ["", "[types]"]
        lines += [f"{json.dumps(name)} = {json.dumps(kind)}" for name, kind in types.items()]
    with atomic_write(path) as file:
        file.write("\n".join([*lines, ""]).encode())
