"""The rules of negotiations, against a naive version of them."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import coterie
from coterie.envs import make_game, make_vec
from coterie.envs.negotiation.game import words_of
from coterie.envs.state import take
from coterie.errors import StateError, UnknownName, UsageError

CONFIGS = [
    {},
    {"score": "own"},
    {"preset": "deal_or_no_deal"},
    {"preset": "deal_or_no_deal", "score": "joint", "turns": 3},
    {"preset": "ultimatum"},
    {"preset": "ultimatum", "items": {"cake": 3, "pie": 2}, "values": [[1, 4], [2, 2]], "turns": 5, "discount": 0.5},
    {"preset": "issues"},
    {"preset": "issues", "players": 2, "issues": 1, "options": 3, "discount": 0.9},
    {"preset": "issues", "players": 6, "issues": 2, "options": 2, "score": "win"},
    {"preset": "issues", "players": 4, "issues": 2, "options": 3, "score": "joint"},
]


class Naive:
    """A negotiation with lists and fractions; deals are tuples of options."""

    def __init__(self, game, state):
        config = game.config
        self.players, self.turns = game.info.players, config["turns"]
        self.counts = state.options[0].tolist()
        self.most = state.most[0].tolist()
        self.values = state.values[0].tolist()
        self.trade = config["preset"] == "trade"
        self.score, self.discount = config["score"], config["discount"]
        self.force = tuple(config["items"].values()) if self.trade else None
        self.start = self.force
        self.every = list(itertools.product(*(range(most) for most in self.most)))
        self.number = {deal: k for k, deal in enumerate(self.every)}
        self.said, self.standing, self.accepted, self.made = 0, None, [], 0
        self.over = False

    def worth(self, player, deal):
        return sum(self.values[player][k][o] for k, o in enumerate(deal)) if deal else 0

    def deals(self):
        return itertools.product(*(range(count) for count in self.counts))

    def legal(self):
        every = self.every
        found = set()
        if not self.over and self.turns - self.said >= self.players:
            found |= {self.number[deal] for deal in self.deals() if deal != self.force}
        if not self.over and self.standing:
            found |= {len(every), len(every) + 1}
        return sorted(found), every

    def play(self, action):
        legal, every = self.legal()
        assert action in legal
        mover = self.said % self.players
        self.said += 1
        if action < len(every):
            self.standing, self.accepted = every[action], [mover]
            self.made += 1
        elif action == len(every):
            self.accepted.append(mover)
            if len(self.accepted) == self.players:
                self.force, self.standing = self.standing, None
                self.over = not self.trade
        else:
            self.standing = None
        if not self.legal()[0]:
            self.over = True
        return self.paid() if self.over else [0.0] * self.players

    def paid(self):
        gains = [self.worth(p, self.force) - self.worth(p, self.start) for p in range(self.players)]
        kept = self.discount ** max(0, self.made - 1)
        base = [self.worth(p, self.start) for p in range(self.players)]
        if self.score == "own":
            best = [max(self.worth(p, deal) for deal in self.deals()) - base[p] for p in range(self.players)]
            return [kept * gain / max(1, most) for gain, most in zip(gains, best, strict=True)]
        if self.score == "joint":
            most = max(sum(self.worth(p, d) for p in range(self.players)) for d in self.deals()) - sum(base)
            return [kept * sum(gains) / max(1, most)] * self.players
        return [sum(np.sign(g - other) for other in gains) / (self.players - 1) for g in gains]


@pytest.mark.parametrize("config", CONFIGS)
def test_kernels_play_as_the_naive_rules(config):
    game = make_game("negotiation", **config)
    rng = np.random.default_rng(5)
    deals = 0
    for seed in range(30):
        state = game.new_state(2)
        game.kernels.reset(state, 1, np.uint64(seed))
        state = take(state, [1])
        naive = Naive(game, state)
        while not naive.over:
            mover = game.mover(state, 0)
            assert mover == naive.said % naive.players
            legal, every = naive.legal()
            assert game.legal_actions(state, 0, mover) == legal
            # Accept often, or games of six never end in a deal.
            accept = len(every) in legal and rng.random() < 0.7
            action = len(every) if accept else int(rng.choice(legal))
            rewards = np.zeros(naive.players, np.float32)
            status = int(game.kernels.step(state, 0, np.full(naive.players, action, np.int32), rewards))
            assert rewards.tolist() == pytest.approx(naive.play(action), abs=1e-6)
            assert status == int(naive.over)
        deals += naive.force != naive.start
        assert not game.legal_mask(state, 0, game.mover(state, 0)).any()
        _check_infos(game, state, naive)
    assert deals > 5


def _check_infos(game, state, naive):
    """Surplus, Pareto gap and Nash's product, by looking at every deal."""
    base = [naive.worth(p, naive.start) for p in range(naive.players)]
    gains = [[naive.worth(p, deal) - base[p] for p in range(naive.players)] for deal in naive.deals()]
    gains.append([0] * naive.players)
    own = [naive.worth(p, naive.force) - base[p] for p in range(naive.players)]
    most = max(1, max(map(sum, gains)))
    products = [math.prod(g) if min(g) >= 0 else 0 for g in gains]
    better = max(sum(g) for g in [*gains, own] if all(a >= b for a, b in zip(g, own, strict=True)))
    told = game.tell(state, 0)
    assert [one["gain"] for one in told] == own
    assert told[0]["surplus"] == pytest.approx(sum(own) / most)
    assert told[0]["pareto_gap"] == pytest.approx((better - sum(own)) / most)
    assert told[0]["nash"] == pytest.approx((math.prod(own) if min(own) >= 0 else 0) / max(1, max(products)))


