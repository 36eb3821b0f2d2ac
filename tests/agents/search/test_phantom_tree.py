"""Best responses in phantom games: against the tree of all histories, and OpenSpiel where it is installed."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from coterie.agents.baselines import RandomAgent
from coterie.agents.search.information_sets import information_tree, nash_conv, policy_table
from coterie.agents.search.phantom_tree import is_phantom, phantom_tree
from coterie.envs import make_game
from coterie.errors import UsageError
from coterie.training.evaluation.exact import exploitability_of_mixture, tabulate

TINY, SMALL = (
    [{"num_cols": c, "num_rows": 2, "gameversion": version, "obstype": told} for version, told in versions]
    for c, versions in (
        (2, (("cdh", "reveal-nothing"), ("adh", "reveal-nothing"), ("adh", "reveal-numturns"))),
        (3, (("cdh", "reveal-nothing"), ("adh", "reveal-nothing"))),
    )
)


class Drawn:
    """A policy over information sets: chances drawn at random from what a player observes; a third of them are 0."""

    name = "drawn"

    def __init__(self, seed=0, greedy=False):
        self.seed, self.greedy, self.met = seed, greedy, []

    def policy(self, turns):
        self.met += [turn.compact() for turn in turns]
        made = [chances(turn.game, turn.state, turn.row, turn.player, self.seed) for turn in turns]
        return [np.eye(len(row))[row.argmax()] for row in made] if self.greedy else made


def chances(game, state, i, player, seed=0):
    seen = np.zeros(game.info.observation_shape, np.uint8)
    game.kernels.observe(state, i, player, seen)
    return drawn(seen.tobytes(), game.legal_mask(state, i, player).tobytes(), seed)


@cache
def drawn(seen, mask, seed):
    """The chances where a player observes ``seen``."""
    rng, legal = np.random.default_rng([seed, *seen]), np.frombuffer(mask, np.int8)
    chances = rng.random(len(legal)) * (rng.random(len(legal)) > 1 / 3) * legal
    return chances / chances.sum() if chances.sum() else legal / legal.sum()


@pytest.mark.parametrize("config", [*TINY, *(pytest.param(config, marks=pytest.mark.slow) for config in SMALL)])
def test_the_same_as_over_all_histories(config):
    """Best responses and returns agree with those of ``information_tree``, whose code has nothing in common."""
    game = make_game("dark_hex", **config)
    tree = information_tree(game, limit=200_000)
    for agent in (Drawn(), RandomAgent()):
        quick, slow = nash_conv(game, agent), nash_conv(game, policy_table(tree, agent), limit=200_000)
        assert quick.best_responses == pytest.approx(slow.best_responses, abs=1e-9)
        assert quick.returns == pytest.approx(slow.returns, abs=1e-9)
    assert quick.information_sets == slow.information_sets == len(tree)


@pytest.mark.parametrize("config", TINY)
def test_a_mixture_is_measured_as_over_all_histories(config):
    game = make_game("dark_hex", **config)
    tree = information_tree(game)
    agents, shares = [Drawn(1), Drawn(2, greedy=True), RandomAgent(), Drawn(3, greedy=True)], [0.4, 0.3, 0.2, 0.1]
    quick = exploitability_of_mixture(game, [tabulate(game, agent) for agent in agents], shares)
    slow = exploitability_of_mixture(game, [policy_table(tree, agent) for agent in agents], shares)
    assert quick.best_responses == pytest.approx(slow.best_responses, abs=1e-9)
    assert quick.nash_conv == pytest.approx(slow.nash_conv, abs=1e-9)


def test_an_agent_is_asked_once_wherever_its_own_play_leads_and_nowhere_else():
    game = make_game("dark_hex", num_cols=3, num_rows=2)
    greedy, mixed = Drawn(1, greedy=True), Drawn(1)
    for agent in (greedy, mixed):
        nash_conv(game, agent)
        assert len(set(agent.met)) == len(agent.met)
    assert set(greedy.met) < set(mixed.met)
    assert len(greedy.met) < 40  # from either seat at most 2^k after k of its own tries


@pytest.mark.parametrize("version", ["cdh", "adh"])
def test_rows_show_a_player_what_it_knows(version):
    """The rows in which a policy is asked look as in play, in observations, masks and texts."""
    game = make_game("dark_hex", num_cols=2, num_rows=2, gameversion=version)
    played, tree = information_tree(game), phantom_tree(game, 1000)

    def looks(state, i, player):
        seen = np.zeros(game.info.observation_shape, np.uint8)
        game.kernels.observe(state, i, player, seen)
        mask = tuple(game.legal_actions(state, i, player))
        return player, seen.tobytes(), mask, game.compact(state, i, player), game.describe(state, i, player)

    made = set()
    for side in tree.sides:
        nodes = np.flatnonzero(side.first >= 0)
        rows = tree.rows(side, nodes)
        made |= {looks(rows, i, side.player) for i in range(len(nodes))}
    met = {looks(played.states, int(d), int(p)) for d, p in zip(played.first, played.owners, strict=True)}
    assert met <= made
    assert len(made) < 2 * len(met)


def test_what_is_refused():
    assert not is_phantom(make_game("dark_hex", num_cols=5, num_rows=2))
    assert not is_phantom(make_game("phantom_tictactoe", obstype="reveal-numturns"))
    assert not is_phantom(make_game("kuhn_poker"))
    for game in (make_game("dark_hex"), make_game("dark_hex", num_cols=4)):
        with pytest.raises(UsageError, match=r"dark_hex-v0 has more than 20,000 (information sets|decisions)"):
            nash_conv(game, RandomAgent())


@pytest.mark.slow
@pytest.mark.parametrize("config", [*TINY[:2], SMALL[1]])
def test_open_spiel_agrees(config):
    """Exploitability of uniform play and of a policy drawn at random, over the same tree.

    OpenSpiel's classical information states also hold the number of turns, which changes what a best response can do;
    there the version with ``reveal-numturns`` is compared, over all histories.
    """
    pyspiel = pytest.importorskip("pyspiel")
    policies = pytest.importorskip("open_spiel.python.policy")
    from open_spiel.python.algorithms import exploitability

    if config["gameversion"] == "cdh":
        config = config | {"obstype": "reveal-numturns"}
    game = make_game("dark_hex", **config)
    theirs = pyspiel.load_game(f"dark_hex({','.join(f'{k}={v}' for k, v in config.items())})")
    given = policies.TabularPolicy(theirs)
    for state in given.states:
        row = game.new_state(1)
        for action in state.history():
            game.kernels.step(row, 0, np.full(2, action, np.int32), np.zeros(2, np.float32))
        player = state.current_player()
        given.policy_for_key(given._state_key(state, player))[:] = chances(game, row, 0, player)
    assert nash_conv(game, Drawn(), limit=200_000).nash_conv == pytest.approx(
        exploitability.nash_conv(theirs, given), abs=1e-9
    )
