"""Rewards in worlds that many agents share."""

from __future__ import annotations

import numpy as np
import pytest

from coterie.agents.baselines import make_baseline
from coterie.agents.core import Decision, seeded
from coterie.envs.registry import make_game
from coterie.errors import UsageError
from coterie.training.evaluation.match import play_match
from coterie.training.evaluation.worlds import compare_worlds, play_worlds

TINY = {"preset": "a3_9x9", "max_steps": 12}


@pytest.fixture(scope="module")
def game():
    return make_game("gridworld", **TINY)


class Idle:
    """Does nothing, and notes who was asked."""

    name = "idle"

    def __init__(self) -> None:
        self.asked: list[set[tuple[int, int]]] = []

    def act(self, turns):
        self.asked.append({(turn.row, turn.player) for turn in turns})
        return [Decision(0) for _ in turns]


def test_who_does_nothing_earns_nothing(game):
    idle = Idle()
    score = play_worlds(game, idle, 3, 0)
    assert score.rewards.shape == (3, 3)
    assert (score.mean, score.ticks, score.illegal) == (0.0, 12, 0.0)
    assert idle.asked == [{(i, p) for i in range(3) for p in range(3)}] * 12


def test_the_dead_and_the_unborn_are_not_asked_and_slots_without_agents_do_not_count():
    game = make_game("gridworld", **TINY, slots=5, agent={"energy": 5, "upkeep": 1}, death={"energy": True})
    idle = Idle()
    score = play_worlds(game, idle, 2, 0)
    assert idle.asked == [{(i, p) for i in range(2) for p in range(3)}] * 4 + idle.asked[4:]
    assert len(idle.asked) < 12  # energy was used up, nobody was left
    assert np.isnan(score.rewards[:, 3:]).all()
    assert score.mean == 0.0


def test_the_same_seed_gives_the_same_worlds_and_another_others(game):
    forager = make_baseline("forager", game)
    one, two, other = (play_worlds(game, forager, 4, seed) for seed in (3, 3, 4))
    assert np.array_equal(one.rewards, two.rewards)
    assert not np.array_equal(one.rewards, other.rewards)
    assert play_worlds(game, forager, 4, 3, max_steps=5).ticks == 5


def test_rows_put_players_beside_each_other(game):
    agents = {name: make_baseline(name, game) for name in ("forager", "random")}
    told: list[tuple[str, int]] = []
    rows = {row["player"]: row for row in compare_worlds(game, agents, 16, 0, progress=lambda *at: told.append(at))}
    forager, chance = rows["forager"], rows["random"]
    assert forager["reward"] == play_worlds(game, agents["forager"], 16, 0).mean
    assert forager["reward_interval"][0] > chance["reward_interval"][1]
    assert forager["least"] <= forager["reward"] <= forager["most"]
    share, low, high = chance["share"]["forager"]
    assert share == pytest.approx(chance["reward"] / forager["reward"])
    assert low <= share <= high < 1
    assert "forager" not in forager["share"]
    assert told[:2] == [("forager", 1), ("forager", 2)]
    assert told[-1] == ("random", 12)


def test_shares_of_nothing_are_not_told():
    game = make_game("gridworld", **TINY, objects={"altar": {"reward": -1.0}})
    rows = compare_worlds(game, {"idle": Idle(), "random": make_baseline("random", game)}, 8, 0)
    assert [row["reward"] < 0 for row in rows] == [False, True]
    assert [row["share"] for row in rows] == [{}, {}]


class Once:
    """Plays as the forager does in the first world, and waits in the others."""

    name = "once"

    def __init__(self, game) -> None:
        self.forager = make_baseline("forager", game)

    def act(self, turns):
        moves = self.forager.act(seeded(turns))
        return [move if turn.row == 0 else Decision(0) for turn, move in zip(turns, moves, strict=True)]


def test_shares_of_what_may_be_nothing_are_not_told(game):
    rows = compare_worlds(game, {"once": Once(game), "forager": make_baseline("forager", game)}, 8, 0)
    assert rows[0]["reward"] > 0.1 * rows[1]["reward"]
    assert rows[0]["reward_interval"][0] <= 0
    assert (list(rows[0]["share"]), list(rows[1]["share"])) == (["forager"], [])


@pytest.mark.parametrize("worlds", [1, 7])
def test_few_worlds_have_no_interval(game, worlds):
    agents = {name: make_baseline(name, game) for name in ("forager", "random")}
    forager, chance = compare_worlds(game, agents, worlds, 0)
    assert forager["reward_interval"] is None
    assert chance["share"]["forager"] == [chance["reward"] / forager["reward"], None, None]


def test_what_is_refused(game):
    with pytest.raises(UsageError, match="worlds is 0"):
        play_worlds(game, Idle(), 0, 0)
    with pytest.raises(UsageError, match="turn-based"):
        play_worlds(make_game("tictactoe"), Idle(), 1, 0)
    with pytest.raises(UsageError, match="no players to compare"):
        compare_worlds(game, {}, 2, 0)


class Fewer:
    """Forgets one of its turns."""

    name = "fewer"

    def act(self, turns):
        return [Decision(0) for _ in turns][1:]


class Numbers:
    """Answers with numbers instead of decisions."""

    name = "numbers"

    def act(self, turns):
        return [0 for _ in turns]


@pytest.mark.parametrize(("agent", "told"), [(Fewer(), "fewer was asked"), (Numbers(), "numbers was asked .* is 0;")])
def test_agents_that_do_not_answer_are_named(game, agent, told):
    with pytest.raises(UsageError, match=told):
        play_worlds(game, agent, 2, 0)


@pytest.mark.parametrize("name", ["forager", "equilibrium", "minimax", "mcts:1", "greedy"])
def test_players_of_another_game_say_so(game, name):
    own = {"forager": game, "equilibrium": make_game("kuhn_poker")}.get(name) or make_game("tictactoe")
    player, other = make_baseline(name, own), make_game("connect_four")
    with pytest.raises(UsageError, match=f"made for {own.info.id}"):
        play_match(other, (player, make_baseline("random", other)), 2, 0)


def test_matches_begin_after_no_less_than_no_plies():
    ours = make_baseline("random", make_game("tictactoe"))
    with pytest.raises(UsageError, match="opening_plies is -1"):
        play_match(make_game("tictactoe"), (ours, ours), 2, 0, opening_plies=-1)
