"""The command line: a thin face of the public API."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the command line. Bad input ends with one clear message and exit code 2."""
    from discreet.cli.app import build
    from discreet.cli.console import complain
    from discreet.errors import DiscreetError

    try:
        build(_arguments())(prog_name="discreet")
    except DiscreetError as error:
        complain(error)
        sys.exit(2)
    except KeyboardInterrupt:
        complain("stopped")
        sys.exit(130)


def _arguments() -> list[str]:
    """What was typed, or where a shell asks how it might go on, the words that are complete."""
    if "_DISCREET_COMPLETE" not in os.environ:
        return sys.argv[1:]
    typed = os.environ.get("_TYPER_COMPLETE_ARGS") or os.environ.get("COMP_WORDS", "")
    words = typed.split()[1:]
    return words if typed.endswith(" ") else words[:-1]
