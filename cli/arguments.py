"""The arguments of the ``coterie`` command: a frozen dataclass each; tyro makes flags and help texts from them."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints

import tyro

from ..envs.arguments import wanted, with_preset
from ..errors import UsageError, did_you_mean

__all__ = ["Bench", "Envs", "Eval", "Play", "Train", "parse", "train_arguments", "wanted", "with_preset"]


@dataclass(frozen=True)
class Envs:
    """List the games, or tell all about one.

    Attributes:
        game: tell about this one.
        set: its own arguments, e.g. size=9 komi=6.5; parts of them by dots, e.g. agent.energy=100.
        presets: list its presets: configurations that have names.
        preset: tell about the game as this preset has it.
        yaml: print the whole configuration instead, as a file to edit and to play: --set config=FILE.
    """

    game: tyro.conf.Positional[str] = ""
    set: tuple[str, ...] = ()
    presets: bool = False
    preset: str = ""
    yaml: bool = False


@dataclass(frozen=True)
class Play:
    """Play a game and show it.

    At the window of a world (gridworld): click an agent to look into it; Enter takes it over and hands it back. Then
    arrows or WASD turn and go, Space uses, x or 1-9 attacks, g gives, f shields, v swaps, b steps back. Always: c
    camera, wheel zoom, p pause, . one tick, + and - speed, o what it sees, Tab next agent, n new world, h all keys.

    Attributes:
        game: what is played; `coterie envs` lists the names.
        who: short for --players, e.g. coterie play gridworld forager.
        players: who sits in which seat: a baseline (random, minimax, greedy, mcts:400, alphabeta:4, uci:PATH,
            equilibrium; forager, raider, altruist), human, net (the small net that ships), a run folder or a model; by
            default human against random (gridworld: among foragers), or as in the file of --from. Where there are more
            than two seats, the last one named takes all that are left.
        games: how many; with more than one, only results are shown.
        seed: the same seed gives the same game.
        gif: draw the (first) game into this file.
        mp4: the same as a film.
        follow: films and windows of worlds: follow this agent.
        ticks: leave each game after so many turns (ticks); 0: at its end.
        window: play with the mouse, in a window; worlds: watch, look into agents and take one over (h: all keys).
        save: add the games to this file: .json, and what else the game can be written in (chess .pgn, go .sgf).
        start: where the games begin, if not at the beginning, e.g. fen="8/8/8/4k3/8/8/4P3/4K3 w - - 0 1".
        from_: continue the last game in a file left by --save or by a closed window.
        replay: play the games of such a file again and see that they lead where they led; with --window, --gif or
            --mp4 the last of them is shown.
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
    """Let a model learn a game by playing it: a language model, or with --policy net a small net.

    Attributes:
        game: what is learned; `coterie envs` lists the names. A run and a file know.
        config: a YAML file with fields that differ from the game's preset, as in a run's own config.yaml.
        run: the run's folder; runs/GAME-TIME by default.
        resume: continue the run in --run, or the newest run of this game.
        preset: short for --set preset=..., in games that have presets; `coterie envs GAME --presets` lists them.
        report_to: where the numbers go besides metrics.jsonl: tensorboard (files in the run), wandb or none.
    """

    game: tyro.conf.Positional[str] = ""
    config: Path | None = None
    run: Path | None = None
    resume: bool = False
    preset: str = ""
    report_to: Literal["tensorboard", "wandb", "none"] = "tensorboard"


@dataclass(frozen=True)
class Eval:
    """Measure a player: matches against others from both seats, and the policy itself against exact play.

    In worlds that many agents share (gridworld): what it earns on held-out maps when it sits in every seat, beside
    others on the same maps. Models then sample, as in training.

    Attributes:
        run: a run folder (RUN, RUN:player, RUN:player@version), a model or any other player.
        vs: opponents; by default those of the game's preset.
        games: games against each, half from either seat (1,000 by default); with a curriculum, held-out positions; in
            worlds, how many of them (32 by default).
        opening_plies: games begin after 0 to this many random plies, and each opening is played from every seat. By
            default 0, or where both sides always answer alike a quarter of the longest game, at most 8.
        ticks: leave each world after so many ticks; 0: at its end.
        save: worlds: add all that are played to this file of JSON lines; `coterie play --replay FILE` shows them.
        curriculum: count the held-out positions that it solves instead; a run that learned from one takes that by
            default where no --vs is said. A name (`coterie envs GAME` lists them) or [OPTION=]FILE.
        game: what is played; a run knows.
        seed: the same seed gives the same games.
        sample: the model samples its actions, as in training, instead of taking the likeliest; the exact figures are
            then those of that policy.
        set: the game's own arguments, e.g. size=9; a run knows.
        preset: another world than the run's, in games that have presets; what the players see stays as in the run.
        goal: what the player must reach, e.g. random.win>=0.9,minimax.draw>=0.97. The last line says whether it did; if
            not, the command exits with 1.
        json: one JSON object a line instead of a table.
    """

    run: tyro.conf.Positional[str]
    vs: tuple[str, ...] = ()
    games: int = 0
    opening_plies: int | None = None
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
class Bench:
    """Measure how fast this machine plays, decides and learns; peers are measured beside where they are installed.

    Attributes:
        room: envs, chess, boards, gridworld, search, policy or train.
        json: one JSON object a line: name, rate, unit, threads, peer, peer_rate, ratio.
    """

    room: tyro.conf.Positional[str]
    json: bool = False


def train_arguments(config: Any) -> Any:
    """``Train`` with the fields of a configuration (``TrainConfig``, ``NetConfig``) beside its own."""
    own, more = get_type_hints(Train, include_extras=True), get_type_hints(config)
    fields: list[Any] = [(f.name, own[f.name], dataclasses.field(default=f.default)) for f in dataclasses.fields(Train)]
    fields += [(f.name, more[f.name]) for f in dataclasses.fields(config) if f.name != "game"]
    made = dataclasses.make_dataclass("Arguments", fields, frozen=True, kw_only=True)
    told = (config.__doc__ or "").partition("Attributes:\n")[2].splitlines()
    made.__doc__ = "\n".join(
        [(Train.__doc__ or "").rstrip(), *(line for line in told if not line.strip().startswith("game:"))]
    )
    return made


def parse(kind: Any, command: str, words: list[str], default: Any = None) -> Any:
    """The words as an instance of a dataclass; a misspelt flag is told in one sentence, everything else by tyro."""
    if {"-h", "--help"} & set(words):
        words = ["--help"]  # tyro leaves out of its help what was given already
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
                        f"`coterie {command} --help` lists all."
                    ) from None
            sys.stderr.write(said.getvalue())
        raise


def _gathered(words: list[str], flag: str) -> list[str]:
    """``--set a --set b`` as ``--set a b``: tyro would take the last one alone."""
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
    """Every flag that a dataclass (or several, in a tuple) and the dataclasses within it make."""
    flags = ["--help"]
    for attribute, hint in get_type_hints(kind).items():
        name = attribute.rstrip("_")  # from_, since from is a word of Python's
        if dataclasses.is_dataclass(hint):
            flags += _flags(hint)
        else:
            flags += [f"--{name.replace('_', '-')}"] + ([f"--no-{name.replace('_', '-')}"] if hint is bool else [])
    return flags
