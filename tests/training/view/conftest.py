"""A server that answers on a port, as long as a test runs."""

from __future__ import annotations

import re
import threading
from typing import Any

import pytest


@pytest.fixture
def served():
    """``served(show, **more)``: the address of a server in a thread of its own; ``more`` as for ``app.application``."""
    pytest.importorskip("uvicorn")
    from coterie.training.view.app import serve

    running: list[Any] = []

    def begin(show: dict[str, Any], **more: Any) -> str:
        said, servers, told = [], [], threading.Event()

        def ready(server: Any) -> None:
            servers.append(server)
            told.set()

        def run() -> None:
            serve(show, write=said.append, ready=ready, **more)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        assert told.wait(60)
        running.append((servers[0], thread))
        found = re.search(r"http://\S+", said[0])
        assert found is not None
        return found[0]

    yield begin
    for server, thread in running:
        server.should_exit = True
        thread.join(60)
        assert not thread.is_alive()
