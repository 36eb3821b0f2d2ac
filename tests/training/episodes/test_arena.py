"""Episodes, their trees and their failures, on the engine without a model."""

from __future__ import annotations

import asyncio
import random
import re

import pytest

from coterie.agents.engines.base import Choice
from coterie.agents.engines.mock import MockEngine
from coterie.errors import UnknownName, UsageError
from coterie.training.episodes import (
    AlternatingRolesEpisode,
    Arena,
    ArtifactStore,
    Episode,
    EpisodeRequest,
    MultiTurnEpisode,
    Role,
    Rubric,
    SingleTurnEpisode,
)

NUMBERS = [str(n) for n in range(10)]


def said(ask):
    """The prompt of an ask, as text."""
    return bytes(ask.context.ids).decode()


class Ask(Episode):
    """A proposer asks; three solvers answer; the proposer is paid for a pass rate of one half."""

    rubric = Rubric(lambda rollout, arena: {"Proposer": 1 - 2 * abs(rollout.extras["pass_rate"] - 0.5)})

    def __init__(self, solvers=3):
        super().__init__()
        self.solvers = solvers

    async def rollout(self, arena, artifact, state):
        response = await self.call_model("Proposer", "Say a digit.", arena, choices=NUMBERS)
        arena.stores["digits"].add(response.text)
        requests = [EpisodeRequest("solve", response.text)] * self.solvers
        state.child_results = await arena.generate_rollouts(requests)
        return state

    def get_extras(self, state):
        wins = sum(r.rewards.get("Solver", 0) > 0 for r in state.child_results)
        return {"pass_rate": wins / len(state.child_results)}


def solve(rollout, arena):
    return {"Solver": float(rollout.steps[0].text >= rollout.artifact)}


def family(engine=None, *, solver=None, **options):
    arena = Arena(engine or MockEngine(), **options)
    for name in ("Proposer", "Solver"):
        arena.add_role(Role(name))
    arena.add_store("digits")
    arena.add_episode("ask", Ask())
    arena.add_episode(
        "solve", solver or SingleTurnEpisode("Solver", lambda a: f"Beat {a}.", lambda a: NUMBERS, rubric=solve)
    )
    return arena


def test_a_tree_of_episodes_with_rewards_and_records():
    arena = family()
    results = arena.play([EpisodeRequest("ask")] * 4)
    assert [r.path for root in results for r in root.walk()] == [
        p for k in range(4) for p in ((k,), (k, 0), (k, 1), (k, 2))
    ]
    for root in results:
        (question,) = root.rollout.steps
        assert {c.rollout.artifact for c in root.children} == {question.text}
        assert root.rollout.extras["pass_rate"] == pytest.approx(sum(c.rewards["Solver"] for c in root.children) / 3)
        assert question.probabilities == pytest.approx([0.1] * 10)
        assert question.choices[question.chosen] == question.text
        assert question.prompt == [{"role": "user", "content": "Say a digit."}]
    arena.assign(results)
    batch = arena.build_training_batch(results)
    assert [record.role_id for record in batch] == ["Proposer", "Solver", "Solver", "Solver"] * 4
    assert all(record.datum.lora == record.role_id and record.datum.kind == "choice" for record in batch)


def shuffled(arena, seed):
    """The arena with questions that reach the engine in another order, at other times."""
    rng, ask = random.Random(seed), arena.models[""].batcher.ask

    async def late(question):
        await asyncio.sleep(rng.random() * 0.003)
        answer = await ask(question)
        await asyncio.sleep(rng.random() * 0.003)
        return answer

    arena.models[""].batcher.ask = late
    return arena


@pytest.mark.parametrize("concurrency", [1, 3, 64])
def test_the_same_seed_gives_the_same_tree_whoever_is_faster(concurrency):
    plain = family(seed=5)
    first = plain.play([EpisodeRequest("ask")] * 6)
    for order in range(3):
        arena = shuffled(family(seed=5, concurrency=concurrency), order)
        assert arena.play([EpisodeRequest("ask")] * 6) == first
        assert arena.stores["digits"].items() == plain.stores["digits"].items()
    assert family(seed=6).play([EpisodeRequest("ask")] * 6) != first


