"""What players think: probabilities of all legal actions, their entropy, exact values, earlier versions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from coterie.agents.baselines import RandomAgent, make_baseline
from coterie.agents.core import Turn
from coterie.agents.human.table import Match, follow
from coterie.agents.search.equilibrium import solve_hidden
from coterie.agents.thoughts import Thinker, add_thoughts, is_model, thoughts, value_of
from coterie.aliases import State
from coterie.envs import make_game
from coterie.envs.core import Game
from coterie.errors import UsageError
from coterie.renderers.web.shows import Boards, show


def begun(game: Game, **options: Any) -> State:
    state = game.new_state(1)
    game.kernels.reset(state, 0, np.uint64(0))
    for name, value in options.items():
        game.options[name](state, 0, value)
    return state


def turn(game: Game, state: State) -> Turn:
    player = game.mover(state, 0)
    return Turn(game, state, 0, player, game.legal_mask(state, 0, player), game.key(state, 0))


class Leaning:
    """Prefers low action numbers; as a model, it plays its likeliest action and knows the probabilities behind it."""

    name = "leaning"
    player = "main"
    greedy = True

    def policy(self, turns: Sequence[Turn], player: str | None = None) -> list[NDArray[np.float64]]:
        shares = [np.where(t.mask, 0.5 ** np.arange(len(t.mask)), 0.0) for t in turns]
        return [share / share.sum() for share in shares] if player else [(s == s.max()) * 1.0 for s in shares]

    @property
    def backend(self) -> Leaning:
        return self

    def act(self, turns: Sequence[Turn]) -> Any:
        raise AssertionError("asking must not play")


def test_the_likeliest_action_comes_first_and_entropy_is_in_nats() -> None:
    game = make_game("tictactoe")
    state = begun(game)
    (one,) = thoughts(RandomAgent(), [turn(game, state)])
    assert one["legal"] == 9
    assert one["entropy"] == pytest.approx(math.log(9), abs=1e-5)
    (other,) = thoughts(Leaning(), [turn(game, state)])
    shares = [share for _, share, _ in other["actions"]]
    assert [text for text, _, _ in other["actions"]] == [str(n) for n in range(9)]
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) == pytest.approx(1, abs=1e-5)
    assert other["entropy"] == pytest.approx(-sum(p * math.log(p) for p in shares), abs=1e-4)


def test_a_greedy_model_is_asked_for_the_probabilities_behind_its_choice() -> None:
    assert is_model(Leaning())
    assert not is_model(RandomAgent())
    game = make_game("tictactoe")
    (one,) = thoughts(Leaning(), [turn(game, begun(game))])
    assert one["actions"][0][1] == pytest.approx(0.5, abs=0.01)


def test_a_player_without_probabilities_cannot_be_asked() -> None:
    game = make_game("chess")
    with pytest.raises(UsageError, match="does not say with which probabilities it acts"):
        thoughts(make_baseline("alphabeta:1", game), [turn(game, begun(game))])


def test_the_value_of_tictactoe_is_that_of_perfect_play() -> None:
    game = make_game("tictactoe")
    known = value_of(game)
    assert known is not None
    assert known[0] == "minimax"
    state = begun(game)
    assert known[1](state, 0) == 0
    for action in (0, 1, 3, 4):  # X has 0 and 3, O has 1 and 4: X wins with 6
        game.kernels.step(state, 0, np.array([action, action], np.int32), np.zeros(2, np.float32))
    assert known[1](state, 0) == 1


def test_the_values_of_kuhn_poker_average_to_the_value_of_the_game() -> None:
    game = make_game("kuhn_poker")
    known = value_of(game)
    assert known is not None
    assert known[0] == "equilibrium"
    assert game.deals is not None
    total = 0.0
    for deal, chance in game.deals():
        value = known[1](begun(game, deal=deal), 0)
        assert value is not None
        total += chance * value
    assert total == pytest.approx(solve_hidden(game).game_values[0], abs=1e-9)
    assert total == pytest.approx(-1 / 18, abs=1e-3)


@pytest.mark.parametrize("id", ["chess", "matrix", "word_chain"])
def test_no_solver_knows_large_simultaneous_and_open_games(id: str) -> None:
    assert value_of(make_game(id)) is None


def test_frames_get_the_thoughts_of_those_who_move_there() -> None:
    game = make_game("tictactoe")
    agents = [RandomAgent(), RandomAgent()]
    match = Match(game, ["random", "random"], 1)
    for _ in follow(match, agents):
        pass
    record = match.record()
    made, boards = show(game, record), Boards(game)
    thinker = Thinker(Leaning(), (("update 1", RandomAgent()),), "leaning")
    add_thoughts(made["frames"], game, record, {1: thinker}, boards.cells)
    with_thoughts = [k for k, frame in enumerate(made["frames"]) if "thoughts" in frame]
    assert with_thoughts == [k for k, frame in enumerate(made["frames"]) if frame["mover"] == 1]
    (thought,) = made["frames"][with_thoughts[0]]["thoughts"]
    assert (thought["seat"], thought["who"]) == (1, "leaning")
    assert thought["earlier"][0]["name"] == "update 1"
    assert len(thought["earlier"][0]["actions"]) == len(thought["actions"]) == thought["legal"]
    assert all(cells for _, _, cells in thought["actions"])
    assert "value" in thought


def test_moves_of_chess_touch_the_squares_that_arrows_join() -> None:
    game = make_game("chess")
    match = Match(game, ["random", "random"], 1)
    made = show(game, match.record())
    add_thoughts(made["frames"], game, match.record(), {0: Thinker(RandomAgent())}, Boards(game).cells)
    (thought,) = made["frames"][0]["thoughts"]
    assert ["e4", 0.05, [12, 28]] in thought["actions"]
    assert made["arrows"]