def test_nothing_hidden_is_told_before_the_end():
    env = coterie.make("negotiation-v0", preset="deal_or_no_deal")
    env.reset(seed=1)
    assert set(env.infos["player_0"]) == {"action_mask", "illegal"}
    own = env.game.kernels
    state = env.table.state
    changed = take(state)
    changed.values[0, 1] = 0  # the other's values
    seen = [np.zeros(env.game.info.observation_shape, np.float32) for _ in range(2)]
    for rows, out in zip((state, changed), seen, strict=True):
        own.observe(rows, 0, 0, out)
    assert np.array_equal(*seen)
    for face in (env.game.describe, env.game.compact):
        assert face(state, 0, 0) == face(changed, 0, 0)
        assert face(state, 0, 1) != face(changed, 0, 1)


def test_deals_of_lewis_et_al():
    """5 to 7 items of 3 kinds; each player's total is 10; every kind is wanted by somebody, and one by both."""
    vec = make_vec("negotiation-v0", num_envs=500, preset="deal_or_no_deal", seed=3)
    vec.reset()
    words, counts = words_of(vec.game), vec.state.options - 1
    assert set(counts.sum(1).tolist()) == {5, 6, 7}
    assert counts.min() == 1
    each = np.array([[[words.each(vec.state, i, k, p) for k in range(3)] for p in (0, 1)] for i in range(500)])
    assert ((each * counts[:, None]).sum(2) == 10).all()
    assert (each.sum(1) > 0).all()
    assert (each > 0).all(1).any(1).all()
    assert len(np.unique(each.reshape(500, -1), axis=0)) > 100


def test_the_seed_s_illegal_rewards():
    env = coterie.make("negotiation-v0", text=True)
    env.reset(seed=1)
    env.step("[Offer: 99 Wood -> 1 Gold]")
    assert env.rewards == {"player_0": -1.5, "player_1": 0.5}
    assert env.terminations == {"player_0": True, "player_1": True}
    own = coterie.make("negotiation-v0", text=True, illegal_reward=-3.0, talk=20)
    own.reset(seed=1)
    own.step("hello")
    assert own.rewards == {"player_0": -3.0, "player_1": 0.5}
    vec = make_vec("negotiation-v0", num_envs=2)
    vec.reset(seed=1)
    assert vec.step(np.array([-1, 0], np.int32))[1].tolist() == [[-1.5, 0.5], [0.0, 0.0]]
    other = coterie.make("negotiation-v0", preset="ultimatum", text=True)
    other.reset(seed=1)
    other.step("Deny")
    assert other.rewards == {"player_0": -1.0, "player_1": 0.0}


