"""What a game is: a frozen record of facts, kernels on flat arrays, and a text face.

A game file defines kernels (``@njit`` functions on ``(state, i, ...)``), a few text functions and one factory that
returns a ``Game``; ``register("name-v0", "package.module:factory")`` makes it reachable through every face. The faces
(AEC, parallel, batched, Gymnasium vector, text) are written once, in this package, and know no game.

Letters: N games side by side, i a row among them, P players, A actions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..aliases import Action, Player, State
from ..errors import IllegalAction, UsageError
from .answers import legal_words, one_of, way_out

__all__ = ["UNNAMED", "Curriculum", "Game", "GameInfo", "GameRecord", "GlobalState", "Kernels"]

UNNAMED: Final = "unnamed"
"""What a game is called until ``make_game`` names it as it was registered."""

_FILLED: Any = None
"""The default of what ``Game`` fills in where it was left out."""


@dataclass(frozen=True, kw_only=True)
class GameInfo:
    """Facts about a game that never change while it is played.

    Attributes:
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
        name: without version, e.g. ``"tictactoe"``. ``make_game`` fills it and the version in from the registered id.
            Factories that people call directly state it.
        version: rises when observation, action numbering or reward changes, never for speed.
    """

    players: int
    num_actions: int
    observation_shape: tuple[int, ...]
    observation_dtype: str = "int8"
    observation_low: float = 0
    observation_high: float = 1
    max_cycles: int
    simultaneous: bool = False
    hidden: bool = False
    noop: Action | None = None
    name: str = UNNAMED
    version: int = 0

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
        mover: ``(state, i) -> int`` the seat to move; in simultaneous games -1: ``stepping.defaults.everybody``.
        legal: ``(state, i, player, mask [A] int8) -> None`` writes the whole mask; zeros for who is not to move.
        step: ``(state, i, actions [P] int32, rewards [P] float32) -> Status``; a turn-based game reads
            ``actions[mover]``. The caller guarantees a legal action (any number 0..A-1 where ``GameInfo.noop`` says so)
            and a running game; what a seat without a legal action plays means nothing. Rewards arrive zeroed and hold
            this transition's.
        observe: ``(state, i, player, out [observation_shape]) -> None`` writes the whole of ``out``.
        key: ``(state, i) -> uint64`` a hash of all that the future depends on (seed and history that no rule reads are
            left out): equal keys mean the same position with the same player to move. None, where a state is one
            structured array: all fields of the row are hashed. Solvers then tell positions apart that differ in the
            seed or the history alone; a game that keeps such fields in its row writes its own.
        draw: optional, turn-based games only: ``(state, i, word: uint64) -> int`` one of the mover's legal actions,
            uniformly, from one random word, without writing a mask. Worth having where masks are wide (chess).
        alive: optional, simultaneous games only: ``(state, i, player) -> bool``. A player that it denies after a step
            has died in it: its termination comes in that step, and it is asked no more. None: all live to the end.
        step_legal: optional, turn-based games only: ``(state, i, actions [P] int32, rewards [P] float32, packed uint64)
            -> Status``, ``step`` and ``legal`` in one. It does what ``step`` does and, while the game goes on, writes
            the legal actions of who moves next into the first ceil(A / 64) words of ``packed``, all of these words:
            bit ``a % 64`` of word ``a // 64`` is action a. Worth having where a step finds them out anyhow (chess: is
            it mate?) and masks are wide: batched games then write and read only the parts of a mask that change.
    """

    reset: Callable[..., None]
    mover: Callable[..., int]
    legal: Callable[..., None]
    step: Callable[..., int]
    observe: Callable[..., None]
    key: Callable[..., int] = _FILLED
    draw: Callable[..., int] | None = None
    alive: Callable[..., bool] | None = None
    step_legal: Callable[..., int] | None = None


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


