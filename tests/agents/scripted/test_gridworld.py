"""The scripted players of the gridworld: what they do in small drawn worlds, and how much they earn."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.agents.baselines import make_baseline
from coterie.agents.core import Turn, seeded
from coterie.benchmarks.gridworld_baselines import bounds
from coterie.envs.faces.vec import VecEnv
from coterie.envs.gridworld.state import PAD
from coterie.envs.making import make_vec
from coterie.envs.registry import make_game
from coterie.errors import UsageError
from coterie.training.evaluation.worlds import HELD_OUT, play_worlds


def drawn(text: str, **more: object) -> VecEnv:
    """One world of a drawn map, reset."""
    vec = make_vec("gridworld-v0", num_envs=1, seed=0, map={"terrain": "ascii", "text": text}, **more)
    vec.reset()
    return vec


def answers(vec: VecEnv, agent: object, seats: list[int] | None = None, seed: int = 0) -> list[int]:
    asked = [p for p in range(vec.num_players) if vec.action_mask[0, p].any() and (seats is None or p in seats)]
    turns = [Turn(vec.game, vec.state, 0, p, vec.action_mask[0, p], 0) for p in asked]
    return [d.action for d in agent.act(seeded(turns, seed))]


def usual(vec: VecEnv, agent: object, seat: int) -> int:
    """The most frequent of 20 answers: now and then somebody in a crowd steps aside as chance has it."""
    return Counter(answers(vec, agent, [seat], seed)[0] for seed in range(20)).most_common(1)[0][0]


def play(vec: VecEnv, agent: object, ticks: int) -> float:
    total = 0.0
    for tick in range(ticks):
        actions = np.zeros((1, vec.num_players), np.int32)
        actions[0] = answers(vec, agent, seed=tick)
        total += float(vec.step(actions)[1].sum())
    return total


def test_a_forager_finds_its_way_round_a_wall_and_pays() -> None:
    vec = drawn("#######\n#@.#a.#\n#..#..#\n#.....#\n#######")
    agent = make_baseline("forager", vec.game)
    assert play(vec, agent, 20) == 2.0, "250 energy are two rewards of 100"


def test_a_forager_gathers_converts_and_pays_again() -> None:
    vec = drawn("######\n#@...#\n#n..c#\n#...a#\n######")
    assert play(vec, make_baseline("forager", vec.game), 200) > 10


def test_a_forager_does_not_see_through_its_window() -> None:
    seen = []
    for away in (3, 30):
        row = "#@" + "." * (away - 1) + "a" + "." * (35 - away) + "#"
        vec = drawn("\n".join(("#" * len(row), row, "#" * len(row))))
        agent = make_baseline("forager", vec.game)
        answers(vec, agent)
        altar = vec.state.objects["type"][0].tolist().index(3)
        kind = vec.state.kind[0, vec.state.objects["row"][0, altar] + PAD, vec.state.objects["col"][0, altar] + PAD]
        seen.append(bool((agent._memory.known[0, 0] == kind).any()))
    assert seen == [True, False], "the window ends 5 cells from the agent"


def test_a_forager_that_is_asked_twice_in_a_tick_forgets_nothing() -> None:
    vec = make_vec("gridworld-v0", num_envs=1, seed=0, preset="a5_25x25_simple", max_steps=100)
    vec.reset()
    once, twice = (make_baseline("forager", vec.game) for _ in range(2))
    for tick in range(250):
        actions = answers(vec, once, seed=tick)
        if tick % 3:
            answers(vec, twice, seed=1000 + tick)
        assert answers(vec, twice, seed=tick) == actions
        vec.step(np.array([actions], np.int32))


def test_a_raider_attacks_strangers_who_carry_and_leaves_kin_alone() -> None:
    vec = drawn("#####\n#@..#\n#@..#\n#...#\n#####")
    raider = make_baseline("raider", vec.game)
    vec.state.items[0, 0, 0] = 3
    vec.state.agents["facing"][0, 1] = 0  # looks up, at the other
    vec.set_state(vec.get_state())
    assert answers(vec, raider, [1]) == [9], "attack 2: straight ahead"
    kin = drawn("#####\n#@..#\n#@..#\n#...#\n#####", kinship={"mode": "teams", "size": 2})
    kin.state.items[0, 0, 0] = 3
    kin.state.agents["facing"][0, 1] = 0
    kin.set_state(kin.get_state())
    assert answers(kin, make_baseline("raider", kin.game), [1])[0] not in range(8, 17)


def test_an_altruist_turns_to_kin_and_gives() -> None:
    vec = drawn("#####\n#@..#\n#@..#\n#n.c#\n#####", kinship={"mode": "teams", "size": 2})
    vec.state.items[0, 1, 0] = 4
    vec.state.agents["facing"][0, 1] = 1
    vec.set_state(vec.get_state())
    altruist = make_baseline("altruist", vec.game)
    assert usual(vec, altruist, 1) == 3, "face up, where its kin stands"
    vec.state.agents["facing"][0, 1] = 0
    vec.set_state(vec.get_state())
    assert usual(vec, altruist, 1) == 19, "gift r1"


def test_two_that_want_to_pass_each_other_do() -> None:
    vec = drawn("########\n#a.@@.c#\n#......#\n########")
    assert play(vec, make_baseline("forager", vec.game), 120) == 4.0


@settings(max_examples=12, deadline=None)
@given(st.sampled_from(["forager", "raider", "altruist"]), st.integers(0, 10_000))
def test_what_they_choose_is_legal_always(name: str, seed: int) -> None:
    vec = make_vec("gridworld-v0", num_envs=2, seed=seed, preset="a3_11x11", kinship={"mode": "families", "size": 2})
    vec.reset()
    agent = make_baseline(name, vec.game)
    for _ in range(60):
        turns = [Turn(vec.game, vec.state, i, p, vec.action_mask[i, p], 0) for i in range(2) for p in range(3)]
        actions = [d.action for d in agent.act(seeded(turns))]
        assert all(turn.mask[action] for turn, action in zip(turns, actions, strict=True))
        vec.step(np.array(actions, np.int32).reshape(2, 3))


@pytest.mark.parametrize("preset", ["a5_25x25_simple", pytest.param("a20_40x40", marks=pytest.mark.slow)])
def test_the_forager_earns_most_of_what_can_be_earned(preset: str) -> None:
    game = make_game("gridworld", preset=preset)
    vec = VecEnv(game, 2)
    vec.reset(seed=HELD_OUT)
    most = bounds(vec.state, game.info.max_cycles)
    score = play_worlds(game, make_baseline("forager", game), 2, 0)
    assert (score.per_world <= most).all(), "nobody earns more than the bound"
    assert score.mean >= 0.6 * most.mean()


def test_the_bound_counts_what_there_is() -> None:
    vec = drawn("######\n#@.na#\n#n..c#\n######", max_steps=5000)
    assert bounds(vec.state, 5000).tolist() == [(250 + 100 * 60) / 100]
    assert bounds(vec.state, 6).tolist() == [2.0], "an altar with cooldown 2 is used twice in 6 ticks"


def test_they_play_nothing_else() -> None:
    with pytest.raises(UsageError, match="plays only the gridworld"):
        make_baseline("forager", make_game("tictactoe"))
