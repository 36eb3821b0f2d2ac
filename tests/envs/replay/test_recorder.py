"""Worlds in a file: recorded from every face, played again exactly, and every fault told with its first tick."""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coterie.aliases import RUNNING, TERMINATED, TRUNCATED
from coterie.envs.making import make, make_vec
from coterie.envs.registry import make_game
from coterie.envs.replay.file import read_games, replay, write_json
from coterie.envs.replay.packing import checksum
from coterie.envs.replay.recorder import Recorded, Recorder
from coterie.envs.state import take, to_bytes
from coterie.errors import NotationError, UsageError

SMALL = {
    "map": {"height": 9, "width": 11, "agents": 4, "objects": {"wall": 6, "generator": 6, "converter": 3, "altar": 3}}
}
RANGES = {
    "agent.energy": [20, 250],
    "agent.max_items": [1, 6],
    "agent.freeze": [1, 8],
    "trait.damage": [1, 60],
    "kinship.size": [1, 4],
    "kinship.share": [0.0, 1.0],
    "objects.*.cooldown": [1, 9],
    "objects.altar.energy_cost": [5, 120],
}


def played(seed: int = 0, ticks: int = 60, **config: Any) -> Recorder:
    """A world under random hands, numbers that are no actions among their actions."""
    game = make_game("gridworld", **{**SMALL, "max_steps": 5000, **config})
    state = game.new_state(3)
    game.kernels.reset(state, 2, np.uint64(seed))
    noted = Recorder(game, take(state, 2), seed)
    rng, status = np.random.default_rng(seed), RUNNING
    while status == RUNNING and noted.ticks < ticks:
        actions = rng.integers(0, game.info.num_actions, game.info.players).astype(np.int32)
        rewards = np.zeros(game.info.players, np.float32)
        status = int(game.kernels.step(state, 2, actions, rewards))
        noted.note(actions, rewards, status, state, 2)
    return noted


def line(noted: Recorder) -> str:
    return write_json(noted.game, noted.record(), noted.seed)


def changed(text: str, honest: bool = False, **changes: Any) -> str:
    """The line with other fields; ``honest``: with a checksum that fits."""
    fields = {name: value for name, value in (json.loads(text) | changes).items() if value is not ...}
    if honest:
        fields["checksum"] = checksum(fields)
    return json.dumps(fields) + "\n"


def with_action(noted: Recorder, tick: int, seat: int, action: int) -> str:
    """The packed actions with another one."""
    actions = np.array(noted.record().actions, np.uint8)
    actions[tick - 1, seat] = action
    return base64.b64encode(zlib.compress(actions.tobytes())).decode()


# -- there and back ----------------------------------------------------------------------------------------------------


MODES = [
    {},
    {"mode": "teams", "size": 2},
    {"mode": "families", "size": 2, "share": 0.7},
    {"mode": "relatedness", "size": 2},
    {"mode": "matrix", "matrix": [[1, 2, 0, 0], [0, 1, 0, 0], [0, 0, 3, 1], [1, 1, 1, 1]]},
    {"mode": "groups", "labels": [0, 0, 1, 1], "pct": [0.2, 0.9], "prestige_every": 7},
]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 2**64 - 1), st.sampled_from(MODES), st.booleans(), st.booleans(), st.integers(0, 80))
def test_every_world_comes_back(seed: int, kinship: dict[str, Any], random: bool, mortal: bool, ticks: int) -> None:
    config: dict[str, Any] = {"kinship": kinship} if kinship else {}
    if random:
        config["randomize"] = {
            name: span
            for name, span in RANGES.items()
            if not name.startswith("kinship.") or kinship.get("mode") == "families"
        }
    if mortal:
        config |= {"death": {"energy": True, "hp": True}, "agent": {"upkeep": 3}}
    noted = played(seed, ticks, **config)
    record = noted.record()
    (saved,) = read_games(line(noted))
    assert saved.seed == seed
    assert saved.record.actions == record.actions
    assert (saved.record.returns, saved.record.status) == (record.returns, record.status)
    *_, (mine, _, _) = replay(noted.game, record)
    *_, (theirs, _, status) = replay(saved.game, saved.record)
    assert to_bytes(saved.game, mine) == to_bytes(saved.game, theirs)
    assert status == record.status
    assert write_json(saved.game, saved.record, saved.seed) == line(noted), "written again it is the same line"


def test_a_long_world_takes_little_room() -> None:
    noted = played(ticks=5000, map={"height": 20, "width": 20, "agents": 24})
    assert noted.ticks == 5000
    text = line(noted)
    assert len(text) < 120_000, "0.84 bytes for each of 120,000 random actions, 13 kB of keys"
    assert len(read_games(text)[0].record.actions) == 5000


def test_starts_that_no_seed_leads_to() -> None:
    game = make_game("gridworld", **SMALL)
    state = game.new_state(1)
    game.kernels.reset(state, 0, np.uint64(7))
    state.agents["energy"][0, 1] = 3
    noted = Recorder(game, state, 7)
    assert noted.ticks == 0
    text = write_json(game, noted.record(), 7)
    assert "seed" not in json.loads(text)
    (saved,) = read_games(text)
    assert saved.record.start.agents["energy"][0, 1] == 3


