"""Go against OpenSpiel and pgx in random play: ``python -m coterie.benchmarks.go_differential``.

Compares every position: the board, the legal moves, and at the end the score and the winner; with pgx also the eight
boards of the observation. Both peers allow a move that repeats an earlier position and end the game there (OpenSpiel as
a draw, pgx as a loss), while here the mask forbids it. So in each position the moves that only the peer allows are
played on a copy of its game, which must end that way; the moves allowed here must not end it that way (checked for the
move played, and for all of them in one position of ten). Uses whichever peers are installed. Stops with an
AssertionError at the first difference.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from ..envs import make_game, make_vec
from ..envs.go.position import score, stones
from ..envs.stepping.rng import below, word

__all__ = ["main", "open_spiel_game", "pgx_games"]

PEERS = {"open_spiel": "pyspiel", "pgx": "pgx"}
"""Name -> module."""

HANDICAPS = (0, 0, 2, 0, 5, 0, 9)
"""Game number g against OpenSpiel has ``HANDICAPS[g % 7]`` on 19x19, the only size where OpenSpiel has handicaps."""


# -- OpenSpiel ---------------------------------------------------------------------------------------------------------


def _there(size: int, action: int) -> int:
    """Our action in OpenSpiel's numbering, whose rows begin at the bottom; also converts back."""
    return action if action == size * size else (size - 1 - action // size) * size + action % size


def _drawn_by_superko(state: Any, size: int, action: int) -> bool:
    """Whether a move ends OpenSpiel's game as a repetition: at once, without a winner."""
    child = state.child(_there(size, action))
    return bool(child.is_terminal()) and child.returns() == [0, 0]


def open_spiel_game(size: int, number: int, seen: Counter[str]) -> None:
    """Play random game number ``number`` in both programs and compare them.

    Raises:
        AssertionError: they differ.
    """
    pyspiel = import_module("pyspiel")
    handicap = HANDICAPS[number % 7] if size == 19 else 0
    length, pass_ = 2 * size * size, size * size
    # With half a point of komi no score is a draw, so a drawn game is a repetition.
    # OpenSpiel gives white an extra point for each handicap stone.
    terms = {"board_size": size, "komi": 0.5 - handicap, "handicap": handicap, "max_game_length": length}
    theirs = pyspiel.load_game("go", terms).new_initial_state()
    game = make_game("go-v0", size=size, komi=0.5, handicap=handicap, max_moves=length)
    state, rewards, played = game.new_state(1), np.zeros(2, np.float32), list[int]()
    game.kernels.reset(state, 0, np.uint64(0))
    status = 0
    while status == 0:
        player, turn = game.mover(state, 0), len(played)
        assert theirs.current_player() == player
        legal = game.legal_actions(state, 0, player)
        others = sorted(_there(size, a) for a in theirs.legal_actions())
        assert set(legal) <= set(others), (played, legal, others)
        for action in set(others) - set(legal):
            assert _drawn_by_superko(theirs, size, action), (played, action)
            seen["refused by superko"] += 1
        if turn % 10 == 0 and turn + 1 < length:
            assert not any(_drawn_by_superko(theirs, size, a) for a in legal), played
        seen["positions"] += 1
        seen["moves"] += len(legal)
        # Fewer passes in two games of three, which last longer and repeat positions.
        few = number % 3 > 0 and len(legal) > 1 and int(word(np.uint64(number), 4 * turn + 1)) % 16
        choice = legal[:-1] if few else legal
        action = choice[below(np.uint64(word(np.uint64(number), 4 * turn)), len(choice))]
        rewards[:] = 0
        status = game.kernels.step(state, 0, np.full(2, action, np.int32), rewards)
        theirs.apply_action(_there(size, action))
        played.append(action)
        board = "".join(reversed([line[3:] for line in str(theirs).splitlines() if line[:2].strip().isdigit()]))
        mine = stones(state, 0)
        assert board == "".join(mine[r * size : (r + 1) * size] for r in reversed(range(size))).replace(".", "+"), (
            played
        )
        assert (status != 0) == theirs.is_terminal(), played
    assert theirs.returns() == rewards.tolist(), (played, theirs.returns(), rewards)
    seen["ended by passes" if played[-2:] == [pass_, pass_] else "ended by the limit"] += 1
    seen["games"] += 1
    # The score itself: komi equal to the margin makes a draw, half a point more or less a win for one side.
    margin = score(state, 0).margin + 0.5
    for off, result in ((0.0, [0, 0]), (-0.5, [1, -1]), (0.5, [-1, 1])):
        again = pyspiel.load_game("go", terms | {"komi": margin + off - handicap}).new_initial_state()
        for action in played:
            again.apply_action(_there(size, action))
        assert again.returns() == result, (played, margin, off, again.returns())


# -- pgx ---------------------------------------------------------------------------------------------------------------


@cache
def _pgx(size: int) -> tuple[Any, ...]:
    """Functions of pgx: init and step of many games, step of one, scores of many."""
    jax, pgx = import_module("jax"), import_module("pgx")
    rules = import_module("pgx._src.games.go")
    env = pgx.make(f"go_{size}x{size}") if size in (9, 19) else import_module("pgx.go").Go(size=size)
    counts = jax.jit(jax.vmap(lambda state: rules._count_scores(state._x, size)))
    return jax.jit(jax.vmap(env.init)), jax.jit(jax.vmap(env.step)), jax.jit(env.step), counts


def pgx_games(size: int, games: int, seed: int, seen: Counter[str]) -> None:
    """Play ``games`` random games to their ends in both programs and compare them.

    Raises:
        AssertionError: they differ.
    """
    jax = import_module("jax")
    init, step, step_one, counts = _pgx(size)
    theirs = init(jax.random.split(jax.random.PRNGKey(seed), games))
    vec = make_vec("go-v0", games, seed=seed, size=size, autoreset_mode="Disabled")
    vec.reset()
    seat = np.asarray(theirs._player_order)  # [N, 2] pgx's players of black and of white
    running, rows = np.ones(games, bool), np.arange(games)
    for turn in range(2 * size * size):
        observation, mask = np.asarray(theirs.observation), np.asarray(theirs.legal_action_mask)
        assert (vec.player[running] == turn % 2).all()
        assert (vec.observation[running][..., :16] == observation[running][..., :16]).all()
        assert (vec.observation[running][..., 16] != observation[running][..., 16]).all()  # 1 there is white
        assert (vec.action_mask <= mask)[running].all()
        for i, action in zip(*np.nonzero((mask > vec.action_mask) & running[:, None]), strict=True):
            after = step_one(jax.tree_util.tree_map(lambda part, i=i: part[i], theirs), int(action))
            assert bool(after.terminated)
            assert float(after.rewards[seat[i, turn % 2]]) == -1, "a repetition loses"
            assert bool(after._x.is_psk)
            seen["refused by superko"] += 1
        seen["positions"] += int(running.sum())
        seen["moves"] += int(vec.action_mask[running].sum())
        actions = vec.sample_actions().copy()
        few = running & (rows % 3 > 0) & (vec.action_mask.sum(1) > 1) & (actions == size * size)
        for i in np.flatnonzero(few):  # fewer passes: play a point instead
            points = np.flatnonzero(vec.action_mask[i, :-1])
            actions[i] = points[below(np.uint64(word(np.uint64(seed), turn * games + int(i))), len(points))]
        theirs = step(theirs, jax.numpy.asarray(actions))
        _, rewards, terminated, _, _ = vec.step(actions)
        ended = np.asarray(theirs.terminated)
        assert (ended == terminated)[running].all()
        closing = running & terminated
        if closing.any():
            areas, paid = np.asarray(counts(theirs)), np.asarray(theirs.rewards)
            for i in np.flatnonzero(closing):
                count = score(vec.state, int(i))
                if stones(vec.state, int(i)).strip("."):
                    assert (count.black, count.white) == tuple(areas[i].tolist())
                else:  # two passes on the empty board: pgx gives every point to both
                    assert (count.black, count.white) == (0, 0)
                    assert areas[i].tolist() == [size * size] * 2
                assert paid[i][seat[i]].tolist() == rewards[i].tolist()
                seen["games"] += 1
                by_passes = int(vec.state.facts[i]["passes"]) == 2
                seen["ended by passes" if by_passes else "ended by the limit"] += 1
        running &= ~terminated
        if not running.any():
            return
    raise AssertionError(f"{running.sum()} games have not ended after {2 * size * size} moves")


# -- the command -------------------------------------------------------------------------------------------------------


def _told(peer: str, size: int, seen: Counter[str], seconds: float) -> str:
    counts = ", ".join(f"{count:,} {name}" for name, count in seen.items())
    return f"{peer}, {size}x{size}: no difference in {counts}; {seconds:.0f} s"


def main(argv: list[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", type=int, default=200, help="games per size and peer; a tenth of it on 19x19")
    parser.add_argument("--sizes", type=int, nargs="+", default=[5, 7, 9, 19])
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=[name for name in PEERS if find_spec(PEERS[name])])
    parser.add_argument("--first", type=int, default=0, help="number of the first game; a game's number is its seed")
    arguments = parser.parse_args(argv)
    if not arguments.peers:
        parser.error("neither open_spiel nor pgx is installed")
    for size in arguments.sizes:
        games = -(-arguments.games // 10) if size == 19 else arguments.games
        if "open_spiel" in arguments.peers:
            seen, start = Counter[str](), time.perf_counter()
            for number in range(arguments.first, arguments.first + games):
                open_spiel_game(size, number, seen)
            print(_told("OpenSpiel", size, seen, time.perf_counter() - start), flush=True)
        if "pgx" in arguments.peers:
            seen, start, batch = Counter(), time.perf_counter(), max(1, min(games, 256))
            for first in range(0, games, batch):
                pgx_games(size, min(batch, games - first), arguments.first + first, seen)
            print(_told("pgx", size, seen, time.perf_counter() - start), flush=True)


if __name__ == "__main__":
    main()
