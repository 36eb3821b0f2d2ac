"""The games that tabs of a browser play: one room each, bounded in number, dropped when nobody comes back."""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from ...agents.baselines import is_built_in
from ...agents.core import Agent
from ...agents.human.adviser import Adviser, advisers
from ...agents.human.browser import PageGame
from ...agents.human.clock import Clock
from ...agents.human.paged import Request, opened
from ...agents.human.seating import PERSON, company, seated
from ...agents.human.table import Match
from ...agents.human.world_page import PageWorld, live_of
from ...envs.core import Game, GameRecord, Times
from ...envs.reading import parsed
from ...envs.registry import spec
from ...envs.typed import read
from ...errors import CoterieError, UsageError
from .guard import Bucket

__all__ = ["LONGEST", "Host", "Room", "Rooms"]

T = TypeVar("T")

LONGEST: Final = 2**20
"""Bytes of the longest message: a file that is uploaded."""

RATE, BURST = 30.0, 60.0  # messages a second of one page

TICK: Final = 0.04
"""Seconds between looks at agents that think."""

GRACE: Final = 20.0
"""Seconds that agents think on for a page that has gone; a page that is loaded again is back sooner."""

_PLAYERS: Final = ("random", "greedy", "minimax", "mcts:400", "alphabeta:3", "equilibrium", "bargainer", "scripted")


class Host:
    """What all rooms share: the game, who may be invited, and the lock that agents think under.

    Args:
        game: the game.
        words: who sits where at first.
        player: makes a player of a name and a game.
        seed: of the first game.
        hints: who gives hints; ``""``: the best built-in player for the game.
        times: of the clock that games with people are played on; None: no clock.
    """

    def __init__(
        self,
        game: Game,
        words: Sequence[str],
        player: Callable[[str, Game], Agent],
        *,
        seed: int = 0,
        hints: str = "",
        times: Times | None = None,
    ) -> None:
        self.game, self.words, self.seed = game, tuple(words), seed
        self._player, self._hints, self._times = player, hints, times
        self._lock = threading.Lock()

    def seat(
        self, words: Sequence[str], record: GameRecord | None = None, seed: int | None = None
    ) -> PageGame | PageWorld:
        """A game with these players in seats 0..P-1.

        Raises:
            CoterieError: a player that cannot play it; or one that only the command line may name.
        """
        for word in words:
            if word != PERSON and not is_built_in(word) and word not in self.words:
                raise UsageError(
                    f"A page cannot invite {word[:80]!r}: runs, models and programs sit only where the command line "
                    "named them."
                )
        seed = self.seed if seed is None else seed
        agents = list(seated(words, self.game, self._player, window=True))
        names = [agent.name if agent and word != PERSON else PERSON for word, agent in zip(words, agents, strict=True)]

        people = [seat for seat, word in enumerate(words) if word == PERSON]

        def begin(number: int) -> Match:
            going_on = record is not None and not number
            times = (record.clock if record is not None and going_on else None) or self._times
            clock = Clock(times, self.game, people) if times and people else None
            if going_on:
                return Match(self.game, names, seed, record=record, clock=clock)
            return Match(self.game, names, seed + number, clock=clock)

        # Built-in players are this game's own: it need not wait until those of other games have thought.
        own = all(word == PERSON or is_built_in(word) for word in (*words, self._hints or PERSON))
        adviser = Adviser((self._hints,) if self._hints else advisers(self.game), self._player)
        more: Any = {"adviser": adviser, "lock": None if own else self._lock}
        if self.game.info.is_world:
            return PageWorld(begin, agents, live_of(self.game), people=people, **more)
        return PageGame(begin, agents, spec(self.game.info.id).draw, **more)

    def guests(self) -> list[str]:
        """Names to suggest for a seat."""
        return list(dict.fromkeys([PERSON, *self.words, *advisers(self.game), *_PLAYERS[:4]]))


