"""Pages' data of worlds: what is unpacked is what was played."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from coterie.aliases import RUNNING
from coterie.envs import make_game
from coterie.envs.core import Game, GameRecord
from coterie.envs.gridworld.config.presets import list_presets
from coterie.envs.gridworld.seen.planes import relatedness
from coterie.envs.gridworld.state import GONE, World
from coterie.envs.state import take
from coterie.errors import UsageError
from coterie.renderers.web import shows
from coterie.renderers.web.world import AGENT_COLUMNS, OBJECT_COLUMNS, show, unpack

DEADLY: dict[str, Any] = {
    "map": {
        "height": 14,
        "width": 16,
        "agents": 7,
        "objects": {"wall": 20, "generator": 12, "converter": 5, "altar": 3},
    },
    "agent": {"upkeep": 2, "energy": 150, "hp": 3},
    "death": {"energy": True, "hp": True},
    "kinship": {"mode": "relatedness", "size": 3},
    "randomize": {"agent.max_items": [2, 6], "objects.*.hp": [1, 3]},
}
"""Agents and objects disappear, and the dead stay in their slots."""


def played(game: Game, ticks: int, seed: int = 1) -> tuple[GameRecord, list[World], list[Any]]:
    """A world in which agents mostly do what succeeds; all its states and rewards."""
    rng = np.random.default_rng(seed)
    state = game.new_state(1)
    game.kernels.reset(state, 0, np.uint64(seed))
    states, paid, actions, status = [take(state)], [np.zeros(game.info.players, np.float32)], [], RUNNING
    while status == RUNNING and len(actions) < ticks:
        masks = [game.legal_mask(state, 0, p) for p in range(game.info.players)]
        chosen = [int(rng.choice(np.flatnonzero(mask))) if mask.any() else 0 for mask in masks]
        rewards = np.zeros(game.info.players, np.float32)
        status = game.kernels.step(state, 0, np.array(chosen, np.int32), rewards)
        actions.append(chosen)
        states.append(take(state))
        paid.append(rewards)
    returns = tuple(np.sum(paid, 0).tolist())
    return GameRecord(states[0], actions, ("random",) * game.info.players, returns, status), states, paid


def objects_at(columns: dict[str, Any], tick: int) -> dict[str, Any]:
    """Each field of the objects at a tick."""
    now = {name: columns[f"objects.{name}"].astype(np.int64) for name in OBJECT_COLUMNS}
    when, place = np.cumsum(columns["change.tick"].astype(np.int64)), columns["change.place"]
    for k in np.flatnonzero(when <= tick):
        for name in OBJECT_COLUMNS:
            now[name][place[k]] = columns[f"change.{name}"][k]
    return now


@pytest.mark.parametrize("preset", [*list_presets(), DEADLY], ids=lambda one: one if isinstance(one, str) else "deadly")
def test_every_tick_comes_back(preset: Any) -> None:
    game = make_game("gridworld", **({"preset": preset} if isinstance(preset, str) else preset))
    record, states, paid = played(game, 60)
    made = json.loads(json.dumps(show(game, record, texts=()), allow_nan=False))["world"]
    columns, ticks = unpack(made["state"]), len(record.actions)
    assert (made["ticks"], made["slots"]) == (ticks, game.info.players)
    wide = {name: columns[name].reshape(-1, ticks + 1).astype(np.int64).cumsum(1) for name in AGENT_COLUMNS}
    for j in range(len(made["items"])):
        wide[f"item.{j}"] = columns[f"item.{j}"].reshape(-1, ticks + 1).astype(np.int64).cumsum(1)
    for tick, state in enumerate(states):
        for name in AGENT_COLUMNS:
            np.testing.assert_array_equal(wide[name][:, tick], state.agents[0][name], name)
        for j in range(len(made["items"])):
            np.testing.assert_array_equal(wide[f"item.{j}"][:, tick], state.items[0, :, j])
        np.testing.assert_array_equal(columns["reward"].reshape(-1, ticks + 1)[:, tick], paid[tick])
    for tick in {0, 1, ticks // 2, ticks}:
        objects, was = objects_at(columns, tick), states[tick].objects[0]
        np.testing.assert_array_equal(objects["type"], was["type"])
        there = was["type"] != GONE
        for name in OBJECT_COLUMNS:
            np.testing.assert_array_equal(objects[name][there], was[name][there], name)


def test_death_and_destruction_happen_in_these_tests() -> None:
    game = make_game("gridworld", **DEADLY)
    _, states, _ = played(game, 60)
    assert len({int(state.agents[0]["alive"].sum()) for state in states}) > 3, "not all at once"
    assert (states[-1].objects[0]["type"] == GONE).sum() > (states[0].objects[0]["type"] == GONE).sum()


def test_texts_are_what_agents_are_told() -> None:
    game = make_game("gridworld", **DEADLY)
    record, states, _ = played(game, 60)
    world = show(game, record, texts=(2, 6))["world"]
    assert list(world["texts"]) == ["2", "6"]
    for slot in (2, 6):
        packed = unpack(world["texts"][str(slot)])
        words = json.loads(packed["words"].tobytes())
        for tick, state in enumerate(states):
            told = game.describe(state, 0, slot) if state.agents[0, slot]["alive"] else ""
            assert words[packed["number"][tick]] == told


def test_texts_are_bounded_unless_they_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    game = make_game("gridworld", preset="a5_25x25")
    record, _, _ = played(game, 9)
    assert list(show(game, record)["world"]["texts"]) == ["0", "1", "2", "3", "4"]
    monkeypatch.setattr("coterie.renderers.web.world.TEXTS", 25)
    assert list(show(game, record)["world"]["texts"]) == ["0", "1"]
    assert list(show(game, record, texts=[4])["world"]["texts"]) == ["4"]
    with pytest.raises(UsageError, match=r"no agent 5 .* only 0..4"):
        show(game, record, texts=[5])


@pytest.mark.parametrize("mode", ["none", "teams", "families", "relatedness"])
def test_kin(mode: str) -> None:
    game = make_game("gridworld", preset="a5_25x25", kinship={"mode": mode, "size": 2})
    record, (state, *_), _ = played(game, 1)
    made = show(game, record)["world"]
    labels = state.agents[0]["label"]
    for a in range(5):
        near = {b: float(relatedness(state, 0, a, b)) for b in range(5) if b != a}
        if made["kin"] is not None:
            assert dict(made["kin"][a]) == {b: r for b, r in near.items() if r > 0}
        else:
            assert {b for b in near if labels[a] >= 0 and labels[b] == labels[a]} == {b for b in near if near[b] > 0}


def test_a_gridworld_is_a_world_to_whoever_asks_for_a_show() -> None:
    game = make_game("gridworld", preset="a3_9x9")
    record, _, _ = played(game, 5)
    found = shows.show(game, record, title="Three", command="again", texts=[1])
    assert (found["kind"], found["title"], found["command"], found["goal"]) == ("world", "Three", "again", game.goal)
    assert list(found["world"]["texts"]) == ["1"]
    tictactoe = make_game("tictactoe")
    start = tictactoe.new_state(1)
    tictactoe.kernels.reset(start, 0, np.uint64(0))
    with pytest.raises(UsageError, match="tictactoe"):
        shows.show(tictactoe, GameRecord(start, [[0, 0]], ("a", "b"), (0.0, 0.0), RUNNING), texts=[1])
