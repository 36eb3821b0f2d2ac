"""Every way in which a file from elsewhere is read: ``READERS``, for the fuzzer and for the tests of hostile files.

Whatever the file holds, a reader returns or raises a ``CoterieError``, soon and in little memory. The files of run
folders are read with sound ones around them and with right digests, as someone would write them who means harm.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..envs.registry import make_game

__all__ = ["READERS", "Reader"]


@dataclass(frozen=True)
class Reader:
    """One way to read a file.

    Attributes:
        name: what is read, e.g. ``"saved games"``.
        suffix: how its files are called, e.g. ``".json"``.
        read: reads a file; raises a ``CoterieError`` if it can't be used.
        sample: the bytes of a small sound file.
    """

    name: str
    suffix: str
    read: Callable[[Path], Any]
    sample: Callable[[], bytes]


# -- tournaments -------------------------------------------------------------------------------------------------------

_SETTINGS = {"game": "tictactoe-v0", "games": 2}
_PLAYERS = {"random": "random", "minimax": "minimax"}


def _tournament(path: Path) -> Any:
    """Read what was kept, and rate it."""
    from ..training.evaluation.ratings import elo, parts
    from ..training.evaluation.table import Table
    from ..training.runs.tournament_folder import read_results

    _, meetings, policies = read_results(path, _SETTINGS, _PLAYERS)
    pairs = {frozenset(meeting.players): meeting for meeting in meetings if set(meeting.players) <= set(_PLAYERS)}
    table = Table(tuple(_PLAYERS), tuple(pairs.values()))
    return policies, table.scores, parts(table.payoff), elo(table.points, table.effective) if pairs else None


def _match() -> bytes:
    """The results of a match of two games."""
    from ..training.evaluation.table import Meeting

    match = Meeting(("random", "minimax"), 2, 2, 0, "dl", 2.0, 0.25, (0.0, 0.9), -0.5, (-1.0, 0.8), (-0.5, 0.5))
    kept = {"identities": _PLAYERS, "meetings": [dataclasses.asdict(match)], "policies": {"random": {"why": "told"}}}
    return json.dumps({**_SETTINGS, **kept}).encode()


# -- runs on tasks -----------------------------------------------------------------------------------------------------


def _transcript(path: Path) -> Any:
    """Read as a run's only transcript, shown and exported."""
    from ..training.episodes.show import as_tree, overview
    from ..training.episodes.transcripts import examples, read_transcript

    with tempfile.TemporaryDirectory() as made:
        folder = Path(made) / "transcripts"
        folder.mkdir()
        shutil.copy(path, folder / "000000.jsonl.gz")
        trees = read_transcript(Path(made))
        overview(trees)
        return [as_tree(tree, prompts=True) for tree in trees], list(examples(trees, "trl"))


def _told() -> bytes:
    """A transcript of one episode with a child."""
    from ..training.episodes.records import GenerateResult, Rollout, Step
    from ..training.episodes.transcripts import write_transcript

    step = Step("A", [{"role": "user", "content": "Well?"}], "yes", choices=["yes", "no"], probabilities=[0.5, 0.5])
    child = GenerateResult(Rollout(steps=[step], rewards={"A": 1.0}), [], "answer", path=(0, 0))
    with tempfile.TemporaryDirectory() as made:
        write_transcript(Path(made), 0, [GenerateResult(Rollout("x"), [child], "ask", path=(0,))], 1)
        return (Path(made) / "transcripts" / "000000.jsonl.gz").read_bytes()


# -- games -------------------------------------------------------------------------------------------------------------


def _saved(path: Path) -> Any:
    from ..envs.replay.file import read_games

    return read_games(path)


def _saved_game(name: str, **config: Any) -> bytes:
    """Three turns of a game, as ``--save`` writes them."""
    from ..envs.core import GameRecord
    from ..envs.replay.file import write_json
    from ..envs.replay.packing import is_packed
    from ..envs.replay.recorder import Recorder
    from ..envs.state import take

    game = make_game(name, **config)
    state = game.new_state(1)
    game.kernels.reset(state, 0, np.uint64(1))
    start, played, players = take(state), [], game.info.players
    noted = Recorder(game, start, 1) if is_packed(game) else None
    for _ in range(3):
        actions = np.zeros(players, np.int32)
        for p in range(players) if game.info.simultaneous else [game.mover(state, 0)]:
            actions[p] = game.legal_actions(state, 0, p)[0]
        rewards = np.zeros(players, np.float32)
        status = int(game.kernels.step(state, 0, actions, rewards))
        played.append(actions.tolist())
        if noted is not None:
            noted.note(actions, rewards, status, state)
    names = tuple(f"player {p}" for p in range(players))
    record = noted.record() if noted is not None else GameRecord(start, played, names, (0.0,) * players, 0)
    return write_json(game, record, 1).encode()


