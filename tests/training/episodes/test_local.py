"""Episodes on a real, untrained model."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from coterie.training.episodes import Arena, EpisodeRequest, GRPOCredit, Role, SingleTurnEpisode


@pytest.fixture
def policy(mini):
    from coterie.training.runs.config import PolicyConfig
    from coterie.training.runs.players import build_policy

    return build_policy(PolicyConfig(model=str(mini), lora_r=4), ("spare",))


def arena_of(policy, **options):
    arena = Arena(policy, seed=1, credit=GRPOCredit(), **options)
    arena.add_role(Role("Picker"))
    arena.add_role(Role("Talker", max_tokens=8))
    arena.add_episode("pick", SingleTurnEpisode("Picker", choices=lambda a: ["low", "lower", "high"]))
    arena.add_episode("talk", SingleTurnEpisode("Talker"))
    return arena


def test_choices_and_free_words_are_answered_by_their_roles_adapters(policy):
    results = arena_of(policy).play([EpisodeRequest(kind, "Say it:") for kind in ("pick", "talk")] * 4)
    picks, talks = results[::2], results[1::2]
    for result in picks:
        (step,) = result.rollout.steps
        assert step.text == ["low", "lower", "high"][step.chosen]
        assert sum(step.probabilities) == pytest.approx(1)
        assert (step.data[0].lora, step.data[0].kind) == ("Picker", "choice")
    for result in talks:
        (step,) = result.rollout.steps
        assert (step.data[0].lora, step.data[0].kind) == ("Talker", "free")
        assert len(step.data[0].completion) <= 8
    assert len({r.rollout.steps[0].text for r in talks}) > 1


def test_the_same_seed_says_the_same_whatever_is_asked_at_once(policy):
    asked = [EpisodeRequest(kind, "Say it:") for kind in ("pick", "talk")] * 4

    def texts(arena):
        return [step.text for r in arena.play(asked) for step in r.rollout.steps]

    first = texts(arena_of(policy))
    policy.bank.remove("Picker")
    policy.bank.remove("Talker")
    assert texts(arena_of(policy, concurrency=1)) == first


def test_a_prompt_longer_than_the_model_reads_is_a_failed_episode(policy):
    (result,) = arena_of(policy).play([EpisodeRequest("talk", "x" * 10**5)])
    assert "Shorten it" in result.error
