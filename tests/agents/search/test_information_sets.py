"""Exact analysis of hidden information, against brute force, known figures, and OpenSpiel where it is installed."""

from __future__ import annotations

import dataclasses
from functools import cache
from itertools import product

import numpy as np
import pytest

from coterie.agents.baselines import RandomAgent
from coterie.agents.core import Turn
from coterie.agents.search.information_sets import (
    best_response,
    expected_returns,
    information_tree,
    mixture,
    nash_conv,
    policy_table,
)
from coterie.envs import Game, GameInfo, Kernels, make_game, row_mover
from coterie.envs.kuhn_poker import reset as kuhn_reset
from coterie.envs.stepping.jit import kernel
from coterie.errors import StateError, UsageError

KUHN, LEDUC = make_game("kuhn_poker"), make_game("leduc_poker")
ENDS = {"pp": 1, "pbp": 1, "pbb": 2, "bp": 1, "bb": 2}
"""Courses of two-player Kuhn poker that are over, and the chips that are won and lost."""


def kuhn_value(strategy):
    """What the first player wins; strategy: (card, course) -> probability of a bet. Written from the rules alone."""

    def value(cards, course):
        if course in ENDS:
            if course == "pbp":
                return -1
            if course == "bp":
                return 1
            return ENDS[course] * (1 if cards[0] > cards[1] else -1)
        bet = strategy[cards[len(course) % 2], course]
        return bet * value(cards, course + "b") + (1 - bet) * value(cards, course + "p")

    return sum(value((a, b), "") for a in range(3) for b in range(3) if a != b) / 6


def kuhn_sets(player):
    return [(card, course) for card in range(3) for course in (("", "pb") if player == 0 else ("p", "b"))]


def as_table(strategy):
    """[K, A] of a strategy as ``kuhn_value`` takes it."""
    tree = information_tree(KUHN)
    table = np.zeros((len(tree), 2))
    for k in range(len(tree)):
        _, card, course = tree.name(k).rstrip(">").split(" ")
        bet = strategy["JQK".index(card), course]
        table[k] = 1 - bet, bet
    return table


def equilibrium(alpha):
    """Kuhn's own solutions, one for each alpha in 0..1/3."""
    first = {(0, ""): alpha, (1, ""): 0, (2, ""): 3 * alpha, (0, "pb"): 0, (1, "pb"): alpha + 1 / 3, (2, "pb"): 1}
    second = {(0, "p"): 1 / 3, (1, "p"): 0, (2, "p"): 1, (0, "b"): 0, (1, "b"): 1 / 3, (2, "b"): 1}
    return first | second


def random_table(tree, seed):
    drawn = np.random.default_rng(seed).random(tree.legal.shape) ** 2 * tree.legal
    return drawn / drawn.sum(1, keepdims=True)


@pytest.mark.parametrize(
    ("game", "nodes", "sets"), [(KUHN, 24, 12), (make_game("kuhn_poker", players=3), 288, 48), (LEDUC, 864, 288)]
)
def test_sizes_of_known_games(game, nodes, sets):
    tree = information_tree(game)
    assert (len(tree.movers), len(tree)) == (nodes, sets)
    assert tree.chances[tree.levels[0]].sum() == pytest.approx(1)
    assert len({(tree.owners[k], tree.name(k)) for k in range(len(tree))}) == sets
    for k in range(len(tree)):
        assert tree.find(tree.states, int(tree.first[k]), int(tree.owners[k])) == k
    assert information_tree(game) is tree


@pytest.mark.parametrize("seed", range(5))
def test_values_and_best_responses_of_kuhn_poker_against_brute_force(seed):
    rng = np.random.default_rng(seed)
    strategy = {s: float(rng.random()) for p in (0, 1) for s in kuhn_sets(p)}
    tree, table = information_tree(KUHN), as_table(strategy)
    value = kuhn_value(strategy)
    assert expected_returns(tree, table) == pytest.approx([value, -value])
    for player, sign in ((0, 1), (1, -1)):
        own = kuhn_sets(player)
        best = max(
            sign * kuhn_value(strategy | dict(zip(own, bets, strict=True))) for bets in product((0, 1), repeat=len(own))
        )
        found, choice = best_response(tree, table, player)
        assert found == pytest.approx(best)
        assert ((choice >= 0) == (tree.owners == player)).all()
        played = table.copy()
        played[choice >= 0] = np.eye(2)[choice[choice >= 0]]
        assert expected_returns(tree, played)[player] == pytest.approx(best)


