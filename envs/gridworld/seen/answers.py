"""Names of actions, and the action that a text means.

Names: noop, forward, back, face up (down, left, right), use, attack 1 .. attack 9, shield, swap, gift and an item.

Whether an action would succeed depends on the agent, which the parser does not know. It refuses what no agent can do:
a verb that is switched off, and any action after the last tick. The mask decides the rest.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from ....aliases import Action
from ....errors import AmbiguousAction, IllegalAction, InvalidAction, did_you_mean
from ..config import GridworldConfig
from ..state import ATTACK, BACK, FORWARD, GIFT, NOOP, ROTATE, SHIELD, SWAP, USE, World

__all__ = ["DIRECTIONS", "Reader", "action_names", "action_to_text", "choices", "listed", "parse_action"]

DIRECTIONS = ("up", "down", "left", "right")

_PATTERNS: dict[Action, str] = {
    NOOP: r"no-?op|wait|stay|stand still|do nothing|pass|idle",
    FORWARD: r"(?:move |go |step |walk )?forwards?|(?:move|go|step|walk) ahead",
    BACK: r"(?:move |go |step |walk )?backwards?|(?:(?:move|go|step|walk) )?back",
    **{
        ROTATE + k: rf"(?:face|turn|rotate|look)(?: to)?(?: the)? {name}(?:wards?)?"
        for k, name in enumerate(DIRECTIONS)
    },
    USE: r"use|activate",
    SHIELD: r"(?:toggle |raise |lower |drop )?shield(?: on| off)?",
    SWAP: r"swap(?: places)?",
}
"""What people write for an action, alone or in a sentence."""

_ATTACK = re.compile(r"\b(?:attack|strike|hit)s?(?: at)?(?: (?:cell|place|number|no))?[ _.#:]*(-?\d+)?\b")
_GIFT = re.compile(r"\b(?:gift|give)s?(?: (?:away|an?|one|item))*[ _:]*(\w+)?")
_BARE = {name: ROTATE + k for names in (DIRECTIONS, "^v<>") for k, name in enumerate(names)}
"""Understood only as the whole text: in a sentence they can refer to anything."""


def action_names(config: GridworldConfig) -> tuple[str, ...]:
    """[A] the name of each action."""
    return (
        "noop",
        "forward",
        "back",
        *(f"face {name}" for name in DIRECTIONS),
        "use",
        *(f"attack {k}" for k in range(1, 10)),
        "shield",
        "swap",
        *(f"gift {item}" for item in config.items),
    )


def switched_off(config: GridworldConfig) -> dict[Action, str]:
    """Actions that the configuration switches off -> their verb."""
    numbers = {
        "attack": range(ATTACK, SHIELD),
        "shield": (SHIELD,),
        "swap": (SWAP,),
        "gift": range(GIFT, GIFT + len(config.items)),
    }
    return {a: verb for verb, actions in numbers.items() if not getattr(config.actions, verb) for a in actions}


def choices(config: GridworldConfig) -> list[Action]:
    """The actions that the configuration allows, ascending."""
    return [a for a in range(GIFT + len(config.items)) if a not in switched_off(config)]


def listed(names: tuple[str, ...], actions: list[Action]) -> str:
    """Names in one line, grouped by verb: ``noop, forward, face up/left, attack 1/4``."""
    told: list[str] = []
    verb = ""
    for a in actions:
        name = names[a]
        first, _, rest = name.partition(" ")
        if rest and first == verb:
            told[-1] += f"/{rest}"
        else:
            told.append(name)
        verb = first if rest else ""
    return ", ".join(told)


def action_to_text(config: GridworldConfig) -> Callable[[World, int, Action], str]:
    """``Game.action_to_text`` for a configuration: the action's name, whatever the state."""
    names = action_names(config)

    def to_text(state: World, i: int, action: Action) -> str:
        return names[action] if 0 <= action < len(names) else f"action {action}"

    return to_text


def parse_action(config: GridworldConfig) -> Callable[[World, int, str], Action]:
    """``Game.parse_action`` for a configuration: the one action that a text names.

    The function raises:
        InvalidAction: the text names no action of this game.
        AmbiguousAction: it names several actions, or only a part of one (an attack without its number).
        IllegalAction: its verb is switched off, or the episode has ended.
    """
    reader = Reader(config)

    def parse(state: World, i: int, text: str) -> Action:
        action = reader.read(text)
        rules = state.rules[i]
        if rules["clock"] >= rules["max_steps"]:
            raise IllegalAction(f"{text!r} comes too late: the episode ended after {int(rules['max_steps'])} ticks.")
        return action

    return parse


class Reader:
    """Finds the action that a text means, whatever the state.

    Args:
        config: the configuration.
    """

    def __init__(self, config: GridworldConfig) -> None:
        self.names = action_names(config)
        self.items = config.items
        self.off = switched_off(config)
        self.choices = listed(self.names, choices(config))
        self._exact = {name: a for a, name in enumerate(self.names)}
        self._patterns = [
            (a, re.compile(rf"\b(?:{pattern.replace(' ', '[ _]')})\b")) for a, pattern in _PATTERNS.items()
        ]

    def read(self, text: str) -> Action:
        """The one action that a text names; raises as ``parse_action`` does."""
        found = self._named(text)
        if len(found) > 1:
            named = ", ".join(self.names[a] for a in sorted(found))
            raise AmbiguousAction(f"{text!r} names several actions: {named}. Answer with one of them alone.")
        if not found:
            words = " ".join(text.lower().split())
            raise InvalidAction(
                f"{text!r} names no action.{did_you_mean(words, self._exact, 0.7)} Answer with one of {self.choices}."
            )
        action = found.pop()
        if action in self.off:
            raise IllegalAction(
                f"{self.names[action]!r} cannot be done: this world has no {self.off[action]}. "
                f"Answer with one of {self.choices}."
            )
        return action

    def _named(self, text: str) -> set[Action]:
        alone = " ".join(text.split()).strip("\"'`*.!")
        if alone in self._exact:
            return {self._exact[alone]}
        words = alone.lower()
        if words in _BARE:
            return {_BARE[words]}
        rest, found = words, set[Action]()
        for pattern, meant in ((_ATTACK, self._attacks), (_GIFT, self._gifts)):
            for match in pattern.finditer(rest):
                found.update(meant(text, match[1]))
            rest = pattern.sub(" ", rest)
        for action, named in self._patterns:
            if named.search(rest):
                found.add(action)
        return found

    def _attacks(self, text: str, number: str | None) -> Iterator[Action]:
        if number is None:
            raise AmbiguousAction(f"{text!r} doesn't say which of the nine cells: answer with attack 1 to attack 9.")
        k = number.lstrip("0")
        if k not in set("123456789"):  # Python's int() refuses numbers of thousands of digits
            raise InvalidAction(f"{text!r} names attack {number}; there are attack 1 to attack 9.")
        yield ATTACK + int(k) - 1

    def _gifts(self, text: str, item: str | None) -> Iterator[Action]:
        meant = [j for j, name in enumerate(self.items) if item is not None and name.lower() == item]
        if len(meant) == 1 or (item is None and len(self.items) == 1):
            yield GIFT + (meant or [0])[0]
            return
        known = ", ".join(f"gift {name}" for name in self.items)
        if item is None or meant:
            raise AmbiguousAction(f"{text!r} doesn't say which item: answer with one of {known}.")
        raise InvalidAction(
            f"{text!r} names no item to give.{did_you_mean(item, self.items)} Answer with one of {known}."
        )
