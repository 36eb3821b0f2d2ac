"""Rollouts: who is asked, what is recorded."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest

from coterie.agents.baselines import make_baseline
from coterie.agents.core import Decision, Tokens
from coterie.envs.registry import make_game
from coterie.errors import UsageError
from coterie.training.data.rollout import Seating, opening_states, rollout


class Scripted:
    """Plays the first or the last legal action, or none at all; leaves a record as a language model would."""

    def __init__(self, which):
        self.which, self.name, self.batches = which, str(which), []

    def act(self, turns):
        self.batches.append(len(turns))
        record = Tokens((1,), (2,), (0.0,), "choice", ((2,),), 0, lora="main")
        actions = [t.legal_actions[self.which] if self.which is not None else None for t in turns]
        return [Decision(a, str(a), record) for a in actions]


class Model(Scripted):
    """One of a backend's players, as language models are."""

    def __init__(self, which):
        super().__init__(which)
        self.player, self.backend = "main", SimpleNamespace(act=lambda turns, players, **how: self.act(turns))


GAME = make_game("tictactoe")
FIRST = Seating(("first", "last"), (True, False))


def play(seatings, agents=None, **kwargs):
    agents = agents or {"first": Scripted(0), "last": Scripted(-1), "random": make_baseline("random", GAME)}
    return rollout(GAME, agents, seatings, seed=3, keep_actions=True, **kwargs)


def test_a_scripted_game_is_what_pencil_and_paper_say():
    batch = play([FIRST])
    # X takes 0 1 2 (a column), O 8 7: X wins on its third mark.
    assert batch.episodes[0].actions == [0, 8, 1, 7, 2]
    assert batch.episodes[0].returns == [1.0, -1.0]
    assert [(v.ply, v.seat, v.action) for v in batch.visits] == [(0, 0, 0), (2, 0, 1), (4, 0, 2)]
    assert batch.returns().tolist() == [1.0, 1.0, 1.0]
    assert batch.decisions == 5


def test_only_learners_leave_visits():
    both = play([Seating(("first", "last"), (True, True))])
    assert {v.seat for v in both.visits} == {0, 1}
    assert both.returns()[[v.seat == 1 for v in both.visits]].tolist() == [-1.0, -1.0]
    assert not play([Seating(("first", "last"), (False, False))]).visits


def test_all_games_that_wait_are_asked_in_one_call():
    agents = {"first": Scripted(0), "last": Scripted(-1)}
    play([FIRST] * 5, agents, group_size=2)
    assert agents["first"].batches == [10, 10, 10]
    assert agents["last"].batches == [10, 10]


def test_a_model_is_asked_when_every_game_waits_for_it():
    """Its games from both seats share passes; the records are those of games that go ply by ply, in that order."""
    agents = {"model": Model(0), "last": Scripted(-1)}
    seatings = [Seating(("last", "model"), (False, True)), Seating(("model", "last"), (True, False))]
    visits = [
        [(v.episode, v.ply, v.seat, v.action) for v in play(seatings, played).visits]
        for played in (agents, {**agents, "model": Scripted(0)})
    ]
    assert agents["model"].batches == [2, 2, 1]
    assert visits[0] == visits[1] == [(1, 0, 0, 0), (0, 1, 1, 0), (1, 2, 0, 1), (0, 3, 1, 1), (1, 4, 0, 2)]


@pytest.mark.parametrize("max_plies", [0, 1, 2, 3])
def test_a_limit_of_plies_holds_for_each_game_however_models_are_asked(max_plies):
    seatings = [Seating(("model", "last"), (True, False)), Seating(("last", "model"), (False, True))] * 2
    found = [
        play(seatings, {"model": agent, "last": Scripted(-1)}, max_plies=max_plies) for agent in (Model(0), Scripted(0))
    ]
    assert [e.plies for e in found[0].episodes] == [max_plies or 5] * 4
    assert found[0].episodes == found[1].episodes
    assert [(v.episode, v.ply) for v in found[0].visits] == [(v.episode, v.ply) for v in found[1].visits]


def test_a_teacher_is_asked_about_the_decisions_of_learners_alone():
    class Fresh(Scripted):
        """Leaves a record a decision, as a language model does."""

        def act(self, turns):
            return [
                dataclasses.replace(found, tokens=dataclasses.replace(found.tokens)) for found in super().act(turns)
            ]

    teacher = Scripted(-1)
    batch = play([FIRST], {"first": Fresh(0), "last": Scripted(-1)}, teacher=teacher)
    # X plays 0 1 2, O 8 7; X has 9, 7 and 5 legal actions, and the teacher would have taken the last each time.
    assert [v.tokens.taught for v in batch.visits] == [8, 6, 4]
    assert [v.action for v in batch.visits] == [0, 1, 2]
    assert teacher.batches == [1, 1, 1]
    assert {v.tokens.taught for v in play([FIRST]).visits} == {-1}


def test_an_illegal_answer_ends_the_game_for_its_player_alone():
    agents = {"mute": Scripted(None), "last": Scripted(-1)}
    batch = rollout(
        GAME,
        agents,
        [Seating(("last", "mute"), (True, True))],
        seed=0,
        illegal_penalty=-1.5,
    )
    assert batch.episodes[0].returns == [0.0, -1.5]
    assert batch.episodes[0].illegal == [0, 1]
    assert np.mean([v.action is None for v in batch.visits]) == 0.5


def test_groups_share_their_opening():
    agents = {"first": Scripted(0), "last": Scripted(-1)}
    batch = play([FIRST] * 40, agents, group_size=3, opening_plies=4)
    by_group = {}
    for episode in batch.episodes:
        by_group.setdefault(episode.group, []).append((episode.opening_plies, tuple(episode.actions), *episode.returns))
    assert len(by_group) == 40
    assert all(len(set(games)) == 1 for games in by_group.values())  # scripted players: same opening, same game
    plies = [games[0][0] for games in by_group.values()]
    assert set(plies) == {0, 1, 2, 3, 4}
    first = next(v for v in batch.visits if v.episode == 0)
    assert first.ply >= batch.episodes[0].opening_plies


def test_openings_are_unfinished_even_where_random_play_would_end_the_game():
    states, played = opening_states(GAME, range(300), 9)
    vec_rows = states.state
    assert not vec_rows["over"].any()
    assert played.max() >= 6
    marks = [bin(int(r["own"]) | int(r["other"])).count("1") for r in vec_rows]
    assert marks == played.tolist()


def test_the_same_seed_gives_the_same_games():
    seating = [Seating(("random", "random"), (False, False))] * 20
    a, b = play(seating, opening_plies=3), play(seating, opening_plies=3)
    assert [e.actions for e in a.episodes] == [e.actions for e in b.episodes]


def test_simultaneous_games_ask_every_seat():
    game = make_game("highest_number", max_number=3)
    agents = {"first": Scripted(0), "last": Scripted(-1)}
    batch = rollout(game, agents, [Seating(("first", "last"), (True, True))] * 4, seed=0)
    assert agents["first"].batches == agents["last"].batches == [4]
    assert all(e.returns == [-1.0, 1.0] for e in batch.episodes)
    assert len(batch.visits) == 8


def test_a_name_without_an_agent_is_named():
    with pytest.raises(UsageError, match="No agent is called 'ghost'"):
        play([Seating(("ghost", "last"), (True, False))])
