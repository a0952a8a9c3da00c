"""The command line: a thin face of the public API."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import typer


def main() -> None:
    """Run the command line. Bad input ends with one clear message and exit code 2."""
    from discreet.cli.app import build
    from discreet.cli.console import complain
    from discreet.errors import DiscreetError

    try:
        app = _completing() if "_DISCREET_COMPLETE" in os.environ else build(sys.argv[1:])
        app(prog_name="discreet")
    except DiscreetError as error:
        complain(". ".join([str(error), *getattr(error, "__notes__", ())]))
        sys.exit(2)
    except KeyboardInterrupt:
        complain("stopped")
        sys.exit(130)


def _completing() -> typer.Typer:
    """Return the application for a shell that asks for completions of what was typed so far."""
    from discreet.cli.app import build

    typed = os.environ.get("_TYPER_COMPLETE_ARGS") or os.environ.get("COMP_WORDS", "")
    words = typed.split()[1:]
    return build(words if typed.endswith(" ") else words[:-1])
