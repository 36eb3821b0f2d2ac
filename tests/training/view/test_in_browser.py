"""Pages of the server in a headless browser, driven as a person would: clicks, drags, keys."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from coterie.envs.registry import make_game, spec
from coterie.training.runs.players import make_player

pytest.importorskip("uvicorn")
pytest.importorskip("torch")
from coterie.training.runs.folder import Run
from coterie.training.runs.presets import preset
from coterie.training.view.rooms import Host
from coterie.training.view.run import RunPage, show

WAIT = 240_000  # milliseconds; the server may have to compile kernels
NOW = "coterie.api.state()"
MAP = {"height": 9, "width": 9, "agents": 3, "objects": {"wall": 4, "generator": 3, "converter": 0, "altar": 1}}


@pytest.fixture
def tab(browser: Any) -> Iterator[Any]:
    """A new page; what goes wrong in its scripts fails the test."""
    page = browser.new_page(viewport={"width": 1200, "height": 800}, accept_downloads=True)
    page.set_default_timeout(WAIT)
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    yield page
    page.close()
    assert not wrong


@pytest.fixture
def play(served: Any, tab: Any) -> Any:
    """``play(game, *words)``: the tab with a page to play on."""

    def begin(name: str, *words: str, **arguments: Any) -> Any:
        game = make_game(name, **arguments)
        title = spec(name).name
        kind = "live" if game.info.is_world else "play"
        data = {"format": 1, "kind": kind, "game": game.info.id, "title": title, "goal": game.goal}
        tab.goto(served(data, host=Host(game, words, make_player)))
        tab.wait_for_selector(".status:not(:empty)")
        return tab

    return begin


def at(tab: Any, x: float, y: float) -> tuple[float, float]:
    """The pixel at this share of the board."""
    box = tab.locator("svg.board").bounding_box()
    return box["x"] + x * box["width"], box["y"] + y * box["height"]


def says(tab: Any, words: str, where: str = ".status") -> None:
    tab.wait_for_function("([w, s]) => document.querySelector(w).textContent.includes(s)", arg=[where, words])


def moves(tab: Any, number: int) -> None:
    tab.wait_for_function("n => document.querySelectorAll('.moves bdi').length === n", arg=number)


def test_tictactoe_by_clicks_to_its_end(play: Any) -> None:
    tab = play("tictactoe", "human", "minimax")
    for key in ("h", "?"):
        tab.keyboard.press(key)
        assert "hint" in (tab.locator("dialog[open]").text_content() or "")
        tab.keyboard.press("Escape")
    tab.keyboard.press("i")
    says(tab, "minimax would play", ".fact")
    assert tab.locator(".mark-hint").count() == 1
    tab.mouse.click(*at(tab, 0.5, 0.5))
    moves(tab, 2)
    tab.keyboard.press("u")
    moves(tab, 0)
    for number in range(1, 6):
        tab.wait_for_selector(".mark-pip, .status.ending")
        if tab.locator(".status.ending").count():
            break
        spot = tab.locator(".mark-pip").first.bounding_box()
        tab.mouse.click(spot["x"] + spot["width"] / 2, spot["y"] + spot["height"] / 2)
        tab.wait_for_selector(f".moves li:nth-child({number}) bdi:nth-of-type(2), .status.ending")
    ending = tab.locator(".status.ending").text_content()
    assert ending in ("A draw.", "You lose.")
    tab.reload()
    says(tab, ending)
    assert tab.locator(".moves bdi").count() >= 5


def test_resign_flip_and_new_seats(play: Any) -> None:
    tab = play("chess", "human", "random")
    drawn = "document.querySelector('svg.board g').innerHTML"
    before = tab.evaluate(drawn)
    tab.click(".control-flip")
    tab.wait_for_function(f"before => {drawn} !== before", arg=before)
    tab.click(".control-resign")
    says(tab, "You lose. player_0 (human) resigns.")
    tab.keyboard.press("n")
    seats = tab.locator("dialog[open] input")
    seats.nth(0).fill("random")
    seats.nth(1).fill("human")
    tab.click("dialog[open] button[value=begin]")
    moves(tab, 1)
    says(tab, "Your move")
    tab.keyboard.press("n")
    tab.locator("dialog[open] input").nth(0).fill("uci:/bin/sh")
    tab.click("dialog[open] button[value=begin]")
    says(tab, "cannot invite", ".alarm")
    moves(tab, 1)


def test_chess_by_dragging_promotion_and_files(play: Any, tmp_path: Path) -> None:
    file = tmp_path / "game.pgn"
    file.write_text('[SetUp "1"]\n[FEN "8/P6k/8/8/8/8/8/K7 w - - 0 1"]\n\n*\n')
    tab = play("chess", "human", "human")
    tab.locator("input[type=file]").set_input_files(file)
    tab.wait_for_selector("svg.board[aria-label*=P6k]")
    tab.mouse.move(*at(tab, 1 / 16, 3 / 16))
    tab.mouse.down()
    tab.mouse.move(*at(tab, 0.3, 0.3), steps=4)
    assert tab.locator(".dragged").count() == 1
    tab.mouse.move(*at(tab, 1 / 16, 1 / 16), steps=4)
    tab.mouse.up()
    tab.wait_for_selector(".chooser button")
    assert tab.locator(".chooser button").all_text_contents()[:4] != []
    tab.click(".chooser button:has-text('Q')")
    moves(tab, 1)
    assert "Q" in (tab.locator(".moves bdi").first.text_content() or "")
    tab.locator(".say input").fill("Kg7")
    tab.keyboard.press("Enter")
    moves(tab, 2)
    with tab.expect_download() as saved:
        tab.click("button:has-text('Save .pgn')")
    saved.value.save_as(file)
    assert "Kg7" in file.read_text()
    tab.click(".control-undo")
    moves(tab, 1)
    tab.locator("input[type=file]").set_input_files(file)
    moves(tab, 2)
    file.write_text("1. e9")
    tab.locator("input[type=file]").set_input_files(file)
    says(tab, "e9", ".alarm")


def test_two_people_at_kuhn_poker_do_not_see_each_others_cards(play: Any) -> None:
    tab = play("kuhn_poker", "human", "human")
    texts = []
    for seat in (0, 1):
        tab.wait_for_selector(f".cover:visible:has-text('player_{seat}')")
        assert tab.locator("svg.board").is_hidden()
        assert tab.locator("svg.board g *").count() == 0
        tab.click(".cover")
        tab.wait_for_selector("button.action")
        texts.append(tab.locator("pre.words").text_content())
        tab.click("button.action >> nth=0")
    assert texts[0] != texts[1]


def test_messages_go_with_actions(play: Any) -> None:
    tab = play("liars_dice", "human", "random", talk=40)
    tab.fill("input[aria-label=Message]", "<b>I never lie</b>")
    tab.click("button.action >> nth=0")
    says(tab, "<b>I never lie</b>", "[aria-label=Messages] ol")
    assert tab.locator("[aria-label=Messages] b").count() == 0


def test_a_game_of_words(play: Any) -> None:
    tab = play("word_chain", "human", "human")
    tab.locator(".say input").fill("xyzzyx")
    tab.keyboard.press("Enter")
    tab.wait_for_selector(".stage + aside .fact:not(:empty), .status.ending")


def test_a_key_that_is_held_sends_no_flood(play: Any) -> None:
    tab = play("chess", "human", "random")
    tab.evaluate(
        """() => { for (let k = 0; k < 150; k++)
        document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "f", repeat: k > 0, bubbles: true })); }"""
    )
    tab.click(".control-resign")
    says(tab, "You lose.")
    assert tab.locator(".alarm").text_content() == ""


def test_a_button_keeps_the_focus_when_the_position_changes(play: Any) -> None:
    tab = play("chess", "human", "random")
    drawn = "document.querySelector('svg.board g').innerHTML"
    tab.focus(".control-flip")
    for _ in range(2):
        before = tab.evaluate(drawn)
        tab.keyboard.press("Enter")
        tab.wait_for_function(f"before => {drawn} !== before", arg=before)
    assert tab.evaluate("document.activeElement.className").endswith("control-flip")


@pytest.mark.parametrize("kind", ["play", "live"])
def test_nothing_breaks_before_the_game_has_come(kind: str, served: Any, tab: Any) -> None:
    tab.route_web_socket("**/play**", lambda socket: None)  # a server that never answers
    tab.goto(served({"format": 1, "kind": kind, "game": "x-v0", "title": "x", "goal": ""}))
    tab.mouse.move(300, 300)
    tab.mouse.move(400, 400)
    tab.mouse.click(400, 400)
    for key in ("n", "u", "i", "h", "Escape", "Tab", "p", "c"):
        tab.keyboard.press(key)
    for button in tab.locator("main button:visible").all():
        button.click()


def test_a_game_that_has_gone_to_another_tab_is_left_in_peace(play: Any) -> None:
    tab = play("gridworld", "human", "forager", "forager", map=MAP)
    tab.evaluate("window.other = new WebSocket(`play?session=${sessionStorage.getItem('coterie-session')}`)")
    says(tab, "another tab", ".alarm")
    for button in (".control-new", ".control-hint", ".map-tools button >> nth=0", "[data-verb=wait]"):
        tab.click(button)
    tab.mouse.click(300, 300)
    tab.click(".alarm button")
    tab.wait_for_function("() => document.querySelector('.alarm').textContent === ''")


def row(update: int) -> str:
    told = {"update": update, "elapsed": float(update), "reward": update / 10, "<b>odd</b>": 1.0}
    return json.dumps(told) + "\n"


def test_a_runs_page_grows_with_the_run(served: Any, tab: Any, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    Run.create(folder, preset("tictactoe"))
    metrics = folder / "metrics.jsonl"
    metrics.write_text("".join(map(row, range(20))))
    pages = [RunPage(folder)]
    tab.goto(served(show(pages, live=True), runs=pages))
    says(tab, "20 updates", "header .id")
    tab.keyboard.press("h")
    assert "dark or light" in (tab.locator("dialog[open]").text_content() or "")
    tab.keyboard.press("Escape")
    tab.wait_for_selector(".chart:has-text('reward') path.curve")
    assert "coterie train tictactoe" in (tab.locator("pre.command").first.text_content() or "")
    assert tab.locator("b:has-text('odd')").count() == 0
    before = tab.locator(".chart:has-text('reward') path.curve").get_attribute("d")
    tab.evaluate("document.querySelector('pre.command').mine = true")
    with metrics.open("a") as file:
        file.write("{damaged\n" + "".join(map(row, range(20, 30))))
    says(tab, "30 updates", "header .id")
    says(tab, "1 lines of metrics.jsonl cannot be read", ".alarm")
    assert tab.locator(".chart:has-text('reward') path.curve").get_attribute("d") != before
    assert tab.evaluate("document.querySelector('pre.command').mine"), "what did not change stays as it was"
    tab.locator("label:has-text('log scale') input").check()
    tab.select_option("select", "minutes")
    tab.fill("input[type=search]", "nothing like it")
    tab.wait_for_function("() => !document.querySelector('.chart')")
    tab.fill("input[type=search]", "rew")
    tab.wait_for_selector(".chart:has-text('reward')")


def test_two_runs_in_a_file_that_loads_nothing(browser: Any, tab: Any, tmp_path: Path) -> None:
    from coterie.renderers.web.page import write_page

    for name, seed in (("a", "0"), ("b", "3")):
        folder = tmp_path / name
        Run.create(folder, preset("tictactoe"))
        text = (folder / "config.yaml").read_text().replace("seed: 0", f"seed: {seed}")
        (folder / "config.yaml").write_text(text)
        (folder / "metrics.jsonl").write_text("".join(map(row, range(20))))
    file = tmp_path / "out.html"
    write_page(show([RunPage(tmp_path / "a"), RunPage(tmp_path / "b")], live=False), file)
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto(file.as_uri())
    tab.wait_for_selector(".chart:has-text('reward') path.curve")
    assert tab.locator(".chart:has-text('reward') path.curve").count() == 2
    assert tab.locator("tr.differs th").first.text_content() == "seed"
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    tab.set_viewport_size({"width": 380, "height": 760})
    tab.wait_for_function("() => innerWidth === 380")
    assert tab.evaluate("document.documentElement.scrollWidth") <= 380


def test_a_world_by_keys_and_buttons(play: Any, tmp_path: Path) -> None:
    tab = play("gridworld", "human", "forager", "forager", map=MAP)
    says(tab, "You play: each key is a tick")

    def ticks(number: int) -> None:
        tab.wait_for_function(f"n => {NOW}.k === n", arg=number)

    for number, (key, facing) in enumerate((("ArrowUp", 0), ("d", 3), ("ArrowDown", 1), ("a", 2)), 1):
        tab.keyboard.press(key)
        ticks(number)
        assert tab.evaluate(f"{NOW}.field('facing', 0)") == facing
    able = set(tab.evaluate(f"{NOW}.now.able"))
    for verb in tab.locator("[data-verb]").all():
        assert verb.is_enabled() == (verb.get_attribute("data-verb") in able)
    tab.click("[data-verb=wait]")
    ticks(5)
    assert "energy" in (tab.locator("pre.told").text_content() or "")
    tab.keyboard.press("o")
    tab.wait_for_selector("canvas.plane:not([hidden])")
    tab.keyboard.press("Enter")
    says(tab, "Paused")
    assert tab.locator(".pad").is_hidden()
    tab.locator("canvas.map").focus()
    tab.keyboard.press("Tab")
    tab.keyboard.press("Enter")
    says(tab, "You play")
    assert tab.evaluate(f"{NOW}.now.own") == 1
    tab.keyboard.press("p")
    tab.wait_for_function(f"() => {NOW}.k > 8")
    tab.keyboard.press("h")
    tab.wait_for_function(f"() => {NOW}.now.paused")
    tab.keyboard.press("Escape")
    tab.wait_for_function(f"() => !{NOW}.now.paused")
    tab.keyboard.press("p")
    tab.wait_for_function(f"() => {NOW}.now.paused")
    with tab.expect_download() as saved:
        tab.click("button:has-text('Save .json')")
    file = tmp_path / "world.json"
    saved.value.save_as(file)
    done = tab.evaluate(f"{NOW}.k")
    tab.reload()
    ticks(done)
    tab.keyboard.press("n")
    tab.fill("dialog[open] input", "random human forager")
    tab.click("dialog[open] button[value=begin]")
    ticks(0)
    assert tab.evaluate(f"{NOW}.now.own") == 1
    tab.locator("input[type=file]").set_input_files(file)
    ticks(done)
