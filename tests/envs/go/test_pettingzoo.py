"""Go against PettingZoo's go_v5, move by move: what is equal, and every fault of theirs that we do not share."""

from __future__ import annotations

import numpy as np
import pytest

import coterie

pytest.importorskip("pygame")
NAMES = {"player_0": "black_0", "player_1": "white_0"}


def theirs(size, komi=7.5):
    import pettingzoo

    env = pettingzoo.make("aec", "classic/go-v5", board_size=size, komi=komi)
    env.reset()
    return env


def mended(planes, player, mover):
    """What go_v5 means to show ``player``: its own stones first in every pair, the last plane 1 for black.

    go_v5 shows in pair k the stones of whoever moved then, then the other's, to both players alike; its documentation
    promises the current player's stones first. Its last plane is 1 for white; the documentation (and AlphaGo Zero's
    paper) says black.
    """
    out = np.zeros_like(planes)
    for k in range(8):
        moved = (mover + k + 1) % 2  # who made the move that led to pair k
        own = 2 * k if moved == player else 2 * k + 1
        out[:, :, 2 * k] = planes[:, :, own]
        out[:, :, 2 * k + 1] = planes[:, :, own ^ 1]
    out[:, :, 16] = player == 0
    return out


def choose(mask, size, rng):
    """Any legal action; passes are rare, so that games last."""
    legal = np.flatnonzero(mask)
    return int(rng.choice(legal[:-1] if len(legal) > 1 and rng.random() < 0.95 else legal))


@pytest.mark.parametrize(("size", "games"), [(5, 12), (9, 4), (13, 1)])
def test_equal_move_by_move(size, games):
    """Under the simple ko rule everything is equal: masks, observations (mended), rewards, turns."""
    other = theirs(size)
    ours = coterie.make("go-v0", size=size, superko="simple", max_moves=10_000)
    rng = np.random.default_rng(size)
    assert ours.action_space("player_0") == other.action_space("black_0")
    for seat, name in NAMES.items():
        a, b = ours.observation_space(seat)["observation"], other.observation_space(name)["observation"]
        assert (a.shape, a.dtype, a.low.min(), a.high.max()) == (b.shape, b.dtype, b.low.min(), b.high.max())
    for _ in range(games):
        other.reset()
        ours.reset()
        for turn in range(600):
            over = any(ours.terminations.values())
            mover = turn % 2
            for seat, name in NAMES.items():
                mine, its = ours.observe(seat), other.observe(name)
                player = int(seat[-1])
                assert np.array_equal(mine["observation"], mended(its["observation"], player, mover))
                assert mine["observation"].dtype == its["observation"].dtype
                if not over:  # theirs lists the pass once the game is over
                    assert np.array_equal(mine["action_mask"], its["action_mask"])
                    assert mine["action_mask"].dtype == its["action_mask"].dtype
                assert ours.rewards[seat] == other.rewards[name]
                assert ours.terminations[seat] == other.terminations[name]
            assert NAMES[ours.agent_selection] == other.agent_selection
            if over:
                break
            action = choose(ours.last()[0]["action_mask"], size, rng)
            ours.step(action)
            other.step(action)


def test_superko_is_all_that_differs():
    """By default our mask lacks exactly the moves that would bring an earlier position back."""
    other = theirs(5)
    game = coterie.make("go-v0", size=5, max_moves=10_000)
    rng = np.random.default_rng(1)
    lacking = 0
    for _ in range(25):
        other.reset()
        game.reset()
        seen = {other.unwrapped._go.board.tobytes()}
        while not any(game.terminations.values()):
            mine = game.last()[0]["action_mask"]
            its = other.last()[0]["action_mask"]
            assert (mine <= its).all()
            for action in np.flatnonzero(its > mine):
                after = other.unwrapped._go.play_move(divmod(int(action), 5))
                assert after.board.tobytes() in seen
                lacking += 1
            for action in np.flatnonzero(mine[:-1]):
                if rng.random() < 0.1:
                    after = other.unwrapped._go.play_move(divmod(int(action), 5))
                    assert after.board.tobytes() not in seen
            action = choose(mine, 5, rng)
            game.step(action)
            other.step(action)
            seen.add(other.unwrapped._go.board.tobytes())
    assert lacking > 3, "superko hardly came up"


# -- faults of go_v5 1.27 that are not ours; the page of the game lists them -------------------------------------------


def test_it_shows_the_mover_the_other_players_stones_first():
    other = theirs(5)
    other.step(12)  # black in the centre; white is to move
    assert other.observe("white_0")["observation"][2, 2, 0], "its plane 0 holds black's stone, though white looks"
    ours = coterie.make("go-v0", size=5)
    ours.reset()
    ours.step(12)
    seen = ours.observe("player_1")["observation"]
    assert not seen[2, 2, 0]
    assert seen[2, 2, 1]


def test_its_last_plane_is_the_wrong_way_round():
    other = theirs(5)
    assert not other.observe("black_0")["observation"][:, :, 16].any(), "documented: all 1 for black_0"
    ours = coterie.make("go-v0", size=5)
    ours.reset()
    assert ours.observe("player_0")["observation"][:, :, 16].all()
    assert not ours.observe("player_1")["observation"][:, :, 16].any()


def test_it_knows_no_draw():
    other = theirs(5, komi=0)
    ours = coterie.make("go-v0", size=5, komi=0)
    ours.reset()
    for env in (other, ours):
        env.step(25)
        env.step(25)
    assert other.rewards == {"black_0": -1, "white_0": 1}
    assert ours.rewards == {"player_0": 0, "player_1": 0}


def test_boards_of_two_sizes_do_not_mix_there():
    small = theirs(5)
    theirs(9)  # making another size changes globals that the first one reads
    with pytest.raises(IndexError):
        small.reset()
    first, second = coterie.make("go-v0", size=5), coterie.make("go-v0", size=9)
    for env, n in ((first, 26), (second, 82)):
        env.reset()
        env.step(n - 2)
    assert first.last()[0]["action_mask"].shape == (26,)


def test_it_lists_the_pass_in_a_finished_game():
    other = theirs(5)
    other.step(25)
    other.step(25)
    assert other.observe("black_0")["action_mask"].sum() == 1
    ours = coterie.make("go-v0", size=5)
    ours.reset()
    ours.step(25)
    ours.step(25)
    assert ours.observe("player_0")["action_mask"].sum() == 0


def test_its_games_need_not_end():
    """Neither moves nor repeated positions are counted there."""
    other = theirs(5)
    cycle = "A2 B1 B2 C2 E5 D1 E4"
    for name in cycle.split():
        other.step((5 - int(name[1])) * 5 + "ABCDE".index(name[0]))
    seen = set()
    for _ in range(3):  # white sends two, black takes them, white takes one back
        for name in ("A1", "C1", "B1"):
            other.step((5 - int(name[1])) * 5 + "ABCDE".index(name[0]))
        seen.add(other.unwrapped._go.board.tobytes())
        other.step(25)  # black passes, so that white can begin again
    assert len(seen) == 1
    assert not any(other.terminations.values())
