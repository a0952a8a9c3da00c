"""`discreet serve`: what it refuses, and that the demo opens and leaves nothing."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from discreet.cli.serve import serve
from discreet.web.settings import WebError


def test_what_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WebError, match="add --team"):
        serve(host="0.0.0.0")
    with pytest.raises(WebError, match="is no folder"):
        serve(tmp_path / "nowhere")
    with pytest.raises(WebError, match="nobody can sign in yet"):
        serve(host="0.0.0.0", team=True, name=["here.example"], folder=tmp_path / "web")


def test_the_demo_opens_and_leaves_nothing(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-m", "discreet.cli", "serve", "--demo", "--port", "8917"],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    ) as server:
        assert server.stdout is not None
        said = "".join(
            iter(server.stdout.readline, "Stop with Ctrl-C: uploaded logs are deleted then.\n")
        )
        link = re.search(r"http://\S+", said)
        assert link is not None
        for _ in range(200):
            try:
                with urllib.request.urlopen(link[0]) as answer:
                    assert answer.status in (200, 303)
                break
            except ConnectionError:
                continue
            except urllib.error.URLError:
                continue
        assert list(tmp_path.iterdir())
        server.send_signal(signal.SIGINT)
        assert server.wait(60) in (0, 130, -2)
    assert not list(tmp_path.iterdir())
