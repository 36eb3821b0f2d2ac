"""Games in a file: written, read, played again; and lines that are no game."""

from __future__ import annotations

import base64
import gzip
import json
import re
import zlib
from dataclasses import replace

import numpy as np
import pytest

from coterie.aliases import RUNNING, TERMINATED
from coterie.envs.core import GameRecord
from coterie.envs.registry import list_envs, make_game
from coterie.envs.replay.file import read_games, replay, write_json
from coterie.envs.state import take, to_bytes
from coterie.envs.words import TextGame
from coterie.errors import NotationError, UsageError


def random_game(game, seed: int, most: int = 60, state=None) -> tuple[GameRecord, object]:
    """A record of random play, and where it ended."""
    rng = np.random.default_rng(seed)
    info = game.info
    if state is None:
        state = game.new_state(1)
        game.kernels.reset(state, 0, np.uint64(seed))
    start, played, returns, status = take(state), [], np.zeros(info.players), RUNNING
    while status == RUNNING and len(played) < most:
        actions = np.zeros(info.players, np.int32)
        for p in range(info.players) if info.simultaneous else [game.mover(state, 0)]:
            actions[p] = rng.choice(game.legal_actions(state, 0, p))
        rewards = np.zeros(info.players, np.float32)
        status = int(game.kernels.step(state, 0, actions, rewards))
        returns += rewards
        played.append(actions.tolist())
    names = tuple(f"player {p}" for p in range(info.players))
    return GameRecord(start, played, names, tuple(returns.tolist()), status, None, {0: 'says "hm"\nä'}), state


def end_of(game, record):
    *_, (state, _, status) = replay(game, record)
    return to_bytes(game, state), status


def test_names_and_comments_may_hold_any_separator_of_lines() -> None:
    game = make_game("tictactoe")
    record, _ = random_game(game, 5)
    odd = replace(record, players=("a\u2028b", "c\x85\x1c"), comments={0: "\u2029"})
    (saved,) = read_games(write_json(game, odd, seed=5))
    assert (saved.record.players, saved.record.comments) == (("a?b", "c??"), {0: "?"})  # none may steer a terminal


@pytest.mark.parametrize("id", [id for id in list_envs() if not isinstance(make_game(id), TextGame)])
@pytest.mark.parametrize("most", [3, 500])
def test_every_game_comes_back(id: str, most: int) -> None:
    game = make_game(id)
    record, state = random_game(game, 5, most)
    line = write_json(game, record, seed=5, words=["a", "b"])
    assert line.count("\n") == 1
    assert json.loads(line)["seed"] == 5
    (saved,) = read_games(line)
    assert (saved.game.info, saved.game.config, saved.seed, saved.words) == (game.info, game.config, 5, ("a", "b"))
    assert saved.record.players == record.players
    assert saved.record.returns == record.returns
    assert saved.record.status == record.status
    assert saved.record.comments == record.comments
    assert end_of(game, saved.record) == (to_bytes(game, state), record.status)
    assert write_json(saved.game, saved.record, saved.seed, saved.words) == line


def test_configuration_and_start_positions_come_back() -> None:
    game = make_game("highest_number", players=3, rounds=4)
    record, state = random_game(game, 1, 2)
    (saved,) = read_games(write_json(game, record))
    assert saved.game.config == game.config
    assert saved.record.actions == record.actions
    chess = make_game("chess")
    start = chess.new_state(1)
    chess.kernels.reset(start, 0, np.uint64(0))
    chess.options["fen"](start, 0, "4k3/8/8/8/8/8/4P3/4K3 b - - 3 20")
    record, state = random_game(chess, 1, 9, start)
    line = write_json(chess, record, seed=1)
    assert "seed" not in json.loads(line), "no seed leads there"
    (saved,) = read_games(line)
    assert end_of(chess, saved.record)[0] == to_bytes(chess, state)


def test_an_illegal_answer_is_kept() -> None:
    game = make_game("tictactoe")
    record, _ = random_game(game, 0, 2)
    lost = GameRecord(record.start, record.actions, record.players, (-1.0, 0.0), TERMINATED, 0)
    (saved,) = read_games(write_json(game, lost, 0))
    assert (saved.record.illegal, saved.record.status, saved.record.returns) == (0, TERMINATED, (-1, 0))


def test_a_file_of_several(tmp_path) -> None:
    games = [make_game("tictactoe"), make_game("connect_four"), make_game("kuhn_poker")]
    path = tmp_path / "games.json"
    path.write_text("\n".join(write_json(game, random_game(game, 3)[0], 3) for game in games), encoding="utf-8")
    assert [saved.game.info.id for saved in read_games(path)] == [game.info.id for game in games]
    with pytest.raises(UsageError, match="cannot be read"):
        read_games(tmp_path)


def test_files_of_other_kinds(tmp_path) -> None:
    game = make_game("tictactoe")
    packed, binary = tmp_path / "games.json.gz", tmp_path / "games.bin"
    packed.write_bytes(gzip.compress(write_json(game, random_game(game, 3)[0], 3).encode()))
    binary.write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="it is packed; type gunzip"):
        read_games(packed)
    with pytest.raises(UsageError, match="it is not text in UTF-8"):
        read_games(binary)
    with pytest.raises(UsageError, match="is not a file of games"):
        read_games("buy milk")


PGN = '[White "Ada"]\n\n1. e4 {best} e5 2. Nf3 1-0\n\n[FEN "8/8/8/4k3/8/8/4P3/4K3 w - - 0 1"]\n\n1. e4 *\n'