class Room:
    """One tab's game, with the socket that shows it, if one is connected."""

    def __init__(self, host: Host) -> None:
        self.id = secrets.token_urlsafe(16)
        self.host, self.words = host, host.words
        self.game = host.seat(host.words)
        self.seen = time.monotonic()
        self.socket: Any = None
        self._awake, self._showing = asyncio.Event(), asyncio.Lock()
        self._working = threading.Lock()  # held by the one thread that works on the game

    async def serve(self, socket: Any) -> None:
        """Show the game on this socket, until it is closed or another tab takes over."""
        earlier, self.socket = self.socket, socket
        playing: asyncio.Task[None] | None = None
        limit = Bucket(RATE, BURST)
        try:
            if earlier is not None:
                with contextlib.suppress(Exception):
                    await earlier.close(4001, "This game is shown in another tab.")
            await self._show(first=True)
            playing = asyncio.create_task(self._play())
            while True:
                message = await socket.receive()
                if message["type"] == "websocket.disconnect":
                    return
                text = message.get("text") or ""
                if not limit.take(time.monotonic()) or len(text) > LONGEST:
                    await socket.close(1008, "Too many messages, or one that is too long.")
                    return
                self.seen = time.monotonic()
                await self._answer(text)
                self._awake.set()
        finally:
            if playing is not None:
                playing.cancel()
            self.seen = time.monotonic()
            if self.socket is socket:
                self.socket = None
                asyncio.get_running_loop().call_later(GRACE, self._rest)

    def _rest(self) -> None:
        """Let agents stop thinking if nobody has come back; they are asked again when somebody does."""
        if self.socket is None:
            asyncio.get_running_loop().run_in_executor(None, self._alone, self.game.rest)

    async def _play(self) -> None:
        """Play what is due, and show what has changed."""
        while True:
            self._awake.clear()
            changed = await asyncio.to_thread(self._alone, lambda: self.game.step())
            if changed:
                await self._show()
            if self.game.idle:
                await self._awake.wait()
            else:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._awake.wait(), TICK)

    def close(self) -> None:
        """End the game; a thread that is at work on it finishes first."""
        self._alone(lambda: self.game.close())

    def _alone(self, work: Callable[[], T]) -> T:
        """Do this, in a thread, while no other thread works on the game; the task that waits for it may be gone."""
        with self._working:
            return work()

    async def _answer(self, text: str) -> None:
        try:
            asked = read(Request, _object(text), "a message")
            sent = await asyncio.to_thread(self._alone, lambda: self._do(asked))
        except CoterieError as error:
            await self._send({"kind": "refused", "why": str(error)})
            return
        if sent:
            await self._send(sent)
        else:
            await self._show()

    def _do(self, asked: Request) -> dict[str, Any] | None:
        """Do what the page asks for; a file to send, if it asked for one."""
        game = self.game
        if asked.do == "save":
            name = f"{game.game.info.name}-{time.strftime('%Y%m%d-%H%M%S')}{asked.name}"
            return {"kind": "file", "text": game.saved(asked.name, self.words), "name": name}
        if asked.do == "load":
            self._begin(self.words, opened(self.host.game, asked.name, asked.text))
        elif asked.do == "new" and asked.players and (words := self._company(asked.players)) != self.words:
            self._begin(words)
        else:
            game.do(asked)
        return None

    def _company(self, players: tuple[str, ...]) -> tuple[str, ...]:
        """A player for each seat; in worlds the last one takes the remaining seats."""
        words = company(players, self.host.game, window=False) if self.host.game.info.is_world else players
        if len(words) != len(self.words):
            raise UsageError(f"{len(self.words)} seats need {len(self.words)} players, not {len(words)}.")
        return words

    def _begin(self, words: Sequence[str], record: GameRecord | None = None) -> None:
        begun = self.host.seat(words, record, self.game.match.seed)
        begun.follows(self.game)
        self.game.close()
        self.game, self.words = begun, tuple(words)

    async def _show(self, first: bool = False) -> None:
        async with self._showing:  # one after the other, since a world's messages tell what has changed
            data = await asyncio.to_thread(self._alone, lambda: self.game.data(first))
            more = {"session": self.id, "guests": self.host.guests(), "rules": self.host.game.rules} if first else {}
            await self._send({"kind": "game", "players": self.words, **data, **more})

    async def _send(self, data: dict[str, Any]) -> None:
        from starlette.websockets import WebSocketDisconnect

        if self.socket is not None:
            with contextlib.suppress(RuntimeError, WebSocketDisconnect):  # it has just gone
                await self.socket.send_text(json.dumps(data))


def _object(text: str) -> dict[str, Any]:
    """The message's object.

    Raises:
        UsageError: it is no JSON object.
    """
    try:
        found = parsed(text)
        json.dumps(found, ensure_ascii=False).encode()  # halves of surrogate pairs are no text
    except ValueError as error:
        raise UsageError(f"The message is not JSON: {error}.") from None
    if not isinstance(found, dict):
        raise UsageError("The message is not a JSON object.")
    return found


class Rooms:
    """All rooms.

    Args:
        host: what they share.
        most: how many there may be.
        patience: seconds after which a room without a page is closed.
    """

    def __init__(self, host: Host, most: int = 12, patience: float = 3600.0) -> None:
        self._host, self._most, self._patience = host, most, patience
        self._rooms: dict[str, Room] = {}
        self._making = asyncio.Lock()  # so that pages that come at once are counted

    async def room(self, id: str) -> Room:
        """The room of this id, or a new one.

        Raises:
            CoterieError: all rooms are taken; or the game cannot be begun.
        """
        async with self._making:
            return await self._room(id)

    async def _room(self, id: str) -> Room:
        self.sweep()
        if id in self._rooms:
            return self._rooms[id]
        if len(self._rooms) >= self._most:
            left = [room for room in self._rooms.values() if room.socket is None]
            if not left:
                raise UsageError(f"{self._most} pages play here already; close one of them, then reload this one.")
            self._drop(min(left, key=lambda room: room.seen))
        room = await asyncio.to_thread(Room, self._host)
        self._rooms[room.id] = room
        return room

    def sweep(self) -> None:
        """Close the rooms to which nobody has come back."""
        now = time.monotonic()
        for room in [r for r in self._rooms.values() if r.socket is None and now - r.seen > self._patience]:
            self._drop(room)

    async def close(self) -> None:
        """Close all rooms."""
        await asyncio.gather(*(self._drop(room) for room in list(self._rooms.values())))

    def _drop(self, room: Room) -> asyncio.Future[None]:
        del self._rooms[room.id]
        return asyncio.get_running_loop().run_in_executor(None, room.close)
