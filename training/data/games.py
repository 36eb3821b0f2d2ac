"""The games of a run: the game, where it starts, and what is paid in addition to its rewards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...agents.core import Agent
from ...agents.seeds import stream
from ...envs.gridworld.rules.shaping import Dense
from ...envs.registry import make_game
from ...envs.state import take
from ...errors import UsageError
from ..runs.config import TrainConfig
from ..runs.players import make_player
from .branches import branched
from .curriculum import Positions, find_curriculum, read_positions
from .records import Rollout
from .rollout import Seating, rollout

__all__ = ["Games"]


class Games:
    """Plays the games of a run's updates.

    Args:
        config: of the run.

    Attributes:
        game: the game's rules. positions: where games start, with a curriculum. held_out: those kept for evaluation.
        max_plies: games stop after this many plies and keep the returns they have; 0: they are played to the end.

    Raises:
        CoterieError: no such game or curriculum, or dense signals for a game that has none.
    """

    def __init__(self, config: TrainConfig) -> None:
        self.config, self.game = config, make_game(config.game, **config.game_arguments)
        name = config.rollout.teacher
        self.teacher = make_player(name, self.game, device=config.policy.device) if name else None
        self.positions: Positions | None = None
        self.held_out: Positions | None = None
        self.max_plies = config.rollout.max_plies
        if config.rollout.curriculum:
            source = find_curriculum(self.game, config.rollout.curriculum)
            self.max_plies = self.max_plies or source.max_plies
            self.positions = read_positions(self.game, source, source.train)
            if source.test is not None:
                self.held_out = read_positions(self.game, source, source.test, config.budget.eval_games)
        self._dense()

    def play(self, agents: Mapping[str, Agent], seats: Sequence[Seating], update: int) -> Rollout:
        """Play an update's games, ``num_generations`` per seating; the run's seed and ``update`` determine them."""
        config, starts = self.config.rollout, None
        if self.positions is not None:
            starts = take(self.positions.states, self.positions.draw(update, len(seats), self.config.seed))
        how: dict[str, Any] = {
            "seed": stream(self.config.seed, update),
            "group_size": config.num_generations,
            "opening_plies": config.opening_plies,
            "illegal_penalty": config.illegal_penalty,
            "starts": starts,
            "dense": self._dense(),
            "teacher": self.teacher,
        }
        # Games with max_plies are too short to branch in: their siblings are the games with the same start.
        if self.config.credit.credit == "sibling" and not self.max_plies:
            return branched(self.game, agents, seats, **how)
        return rollout(self.game, agents, seats, max_plies=self.max_plies, **how)

    def _dense(self) -> Dense | None:
        """New dense signals for one rollout, if the run wants any."""
        config = self.config.rollout
        wanted = [name for name in ("shaping", "novelty", "reach") if getattr(config, name)]
        if not wanted:
            return None
        if self.game.info.name != "gridworld":
            name = wanted[0]
            raise UsageError(f"{name} exists in gridworlds only; set it to 0 for {self.game.info.id}.")
        gamma = self.config.credit.gamma
        return Dense(self.game, config.games, config.shaping, config.novelty, gamma, reach=config.reach)
