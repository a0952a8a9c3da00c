"""`discreet serve`: what it refuses, and that the demo opens and leaves nothing."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from discreet.cli.serve import serve
from discreet.web.settings import WebError
from tests.ports import free_port


def test_what_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WebError, match="add --team"):
        serve(host="0.0.0.0")
    with pytest.raises(WebError, match="is not a folder"):
        serve(tmp_path / "nowhere")
    with pytest.raises(WebError, match="nobody can sign in yet"):
        serve(host="0.0.0.0", team=True, name=["here.example"], folder=tmp_path / "web")


def test_the_demo_opens_and_leaves_nothing(tmp_path: Path) -> None:
    port = free_port()
    with subprocess.Popen(
        [sys.executable, "-m", "discreet.cli", "serve", "--demo", "--port", str(port)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    ) as server:
        assert server.stdout is not None
        said = ""
        while "Stop with Ctrl-C" not in said:
            line = server.stdout.readline()
            assert line, said
            said += line
        link = re.search(r"http://\S+", said)
        assert link is not None
        assert re.search(r"name analyst, password \S{16}", said)
        assert answered(f"http://localhost:{port}/sign-in") == 200
        assert list(tmp_path.glob("discreet-demo-*/web.db"))
        server.send_signal(signal.SIGINT)
        server.wait(600)
    assert not list(tmp_path.iterdir())


def answered(address: str) -> int:
    """The status, as soon as somebody answers."""
    end = time.monotonic() + 600
    while True:
        try:
            with urllib.request.urlopen(address) as answer:
                return int(answer.status)
        except urllib.error.URLError:
            assert time.monotonic() < end, "nobody answers"
            time.sleep(0.1)
