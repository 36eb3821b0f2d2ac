"""Go against a second set of rules: slow ones, in plain Python, written from the rules' own words.

The file is longer than most: the second set of rules is in it.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coterie
from coterie.aliases import RUNNING
from coterie.envs import go_v0, make_game
from coterie.envs.go import score
from coterie.envs.go.position import point, stones
from coterie.envs.go.rules import cell_of
from coterie.envs.stepping import jit
from coterie.errors import UnknownName, UsageError

FIVE = make_game("go-v0", size=5)

# Where the compiler is off, a step takes a thousand times as long: small boards and few games.
PLAIN = jit.disabled()


class Board:
    """Go from the rules' words: stones in a dict, sets of points, every earlier position kept whole."""

    def __init__(self, size, handicap=(), superko="positional"):
        self.size, self.superko = size, superko
        self.stones = dict.fromkeys(handicap, 0)
        self.mover = 1 if handicap else 0
        self.passes = 0
        self.past = [(self.position(), self.mover)]
        self.captured = [0, 0]

    def position(self):
        return frozenset(self.stones.items())

    def around(self, p):
        row, column = divmod(p, self.size)
        for r, c in ((row + 1, column), (row - 1, column), (row, column + 1), (row, column - 1)):
            if 0 <= r < self.size and 0 <= c < self.size:
                yield r * self.size + c

    def region(self, p, there):
        """All points connected with p that hold what p holds, and all points that touch them."""
        found, edge, queue = {p}, set(), [p]
        while queue:
            for q in self.around(queue.pop()):
                if there.get(q) == there.get(p):
                    if q not in found:
                        found.add(q)
                        queue.append(q)
                else:
                    edge.add(q)
        return found, edge

    def after(self, p):
        """The stones after the mover plays p, or why it may not."""
        if p in self.stones:
            return "occupied"
        there = self.stones | {p: self.mover}
        for q in self.around(p):
            if there.get(q) == 1 - self.mover:
                chain, edge = self.region(q, there)
                if all(e in there for e in edge):
                    for stone in chain:
                        del there[stone]
        chain, edge = self.region(p, there)
        if all(e in there for e in edge):
            return "suicide"
        position = frozenset(there.items())
        if self.superko == "positional":
            again = any(position == old for old, _ in self.past)
        elif self.superko == "situational":
            again = (position, 1 - self.mover) in self.past
        else:
            again = len(self.past) > 1 and position == self.past[-2][0]
        return "ko" if again else there

    def legal(self):
        return [p for p in range(self.size**2) if isinstance(self.after(p), dict)] + [self.size**2]

    def play(self, action):
        if action == self.size**2:
            self.passes += 1
        else:
            after = self.after(action)
            self.captured[self.mover] += len(self.stones) + 1 - len(after)
            self.stones, self.passes = after, 0
        self.mover = 1 - self.mover
        self.past.append((self.position(), self.mover))

    def count(self):
        """Points of black and of white."""
        points = [0, 0]
        for p in range(self.size**2):
            owner = self.stones.get(p)
            if owner is None:
                seen = {self.stones[e] for e in self.region(p, self.stones)[1] if e in self.stones}
                owner = seen.pop() if len(seen) == 1 else None
            if owner is not None:
                points[owner] += 1
        return points


def start(game):
    state = game.new_state(1)
    game.kernels.reset(state, 0, np.uint64(0))
    return state


def play(game, state, actions):
    """Status and rewards of the last of some legal moves."""
    status, rewards = RUNNING, np.zeros(2, np.float32)
    for action in actions:
        mover = game.mover(state, 0)
        assert action in game.legal_actions(state, 0, mover), point(game.config["size"], action)
        rewards[:] = 0
        status = game.kernels.step(state, 0, np.array([action, action], np.int32), rewards)
    return status, rewards


def at(size, names):
    """Actions of points that are written as in "D4 pass C3"."""
    letters = "ABCDEFGHJKLMNOPQRST"
    return [size * size if n == "pass" else (size - int(n[1:])) * size + letters.index(n[0]) for n in names.split()]


def consistent(state, size):
    """Chains, heads, rings, liberties and hashes say what the stones say."""
    board = Board(size)
    board.stones = {p: "XO".index(s) for p, s in enumerate(stones(state, 0)) if s != "."}
    chains = state.chains[0]
    for p in board.stones:
        chain, edge = board.region(p, board.stones)
        cells = {cell_of(size, q) for q in chain}
        head = int(chains[cell_of(size, p)]["head"])
        assert head in cells
        ring, q = [], cell_of(size, p)
        while q not in ring:
            ring.append(q)
            q = int(chains[q]["next"])
        assert set(ring) == cells
        assert q == ring[0]
        assert all(int(chains[c]["head"]) == head for c in cells)
        assert int(chains[head]["size"]) == len(chain)
        free = sum(1 for q in chain for e in board.around(q) if e not in board.stones)
        assert int(chains[head]["libs"]) == free > 0, "a chain without liberties stands on the board"


