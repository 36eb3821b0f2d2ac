"""Matrix games: payoffs, sides, memory, and rewards in the middle of a game through every face."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coterie
from coterie.agents.search.equilibrium import EquilibriumAgent, solve_hidden
from coterie.agents.search.information_sets import information_tree, nash_conv
from coterie.envs import make_game, matrix_v0
from coterie.envs.faces.aec import AECGame
from coterie.envs.faces.parallel import ParallelGame
from coterie.envs.faces.vec import VecEnv
from coterie.envs.matrix import PRESETS, names_of, payoff_table
from coterie.envs.state import take
from coterie.envs.testing import CHECKS
from coterie.errors import AmbiguousAction, IllegalAction, InvalidAction, UnknownName, UsageError
from coterie.training.data.rollout import Seating, rollout

numbers = st.integers(-50, 50).map(lambda n: n / 4)


def play(game, rounds):
    """Rows and all rewards after some rounds of [player_0's choice, player_1's]."""
    state, paid = game.new_state(1), []
    game.kernels.reset(state, 0, np.uint64(0))
    for said in rounds:
        rewards = np.zeros(2, np.float32)
        status = game.kernels.step(state, 0, np.array(said, np.int32), rewards)
        paid.append((rewards.tolist(), status))
    return state, paid


@pytest.mark.slow
@pytest.mark.bounds
@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize(
    "config", [{"game": "rock_paper_scissors", "memory": 2}, {"payoffs": [[[1, 2], [3, 4], [5, 6]]] * 3, "rounds": 6}]
)
def test_conformance(check, config):
    CHECKS[check](make_game("matrix", **config))


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_any_table_pays_what_it_says_from_both_sides(data):
    rows, columns = data.draw(st.integers(1, 4)), data.draw(st.integers(2, 4))
    table = data.draw(
        st.lists(
            st.lists(st.tuples(numbers, numbers), min_size=columns, max_size=columns), min_size=rows, max_size=rows
        )
    )
    game = make_game("matrix", payoffs=[[list(cell) for cell in row] for row in table], rounds=3)
    rounds = data.draw(
        st.lists(st.tuples(st.integers(0, rows - 1), st.integers(0, columns - 1)), min_size=3, max_size=3)
    )
    state, paid = play(game, rounds)
    assert paid == [(list(table[r][c]), int(k == 2)) for k, (r, c) in enumerate(rounds)]
    assert state.scores[0].tolist() == np.sum([table[r][c] for r, c in rounds], 0).tolist()
    assert payoff_table(state, 0, 0) == table
    assert payoff_table(state, 0, 1) == [[table[r][c][::-1] for r in range(rows)] for c in range(columns)]
    fresh, _ = play(game, [])
    assert game.legal_actions(fresh, 0, 0) == list(range(rows))
    assert game.legal_actions(fresh, 0, 1) == list(range(columns))
    assert game.legal_actions(state, 0, 0) == []


@settings(deadline=None, max_examples=60)
@given(st.lists(st.lists(numbers, min_size=3, max_size=3), min_size=3, max_size=3))
def test_plain_numbers_are_a_zero_sum_game(table):
    game = make_game("matrix", payoffs=table, rounds=1)
    for r in range(3):
        for c in range(3):
            ((paid, _),) = play(game, [(r, c)])[1]
            assert paid == [table[r][c], -table[r][c]]


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from(sorted(PRESETS)),
    st.integers(1, 6),
    st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), max_size=5),
)
def test_the_observation_is_the_last_rounds_from_ones_own_side(name, memory, rounds):
    game = make_game("matrix", game=name, rounds=6, memory=memory)
    state, _ = play(game, rounds)
    count = game.info.num_actions
    for player in (0, 1):
        seen = np.full(game.info.observation_shape, 7, np.float32)
        game.kernels.observe(state, 0, player, seen)
        assert seen[0] == np.float32(len(rounds) / 6)
        past = seen[1:].reshape(memory, 2, count)
        for k in range(memory):
            expected = np.zeros((2, count))
            if k < len(rounds):
                said = rounds[-1 - k]
                expected[0, said[player]] = expected[1, said[1 - player]] = 1
            assert (past[k] == expected).all()


def test_keys_know_what_players_remember():
    game = make_game("matrix", game="prisoners_dilemma", rounds=4, memory=1)
    keys = {tuple(r): game.key(play(game, r)[0], 0) for r in ([], [(0, 0)], [(0, 1)], [(1, 0)], [(0, 0), (0, 0)])}
    assert len(set(keys.values())) == 5
    assert game.key(play(game, [(1, 1), (0, 1)])[0], 0) == game.key(play(game, [(0, 0), (0, 1)])[0], 0)


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_presets(name):
    game = make_game("matrix", game=name, rounds=1)
    table = payoff_table(game.new_state(1), 0, 0)
    assert names_of(game) == PRESETS[name][0]
    assert len(table) == len(table[0]) == len(names_of(game))
    # All presets but matching pennies are fair: swapping the seats (and in one, the choices) changes nothing.
    swapped = payoff_table(game.new_state(1), 0, 1)
    if name not in ("matching_pennies", "bach_or_stravinsky"):
        assert swapped == table
    elif name == "bach_or_stravinsky":
        assert [row[::-1] for row in swapped[::-1]] == table


def test_texts():
    game = make_game("matrix", game="prisoners_dilemma", rounds=3)
    state, _ = play(game, [(0, 1), (1, 1)])
    assert game.compact(state, 0, 0) == "P0 2/3 cd dd>"
    assert game.compact(state, 0, 1) == "P1 2/3 dc dd>"
    assert game.describe(state, 0, 1) == (
        "Round 3 of 3. You are player_1.\n"
        "Payoffs (yours, the other's); your choice down, the other's across:\n"
        "           cooperate  defect\n"
        "cooperate  3, 3       0, 5\n"
        "defect     5, 0       1, 1\n"
        "Round 1: you defect, the other cooperate.\n"
        "Round 2: you defect, the other defect.\n"
        "Score: you 6, the other 1.\n"
        "Legal actions: cooperate defect."
    )
    forgetful = make_game("matrix", game="prisoners_dilemma", rounds=3, memory=1)
    assert "Round 1:" not in forgetful.describe(play(forgetful, [(0, 1), (1, 1)])[0], 0, 0)
    same = make_game("matrix", payoffs=[[1, 0], [0, 1]], actions=["low", "left"], rounds=2)
    assert same.compact(play(same, [(1, 0)])[0], 0, 0) == "P0 1/2 1.0.>"
    assert make_game("matrix", payoffs=[[0] * 20] * 20).rules.endswith(
        "The choices are " + ", ".join("abcdefghijklmnopqrst") + "."
    )


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("", InvalidAction, "names no choice. Answer with one of cooperate defect"),
        ("0", InvalidAction, "names no choice"),
        ("cooperate, not defect", AmbiguousAction, "names several"),
    ],
)
def test_answers_that_are_not(text, error, message):
    game = make_game("matrix", game="prisoners_dilemma")
    with pytest.raises(error, match=message):
        game.parse_action(game.new_state(1), 0, text)
    assert game.parse_action(game.new_state(1), 0, "I will Defect.") == 1
    over, _ = play(make_game("matrix", game="prisoners_dilemma", rounds=1), [(0, 0)])
    with pytest.raises(IllegalAction, match="after the last of 1 rounds: the game is over"):
        game.parse_action(over, 0, "defect")


@pytest.mark.parametrize(
    ("payoffs", "message"),
    [
        (7, "is not a table"),
        ([1, 2], "is not a table"),
        ("abc", "is not a table"),
        ([], "rows of different lengths, or none"),
        ([[]], "rows of different lengths, or none"),
        ([[1, 2], [3]], "rows of different lengths"),
        ([[1]], "gives 1 x 1 choices"),
        ([[0] * 21] * 2, "gives 2 x 21 choices, not 2 to 20"),
        ([[1, [2, 3]]], "mixes pairs and numbers"),
        ([[[1, 2, 3], [1, 2, 3]]], "not a pair"),
        ([[1, float("nan")]], "holds nan"),
        ([[1, float("inf")]], "holds inf"),
        ([[1, "2"]], "holds '2'"),
        ([[1, True]], "holds True"),
        ([[1, 1e9]], "holds 1000000000.0, which is not a number below a million"),
    ],
)
def test_tables_that_are_none(payoffs, message):
    with pytest.raises(UsageError, match=f"matrix: payoffs=.*{message}"):
        make_game("matrix", payoffs=payoffs)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"game": "chess"}, "Unknown matrix game 'chess'"),
        ({"game": "chikcen"}, "Did you mean 'chicken'"),
        ({"game": "chicken", "payoffs": [[1, 2]]}, "came together"),
        ({"game": "chicken", "actions": ["a", "b"]}, "whose choices have names"),
        ({"payoffs": [[1, 2]], "actions": ["a"]}, "2 different names are needed"),
        ({"payoffs": [[1, 2]], "actions": ["a", "A"]}, "2 different names are needed"),
        ({"payoffs": [[1, 2]], "actions": ["a b", "c"]}, "2 different names are needed"),
        ({"payoffs": [[1, 2]], "actions": "ab"}, "2 different names are needed"),
        ({"rounds": 0}, "rounds=0 came; a whole number from 1 to 1,000,000"),
        ({"rounds": 2.5}, "rounds=2.5 came"),
        ({"memory": 51}, "memory=51 came; a whole number from 1 to 50"),
        ({"memory": True}, "memory=True came"),
    ],
)
def test_arguments_that_make_no_game(config, message):
    with pytest.raises(UsageError, match=message) as caught:
        make_game("matrix", **config)
    assert isinstance(caught.value, UnknownName) == ("game" in config and len(config) == 1)


def test_arrays_are_tables_too_and_configuration_is_plain():
    game = make_game("matrix", payoffs=np.array([[1, 0], [0, 2]]), actions=["Left", "right"])
    assert game.config == {
        "payoffs": [[[1, -1], [0, 0]], [[0, 0], [2, -2]]],
        "actions": ["left", "right"],
        "rounds": 10,
        "memory": 10,
    }
    assert make_game("matrix", **game.config).rules == game.rules


# -- rewards in the middle of a game: all faces agree ------------------------------------------------------------------

DILEMMA = make_game("matrix", game="prisoners_dilemma", rounds=6)
SAID = [(0, 1), (1, 1), (1, 0), (0, 0), (0, 1), (1, 0)]
PAID = [(0, 5), (1, 1), (5, 0), (3, 3), (0, 5), (5, 0)]


def aec_round(env, said):
    """One round of the documented loop: what ``last`` told each player before it chose."""
    told = []
    for choice in said:
        observation, reward, terminated, _, _ = env.last()
        told.append((observation["observation"].tolist(), reward, terminated))
        env.step(None if terminated else choice)
    return told


def test_aec_pays_each_round_once():
    env = AECGame(DILEMMA)
    env.reset(seed=0)
    totals = dict.fromkeys(env.possible_agents, 0.0)
    for k, said in enumerate(SAID):
        told = aec_round(env, said)
        assert [reward for _, reward, _ in told] == list(PAID[k - 1] if k else (0, 0))
        assert tuple(env.rewards.values()) == PAID[k]
    for agent in list(env.agents):
        assert env.agent_selection == agent
        assert env.last()[1] == PAID[-1][env.possible_agents.index(agent)]
        env.step(None)
    env.reset(seed=0)
    for agent in env.agent_iter():
        _, reward, terminated, _, _ = env.last()
        totals[agent] += reward
        done = env.table.cycles
        env.step(None if terminated else SAID[done][env.possible_agents.index(agent)])
    assert list(totals.values()) == np.sum(PAID, 0).tolist()


def test_parallel_and_batch_pay_each_round_once():
    single, vec = ParallelGame(DILEMMA), VecEnv(DILEMMA, 3, autoreset_mode="Disabled")
    single.reset(seed=0)
    vec.reset(seed=0)
    for k, said in enumerate(SAID):
        observations, rewards, terminated, _, _ = single.step(dict(zip(single.agents, said, strict=True)))
        seen, paid, over, _, _ = vec.step(np.tile(said, (3, 1)))
        assert tuple(rewards.values()) == PAID[k]
        assert paid.tolist() == [list(PAID[k])] * 3
        assert (over == (k == 5)).all()
        assert all(value == (k == 5) for value in terminated.values())
        for p, agent in enumerate(single.possible_agents):
            assert (seen["observation"][:, p] == observations[agent]["observation"]).all()


@pytest.mark.parametrize("stop", range(1, 6))
def test_a_batched_game_goes_on_at_an_aec_table(stop):
    """Between two rounds the last transition's rewards are all that is due, so a batch's snapshot loses nothing."""
    vec, straight = VecEnv(DILEMMA, 2, autoreset_mode="Disabled"), AECGame(DILEMMA)
    vec.reset(seed=0)
    straight.reset(seed=0)
    for said in SAID[:stop]:
        vec.step(np.tile(said, (2, 1)))
        aec_round(straight, said)
    moved = AECGame(DILEMMA)
    moved.reset(seed=9)
    moved.set_state(vec.get_state(1))
    for said in SAID[stop:]:
        assert aec_round(moved, said) == aec_round(straight, said)
        assert moved.rewards == straight.rewards
    back = VecEnv(DILEMMA, 2, autoreset_mode="Disabled")
    back.reset(seed=3)
    halfway = AECGame(DILEMMA)
    halfway.reset(seed=0)
    for said in SAID[:stop]:
        aec_round(halfway, said)
    back.set_state(take(halfway.get_state(), [0, 0]))
    assert back.rewards.tolist() == [list(PAID[stop - 1])] * 2
    assert np.array_equal(back.observation, vec.observation)


def test_a_copy_in_the_middle_of_a_round_keeps_the_answer_and_the_reward():
    env = AECGame(DILEMMA)
    env.reset(seed=0)
    aec_round(env, SAID[0])
    env.step(SAID[1][0])  # player_0 has answered, player_1 has not
    twin = AECGame(DILEMMA)
    twin.reset(seed=5)
    twin.set_state(env.get_state())
    for one in (env, twin):
        assert one.agent_selection == "player_1"
        assert one.last()[1] == PAID[0][1]
        one.step(SAID[1][1])
        assert tuple(one.rewards.values()) == PAID[1]
        assert one.last()[1] == PAID[1][0]


def test_rollouts_sum_the_rounds():
    class Scripted:
        name = "scripted"

        def act(self, turns):
            from coterie.agents.core import Decision

            return [Decision(SAID[int(t.state.rounds[t.row, 0])][t.player]) for t in turns]

    played = rollout(
        DILEMMA,
        {"scripted": Scripted()},
        [Seating(("scripted", "scripted"), (False, False))] * 2,
        seed=0,
        keep_actions=True,
    )
    for episode in played.episodes:
        assert episode.returns == np.sum(PAID, 0).tolist()
        assert episode.actions == [list(said) for said in SAID]


def test_faces_by_name():
    env = coterie.make("matrix-v0", api="parallel", text=True, game="stag_hunt", rounds=1)
    env.reset(seed=0)
    _, rewards, terminated, _, _ = env.step({"player_0": "stag", "player_1": "I choose hare"})
    assert rewards == {"player_0": 0, "player_1": 2}
    assert all(terminated.values())
    assert matrix_v0.env(payoffs=[[1, 0], [0, 1]]).possible_agents == ["player_0", "player_1"]


# -- exact analysis ----------------------------------------------------------------------------------------------------


def solution(payoffs):
    found = solve_hidden(make_game("matrix", payoffs=payoffs, rounds=1))
    return found.game_values[0], found.table[found.tree.owners == 0][0], found.table[found.tree.owners == 1][0]


def test_known_mixed_equilibria():
    value, row, column = solution([[0, -1, 1], [1, 0, -1], [-1, 1, 0]])
    assert (value, *row, *column) == pytest.approx((0, *[1 / 3] * 6), abs=1e-9)
    value, row, column = solution([[3, -1], [-2, 1]])  # 1/7; (3/7, 4/7) against (2/7, 5/7)
    assert (value, *row, *column) == pytest.approx((1 / 7, 3 / 7, 4 / 7, 2 / 7, 5 / 7), abs=2e-3)


@pytest.mark.parametrize("seed", range(5))
def test_values_against_linear_programming(seed):
    linprog = pytest.importorskip("scipy.optimize").linprog
    table = np.random.default_rng(seed).integers(-5, 6, (3, 4))
    best = linprog(
        [0, 0, 0, -1], A_ub=np.c_[-table.T, np.ones(4)], b_ub=np.zeros(4), A_eq=[[1, 1, 1, 0]], b_eq=[1],
        bounds=[(0, 1)] * 3 + [(None, None)],
    )  # fmt: skip
    assert solution(table.tolist())[0] == pytest.approx(-best.fun, abs=2e-4)


def test_what_can_be_made_of_uniform_play():
    game = make_game("matrix", game="prisoners_dilemma", rounds=1)
    measured = nash_conv(game, information_tree(game).uniform())
    assert measured.returns == pytest.approx((2.25, 2.25))
    assert measured.best_responses == pytest.approx((3, 3))
    with pytest.raises(UsageError, match="matrix-v0 is not zero-sum"):
        EquilibriumAgent(game)


def test_repeated_games_are_analysed_while_they_are_small():
    twice = make_game("matrix", game="matching_pennies", rounds=2)
    assert solve_hidden(twice).game_values[0] == pytest.approx(0, abs=1e-4)
    with pytest.raises(UsageError, match="more than 20,000 decisions"):
        information_tree(make_game("matrix"))
    with pytest.raises(UsageError, match="no perfect recall"):
        information_tree(make_game("matrix", game="coordination", rounds=3, memory=1))
