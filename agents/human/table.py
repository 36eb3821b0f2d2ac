"""One game between agents, turn by turn, to be watched; ``training.evaluation.match`` plays matches of many games.

A ``Match`` is a game in progress with its history: it supports undo, recording, leaving and resuming. It asks no agent
itself: ``follow`` and ``watch`` let agents play it, and the window lets people play.

Worlds (games whose rules allow any action to be tried) last thousands of ticks. Their matches keep the actions and a
hash of every state instead of the states, and an invalid answer does not end them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...aliases import RUNNING, TERMINATED, Action, Player, State, Status
from ...envs.core import Game, GameRecord
from ...envs.faces import render
from ...envs.replay.file import as_played, replay
from ...envs.replay.packing import is_packed
from ...envs.state import take
from ...envs.words import TextGame
from ...errors import ActionError, UsageError
from ..core import Agent, Decision, Turn, ask
from ..seeds import Seed, stream

if TYPE_CHECKING:
    from ...renderers.board import Frame

__all__ = ["Match", "Moment", "TakeBack", "answers", "can_undo", "follow", "picture", "tell", "watch", "winner"]


class TakeBack(Exception):
    """Raised by an agent's ``act`` to take back its last move instead of moving; ``follow`` handles it."""


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
    """

    before: State | None
    seats: tuple[Player, ...]
    actions: list[Any] | None
    rewards: NDArray[np.float32]
    comment: str


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

    Attributes:
        world: whether the game is a world.
        state: one game, changed by ``play`` and ``undo``.
        status: RUNNING, TERMINATED or TRUNCATED.
        illegal: the first seat whose illegal answer ended the game, or None.
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
    ) -> None:
        info = game.info
        if len(names) != info.players:
            came = ", ".join(names) or "none"
            raise UsageError(f"{info.name} has {info.players} players, but got {len(names)}: {came}.")
        self.game, self.names, self.penalty = game, tuple(names), penalty
        self.world = is_packed(game)
        self.seed = seed % 2**64
        self.state = game.new_state(1)
        self.status: Status = RUNNING
        self.illegal: Player | None = None
        self.plies: list[Ply] = []
        self.returns = np.zeros(info.players)
        self._keys: list[int] = []  # in worlds: a hash of every state so far
        game.kernels.reset(self.state, 0, np.uint64(self.seed))
        for name, value in (start or {}).items():
            game.options[name](self.state, 0, value)
        self.start = take(self.state)
        self._note_key()
        if record is not None:
            self._go_on(record)
        known = record is None and not start  # the usual start position has legal actions
        if (
            not known
            and self.status == RUNNING
            and not any(game.legal_mask(self.state, 0, p).any() for p in self._all())
        ):
            self.status = TERMINATED  # a start position without legal actions

    def _go_on(self, record: GameRecord) -> None:
        """Replay the record; an illegal answer that ended it is dropped, so that the game can continue."""
        self.start, self._keys = take(record.start), []
        states = replay(self.game, record)
        self.state, _, self.status = next(states)
        self._note_key()
        for turn, (state, rewards, status) in enumerate(states):
            before, seats = self._kept(), tuple(self.seats())
            self.state, self.status = state, status
            self._add(Ply(before, seats, record.actions[turn], rewards, record.comments.get(turn, "")))

    def _all(self) -> range:
        return range(self.game.info.players)

    def _kept(self) -> State | None:
        """A copy of the state for a ply to keep; None in worlds."""
        return None if self.world else take(self.state)

    def _add(self, ply: Ply) -> None:
        """Add the ply that led to the current state."""
        self.plies.append(ply)
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
            return [self.game.mover(self.state, 0)]
        alive = self.game.kernels.alive
        if self.world and alive is not None:
            return [p for p in self._all() if alive(self.state, 0, p)]
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
        game = self.game
        rewards = np.zeros(game.info.players, np.float32)
        actions: list[Any] = [None if isinstance(game, TextGame) else 0] * game.info.players
        written: dict[int, str] = {}
        wrong = []
        for p, decision in decisions.items():
            action, written[p] = self._action(p, decision)
            if action is not None:
                actions[p] = action
            elif not self.world:
                rewards[p] = self.penalty
                wrong.append(p)
        played = None if wrong else actions
        before = self._kept()
        if wrong:
            self.status, self.illegal = TERMINATED, wrong[0]
        else:
            self.status = int(game.kernels.step(self.state, 0, as_played(game, actions), rewards))
        self._add(Ply(before, tuple(decisions), played, rewards, _comment(decisions)))
        return Moment(self.state, dict(decisions), written, rewards, self.status)

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

        The position and the seeds of the agents' choices are then as they were before that turn.

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
        self.state, self.status, self.illegal = take(self.plies[turn].before), RUNNING, None
        del self.plies[turn:]
        self.returns = np.zeros(self.game.info.players) + sum(earlier.rewards for earlier in self.plies)

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
        )


def can_undo(game: Game) -> bool:
    """Whether moves may be taken back: not in games where they reveal something (hidden or simultaneous games)."""
    return not (game.info.hidden or game.info.simultaneous)


def follow(match: Match, agents: Sequence[Agent]) -> Iterator[Moment]:
    """Let agents play a match to its end; yields every moment, starting with the current position.

    After an undo it yields the position again, as a moment without decisions and rewards.
    """
    nothing = np.zeros(match.game.info.players, np.float32)
    yield Moment(match.state, {}, {}, nothing, match.status)
    while seats := match.seats():
        try:
            decisions = answers(agents, match.turns(seats))
        except TakeBack:
            match.undo(seats)
            yield Moment(match.state, {}, {}, nothing, match.status)
            continue
        yield match.play(decisions)


def answers(agents: Sequence[Agent | None], turns: Mapping[Player, Turn]) -> dict[Player, Decision]:
    """The decisions for these turns; an agent that sits in several seats is asked once for all of them."""
    asked = [agent for seat in turns if (agent := agents[seat]) is not None]
    return dict(zip(turns, ask(list(turns.values()), asked), strict=True))


def watch(game: Game, agents: Sequence[Agent], seed: int, penalty: float = -1.0) -> Iterator[Moment]:
    """Play one game and yield every moment, starting with the start position; ``agents`` sit in seats 0..P-1.

    Raises:
        UsageError: the number of agents is not the number of players.
    """
    yield from follow(Match(game, [agent.name for agent in agents], seed, penalty), agents)


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
