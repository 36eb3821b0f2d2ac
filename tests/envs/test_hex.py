"""Hex against a second, naive set of rules, against its theorems, and against OpenSpiel's and pgx's where installed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coterie
from coterie.agents.search.solver import solve
from coterie.envs import make_game
from coterie.envs.core import GameRecord
from coterie.envs.hex import board, connect, neighbours, root
from coterie.envs.testing import CHECKS, transcript
from coterie.errors import AmbiguousAction, IllegalAction, InvalidAction, NotationError, UsageError
from coterie.version import __version__

SIZES = (3, 4, 5, 7)
GAMES = {(size, swap): make_game("hex-v0", size=size, swap=swap) for size in SIZES for swap in (False, True)}
FIVE = GAMES[5, False]


def begin(game):
    state = game.new_state(1)
    game.kernels.reset(state, 0, np.uint64(0))
    return state


def turn(game, state, action):
    """Status and rewards."""
    rewards = np.zeros(2, np.float32)
    return game.kernels.step(state, 0, np.array([action, action], np.int32), rewards), rewards.tolist()


def play(game, *texts):
    state = begin(game)
    for text in texts:
        turn(game, state, game.parse_action(state, 0, text))
    return state


class Naive:
    """The rules by the book: sets of (column, row), and a walk from edge to edge after every move."""

    TOUCH = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, -1), (-1, 1))

    def __init__(self, size, swap):
        self.size, self.swap = size, swap
        self.stones = (set(), set())
        self.turns = 0

    def legal(self):
        if self.winner() is not None:
            return []
        free = [
            row * self.size + column
            for row in range(self.size)
            for column in range(self.size)
            if (column, row) not in self.stones[0] | self.stones[1]
        ]
        return free + [self.size**2] * (self.swap and self.turns == 1)

    def play(self, action):
        if action == self.size**2:
            (column, row) = self.stones[0].pop()
            self.stones[1].add((row, column))
        else:
            self.stones[self.turns % 2].add((action % self.size, action // self.size))
        self.turns += 1

    def winner(self):
        for player in (0, 1):
            along = 1 - player  # X looks at rows, O at columns
            reached, ahead = set(), [cell for cell in self.stones[player] if cell[along] == 0]
            while ahead:
                cell = ahead.pop()
                if cell in reached:
                    continue
                reached.add(cell)
                if cell[along] == self.size - 1:
                    return player
                near = {(cell[0] + right, cell[1] + down) for right, down in self.TOUCH}
                ahead += near & self.stones[player]
        return None

    def cells(self):
        marks = {cell: "XO"[player] for player in (0, 1) for cell in self.stones[player]}
        return "".join(marks.get((c, r), ".") for r in range(self.size) for c in range(self.size))


@settings(deadline=None, max_examples=60)  # the first call may compile
@given(st.sampled_from(sorted(GAMES)), st.randoms(use_true_random=False))
def test_rules_against_naive_ones(which, random):
    game, naive, status, rewards = GAMES[which], Naive(*which), 0, [0, 0]
    state, other = begin(game), np.full(game.info.observation_shape, 7, np.int8)
    while True:
        winner, mover = naive.winner(), naive.turns % 2
        assert board(state, 0) == naive.cells()
        assert (status != 0) == (winner is not None)
        assert rewards == ([0, 0] if winner is None else [1, -1] if winner == 0 else [-1, 1])
        assert game.mover(state, 0) == mover
        assert game.legal_actions(state, 0, mover) == naive.legal()
        assert game.legal_actions(state, 0, 1 - mover) == []
        for player, (own, opponent) in enumerate(("XO", "OX")):
            game.kernels.observe(state, 0, player, other)
            marks = np.array(list(naive.cells())).reshape(which[0], which[0])
            swap = np.full_like(marks, which[1] and naive.turns == 1, np.int8)
            planes = [marks == own, marks == opponent, np.full_like(swap, player), swap]
            assert np.array_equal(other, np.stack(planes, -1))
        if status:
            break
        action = random.choice(naive.legal())
        if naive.legal()[-1] == which[0] ** 2 and random.random() < 0.5:
            action = which[0] ** 2
        naive.play(action)
        status, rewards = turn(game, state, action)


@settings(deadline=None)
@given(st.sampled_from([3, 4, 5, 7]), st.data())
def test_a_full_board_has_exactly_one_winner(size, data):
    """However it is filled, equally or not; and whoever does not win sees the winner's wall."""
    game = GAMES[size, False]
    colors = data.draw(st.lists(st.integers(0, 1), min_size=size**2, max_size=size**2))
    order = data.draw(st.permutations(range(size**2)))
    state = begin(game)
    for cell in order:
        connect(state, 0, cell, colors[cell])
    edges = [root(state.links, 0, size**2 + edge) for edge in range(4)]
    assert (edges[0] == edges[1]) != (edges[2] == edges[3])


