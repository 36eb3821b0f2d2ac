"""HTTP for a server that others reach: a connection that does not get its request across in time is closed."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.h11_impl import H11Protocol

__all__ = ["SECONDS", "PromptProtocol"]

SECONDS: Final = 10.0
"""How long a request's headers may take; uvicorn itself waits for ever."""


class PromptProtocol(H11Protocol):
    """uvicorn's protocol with a limit on the time that headers take, of the first request and of later ones."""

    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Take what has come; what is no whole request yet does not gain time."""
        super().data_received(data)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        super().connection_lost(exc)
        if self._late is not None:
            self._late.cancel()

    def _wait(self) -> None:
        if self._asked():
            if self._late is not None:
                self._late.cancel()
                self._late = None
        elif self._late is None:
            self._late = self.loop.call_later(SECONDS, self._give_up)

    def _asked(self) -> bool:
        """Whether there is a request, or the connection has become a socket."""
        running = self.cycle is not None and not self.cycle.response_complete
        return running or self.transport.get_protocol() is not self

    def _give_up(self) -> None:
        if not self._asked():
            self.transport.close()