SETTINGS = [
    (5, 0, "positional", 400),
    (5, 0, "situational", 400),
    (5, 0, "simple", 400),
    (6, 0, "positional", 300),
    (7, 4, "positional", 300),
    (8, 2, "situational", 200),
    (9, 0, "positional", 162),
    (9, 5, "positional", 250),
    (13, 9, "positional", 150),
    (19, 0, "positional", 120),
    (19, 7, "simple", 120),
]


@pytest.mark.parametrize(
    ("size", "handicap", "superko", "max_moves"), [line for line in SETTINGS if line[0] < 9 or not PLAIN]
)
def test_random_games_against_slow_rules(size, handicap, superko, max_moves):
    komi = [-3, 0, 0.5, 7, 7.5][size % 5]
    game = make_game("go-v0", size=size, komi=komi, handicap=handicap, superko=superko, max_moves=max_moves)
    refused, ends = 0, set()
    for seed in range(2 if size > 9 or PLAIN else 20 if size == 5 else 6):
        rng = np.random.default_rng(seed)
        state = start(game)
        fixed = [p for p, s in enumerate(stones(state, 0)) if s == "X"]
        assert len(fixed) == handicap
        slow = Board(size, fixed, superko)
        status, turn = RUNNING, 0
        while status == RUNNING:
            assert game.mover(state, 0) == slow.mover
            legal = slow.legal()
            assert game.legal_actions(state, 0, slow.mover) == legal
            assert game.legal_actions(state, 0, 1 - slow.mover) == []
            refused += sum(slow.after(p) == "ko" for p in range(size**2) if p not in slow.stones) if size < 7 else 0
            # Passes are rare in most games, so that these last and repeat themselves.
            points = legal[:-1] if len(legal) > 1 and seed and rng.random() < 0.97 else legal
            action = int(rng.choice(points))
            status, rewards = play_unchecked(game, state, action)
            slow.play(action)
            turn += 1
            assert list(stones(state, 0)) == [".XO"[slow.stones.get(p, -1) + 1] for p in range(size**2)]
            assert state.facts[0]["captured"].tolist() == slow.captured
            if turn % 10 == 0:
                consistent(state, size)
            over = slow.passes == 2 or turn == max_moves
            assert (status != RUNNING) == over
        ends.add("passes" if slow.passes == 2 else "limit")
        black, white = slow.count()
        assert score(state, 0)[:3] == (black, white, komi)
        margin = black - white - komi
        assert rewards.tolist() == ([0, 0] if margin == 0 else [1, -1] if margin > 0 else [-1, 1])
        assert not game.legal_mask(state, 0, 0).any()
        assert not game.legal_mask(state, 0, 1).any()
    assert ends
    if size == 5 and not PLAIN:
        assert refused > 12, "ko hardly came up"


def play_unchecked(game, state, action):
    rewards = np.zeros(2, np.float32)
    return game.kernels.step(state, 0, np.array([action, action], np.int32), rewards), rewards


@settings(deadline=None, max_examples=5 if PLAIN else 60)
@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=80), st.sampled_from([5, 6, 7]))
def test_properties_of_any_game(choices, size):
    """Whatever is played: chains breathe, no position comes back by a stone, areas fit on the board."""
    game = make_game("go-v0", size=size)
    state = start(game)
    seen = {stones(state, 0)}
    for choice in choices:
        mover = game.mover(state, 0)
        legal = game.legal_actions(state, 0, mover)
        action = legal[choice % len(legal)]
        before = stones(state, 0)
        status, _ = play_unchecked(game, state, action)
        now = stones(state, 0)
        assert (now == before) == (action == size * size)
        assert action == size * size or now not in seen
        seen.add(now)
        consistent(state, size)
        count = score(state, 0)
        assert count.black + count.white <= size * size
        assert count.black >= now.count("X")
        assert count.white >= now.count("O")
        assert now.count(".") == size * size - now.count("X") - now.count("O")
        if status != RUNNING:
            break


