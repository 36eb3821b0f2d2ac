"""Games of words through rollout, credit and learner: one path with boards and worlds."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")
from coterie.agents.baselines import RandomAgent, make_baseline
from coterie.agents.core import Decision
from coterie.envs import make_game
from coterie.envs.words import SAY
from coterie.errors import ActionError, UsageError
from coterie.training.data.rollout import Seating, rollout

GAME = make_game("highest_string", rounds=3, length=4)
SELF = Seating(("a", "a"), (True, True))


class Says:
    """Says the same each time, and what its turn makes of it counts."""

    name = "says"

    def __init__(self, message):
        self.message = message

    def act(self, turns):
        decisions = []
        for turn in turns:
            try:
                decisions.append(Decision(turn.parse_action(self.message), self.message))
            except ActionError:
                decisions.append(Decision(None, self.message))
        return decisions


def play(agents, seatings, **words):
    return rollout(GAME, agents, seatings, seed=3, keep_actions=True, **words)


def test_the_higher_string_wins_every_round():
    played = play({"a": Says("~~~~"), "b": Says("~~~")}, [Seating(("a", "b"), (True, False))])
    (episode,) = played.episodes
    assert episode.returns == [3.0, -3.0]
    assert episode.actions == [["~~~~", "~~~"]] * 3
    assert played.decisions == 6


@pytest.mark.parametrize("message", ["", "~" * 5, "\n", "é"])
def test_illegal_messages_end_the_game_for_who_said_them(message):
    played = play({"a": Says(message), "b": Says("a")}, [Seating(("a", "b"), (True, False))], illegal_penalty=-2.0)
    (episode,) = played.episodes
    assert episode.returns == [-2.0, 0.0]
    assert episode.illegal == [1, 0]
    assert episode.plies == 1
    assert episode.actions == [[None, "a"]]


def test_a_game_is_the_same_alone_and_among_others():
    agents = {"a": RandomAgent()}
    together = play(agents, [SELF] * 20, group_size=2).episodes
    alone = [
        episode for number in range(20) for episode in play(agents, [SELF], group_size=2, numbers=[number]).episodes
    ]
    assert [e.actions for e in together] == [e.actions for e in alone]
    assert len({str(e.actions) for e in together}) == 40


def test_openings_are_random_messages():
    played = play({"a": Says("~")}, [SELF] * 30, group_size=2, opening_plies=2)
    plies = [episode.opening_plies for episode in played.episodes]
    assert set(plies) == {0, 1, 2}
    assert [len(episode.actions) for episode in played.episodes] == [3 - ply for ply in plies]


def test_random_players_know_no_words_but_the_game_does():
    with pytest.raises(UsageError, match="game of words"):
        make_baseline("mcts", GAME)
    heights = [e.returns[0] for e in play({"a": RandomAgent()}, [SELF] * 200).episodes]
    assert abs(np.mean(heights)) < 0.4
    assert SAY == 0


@pytest.fixture(scope="module")
def policy():
    from coterie.training.runs.config import PolicyConfig
    from coterie.training.runs.players import build_policy

    config = PolicyConfig(decode="free", max_completion_length=9)
    return build_policy(config, players=("main",), seed=0)


def test_what_a_model_says_is_its_action(policy):
    from coterie.agents.llm.policy import LLMAgent

    game = make_game("highest_string")
    played = rollout(
        game,
        {"main": LLMAgent(policy, "main"), "random": RandomAgent()},
        [Seating(("main", "random"), (True, False))] * 4,
        seed=1,
        group_size=4,
        keep_actions=True,
    )
    assert len(played.visits) == 16
    for visit in played.visits:
        said = played.episodes[visit.episode].actions[0][0]
        ids = visit.tokens.completion[:-1] if visit.tokens.stop == "stop" else visit.tokens.completion
        text = policy.loaded.tokenizer.decode(list(ids), skip_special_tokens=False)
        assert said == (text if visit.action == SAY else None)
        assert (visit.action is None) == bool(played.episodes[visit.episode].illegal[0])


def test_choosing_among_words_is_refused():
    from coterie.agents.llm.policy import LLMAgent
    from coterie.training.runs.config import PolicyConfig
    from coterie.training.runs.players import build_policy

    chooser = LLMAgent(build_policy(PolicyConfig(decode="choice"), players=("main",), seed=0), "main")
    with pytest.raises(UsageError, match="decode freely"):
        play({"a": chooser}, [SELF])


@pytest.mark.parametrize("credit", ["group", "rae", "state", "turn"])
def test_every_credit_trains(credit):
    from coterie.training.loop import Trainer
    from coterie.training.runs.config import CreditConfig, PolicyConfig, RolloutConfig, SchemeConfig, TrainConfig

    trainer = Trainer(
        TrainConfig(
            game="highest_string",
            policy=PolicyConfig(decode="free", max_completion_length=9),
            rollout=RolloutConfig(games=32, num_generations=8, opening_plies=0),
            credit=CreditConfig(credit=credit),
            scheme=SchemeConfig(scheme="fixed", opponents="random=1"),
        )
    )
    row = trainer.step()
    assert row["trained"] > 0
    assert trainer.policy.bank.versions[trainer.scheme.learners[0]] > 0
