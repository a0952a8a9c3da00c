"""A server that answers on a port of this computer, for clients that are not ours."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from discreet.web.app import create_app
from discreet.web.house import House


@contextmanager
def live(house: House) -> Iterator[str]:
    """Its address."""
    app = create_app(house.settings, house)
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            port=0,
            log_level="warning",
            log_config=None,  # else it closes the handlers of others, and they their streams
            server_header=False,
        )
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    end = time.monotonic() + 600
    while not server.started and time.monotonic() < end:
        time.sleep(0.02)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://localhost:{port}"
    finally:
        server.should_exit = True
        thread.join(600)
