"""Learning in worlds that many agents share: groups, dense signals, held-out worlds, whole small runs."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from coterie.agents.baselines import make_baseline  # noqa: E402
from coterie.agents.core import Decision, Tokens, Turn  # noqa: E402
from coterie.agents.seeds import Seed  # noqa: E402
from coterie.cli import main  # noqa: E402
from coterie.envs.faces.vec import VecEnv  # noqa: E402
from coterie.envs.gridworld.rules.shaping import Dense  # noqa: E402
from coterie.envs.gridworld.state import USE  # noqa: E402
from coterie.envs.registry import make_game  # noqa: E402
from coterie.errors import UsageError  # noqa: E402
from coterie.training.data.rollout import Seating, rollout  # noqa: E402
from coterie.training.evaluation.worlds import play_worlds  # noqa: E402
from coterie.training.loop import Trainer, train  # noqa: E402
from coterie.training.runs.config import preset  # noqa: E402

TINY = {"preset": "a3_9x9", "max_steps": 10}
ALL = Seating(("main",) * 3, (True,) * 3)


class Told:
    """Notes what it is told, uses what it can, else goes its own way; leaves a record as a language model would."""

    name = "told"

    def __init__(self) -> None:
        self.texts: list[dict[tuple[int, int], str]] = []

    def act(self, turns):
        self.texts.append({(turn.row, turn.player): turn.compact() for turn in turns})
        actions = [
            USE if turn.mask[USE] else turn.legal_actions[int(turn.seed.uniform() * len(turn.legal_actions))]
            for turn in turns
        ]
        record = Tokens((1,), (2,), (0.0,), "choice", ((2,),), 0, lora="main")
        return [Decision(action, str(action), record) for action in actions]


def play(game, groups=3, **kwargs):
    agent = Told()
    batch = rollout(game, {"main": agent}, [ALL] * groups, seed=1, **kwargs)
    return agent, batch


def test_a_group_shares_its_map_and_other_groups_have_others():
    agent, batch = play(make_game("gridworld", **TINY), group_size=4)
    first, last = agent.texts[0], agent.texts[-1]
    for seat in range(3):
        began = [first[row, seat] for row in range(12)]
        assert all(text == began[row // 4 * 4] for row, text in enumerate(began))
        assert len(set(began)) == 3
        assert len({last[row, seat] for row in range(12)}) > 3  # and each copy goes its own way
    assert [episode.group for episode in batch.episodes] == [0] * 4 + [1] * 4 + [2] * 4


def test_the_dead_are_not_asked():
    mortal = {"agent": {"energy": 4, "upkeep": 1}, "death": {"energy": True}}
    agent, batch = play(make_game("gridworld", **TINY, **mortal), group_size=2)
    assert all(text != "dead>" for texts in agent.texts for text in texts.values())
    assert 0 < len(batch.visits) < 6 * 3 * 10
    assert all(episode.plies < 10 for episode in batch.episodes)


def test_dense_signals_are_paid_to_learners_and_told_apart_from_rewards():
    game = make_game("gridworld", **TINY)
    plain = play(game, group_size=2)[1]
    dense = Dense(game, 6, 0.5, 0.25, 1.0)
    shaped = play(game, group_size=2, dense=dense)[1]
    for one, other in zip(plain.episodes, shaped.episodes, strict=True):
        assert one.returns == other.returns  # the same games
        assert one.paid == one.returns
    # Energy is worth 0.01 and r1 0.5; agents begin with 250. What a potential pays ends as what is held is worth.
    fresh = dense.visited.sum((2, 3))
    for row, episode in enumerate(shaped.episodes):
        assert np.allclose(np.subtract(episode.paid, episode.returns), episode.dense)
        assert np.all(np.array(episode.dense) <= 0.25 * fresh[row] + 0.5 * 0.5 * 10)
    assert np.allclose(shaped.rewards().sum(), np.sum([episode.paid for episode in shaped.episodes]))
    assert not np.allclose(shaped.returns(), plain.returns())


def test_what_a_potential_pays_is_what_came_to_be_held():
    game = make_game("gridworld", **TINY, map={"objects": {"wall": 2, "generator": 14, "converter": 0, "altar": 0}})
    batch = play(game, group_size=2, dense=Dense(game, 6, 0.5, 0.0, 1.0))[1]
    used = np.zeros((6, 3))
    for visit in batch.visits:
        used[visit.episode, visit.seat] += visit.action == USE
    # Nothing costs energy and generators give r1 alone, which is worth nothing where there is no altar and no converter
    # but half of a converter's 100 energy where the rules know both: 0.5.
    assert used.sum() > 3
    gained = np.array([episode.dense for episode in batch.episodes])
    assert np.all(gained <= 0.25 * used + 1e-6)  # two may reach for one: then only one of them gets it
    assert gained.sum() >= 0.2 * used.sum()


@pytest.mark.parametrize("seed", range(4))
def test_the_quickest_way_to_a_reward_costs_nothing_and_detours_cost(seed):
    """The forager searches by itself; it sees the whole map here."""
    arguments = {
        "max_steps": 40,
        "map": {"agents": 1, "objects": {"wall": 12, "generator": 0, "converter": 0}},
        "observation": {"height": 15, "width": 15},
    }
    game = make_game("gridworld", preset="a3_9x9", **arguments)
    for name in ("forager", "random"):
        vec, player = VecEnv(game, 8, autoreset_mode="Disabled"), make_baseline(name, game)
        vec.reset(seed=seed)
        dense = Dense(game, 8, 0.0, 0.0, 0.9, reach=True)
        paid, rewards = np.zeros((40, 8)), np.zeros((40, 8))
        for tick in range(40):
            turns = [Turn(game, vec.state, w, 0, vec.action_mask[w, 0], 0, Seed(seed * 8 + w, tick)) for w in range(8)]
            actions = np.array([[decision.action] for decision in player.act(turns)], np.int32)
            dense.look(vec)
            _, reward, *_ = vec.step(actions)
            paid[tick], rewards[tick] = dense.pay(vec, np.zeros(8, bool))[:, 0], reward[:, 0]
        assert paid.max() < 1e-6
        walking = np.cumsum(rewards, 0) == 0
        if name == "forager":
            assert rewards.sum() > 8
            assert np.allclose(paid[walking], 0, atol=1e-6)
        else:
            assert paid[walking].min() < -0.01


def test_signals_that_a_game_has_none_of_are_refused(small):
    config = dataclasses.replace(small, rollout=dataclasses.replace(small.rollout, novelty=0.1))
    with pytest.raises(UsageError, match="novelty exists in gridworlds only"):
        Trainer(config)


@pytest.fixture
def worlds(mini):
    """The preset, with updates that take a fraction of a second."""
    base = preset("gridworld")
    return dataclasses.replace(
        base,
        set=("preset=a3_9x9", "max_steps=5"),
        threads=1,
        policy=dataclasses.replace(base.policy, model=str(mini), lora_r=2),
        rollout=dataclasses.replace(base.rollout, games=4, num_generations=2),
        budget=dataclasses.replace(base.budget, updates=4, eval_every=2, eval_games=3, checkpoint_every=1),
    )


def test_a_run_is_measured_on_held_out_worlds_before_and_after(worlds, tmp_path):
    outcome = train(worlds, tmp_path / "run")
    rows = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert ["before" in row for row in rows] == [True, False, False, False]
    assert ["eval" in row for row in rows] == [False, True, False, True]
    assert [row["player"] for row in rows[0]["before"]] == ["main", "random", "forager"]
    assert outcome.evaluation == rows[-1]["eval"]
    game = make_game("gridworld", preset="a3_9x9", max_steps=5)
    forager = play_worlds(game, make_baseline("forager", game), 3, worlds.seed + 1)
    assert rows[0]["before"][2]["reward"] == forager.mean  # no dense signal in it
    assert all(row["decisions"] == 4 * 3 * 5 for row in rows)


def test_resume_is_bit_equal(worlds, tmp_path):
    from safetensors.torch import load_file

    train(worlds, tmp_path / "whole")
    train(dataclasses.replace(worlds, budget=dataclasses.replace(worlds.budget, updates=2)), tmp_path / "parts")
    train(worlds, tmp_path / "parts", resume=True)
    whole, parts = (
        load_file(tmp_path / name / "players" / "main" / "v000004" / "adapter_model.safetensors")
        for name in ("whole", "parts")
    )
    assert whole.keys() == parts.keys()
    assert all(torch.equal(whole[name], parts[name]) for name in whole)


def test_the_command_trains_and_measures(worlds, tmp_path, capsys):
    run = tmp_path / "run"
    words = ["train", "gridworld", "--preset", "a3_9x9", "--set", "max_steps=4", "--model", worlds.policy.model]
    words += ["--games", "4", "--num-generations", "2", "--eval-games", "2", "--updates", "2", "--threads", "1"]
    assert main([*words, "--lora-r", "2", "--run", str(run)]) == 0, capsys.readouterr().err
    assert (run / "curves.png").exists()
    capsys.readouterr()
    assert main(["eval", str(run), "--games", "2", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["player"] for row in rows] == [str(run), "random", "forager"]
    assert {row["ticks"] for row in rows} == {4}
    assert main(["eval", str(run), "--preset", "a3_11x11", "--ticks", "3", "--games", "2", "--vs", "random"]) == 0
    assert "held-out worlds, 3 ticks" in capsys.readouterr().out
