"""Questions for language models out of random play, and what is told of their answers."""

from __future__ import annotations

import json

import numpy as np
import pytest

pytest.importorskip("torch")

from coterie.benchmarks.notation import main, questions
from coterie.envs.registry import make_game


@pytest.mark.parametrize(
    ("name", "arguments"), [("tictactoe", {}), ("highest_number", {}), ("gridworld", {"preset": "a3_9x9"})]
)
def test_questions_are_choices_of_many_games(name, arguments):
    game = make_game(name, **arguments)
    turns = questions(game, 30)
    assert len(turns) == 30
    assert len({turn.compact() for turn in turns}) > 10 or name == "highest_number"
    for turn in turns:
        assert len(turn.legal_actions) > 1
        assert np.array_equal(turn.mask, game.legal_mask(turn.state, turn.row, turn.player))
        assert turn.key == game.key(turn.state, turn.row)
    assert [turn.key for turn in turns] == [turn.key for turn in questions(game, 30)]


def test_a_model_that_knows_the_notation(capsys):
    main(["tiny-v2", "--games", "tictactoe", "gridworld:a3_9x9", "--positions", "20"])
    board, world = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert (board["game"], board["questions"], board["illegal"]) == ("tictactoe", 20, 0.0)
    assert board["near_uniform"] > 0.99
    assert 0 < world["kl"] < 0.05
