"""One conformance check for all games: ``check_game(game)``.

It tests a new game before its author writes a test: the test suite runs it over ``list_envs()``. Each check takes a
Game and raises AssertionError with what is wrong; ``CHECKS`` lists them.

The file is longer than most: it holds all checks together with the random play that they share.
"""

from __future__ import annotations

import inspect
import math
import string
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import numpy as np

from ...aliases import RUNNING, TERMINATED, TRUNCATED
from ...errors import ActionError
from ..core import Game
from ..faces.parallel import ParallelGame
from ..faces.vec import VecEnv
from ..state import from_bytes, layout_hash, take, to_bytes
from ..stepping.drivers import shares_loops
from ..stepping.jit import disabled
from ..stepping.rng import below, episode_seed, word
from ..words import TextGame
from .play import actors, check_copies, check_determinism, check_pettingzoo, equal, given, written
from .words import check_words, transcript_of_words
from .worlds import check_world

__all__ = ["CHECKS", "check_game", "transcript"]


def _random_actions(game: Game, state: Any, i: int, seed: int, turn: int) -> list[int]:
    """[P] a random legal action of every player that has one, 0 for the others."""
    chosen = []
    for p in range(game.info.players):
        legal = game.legal_actions(state, i, p)
        drawn = below(np.uint64(word(np.uint64(seed), turn * game.info.players + p)), max(1, len(legal)))
        chosen.append(legal[drawn] if legal else 0)
    return chosen


WORK = 200_000
"""The most actions in a check's random games on the bare kernels; each costs some microseconds from Python."""

SEATS = 4
"""Seats that a check examines per tick in games of more than 8 players; the next tick takes others."""


