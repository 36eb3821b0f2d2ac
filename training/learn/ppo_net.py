"""PPO for many agents in many worlds, on the batched face: one net plays every seat, in one readable file.

Letters: N worlds, P seats, B = N P rows, T ticks of a rollout, A actions, D hidden units.

The loop is the paper's: play T ticks with the current net, estimate advantages, improve the clipped objective for a few
passes over the rows, repeat. Rows are sequences, so the GRU is trained through time from its memory at the beginning of
the rollout. Illegal actions have probability 0; dead agents do not act and count nowhere.

Left out: clipping of the value loss, normalisation of observations and rewards (a plane's scale is fixed).

Source: Schulman et al. 2017, Proximal Policy Optimization Algorithms, section 3 (objective) and 5 (loop); advantages:
Schulman et al. 2016, High-dimensional continuous control using generalized advantage estimation, equation 16.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...agents.net import PolicyNet, masked
from ...envs.faces.vec import VecEnv
from ...envs.gridworld.rules.shaping import Dense
from ..data.credit import gae
from ..runs.net_config import PPOConfig

__all__ = ["PPO", "PPOConfig", "Ticks", "ppo_loss"]


@dataclass
class Ticks:
    """T ticks of B rows.

    Attributes:
        observation: [T, B, C, H, W] uint8.
        mask: [T, B, A] int8.
        action: [T, B] int64.
        logprob: [T, B] of the chosen action, in nats.
        value: [T + 1, B]; the last row bootstraps.
        reward: [T, B].
        fresh: [T, B] bool: an episode begins with this observation.
        ended: [T, B] bool: the episode (or the agent) ended with this action.
        counts: [T, B] float32 1 where a living agent acted.
        memory: [B, D] the GRU's, at the beginning.
    """

    observation: Tensor
    mask: Tensor
    action: Tensor
    logprob: Tensor
    value: Tensor
    reward: Tensor
    fresh: Tensor
    ended: Tensor
    counts: Tensor
    memory: Tensor


def ppo_loss(
    logits: Tensor, values: Tensor, part: Ticks, advantage: Tensor, returns: Tensor, config: PPOConfig
) -> tuple[Tensor, dict[str, float]]:
    """The clipped objective, the value loss and the entropy bonus; means over rows that count."""
    logs = masked(logits, part.mask).log_softmax(-1)
    chosen = logs.gather(-1, part.action.unsqueeze(-1)).squeeze(-1)
    counts, total = part.counts, part.counts.sum().clamp(min=1)
    mean = (advantage * counts).sum() / total
    spread = (((advantage - mean) ** 2 * counts).sum() / total).sqrt()
    normal = (advantage - mean) / (spread + 1e-8)
    ratio = (chosen - part.logprob).exp()
    gain = torch.minimum(ratio * normal, ratio.clamp(1 - config.clip, 1 + config.clip) * normal)
    entropy = -(logs.exp() * logs).sum(-1)
    policy_loss = -(gain * counts).sum() / total
    value_loss = 0.5 * ((values - returns) ** 2 * counts).sum() / total
    bonus = (entropy * counts).sum() / total
    loss = policy_loss + config.value_coef * value_loss - config.entropy_coef * bonus
    with torch.no_grad():
        kl = (((ratio - 1) - (chosen - part.logprob)) * counts).sum() / total
        cut = (((ratio - 1).abs() > config.clip).float() * counts).sum() / total
    return loss, {
        "policy_loss": policy_loss.item(),
        "value_loss": value_loss.item(),
        "entropy": bonus.item(),
        "approx_kl": kl.item(),
        "clip_ratio/region_mean": cut.item(),
    }


class PPO:
    """A net, its optimizer and the worlds it plays in.

    Args:
        vec: the worlds; a simultaneous game with plane observations, autoreset in the same step.
        net: made for the game.
        config: how it learns.
        seed: of the worlds, the action sampling and the order of rows.
        episode: see ``enter``.
        dense: dense rewards added while learning, or None.

    ``updates`` counts the rollouts learned from, ``agent_steps`` the actions of living agents.
    """

    def __init__(
        self,
        vec: VecEnv,
        net: PolicyNet,
        config: PPOConfig,
        seed: int = 0,
        episode: int = 0,
        dense: Dense | None = None,
    ) -> None:
        self.vec, self.net, self.config, self.dense = vec, net, config, dense
        self.rows = vec.num_envs * vec.num_players
        self.optimizer = torch.optim.Adam(net.parameters(), lr=config.learning_rate, eps=1e-5)
        self.generator = torch.Generator().manual_seed(seed)
        self.updates = self.agent_steps = 0
        self.earned = 0.0
        self.enter(vec, seed, episode)

    def enter(self, vec: VecEnv, seed: int, episode: int = 0) -> None:
        """Begin in new worlds of the same kind, at staggered ages: world i is i / N of an ``episode`` (ticks) old."""
        self.vec = vec
        self.memory, self.fresh = self.net.begin(self.rows), torch.ones(self.rows, dtype=torch.bool)
        vec.reset(seed=seed)
        begun = vec.get_state()
        begun.cycles[:] = np.arange(vec.num_envs) * episode // vec.num_envs
        vec.set_state(begun)
        if self.dense is not None:
            self.dense.visited[:] = False

    # -- playing -------------------------------------------------------------------------------------------------------

    def _look(self) -> tuple[Tensor, Tensor]:
        """Copies of the current observations and masks of all rows."""
        seen, mask = self.vec.observation, self.vec.action_mask
        return (
            torch.from_numpy(seen.reshape(self.rows, *seen.shape[2:]).copy()),
            torch.from_numpy(mask.reshape(self.rows, -1).copy()),
        )

    def _draw(self, logits: Tensor) -> Tensor:
        """[B] actions sampled from masked logits."""
        uniform = torch.rand(logits.shape, generator=self.generator).clamp_(1e-10)
        return (logits - (-uniform.log()).log()).argmax(-1)

    @torch.no_grad()
    def play(self) -> Ticks:
        """Play T ticks with the current net."""
        begun, ticks = self.memory, []
        for _ in range(self.config.ticks):
            ticks.append(self._tick())
        observation, _ = self._look()
        _, last, _ = self.net.step(observation, self.memory * (~self.fresh).float()[:, None])
        columns = [torch.stack(column) for column in zip(*ticks, strict=True)]
        seen, mask, action, logprob, value, reward, fresh, ended, counts = columns
        self.agent_steps += int(counts.sum())
        return Ticks(seen, mask, action, logprob, torch.cat([value, last[None]]), reward, fresh, ended, counts, begun)

    def _tick(self) -> tuple[Tensor, ...]:
        """Play one tick; returns its columns in the order of ``Ticks``."""
        vec, fresh = self.vec, self.fresh
        observation, mask = self._look()
        logits, value, self.memory = self.net.step(observation, self.memory * (~fresh).float()[:, None])
        logits = masked(logits, mask)
        action = self._draw(logits)
        logprob = logits.log_softmax(-1).gather(-1, action[:, None]).squeeze(-1)
        asked = mask.any(-1)
        if self.dense is not None:
            self.dense.look(vec)
        answers = action.numpy().astype(np.int32).reshape(vec.num_envs, vec.num_players)
        _, rewards, terminated, truncated, info = vec.step(answers)
        reward = torch.from_numpy(rewards.reshape(-1).copy())
        self.earned += float(reward.sum())
        cut = torch.from_numpy(truncated.reshape(-1).copy()) & asked
        if cut.any():  # cut off by the time limit: add the value of the state beyond it
            final = info["final_obs"]["observation"].reshape(self.rows, *observation.shape[1:])[cut.numpy()]
            _, beyond, _ = self.net.step(torch.from_numpy(final), self.memory[cut])
            reward[cut] += self.config.gamma * beyond
        over = np.repeat(info["_final_obs"], vec.num_players)
        self.fresh = torch.from_numpy(over)
        ended = self.fresh | torch.from_numpy((terminated | truncated).reshape(-1).copy())
        if self.dense is not None:
            reward += torch.from_numpy(self.dense.pay(vec, info["_final_obs"]).reshape(-1))
        return observation, mask, action, logprob, value, reward, fresh, ended, asked.float()

    # -- learning ------------------------------------------------------------------------------------------------------

    def _parts(self, rollout: Ticks, extra: list[Tensor]) -> Iterator[tuple[Ticks, list[Tensor]]]:
        """Mini-batches: disjoint sets of rows, whole in time."""
        order = torch.randperm(self.rows, generator=self.generator)
        for rows in order.chunk(self.config.mini_batches):
            whole: dict[str, Any] = {
                name: part[rows] if name == "memory" else part[:, rows] for name, part in vars(rollout).items()
            }
            yield Ticks(**whole), [tensor[:, rows] for tensor in extra]

    def learn(self, rollout: Ticks, learning_rate: float | None = None) -> dict[str, float]:
        """Make a few passes over a rollout; returns means of the losses and diagnostics."""
        config = self.config
        for group in self.optimizer.param_groups:
            group["lr"] = config.learning_rate if learning_rate is None else learning_rate
        paid, value, ended = (part.numpy() for part in (rollout.reward, rollout.value, rollout.ended))
        found = torch.from_numpy(gae(paid, value, ended, gamma=config.gamma, lam=config.gae_lambda))
        returns = found + rollout.value[:-1]
        told: list[dict[str, float]] = []
        for _ in range(config.epochs):
            for part, (advantage, target) in self._parts(rollout, [found, returns]):
                logits, values = self.net.sequence(part.observation, part.memory, part.fresh)
                loss, numbers = ppo_loss(logits, values, part, advantage, target, config)
                self.optimizer.zero_grad()
                loss.backward()
                norm = torch.nn.utils.clip_grad_norm_(self.net.parameters(), config.max_grad_norm)
                self.optimizer.step()
                told.append(numbers | {"grad_norm": float(norm)})
        self.updates += 1
        spread = returns.var()
        explained = 1 - (returns - rollout.value[:-1]).var() / spread if spread > 0 else torch.tensor(0.0)
        means = {name: float(np.mean([row[name] for row in told])) for name in told[0]}
        return means | {"explained_variance": float(explained)}

    def update(self, learning_rate: float | None = None) -> dict[str, float]:
        """Play and learn once; returns a row of metrics. Rewards are per living agent and tick."""
        began, self.earned = time.perf_counter(), 0.0
        rollout = self.play()
        played = time.perf_counter()
        row = self.learn(rollout, learning_rate)
        steps = float(rollout.counts.sum())
        seconds = time.perf_counter() - began
        return row | {
            "reward": self.earned / max(1.0, steps),
            "agent_steps": float(self.agent_steps),
            "steps_per_second": steps / seconds,
            "step_time": seconds,
            "play_share": (played - began) / seconds,
        }

    # -- keeping -------------------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """All that the next update depends on, as tensors, bytes and plain data."""
        from ...envs.state import to_bytes

        return {
            "net": self.net.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "generator": self.generator.get_state(),
            "memory": self.memory,
            "fresh": self.fresh,
            "visited": torch.from_numpy(self.dense.visited) if self.dense is not None else torch.zeros(0),
            "worlds": torch.frombuffer(bytearray(to_bytes(self.vec.game, self.vec.get_state())), dtype=torch.uint8),
            "updates": self.updates,
            "agent_steps": self.agent_steps,
        }

    def load_state_dict(self, kept: dict[str, Any]) -> None:
        """Restore what ``state_dict`` returned, exactly."""
        self.net.load_state_dict(kept["net"])
        self.optimizer.load_state_dict(kept["optimizer"])
        self.generator.set_state(kept["generator"])
        self.memory, self.fresh = kept["memory"], kept["fresh"]
        if self.dense is not None:
            self.dense.visited[:] = kept["visited"].numpy()
        self.vec.set_state(kept["worlds"].numpy().tobytes())
        self.updates, self.agent_steps = int(kept["updates"]), int(kept["agent_steps"])
