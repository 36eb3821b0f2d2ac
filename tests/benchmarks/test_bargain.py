"""What can be won of a trade against the untrained model."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from coterie.agents.search.best_response import best_response
from coterie.benchmarks.bargain import main, most
from coterie.envs import make_game
from coterie.training.runs.players import make_player


def test_it_is_the_best_response(capsys):
    """Whose recursion reads everything; against this model nothing but the offer and what is held matters."""
    game = make_game("negotiation", items={"Wood": 1, "Gold": 1}, values=[[5, 15], [15, 5]], turns=4)
    untrained = make_player("tiny-v2?sample", game)
    score, wins, counter = most(game, untrained)
    assert score == pytest.approx(best_response(game, untrained, 0).value, rel=1e-3)
    assert score <= wins < 1e-6
    assert counter < 1e-30
    main(["--turns", "4"])
    assert "wins minus losses at most 0.000" in capsys.readouterr().out