def test_draws_are_legal_and_even():
    """Every legal action about as often as any other."""
    game = make_game("go-v0", size=5)
    state = start(game)
    play(game, state, at(5, "B3 C3 C2 D2 C4 D4 A1 E3 D3"))  # black's last stone takes C3
    legal = game.legal_actions(state, 0, 1)
    assert at(5, "C3")[0] not in legal
    rng = np.random.default_rng(0)
    words = rng.integers(0, 2**64, 1_000 if PLAIN else 20_000, np.uint64)
    drawn = np.bincount([int(game.kernels.draw(state, 0, word)) for word in words], minlength=26)
    assert np.flatnonzero(drawn).tolist() == legal
    expected = len(words) / len(legal)
    assert abs(drawn[legal] - expected).max() < 5 * expected**0.5
    assert game.kernels.draw(state, 0, np.uint64(0)) in legal


def test_a_stone_without_liberties_goes():
    state = start(FIVE)
    play(FIVE, state, at(5, "A1 A2 C3 B1"))
    assert stones(state, 0)[at(5, "A1")[0]] == "."
    assert state.facts[0]["captured"].tolist() == [0, 1]


def test_suicide_is_forbidden_unless_it_captures():
    state = start(FIVE)
    play(FIVE, state, at(5, "A2 E5 B1 E4"))
    assert at(5, "A1")[0] in FIVE.legal_actions(state, 0, 0), "black's stone joins the others"
    play(FIVE, state, at(5, "E3"))
    assert at(5, "A1")[0] not in FIVE.legal_actions(state, 0, 1), "white's stone would have no liberty"
    state = start(FIVE)
    play(FIVE, state, at(5, "A2 B2 B1 A3 E5 C1"))
    play(FIVE, state, at(5, "E4"))
    assert at(5, "A1")[0] in FIVE.legal_actions(state, 0, 1), "white takes both stones with it"
    play(FIVE, state, at(5, "A1"))
    assert stones(state, 0).count("X") == 2


KO = "C4 D4 B3 E3 C2 D2 D3 C3"
"""White's last stone takes D3: black may not take C3 at once."""


@pytest.mark.parametrize("superko", ["positional", "situational", "simple"])
def test_ko(superko):
    game = make_game("go-v0", size=5, superko=superko)
    state = start(game)
    play(game, state, at(5, KO))
    (back,) = at(5, "D3")
    assert state.facts[0]["captured"].tolist() == [0, 1]
    assert back not in game.legal_actions(state, 0, 0)
    play(game, state, at(5, "A1 A5"))  # after an exchange elsewhere the position is another one
    assert back in game.legal_actions(state, 0, 0)
    play(game, state, at(5, "D3"))
    assert at(5, "C3")[0] not in game.legal_actions(state, 0, 1)


@pytest.mark.parametrize(("superko", "allowed"), [("positional", False), ("situational", True), ("simple", True)])
def test_sending_two_and_taking_one_back(superko, allowed):
    """Three moves bring the board back, with the other player to move."""
    game = make_game("go-v0", size=5, superko=superko)
    state = start(game)
    play(game, state, at(5, "A2 B1 B2 C2 E5 D1 E4"))
    before = stones(state, 0)
    play(game, state, at(5, "A1 C1"))  # white makes it two, black takes both
    (back,) = at(5, "B1")
    assert (back in game.legal_actions(state, 0, 1)) == allowed
    if allowed:
        play(game, state, [back])
        assert stones(state, 0) == before


@pytest.mark.skipif(PLAIN, reason="the compiler is off")
def test_a_triple_ko_goes_round_under_the_simple_rule_alone():
    """Only superko ends a cycle of several kos: random play under the simple rule repeats positions."""
    repeated = 0
    for superko in ("simple", "positional"):
        game = make_game("go-v0", size=5, superko=superko, max_moves=2000)
        for seed in range(4):
            rng = np.random.default_rng(seed)
            state, status, seen = start(game), RUNNING, set()
            while status == RUNNING:
                legal = game.legal_actions(state, 0, game.mover(state, 0))
                action = int(rng.choice(legal[:-1] if len(legal) > 1 else legal))
                status, _ = play_unchecked(game, state, action)
                again = action != 25 and stones(state, 0) in seen
                seen.add(stones(state, 0))
                repeated += again
                assert superko == "simple" or not again
    assert repeated


def test_area_of_a_known_position():
    """Black holds the left two columns, white the right two; the middle column reaches both."""
    game = make_game("go-v0", size=5, komi=0)
    state = start(game)
    play(game, state, at(5, "B1 D1 B2 D2 B3 D3 B4 D4 B5 D5"))
    assert score(state, 0)[:2] == (10, 10)
    status, rewards = play(game, state, at(5, "pass pass"))
    assert status == 1
    assert rewards.tolist() == [0, 0], "equal areas are a draw"
    game = make_game("go-v0", size=5, komi=0.5)
    state = start(game)
    _, rewards = play(game, state, at(5, "B1 D1 B2 D2 B3 D3 B4 D4 B5 D5 pass pass"))
    assert rewards.tolist() == [-1, 1]


