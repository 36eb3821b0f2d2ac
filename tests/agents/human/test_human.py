"""A person at the terminal, played by a list of lines."""

from __future__ import annotations

import numpy as np
import pytest

from coterie.agents.core import Turn, seeded
from coterie.agents.human.table import TakeBack
from coterie.agents.human.terminal import HumanAgent
from coterie.envs.registry import make_game
from coterie.errors import PlayerLeft

GAME = make_game("tictactoe")


def turn() -> Turn:
    state = GAME.new_state(1)
    GAME.kernels.reset(state, 0, np.uint64(0))
    GAME.kernels.step(state, 0, np.array([4, 4], np.int32), np.zeros(2, np.float32))
    return Turn(GAME, state, 0, 1, GAME.legal_mask(state, 0, 1), GAME.key(state, 0))


def person(*lines: str, undo: bool = False) -> tuple[HumanAgent, list[str]]:
    left, shown = list(lines), []

    def read(prompt: str) -> str:
        if not left:
            raise EOFError
        return left.pop(0)

    return HumanAgent("you", read=read, write=shown.append, undo=undo), shown


def test_an_answer_is_parsed() -> None:
    agent, shown = person("  3 ")
    (decision,) = agent.act(seeded([turn()]))
    assert (decision.action, decision.text) == (3, "3")
    assert "'help'" in shown[0]
    assert shown[0].startswith(f"{GAME.goal}\n")
    assert turn().describe() in shown[1]


def test_mistakes_are_explained_and_asked_again() -> None:
    agent, shown = person("", "what?", "4", "1 2", "9", "0")
    (decision,) = agent.act(seeded([turn()]))
    assert decision.action == 0
    explained = shown[2:]
    assert len(explained) == 4, "the empty line needs no explanation"
    assert all("0 1 2 3 5 6 7 8" in text for text in explained), "each tells what would do"


def test_help_tells_the_rules() -> None:
    agent, shown = person("help", "0")
    agent.act(seeded([turn()]))
    assert any(GAME.rules in text for text in shown)


@pytest.mark.parametrize("lines", [("quit",), ("QUIT",), ("exit",), ("q",), (), ("what?",)])
def test_leaving(lines: tuple[str, ...]) -> None:
    agent, _ = person(*lines)
    with pytest.raises(PlayerLeft, match="you left"):
        agent.act(seeded([turn()]))


def test_the_greeting_comes_once_and_turns_are_asked_in_order() -> None:
    agent, shown = person("0", "1", "2")
    assert [d.action for d in agent.act(seeded([turn(), turn()]))] == [0, 1]
    agent.act(seeded([turn()]))
    assert sum("'quit'" in text for text in shown) == 1


def test_taking_back() -> None:
    agent, shown = person("undo", undo=True)
    with pytest.raises(TakeBack):
        agent.act(seeded([turn()]))
    assert "'undo'" in shown[0]


def test_undo_is_no_word_where_nobody_understands_it() -> None:
    agent, shown = person("undo", "0")
    assert agent.act(seeded([turn()]))[0].action == 0
    assert "undo" not in shown[0]
    assert "names no action" in shown[-1]


def test_no_undo_with_cards() -> None:
    game = make_game("kuhn_poker")
    state = game.new_state(1)
    game.kernels.reset(state, 0, np.uint64(0))
    agent, shown = person("undo", "check", undo=True)
    asked = Turn(game, state, 0, 0, game.legal_mask(state, 0, 0), game.key(state, 0))
    assert agent.act(seeded([asked]))[0].action == game.parse_action(state, 0, "check")
    assert "undo" not in shown[0]
    assert "Nothing can be taken back" in shown[-1]
