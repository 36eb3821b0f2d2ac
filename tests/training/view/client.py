"""A client of the server of ``coterie view``: what its tests share."""

from __future__ import annotations

import json
from typing import Any

import pytest

from coterie.envs.registry import make_game
from coterie.training.runs.players import make_player

pytest.importorskip("starlette")
from starlette.testclient import TestClient

from coterie.training.view import rooms
from coterie.training.view.app import application

HOSTS = ["127.0.0.1:80", "testserver"]
OWN = {"origin": "http://testserver"}


def host(name: str = "tictactoe", *words: str, **more: Any) -> rooms.Host:
    return rooms.Host(make_game(name), words or ("human", "minimax"), more.pop("player", make_player), **more)


def show(name: str = "tictactoe-v0") -> dict[str, Any]:
    return {"format": 1, "kind": "play", "game": name, "title": "A game", "goal": ""}


def client(app: Any = None, **more: Any) -> TestClient:
    return TestClient(app or application(show(), HOSTS, host=host(), **more))


def until(socket: Any, wanted: Any, kind: str = "game") -> dict[str, Any]:
    """The first message that fits."""
    for _ in range(400):
        data: dict[str, Any] = json.loads(socket.receive_text())
        if data["kind"] == kind and wanted(data):
            return data
    raise AssertionError("it never came")
