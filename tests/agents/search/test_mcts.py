"""Tree search: perfect moves where they are known, sums that must hold, and states that must not change."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from coterie.agents.baselines import make_baseline
from coterie.agents.core import Turn, seeded
from coterie.agents.deadline import OutOfTime, unless
from coterie.agents.search.mates import mating_moves
from coterie.agents.search.mcts import MCTSAgent, _tree
from coterie.agents.search.solver import solve
from coterie.aliases import RUNNING, TERMINATED
from coterie.envs import tictactoe as ttt
from coterie.envs.core import Game, GameInfo, Kernels
from coterie.envs.registry import make_game
from coterie.envs.state import to_bytes
from coterie.envs.stepping.jit import kernel
from coterie.errors import IllegalAction, UsageError

# -- games for the tests -----------------------------------------------------------------------------------------------


class Sets(NamedTuple):
    cells: NDArray[np.uint16]
    """[N, 2] own, other."""
    marks: NDArray[np.int8]
    """[N, 3, 3] what nothing reads: another ndim."""


class Split(NamedTuple):
    sets: Sets
    mover: NDArray[np.uint8]
    over: NDArray[np.uint8]


@kernel
def _reset(state, i, seed):
    state.sets.cells[i, 0] = 0
    state.sets.cells[i, 1] = 0
    state.mover[i] = 0
    state.over[i] = 0


@kernel
def _mover(state, i):
    return np.int64(state.mover[i])


@kernel
def _legal(state, i, player, mask):
    taken = state.sets.cells[i, 0] | state.sets.cells[i, 1]
    for a in range(9):
        mask[a] = state.over[i] == 0 and state.mover[i] == player and taken >> a & 1 == 0


@kernel
def _step(state, i, actions, rewards):
    player = state.mover[i]
    cells = state.sets.cells
    marked = cells[i, 0] | (1 << actions[player])
    state.sets.marks[i, actions[player] // 3, actions[player] % 3] = player + 1
    other = cells[i, 1]
    cells[i, 0] = other
    cells[i, 1] = marked
    state.mover[i] = 1 - player
    if ttt.WON[marked]:
        rewards[player] = 1.0
        rewards[1 - player] = -1.0
        state.over[i] = 1
        return TERMINATED
    if marked | other == ttt.FULL:
        state.over[i] = 1
        return TERMINATED
    return RUNNING


@kernel
def _key(state, i):
    return np.uint64(0)


@kernel
def _observe(state, i, player, out):
    out[0] = 0


def split_game() -> Game:
    """Tic-tac-toe with its state in nested arrays instead of one structured array."""

    def new_state(n: int) -> Split:
        sets = Sets(np.zeros((n, 2), np.uint16), np.zeros((n, 3, 3), np.int8))
        return Split(sets, np.zeros(n, np.uint8), np.zeros(n, np.uint8))

    game = make_game("tictactoe")
    info = dataclasses.replace(game.info, name="split", observation_shape=(1,))
    return dataclasses.replace(
        game, info=info, kernels=Kernels(_reset, _mover, _legal, _step, _observe, _key), new_state=new_state
    )


RACE = np.dtype([("sum", np.int32), ("mover", np.int32), ("over", np.uint8)])


@kernel
def _race_reset(state, i, seed):
    state[i]["sum"] = 0
    state[i]["mover"] = 0
    state[i]["over"] = 0


@kernel
def _race_mover(state, i):
    return np.int64(state[i]["mover"])


@kernel
def _race_legal(state, i, player, mask):
    row = state[i]
    for a in range(3):
        mask[a] = row["over"] == 0 and row["mover"] == player and row["sum"] + a + 1 <= 7


@kernel
def _race_step(state, i, actions, rewards):
    row = state[i]
    player = row["mover"]
    row["sum"] += actions[player] + 1
    row["mover"] = (player + 1) % 3
    if row["sum"] < 7:
        return RUNNING
    for p in range(3):
        rewards[p] = -1.0
    rewards[player] = 5.0
    row["over"] = 1
    return TERMINATED


@kernel
def _race_key(state, i):
    return np.uint64(state[i]["sum"] * 3 + state[i]["mover"])


def race() -> Game:
    """Three players add 1, 2 or 3 in turn; who reaches 7 gets 5, the others lose 1."""
    return Game(
        info=GameInfo(name="race", players=3, num_actions=3, observation_shape=(1,), max_cycles=7),
        kernels=Kernels(_race_reset, _race_mover, _race_legal, _race_step, _observe, _race_key),
        new_state=lambda n: np.zeros(n, RACE),
        rules="",
        describe=lambda state, i, player: "",
        compact=lambda state, i, player: "",
        action_to_text=lambda state, i, action: str(action + 1),
        parse_action=lambda state, i, text: int(text) - 1,
        config={},
    )


def turn_of(game: Game, state: Any, row: int = 0) -> Turn:
    seat = game.mover(state, row)
    return Turn(game, state, row, seat, game.legal_mask(state, row, seat), game.key(state, row))


def after(game: Game, actions: list[int]) -> Turn:
    state = game.new_state(1)
    game.kernels.reset(state, 0, np.uint64(0))
    acts, rewards = np.zeros(game.info.players, np.int32), np.zeros(game.info.players, np.float32)
    for action in actions:
        acts[:] = action
        game.kernels.step(state, 0, acts, rewards)
    return turn_of(game, state)


def chess_at(fen: str) -> Turn:
    game = make_game("chess")
    state = game.new_state(1)
    game.kernels.reset(state, 0, np.uint64(0))
    game.options["fen"](state, 0, fen)
    return turn_of(game, state)


# -- is it right? ------------------------------------------------------------------------------------------------------


def test_tictactoe_is_played_perfectly() -> None:
    game = make_game("tictactoe")
    solution = solve(game)
    graph, agent = solution.graph, MCTSAgent(game, 3000)
    rows = np.random.default_rng(0).permutation(len(graph))[:400]
    turns = [turn_of(game, graph.states, int(r)) for r in rows]
    actions = [d.action for d in agent.act(seeded(turns))]
    right = solution.optimal[rows, actions]
    assert right.all(), f"{(~right).sum()} of {len(rows)} positions"


def test_values_are_those_of_the_game() -> None:
    game = make_game("tictactoe")
    solution = solve(game)
    agent = MCTSAgent(game, 100_000)
    for actions in ([4], [0], [1, 3], [4, 1]):
        turn = after(game, actions)
        found = agent.search(turn, 1)
        assert found.values[found.best] == pytest.approx(solution.value(turn.state, 0), abs=0.1)


def test_connect_four_wins_and_blocks_at_once() -> None:
    game = make_game("connect_four")
    agent = MCTSAgent(game, 1000)
    three_each = [3, 0, 3, 0, 3]  # the first player has three in column 3: the second must block, then ...
    assert {d.action for d in agent.act(seeded([after(game, three_each)] * 5))} == {3}
    assert {d.action for d in agent.act(seeded([after(game, [*three_each, 1])] * 5))} == {3}  # ... it wins
    open_two = [3, 0, 2, 0]  # 2 and 3 with free ends on the bottom row: 4 or 1 makes three with both ends free
    assert {d.action for d in agent.act(seeded([after(game, open_two)] * 5))} <= {1, 4}


def test_connect_four_endgames_against_brute_force() -> None:
    game = make_game("connect_four")
    rng, agent = np.random.default_rng(3), MCTSAgent(game, 2000)
    met = 0
    while met < 12:
        actions: list[int] = []
        turn = after(game, actions)
        while turn.mask.any() and len(actions) < 32:
            actions.append(int(rng.choice(turn.legal_actions)))
            turn = after(game, actions)
        if not turn.mask.any():
            continue
        met += 1
        values = {a: -brute_force(game, [*actions, a]) for a in turn.legal_actions}
        (decision,) = agent.act(seeded([turn]))
        assert decision.action is not None
        assert values[decision.action] == max(values.values()), (actions, values, decision)


def brute_force(game: Game, actions: list[int]) -> float:
    """What the player to move gets, by trying everything; actions are legal but for the game's end."""
    turn = after(game, actions[:-1])
    acts, rewards = np.full(2, actions[-1], np.int32), np.zeros(2, np.float32)
    if game.kernels.step(turn.state, 0, acts, rewards) != RUNNING:
        return -float(rewards[turn.player])
    return max(-brute_force(game, [*actions, a]) for a in turn_of(game, turn.state).legal_actions)


