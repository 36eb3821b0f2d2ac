"""Siblings begin at one decision of a game that was played, and are compared with each other alone."""

from __future__ import annotations

import dataclasses
from collections import Counter, defaultdict

import numpy as np
import pytest

from coterie.agents.baselines import RandomAgent
from coterie.agents.core import Tokens
from coterie.envs.registry import make_game
from coterie.training.data.assign import assign
from coterie.training.data.branches import branched
from coterie.training.data.credit import RoleBaseline
from coterie.training.data.rollout import Seating
from coterie.training.runs.config import CreditConfig

GAME = make_game("tictactoe")
SEATS = [Seating(("me", "other"), (True, False)), Seating(("other", "me"), (False, True))]


class Recorded(RandomAgent):
    """Plays at random; leaves a record as a language model would."""

    def act(self, turns):
        record = Tokens((1,), (2,), (0.0,), "choice", ((2,),), 0, lora="me")
        return [dataclasses.replace(decision, tokens=record) for decision in super().act(turns)]


def play(groups=40, size=6, seed=3, **more):
    agents = {"me": Recorded(), "other": RandomAgent()}
    return branched(GAME, agents, SEATS * (groups // 2), seed=seed, group_size=size, **more)


def key_after(actions):
    """The position after these moves, and whose turn it is, by the rules alone."""
    state = GAME.new_state(1)
    GAME.kernels.reset(state, 0, 0)
    for action in actions:
        GAME.kernels.step(state, 0, np.full(2, action, np.int32), np.zeros(2, np.float32))
    return GAME.key(state, 0), GAME.mover(state, 0)


def firsts(batch):
    """Each group's first decisions."""
    found = defaultdict(list)
    for visit in batch.visits:
        episode = batch.episodes[visit.episode]
        if visit.ply == episode.opening_plies:
            found[episode.group].append(visit)
    return found


def test_siblings_share_a_state_of_the_game_that_was_scouted_and_draw_their_own_actions():
    batch = play()
    assert len(batch.scouts) == 40
    assert len(batch.episodes) == 240
    drew = 0
    for group, visits in firsts(batch).items():
        scout = batch.scouts[group]
        ply = batch.episodes[visits[0].episode].opening_plies
        key, mover = key_after(scout.actions[:ply])
        assert [v.key for v in visits] == [key] * 6
        assert [v.seat for v in visits] == [mover] * 6
        assert scout.players[mover] == "me"
        assert [v.episode for v in visits] == list(range(6 * group, 6 * group + 6))
        drew += len({v.action for v in visits}) > 1
    assert len(firsts(batch)) == 40
    assert drew > 30  # one square alone may be left; else six draws rarely agree
    assert {e.opening_plies for e in batch.episodes} >= set(range(8))  # the ninth ply is rare
    assert batch.decisions > len(batch.visits) + sum(e.plies for e in batch.scouts)


def test_every_decision_of_a_scouted_game_is_as_likely_to_be_branched():
    met = Counter()
    for seed in range(8):
        batch = play(100, 2, seed)
        for group, visits in firsts(batch).items():
            scout, ply = batch.scouts[group], visits[0].ply
            met[(scout.plies + 1 - visits[0].seat) // 2, ply // 2] += 1
    for length in (3, 4):
        counts = [met[length, place] for place in range(length)]
        assert min(counts) > 0.75 * sum(counts) / length
        assert max(counts) < 1.25 * sum(counts) / length


def test_opponents_go_on_with_chance_of_their_own():
    batch, replies = play(20, 16), defaultdict(set)
    for episode in batch.episodes:
        scout = batch.scouts[episode.group]
        if scout.plies - episode.opening_plies > 4:
            replies[episode.group].add(episode.returns[0])
    assert sum(len(seen) > 1 for seen in replies.values()) > len(replies) / 2
    again = play(20, 16)
    assert [v.action for v in again.visits] == [v.action for v in batch.visits]


def test_openings_come_before_what_is_scouted():
    batch = play(40, 2, opening_plies=3)
    assert any(scout.opening_plies == 3 for scout in batch.scouts)
    for group, visits in firsts(batch).items():
        assert visits[0].ply >= batch.scouts[group].opening_plies
        assert len({v.key for v in visits}) == 1


@pytest.mark.parametrize("scale", ["none", "group"])
def test_credit_compares_siblings_with_each_other_by_hand(scale):
    batch = play(20, 4)
    config = CreditConfig(credit="sibling", scale_rewards=scale)
    credit = assign(batch, config, RoleBaseline(), "tictactoe-v0")
    branch = firsts(batch)
    first = {id(v): group for group, visits in branch.items() for v in visits}
    assert credit.groups == 20
    for d, visit in enumerate(batch.visits):
        if id(visit) not in first:
            assert (credit.advantages[d], credit.keep[d]) == (0, False)
            continue
        returns = np.array([batch.episodes[v.episode].returns[v.seat] for v in branch[first[id(visit)]]])
        own = batch.episodes[visit.episode].returns[visit.seat] - returns.mean()
        if scale == "group":
            own /= returns.std(ddof=1) + 1e-4
        assert credit.advantages[d] == pytest.approx(own)
        assert credit.keep[d] == (returns.std() > 0)
    assert credit.keep.any()


def test_a_run_learns_from_siblings(small):
    from coterie.training.loop import Trainer

    trainer = Trainer(dataclasses.replace(small, credit=CreditConfig(credit="sibling")))
    weights = trainer.policy.bank.weights(trainer.scheme.learners[0])
    before = weights.clone()
    row = trainer.step()
    assert row["games"] == 16
    assert row["trained"] <= row["decisions"] < 16 * 5
    assert (weights != before).any()
