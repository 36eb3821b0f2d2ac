"""Registered games as episodes."""

from __future__ import annotations

import numpy as np
import pytest

from coterie.agents.engines.mock import MockEngine
from coterie.envs import list_envs, make_game
from coterie.errors import UsageError
from coterie.training.episodes import Arena, EpisodeRequest, GameEpisode, Role
from coterie.training.episodes.tasks import make_task


def playing(episode, engine=None, **options):
    arena = Arena(engine or MockEngine(), **options)
    for role in episode.roles:
        if role is not None:
            arena.add_role(Role(role, player="main", max_tokens=8))
    arena.add_episode("game", episode)
    return arena


@pytest.mark.parametrize("id", [id for id in list_envs() if "gridworld" not in id])
def test_every_game_is_an_episode(id):
    episode = GameEpisode(id, max_plies=6)
    (result,) = playing(episode, MockEngine(lambda ask: 0 if hasattr(ask.form, "candidates") else b"hi")).play(
        [EpisodeRequest("game")]
    )
    assert not result.error
    assert result.rollout.steps
    assert result.rewards == pytest.approx(result.rollout.extras["returns"])


def test_a_game_is_played_to_its_end_and_its_rewards_go_to_the_last_answers():
    results = playing(GameEpisode("tictactoe")).play([EpisodeRequest("game", k) for k in range(20)])
    for result in results:
        steps = result.rollout.steps
        assert [s.role_id for s in steps] == [f"Player {k % 2}" for k in range(len(steps))]
        assert sum(result.rewards.values()) == 0
        assert all(s.reward == 0 for s in steps[:-2])
        assert result.rewards == {r: sum(s.reward for s in steps if s.role_id == r) for r in ("Player 0", "Player 1")}
    assert {r.rewards["Player 0"] for r in results} == {1.0, 0.0, -1.0}


def test_all_seats_of_a_simultaneous_game_answer_at_once():
    engine = MockEngine()
    arena = playing(GameEpisode("highest_number"), engine)
    (result,) = arena.play([EpisodeRequest("game", 3)])
    assert [len(batch) for batch in engine.batches] == [2] * (len(result.rollout.steps) // 2)
    again = playing(GameEpisode("highest_number")).play([EpisodeRequest("game", 3)])
    assert again == [result]


def test_an_opponent_sits_at_a_seat_without_a_role():
    episode = GameEpisode("tictactoe", opponents={1: "minimax"})
    results = playing(episode).play([EpisodeRequest("game")] * 10)
    assert {s.role_id for r in results for s in r.rollout.steps} == {"Player 0"}
    assert max(r.rewards["Player 0"] for r in results) <= 0


def test_who_loses_without_having_spoken_is_paid_too():
    episode = GameEpisode("tictactoe", free=True)
    (result,) = playing(episode, MockEngine(lambda ask: b"nonsense")).play([EpisodeRequest("game")])
    assert len(result.rollout.steps) == 1
    assert result.rollout.extras["illegal"] == 1
    assert result.rewards["Player 0"] == -1
    assert set(result.rewards) == {"Player 0", "Player 1"}


def test_free_answers_are_read():
    game = make_game("tictactoe")
    state = game.new_state(1)
    game.kernels.reset(state, 0, np.uint64(0))
    first = game.action_to_text(state, 0, 0)
    episode = GameEpisode("tictactoe", free=True, max_plies=2)
    (result,) = playing(episode, MockEngine(lambda ask: first.encode())).play([EpisodeRequest("game")])
    assert [s.text for s in result.rollout.steps] == [first, first]
    assert result.rewards == {"Player 0": 0.0, "Player 1": -1.0}  # the place was taken


@pytest.mark.parametrize(
    ("roles", "opponents"),
    [(["A"], {}), (["A", "A"], {}), ([None, "A"], {}), (["A", "B", "C"], {}), ((), {5: "random"})],
)
def test_seats_that_cannot_be(roles, opponents):
    with pytest.raises(UsageError, match="has 2 seats"):
        GameEpisode("tictactoe", roles, opponents=opponents)


def test_the_task_of_a_game_compares_games_with_one_beginning():
    arena, task = Arena(MockEngine(), seed=2), make_task("game", env="kuhn_poker", batch=3, rollouts=4)
    task.join(arena)
    row = arena.step()
    assert row["episodes"] == 12
    assert row["failed"] == 0
    assert row["trained"] > 0
    groups = {}
    for result in arena.results:
        groups.setdefault(result.group, []).append(result)
    assert [len(g) for g in groups.values()] == [4, 4, 4]
    for group in groups.values():
        mean = np.mean([r.rewards["Player 0"] for r in group])
        for r in group:
            assert r.rollout.steps[0].advantage == pytest.approx(r.rewards["Player 0"] - mean)