def test_two_requests_of_one_arena_differ():
    arena = family()
    assert arena.play([EpisodeRequest("ask")] * 6) != arena.play([EpisodeRequest("ask")] * 6)


def test_many_episodes_make_few_calls():
    engine = MockEngine()
    family(engine).play([EpisodeRequest("ask")] * 16)
    assert [len(batch) for batch in engine.batches] == [16, 48]


@pytest.mark.parametrize("concurrency", [1, 2, 5])
def test_no_more_episodes_than_allowed_run_at_once_and_parents_do_not_block_their_children(concurrency):
    running, most = 0, 0

    class Counted(SingleTurnEpisode):
        async def rollout(self, arena, artifact, state):
            nonlocal running, most
            running += 1
            most = max(most, running)
            await asyncio.sleep(0.001)
            running -= 1
            return await super().rollout(arena, artifact, state)

    arena = family(solver=Counted("Solver", rubric=solve), concurrency=concurrency)
    results = arena.play([EpisodeRequest("ask")] * 8)
    assert not any(r.error for root in results for r in root.walk())
    assert most == concurrency


def test_a_failed_child_is_data():
    async def broken(rollout, arena):
        if arena.roles and rollout.steps[0].text in "02468":
            raise RuntimeError("the judge is ill")
        return {"Solver": 1.0}

    arena = family(solver=SingleTurnEpisode("Solver", choices=lambda a: NUMBERS, rubric=broken))
    results = arena.play([EpisodeRequest("ask")] * 8)
    failed = [c for root in results for c in root.children if c.error]
    assert 0 < len(failed) < 24
    assert {c.error for c in failed} == {"RuntimeError: the judge is ill"}
    assert all(c.rewards == {} for c in failed)
    assert not any(root.error for root in results)
    arena.assign(results)
    assert len(arena.build_training_batch(results)) == 8 + 24 - len(failed)


@pytest.mark.parametrize("paid", [{"Solver": float("nan")}, {"Solver": "much"}, None, 3.0, {"Solver": float("inf")}])
def test_a_rubric_that_pays_no_number_is_a_failed_episode(paid):
    def odd(rollout, arena):
        return paid

    arena = family(solver=SingleTurnEpisode("Solver", rubric=odd))
    (result,) = arena.play([EpisodeRequest("solve", "7")])
    assert "odd" in result.error
    assert result.rewards == {}


def test_a_rubric_that_pays_a_role_that_there_is_not_ends_the_run():
    arena = family(solver=SingleTurnEpisode("Solver", rubric=lambda rollout, arena: {"Slover": 1.0}))
    with pytest.raises(UnknownName, match=r"Unknown role 'Slover'\. Did you mean 'Solver'"):
        arena.play([EpisodeRequest("solve", "7")])


@pytest.mark.parametrize(
    ("prompt", "choices", "told"),
    [
        (5, None, "A prompt is a text or a list of messages; 5 came"),
        (None, None, "A prompt is a text or a list of messages; None came"),
        ([{"role": "judge", "content": "x"}], None, "is no message"),
        ("", None, "no text"),
        ("x" * 10**7, None, "10,000,000 characters came; .* Shorten it"),
        ("?", [1, 2], r"choices are \[1, 2\]"),
        ("?", ["a", "a"], "all different"),
    ],
)
def test_questions_that_cannot_be_asked_fail_their_episode(prompt, choices, told):
    class Asks(Episode):
        async def rollout(self, arena, artifact, state):
            await self.call_model("Solver", prompt, arena, choices=choices)
            return state

    arena = family()
    arena.add_episode("asks", Asks())
    (result,) = arena.play([EpisodeRequest("asks")])
    assert re.search(told, result.error)
    assert not result.rollout.steps


def test_an_update_needs_a_request():
    with pytest.raises(UsageError, match="at least one request, and none came"):
        family().step([])


def test_a_judge_that_never_answers_costs_its_own_episodes_only():
    async def judge(rollout, arena):
        if rollout.steps[0].chosen % 2:
            await asyncio.Event().wait()
        return {"Solver": 1.0}

    arena = family(solver=SingleTurnEpisode("Solver", choices=lambda a: NUMBERS, rubric=judge), timeout=2.0)
    results = arena.play([EpisodeRequest("solve", str(k)) for k in range(12)])
    assert {r.error for r in results} == {"", "It took longer than 2 seconds."}
    assert all(bool(r.error) == bool(r.rollout.steps[0].chosen % 2) for r in results)


