"""One game, moment by moment."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from coterie.agents.baselines import make_baseline
from coterie.agents.core import Decision, Turn
from coterie.agents.table import picture, tell, watch, winner
from coterie.aliases import RUNNING, TERMINATED
from coterie.envs.registry import make_game
from coterie.errors import UsageError

GAME = make_game("tictactoe")


class Script:
    """Says what it was told to say, one word a turn."""

    def __init__(self, name: str, *words: str) -> None:
        self.name, self.words = name, list(words)

    def act(self, turns: Sequence[Turn], rng: np.random.Generator) -> list[Decision]:
        word = self.words.pop(0)
        return [Decision(int(word) if word.isdigit() else None, word) for _ in turns]


def test_a_game_is_shown_from_start_to_end() -> None:
    moments = [
        (m.status, m.actions, m.rewards.tolist())
        for m in watch(GAME, [Script("a", *"036"), Script("b", *"12")], seed=0)
    ]
    assert moments == [
        (RUNNING, {}, [0, 0]),
        (RUNNING, {0: "0"}, [0, 0]),
        (RUNNING, {1: "1"}, [0, 0]),
        (RUNNING, {0: "3"}, [0, 0]),
        (RUNNING, {1: "2"}, [0, 0]),
        (TERMINATED, {0: "6"}, [1, -1]),
    ]


@pytest.mark.parametrize("answer", ["nonsense", "0", "99"])
def test_an_illegal_answer_loses_and_the_others_get_nothing(answer: str) -> None:
    agents = [Script("a", "0"), Script("b", answer)]
    last = list(watch(GAME, agents, seed=0))[-1]
    assert last.status == TERMINATED
    assert last.rewards.tolist() == [0, -1]
    said: list[str] = []
    tell(last, agents, said.append)
    assert said == [f"player_1 (b): {answer!r}, which is no legal action"]


def test_everybody_acts_where_the_game_is_simultaneous() -> None:
    game = make_game("highest_number")
    last = list(watch(game, [Script("a", "7"), Script("b", "12")], seed=0))[-1]
    assert last.actions == {0: "7", 1: "12"}
    assert last.rewards.tolist() == [-1, 1]


def test_the_same_seed_gives_the_same_game() -> None:
    agents = [make_baseline("random", GAME)] * 2
    games = [[m.actions for m in watch(GAME, agents, seed)] for seed in (5, 5, 6)]
    assert games[0] == games[1] != games[2]


def test_the_number_of_agents_must_fit() -> None:
    with pytest.raises(UsageError, match="2 players, but 1 came: a"):
        next(watch(GAME, [Script("a")], 0))


@pytest.mark.parametrize(
    ("total", "seat"), [([1, -1], 0), ([-1, 1], 1), ([0, 0], None), ([0, 3, 3], None), ([0, 1, 3], 2)]
)
def test_winner(total: list[float], seat: int | None) -> None:
    assert winner(np.array(total, np.float64)) == seat


def test_picture_names_the_players() -> None:
    agents = [Script("a", *"036"), Script("b", *"12")]
    for moment in watch(GAME, agents, seed=0):
        frame = picture("coterie.renderers.tictactoe:draw", GAME, moment.state, [a.name for a in agents])
        assert frame.shape[0] > frame.shape[1] == 480
