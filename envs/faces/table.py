"""One game at a table: what the AEC and the parallel face share.

A table keeps one row (N = 1), applies the policy for illegal actions exactly as the batched drivers do, counts cycles,
draws and takes snapshots. It knows players by seat number; agents' names belong to the faces.

The file is longer than most: it is one class, what ``ticks``, ``verbs``, ``spaces`` and ``render`` do not do for it.
"""

from __future__ import annotations

import copy
import operator
import warnings
from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from ...aliases import RUNNING, TERMINATED, TRUNCATED, Action, Mask, Player, Status
from ...errors import ActionError, IllegalAction, InvalidAction, StateError, UnknownName, UsageError
from ..core import Game
from ..state import Snapshot, put, received, size, take
from ..stepping.buffers import LOSE, RAISE, RESAMPLE, illegal_limits
from ..stepping.drivers import drivers
from ..stepping.rng import Word, episode_seed, word
from ..stepping.templates import first_outside, pick_plain
from .actions import few, ignored, read_options
from .render import close_window, in_window, picture, render_modes
from .spaces import action_space, observation_space, state_space, text_spaces
from .ticks import Ticks

__all__ = ["NO_ANSWER", "Table", "no_whole"]

NO_ANSWER: Action = -1
"""An answer that is no action at all: illegal everywhere."""

_NUMBERS = {int, np.int64, np.int32}
"""Types of actions that need no closer look."""