def test_a_trade_of_the_seed():
    env = coterie.make("negotiation-v0", text=True)
    env.reset(seed=1)
    for said in ("[Offer: 10 Wood -> 10 Gold]", "[Accept]"):
        env.step(said)
    assert "You have 20 of 20 Gold" in env.observe("player_0")
    for _ in range(4):
        env.step("[Offer: 1 Gold -> 2 Wood]" if env.agent_selection == "player_0" else "[Offer: 2 Wood -> 1 Gold]")
        env.step("[Deny]")
    assert env.terminations["player_0"]
    assert env.rewards == {"player_0": 0.0, "player_1": 0.0}  # both gained 100
    assert env.infos["player_0"] == {"gain": 100, "surplus": 1.0, "pareto_gap": 0.0, "nash": 1.0, "illegal": 0} | {
        "action_mask": env.infos["player_0"]["action_mask"]
    }


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"now": (0, 1, 1)}, "who has spoken"),
        ({"now": (0, 3, 1)}, "who has spoken"),
        ({"now": (0, 0, 9)}, "turns left|who has spoken"),
        ({"now": (0, 0, 11)}, "now"),
        ({"held": (0, 0, 3)}, "names an option|another deal|held"),
        ({"last": (0, 0, 215)}, "names an option"),
        ({"values": (0, 0, 0, 0, 9)}, "worth the same"),
        ({"rules": (0, 0, 99)}, "rules"),
        ({"options": (0, 0, 1)}, "options"),
    ],
)
def test_rows_from_outside_are_examined(change, match):
    game = make_game("negotiation", preset="deal_or_no_deal")
    vec = make_vec("negotiation-v0", num_envs=1, preset="deal_or_no_deal", seed=1)
    vec.reset()
    rows = take(vec.state)
    ((name, (*at, value)),) = change.items()
    getattr(rows, name)[tuple(at)] = value
    with pytest.raises(StateError, match=match):
        coterie.make("negotiation-v0", preset="deal_or_no_deal").reset(seed=1, options={"state": rows})
    assert game.info.players == 2


@pytest.mark.parametrize(
    ("config", "match"),
    [
        ({"preset": "tarde"}, "trade"),
        ({"preset": 3}, "preset"),
        ({"score": "all"}, "score"),
        ({"players": 3}, "takes no players"),
        ({"preset": "issues", "players": 7}, "players=7"),
        ({"preset": "issues", "players": 4, "turns": 3}, "turns=3"),
        ({"preset": "issues", "options": 17}, "4,913 different offers"),
        ({"preset": "issues", "values": [[1]]}, "shape"),
        ({"preset": "issues", "values": [[[1, 2], [3]], 4]}, "shape"),
        ({"preset": "issues", "players": 2, "issues": 1, "options": 2, "values": [[[1, 2.5]], [[1, 2]]]}, "shape"),
        ({"preset": "ultimatum", "discount": 0}, "discount"),
        ({"preset": "ultimatum", "discount": 1.5}, "discount"),
        ({"preset": "ultimatum", "discount": float("nan")}, "discount"),
        ({"discount": 0.9}, "trade has no discount"),
        ({"items": {}}, "items"),
        ({"items": {"Wood": 0}}, "Wood=0"),
        ({"items": {"a b": 1}}, "name"),
        ({"items": {"a[": 1}}, "name"),
        ({"items": {"A": 1, "a": 1}}, "different names"),
        ({"items": {"nothing": 1}}, "name"),
        ({"items": {"Wood": 10**9}}, "Wood="),
        ({"items": {"Wood": 40, "Gold": 40}}, "different offers"),
        ({"values": [[1, 2]]}, "values"),
        ({"values": [[1, 2], [3, -4]]}, "values=-4"),
        ({"values": "x"}, "values"),
    ],
)
def test_wrong_arguments_are_named(config, match):
    with pytest.raises((UsageError, UnknownName), match=match):
        make_game("negotiation", **config)
