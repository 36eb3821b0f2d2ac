"""Games of free text: the verbs of ``Game`` in Python, on plain data; what a player says is its action.

A state is a list of N games, each a dictionary of plain data (what JSON knows, with texts as keys), so that it can be
copied, stored and compared. There is one action number, 0: "say it"; what is said goes with it as a text. The kernels
of ``Game`` are Python functions here, and ``step`` takes messages where it takes numbers elsewhere.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias

import numpy as np

from ...aliases import Action, Mask, Player, Rewards, Seed, Status
from ...errors import IllegalAction, InvalidAction, UsageError
from ..core import Game, GameInfo, Kernels

__all__ = ["LONGEST", "SAY", "Plain", "TextGame", "is_sayable", "text_game"]

Plain: TypeAlias = dict[str, Any]
"""One game: plain data that is the same after a way through JSON."""

SAY: Action = 0
"""The one action number of these games."""

LONGEST = 8192
"""Characters that a player is told at most."""


@dataclass(frozen=True, kw_only=True)
class TextGame(Game):
    """Rules of one game of free text, configured; made by ``text_game``.

    Attributes:
        asked: one game -> the seats that are asked now; nobody once it is over.
        check: one game, a seat, its message -> None; raises an ActionError where the rules refuse it. None: all pass.
        sample: one game, a seat, a generator -> a message that it may say; what the random player says.
        max_length, min_length: characters of a message.
        charset: the characters that a message may hold; None: every character but control characters, line breaks
            allowed.
    """

    asked: Callable[[Plain], Sequence[Player]]
    check: Callable[[Plain, Player, str], None] | None
    sample: Callable[[Plain, Player, np.random.Generator], str]
    max_length: int
    min_length: int = 1
    charset: str | None = None

    def read(self, state: list[Plain], i: int, player: Player, message: Any) -> str:
        """The message, if that player may say it in row i.

        Raises:
            InvalidAction: no text, too short, too long, or with a character that messages may not hold.
            IllegalAction: the player is not asked now; or whatever the rules raise.
        """
        if not isinstance(message, str):
            raise InvalidAction(f"{message!r} ({type(message).__name__}) came; in {self.info.id} an action is a text.")
        shown = repr(message if len(message) <= 60 else message[:60] + "...")
        if not self.min_length <= len(message) <= self.max_length:
            raise InvalidAction(
                f"{shown} has {len(message)} characters; a message of {self.info.id} has {self.min_length} to "
                f"{self.max_length}."
            )
        for character in message:
            if not (is_sayable(character) if self.charset is None else character in self.charset):
                raise InvalidAction(f"{shown} holds {character!r}, which no message of {self.info.id} may hold.")
        if player not in self.asked(state[i]):
            raise IllegalAction(f"{shown} came from player_{player}, who is not asked now in {self.info.id}.")
        if self.check is not None:
            self.check(state[i], player, message)
        return message


def is_sayable(character: str) -> bool:
    """Whether a character is text: no control character but line break and tab, no half of a surrogate pair."""
    return character in "\n\t" or unicodedata.category(character) not in ("Cc", "Cs")


def text_game(
    id: str,
    *,
    players: int,
    rules: str,
    begin: Callable[[Seed], Plain],
    tell: Callable[[Plain, Player], str],
    hear: Callable[[Plain, Mapping[Player, str]], tuple[Sequence[float], Status]],
    sample: Callable[[Plain, Player, np.random.Generator], str],
    max_cycles: int,
    asked: Callable[[Plain], Sequence[Player]] | None = None,
    check: Callable[[Plain, Player, str], None] | None = None,
    compact: Callable[[Plain, Player], str] | None = None,
    info: Callable[[Plain], list[dict[str, Any]]] | None = None,
    simultaneous: bool = False,
    hidden: bool = True,
    max_length: int = 256,
    min_length: int = 1,
    charset: str | None = None,
    config: Mapping[str, Any] | None = None,
) -> TextGame:
    """A game of free text from a few functions on one game's plain data.

    Args:
        id: ``"name-vN"``, as it is registered.
        players: P.
        rules: what a person is told before the game.
        begin: seed -> a new game; all chance of the game follows from the seed. A game that keeps it calls it ``seed``:
            positions are compared without it.
        tell: game, seat -> what that seat is told now.
        hear: game, {seat: message} of all who were asked -> (P rewards, status). It changes the game; every message has
            been checked.
        sample: game, seat, generator -> a message that the rules take: what the random player says.
        max_cycles: turns (ticks) after which the game surely has ended.
        asked: game -> the seats that are asked now, nobody once it is over; one seat where the game is turn-based.
            None, in simultaneous games: everybody, until ``hear`` says that it is over, which the game's entry
            ``over`` then tells.
        check: game, seat, message -> None; raises IllegalAction or InvalidAction where the rules refuse the message.
        compact: ``tell`` in as few characters as are unambiguous, for small models.
        info: game -> what is added to each seat's info, P dictionaries of plain data.
        simultaneous: all who are asked answer without hearing each other.
        hidden: seats are told different things.
        max_length: characters of a message at most.
        min_length: and at least.
        charset: those it may hold, as in ``TextGame``.
        config: the arguments that make this game again.

    Raises:
        UsageError: a turn-based game without ``asked``.
    """
    name, _, version = id.rpartition("-v")
    if asked is None and not simultaneous:
        raise UsageError(f"{id} is turn-based, so text_game needs asked=: from a game to the seat that is to speak.")
    whom = asked or (lambda game: () if game.get(_OVER) else range(players))

    def reset(state: list[Plain], i: int, seed: Seed) -> None:
        state[i] = begin(int(seed))

    def mover(state: list[Plain], i: int) -> Player:
        return -1 if simultaneous else next(iter(whom(state[i])), 0)

    def legal(state: list[Plain], i: int, player: Player, mask: Mask) -> None:
        mask[:] = player in whom(state[i])

    def step(state: list[Plain], i: int, messages: Sequence[str | None], rewards: Rewards) -> Status:
        said = {p: str(messages[p]) for p in whom(state[i])}
        paid, status = hear(state[i], said)
        rewards[:] = paid
        if asked is None and status:
            state[i][_OVER] = True
        return status

    def key(state: list[Plain], i: int) -> int:
        bears = {name: value for name, value in state[i].items() if name != "seed"}
        written = json.dumps(bears, sort_keys=True, separators=(",", ":"))
        return int.from_bytes(hashlib.blake2b(written.encode(), digest_size=8).digest(), "little")

    def parse(state: list[Plain], i: int, text: str) -> NoReturn:
        raise UsageError(f"{id} is a game of words: read its messages with game.read(state, i, player, text).")

    def to_text(state: list[Plain], i: int, action: Action) -> NoReturn:
        raise UsageError(f"{id} is a game of words, without actions to choose among: models decode freely (free).")

    def describe(state: list[Plain], i: int, player: Player) -> str:
        return tell(state[i], player)

    def brief(state: list[Plain], i: int, player: Player) -> str:
        return (compact or tell)(state[i], player)

    return TextGame(
        info=GameInfo(
            name=name,
            version=int(version),
            players=players,
            num_actions=1,
            observation_shape=(),
            observation_high=0,
            max_cycles=max_cycles,
            simultaneous=simultaneous,
            hidden=hidden,
        ),
        kernels=Kernels(reset, mover, legal, step, lambda state, i, player, out: None, key),
        new_state=lambda n: [begin(0) for _ in range(n)],
        rules=rules,
        describe=describe,
        compact=brief,
        action_to_text=to_text,
        parse_action=parse,
        config=dict(config or {}),
        tell=(lambda state, i: info(state[i])) if info is not None else None,
        asked=whom,
        check=check,
        sample=sample,
        max_length=max_length,
        min_length=min_length,
        charset=charset,
    )


_OVER = "over"
"""The entry of a simultaneous game in which nobody is asked any more."""
