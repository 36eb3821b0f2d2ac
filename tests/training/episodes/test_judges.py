"""A model as judge within episodes: an oracle in both orders; servers that fail, judges that never answer."""

from __future__ import annotations

import time

from coterie.agents.engines.mock import MockEngine
from coterie.agents.llm.judge import Case, Jury
from coterie.errors import EngineError
from coterie.training.episodes import Arena, Episode, EpisodeRequest
from coterie.training.episodes.judges import judged

CASE = Case("Tea or coffee?", ("tea", "coffee"), ((0, "Tea calms."), (1, "Coffee wakes.")))


class Judged(Episode):
    def __init__(self, jury):
        super().__init__(lambda rollout, arena: {})
        self.jury = jury

    async def rollout(self, arena, artifact, state):
        state.data["verdict"] = await judged(arena, CASE, self.jury)
        return state

    def get_extras(self, state):
        return {"verdict": state.data["verdict"]}


def ask(engine, jury=None, timeout=60.0):
    arena = Arena(engine, timeout=timeout)
    arena.add_episode("judged", Judged(jury))
    (result,) = arena.play([EpisodeRequest("judged")])
    return result, arena


def tea_first(prompt):
    """Whether tea's speaker is shown as A."""
    return b"A argues: tea" in bytes(prompt.context.ids)


def test_a_judge_who_likes_tea_finds_it_in_both_orders_and_is_never_learned_from():
    engine = MockEngine(lambda prompt: [*(b"A" if tea_first(prompt) else b"B")])
    result, arena = ask(engine, Jury(3, free=True))
    verdict = result.rollout.extras["verdict"]
    assert (verdict.winner, verdict.valid, verdict.agreed) == ("A", 6, True)
    assert arena.build_training_batch([result]) == []
    assert [len(batch) for batch in engine.batches] == [6]


def test_a_choice_without_preference_is_a_draw():
    verdict = ask(MockEngine())[0].rollout.extras["verdict"]
    assert verdict.winner == "draw"
    assert verdict.valid == 2


def test_nonsense_is_counted_and_a_draw():
    verdict = ask(MockEngine(lambda prompt: [*b"well..."]), Jury(2, free=True))[0].rollout.extras["verdict"]
    assert (verdict.winner, verdict.valid, verdict.invalid) == ("draw", 0, 4)


def test_a_server_that_fails_is_an_invalid_vote():
    def fails(prompt):
        raise EngineError("no answer")

    result, _ = ask(MockEngine(fails))
    assert result.rollout.extras["verdict"].winner == "draw"
    assert result.rollout.extras["verdict"].invalid == 2


def test_a_judge_who_never_answers_is_a_failed_episode():
    result, _ = ask(MockEngine(lambda prompt: time.sleep(1) or 0), timeout=0.05)
    assert "longer than" in result.error
