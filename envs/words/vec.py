"""N games of words side by side: the batched face, with lists of messages where other games take arrays of numbers.

One row of it is what the AEC and the parallel face play (``table``), so that all faces step games by the same code.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...aliases import RUNNING, TERMINATED, TRUNCATED, Mask, Rewards, Seed, Status
from ...errors import ActionError, StateError, UsageError
from ..core import Game
from ..faces.actions import ignored, read_options
from ..faces.pairs import PairVec
from ..faces.vec import VecEnv
from ..state import NONE, Snapshot, put, received, rows_of, size, take
from ..stepping.buffers import LOSE, RAISE, RESAMPLE, autoreset_index, illegal_limits, positive
from ..stepping.rng import episode_seed, word
from .core import Plain, TextGame

__all__ = ["Message", "TextVec", "vec_of"]

Message: TypeAlias = str | None
"""What a player says; None is no answer."""

_SAMPLER = 0x5DEECE66D  # keeps the sampler's numbers away from the games'


class TextVec:
    """N games of words of one kind, stepped row by row.

    Turn-based: one message a row, the mover's; simultaneous: a list of P a row. Seeds, policies for illegal messages
    and truncation mean what they mean in ``VecEnv``.

    Args:
        game: the rules.
        num_envs: N.
        seed: used by the first ``reset()`` that names none; None draws one from the system.
        autoreset_mode: ``"SameStep"`` (what the movers were told last is in ``info["final_obs"]``) or ``"Disabled"``.
        illegal, illegal_reward, max_cycles: as in ``VecEnv``.

    Attributes:
        state: N games of plain data, live.
        player: [N] int32 the seat to move; -1 in simultaneous games.
        status: [N] uint8. cycles: [N] int32. rewards: [N, P] float32 of the last step.
        wrong: [N, P] bool whose message was illegal in the last step. faults: [N, P] int32 counts of this game.
        seed, episode: [N] which game of which seed a row plays.
    """

    def __init__(
        self,
        game: TextGame,
        num_envs: int = 1,
        *,
        seed: int | None = None,
        autoreset_mode: Any = "SameStep",
        illegal: str | None = None,
        illegal_reward: float | None = None,
        max_cycles: int | None = None,
    ) -> None:
        mode = autoreset_index(autoreset_mode)
        if mode == autoreset_index("NextStep"):
            raise UsageError(f"Games of words such as {game.info.id} restart in the SameStep or not at all (Disabled).")
        self.game, self.num_envs, self.num_players = game, positive("num_envs", num_envs), game.info.players
        self.limits = illegal_limits(game, illegal, illegal_reward, max_cycles, mode)
        self._restarts, self._first = mode == autoreset_index("SameStep"), seed
        n, seats = num_envs, (num_envs, game.info.players)
        self.state: list[Plain] = game.new_state(n)
        self.player = np.full(n, -1, np.int32)
        self.status = np.zeros(n, np.uint8)
        self.cycles = np.zeros(n, np.int32)
        self.seed, self.episode = np.zeros(n, np.uint64), np.zeros(n, np.uint32)
        self.rewards = np.zeros(seats, np.float32)
        self.wrong, self.faults = np.zeros(seats, np.bool_), np.zeros(seats, np.int32)
        self._started = False

    # -- what is seen --------------------------------------------------------------------------------------------------

    @property
    def action_mask(self) -> Mask:
        """[N, 1] (simultaneous: [N, P, 1]) int8, 1 = is asked for a message; a new array."""
        mask: Mask = np.zeros((self.num_envs, self.num_players, 1), np.int8)
        for i in np.flatnonzero(self.status == RUNNING).tolist():
            mask[i, list(self.game.asked(self.state[i]))] = 1
        return mask if self.game.info.simultaneous else mask.max(1, initial=0)

    def told(self, i: int) -> Any:
        """What the mover of row i is told; of simultaneous games the list of what each seat is told."""
        if not self.game.info.simultaneous:
            return self.game.describe(self.state, i, max(0, int(self.player[i])))
        return [self.game.describe(self.state, i, p) for p in range(self.num_players)]

    def _info(self) -> dict[str, Any]:
        wrong = self.wrong if self.game.info.simultaneous else self.wrong.any(1)
        return {"illegal": wrong, "player": self.player}

    # -- verbs ---------------------------------------------------------------------------------------------------------

    def reset(
        self,
        *,
        seed: int | Sequence[int] | NDArray[Any] | None = None,
        mask: NDArray[Any] | Sequence[int] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[list[Any], dict[str, Any]]:
        """Start new games.

        Args:
            seed: row i gets ``seed + i``, or its own of a list [N]. None: each row's next game.
            mask: [N] bool, or row numbers: only these restart. The first reset starts all rows.
            options: ``{"state": rows}`` starts from given rows.

        Returns:
            what the movers are told, [N] (simultaneous: [N][P]) texts, and info.
        """
        options = read_options(options)
        rows = rows_of(mask if self._started else None, self.num_envs)
        if seed is None and not self._started:
            drawn = int(np.random.SeedSequence().generate_state(1, np.uint64)[0] >> 1)
            seed = self._first if self._first is not None else drawn
        if seed is not None:
            given = range(int(seed), int(seed) + self.num_envs) if isinstance(seed, int | np.integer) else list(seed)
            if len(given) != self.num_envs:
                raise UsageError(f"{len(given)} seeds came for {self.num_envs} games: give one number, or one each.")
            self.seed[rows] = [int(given[i]) % 2**64 for i in rows.tolist()]
            self.episode[rows] = 0
        else:
            self.episode[rows] += 1
        self._started = True
        for i in rows.tolist():
            self._begin(i)
        for name, value in options.items():
            if name != "state":
                warnings.warn(ignored(self.game, name), stacklevel=2)
            elif value is not None:
                self.place(value, rows, with_seed=False)
        return [self.told(i) for i in range(self.num_envs)], self._info()

    def _begin(self, i: int) -> None:
        self.game.kernels.reset(self.state, i, self._seed(i))
        self.cycles[i], self.status[i] = 0, RUNNING
        self.faults[i], self.wrong[i], self.rewards[i] = 0, False, 0
        self.player[i] = self.game.mover(self.state, i)

    def _seed(self, i: int) -> Seed:
        """The seed of the game that row i plays."""
        return int(episode_seed(np.uint64(self.seed[i]), int(self.episode[i])))

    def step(
        self, messages: Sequence[Any], rows: Sequence[int] | NDArray[Any] | None = None
    ) -> tuple[list[Any], Rewards, NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """One turn (tick) of every row; rows that have ended do nothing.

        Args:
            messages: N texts (simultaneous: N lists of P); None is no answer and illegal. What comes from a seat that
                is not asked is ignored.
            rows: only these rows play.

        Returns:
            what the movers are told [N], rewards [N, P], terminations, truncations [N] (simultaneous: [N, P]) and info:
            ``"illegal"`` (as terminations), ``"player"``, and after a restart ``"final_obs"`` (None elsewhere).

        Raises:
            UsageError: another number of messages.
            ActionError: an illegal message under the policy ``raise``; rows after it did not play.
        """
        if not self._started:
            raise UsageError("This environment has not been reset. Call reset() first.")
        if len(messages) != self.num_envs:
            raise UsageError(f"{len(messages)} messages came for {self.num_envs} games of {self.game.info.id}.")
        simultaneous = self.game.info.simultaneous
        ended = np.zeros((2, self.num_envs), np.bool_)
        final: list[Any] = [None] * self.num_envs
        for i in rows_of(rows, self.num_envs).tolist():
            self.rewards[i], self.wrong[i] = 0, False
            if self.status[i] == RUNNING:
                if simultaneous and (isinstance(messages[i], str | None) or len(messages[i]) != self.num_players):
                    raise UsageError(f"Row {i} got {messages[i]!r}; {self.num_players} messages are needed.")
                said = messages[i] if simultaneous else {int(self.player[i]): messages[i]}
                self.status[i] = status = self.play(i, said)
                if status != RUNNING and self._restarts:
                    final[i], rewards, wrong = self.told(i), self.rewards[i].copy(), self.wrong[i].copy()
                    self.episode[i] += 1
                    self._begin(i)
                    self.rewards[i], self.wrong[i] = rewards, wrong
            else:
                status = int(self.status[i])
            ended[:, i] = status == TERMINATED, status == TRUNCATED
        over = [np.repeat(e[:, None], self.num_players, 1) if simultaneous else e for e in ended]
        return (
            [self.told(i) for i in range(self.num_envs)],
            self.rewards,
            over[0],
            over[1],
            {
                **self._info(),
                "final_obs": final,
            },
        )

    def play(self, i: int, said: Any) -> Status:
        """One turn of a running row: rewards, faults, cycles, mover; returns how it then stands.

        Args:
            i: the row.
            said: from seat to message, for all who are asked.
        """
        game, limits = self.game, self.limits
        messages: list[Message] = [None] * self.num_players
        wrong = []
        asked = list(game.asked(self.state[i]))
        for p in asked:
            try:
                messages[p] = game.read(self.state, i, p, said[p])
            except ActionError:
                if limits.illegal == RAISE:
                    raise
                wrong.append(p)
                if limits.illegal == RESAMPLE:
                    messages[p] = game.sample(self.state[i], p, self._generator(i, p))
        status, row = RUNNING, self.rewards[i]
        row[:] = 0
        if not wrong or limits.illegal == RESAMPLE:
            status = int(game.kernels.step(self.state, i, messages, row))
            self.player[i] = game.mover(self.state, i)
        elif limits.illegal == LOSE:
            status = TERMINATED
        for p in wrong:
            self.faults[i, p] += 1
            self.wrong[i, p] = True
            row[p] += np.float32(limits.illegal_reward)
        self.cycles[i] += 1
        return TRUNCATED if status == RUNNING and self.cycles[i] >= limits.max_cycles else status

    def _generator(self, i: int, player: int) -> np.random.Generator:
        """Of what is said instead of an illegal message."""
        counter = int(self.cycles[i]) * self.num_players + player
        return np.random.default_rng(int(word(~np.uint64(self._seed(i)), counter)))

    def sample_actions(self) -> list[Any]:
        """A random message of everybody who is asked, [N] (simultaneous: [N][P]); None of the others.

        What a row says follows from its game's seed and the turn alone.
        """
        drawn: list[list[Message]] = [[None] * self.num_players for _ in range(self.num_envs)]
        for i in np.flatnonzero(self.status == RUNNING).tolist():
            for p in self.game.asked(self.state[i]):
                rng = np.random.default_rng([_SAMPLER, self._seed(i), int(self.cycles[i]), p])
                drawn[i][p] = self.game.sample(self.state[i], p, rng)
        if self.game.info.simultaneous:
            return drawn
        return [row[p] for row, p in zip(drawn, self.player.tolist(), strict=True)]

    # -- states --------------------------------------------------------------------------------------------------------

    def get_state(self, rows: Sequence[int] | NDArray[Any] | int | None = None) -> Snapshot:
        """A copy of some rows (all by default), bookkeeping included; ``.state`` of it is plain data."""
        index = rows_of(rows, self.num_envs)
        live = (self.seed, self.episode, self.cycles, self.status, self.rewards, self.rewards, self.faults)
        parts: list[Any] = [take(part, index) for part in (self.state, *live)]
        gone = np.zeros((len(index), self.num_players), np.bool_)
        waiting: list[list[Any]] = [[NONE] * self.num_players for _ in index]
        parts += [gone, waiting]
        return Snapshot(*parts)

    def set_state(self, state: Any, rows: Sequence[int] | NDArray[Any] | int | None = None) -> None:
        """Put a Snapshot, bare games or bytes into rows; as many as rows, or one for all of them.

        Raises:
            StateError: of another game, truncated, or another number of rows.
        """
        if not self._started:
            self.reset()
        self.place(state, rows_of(rows, self.num_envs), with_seed=True)

    def place(self, state: Any, rows: NDArray[np.intp], with_seed: bool) -> Snapshot:
        """``set_state`` without a reset; returns what came as a Snapshot."""
        whole, seeded = received(self.game, self.state, state)
        if size(whole) not in (1, len(rows)):
            raise StateError(
                f"{size(whole)} states came for {len(rows)} rows. Give as many states as rows, or one for all."
            )
        put(self.state, whole.state, rows)
        if with_seed and seeded:
            self.seed[rows], self.episode[rows] = whole.seed, whole.episode
        self.cycles[rows], self.status[rows], self.rewards[rows] = whole.cycles, whole.status, whole.rewards
        self.faults[rows], self.wrong[rows] = whole.illegal, False
        self.player[rows] = [self.game.mover(self.state, i) for i in rows.tolist()]
        self._started = True
        return whole

    def clone(self) -> TextVec:
        """An equal, independent environment, generators included."""
        import copy

        return copy.deepcopy(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> TextVec:
        other = TextVec.__new__(TextVec)
        other.__dict__.update(self.__dict__)
        for name, value in self.__dict__.items():
            if isinstance(value, np.ndarray | list):
                setattr(other, name, take(value))
        return other

    def __getstate__(self) -> dict[str, Any]:
        from ..registry import make_game

        make_game(self.game.info.id, **self.game.config)  # who isn't registered fails here, not when it is read back
        kept = {name: value for name, value in self.__dict__.items() if name != "game"}
        return kept | {"made_from": (self.game.info.id, self.game.config)}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        from ..registry import make_game

        id, config = kept.pop("made_from")
        self.__dict__.update(kept)
        made = make_game(id, **config)
        assert isinstance(made, TextGame)
        self.game = made


def vec_of(game: Game, num_envs: int, **limits: Any) -> VecEnv | TextVec:
    """Games side by side, of any kind; ``limits`` are keyword arguments that both kinds take."""
    if isinstance(game, TextGame):
        return TextVec(game, num_envs, **limits)
    return (PairVec if game.verbs else VecEnv)(game, num_envs, **limits)
