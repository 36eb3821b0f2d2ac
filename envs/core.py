"""What a game is: frozen facts, kernels on flat arrays, and a text face.

A game file defines kernels (``@njit`` functions on ``(state, i, ...)``), a few text functions and one factory that
returns a ``Game``; ``register("name-v0", "package.module:factory")`` makes it reachable through every face. The faces
(AEC, parallel, batched, Gymnasium vector, text) are written once, in this package, and know no game.

Letters: N games side by side, i a row among them, P players, A actions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..aliases import Action, Player, State
from ..errors import IllegalAction, UsageError
from .answers import legal_words, one_of, way_out
from .marks import reading

__all__ = ["UNNAMED", "Curriculum", "Game", "GameInfo", "GameRecord", "GlobalState", "Kernels"]

UNNAMED: Final = "unnamed"
"""A game's name until ``make_game`` fills in the registered one."""

_FILLED: Any = None
"""Default of the fields that ``Game`` fills in."""


@dataclass(frozen=True, kw_only=True)
class GameInfo:
    """Facts about a game that do not change during play.

    Attributes:
        players: P.
        num_actions: A; action numbers are 0..A-1.
        observation_shape: shape of one player's observation, without any leading axis.
        observation_dtype: NumPy name, e.g. ``"int8"``.
        observation_low, observation_high: bounds of the Box.
        max_cycles: upper bound on the turns (turn-based) or ticks (simultaneous) of a game.
        simultaneous: all players act in each tick; otherwise one player per turn.
        hidden: players see different things (cards), so a search that reads the whole state would cheat.
        secret: players do not see each other's actions.
        noop: the action that does nothing, in simultaneous games whose ``step`` takes any action number and lets
            illegal ones fail. Their default policy for illegal actions is ``noop``: only the player at fault loses its
            turn.
        forfeit: what an illegal action pays under the policy ``lose``: to its player (unless ``illegal_reward`` says
            otherwise), and to each of the others.
        name: without version, e.g. ``"tictactoe"``. ``make_game`` fills in name and version from the registered id.
            Factories that users call directly set both.
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
    secret: bool = False
    noop: Action | None = None
    forfeit: tuple[float, float] = (-1.0, 0.0)
    name: str = UNNAMED
    version: int = 0

    @property
    def id(self) -> str:
        """``"tictactoe-v0"``."""
        return f"{self.name}-v{self.version}"

    @property
    def agents(self) -> list[str]:
        """PettingZoo's names of the players: ``["player_0", ...]``."""
        return [f"player_{p}" for p in range(self.players)]

    @property
    def is_world(self) -> bool:
        """Whether it is a world: all players act at once, and illegal actions fail (``noop``)."""
        return self.simultaneous and self.noop is not None


