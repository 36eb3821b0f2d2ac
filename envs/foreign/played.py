"""Plain Python functions that call players, as games of words.

A function cannot be stopped in its middle and copied. So a game's state is plain data, its seed and what the players
have answered, and every turn calls the function anew: it gets the answers that are known, and is left at the first
question that is not. A function must therefore ask the same questions when it gets the same answers, which is checked.
"""

from __future__ import annotations

import hashlib
import inspect
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from ...aliases import RUNNING, TERMINATED, Player, Seed, Status
from ...errors import CoterieError, IllegalAction, UsageError
from ..alarm import alarm
from ..registry import register_foreign
from ..words.core import LONGEST, Plain, TextGame, one_of, text_game

__all__ = ["Called", "Play", "register_play"]

Play: TypeAlias = Callable[..., Any]
"""(players, maybe ``rng``) -> the reward of each player."""

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
"""What the random player writes where any text is allowed."""

_FEW = 1000
"""The most answers that are listed for a text of given letters."""

_SHOWN = 20
"""The most options that a text lists."""

_ANSWER = 4096
"""The most characters of an answer."""


class _Asked(BaseException):
    """A question without an answer yet; no ``except Exception`` of the function stops it."""

    def __init__(self, question: Plain) -> None:
        super().__init__()
        self.question = question


class _TooLong(BaseException):
    """The function's time is over."""


class Called:
    """A player as a play function sees it.

    Attributes:
        seat: 0..P-1.
    """

    def __init__(self, seat: int, ask: Callable[[Plain], str]) -> None:
        self.seat, self._ask = seat, ask

    def say(self, prompt: str, *, letters: str = "", max_length: int = 256) -> str:
        """Ask for a text. Where few answers are possible (1000), models choose among them.

        Args:
            prompt: all that the player is told now.
            letters: the characters that the answer may hold; empty: any.
            max_length: the most characters of the answer.
        """
        if not 1 <= max_length <= _ANSWER:
            raise UsageError(f"say: max_length is {max_length}; it must be 1 to {_ANSWER}.")
        count = len(set(letters))
        few = bool(letters) and sum(count**k for k in range(1, min(max_length, 10) + 1)) <= _FEW
        lengths = range(1, max_length + 1) if few else ()
        listed = ["".join(word) for k in lengths for word in itertools.product(sorted(set(letters)), repeat=k)]
        return self._ask(self._question(prompt, listed, letters, max_length))

    def choose(self, prompt: str, options: Sequence[str]) -> str:
        """Ask for one of some texts.

        Args:
            prompt: all that the player is told now.
            options: one or more different texts, none of them empty.
        """
        listed = [str(option) for option in options]
        if not listed or len(set(listed)) < len(listed) or not all(0 < len(o) <= _ANSWER for o in listed):
            raise UsageError(f"choose: options is {str(listed)[:200]}; give one or more different, non-empty texts.")
        return self._ask(self._question(prompt, listed, "", _ANSWER))

    def _question(self, prompt: str, options: list[str], letters: str, longest: int) -> Plain:
        return {
            "turn": self.seat,
            "prompt": str(prompt)[:LONGEST],
            "options": options,
            "letters": letters,
            "longest": longest,
        }


def register_play(
    name: str, play: Play, *, players: int | None = None, max_asks: int = 200, seconds: float = 10.0
) -> str:
    """Make a function a game of coterie.

    Args:
        name: what the game is called.
        play: (one ``Called`` for each player, and a NumPy generator if it has a parameter ``rng``) -> the reward of
            each player. It asks by ``player.say`` and ``player.choose``, takes all randomness from ``rng``, and changes
            nothing outside, since it is called anew for every turn.
        players: how many; None: as many as ``play`` has parameters.
        max_asks: the most questions of a game.
        seconds: the most time between two questions; only the main thread can be stopped, and not under Windows.

    Returns:
        The game's id, ``"play:NAME-v0"``.

    Raises:
        UsageError: a name that cannot be one, a function without players, or limits below 1.
    """
    try:
        taken = inspect.signature(play).parameters
    except (TypeError, ValueError):
        raise UsageError(f"{play!r:.80} came; a play function takes players and returns their rewards.") from None
    seats = [
        p for p in taken.values() if p.kind <= p.POSITIONAL_OR_KEYWORD and p.default is p.empty and p.name != "rng"
    ]
    count = len(seats) if players is None else players
    if not isinstance(count, int) or count < 1:
        raise UsageError(
            f"{name} has {count!r} players; write play(player_a, player_b), or give their number: players=2."
        )
    if max_asks < 1 or not seconds > 0:
        raise UsageError(f"{name}: max_asks is {max_asks} and seconds is {seconds}; both must be above 0.")
    script = _Script(f"play:{name}", play, count, "rng" in taken, max_asks, seconds)
    return register_foreign(f"play:{name}", f"{__name__}:play_game", script)


