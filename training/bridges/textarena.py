"""TextArena: our games in its loop, its agents in our matches. Nothing of it is imported: both sides are texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...agents.core import Decision, Turn
from ...envs.making import make
from ...errors import ActionError, UsageError

__all__ = ["TextArenaAgent", "TextArenaEnv"]


class TextArenaEnv:
    """A turn-based game with TextArena's verbs: ``reset``, ``get_observation``, ``step`` and ``close``.

    Args:
        game: a registered game.
        **options: as in ``coterie.make``.

    Raises:
        UsageError: a simultaneous game: TextArena asks one player after another.
    """

    def __init__(self, game: str, **options: Any) -> None:
        self._env: Any = make(game, **(options | {"text": True}))
        self.game = self._env.game
        if self.game.info.simultaneous:
            raise UsageError(f"{self.game.info.id} is simultaneous, and TextArena asks one player after another.")
        self._told: set[str] = set()

    def reset(self, num_players: int, seed: int | None = None) -> None:
        """Start a game.

        Raises:
            UsageError: the game has another number of players.
        """
        if num_players != self.game.info.players:
            raise UsageError(f"num_players={num_players!r} came; {self.game.info.id} has {self.game.info.players}.")
        self._env.reset(seed=seed)
        self._told.clear()
        self._returns = dict.fromkeys(range(num_players), 0.0)

    def get_observation(self) -> tuple[int, str]:
        """(player, text): what the player sees, after the rules when it is asked for the first time."""
        agent = self._env.agent_selection
        seen = str(self._env.observe(agent))
        first = agent not in self._told
        self._told.add(agent)
        return self.game.info.agents.index(agent), f"{self.game.rules}\n\n{seen}" if first else seen

    def step(self, action: str) -> tuple[bool, dict[str, Any]]:
        """Play a player's answer; returns (done, the player's info)."""
        env = self._env
        agent = env.agent_selection
        env.step(action)
        for player, name in enumerate(self.game.info.agents):
            self._returns[player] += float(env.rewards.get(name, 0.0))
        done = not env.agents or all(env.terminations[a] or env.truncations[a] for a in env.agents)
        return done, dict(env.infos.get(agent, {}))

    def close(self) -> tuple[dict[int, float], dict[int, dict[str, Any]]]:
        """(rewards, infos) by player."""
        infos = {p: dict(self._env.infos.get(name, {})) for p, name in enumerate(self.game.info.agents)}
        return dict(self._returns), infos


class TextArenaAgent:
    """An agent of TextArena's, or any function from a text to a text, as a player of ours.

    Args:
        agent: ``observation -> answer``.
        name: shown in tables.
    """

    def __init__(self, agent: Callable[[str], str], name: str = "textarena") -> None:
        if not callable(agent):
            raise UsageError(f"{agent!r} came; a function from an observation to an answer is needed.")
        self.agent, self.name = agent, name

    def act(self, turns: Sequence[Turn]) -> list[Decision]:
        """Ask for every turn in order."""
        return [self._ask(turn) for turn in turns]

    def _ask(self, turn: Turn) -> Decision:
        said = str(self.agent(f"{turn.game.rules}\n\n{turn.describe()}"))
        try:
            return Decision(turn.parse_action(said), said)
        except ActionError as error:
            return Decision(None, said, info={"error": str(error)})
