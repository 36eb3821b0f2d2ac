"""Random games, and pages in headless Chromium: ``opened`` opens a file, which must load nothing else and be quiet."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from coterie.aliases import RUNNING, State
from coterie.envs.core import Game, GameRecord
from coterie.envs.state import take
from coterie.envs.words import TextGame


@pytest.fixture
def opened(browser: Any) -> Iterator[Callable[..., Any]]:
    """Open a page of a file; at the end there must be no message, error or request but for the file itself."""
    faults: list[str] = []
    contexts: list[Any] = []

    def open_it(path: Path, width: int = 1280, height: int = 800, **more: Any) -> Any:
        contexts.append(browser.new_context(viewport={"width": width, "height": height}, **more))
        page = contexts[-1].new_page()
        page.on("console", lambda message: faults.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: faults.append(f"error: {error}"))
        own = ("data:", "blob:", path.as_uri())
        page.on("request", lambda request: None if request.url.startswith(own) else faults.append(request.url))
        page.goto(path.as_uri())
        return page

    yield open_it
    for context in contexts:
        context.close()
    assert faults == []


@pytest.fixture(scope="session")
def played() -> Callable[..., GameRecord]:
    """``(game, seed=3, most=60)``: a random game, at most so many turns of it."""
    return _played


def _played(game: Game, seed: int = 3, most: int = 60) -> GameRecord:
    """A random game, at most so many turns of it."""
    rng = np.random.default_rng(seed)
    state = game.new_state(1)
    game.kernels.reset(state, 0, np.uint64(seed))
    start, actions, status = take(state), [], RUNNING
    returns = np.zeros(game.info.players)
    while status == RUNNING and len(actions) < most:
        one = [_choice(game, state, p, rng) for p in range(game.info.players)]
        rewards = np.zeros(game.info.players, np.float32)
        told: Any = one if isinstance(game, TextGame) else np.array(one, np.int32)
        status = game.kernels.step(state, 0, told, rewards)
        actions.append(one)
        returns += rewards
    return GameRecord(start, actions, ("random",) * game.info.players, tuple(returns.tolist()), status)


def _choice(game: Game, state: State, player: int, rng: np.random.Generator) -> Any:
    if isinstance(game, TextGame):
        return game.sample(state[0], player, rng) if player in game.asked(state[0]) else None
    legal = game.legal_actions(state, 0, player)
    return int(rng.choice(legal)) if legal else 0
