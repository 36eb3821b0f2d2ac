"""The server of ``coterie view``: one page, its scripts and styles, and what they ask for.

It answers GET alone, knows the paths below and no others, and opens no file that a request names::

    /                the page
    /static/NAME     a script or a style of the page
    /play            a socket: a game (``rooms``)
    /run/K?...       run K as JSON, or what is new in it (``run``)
    /run/K/leaderboard.html

"""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import socket
import webbrowser
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, Final

from ...errors import CoterieError, UsageError, needs
from ...renderers.web.page import STYLES, scripts_of, served, static
from .guard import Guard
from .rooms import LONGEST, Host, Rooms
from .run import RunPage

__all__ = ["application", "serve"]

LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")

EVERYWHERE: Final = ("", "0.0.0.0", "::")
"""All addresses of this machine, which the printed address names by the machine's name."""

SWEEP: Final = 60.0
"""Seconds between looks for rooms to which nobody has come back."""

SANDBOX: Final = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'"
"""The policy of pages that lie in run folders: they may show themselves, and do nothing."""


def application(
    show: dict[str, Any],
    hosts: Sequence[str],
    *,
    token: str = "",
    host: Host | None = None,
    runs: Sequence[RunPage] = (),
    patience: float = 3600.0,
) -> Any:
    """The server as an ASGI application.

    Args:
        show: the page's data.
        hosts: what requests may name as their host; empty: anything, if the token is right.
        token: what requests must know; ``""``: nothing.
        host: the games to play; None: none.
        runs: the runs to show.
        patience: seconds after which a game without a page is dropped.

    Raises:
        MissingExtra: starlette is not installed.
    """
    with needs("Serving pages", "view"):
        from starlette.applications import Starlette
        from starlette.responses import JSONResponse, Response
        from starlette.routing import Route, WebSocketRoute

    rooms = Rooms(host, patience=patience) if host else None
    files = {name: static(name) for name in (*scripts_of(show), *STYLES)}
    kinds = {"js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8"}
    text = served(show)
    numbered = {str(number): page for number, page in enumerate(runs)}

    async def index(request: Any) -> Any:
        return Response(text, media_type="text/html")

    async def file(request: Any) -> Any:
        name = request.path_params["name"]
        if name not in files:
            return Response("There is no such file.\n", 404, media_type="text/plain")
        return Response(files[name], headers={"content-type": kinds[name.rpartition(".")[2]]})

    async def run(request: Any) -> Any:
        page = _run(request)
        if page is None:
            return JSONResponse({"why": "There is no such run."}, 404)
        try:
            since = {name: _whole(request.query_params.get(name, "")) for name in ("rows", "stride", "stamp")}
            found = await asyncio.to_thread(page.changes, **since)
        except CoterieError as error:
            return JSONResponse({"why": str(error)}, 409)
        return Response(json.dumps(found, allow_nan=False), media_type="application/json")

    async def leaderboard(request: Any) -> Any:
        page = _run(request)
        found = await asyncio.to_thread(page.leaderboard) if page else None
        if found is None:
            return Response("There is no leaderboard.\n", 404, media_type="text/plain")
        return Response(found, media_type="text/html", headers={"content-security-policy": SANDBOX})

    def _run(request: Any) -> RunPage | None:
        return numbered.get(request.path_params["number"])

    async def play(socket: Any) -> None:
        await socket.accept()
        try:
            if rooms is None:
                raise UsageError("There is nothing to play here.")
            room = await rooms.room(socket.query_params.get("session", ""))
        except CoterieError as error:
            await socket.send_text(json.dumps({"kind": "refused", "why": str(error)}))
            await socket.close(1013)
            return
        await room.serve(socket)

    @contextlib.asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[None]:
        async def sweep() -> None:
            while rooms is not None:
                await asyncio.sleep(SWEEP)
                rooms.sweep()

        sweeping = asyncio.create_task(sweep())
        yield
        sweeping.cancel()
        if rooms is not None:
            await rooms.close()

    routes = [
        Route("/", index),
        Route("/static/{name}", file),
        Route("/run/{number}", run),
        Route("/run/{number}/leaderboard.html", leaderboard),
        WebSocketRoute("/play", play),
    ]
    return Guard(Starlette(routes=routes, lifespan=lifespan), hosts, token)


def _whole(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else 0


def serve(
    show: dict[str, Any],
    *,
    address: str = "127.0.0.1",
    port: int = 0,
    open_page: bool = False,
    write: Callable[[str], None] = print,
    ready: Callable[[Any], None] = lambda server: None,
    **more: Any,
) -> None:
    """Serve a page until Ctrl-C, or until ``should_exit`` of uvicorn's server is set.

    Args:
        show: the page's data.
        address: where to listen; anywhere but on loopback, the server makes a token and asks for it.
        port: 0: a free one.
        open_page: also open the page in a browser.
        write: prints the address.
        ready: called with uvicorn's server before it runs.
        **more: as ``application``.

    Raises:
        MissingExtra: uvicorn is not installed.
        UsageError: the address or port cannot be used.
    """
    with needs("Serving pages", "view"):
        import uvicorn
        import websockets  # noqa: F401  # uvicorn finds it by itself

        from .prompt import PromptProtocol
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listening = socket.socket(family)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((address, port))
        listening.listen(128)  # requests that come before uvicorn runs wait
    except (OSError, OverflowError, UnicodeError) as error:
        listening.close()
        why = str(getattr(error, "strerror", None) or error).rstrip(".")
        raise UsageError(
            f"Cannot listen on {address}, port {port}: {why}. Try another --host, or --port 0 for a free port."
        ) from None
    port = listening.getsockname()[1]
    local = address in LOOPBACK
    token = "" if local else secrets.token_urlsafe(24)
    name = socket.gethostname() if address in EVERYWHERE else address
    named = f"[{name}]" if ":" in name else name
    hosts = [f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")] if local else []
    url = f"http://{named}:{port}/" + (f"?token={token}" if token else "")
    app = application(show, hosts, token=token, **more)
    config = uvicorn.Config(
        app,
        log_level="warning",
        http=PromptProtocol,
        ws="websockets-sansio",
        ws_max_size=LONGEST,
        ws_max_queue=32,
        proxy_headers=False,
        limit_concurrency=64,
        timeout_graceful_shutdown=2,
        server_header=False,
        access_log=False,
    )
    write(f"Serving on {url}  (Ctrl-C ends it)")
    if not local:
        write("Whoever knows this address can use the page. The connection is not encrypted.")
    if open_page:
        webbrowser.open(url)
    server = uvicorn.Server(config)
    ready(server)
    try:
        server.run(sockets=[listening])
    except KeyboardInterrupt:
        pass
    finally:
        listening.close()
