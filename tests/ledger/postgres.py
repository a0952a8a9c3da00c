"""A real PostgreSQL of its own: in a temporary folder, on a free port, gone afterwards."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.ports import free_port


def programs() -> Path | None:
    """The folder of initdb and pg_ctl; Debian keeps them off the path."""
    found = shutil.which("initdb")
    folders = [Path(found).resolve().parent] if found else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((folder for folder in folders if (folder / "pg_ctl").exists()), None)


@contextmanager
def temporary_server() -> Iterator[str]:
    """The URL of a fresh database. The server refuses to run as root, so root lends it a user."""
    folder = programs()
    if folder is None:
        raise FileNotFoundError("PostgreSQL is not installed (Debian: apt-get install postgresql)")
    place = Path(tempfile.mkdtemp(prefix="discreet-pg-"))
    account: dict[str, Any] = {}
    if os.geteuid() == 0:
        names = {entry.pw_name for entry in pwd.getpwall()}
        user = "postgres" if "postgres" in names else "nobody"
        account = {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []}
        os.chown(place, pwd.getpwnam(user).pw_uid, -1)

    def run(program: str, *arguments: str) -> None:
        command = [str(folder / program), *arguments]
        with (place / "output").open("ab") as output:
            subprocess.run(
                command, check=True, cwd=place, stdout=output, stderr=output, timeout=300, **account
            )

    data = str(place / "data")

    def started() -> int:
        """Start the server; somebody else may take the free port first, so try another."""
        waiting = ("-D", data, "-w", "-t", "250", "-l", str(place / "log"))
        for left in (4, 3, 2, 1, 0):
            port = free_port()
            options = f"-p {port} -k {place} -c listen_addresses=127.0.0.1 -c max_connections=120"
            options += " -c fsync=off"  # it outlives no power cut anyway
            try:
                run("pg_ctl", *waiting, "-o", options, "start")
            except subprocess.CalledProcessError:
                if not left:
                    raise
            else:
                break
        return port

    try:
        kind = ("-U", "steward", "--auth=trust", "-E", "UTF8", "--locale=C")
        run("initdb", "--no-sync", "-D", data, *kind)
        port = started()
        try:
            yield f"postgresql+psycopg://steward@127.0.0.1:{port}/postgres"
        finally:
            run("pg_ctl", "-D", data, "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(place, ignore_errors=True)