def test_cells_touch_each_other_as_they_should():
    for size in (3, 4, 11, 19):
        touching = [neighbours(cell, size) for cell in range(size**2)]
        for cell, near in enumerate(touching):
            assert len(set(near)) == len(near)
            assert cell not in near
            assert all(cell in touching[other] for other in near)
        assert sorted(map(len, touching)).count(6) == (size - 2) ** 2
        assert sum(map(len, touching)) == 2 * (size - 1) * (3 * size - 1)
    assert len(neighbours(0, 4)) == len(neighbours(15, 4)) == 2, "the sharp corners"
    assert len(neighbours(3, 4)) == len(neighbours(12, 4)) == 3, "the blunt corners"


def naive_value(naive, seen):
    """+1 if the player to move wins."""
    if naive.winner() is not None:
        return -1  # the one who moved last has won
    name = naive.cells(), naive.turns
    if name not in seen:
        value = -1
        for action in naive.legal():
            after = Naive(naive.size, naive.swap)
            after.stones, after.turns = tuple(map(set, naive.stones)), naive.turns
            after.play(action)
            value = max(value, -naive_value(after, seen))
        seen[name] = value
    return seen[name]


@pytest.mark.slow
def test_small_boards_are_solved():
    """3x3: the first player wins, with the swap rule the second; a naive solver agrees about every opening."""
    plain, swapped = solve(GAMES[3, False]), solve(GAMES[3, True])
    assert plain.game_values.tolist() == [1, -1]
    assert swapped.game_values.tolist() == [-1, 1]
    assert {board(plain.graph.states, s) for s in range(len(plain.graph))} < {
        board(swapped.graph.states, s) for s in range(len(swapped.graph))
    }
    seen = {}
    wins = []
    for opening in range(9):
        naive = Naive(3, False)
        naive.play(opening)
        wins.append(naive_value(naive, seen) == -1)
    assert plain.optimal[0].tolist() == wins
    assert wins == [bool(int(won)) for won in "001111100"]
    assert naive_value(Naive(3, True), {}) == -1


def test_keys_tell_positions():
    game = GAMES[3, True]
    known = {}
    rng = np.random.default_rng(0)
    for _ in range(200):
        state, status = begin(game), 0
        while not status:
            told = (board(state, 0), game.mover(state, 0))
            assert known.setdefault(game.key(state, 0), told) == told
            status, _ = turn(game, state, int(rng.choice(game.legal_actions(state, 0, game.mover(state, 0)))))
    assert len(set(known.values())) == len(known) > 300


def test_the_swap_moves_the_stone_to_its_mirror_image():
    game = GAMES[4, True]
    state = play(game, "c1")
    assert game.legal_actions(state, 0, 1)[-1] == 16
    turn(game, state, 16)
    assert board(state, 0) == "........O......."
    assert game.action_to_text(state, 0, 8) == "a3"
    assert game.mover(state, 0) == 0
    assert 16 not in game.legal_actions(state, 0, 0)
    for text in ("c1", "b3", "c2", "c3", "c4"):
        status, rewards = turn(game, state, game.parse_action(state, 0, text))
        assert status == 0
    status, rewards = turn(game, state, game.parse_action(state, 0, "d3"))
    assert (status, rewards) == (1, [-1, 1])


@pytest.mark.slow
@pytest.mark.bounds
@pytest.mark.parametrize("check", CHECKS)
def test_the_swap_rule_passes_every_check(check):
    CHECKS[check](GAMES[4, True])


def test_largest_board():
    game = make_game("hex", size=19, swap=True)
    assert game.info.num_actions == 362
    CHECKS["text"](game)
    assert game.action_to_text(game.new_state(1), 0, 360) == "s19"
    assert max(map(len, transcript(game, range(1)).splitlines())) < 600


