"""Who may talk to the server: what stands between the network and its pages.

A server on loopback answers only requests that name it as their host, so that no page of another site reaches it by a
name that points here (DNS rebinding). Elsewhere it needs a token, which comes with the address once and stays in a
cookie. Sockets, and whatever else names the page it comes from, must come from the server's own pages.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Collection
from typing import Any, Final, TypeAlias
from urllib.parse import parse_qsl, urlencode

__all__ = ["POLICY", "Bucket", "Guard"]

App: TypeAlias = Any
"""An ASGI application: ``async (scope, receive, send)``."""

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self' ws://{host}; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The pages' content security policy: nothing from elsewhere, no scripts in texts, no frames around them."""

HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}

_HOST: Final = re.compile(r"[\w.-]+(:\d{1,5})?|\[[0-9a-fA-F:.]+\](:\d{1,5})?", re.ASCII)


class Guard:
    """An ASGI application that lets only good requests through to another, and adds headers to the answers.

    Args:
        app: the application.
        hosts: what a request may name as its host; empty: anything, if the token is right.
        token: what requests must know; ``""``: nothing.
    """

    def __init__(self, app: App, hosts: Collection[str], token: str = "") -> None:
        self._app, self._hosts, self._token = app, frozenset(hosts), token
        # A browser sends a host's cookies to all of its ports: each server needs a name of its own.
        self._name = f"coterie-{hashlib.sha256(token.encode()).hexdigest()[:8]}"

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        host = headers.get("host", "")
        status, told = self._verdict(scope, headers, host)
        if scope["type"] == "websocket":
            if status == 200:
                await self._app(scope, receive, send)
            else:
                await receive()
                await send({"type": "websocket.close", "code": 1008, "reason": told})  # before it is accepted: 403
            return
        policy = {"Content-Security-Policy": POLICY.format(host=host if _HOST.fullmatch(host) else "localhost")}

        async def answer(message: Any) -> None:
            if message["type"] == "http.response.start":
                own = {name.lower() for name, _ in message["headers"]}
                more = [(k.lower().encode(), v.encode()) for k, v in (HEADERS | policy).items()]
                message = message | {"headers": [*message["headers"], *(h for h in more if h[0] not in own)]}
            await send(message)

        if status == 200:
            await self._app(scope, receive, answer)
            return
        more = [(b"content-type", b"text/plain; charset=utf-8")]
        if status == 303:
            more += [(b"location", told.encode()), (b"set-cookie", self._cookie().encode())]
        await answer({"type": "http.response.start", "status": status, "headers": more})
        await answer({"type": "http.response.body", "body": b"" if status == 303 else f"{told}\n".encode()})

    def _verdict(self, scope: Any, headers: dict[str, str], host: str) -> tuple[int, str]:
        """A status and its reason: 200, or 303 and where to go, or why it is refused."""
        if not _HOST.fullmatch(host) or (self._hosts and host.lower() not in self._hosts):
            return 403, f"This server does not answer to the name {host[:80]!r}. Use the address that it printed."
        origin = headers.get("origin")
        if origin is not None or scope["type"] == "websocket":
            if origin not in (f"http://{host}", f"https://{host}"):
                return 403, "This request comes from a page of another site."
        elif headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return 403, "This request comes from a page of another site."
        if scope["type"] == "http" and scope["method"] not in ("GET", "HEAD"):
            return 405, "This server takes only GET."
        if not self._token or self._known(headers):
            return 200, ""
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = dict(query).get("token", "")
        if scope["type"] == "http" and self._same(given):
            rest = urlencode([(name, value) for name, value in query if name != "token"])
            path = "/" + scope["path"].lstrip("/")  # never another host's //
            path = path if re.fullmatch(r"[\w/.-]*", path, re.ASCII) else "/"
            return 303, path + (f"?{rest}" if rest else "")
        return 403, "This server needs its token. Use the whole address that it printed."

    def _known(self, headers: dict[str, str]) -> bool:
        """Whether the token is among the cookies, which other servers of this host add to in any form."""
        cookies = (cookie.strip().partition("=") for cookie in headers.get("cookie", "").split(";"))
        return any(name == self._name and self._same(value) for name, _, value in cookies)

    def _same(self, given: str) -> bool:
        return hmac.compare_digest(given.encode("utf-8", "replace"), self._token.encode())

    def _cookie(self) -> str:
        return f"{self._name}={self._token}; HttpOnly; SameSite=Strict; Path=/"


class Bucket:
    """A token bucket, which limits how often something happens.

    Args:
        rate: how many a second, in the long run.
        burst: how many at once.
    """

    def __init__(self, rate: float, burst: float) -> None:
        self._rate, self._burst = rate, burst
        self._left, self._at = burst, 0.0

    def take(self, now: float) -> bool:
        """Whether it may happen now, at a time in seconds."""
        self._left = min(self._burst, self._left + (now - self._at) * self._rate)
        self._at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True
