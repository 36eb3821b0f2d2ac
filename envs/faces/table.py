"""A single game: what the AEC and the parallel face share.

A table plays one row (N = 1) of the batched face: legal turns and ticks by one compiled call, a rare illegal turn by
the engine's own template. It renders and takes snapshots. It identifies players by seat number; only the faces know
agents' names.

The file is longer than most because it is one class; ``rows``, ``pairs``, ``spaces`` and ``render`` hold the rest.
"""

from __future__ import annotations

import copy
import operator
import warnings
from collections.abc import Callable, Sequence
from typing import Any, TypedDict

import gymnasium
import numpy as np
from numpy.typing import NDArray

from ...aliases import RUNNING, TERMINATED, TRUNCATED, Action, Mask, Player, State, Status
from ...errors import ActionError, IllegalAction, InvalidAction, UsageError
from ..answers import known_name
from ..core import Game
from ..plain import told
from ..state import Snapshot, take
from ..stepping.buffers import RAISE, Arrays
from ..stepping.drivers import drivers
from ..stepping.jit import compiled
from ..stepping.rng import episode_seed
from ..stepping.templates import advance_turns, first_outside, uncompiled
from .actions import few, ignored, read_options
from .render import close_window, in_window, picture, render_modes
from .rows import whole_seed
from .spaces import action_space, observation_space, state_space, text_spaces
from .vec import VecEnv

__all__ = ["NO_ANSWER", "Table", "TableOptions", "no_whole"]

NO_ANSWER: Action = -1
"""Stands for a missing or unreadable answer: illegal in every position."""

_ILLEGAL, _DIED = 4, 8  # bits of the code that ``lone_tick`` returns
_ROW = np.zeros(1, np.intp)

_NUMBERS = {int, np.int64, np.int32}
"""Types of actions that need no individual check."""


class TableOptions(TypedDict, total=False):
    """The options of a table; see ``Table``."""

    render_mode: str | None
    text: bool
    illegal: str | None
    illegal_reward: float | None
    max_cycles: int | None
    draw: str | None


