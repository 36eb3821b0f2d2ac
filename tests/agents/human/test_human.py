"""A person at the terminal, played by a list of lines."""

from __future__ import annotations

import numpy as np
import pytest

from coterie.agents.core import Turn, seeded
from coterie.agents.human.adviser import Adviser, advisers
from coterie.agents.human.table import Ended, Match, TakeBack, follow
from coterie.agents.human.terminal import HumanAgent, painted
from coterie.envs.registry import make_game
from coterie.errors import PlayerLeft

GAME = make_game("tictactoe")


def turn() -> Turn:
    state = GAME.new_state(1)
    GAME.kernels.reset(state, 0, np.uint64(0))
    GAME.kernels.step(state, 0, np.array([4, 4], np.int32), np.zeros(2, np.float32))
    return Turn(GAME, state, 0, 1, GAME.legal_mask(state, 0, 1), GAME.key(state, 0))


def person(*lines: str, undo: bool = False, **more) -> tuple[HumanAgent, list[str]]:
    left, shown = list(lines), []

    def read(prompt: str) -> str:
        if not left:
            raise EOFError
        return left.pop(0)

    return HumanAgent("you", read=read, write=shown.append, undo=undo, **more), shown


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


# -- commands ----------------------------------------------------------------------------------------------------------


def test_commands_are_listed_where_they_can_be_used() -> None:
    agent, shown = person("help", "0", undo=True, adviser=Adviser(["minimax"]))
    agent.act(seeded([turn()]))
    for name in ("moves", "hint", "undo", "draw", "resign", "help", "quit"):
        assert f"'{name}'" in shown[0]
        assert f"\n  {name} " in shown[2]
    cards = make_game("kuhn_poker")
    agent, shown = person("bet", "call", undo=True)
    list(follow(Match(cards, ["a", "b"], 0), [agent, agent]))
    assert "'moves', 'help', 'quit'" in shown[0]


def test_moves_and_hints() -> None:
    agent, shown = person("moves", "hint", "0", adviser=Adviser(["minimax"]))
    agent.act(seeded([turn()]))
    assert shown[2] == "0  1  2  3  5  6  7  8"
    assert shown[3] in [f"minimax would play {corner}." for corner in (0, 2, 6, 8)]
    agent, shown = person("hint", "0", adviser=Adviser(["equilibrium"]))
    agent.act(seeded([turn()]))
    assert shown[-1].endswith("Name another player with --hints.")


def test_a_position_is_shown_once() -> None:
    agent, shown = person("help", "moves", "draw", "9", "0", undo=True)
    agent.act(seeded([turn()]))
    assert sum(turn().describe() in text for text in shown) == 1
    agent, shown = person("3", "undo", "5", "quit", undo=True)
    with pytest.raises(PlayerLeft):
        list(follow(Match(GAME, ["you", "you"], 0), [agent, agent]))
    assert sum("You are X. Legal actions: 0 1 2 3 4 5 6 7 8." in text for text in shown) == 1
    assert sum("You are O. Legal actions: 0 1 2 4 5 6 7 8." in text for text in shown) == 2, "again after the undo"


@pytest.mark.parametrize("word", ["q", "H", "?", "exit", "rules"])
def test_in_a_game_of_words_short_commands_are_messages(word: str) -> None:
    agent, _ = person(word)
    asked = Match(make_game("highest_string"), ["you", "you"], 0).turn(0)
    assert [decision.text for decision in agent.act(seeded([asked]))] == [word]


def test_resigning() -> None:
    agent, _ = person("4", "resign", undo=True)
    match = Match(GAME, ["you", "you"], 0)
    moments = list(follow(match, [agent, agent]))
    assert len(moments) == 2
    assert match.returns.tolist() == [1.0, -1.0], "the second player gave up"
    assert match.ended == "player_1 (you) resigns"


@pytest.mark.parametrize(("moves", "agreed"), [("4 0", True), ("0 1 4", False)])
def test_an_agent_takes_a_draw_that_is_no_loss_for_it(moves: str, agreed: bool) -> None:
    """In the second position the person to move is lost."""
    agent, shown = person("draw", "quit", undo=True, adviser=Adviser(advisers(GAME)))
    state = GAME.new_state(1)
    GAME.kernels.reset(state, 0, np.uint64(0))
    for move in map(int, moves.split()):
        GAME.kernels.step(state, 0, np.array([move, move], np.int32), np.zeros(2, np.float32))
    seat = GAME.mover(state, 0)
    asked = Turn(GAME, state, 0, seat, GAME.legal_mask(state, 0, seat), GAME.key(state, 0))
    with pytest.raises(Ended if agreed else PlayerLeft):
        agent.act(seeded([asked]))
    assert ("The draw is declined: minimax finds you worse off." in shown) != agreed


@pytest.mark.parametrize(("answer", "agreed"), [("y", True), ("no", False)])
def test_people_at_one_terminal_ask_each_other(answer: str, agreed: bool) -> None:
    agent, _ = person("draw", answer, "quit", undo=True, shared=True)
    match = Match(GAME, ["you", "you"], 0)
    if agreed:
        list(follow(match, [agent, agent]))
        assert (match.ended, match.returns.tolist()) == ("Draw agreed", [0.0, 0.0])
    else:
        with pytest.raises(PlayerLeft):
            list(follow(match, [agent, agent]))


def test_colours_are_for_terminals_that_want_them(monkeypatch: pytest.MonkeyPatch) -> None:
    for tty, variables, colored in ((True, {}, True), (True, {"NO_COLOR": "1"}, False), (False, {}, False)):
        with monkeypatch.context() as now:
            now.setattr("sys.stdout.isatty", lambda tty=tty: tty)
            now.setenv("TERM", "xterm")
            now.delenv("NO_COLOR", raising=False)
            for name, value in variables.items():
                now.setenv(name, value)
            assert painted("x", "33") == ("\x1b[33mx\x1b[0m" if colored else "x")
