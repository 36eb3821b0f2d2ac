"""What a game is: a frozen record of facts, kernels on flat arrays, and a text face.

A game file defines kernels (``@njit`` functions on ``(state, i, ...)``), a few text functions and one factory that
returns a ``Game``; ``register("name-v0", "package.module:factory")`` makes it reachable through every face. The faces
(AEC, parallel, batched, Gymnasium vector, text) are written once, in this package, and know no game.

Letters: N games side by side, i a row among them, P players, A actions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..aliases import Action, Player, State

__all__ = ["Curriculum", "Game", "GameInfo", "GameRecord", "GlobalState", "Kernels"]


@dataclass(frozen=True)
class GameInfo:
    """Facts about a game that never change while it is played.

    Attributes:
        name: without version, e.g. ``"tictactoe"``.
        version: rises when observation, action numbering or reward changes, never for speed.
        players: P.
        num_actions: A; action numbers are 0..A-1.
        observation_shape: of one player's observation, without any leading axis.
        observation_dtype: NumPy name, e.g. ``"int8"``.
        observation_low, observation_high: bounds of the Box.
        max_cycles: turns (turn-based) or ticks (simultaneous) after which the game surely has ended.
        simultaneous: all players act in each tick; otherwise one mover a turn.
        hidden: players see different things (cards); a search that reads the whole state would cheat.
        noop: simultaneous games whose ``step`` takes any action number and lets what is not legal fail: the action that
            does nothing. Their default policy for illegal actions is ``noop``: only who erred loses its turn.
    """

    name: str
    version: int
    players: int
    num_actions: int
    observation_shape: tuple[int, ...]
    observation_dtype: str
    observation_low: float
    observation_high: float
    max_cycles: int
    simultaneous: bool = False
    hidden: bool = False
    noop: Action | None = None

    @property
    def id(self) -> str:
        """``"tictactoe-v0"``."""
        return f"{self.name}-v{self.version}"

    @property
    def agents(self) -> list[str]:
        """PettingZoo's names of the seats: ``["player_0", ...]``."""
        return [f"player_{p}" for p in range(self.players)]

    @property
    def is_world(self) -> bool:
        """Whether it is a world: all act at once, and whatever they try that is not legal fails (``noop``)."""
        return self.simultaneous and self.noop is not None


class Kernels(NamedTuple):
    """The verbs: ``@njit`` functions, nothing allocated, no Python random numbers.

    Attributes:
        reset: ``(state, i, seed: uint64) -> None`` writes row i; all randomness of the game follows from the seed.
        mover: ``(state, i) -> int`` the seat to move (turn-based; simultaneous games return -1).
        legal: ``(state, i, player, mask [A] int8) -> None`` writes the whole mask; zeros for who is not to move.
        step: ``(state, i, actions [P] int32, rewards [P] float32) -> Status``; a turn-based game reads
            ``actions[mover]``. The caller guarantees a legal action (any number 0..A-1 where ``GameInfo.noop`` says so)
            and a running game; what a seat without a legal action plays means nothing. Rewards arrive zeroed and hold
            this transition's.
        observe: ``(state, i, player, out [observation_shape]) -> None`` writes the whole of ``out``.
        key: ``(state, i) -> uint64`` a hash of all that the future depends on (seed and history that no rule reads are
            left out): equal keys mean the same position with the same player to move.
        draw: optional, turn-based games only: ``(state, i, word: uint64) -> int`` one of the mover's legal actions,
            uniformly, from one random word, without writing a mask. Worth having where masks are wide (chess).
        alive: optional, simultaneous games only: ``(state, i, player) -> bool``. A player that it denies after a step
            has died in it: its termination comes in that step, and it is asked no more. None: all live to the end.
    """

    reset: Callable[..., None]
    mover: Callable[..., int]
    legal: Callable[..., None]
    step: Callable[..., int]
    observe: Callable[..., None]
    key: Callable[..., int]
    draw: Callable[..., int] | None = None
    alive: Callable[..., bool] | None = None


@dataclass(frozen=True)
class GlobalState:
    """What ``state()`` of the PettingZoo faces returns: the whole world at once, for centralised critics and viewers.

    Attributes:
        low, high: bounds of each array by name, as Gymnasium's Box takes them.
        shape, dtype: of each array by name.
        read: ``(state, i) -> {name: array}``, new arrays.
    """

    shape: Mapping[str, tuple[int, ...]]
    dtype: Mapping[str, str]
    low: Mapping[str, float]
    high: Mapping[str, float]
    read: Callable[[State, int], dict[str, NDArray[Any]]]