def _state(name: str, path: Path) -> Any:
    from ..envs.making import make

    make(name).reset(options={"state": path.read_bytes()})


def _state_of(name: str) -> bytes:
    from ..envs.making import make
    from ..envs.state import to_bytes

    env: Any = make(name)
    env.reset(seed=1)
    return to_bytes(env.table.game, env.get_state())


def _option(name: str, option: str, path: Path) -> Any:
    """A reset option, from the text of a file."""
    from ..envs.making import make

    make(name).reset(options={option: path.read_text("latin-1")})


def _positions(path: Path) -> Any:
    from ..training.data.curriculum import find_curriculum, read_positions

    game = make_game("chess")
    return read_positions(game, find_curriculum(game, f"fen={path}"), path)


def _problems(path: Path) -> Any:
    from ..training.episodes.data.problems import right
    from ..training.episodes.data.tables import read_problems

    return [right(problem, problem["answer"]) for problem in read_problems(str(path))]


def _schedule(path: Path) -> Any:
    from ..training.episodes.schedule import parse_schedule

    return str(parse_schedule(path.read_bytes().decode("utf-8", "replace")).draw(np.random.default_rng(0)))


def _zipped(text: str) -> bytes:
    import gzip

    return gzip.compress(text.encode(), mtime=0)


def _pgn(path: Path) -> Any:
    from ..envs.chess.pgn import read_pgn

    return read_pgn(path)


def _sgf(path: Path) -> Any:
    from ..envs.go.sgf import read_sgf

    return read_sgf(path)


def _world(path: Path) -> Any:
    return make_game("gridworld", config=str(path)).new_state(1)


def _pedigree(path: Path) -> Any:
    from ..envs.kinship.pedigree import Pedigree

    return Pedigree.from_yaml(path.read_text("latin-1")).matrix()


_FEN = "rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2"
_PGN = '[Event "?"]\n[White "a"]\n\n1. e4 e5 {why} 2. Nf3 (2. f4) Nc6 $1 1-0\n'
_SGF = "(;FF[4]GM[1]SZ[9]KM[6.5]PB[a]AB[aa][bb];W[cc]C[why];B[])\n"
_WORLD = "map:\n  height: 30\n  width: 30\nmax_steps: 50\n"
_PEDIGREE = "[[1, null, null], [2, null, null], [3, 1, 2]]\n"


# -- runs and models ---------------------------------------------------------------------------------------------------


@functools.cache
def _run() -> Path:
    """A run of a net with a checkpoint and a player, and the adapter of a language model."""
    import torch
    from peft import LoraConfig

    from ..agents.bank.files import write_adapter
    from ..agents.net import save_net
    from ..training.runs.config import NetConfig
    from ..training.runs.folder import Run
    from ..training.runs.nets import new_net

    kept = tempfile.TemporaryDirectory(prefix="coterie-")
    _KEPT.append(kept)
    folder = Path(kept.name) / "run"
    config = NetConfig(game="gridworld-v0", set=("preset=a3_9x9",), hidden=8)
    run = Run.create(folder, config)
    net = new_net(make_game("gridworld", preset="a3_9x9"), 8, 0)
    save_net(net, run.player_folder("main", 1))
    run.save(1, {"ppo": {"step": torch.zeros(3), "name": "text"}}, {"long": False})
    run.log({"update": 0, "reward": 0.5, "elapsed": 1.0})
    layer = torch.nn.Sequential(torch.nn.Linear(4, 4))
    adapter = LoraConfig(r=2, lora_alpha=4, target_modules=["0"])
    write_adapter(run.player_folder("adapter", 1), layer, adapter, {"0": (torch.ones(2, 4), torch.ones(4, 2))})
    return folder


_KEPT: list[tempfile.TemporaryDirectory[str]] = []


def _sound(file: str) -> bytes:
    return (_run() / file).read_bytes()


@contextlib.contextmanager
def _beside(file: str, path: Path) -> Iterator[Path]:
    """A copy of the run with the given file in the place of its own, and right digests."""
    from ..agents.sums import NAME, write_sums

    with tempfile.TemporaryDirectory(prefix="coterie-") as made:
        folder = Path(shutil.copytree(_run(), Path(made) / "run"))
        target = folder / file
        target.write_bytes(path.read_bytes())
        listed = target.parent / NAME
        if target.name != NAME and listed.is_file():
            write_sums(target.parent, [line.partition("  ")[2] for line in listed.read_text().splitlines()])
        yield folder


def _in_run(file: str, path: Path) -> Any:
    """Read all of a run with this file in it."""
    from ..training.runs.curves import plot_curves
    from ..training.runs.folder import Run
    from ..training.runs.players import make_player

    with _beside(file, path) as folder:
        run = Run.reopen(folder)
        run.cut_metrics(5)
        if file == "metrics.jsonl":
            plot_curves(run.metrics(), folder / "curves.png")
        run.elapsed()
        run.model()
        run.load()
        make_player(str(folder), make_game("gridworld", preset="a3_9x9"))


