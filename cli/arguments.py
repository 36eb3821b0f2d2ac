"""The arguments of each ``coterie`` command as a frozen dataclass, from which tyro makes the flags and help texts."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints

import tyro

from ..envs.arguments import wanted, with_preset
from ..errors import UsageError, did_you_mean

__all__ = [
    "Bench",
    "Envs",
    "Eval",
    "Play",
    "Tournament",
    "Train",
    "TrainTask",
    "View",
    "parse",
    "train_arguments",
    "wanted",
    "with_preset",
]


@dataclass(frozen=True)
class Envs:
    """List the games, or describe one.

    Attributes:
        game: the game to describe; without it, all games are listed.
        set: the game's own arguments, e.g. size=9 komi=6.5; dots set parts of them, e.g. agent.energy=100.
        presets: list the game's presets (named configurations).
        preset: describe the game with this preset.
        yaml: print the whole configuration as YAML instead; edit it and play it with --set config=FILE.
    """

    game: tyro.conf.Positional[str] = ""
    set: tuple[str, ...] = ()
    presets: bool = False
    preset: str = ""
    yaml: bool = False


@dataclass(frozen=True)
class Play:
    """Play a game and show it.

    In the window of a world (gridworld): click an agent to inspect it; Enter takes it over and hands it back. You then
    turn and move with the arrows or WASD; Space uses, x or 1-9 attacks, g gives, f shields, v swaps, b steps back.
    Always: c camera, wheel zoom, p pause, . one tick, + and - speed, o its view, Tab next agent, n new world, h all
    keys.

    Attributes:
        game: the game to play; `coterie envs` lists them.
        who: short for --players, e.g. coterie play gridworld forager.
        players: one player per seat: a baseline (random, minimax, greedy, mcts:400, alphabeta:4, uci:PATH,
            equilibrium; forager, raider, altruist), human, net (the small net that ships), a run folder or a model. The
            default is human against random (gridworld: human among foragers), or the players saved in the --from file.
            In a game of more than two seats, the last player named takes all remaining seats.
        games: number of games; with more than one, only results are shown.
        seed: the same seed gives the same game.
        gif: write the first game to this file as an animated GIF.
        mp4: write the first game to this file as an MP4.
        follow: the agent that films and windows of worlds follow.
        ticks: stop each game after this many turns (ticks); 0 plays to the end.
        window: play in a window with the mouse; in worlds, watch, inspect agents and take one over (h lists all keys).
        save: add the games to this file: .json, or the game's own format (chess .pgn; go and hex .sgf).
        start: start the games from this position instead, e.g. fen="8/8/8/4k3/8/8/4P3/4K3 w - - 0 1".
        from_: continue the last game in a file written by --save or by a closed window.
        replay: replay and check the games in such a file; with --window, --gif or --mp4, also show the last one.
        set: the game's own arguments, e.g. size=9 komi=6.5; `coterie envs GAME` lists them.
        preset: short for --set preset=..., in games that have presets; `coterie envs GAME --presets` lists them.
    """

    game: tyro.conf.Positional[str] = ""
    who: tyro.conf.Positional[tuple[str, ...]] = ()
    players: tuple[str, ...] = ()
    games: int = 1
    seed: int = 0
    gif: Path | None = None
    mp4: Path | None = None
    follow: int = -1
    ticks: int = 0
    window: bool = False
    save: Path | None = None
    start: tuple[str, ...] = ()
    from_: Annotated[Path | None, tyro.conf.arg(name="from")] = None
    replay: Path | None = None
    set: tuple[str, ...] = ()
    preset: str = ""


@dataclass(frozen=True)
class Train:
    """Train a model by playing a game: a language model, or with --policy net a small net.

    Attributes:
        game: the game to learn; `coterie envs` lists them. Not needed with --config, or with --run and --resume. It may
            also be a task for several roles ({tasks}); `coterie train TASK --help` lists its flags.
        config: a YAML file of fields that differ from the game's preset, such as a run's config.yaml.
        run: the run's folder; runs/GAME-TIME by default.
        resume: continue the run in --run, or the newest run of this game.
        preset: short for --set preset=..., in games that have presets; `coterie envs GAME --presets` lists them.
        report_to: where metrics go besides metrics.jsonl: tensorboard (files in the run's folder), wandb or none.
    """

    game: tyro.conf.Positional[str] = ""
    config: Path | None = None
    run: Path | None = None
    resume: bool = False
    preset: str = ""
    report_to: Literal["tensorboard", "wandb", "none"] = "tensorboard"


@dataclass(frozen=True)
class TrainTask:
    """Train the roles of a task.

    Attributes:
        task: the task; several joined by + are mixed. Not needed with --config, or with --run and --resume.
            --num-steps, --batch-size and --model-path mean --updates, --batch and --model.
        config: a YAML file of fields that differ from the task's defaults, such as a run's config.yaml.
        run: the run's folder; runs/TASK-TIME by default.
        resume: continue the run in --run, or the newest run of this task.
        report_to: where metrics go besides metrics.jsonl: tensorboard (files in the run's folder), wandb or none.
        verbose: show the first episode of every update, with all that was said in it.
    """

    task: tyro.conf.Positional[str] = ""
    config: Path | None = None
    run: Path | None = None
    resume: bool = False
    report_to: Literal["tensorboard", "wandb", "none"] = "tensorboard"
    verbose: bool = False


@dataclass(frozen=True)
class Eval:
    """Measure a player: in matches against others from both seats, and by comparing its policy with exact play.

    In worlds that many agents share (gridworld), measure what the player earns on held-out maps when it sits in every
    seat, and what other players earn on the same maps. Models then sample, as in training.

    Attributes:
        run: a run folder (RUN, RUN:player, RUN:player@version), a model or any other player.
        others: with --matrix, the other players.
        matrix: let all players play each other and rate them, as `coterie tournament` does; it has more options.
        vs: opponents; by default those in the game's preset.
        games: games against each opponent, half from either seat; with a curriculum, the number of held-out positions;
            in worlds, the number of worlds. 0 means 1000, in worlds 32, with --matrix 200.
        opening_plies: games start after 0 to this many random plies, and each opening is played from every seat. The
            default is 0; where both sides are deterministic, it is a quarter of the longest game, at most 8.
        ticks: stop each world after this many ticks; 0 plays to the end.
        save: in worlds, add every world played to this JSON lines file; `coterie play --replay FILE` shows them.
        curriculum: instead, count the held-out positions that the player solves. A name (`coterie envs GAME` lists
            them) or [OPTION=]FILE; without --vs, the default is the curriculum the run was trained on, if any.
        game: the game to play; needed unless RUN is a run folder.
        seed: the same seed gives the same games.
        sample: sample the model's actions, as in training, instead of taking the likeliest; the exact figures then
            measure that policy.
        set: the game's own arguments, e.g. size=9; by default those of the run.
        preset: evaluate in another world than the run's, in games that have presets; what the players observe stays as
            in the run.
        goal: what the player must reach, e.g. random.win>=0.9,minimax.draw>=0.97. The last line says whether it did; if
            not, the command exits with code 1.
        limit: in games with hidden information, compute exact figures if there are no more decisions than this
            (docs/evaluation.md says what larger games take).
        json: print one JSON object per line instead of a table.
    """

    run: tyro.conf.Positional[str]
    others: tyro.conf.Positional[tuple[str, ...]] = ()
    matrix: bool = False
    vs: tuple[str, ...] = ()
    games: int = 0
    opening_plies: int | None = None
    limit: int = 20_000
    ticks: int = 0
    save: Path | None = None
    curriculum: str = ""
    game: str = ""
    seed: int = 0
    sample: bool = False
    set: tuple[str, ...] = ()
    preset: str = ""
    goal: str = ""
    json: bool = False


@dataclass(frozen=True)
class Tournament:
    """Let players play each other, and rate them: Elo, OpenSkill, Nash averaging, alpha-rank, all payoffs.

    For games of two players. docs/ratings.md says what each figure means, and when they disagree.

    coterie tournament RUN OTHER_RUN mcts:400 random --out board

    Attributes:
        players: two or more: random, minimax, mcts:400, uci:PATH, a model, a run folder. A run folder stands for all
            learners that it holds; RUN:player@version is one of them. A run folder alone meets its own earlier
            versions.
        game: the game to play; needed unless a run folder is among the players.
        games: games of each pair, half of them from either seat.
        opening_plies: games start after 0 to this many random plies, and each opening is played from either seat. The
            default is 0; where both sides are deterministic, it is a quarter of the longest game, at most 8.
        seed: the same seed gives the same games.
        sample: sample the models' actions, as in training, instead of taking the likeliest.
        past: earlier versions of each learner of a run folder that take part too, spaced evenly; by default 3 if one
            run folder is all, otherwise 0.
        swiss: play this many rounds, in which players with about as many points meet, instead of all pairs.
        out: write leaderboard.html, pictures and results.json to this folder. The same command goes on where it was
            stopped, and plays no match twice.
        set: the game's own arguments, e.g. size=9; by default those of the first run.
        preset: short for --set preset=..., in games that have presets.
        json: print the results as one JSON object instead of tables.
    """

    players: tyro.conf.Positional[tuple[str, ...]]
    game: str = ""
    games: int = 200
    opening_plies: int | None = None
    seed: int = 0
    sample: bool = False
    past: int | None = None
    swiss: int = 0
    out: Path | None = None
    set: tuple[str, ...] = ()
    preset: str = ""
    json: bool = False


@dataclass(frozen=True)
class View:
    """Read what was said in a run on a task: the trees of episodes, who said what, with which probability and reward.

    Attributes:
        run: the run's folder.
        update: the update, from 0; by default the newest whose words are kept, with --chat and --trl all of them.
        episode: show this episode and those it started, e.g. 0 or 3.1; without it, the update's episodes are listed.
        prompts: show what every role was shown, too.
        chat: write every answer to this JSON lines file, in the chat format (messages).
        trl: the same with the columns of TRL's trainers (prompt, completion).
    """

    run: tyro.conf.Positional[Path]
    update: int | None = None
    episode: str = ""
    prompts: bool = False
    chat: Path | None = None
    trl: Path | None = None


@dataclass(frozen=True)
class Bench:
    """Measure how fast this machine plays, decides and learns, and compare with other libraries that are installed.

    Attributes:
        room: what to measure: envs, chess, boards, gridworld, search, policy, population, train or episodes.
        json: print one JSON object per line: name, rate, unit, threads, peer, peer_rate, ratio.
    """

    room: tyro.conf.Positional[str]
    json: bool = False


def train_arguments(config: Any) -> Any:
    """``Train`` with the fields of a configuration (``TrainConfig`` or ``NetConfig``) added to its own."""
    from ..training.episodes.tasks import TASKS

    return _train_arguments(config, ", ".join(TASKS))


@cache
def _train_arguments(config: Any, tasks: str) -> Any:
    """``train_arguments`` with these tasks; one class each, since tyro keeps every class that it reads."""
    own, more = get_type_hints(Train, include_extras=True), get_type_hints(config)
    fields: list[Any] = [(f.name, own[f.name], dataclasses.field(default=f.default)) for f in dataclasses.fields(Train)]
    fields += [(f.name, more[f.name]) for f in dataclasses.fields(config) if f.name != "game"]
    made = dataclasses.make_dataclass("Arguments", fields, frozen=True, kw_only=True)
    told = (config.__doc__ or "").partition("Attributes:\n")[2].splitlines()
    made.__doc__ = "\n".join(
        [
            (Train.__doc__ or "").replace("{tasks}", tasks).rstrip(),
            *(line for line in told if not line.strip().startswith("game:")),
        ]
    )
    return made


def parse(kind: Any, command: str, words: list[str], default: Any = None) -> Any:
    """Parse the words into an instance of a dataclass; an unknown flag raises UsageError, tyro reports other errors."""
    if {"-h", "--help"} & set(words):
        words = ["--help"]  # tyro's help omits arguments that were already given
    words = _gathered(words, "--set")
    said = io.StringIO()
    options: dict[str, Any] = {} if default is None else {"default": default}
    try:
        with contextlib.redirect_stderr(said):
            return tyro.cli(
                kind,
                prog=f"coterie {command}",
                args=words,
                config=(tyro.conf.OmitArgPrefixes, tyro.conf.FlagCreatePairsOff),
                **options,
            )
    except SystemExit as leaving:
        if leaving.code:
            flags = _flags(kind)
            for word in words:
                flag = "--" + word[2:].split("=")[0].replace("_", "-")
                if word.startswith("--") and len(word) > 2 and flag not in flags:
                    raise UsageError(
                        f"`coterie {command}` has no flag {flag!r}.{did_you_mean(flag, flags)} "
                        f"`coterie {command} --help` lists them all."
                    ) from None
            sys.stderr.write(said.getvalue())
        raise


def _gathered(words: list[str], flag: str) -> list[str]:
    """``--set a --set b`` as ``--set a b``: tyro would use only the last one."""
    found: list[str] = []
    values: list[str] = []
    first, taking = -1, False
    for word in words:
        if word == flag or word.startswith(f"{flag}="):
            taking = word == flag
            values += [] if taking else [word.partition("=")[2]]
            first = len(found) if first < 0 else first
        elif taking and not word.startswith("--"):
            values.append(word)
        else:
            taking = False
            found.append(word)
    return found if first < 0 else [*found[:first], flag, *values, *found[first:]]


def _flags(kind: Any) -> list[str]:
    """All flags of a dataclass and of the dataclasses nested in it."""
    flags = ["--help"]
    for attribute, hint in get_type_hints(kind).items():
        name = attribute.rstrip("_")  # from_, because from is a Python keyword
        if dataclasses.is_dataclass(hint):
            flags += _flags(hint)
        else:
            flags += [f"--{name.replace('_', '-')}"] + ([f"--no-{name.replace('_', '-')}"] if hint is bool else [])
    return flags
