"""One game between agents, turn by turn, to be watched; ``training.evaluation.match`` plays matches of many games.

A ``Match`` is a game in progress with its history: it supports undo, recording, leaving and resuming. It steps the game
with the ``Table`` of the AEC face and asks no agent itself: ``follow`` and ``watch`` let agents play it, and the window
lets people play.

Worlds (games whose rules allow any action to be tried) last thousands of ticks. Their matches keep the actions and a
hash of every state instead of the states, and an invalid answer does not end them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...aliases import RUNNING, TERMINATED, Action, Player, State, Status
from ...envs.core import Game, GameRecord, Times
from ...envs.faces import render
from ...envs.faces.table import NO_ANSWER
from ...envs.replay.file import replay
from ...envs.replay.packing import is_packed
from ...envs.state import take
from ...envs.words import TextGame
from ...envs.words.table import table_of
from ...errors import ActionError, UsageError
from ..core import Agent, Decision, Turn, ask
from ..deadline import OutOfTime
from ..seeds import Seed, stream
from .clock import Clock

if TYPE_CHECKING:
    from ...renderers.board import Frame

__all__ = [
    "Ended",
    "Match",
    "Moment",
    "TakeBack",
    "answers",
    "can_resign",
    "can_undo",
    "follow",
    "picture",
    "tell",
    "watch",
    "winner",
]


class TakeBack(Exception):
    """Raised by an agent's ``act`` to take back its last move instead of moving; ``follow`` handles it."""


class Ended(Exception):
    """Raised by an agent's ``act`` to end the game instead of moving; ``follow`` handles it.

    Args:
        agreed: as a draw that both want; otherwise the agent resigns.
    """

    def __init__(self, agreed: bool) -> None:
        super().__init__()
        self.agreed = agreed


@dataclass(frozen=True)
class Moment:
    """What has just happened in a match.

    Attributes:
        state: one game, after the actions; the next moment overwrites its arrays.
        decisions: seat -> its decision; empty before the first move and after an undo.
        actions: seat -> its action in the game's notation, or ``""`` where the decision was not a legal action.
        rewards: [P] float32, for this turn.
        status: RUNNING, TERMINATED or TRUNCATED.
    """

    state: State
    decisions: dict[int, Decision]
    actions: dict[int, str]
    rewards: NDArray[np.float32]
    status: Status


@dataclass(frozen=True)
class Ply:
    """One turn (tick) of a match.

    Attributes:
        before: one game, the state before the turn; None in worlds.
        seats: the seats that acted.
        actions: [P] the actions (games of words: messages), or None where an answer was illegal.
        rewards: [P] float32.
        comment: the agents' texts beyond their actions, see ``_comment``.
        left: [P] the seconds left after it, on a clock.
    """

    before: State | None
    seats: tuple[Player, ...]
    actions: list[Any] | None
    rewards: NDArray[np.float32]
    comment: str
    left: tuple[float, ...] = ()


