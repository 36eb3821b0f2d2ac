"""Small nets for plane observations: two convolutions, a GRU, a policy and a value head; and an agent that uses one.

Letters: T ticks, B rows (agents), C planes, H W window, A actions, D hidden units.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ..envs.core import Game
from ..envs.stepping.drivers import drivers
from ..errors import ModelError, UsageError
from .core import Decision, Turn
from .search.rows import need_same_game
from .seeds import uniforms
from .sums import check_finite, check_sums, write_sums

__all__ = ["NetAgent", "PolicyNet", "load_net", "masked", "save_net"]


def masked(logits: Tensor, mask: Tensor) -> Tensor:
    """Logits [..., A] with illegal actions at -1e9; rows without a legal action (dead agents) are unchanged."""
    return logits.masked_fill((mask == 0) & mask.any(-1, keepdim=True), -1e9)


def _layer(layer: Any, gain: float) -> Any:
    nn.init.orthogonal_(layer.weight, gain)
    nn.init.zeros_(layer.bias)
    return layer


class PolicyNet(nn.Module):
    """A recurrent actor-critic.

    Args:
        planes, height, width: C, H, W; the window is at least 7 x 7.
        actions: A.
        hidden: D.
        scale: [C] a factor for each plane; None: 1 / 255.
    """

    def __init__(
        self,
        planes: int,
        height: int,
        width: int,
        actions: int,
        hidden: int = 128,
        scale: Sequence[float] | None = None,
    ) -> None:
        super().__init__()
        self.shape, self.actions, self.hidden = (planes, height, width), actions, hidden
        factors = torch.full((planes,), 1 / 255) if scale is None else torch.tensor(scale, dtype=torch.float32)
        self.scale: Tensor
        self.register_buffer("scale", factors.reshape(-1, 1, 1))
        root = 2**0.5
        high, wide = (height - 3) // 2 + 1 - 2, (width - 3) // 2 + 1 - 2
        if min(high, wide) < 1:
            raise UsageError(f"A window of {height} x {width} is too small for this net; the minimum is 7 x 7.")
        self.eyes = nn.Sequential(
            _layer(nn.Conv2d(planes, 32, 3, stride=2), root),
            nn.ReLU(),
            _layer(nn.Conv2d(32, 64, 3), root),
            nn.ReLU(),
            nn.Flatten(),
            _layer(nn.Linear(64 * high * wide, hidden), root),
            nn.ReLU(),
        )
        self.eyes.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.gru = nn.GRUCell(hidden, hidden)
        self.actor = _layer(nn.Linear(hidden, actions), 0.01)
        self.critic = _layer(nn.Linear(hidden, 1), 1.0)

    def begin(self, rows: int) -> Tensor:
        """[rows, D] the memory of agents that have seen nothing yet: zeros."""
        return torch.zeros(rows, self.hidden)

    def see(self, observation: Tensor) -> Tensor:
        """[B, C, H, W] uint8 -> [B, D]."""
        scaled = observation.to(torch.float32, memory_format=torch.channels_last).mul_(self.scale)
        seen: Tensor = self.eyes(scaled)
        return seen

    def heads(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """[..., D] -> logits [..., A], values [...]."""
        return self.actor(memory), self.critic(memory).squeeze(-1)

    def step(self, observation: Tensor, memory: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """One tick: [B, C, H, W], [B, D] -> logits [B, A], values [B], memory [B, D]."""
        memory = self.gru(self.see(observation), memory)
        return *self.heads(memory), memory

    def sequence(self, observation: Tensor, memory: Tensor, fresh: Tensor) -> tuple[Tensor, Tensor]:
        """T ticks: [T, B, C, H, W], [B, D], fresh [T, B] bool (episode begins) -> logits [T, B, A], values [T, B]."""
        ticks, rows = fresh.shape
        seen = self.see(observation.flatten(0, 1)).reshape(ticks, rows, -1)
        kept = (~fresh).float().unsqueeze(-1)
        memories = []
        for t in range(ticks):
            memory = self.gru(seen[t], memory * kept[t])
            memories.append(memory)
        return self.heads(torch.stack(memories))


def save_net(net: PolicyNet, folder: Path, facts: Mapping[str, Any] | None = None) -> None:
    """Write ``net.safetensors``, ``net.json`` (its shape and any facts about it) and their digests into a folder."""
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    save_file({name: part.contiguous() for name, part in net.state_dict().items()}, folder / "net.safetensors")
    shape = {"shape": list(net.shape), "actions": net.actions, "hidden": net.hidden}
    (folder / "net.json").write_text(json.dumps(shape | dict(facts or {}), indent=1) + "\n")
    write_sums(folder, ("net.json", "net.safetensors"))


def load_net(folder: Path) -> PolicyNet:
    """The net that ``save_net`` wrote.

    Raises:
        ModelError: the files are missing or damaged, or the weights are not finite.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        check_sums(folder)
        shape = json.loads((folder / "net.json").read_text())
        planes, height, width = shape["shape"]
        net = PolicyNet(planes, height, width, shape["actions"], shape["hidden"])
        net.load_state_dict(load_file(folder / "net.safetensors"))
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, SafetensorError, ModelError) as error:
        told = " ".join(str(error).split())[:300].rstrip(".")
        raise ModelError(f"{folder} holds no complete net (net.json, net.safetensors): {told}.") from None
    check_finite(net.state_dict(), f"The net in {folder}")
    return net


