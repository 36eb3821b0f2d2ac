"""Wrappers for games that name their verbs: they take pairs (verb, argument) and return masks of pairs.

``table_of`` and ``vec_of`` choose them; no face checks whether a game names verbs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...aliases import Action, Player
from ...errors import InvalidAction
from .table import NO_ANSWER, Table
from .vec import VecEnv
from .verbs import PairMasks, Verbs, array_of

__all__ = ["PairTable", "PairVec"]


class PairTable(Table):
    """A table whose actions are pairs. Masks are tuples of marginals; infos hold the exact ``pair_mask``."""

    def _sit(self, row: Any) -> None:
        super()._sit(row)
        self.verbs, self.plain = Verbs(row.game), False

    def check(self, action: Any) -> Action:
        """The action number of a pair; -1 where the verb has no such argument.

        Raises:
            InvalidAction: as ``Verbs.number``.
        """
        return self.verbs.number(action)

    def trust(self, action: Any) -> Action:
        """The action number of a pair; -1 of anything else."""
        found = self.verbs.numbers([action])
        return NO_ANSWER if found is None or found.ndim != 1 else int(found[0])

    def numbers(self, given: Sequence[Any]) -> NDArray[Any] | None:
        """The numbers of plain pairs, all at once; None if one of them needs an individual check or an error."""
        found = None if self.text else self.verbs.numbers(given)
        return found if found is not None and found.ndim == 1 else None

    def everything(
        self, seats: list[Player] | None, shown: list[Any] | None = None
    ) -> tuple[list[Any], list[dict[str, Any]]]:
        """Observations and infos of the players in ``seats`` (None: all)."""
        if not self.ticks:
            return super().everything(seats)
        found = self.verbs.masks(self._mask)
        seen, infos = super().everything(seats, list(zip(*found.marginals, strict=True)))
        for info, pairs in zip(infos, found.pairs if seats is None else found.pairs[seats], strict=True):
            info["pair_mask"] = pairs
        return seen, infos

    def seen(self, player: Player, asked: bool) -> Any:
        """A player's observation in new arrays, or a text."""
        if self.text:
            return self.describe(player)
        return {"observation": self.observation(player), "action_mask": self._masks(player, asked).marginals}

    def info(self, player: Player, asked: bool, told: dict[str, Any]) -> dict[str, Any]:
        """A player's info."""
        found = self._masks(player, asked)
        return {"action_mask": found.marginals, "illegal": self.faults[player], "pair_mask": found.pairs} | told

    def _masks(self, player: Player, asked: bool) -> PairMasks:
        return self.verbs.masks(self.mask(player) if asked else self.nothing_legal)


class PairVec(VecEnv):
    """N games with verbs: ``step`` takes pairs [..., 2] or action numbers; a verb of -1 means no answer.

    The mask of an observation is a pair of masks, of verbs that are legal with any argument [..., V] and of arguments
    that are legal with any verb [..., K]; ``info["pair_mask"]`` [..., V, K] is exact. The attribute ``action_mask``
    is the mask of action numbers.
    """

    def _bind_views(self) -> None:
        super()._bind_views()
        b, self._verbs = self.arrays, Verbs(self.game)
        self._pairs = [(mask, PairMasks(mask.shape[:-1], *self._verbs.shape)) for mask in (b.mask, b.final_mask)]
        self._obs["action_mask"], self._info["final_obs"]["action_mask"] = (found.marginals for _, found in self._pairs)
        self._info["pair_mask"] = self._pairs[0][1].pairs
        self._shown()

    def _shown(self) -> tuple[dict[str, Any], dict[str, Any]]:
        for mask, found in self._pairs:
            self._verbs.write(mask, found)
        return super()._shown()

    def _check(self, actions: Any, rows: NDArray[np.intp] | None) -> NDArray[np.int32]:
        given = array_of(actions)
        if given.shape == (*self._actions.shape, 2) and given.dtype.kind in "iu":
            (v, k), actions = self._verbs.shape, self._verbs.numbers(given, silent=True)
            if actions is None:
                raise InvalidAction(
                    f"A pair is outside (0..{v - 1}, 0..{k - 1}) of {self.game.info.id} (a verb of -1 means no answer)."
                )
        return super()._check(actions, rows)