@pytest.mark.parametrize("seed", range(3))
def test_a_mixture_is_as_good_as_drawing_a_player_before_each_game(seed):
    rng, tree = np.random.default_rng(seed), information_tree(KUHN)
    drawn = [{s: float(rng.integers(3)) / 2 for p in (0, 1) for s in kuhn_sets(p)} for _ in range(3)]
    shares = [0.5, 0.3, 0.2]
    table = mixture(tree, [as_table(strategy) for strategy in drawn], shares)
    pure = {p: [dict(zip(kuhn_sets(p), bets, strict=True)) for bets in product((0, 1), repeat=6)] for p in (0, 1)}
    for player, sign in ((0, 1), (1, -1)):
        answers = [
            sign * sum(share * kuhn_value(one | answer) for share, one in zip(shares, drawn, strict=True))
            for answer in pure[player]
        ]
        assert best_response(tree, table, player)[0] == pytest.approx(max(answers))


@pytest.mark.parametrize("alpha", [0, 0.2, 1 / 3])
def test_kuhns_own_solutions_cannot_be_exploited(alpha):
    measured = nash_conv(KUHN, as_table(equilibrium(alpha)))
    assert measured.value == pytest.approx(0, abs=1e-12)
    assert measured.returns == pytest.approx((-1 / 18, 1 / 18))
    assert nash_conv(KUHN, as_table(equilibrium(0.4 if alpha else 1 / 3) | {(2, ""): 0})).value > 0.01


@pytest.mark.parametrize(("game", "known"), [(KUHN, 11 / 12), (LEDUC, 4.747222222222222)])
def test_uniform_play_is_as_exploitable_as_known(game, known):
    """11/12 and 4.7472 are what OpenSpiel gives for the uniform policy."""
    measured = nash_conv(game, RandomAgent())
    assert measured.nash_conv == pytest.approx(known)
    assert measured.value == pytest.approx(known / 2)
    assert sum(measured.best_responses) == pytest.approx(known)
    assert measured.information_sets == len(information_tree(game))


class Table:
    """Answers from a table; ``cheat`` looks at the first card."""

    name = "table"

    def __init__(self, tree, table, cheat=0.0):
        self.tree, self.table, self.cheat = tree, table, cheat

    def policy(self, turns):
        rows = [self.table[self.tree.find(t.state, t.row, t.player)].copy() for t in turns]
        for turn, row in zip(turns, rows, strict=True):
            if turn.state[turn.row]["cards"][0] == 2:
                row += self.cheat * np.array([1, -1])
        return rows


def test_policy_table_reads_an_agent():
    tree = information_tree(KUHN)
    table = random_table(tree, 3)
    assert policy_table(tree, Table(tree, table)) == pytest.approx(table)
    assert policy_table(tree, Table(tree, table), batch=5) == pytest.approx(table)


def test_a_policy_that_looks_at_hidden_cards_is_found():
    tree = information_tree(KUHN)
    with pytest.raises(UsageError, match=r"uses hidden information: at 'P1 [JQ] [pb]>' of kuhn_poker-v0"):
        policy_table(tree, Table(tree, tree.uniform(), cheat=0.1))


def test_a_policy_that_is_none_is_refused():
    tree = information_tree(KUHN)
    with pytest.raises(UsageError, match=r"sum to 0\.800000 over the legal actions at 'P0 "):
        policy_table(tree, Table(tree, tree.uniform() * 0.8))


def test_positions_without_a_decision_are_not_found():
    tree = information_tree(KUHN)
    with pytest.raises(StateError, match="player_1 never decides in such a position"):
        tree.find(tree.states, 0, 1)


def test_players_who_forget_are_refused():
    with pytest.raises(UsageError, match=r"player_1 sees 'O XXO......>' after different decisions of its own"):
        information_tree(make_game("tictactoe"))  # two orders of play, one board
    with pytest.raises(UsageError, match=r"player_0 sees 'P0 2/3 0,0>' after different decisions of its own"):
        information_tree(make_game("highest_number", max_number=1, rounds=3))


def test_information_sets_without_an_order_are_refused():
    """A coin decides who acts first, and neither player sees it: each one's information set is before the other's."""

    @kernel
    def reset(state, i, seed):
        state[i]["mover"], state[i]["turns"] = 0, 0

    @kernel
    def legal(state, i, player, mask):
        mask[:] = state[i]["mover"] == player and state[i]["turns"] < 2

    @kernel
    def step(state, i, actions, rewards):
        state[i]["mover"] = 1 - state[i]["mover"]
        state[i]["turns"] += 1
        return state[i]["turns"] // 2

    @kernel
    def observe(state, i, player, out):
        out[0] = player

    def set_first(state, i, value):
        state[i]["mover"] = value

    coin = Game(
        info=GameInfo(name="coin", players=2, num_actions=2, observation_shape=(1,), max_cycles=2, hidden=True),
        kernels=Kernels(reset, row_mover, legal, step, observe),
        new_state=lambda n: np.zeros(n, [("mover", np.uint8), ("turns", np.uint8)]),
        rules="Both act once.",
        compact=lambda state, i, player: f"P{player}",
        describe=lambda state, i, player: f"You are player_{player}.",
        options={"deal": set_first},
        deals=lambda: [(0, 0.5), (1, 0.5)],
    )
    with pytest.raises(
        UsageError, match="coin-v0 cannot be analysed exactly: its information sets have no order in time"
    ):
        information_tree(coin)