@pytest.mark.parametrize("config", [{"size": 2}, {"size": 20}, {"size": 5.0}, {"size": True}, {"size": "5"}])
def test_sizes_that_do_not_work(config):
    with pytest.raises(UsageError, match=r"hex: size=.* came; a whole number from 3 to 19 is needed"):
        make_game("hex", **config)


def test_swap_is_yes_or_no():
    with pytest.raises(UsageError, match="true or false"):
        make_game("hex", swap="maybe")
    with pytest.raises(UsageError, match=r"unexpected keyword argument 'sizes'. Did you mean 'size'\?"):
        make_game("hex", sizes=5)


def test_texts():
    state = play(FIVE, "b1", "c3")
    assert FIVE.compact(state, 0, 0) == "X .X..........O............>"
    assert FIVE.describe(state, 0, 0).split("\n") == [
        "   a b c d e",
        " 1 . X . . .",
        "  2 . . . . .",
        "   3 . . O . .",
        "    4 . . . . .",
        "     5 . . . . .",
        "You are X: connect top and bottom.",
        "Legal actions: every cell with a dot, by column and row, e.g. c2.",
    ]
    assert FIVE.describe(state, 0, 1).endswith("connect left and right.\nYou have no move now.")
    game = GAMES[5, True]
    assert game.describe(play(game, "c3"), 0, 1).endswith("e.g. c2, or swap.")


@pytest.mark.parametrize("text", ["d4", " D4\n", "I play d4!", "d4, yes d4", "(d4)"])
def test_answers_that_are_understood(text):
    assert FIVE.parse_action(play(FIVE, "c3"), 0, text) == 18


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("", InvalidAction, "names no cell"),
        ("4d", InvalidAction, "names no cell"),
        ("d04", InvalidAction, "names no cell"),
        ("f1", InvalidAction, "f1 is not a cell of a board from a1 to e5"),
        ("a6", InvalidAction, "a6 is not a cell of a board from a1 to e5"),
        ("z99", InvalidAction, "is not a cell"),
        ("a1 or b2", AmbiguousAction, "several actions: a1, b2"),
        ("c3", IllegalAction, "c3 cannot be played on"),
        ("swap", IllegalAction, "the swap rule is off"),
    ],
)
def test_answers_that_are_not(text, error, words):
    with pytest.raises(error, match=f"{words}.*Answer with an empty cell, e.g. c2"):
        FIVE.parse_action(play(FIVE, "c3"), 0, text)


def test_no_answer_after_the_end_and_no_late_swap():
    state = play(FIVE, "a1", "b1", "a2", "b2", "a3", "b3", "a4", "b4", "a5")
    with pytest.raises(IllegalAction, match="game is over"):
        FIVE.parse_action(state, 0, "e5")
    game = GAMES[5, True]
    for moves in ((), ("a1", "b1")):
        with pytest.raises(IllegalAction, match="only O's first move"):
            game.parse_action(play(game, *moves), 0, "swap")


def test_starting_from_moves():
    env = coterie.make("hex-v0", size=4, swap=True)
    env.reset(options={"moves": "c1 swap, b2"})
    assert board(env.table.state, 0) == ".....X..O......."
    assert env.agent_selection == "player_1"
    for moves, words, at, read in [
        ("a1 e4", "Move 2 of 'a1 e4', at character 3: e4 is not a cell", 3, ["a1"]),
        ("a1 a1", "a1 cannot be played", 3, ["a1"]),
        ("a1 b1 swap", "only O's first move", 6, ["a1", "b1"]),
        ("a1 b1 a2 b2 a3 b3 a4", "ends the game", 18, ["a1", "b1", "a2", "b2", "a3", "b3"]),
        (3, "wants a text of cells", None, None),
    ]:
        with pytest.raises(NotationError, match=words) as caught:
            env.reset(options={"moves": moves})
        assert (caught.value.at, caught.value.read) == (at, read)


def record(game, start, texts, **more):
    state = game.new_state(1)
    for new, old in zip(state, start, strict=True):
        new[:] = old
    actions = []
    for text in texts:
        actions.append([game.parse_action(state, 0, text)] * 2)
        turn(game, state, actions[-1][0])
    return GameRecord(start, actions, ("a [bold] \\ name", "random"), **more)


