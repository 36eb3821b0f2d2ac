"""``coterie play`` in games of words: at the terminal, in files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from coterie.agents.baselines import RandomAgent
from coterie.agents.human.table import Match, watch
from coterie.agents.human.terminal import HumanAgent
from coterie.cli import main
from coterie.envs import make_game
from coterie.envs.replay.file import read_games, replay
from coterie.envs.words.vocabulary import LISTS
from coterie.errors import NotationError


def person(*lines: str) -> HumanAgent:
    said: Iterator[str] = iter(lines)
    return HumanAgent(read=lambda prompt: next(said), write=lambda text: None)


def test_a_person_says_what_may_be_said_and_is_asked_again_otherwise() -> None:
    game = make_game("highest_string", length=5)
    written: list[str] = []
    lines = iter(["far too long", "", "zebra"])
    one = HumanAgent(read=lambda prompt: next(lines), write=written.append)
    *_, last = watch(game, [one, person("ape")], seed=1)
    assert last.actions == {0: "zebra", 1: "ape"}
    assert last.rewards.tolist() == [1, -1]
    assert any("12 characters" in text for text in written)
    assert "Type a message" in written[0]


def test_play_save_and_replay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "games.json"
    words = ["play", "highest_string", "random", "random", "--set", "rounds=3", "--seed", "4"]
    assert main([*words, "--save", str(file)]) == 0
    assert main(words) == 0
    shown = capsys.readouterr().out
    assert shown.count("player_0 (random):") == 6
    (saved,) = read_games(file)
    said = saved.record.actions
    assert len(said) == 3
    for round_ in said:
        assert shown.count(round_[0]) >= 2  # the same seed, the same messages
    *_, (state, _, _) = replay(saved.game, saved.record)
    assert state[0]["said"] == said[-1]
    assert main(["play", "--replay", str(file)]) == 0


@pytest.mark.parametrize("message", ["", "~" * 9, "\n", 5, None])
def test_altered_files_are_refused(tmp_path: Path, message: object) -> None:
    file = tmp_path / "games.json"
    assert main(["play", "highest_string", "random", "random", "--save", str(file)]) == 0
    fields = json.loads(file.read_text())
    fields["actions"][0][1] = message
    with pytest.raises(NotationError, match="line 1: Turn 0"):
        read_games(json.dumps(fields))


def test_a_game_of_words_is_left_and_gone_on_with() -> None:
    game = make_game("highest_string", rounds=3)
    match = Match(game, ["a", "b"], 7)
    agents = [person("b", "c", "d"), person("a", "e", "a")]
    for agent_turn in range(2):
        turns = match.turns(match.seats())
        match.play({p: agents[p].act([turn])[0] for p, turn in turns.items()})
        assert len(match.plies) == agent_turn + 1
    again = Match(game, ["a", "b"], 7, record=match.record())
    assert again.state == match.state
    turns = again.turns(again.seats())
    again.play({p: agents[p].act([turn])[0] for p, turn in turns.items()})
    assert again.returns.tolist() == [1, -1]
    assert not again.seats()


def test_words_are_no_boards(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["play", "highest_string", "--window"]) == 2
    assert "played in the terminal" in capsys.readouterr().err
    assert main(["play", "highest_string", "minimax", "random"]) == 2
    assert "game of words" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("game", "arguments", "answers"),
    [
        ("word_chain", {"words": "tiny", "turns": 4}, lambda turn: turn.answers()[:1]),
        ("word_chain", {"words": "animals", "closed": False, "turns": 4}, lambda turn: ["Xx", "", *ANIMALS]),
        ("twenty_questions", {"things": 8}, lambda turn: ["What?", turn.answers()[0]]),
        ("twenty_questions", {"answerer": "player", "closed": False}, lambda turn: ["Does it purr?"]),
        ("redblue", {"turns": 2}, lambda turn: ["guess nothing", "Tell me about a lamp."]),
        ("redblue", {"turns": 2, "closed": True}, lambda turn: turn.answers()[:1]),
        ("liars_dice", {"dice": 2}, lambda turn: ["9x9", turn.action_to_text(turn.legal_actions[0])]),
        ("bluff", {"dice": 2}, lambda turn: ["no action", "I lie. [1x1]", "[liar]"]),
    ],
)
def test_a_person_plays_against_a_random_player(game: str, arguments: dict[str, Any], answers: Any) -> None:
    rules, shown = make_game(game, **arguments), list[str]()
    lines: Iterator[str] = iter(())

    class Person(HumanAgent):
        def act(self, turns: Any) -> Any:
            nonlocal lines
            lines = iter(answers(turns[0]))
            return super().act(turns)

    one = Person(read=lambda prompt: next(lines), write=shown.append)
    agents = [one, RandomAgent()][: rules.info.players]
    *_, last = watch(rules, agents, seed=2)
    assert last.status != 0
    assert "Type" in shown[0]


def test_private_messages_are_not_shown_to_others(capsys: pytest.CaptureFixture[str]) -> None:
    from coterie.agents.core import Decision
    from coterie.agents.human.terminal import play_games

    game = make_game("negotiation", preset="issues", talk=40, turns=3)

    class Whispers:
        name = "whispers"

        def act(self, turns: Any) -> list[Decision]:
            return [
                Decision(0, f"@{to} for {to} alone {game.actions_in(turn.state[0], turn.player)[0]}")
                for turn in turns
                for to in [0 if turn.player == 1 else 1]
            ]

    one = person("@1 between us [Offer: price 0, date 0, place 0]")
    play_games(lambda number: Match(game, ["human", "b", "c"], 3), [one, Whispers(), Whispers()])
    shown = capsys.readouterr().out
    assert "player_0 (human): @1 between us [Offer" in shown
    assert "player_1 (whispers): @0 for 0 alone [" in shown
    assert "player_2 (whispers): [" in shown
    assert "for 1 alone" not in shown


ANIMALS = sorted(LISTS["animals"], reverse=True)
