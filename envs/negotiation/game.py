"""Negotiation: two players trade or divide items, or up to six agree on issues, with hidden values.

Presets: ``trade`` (wood for gold, as in SimpleNegotiation of Guertler et al., "TextArena", 2025), ``deal_or_no_deal``
(Lewis et al., "Deal or No Deal? End-to-End Learning for Negotiation Dialogues", EMNLP 2017), ``ultimatum`` (Gueth et
al., "An Experimental Analysis of Ultimatum Bargaining", 1982) and ``issues`` (several issues, 2 to 6 players).

``rules`` has the kernels, ``text`` the words, ``optimum`` what a deal could be at best.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import UsageError
from ..answers import finite_number, known_name, whole_number
from ..core import Game, GameInfo, Kernels
from ..plain import told
from ..registry import Presets
from .optimum import ended
from .rules import (
    CONDITIONS,
    DIVIDED,
    DRAWN,
    FIXED,
    MOST_ITEMS,
    TOTAL,
    Bargains,
    key,
    legal,
    mover,
    observe,
    reset,
    sound,
    step,
)
from .text import Words

__all__ = ["PRESETS", "SCORES", "negotiation", "words_of"]

SCORES = ("own", "joint", "win")
"""Ways to score, by number."""

OFFERS = 4096
"""The most different offers of a game."""

VALUE = 1000
"""The largest value of an item or an option."""

_ITEMS = ("book", "hat", "ball")
_ISSUES = ("price", "date", "place", "size", "color", "term")


class _Preset(NamedTuple):
    """Defaults of a preset."""

    style: str
    turns: int
    score: str
    takes: tuple[str, ...]
    about: str


PRESETS: dict[str, _Preset] = {
    "trade": _Preset("trade", 10, "win", ("items", "values"), "Wood for Gold: 10 of each, values 5, 15 and 15, 5"),
    "deal_or_no_deal": _Preset("divide", 10, "own", (), "books, hats and balls, as Lewis et al. have them"),
    "ultimatum": _Preset("divide", 2, "own", ("items", "values"), "one offer of how to divide 10 coins"),
    "issues": _Preset("issues", 0, "own", ("players", "issues", "options", "values"), "issues with options, N players"),
}
"""Presets by name."""


# Longer than most: its arguments, what they mean, and the game that they make.
def negotiation(
    preset: str = "trade",
    players: int | None = None,
    turns: int | None = None,
    score: str | None = None,
    discount: float = 1.0,
    items: Any = None,
    values: Any = None,
    issues: int | None = None,
    options: int | None = None,
) -> Game:
    """A negotiation.

    Args:
        preset: ``trade``, ``deal_or_no_deal``, ``ultimatum`` or ``issues``; the other arguments change it.
        players: P, 2 to 6 (``issues`` only; 3 by default).
        turns: turns in all; at least P, so that an offer can be accepted. By default 10, ultimatum 2, issues 5 P.
        score: ``own`` (the own gain as a share of the most possible), ``joint`` (everybody's gains as a share of the
            most possible, paid to all) or ``win`` (1 for who gains more, -1 for who gains less). By default win in
            ``trade``, else own.
        discount: the share of the gains that each offer after the first leaves, above 0 and up to 1, in thousandths.
        items: ``{"Wood": 10, "Gold": 10}``: names and numbers, of each player's (``trade``) or to divide (ultimatum).
        values: ``[[5, 15], [15, 5]]``, for each player the value of one item of each kind, 0 to 1000; in ``issues``
            the values [P, K, M] of every option. By default drawn by the seed in deal_or_no_deal and issues.
        issues: K of ``issues``, 1 to 6; 3 by default.
        options: M of ``issues``, 2 to 20; 4 by default.

    Raises:
        UnknownName: no such preset or score.
        UsageError: an invalid argument, one that the preset does not take, or more than 4096 different offers.
    """
    known_name("negotiation preset", preset, PRESETS)
    chosen = PRESETS[preset]
    for name, given in (
        ("players", players),
        ("items", items),
        ("values", values),
        ("issues", issues),
        ("options", options),
    ):
        if given is not None and name not in chosen.takes:
            takes = ", ".join((*chosen.takes, "turns", "score", "discount"))
            raise UsageError(f"negotiation: the preset {preset} takes no {name}; it takes {takes}.")
    paid = known_name("score", score if score is not None else chosen.score, SCORES)
    left = finite_number("negotiation: discount", discount)
    if not 0 < left <= 1 or abs(left * 1000 - round(left * 1000)) > 1e-9 or (left < 1 and preset == "trade"):
        what = "trade has no discount: it goes on after deals" if preset == "trade" else "0.001 to 1 in thousandths"
        raise UsageError(f"negotiation: discount={told(discount)} came; {what}.")
    setting = _setting(preset, chosen.style, players, items, values, issues, options)
    seats = setting.values.shape[0]
    long = whole_number("negotiation: turns", chosen.turns or 5 * seats if turns is None else turns, seats, 10_000)
    most = setting.values.shape[2]
    words = Words(setting.names, chosen.style, tuple(setting.most))
    numbers = [long, setting.draw, SCORES.index(paid), round(left * 1000), preset == "trade", setting.largest]
    rules = np.array(numbers, np.int32)
    initial = np.array(setting.initial, np.int32)
    issue_count = len(setting.names)

    def new_state(n: int) -> Bargains:
        def each(row: Any) -> Any:
            return np.tile(np.asarray(row, np.int32), (n, *(1,) * np.ndim(row)))

        now = each([0, 0, 0, -1, 0, 0])
        last = np.full((n, seats), -1, np.int32)
        limits = each(setting.most)
        return Bargains(
            each(rules), limits, each(initial), limits.copy(), each(setting.values), each(initial), last, now
        )

    drawn = setting.draw != FIXED
    like = new_state(1)
    return Game(
        info=GameInfo(
            name="negotiation",
            players=seats,
            num_actions=words.offers + 2,
            observation_shape=(seats + 4 + issue_count * (seats + 3) + issue_count * most,),
            observation_dtype="float32",
            max_cycles=long,
            hidden=True,
            forfeit=(-1.5, 0.5) if preset == "trade" else (-1.0, 0.0),
        ),
        kernels=Kernels(reset, mover, legal, step, observe, key, sound=sound),
        new_state=new_state,
        ranges={
            "rules": (rules, rules),
            "most": (like.most[0], like.most[0]),
            "initial": (initial, initial),
            "options": ((2 if setting.draw == DIVIDED else like.most[0]), like.most[0]),
            "values": (0, setting.largest) if drawn else (setting.values, setting.values),
            "held": (-1, like.most[0] - 1),
            "last": (-1, words.offers - 1),
            "now": ([0, 0, 0, -1, 0, 0], [long, seats - 1, long, seats - 1, seats - 2, 1]),
        },
        conditions=CONDITIONS,
        rules=words.rules(like),
        goal=words.goal(like),
        describe=words.describe,
        compact=words.compact,
        action_to_text=words.action_to_text,
        parse_action=words.parse_action,
        tell=lambda state, i: ended(state, i, words),
        config={
            "preset": preset,
            "players": seats if "players" in chosen.takes else None,
            "turns": long,
            "score": paid,
            "discount": left,
            "items": setting.items,
            "values": setting.given,
            "issues": issue_count if "issues" in chosen.takes else None,
            "options": most if "options" in chosen.takes else None,
        },
    )


def named() -> Presets:
    """The presets as the registry needs them."""
    rows = [("preset", "players", "turns", "score", "offers")]
    for name in PRESETS:
        game = negotiation(name)
        rows.append(
            (
                name,
                str(game.info.players),
                str(game.info.max_cycles),
                game.config["score"],
                str(game.info.num_actions - 2),
            )
        )
    return Presets({name: preset.about for name, preset in PRESETS.items()}, rows, _carried)


def _carried(run: Mapping[str, Any], chosen: Mapping[str, Any]) -> dict[str, Any]:
    """The run's talk channel, where the chosen game's differs; players read everything else as they meet it."""
    talk = run.get("talk", 0)
    return {"talk": talk} if talk != chosen.get("talk", 0) else {}


def words_of(game: Game) -> Words:
    """The text face of a negotiation."""
    config, most = game.config, game.new_state(1).most[0].tolist()
    names = _ITEMS if config["preset"] == "deal_or_no_deal" else tuple(config["items"] or _ISSUES[: len(most)])
    return Words(names, PRESETS[config["preset"]].style, tuple(most))


class _Setting(NamedTuple):
    """What is negotiated about: K names, most options, options in force (-1: none), values [P, K, M], how they come."""

    names: tuple[str, ...]
    most: list[int]
    initial: list[int]
    values: NDArray[np.int32]
    draw: int
    largest: int
    items: dict[str, int] | None = None
    given: list[Any] | None = None


def _setting(preset: str, style: str, players: Any, items: Any, values: Any, issues: Any, options: Any) -> _Setting:
    if style == "issues":
        return _about_issues(players, values, issues, options)
    if preset == "deal_or_no_deal":
        # The values of a game are drawn by reset; before that a row holds those of the smallest deal.
        most = [MOST_ITEMS - len(_ITEMS) + 2] * len(_ITEMS)
        blank = np.zeros((2, len(_ITEMS), most[0]), np.int32)
        return _Setting(_ITEMS, most, [-1] * len(_ITEMS), blank, DIVIDED, TOTAL)
    trade = preset == "trade"
    held = _items({"Wood": 10, "Gold": 10} if trade else {"coin": 10}, items)
    names, counts = tuple(held), [count * (1 + trade) for count in held.values()]
    worth = _worth([[5, 15], [15, 5]] if trade and items is None else [[1] * len(names)] * 2, values, len(names))
    _need_few([count + 1 for count in counts])
    table = np.zeros((2, len(names), max(counts) + 1), np.int32)
    for k, count in enumerate(counts):
        for o in range(count + 1):
            table[0, k, o], table[1, k, o] = worth[0][k] * o, worth[1][k] * (count - o)
    initial = list(held.values()) if trade else [-1] * len(names)
    most = [count + 1 for count in counts]
    return _Setting(names, most, initial, table, FIXED, max(1, int(table.max())), held, worth)


def _items(usual: dict[str, int], given: Any) -> dict[str, int]:
    """Names and numbers of items."""
    if given is None:
        return usual
    if not isinstance(given, Mapping) or not 1 <= len(given) <= 6:
        raise UsageError(f"negotiation: items={told(given)} came; one to six are needed, as in {{'Wood': 10}}.")
    for name in given:
        if not isinstance(name, str) or not name.isascii() or not name.isidentifier() or name.lower() == "nothing":
            raise UsageError(
                f"negotiation: {told(name)} came as an item; a name of ASCII letters and digits is needed."
            )
    if len({name.lower() for name in given}) != len(given) or max(map(len, given)) > 20:
        raise UsageError(f"negotiation: items={told(given)} came; different names of up to 20 letters are needed.")
    return {name: whole_number(f"negotiation: {name}", count, 1, 2000) for name, count in given.items()}


def _worth(usual: list[list[int]], given: Any, kinds: int) -> list[list[int]]:
    """[2][K] the value of one item of each kind."""
    rows = usual if given is None else given
    fits = isinstance(rows, list | tuple) and len(rows) == 2
    if not fits or not all(isinstance(row, list | tuple) and len(row) == kinds for row in rows):
        raise UsageError(
            f"negotiation: values={told(given)} came; for each of two players {kinds} numbers are needed, one for each "
            "kind of items."
        )
    return [[whole_number("negotiation: values", v, 0, VALUE) for v in row] for row in rows]


def _about_issues(players: Any, values: Any, issues: Any, options: Any) -> _Setting:
    seats = whole_number("negotiation: players", 3 if players is None else players, 2, 6)
    count = whole_number("negotiation: issues", 3 if issues is None else issues, 1, 6)
    width = whole_number("negotiation: options", 4 if options is None else options, 2, 20)
    _need_few([width] * count)
    names = _ISSUES[:count]
    blank = np.zeros((seats, count, width), np.int32)
    if values is None:
        return _Setting(names, [width] * count, [-1] * count, blank, DRAWN, TOTAL)
    try:
        table = np.array(values)
    except ValueError:  # rows of different lengths
        table = np.zeros(0)
    if table.shape != blank.shape or table.dtype.kind not in "iu" or table.min() < 0 or table.max() > VALUE:
        raise UsageError(
            f"negotiation: values={told(values)} came; whole numbers 0 to {VALUE} of shape {list(blank.shape)} are "
            "needed: players, issues, options."
        )
    given = table.astype(np.int32)
    return _Setting(names, [width] * count, [-1] * count, given, FIXED, max(1, int(given.max())), None, given.tolist())


def _need_few(most: list[int]) -> None:
    """Refuse games with too many different offers."""
    count = math.prod(most)
    if count > OFFERS:
        raise UsageError(
            f"negotiation: {count:,} different offers ({' x '.join(map(str, most))}) are too many; {OFFERS:,} may be."
        )