def test_a_parent_that_takes_too_long_takes_its_children_along():
    cancelled = []

    class Endless(Episode):
        async def rollout(self, arena, artifact, state):
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.append(artifact)
                raise
            return state

    arena = family(solver=Endless(), timeout=1.0)
    results = arena.play([EpisodeRequest("ask")] * 2)
    assert all(root.error.startswith("It took longer") for root in results)
    assert len(cancelled) == 6
    assert arena.stores["digits"].count() == 0  # a failed episode leaves nothing behind


def test_unknown_names_end_the_run_with_one_sentence():
    arena = family(solver=SingleTurnEpisode("Solve", rubric=solve))
    with pytest.raises(UnknownName, match=r"Unknown role 'Solve'\. Did you mean 'Solver'"):
        arena.play([EpisodeRequest("ask")])
    with pytest.raises(UnknownName, match=r"Unknown episode 'slove'\. Did you mean 'solve'"):
        arena.play([EpisodeRequest("slove")])
    with pytest.raises(UnknownName, match="Unknown player 'nobody'"):
        arena.add_role(Role("Ghost", player="nobody", trainable=False))


def test_names_are_given_once():
    arena = family()
    for add in (
        lambda: arena.add_role(Role("Solver")),
        lambda: arena.add_episode("solve", Ask()),
        lambda: arena.add_store("digits", ArtifactStore()),
        lambda: arena.add_model("", MockEngine()),
    ):
        with pytest.raises(UsageError, match="already has"):
            add()


def test_an_oracle_is_asked_without_a_role_and_never_learned_from():
    async def judge(rollout, arena):
        verdict = await arena.call_model("Who won?", choices=["Solver", "nobody"], temperature=0.3)
        return {"Solver": float(verdict.text == "Solver")}

    engine = MockEngine()
    arena = family(engine, solver=SingleTurnEpisode("Solver", rubric=judge))
    results = arena.play([EpisodeRequest("solve", str(k)) for k in range(20)])
    judged = [ask for batch in engine.batches for ask in batch if "Who won" in said(ask)]
    assert len(judged) == 20
    assert {(ask.player, ask.temperature) for ask in judged} == {(None, 0.3)}
    assert {r.rewards["Solver"] for r in results} == {0.0, 1.0}
    arena.assign(results)
    assert {record.role_id for record in arena.build_training_batch(results)} == {"Solver"}


def test_a_second_model_answers_its_own_roles():
    own, other = MockEngine(), MockEngine(lambda ask: 0)
    arena = Arena(own)
    arena.add_model("teacher", other)
    arena.add_role(Role("Teacher", model="teacher", trainable=False))
    arena.add_episode("solve", SingleTurnEpisode("Teacher", choices=lambda a: ["yes", "no"]))
    (result,) = arena.play([EpisodeRequest("solve", "?")])
    assert result.rollout.steps[0].text == "yes"
    assert own.batches == []


def test_players_are_adapters_and_frozen_roles_the_base_model():
    engine = MockEngine(players=["old"])
    arena = Arena(engine)
    roles = [Role("A"), Role("B", player="main"), Role("C", player="main"), Role("D", trainable=False)]
    for role in (*roles, Role("E", player="old", trainable=False)):
        arena.add_role(role)
    assert set(engine.players) == {"old", "A", "main"}
    arena.add_episode("talk", AlternatingRolesEpisode("ABCDE", max_turns=5))
    (result,) = arena.play([EpisodeRequest("talk", "Hello")])
    assert [step.data[0].lora for step in result.rollout.steps] == ["A", "main", "main", "", "old"]
    assert len(arena.build_training_batch([result])) == 3


