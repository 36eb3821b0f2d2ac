"""Pages in a headless browser: every kind opens, steps, changes, makes no request, and is no one's script."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from coterie.agents.baselines import RandomAgent
from coterie.agents.thoughts import Thinker, add_thoughts
from coterie.envs import make_game
from coterie.envs.core import GameRecord
from coterie.envs.words import text_game
from coterie.renderers.web.page import write_page
from coterie.renderers.web.shows import Boards, show

GAMES = [
    *("tictactoe", "connect_four", "chess", "go", "hex", "dark_hex", "phantom_tictactoe", "kuhn_poker", "leduc_poker"),
    *("matrix", "negotiation", "liars_dice", "highest_number", "bluff", "debate", "word_chain", "twenty_questions"),
    *("highest_string", "redblue"),
]
WORDS = ("debate", "word_chain", "twenty_questions", "highest_string", "redblue")


@pytest.fixture
def page(opened: Callable[..., Any], tmp_path: Path) -> Callable[..., Any]:
    """Opens a show, ``(show, width=1280, height=800)``; at the end nothing was wrong or asked for from elsewhere."""
    return lambda shown, **how: opened(write_page(shown, tmp_path / "page.html"), **how)


def looks(tab: Any) -> str:
    """What is on the stage: the picture's elements, or the text."""
    return str(tab.evaluate("document.querySelector('.stage').innerHTML"))


@pytest.mark.parametrize("name", GAMES)
def test_every_game_is_shown_step_by_step(
    name: str, page: Callable[..., Any], played: Callable[..., GameRecord]
) -> None:
    game = make_game(name)
    made = show(game, played(game, most=12))
    last = len(made["frames"]) - 1
    tab = page(made)
    seen = [looks(tab)]
    assert tab.locator(".counter").inner_text() == f"0 / {last}"
    for k in range(1, last + 1):
        tab.keyboard.press("ArrowRight")
        assert tab.locator(".counter").inner_text() == f"{k} / {last}"
        seen.append(looks(tab))
        if name not in WORDS:
            assert tab.locator(".moves [aria-current]").inner_text().startswith(made["frames"][k]["move"])
        if k > 4:
            break
    assert len(set(seen)) == len(seen)
    tab.keyboard.press("End")
    assert tab.locator(".status").inner_text() == made["frames"][-1]["status"]
    assert tab.locator("pre.words").text_content() == made["frames"][-1]["text"]
    tab.keyboard.press("Home")
    if name not in WORDS:
        assert looks(tab) == seen[0]
    assert tab.locator("h1").inner_text() == made["title"]


@pytest.fixture
def chess(played: Callable[..., GameRecord]) -> dict[str, Any]:
    """A short game of chess with thoughts and one earlier checkpoint."""
    game = make_game("chess")
    record = played(game, most=6)
    made = show(game, record, command="coterie view chess --html out.html")
    thinker = Thinker(RandomAgent(), (("update 25", RandomAgent()), ("update 50", RandomAgent())))
    add_thoughts(made["frames"], game, record, {0: thinker}, Boards(game).cells)
    earlier = made["frames"][0]["thoughts"][0]["earlier"]
    earlier[0]["actions"] = [["e4", 0.75, [12, 28]], ["d4", 0.25, [11, 27]]]
    return made


def test_thoughts_are_on_the_board_and_in_the_list_and_go_back_in_training(
    page: Callable[..., Any], chess: dict[str, Any]
) -> None:
    tab = page(chess)
    assert tab.locator(".bars li").count() == 20
    assert tab.locator(".overlay polygon").count() == 8  # the likeliest moves
    assert "3.00 nats 100 % of 3.00" in tab.locator(".facts").inner_text().replace("\n", " ")
    slider = tab.get_by_role("slider", name="Checkpoint")
    slider.focus()
    assert slider.get_attribute("aria-valuetext") == "now"
    slider.press("ArrowLeft")
    assert slider.get_attribute("aria-valuetext") == "update 50"
    slider.press("Home")
    assert slider.get_attribute("aria-valuetext") == "update 25"
    assert tab.locator(".bars li").all_inner_texts()[0].split("\n") == ["e4", "75 %"]
    assert tab.locator(".overlay polygon").count() == 2
    assert tab.locator(".counter").inner_text() == "0 / 6"  # the slider's keys are its own
    tab.locator("footer button[aria-label^=Next]").click()
    assert tab.locator(".bars").count() == 0  # the other seat moves, and nobody asked it


def test_cells_are_shaded_where_actions_touch_cells(
    page: Callable[..., Any], played: Callable[..., GameRecord]
) -> None:
    game = make_game("tictactoe")
    record = played(game)
    made = show(game, record)
    add_thoughts(made["frames"], game, record, {0: Thinker(RandomAgent())}, Boards(game).cells)
    tab = page(made)
    assert tab.locator(".overlay circle").count() == 9
    assert tab.locator(".overlay text").all_text_contents() == ["11"] * 9
    assert "Value" in tab.locator(".facts").inner_text()