@dataclass(frozen=True, kw_only=True)
class Game:
    """Rules and text face of one game, configured.

    Attributes:
        info: the facts.
        kernels: the verbs.
        new_state: ``n -> State`` allocates n rows; configuration that the kernels read is written into them.
        rules: what a person is told before the game, one short paragraph.
        describe: ``(state, i, player) -> str`` the position and the legal actions, as a person would be told them. By
            default the compact line and the legal actions.
        compact: ``(state, i, player) -> str`` the same facts in as few characters as are unambiguous; for small models.
            By default the description in one line. One of both is needed.
        actions: the actions' names by number, if they always have the same ones.
        action_to_text: ``(state, i, action) -> str`` how that action is written in this position. By default its name
            among ``actions``, or its number.
        parse_action: ``(state, i, text) -> int``; raises InvalidAction, IllegalAction or AmbiguousAction. By default
            the one legal action whose text stands in ``text`` as a word of its own.
        config: keyword arguments the factory was called with, as plain data. ``make_game`` fills them in where it is
            left out. Factories that people call directly state it.
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
    describe: Callable[[State, int, Player], str] = _FILLED
    compact: Callable[[State, int, Player], str] = _FILLED
    actions: tuple[str, ...] = ()
    action_to_text: Callable[[State, int, Action], str] = _FILLED
    parse_action: Callable[[State, int, str], Action] = _FILLED
    config: dict[str, Any] = field(default_factory=dict)
    options: Mapping[str, Callable[[State, int, Any], None]] = field(default_factory=dict)
    formats: Mapping[str, Callable[[GameRecord], str]] = field(default_factory=dict)
    curricula: Mapping[str, Curriculum] = field(default_factory=dict)
    deals: Callable[[], list[tuple[Any, float]]] | None = None
    verbs: tuple[tuple[str, tuple[Action, ...]], ...] = ()
    whole: GlobalState | None = None
    tell: Callable[[State, int], list[dict[str, Any]]] | None = None

    def __post_init__(self) -> None:
        """Fill in what was left out.

        Raises:
            UsageError: there is no default for it, or the names of the actions don't fit.
        """
        if self.kernels.key is _FILLED:
            object.__setattr__(self, "kernels", self.kernels._replace(key=_default_key(self.new_state(1))))
        for name, default in _DEFAULTS.items():
            given = getattr(self, name)
            if given is _FILLED or getattr(given, "func", None) is default:  # of the game that this one was copied from
                object.__setattr__(self, name, partial(default, self))
        if all(getattr(getattr(self, name), "func", None) is _DEFAULTS[name] for name in ("describe", "compact")):
            raise UsageError("A game needs describe= or compact=: (state, i, player) -> what that player is told.")
        names, count = {name.lower() for name in self.actions}, self.info.num_actions
        if self.actions and not len(names) == len(self.actions) == count:
            raise UsageError(f"actions={self.actions!r} came; {count} different names are needed, as num_actions says.")

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


def _default_key(state: State) -> Callable[..., int]:
    if not isinstance(state, np.ndarray) or state.dtype.fields is None:
        raise UsageError(
            f"Kernels has no key, and the default one hashes rows of a structured array, not a {type(state).__name__}. "
            "Write key(state, i) -> uint64; envs/stepping/rng.py has mix64 and word."
        )
    from .stepping.defaults import row_key  # numba: a game of words does without

    return row_key


def _describe(game: Game, state: State, i: int, player: Player) -> str:
    """The compact line and the legal actions."""
    words = [game.action_to_text(state, i, action) for action in game.legal_actions(state, i, player)]
    return f"{game.compact(state, i, player)}\n{legal_words(words)}"


def _compact(game: Game, state: State, i: int, player: Player) -> str:
    """The description in one line."""
    return " ".join(game.describe(state, i, player).split())


def _action_to_text(game: Game, state: State, i: int, action: Action) -> str:
    """The action's name, or its number."""
    return game.actions[action] if game.actions else str(action)


def _parse_action(game: Game, state: State, i: int, text: str) -> Action:
    """The legal action that a text names; in simultaneous games it may be legal for one player alone."""
    info = game.info
    seats = range(info.players) if info.simultaneous else [game.mover(state, i)]
    legal = sorted({action for player in seats for action in game.legal_actions(state, i, player)})
    out = way_out([game.action_to_text(state, i, action) for action in legal])
    numbered = not game.actions and getattr(game.action_to_text, "func", None) is _action_to_text
    every = range(info.num_actions)
    answers = info.num_actions if numbered else {game.action_to_text(state, i, action): action for action in every}
    action = one_of(text, answers, out)
    if action not in legal:
        raise IllegalAction(f"{text!r} cannot be played now. {out}")
    return action


_DEFAULTS: dict[str, Callable[..., Any]] = {
    "describe": _describe,
    "compact": _compact,
    "action_to_text": _action_to_text,
    "parse_action": _parse_action,
}
"""What ``Game`` fills in for texts that were left out; each takes the game first."""
