"""What ``benchmarks.fuzz`` feeds: readers of files, states, options, arguments, actions and command lines.

An input is bytes, so that it can be kept in a file. Those that aren't files themselves are JSON, in which
``{"!array": [...]}``, ``{"!bytes": text}`` and ``{"!object": 0}`` stand for what JSON lacks.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from ..envs.core import Game
from ..envs.faces.aec import AECGame
from ..envs.making import make, make_vec
from ..envs.registry import factory, list_envs, make_game
from ..envs.state import to_bytes
from ..envs.words import TextGame
from ..envs.words.vec import TextVec, vec_of
from ..errors import ActionError
from .fuzz_altering import EXTREMES, STANDING_IN, altered, altered_tree
from .fuzz_commands import altered_line, lines, run_line
from .fuzz_readers import READERS, Reader

__all__ = ["GROUPS", "Target", "targets"]

GROUPS = {
    "files": "every reader of files",
    "rows": "rows of states with other numbers or texts, behind set_state and reset, and played on from",
    "options": "seeds and options of reset",
    "arguments": "arguments of games and environments",
    "actions": "actions in the AEC, parallel, batched and text face",
    "commands": "command lines and the files that they name",
}
"""Group -> what its targets are."""

SMALL: dict[str, dict[str, Any]] = {"gridworld-v0": {"preset": "a3_9x9"}, "go-v0": {"size": 5}, "hex-v0": {"size": 4}}
"""Arguments of games that are large without."""

STARTS = {
    "chess-v0": {"fen": "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1"},
    "connect_four-v0": {"moves": "4 4 3"},
    "go-v0": {"sgf": "(;SZ[5]AB[aa][bb]AW[cc]PL[W]KM[0.5];W[dd])"},
    "dark_hex-v0": {"moves": "b2 b2 a1"},
    "hex-v0": {"moves": "c3 b2"},
    "kuhn_poker-v0": {"deal": "KJ"},
    "leduc_poker-v0": {"deal": "KQJ"},
    "phantom_tictactoe-v0": {"moves": "4 4 0"},
}


@dataclass(frozen=True)
class Target:
    """One thing to feed.

    Attributes:
        name: what counts and files of failures are listed under.
        group: one of ``GROUPS``.
        corpus: makes the real inputs, which must be accepted.
        make: an altered input, from the real ones.
        feed: uses an input; what it raises is judged by the caller.
    """

    name: str
    group: str
    corpus: Callable[[], list[bytes]]
    make: Callable[[random.Random, list[bytes]], bytes]
    feed: Callable[[bytes], object]


def targets() -> dict[str, Target]:
    """All targets by name."""
    found = [_file(reader) for reader in READERS]
    found += [_rows(id) for id in list_envs() if not isinstance(_game(id), TextGame)]
    found += [_said(name) for name in _worded()]
    found += [_described("options", id, _options, _reset) for id in list_envs()]
    found += [_described("arguments", id, _arguments, _constructed) for id in list_envs()]
    found += [_described("actions", id, _actions, _acted) for id in list_envs()]
    found.append(Target("commands", "commands", lines, altered_line, run_line))
    return {target.name: target for target in found}


@functools.cache
def _game(id: str) -> Game:
    return make_game(id, **SMALL.get(id, {}))


# -- files -------------------------------------------------------------------------------------------------------------


def _file(reader: Reader) -> Target:
    def make(rng: random.Random, corpus: list[bytes]) -> bytes:
        return altered(rng, corpus[0], reader.suffix, corpus[0])

    def feed(data: bytes) -> None:
        path = Path(f"input{reader.suffix}")
        path.write_bytes(data)
        reader.read(path)

    name = re.sub(r"\W+", "-", reader.name)
    return Target(name, "files", lambda: [reader.sample()], make, feed)


# -- rows --------------------------------------------------------------------------------------------------------------


def _rows(id: str) -> Target:
    """Inputs are JSON: [plies, [[part, index, value], ...]], edits of a game after so many random plies."""

    def at(plies: int) -> Any:
        vec: Any = vec_of(_game(id), 1, seed=3)
        vec.reset()
        for _ in range(plies):
            vec.step(vec.sample_actions())
        return vec.get_state()

    def make(rng: random.Random, corpus: list[bytes]) -> bytes:
        plies, edits = rng.randrange(12), []
        parts = _parts(at(plies))
        for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
            k = rng.randrange(len(parts))
            flat = parts[k].ravel()
            if flat.size:
                there = [int(x) for x in rng.choices(flat.tolist(), k=9) if abs(x) < inf]
                edits.append([k, rng.randrange(flat.size), rng.choice((*EXTREMES, *range(-9, 30), *there))])
        return json.dumps([plies, edits]).encode()

    def feed(data: bytes) -> None:
        plies, edits = json.loads(data)
        state = at(plies)
        for k, index, value in edits:
            part = _parts(state)[k]
            cell = np.unravel_index(index, part.shape)
            whole = part.dtype.kind in "iub"
            part[cell] = np.array([value % (1 << 64)], np.uint64).astype(part.dtype)[0] if whole else float(value)
        _lived(_game(id), state)

    return Target(f"rows-{id}", "rows", lambda: [b"[0, []]", b"[5, []]"], make, feed)


@functools.cache
def _worded() -> dict[str, TextGame]:
    """The games of words, and what else they may be."""
    found = {id: _game(id) for id in list_envs() if isinstance(_game(id), TextGame)}
    others: dict[str, dict[str, Any]] = {
        "debate-seat": {"judge": "seat", "phrases": 4, "topics": [["Tea?", "yes", "no"]]},
        "kuhn_poker-talk": {"talk": 9},
        "negotiation-talk": {"talk": 80},
        "redblue-closed": {"closed": True, "secrets": 3},
        "twenty_questions-open": {"answerer": "player", "closed": False},
        "twenty_questions-player": {"answerer": "player", "things": 4},
        "word_chain-open": {"closed": False, "players": 3, "goal": "long", "words": "tiny"},
    }
    found |= {name: make_game(name.partition("-")[0], **set) for name, set in others.items()}
    return {name: game for name, game in found.items() if isinstance(game, TextGame)}


def _said(name: str) -> Target:
    """Inputs are JSON: [what it is waiting for, the plain data of a game of words], after some turns."""
    game = _worded()[name]

    def corpus() -> list[bytes]:
        found, vec = [], TextVec(game, 1, seed=3)
        vec.reset()
        for _ in range(8):
            whole = vec.get_state()
            found.append(json.dumps([whole.waiting[0], whole.state[0]]).encode())
            vec.step(vec.sample_actions())
        return found

    def make(rng: random.Random, corpus: list[bytes]) -> bytes:
        return json.dumps(altered_tree(rng, json.loads(rng.choice(corpus)))).encode()

    def feed(data: bytes) -> None:
        vec = TextVec(game, 1, seed=3)
        vec.reset()
        found = json.loads(data)
        given = found[-1] if isinstance(found, list) and found else found
        if isinstance(found, list) and len(found) == 2:
            _lived(game, vec.get_state()._replace(waiting=[found[0]], state=[given]))
        _lived(game, [given])

    return Target(f"rows-{name}", "rows", corpus, make, feed)


def _parts(state: Any) -> list[Any]:
    """The arrays of plain numbers in a state, as views."""
    if isinstance(state, tuple):
        return [part for leaf in state for part in _parts(leaf)]
    if isinstance(state, np.ndarray) and state.dtype.names:
        return [part for name in state.dtype.names for part in _parts(state[name])]
    return [state] if isinstance(state, np.ndarray) else []


def _lived(game: Game, given: Any) -> None:
    """Play on from a state in the batched and the AEC face, and read, hash and store what is there."""
    vec: Any = vec_of(game, 1, seed=1, autoreset_mode="Disabled")
    vec.reset()
    vec.set_state(given)
    for _ in range(5):
        for p in range(game.info.players):
            for action in [] if isinstance(game, TextGame) else game.legal_actions(vec.state, 0, p)[:3]:
                game.action_to_text(vec.state, 0, action)
            game.describe(vec.state, 0, p)
            game.compact(vec.state, 0, p)
        game.key(vec.state, 0)
        to_bytes(game, vec.get_state())
        vec.step(vec.sample_actions())
    if not isinstance(game, TextGame):
        vec.random_rollout(30)
    env: Any = AECGame(game)
    env.reset(seed=1, options={"state": given})
    for _ in range(5):
        if env.agents:
            _turn(env, "aec")
        if game.whole:
            env.state()


# -- options, arguments, actions ---------------------------------------------------------------------------------------


def _described(
    group: str, id: str, corpus: Callable[[str], list[dict[str, Any]]], feed: Callable[..., object]
) -> Target:
    """Inputs are JSON objects: keywords of ``feed``, of which ``face`` and ``plies`` stay."""

    def make(rng: random.Random, real: list[bytes]) -> bytes:
        asked = json.loads(rng.choice(real))
        name = rng.choice([name for name in asked if name not in ("face", "plies")])
        return json.dumps(asked | {name: altered_tree(rng, asked[name], STANDING_IN)}).encode()

    def use(data: bytes) -> None:
        with contextlib.suppress(MemoryError):  # who asks openly for more than there is gets Python's own error
            feed(id, **_decoded(json.loads(data)))

    return Target(f"{group}-{id}", group, lambda: [json.dumps(asked).encode() for asked in corpus(id)], make, use)


def _decoded(value: Any) -> Any:
    """Plain data with arrays, bytes and objects in place of what stands for them."""
    if isinstance(value, dict) and "!array" in value:
        with contextlib.suppress(ValueError, OverflowError):
            return np.array(value["!array"])
    if isinstance(value, dict) and "!object" in value:
        return object()
    if isinstance(value, dict) and "!bytes" in value:
        return str(value["!bytes"]).encode(errors="replace")
    if isinstance(value, dict):
        return {name: _decoded(part) for name, part in value.items()}
    return [_decoded(part) for part in value] if isinstance(value, list) else value


def _env(id: str, face: str) -> Any:
    if face == "vec":
        return vec_of(_game(id), 2, seed=1)
    return make(id, api="parallel" if face == "parallel" else "aec", text=face == "text", **SMALL.get(id, {}))


def _turn(env: Any, face: str) -> None:
    """Play one turn with the first legal action or a sampled one."""
    if face == "vec":
        env.step(env.sample_actions())
    elif face == "parallel" and env.agents:
        env.step({agent: env.action_space(agent).sample() for agent in env.agents})
    elif env.agents:
        seen, _, terminated, truncated, _ = env.last()
        mask = seen["action_mask"] if isinstance(seen, dict) else None
        said = env.action_space(env.agent_selection).sample() if mask is None else int(mask.argmax())
        env.step(None if terminated or truncated else said)


def _options(id: str) -> list[dict[str, Any]]:
    return [{"face": face, "seed": 1, "options": STARTS.get(id, {})} for face in ("aec", "parallel", "vec")]


def _reset(id: str, face: str, seed: Any, options: Any) -> None:
    """Reset, then play a turn."""
    env = _env(id, face)
    env.reset(seed=seed, options=options)
    _turn(env, face)


def _arguments(id: str) -> list[dict[str, Any]]:
    """The default of every argument."""
    taken = inspect.signature(factory(id)).parameters.values()
    own = {p.name: p.default for p in taken if isinstance(p.default, int | float | str)} | SMALL.get(id, {})
    own |= {"illegal": "lose", "illegal_reward": -1.0, "max_cycles": 50}
    made = [{"face": "aec", "keywords": {**own, "render_mode": "ansi", "text": False}}]
    if not isinstance(_game(id), TextGame):
        made.append({"face": "vec", "keywords": {**own, "num_envs": 2, "seed": 1}})
    return made


def _constructed(id: str, face: str, keywords: Any) -> None:
    """Make, reset and play a turn."""
    given = keywords if isinstance(keywords, dict) else {}
    keywords = {name: value for name, value in given.items() if name not in ("api", "id", "config")}
    env: Any = make_vec(id, **keywords) if face == "vec" else make(id, **keywords)
    env.reset(seed=1)
    _turn(env, face)


def _actions(id: str) -> list[dict[str, Any]]:
    """An action for each player, in each face."""
    info, words = _game(id).info, isinstance(_game(id), TextGame)
    one: Any = "aa" if words else 0
    rows: Any = [[one] * info.players] * 2 if info.simultaneous else [one, one]
    asked = {"aec": one, "parallel": dict.fromkeys(info.agents, one), "vec": rows if words else {"!array": rows}}
    asked |= {} if words else {"text": "0"}
    return [{"face": face, "plies": n, "action": action} for face, action in asked.items() for n in (0, 3)]


def _acted(id: str, face: str, plies: int, action: Any) -> None:
    """Play it after some turns; if it is refused, the game must go on."""
    env = _env(id, face)
    env.reset(seed=1)
    for _ in range(plies):
        _turn(env, face)
    if face == "vec" or env.agents:
        try:
            env.step(action)
        except ActionError:
            _turn(env, face)
            raise
