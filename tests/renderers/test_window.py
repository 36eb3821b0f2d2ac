"""The window by itself, on SDL's dummy display: real mouse and keyboard events, pixels, what is asked for."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from coterie.envs.registry import make_game, spec
from coterie.errors import MissingExtra, UsageError
from coterie.renderers.board import PALETTE
from coterie.renderers.chess import SEAT_COLORS, draw
from coterie.renderers.picking import Picker, nearest
from coterie.renderers.window import View, Window

pygame = pytest.importorskip("pygame")
CHESS = make_game("chess-v0")
CHESS_WHITE = SEAT_COLORS[0]


# -- choosing, without a window ----------------------------------------------------------------------------------------


def test_placements_take_one_click() -> None:
    picker = Picker({10: (3,), 11: (4,), 12: ()})
    assert (picker.targets(), picker.buttons, picker.moving) == ({3, 4}, [12], False)
    assert picker.click(9) == []
    assert picker.click(4) == [11]
    assert picker.chosen == ()


def test_moves_take_two_clicks_and_the_first_can_be_changed() -> None:
    picker = Picker({1: (0, 5), 2: (0, 6), 3: (1, 6), 4: (1, 7), 5: (1, 7)})
    assert picker.moving
    assert picker.starts() == {0, 1}
    assert picker.click(0) == []
    assert picker.targets() == {5, 6}
    assert picker.click(1) == [], "another piece is taken up"
    assert picker.targets() == {6, 7}
    assert picker.click(1) == [], "put down again"
    assert picker.chosen == ()
    picker.click(0)
    assert picker.click(7) == [], "no legal target: dropped"
    assert picker.chosen == ()
    picker.click(1)
    assert picker.click(7) == [4, 5], "a choice is left"
    assert picker.chosen == ()


def test_cells_whose_boxes_overlap() -> None:
    hexagons = [(0.0, 0.0, 10.0, 10.0), (5.0, 8.0, 10.0, 10.0)]
    assert nearest(hexagons, 5, 5) == 0
    assert nearest(hexagons, 6, 9) == 0
    assert nearest(hexagons, 9, 9.9) == 1
    assert nearest(hexagons, 0, 30) is None


# -- the window --------------------------------------------------------------------------------------------------------


def view_of(game, state, **more) -> View:
    seat = max(0, game.mover(state, 0))
    drawer = pytest.importorskip(str(spec(game.info.id).draw).partition(":")[0])
    legal = game.legal_actions(state, 0, seat)
    cells = {a: tuple(drawer.cells(game, state, 0, a)) for a in legal}
    labels = {a: game.action_to_text(state, 0, a) for a in legal}
    return View(state, None, cells, labels, names=("white", "black"), active=(seat,), **more)


def chess(fen: str | None = None):
    state = CHESS.new_state(1)
    CHESS.kernels.reset(state, 0, np.uint64(0))
    if fen:
        CHESS.options["fen"](state, 0, fen)
    return state


@pytest.fixture
def window():
    made = Window(CHESS, spec("chess-v0").draw)
    made.show(view_of(CHESS, chess(), controls={"undo": "Undo", "new": "New game"}, status="White to move"))
    made.poll()
    yield made
    made.close()


def middle(window: Window, cell: int) -> tuple[int, int]:
    x, y, w, h = window.boxes()[cell]
    return int(x + w / 2), int(y + h / 2)


def post(kind: int, **fields) -> None:
    pygame.event.post(pygame.event.Event(kind, **fields))


def press(window: Window, *points: tuple[int, int]) -> list:
    """Down at the first point, up at the last."""
    post(pygame.MOUSEBUTTONDOWN, pos=points[0], button=1)
    post(pygame.MOUSEBUTTONUP, pos=points[-1], button=1)
    return window.poll()


def square(name: str) -> int:
    return "abcdefgh".index(name[0]) + 8 * (int(name[1]) - 1)


def click(window: Window, *names: str) -> list:
    return [asked for name in names for asked in press(window, middle(window, square(name)))]


def like(picture, color, tolerance: int = 40):
    return np.abs(picture.astype(int) - color).sum(-1) <= tolerance


def part(window: Window, cell: int):
    x, y, w, h = (round(v) for v in window.boxes()[cell])
    return window.screen.picture()[y : y + h, x : x + w]


def test_the_board_and_the_words_are_there(window: Window) -> None:
    x, y, w, h = window.board
    picture = window.screen.picture()
    drawn = draw(CHESS, chess(), 0, size=w)
    assert np.array_equal(picture[y : y + h, x : x + w], drawn)
    panel = picture[y + h :]
    assert like(panel, PALETTE.accent).any(), "the name of the mover shines"
    assert like(panel, PALETTE.text).sum() > 100


def test_a_move_by_two_clicks(window: Window) -> None:
    assert click(window, "e2") == []
    assert click(window, "e4") == [CHESS.parse_action(chess(), 0, "e4")]
    assert click(window, "g1", "f3") == [CHESS.parse_action(chess(), 0, "Nf3")]


def test_a_move_by_dragging(window: Window) -> None:
    asked = press(window, middle(window, square("e2")), middle(window, square("e4")))
    assert asked == [CHESS.parse_action(chess(), 0, "e4")]
    assert press(window, middle(window, square("e2")), middle(window, square("e6"))) == []
    assert press(window, middle(window, square("e2")), (2, window.screen.size[1] - 2)) == []


def test_clicks_that_mean_nothing(window: Window) -> None:
    assert click(window, "e4", "e7", "e5", "a1", "a3", "e2", "e5", "e4") == []
    assert window.picker.chosen == ()


def test_marks_are_seen(window: Window) -> None:
    plain = {name: part(window, square(name)) for name in ("e2", "e3", "e4", "e5", "d2")}
    click(window, "e2")
    changed = {name: not np.array_equal(plain[name], part(window, square(name))) for name in plain}
    assert changed == {"e2": True, "e3": True, "e4": True, "e5": False, "d2": False}
    dot = part(window, square("e4"))
    n = len(dot)
    assert np.abs(dot[n // 2, n // 2].astype(int) - PALETTE.accent).sum() < 120
    post(pygame.KEYDOWN, key=pygame.K_ESCAPE, unicode="", mod=0)
    window.poll()
    assert all(np.array_equal(plain[name], part(window, square(name))) for name in plain)


def test_what_can_be_taken_gets_a_ring(window: Window) -> None:
    window.show(view_of(CHESS, chess("4k3/8/8/3p4/4P3/8/8/4K3 w - - 0 1"), version=1))
    window.poll()
    plain = part(window, square("d5")).astype(int)
    click(window, "e4")
    marked = part(window, square("d5")).astype(int)
    n = len(marked)
    changed = np.abs(marked - plain).sum(-1) > 30
    assert changed[n // 2, 4]
    assert not changed[n // 2 - 5 : n // 2 + 5, n // 2 - 5 : n // 2 + 5].any(), "the pawn is hidden"
    empty = part(window, square("e5")).astype(int)
    assert np.abs(empty[n // 2, n // 2] - PALETTE.accent).sum() < 120, "an empty target gets a dot"


def test_the_pointer_is_followed(window: Window) -> None:
    plain = part(window, square("e2")), part(window, square("e5"))
    for name, answers in (("e2", True), ("e5", False)):
        post(pygame.MOUSEMOTION, pos=middle(window, square(name)), rel=(0, 0), buttons=(0, 0, 0))
        window.poll()
        assert (not np.array_equal(part(window, square("e2")), plain[0])) == answers
        assert np.array_equal(part(window, square("e5")), plain[1])


def test_a_piece_that_is_dragged_follows_the_pointer(window: Window) -> None:
    plain = window.screen.picture()
    post(pygame.MOUSEBUTTONDOWN, pos=middle(window, square("g1")), button=1)
    x, y = middle(window, square("g5"))
    for at in ((x, y), (x + 20, y - 20)):
        post(pygame.MOUSEMOTION, pos=at, rel=(0, 0), buttons=(1, 0, 0))
        window.poll()
        held = window.screen.picture()[at[1] - 20 : at[1] + 20, at[0] - 20 : at[0] + 20]
        assert like(held, CHESS_WHITE).mean() > 0.2, "the knight's body"
        assert not like(plain[at[1] - 20 : at[1] + 20, at[0] - 20 : at[0] + 20], CHESS_WHITE).any()
    post(pygame.MOUSEBUTTONUP, pos=(x, y), button=1)
    window.poll()
    dropped = window.screen.picture()[y - 20 : y + 20, x - 20 : x + 20]
    assert not like(dropped, CHESS_WHITE).any(), "g5 is no square for it"


def test_promotions_show_pieces(window: Window) -> None:
    window.show(view_of(CHESS, chess("3k4/P7/8/8/8/8/8/4K3 w - - 0 1"), version=1))
    window.poll()
    click(window, "a7", "a8")
    _, spots, (left, top) = window._chooser()
    shown = window.screen.picture()
    parts = [shown[round(top + s.y) :, round(left + s.x) :][: round(s.h), : round(s.w)] for s in spots]
    assert all(like(part, CHESS_WHITE).mean() > 0.1 for part in parts)
    assert len({like(part[:60, :60], CHESS_WHITE).tobytes() for part in parts}) == 4, "four pieces"


def test_the_column_shows_moves_times_and_what_was_taken() -> None:
    window = Window(CHESS, spec("chess-v0").draw, column=True)
    try:
        state = chess("4k3/8/8/8/8/8/PP6/Q3K3 w - - 0 1")
        moves = tuple(((k % 2, text),) for k, text in enumerate(("e4", "e5", "Nf3")))
        views = [
            view_of(CHESS, chess(), clocks=("0:00", "0:00")),
            view_of(CHESS, chess(), clocks=("1:01", "0:00")),
            view_of(CHESS, chess(), clocks=("1:01", "0:00"), moves=moves),
            view_of(CHESS, state, clocks=("1:01", "0:00"), moves=moves, version=1),
        ]
        shown = []
        for view in views:
            window.show(view)
            window.poll()
            x, y, w, h = window.board
            assert x + w <= window.screen.size[0] - 200
            shown.append(window.screen.picture()[:, x + w :])
        assert [np.array_equal(a, b) for a, b in itertools.pairwise(shown)] == [False] * 3
        assert like(shown[2], PALETTE.accent).sum() > like(shown[1], PALETTE.accent).sum(), "the last move shines"
        window.screen._resize((400, 500))
        assert window.board[2] == 400, "a narrow window has no column"
        narrow = []
        for clocks in ((), ("1:01", "0:00"), ("1:02", "0:00")):
            window.show(replace(views[-1], clocks=clocks))
            window.poll()
            narrow.append(window.screen.picture()[window.board[1] + window.board[3] :])
        assert [np.array_equal(a, b) for a, b in itertools.pairwise(narrow)] == [False, False], "times are below"
    finally:
        window.close()


def test_hints_are_marked(window: Window) -> None:
    plain = part(window, square("e4"))
    window.show(view_of(CHESS, chess(), hint=(square("e2"), square("e4"))))
    window.poll()
    assert like(part(window, square("e4")), PALETTE.second, 60).sum() > 50 > like(plain, PALETTE.second, 60).sum()


def test_promotions_are_chosen(window: Window) -> None:
    state = chess("3k4/P7/8/8/8/8/8/4K3 w - - 0 1")
    window.show(view_of(CHESS, state, version=1))
    plain = window.screen.picture()
    assert click(window, "a7", "a8") == []
    assert len(window.choices) == 4
    assert not np.array_equal(plain, window.screen.picture())
    _, spots, (left, top) = window._chooser()
    assert [spot.label for spot in spots] == ["a8=Q", "a8=N", "a8=B", "a8=R"]
    at = (int(left + spots[1].x + spots[1].w / 2), int(top + spots[1].y + spots[1].h / 2))
    assert press(window, at) == [CHESS.parse_action(state, 0, "a8=N")]
    assert window.choices == []
    click(window, "a7", "a8")
    assert press(window, (window.board[0] + 3, window.board[1] + 3)) == [], "beside the chooser: nothing is chosen"
    assert window.choices == []


def test_buttons_and_keys_ask_for_controls(window: Window) -> None:
    width, height = window.screen.size
    top = height - window._panel_height()
    spots = window.panel.spots(width, window.view, window._buttons())
    assert [spot.name for spot in spots] == ["undo", "new"]
    for spot in spots:
        assert press(window, (int(spot.x + spot.w / 2), int(top + spot.y + spot.h / 2))) == [spot.name]
    for key, asked in ((pygame.K_u, ["undo"]), (pygame.K_n, ["new"]), (pygame.K_SPACE, []), (pygame.K_F1, [])):
        post(pygame.KEYDOWN, key=key, unicode="", mod=0)
        assert window.poll() == asked, "a key does what a button does that is there"


@pytest.mark.parametrize(("key", "text"), [(pygame.K_h, "h"), (pygame.K_SLASH, "?"), (pygame.K_F1, "")])
def test_keys_and_goal_are_shown(window: Window, key: int, text: str) -> None:
    window.poll()
    before = window.screen.picture()
    x, y, w, h = window.board
    assert press(window, (x + w // 2, y + h // 4)) == []
    window._cancel()
    post(pygame.KEYDOWN, key=key, unicode=text, mod=0)
    assert window.poll() == []
    assert window.helping
    shown = window.screen.picture()
    assert np.abs(shown[:40].astype(int) - before[:40]).max() > 60, "the goal, at the top"
    post(pygame.KEYDOWN, key=pygame.K_ESCAPE, unicode="", mod=0)
    window.poll()
    assert not window.helping
    post(pygame.KEYDOWN, key=key, unicode=text, mod=0)
    window.poll()
    assert press(window, (x + w // 2, y + h - 9)) == []
    assert not window.helping, "a click puts them away"
    assert not window.picker.chosen, "and does nothing else"


@pytest.mark.parametrize("width", [300, 420, 900])
def test_all_buttons_are_in_the_window(window: Window, width: int) -> None:
    controls = {name: name.title() for name in ("undo", "new", "flip", "pause", "step", "slower", "faster")}
    labels = {k: f"a long label {k}" for k in range(9)}
    window.show(replace(window.view, cells=dict.fromkeys(labels, ()), labels=labels, controls=controls))
    post(pygame.VIDEORESIZE, size=(width, 640), w=width, h=640)
    window.poll()
    spots = window.panel.spots(width, window.view, window._buttons())
    assert len(spots) == 16
    for k, spot in enumerate(spots):
        assert 0 <= spot.x < spot.x + spot.w <= width
        assert spot.y + spot.h <= window._panel_height()
        assert not any(other.holds(spot.x + 1, spot.y + 1) for other in spots[:k]), "two buttons in one place"
    _, y, _, h = window.board
    assert y + h + window._panel_height() <= 640


def test_actions_without_cells_are_buttons() -> None:
    game = make_game("leduc_poker-v0")
    state = game.new_state(1)
    game.kernels.reset(state, 0, np.uint64(3))
    window = Window(game, spec("leduc_poker-v0").draw)
    window.show(replace(view_of(game, state), player=0))
    window.poll()
    width, height = window.screen.size
    top = height - window._panel_height()
    asked = []
    for spot in window.panel.spots(width, window.view, window._buttons()):
        asked += press(window, (int(spot.x + 3), int(top + spot.y + 3)))
    assert asked == game.legal_actions(state, 0, 0)
    room = window.board
    window.show(replace(window.view, cells={}, labels={}))
    window.poll()
    assert window.board == room, "the board stays where it is when the buttons go"
    window.close()


@pytest.mark.parametrize("size", [(800, 500), (400, 900), (1200, 1200), (300, 320)])
def test_the_board_fits_any_size(window: Window, size: tuple[int, int]) -> None:
    click(window, "e2")
    post(pygame.VIDEORESIZE, size=size, w=size[0], h=size[1])
    window.poll()
    assert window.screen.size == size
    x, y, w, h = window.board
    assert w == h
    assert x >= 0
    assert y >= 0
    assert x + w <= size[0]
    assert y + h + window._panel_height() <= size[1]
    assert w > 0.98 * min(size[0], size[1] - window._panel_height())
    assert window.picker.chosen == (square("e2"),), "what was selected stays so"
    assert click(window, "e4") == [CHESS.parse_action(chess(), 0, "e4")]
    drawn = draw(CHESS, chess(), 0, size=w)
    post(pygame.MOUSEMOTION, pos=(size[0] - 1, size[1] - 1), rel=(0, 0), buttons=(0, 0, 0))
    window.poll()
    assert np.array_equal(window.screen.picture()[y : y + h, x : x + w], drawn)


def test_a_window_does_not_get_too_small(window: Window) -> None:
    post(pygame.VIDEORESIZE, size=(20, 20), w=20, h=20)
    window.poll()
    assert min(window.screen.size) >= 260
    assert click(window, "e2", "e4")


def test_the_other_side_below(window: Window) -> None:
    window.show(replace(window.view, player=1))
    window.poll()
    x, y, _, h = window.board
    assert middle(window, square("a8"))[1] > y + h / 2
    assert click(window, "e2", "e4") == [CHESS.parse_action(chess(), 0, "e4")]


def test_a_cover_hides_the_board(window: Window) -> None:
    pieces = like(window.screen.picture(), (250, 246, 236)).sum()
    window.show(replace(window.view, cover="player_1: look away"))
    window.poll()
    assert like(window.screen.picture(), (250, 246, 236)).sum() < pieces / 10
    assert click(window, "e2") == ["uncover"]
    post(pygame.KEYDOWN, key=pygame.K_RETURN, unicode="\r", mod=0)
    assert window.poll() == ["uncover"]


def test_the_last_move_is_marked_where_the_picture_does_not() -> None:
    game = make_game("tictactoe-v0")
    state = game.new_state(1)
    game.kernels.reset(state, 0, np.uint64(0))
    window = Window(game, spec("tictactoe-v0").draw)
    window.show(view_of(game, state))
    window.poll()
    plain = part(window, 4)
    window.show(view_of(game, state, last=(4,)))
    window.poll()
    frame = np.abs(part(window, 4).astype(int) - plain).sum(-1) > 60
    assert frame[2:5, 30:-30].all()
    assert not frame[30:-30, 30:-30].any()
    window.close()


def test_closing_is_asked_for(window: Window) -> None:
    post(pygame.QUIT)
    assert window.poll() == ["quit"]
    window.close()
    assert window.poll() == []


def test_nothing_new_is_not_drawn_again(window: Window, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(window, "draw", lambda: pytest.fail("drawn again"))
    window.show(replace(window.view))
    window.poll()


def test_too_many_actions_for_buttons() -> None:
    with pytest.raises(UsageError, match="1001 actions"):
        Window(make_game("highest_number", max_number=1000), None)


def test_without_pygame(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pygame", None)
    with pytest.raises(MissingExtra, match=r"coterie\[render\]"):
        Window(CHESS, spec("chess-v0").draw)


def test_without_a_display() -> None:
    env = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}
    code = "from coterie.cli import main; raise SystemExit(main(['play', 'tictactoe', '--window']))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=env | {"SDL_VIDEODRIVER": "nonsense"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "No window can be opened here" in done.stderr
    assert "without --window" in done.stderr
    assert done.stderr.count("\n") == 1
