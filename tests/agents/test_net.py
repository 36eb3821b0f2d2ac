"""Nets as players: memory, files, what does not fit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from coterie.agents.core import Turn, seeded
from coterie.agents.net import NetAgent, PolicyNet, load_net, masked, save_net
from coterie.envs.making import make_vec
from coterie.envs.registry import make_game
from coterie.errors import ModelError, UsageError

WORLD = {"preset": "a3_11x11", "max_steps": 10}


def net(seed: int = 0) -> PolicyNet:
    torch.manual_seed(seed)
    return PolicyNet(24, 11, 11, 22, hidden=32)


def turns(vec: object, rows: list[int]) -> list[Turn]:
    return [Turn(vec.game, vec.state, i, p, vec.action_mask[i, p], 0) for i in rows for p in range(vec.num_players)]


def test_masked_logits_leave_the_dead_alone() -> None:
    found = masked(torch.zeros(2, 3), torch.tensor([[1, 0, 1], [0, 0, 0]], dtype=torch.int8))
    assert found.tolist() == [[0.0, -1e9, 0.0], [0.0, 0.0, 0.0]]


def test_an_agent_remembers_its_episode_and_nothing_of_the_one_before() -> None:
    vec = make_vec("gridworld-v0", num_envs=2, seed=3, **WORLD)
    vec.reset()
    policy = net()
    agent = NetAgent(policy, vec.game, greedy=True)
    memory = torch.zeros(6, 32)
    for tick in range(25):
        if tick % 10 == 0:
            memory = torch.zeros(6, 32)
        seen, mask = torch.from_numpy(vec.observation.reshape(6, 24, 11, 11).copy()), vec.action_mask.reshape(6, 22)
        with torch.no_grad():
            logits, _, memory = policy.step(seen, memory)
        wanted = masked(logits, torch.from_numpy(mask.copy())).argmax(-1).tolist()
        for _ in range(1 + tick % 2):  # asked again in the same tick it answers the same
            answers = [d.action for d in agent.act(seeded(turns(vec, [0, 1])))]
            assert answers == wanted, f"tick {tick}"
        vec.step(np.array(answers, np.int32).reshape(2, 3))


def test_sampled_actions_follow_the_policy_and_the_generator() -> None:
    vec = make_vec("gridworld-v0", num_envs=40, seed=3, **WORLD)
    vec.reset()
    one, two = NetAgent(net(), vec.game), NetAgent(net(), vec.game)
    asked = turns(vec, list(range(40)))
    first = [d.action for d in one.act(seeded(asked, 1))]
    assert first == [d.action for d in two.act(seeded(asked, 1))]
    assert len(set(first)) > 3
    assert all(turn.mask[action] for turn, action in zip(asked, first, strict=True))


def test_files_bring_back_the_same_net(tmp_path: Path) -> None:
    one = net(5)
    save_net(one, tmp_path / "there", {"game": "gridworld-v0"})
    other = load_net(tmp_path / "there")
    assert (other.shape, other.actions, other.hidden) == (one.shape, one.actions, one.hidden)
    assert all(torch.equal(a, b) for a, b in zip(one.state_dict().values(), other.state_dict().values(), strict=True))


@pytest.mark.parametrize("harm", ["missing", "cut", "json"])
def test_a_net_that_is_not_whole_is_told(tmp_path: Path, harm: str) -> None:
    save_net(net(), tmp_path)
    weights = tmp_path / "net.safetensors"
    if harm == "missing":
        weights.unlink()
    elif harm == "cut":
        weights.write_bytes(weights.read_bytes()[:5000])
    else:
        (tmp_path / "net.json").write_text("{")
    with pytest.raises(ModelError, match="holds no complete net"):
        load_net(tmp_path)


def test_a_net_for_other_worlds_is_refused() -> None:
    with pytest.raises(UsageError, match=r"takes observations of shape \[24, 11, 11\] and has 22 actions"):
        NetAgent(net(), make_game("gridworld", preset="a3_11x11", observation={"height": 9, "width": 9}))
    with pytest.raises(UsageError, match="too small"):
        PolicyNet(24, 5, 5, 22)


def test_the_net_that_ships_has_learned() -> None:
    from coterie.agents.baselines import make_baseline
    from coterie.training.evaluation.worlds import play_worlds
    from coterie.training.runs.players import make_player

    game = make_game("gridworld", preset="a5_25x25_simple")
    scores = [
        play_worlds(game, agent, 3, 0, max_steps=250)
        for agent in (make_player("net", game), make_baseline("random", game))
    ]
    assert scores[0].mean > 1.5
    assert scores[0].mean > 4 * scores[1].mean
