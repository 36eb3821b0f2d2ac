"""The page of a world in a real browser: it opens, scrubs, zooms, selects, and shows what was played."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from coterie.envs import make_game
from coterie.renderers.gridworld import config_of
from coterie.renderers.gridworld_facts import agent_facts
from coterie.renderers.web.page import write_page
from coterie.renderers.web.world import pack_shares, show

from .test_world import DEADLY, played

STATE = "coterie.views.world.state()"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A file, its game, states and rewards. Texts are stored for agents 0 to 3."""
    game = make_game("gridworld", **{**DEADLY, "kinship": {"mode": "families", "size": 2}})
    record, states, paid = played(game, 40)
    made = show(game, record, texts=range(4))
    shares = np.where(np.arange(game.info.num_actions) < 4, 32767 // 4, -1).astype(np.int16)  # the first four, equally
    made["world"]["thoughts"] = {"0": pack_shares(np.tile(shares, (len(states), 1)))}
    path = write_page(made, tmp_path_factory.mktemp("world") / "world.html")
    return path, game, states, paid


def begin(opened: Any, path: Path, **more: Any) -> Any:
    page = opened(path, **more)
    page.wait_for_function(f"() => {STATE}.ready")
    return page


def seek(page: Any, tick: int) -> None:
    page.evaluate(f"coterie.api.seek({tick})")
    drawn = "requestAnimationFrame(() => setTimeout(done, 100))"  # the map, then within 80 ms the column at the side
    page.evaluate(f"() => new Promise((done) => {drawn})")


def click_agent(page: Any, slot: int) -> None:
    at = page.evaluate(
        f"(() => {{ const s = {STATE}, r = devicePixelRatio; return [(s.left + (s.col({slot}) + 0.5) * s.cell) / r, "
        f"(s.top + (s.row({slot}) + 0.5) * s.cell) / r]; }})()"
    )
    page.locator("canvas.map").click(position={"x": at[0], "y": at[1]})


def test_every_tick_is_what_was_played(opened: Any, world: Any) -> None:
    path, game, states, _ = world
    page = begin(opened, path)
    ends = [0, 1, len(states) - 1, len(states) // 2, 3, len(states) - 2]
    for tick in ends:
        seek(page, tick)
        agents, objects = states[tick].agents[0], states[tick].objects[0]
        found = page.evaluate(
            f"Array.from({{length: {game.info.players}}}, (_, s) => ['row', 'col', 'alive', 'energy', 'facing', "
            f"'frozen_until', 'label'].map((name) => {STATE}.field(name, s)))"
        )
        names = ["row", "col", "alive", "energy", "facing", "frozen_until", "label"]
        assert found == [[int(agent[name]) for name in names] for agent in agents]
        assert page.evaluate(f"Array.from({STATE}.objects.type)") == objects["type"].tolist()
        assert page.evaluate(f"Array.from({STATE}.objects.stock)") == objects["stock"].tolist()
        alive = int(agents["alive"].sum())
        assert f"Tick {tick} of 5,000, {alive} of {len(agents)} alive." in page.locator(".status").inner_text()


def test_an_agent_is_selected_by_a_click_and_told_about(opened: Any, world: Any) -> None:
    path, game, states, paid = world
    page = begin(opened, path)
    tick = 6
    seek(page, tick)
    slot = next(s for s in range(4) if states[tick].agents[0, s]["alive"])
    click_agent(page, slot)
    page.wait_for_function(f"() => {STATE}.slot === {slot}")
    panel = page.locator("section[aria-label=Selected]")
    panel.locator("pre", has_text="You (").wait_for()
    words = panel.inner_text()
    facts = agent_facts(config_of(game), states[tick], 0, slot)
    assert f"{facts.energy} of {facts.max_energy}" in words
    for name, count, most in facts.items:
        assert f"{name} {count} of {most}" in words
    assert facts.last in words
    earned = sum(float(one[slot]) for one in paid[: tick + 1])
    assert panel.locator(".score").first.inner_text() == f"{earned:.4g}".replace("-", "−")
    assert panel.locator("pre").inner_text().split() == game.describe(states[tick], 0, slot).split()
    page.locator("canvas.map").press("Escape")
    page.wait_for_function(f"() => {STATE}.slot === null")


def test_only_the_left_button_and_upright_wheels_move_the_map(opened: Any, world: Any) -> None:
    page = begin(opened, world[0])
    before = page.evaluate(STATE + ".cell"), page.evaluate(STATE + ".left")
    box = page.locator("canvas.map").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.wheel(30, 0)
    page.mouse.down(button="right")
    page.mouse.move(x + 60, y, steps=3)
    page.wait_for_timeout(100)
    assert (page.evaluate(STATE + ".cell"), page.evaluate(STATE + ".left")) == before
    page.mouse.up(button="right")
    page.mouse.wheel(0, -30)
    page.wait_for_function(f"c => {STATE}.cell > c", arg=before[0])


def test_words_that_are_not_stored_are_said_to_be_so(opened: Any, world: Any) -> None:
    page = begin(opened, world[0])
    page.evaluate("coterie.views.world.select(5)")
    page.locator("pre.told", has_text="--texts 5").wait_for()


def test_what_an_agent_thinks_is_shown_beside_it(opened: Any, world: Any) -> None:
    page = begin(opened, world[0])
    page.evaluate("coterie.views.world.select(0)")
    panel = page.locator("section[aria-label='What the model thinks']")
    panel.locator(".bars li").nth(3).wait_for()
    assert panel.locator(".bars li").count() == 4
    assert [text.strip() for text in panel.locator(".percent").all_inner_texts()] == ["25 %"] * 4
    assert "1.39 nats" in panel.inner_text()
    page.evaluate("coterie.views.world.select(5)")
    panel.locator("p", has_text="--texts 5").wait_for()


def test_keys_select_and_the_camera_follows(opened: Any, world: Any) -> None:
    path, _, states, _ = world
    page = begin(opened, path, width=500, height=800)
    page.keyboard.press("]")
    page.keyboard.press("c")
    for tick in (0, 2, 5):
        seek(page, tick)
        found = page.evaluate(STATE)
        agent = states[tick].agents[0, 0]
        assert (found["slot"], found["following"]) == (0, True)
        wide = page.locator("canvas.map").bounding_box()["width"]
        x = found["left"] + (int(agent["col"]) + 0.5) * found["cell"]
        assert 0 <= x <= wide
    before = page.evaluate(STATE)["cell"]
    page.keyboard.press("PageUp")
    assert page.evaluate(STATE)["cell"] > before
    page.keyboard.press("w")
    assert not page.evaluate(STATE)["following"]


def test_zoom_pan_and_minimap(opened: Any, world: Any) -> None:
    page = begin(opened, world[0])
    canvas = page.locator("canvas.map")
    area = canvas.bounding_box()
    whole = page.evaluate(STATE)
    page.mouse.move(area["x"] + 300, area["y"] + 300)
    for _ in range(9):
        page.mouse.wheel(0, -120)
    page.wait_for_function(f"() => {STATE}.cell > {whole['cell']} * 2")
    near = page.evaluate(STATE)
    ahead = [(300 - s["left"]) / s["cell"] for s in (whole, near)]
    assert abs(ahead[0] - ahead[1]) < 1, "the cell under the pointer stays there"
    page.mouse.down()
    page.mouse.move(area["x"] + 360, area["y"] + 320, steps=4)
    page.mouse.up()
    moved = page.evaluate(STATE)
    assert moved["left"] > near["left"]
    assert moved["slot"] is None, "a drag selects nothing"
    page.mouse.click(area["x"] + area["width"] - 20, area["y"] + area["height"] - 20)
    page.wait_for_timeout(100)
    jumped = page.evaluate(STATE)
    assert jumped["left"] < moved["left"], "a click at the lower right of the minimap goes there"
    assert jumped["top"] < moved["top"]
    canvas.focus()
    page.keyboard.press("0")
    page.wait_for_function(f"() => {STATE}.cell === {whole['cell']}")


def test_two_fingers_zoom_on_a_phone(opened: Any, world: Any) -> None:
    page = begin(opened, world[0], width=390, height=844, device_scale_factor=2, has_touch=True, is_mobile=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390, "nothing sticks out"
    sizes = page.evaluate("[...document.querySelectorAll('.stage > canvas')].map((c) => [c.width, 2 * c.clientWidth])")
    assert all(drawn == shown for drawn, shown in sizes), "one pixel of the canvas is one of the screen"
    before = page.evaluate(STATE)["cell"]
    page.evaluate(
        """() => {
          const map = document.querySelector("canvas.map"), area = map.getBoundingClientRect();
          map.setPointerCapture = () => {};
          const send = (kind, id, x) => map.dispatchEvent(new PointerEvent(kind, {pointerId: id, bubbles: true,
            clientX: area.left + x, clientY: area.top + 100, buttons: 1}));
          send("pointerdown", 1, 150); send("pointerdown", 2, 200);
          for (let x = 200; x <= 320; x += 10) send("pointermove", 2, x);
          send("pointerup", 2, 320); send("pointerup", 1, 150);
        }"""
    )
    found = page.evaluate(STATE)
    assert found["cell"] > 1.8 * before
    assert found["slot"] is None


def test_the_totals_seek(opened: Any, world: Any) -> None:
    path, _, states, _ = world
    page = begin(opened, path)
    strip = page.locator("canvas.totals")
    area = strip.bounding_box()
    strip.click(position={"x": 8 + (area["width"] - 120) / 2, "y": 20})
    assert abs(page.evaluate(STATE)["k"] - (len(states) - 1) / 2) <= 1


def test_families_differ_in_shape_too(opened: Any, world: Any) -> None:
    path, _, states, _ = world
    page = begin(opened, path)
    page.locator(".agents canvas").nth(6).wait_for()
    outlines = page.evaluate(
        "[...document.querySelectorAll('.agents canvas')].map((c) => c.getContext('2d').getImageData(0, 0, c.width, "
        "c.height).data.filter((_, i) => i % 4 === 3).map((alpha) => (alpha > 128 ? 1 : 0)).join(''))"
    )
    labels = states[0].agents[0]["label"].tolist()
    assert len(set(labels)) == len(set(outlines)) > 2
    assert len(set(zip(labels, outlines, strict=True))) == len(set(labels)), "one family, one shape"