# -- from environments -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["SameStep", "NextStep", "Disabled"])
def test_games_of_a_batch(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "new" / "games.jsonl"
    plain, env = (make_vec("gridworld", 3, autoreset_mode=mode, max_steps=12, **SMALL) for _ in range(2))
    recorded = Recorded(env, path, rows=[2, 0])
    plain.reset(seed=5)
    recorded.reset(seed=5)
    rng = np.random.default_rng(0)
    starts = {row: [take(plain.state, row)] for row in (0, 2)}
    for _ in range(30):
        actions = rng.integers(-1, 22, (3, 4))
        was = plain.status.copy()
        found, other = recorded.step(actions), plain.step(actions)
        assert np.array_equal(found[1], other[1])
        assert np.array_equal(found[0]["observation"], other[0]["observation"])
        for row in starts:
            if (mode == "SameStep" and other[4]["_final_obs"][row]) or (mode == "NextStep" and was[row] != RUNNING):
                starts[row].append(take(plain.state, row))
    assert recorded.num_envs == 3, "everything else is the environment's"
    recorded.close()
    games = read_games(path)
    first = [game for row in (2, 0) for game in games if game.seed == 5 + row]
    assert len(first) == 2
    lengths = {"SameStep": [12, 12, 6], "NextStep": [12, 12, 4], "Disabled": [12]}[mode]
    assert sorted(len(game.record.actions) for game in games) == sorted(lengths * 2)
    assert {game.record.status for game in games} <= {TRUNCATED, RUNNING}
    begun = {game.game.key(game.record.start, 0) for game in games}
    assert begun == {plain.game.key(start, 0) for row in starts for start in starts[row][: len(lengths)]}
    assert all(game.seed is not None for game in games)


def test_rows_and_restarts_of_a_batch(tmp_path: Path) -> None:
    env = Recorded(make_vec("gridworld", 3, **SMALL), tmp_path / "g.jsonl", rows=[1], players=["a", "b", "c", "d"])
    env.reset(seed=1)
    for _ in range(4):
        env.step(env.sample_actions())
    env.step(env.sample_actions(), rows=[0, 2])
    env.step(env.sample_actions(), rows=[False, True, False])
    env.reset(mask=[0])
    env.step(env.sample_actions())
    env.reset(mask=np.array([False, True, False]))
    kept = env.get_state(1)
    env.step(env.sample_actions())
    env.set_state(kept, rows=[1])
    env.step(env.sample_actions())
    env.close()
    games = read_games(tmp_path / "g.jsonl")
    assert [len(game.record.actions) for game in games] == [6, 1, 1]
    assert games[0].record.players == ("a", "b", "c", "d")
    assert games[1].seed == games[2].seed, "the state was that game's beginning"


def test_states_are_put_into_some_rows_only(tmp_path: Path) -> None:
    env = Recorded(make_vec("gridworld", 2, **SMALL), tmp_path / "g.jsonl", rows=[0, 1])
    env.reset(seed=1)
    env.step(env.sample_actions())
    env.set_state(env.get_state(0), rows=[1])
    env.step(env.sample_actions())
    env.close()
    lengths = {game.seed: len(game.record.actions) for game in read_games(tmp_path / "g.jsonl")}
    assert lengths == {2: 1, 1: 2, None: 1}, "row 0 was not touched"


@pytest.mark.parametrize("space", ["flat", "verbs"])
def test_games_of_a_parallel_environment(tmp_path: Path, space: str) -> None:
    config = {**SMALL, "max_steps": 9, "actions": {"space": space}, "death": {"energy": True}, "agent": {"upkeep": 40}}
    env = Recorded(make("gridworld", api="parallel", **config), tmp_path / "g.jsonl")
    for seed in (3, None):
        env.reset(seed=seed)
        while env.agents:
            env.step({agent: env.action_space(agent).sample() for agent in env.agents})
    env.reset()
    env.step({agent: env.action_space(agent).sample() for agent in env.agents})
    env.close()
    ended, second, left = read_games(tmp_path / "g.jsonl")
    assert (ended.seed, ended.record.status) == (3, TERMINATED)
    assert len({ended.seed, second.seed, left.seed}) == 3
    assert (left.record.status, len(left.record.actions)) == (RUNNING, 1)


def test_what_cannot_be_recorded(tmp_path: Path) -> None:
    path = tmp_path / "g.jsonl"
    with pytest.raises(UsageError, match="is not a world"):
        Recorded(make_vec("matrix", 2), path)
    with pytest.raises(UsageError, match="policies noop and raise"):
        Recorded(make_vec("gridworld", 2, illegal="resample", **SMALL), path)
    with pytest.raises(UsageError, match=r"of the rows 0\.\.1"):
        Recorded(make_vec("gridworld", 2, **SMALL), path, rows=[2])
    with pytest.raises(UsageError, match="pass a VecEnv or a ParallelGame"):
        Recorded(make("gridworld", **SMALL), path)  # type: ignore[arg-type]
    for begun in (make_vec("gridworld", 2, **SMALL), make("gridworld", api="parallel", **SMALL)):
        begun.reset(seed=0)
        with pytest.raises(UsageError, match=r"Call reset\(\) of the recorded environment first"):
            Recorded(begun, path).step({})  # type: ignore[arg-type]
    env = Recorded(make_vec("gridworld", 2, **SMALL), tmp_path, rows=[1])
    env.reset(seed=0)
    with pytest.raises(UsageError, match="random_rollout"):
        env.random_rollout(3)
    env.step(env.sample_actions())
    with pytest.raises(UsageError, match="Cannot write the game to"):
        env.close()
    assert not path.exists()


# -- faults ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("honest", [False, True])
def test_the_first_tick_that_differs_is_named(honest: bool) -> None:
    noted = played(ticks=40)
    actions = noted.record().actions
    tick = next(t for t in range(20, 41) if actions[t - 1][2] in range(3, 7))  # a turn of the head always succeeds
    other = 3 + (actions[tick - 1][2] - 3 + 1) % 4
    text = changed(line(noted), honest, actions=with_action(noted, tick, 2, other))
    with pytest.raises(NotationError, match=f"Tick {tick} of this game of gridworld-v0 differs") as caught:
        read_games(text)
    assert ("it was altered after it was written" in str(caught.value)) != honest
    inner = caught.value.__cause__
    assert isinstance(inner, NotationError)
    assert inner.at == tick
    assert inner.read.actions == actions[: tick - 1], "what was played before is kept"


def test_what_was_altered_without_consequence_is_told_too() -> None:
    text = line(played(ticks=5))
    with pytest.raises(NotationError, match="though the state of every tick matches"):
        read_games(changed(text, players=["x", "y", "z", "w"]))
    with pytest.raises(NotationError, match="though the state of every tick matches"):
        read_games(changed(text, returns=[9, 9, 9, 9]))


BOMB = base64.b64encode(zlib.compress(bytes((64 << 20) + 1), 9)).decode()
"""90 kB that would be 64 MiB and a byte."""


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"seed": 1}, "The start of this game of gridworld-v0 differs"),
        ({"end": "0" * 16}, "Tick 30 of this game of gridworld-v0 differs"),
        ({"release": "0.0.1", "end": "0" * 16}, r"differs .* \(coterie 0.0.1 wrote it, this is "),
        ({"game": "gridworld-v9"}, "of gridworld-v9, but the version here is gridworld-v0; versions do not mix"),
        ({"game": "gridwordl-v0"}, "Did you mean 'gridworld-v0'"),
        ({"ticks": 31}, "cut short or altered: actions of 30 ticks for 4 players, not of 31"),
        ({"ticks": -1}, "cut short or altered"),
        ({"actions": "AAAA"}, "its actions cannot be unpacked: it is cut short or altered"),
        ({"keys": "!"}, "its keys cannot be unpacked"),
        ({"actions": BOMB}, "its actions cannot be unpacked.*unpacks to more than 16 MiB"),
        ({"keys": base64.b64encode(zlib.compress(b"1234")).decode()}, "2 keys for 30 ticks, not 31"),
        ({"end": ...}, "wrong type"),
        ({"status": "terminated"}, "its status is 'terminated', but after its last tick it is 'running'"),
        ({"config": {"mpa": 1}}, "mpa"),
        ({"game": "matrix-v0", "config": {}, "players": ["a", "b"], "returns": [0, 0]}, "lists of numbers"),
    ],
)
def test_lines_that_are_no_world(changes: dict[str, Any], words: str) -> None:
    good = line(played(ticks=30))
    with pytest.raises(NotationError, match=words) as caught:
        read_games(good + changed(good, honest=True, **changes) + good)
    assert str(caught.value).startswith("line 2: ")
    assert len(caught.value.read) == 1, "the games before it are kept"


