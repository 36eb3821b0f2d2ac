"""Who the server of ``coterie view`` lets in, by name, origin and token, and how long it waits for them."""

from __future__ import annotations

import socket
from typing import Any
from urllib.parse import urlsplit

import pytest

pytest.importorskip("starlette")
from starlette.websockets import WebSocketDisconnect

from coterie.training.view.app import application

from .client import OWN, client, host, show, until


@pytest.mark.parametrize("name", ["evil.example", "127.0.0.1.evil.example", "127.0.0.1:81", "", "a b", "x\r\ny"])
def test_only_its_own_names_are_answered(name: str) -> None:
    answer = client().get("/", headers={"host": name})
    assert answer.status_code == 403
    assert "kind" not in answer.text


def test_every_answer_has_the_headers_that_keep_pages_apart() -> None:
    with client() as browser:
        for path in ("/", "/static/play.js", "/static/none.js", "/nothing", "/run/0"):
            headers = browser.get(path).headers
            assert "default-src 'none'" in headers["content-security-policy"]
            assert "frame-ancestors 'none'" in headers["content-security-policy"]
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["referrer-policy"] == "no-referrer"


def test_the_page_and_its_files() -> None:
    with client() as browser:
        page = browser.get("/").text
        assert '<script src="/static/play.js">' in page
        assert "javascript" in browser.get("/static/play.js").headers["content-type"]
        assert browser.get("/static/base.css").headers["content-type"].startswith("text/css")


@pytest.mark.parametrize(
    "path",
    [
        *("/static/../app.py", "/static/..%2fapp.py", "/static/%2e%2e/app.py", "/static//etc/passwd"),
        *(
            "/static/shell.js%00",
            "/static/....//shell.js",
            "/static/",
            "/..%2f..%2fetc/passwd",
            "/run/0/../../etc/passwd",
        ),
        *("/run/0/../../etc/passwd", "/run/7", "/run/-1", "/run/x", "/run/0/config.yaml", "/run/" + "9" * 5000),
    ],
)
def test_no_path_leads_elsewhere(path: str) -> None:
    with client() as browser:
        assert browser.get(path).status_code == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"])
def test_only_get_is_answered(method: str) -> None:
    with client() as browser:
        assert browser.request(method, "/", content=b"x" * 100).status_code == 405


def test_other_sites_may_not_even_load_it() -> None:
    with client() as browser:
        assert browser.get("/", headers={"origin": "http://evil.example"}).status_code == 403
        assert browser.get("/static/play.js", headers={"sec-fetch-site": "cross-site"}).status_code == 403
        assert browser.get("/", headers={"sec-fetch-site": "none"}).status_code == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://testserver.evil.example", "", None])
def test_sockets_open_from_its_own_page_alone(origin: str | None) -> None:
    headers = {} if origin is None else {"origin": origin}
    with client() as browser, pytest.raises(WebSocketDisconnect), browser.websocket_connect("/play", headers=headers):
        pass


def test_sockets_open_under_its_own_name_alone() -> None:
    headers = {"origin": "http://evil.example", "host": "evil.example"}
    with client() as browser, pytest.raises(WebSocketDisconnect), browser.websocket_connect("/play", headers=headers):
        pass


def test_a_token_is_asked_for_and_then_remembered() -> None:
    app = application(show(), [], token="sesame", host=host())
    with client(app) as browser:
        for path in ("/", "/static/play.js", "/?token=wrong", "/?token=", "/?token=sesam", "/?token=sesame2"):
            assert browser.get(path).status_code == 403, path
        assert browser.get("/", headers={"cookie": "coterie=wrong"}).status_code == 403
        with pytest.raises(WebSocketDisconnect), browser.websocket_connect("/play?token=sesame", headers=OWN):
            pass
        answer = browser.get("/?token=sesame&x=1", follow_redirects=False)
        assert (answer.status_code, answer.headers["location"]) == (303, "/?x=1")
        assert "HttpOnly" in answer.headers["set-cookie"]
        assert "SameSite=Strict" in answer.headers["set-cookie"]
        assert browser.get("/").status_code == 200
        with browser.websocket_connect("/play", headers=OWN) as socket:
            assert until(socket, lambda data: True)["status"] == "Your move"


def test_cookies_of_other_servers_on_the_host_do_no_harm() -> None:
    names = set()
    for token in ("sesame", "simsim"):
        with client(application(show(), [], token=token, host=host())) as browser:
            kept = browser.get(f"/?token={token}", follow_redirects=False).headers["set-cookie"].partition(";")[0]
            browser.cookies.clear()
            name = kept.partition("=")[0]
            names.add(name)
            for cookies, status in (
                (f'a={{"b": [1, "c"]}}; {kept}', 200),
                (f"{name}=x; {kept}", 200),
                (f"{name}=x", 403),
            ):
                assert browser.get("/", headers={"cookie": cookies}).status_code == status
    assert len(names) == 2


def test_a_token_never_sends_the_browser_to_another_host() -> None:
    with client(application(show(), [], token="sesame", host=host())) as browser:
        answer = browser.get("//evil.example/%0d%0aset-cookie:x?token=sesame", follow_redirects=False)
        assert answer.status_code in (303, 404)
        assert answer.headers.get("location", "/").startswith("/")
        assert not answer.headers.get("location", "/").startswith("//")


@pytest.mark.parametrize(
    "sent", [b"", b"GET / HTTP/1.1\r\nhost: ", b"GET /static/base.css HTTP/1.1\r\nhost: HOST\r\n\r\nGET"]
)
def test_a_request_that_never_ends_is_not_waited_for(served: Any, monkeypatch: pytest.MonkeyPatch, sent: bytes) -> None:
    monkeypatch.setattr("coterie.training.view.prompt.SECONDS", 0.3)
    place = urlsplit(served(show(), host=host())).netloc
    name, _, port = place.partition(":")
    with socket.create_connection((name, int(port)), timeout=30) as slow:
        slow.sendall(sent.replace(b"HOST", place.encode()))
        try:
            while slow.recv(65536):
                slow.sendall(b"x")
        except ConnectionError:
            pass  # closed while it was written to