def test_chance_that_is_not_listed_is_refused():
    unlisted = dataclasses.replace(KUHN, deals=None)
    with pytest.raises(UsageError, match="depends on the seed in a way that it does not list"):
        information_tree(unlisted)

    @kernel
    def noisy(state, i, actions, rewards):
        rewards[0] = state[i]["cards"][2]
        return 1

    @kernel
    def marked(state, i, seed):
        kuhn_reset(state, i, seed)
        state[i]["cards"][2] = seed & 1  # a field that no key reads

    broken = dataclasses.replace(KUHN, kernels=KUHN.kernels._replace(step=noisy, reset=marked))
    with pytest.raises(UsageError, match="depends on the seed"):
        information_tree(broken)


@pytest.mark.slow
def test_too_large_is_said_early():
    game = make_game("highest_number", max_number=300)
    with pytest.raises(UsageError, match="has more than 100 decisions"):
        information_tree(game, limit=100)
    with pytest.raises(UsageError, match="has more than 20 decisions"):
        information_tree(KUHN, limit=20)


def test_players_who_act_at_once_do_not_see_each_other():
    game = make_game("highest_number", max_number=2)
    tree = information_tree(game)
    assert (len(tree.movers), len(tree)) == (4, 2)
    measured = nash_conv(game, RandomAgent())
    assert measured.best_responses == pytest.approx((2 / 3, 2 / 3))
    assert measured.value == pytest.approx(2 / 3)


@cache
def openspiel(name):
    pyspiel = pytest.importorskip("pyspiel")
    policy = pytest.importorskip("open_spiel.python.policy")
    return pyspiel.load_game(name), policy


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("game", "theirs"),
    [
        (KUHN, "kuhn_poker"),
        (make_game("kuhn_poker", players=3), "kuhn_poker(players=3)"),
        (LEDUC, "leduc_poker(suit_isomorphism=true)"),
    ],
    ids=["kuhn", "kuhn3", "leduc"],
)
def test_random_policies_are_as_exploitable_as_openspiel_says(game, theirs, seed):
    """Policies over all information sets, drawn at random: NashConv, every best response and every mean return."""
    other, policies = openspiel(theirs)
    tree = information_tree(game)
    table = random_table(tree, seed)
    by_text = {tree.name(k): table[k] for k in range(len(tree))}
    given = policies.TabularPolicy(other)

    def probabilities(state):
        player = state.current_player()
        tensor = np.round(state.information_state_tensor(player)).astype(np.int8)
        return by_tensor[player, tensor.tobytes()]

    by_tensor = {}
    for k in range(len(tree)):
        seen = np.zeros(game.info.observation_shape, np.int8)
        player = int(tree.owners[k])
        game.kernels.observe(tree.states, int(tree.first[k]), player, seen)
        row = by_text[tree.name(k)]
        if game is LEDUC:
            seen = np.concatenate([seen[36:38], seen[0:6], seen[38:54]])
            row = np.array([row[2], row[0] + row[3], row[1]])  # fold, call or check, raise
        by_tensor[player, seen.tobytes()] = row
    for state in given.states:
        given.policy_for_key(given._state_key(state, state.current_player()))[:] = probabilities(state)
    from open_spiel.python.algorithms import expected_game_score, exploitability

    detail = exploitability.nash_conv(other, given, return_only_nash_conv=False)
    measured = nash_conv(game, table)
    assert measured.nash_conv == pytest.approx(detail.nash_conv, abs=1e-9)
    value = expected_game_score.policy_value(other.new_initial_state(), [given] * game.info.players)
    assert measured.returns == pytest.approx(value, abs=1e-9)
    gains = np.array(measured.best_responses) - np.array(measured.returns)
    assert gains == pytest.approx(detail.player_improvements, abs=1e-9)


def test_turns_are_asked_with_their_own_masks():
    asked = []

    class Curious(RandomAgent):
        def policy(self, turns):
            asked.extend(turns)
            return super().policy(turns)

    tree = information_tree(LEDUC)
    policy_table(tree, Curious())
    assert len(asked) == len(tree.movers)
    for turn in asked:
        assert isinstance(turn, Turn)
        assert turn.legal_actions == LEDUC.legal_actions(turn.state, turn.row, turn.player)
        assert turn.key == LEDUC.key(turn.state, turn.row)