class NetAgent:
    """Plays a game with plane observations by a net, with a memory for each row and seat since the episode began.

    ``greedy`` takes the likeliest action; otherwise the action is sampled from the policy.

    Raises:
        UsageError: the net was made for other observations or actions.
    """

    def __init__(self, net: PolicyNet, game: Game, *, greedy: bool = False, name: str = "net") -> None:
        here = (tuple(game.info.observation_shape), game.info.num_actions)
        if here != (net.shape, net.actions):
            raise UsageError(
                f"This net takes observations of shape {list(net.shape)} and has {net.actions} actions; "
                f"{game.info.id} as configured here has {list(here[0])} and {here[1]}. Choose a preset with the same "
                "window and items."
            )
        self.net, self.game, self.greedy, self.name = net.eval(), game, greedy, name
        self._observe = drivers(game).observe_rows
        self._memory = self._before = net.begin(0)
        self._clock: NDArray[np.int64] = np.zeros((0, 0), np.int64)

    def act(self, turns: Sequence[Turn]) -> list[Decision]:
        """One action per turn."""
        if not turns:
            return []
        logits = self._logits(turns)
        if self.greedy:
            actions = logits.argmax(-1)
        else:
            drawn = uniforms([turn.seed for turn in turns], logits.shape[1])
            gumbel = -np.log(-np.log(np.maximum(drawn, np.finfo(np.float64).tiny)))
            actions = (logits + torch.from_numpy(gumbel.astype(np.float32))).argmax(-1)
        return [Decision(int(a)) for a in actions]

    def policy(self, turns: Sequence[Turn]) -> list[NDArray[np.float64]]:
        """[A] the probabilities of each turn's actions, also with ``greedy``.

        The turns of an episode must be asked in order, all of one tick together: the net remembers what it has seen.
        """
        return list(self._logits(turns).double().softmax(-1).numpy()) if turns else []

    def _logits(self, turns: Sequence[Turn]) -> Tensor:
        """[B, A] with illegal actions at -1e9, from the rows of one state."""
        need_same_game(self.name, self.game, turns[0], configured=False)
        info, state = turns[0].game.info, turns[0].state
        rows = np.array([turn.row for turn in turns], np.intp)
        seats = np.array([turn.player for turn in turns], np.int32)
        seen = np.zeros((len(turns), *info.observation_shape), info.observation_dtype)
        self._observe(state, rows, seats, seen)
        mask = torch.from_numpy(np.stack([turn.mask for turn in turns]))
        places = rows * info.players + seats
        memory = self._recall(state, rows, seats, info.players)
        with torch.inference_mode():
            logits, _, after = self.net.step(torch.from_numpy(seen), memory)
            self._before[torch.from_numpy(places)], self._memory[torch.from_numpy(places)] = memory, after
        return masked(logits, mask)

    def _recall(self, state: Any, rows: NDArray[np.intp], seats: NDArray[np.int32], players: int) -> Tensor:
        """[B, D] each agent's memory; zeros unless its episode has advanced by exactly one tick since its last turn.

        An agent that is asked again in the same tick gets the memory it had the first time.
        """
        clocks = state.rules["clock"]
        if self._clock.shape != (len(clocks), players):
            self._clock = np.full((len(clocks), players), -2, np.int64)
            self._memory, self._before = (self.net.begin(len(clocks) * players) for _ in range(2))
        gone = torch.from_numpy(clocks[rows] - self._clock[rows, seats])[:, None]
        self._clock[rows, seats] = clocks[rows]
        places = torch.from_numpy(rows * players + seats)
        nothing = torch.zeros(1, self.net.hidden)
        return torch.where(gone == 0, self._before[places], torch.where(gone == 1, self._memory[places], nothing))