class Kernels(NamedTuple):
    """The game's functions: ``@njit``, without allocation or Python random numbers.

    Attributes:
        reset: ``(state, i, seed: uint64) -> None`` writes row i; all randomness of the game follows from the seed.
        mover: ``(state, i) -> int`` the seat to move; -1 in simultaneous games (``stepping.defaults.everybody``).
        legal: ``(state, i, player, mask [A] int8) -> None`` writes the whole mask; all 0 for players not to move.
        step: ``(state, i, actions [P] int32, rewards [P] float32) -> Status``; a turn-based game reads
            ``actions[mover]``. The caller guarantees a legal action (any number 0..A-1 where ``GameInfo.noop`` says so)
            and a running game; the entry of a seat without a legal action has no meaning. ``rewards`` arrives zeroed;
            the kernel writes this transition's rewards.
        observe: ``(state, i, player, out [observation_shape]) -> None`` writes the whole of ``out``.
        key: ``(state, i) -> uint64`` a hash of everything the future depends on, without a seed or history that no rule
            reads: equal keys mean the same position with the same player to move. If left out (only if a state is one
            structured array), all fields of the row are hashed. Solvers then distinguish positions that differ only in
            seed or history; a game that keeps such fields in its row writes its own key.
        draw: optional, turn-based games only: ``(state, i, word: uint64) -> int`` samples one of the mover's legal
            actions uniformly from 64 random bits, without writing a mask. Worth having where masks are wide (chess).
        alive: optional, simultaneous games only: ``(state, i, player) -> bool``. A player for whom it is false after a
            step died in that step: it terminates there and does not act again. None: all live to the end.
        step_legal: optional, turn-based games only: ``(state, i, actions [P] int32, rewards [P] float32, packed uint64)
            -> Status``, ``step`` and ``legal`` in one. It does what ``step`` does and, if the game is still running,
            writes the next player's legal actions over the first ceil(A / 64) elements of ``packed``: bit ``a % 64`` of
            element ``a // 64`` is action a. Worth having where a step computes them anyway (chess: is it mate?) and
            masks are wide: batched games then write and read only the parts of a mask that change.
        sound: optional: ``(state, i) -> int`` for rows from outside, whose fields are within ``Game.ranges``: 0 if all
            kernels and texts can take row i and every row that play leads to, else k: it violates condition k of
            ``Game.conditions``, counted from 1 (at most 250). It changes nothing, and ends on any row.
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
    sound: Callable[..., int] | None = None


@dataclass(frozen=True)
class GlobalState:
    """What ``state()`` of the PettingZoo faces returns: the full state, for centralised critics and viewers.

    Attributes:
        low, high: bounds of each array by name, as for Gymnasium's Box.
        shape, dtype: of each array by name.
        read: ``(state, i) -> {name: array}``, new arrays.
    """

    shape: Mapping[str, tuple[int, ...]]
    dtype: Mapping[str, str]
    low: Mapping[str, float]
    high: Mapping[str, float]
    read: Callable[[State, int], dict[str, NDArray[Any]]]


@dataclass(frozen=True)
class Times:
    """The clock of a recorded game.

    Attributes:
        base: seconds that each player had for the whole game.
        increment: seconds that each move added.
        left: by turn, the seconds that its player had left after it; may be shorter than the game.
        flagged: the seat that lost on time, or None.
    """

    base: int
    increment: int = 0
    left: tuple[float, ...] = ()
    flagged: Player | None = None


@dataclass(frozen=True)
class GameRecord:
    """One played game, as passed to the writers of ``Game.formats``.

    Attributes:
        start: one bare row, before the first action.
        actions: per turn (tick) a list of P action numbers; in turn-based games only the mover's counts. In games of
            words a list of P messages, None for players that were not asked.
        players: the names of the players in seats 0..P-1.
        returns: [P] each player's return.
        status: RUNNING if the game was left unfinished, else TERMINATED or TRUNCATED.
        illegal: the seat whose illegal answer ended the game, or None.
        comments: turn number -> comment on that turn (thoughts, a free answer), for formats that keep comments.
        keys: if recorded during play, ``Game.key`` of the start and of the position after every turn,
            ``len(actions) + 1`` numbers. ``record.replay`` then checks that every turn leads to the same position
            again. It compares the lowest 16 bits of each key, and all 64 of the last.
        clock: the times, if it was played on a clock.
    """

    start: State
    actions: list[list[Any]]
    players: tuple[str, ...]
    returns: tuple[float, ...]
    status: int
    illegal: int | None = None
    comments: Mapping[int, str] = field(default_factory=dict)
    keys: tuple[int, ...] = ()
    clock: Times | None = None


@dataclass(frozen=True)
class Written:
    """A game in the text of another program's file, not yet played; ``Game.reads`` gives it.

    Attributes:
        arguments: of the game, such as its size.
        start: options of ``reset`` that lead to its start.
        moves: (seat, or None where the text names none; the action in words).
        players: their names.
        comments: turn number -> comment on that turn.
        returns: [P] the result that the text gives, for a game that ended before its last position; None: unknown.
    """

    arguments: Mapping[str, Any]
    start: Mapping[str, Any]
    moves: Sequence[tuple[Player | None, str]]
    players: tuple[str, ...]
    comments: Mapping[int, str] = field(default_factory=dict)
    returns: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Curriculum:
    """Positions to start from instead of the start position.

    Attributes:
        option: the reset option that takes such a position.
        train, test: text files, one position per line; ``test`` is for measurement only. ``#`` begins a comment.
        max_plies: games stop after this many plies and keep the returns they have (0: play to the end).
    """

    option: str
    train: Path
    test: Path
    max_plies: int = 0


@dataclass(frozen=True, kw_only=True)
class Game:
    r"""Rules and text face of one game, configured.

    Attributes:
        info: the facts.
        kernels: the verbs.
        new_state: ``n -> State`` allocates n rows; configuration that the kernels read is written into them.
        rules: the rules for a person, one short paragraph.
        goal: how one wins, or what one earns by, in one sentence; windows and pages show it. "": they show none.
        describe: ``(state, i, player) -> str`` the position and the legal actions, for a person. By default the compact
            line and the legal actions.
        compact: ``(state, i, player) -> str`` the same facts in as few characters as are unambiguous, for small models.
            By default the description in one line. A game needs at least one of the two.
        actions: the actions' names by number, if they are the same in every position.
        action_to_text: ``(state, i, action) -> str`` how that action is written in this position. By default its name
            among ``actions``, or its number.
        parse_action: ``(state, i, text) -> int``; raises InvalidAction, IllegalAction or AmbiguousAction. By default
            the one legal action whose text occurs in ``text`` as a separate word. The game's function gets the answer
            alone, without thoughts and marks (``<think>``, ``\\boxed{}`` and the like, see docs/answers.md).
        config: the factory's keyword arguments, as plain data. If left out, ``make_game`` fills them in. Factories that
            users call directly set it.
        options: what ``reset(options=...)`` takes besides ``"state"``: name -> ``(state, i, value) -> None``, which
            writes row i (already reset) from the user's value, e.g. ``{"fen": ...}``, or raises UsageError.
        formats: file formats for a saved game: suffix (``".pgn"``) -> writer of one game's text.
        reads: the games in a text of such a format; None: no format can be read.
        curricula: sets of start positions by name.
        deals: for games of chance whose outcomes can be listed: ``() -> [(value, probability), ...]``, every outcome
            that a seed can produce, as a value of the reset option ``"deal"``. Exact analysis of hidden information
            needs it.
        verbs: if actions are (verb, argument) pairs: each verb in order, with its name and the action numbers of its
            arguments. The faces' action space is then ``MultiDiscrete([verbs, most arguments])``.
        whole: what ``state()`` returns, or None.
        tell: ``(state, i) -> [P dicts]``, newly made, of plain data: what the PettingZoo faces add to each player's
            info. Called once per tick for all players, to save time.
        ranges: field -> (lowest, highest) that kernels and texts can take, each a number or an array in the shape of
            one row's field; ``"leaf.field"`` for structured arrays in a NamedTuple. Configuration has one value, twice.
            Rows from outside (bytes, snapshots, pickles) with other values are refused.
        conditions: what such rows must fulfil besides, as ``Kernels.sound`` numbers it: ends of the sentence "Row 3 is
            no position of hex-v0: ...".
    """

    info: GameInfo
    kernels: Kernels
    new_state: Callable[[int], State]
    rules: str
    goal: str = ""
    describe: Callable[[State, int, Player], str] = _FILLED
    compact: Callable[[State, int, Player], str] = _FILLED
    actions: tuple[str, ...] = ()
    action_to_text: Callable[[State, int, Action], str] = _FILLED
    parse_action: Callable[[State, int, str], Action] = _FILLED
    config: dict[str, Any] = field(default_factory=dict)
    options: Mapping[str, Callable[[State, int, Any], None]] = field(default_factory=dict)
    formats: Mapping[str, Callable[[GameRecord], str]] = field(default_factory=dict)
    reads: Callable[[str], Iterator[Written]] | None = None
    curricula: Mapping[str, Curriculum] = field(default_factory=dict)
    deals: Callable[[], list[tuple[Any, float]]] | None = None
    verbs: tuple[tuple[str, tuple[Action, ...]], ...] = ()
    whole: GlobalState | None = None
    tell: Callable[[State, int], list[dict[str, Any]]] | None = None
    ranges: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    conditions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Fill in the defaults.

        Raises:
            UsageError: a field without a default is missing, or the actions' names are not A different ones.
        """
        if self.kernels.key is _FILLED:
            object.__setattr__(self, "kernels", self.kernels._replace(key=_default_key(self.new_state(1))))
        for name, default in _DEFAULTS.items():
            given = getattr(self, name)
            if getattr(given, "func", None) is _read:  # of the copied game
                given = given.args[0]
            if given is _FILLED or getattr(given, "func", None) is default:  # bound to the copied game
                given = partial(default, self)
            object.__setattr__(self, name, given)
        object.__setattr__(self, "parse_action", partial(_read, self.parse_action))
        if all(getattr(getattr(self, name), "func", None) is _DEFAULTS[name] for name in ("describe", "compact")):
            raise UsageError("A game needs describe= or compact=: (state, i, player) -> the text for that player.")
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
        """The legal actions of that player in row i, ascending."""
        return [int(a) for a in np.flatnonzero(self.legal_mask(state, i, player))]

    def key(self, state: State, i: int) -> int:
        """A 64-bit hash of the position in row i and the player to move."""
        return int(self.kernels.key(state, i))


def _default_key(state: State) -> Callable[..., int]:
    if not isinstance(state, np.ndarray) or state.dtype.fields is None:
        raise UsageError(
            f"Kernels has no key, and the default one hashes rows of a structured array, not a {type(state).__name__}. "
            "Write key(state, i) -> uint64; envs/stepping/rng.py has mix64 and word."
        )
    from .stepping.defaults import row_key  # imports numba, which games of words do not need

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
    """The legal action that a text names; in simultaneous games an action that is legal for any player."""
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


def _read(parse: Callable[[State, int, str], Action], state: State, i: int, text: str) -> Action:
    """The action of the answer that a text gives, see ``marks``."""
    return reading(lambda said: parse(state, i, said), text)


_DEFAULTS: dict[str, Callable[..., Any]] = {
    "describe": _describe,
    "compact": _compact,
    "action_to_text": _action_to_text,
    "parse_action": _parse_action,
}
"""Defaults of a game's text functions; each takes the game first."""
