"""CFR+ finds the known values; who plays them sees only what its seat may see."""

from __future__ import annotations

import numpy as np
import pytest

from coterie.agents.baselines import RandomAgent, make_baseline
from coterie.agents.core import Turn, seeded
from coterie.agents.search import equilibrium as module
from coterie.agents.search.equilibrium import TARGET, EquilibriumAgent, solve_hidden
from coterie.agents.search.information_sets import nash_conv
from coterie.envs import make_game
from coterie.errors import StateError, UsageError
from coterie.training.evaluation.match import exploitability, play_match

KUHN, LEDUC = make_game("kuhn_poker"), make_game("leduc_poker")


def turns(game, count, seed=0):
    """First turns of some games."""
    state = game.new_state(count)
    for i in range(count):
        game.kernels.reset(state, i, np.uint64(seed + i))
    return [Turn(game, state, i, 0, game.legal_mask(state, i, 0), game.key(state, i)) for i in range(count)]


def test_kuhn_poker_is_worth_a_little_to_the_second_player():
    found = solve_hidden(KUHN)
    assert found.exploitability <= TARGET
    assert found.game_values[0] == pytest.approx(-1 / 18, abs=TARGET)
    assert found.game_values[1] == -found.game_values[0]
    table = {found.tree.name(k): found.table[k][1] for k in range(len(found.tree))}
    alpha = table["P0 J >"]  # Kuhn's family of solutions
    assert 0 <= alpha <= 1 / 3 + 0.01
    assert table["P0 K >"] == pytest.approx(3 * alpha, abs=0.02)
    assert table["P1 J p>"] == pytest.approx(1 / 3, abs=0.02)
    assert table["P1 Q b>"] == pytest.approx(1 / 3, abs=0.02)
    assert table["P1 K b>"] == pytest.approx(1, abs=1e-3)


def test_leduc_poker_is_worth_what_is_known():
    """-0.0856 to the first player: Waugh et al. 2009, and OpenSpiel's figures."""
    found = solve_hidden(LEDUC)
    assert found.exploitability <= TARGET
    assert round(found.game_values[0], 4) == -0.0856
    assert exploitability(LEDUC, found.table).value == found.exploitability


def test_a_solution_is_kept_and_refined(monkeypatch):
    monkeypatch.setattr(module, "_FOUND", {})
    rough = solve_hidden(KUHN, target=0.05)
    assert solve_hidden(KUHN, target=0.05) is rough
    fine = solve_hidden(KUHN, target=1e-3)
    assert fine.exploitability <= 1e-3 < rough.exploitability
    assert solve_hidden(KUHN, target=0.05) is fine
    again = solve_hidden(make_game("kuhn_poker-v0"), target=1e-3)
    assert again is fine


@pytest.mark.parametrize("game", [KUHN, LEDUC], ids=["kuhn", "leduc"])
def test_the_agent_plays_its_table(game):
    agent = EquilibriumAgent(game)
    assert nash_conv(game, agent).value == pytest.approx(agent.solution.exploitability, abs=1e-12)
    asked = turns(game, 3000)
    decisions = agent.act(seeded(asked))
    assert all(turn.mask[decision.action] for turn, decision in zip(asked, decisions, strict=True))
    expected = np.mean(agent.policy(asked), 0)
    played = np.bincount([decision.action for decision in decisions], minlength=game.info.num_actions) / len(asked)
    assert played == pytest.approx(expected, abs=0.03)
    assert agent.act(seeded([])) == []


def test_a_match_gives_what_is_computed():
    """What is computed is what is played: a match against random, within four standard errors."""
    from coterie.agents.search.information_sets import expected_returns

    agent = make_baseline("equilibrium", KUHN)
    table = agent.solution.table
    result = play_match(KUHN, (agent, RandomAgent()), games=4000, seed=0)
    uniform = agent.solution.tree.uniform()
    owners = agent.solution.tree.owners[:, None]
    as_first = expected_returns(agent.solution.tree, np.where(owners == 0, table, uniform))[0]
    as_second = expected_returns(agent.solution.tree, np.where(owners == 1, table, uniform))[1]
    assert result.illegal == 0
    assert result.score == pytest.approx((as_first + as_second) / 2, abs=4 * 1.3 / np.sqrt(4000))


def test_the_agent_refuses_positions_of_others():
    state = KUHN.new_state(1)
    KUHN.kernels.reset(state, 0, np.uint64(0))
    with pytest.raises(StateError, match="player_1 never decides"):
        EquilibriumAgent(KUHN).policy([Turn(KUHN, state, 0, 1, np.zeros(2, np.int8), 0)])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: make_game("kuhn_poker", players=3), "has 3 players; an equilibrium is computed for two"),
        (lambda: make_game("tictactoe"), "hides nothing.*'minimax'"),
    ],
)
def test_games_that_are_refused_say_why(make, message):
    with pytest.raises(UsageError, match=message):
        make_baseline("equilibrium", make())


def test_too_few_iterations_are_said():
    with pytest.raises(UsageError, match=r"After 50 iterations the exploitability in leduc_poker-v0 is 0\.\d+, above"):
        solve_hidden(LEDUC, target=1e-9, iterations=50)
