"""The ``coterie`` command: envs, play, train, eval, bench.

What a command needs is imported when it runs, so that ``coterie play`` works on the core install and
``coterie --help`` is quick.

Exit codes: 0 done, 1 training stopped itself, 2 a word, name, file or model that cannot be used, 130 interrupted. An
error is one sentence on standard error; ``COTERIE_DEBUG=1`` shows where it was raised.
"""

from __future__ import annotations

import inspect
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .arguments import Bench, Envs, Eval, Play, parse, wanted
from .errors import CollapseError, CoterieError, MissingExtra, PlayerLeft, UnknownName, UsageError

if TYPE_CHECKING:
    from .agents.core import Agent
    from .envs.core import Game
    from .training.runs.config import AnyConfig

__all__ = ["main"]

HELP = """\
usage: coterie COMMAND [arguments]

Agents that learn by playing each other.

  coterie envs                                      what can be played
  coterie envs tictactoe                            its rules, actions and observations
  coterie envs gridworld --presets                  worlds that have names; --preset NAME --yaml prints one to edit
  coterie play tictactoe                            you against a random player, in the terminal
  coterie play tictactoe --players minimax random --gif game.gif
  coterie play chess --window                       you in a window, with the mouse
  coterie train tictactoe                           the built-in model learns it, in minutes on two cores
  coterie train --run RUN --resume                  continue where it stopped
  coterie train gridworld --policy net              a small net instead of a language model, by PPO
  coterie eval RUN --vs random minimax              how good it is
  coterie play tictactoe --players human RUN        you against it
  coterie bench envs                                how fast the games are here

A player is random, minimax, greedy, mcts[:PLAYOUTS], alphabeta[:DEPTH] (chess), uci:PATH (a chess engine), forager,
raider, altruist, net (gridworld), human, a run folder (RUN, RUN:player, RUN:player@version) or a model (tiny, smollm2,
a folder, a hub id, a .gguf file).
`coterie COMMAND --help` lists every argument of a command.
"""

EXTRAS = {
    "render": ("pygame", "PIL", "imageio", "imageio_ffmpeg"),
    "train": (
        *("torch", "transformers", "peft", "trl", "accelerate", "datasets", "gguf"),
        *("rich", "matplotlib", "tensorboard", "tokenizers", "safetensors", "huggingface_hub"),
    ),
}
"""Which extra brings which module."""