def test_the_keyboard_does_everything_and_focus_is_visible(page: Callable[..., Any], chess: dict[str, Any]) -> None:
    tab = page(chess)
    tab.keyboard.press("+")
    assert tab.locator("footer select").input_value() == "2"
    tab.keyboard.press(" ")
    tab.wait_for_function("() => coterie.api.k > 0")  # it may be past 1 before it is looked at
    tab.keyboard.press(" ")
    before = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    tab.keyboard.press("d")
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") != before
    tab.keyboard.press("?")
    assert tab.locator("dialog").is_visible()
    assert "play or pause" in tab.locator("dialog").inner_text()
    tab.keyboard.press("Escape")
    assert not tab.locator("dialog").is_visible()
    reached = set()
    for _ in range(60):
        tab.keyboard.press("Tab")
        now = tab.evaluate(
            """() => { const at = document.activeElement, style = getComputedStyle(at);
            return [at.tagName + (at.getAttribute("aria-label") || at.textContent.slice(0, 20)), style.outlineStyle,
            parseFloat(style.outlineWidth)]; }"""
        )
        if now[0].startswith("BODY"):
            break
        assert now[1] != "none", now
        assert now[2] >= 2, now
        reached.add(now[0])
    for part in ("BUTTONPlay", "INPUTTimeline", "SELECTSpeed", "SUMMARYPosition in words", "BUTTONDark or light"):
        assert any(one.startswith(part) for one in reached), (part, sorted(reached))


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_everything_has_a_name_and_a_theme(theme: Any, page: Callable[..., Any], chess: dict[str, Any]) -> None:
    tab = page(chess, color_scheme=theme)
    assert tab.evaluate("document.documentElement.dataset.theme") == theme
    unnamed = tab.evaluate(
        """() => [...document.querySelectorAll("button, input, select, svg[role=img], section, aside, footer")]
        .filter((e) => !(e.getAttribute("aria-label") || e.textContent.trim())).map((e) => e.outerHTML.slice(0, 100))"""
    )
    assert unnamed == []
    said = tab.get_by_role("img").first.get_attribute("aria-label")
    assert said.startswith("Chess: ")
    assert chess["frames"][0]["text"][:40] in said
    tab.keyboard.press("ArrowRight")
    assert chess["frames"][1]["move"] in tab.get_by_role("status").inner_text()


@pytest.mark.parametrize("name", ["chess", "matrix", "negotiation", "debate", "leduc_poker"])
def test_a_phone_needs_no_scrolling_sideways(
    name: str, page: Callable[..., Any], played: Callable[..., GameRecord]
) -> None:
    game = make_game(name)
    tab = page(show(game, played(game, most=4)), width=390, height=844)
    tab.keyboard.press("End")
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390
    box = tab.locator("footer button[aria-label^=Play]").bounding_box()
    assert min(box["width"], box["height"]) >= 32
    assert box["y"] + box["height"] <= 844  # the timeline stays in sight


HOSTILE = (
    '</script><script>window.hacked = 1</script><img src=x onerror="window.hacked = 2">'
    "<!-- \u202egnol\u202c \u2028 &lt; \U0001f600 javascript:alert(1)"
)


def test_whatever_players_say_and_are_called_is_text(page: Callable[..., Any]) -> None:
    said = [HOSTILE, "<think>secret</think>ok", "long " * 200_000]

    def hear(state: dict[str, Any], messages: Any) -> tuple[list[float], int]:
        state["turn"] += 1
        return [0.0, 0.0], int(state["turn"] == len(said))

    game = text_game(
        "echo-v0",
        players=2,
        rules=HOSTILE,
        begin=lambda seed: {"turn": 0},
        tell=lambda state, seat: f"Turn {state['turn']}. {HOSTILE}",
        hear=hear,
        asked=lambda state: [state["turn"] % 2] if state["turn"] < len(said) else [],
        sample=lambda state, seat, rng: said[state["turn"]],
        max_cycles=len(said),
        max_length=2_000_000,
    )
    state = game.new_state(1)
    record = GameRecord(state, [[text, text] for text in said], (HOSTILE, "x"), (0.0, 0.0), 1)
    tab = page(show(game, record, title=HOSTILE, command=HOSTILE))
    shown = HOSTILE.replace("\u202e", "‹U+202E›").replace("\u202c", "‹U+202C›")
    assert f"({shown}) to move" in tab.locator(".status").text_content()
    tab.keyboard.press("End")
    assert "\u202e" not in tab.evaluate("document.body.innerText")
    assert tab.evaluate("window.hacked") is None
    assert tab.evaluate("document.querySelectorAll('img').length") == 0
    texts = tab.locator(".message .text:not(.folded)").all_text_contents()
    assert texts[0] == shown
    assert texts[1] == "ok"
    assert tab.locator(".message details .folded").first.text_content() == "secret"
    assert not tab.locator(".message details .folded").first.is_visible()
    assert len(texts[2]) < 5000
    assert "Show all 1,000,000 characters" in texts[2]
    tab.get_by_text("Show all 1,000,000 characters").click()
    assert tab.locator(".message .text:not(.folded)").nth(2).text_content().strip() == said[2].strip()
    assert tab.locator("h1").text_content() == shown


def test_a_page_of_an_unknown_kind_says_so(page: Callable[..., Any]) -> None:
    tab = page({"format": 1, "kind": "<opera>", "title": "x", "frames": []})
    assert "cannot show <opera>" in tab.get_by_role("alert").inner_text()
    assert json.loads(tab.locator("#coterie-show").text_content())["kind"] == "<opera>"