@pytest.mark.parametrize(
    "fen",
    ["6k1/5ppp/8/8/8/8/8/K2R4 w - - 0 1", "8/8/8/8/8/6k1/4q3/7K b - - 0 1", "7k/8/5K2/8/8/8/8/6Q1 w - - 0 1"],
)
def test_chess_mates_in_one(fen: str) -> None:
    turn = chess_at(fen)
    (decision,) = MCTSAgent(turn.game, 2000).act(seeded([turn]))
    mates = {turn.game.parse_action(turn.state, 0, uci) for uci in mating_moves(fen, 1)}
    assert mates
    assert decision.action in mates


def test_three_players_each_for_itself() -> None:
    game = race()
    agent = MCTSAgent(game, 3000)
    for actions, best in (([2, 0], 2), ([2, 1], 1), ([2, 2], 0), ([0, 0, 1], 2)):  # what is missing to 7
        assert {d.action for d in agent.act(seeded([after(game, actions)] * 3))} == {best}
    # Where 4 are missing, the next player can complete whatever is added: all values fall to -1.
    found = agent.search(after(game, [2]), 1)
    assert found.values.max() < -0.8
    # Where 6 are missing, adding 1 alone does not let the next player, or the one after it, win for certain.
    assert {d.action for d in agent.act(seeded([after(game, [0])] * 3))} == {0}


# -- both layouts, sums, states ----------------------------------------------------------------------------------------


