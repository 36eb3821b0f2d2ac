"""``coterie play`` in games of words: at the terminal, in files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from coterie.agents.human.table import Match, watch
from coterie.agents.human.terminal import HumanAgent
from coterie.cli import main
from coterie.envs import make_game
from coterie.envs.replay.file import read_games, replay
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
