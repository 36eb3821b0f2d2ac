"""Games of free text: the functions of ``Game`` in Python, on plain data; a player's message is its action.

A state is a list of N games, each a dictionary of plain data (as JSON has it, with texts as keys), so that it can be
copied, stored and compared. There is one action number, 0: "say it"; the message comes as a text. A game may list all
messages that are allowed (``choices``); models then choose among them as they choose among the moves of a board game.
The kernels of ``Game`` are Python functions here, and ``step`` takes messages instead of numbers.
"""

from __future__ import annotations

import copy
import hashlib
import json
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias

import numpy as np

from ...aliases import Action, Mask, Player, Rewards, Seed, Status
from ...errors import ActionError, IllegalAction, InvalidAction, UsageError, did_you_mean
from ..core import Game, GameInfo, Kernels
from ..marks import reading, without_thoughts
from ..plain import told

__all__ = ["LONGEST", "SAY", "Plain", "Script", "TextGame", "is_sayable", "one_of", "text_game"]

Plain: TypeAlias = dict[str, Any]
"""One game: plain data that is equal after a round trip through JSON."""

Script: TypeAlias = Callable[[Plain, Player, np.random.Generator], str]
"""(game, seat, generator) -> a legal message of that seat."""

SAY: Action = 0
"""The one action number of these games."""

LONGEST = 8192
"""The most characters of a text for a player."""

_SHOWN = 12
"""How many of the messages allowed an error names."""


@dataclass(frozen=True, kw_only=True)
class TextGame(Game):
    """Rules of one game of free text, configured; made by ``text_game``.

    Attributes:
        asked: (game) -> the seats that are to answer now; none once the game is over.
        choices: (game, seat) -> all different messages that a seat which is asked may say now, in a fixed order, or
            None: they cannot be listed (open). Where they are listed, ``read`` accepts no others, and models choose
            among them (choice and constrained decoding).
        check: (game, seat, message) -> None; raises an ActionError if the rules refuse the message. None: accepts all.
        sample: (game, seat, generator) -> a random legal message, for the random player.
        scripts: players that the game brings with it, by name (``scripted:NAME``); like ``sample``. They read the whole
            game, and use only what their seat may know.
        max_length, min_length: bounds on a message's length in characters.
        charset: the characters that a message may hold; None: all but control characters, with line breaks and tabs
            allowed.
    """

    asked: Callable[[Plain], Sequence[Player]]
    choices: Callable[[Plain, Player], Sequence[str] | None]
    check: Callable[[Plain, Player, str], None] | None
    sample: Script
    scripts: Mapping[str, Script]
    max_length: int
    min_length: int = 1
    charset: str | None = None

    def read(self, state: list[Plain], i: int, player: Player, message: Any) -> str:
        """Return the message, without thoughts, if that player may say it in row i; else what it marks as its answer.

        Raises:
            InvalidAction: not a text, too short, too long, with a character that messages may not hold, or with a
                thought that has no end.
            IllegalAction: the player is not asked now, or the message is none of its ``choices``.
            ActionError: the game's ``check`` refuses the message.
        """
        if not isinstance(message, str):
            raise InvalidAction(
                f"{told(message)} ({type(message).__name__}) came; in {self.info.id} an action is a text."
            )
        said = without_thoughts(message)
        try:
            return self._allowed(state, i, player, said)
        except ActionError:
            with suppress(ActionError):
                return reading(lambda answer: self._allowed(state, i, player, answer.strip()), said)
            raise

    def _allowed(self, state: list[Plain], i: int, player: Player, message: str) -> str:
        """The message, if that player may say it as it is."""
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
        listed = self.choices(state[i], player)
        if listed is not None and message not in listed:
            some = ", ".join(map(repr, listed[:_SHOWN])) + (", ..." if len(listed) > _SHOWN else "")
            raise IllegalAction(
                f"{shown} is none of the {len(listed)} messages that {self.info.id} allows now."
                f"{did_you_mean(message[:60], listed)} Say one of them: {some}."
            )
        if self.check is not None:
            self.check(state[i], player, message)
        return message


def one_of(among: Sequence[str], rng: np.random.Generator) -> str:
    """One of some texts, all equally likely."""
    return among[int(rng.integers(len(among)))]


def is_sayable(character: str) -> bool:
    """Whether messages may hold a character: no surrogates, and no control characters but line break and tab."""
    return character in "\n\t" or unicodedata.category(character) not in ("Cc", "Cs")


