"""From the words of a command line to a game's arguments."""

from __future__ import annotations

from typing import Any

import pytest

from coterie.cli.arguments import Eval, Play, parse
from coterie.envs.arguments import wanted, with_preset
from coterie.envs.registry import game_arguments, make_game, presets
from coterie.errors import UnknownName, UsageError
from coterie.training.runs.config import TrainConfig
from coterie.training.runs.players import _check_arguments


def test_dotted_names_are_parts() -> None:
    words = ["preset=a5_25x25", "agent.energy=100", "agent.hp=2", "map={width: 30}", "map.height=30"]
    assert game_arguments(words) == {
        "preset": "a5_25x25",
        "agent": {"energy": 100, "hp": 2},
        "map": {"width": 30, "height": 30},
    }
    assert game_arguments(["randomize.objects.*.cooldown=[2, 10]"]) == {
        "randomize": {"objects": {"*": {"cooldown": [2, 10]}}}
    }


@pytest.mark.parametrize("words", [["a..b=1"], [".a=1"], ["a.=1"], ["a.1=1"], ["a b=1"], ["a.b"]])
def test_words_that_are_no_names(words: list[str]) -> None:
    with pytest.raises(UsageError, match="is not of the form name=value"):
        game_arguments(words)


@pytest.mark.parametrize("words", [["map=3", "map.height=4"], ["map.height=4", "map=3"]])
def test_a_value_and_parts_of_one_name(words: list[str]) -> None:
    with pytest.raises(UsageError, match="a value or its parts, not both"):
        game_arguments(words)


def test_games_without_parts_say_so() -> None:
    with pytest.raises(UsageError, match=r"hex-v0 has no size\.x: its argument 'size' is one value"):
        make_game("hex", **game_arguments(["size.x=3"]))


def test_set_may_come_several_times() -> None:
    words = ["gridworld", "--set", "max_steps=3", "--seed", "5", "--set", "agent.hp=2", "map.agents=4", "--set=slots=9"]
    asked = parse(Play, "play", words)
    assert asked.set == ("max_steps=3", "agent.hp=2", "map.agents=4", "slots=9")
    assert (asked.game, asked.seed) == ("gridworld", 5)
    assert parse(Eval, "eval", ["runs/one", "--preset", "a5_25x25"]).preset == "a5_25x25"


def test_preset_is_short_for_set() -> None:
    assert wanted("gridworld", ["max_steps=3"], "a5_25x25") == {"preset": "a5_25x25", "max_steps": 3}
    assert wanted("gridworld", ["preset=a5_25x25"], "a5_25x25") == {"preset": "a5_25x25"}
    assert wanted("hex", ["size=5"]) == {"size": 5}


@pytest.mark.parametrize(
    ("game", "set", "preset", "told"),
    [
        ("hex", [], "small", "hex-v0 has no presets.* Games with presets: .*gridworld"),
        ("gridworld", [], "a5_25x26", "Unknown preset of gridworld-v0 'a5_25x26'. Did you mean 'a5_25x25'"),
        ("negotiation", [], "ultimatun", "Unknown preset of negotiation-v0 'ultimatun'. Did you mean 'ultimatum'"),
        ("negotiation", ["preset=trade"], "ultimatum", "both say what is played"),
        ("gridworld", ["preset=a20_40x40"], "a5_25x25", "both say what is played"),
        ("gridworld", ["config=my.yaml"], "a5_25x25", "both say what is played"),
    ],
)
def test_presets_that_cannot_be(game: str, set: list[str], preset: str, told: str) -> None:
    with pytest.raises((UnknownName, UsageError), match=told):
        wanted(game, set, preset)


def test_preset_over_what_a_configuration_says() -> None:
    base = ("preset=a3_9x9", "max_steps=4")
    assert with_preset("gridworld", base, "a5_25x25", base) == ("preset=a5_25x25", "max_steps=4")
    assert with_preset("gridworld", ["slots=9"], "a5_25x25", base) == ("preset=a5_25x25", "slots=9")
    for word in ("config=my.yaml", "preset=a20_40x40"):
        with pytest.raises(UsageError, match="both say what is played"):
            with_preset("gridworld", [word], "a5_25x25", base)


RUN: dict[str, Any] = {"preset": "a5_25x25_simple", "map": {"height": 15}, "observation": {"kinship": True}}


def test_a_runs_own_arguments_hold_where_nothing_else_is_said() -> None:
    assert wanted("gridworld", [], "", RUN) == RUN
    assert wanted("gridworld", ["map.width=9"], "", RUN) == {**RUN, "map": {"height": 15, "width": 9}}
    assert wanted("hex", ["swap=true"], "", {"size": 5}) == {"size": 5, "swap": True}


def test_on_another_preset_a_run_keeps_only_what_its_players_see() -> None:
    other = wanted("gridworld", ["max_steps=9"], "a20_40x40_rich", RUN)
    assert other == {"preset": "a20_40x40_rich", "max_steps": 9, "observation": {"kinship": True}}
    assert wanted("gridworld", ["preset=a20_40x40_rich", "max_steps=9"], "", RUN) == other
    assert (
        make_game("gridworld", **other).info.observation_shape == make_game("gridworld", **RUN).info.observation_shape
    )
    pairs = {"actions": {"space": "verbs", "swap": False}}
    assert wanted("gridworld", [], "a5_25x25", pairs) == {"preset": "a5_25x25", "actions": {"space": "verbs"}}
    assert wanted("gridworld", ["observation.kinship=false"], "a5_25x25", RUN)["observation"] == {"kinship": False}


def test_a_run_plays_in_other_worlds_that_it_sees_alike(tmp_path: Any) -> None:
    from coterie.errors import RunError

    config = TrainConfig(game="gridworld", set=("preset=a3_11x11",))
    _check_arguments(config, make_game("gridworld", preset="a5_25x25"), tmp_path)
    with pytest.raises(RunError, match="was trained on gridworld-v0 with"):
        _check_arguments(config, make_game("gridworld", preset="a5_25x25", observation={"height": 7}), tmp_path)


def test_on_another_preset_a_run_keeps_its_talk(tmp_path: Any) -> None:
    from coterie.errors import RunError

    run = {"preset": "trade", "items": {"Wood": 2, "Gold": 2}, "turns": 2, "talk": 30}
    assert wanted("negotiation", [], "ultimatum", run) == {"preset": "ultimatum", "talk": 30}
    assert wanted("negotiation", ["turns=4"], "", run) == {**run, "turns": 4}
    config = TrainConfig(game="negotiation", set=("preset=trade", "talk=30"))
    _check_arguments(config, make_game("negotiation", preset="ultimatum", talk=30), tmp_path)
    with pytest.raises(RunError, match=r"trained on negotiation-v0 with \{'talk': 30\}"):
        _check_arguments(config, make_game("negotiation", preset="ultimatum"), tmp_path)


@pytest.mark.parametrize("game", ["gridworld", "negotiation"])
def test_every_preset_can_be_asked_for(game: str) -> None:
    known = presets(game)
    assert [row[0] for row in known.table] == ["preset", *known.names]
    assert all(len(row) == len(known.table[0]) for row in known.table)
