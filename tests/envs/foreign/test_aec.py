"""PettingZoo environments of others as games of coterie."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from pettingzoo import AECEnv, ParallelEnv

import coterie
from coterie.cli import main
from coterie.envs.foreign import register_pettingzoo
from coterie.envs.registry import make_game
from coterie.envs.testing import check_game
from coterie.envs.words.vec import TextVec
from coterie.errors import CoterieError, UsageError

TICTACTOE = "pettingzoo.classic.tictactoe_v3"


class Countdown(AECEnv):
    """Players in turn take 1 or 2 of some matches; whoever takes the last one wins. Three seats; the last may leave."""

    metadata = {"name": "countdown_v0"}  # noqa: RUF012

    def __init__(self, matches=7, masked=True, space=None, deal=1, fair=True, leaves=False, pays=1.0, ends=True):
        self.possible_agents = ["ann", "bob", "cid"]
        self.matches, self.masked, self.fair, self.leaves, self.pays = matches, masked, fair, leaves, pays
        self.space, self.deal, self.ends = space or Discrete(2, start=1), deal, ends

    def observation_space(self, agent):
        return Box(0, 100, (2,), np.int64)

    def action_space(self, agent):
        return self.space

    def reset(self, seed=None, options=None):
        self.agents = list(self.possible_agents)
        luck = np.random.default_rng(seed) if self.fair else np.random.default_rng()
        self.left = self.matches + int(luck.integers(self.deal))
        for name, value in (("rewards", 0.0), ("_cumulative_rewards", 0.0), ("terminations", False)):
            setattr(self, name, dict.fromkeys(self.agents, value))
        self.truncations, self.turn = dict.fromkeys(self.agents, False), 0
        self.agent_selection = "ann"
        self._inform()

    def _inform(self):
        mask = np.array([1, self.left > 1], np.int8)
        self.infos = {agent: {"action_mask": mask} if self.masked else {} for agent in self.agents}

    def observe(self, agent):
        return np.array([self.left, self.possible_agents.index(agent)])

    def step(self, action):
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        if not self.ends:
            action = 0
        elif float(action) > self.left:
            raise ValueError(f"only {self.left} are left.")
        self.left -= int(action)
        self._clear_rewards()
        if not self.left:
            self.rewards = {a: self.pays if a == agent else -self.pays / 2 for a in self.agents}
            self.terminations = dict.fromkeys(self.agents, True)
        self.turn += 1
        if self.leaves and self.turn == 3 and self.left:  # cid leaves for good, and pays for it
            self.rewards["cid"], self.terminations["cid"] = -3.0, True
        alive = [a for a in self.agents if not self.terminations[a]] or self.agents
        after = [a for a in alive if a > agent] or alive
        self.agent_selection = after[0]
        self._accumulate_rewards()
        self._inform()
        self._deads_step_first()


class Both(ParallelEnv):
    """Two players name a number at once; the higher one wins."""

    metadata = {"name": "both_v0"}  # noqa: RUF012
    possible_agents = ["left", "right"]  # noqa: RUF012

    def observation_space(self, agent):
        return Discrete(1)

    def action_space(self, agent):
        return Discrete(3)

    def reset(self, seed=None, options=None):
        self.agents = list(self.possible_agents)
        return dict.fromkeys(self.agents, 0), {a: {} for a in self.agents}

    def step(self, actions):
        sign = float(np.sign(int(actions["left"]) - int(actions["right"])))
        agents, self.agents = self.agents, []
        flags = [dict.fromkeys(agents, value) for value in (0, True, False)]
        return flags[0], {"left": sign, "right": -sign}, flags[1], flags[2], {a: {} for a in agents}


def game_of(**given):
    return make_game(register_pettingzoo(Countdown), env=given)


def play(game, *said, seed=0):
    """The state and the returns after these messages."""
    vec = TextVec(game, 1, seed=seed, autoreset_mode="Disabled")
    vec.reset()
    total = np.zeros(game.info.players)
    for message in said:
        vec.step([message])
        total += vec.rewards[0]
    return vec, total


def test_whatever_our_games_can_do() -> None:
    check_game(game_of(deal=3))


def test_ten_lines_of_text() -> None:
    def describe(observation, agent):
        return f"{agent} sees {observation[0]} matches."

    game = make_game(register_pettingzoo(Countdown, name="named", describe=describe, actions=["one", "two"]))
    state = game.new_state(1)
    assert game.describe(state, 0, 0) == "You are ann.\nann sees 7 matches.\nYour actions: one, two."
    assert game.describe(state, 0, 1).endswith("It is the turn of ann.")
    assert game.choices(state[0], 0) == ["one", "two"]
    assert game.choices(state[0], 1) is None


def test_rewards_and_turns_are_the_environments() -> None:
    game = game_of(matches=3)
    vec, total = play(game, "2", "1")
    assert total.tolist() == [-0.5, 1.0, -0.5]
    assert vec.status[0] != 0
    assert game.choices(vec.state[0], 0) is None


def test_an_agent_that_leaves_is_not_asked_again() -> None:
    game = game_of(matches=30, leaves=True)
    vec, total = play(game, "1", "1", "1", "1", "1")
    assert vec.state[0]["turn"] == 1 - 1  # ann and bob go on alone
    assert total.tolist() == [0, 0, -3]
    vec, total = play(game, *["2"] * 3, *["1"] * 40)
    assert sorted(total.tolist()) == [-3, -0.5, 1]


def test_parallel_environments_are_played_agent_by_agent() -> None:
    game = make_game(register_pettingzoo(Both))
    check_game(game)
    vec, total = play(game, "2", "1")
    assert total.tolist() == [1, -1]
    assert vec.state[0]["seen"] == ["0", "0"]


def test_copies_of_a_game_go_their_own_ways() -> None:
    """A position is reached again from its seed where no environment stands in it."""
    vec = TextVec(game_of(matches=50), 1, seed=3)
    vec.reset()
    for message in ("1", "2"):
        vec.step([message])
    kept = vec.get_state()
    ways = []
    for message in ("1", "2", "1"):
        vec.set_state(kept)
        vec.step([message])
        vec.step(["1"])
        ways.append(vec.state[0])
    assert ways[0] == ways[2]
    assert ways[0]["seen"] != ways[1]["seen"]


def test_a_game_without_end_is_cut_off() -> None:
    game = make_game(register_pettingzoo(Countdown), env={"ends": False}, max_turns=5)
    vec, total = play(game, *["1"] * 5)
    assert vec.status[0] == coterie.aliases.TRUNCATED
    assert not total.any()


@pytest.mark.parametrize(
    ("given", "said", "match"),
    [
        ({"masked": False, "matches": 3}, ["2", "2"], "refused action '2' of .*only . are left.*action_mask"),
        ({"space": Box(0, 1, (2,))}, [], "action space Box.*cannot be listed"),
        ({"fair": False, "deal": 10**9}, [], "starts differently each time"),
        ({"pays": float("nan"), "matches": 1}, ["1"], "rewards must be numbers"),
        ({"nonsense": 1}, [], "cannot be made: TypeError.*nonsense"),
    ],
)
def test_what_cannot_be_played_is_one_sentence(given, said, match) -> None:
    with pytest.raises(UsageError, match=match):
        play(game_of(**given), *said)


def test_continuous_actions_can_be_named() -> None:
    actions = {"few": np.float32(1), "many": np.float32(2)}
    game = make_game(register_pettingzoo(Countdown, name="continuous", actions=actions), env={"space": Box(0, 2, ())})
    vec, _ = play(game, "many", "few")
    assert vec.state[0]["moves"] == ["many", "few"]


@pytest.mark.parametrize(
    ("source", "match"),
    [
        ("no.such.module", "cannot be imported: ModuleNotFoundError"),
        ("json", "has no function env"),
        ("json:nothing", "has no function nothing"),
        ("json:dumps", "cannot be made"),
        (dict, "no environment of PettingZoo"),
    ],
)
def test_what_is_no_environment(source, match) -> None:
    with pytest.raises(UsageError, match=match):
        make_game(register_pettingzoo(source))


def test_bad_names_and_numbers_of_actions() -> None:
    with pytest.raises(UsageError, match="pettingzoo:MODULE"):
        register_pettingzoo("not a module")
    with pytest.raises(UsageError, match="names 1 actions, and there are 2"):
        make_game(register_pettingzoo(Countdown, name="few", actions=["one"]))
    with pytest.raises(UsageError, match="max_turns is 0"):
        make_game(register_pettingzoo(Countdown), max_turns=0)


def test_states_from_outside_are_played_again() -> None:
    vec = TextVec(game_of(), 1, seed=1)
    vec.reset()
    vec.step(["1"])
    state = vec.get_state()
    forged = json.loads(json.dumps(vec.state[0]))
    forged["seen"][0] = "99 0"
    assert game_of().kernels.sound(vec.state, 0) == 0
    assert game_of().kernels.sound([forged], 0) == 1
    assert vec.set_state(state) is None


@pytest.mark.parametrize(
    "module",
    [
        *(TICTACTOE, "pettingzoo.classic.connect_four_v3", "pettingzoo.classic.rps_v2", "mpe2.simple_tag_v3"),
        "pettingzoo.classic.leduc_holdem_v4",  # needs rlcard
    ],
)
def test_environments_of_others(module: str) -> None:
    pytest.importorskip("pygame")
    pytest.importorskip(module)
    game = make_game(register_pettingzoo(module), max_turns=60)
    vec = TextVec(game, 4, seed=0)
    vec.reset()
    ended = 0
    for _ in range(60):
        _, _, terminated, truncated, _ = vec.step(vec.sample_actions())
        ended += int((terminated | truncated).sum())
    assert ended >= 4


def test_games_of_openspiel_through_shimmy() -> None:
    pyspiel, shimmy = pytest.importorskip("pyspiel"), pytest.importorskip("shimmy")

    def env(game: str = "tic_tac_toe") -> AECEnv:
        return shimmy.OpenSpielCompatibilityV0(env=pyspiel.load_game(game))

    _, total = play(make_game(register_pettingzoo(env, name="spiel")), "4", "0", "1", "7", "2", "6", "8", "5", "3")
    assert total.tolist() == [0, 0]
    _, total = play(make_game(register_pettingzoo(env, name="spiel")), "4", "0", "1", "8", "7")
    assert total.tolist() == [1, -1]


def test_perfect_information_looks_like_a_board() -> None:
    pytest.importorskip("pygame")
    vec, _ = play(make_game(register_pettingzoo(TICTACTOE)), "4", "0")
    assert vec.state[0]["seen"][0] == "B..\n.A.\n..."
    assert vec.game.compact(vec.state, 0, 0) == "0 B.. .A. ...>"
    assert vec.state[0]["legal"] == ["1", "2", "3", "5", "6", "7", "8"]


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module in the current folder that notes that it was imported, and the name of its game."""
    own = "my_countdown"
    text = f"from {__name__} import Countdown as env\nactions = ['one', 'two']\nopen('imported', 'w').close()\n"
    (tmp_path / f"{own}.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setitem(sys.modules, __name__, sys.modules.get(__name__) or sys.modules[Countdown.__module__])
    yield f"pettingzoo:{own}"
    sys.modules.pop(own, None)
    from coterie.envs import registry

    registry._SPECS.pop(f"pettingzoo:{own}-v0", None)


def forget(name: str) -> None:
    """As in a new process, where nobody has named the module yet."""
    from coterie.envs import registry

    registry._SPECS.pop(f"{name}-v0")
    sys.modules.pop(name.removeprefix("pettingzoo:"))
    Path("imported").unlink()


def test_the_command_line_needs_no_registration(module: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["play", module, "--players", "random", "random", "random", "--save", "game.json"]) == 0
    assert Path("imported").exists()
    assert "wins." in capsys.readouterr().out
    assert main(["envs", module]) == 0
    assert "Your actions: one, two." in capsys.readouterr().out


def test_a_saved_game_imports_nothing_until_its_game_is_named(module: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["play", module, "--players", "random", "random", "random", "--save", "game.json"]) == 0
    forget(module)
    assert main(["play", "--replay", "game.json"]) == 2
    told = capsys.readouterr().err
    assert "only you can say that it may run" in told
    assert told.count("\n") == 1
    assert not Path("imported").exists()
    assert main(["play", module, "--replay", "game.json"]) == 0
    assert Path("imported").exists()


def test_a_run_remembers_its_game_and_imports_nothing_by_itself(
    module: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch")
    few = ["--threads", "1", "--games", "16", "--num-generations", "8", "--eval-games", "4", "--report-to", "none"]
    assert main(["train", module, "--run", "run", "--updates", "1", *few]) == 0
    forget(module)
    assert main(["eval", "run", "--games", "4"]) == 2
    assert main(["train", "--run", "run", "--resume", "--updates", "2"]) == 2
    assert main(["play", "tictactoe", "--players", "run", "random"]) == 2
    assert not Path("imported").exists()
    assert module in capsys.readouterr().err
    assert main(["train", module, "--run", "run", "--resume", "--updates", "2", "--report-to", "none"]) == 0
    assert main(["eval", "run", "--game", module, "--games", "4", "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-2])["games"] == 4
    assert main(["play", module, "--players", "run", "random", "random"]) == 0


def test_errors_are_of_our_tree() -> None:
    with pytest.raises(CoterieError):
        make_game("pettingzoo:never.named-v0")
    with pytest.raises(UsageError, match="register_play"):
        make_game("play:never_named")
