"""Tasks are tested on an engine without a model, whose answers a function gives."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from coterie.agents.engines.mock import MockEngine
from coterie.training.episodes import Arena
from coterie.training.episodes.tasks import make_task


@pytest.fixture
def play() -> Callable:
    """(task, answer, options) -> the arena, the trees of an update; ``answer``: (player, prompt, choices) -> a text."""

    def play(name, answer=None, /, *, failing=False, **options):
        def found(ask):
            prompt = bytes(ask.context.ids).decode()
            candidates = [bytes(c).decode() for c in getattr(ask.form, "candidates", ())]
            text = answer(ask.player or "oracle", prompt, candidates)
            return candidates.index(text) if candidates else list(text.encode())

        arena = Arena(MockEngine(found if answer else None), seed=1)
        task = make_task(name, **options) if isinstance(name, str) else name
        task.join(arena)
        results = arena.play(task.source(arena, np.random.default_rng(0)))
        if not failing:
            assert [r.error for root in results for r in root.walk() if r.error] == []
        arena.assign(results)
        return arena, results

    return play
