"""Ports for servers that tests start."""

from __future__ import annotations

import socket
from random import SystemRandom


def free_port() -> int:
    """A port on which nobody listens, of those that no client is given meanwhile."""
    for port in SystemRandom().sample(range(20_000, 32_000), 100):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError("no port is free")
