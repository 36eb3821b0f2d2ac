"""Any registered game as an episode: boards, cards, worlds, words."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...agents.baselines import make_baseline
from ...agents.core import Agent, Turn
from ...aliases import RUNNING, Player
from ...envs.core import Game
from ...envs.registry import make_game
from ...envs.words import TextGame
from ...envs.words.talk import TalkGame
from ...envs.words.vec import vec_of
from ...errors import ActionError, UsageError
from ..data.rollout import turns_of
from .arena import Arena
from .asking import Prompt
from .episode import Episode
from .records import EpisodeState, Rollout, Step
from .rubric import RewardFn, Rubric

__all__ = ["GameEpisode"]


def _owed(rollout: Rollout, arena: object) -> dict[str, float]:
    """What the game paid to roles before they had said anything."""
    return dict(rollout.extras["owed"])


class GameEpisode(Episode):
    """One game; every seat is a role, or a player that only answers.

    The game's rewards are those of the steps: what a seat is paid goes to its last answer. The artifact is the game's
    seed, or None for one of its own. Extras: ``returns`` by role, ``plies``, ``illegal`` answers,
    ``infos`` (what the game tells of the end, by seat; none for many games).

    Args:
        game: a game, or the name of a registered one.
        roles: one per seat; None at those of ``opponents``. Empty: ``Player 0``, ``Player 1``, ...
        opponents: seat -> an agent, or the name of a baseline.
        free: answers are any text, and an illegal one ends the game (-1); otherwise seats choose among the legal
            answers, wherever the game lists them.
        max_plies: stop after this many turns (ticks); 0: play to the end.
        rubric: pays on top of the game.
        config: the game's own arguments, if it is given by its name.

    Raises:
        UsageError: a wrong number of roles, a role in two seats, or a seat with neither role nor opponent.
    """

    def __init__(
        self,
        game: Game | str,
        roles: Sequence[str | None] = (),
        *,
        opponents: Mapping[int, Agent | str] | None = None,
        free: bool = False,
        max_plies: int = 0,
        rubric: Rubric | RewardFn | Sequence[RewardFn] | None = None,
        **config: Any,
    ) -> None:
        own = [] if rubric is None else (rubric if isinstance(rubric, Rubric) else Rubric(rubric)).functions
        weights = [1.0] if not isinstance(rubric, Rubric) else [1.0, *rubric.weights]
        super().__init__(Rubric([_owed, *own], weights if isinstance(rubric, Rubric) else None))
        self.game = make_game(game, **config) if isinstance(game, str) else game
        self.free, self.max_plies = free, max_plies
        seats = self.game.info.players
        others = dict(opponents or {})
        self.agents = {s: make_baseline(a, self.game) if isinstance(a, str) else a for s, a in others.items()}
        self.roles = tuple(roles) or tuple(None if s in others else f"Player {s}" for s in range(seats))
        named = [role for role in self.roles if role is not None]
        apart = set(others) == {s for s, role in enumerate(self.roles) if role is None}
        if len(self.roles) != seats or len(set(named)) < len(named) or not apart:
            raise UsageError(
                f"{self.game.info.id} has {seats} seats; the roles are {list(self.roles)} and opponents sit at "
                f"{sorted(others)}. Each seat needs a role of its own or an opponent."
            )

    async def rollout(self, arena: Arena, artifact: Any, state: EpisodeState) -> EpisodeState:
        """Play the game."""
        game, words = self.game, isinstance(self.game, TextGame)
        vec: Any = vec_of(game, 1, autoreset_mode="Disabled", illegal="lose")
        seed = int(state.rng.integers(2**63)) if artifact is None else int(artifact)
        stream = int(state.rng.integers(2**63))  # of the opponents
        vec.reset(seed=np.array([seed], np.uint64))
        actions = np.full(vec.action_mask.shape[:-1], None, object) if words else np.zeros_like(vec.sample_actions())
        last: dict[Player, Step] = {}
        owed, returns = np.zeros(game.info.players), np.zeros(game.info.players)
        plies = illegal = 0
        while vec.status[0] == RUNNING and (not self.max_plies or plies < self.max_plies):
            turns, seated = turns_of(game, vec, np.array([0]), [stream], [plies])
            played = await asyncio.gather(*(self._act(turn, arena) for turn in turns))
            for turn, (action, step) in zip(turns, played, strict=True):
                actions[(0, turn.player) if seated else 0] = action
                if step is not None:
                    step.reward += float(owed[turn.player])
                    owed[turn.player], last[turn.player] = 0.0, step
            _, rewards, _, _, info = vec.step(actions)
            illegal += int(np.sum(info["illegal"]))
            plies += 1
            for seat, reward in enumerate(rewards[0].tolist()):
                returns[seat] += reward
                if seat in last:
                    last[seat].reward += reward
                else:
                    owed[seat] += reward
        by_role = {role: seat for seat, role in enumerate(self.roles) if role is not None}
        state.data["extras"] = {
            "returns": {role: float(returns[seat]) for role, seat in by_role.items()},
            "owed": {role: float(owed[seat]) for role, seat in by_role.items()},
            "plies": plies,
            "illegal": illegal,
            "infos": game.tell(vec.state, 0) if game.tell else [],
        }
        return state

    def get_extras(self, state: EpisodeState) -> dict[str, Any]:
        """What the game paid, and how long it was."""
        return dict(state.data["extras"])

    async def _act(self, turn: Turn, arena: Arena) -> tuple[Any, Step | None]:
        """What a seat does, and its step if it is a role: an action's number, in games of words the message."""
        words, role = isinstance(turn.game, TextGame), self.roles[turn.player]
        if role is None:
            decision = self.agents[turn.player].act([turn])[0]
            if decision.action is None:
                return (None if words else -1), None
            return (decision.text if words else decision.action), None
        if isinstance(turn.game, TalkGame) and not self.free:
            return await self._talk(turn, turn.game, role, arena)
        choices = None if self.free else turn.answers()
        response = await self.call_model(role, self._prompt(turn, role, arena), arena, choices=choices)
        if choices is not None:
            chosen = response.chosen
            if chosen < 0:
                return (None if words else -1), response.step
            return (choices[chosen] if words else turn.legal_actions[chosen]), response.step
        try:
            action = turn.parse_action(response.text)
        except ActionError:
            return (None if words else -1), response.step
        return (response.text if words else action), response.step

    async def _talk(self, turn: Turn, game: TalkGame, role: str, arena: Arena) -> tuple[Any, Step | None]:
        """Say something, then choose an action."""
        prompt = self._prompt(turn, role, arena)
        asked = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else list(prompt)
        spoken = await self.call_model(role, prompt, arena)
        asked += [spoken.message, {"role": "user", "content": "Your action:"}]
        actions = game.actions_in(turn.state[turn.row], turn.player)
        response = await self.call_model(role, asked, arena, choices=actions)
        if response.chosen < 0:
            return None, response.step
        return f"{game.sayable(spoken.text, turn.player)} {actions[response.chosen]}".strip(), response.step

    def _prompt(self, turn: Turn, role: str, arena: Arena) -> Prompt:
        """The position: a bare line for models made for those, else rules and question."""
        known = arena.roles.get(role)
        if known is not None and arena.models[known.model].chat.style == "compact":
            return turn.compact()
        system = "\n\n".join(filter(None, (known.system_prompt if known else "", turn.game.rules)))
        question = f"{turn.describe()}\nAnswer with one legal action and nothing else."
        return [{"role": "system", "content": system}, {"role": "user", "content": question}]