def _adapter(file: str, path: Path) -> Any:
    from peft import LoraConfig

    from ..agents.bank.files import read_adapter

    with _beside(f"players/adapter/v000001/{file}", path) as folder:
        config = LoraConfig(r=2, lora_alpha=4, target_modules=["0"])
        return read_adapter(folder / "players" / "adapter" / "v000001", config, ["0"])


def _in_model(file: str, path: Path) -> Any:
    """The built-in model with this file in it."""
    from ..agents.llm import models

    source = sorted(models.WEIGHTS.glob("tiny-v*"))[-1]
    with tempfile.TemporaryDirectory(prefix="coterie-") as made:
        folder = Path(shutil.copytree(source, Path(made) / "model"))
        (folder / file).write_bytes(path.read_bytes())
        return models.load_model(folder)


def _of_model(file: str) -> bytes:
    from ..agents.llm import models

    return (sorted(models.WEIGHTS.glob("tiny-v*"))[-1] / file).read_bytes()


def _run_config(path: Path) -> Any:
    from ..training.runs.config import read_config

    return read_config(path)


_GAMES = ("tictactoe", "chess", "go", "highest_number", "highest_string", "gridworld")
_RUN_FILES = (
    "config.yaml",
    "metrics.jsonl",
    "checkpoints/000001/ppo.pt",
    "checkpoints/000001/state.json",
    "checkpoints/000001/SHA256SUMS",
    "players/main/v000001/net.json",
    "players/main/v000001/net.safetensors",
)
_MODEL_FILES = ("config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json")


def _readers() -> Iterator[Reader]:
    """All of them, games first, then runs and models, which need torch."""
    part = functools.partial
    yield Reader("saved game of a board", ".json", _saved, part(_saved_game, "tictactoe"))
    yield Reader("saved game of a world", ".json", _saved, part(_saved_game, "gridworld", preset="a3_9x9"))
    for name in _GAMES:
        yield Reader(f"state of {name}", ".state", part(_state, name), part(_state_of, name))
    yield Reader("FEN", ".fen", part(_option, "chess", "fen"), _FEN.encode)
    yield Reader("moves of hex", ".txt", part(_option, "hex", "moves"), b"a1 b2".strip)
    yield Reader("moves of connect four", ".txt", part(_option, "connect_four", "moves"), b"3 3".strip)
    yield Reader("SGF as a start", ".sgf", part(_option, "go", "sgf"), _SGF.encode)
    yield Reader("SGF", ".sgf", _sgf, _SGF.encode)
    yield Reader("PGN", ".pgn", _pgn, _PGN.encode)
    hex = "(;GM[11]SZ[4]PB[a];B[a1];W[swap-pieces];B[b2]C[x])"
    for kind, text in (("chess.pgn", _PGN), ("go.sgf", _SGF), ("hex.sgf", hex)):
        yield Reader(f"saved game {kind}", kind[-4:], _saved, text.encode)
    yield Reader("curriculum", ".txt", _positions, f"{_FEN}\n# told\n{_FEN}\n".encode)
    yield Reader("zipped curriculum", ".txt.gz", _positions, part(_zipped, f"{_FEN}\n"))
    yield Reader("problems in JSONL", ".jsonl", _problems, b'{"question": "1 + 1?", "answer": "#### 2"}'.strip)
    yield Reader("problems in CSV", ".csv", _problems, b'question,answer\n"1 + 1?",2\n'.strip)
    yield Reader("results of a tournament", ".json", _tournament, _match)
    yield Reader("transcript", ".jsonl.gz", _transcript, _told)
    yield Reader("configuration of a task", ".yaml", _run_config, b"task: single_turn\nset: {batch: 2}\n".strip)
    yield Reader("schedule", ".txt", _schedule, b"A -> B -> (A/B & C)*(2..5)".strip)
    yield Reader("configuration of a world", ".yaml", _world, _WORLD.encode)
    yield Reader("pedigree", ".yaml", _pedigree, _PEDIGREE.encode)
    yield Reader("configuration of a run", ".yaml", _run_config, b"game: tictactoe\nrollout:\n  games: 16\n".strip)
    for file in _RUN_FILES:
        yield Reader(f"a run's {Path(file).name}", Path(file).suffix, part(_in_run, file), part(_sound, file))
    for file in ("adapter_config.json", "adapter_model.safetensors"):
        sample = part(_sound, f"players/adapter/v000001/{file}")
        yield Reader(f"an adapter's {file}", Path(file).suffix, part(_adapter, file), sample)
    for file in _MODEL_FILES:
        yield Reader(f"a model's {file}", Path(file).suffix, part(_in_model, file), part(_of_model, file))


READERS = tuple(_readers())
"""All readers, by what they read."""