class Match:
    """A game in progress.

    Args:
        game: the game.
        names: the names of the players in seats 0..P-1.
        seed: for the game and for the agents' choices.
        penalty: reward of a seat whose answer is not a legal action; this ends the game and the others get 0. In worlds
            such a seat does nothing in that tick, without penalty.
        record: a saved game to continue.
        start: without ``record``, the start position, as options of ``reset``.
        clock: the players' times; those of a record on a clock continue.

    Attributes:
        world: whether the game is a world.
        table: where the game is played.
        illegal: the first seat whose illegal answer ended the game, or None.
        ended: how the game ended by ``resign``, ``agree`` or ``flag``; ``""``: it did not.
        flagged: the seat that lost on time, or None.
        plies: the turns so far.
        returns: [P] float64, the sum of rewards so far.

    Raises:
        UsageError: the number of names is not the number of players.
    """

    def __init__(
        self,
        game: Game,
        names: Sequence[str],
        seed: int,
        penalty: float = -1.0,
        record: GameRecord | None = None,
        start: Mapping[str, Any] | None = None,
        clock: Clock | None = None,
    ) -> None:
        info = game.info
        if len(names) != info.players:
            came = ", ".join(names) or "none"
            raise UsageError(
                f"{info.name} has {info.players} players, but got {len(names)}: {came}. Name one for each."
            )
        self.game, self.names, self.world = game, tuple(names), is_packed(game)
        self.seed = seed % 2**64
        policy: Any = {} if self.world else {"illegal": "lose", "illegal_reward": penalty}
        self.table = table_of(game, **policy)
        self.illegal: Player | None = None
        self.flagged: Player | None = None
        self.ended, self.clock = "", clock
        self.plies: list[Ply] = []
        self.returns = np.zeros(info.players)
        self._keys: list[int] = []  # in worlds: a hash of every state so far
        self.table.begin(self.seed, dict(start or {}))
        states = replay(game, record) if record is not None else iter(())
        for state, _, status in itertools.islice(states, 1):
            self._go(state, status)
        self.start = take(self.state)
        self._note_key()
        if record is None:
            return
        for turn, (state, rewards, status) in enumerate(states):  # without an illegal answer that ended the record
            before, seats = self._kept(), tuple(self.seats())
            self._go(state, status)
            if clock and record.clock and turn < len(record.clock.left):
                clock.left[seats[0]] = record.clock.left[turn]
            self._add(Ply(before, seats, record.actions[turn], rewards, record.comments.get(turn, "")))

    @property
    def state(self) -> State:
        """One game, changed by ``play`` and ``undo``."""
        return self.table.state

    @property
    def status(self) -> Status:
        """RUNNING, TERMINATED or TRUNCATED."""
        return self.table.status

    def _go(self, state: State, status: Status) -> None:
        """Continue from a position; one without legal actions is over, whatever ``status`` says."""
        self.table.place(state, with_seed=False)
        self.table.status = status or self.table.status

    def _all(self) -> range:
        return range(self.game.info.players)

    def _kept(self) -> State | None:
        """A copy of the state for a ply to keep; None in worlds."""
        return None if self.world else take(self.state)

    def _add(self, ply: Ply) -> None:
        """Add the ply that led to the current state."""
        self.plies.append(replace(ply, left=tuple(self.clock.left)) if self.clock else ply)
        self.returns += ply.rewards
        self._note_key()

    def _note_key(self) -> None:
        if self.world:
            self._keys.append(self.game.key(self.state, 0))

    def positions(self) -> Iterator[State]:
        """One game each: the start, then the state after each ply. Worlds are replayed for this."""
        if self.world:
            yield from (state for state, _, _ in replay(self.game, self.record()))
            return
        for ply in self.plies:
            assert ply.before is not None
            yield ply.before
        yield self.state

    def seats(self) -> list[Player]:
        """The seats to act now; empty once the game is over."""
        if self.status != RUNNING:
            return []
        if not self.game.info.simultaneous:
            return [self.table.mover]
        if self.world:
            return [p for p in self._all() if self.table.alive[p]]
        return [p for p in self._all() if self.game.legal_mask(self.state, 0, p).any()]

    def turn(self, seat: Player) -> Turn:
        """The turn of a seat, on a copy of the state, so that its agent can run in another thread."""
        return self.turns([seat])[seat]

    def turns(self, seats: Sequence[Player]) -> dict[Player, Turn]:
        """The turns of these seats, on one shared copy of the state."""
        game, state = self.game, take(self.state)
        key, counter = game.key(state, 0), len(self.plies) * game.info.players
        return {
            p: Turn(game, state, 0, p, game.legal_mask(state, 0, p), key, Seed(stream(self.seed), counter + p))
            for p in seats
        }

    def play(self, decisions: Mapping[Player, Decision]) -> Moment:
        """Play one turn, given the decisions of all seats to act."""
        read = {p: self._action(p, decision) for p, decision in decisions.items()}
        wrong = [p for p, (action, _) in read.items() if action is None and not self.world]
        actions: list[Any] = [None if self.table.words else 0] * self.game.info.players
        for p, (action, _) in read.items():
            if action is not None or p in wrong:
                actions[p] = NO_ANSWER if p in wrong else action
        before = self._kept()
        if self.game.info.simultaneous:
            self.table.tick(actions)
        else:
            self.table.turn(actions[self.table.mover])
        rewards = np.array(self.table.rewards, np.float32)
        if self.clock:
            self.clock.gain(next(iter(decisions)))
        self.illegal = wrong[0] if wrong else None
        self._add(Ply(before, tuple(decisions), None if wrong else actions, rewards, _comment(decisions)))
        return Moment(self.state, dict(decisions), {p: text for p, (_, text) in read.items()}, rewards, self.status)

    def _action(self, seat: Player, decision: Decision) -> tuple[Action | str | None, str]:
        """A decision's action (games of words: message) or None, and its notation. Worlds let any action be tried."""
        game, action = self.game, decision.action
        if action is None or not 0 <= action < game.info.num_actions:
            return None, ""
        if isinstance(game, TextGame):
            try:
                return (message := game.read(self.state, 0, seat, decision.text)), message
            except ActionError:
                return None, ""
        if not self.world and not game.legal_mask(self.state, 0, seat)[action]:
            return None, ""
        return action, game.action_to_text(self.state, 0, action)

    def undo(self, seats: Sequence[Player]) -> bool:
        """Take back the last turn in which one of these seats acted, and all turns after it.

        The position, the clock and the seeds of the agents' choices are then as they were before that turn.

        Returns:
            False where there is nothing to take back, or the game allows no undo.
        """
        last = next((k for k in reversed(range(len(self.plies))) if set(self.plies[k].seats) & set(seats)), None)
        if last is None or not can_undo(self.game):
            return False
        self._back(last)
        return True

    def _back(self, turn: int) -> None:
        """Go back to the position before a turn."""
        self._go(self.plies[turn].before, RUNNING)
        self.illegal, self.flagged, self.ended = None, None, ""
        if self.clock:
            self.clock.back_to(self.plies[turn - 1].left if turn else ())
        del self.plies[turn:]
        self.returns = np.zeros(self.game.info.players) + sum(earlier.rewards for earlier in self.plies)

    def resign(self, seat: Player) -> None:
        """End a running game of two players as lost for this seat: it gets -1, the other 1.

        Raises:
            UsageError: the game is over, or is none that can be given up.
        """
        self._need_ending()
        self._end(f"player_{seat} ({self.names[seat]}) resigns", [-1.0 if p == seat else 1.0 for p in self._all()])

    def agree(self) -> None:
        """End a running game of two players as a draw, with 0 for both; raises as ``resign``."""
        self._need_ending()
        self._end("Draw agreed", [0.0] * self.game.info.players)

    def flag(self, seat: Player) -> None:
        """End a running game as lost on time for this seat, which is paid as who resigns, or else as who forfeits."""
        lost, others = (-1.0, 1.0) if can_resign(self.game) else self.game.info.forfeit
        self._end(
            f"player_{seat} ({self.names[seat]}) ran out of time", [lost if p == seat else others for p in self._all()]
        )
        self.flagged = seat

    def _need_ending(self) -> None:
        """Check that players may end this game now."""
        if not can_resign(self.game) or self.status != RUNNING:
            why = "is over" if self.status != RUNNING else "cannot be resigned or agreed to be drawn"
            raise UsageError(f"This game of {self.game.info.name} {why}.")

    def _end(self, how: str, returns: Sequence[float]) -> None:
        self.ended, self.table.status = how, TERMINATED
        self.returns = np.array(returns)

    def record(self) -> GameRecord:
        """The game so far."""
        return GameRecord(
            take(self.start),
            [ply.actions for ply in self.plies if ply.actions is not None],
            self.names,
            tuple(self.returns.tolist()),
            self.status,
            self.illegal,
            {turn: ply.comment for turn, ply in enumerate(self.plies) if ply.comment},
            tuple(self._keys),
            clock=self._times(self.clock) if self.clock else None,
        )

    def _times(self, clock: Clock) -> Times:
        """The times so far; to the millisecond, as no clock is more exact."""
        left = tuple(round(ply.left[ply.seats[0]], 3) for ply in self.plies if ply.actions is not None)
        return replace(clock.times, left=left, flagged=self.flagged)


