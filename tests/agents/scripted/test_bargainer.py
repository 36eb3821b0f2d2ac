"""The scripted bargainer, with and without a talk channel."""

from __future__ import annotations

import numpy as np
import pytest

from coterie.agents.baselines import RandomAgent, make_baseline
from coterie.agents.core import Turn
from coterie.agents.seeds import Seed
from coterie.envs import make_game
from coterie.envs.state import take
from coterie.errors import UsageError
from coterie.training.data.rollout import Seating, rollout

DEAL = make_game("negotiation", preset="deal_or_no_deal")


def turn_of(game, state, seed=0):
    mover = game.mover(state, 0)
    return Turn(game, state, 0, mover, game.legal_mask(state, 0, mover), game.key(state, 0), Seed(seed, 0))


def after(game, said, seed=3):
    state = game.new_state(1)
    game.kernels.reset(state, 0, np.uint64(seed))
    for text in said:
        action = game.parse_action(state, 0, text)
        game.kernels.step(state, 0, np.full(2, action, np.int32), np.zeros(2, np.float32))
    return state


def test_it_asks_for_its_best_first_and_takes_what_is_good():
    agent = make_baseline("bargainer", DEAL)
    state = after(DEAL, [])
    (decision,) = agent.act([turn_of(DEAL, state)])
    words = DEAL.action_to_text(state, 0, decision.action)
    counts, values = (state.options[0] - 1).tolist(), state.values[0, 0]
    assert all(
        f"{count} {name}" in words
        for k, (count, name) in enumerate(zip(counts, ("book", "hat", "ball"), strict=True))
        if values[k, count]
    )
    (answer,) = agent.act([turn_of(DEAL, after(DEAL, ["Offer: nothing"]))])
    assert DEAL.action_to_text(state, 0, answer.action) == "Accept"


def test_it_knows_nothing_of_the_others_values():
    agent = make_baseline("bargainer", DEAL)
    for said in ([], ["Offer: 1 ball"], ["Offer: 1 ball", "Offer: 1 hat"]):
        state = after(DEAL, said)
        other = take(state)
        other.values[0, 1 - DEAL.mover(state, 0)] = 0
        found = [agent.policy([turn_of(DEAL, rows)])[0] for rows in (state, other)]
        assert np.array_equal(*found)
        assert found[0].sum() == pytest.approx(1)


def test_it_concedes_and_ends_in_deals():
    agent, random = make_baseline("bargainer", DEAL), RandomAgent()
    played = rollout(
        DEAL,
        {"b": agent, "r": random},
        [Seating(("b", "b"), (False, False)), Seating(("b", "r"), (False, False))],
        seed=1,
        group_size=60,
        illegal="raise",
    )
    returns = np.array([episode.returns for episode in played.episodes])
    assert returns[:60].min() > 0
    assert returns[:60].mean() > 0.65
    assert returns[60:, 0].mean() > returns[60:, 1].mean() + 0.2


def test_with_a_channel_it_plays_the_same_and_says_nothing():
    talking = make_game("negotiation", preset="deal_or_no_deal", talk=30)
    same = Seating(("b", "b"), (False, False))
    silent = rollout(DEAL, {"b": make_baseline("bargainer", DEAL)}, [same] * 10, seed=1)
    quiet = rollout(
        talking, {"b": make_baseline("bargainer", talking)}, [same] * 10, seed=1, keep_actions=True, illegal="raise"
    )
    assert [e.returns for e in silent.episodes] == [e.returns for e in quiet.episodes]
    assert all(text.startswith("[") for episode in quiet.episodes for text in episode.actions)


def test_it_plays_nothing_else():
    with pytest.raises(UsageError, match="negotiations alone"):
        make_baseline("bargainer", make_game("tictactoe"))
    with pytest.raises(UsageError, match="takes no settings"):
        make_baseline("bargainer:3", DEAL)