def test_a_number_that_is_no_action_and_ticks_after_the_end() -> None:
    noted = played(ticks=30)
    with pytest.raises(NotationError, match=r"Tick 8 .* has action 99 of player_1, but actions are 0\.\.21"):
        read_games(changed(line(noted), honest=True, actions=with_action(noted, 8, 1, 99)))
    ended = played(ticks=30, max_steps=30)
    assert ended.status == TRUNCATED
    with pytest.raises(NotationError, match=r"Tick 30 .* comes after its end"):
        read_games(changed(line(ended), honest=True, config=ended.game.config | {"max_steps": 29}))


def test_a_file_that_was_cut(tmp_path: Path) -> None:
    text = line(played(ticks=30))
    path = tmp_path / "g.jsonl"
    path.write_text(text + text[: len(text) // 2])
    with pytest.raises(NotationError, match=r"line 2: this is not JSON .*; the file was cut short") as caught:
        read_games(path)
    assert len(caught.value.read[0].record.actions) == 30


def test_plain_numbers_are_read_as_well() -> None:
    noted = played(ticks=6)
    text = changed(line(noted), actions=noted.record().actions, keys=..., end=..., ticks=..., checksum=...)
    (saved,) = read_games(text)
    assert saved.record.actions == noted.record().actions
    assert saved.record.keys == ()
