"""Several base models in one arena: the built-in one beside a small random Llama, learning or frozen."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from coterie.errors import UsageError  # noqa: E402
from coterie.training.episodes import Arena, Episode, EpisodeRequest, Role, Rubric  # noqa: E402
from coterie.training.runs.config import PolicyConfig  # noqa: E402
from coterie.training.runs.players import build_policy  # noqa: E402
from coterie.training.runs.task_config import LimitsConfig  # noqa: E402

WORDS = ["red", "tan", "sky"]  # of one length: an untrained model picks each as often


class Duet(Episode):
    """Both pick a word; both are paid for what the second one picked."""

    rubric = Rubric(lambda rollout, arena: dict.fromkeys("AB", float(rollout.steps[-1].chosen)))

    async def rollout(self, arena, artifact, state):
        first = await self.call_model("A", artifact, arena, choices=WORDS)
        await self.call_model("B", f"{artifact} {first.text}", arena, choices=WORDS)
        return state


def policy(model: str, seed: int = 0):
    return build_policy(PolicyConfig(model=model, lora_r=2), (), seed)


def duet(first, second, **more) -> Arena:
    arena = Arena(first, seed=3, source=lambda arena, rng: [EpisodeRequest("duet", "Colour:")] * 6, **more)
    arena.add_model("small", second)
    arena.add_episode("duet", Duet())
    return arena


def weights(policy, name: str):
    return policy.bank.state_dict()["weights"][name].clone()


def test_one_learns_beside_another_that_is_frozen(mini) -> None:
    own, other = policy("tiny"), policy(str(mini))
    arena = duet(own, other)
    arena.add_role(Role("A", temperature=20.0))
    arena.add_role(Role("B", model="small", trainable=False))
    hashes, before = (own.loaded.hash, other.engine.describe().hash), weights(own, "A")
    (alone,) = _alone(mini, arena)
    row = arena.step()
    for result in arena.results:
        assert [step.role_id for step in result.rollout.steps] == ["A", "B"]
        assert len(result.rollout.steps[1].probabilities) == 3
    same = [r.rollout.steps[1] for r in arena.results if r.rollout.steps[1].prompt == alone.prompt]
    assert same[0].probabilities == pytest.approx(alone.probabilities, abs=1e-5)  # a batch of six or of one
    assert {record.role_id for record in arena.build_training_batch(arena.results)} == {"A"}
    assert (row["decisions"], row["failed"]) == (6, 0)
    assert not torch.equal(before, weights(own, "A"))
    assert hashes == (own.engine.describe().hash, other.engine.describe().hash)
    assert dict(other.engine.describe().players) == {}


def _alone(mini, arena: Arena):
    """What the small model alone says to the prompt that B gets in the first duet."""
    (first,) = arena.play([EpisodeRequest("duet", "Colour:")])
    single = Arena(policy(str(mini)))
    single.add_role(Role("B", trainable=False))

    class Repeat(Episode):
        rubric = Rubric(lambda rollout, arena: {"B": 0.0})

        async def rollout(self, arena, artifact, state):
            await self.call_model("B", first.rollout.steps[1].prompt, arena, choices=WORDS)
            return state

    single.add_episode("repeat", Repeat())
    (result,) = single.play([EpisodeRequest("repeat")])
    return result.rollout.steps


def test_both_learn_each_with_its_own_model_and_resume_bit_equal(mini) -> None:
    def made():
        policies = policy("tiny"), policy(str(mini))
        arena = duet(*policies)
        arena.add_role(Role("A", temperature=20.0))
        arena.add_role(Role("B", model="small"))
        return arena, *policies

    arena, own, other = made()
    start = weights(own, "A"), weights(other, "B")
    rows = arena.run(2)
    assert [set(row["players"]) for row in rows] == [{"A", "B"}] * 2
    assert [row["players"][name]["decisions"] for row in rows for name in "AB"] == [6] * 4
    assert not torch.equal(start[0], weights(own, "A"))
    assert not torch.equal(start[1], weights(other, "B"))
    kept = arena.taken()
    last = arena.run(2)
    again, own_again, other_again = made()
    again.put_back(*kept)
    repeated = again.run(2)
    assert [row["reward"] for row in repeated] == [row["reward"] for row in last]
    assert torch.equal(weights(own, "A"), weights(own_again, "A"))
    assert torch.equal(weights(other, "B"), weights(other_again, "B"))


def test_one_of_two_models_that_breaks_is_set_back(mini) -> None:
    own, other = policy("tiny"), policy(str(mini))
    arena = duet(own, other, limits=LimitsConfig(max_kl=-1.0))
    arena.add_role(Role("A", temperature=20.0))
    arena.add_role(Role("B", model="small"))
    arena.learning  # noqa: B018
    before = weights(own, "A"), weights(other, "B")
    row = arena.step()
    assert [note.partition(":")[0] for note in row["notes"]] == [
        "A is set back to update 0",
        "B is set back to update 0",
    ]
    assert torch.equal(before[0], weights(own, "A"))
    assert torch.equal(before[1], weights(other, "B"))


def test_an_adapter_belongs_to_one_model(mini) -> None:
    arena = duet(policy("tiny"), policy(str(mini)))
    arena.add_role(Role("A", player="main"))
    with pytest.raises(UsageError, match="both learn as 'main', with different models"):
        arena.add_role(Role("B", player="main", model="small"))
    arena.add_role(Role("B", player="other", model="small"))
