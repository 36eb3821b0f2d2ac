"""A game as OpenEnv's server, asked over HTTP, where OpenEnv is installed."""

from __future__ import annotations

import pytest

pytest.importorskip("openenv", reason="OpenEnv is not installed")

from fastapi.testclient import TestClient

from coterie.errors import UnknownName
from coterie.training.bridges.openenv import openenv_app


def test_a_game_over_its_websocket():
    with TestClient(openenv_app("tictactoe", seat=0)) as client, client.websocket_connect("/ws") as line:
        line.send_json({"type": "reset", "data": {"seed": 0}})
        seen = line.receive_json()["data"]
        assert "You are X" in seen["observation"]["text"]
        line.send_json({"type": "step", "data": {"action": "no cell"}})
        seen = line.receive_json()["data"]
        assert seen["done"]
        assert seen["reward"] == -1.0


def test_wrong_arguments_are_refused_before_anything_is_served():
    with pytest.raises(UnknownName):
        openenv_app("tictactow")