def play_game(script: _Script) -> TextGame:
    """The game of a function that ``register_play`` got."""

    def hear(game: Plain, messages: Mapping[Player, str]) -> tuple[list[float], Status]:
        (said,) = messages.values()
        known, before = [*game["said"], said], game["trace"]
        rewards, question, trace = script.call(game["deal"], known)
        if not trace.startswith(before):
            raise UsageError(
                f"{script.name} asked something else when it got the same answers again; take all random numbers from "
                "a parameter `rng`, and change nothing outside of the function."
            )
        game |= {"said": known, "trace": trace, **question}
        return (rewards, TERMINATED) if rewards else ([0.0] * script.players, RUNNING)

    def check(game: Plain, player: Player, message: str) -> None:
        strange = set(message) - set(game["letters"] or message)
        if strange or len(message) > game["longest"]:
            may = f" of {game['letters']!r}" if game["letters"] else ""
            raise IllegalAction(f"{message[:60]!r} came; say 1 to {game['longest']} characters{may}.")

    def tell(game: Plain, player: Player) -> str:
        if player != game["turn"]:
            return "The game is over." if game["turn"] < 0 else f"Another player is asked: {game['turn']}."
        options = ", ".join(game["options"][:_SHOWN]) + (", ..." if len(game["options"]) > _SHOWN else "")
        may = f" of {game['letters']!r}" if game["letters"] else ""
        asked = f"One of: {options}." if options else f"At most {game['longest']} characters{may}."
        return f"{game['prompt']}\n{asked}"[:LONGEST]

    def sample(game: Plain, player: Player, rng: np.random.Generator) -> str:
        if game["options"]:
            return one_of(game["options"], rng)
        letters = game["letters"] or _LETTERS
        return "".join(one_of(letters, rng) for _ in range(int(rng.integers(1, min(game["longest"], 16) + 1))))

    def sound(game: Plain) -> bool:
        rewards, question, trace = script.call(game["deal"], game["said"])
        return game["trace"] == trace and all(game[name] == value for name, value in question.items())

    return text_game(
        f"{script.name}-v0",
        players=script.players,
        rules=script.about,
        begin=script.begin,
        asked=lambda game: (game["turn"],) if game["turn"] >= 0 else (),
        choices=lambda game, player: game["options"] or None if player == game["turn"] else None,
        check=check,
        hear=hear,
        tell=tell,
        compact=lambda game, player: (
            game["prompt"] if game["prompt"] and player == game["turn"] else tell(game, player)
        ),
        sample=sample,
        sound=sound,
        max_cycles=script.max_asks,
        max_length=_ANSWER,
    )


class _Script:
    """A play function and its limits; see ``register_play``."""

    def __init__(self, name: str, play: Play, players: int, random: bool, max_asks: int, seconds: float) -> None:
        self.name, self.play, self.players, self.max_asks = name, play, players, max_asks
        self._random, self._seconds = random, seconds
        self.about = " ".join((inspect.getdoc(play) or f"{name}, a game of {players} players.").split())

    def begin(self, seed: Seed) -> Plain:
        """A new game. Only games with random numbers keep their seed: without them, all begin alike."""
        deal = seed if self._random else 0
        rewards, question, trace = self.call(deal, [])
        if rewards:
            raise UsageError(f"{self.name} returned {rewards} without asking any player; there is nothing to play.")
        return {"deal": deal, "said": [], "trace": trace, **question}

    def call(self, deal: Seed, said: Sequence[str]) -> tuple[list[float], Plain, str]:
        """Call the function: (rewards, or none at a question without an answer; that question; a hash of them all)."""
        known, trace = iter(said), ""
        asked = 0

        def ask(question: Plain) -> str:
            nonlocal trace, asked
            asked += 1
            trace += hashlib.blake2b(repr(question).encode(), digest_size=4).hexdigest()
            if asked > self.max_asks:
                raise UsageError(
                    f"{self.name} asked more than {self.max_asks} times without an end; let it return, or give it a "
                    "higher max_asks."
                )
            for answer in known:
                return answer
            raise _Asked(question)

        more = {"rng": np.random.default_rng(deal)} if self._random else {}
        try:
            with alarm(self._seconds, _TooLong):
                found = self.play(*(Called(seat, ask) for seat in range(self.players)), **more)
        except _Asked as stopped:
            return [], stopped.question, trace
        except _TooLong:
            raise UsageError(
                f"{self.name} ran for {self._seconds:g} seconds after {asked} questions without asking another or "
                "returning; does it loop forever? Give it more `seconds` if it needs them."
            ) from None
        except CoterieError:
            raise
        except Exception as error:
            raise UsageError(f"{self.name} failed after {asked} questions: {type(error).__name__}: {error}.") from error
        return self._rewards(found), {"turn": -1, "prompt": "", "options": [], "letters": "", "longest": 1}, trace

    def _rewards(self, found: Any) -> list[float]:
        try:
            paid = [float(reward) for reward in found]
        except (TypeError, ValueError):
            paid = []
        if len(paid) != self.players or not all(map(math.isfinite, paid)):
            raise UsageError(
                f"{self.name} returned {found!r:.100}; it must return {self.players} numbers, a reward for each player."
            )
        return paid
