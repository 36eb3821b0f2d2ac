"""Games of words through rollout, credit and learner: one path with boards and worlds."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

pytest.importorskip("torch")
from coterie.agents.baselines import RandomAgent, make_baseline
from coterie.agents.core import Decision, Turn
from coterie.agents.seeds import Seed
from coterie.aliases import RUNNING, TERMINATED
from coterie.envs import make_game
from coterie.envs.words import SAY, text_game
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


def spell(word="rock", letters="crok"):
    """One player spells a word, a letter a turn, and is paid for each right one; letters are listed, each once."""

    def hear(game, messages):
        right = messages[0] == word[len(game["said"])]
        game["said"] += messages[0]
        return [float(right)], RUNNING if len(game["said"]) < len(word) else TERMINATED

    return text_game(
        "spell-v0",
        players=1,
        rules=f"Spell {word}.",
        begin=lambda seed: {"said": ""},
        asked=lambda game: [0] if len(game["said"]) < len(word) else [],
        tell=lambda game, player: f"{game['said'] or '-'}>",
        hear=hear,
        choices=lambda game, player: [letter for letter in letters if letter not in game["said"]],
        scripts={"right": lambda game, player, rng: word[len(game["said"])]},
        max_cycles=len(word),
    )


@pytest.mark.parametrize("decode", ["choice", "constrained"])
def test_models_say_only_what_is_listed(decode):
    from coterie.agents.llm.policy import LLMAgent
    from coterie.training.runs.config import PolicyConfig
    from coterie.training.runs.players import build_policy

    game = spell()
    backend = build_policy(PolicyConfig(decode=decode), players=("main",), seed=0)
    agent = LLMAgent(backend, "main")
    played = rollout(game, {"a": agent}, [Seating(("a",), (True,))], seed=1, group_size=40, keep_actions=True)
    assert all(sorted(episode.actions) == sorted("rock") for episode in played.episodes)
    assert all(visit.action == SAY and visit.tokens.chosen >= 0 for visit in played.visits)
    assert len({"".join(episode.actions) for episode in played.episodes}) > 1
    turns = [Turn(game, [{"said": "r"}], 0, 0, np.ones(1, np.int8), 0, Seed(0, k)) for k in range(2000)]
    (shares,) = agent.policy(turns[:1])
    assert shares.shape == (3,)
    assert shares.sum() == pytest.approx(1)
    said = Counter(decision.text for decision in agent.act(turns))
    assert [said[letter] / 2000 for letter in "cok"] == pytest.approx(shares, abs=0.04)
    greedy = LLMAgent(backend, "main", greedy=True)
    assert greedy.act(turns[:1])[0].text == "cok"[int(shares.argmax())]
    assert greedy.policy(turns[:1])[0].tolist() == [float(k == shares.argmax()) for k in range(3)]


def test_the_same_text_with_other_messages_is_another_question(policy):
    from coterie.agents.llm.policy import LLMAgent, LoraPolicy

    chooser = LLMAgent(LoraPolicy(policy.loaded))
    game = text_game(
        "blind-v0",
        players=1,
        rules="Say one.",
        begin=lambda seed: {"may": ["a"]},
        asked=lambda game: [0],
        tell=lambda game, player: ">",
        hear=lambda game, messages: ([0.0], TERMINATED),
        choices=lambda game, player: game["may"],
        max_cycles=1,
    )
    for may in (["a"], ["b", "c"]):
        turn = Turn(game, [{"may": may}], 0, 0, np.ones(1, np.int8), 0)
        assert chooser.act([turn])[0].text in may
        assert chooser.policy([turn])[0].shape == (len(may),)


def test_siblings_branch_from_words(policy):
    from coterie.agents.llm.policy import LLMAgent
    from coterie.training.data.branches import branched

    agents = {"a": LLMAgent(policy, "main"), "b": RandomAgent()}
    batch = branched(GAME, agents, [Seating(("a", "b"), (True, False))] * 12, seed=2, group_size=2)
    assert len(batch.episodes) == 24
    assert len({episode.opening_plies for episode in batch.episodes}) > 1
    for episode in batch.episodes:
        assert episode.opening_plies + episode.plies == 3 or sum(episode.illegal)


def test_a_teacher_says_which_of_the_listed_messages_it_would_say(policy):
    from coterie.agents.llm.policy import LLMAgent, LoraPolicy

    played = rollout(
        spell(),
        {"a": LLMAgent(LoraPolicy(policy.loaded))},
        [Seating(("a",), (True,))],
        seed=1,
        group_size=4,
        keep_actions=True,
        teacher=make_baseline("scripted", spell()),
    )
    for visit in played.visits:
        said = "".join(played.episodes[visit.episode].actions)[: visit.ply]
        may = [letter for letter in "crok" if letter not in said]
        assert visit.tokens.taught == (may.index("rock"[visit.ply]) if "rock"[visit.ply] in may else -1)


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
