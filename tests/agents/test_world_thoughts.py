"""What nets think in a world: the probabilities that they act by, tick by tick."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
import torch

from coterie.agents.baselines import make_baseline
from coterie.agents.human.table import Match, follow
from coterie.agents.net import NetAgent, PolicyNet
from coterie.agents.thoughts import is_model
from coterie.agents.world_thoughts import ALL, world_thoughts
from coterie.aliases import RUNNING
from coterie.cli import main
from coterie.envs.registry import make_game
from coterie.errors import UsageError
from coterie.renderers.web.world import pack_shares, unpack


class Watched(NetAgent):
    """Keeps the probabilities by which it sampled its actions."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.by: list[dict[int, Any]] = []

    def act(self, turns: Any) -> Any:
        own = NetAgent.policy(self, turns)  # changes nothing in what follows
        self.by.append({turn.player: (shares, turn.mask.copy()) for turn, shares in zip(turns, own, strict=True)})
        return super().act(turns)


def test_a_replay_thinks_what_was_thought_when_it_was_played() -> None:
    game = make_game("gridworld", preset="a3_11x11", max_steps=8, death={"energy": True}, agent={"upkeep": 40})
    torch.manual_seed(3)
    planes, height, width = game.info.observation_shape
    net = PolicyNet(planes, height, width, game.info.num_actions, hidden=16)
    player = Watched(net, game)
    assert is_model(player)
    match = Match(game, ["net"] * 3, 5)
    for _ in follow(match, [player] * 3):
        pass
    assert match.status != RUNNING
    record = match.record()
    found = world_thoughts(game, record, dict.fromkeys((0, 2), NetAgent(net, game)))
    assert list(found) == [0, 2]
    for slot, kept in found.items():
        assert kept.shape == (len(record.actions) + 1, game.info.num_actions)
        for tick, row in enumerate(kept):
            known = player.by[tick].get(slot) if tick < len(player.by) else None
            if known is None:
                assert (row == -1).all()
                continue
            shares, mask = known
            assert ((row >= 0) == (mask != 0)).all()
            np.testing.assert_allclose(np.maximum(row, 0) / ALL, shares, atol=1 / ALL)
        assert (unpack(pack_shares(kept))["shares"].reshape(kept.shape) == kept).all()
    few = world_thoughts(game, record, dict.fromkeys(range(3), NetAgent(net, game)), most=found[0].size * 2)
    assert list(few) == [0, 1]
    with pytest.raises(UsageError, match="does not say with which probabilities"):
        world_thoughts(game, record, {0: make_baseline("forager", game)})


def test_the_command_writes_them_into_the_page(tmp_path: Path) -> None:
    def asked(*more: str) -> list[str]:
        words = ["view", "gridworld", "--preset", "a5_25x25", "--ticks", "2", "--html", str(tmp_path / "w.html"), *more]
        assert main(words) == 0
        data = re.search(r'id="coterie-show">(.*?)</script>', (tmp_path / "w.html").read_text(), re.DOTALL)
        assert data is not None
        return list(json.loads(data[1])["world"].get("thoughts", {}))

    assert asked("--players", "net", "forager") == ["0"]
    assert asked("--players", "net", "--texts", "2", "3") == ["2", "3"]
    assert asked("--players", "net", "--no-thoughts") == []
    assert asked("--players", "forager", "--ask", "net") == ["0", "1", "2", "3", "4"]
