"""The window of ``render_mode="human"``, on SDL's dummy display: pixels, closing, copies, and no display at all."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import coterie
from coterie.renderers import screen
from coterie.renderers.tictactoe import draw

pygame = pytest.importorskip("pygame")


@pytest.fixture(autouse=True)
def closed():
    yield
    screen.close_frame()


def shown():
    window = screen._shared[0]
    assert window is not None
    return window.picture()


@pytest.mark.parametrize("api", ["aec", "parallel"])
def test_a_window_shows_every_step(api: str, capsys: pytest.CaptureFixture[str]) -> None:
    env = coterie.make("tictactoe-v0", api=api, render_mode="human")
    env.reset(seed=0)
    for cell in (4, 0, 1, 2, 7):  # the last one wins
        env.step(cell if api == "aec" else dict.fromkeys(env.agents, cell))
        assert np.array_equal(shown(), draw(env.game, env.table.state, 0))
    assert capsys.readouterr().out == ""
    assert env.render() is None
    env.close()
    assert not pygame.display.get_init()
    env.reset()
    assert pygame.display.get_init()


def test_a_window_that_is_closed_ends_nothing_but_the_drawing() -> None:
    env = coterie.make("tictactoe-v0", render_mode="human")
    env.reset()
    pygame.event.post(pygame.event.Event(pygame.QUIT))
    for cell in (4, 0, 1):
        env.step(cell)
        assert not pygame.display.get_init()
    env.close()


def test_it_keeps_the_size_its_user_gave_it() -> None:
    env = coterie.make("tictactoe-v0", render_mode="human")
    env.reset()
    pygame.event.post(pygame.event.Event(pygame.VIDEORESIZE, size=(600, 300), w=600, h=300))
    env.step(4)
    picture = shown()
    assert picture.shape == (300, 600, 3)
    ink = (np.abs(picture.astype(int) - (255, 122, 97)).sum(-1) < 20).any(0)
    assert 280 < np.flatnonzero(ink).mean() < 320, "the board is not in the middle"
    env.close()


def test_environments_with_a_window_can_be_copied() -> None:
    import copy
    import pickle

    env = coterie.make("tictactoe-v0", render_mode="human")
    env.reset()
    env.step(4)
    for twin in (copy.deepcopy(env), pickle.loads(pickle.dumps(env)), env.clone()):
        twin.step(0)
        assert np.array_equal(shown(), draw(twin.game, twin.table.state, 0))
    env.close()


def test_somebody_else_shuts_pygame_down() -> None:
    env = coterie.make("tictactoe-v0", render_mode="human")
    env.reset()
    pygame.quit()
    env.step(4)
    env.close()
    env.reset()
    env.step(0)


CODE = """
import coterie
env = coterie.make("tictactoe-v0", render_mode="human")
env.reset()
env.step(4)
"""


@pytest.mark.parametrize("driver", [None, "nonsense"])
def test_without_a_display_the_board_is_printed(driver: str | None) -> None:
    env = {k: v for k, v in os.environ.items() if k not in ("SDL_VIDEODRIVER", "DISPLAY", "WAYLAND_DISPLAY")}
    env |= {"SDL_VIDEODRIVER": driver} if driver else {}
    done = subprocess.run([sys.executable, "-c", CODE], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    if driver or sys.platform.startswith("linux"):
        assert done.stdout.count("You are") == 2


def test_without_pygame_the_board_is_printed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pygame", None)
    env = coterie.make("tictactoe-v0", render_mode="human")
    env.reset()
    assert "You are X" in capsys.readouterr().out
