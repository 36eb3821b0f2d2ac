"""A talk channel for turn-based games: a message may come with every action.

``talk(game, 80)`` plays the same kernels; messages of up to 80 characters are kept beside the game's row, as plain
data. A turn is written ``message [action]``: ``I need wood. [Offer: 2 Gold -> 3 Wood]``, or ``[e2e4]`` to say nothing.
The action is the one text in brackets, at the end, and a message holds no brackets, so no message can pass for an
action. ``make("negotiation-v0", talk=80)`` makes such a game of any turn-based one.

Everybody hears a message, unless it begins with an address: ``@2 hello`` is for player 2 alone, ``@1,2 hello`` for two
players. The observations show each player the last ``MEMORY`` messages that it heard or said.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ...aliases import Action, Player, Seed, State, Status
from ...errors import CoterieError, InvalidAction, UsageError
from ..answers import whole_number
from ..core import Game
from ..plain import told
from ..state import packed, snapshot, unpacked
from .core import LONGEST, Plain, TextGame, is_sayable, text_game

__all__ = ["MEMORY", "Said", "TalkGame", "talk"]

MEMORY = 12
"""Messages that a player remembers."""

MOST = 500
"""The longest message, in characters."""

_ACTION = 256  # characters of an action's text, at most
_TURN = re.compile(r"([^\[\]]*)\[([^\[\]]*)\]\s*")
_ADDRESS = re.compile(r"@([0-9]{1,3}(?:,[0-9]{1,3})*)(?:\s+|$)")
_WORDS = ("yes", "no", "deal", "more", "less", "please", "fair", "give", "take", "all", "half", "why")
"""What the random player says."""


class Said(NamedTuple):
    """One turn in parts: the message without blanks around it (``""``: nothing), and the action."""

    message: str
    action: Action


@dataclass(frozen=True, kw_only=True)
class TalkGame(TextGame):
    """A turn-based game with a talk channel; made by ``talk``.

    A state is ``{"row": the game's row in base64, "heard": for each seat a list of [speaker, message]}``.

    Attributes:
        inner: the game without talk.
        length: the longest message.
    """

    inner: Game
    length: int

    def rows(self, game: Plain) -> State:
        """The game's row, as one new row of ``inner``."""
        return _row(self.inner, game)

    def drawn(self, state: list[Plain]) -> tuple[Game, State]:
        """The game without talk, and its row: what drawers show."""
        return self.inner, self.rows(state[0])

    def heard(self, game: Plain, player: Player) -> list[tuple[Player, str]]:
        """What a player heard and said last: (speaker, message), oldest first."""
        return [(speaker, message) for speaker, message in game["heard"][player]]

    def actions_in(self, game: Plain, player: Player) -> list[str]:
        """The legal actions in brackets, as they end a turn; the message before them is open."""
        rows = self.rows(game)
        return [f"[{self.inner.action_to_text(rows, 0, a)}]" for a in self.inner.legal_actions(rows, 0, player)]

    def overheard(self, game: Plain, player: Player) -> str:
        """The same as text, one line each; quoted, so that a message cannot pass for a line of its own."""
        return _lines(game, player, LONGEST // 2)

    def split(self, state: list[Plain], i: int, text: str) -> Said:
        """Read a turn ``message [action]``.

        Raises:
            InvalidAction: not one pair of brackets, at the end; a message that is too long; an unreadable address.
            ActionError: the text in brackets is no legal action.
        """
        return _split(self.inner, self.length, self.rows(state[i]), text)

    def join(self, state: list[Plain], i: int, message: str, action: Action) -> str:
        """A turn as text; ``split`` reads it if the message may be said."""
        return _joined(message, self.inner.action_to_text(self.rows(state[i]), 0, action))

    def hears(self, player: Player, text: str, speaker: Player) -> bool:
        """Whether a player hears the message of a legal turn ``message [action]``; speakers hear themselves."""
        return player in {speaker, *_address(text.partition("[")[0].strip(), self.info.players, speaker)}

    def sayable(self, message: str, player: Player) -> str:
        """What of a text the channel carries: without brackets and control characters, cut to ``length``.

        Language models write what they like; games read nothing but what may be said.
        """
        kept = "".join(c for c in message if c not in "[]" and is_sayable(c))
        kept = " ".join(kept.split())[: self.length].strip()
        try:
            _address(kept, self.info.players, player)
        except InvalidAction:
            kept = kept.lstrip("@ ")
        return kept


def talk(game: Game, length: int = 80) -> TalkGame:
    """The game with a talk channel.

    Args:
        game: turn-based, with kernels.
        length: the longest message in characters, 1 to 500.

    Raises:
        UsageError: a simultaneous game, a game of words, or a length that is no such number.
    """
    longest = whole_number(f"{game.info.id}: talk", length, 1, MOST)
    if isinstance(game, TextGame) or game.info.simultaneous:
        kind = "a game of words" if isinstance(game, TextGame) else "simultaneous"
        raise UsageError(f"{game.info.id} is {kind}; talk= needs a turn-based game of numbered actions.")
    functions = _Functions(game, longest)
    made = text_game(
        game.info.id,
        players=game.info.players,
        rules=f"{game.rules} {_rules(game, longest)}",
        goal=game.goal,
        begin=functions.begin,
        asked=functions.asked,
        tell=functions.tell,
        compact=functions.compact,
        hear=functions.hear,
        check=functions.check,
        sample=functions.sample,
        info=functions.info,
        max_cycles=game.info.max_cycles,
        hidden=game.info.hidden or game.info.players > 2,
        max_length=longest + _ACTION + 3,
        config=game.config | {"talk": longest},
    )
    readable = made.kernels.sound

    def key(state: list[Plain], i: int) -> int:
        bears = json.dumps([game.key(functions.rows(state[i]), 0), state[i]["heard"]]).encode()
        return int.from_bytes(hashlib.blake2b(bears, digest_size=8).digest(), "little")

    def sound(state: list[Plain], i: int) -> int:
        return int(not functions.is_sound(state[i]) or readable is None or bool(readable(state, i)))

    fields = vars(made) | {
        "info": replace(made.info, forfeit=game.info.forfeit, secret=game.info.secret),
        "kernels": made.kernels._replace(key=key, sound=sound),
        "options": _with_rows(game),
        "conditions": (f"its row must be one of {game.info.id}, and each seat heard at most {MEMORY} messages",),
    }
    return TalkGame(**fields, inner=game, length=longest)


class _Functions:
    """The functions of a TextGame, on the plain data of one game."""

    def __init__(self, game: Game, length: int) -> None:
        self.game, self.length = game, length
        self.players = game.info.players

    def rows(self, game: Plain) -> State:
        return _row(self.game, game)

    def begin(self, seed: Seed) -> Plain:
        rows = self.game.new_state(1)
        self.game.kernels.reset(rows, 0, np.uint64(seed % 2**64))
        return {"row": _row_text(rows), "heard": [[] for _ in range(self.players)]}

    def asked(self, game: Plain) -> list[Player]:
        rows = self.rows(game)
        mover = self.game.mover(rows, 0)
        return [mover] if self.game.legal_mask(rows, 0, mover).any() else []

    def tell(self, game: Plain, player: Player) -> str:
        position = self.game.describe(self.rows(game), 0, player)
        parts = [position]
        # The answer's form and the position always fit: check_game holds descriptions to LONGEST characters.
        heard = _lines(game, player, min(LONGEST // 2, LONGEST - len(position) - 200))
        if heard:
            parts.append(f"Said so far:\n{heard}")
        if player in self.asked(game):
            parts.append("Answer: a message (or nothing), then one action in brackets, as in: hello [action]")
        return "\n".join(parts)[:LONGEST]

    def compact(self, game: Plain, player: Player) -> str:
        said = "".join(f"{speaker}{message!r} " for speaker, message in game["heard"][player])
        position = self.game.compact(self.rows(game), 0, player)
        return (said[-(LONGEST // 2) :] + position)[-LONGEST:]

    def check(self, game: Plain, player: Player, text: str) -> None:
        _split(self.game, self.length, self.rows(game), text)

    def hear(self, game: Plain, messages: Mapping[Player, str]) -> tuple[list[float], Status]:
        rows = self.rows(game)
        ((mover, text),) = messages.items()
        said = _split(self.game, self.length, rows, text)
        actions, rewards = np.zeros(self.players, np.int32), np.zeros(self.players, np.float32)
        actions[mover] = said.action
        status = int(self.game.kernels.step(rows, 0, actions, rewards))
        game["row"] = _row_text(rows)
        if said.message:
            for p in {mover, *_address(said.message, self.players, mover)}:
                game["heard"][p] = [*game["heard"][p], [mover, said.message]][-MEMORY:]
        return rewards.tolist(), status

    def sample(self, game: Plain, player: Player, rng: np.random.Generator) -> str:
        rows = self.rows(game)
        action = int(rng.choice(np.flatnonzero(self.game.legal_mask(rows, 0, player))))
        message = " ".join(rng.choice(_WORDS, int(rng.integers(4))).tolist())[: self.length].strip()
        return _joined(message, self.game.action_to_text(rows, 0, action))

    def info(self, game: Plain) -> list[dict[str, Any]]:
        own = self.game.tell(self.rows(game), 0) if self.game.tell is not None else [{} for _ in range(self.players)]
        return [one | {"heard": [list(pair) for pair in game["heard"][p]]} for p, one in enumerate(own)]

    def is_sound(self, game: Any) -> bool:
        """Whether the row is a position of the game, and what was heard could have been said."""
        try:
            if set(game) != {"row", "heard"} or len(game["heard"]) != self.players:
                return False
            for said in game["heard"]:
                if len(said) > MEMORY:
                    return False
                for speaker, message in said:
                    if type(speaker) is not int or not 0 <= speaker < self.players or not isinstance(message, str):
                        return False
                    _need_sayable(message, self.length)
            snapshot(self.game, self.rows(game))
        except (CoterieError, binascii.Error, ValueError, TypeError, AttributeError):
            return False
        return True


def _with_rows(game: Game) -> dict[str, Any]:
    """The game's reset options, which write the row of a game that has just begun."""

    def through(write: Any) -> Any:
        def option(state: list[Plain], i: int, value: Any) -> None:
            rows = _row(game, state[i])
            write(rows, 0, value)
            state[i] = state[i] | {"row": _row_text(rows)}

        return option

    return {name: through(write) for name, write in game.options.items()}


def _row(game: Game, plain: Plain) -> State:
    """The row that a game of plain data holds, as one new row of ``game``."""
    rows = game.new_state(1)
    unpacked(rows, base64.b64decode(plain["row"], validate=True))
    return rows


def _row_text(rows: State) -> str:
    return base64.b64encode(packed(rows)).decode()


def _joined(message: str, action: str) -> str:
    return f"{message} [{action}]" if message else f"[{action}]"


def _split(game: Game, length: int, rows: State, text: str) -> Said:
    """``TalkGame.split`` on the row itself."""
    found = _TURN.fullmatch(text)
    if found is None:
        what = "no action in brackets" if "[" not in text and "]" not in text else "brackets that are not one action"
        raise InvalidAction(
            f"{told(text)} has {what}. Write a message (or nothing), then one action in brackets at the end, as in: "
            "hello [action]. A message holds no brackets."
        )
    message = found[1].strip()
    _need_sayable(message, length)
    _address(message, game.info.players, game.mover(rows, 0))
    return Said(message, game.parse_action(rows, 0, found[2]))


def _need_sayable(message: str, length: int) -> None:
    """Check a message's length and characters."""
    if len(message) > length:
        raise InvalidAction(f"{told(message)} has {len(message)} characters; a message here has at most {length}.")
    if any(c in "[]" or not is_sayable(c) for c in message):
        raise InvalidAction(f"{told(message)} holds a bracket or a control character, which no message may hold.")


def _address(message: str, players: int, speaker: Player) -> list[Player]:
    """The seats that hear a message besides its speaker.

    Raises:
        InvalidAction: an address that names no other player.
    """
    others = [p for p in range(players) if p != speaker]
    if not message.startswith("@"):
        return others
    found = _ADDRESS.match(message)
    named = sorted({int(number) for number in found[1].split(",")}) if found else []
    if not named or not set(named) <= set(others):
        raise InvalidAction(
            f"{told(message)} begins with an address that cannot be read. Write @ and the numbers of other players, "
            f"{', '.join(map(str, others))}, as in: @{others[-1]} hello."
        )
    return named


def _lines(game: Plain, player: Player, room: int) -> str:
    """The last messages that a player heard, in at most ``room`` characters."""
    lines: list[str] = []
    for speaker, message in reversed(game["heard"][player]):
        line = f"player {speaker}{' (you)' if speaker == player else ''}: {message!r}"
        room -= len(line) + 1
        if room < 0:
            break
        lines.insert(0, line)
    return "\n".join(lines)


def _rules(game: Game, length: int) -> str:
    """What the channel adds to the rules."""
    private = " A message that begins with @2 is heard by player 2 alone." if game.info.players > 2 else ""
    return (
        f"With every action you may say a message of up to {length} characters, without brackets, which the others "
        f"hear.{private} Answer: the message, then the action in brackets."
    )