def test_an_empty_board_belongs_to_nobody():
    state = start(FIVE)
    _, rewards = play(FIVE, state, [25, 25])
    assert score(state, 0)[:2] == (0, 0)
    assert rewards.tolist() == [-1, 1], "komi"


def test_the_last_move_allowed_is_counted():
    game = make_game("go-v0", size=5, max_moves=3, komi=0)
    state = start(game)
    status, rewards = play(game, state, at(5, "C3 pass C2"))
    assert status == 1
    assert rewards.tolist() == [1, -1]
    assert game.info.max_cycles == 3


HANDICAPS = {
    (9, 2): "C3 G7",
    (9, 3): "C3 G7 C7",
    (9, 4): "C3 G7 C7 G3",
    (9, 5): "C3 G7 C7 G3 E5",
    (13, 6): "D4 K10 D10 K4 D7 K7",
    (13, 7): "D4 K10 D10 K4 D7 K7 G7",
    (19, 8): "D4 Q16 D16 Q4 D10 Q10 K16 K4",
    (19, 9): "D4 Q16 D16 Q4 D10 Q10 K16 K4 K10",
    (7, 4): "C3 E5 C5 E3",
    (8, 4): "C3 F6 C6 F3",
    (18, 2): "D4 P15",
}


@pytest.mark.parametrize(("size", "count"), HANDICAPS)
def test_handicap_stones_stand_where_they_always_do(size, count):
    game = make_game("go-v0", size=size, handicap=count)
    state = start(game)
    black = {p for p, s in enumerate(stones(state, 0)) if s == "X"}
    assert black == set(at(size, HANDICAPS[size, count]))
    assert game.mover(state, 0) == 1
    assert game.config["komi"] == 0.5


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"size": 4}, "5 to 19"),
        ({"size": 20}, "5 to 19"),
        ({"size": 9.0}, "whole number"),
        ({"size": True}, "whole number"),
        ({"komi": 7.25}, "half points"),
        ({"komi": "7.5"}, "half points"),
        ({"komi": float("nan")}, "half points"),
        ({"komi": 82}, "from -81 to 81"),
        ({"handicap": 1}, "komi=0.5"),
        ({"handicap": 10}, "0 to 9"),
        ({"size": 8, "handicap": 5}, "0 or 2 to 4"),
        ({"size": 5, "handicap": 2}, "takes 0"),
        ({"max_moves": 1}, "2 to 10,000"),
        ({"max_moves": 10_001}, "2 to 10,000"),
        ({"board_size": 9}, "Did you mean 'size'"),
    ],
)
def test_wrong_arguments(arguments, words):
    with pytest.raises(UsageError, match=words):
        make_game("go-v0", **arguments)


def test_a_misspelt_rule():
    with pytest.raises(UnknownName, match="positional"):
        make_game("go-v0", superko="position")


def test_defaults():
    assert make_game("go-v0").config == {
        "size": 9,
        "komi": 7.5,
        "handicap": 0,
        "superko": "positional",
        "max_moves": 162,
    }


def test_the_same_moves_in_another_order_have_other_pasts():
    """Equal stones after equally many moves; but other positions may not come again, so the keys differ."""
    keys = []
    for moves in ("A1 E5 B1 E4", "B1 E5 A1 E4", "A1 E5 B1 E4"):
        state = start(FIVE)
        play(FIVE, state, at(5, moves))
        keys.append(FIVE.key(state, 0))
    assert keys[0] == keys[2] != keys[1]
    simple = make_game("go-v0", size=5, superko="simple")
    keys = []
    for moves in ("A1 E5 B1 E4", "B1 E5 A1 E4"):
        state = start(simple)
        play(simple, state, at(5, moves))
        keys.append(simple.key(state, 0))
    assert keys[0] == keys[1]
    play(simple, state, [25])
    assert simple.key(state, 0) not in keys


@pytest.mark.skipif(PLAIN, reason="the compiler is off")
def test_batches_play_to_the_end():
    vec = coterie.make_vec("go-v0", 64, seed=1, size=5)
    vec.reset()
    sums = vec.random_rollout(100)
    assert sums.episodes >= 64
    assert sums.returns.sum() == 0


def test_versioned_module():
    env = go_v0.env(size=5, render_mode="ansi")
    env.reset()
    assert env.render().startswith("   A B C D E\n 5 . . . . . 5")
    assert env.action_space("player_0").n == 26
    assert env.observation_space("player_0")["observation"].shape == (5, 5, 17)
