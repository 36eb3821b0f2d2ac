"""The panel next to the map in the gridworld's window: the world, and the selected agent or object."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from ..aliases import Player, State
from ..envs.core import Game
from ..envs.gridworld.config import GridworldConfig
from ..envs.gridworld.config.world import plane_names
from ..envs.gridworld.state import WALL, World
from .board import PALETTE, Color, mixed
from .gridworld import Look, color_of
from .gridworld_facts import agent_facts, planes_of, recipe, thing_facts
from .gridworld_sprites import ICONS, ITEM_COLORS, sprite
from .screen import WORDS, Spot
from .sheet import DIM, Sheet

__all__ = ["GOOD", "Panel", "Scene"]

GOOD: Final[Color] = (110, 226, 128)
BAD: Final[Color] = (255, 96, 88)
MOST_KIN: Final = 6
MOST_AGENTS: Final = 14


@dataclass(frozen=True, eq=False)
class Scene:
    """What the window shows.

    Attributes:
        state: one world.
        version: rises whenever the state changes.
        names: the player of each slot.
        returns: [S] each slot's return so far.
        own: the slot that a person controls, or None.
        status: a line about the state of play.
        controls: (name, label) of the buttons.
        replay: whether this is a replay: no agent can be taken over, and there is a timeline.
        ticks: the number of ticks of the replay.
    """

    state: State
    version: int
    names: tuple[str, ...]
    returns: Any
    own: Player | None = None
    status: str = ""
    controls: tuple[tuple[str, str], ...] = ()
    replay: bool = False
    ticks: int = 0


class Panel:
    """Draws the panel of one game.

    Args:
        game: a gridworld.
        config: its configuration.
        look: how its object types look.

    Attributes:
        plane: the plane of the observation that is shown.
        words: whether the observation is shown as text instead.
    """

    def __init__(self, game: Game, config: GridworldConfig, look: Look) -> None:
        self.game, self.config, self.look = game, config, look
        self.planes = plane_names(config)
        self.plane = 0
        self.words = False

    def draw(
        self,
        surface: Any,
        box: tuple[int, int, int, int],
        scene: Scene,
        slot: Player | None,
        place: int | None,
        over: tuple[int, int] | None,
    ) -> list[Spot]:
        """Draw the panel within a box of a surface; returns what can be clicked.

        Args:
            surface: the window's surface.
            box: x, y, w, h in pixels.
            scene: what to show.
            slot: the selected agent, or None.
            place: the number of the selected object, or None.
            over: the position of the pointer, or None.
        """
        x, y, w, h = box
        surface.fill(PALETTE.background, box)
        sheet = Sheet(surface, x, y, w, y + h - 6)
        self._world(sheet, scene)
        sheet.rule()
        if slot is not None:
            self._agent(sheet, scene, slot, over)
        elif place is not None and thing_facts(self.config, scene.state, 0, place) is not None:
            self._thing(sheet, scene.state, place)
        else:
            self._overview(sheet, scene)
        return sheet.spots

    def _world(self, sheet: Sheet, scene: Scene) -> None:
        rules, agents = scene.state.rules[0], scene.state.agents[0]
        clock, most = int(rules["clock"]), int(rules["max_steps"])
        sheet.line(f"Tick {clock:,} of {most:,}", height=18, bold=True, right=f"{int(agents['alive'].sum())} alive")
        sheet.gap(4)
        sheet.bar(clock / max(1, most), PALETTE.faint, 5)
        sheet.gap(6)
        sheet.line(scene.status, PALETTE.accent if scene.own is not None else DIM)

    # -- nothing is selected -------------------------------------------------------------------------------------------

    def _overview(self, sheet: Sheet, scene: Scene) -> None:
        world = scene.state
        sheet.line("Agents", DIM, right="return")
        agents = world.agents[0]
        best = sorted(range(len(agents)), key=lambda s: (-scene.returns[s], s))[:MOST_AGENTS]
        for s in best:
            self._row(sheet, world, s, scene.names[s], f"{scene.returns[s]:.4g}")
        if len(agents) > len(best):
            total = f"{float(np.sum(scene.returns)):.5g}"
            sheet.line(f"and {len(agents) - len(best)} more", DIM, right=f"total: {total}")
        sheet.rule()
        kinds = world.objects[0]["type"]
        for t, (name, kind) in enumerate(self.config.objects.items()):
            count = int((kinds == t).sum())
            if not sheet.room(26):
                break
            sheet.picture(self._icon(t, 22), sheet.x, sheet.y)
            words = f"{name}: {recipe(kind, world.types[0, t])}" if kind.usable else name
            sheet.gap(2)
            sheet.line(words, left=32, right=f"{count}")
            sheet.gap(4)
        sheet.gap(4)
        sheet.line("Click an agent or a thing; h: all keys", DIM)

    def _row(self, sheet: Sheet, world: World, s: Player, name: str, right: str) -> None:
        """A line about an agent; a click selects it."""
        agent = world.agents[0, s]
        if not sheet.room(20):
            return
        sheet.picture(sprite("agent", 18, 18, color_of(agent), int(agent["facing"]), False), sheet.x, sheet.y + 1)
        label = f"{int(agent['id'])}  {name}" + ("" if agent["alive"] else "  (dead)")
        sheet.line(label, PALETTE.text if agent["alive"] else DIM, left=26, right=right, spot=("look", s))

    # -- an agent ------------------------------------------------------------------------------------------------------

    def _agent(self, sheet: Sheet, scene: Scene, slot: Player, over: tuple[int, int] | None) -> None:
        facts = agent_facts(self.config, scene.state, 0, slot)
        agent = scene.state.agents[0, slot]
        sheet.picture(
            sprite("agent", 34, 34, color_of(agent), int(agent["facing"]), facts.frozen > 0), sheet.x, sheet.y
        )
        own = scene.own == slot
        sheet.line(f"Agent {facts.id}", height=18, bold=True, left=44, right=f"return {scene.returns[slot]:.4g}")
        who = "you" if own else scene.names[slot]
        sheet.line(who if facts.alive else f"{who}, dead", PALETTE.accent if own else DIM, left=44)
        sheet.gap(8)
        level = facts.energy / max(1, facts.max_energy)
        sheet.line("energy", DIM, right=f"{facts.energy} of {facts.max_energy}")
        sheet.bar(level, mixed(BAD, GOOD, min(1.0, level)))
        sheet.gap(6)
        self._items(sheet, facts.items)
        states = [f"frozen for {facts.frozen} ticks"] * (facts.frozen > 0) + ["shield on"] * facts.shield
        if states:
            sheet.line(", ".join(states), (150, 205, 255))
        sheet.line("last action", DIM, right=facts.last or "none")
        for what, value in facts.more:
            sheet.line(what, DIM, right=value)
        if facts.kin:
            sheet.rule()
            sheet.line("In sight", DIM, right="relatedness")
            for s, _, near, away in facts.kin[:MOST_KIN]:
                self._row(sheet, scene.state, s, f"{away} cell{'s' * (away != 1)} away", f"{near:.3g}")
            if len(facts.kin) > MOST_KIN:
                sheet.line(f"and {len(facts.kin) - MOST_KIN} more", DIM)
        sheet.rule()
        if not scene.replay and facts.alive:
            take = ("release", "Hand back (Enter)", slot) if own else ("take", "Take over (Enter)", slot)
            sheet.buttons([take], over)
        self._sight(sheet, scene.state, slot, over)

    def _items(self, sheet: Sheet, items: tuple[tuple[str, int, int], ...]) -> None:
        wide = sheet.width / max(3, min(len(items), 4))
        for k, (name, count, most) in enumerate(items):
            column = k % 4
            if column == 0 and k:
                sheet.gap(24)
            if not sheet.room(24):
                return
            x = sheet.x + column * wide
            faded = ITEM_COLORS[k % len(ITEM_COLORS)] if count else PALETTE.faint
            sheet.picture(sprite("item", 14, 14, faded), x, sheet.y + 3)
            color = PALETTE.text if count else DIM
            sheet.text(x + 20, sheet.y + 10, f"{name} {count}/{most}", WORDS, color, anchor=0.0)
        sheet.gap(26)

    def _sight(self, sheet: Sheet, world: World, slot: Player, over: tuple[int, int] | None) -> None:
        """The agent's observation: a plane, or its text description."""
        words = ("words", "planes (o)" if self.words else "words (o)", 0)
        sheet.buttons([("plane before", "[", 0), words, ("plane next", "]", 0)], over)
        if self.words:
            for line in self.game.describe(world, 0, slot).splitlines():
                if any(mark in line for mark in "#@^v<>.") and " " not in line.strip():
                    sheet.grid([line], 14, 14)
                else:
                    sheet.paragraph(line, height=13)
            return
        name = self.planes[self.plane]
        sheet.line(f"plane {self.plane}: {name}", DIM)
        seen = planes_of(self.game, self.config, world, 0, slot)[self.plane]
        rows, columns = seen.shape
        side = int(min(sheet.width / columns, (sheet.bottom - sheet.y - 4) / rows, 28))
        if side < 5:
            return
        most = max(1, int(seen.max()))
        left = sheet.x + (sheet.width - side * columns) // 2
        for (row, col), value in np.ndenumerate(seen):
            shade = mixed(PALETTE.cell, PALETTE.second, value / most)
            sheet.surface.fill(shade, (left + col * side, sheet.y + row * side, side - 1, side - 1))
            if value and side >= 16:
                middle = (left + (col + 0.5) * side, sheet.y + (row + 0.5) * side)
                sheet.text(*middle, str(value), 11, (20, 26, 36))
        middle = (left + columns // 2 * side - 1, sheet.y + rows // 2 * side - 1)
        sheet.rectangle(*middle, side + 1, side + 1, PALETTE.text, 2, line=1)
        sheet.gap(side * rows + 4)

    # -- a thing -------------------------------------------------------------------------------------------------------

    def _thing(self, sheet: Sheet, world: World, place: int) -> None:
        facts = thing_facts(self.config, world, 0, place)
        assert facts is not None
        sheet.picture(self._icon(facts.type, 34), sheet.x, sheet.y)
        sheet.line(facts.name, height=18, bold=True, left=44)
        sheet.line(facts.state, DIM, left=44)
        sheet.gap(8)
        for what, value in facts.more:
            sheet.line(what, DIM, right=value)

    def _icon(self, t: int, side: int) -> Any:
        name, color = self.look.names[t], self.look.colors[t]
        if t == WALL:
            return sprite("wall", side, side, 0)
        if name in ICONS:
            return sprite(name, side, side, True, color)
        return sprite("glyph", side, side, True, color, self.look.glyphs[t])