# Longer than most: its arguments, what they mean, and the game that they make.
def text_game(
    id: str,
    *,
    players: int,
    rules: str,
    begin: Callable[[Seed], Plain],
    tell: Callable[[Plain, Player], str],
    hear: Callable[[Plain, Mapping[Player, str]], tuple[Sequence[float], Status]],
    sample: Script | None = None,
    max_cycles: int,
    choices: Callable[[Plain, Player], Sequence[str] | None] | None = None,
    scripts: Mapping[str, Script] | None = None,
    asked: Callable[[Plain], Sequence[Player]] | None = None,
    check: Callable[[Plain, Player, str], None] | None = None,
    compact: Callable[[Plain, Player], str] | None = None,
    info: Callable[[Plain], list[dict[str, Any]]] | None = None,
    sound: Callable[[Plain], bool] | None = None,
    simultaneous: bool = False,
    hidden: bool = True,
    max_length: int = 256,
    min_length: int = 1,
    charset: str | None = None,
    config: Mapping[str, Any] | None = None,
    goal: str = "",
) -> TextGame:
    """Make a game of free text from a few functions on one game's plain data.

    Args:
        id: ``"name-vN"``, as registered.
        players: P.
        rules: the rules for a person.
        begin: (seed) -> a new game; all randomness of the game follows from the seed. A game that stores the seed must
            call it ``seed``: hashes of positions leave that entry out.
        tell: (game, seat) -> the text for that seat now.
        hear: (game, {seat: message} of all seats asked) -> (P rewards, status). It changes the game; the messages have
            been checked.
        sample: (game, seat, generator) -> a random legal message, for the random player. None: uniform over
            ``choices``.
        max_cycles: upper bound on the game's turns (ticks).
        choices: (game, seat) -> all messages that a seat which is asked may say now, as in ``TextGame``. None: open.
        scripts: scripted players by name, as in ``TextGame``; ``scripted`` alone is the first.
        asked: (game) -> the seats that are to answer now, none once the game is over; one seat if the game is
            turn-based. None, in simultaneous games: all seats, until the status of ``hear`` ends the game; the game's
            entry ``over`` is then True.
        check: (game, seat, message) -> None; raises IllegalAction or InvalidAction if the rules refuse the message.
        compact: like ``tell``, in as few characters as are unambiguous, for small models. None: ``tell``.
        info: (game) -> P dictionaries of plain data, added to the seats' infos.
        sound: (game) -> whether plain data from outside, of a new game's kinds, are a position; may raise anything if
            not. None: whatever the other functions can read.
        simultaneous: all seats asked answer at once, without seeing each other's messages.
        hidden: seats see different things.
        max_length: the most characters of a message.
        min_length: the fewest.
        charset: the characters it may hold, as in ``TextGame``.
        config: the arguments that make this game again.
        goal: how one wins, in one sentence; "": pages show none.

    Raises:
        UsageError: a turn-based game without ``asked``, or neither ``sample`` nor ``choices``.
    """
    name, _, version = id.rpartition("-v")
    if asked is None and not simultaneous:
        raise UsageError(f"{id} is turn-based, so text_game needs asked=: from a game to the seat that is to speak.")
    if sample is None and choices is None:
        raise UsageError(f"{id} needs sample= (a random legal message) or choices= (all legal messages).")
    listed = choices or (lambda game, player: None)
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

    new = begin(0)

    def examine(state: list[Plain], i: int) -> int:
        try:
            game = copy.deepcopy(state[i])
            json.dumps(game)
            if not _alike(game, new) or (sound is not None and not sound(game)):
                return 1
            texts = [text for p in range(players) for text in (tell(game, p), (compact or tell)(game, p))]
            fine = set(whom(game)) <= set(range(players))
            fine &= all(isinstance(text, str) for text in texts)
            fine &= info is None or len(info(game)) == players
            fine &= all(listed(game, p) is None or len(listed(game, p) or ()) > 0 for p in whom(game))
        except Exception:  # whatever the game's functions raise on data that they cannot read
            return 1
        return int(not fine)

    def draw(game: Plain, player: Player, rng: np.random.Generator) -> str:
        among = listed(game, player)
        if not among:
            raise UsageError(f"{id} lists no choices in this position, so a random player cannot say one of them.")
        return one_of(among, rng)

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
        kernels=Kernels(reset, mover, legal, step, lambda state, i, player, out: None, key, sound=examine),
        new_state=lambda n: [begin(0) for _ in range(n)],
        rules=rules,
        goal=goal,
        describe=describe,
        compact=brief,
        action_to_text=to_text,
        parse_action=parse,
        config=dict(config or {}),
        tell=(lambda state, i: info(state[i])) if info is not None else None,
        asked=whom,
        choices=listed,
        check=check,
        sample=sample or draw,
        scripts=dict(scripts or {}),
        max_length=max_length,
        min_length=min_length,
        charset=charset,
        conditions=(f"its entries must be of the kinds that a new game has, {json.dumps(new)[:200]}, and readable",),
    )


def _alike(came: Any, new: Any) -> bool:
    """Whether plain data have the kinds of a new game's: lists of any length, anything where the new game has null."""
    if isinstance(new, dict):
        return isinstance(came, dict) and all(name in came and _alike(came[name], new[name]) for name in new)
    if isinstance(new, list):
        return isinstance(came, list) and all(any(_alike(one, kind) for kind in new) for one in came if new)
    return new is None or type(came) is type(new)


_OVER = "over"
"""The entry that marks a finished simultaneous game without ``asked``."""