class Table:
    """One game, the policy for illegal actions, and the spaces.

    Attributes:
        rows: the class of the batched environment that holds the row.
        words: whether actions are messages.

    Args:
        game: the rules.
        render_mode: None, ``"human"`` (a window; without a drawing function, pygame or a display it prints the
            board), ``"ansi"`` or, if the game has a drawing function, ``"rgb_array"``.
        text: observations and actions are strings.
        illegal, illegal_reward, max_cycles: as in ``VecEnv``.
        draw: ``"module:function"``, the drawing function.
    """

    rows: Any = VecEnv
    words = False
    game: Game
    state: State
    seed: int | None
    _observation: NDArray[Any]
    _mask: Mask

    def __init__(
        self,
        game: Game,
        render_mode: str | None = None,
        text: bool = False,
        illegal: str | None = None,
        illegal_reward: float | None = None,
        max_cycles: int | None = None,
        draw: str | None = None,
    ) -> None:
        if render_mode is not None:
            known_name("render_mode", render_mode, render_modes(draw))
        if not isinstance(text, bool | np.bool_ | int):
            raise UsageError(f"text={told(text)} came; True or False is needed.")
        self.text, self.draw, self.render_mode, self.seed = bool(text), draw, render_mode, None
        options: Any = {"illegal": illegal, "illegal_reward": illegal_reward, "max_cycles": max_cycles}
        self._sit(self.rows(game, autoreset_mode="Disabled", **options))

    def _sit(self, row: Any) -> None:
        """Use that row from now on."""
        game = row.game
        self.game, self.limits, self.row = game, row.limits, row
        self.simultaneous, self.ticks = game.info.simultaneous, game.info.simultaneous and not self.words
        self.players, self.num_actions = game.info.players, game.info.num_actions
        self.nothing_legal = np.zeros(game.info.num_actions, np.int8)
        self.state_space = state_space(game)
        self.plain = game.tell is None and not self.words  # infos hold only a mask and a count
        self._join()

    def _join(self) -> None:
        """Bind the row's arrays and read its values."""
        row, b, loops = self.row, self.row.arrays, drivers(self.game)
        self.state, self._turn, self._start = row.state, loops.turn, loops.start
        self._tick: Callable[..., int] | None = None  # made for these arrays, by the first tick
        self._advance = uncompiled(advance_turns, act=self._act, ACTIONS=self.num_actions)
        self._acts, self._rewards = b.acts[0], b.rewards[0]
        self._observation, self._mask = b.observation[0, ...], b.mask[0]
        self._look()

    def _look(self) -> None:
        """Read the row's bookkeeping into Python numbers, because turns read them often."""
        b = self.row.arrays
        self.episode, self.cycles, self.status = int(b.episode[0]), int(b.cycles[0]), int(b.status[0])
        self.mover: Player = max(0, int(b.player[0]))
        self.rewards: list[float] = b.rewards[0].tolist()
        self.faults: list[int] = b.faults[0].tolist()
        if self.ticks:
            self._observation, self._mask = b.observation[0].copy(), b.mask[0].copy()
            self._flags()
            self._ended = self.status != RUNNING or True in self.terminated

    def _flags(self) -> None:
        b = self.row.arrays
        self.alive: list[bool] = b.alive[0].tolist()
        self.terminated: list[bool] = b.terminated[0].tolist()
        self.truncated: list[bool] = b.truncated[0].tolist()

    def _save(self) -> Arrays:
        """Write the Python numbers that turns keep back into the row's arrays; returns the arrays."""
        b: Arrays = self.row.arrays
        b.seed[0], b.episode[0], b.cycles[0], b.status[0] = self.seed or 0, self.episode, self.cycles, self.status
        b.rewards[0], b.faults[0] = self.rewards, self.faults
        self.row._started |= self.seed is not None
        if self.ticks:
            b.observation[0] = self._observation
        elif not self.simultaneous:
            b.player[0] = self.mover
        return b

    def observation_space(self) -> gymnasium.Space[Any]:
        """A new space of one player's observations."""
        return text_spaces()[0] if self.text else observation_space(self.game)

    def action_space(self) -> gymnasium.Space[Any]:
        """A new space of one player's actions."""
        return text_spaces()[1] if self.text else action_space(self.game)

    # -- beginning -----------------------------------------------------------------------------------------------------

    def begin(self, seed: int | None, options: dict[str, Any] | None) -> Snapshot | None:
        """Start a game; returns the snapshot of the state that an option set, or None.

        Raises:
            CoterieError: an option cannot be read; the table is unchanged.
        """
        options = read_options(options)
        before = copy.deepcopy(self) if options else self
        try:
            return self._begin(seed, options)
        except Exception:
            if options:
                self.__dict__.update(before.__dict__)
                self._join()
            raise

    def _begin(self, seed: int | None, options: dict[str, Any]) -> Snapshot | None:
        if seed is not None or self.seed is None:
            self.seed, self.episode = whole_seed(seed), 0
        else:
            self.episode += 1
        if self.simultaneous or self.words:
            self._save()
            self.row.begin_rows(_ROW)
            self._look()
        else:
            first = np.uint64(self.seed if self.episode == 0 else episode_seed(np.uint64(self.seed), self.episode))
            self.mover = self._start(self.state, first, self._observation, self._mask)
            self.cycles, self.status = 0, RUNNING
            self.rewards, self.faults = [0.0] * self.players, [0] * self.players
        given = None
        for name, value in options.items():
            if name == "state":
                given = self.place(value, with_seed=False) if value is not None else None
            elif name in self.game.options:
                if value is not None:
                    rows = take(self.state)
                    self.game.options[name](rows, 0, value)
                    given = self.place(rows, with_seed=False)
            else:
                warnings.warn(ignored(self.game, name), stacklevel=5)
        return given

    # -- playing -------------------------------------------------------------------------------------------------------

    def turn(self, action: Action) -> None:
        """Play the current player's turn, in a turn-based game."""
        if not (0 <= action < self.num_actions and self._mask[action]):
            self._illegal_turn(action)
            return
        chosen = int(action)  # of a NumPy number, numba would compile the loop again for its type
        code = self._turn(self.state, chosen, self._acts, self._rewards, self._observation, self._mask)
        self.rewards = self._rewards.tolist()
        self.mover = code >> 2
        self.cycles += 1
        self.status = status = code & 3
        if status == RUNNING and self.cycles >= self.limits.max_cycles:
            self.status = TRUNCATED
            self._mask[:] = 0

    def _illegal_turn(self, action: Action) -> None:
        """Apply the policy by the engine's own template, uncompiled: it calls the game's compiled step."""
        if self.limits.illegal == RAISE:
            raise IllegalAction(self._complaint(action, self.mover, self._mask))
        b = self._save()
        b.rewards[0] = 0
        b.status[0] = self._advance(self.state, b, 0, action, self._acts, self.limits)
        self._look()
        if self.status != RUNNING:
            self._mask[:] = 0

    def _act(self, state: State, b: Arrays, i: int, acts: NDArray[np.int32]) -> Status:
        """The ``act`` of the template: step the game, and write the next player's observation and mask."""
        player = b.player
        code: int = self._turn(state, int(acts[player[0]]), acts, self._rewards, self._observation, self._mask)
        player[0] = code >> 2
        return code & 3

    def tick(self, actions: Sequence[Action] | NDArray[Any]) -> None:
        """Play all seats' actions, in a simultaneous game. Actions of seats without a legal action are ignored."""
        if self.limits.illegal == RAISE:
            for p, action in enumerate(actions):
                self.refuse_illegal(p, action)
        b, old, mask = self.row.arrays, self._observation, self._mask
        self._observation, self._mask = np.empty(old.shape, old.dtype), np.empty(mask.shape, np.int8)
        numbers = np.ascontiguousarray(actions, np.int64)
        given = (self.state, b, numbers, self._observation, self._mask, self.limits)
        if self._tick is None:
            self._tick = compiled(drivers(self.game).tick, *given)
        code = self._tick(*given)
        self.rewards = b.rewards[0].tolist()
        self.status = code & 3
        self.cycles += 1
        if code & _ILLEGAL:
            self.faults = b.faults[0].tolist()
        stale, self._ended = self._ended, code & _DIED != 0 or self.status != RUNNING
        if self._ended or stale:
            self._flags()

    def refuse_illegal(self, player: Player, action: Action) -> None:
        """The policy ``raise``, for one seat's action of a tick; does nothing under other policies.

        Raises:
            IllegalAction: the seat has legal actions, and this is not one of them.
        """
        if self.limits.illegal == RAISE:
            mask = self._mask[player]
            if not (0 <= action < self.num_actions and mask[action]) and mask.any():
                raise IllegalAction(self._complaint(action, player, mask))

    def _complaint(self, action: Action, player: Player, mask: Mask) -> str:
        return f"Action {action} of player_{player} is not legal in:\n{self.describe(player)}\nLegal: {few(mask)}."

    def check(self, action: Any) -> Action:
        """A user's action as an action number.

        Raises:
            InvalidAction: wrong type, or outside 0..A-1.
        """
        if type(action) is not int:
            try:
                if isinstance(action, bool | np.bool_):
                    raise TypeError
                action = operator.index(action)
            except TypeError:
                raise InvalidAction(
                    f"{action!r} ({type(action).__name__}) is not an action of {self.game.info.id}; a whole number "
                    f"0..{self.num_actions - 1} is needed."
                ) from None
        if not 0 <= action < self.num_actions:
            raise InvalidAction(f"Action {action} is outside 0..{self.num_actions - 1} of {self.game.info.id}.")
        return int(action)

    def trust(self, action: Any) -> Action:
        """The action number of ``raw_env()``, which checks nothing."""
        number: Action = action
        return number

    def numbers(self, given: Sequence[Any]) -> NDArray[Any] | None:
        """Plain actions, checked all at once; None if one of them needs an individual check or its own error."""
        if self.text or not _NUMBERS.issuperset(map(type, given)):
            return None
        try:
            plain = np.array(given, np.int64)
        except OverflowError:
            return None
        return plain if first_outside(plain, 0, self.num_actions) < 0 else None

    def read(self, answer: Any) -> Action:
        """An action number from a text; NO_ANSWER if it cannot be read.

        Raises:
            InvalidAction: not a string.
            ActionError: the text cannot be read, under the policy ``raise``.
        """
        if not isinstance(answer, str):
            raise InvalidAction(f"{answer!r} ({type(answer).__name__}) came; with text=True an action is a string.")
        try:
            return self.game.parse_action(self.state, 0, answer)
        except ActionError:
            if self.limits.illegal == RAISE:
                raise
            return NO_ANSWER

    # -- seeing --------------------------------------------------------------------------------------------------------

    def mask(self, player: Player) -> Mask:
        """[A] int8, a new array; zeros for a player who is not to move."""
        if self.ticks:
            mask: Mask = self._mask[player]
            return mask.copy()
        return (self._mask if player == self.mover else self.nothing_legal).copy()

    def observation(self, player: Player) -> NDArray[Any]:
        """[observation_shape], a new array."""
        if self.ticks:
            seen: NDArray[Any] = self._observation[player]
            return seen.copy()
        if player == self.mover:
            return self._observation.copy()
        out = np.empty_like(self._observation)
        self.game.kernels.observe(self.state, 0, player, out)
        return out

    def everything(
        self, seats: list[Player] | None, shown: list[Any] | None = None
    ) -> tuple[list[Any], list[dict[str, Any]]]:
        """Observations and infos of the players in ``seats`` (None: all), in arrays that later steps do not change.

        In simultaneous games ``shown`` holds masks that replace those of action numbers.
        """
        players = range(self.players) if seats is None else seats
        if self.plain and not (self.ticks or self.text):
            infos: list[dict[str, Any]] = [{"action_mask": self.mask(p), "illegal": self.faults[p]} for p in players]
            return [{"observation": self.observation(p), "action_mask": self.mask(p)} for p in players], infos
        told = self.told()
        if not self.ticks:
            return [self.seen(p, True) for p in players], [self.info(p, True, told[p]) for p in players]
        boards: Any = self._observation
        masks: Any = self._mask if shown is None else shown
        faults = self.faults
        if seats is not None:
            boards, masks = [boards[p] for p in seats], [masks[p] for p in seats]
            told, faults = [told[p] for p in seats], [faults[p] for p in seats]
        seen: list[Any] = []
        for info, board, mask, illegal in zip(told, boards, masks, faults, strict=True):
            info["action_mask"] = mask
            info["illegal"] = illegal
            seen.append({"observation": board, "action_mask": mask})
        return ([self.describe(p) for p in players] if self.text else seen), told

    def seen(self, player: Player, asked: bool) -> Any:
        """A player's observation in new arrays, or a text. The mask is zeros unless ``asked``."""
        if self.text:
            return self.describe(player)
        mask = self.mask(player) if asked else self.nothing_legal.copy()
        return {"observation": self.observation(player), "action_mask": mask}

    def info(self, player: Player, asked: bool, told: dict[str, Any]) -> dict[str, Any]:
        """A player's info: its mask, its illegal actions in the current game, and the game's own infos ``told``."""
        mask = self.mask(player) if asked else self.nothing_legal.copy()
        return {"action_mask": mask, "illegal": self.faults[player]} | told

    def told(self) -> list[dict[str, Any]]:
        """The game's own infos of each player, in new dictionaries."""
        return self.game.tell(self.state, 0) if self.game.tell is not None else [{} for _ in range(self.players)]

    def whole(self) -> dict[str, NDArray[Any]]:
        """The whole state as ``state()`` returns it, in new arrays.

        Raises:
            UsageError: the game has no such view.
        """
        if self.game.whole is None:
            raise UsageError(no_whole(self.game))
        return self.game.whole.read(self.state, 0)

    def describe(self, player: Player) -> str:
        """The position as text, for one player."""
        return self.game.describe(self.state, 0, player)

    def board(self) -> str:
        """The text of ``render``: the description for the current player (simultaneous: the first seat)."""
        return self.describe(max(0, self.mover))

    def render(self) -> NDArray[np.uint8] | str | None:
        """Render in ``render_mode``: a picture [H, W, 3] uint8, a text, or None after showing a window or printing.

        Raises:
            UsageError: the environment has no render_mode.
        """
        if self.render_mode is None:
            raise UsageError(
                f"render() needs a render_mode; make the environment with one of {render_modes(self.draw)}."
            )
        if self.render_mode == "rgb_array":
            return picture(self.draw, self.game, self.state)
        if self.render_mode == "ansi":
            return self.board()
        if not in_window(self.draw, self.game, self.state):
            print(self.board())
        return None

    def close(self) -> None:
        """Close the window, if there is one."""
        if self.render_mode == "human":
            close_window()

    # -- states --------------------------------------------------------------------------------------------------------

    def snapshot(self, rewards: list[float], pending: list[float], gone: list[bool], waiting: list[Any]) -> Snapshot:
        """[1] the complete state of this game."""
        self._save()
        found: Snapshot = self.row.get_state()
        return found._replace(
            rewards=np.array([rewards], np.float32),
            pending=np.array([pending], np.float64),
            gone=np.array([gone], np.bool_),
            waiting=[list(waiting)] if self.words else np.array([waiting], np.int32),
        )

    def place(self, state: Any, with_seed: bool) -> Snapshot:
        """Continue from a Snapshot, bare game rows or bytes; returns it as a Snapshot."""
        given: Snapshot
        b = self._save()
        given, seeded = self.row.place(state, _ROW, with_seed)
        if with_seed and seeded:
            self.seed = int(b.seed[0])
        self._look()
        return given

    def any_ended(self) -> bool:
        """Whether the game of at least one player ended in the last step."""
        return self._ended if self.ticks else self.status != RUNNING

    def flags(self) -> tuple[list[bool], list[bool]]:
        """Terminations and truncations of all seats, as of the last step."""
        if self.ticks:
            return self.terminated, self.truncated
        return [self.status == TERMINATED] * self.players, [self.status == TRUNCATED] * self.players

    def __getstate__(self) -> dict[str, Any]:
        self._save()
        return {name: self.__dict__[name] for name in ("text", "draw", "render_mode", "seed", "row")}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        self.__dict__.update(kept)
        self._sit(self.row)

    def __deepcopy__(self, memo: dict[int, Any]) -> Table:
        self._save()
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.row = self.row.clone()
        other._join()
        return other


def no_whole(game: Game) -> str:
    """The error message for a game without ``state()``."""
    return f"{game.info.id} has no view of its whole state: state() and state_space need a game that has one."
