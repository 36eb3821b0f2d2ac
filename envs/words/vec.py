"""N games of words side by side: the batched face, with lists of messages instead of arrays of numbers.

The AEC and the parallel face play one row of it (``table``), so all faces step games with the same code.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...aliases import RUNNING, TERMINATED, TRUNCATED, Action, Mask, Rewards, Seed, Status
from ...errors import ActionError, UsageError
from ..core import Game
from ..faces.pairs import PairVec
from ..faces.rows import Rows
from ..faces.vec import VecEnv
from ..plain import told
from ..state import Snapshot, rows_of
from ..stepping.buffers import RAISE, Arrays, new_arrays
from ..stepping.rng import episode_seed
from ..stepping.templates import advance_ticks, uncompiled
from .core import SAY, Plain, TextGame

__all__ = ["Message", "TextVec", "vec_of"]

Message: TypeAlias = str | None
"""A player's message; None is a missing answer."""

_SAMPLER = 0x5DEECE66D  # separates the sampler's random numbers from the games'


class TextVec(Rows):
    """N copies of a game of words, stepped row by row.

    Turn-based: one message per row, the mover's; simultaneous: a list of P per row. Seeds, policies for illegal
    messages and truncation are those of ``VecEnv``.

    Args:
        game: the game.
        num_envs: N.
        seed: for a first ``reset()`` without a seed; None takes one from the operating system.
        autoreset_mode: ``"SameStep"`` (the last observations are in ``info["final_obs"]``) or ``"Disabled"``.
        illegal, illegal_reward, max_cycles: as in ``VecEnv``.

    Attributes:
        state: N games of plain data, live.
    """

    game: TextGame

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if self.autoreset_mode == "NextStep":
            raise UsageError(
                f"Games of words such as {self.game.info.id} restart in the SameStep or not at all (Disabled)."
            )
        self.player[:] = -1

    def _new_arrays(self) -> Arrays:
        return new_arrays(self.game, self.num_envs, together=True)

    # -- observations --------------------------------------------------------------------------------------------------

    @property
    def wrong(self) -> NDArray[np.bool_]:
        """[N, P] whether the last step's message was illegal."""
        return self.arrays.illegal

    @property
    def seed(self) -> NDArray[np.uint64]:
        """[N] the rows' seeds; seed and ``episode`` determine a row's game."""
        return self.arrays.seed

    @property
    def episode(self) -> NDArray[np.uint32]:
        """[N] games started in a row since it was seeded, minus one."""
        return self.arrays.episode

    @property
    def action_mask(self) -> Mask:
        """[N, 1] (simultaneous: [N, P, 1]) int8, 1 = is to answer; a new array."""
        mask: Mask = np.zeros((self.num_envs, self.num_players, 1), np.int8)
        for i in np.flatnonzero(self.status == RUNNING).tolist():
            mask[i, list(self.game.asked(self.state[i]))] = 1
        return mask if self.game.info.simultaneous else mask.max(1, initial=0)

    def told(self, i: int) -> Any:
        """The text for the mover of row i; in simultaneous games the list of all seats' texts."""
        if not self.game.info.simultaneous:
            return self.game.describe(self.state, i, max(0, int(self.player[i])))
        return [self.game.describe(self.state, i, p) for p in range(self.num_players)]

    def _info(self) -> dict[str, Any]:
        wrong = self.arrays.illegal if self.game.info.simultaneous else self.arrays.illegal.any(1)
        return {"illegal": wrong, "player": self.player}

    # -- playing -------------------------------------------------------------------------------------------------------

    def reset(
        self,
        *,
        seed: int | Sequence[int] | NDArray[Any] | None = None,
        mask: NDArray[Any] | Sequence[int] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[list[Any], dict[str, Any]]:
        """Start new games.

        Args:
            seed: row i gets ``seed + i``, or element i of a list [N]. None: each row's next game.
            mask: [N] bool, or row numbers: only these restart. The first reset starts all rows.
            options: ``{"state": rows}`` starts from given rows.

        Returns:
            observations, [N] (simultaneous: [N, P]) texts for the movers, and info.

        Raises:
            UsageError: another number of seeds, or options that are not a dictionary.
            StateError: rows of another game, truncated, or another number of rows.
        """
        self.begin(seed, mask, options)
        return [self.told(i) for i in range(self.num_envs)], self._info()

    def begin_rows(self, rows: NDArray[np.intp]) -> None:
        """Start the games that seeds and episodes name."""
        b = self.arrays
        for i in rows.tolist():
            self.game.kernels.reset(self.state, i, self._seed(i))
            self.player[i] = self.game.mover(self.state, i)
        b.cycles[rows], b.status[rows] = 0, RUNNING
        b.faults[rows], b.illegal[rows], b.rewards[rows] = 0, False, 0

    def _seed(self, i: int) -> Seed:
        """The seed of row i's current game."""
        return int(episode_seed(self.arrays.seed[i], int(self.arrays.episode[i])))

    def step(
        self, messages: Sequence[Any], rows: Sequence[int] | NDArray[Any] | None = None
    ) -> tuple[list[Any], Rewards, NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """One turn (tick) of every row; rows that have ended do nothing.

        Args:
            messages: N texts (simultaneous: N lists of P); None, a missing answer, is illegal. Messages of seats that
                are not asked are ignored.
            rows: only these rows play.

        Returns:
            observations [N] (simultaneous: [N, P]), rewards [N, P], terminations, truncations [N] (simultaneous:
            [N, P]) and info: ``"illegal"`` (shaped like terminations), ``"player"``, and ``"final_obs"`` [N], None for
            rows that did not restart.

        Raises:
            UsageError: no reset yet, or another number of messages.
            ActionError: an illegal message under the policy ``raise``; the rows after it did not play.
        """
        self._need_start()
        if not _are(messages, self.num_envs):
            raise UsageError(
                f"{told(messages)} came for {self.num_envs} games of {self.game.info.id}; pass a list of one message "
                "for each."
            )
        simultaneous = self.game.info.simultaneous
        ended = np.zeros((2, self.num_envs), np.bool_)
        final: list[Any] = [None] * self.num_envs
        for i in rows_of(rows, self.num_envs).tolist():
            self.rewards[i], self.arrays.illegal[i] = 0, False
            if self.status[i] == RUNNING:
                if simultaneous and not _are(messages[i], self.num_players):
                    raise UsageError(f"Row {i} got {told(messages[i])}; {self.num_players} messages are needed.")
                said = messages[i] if simultaneous else {int(self.player[i]): messages[i]}
                self.status[i] = status = self.play(i, said)
                if status != RUNNING and self.autoreset_mode == "SameStep":
                    final[i], rewards, wrong = self.told(i), self.rewards[i].copy(), self.arrays.illegal[i].copy()
                    self.arrays.episode[i] += 1
                    self.begin_rows(np.array([i]))
                    self.rewards[i], self.arrays.illegal[i] = rewards, wrong
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
        """One turn of a running row: updates rewards, faults, cycles and mover; returns the new status.

        Args:
            i: the row.
            said: the messages by seat, of all seats asked.
        """
        game, b = self.game, self.arrays
        messages: list[Message] = [None] * self.num_players
        answers, wrong = [-1] * self.num_players, []
        b.mask[i] = 0
        for p in sorted(game.asked(self.state[i])):
            b.mask[i, p] = 1
            try:
                messages[p], answers[p] = game.read(self.state, i, p, said[p]), SAY
            except ActionError:
                if self.limits.illegal == RAISE:
                    raise
                wrong.append(p)
        b.rewards[i] = 0

        def pick(mask: Mask, random_word: Any) -> Action:
            p = wrong.pop(0)
            messages[p] = game.sample(self.state[i], p, np.random.default_rng(int(random_word)))
            return SAY

        def step(state: list[Plain], i: int, acts: Any, rewards: Rewards) -> Status:
            status = int(game.kernels.step(state, i, messages, rewards))
            self.player[i] = game.mover(state, i)
            return status

        advance = uncompiled(advance_ticks, pick=pick, step=step, ACTIONS=1)
        return int(advance(self.state, b, i, answers, b.acts[0], self.limits))

    def sample_actions(self) -> list[Any]:
        """A random message of every player that is asked, [N] (simultaneous: [N, P]); None for the others.

        A row's messages depend only on its game's seed and the turn.
        """
        drawn: list[list[Message]] = [[None] * self.num_players for _ in range(self.num_envs)]
        for i in np.flatnonzero(self.status == RUNNING).tolist():
            for p in self.game.asked(self.state[i]):
                rng = np.random.default_rng([_SAMPLER, self._seed(i), int(self.cycles[i]), p])
                drawn[i][p] = self.game.sample(self.state[i], p, rng)
        if self.game.info.simultaneous:
            return drawn
        return [row[p] for row, p in zip(drawn, self.player.tolist(), strict=True)]

    def _view(self, rows: NDArray[np.intp], whole: Snapshot) -> None:
        self.player[rows] = [self.game.mover(self.state, i) for i in rows.tolist()]

    def _refresh(self) -> None:
        self.player[:] = [self.game.mover(self.state, i) for i in range(self.num_envs)]


def _are(messages: Any, count: int) -> bool:
    """Whether these are so many messages, not one text."""
    if isinstance(messages, np.ndarray):
        return bool(messages.shape[:1] == (count,))
    return isinstance(messages, Sequence) and not isinstance(messages, str | bytes) and len(messages) == count


def vec_of(game: Game, num_envs: int, **limits: Any) -> VecEnv | TextVec:
    """N games side by side, of any kind; ``limits`` are keyword arguments that all kinds take."""
    if isinstance(game, TextGame):
        return TextVec(game, num_envs, **limits)
    return (PairVec if game.verbs else VecEnv)(game, num_envs, **limits)