SPINS = "20000"
"""How often OpenMP's threads look for work before they sleep: about 50 us. Where other programs want the cores too, the
usual number (a few ms) makes training several times slower; on an idle machine it gains nothing."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code.

    Args:
        argv: the words after ``coterie``; by default those of this process.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", SPINS)
    debug = bool(os.environ.get("COTERIE_DEBUG"))
    try:
        return _dispatch(words)
    except KeyboardInterrupt:
        print("\nInterrupted.", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader of our output has gone (`coterie envs | head`); Python would complain once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else 2
    except PlayerLeft as left:
        print(left)
        return 0
    except (CoterieError, ModuleNotFoundError) as error:
        told = _missing_extra(error) if not isinstance(error, CoterieError) else error
        if told is None or debug:
            raise
        print(f"coterie: {told}", file=sys.stderr)
        return 1 if isinstance(told, CollapseError) else 2


def _dispatch(words: list[str]) -> int:
    if not words or words[0] in ("-h", "--help", "help"):
        print(HELP, end="")
        return 0 if words else 2
    if words[0] in ("-V", "--version"):
        from . import __version__

        print(f"coterie {__version__}")
        return 0
    commands: dict[str, Callable[[list[str]], int]] = {
        "envs": _envs,
        "play": _play,
        "train": _train,
        "eval": _eval,
        "bench": _bench,
    }
    if words[0] not in commands:
        raise UnknownName("command", words[0], commands)
    return commands[words[0]](words[1:])


def _missing_extra(error: ModuleNotFoundError) -> MissingExtra | None:
    """The sentence for a module that an extra would bring, or None for any other module."""
    module = (error.name or "").split(".")[0]
    for extra, modules in EXTRAS.items():
        if module in modules:
            return MissingExtra("This command", module, extra)
    return None


def _envs(words: list[str]) -> int:
    from .envs.registry import factory, list_envs, make_game, spec
    from .envs.words import TextGame

    asked: Envs = parse(Envs, "envs", words)
    if not asked.game:
        for flag in ("presets", "preset", "yaml", "set"):
            if getattr(asked, flag):
                raise UsageError(f"Which game's --{flag}? For example: coterie envs gridworld --{flag}.")
        for id in list_envs():
            game = make_game(id)
            kind = "simultaneous" if game.info.simultaneous else "turn-based"
            actions = "messages" if isinstance(game, TextGame) else f"{game.info.num_actions} actions"
            print(f"{id:<20} {game.info.players} players   {kind:<13} {actions:<12} {game.rules.split('. ')[0]}.")
        return 0
    found = spec(asked.game)
    if asked.presets:
        return _presets(found.id)
    arguments = wanted(found.id, asked.set, asked.preset)
    if asked.yaml:
        print(_as_yaml(found.name, arguments), end="")
        return 0
    game = make_game(found.id, **arguments)
    info = game.info
    state = game.new_state(1)
    game.kernels.reset(state, 0, 0)
    first = 0 if info.simultaneous else game.mover(state, 0)
    takes = inspect.signature(factory(found.id)).parameters.values()
    rows = {
        "players": f"{info.players}, {'all act at once' if info.simultaneous else 'one moves at a time'}",
        "actions": f"0 to {info.num_actions - 1}",
        "observation": f"{list(info.observation_shape)} {info.observation_dtype}, "
        f"{info.observation_low:g} to {info.observation_high:g}",
        "ends by": f"{info.max_cycles} {'ticks' if info.simultaneous else 'turns'}",
        "arguments": ", ".join(_short(p) for p in takes) or "none",
        "starts": ", ".join(f"reset(options={{{name!r}: ...}})" for name in game.options) or "at the beginning",
        "presets": f"coterie envs {found.name} --presets" if found.presets else "none",
        "curricula": ", ".join(game.curricula) or "none",
        "pictures": "yes" if found.draw else "no",
        "python": f'coterie.make("{info.id}"), coterie.make_vec("{info.id}", num_envs=4096)',
    }
    if isinstance(game, TextGame):
        rows["actions"] = f"messages of {game.min_length} to {game.max_length} characters"
        rows["observation"], rows["python"] = "a text", f'coterie.make("{info.id}")'
    print(f"{info.id}\n\n{game.rules}\n")
    for name, value in rows.items():
        print(f"  {name:<12} {value}")
    print(f"\nWhat player_{first} is told at the start:\n\n{game.describe(state, 0, first)}")
    return 0


def _short(parameter: inspect.Parameter) -> str:
    """``size: int = 11``; only the name of what has many forms."""
    told = str(parameter).replace("'", "")
    return parameter.name if "Any" in told or len(told) > 40 else told


def _presets(id: str) -> int:
    """A table of a game's presets, and how to use one."""
    from .envs.registry import presets, spec

    known, name = presets(id), spec(id).name
    widths = [max(len(row[k]) for row in known.table) for k in range(len(known.table[0]))]
    for row in known.table:
        print("  ".join(word.ljust(width) for word, width in zip(row, widths, strict=True)).rstrip())
        if row[0] in known.names:
            print(f"    {known.names[row[0]]}")
    first = next(iter(known.names))
    print(
        f"""
  coterie.make("{id}", preset="{first}", api="parallel")
  coterie play {name} --preset {first} --set FIELD=VALUE
  coterie envs {name} --preset {first} --yaml > my.yaml     to edit; then: coterie play {name} --set config=my.yaml"""
    )
    return 0


def _as_yaml(name: str, arguments: dict[str, Any]) -> str:
    """A game's whole configuration, with a line on what can be done with it."""
    from .envs.registry import presets

    told = f"coterie play {name} --set config=FILE, or coterie.make({name!r}, config=FILE)"
    return f"# To use it: {told}\n{presets(name).to_yaml(arguments)}"


def _play(words: list[str]) -> int:
    from .playing import play

    return play(parse(Play, "play", words), _player)


