"""Pack thousands of ticks of a world into one line: one byte per action, and hashes that verify a replay.

``actions`` of a saved world is a text: the numbers [T, P], one byte each (two if there are more than 256 actions),
zlib, base64. ``keys`` has the lowest 16 bits of ``Game.key`` at the start and after every tick, [T + 1], two bytes
each, low byte first, encoded likewise; ``end`` is the whole last key, and ``checksum`` (CRC-32) covers the whole line.
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import UsageError
from ..core import Game, GameRecord
from ..reading import inflated

__all__ = ["LOW", "checksum", "is_packed", "pack", "unpack", "unpacked"]

LOW = 0xFFFF
"""The bits of each tick's key that are kept."""


def is_packed(game: Game) -> bool:
    """Whether records of this game are packed: it is a world, whose rules let any action be tried."""
    return game.info.is_world


def pack(game: Game, record: GameRecord) -> dict[str, Any]:
    """The fields ``ticks``, ``actions`` and, if keys were recorded, ``keys`` and ``end``."""
    ticks = len(record.actions)
    fields: dict[str, Any] = {"ticks": ticks, "actions": _text(np.array(record.actions, _kind(game)))}
    if len(record.keys) == ticks + 1:
        fields["keys"] = _text(np.array([key & LOW for key in record.keys], "<u2"))
        fields["end"] = f"{record.keys[-1]:016x}"
    return fields


def unpack(game: Game, fields: Mapping[str, Any]) -> tuple[list[list[int]], tuple[int, ...]]:
    """`[T, P]` actions and `[T + 1]` keys (or none) of a line's fields.

    Raises:
        UsageError: they cannot be unpacked, or their number does not match ``ticks``.
    """
    ticks, players = int(fields["ticks"]), game.info.players
    actions = _numbers("actions", fields["actions"], _kind(game))
    if ticks < 0 or len(actions) != ticks * players:
        came = f"{len(actions) / max(1, players):g}"
        raise UsageError(f"it is cut short or altered: actions of {came} ticks for {players} players, not of {ticks}.")
    whole: list[list[int]] = actions.reshape(ticks, players).tolist()
    if "keys" not in fields:
        return whole, ()
    keys = _numbers("keys", fields["keys"], "<u2").tolist()
    if len(keys) != ticks + 1:
        raise UsageError(f"it is cut short or altered: {len(keys)} keys for {ticks} ticks, not {ticks + 1}.")
    end = int(str(fields.get("end", "")), 16)
    return whole, (*keys[:-1], end)


def checksum(fields: Mapping[str, Any]) -> int:
    """CRC-32 of all fields but ``checksum``."""
    rest = {name: value for name, value in fields.items() if name != "checksum"}
    return zlib.crc32(json.dumps(rest, sort_keys=True, ensure_ascii=True).encode())


def _kind(game: Game) -> str:
    return "<u1" if game.info.num_actions <= 256 else "<u2"


def _text(numbers: NDArray[Any]) -> str:
    return base64.b64encode(zlib.compress(numbers.tobytes(), 9)).decode()


def unpacked(text: Any) -> bytes:
    """The bytes in a packed text.

    Raises:
        binascii.Error, zlib.error, TypeError, ValueError: it is not such a text, or one of more than
            ``reading.UNPACKED`` bytes.
    """
    return inflated(base64.b64decode(text, validate=True))


def _numbers(name: str, text: Any, kind: str) -> NDArray[Any]:
    try:
        return np.frombuffer(unpacked(text), kind)
    except UsageError as error:
        raise UsageError(f"its {name} cannot be unpacked: {error}.") from None
    except (binascii.Error, zlib.error, TypeError, ValueError) as error:
        raise UsageError(f"its {name} cannot be unpacked: it is cut short or altered ({error}).") from None