def test_games_of_other_programs() -> None:
    won, begun = read_games(PGN)
    assert won.record.players == ("Ada", "?")
    assert (won.record.status, won.record.returns, len(won.record.actions)) == (TERMINATED, (1.0, -1.0), 3)
    assert won.record.comments == {0: "best"}
    assert (begun.record.status, len(begun.record.actions), begun.seed) == (RUNNING, 1, None)
    (noted,) = read_games("{a comment first} {and one more} 1. e4 *")
    assert len(noted.record.actions) == 1
    (go,) = read_games("(;GM[1]SZ[5]KM[0.5]AB[aa]PL[W]PB[Ada]RE[B+R];W[cc]C[so];B[];W[bb])")
    assert (go.game.config["size"], go.game.config["komi"], go.record.players) == (5, 0.5, ("Ada", ""))
    assert (go.record.returns, go.record.comments, len(go.record.actions)) == ((1.0, -1.0), {0: "so"}, 3)


@pytest.mark.parametrize("name", ["chess", "go", "hex"])
def test_what_is_written_is_read_back(name: str) -> None:
    arguments = {"go": {"size": 5, "komi": 0.5}, "hex": {"size": 4, "swap": True}}.get(name, {})
    game = make_game(name, **arguments)
    for seed in range(5):
        record = random_game(game, seed)[0]
        ((_, write),) = game.formats.items()
        (again,) = read_games(write(record))
        assert again.record.actions == [[max(actions)] * 2 for actions in record.actions]
        assert (again.record.returns, again.record.status) == (record.returns, record.status)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("1. e4 e9", "PGN: Game 1, line 1"),
        ("(;FF[4]GM[1]SZ[5];B[aa];W[aa])", "SGF: move 2, "),
        ("(;GM[1]SZ[5];B[aa];B[bb])", "the other side is to move"),
        ("(;GM[4])", "SGF: this SGF is of a game with the number 4"),
        ("(;GM[11]SZ[4]AB[a1];B[a2])", "begins with stones"),
        ("(;GM[11]SZ[4];B[a2];N[x])", "node 2 of this record of hex is no move"),
        ("(;GM[11]SZ[4];B[a2];W[a2])", "move 2, a2"),
        ("(;GM[11]SZ[900];B[a2])", "hex: size=900"),
    ],
)
def test_games_of_other_programs_that_cannot_be_played(text: str, told: str) -> None:
    with pytest.raises(NotationError, match=re.escape(told)):
        read_games(text)


def start(games: int) -> str:
    """So many games of tictactoe as a line holds one."""
    game = make_game("tictactoe")
    return base64.b64encode(zlib.compress(to_bytes(game, game.new_state(games)))).decode()


def broken(**changes) -> str:
    fields = {
        "game": "tictactoe-v0",
        "config": {},
        "seed": 0,
        "actions": [4, 0],
        "players": ["a", "b"],
        "returns": [0, 0],
        "status": "running",
    }
    fields |= changes
    return json.dumps({name: value for name, value in fields.items() if value is not ...})


def test_what_the_others_are_made_of_can_be_read() -> None:
    assert len(read_games(broken())) == 1


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "not JSON"),
        ("[1, 2]", "not a saved game"),
        (broken(actions=...), "actions missing"),
        (broken(game="tiktaktoe-v0"), "Did you mean 'tictactoe-v0'"),
        (broken(game="tictactoe-v9"), "of tictactoe-v9, but the version here is tictactoe-v0; versions do not mix"),
        (broken(config={"size": 4}), "unexpected keyword argument 'size'"),
        (broken(config=3), "wrong type"),
        (broken(game="gridworld-v0", config={"config": "/etc/passwd"}), "in another file .*a saved game holds its own"),
        (broken(actions=[4, 4]), "Turn 1 .* action 4 of player_1.* not legal there"),
        (broken(actions=[4, 99]), "Turn 1"),
        (broken(actions=[4, -1]), "Turn 1"),
        (broken(actions=[0, 3, 1, 4, 2, 5]), "Turn 5 .* game is already over"),
        (broken(actions=["x"]), "wrong type"),
        (broken(actions=7), "wrong type"),
        (broken(players=["a"]), "has 2 players, this line 1"),
        (broken(returns=[1, 2, 3]), "3 returns"),
        (broken(status="won"), "status is 'won'"),
        (broken(seed=...), "neither a seed nor a start"),
        (broken(seed=..., start="abc"), "neither a seed nor a start"),
        (broken(seed=..., start=start(0)), "its start holds 0 games, not one"),
        (broken(seed=..., start=start(2)), "its start holds 2 games, not one"),
        (broken(game="highest_number-v0", config={}, actions=[[1]]), "number of actions"),
    ],
)
def test_lines_that_are_no_game(line: str, words: str) -> None:
    good = broken()
    with pytest.raises(NotationError, match=words) as caught:
        read_games(f"{good}\n\n{line}\n{good}")
    assert str(caught.value).startswith("line 3: ")
    assert caught.value.at == 3
    assert isinstance(caught.value.read, list)
    assert len(caught.value.read) == 1, "what was read before is kept"


def test_a_replay_tells_where_it_stopped() -> None:
    game = make_game("tictactoe")
    record, _ = random_game(game, 0, 4)
    wrong = GameRecord(record.start, [*record.actions, record.actions[0]], record.players, (0.0, 0.0), RUNNING)
    with pytest.raises(NotationError) as caught:
        list(replay(game, wrong))
    assert caught.value.at == 4
    assert caught.value.read.actions == record.actions