def _plays(game: Game, plays: int) -> Iterator[Iterator[tuple[Any, list[int], np.ndarray[Any, Any] | None, int]]]:
    """Random games, seed by seed: fewer and shorter ones if many players act in a turn."""
    plays = max(2, min(plays, WORK // (60 * actors(game))))
    turns = max(20, WORK // (plays * actors(game)))
    return (islice(_play(game, seed), turns) for seed in range(plays))


def _looked_at(game: Game, turn: int) -> list[int]:
    """The seats to examine in a turn: all of up to 8 players, else ``SEATS`` of them in rotation."""
    players = game.info.players
    return list(range(players)) if players <= 8 else [(turn * SEATS + k) % players for k in range(SEATS)]


def _play(game: Game, seed: int) -> Iterator[tuple[Any, list[int], np.ndarray[Any, Any] | None, int]]:
    """Random play on the bare kernels: (state, next actions, rewards of the last step, status)."""
    state = game.new_state(1)
    game.kernels.reset(state, 0, np.uint64(seed))
    rewards, status, turn = None, RUNNING, 0
    while status == RUNNING:
        actions = _random_actions(game, state, 0, seed, turn)
        yield state, actions, rewards, status
        rewards = np.zeros(game.info.players, np.float32)
        status = game.kernels.step(state, 0, np.array(actions, np.int32), rewards)
        assert status in (RUNNING, TERMINATED, TRUNCATED), (
            f"step returned {status!r}; it must return RUNNING, TERMINATED or TRUNCATED"
        )
        turn += 1
        assert turn <= game.info.max_cycles, f"the game goes on after max_cycles={game.info.max_cycles}"
    yield state, [], rewards, status


def _movers(game: Game, state: Any) -> list[int]:
    return list(range(game.info.players)) if game.info.simultaneous else [game.mover(state, 0)]


ARGUMENTS = {
    "reset": "(state, i, seed)",
    "mover": "(state, i)",
    "legal": "(state, i, player, mask)",
    "step": "(state, i, actions, rewards)",
    "observe": "(state, i, player, out)",
    "key": "(state, i)",
    "draw": "(state, i, word)",
    "alive": "(state, i, player)",
    "step_legal": "(state, i, actions, rewards, packed)",
    "sound": "(state, i)",
}
"""Each kernel's parameters."""


def _check_kernels(game: Game) -> None:
    kernels: dict[str, Any] = {verb: kernel for verb, kernel in game.kernels._asdict().items() if kernel is not None}
    for verb, kernel in kernels.items():
        assert disabled() or hasattr(kernel, "py_func"), f"{verb} is a plain function; decorate it with @kernel"
        takes, wanted = inspect.signature(getattr(kernel, "py_func", kernel)), ARGUMENTS[verb]
        assert len(takes.parameters) == wanted.count(",") + 1, f"{verb} must take {wanted}; this one takes {takes}"


def check_rules(game: Game) -> None:
    """Masks, observations, rewards and keys in random play."""
    _check_kernels(game)
    info = game.info
    assert (game.mover(game.new_state(1), 0) == -1) == info.simultaneous, (
        "mover must be -1 in simultaneous games (stepping.defaults.everybody), and only in those"
    )
    met: dict[int, Any] = {}
    for play in _plays(game, 40):
        for turn, (state, _, rewards, status) in enumerate(play):
            if turn >= 100 and turn % 7 and status == RUNNING:
                continue
            movers = _movers(game, state)
            before = to_bytes(game, state)
            may = (movers, [game.legal_actions(state, 0, p) for p in movers])
            if status == RUNNING and met.setdefault(game.key(state, 0), may) != may:
                raise AssertionError(
                    f"two positions have the key {game.key(state, 0):016x}, but differ in movers and legal actions: "
                    f"{met[game.key(state, 0)]} and {may}"
                )
            for p in _looked_at(game, turn):
                mask = game.legal_mask(state, 0, p)
                assert set(np.unique(mask)) <= {0, 1}, f"a mask holds numbers other than 0 and 1: {mask}"
                full = np.full(info.num_actions, 7, np.int8)
                game.kernels.legal(state, 0, p, full)
                assert np.array_equal(mask, full), "legal leaves a part of the mask unwritten"
                if status != RUNNING or p not in movers:
                    why = "is not to move" if status == RUNNING else "the game is over"
                    assert not mask.any(), f"player {p} has legal actions, but {why}"
                _check_observation(game, state, p)
            if status == RUNNING:
                assert any(game.legal_mask(state, 0, p).any() for p in movers), (
                    "no player has a legal action, but the game runs"
                )
            assert game.key(state, 0) == game.key(take(state), 0), "key is not a function of the row"
            assert to_bytes(game, state) == before, "reading a state changed it"
            assert rewards is None or np.isfinite(rewards).all(), f"rewards are not finite: {rewards}"
    vec = VecEnv(game, 2, seed=0, autoreset_mode="Disabled")
    vec.reset()
    vec.random_rollout(info.max_cycles, observe=False)
    assert (vec.status != RUNNING).all(), f"the game goes on after max_cycles={info.max_cycles}"


def _check_observation(game: Game, state: Any, player: int) -> None:
    info = game.info
    seen = []
    for poison in (0, 1):
        out = np.full(info.observation_shape, poison, info.observation_dtype)
        game.kernels.observe(state, 0, player, out)
        seen.append(out)
    assert np.array_equal(seen[0], seen[1]), "observe leaves a part of its output unwritten"
    out_of_bounds = (seen[0] < info.observation_low) | (seen[0] > info.observation_high)
    assert not out_of_bounds.any(), (
        f"the observation of player {player} is out of bounds ({info.observation_low} to {info.observation_high} in "
        f"GameInfo): {seen[0]}"
    )


def check_text(game: Game) -> None:
    """Mask == legal list == what parse_action accepts; every legal action's text is parsed as that action.

    ``parse_action`` does not know the player: in simultaneous games it may take an action that is legal for another
    player, and games in which illegal actions fail (``noop``) need not refuse them.
    """
    info = game.info
    asked = range(info.num_actions) if info.num_actions <= 64 else range(0, info.num_actions, info.num_actions // 64)
    few = 10 if info.players <= 8 else 2
    for play in _plays(game, few):
        for turn, (state, _, _, _) in enumerate(play):
            if turn >= 30 and turn % 17:  # long games repeat themselves
                continue
            movers = _movers(game, state)
            anybody = {a for p in movers for a in game.legal_actions(state, 0, p)} if not info.is_world else set(asked)
            for p in [p for p in _looked_at(game, turn) if p in movers]:
                legal = game.legal_actions(state, 0, p)
                texts = [game.action_to_text(state, 0, a) for a in legal]
                assert len(set(texts)) == len(texts), f"two legal actions have the same text: {texts}"
                for a, text in zip(legal, texts, strict=True):
                    for said in written(text) if turn < 2 else [text]:
                        assert game.parse_action(state, 0, said) == a, f"{said!r} is not parsed as action {a}"
                for a in set(asked) - anybody:
                    assert not _accepts(game, state, game.action_to_text(state, 0, a)), (
                        f"parse_action takes {a}, which is not legal"
                    )
                for face in (game.describe, game.compact):
                    told = face(state, 0, p)
                    assert isinstance(told, str), f"{face} returns {told!r}, not a text"
                    assert told, f"{face} returns an empty text"
                    strange = sorted(set(told) - set(string.printable))
                    assert not strange, f"{face} uses characters beyond ASCII, which Text spaces do not hold: {strange}"
                    assert len(told) <= 8192, f"{face} returns {len(told)} characters; Text spaces hold 8192"
            for bad in ("", "no idea", "\u2603", "99999999999"):
                assert not _accepts(game, state, bad), f"parse_action takes {bad!r}"


def _accepts(game: Game, state: Any, text: str) -> bool:
    try:
        game.parse_action(state, 0, text)
    except ActionError:
        return False
    return True


def check_batched(game: Game) -> None:
    """Row i of a batch seeded s plays the same games as a single environment seeded s + i, restarts included."""
    n, info = 6, game.info
    vec = VecEnv(game, n, seed=11)
    vec.reset()
    singles = [ParallelGame(game) for _ in range(n)]
    for i, env in enumerate(singles):
        env.reset(seed=11 + i)
    for turn in range(60):
        actions = vec.sample_actions().copy()
        seats = actions if info.simultaneous else np.repeat(actions[:, None], info.players, 1)
        _, rewards, terminated, truncated, _ = vec.step(actions)
        for i, env in enumerate(singles):
            here = _numbers(env)
            played = dict(zip(env.agents, (given(env, a) for a in seats[i, here].tolist()), strict=True))
            seen, won, ended, cut, _ = env.step(played)
            assert list(won.values()) == rewards[i, here].tolist(), f"rewards differ in row {i}, turn {turn}"
            assert list(ended.values()) == np.broadcast_to(terminated[i], info.players)[here].tolist()
            assert list(cut.values()) == np.broadcast_to(truncated[i], info.players)[here].tolist()
            if not env.agents:
                seen, _ = env.reset()
                here = _numbers(env)
            for p in here:
                if info.simultaneous or p == vec.player[i]:
                    at = (i, p) if info.simultaneous else (i,)
                    agent = seen[info.agents[p]]["observation"]
                    assert np.array_equal(agent, vec.observation[at]), f"observations differ in row {i}"
                    assert np.array_equal(env.table.mask(p), vec.action_mask[at]), f"masks differ in row {i}"
    _check_rollout(game)


def _numbers(env: ParallelGame) -> list[int]:
    """The seats of the agents that play."""
    return [int(agent.rpartition("_")[2]) for agent in env.agents]


def _check_rollout(game: Game) -> None:
    size = math.prod(game.info.observation_shape) * np.dtype(game.info.observation_dtype).itemsize * actors(game)
    n, steps = max(2, min(600, (20 << 20) // size)), 25
    stepped, rolled = VecEnv(game, n, seed=5), VecEnv(game, n, seed=5, num_threads=2)
    episodes, returns = 0, np.zeros(game.info.players)
    for vec in (stepped, rolled):
        vec.reset()
    for _ in range(steps):
        _, rewards, _, _, info = stepped.step(stepped.sample_actions())
        episodes += int(info["_final_obs"].sum())
        returns += rewards.sum(0, dtype=np.float64)
    sums = rolled.random_rollout(steps)
    rolled.close()
    assert (sums.steps, sums.episodes) == (n * steps, episodes), "random_rollout and step count differently"
    assert np.allclose(sums.returns, returns), "random_rollout and step pay differently"
    assert to_bytes(game, stepped.get_state()) == to_bytes(game, rolled.get_state()), (
        "two threads and one play different games"
    )
    assert np.array_equal(stepped.observation, rolled.observation), "random_rollout leaves wrong observations"
    assert np.array_equal(stepped.action_mask, rolled.action_mask), "random_rollout leaves wrong masks"
    _check_unseen_rollout(game, rolled)


def _check_unseen_rollout(game: Game, seen: VecEnv) -> None:
    """With ``observe=False`` one and two threads play the same games; without ``Kernels.draw``, those of ``seen``."""
    n, steps = seen.num_envs, 25
    unseen, threads = VecEnv(game, n, seed=5), VecEnv(game, n, seed=5, num_threads=2)
    sums = []
    for vec in (unseen, threads):
        vec.reset()
        sums.append(vec.random_rollout(steps, observe=False))
        vec.close()
    assert sums[0][:2] == sums[1][:2], "two threads and one count differently"
    assert sums[0].steps == n * steps, "random_rollout(observe=False) and step count differently"
    whole = unseen.get_state()
    assert to_bytes(game, whole) == to_bytes(game, threads.get_state()), "two threads and one play other games"
    if game.kernels.draw is None:
        assert to_bytes(game, whole) == to_bytes(game, seen.get_state()), "observe=False plays different games"
    fresh = VecEnv(game, n)
    fresh.set_state(whole)
    assert np.array_equal(unseen.observation, fresh.observation), "observe=False leaves old observations"
    assert np.array_equal(unseen.action_mask, fresh.action_mask), "observe=False leaves old masks"
    _check_draw(game)
    _check_step_legal(game)


def _check_draw(game: Game) -> None:
    """A game's ``draw`` samples all legal actions about equally often, and no others."""
    if game.kernels.draw is None:
        return
    for turn, (state, _, _, status) in enumerate(_play(game, 8)):
        legal = game.legal_actions(state, 0, game.mover(state, 0))
        if status != RUNNING or turn % 9:
            continue
        drawn = [int(game.kernels.draw(state, 0, np.uint64(word(np.uint64(turn), k)))) for k in range(40 * len(legal))]
        counts = np.array([drawn.count(a) for a in legal])
        assert counts.sum() == len(drawn), f"draw samples {set(drawn) - set(legal)}, which are not legal"
        assert ((counts > 8) & (counts < 90)).all(), f"draw is not uniform: counts {counts}, 40 expected of each"


def _check_step_legal(game: Game) -> None:
    """A game's ``step_legal`` does what ``step`` and ``legal`` do, whatever ``packed`` held before."""
    if game.kernels.step_legal is None:
        return
    for state, actions, _, status in _play(game, 3):
        if status != RUNNING:
            continue
        apart, at_once = take(state), take(state)
        paid = np.zeros((2, game.info.players), np.float32)
        packed = np.full(-(-game.info.num_actions // 64), 2**64 - 1, np.uint64)
        then = [
            int(game.kernels.step(apart, 0, np.array(actions, np.int32), paid[0])),
            int(game.kernels.step_legal(at_once, 0, np.array(actions, np.int32), paid[1], packed)),
        ]
        assert then[0] == then[1], f"step returns {then[0]}, step_legal {then[1]}"
        assert equal(apart, at_once), "step_legal and step leave different rows"
        assert np.array_equal(*paid), f"step pays {paid[0]}, step_legal {paid[1]}"
        if then[0] == RUNNING:
            mask = np.unpackbits(packed.view(np.uint8), bitorder="little")[: game.info.num_actions]
            wanted = game.legal_mask(apart, 0, game.mover(apart, 0))
            assert np.array_equal(mask, wanted), "step_legal and legal mark different actions"


def check_state(game: Game) -> None:
    """Rows survive a round trip through bytes; equal layouts have equal hashes."""
    vec = VecEnv(game, 5, seed=1)
    vec.reset()
    vec.random_rollout(2, observe=False)  # a loop that check_rules has compiled
    whole = vec.get_state()
    assert equal(from_bytes(game, to_bytes(game, whole)), whole), "a snapshot changes in a round trip through bytes"
    assert equal(from_bytes(game, to_bytes(game, whole.state)), whole.state), (
        "bare rows change in a round trip through bytes"
    )
    assert layout_hash(whole.state) == layout_hash(game.new_state(1))


CHECKS: dict[str, Callable[[Game], None]] = {
    "rules": check_rules,
    "text": check_text,
    "determinism": check_determinism,
    "copies": check_copies,
    "batched": check_batched,
    "state": check_state,
    "world": check_world,
    "pettingzoo": check_pettingzoo,
}
"""Every check by name."""


def check_game(game: Game) -> None:
    """Run every check; games of words have other checks (``words``).

    Raises:
        AssertionError: names the first fault.
    """
    if isinstance(game, TextGame):
        check_words(game)
        return
    for check in CHECKS.values():
        check(game)


def transcript(game: Game, seeds: range = range(4)) -> str:
    """Random games as text: each seat's compact line, actions and rewards. Golden files hold it.

    From turn 40 on, only every tenth turn is described. Of worlds: two games, 60 ticks each, two seats' compact lines
    per tick and one description every tenth tick.
    """
    if isinstance(game, TextGame):
        return transcript_of_words(game, seeds)
    world = shares_loops(game)
    lines = [game.rules]
    for seed in seeds[:2] if world else seeds:
        lines.append(f"# seed {seed}")
        first = int(episode_seed(np.uint64(seed), 0))
        for turn, (state, actions, rewards, status) in enumerate(islice(_play(game, first), 60 if world else None)):
            told = turn < 40 or turn % 10 == 0 or status != RUNNING
            if rewards is not None and (told or rewards.any()):
                lines.append("rewards " + " ".join(f"{r:g}" for r in rewards.tolist()))
            seats = range(game.info.players)
            for p in (sorted({turn % len(seats), (turn + 1) % len(seats)}) if world else seats) if told else ():
                lines.append(f"{game.compact(state, 0, p)} key {game.key(state, 0):016x}")
            if status == RUNNING:
                movers = _movers(game, state)
                if told and (not world or turn % 10 == 0):
                    lines.append(game.describe(state, 0, movers[turn % len(movers) if world else 0]))
                lines.append("plays " + " ".join(game.action_to_text(state, 0, actions[p]) for p in movers))
    return "\n".join(lines) + "\n"