def test_a_conversation_shows_each_role_its_own_words_as_its_own():
    engine = MockEngine(lambda ask: b"ha" if ask.player == "A" else b"ho")
    arena = Arena(engine)
    arena.add_role(Role("A", "You are A."))
    arena.add_role(Role("B"))
    arena.add_episode("talk", AlternatingRolesEpisode(["A", "B"], max_turns=4))
    (result,) = arena.play([EpisodeRequest("talk", "Hello")])
    a, b = result.rollout.steps[2].prompt, result.rollout.steps[3].prompt
    assert [(m["role"], m["content"]) for m in a] == [
        ("system", "You are A."),
        ("user", "Hello"),
        ("assistant", "ha"),
        ("user", "ho"),
    ]
    assert [(m["role"], m["content"]) for m in b] == [("user", "Hello\nha"), ("assistant", "ho"), ("user", "ha")]


def test_an_environment_replies_until_it_has_heard_enough():
    arena = Arena(MockEngine(lambda ask: b"more"))
    arena.add_role(Role("A"))
    arena.add_episode("talk", MultiTurnEpisode("A", lambda _, texts: "and?" if len(texts) < 3 else None, max_turns=9))
    (result,) = arena.play([EpisodeRequest("talk", "Speak.")])
    assert len(result.rollout.steps) == 3
    assert [m["content"] for m in result.rollout.steps[2].prompt] == ["Speak.", "more", "and?", "more", "and?"]


def test_steps_may_be_paid_on_their_own():
    class Paid(Episode):
        async def rollout(self, arena, artifact, state):
            for k in range(3):
                response = await self.call_model("A", f"Turn {k}.", arena, choices=["x", "y"])
                response.step.reward = float(k)
            return state

    arena = Arena(MockEngine())
    arena.add_role(Role("A"))
    arena.add_episode("paid", Paid(rubric=lambda rollout, arena: {"A": 10.0}))
    (result,) = arena.play([EpisodeRequest("paid")])
    assert result.rewards == {"A": 13.0}


@pytest.mark.parametrize("choices", [[], ["a", "a"], ["a", ""]])
def test_unusable_choices_are_a_failed_episode(choices):
    arena = family(solver=SingleTurnEpisode("Solver", choices=lambda a: choices))
    (result,) = arena.play([EpisodeRequest("solve", "?")])
    assert "choices" in result.error
    assert result.rollout.steps == []


@pytest.mark.parametrize("prompt", [[], [{"role": "god", "content": "x"}], [{"role": "user"}], ["hello"], ""])
def test_unusable_prompts_are_a_failed_episode(prompt):
    class Odd(Episode):
        async def rollout(self, arena, artifact, state):
            await self.call_model("Solver", prompt, arena)
            return state

    (result,) = family(solver=Odd()).play([EpisodeRequest("solve", "?")])
    assert result.error


def test_an_endless_prompt_is_a_failed_episode():
    (result,) = family(solver=SingleTurnEpisode("Solver")).play([EpisodeRequest("solve", "x" * 10**6)])
    assert "1,000,000 tokens" in result.error


def test_a_rollout_that_forgets_its_state_is_told_so():
    class Forgets(Episode):
        async def rollout(self, arena, artifact, state):
            return None

    (result,) = family(solver=Forgets()).play([EpisodeRequest("solve", "?")])
    assert "must return the state" in result.error


def test_a_role_is_asked_in_episodes_only():
    with pytest.raises(UsageError, match="outside of an episode"):
        asyncio.run(Episode().call_model("Solver", "?", family()))


def test_evaluation_episodes_do_not_train():
    arena = family()
    results = arena.play([EpisodeRequest("ask", is_trainable=False)] * 3)
    arena.assign(results)
    assert arena.build_training_batch(results) == []


def test_choices_are_asked_as_choices():
    engine = MockEngine()
    family(engine).play([EpisodeRequest("ask")])
    assert all(isinstance(ask.form, Choice) for batch in engine.batches for ask in batch)


@pytest.mark.parametrize("wrong", [{"id": ""}, {"temperature": 0.0}, {"temperature": float("nan")}, {"max_tokens": 0}])
def test_a_role_that_cannot_be(wrong):
    with pytest.raises(UsageError):
        Role(**{"id": "A", **wrong})


@pytest.mark.parametrize("wrong", [{"concurrency": 0}, {"timeout": 0.0}])
def test_an_arena_that_cannot_be(wrong):
    with pytest.raises(UsageError):
        Arena(MockEngine(), **wrong)
