"""`python -m discreet.web.work FOLDER`: do the job of that folder and write its result."""

from __future__ import annotations

import json
import os
import resource
import sys
import threading
from pathlib import Path
from typing import Any

# Tuned
LARGEST_FILE = 16 << 30
"""Most bytes of a file that a job may write."""


def main(folder: Path) -> None:
    """Do a job and write its result; an error is written as a result too, for the steward."""
    spec = json.loads((folder / "spec.json").read_text(encoding="utf-8"))
    _limit(spec["memory"])
    threading.Thread(target=_end_with_server, daemon=True).start()
    try:
        found = _do(spec, folder)
    except MemoryError:
        found = {"problem": "the job needs more memory than a job may have"}
    except Exception as error:
        from discreet.errors import DiscreetError

        known = isinstance(error, DiscreetError)
        found = {"problem": str(error) if known else f"{type(error).__name__}: {error}"}
        found |= dict(getattr(error, "__found__", {}))
    written = folder / "result.tmp"
    written.write_text(json.dumps(found, allow_nan=False), encoding="utf-8")
    written.replace(folder / "result.json")


def _do(spec: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The result of a job, by the module for its kind."""
    if spec["kind"] == "look":
        from discreet.web.work.looking import look

        return look(spec, folder)
    if spec["kind"] == "advise":
        from discreet.web.work.advising import advise

        return advise(spec, folder)
    if spec["kind"] == "try":
        from discreet.web.work.trying import attempt

        return attempt(spec, folder)
    if spec["kind"] == "release":
        from discreet.web.work.releasing import release

        return release(spec, folder)
    if spec["kind"] == "measure":
        from discreet.web.work.measuring import measure

        return measure(spec, folder)
    from discreet.web.work.verifying import verify

    return verify(spec, folder)


def _limit(memory: int) -> None:
    """Limit the resources of this process (memory in bytes), and lower its priority."""
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_FILE, LARGEST_FILE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.umask(0o077)
    os.nice(10)


def _end_with_server() -> None:
    """Exit when the server does: it holds the other end of standard input."""
    while os.read(0, 1):
        pass
    os._exit(1)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