def can_undo(game: Game) -> bool:
    """Whether moves may be taken back: not in games where they reveal something (hidden or simultaneous games)."""
    return not (game.info.hidden or game.info.simultaneous)


def can_resign(game: Game) -> bool:
    """Whether players may resign and agree to a draw: in board games of two players, who win, lose or draw."""
    return can_undo(game) and game.info.players == 2 and not isinstance(game, TextGame)


def follow(match: Match, agents: Sequence[Agent]) -> Iterator[Moment]:
    """Let agents play a match to its end; yields every moment, starting with the current position.

    After an undo it yields the position again, as a moment without decisions and rewards.
    """
    nothing = np.zeros(match.game.info.players, np.float32)
    yield Moment(match.state, {}, {}, nothing, match.status)
    while seats := match.seats():
        turns = match.turns(seats)  # not on the clock: the first ones compile kernels
        try:
            with match.clock.running(seats[0]) if match.clock else nullcontext():
                decisions = answers(agents, turns)
        except OutOfTime:
            if match.clock is None:
                raise
            match.flag(seats[0])
            continue
        except TakeBack:
            match.undo(seats)
            yield Moment(match.state, {}, {}, nothing, match.status)
            continue
        except Ended as ended:
            match.agree() if ended.agreed else match.resign(seats[0])
            continue
        yield match.play(decisions)


