"""Text observations, in full and in one line.

``describe`` is for people and large models: the window as a picture with the agent (``^v<>``) in its centre, what lies
ahead, a legend of what is in sight with the nearest of each, the other agents, and the legal actions. Cells beyond the
map are blank. Of many agents in sight, the nearest are described in detail while there is ``ROOM``.

``compact`` is one line for small models: everything in sight from the agent outward, the most needed facts last::

    #HjFh NGhIg nDh @Gi<250,2,0,0,3,-,1 ^240 1,0,0 0 - 07+ 1 28,30 N>
    |     |     |   |                   |    |     | | |   | |     what is ahead (. nothing, ~ the edge, @ an agent)
    |     |     |   |                   |    |     | | |   | its uses left and hit points
    |     |     |   |                   |    |     | | |   the last reward
    |     |     |   |                   |    |     | | the last action, + if it succeeded, else -
    |     |     |   |                   |    |     | S where the shield is on
    |     |     |   |                   |    |     frozen: ticks
    |     |     |   |                   |    items
    |     |     |   |                   direction and energy
    |     |     |   another agent: place, direction and energy, items, frozen, shield, kinship
    |     |     places of generators that cannot be used now
    |     places of generators that can be used now
    places of walls: row H column h is the agent's own place, G is one up, g one to the left

With ``observation.line="nearest"`` the line is shorter and easier to read, but incomplete: only the nearest usable
object of each type (one that can be used now and one that cannot), the agents in sight and the cells beside the agent.
Walls further away are not shown::

    N1v1< n3^ A1> @2^4> @1^,<250,2,0,0,0,3,- ^@v.<#>A ^240 1,0,0 0 - 07+ 1 28,30 N>
    |     |       |     |                    |        the rest as above
    |     |       |     |                    what is in the cells above, below, to the left and to the right
    |     |       |     the nearest agent with the facts that are known of it
    |     |       another agent: two up, four to the right; in worlds with kinship, how related it is
    |     the nearest generator that cannot be used now
    the nearest generator that can be used now: one down, one to the left

With ``observation.line="steps"`` it says, in place of where those objects are, how to get there. One group for each
usable type, in the order of the configuration and always of the same length, stands at the end::

    @2^4> @1^,<250,2,0,0,0,3,- ^@v.<#>A ^240 1,0,0 0 - 07+ 1 28,30 N NF3C..AU0>
                                                                     |  |  U: use it now, no further action
                                                                     |  no converter in sight, or no way to it
                                                                     a generator that can be used with what the agent
                                                                     holds: F, forward, and three more actions until it
                                                                     is used (9: or more)

The letters are the first action of a quickest way: F forward, B back, ``^v<>`` face that way, U use. It leads through
cells in sight alone; objects and agents block it. A type of which none can be used now gets the way to one that can't.
In this ending a capital letter says that the agent can also pay for the use, in energy (the least, where it is drawn)
and items; elsewhere it says only that the object can be used.

No text shows what the planes hide. All add what else the agent knows: its last action, whether that succeeded, its
last reward and, in worlds with kinship, how related the agents in sight are.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import ge

import numpy as np

from ....aliases import Player
from ..config import GridworldConfig
from ..rules.legal import legal
from ..state import World
from .answers import DIRECTIONS, action_names, action_to_text, listed, parse_action
from .planes import TURNED
from .primer import range_of, rules
from .routes import AHEAD, first_steps
from .sight import (
    COL,
    ENERGY,
    FACING,
    FROZEN,
    HP,
    ITEMS,
    KIN,
    KIN_UNIT,
    KIND,
    READY,
    ROW,
    SHIELD,
    STOCK,
    Sight,
    see,
)
from .signs import AGENT_SIGN, ARROWS, EDGE_SIGN, EMPTY_SIGN, MANY, make_signs

__all__ = ["action_to_text", "compact", "describe", "parse_action", "rules"]

ROOM, SHARE = 300, 8
"""Characters for the legend and the details of other agents: ROOM, less SHARE for each agent in sight. A crowd with
full inventories then stays within 300 tokens of SmolLM2."""

_KIN = {"teams": "your team", "families": "your family", "groups": "your group"}
_ROWS, _COLUMNS = ({k: chr(start + k) for k in range(-7, 8)} for start in (ord("H"), ord("h")))


def describe(config: GridworldConfig) -> Callable[[World, int, Player], str]:
    """``Game.describe`` for a configuration."""
    return _Teller(config).describe


def compact(config: GridworldConfig) -> Callable[[World, int, Player], str]:
    """``Game.compact`` for a configuration."""
    return _Teller(config).compact


def _ready(row: list[int]) -> bool:
    """Whether an object can be used, as far as is visible."""
    return row[READY] != 0 and row[STOCK] != 0


class _Teller:
    """Writes the texts; computes what it needs of the configuration once.

    Args:
        config: the configuration.
    """

    def __init__(self, config: GridworldConfig) -> None:
        self.actions = action_names(config)
        self.items = config.items
        self.types = [name.replace("_", " ") for name in config.objects]
        self.usable = [kind.usable for kind in config.objects.values()]
        # For each type: energy, then items, that a use takes at least.
        self.prices = [
            [
                config.actions.costs.get("use", 0)
                + range_of(config, (f"objects.{name}.energy_cost", "objects.*.energy_cost"), kind.energy_cost)[0],
                *(kind.inputs.get(item, 0) for item in config.items),
            ]
            for name, kind in config.objects.items()
        ]
        self.signs = make_signs(config)
        self.height, self.width = config.observation.height, config.observation.width
        self.rotate, self.line = config.observation.rotate, config.observation.line
        self.kinship = config.kinship.mode
        self.mortal = config.death.hp
        self.attacks = config.actions.attack
        self.digits = max(3, len(str(config.agent.max_energy)))
        # In ``compact``, a type without a character of its own is shown by its number.
        self.short = [
            [sign if sign != MANY else f"{{{t}}}" for t, sign in enumerate(signs)]
            for signs in (self.signs.ready, self.signs.idle)
        ]

    # -- in full -------------------------------------------------------------------------------------------------------

    def describe(self, state: World, i: int, player: Player) -> str:
        sight = see(state, i, player)
        if not sight.cells:
            return "You are dead. The episode is over." if sight.over else "You are dead."
        own, *others = sight.cells
        agents = [row for row in others if row[KIND] == 0]
        lines = [self._own(own, sight.facing), self._picture(sight, agents)]
        ahead = self._ahead(sight)
        if ahead is not None:
            lines.append(f"Ahead: {self._faced(ahead, sight, agents)}.")
        legend = self._legend(others)
        if legend:
            lines.append(f"In sight: {legend}.")
        lines += self._agents(agents, ROOM - len(legend) - SHARE * len(agents))
        if sight.last_action >= 0:
            done = "succeeded" if sight.succeeded else "failed"
            name = self.actions[sight.last_action] if sight.last_action < len(self.actions) else "no action"
            lines.append(f"Last: {name} {done}, reward {sight.last_reward:.4g}.")
        return "\n".join([*lines, "The episode is over." if sight.over else self._legal(state, i, player)])

    def _own(self, row: list[int], facing: int) -> str:
        arrow = ARROWS[row[FACING]]
        turned = " on the map" if self.rotate else ""
        return f"You ({arrow}) look {DIRECTIONS[facing]}{turned}: {', '.join(self._state(row))}."

    def _state(self, row: list[int]) -> list[str]:
        """The visible facts of an agent: energy, items, frozen, shield, hp."""
        told = [f"energy {row[ENERGY]}"] if row[ENERGY] >= 0 else []
        told += [f"{name} {n}" for name, n in zip(self.items, row[ITEMS:], strict=True) if n > 0]
        if row[FROZEN] > 0:
            told.append(f"frozen {row[FROZEN]}")
        if row[SHIELD] > 0:
            told.append("shield")
        if self.mortal and row[HP] >= 0:
            told.append(f"hp {row[HP]}")
        return told

    def _agents(self, agents: list[list[int]], room: int) -> list[str]:
        """One line for each of the nearest while there is room; for the others only their kinship to the observer."""
        lines: list[str] = []
        far: dict[int, list[str]] = {}
        for k, row in enumerate(agents):
            if room > 0 or not k:
                told = [f"looks {DIRECTIONS[row[FACING]]}"] if row[FACING] >= 0 else []
                kin = self._kin(row[KIN])
                line = f"{self._mark(k)}: {', '.join(told + self._state(row) + ([kin] if kin else []))}"
                room -= len(line)
                if room >= 0 or not k:
                    lines.append(line)
                    continue
            far.setdefault(row[KIN], []).append(self._mark(k))
        if far:
            kinds = [f"{' '.join(far[kin])}{f' ({self._kin(kin)})' if kin else ''}" for kin in sorted(far)]
            lines.append(f"Other agents: {', '.join(kinds)}.")
        return lines

    def _kin(self, kin: int) -> str:
        """An agent's kinship to the observer in words, from thousandths; empty if 0."""
        told = f"{kin / KIN_UNIT:g}"
        return (
            (_KIN.get(self.kinship) or f"{'kin' if self.kinship == 'relatedness' else 'share'} {told}") if kin else ""
        )

    def _mark(self, k: int) -> str:
        """The character of the k-th other agent."""
        return self.signs.agents[k] if k < len(self.signs.agents) else MANY

    def _sign(self, row: list[int]) -> str:
        return (self.signs.ready if _ready(row) else self.signs.idle)[row[KIND] - 1]

    def _picture(self, sight: Sight, agents: list[list[int]]) -> str:
        high, wide, width = self.height // 2, self.width // 2, self.width
        cells = [EMPTY_SIGN] * (self.height * width)
        centre = high * width + wide
        for row in sight.cells:
            if row[KIND]:
                cells[centre + row[ROW] * width + row[COL]] = self._sign(row)
        for k, row in enumerate(agents):
            cells[centre + row[ROW] * width + row[COL]] = self._mark(k)
        cells[centre] = ARROWS[sight.cells[0][FACING]]
        above, below, left, right = sight.edges
        indent, lines = " " * (wide - left), [""] * (high - above)
        for start in range(centre - wide - above * width, centre - wide + below * width + 1, width):
            lines.append(indent + "".join(cells[start + wide - left : start + wide + right + 1]))
        return "\n".join(lines + [""] * (high - below))

    def _ahead(self, sight: Sight) -> list[int] | None:
        """The row of the cell ahead, ``[]`` if the cell is empty; None if the window does not show it."""
        row, col = AHEAD[sight.cells[0][FACING]]
        if abs(row) > self.height // 2 or abs(col) > self.width // 2:
            return None
        for seen in sight.cells[1:9]:  # row 0 is the observer; at most eight rows around it follow
            if seen[ROW] == row and seen[COL] == col:
                return seen
        return []

    @staticmethod
    def _within(sight: Sight) -> bool:
        """Whether the cell ahead is on the map."""
        return sight.edges[sight.cells[0][FACING]] > 0

    def _faced(self, row: list[int], sight: Sight, agents: list[list[int]]) -> str:
        """What lies ahead, in words."""
        if not row:
            return "nothing" if self._within(sight) else "the edge of the map"
        if not row[KIND]:
            return f"agent {self._mark(agents.index(row))}"
        told = [self.types[row[KIND] - 1]]
        if row[READY] >= 0:
            told.append("ready" if row[READY] else "busy")
        if row[STOCK] >= 0:
            told.append(f"{row[STOCK]} uses left")
        if self.attacks and row[HP] > 0:
            told.append(f"hp {row[HP]}")
        return ", ".join(told)

    def _legend(self, others: list[list[int]]) -> str:
        """Each sign in sight, what it means and where the nearest is."""
        nearest: dict[str, list[int]] = {}
        for row in others:
            if row[KIND]:
                nearest.setdefault(self._sign(row), row)
        told = []
        for sign, row in sorted(nearest.items(), key=lambda entry: (entry[1][KIND], not _ready(entry[1]))):
            kind = row[KIND] - 1
            name = self.types[kind] if sign != MANY else "other objects"
            if sign == self.signs.ready[kind] != self.signs.idle[kind]:
                name = f"{name} ready"
            elif not _ready(row):
                name = f"{name} unready"
            told.append(f"{sign} {name}{self._where(row) if self.usable[kind] else ''}")
        return "; ".join(told)

    @staticmethod
    def _where(row: list[int]) -> str:
        """`` 3 up 1 left``."""
        below, right = row[ROW], row[COL]
        text = f" {abs(below)} {'down' if below > 0 else 'up'}" if below else ""
        return text + (f" {abs(right)} {'right' if right > 0 else 'left'}" if right else "")

    def _legal(self, state: World, i: int, player: Player) -> str:
        mask = np.zeros(len(self.actions), np.int8)
        legal(state, i, player, mask)
        return f"Legal: {listed(self.actions, np.flatnonzero(mask).tolist())}."

    # -- in one line ---------------------------------------------------------------------------------------------------

    def compact(self, state: World, i: int, player: Player) -> str:
        sight = see(state, i, player)
        if not sight.cells:
            return "dead>"
        told = (self._places if self.line == "places" else self._near)(sight)
        energy, *rest = self._facts(sight.cells[0])
        done = f"{sight.last_action:02d}{'+' if sight.succeeded else '-'}" if sight.last_action >= 0 else "---"
        reward = f"{sight.last_reward:.4g}"
        count = len(self.items)
        told += [energy, ",".join(rest[:count]), *rest[count:], done, reward, self._front(sight)]
        if self.line == "steps":
            told.append(self._steps(sight))
        return " ".join(told) + ">"

    def _places(self, sight: Sight) -> list[str]:
        """Everything in sight: the places of each type, then the other agents with their facts."""
        places: dict[tuple[int, bool], str] = {}
        agents = []
        for row in sight.cells[1:]:
            place = _ROWS[row[ROW]] + _COLUMNS[row[COL]]
            if row[KIND]:
                key = (row[KIND] - 1, not _ready(row))
                places[key] = places.get(key, "") + place
            else:
                agents.append(f"{AGENT_SIGN}{place}{','.join(self._facts(row))}{self._share(row)}")
        return [self.short[unready][kind] + places[kind, unready] for kind, unready in sorted(places)] + agents

    def _near(self, sight: Sight) -> list[str]:
        """The nearest of each usable type (``nearest`` only), the other agents, and what is beside the agent."""
        nearest: dict[tuple[int, bool], str] = {}
        agents: list[str] = []
        for row in sight.cells[1:]:
            if not row[KIND]:
                facts = "" if agents else f",{','.join(self._facts(row))}"
                agents.append(f"{AGENT_SIGN}{_way(row)}{facts}{self._share(row)}")
            elif self.usable[row[KIND] - 1] and self.line == "nearest":
                nearest.setdefault((row[KIND] - 1, not _ready(row)), _way(row))
        told = [self.short[unready][kind] + nearest[kind, unready] for kind, unready in sorted(nearest)]
        return [*told, *reversed(agents), self._around(sight)]

    def _steps(self, sight: Sight) -> str:
        """The first action of a quickest way to use each usable type, and how many more follow."""
        own, *others = sight.cells
        held = [own[ENERGY], *own[ITEMS:]]
        pays = [False, *(all(map(ge, held, price)) for price in self.prices)]
        targets = {(row[ROW], row[COL]): (row[KIND], _ready(row) and pays[row[KIND]]) for row in others}
        arrows = [ARROWS[k] for k in np.argsort(TURNED[sight.facing])] if self.rotate else list(ARROWS)
        found = first_steps(targets, sight.edges, own[FACING], arrows)
        told = []
        for kind, signs in enumerate(zip(*self.short, strict=True)):
            if self.usable[kind]:
                ready = (kind + 1, True) in found or ((kind + 1, False) not in found and pays[kind + 1])
                told.append(signs[not ready] + found.get((kind + 1, ready), ".."))
        return "".join(told)

    def _around(self, sight: Sight) -> str:
        """What is in the four cells beside the agent: an object, an agent, nothing, or the edge of the map."""
        beside = {(row[ROW], row[COL]): row for row in sight.cells[1:9]}
        signs = []
        for way, arrow, edge in zip(AHEAD, ARROWS, sight.edges, strict=True):
            row = beside.get(way)
            if row is None:
                signs.append(arrow + (EMPTY_SIGN if edge else EDGE_SIGN))
            else:
                signs.append(arrow + (self.short[not _ready(row)][row[KIND] - 1] if row[KIND] else AGENT_SIGN))
        return "".join(signs)

    def _share(self, row: list[int]) -> str:
        """Another agent's kinship to the observer, in worlds that have one."""
        return "" if self.kinship == "none" else f",{row[KIN] / KIN_UNIT:g}"

    def _facts(self, row: list[int]) -> list[str]:
        """Direction and energy, items, frozen, shield, hp; hidden facts are empty."""
        told = [_shown(n) for n in (*row[ITEMS:], row[FROZEN])]
        told.append("" if row[SHIELD] < 0 else "-S"[row[SHIELD]])
        if self.mortal:
            told.append(_shown(row[HP]))
        arrow = ARROWS[row[FACING]] if row[FACING] >= 0 else ""
        energy = f"{row[ENERGY]:0{self.digits}d}" if row[ENERGY] >= 0 else ""
        return [arrow + energy, *told]

    def _front(self, sight: Sight) -> str:
        """What is ahead: an object's uses left and hit points, then its sign."""
        ahead = self._ahead(sight)
        if not ahead:
            return "" if ahead is None else EMPTY_SIGN if self._within(sight) else EDGE_SIGN
        if not ahead[KIND]:
            return AGENT_SIGN
        sign = self.short[not _ready(ahead)][ahead[KIND] - 1]
        numbers = [_shown(n) for n in (ahead[STOCK], ahead[HP] if self.attacks else -1)]
        return f"{','.join(numbers)} {sign}"


def _way(row: list[int]) -> str:
    """``3^1<``: three up, one to the left."""
    below, right = row[ROW], row[COL]
    text = f"{abs(below)}{ARROWS[below > 0]}" if below else ""
    return text + (f"{abs(right)}{ARROWS[2 + (right > 0)]}" if right else "")


def _shown(n: int) -> str:
    """A number, or an empty string if it is hidden."""
    return "" if n < 0 else str(n)