def test_a_game_is_saved_as_sgf():
    game = GAMES[4, True]
    played = record(game, begin(game), ["c1", "swap", "b2"], returns=(0.0, 0.0), status=0, comments={2: "why [not]?"})
    assert game.formats[".sgf"](played) == (
        f"(;FF[4]GM[11]CA[UTF-8]AP[coterie:{__version__}]SZ[4]PB[a [bold\\] \\\\ name]PW[random]RE[?]\n"
        ";B[c1];W[swap-pieces];B[b2]C[why [not\\]?])\n"
    )
    played = record(game, play(game, "a1", "d4", "b1"), ["c3"], returns=(-1.0, 0.0), status=1, illegal=0)
    assert game.formats[".sgf"](played).endswith("RE[W+F]AB[a1][b1]AW[d4]PL[W]\n;W[c3]C[B answered illegally.])\n")
    played = record(game, begin(game), ["a1", "b1", "a2"], returns=(1.0, -1.0), status=1)
    assert "RE[B+]\n;B[a1]" in game.formats[".sgf"](played)


def test_what_was_said_is_saved_whatever_it_is():
    game = GAMES[4, True]
    said = {0: "one\r\ntwo\x00]", 1: "my last word"}
    left = record(game, begin(game), ["c1"], returns=(0.0, 0.0), status=0, comments=said)
    assert game.formats[".sgf"](left).endswith("\n;B[c1]C[one\ntwo\\]\nmy last word])\n")
    wrong = record(game, begin(game), ["c1"], returns=(1.0, -1.0), status=1, illegal=1, comments=said)
    assert game.formats[".sgf"](wrong).endswith("C[one\ntwo\\]\nW answered illegally. my last word])\n")
    at_once = record(game, begin(game), [], returns=(-1.0, 1.0), status=1, illegal=0, comments={0: "what?"})
    assert game.formats[".sgf"](at_once).endswith("RE[W+F]C[B answered illegally. what?])\n")
    named = replace(left, players=("a\nb", "c"))
    assert "PB[a b]" in game.formats[".sgf"](named)


def test_the_page_shows_what_its_block_prints(capsys):
    page = (Path(__file__).parents[2] / "docs" / "games" / "hex.md").read_text()
    exec(page.split("```python\n")[1].split("```")[0], {})
    assert capsys.readouterr().out in page


def test_equal_to_openspiel():
    """Random games on five sizes; OpenSpiel's black connects top and bottom too, and numbers cells the same way."""
    pyspiel = pytest.importorskip("pyspiel")
    rng = np.random.default_rng(0)
    for size in (3, 5, 7, 11, 19):
        game = make_game("hex", size=size)
        theirs = pyspiel.load_game("hex", {"num_cols": size, "num_rows": size})
        for _ in range(40):
            state, other, status, rewards = begin(game), theirs.new_initial_state(), 0, [0, 0]
            while True:
                assert other.is_terminal() == (status != 0)
                assert other.returns() == rewards
                if status:
                    break
                mover = game.mover(state, 0)
                assert mover == other.current_player()
                legal = game.legal_actions(state, 0, mover)
                assert legal == other.legal_actions()
                action = int(rng.choice(legal))
                status, rewards = turn(game, state, action)
                other.apply_action(action)


def test_equal_to_pgx():
    """11x11 with the swap: masks, observations, rewards and ends are the same."""
    pgx = pytest.importorskip("pgx")
    jax = pytest.importorskip("jax")
    env, game = pgx.make("hex"), make_game("hex", swap=True)
    step, rng = jax.jit(env.step), np.random.default_rng(0)
    seen = np.zeros((11, 11, 4), np.int8)
    for number in range(30):
        state, other, status, rewards = begin(game), env.init(jax.random.PRNGKey(number)), 0, [0, 0]
        seats = np.asarray(other._player_order)
        while not status:
            mover = game.mover(state, 0)
            mask = game.legal_mask(state, 0, mover)
            assert np.array_equal(mask, np.asarray(other.legal_action_mask))
            game.kernels.observe(state, 0, mover, seen)
            assert np.array_equal(seen, np.asarray(other.observation))
            action = 121 if mask[121] and number % 2 else int(rng.choice(np.flatnonzero(mask)))
            status, rewards = turn(game, state, action)
            other = step(other, action)
            assert bool(other.terminated) == (status != 0)
            assert np.asarray(other.rewards)[seats].tolist() == rewards
