"""PPO on the batched face: the formulas against plain ones, who counts, what is kept."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from coterie.agents.net import PolicyNet, masked
from coterie.envs.gridworld.rules.shaping import Dense, worth_of_means
from coterie.envs.making import make_vec
from coterie.training.learn.ppo_net import PPO, PPOConfig, Ticks, ppo_loss
from coterie.training.runs.nets import new_net

WORLD = {"preset": "a3_11x11", "max_steps": 12}


def worlds(n: int = 4, **more: object) -> tuple[object, PolicyNet]:
    vec = make_vec("gridworld-v0", num_envs=n, seed=0, **(WORLD | more))
    return vec, new_net(vec.game, 32, 0)


def blank(ticks: int, rows: int) -> Ticks:
    zeros = torch.zeros(ticks, rows)
    return Ticks(
        observation=torch.zeros(ticks, rows, 1, 7, 7, dtype=torch.uint8),
        mask=torch.ones(ticks, rows, 3, dtype=torch.int8),
        action=torch.zeros(ticks, rows, dtype=torch.int64),
        logprob=zeros.clone(),
        value=torch.zeros(ticks + 1, rows),
        reward=zeros.clone(),
        fresh=torch.zeros(ticks, rows, dtype=torch.bool),
        ended=torch.zeros(ticks, rows, dtype=torch.bool),
        counts=torch.ones(ticks, rows),
        memory=torch.zeros(rows, 4),
    )


def test_the_gradient_at_the_old_policy_is_that_of_the_plain_policy_gradient() -> None:
    torch.manual_seed(0)
    part = blank(5, 3)
    logits = torch.randn(5, 3, 3, requires_grad=True)
    part.action = torch.randint(0, 3, (5, 3))
    part.mask[0, :, 2] = 0
    part.action[0] = 1
    logs = masked(logits, part.mask).log_softmax(-1)
    part.logprob = logs.gather(-1, part.action[..., None]).squeeze(-1).detach()
    advantage = torch.randn(5, 3)
    config = PPOConfig(entropy_coef=0.0, value_coef=0.0)
    loss, told = ppo_loss(logits, torch.zeros(5, 3), part, advantage, torch.zeros(5, 3), config)
    (got,) = torch.autograd.grad(loss, logits)
    normal = (advantage - advantage.mean()) / (advantage.std(unbiased=False) + 1e-8)
    chosen = masked(logits, part.mask).log_softmax(-1).gather(-1, part.action[..., None]).squeeze(-1)
    (wanted,) = torch.autograd.grad(-(chosen * normal).mean(), logits)
    assert torch.allclose(got, wanted, atol=1e-6)
    assert not got[0, :, 2].any(), "an illegal action has no probability to move"
    assert told["approx_kl"] == pytest.approx(0.0, abs=1e-6)
    assert told["clip_ratio/region_mean"] == 0.0


def test_who_is_not_asked_moves_nothing() -> None:
    torch.manual_seed(1)
    part = blank(4, 2)
    logits, values = torch.randn(4, 2, 3, requires_grad=True), torch.randn(4, 2, requires_grad=True)
    part.mask[:, 1] = 0
    part.counts[:, 1] = 0
    loss, _ = ppo_loss(logits, values, part, torch.randn(4, 2), torch.randn(4, 2), PPOConfig())
    of_logits, of_values = torch.autograd.grad(loss, (logits, values))
    assert of_logits[:, 0].any()
    assert not of_logits[:, 1].any()
    assert not of_values[:, 1].any()


def test_play_draws_legal_actions_alone_and_knows_where_episodes_begin() -> None:
    vec, net = worlds()
    ppo = PPO(vec, net, PPOConfig(ticks=30))
    rollout = ppo.play()
    chosen = rollout.mask.gather(-1, rollout.action[..., None]).squeeze(-1)
    assert chosen.all()
    assert rollout.fresh[0].all()
    assert rollout.fresh[[12, 24]].all(), "episodes of 12 ticks"
    assert rollout.fresh.sum() == 3 * ppo.rows
    assert ppo.agent_steps == 30 * ppo.rows


def test_the_dead_are_left_out() -> None:
    vec, net = worlds(death={"energy": True}, agent={"energy": 8, "upkeep": 2}, max_steps=40)
    rollout = PPO(vec, net, PPOConfig(ticks=20)).play()
    asked = rollout.mask.any(-1)
    assert not asked.all()
    assert torch.equal(rollout.counts > 0, asked)


def test_a_sequence_is_what_the_ticks_were() -> None:
    vec, net = worlds()
    ppo = PPO(vec, net, PPOConfig(ticks=20))
    ppo.play()
    rollout = ppo.play()
    with torch.no_grad():
        logits, values = net.sequence(rollout.observation, rollout.memory, rollout.fresh)
    logs = masked(logits, rollout.mask).log_softmax(-1).gather(-1, rollout.action[..., None]).squeeze(-1)
    assert torch.allclose(logs, rollout.logprob, atol=1e-4)
    assert torch.allclose(values, rollout.value[:-1], atol=1e-4)


def test_going_on_from_what_was_kept_is_going_on() -> None:
    torch.set_num_threads(1)

    def made() -> PPO:
        vec, net = worlds()
        return PPO(vec, net, PPOConfig(ticks=9, epochs=1), dense=Dense(vec.game, 4, 0.3, 0.02, 0.99))

    whole, first = made(), made()
    for _ in range(4):
        whole.update()
    for _ in range(2):
        first.update()
    second = made()
    second.load_state_dict(first.state_dict())
    for _ in range(2):
        second.update()
    for name, part in whole.net.state_dict().items():
        assert torch.equal(part, second.net.state_dict()[name]), name
    assert second.agent_steps == whole.agent_steps


def test_dense_signals_pay_for_what_is_held_and_for_new_cells() -> None:
    vec, _ = worlds(1)
    vec.reset(seed=0)
    dense = Dense(vec.game, 1, weight=0.5, novelty=0.1, gamma=1.0)
    dense.look(vec)
    vec.step(np.zeros((1, 3), np.int32))
    assert not dense.pay(vec, np.zeros(1, bool)).any(), "the cell where an episode begins is not new"
    dense.look(vec)
    vec.step(np.ones((1, 3), np.int32))  # forward
    moved = vec.state.agents["succeeded"]
    assert moved.any()
    assert np.allclose(dense.pay(vec, np.zeros(1, bool)), 0.1 * moved), "the next cell is new"
    dense.look(vec)
    vec.step(np.zeros((1, 3), np.int32))
    vec.state.items[0, 1, 0] += 2  # two r1: half of what a converter makes of each, 100 energy, which is a reward
    assert np.allclose(dense.pay(vec, np.zeros(1, bool)), [[0.0, 0.5, 0.0]])
    assert not dense.pay(vec, np.ones(1, bool)).any(), "the next episode owes nothing to the last"


def test_new_worlds_have_no_cell_that_was_entered() -> None:
    vec, net = worlds()
    ppo = PPO(vec, net, PPOConfig(ticks=5), dense=Dense(vec.game, 4, 0.3, 0.02, 0.99))
    ppo.play()
    assert ppo.dense.visited.any()
    ppo.enter(worlds()[0], seed=9)
    assert not ppo.dense.visited.any()


def test_what_means_are_worth() -> None:
    from coterie.envs.gridworld.config.presets import preset

    energy, items = worth_of_means(preset("bench_24_48x48"))
    assert energy == pytest.approx(0.01)
    assert items == pytest.approx({"r1": 0.5, "r2": 0.0, "r3": 0.0})
