"""The Gymnasium face of one game: ``gymnasium.make("coterie/tictactoe-v0")``, a learner against opponents.

It plays on the parallel face, so every kind of game has it, games of words and worlds too.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from ...aliases import Player
from ...errors import IllegalAction, UsageError
from ..answers import known_name
from ..making import make
from .layouts import LAYOUTS, Layout
from .opponents import opponent_of

__all__ = ["PATIENCE", "SoloEnv", "check_seat"]

PATIENCE = 100
"""Illegal answers of an opponent in a row after which it is refused."""


def check_seat(seat: Any, players: int) -> None:
    """Refuse what names no seat.

    Raises:
        UsageError: neither ``"alternate"``, ``"random"`` nor a number below ``players``.
    """
    if seat not in ("alternate", "random") and (isinstance(seat, bool) or seat not in range(players)):
        raise UsageError(f"seat={seat!r} came; 'alternate', 'random' or a number 0..{players - 1} is needed.")


class SoloEnv(gymnasium.Env[Any, Any]):
    """A learner in one seat of a game; opponents have the others.

    A step plays the learner's action and the others' until the learner is to act again; the reward is the sum of the
    learner's rewards over these turns. The episode ends with the game or with the learner's death.
    ``info["action_mask"]`` [A] int8 and ``action_masks()`` [A] bool say what is legal now, ``info["seat"]`` which seat
    the learner has, ``info["illegal"]`` how many illegal actions it has taken in this game. In games of words
    observations and actions are texts, and ``info["choices"]`` may list the messages.

    Args:
        game: a registered game's id.
        opponent: ``"random"``; another player's name (``"minimax"``, ``"mcts:400"``, a run folder); an agent; or a
            function ``(observations [K, ...], masks [K, A], generator) -> actions [K]``.
        seat: the learner's: a number; ``"alternate"``, the next one in every game, from 0 after ``reset(seed=...)``; or
            ``"random"``.
        layout: of the observation, see ``Layout``; None: ``flat``. Texts have no layout.
        render_mode, text, illegal, illegal_reward, max_cycles: as in ``coterie.make``.
        **config: the game's arguments.

    Raises:
        UnknownName: no such game, opponent or layout.
        UsageError: an argument that the game or the environment does not take, such as ``coterie.make``'s ``mask``.
    """

    metadata: dict[str, Any] = {"render_modes": ["human", "ansi", "rgb_array"]}  # noqa: RUF012  # the class, to Gymnasium

    def __init__(
        self,
        game: str,
        opponent: Any = "random",
        seat: int | str = "alternate",
        layout: str | None = None,
        render_mode: str | None = None,
        **config: Any,
    ) -> None:
        for switch in ("mask", "idle"):
            if (came := config.pop(switch, None)) is not None:
                raise UsageError(
                    f"{switch}={came!r} is for coterie.make. The learner's mask is in info['action_mask'] and "
                    "action_masks() here, and with layout='dict' in the observation too; leave the argument out."
                )
        face: Any = make(game, api="parallel", render_mode=render_mode, **config)
        if face.table.words and not face.table.text:
            face = make(game, api="parallel", render_mode=render_mode, **(config | {"text": True}))
        rules, table = face.game, face.table
        if table.text and layout is not None:
            known_name("layout", layout, LAYOUTS)
            raise UsageError(f"layout={layout!r}: observations are texts here, which have no layout; leave it out.")
        if rules.verbs:
            raise UsageError(f"{rules.info.id} has actions that are pairs; the Gymnasium view needs action numbers.")
        check_seat(seat, rules.info.players)
        self.face, self.game, self._place, self.render_mode = face, rules, seat, render_mode
        self._reply = opponent_of(opponent, rules)
        self._layout = None if table.text else Layout(rules, layout or "flat")
        agent = rules.info.agents[0]
        self.observation_space = self._layout.space if self._layout else face.observation_space(agent)
        self.action_space = face.action_space(agent)
        self.metadata = {name: face.metadata[name] for name in ("render_modes", "render_fps")}
        self.seat: Player = 0
        self._games = 0  # begun since the last seed

    @property
    def _mine(self) -> str:
        return str(self.game.info.agents[self.seat])

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start a game and play it to the learner's first turn; options as in ``coterie.make(...).reset``."""
        super().reset(seed=seed)
        if seed is not None:
            self._games = 0
        players = self.game.info.players
        if self._place == "random":
            self.seat = int(self.np_random.integers(players))
        else:
            self.seat = self._games % players if self._place == "alternate" else int(self._place)
        self._games += 1
        for wrong in range(PATIENCE):
            self._seen, self._infos = self.face.reset(seed=None if wrong else self._start(seed), options=options)
            self._others()
            if self._mine in self.face.agents:
                return self._shown()
        raise IllegalAction(
            f"The opponent ended {PATIENCE} games before the learner's first turn. Choose among the actions whose mask "
            "is 1, or make the game with illegal='resample'."
        )

    def _start(self, seed: int | None) -> int | None:
        """The seed of the face: the first game without one gets its own from ``np_random``."""
        return int(self.np_random.integers(2**31)) if seed is None and self.face.table.seed is None else seed

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Play the learner's action, then the others' until it is asked again.

        Raises:
            InvalidAction: not an action of this game.
            IllegalAction: the game is over; or an illegal action under the policy ``raise``.
            UsageError: before reset().
        """
        if self._games and self._mine not in self.face.agents:
            raise IllegalAction(f"Action {action!r} came after the end of the learner's game. Call reset().")
        self._ended, self._cut = False, False
        reward = self._turn({self._mine: action}) + self._others()
        observation, info = self._shown()
        return observation, reward, self._ended, self._cut, info

    def _turn(self, own: dict[str, Any]) -> float:
        """One turn (tick), with the learner's action if it is asked; returns its reward."""
        face, table, agents = self.face, self.face.table, self.game.info.agents
        asked = [p for p in self._asked() if p != self.seat and agents[p] in face.agents]
        actions: dict[str, Any] = dict.fromkeys(face.agents) | own
        if asked and (self.game.info.simultaneous or not own):
            seen: Any = [self._seen[agents[p]] for p in asked]
            if not table.text:
                seen = np.stack([table.observation(p) for p in asked])
            masks = np.stack([self.game.legal_mask(table.state, 0, p) for p in asked])
            replies = self._reply(table.state, [0] * len(asked), asked, seen, masks, self.np_random)
            actions |= {agents[p]: self._written(reply) for p, reply in zip(asked, replies, strict=True)}
        mine = self._mine
        self._seen, rewards, ended, cut, self._infos = face.step(actions)
        self._ended, self._cut = bool(ended[mine]), bool(cut[mine])
        return float(rewards[mine])

    def _written(self, reply: Any) -> Any:
        """An opponent's reply in the form that the face takes."""
        table = self.face.table
        if table.words or not table.text:
            return None if not table.words and reply == -1 else reply
        return None if reply == -1 else self.game.action_to_text(table.state, 0, int(reply))

    def _asked(self) -> list[Player]:
        """The seats that are to act now."""
        table = self.face.table
        if table.words:
            return list(self.game.asked(table.state[0]))
        if not self.game.info.simultaneous:
            return [table.mover]
        return [p for p in range(self.game.info.players) if table.mask(p).any()]

    def _others(self) -> float:
        """Play the others' turns until the learner is to act or its episode is over; returns its reward."""
        reward, wrong = 0.0, 0
        while self._mine in self.face.agents and self.seat not in self._asked():
            faults = sum(self.face.table.faults)
            reward += self._turn({})
            wrong = wrong + 1 if sum(self.face.table.faults) > faults else 0
            if wrong == PATIENCE:
                raise IllegalAction(
                    f"The opponent answered illegally {PATIENCE} times in a row, so the learner's turn never comes. "
                    "Choose among the actions whose mask is 1, or make the game with illegal='resample'."
                )
        return reward

    def _shown(self) -> tuple[Any, dict[str, Any]]:
        """The learner's observation and info."""
        info, table = self._infos[self._mine] | {"seat": self.seat}, self.face.table
        if self._layout is None:
            return self._seen[self._mine], info
        return self._layout.of(table.observation(self.seat), self._mask()), info | {"action_mask": self._mask()}

    def _mask(self) -> NDArray[np.int8]:
        mask: NDArray[np.int8] = self.face.table.mask(self.seat)
        return mask

    def action_masks(self) -> NDArray[np.bool_]:
        """[A] bool, the learner's legal actions: the name that sb3-contrib's MaskablePPO looks for.

        Raises:
            UsageError: the actions are texts.
        """
        if self._layout is None:
            raise UsageError(f"The actions of {self.game.info.id} are texts here, which have no masks.")
        return self._mask().astype(np.bool_)

    def render(self) -> Any:
        """A picture [H, W, 3] uint8, a text, or None after showing a window or printing."""
        return self.face.render()

    def close(self) -> None:
        """Close the window, if there is one."""
        self.face.close()
