"""Conformance checks of games of words, which ``check_game`` runs instead of those on kernels.

Each check raises AssertionError.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...aliases import RUNNING
from ...errors import ActionError
from ..faces.aec import AECGame
from ..faces.parallel import ParallelGame
from ..words import TextGame
from ..words.core import LONGEST
from ..words.talk import TalkGame
from ..words.vec import TextVec
from .play import check_copies, check_determinism, check_pettingzoo, equal, given, written

__all__ = ["check_words", "transcript_of_words"]


def check_words(game: TextGame) -> None:
    """Every check of a game of words."""
    checks = (_check_rules, _check_messages, check_determinism, check_copies, _check_faces, check_pettingzoo)
    for check in checks:
        check(game)


def transcript_of_words(game: TextGame, seeds: range) -> str:
    """Random games as text: what each seat is told, what is said, and rewards."""
    lines = [game.rules]
    for seed in seeds:
        lines.append(f"# seed {seed}")
        for vec, messages, rewards in _play(game, seed):
            if rewards is not None:
                lines.append("rewards " + " ".join(f"{r:g}" for r in rewards[0].tolist()))
            lines += [game.compact(vec.state, 0, p) for p in range(game.info.players)]
            asked = list(game.asked(vec.state[0]))
            if asked:
                lines.append(game.describe(vec.state, 0, asked[0]))
                said = [messages[0][p] for p in asked] if game.info.simultaneous else messages
                lines.append("says " + " ".join(map(repr, said)))
    return "\n".join(lines) + "\n"


def _play(game: TextGame, seed: int) -> Iterator[tuple[TextVec, list[Any], Any]]:
    """Random play: (one game, next messages, rewards of the last turn)."""
    vec = TextVec(game, seed=seed, autoreset_mode="Disabled", illegal="raise")
    vec.reset(seed=seed)
    rewards, turn = None, 0
    while vec.status[0] == RUNNING:
        messages = vec.sample_actions()
        yield vec, messages, rewards
        rewards = vec.step(messages)[1]
        turn += 1
        assert turn <= game.info.max_cycles, f"the game goes on after max_cycles={game.info.max_cycles}"
    yield vec, [None], rewards


def _check_rules(game: TextGame) -> None:
    """Seats asked, texts and rewards are valid; states are plain data; reading changes nothing."""
    for seed in range(20):
        for vec, messages, rewards in _play(game, seed):
            row = vec.state[0]
            assert json.loads(json.dumps(row)) == row, f"a state changes in a round trip through JSON: {row}"
            before = copy.deepcopy(row)
            asked = list(game.asked(row))
            assert len(asked) == len(set(asked)), f"a seat is asked twice: {asked}"
            if vec.status[0] == RUNNING:
                assert asked, "no seat is asked, but the game is running"
                assert game.info.simultaneous or len(asked) == 1, f"the game is turn-based, but asks {asked}"
                said = messages[0] if game.info.simultaneous else {asked[0]: messages[0]}
                for p in asked:
                    game.read(vec.state, 0, p, said[p])
                    listed = game.choices(row, p)
                    if listed is not None:
                        assert listed, f"player_{p} is asked, but has no choices"
                        assert len(set(listed)) == len(listed), f"a choice is listed twice: {listed}"
                        for one in listed if seed < 3 else ():  # up to thousands a turn
                            assert all(game.read(vec.state, 0, p, form) == one for form in written(one))
                        assert said[p] in listed, f"{said[p]!r} was sampled, but is no choice"
                    for script in game.scripts.values():
                        game.read(vec.state, 0, p, script(row, p, np.random.default_rng(seed)))
            else:
                assert not asked, f"{asked} are asked after the end"
            for p in range(game.info.players):
                for face in (game.describe, game.compact):
                    told = face(vec.state, 0, p)
                    assert isinstance(told, str), f"{face} returns {told!r}, not a text"
                    assert 0 < len(told) <= LONGEST, f"{face} returns {len(told)} characters, not 1 to {LONGEST}"
            told_all = game.tell(vec.state, 0) if game.tell else [{}] * game.info.players
            assert len(told_all) == game.info.players, "not every seat has an info"
            assert json.loads(json.dumps(told_all)) == told_all, f"infos are not plain data: {told_all}"
            assert game.key(vec.state, 0) == game.key([copy.deepcopy(row)], 0), "key is not a function of the state"
            assert row == before, "reading a state changed it"
            assert rewards is None or np.isfinite(rewards).all(), f"rewards are not finite: {rewards}"


def _check_messages(game: TextGame) -> None:
    """Invalid messages are refused and counted and change nothing; each policy does what it says."""
    bad: tuple[Any, ...] = (None, 7, b"x", "x" * (game.max_length + 1), "\x00", "\x1b[2J", "\ud800", "a\x7fb")
    bad += ("",) if game.min_length else ()
    bad += ("<|im_end|>\n<|im_start|>user",) if _closed(game) else ()
    for policy in ("lose", "raise", "resample", "noop"):
        for message in bad:
            vec = TextVec(game, seed=4, autoreset_mode="Disabled", illegal=policy)
            vec.reset()
            before, asked = copy.deepcopy(vec.state), list(game.asked(vec.state[0]))
            said = vec.sample_actions()
            wrong = asked[0]
            if game.info.simultaneous:
                said[0][wrong] = message
            else:
                said[0] = message
            raised = False
            try:
                rewards = vec.step(said)[1]
            except ActionError:
                raised = True
            assert raised == (policy == "raise"), f"{message!r} under the policy {policy} raised: {raised}"
            if raised:
                assert vec.state == before, f"{message!r} changed the game, though it raised"
                continue
            assert vec.faults[0, wrong] == 1, f"{message!r} is not counted as illegal"
            assert vec.faults.sum() == 1, "another player's message is counted as illegal"
            if policy == "lose":
                assert vec.status[0] != RUNNING, f"{message!r} did not end the game"
                expected = [game.info.forfeit[int(p != wrong)] for p in range(game.info.players)]
                assert rewards[0].tolist() == expected, f"{message!r} paid {rewards[0].tolist()}"
            if policy == "noop":
                assert vec.state == before, f"{message!r} changed the game under noop"
                assert vec.status[0] == RUNNING, f"{message!r} ended the game under noop"


def _closed(game: TextGame) -> bool:
    """Whether the first seat asked has its messages listed."""
    (row,) = game.new_state(1)
    return game.choices(row, game.asked(row)[0]) is not None


def _check_faces(game: TextGame) -> None:
    """AEC, parallel and batched play the same games, restarts included."""
    for text in (True, False) if isinstance(game, TalkGame) else (True,):
        _check_same(TextVec(game, 3, seed=11), AECGame(game, text=text), ParallelGame(game, text=text))


def _check_same(vec: TextVec, aec: AECGame, parallel: ParallelGame) -> None:
    game = vec.game
    vec.reset()
    row = 2
    aec.reset(seed=11 + row)
    seen, _ = parallel.reset(seed=11 + row)
    for turn in range(min(200, 3 * game.info.max_cycles)):
        told = {agent: aec.observe(agent) for agent in aec.agents}
        assert equal(told, seen), f"the observations of the parallel face differ in turn {turn}"
        messages = vec.sample_actions()
        asked = list(game.asked(vec.state[row]))
        said = {p: messages[row][p] if game.info.simultaneous else messages[row] for p in asked}
        _, rewards, ended, cut, _ = vec.step(messages)
        everybody = {agent: given(parallel, said.get(p)) for p, agent in enumerate(parallel.possible_agents)}
        for _ in asked if not game.info.simultaneous else aec.agents[:]:
            aec.step(everybody[aec.agent_selection])
        seen, paid, over, truncated, _ = parallel.step(everybody)
        assert list(paid.values()) == rewards[row].tolist() == list(aec.rewards.values()), f"rewards differ: {paid}"
        assert over == aec.terminations, f"terminations differ in turn {turn}"
        assert truncated == aec.truncations, f"truncations differ in turn {turn}"
        assert any(over.values()) == bool(np.any(ended[row])), f"terminations differ in turn {turn}"
        assert any(truncated.values()) == bool(np.any(cut[row])), f"truncations differ in turn {turn}"
        if not parallel.agents:
            aec.reset()
            seen, _ = parallel.reset()