class Table:
    """One game, the policy for illegal actions, and the spaces.

    Args:
        game: the rules.
        render_mode: None, ``"human"`` (a window; the board is printed where there is no drawer, pygame or display),
            ``"ansi"`` or, where the game has a drawer, ``"rgb_array"``.
        text: observations and actions are strings.
        illegal, illegal_reward, max_cycles: as in ``VecEnv``.
        draw: ``"module:function"`` of the drawer.
    """

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
        info = game.info
        if render_mode is not None and render_mode not in render_modes(draw):
            raise UnknownName("render_mode", str(render_mode), render_modes(draw))
        self.game, self.text, self.draw, self.render_mode = game, bool(text), draw, render_mode
        self.words, self.simultaneous = False, info.simultaneous
        self.limits = illegal_limits(game, illegal, illegal_reward, max_cycles, 0)
        self.players, self.num_actions = info.players, info.num_actions
        self.state = game.new_state(1)
        self.seed: int | None = None
        self.episode = 0
        self.cycles = 0
        self.status: Status = RUNNING
        self.mover: Player = 0
        self.rewards: list[float] = [0.0] * info.players
        self.faults = [0] * info.players
        self._buffers()
        self.ticks = Ticks(game, self.state, self.limits) if info.simultaneous else None
        self.state_space = state_space(game)
        self.plain = game.tell is None  # infos hold a mask and a count, and nothing else

    def observation_space(self) -> gymnasium.Space[Any]:
        """A new space of one player's observations."""
        return text_spaces()[0] if self.text else observation_space(self.game)

    def action_space(self) -> gymnasium.Space[Any]:
        """A new space of one player's actions."""
        return text_spaces()[1] if self.text else action_space(self.game)

    def _buffers(self) -> None:
        info = self.game.info
        self._turn, self._start = drivers(self.game).turn, drivers(self.game).start
        self.nothing_legal = np.zeros(info.num_actions, np.int8)
        self._acts = np.zeros(info.players, np.int32)
        self._rewards = np.zeros(info.players, np.float32)
        self._mask = np.zeros(info.num_actions, np.int8)
        self._observation = np.zeros(info.observation_shape, info.observation_dtype)

    # -- beginning -----------------------------------------------------------------------------------------------------

    def begin(self, seed: int | None, options: dict[str, Any] | None) -> Snapshot | None:
        """Start a game; returns the snapshot that an option gave, if one did.

        Raises:
            CoterieError: an option cannot be read; the table stands as it stood.
        """
        options = read_options(options)
        before = copy.deepcopy(self) if options else self
        try:
            return self._begin(seed, options)
        except Exception:
            self.__dict__.update(before.__dict__)
            raise

    def _begin(self, seed: int | None, options: dict[str, Any]) -> Snapshot | None:
        if seed is not None:
            self.seed, self.episode = _as_seed(seed), 0
        elif self.seed is None:
            self.seed, self.episode = int(np.random.SeedSequence().generate_state(1, np.uint64)[0] >> 1), 0
        else:
            self.episode += 1
        if self.ticks is not None:
            self.ticks.begin(self.seed, self.episode)
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

    def _look(self) -> None:
        """Refresh the mover and what it sees."""
        self.mover = self.game.mover(self.state, 0)
        self.game.kernels.observe(self.state, 0, self.mover, self._observation)
        self._mask[:] = 0
        if self.status == RUNNING:
            self.game.kernels.legal(self.state, 0, self.mover, self._mask)

    # -- playing -------------------------------------------------------------------------------------------------------

    def turn(self, action: Action) -> None:
        """The mover's turn, in a turn-based game."""
        if not (0 <= action < self.num_actions and self._mask[action]):
            self._illegal_turn(action)
            return
        code = self._turn(self.state, action, self._acts, self._rewards, self._observation, self._mask)
        self.rewards = self._rewards.tolist()
        self.mover = code >> 2
        self._count(code & 3)

    def _illegal_turn(self, action: Action) -> None:
        player, policy = self.mover, self.limits.illegal
        if policy == RAISE:
            raise IllegalAction(self._complaint(action, player, self._mask))
        self.faults[player] += 1
        penalty = np.float32(self.limits.illegal_reward)
        if policy == RESAMPLE:
            action = pick_plain(self._mask, self._word(self.cycles))
            code = self._turn(self.state, action, self._acts, self._rewards, self._observation, self._mask)
            self._rewards[player] += penalty
            self.mover = code >> 2
            status = code & 3
        else:
            self._rewards[:] = 0
            self._rewards[player] = penalty
            status = TERMINATED if policy == LOSE else RUNNING
        self.rewards = self._rewards.tolist()
        self._count(status)

    def tick(self, actions: Sequence[Action] | NDArray[Any]) -> None:
        """Everybody's action, in a simultaneous game. What a seat without a legal action answers is ignored."""
        ticks = self.ticks
        assert ticks is not None
        if self.limits.illegal == RAISE:
            for p in ticks.wrong(actions):
                raise IllegalAction(self._complaint(actions[p], p, ticks.mask[p]))
        ticks.tick(actions)
        self.rewards, self.faults, self.status = ticks.rewards, ticks.faults, ticks.status
        self.cycles += 1

    def refuse_illegal(self, player: Player, action: Action) -> None:
        """The policy ``raise``, of one answer to a tick that is not complete.

        Raises:
            IllegalAction: the seat has a choice, and this is none of it.
        """
        ticks = self.ticks
        if ticks is None or self.limits.illegal != RAISE:
            return
        mask = ticks.mask[player]
        if mask.any() and not (0 <= action < self.num_actions and mask[action]):
            raise IllegalAction(self._complaint(action, player, mask))

    def _count(self, status: Status) -> None:
        self.cycles += 1
        if status == RUNNING and self.cycles >= self.limits.max_cycles:
            status = TRUNCATED
        self.status = status
        if status != RUNNING:
            self._mask[:] = 0

    def _word(self, counter: int) -> Word:
        return np.uint64(word(~np.uint64(episode_seed(np.uint64(self.seed or 0), self.episode)), counter))

    def _complaint(self, action: Action, player: Player, mask: Mask) -> str:
        return f"Action {action} of player_{player} is not legal in:\n{self.describe(player)}\nLegal: {few(mask)}."

    def check(self, action: Any) -> Action:
        """An action number from what a user gave.

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
                    f"{action!r} ({type(action).__name__}) is no action of {self.game.info.id}; a whole number "
                    f"0..{self.num_actions - 1} is needed."
                ) from None
        if not 0 <= action < self.num_actions:
            raise InvalidAction(f"Action {action} is outside 0..{self.num_actions - 1} of {self.game.info.id}.")
        return int(action)

    def trust(self, action: Any) -> Action:
        """An action number from what came to ``raw_env()``, which checks nothing."""
        number: Action = action
        return number

    def numbers(self, given: Sequence[Any]) -> NDArray[Any] | None:
        """Plain actions, checked all at once; None where one of them needs a closer look, or an error of its own."""
        if self.text or not _NUMBERS.issuperset(map(type, given)):
            return None
        try:
            plain = np.array(given, np.int64)
        except OverflowError:
            return None
        return plain if first_outside(plain, 0, self.num_actions) < 0 else None

    def read(self, answer: Any) -> Action:
        """An action number from a text; what cannot be read is NO_ANSWER, unless the policy is to raise."""
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
        """[A] int8, a new array; zeros for who is not to move."""
        if self.ticks is not None:
            mask: Mask = self.ticks.mask[player].copy()
            return mask
        return self._mask.copy() if player == self.mover else self.nothing_legal.copy()

    def observation(self, player: Player) -> NDArray[Any]:
        """[observation_shape], a new array."""
        if self.ticks is not None:
            seen: NDArray[Any] = self.ticks.observation[player].copy()
            return seen
        if player == self.mover:
            return self._observation.copy()
        out = np.empty_like(self._observation)
        self.game.kernels.observe(self.state, 0, player, out)
        return out

    def everything(
        self, seats: list[Player] | None, shown: list[Any] | None = None
    ) -> tuple[list[Any], list[dict[str, Any]]]:
        """What the players in ``seats`` (None: all of them) see, and their infos; views of arrays of their own.

        ``shown`` are masks to show in simultaneous games, instead of those of action numbers.
        """
        players, told = range(self.players) if seats is None else seats, self.told()
        if self.ticks is None:
            return [self.seen(p, True) for p in players], [self.info(p, True, told[p]) for p in players]
        boards: Any = self.ticks.observation
        masks: Any = self.ticks.mask if shown is None else shown
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
        """A player's observation in new arrays, or a text. The mask is zeros for who isn't asked."""
        if self.text:
            return self.describe(player)
        mask = self.mask(player) if asked else self.nothing_legal.copy()
        return {"observation": self.observation(player), "action_mask": mask}

    def info(self, player: Player, asked: bool, told: dict[str, Any]) -> dict[str, Any]:
        """A player's info: its mask, its illegal actions of this game, and what the game told."""
        mask = self.mask(player) if asked else self.nothing_legal.copy()
        return {"action_mask": mask, "illegal": self.faults[player]} | told

    def told(self) -> list[dict[str, Any]]:
        """What the game adds to each player's info, in new dictionaries."""
        return self.game.tell(self.state, 0) if self.game.tell is not None else [{} for _ in range(self.players)]

    def whole(self) -> dict[str, NDArray[Any]]:
        """The world as ``state()`` returns it, in new arrays.

        Raises:
            UsageError: the game has no such view.
        """
        if self.game.whole is None:
            raise UsageError(no_whole(self.game))
        return self.game.whole.read(self.state, 0)

    def describe(self, player: Player) -> str:
        """The position in words."""
        return self.game.describe(self.state, 0, player)

    def board(self) -> str:
        """What the text renderings show: the position as the mover (or the first seat) is told it."""
        return self.describe(max(0, self.mover))

    def render(self) -> NDArray[np.uint8] | str | None:
        """As ``render_mode`` says."""
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

    def snapshot(self, rewards: list[float], pending: list[float], gone: list[bool], waiting: list[int]) -> Snapshot:
        """[1] this game in full."""
        return Snapshot(
            take(self.state),
            np.array([self.seed or 0], np.uint64),
            np.array([self.episode], np.uint32),
            np.array([self.cycles], np.int32),
            np.array([self.status], np.uint8),
            np.array([rewards], np.float32),
            np.array([pending], np.float32),
            np.array([self.faults], np.int32),
            np.array([gone], np.bool_),
            np.array([waiting], np.int32),
        )

    def place(self, state: Any, with_seed: bool) -> Snapshot:
        """Take over a Snapshot, bare game rows or bytes; returns it as a Snapshot."""
        given, seeded = received(self.game, self.state, state)
        if size(given) != 1:
            raise StateError(f"{size(given)} games came for the one at this table. Take one row.")
        put(self.state, given.state)
        if with_seed and seeded:
            self.seed, self.episode = int(given.seed[0]), int(given.episode[0])
        self.cycles, self.status = int(given.cycles[0]), int(given.status[0])
        self.rewards = given.rewards[0].tolist()
        self.faults = given.illegal[0].tolist()
        if self.ticks is not None:
            self.ticks.placed(
                self.seed or 0,
                self.episode,
                self.cycles,
                self.status,
                given.rewards[0],
                given.illegal[0],
                given.gone[0],
            )
        else:
            self._look()
        return given

    def any_ended(self) -> bool:
        """Somebody's game ended in the last step."""
        return self.status != RUNNING if self.ticks is None else self.ticks.any_ended

    def flags(self) -> tuple[list[bool], list[bool]]:
        """Terminations and truncations of all seats, as of the last step."""
        if self.ticks is not None:
            return self.ticks.terminated, self.ticks.truncated
        return [self.status == TERMINATED] * self.players, [self.status == TRUNCATED] * self.players

    def __getstate__(self) -> dict[str, Any]:
        from ..registry import make_game

        info = self.game.info
        make_game(info.id, **self.game.config)  # a game that isn't registered fails here, not when it is read back
        left_out = ("game", "_turn", "_start")
        kept = {name: value for name, value in self.__dict__.items() if name not in left_out}
        return kept | {"made_from": (info.id, self.game.config)}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        from ..registry import make_game

        id, config = kept.pop("made_from")
        self.__dict__.update(kept)
        self.game = make_game(id, **config)
        self._turn, self._start = drivers(self.game).turn, drivers(self.game).start
        if self.ticks is not None:
            self.ticks.join(self.game, self.state)

    def __deepcopy__(self, memo: dict[int, Any]) -> Table:
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.state = take(self.state)
        other.rewards, other.faults = list(self.rewards), list(self.faults)
        for name in ("_acts", "_rewards", "_mask", "_observation"):
            setattr(other, name, getattr(self, name).copy())
        if self.ticks is not None:
            other.ticks = self.ticks.twin(other.state)
        return other


def no_whole(game: Game) -> str:
    """Why there is no ``state()`` of a game."""
    return f"{game.info.id} has no view of its whole state: state() and state_space are of games that define one."


def _as_seed(seed: Any) -> int:
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
        raise UsageError(f"seed must be a whole number, not {seed!r}.")
    return int(seed) & (2**64 - 1)