def _player(name: str, game: Game, greedy: bool = True) -> Agent:
    """Whoever a word on the command line means; the baselines and the human need no extra."""
    from .agents.baselines import is_baseline, make_baseline
    from .agents.human.terminal import HumanAgent

    if name == "human":
        return HumanAgent()
    if is_baseline(name):
        return make_baseline(name, game)
    from .training.runs.players import make_player

    return make_player(name, game, greedy=greedy)


def _train(words: list[str]) -> int:
    from .training.runs.command import train

    return train(words)


def _bench(words: list[str]) -> int:
    from .benchmarks import measurements

    asked: Bench = parse(Bench, "bench", words)
    for measured in measurements(asked.room):
        print(json.dumps(measured.as_dict()) if asked.json else measured, flush=True)
    return 0


def _eval(words: list[str]) -> int:
    from .envs.registry import make_game, spec
    from .training.evaluation.goal import Goal
    from .training.evaluation.held_out import solve_held_out
    from .training.evaluation.match import evaluate
    from .training.runs.config import preset

    asked: Eval = parse(Eval, "eval", words)
    if asked.games < 0:
        raise UsageError(f"--games is {asked.games}; it must be 0 (as many as is usual) or more.")
    trained = _trained_on(asked.run)
    if trained is None and not asked.game:
        raise UsageError(
            f"{asked.run} is no run folder, so say what is played: coterie eval {asked.run} --game tictactoe"
        )
    played = asked.game or (trained.game if trained else "")
    own = trained is not None and spec(trained.game).name == spec(played).name
    arguments = wanted(played, asked.set, asked.preset, trained.game_arguments if trained and own else None)
    game = make_game(played, **arguments)
    worlds = game.info.is_world
    if asked.games == 1 and not worlds:
        raise UsageError("--games is 1; it must be at least 2, one from either seat.")
    if asked.opening_plies is not None and (asked.opening_plies < 0 or worlds or asked.curriculum):
        raise UsageError("--opening-plies is about matches, and says how many random plies begin a game: 0 or more.")
    if (asked.ticks or asked.save) and not worlds:
        flag = "ticks" if asked.ticks else "save"
        raise UsageError(f"--{flag} is about worlds that many agents share; {game.info.id} is played to its end.")
    agents = {
        name: _player(name, game, greedy=not asked.sample and not worlds) for name in _learners(asked.run, trained)
    }
    rollout = getattr(trained, "rollout", None)  # nets have none
    curriculum = asked.curriculum or (rollout.curriculum if rollout and not asked.vs else "")
    names = asked.vs or tuple(n for n in preset(game.info.name, curriculum).budget.eval_vs.split(",") if n)
    goal = Goal.parse(asked.goal)
    goal.check(names, curriculum, exact=True)
    opponents = {name: _player(name, game, greedy=not worlds) for name in names}
    games = asked.games or (32 if worlds else 1000)
    rows = _eval_worlds(game, {**agents, **opponents}, games, asked) if worlds and not curriculum else []
    for name, agent in agents.items() if curriculum or not worlds else ():
        if curriculum:
            found = solve_held_out(game, agent, opponents, curriculum, games, asked.seed)
        else:
            found = evaluate(game, agent, opponents, games, asked.seed, opening_plies=asked.opening_plies)
        rows += [{"player": name, **row} for row in found] if len(agents) > 1 else found
    for row in rows:
        print(json.dumps(row) if asked.json else _row(row), flush=True)
    if not goal.terms:
        return 0
    reached = goal.reached(rows)
    verdict = f"reached: {goal.shown(rows)}" if reached else f"missed: {goal.missed(rows)}"
    # On stderr where the rows are for a program.
    print(f"The goal is {verdict}.", file=sys.stderr if asked.json else sys.stdout, flush=True)
    return 0 if reached else 1