def answers(agents: Sequence[Agent | None], turns: Mapping[Player, Turn]) -> dict[Player, Decision]:
    """The decisions for these turns; an agent that sits in several seats is asked once for all of them."""
    asked = [agent for seat in turns if (agent := agents[seat]) is not None]
    return dict(zip(turns, ask(list(turns.values()), asked), strict=True))


def watch(game: Game, agents: Sequence[Agent], seed: int) -> Iterator[Moment]:
    """Play one game and yield every moment, starting with the start position; ``agents`` sit in seats 0..P-1.

    Raises:
        UsageError: the number of agents is not the number of players.
    """
    yield from follow(Match(game, [agent.name for agent in agents], seed), agents)


def _comment(decisions: Mapping[Player, Decision]) -> str:
    """The agents' texts beyond their actions: free answers of language models, and text that is no action."""
    said = {
        p: decision.text
        for p, decision in decisions.items()
        if decision.text and (decision.action is None or (decision.tokens and decision.tokens.kind == "free"))
    }
    if len(decisions) == 1:
        return next(iter(said.values()), "")
    return "\n".join(f"player_{p}: {text}" for p, text in said.items())


def winner(total: NDArray[np.float64]) -> int | None:
    """The seat with the largest of the [P] returns, or None where several share it."""
    best = np.flatnonzero(total == total.max())
    return int(best[0]) if len(best) == 1 else None


def tell(moment: Moment, agents: Sequence[Agent], write: Callable[[str], None] = print) -> None:
    """Write one line per seat with its action."""
    for seat, action in moment.actions.items():
        words = action or f"{moment.decisions[seat].text!r}, which is no legal action"
        write(f"player_{seat} ({agents[seat].name}): {words}")


def picture(draw: str, game: Game, state: State, names: Sequence[str]) -> Frame:
    """Render row 0 of ``state`` with the names of the players in seats 0..P-1 below it, [H, W, 3] uint8.

    ``draw`` is the drawer that the game is registered with, ``"package.module:function"``.

    Raises:
        MissingExtra: pygame is not installed.
    """
    from ...renderers.board import PALETTE, captioned

    frame = render.picture(draw, game, state)
    colors = (PALETTE.first, PALETTE.second, PALETTE.accent)
    parts = []
    for seat, name in enumerate(names):
        parts += [("  against  ", PALETTE.text)] * (seat > 0) + [(name, colors[seat % 3])]
    return captioned(frame, parts)
