"""Record worlds while they are played: ``Recorder`` records one, ``Recorded`` wraps an environment and records its own.

    env = Recorded(coterie.make_vec("gridworld", 64), "games.jsonl", rows=[0, 1])
    env = Recorded(coterie.make("gridworld", api="parallel"), "games.jsonl")

Then play as usual. A game is written when it ends or is abandoned: at the next ``reset`` or at ``close``.
``file.read_games`` reads the file, and ``coterie play --replay FILE`` shows it.

Only worlds can be recorded (``GameInfo.is_world``: games whose rules let any action be tried), and only under the
policies ``noop`` and ``raise`` for illegal actions: the others end the game or play something else.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...aliases import RUNNING, TERMINATED, TRUNCATED, State, Status
from ...errors import UsageError
from ..core import Game, GameRecord
from ..faces.parallel import ParallelGame
from ..faces.vec import VecEnv
from ..state import rows_of, take
from ..stepping.buffers import NOOP, RAISE, Limits
from ..stepping.rng import episode_seed
from .file import replay, write_json
from .packing import is_packed

__all__ = ["Recorded", "Recorder"]


class Recorder:
    """Records one game of a world, tick by tick.

    Args:
        game: the world.
        start: one row, before the first tick; copied.
        seed: the game's seed, if it leads to this start.
        players: the names of the players in seats 0..P-1; by default the PettingZoo agents' names.

    Raises:
        UsageError: the game is not a world.
    """

    def __init__(self, game: Game, start: State, seed: int | None = None, players: Sequence[str] = ()) -> None:
        if not is_packed(game):
            raise UsageError(
                f"{game.info.id} is not a world, and only worlds can be recorded. Save its games with "
                "`coterie play --save`, or agents.human.table.Match."
            )
        self.game, self.seed = game, seed
        self.players = tuple(players) or tuple(game.info.agents)
        self.status: Status = RUNNING
        self._start = take(start)
        self._actions: list[NDArray[Any]] = []
        self._kind = np.uint8 if game.info.num_actions <= 256 else np.uint16
        self._keys = [game.key(self._start, 0)]
        self._returns = np.zeros(game.info.players)

    @property
    def ticks(self) -> int:
        """The number of ticks recorded so far."""
        return len(self._actions)

    def note(self, actions: Any, rewards: Any, status: Status, state: State | None, row: int = 0) -> None:
        """Record a tick.

        Args:
            actions: [P] the actions; numbers that are not actions count as the action that does nothing.
            rewards: [P] the tick's rewards.
            status: the status after the tick.
            state: rows of games, with the state after the tick in ``row``; None if the last tick's state has been
                overwritten, in which case the game is replayed.
            row: the row of ``state``.
        """
        info = self.game.info
        given = np.asarray(actions)
        known = (given >= 0) & (given < info.num_actions)
        self._actions.append(np.where(known, given, info.noop or 0).astype(self._kind))
        self._returns += rewards
        self.status = status
        if state is not None:
            self._keys.append(self.game.key(state, row))
            return
        *_, (end, _, _) = replay(self.game, self.record())
        self._keys.append(self.game.key(end, 0))

    def record(self) -> GameRecord:
        """The game so far."""
        actions = [tick.tolist() for tick in self._actions]
        returns = tuple(self._returns.tolist())
        return GameRecord(self._start, actions, self.players, returns, self.status, keys=tuple(self._keys))

    def save(self, path: str | Path) -> None:
        """Add the game to a file of JSON lines; the file and its folder are created when needed.

        Raises:
            UsageError: it cannot be written.
        """
        target = Path(path)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("a", encoding="utf-8") as file:
                file.write(write_json(self.game, self.record(), self.seed))
        except OSError as error:
            raise UsageError(f"Cannot write the game to {target}: {error.strerror or error}.") from error


class Recorded:
    """Wraps an environment and writes the games of some rows to a file; all else is passed on to the environment.

    Args:
        env: a ``VecEnv`` or a ``ParallelGame`` of a world.
        path: a file of JSON lines; games are added to it.
        rows: the rows of a VecEnv to record; a parallel environment has only row 0.
        players: the names of the players in seats 0..P-1; by default the PettingZoo agents' names.

    Raises:
        UsageError: another kind of environment, a game that is not a world, another policy for illegal actions, or no
            such row.
    """

    def __init__(
        self,
        env: VecEnv | ParallelGame,
        path: str | Path,
        rows: Sequence[int] = (0,),
        players: Sequence[str] = (),
    ) -> None:
        if not isinstance(env, VecEnv | ParallelGame):
            raise UsageError(f"{type(env).__name__} cannot be recorded: pass a VecEnv or a ParallelGame.")
        Recorder(env.game, env.game.new_state(1), None, players)  # raises at once if it is not a world
        limits: Limits = env.limits if isinstance(env, VecEnv) else env.table.limits
        if limits.illegal not in (NOOP, RAISE):
            raise UsageError("Games can be recorded only under the policies noop and raise for illegal actions.")
        count = env.num_envs if isinstance(env, VecEnv) else 1
        if not rows or not all(0 <= row < count for row in rows):
            raise UsageError(f"rows={list(rows)} must name at least one of the rows 0..{count - 1}, and no others.")
        self.env, self.path, self.rows = env, Path(path), tuple(dict.fromkeys(rows))
        self._players = tuple(players)
        self._noted: dict[int, Recorder] = {}
        self._begun = False

    def __getattr__(self, name: str) -> Any:
        if name == "env":  # during unpickling
            raise AttributeError(name)
        return getattr(self.env, name)

    def reset(self, *args: Any, **kwargs: Any) -> Any:
        """Reset the environment; running games are written to the file."""
        found = self.env.reset(*args, **kwargs)
        for row in self._among(kwargs.get("mask") if self._begun else None):
            self._begin(row)
        return found

    def step(self, actions: Any, rows: Any = None) -> Any:
        """Step the environment and record the tick.

        Raises:
            UsageError: before reset(); games that were already running cannot be recorded.
        """
        if not self._begun:
            raise UsageError("step() was called before reset(). Call reset() of the recorded environment first.")
        if isinstance(self.env, VecEnv):
            return self._step_batch(self.env, actions, rows)
        return self._step_parallel(self.env, actions)

    def _step_batch(self, env: VecEnv, actions: Any, rows: Any) -> Any:
        some = None if rows is None else rows_of(rows, env.num_envs)
        played = env._check(actions, some)
        given = {row: played[row].copy() for row in self.rows if some is None or row in some}
        over = {row for row in given if env.status[row] != RUNNING}
        found = env.step(actions, rows)
        for row, chosen in given.items():
            if row in over:
                if env.status[row] == RUNNING:
                    self._begin(row)
                continue
            ended = bool(found[4]["_final_obs"][row])
            status = RUNNING
            if ended:
                status = TRUNCATED if found[3][row].any() else TERMINATED
            gone = ended and env.status[row] == RUNNING
            self._noted[row].note(chosen, found[1][row], status, None if gone else env.state, row)
            if ended:
                self._write(row)
            if gone:
                self._begin(row)
        return found

    def _step_parallel(self, env: ParallelGame, actions: Any) -> Any:
        found = env.step(actions)
        table = env.table
        self._noted[0].note(table.row.arrays.acts[0], table.rewards, table.status, env.table.state)
        if table.status != RUNNING:
            self._write(0)
        return found

    def random_rollout(self, *args: Any, **kwargs: Any) -> Any:
        """Refused: it plays inside a kernel, where nothing can be recorded."""
        raise UsageError("random_rollout() cannot be recorded. Use step(sample_actions()).")

    def set_state(self, state: Any, *args: Any, **kwargs: Any) -> None:
        """Set the environment's state; running games are written first, and the new states start new games."""
        self.env.set_state(state, *args, **kwargs)
        for row in self._among(args[0] if args else kwargs.get("rows")) if self._begun else self.rows:
            self._begin(row)

    def close(self) -> None:
        """Write the running games, and close the environment."""
        for row in list(self._noted):
            self._write(row)
        self.env.close()

    def _among(self, rows: Any) -> list[int]:
        """The recorded rows that a call named; a parallel environment has one."""
        if not isinstance(self.env, VecEnv):
            return list(self.rows)
        named = set(rows_of(rows, self.env.num_envs).tolist())
        return [row for row in self.rows if row in named]

    def _begin(self, row: int) -> None:
        self._begun = True
        self._write(row)
        env = self.env
        if isinstance(env, VecEnv):
            state, seed = take(env.state, row), episode_seed(env.arrays.seed[row], env.arrays.episode[row])
        else:
            state, seed = take(env.table.state), episode_seed(np.uint64(env.table.seed or 0), env.table.episode)
        self._noted[row] = Recorder(env.game, state, int(seed), self._players)

    def _write(self, row: int) -> None:
        """Write the game of ``row``, if it has any ticks."""
        noted = self._noted.pop(row, None)
        if noted is not None and noted.ticks:
            noted.save(self.path)