def _eval_worlds(game: Game, agents: dict[str, Agent], worlds: int, asked: Eval) -> list[dict[str, Any]]:
    """Every player in the same held-out worlds; how far it is, on a terminal."""
    from .training.evaluation.worlds import compare_worlds

    last = min(asked.ticks or game.info.max_cycles, game.info.max_cycles)
    shown = sys.stderr.isatty()

    def progress(name: str, tick: int) -> None:
        if tick % max(1, last // 100) == 0 or tick == last:
            print(f"\r\x1b[K{name}: tick {tick:,} of {last:,}", end="", file=sys.stderr, flush=True)

    rows = compare_worlds(
        game,
        agents,
        worlds,
        asked.seed,
        max_steps=asked.ticks or None,
        progress=progress if shown else None,
        save=asked.save,
    )
    if shown:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
    return rows


def _trained_on(name: str) -> AnyConfig | None:
    """The configuration of the run that ``RUN``, ``RUN:player`` or ``RUN:player@version`` names; None: no run."""
    from .training.runs.config import read_config

    player = name.partition("@")[0]
    for folder in (name, player, player.rpartition(":")[0]):
        if folder and (Path(folder) / "config.yaml").is_file():
            return read_config(Path(folder) / "config.yaml")
    return None


def _learners(name: str, trained: AnyConfig | None) -> list[str]:
    """Whom ``coterie eval`` measures: every learner of a run in which several learn, unless one of them is named."""
    from .training.runs.config import TrainConfig

    if isinstance(trained, TrainConfig) and trained.scheme.learners > 1 and Path(name).is_dir():
        return [f"{name}:{learner}" for learner in trained.scheme.names]
    return [name]


def _row(row: dict[str, Any]) -> str:
    """A row of ``evaluate``, ``solve_held_out`` or ``compare_worlds`` for people; and whose it is."""
    if "player" in row and "worlds" not in row:
        return f"{row['player']}: {_row({name: value for name, value in row.items() if name != 'player'})}"
    if "worlds" in row:
        parts = [f"{row['player']}, {row['worlds']} held-out world{'s' * (row['worlds'] > 1)}, {row['ticks']} ticks:"]
        interval = row["reward_interval"]  # none of a few worlds
        told = f" ({interval[0]:.3f} to {interval[1]:.3f})" if interval else ""
        parts.append(f"reward of an agent {row['reward']:.3f}{told}")
        for name, (share, least, most) in row["share"].items():
            told = f" ({100 * least:.1f} to {100 * most:.1f})" if least is not None else ""
            parts.append(f"{share:.1%} of {name}'s{told}")
        return "  ".join([*parts, f"illegal {row['illegal']:.1%}"])
    if "curriculum" in row:
        low, high = row["solved_interval"]
        against = f" against {row['opponent']}" if row["opponent"] else ""
        parts = [f"{row['curriculum']}, {row['games']} held-out positions{against}: "]
        parts.append(f"solved {row['solved']:.1%} ({100 * low:.1f} to {100 * high:.1f})")
        if "sampled" in row:
            parts.append(f"when it samples {row['sampled']:.1%}  entropy {row['entropy']:.1%} of a uniform choice's")
        return "  ".join([*parts, f"illegal {row['illegal']:.1%}"])
    if row["opponent"] is None:
        if row["exploitability"] is None:
            return f"the policy itself: {row['why']}"
        if row["optimal_share"] is None:
            return (
                f"the policy itself: exploitability {row['exploitability']:.4f} (0 is perfect play) over all "
                f"{row['positions']} information sets"
            )
        return (
            f"the policy itself: exploitability {row['exploitability']:.4f} (0 is perfect play); an optimal move in "
            f"{row['optimal_share']:.1%} of all {row['positions']} positions, in {row['optimal_share_on_path']:.1%} of "
            "those that its own play leads to"
        )
    parts = [f"against {row['opponent']}, {row['games']} games, {row['distinct']} different:"]
    for words, name in (("won", "win"), ("drawn", "draw"), ("lost", "loss")):
        low, high = row[f"{name}_interval"]
        parts.append(f"{words} {row[name]:.1%} ({100 * low:.1f} to {100 * high:.1f})")
    low, high = row["score_interval"]
    parts.append(f"score {row['score']:+.3f} ({low:+.3f} to {high:+.3f})")
    return "  ".join([*parts, f"illegal {row['illegal']:.1%}"])