def test_nested_arrays_and_structured_rows_give_the_same_search() -> None:
    games = make_game("tictactoe"), split_game()
    for actions in ([], [4, 0], [0, 4, 8]):
        one, other = (MCTSAgent(game, 500).search(after(game, actions), 7) for game in games)
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    "name",
    ["tictactoe", "connect_four", *(pytest.param(name, marks=pytest.mark.slow) for name in ("hex", "go", "chess"))],
)
def test_visits_sum_to_playouts_and_the_state_stays(name: str) -> None:
    game = make_game(name)
    turn = after(game, [])
    before, mask = to_bytes(game, turn.state), turn.mask.copy()
    agent = MCTSAgent(game, 150)
    found = agent.search(turn, 3)
    assert found.visits.sum() == 150
    assert sorted(found.actions.tolist()) == turn.legal_actions
    (row,) = agent.policy([turn])
    assert row.sum() == pytest.approx(1)
    assert (row[turn.mask == 0] == 0).all()
    assert to_bytes(game, turn.state) == before
    assert (turn.mask == mask).all()


def test_only_the_row_of_the_turn_is_looked_at() -> None:
    game = make_game("tictactoe")
    states = solve(game).graph.states
    agent = MCTSAgent(game, 200)
    alone = states[100:101].copy()
    for a, b in zip(agent.search(turn_of(game, states, 100), 5), agent.search(turn_of(game, alone), 5), strict=True):
        np.testing.assert_array_equal(a, b)


def test_the_seed_decides() -> None:
    game = make_game("connect_four")
    turn = after(game, [3])
    agent = MCTSAgent(game, 300)
    first = agent.search(turn, 1)
    agent.search(after(game, [0, 1]), 9)  # nothing is kept from one search to the next
    again, other = agent.search(turn, 1), agent.search(turn, 2)
    for a, b in zip(first, again, strict=True):
        np.testing.assert_array_equal(a, b)
    assert first.visits.tolist() != other.visits.tolist()
    one, two = (agent.act(seeded([turn] * 4, 5)) for _ in range(2))
    assert [d.action for d in one] == [d.action for d in two]


def test_a_tree_that_outgrows_its_room_is_the_same_tree() -> None:
    game = make_game("connect_four")
    turn = after(game, [])
    roomy, tight = MCTSAgent(game, 3000), MCTSAgent(game, 3000)
    tight._tree = _tree(1, game.info.num_actions, 2)
    for a, b in zip(roomy.search(turn, 4), tight.search(turn, 4), strict=True):
        np.testing.assert_array_equal(a, b)
    assert len(tight._tree.first) > 2000


def test_pauses_for_breath_change_nothing_and_end_a_search_that_nobody_waits_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    game = make_game("tictactoe")
    turn = after(game, [])
    whole = MCTSAgent(game, 200).search(turn, 5)
    monkeypatch.setattr("coterie.agents.search.mcts.BREATH", 7)
    agent = MCTSAgent(game, 200)
    assert agent.search(turn, 5).visits.tolist() == whole.visits.tolist()
    looks: list[int] = []
    with unless(lambda: len(looks) > 3 or bool(looks.append(1))), pytest.raises(OutOfTime):
        agent.search(turn, 5)


def test_no_playouts_to_the_end_where_they_are_cut() -> None:
    game = make_game("tictactoe")
    found = MCTSAgent(game, 9, cap=0).search(after(game, []), 0)  # every first move once, nothing seen
    assert found.visits.tolist() == [1] * 9
    assert (found.values == 0).all()


# -- what it refuses ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("highest_number", "all players move at once"),
        ("matrix", "all players move at once"),
        ("kuhn_poker", "see different things"),
        ("leduc_poker", "see different things"),
    ],
)
@pytest.mark.parametrize("spec", ["mcts", "greedy"])
def test_games_that_hide_something_or_move_at_once(spec: str, name: str, why: str) -> None:
    with pytest.raises(UsageError, match=f"{spec} cannot play {name}-v0: .*{why}"):
        make_baseline(spec, make_game(name))


def test_games_of_chance() -> None:
    game = dataclasses.replace(make_game("tictactoe"), deals=lambda: [(0, 1.0)])
    with pytest.raises(UsageError, match="foresee"):
        MCTSAgent(game)


def test_numbers_out_of_range() -> None:
    game = make_game("tictactoe")
    with pytest.raises(UsageError, match="0 playouts"):
        MCTSAgent(game, 0)
    for exploration in (-1.0, np.nan, np.inf):
        with pytest.raises(UsageError, match="exploration"):
            MCTSAgent(game, exploration=exploration)


def test_turns_of_other_games_and_without_a_move() -> None:
    game = make_game("tictactoe")
    agent = MCTSAgent(game, 10)
    with pytest.raises(UsageError, match="made for tictactoe-v0"):
        agent.act(seeded([after(make_game("connect_four"), [])]))
    with pytest.raises(UsageError, match="size"):
        MCTSAgent(make_game("hex", size=5), 10).act(seeded([after(make_game("hex", size=7), [])]))
    with pytest.raises(IllegalAction, match="no legal action"):
        agent.act(seeded([after(game, [0, 3, 1, 4, 2])]))
    assert agent.act(seeded([])) == []