@dataclass(frozen=True)
class GameRecord:
    """One played game, as the writers of ``Game.formats`` get it.

    Attributes:
        start: one bare row, before the first action.
        actions: one list a turn (tick) of P action numbers; in turn-based games only the mover's counts. Games of
            words: of P messages, None of who was not asked.
        players: who sat in seats 0..P-1, by name.
        returns: [P] what each was paid in all.
        status: RUNNING where the game was left, else TERMINATED or TRUNCATED.
        illegal: the seat whose illegal answer ended the game, or None.
        comments: turn number -> what was said there (thoughts, a free answer), for formats that keep comments.
        keys: where they were noted while it was played: ``Game.key`` of the start and of what every turn led to,
            ``len(actions) + 1`` numbers. ``record.replay`` then sees that every turn leads there again. Only their
            lowest 16 bits count, of the last one all.
    """

    start: State
    actions: list[list[Any]]
    players: tuple[str, ...]
    returns: tuple[float, ...]
    status: int
    illegal: int | None = None
    comments: Mapping[int, str] = field(default_factory=dict)
    keys: tuple[int, ...] = ()


@dataclass(frozen=True)
class Curriculum:
    """Positions to start from instead of the beginning of the game.

    Attributes:
        option: the reset option that reads one of them.
        train, test: text files, one position a line; those of ``test`` are for measuring alone. ``#`` begins a comment.
        max_plies: a game that isn't over after so many plies counts as it stands (0: play to the end).
    """

    option: str
    train: Path
    test: Path
    max_plies: int = 0


@dataclass(frozen=True)
class Game:
    """Rules and text face of one game, configured.

    Attributes:
        info: the facts.
        kernels: the verbs.
        new_state: ``n -> State`` allocates n rows; configuration that the kernels read is written into them.
        rules: what a person is told before the game, one short paragraph.
        describe: ``(state, i, player) -> str`` the position and the legal actions, as a person would be told them.
        compact: ``(state, i, player) -> str`` the same facts in as few characters as are unambiguous; for small models.
        action_to_text: ``(state, i, action) -> str`` how that action is written in this position.
        parse_action: ``(state, i, text) -> int``; raises InvalidAction, IllegalAction or AmbiguousAction.
        config: keyword arguments the factory was called with, as plain data.
        options: what ``reset(options=...)`` understands beside ``"state"``: name -> ``(state, i, value) -> None``,
            which writes row i (already reset) from what the user gave, e.g. ``{"fen": ...}``; raises UsageError.
        formats: files a game can be saved in: suffix (``".pgn"``) -> writer of one game's text.
        curricula: sets of start positions by name.
        deals: games of chance whose outcomes can be listed: ``() -> [(value, probability), ...]``, every outcome that a
            seed may bring, as a value of the reset option ``"deal"``. Exact analysis of hidden information needs it.
        verbs: where actions are (verb, argument) pairs: each verb in order, with its name and the action numbers of
            its arguments. The faces' action space is then ``MultiDiscrete([verbs, most arguments])``.
        whole: what ``state()`` returns, or None.
        tell: ``(state, i) -> [P dicts]``, new ones of plain data: what the PettingZoo faces add to each player's info.
            Called once a tick, for all players at a time, since small things add up there.
    """

    info: GameInfo
    kernels: Kernels
    new_state: Callable[[int], State]
    rules: str
    describe: Callable[[State, int, Player], str]
    compact: Callable[[State, int, Player], str]
    action_to_text: Callable[[State, int, Action], str]
    parse_action: Callable[[State, int, str], Action]
    config: dict[str, Any]
    options: Mapping[str, Callable[[State, int, Any], None]] = field(default_factory=dict)
    formats: Mapping[str, Callable[[GameRecord], str]] = field(default_factory=dict)
    curricula: Mapping[str, Curriculum] = field(default_factory=dict)
    deals: Callable[[], list[tuple[Any, float]]] | None = None
    verbs: tuple[tuple[str, tuple[Action, ...]], ...] = ()
    whole: GlobalState | None = None
    tell: Callable[[State, int], list[dict[str, Any]]] | None = None

    def mover(self, state: State, i: int) -> Player:
        """The seat to move in row i (turn-based games)."""
        return int(self.kernels.mover(state, i))

    def legal_mask(self, state: State, i: int, player: Player) -> NDArray[np.int8]:
        """[A] int8, 1 = legal for that player in row i."""
        mask = np.zeros(self.info.num_actions, np.int8)
        self.kernels.legal(state, i, player, mask)
        return mask

    def legal_actions(self, state: State, i: int, player: Player) -> list[Action]:
        """The same as a list of action numbers, ascending."""
        return [int(a) for a in np.flatnonzero(self.legal_mask(state, i, player))]

    def key(self, state: State, i: int) -> int:
        """A 64-bit hash of the position in row i, the player to move included."""
        return int(self.kernels.key(state, i))
