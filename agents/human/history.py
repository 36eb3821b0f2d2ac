"""What has happened in a board game, as a viewer may know it: the last action's cells, messages, moves."""

from __future__ import annotations

from types import ModuleType

from ...aliases import Action, Player, State
from ...envs.core import Game
from ...envs.words import TextGame
from ...envs.words.talk import TalkGame
from .table import Match, Ply

__all__ = ["History"]


class History:
    """The history of the matches of one game.

    Args:
        game: the game.
        drawer: its drawer's module, with ``cells``.

    Attributes:
        talk: the game, if messages may come with its actions.
    """

    def __init__(self, game: Game, drawer: ModuleType) -> None:
        self.talk = game if isinstance(game, TalkGame) else None
        self._game, self._drawer = game, drawer
        self._moves: list[tuple[Ply, list[tuple[Player, str]]]] = []

    def shown(self, state: State) -> tuple[Game, State]:
        """What is drawn of a state: without talk, the game itself."""
        return self.talk.drawn(state) if self.talk else (self._game, state)

    def cells(self, match: Match, viewer: Player | None) -> tuple[int, ...]:
        """The cells that the last turn touched, if the viewer may know (None: a spectator)."""
        if not match.plies or isinstance(self.shown(match.state)[0], TextGame):
            return ()
        ply = match.plies[-1]
        if ply.actions is None or (self._game.info.secret and viewer not in (None, *ply.seats)):
            return ()
        game, before, done = self._done(ply)
        return tuple(cell for a in done.values() for cell in self._drawer.cells(game, before, 0, a))

    def said(self, match: Match, viewer: Player | None) -> list[tuple[Player, str]]:
        """What the viewer heard; a spectator heard everything."""
        if not self.talk:
            return []
        if viewer is not None:
            return list(self.talk.heard(match.state[0], viewer))
        heard = []
        for ply in match.plies:
            if ply.actions is not None and ply.before is not None:
                message = self.talk.split(ply.before, 0, ply.actions[ply.seats[0]]).message
                heard += [(ply.seats[0], message)] if message else []
        return heard

    def moves(self, match: Match, viewer: Player | None) -> tuple[tuple[tuple[Player, str], ...], ...]:
        """The turns that the viewer may know, each a list of (seat, action in words)."""
        if isinstance(self.shown(match.state)[0], TextGame):
            return ()
        plies = match.plies
        same = 0
        while same < min(len(plies), len(self._moves)) and plies[same] is self._moves[same][0]:
            same += 1
        self._moves[same:] = [(ply, self._told(ply)) for ply in plies[same:]]
        secret = self._game.info.secret and viewer is not None
        known = (tuple(one for one in told if not secret or one[0] == viewer) for _, told in self._moves)
        return tuple(told for told in known if told)

    def _told(self, ply: Ply) -> list[tuple[Player, str]]:
        if ply.actions is None or ply.before is None:
            return [(p, "an illegal answer") for p in ply.seats]
        game, before, done = self._done(ply)
        return [(p, game.action_to_text(before, 0, a)) for p, a in done.items()]

    def _done(self, ply: Ply) -> tuple[Game, State, dict[Player, Action]]:
        """The game and the position that a turn is drawn in, and its actions by seat."""
        assert ply.before is not None, "worlds have a separate window"
        assert ply.actions is not None
        game, before = self.shown(ply.before)
        done = {p: ply.actions[p] for p in ply.seats}
        if self.talk:
            done = {p: self.talk.split(ply.before, 0, text).action for p, text in done.items()}
        return game, before, {p: int(a) for p, a in done.items()}
