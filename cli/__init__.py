"""The ``coterie`` command: one file per subcommand, each with ``run(words) -> exit code``; ``arguments`` parses them.

A subcommand is imported only when it runs, and the work is done in other subpackages, so ``coterie play`` works on the
core install and ``coterie --help`` is quick.

Exit codes: 0 success; 1 training stopped itself, or ``eval`` missed its goal; 2 an argument, name, file or model that
cannot be used; 130 interrupted. An error is one message on standard error; ``COTERIE_DEBUG=1`` shows the traceback.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence

from ..errors import CollapseError, CoterieError, MissingExtra, PlayerLeft, UnknownName, UsageError

__all__ = ["main"]

HELP = """\
usage: coterie COMMAND [arguments]

Agents that learn by playing each other.

  coterie envs                                      list the games
  coterie envs tictactoe                            show a game's rules, actions and observations
  coterie envs gridworld --presets                  list named worlds; --preset NAME --yaml prints one to edit
  coterie play tictactoe                            play against a random player in the terminal
  coterie play tictactoe --players minimax random --gif game.gif
  coterie play chess --window                       play with the mouse in a window
  coterie train tictactoe                           train the built-in model, in minutes on two cores
  coterie train proposer_solver                     train the roles of a task; coterie train --help lists tasks
  coterie train --run RUN --resume                  resume a run where it stopped
  coterie train gridworld --policy net              train a small net with PPO instead of a language model
  coterie eval RUN --vs random minimax              measure how good the trained player is
  coterie play tictactoe --players human RUN        play against it
  coterie tournament RUN random mcts:400            let all play each other: ratings, payoffs, a page with --out
  coterie league tictactoe                          train a league of players, and rate them
  coterie play pettingzoo:MODULE                    play an environment of PettingZoo; it can also be trained
  coterie view chess                                play in a browser
  coterie view RUN                                  a run's curves, settings and samples in a browser, while it learns
  coterie bench envs                                measure how fast the games run on this machine

A player is random, minimax, greedy, mcts[:PLAYOUTS], alphabeta[:DEPTH] (chess), uci:PATH (a chess engine), equilibrium
(hidden cards), forager, raider, altruist, net (gridworld), human, a run folder (RUN, RUN:player, RUN:player@version) or
a model (tiny, smollm2, a folder, a hub id, a .gguf file).
`coterie COMMAND --help` lists all arguments of a command.
"""

COMMANDS = ("envs", "play", "train", "eval", "tournament", "league", "view", "bench")

FOREIGN = "pettingzoo:"

EXTRAS = {
    "render": ("pygame", "PIL", "imageio", "imageio_ffmpeg"),
    "train": (
        *("torch", "transformers", "peft", "trl", "accelerate", "datasets", "gguf"),
        *("rich", "matplotlib", "tensorboard", "tokenizers", "safetensors", "huggingface_hub", "tenacity"),
        *("scipy", "openskill"),
    ),
}
"""The modules that each extra installs."""

SPINS = "20000"
"""How often OpenMP's threads poll for work before they sleep: about 50 us. When other programs use the cores too, the
default (a few ms) makes training several times slower; on an idle machine it gains nothing."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code.

    Args:
        argv: the words after ``coterie``; by default this process's arguments.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", SPINS)
    debug = bool(os.environ.get("COTERIE_DEBUG"))
    try:
        try:
            return _dispatch(words)
        except PlayerLeft as left:
            print(left, flush=True)
            return 0
    except KeyboardInterrupt:
        print("\nInterrupted.", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader of our output has gone (`coterie envs | head`); without this, Python complains again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else 2
    except (CoterieError, ModuleNotFoundError) as error:
        told = _missing_extra(error) if not isinstance(error, CoterieError) else error
        if told is None or debug:
            raise
        return _refused(str(told), 1 if isinstance(told, CollapseError) else 2)
    except (OSError, MemoryError) as error:
        if debug:
            raise
        if isinstance(error, MemoryError):
            return _refused("the memory is not enough for this.", 2)
        where = f"{str(error.filename)[:200]}: " if error.filename else ""
        return _refused(f"{where}{error.strerror or error}.", 2)


def _refused(told: str, code: int) -> int:
    """Print an error; what the terminal's encoding lacks, such as half a character, is escaped."""
    encoding = sys.stderr.encoding or "utf-8"
    print(f"coterie: {told}".encode(encoding, "backslashreplace").decode(encoding), file=sys.stderr)
    return code


def _dispatch(words: list[str]) -> int:
    if not words or words[0] in ("-h", "--help", "help"):
        print(HELP, end="")
        return 0 if words else 2
    if words[0] in ("-V", "--version"):
        from .. import __version__

        print(f"coterie {__version__}")
        return 0
    if words[0] not in COMMANDS:
        raise _no_command(words[0])
    _import_what_is_named(words)
    code: int = importlib.import_module(f".{words[0]}", __package__).run(words[1:])
    return code


def _no_command(word: str) -> UsageError:
    """The error for a first word that is no command; a game, a task or a run gets the commands that take one."""
    from ..envs.registry import is_game
    from ..training.episodes.tasks import TASKS

    if is_game(word):
        return UsageError(
            f"{word} is a game, and a command comes first. Type: coterie play {word}, or coterie train {word}"
        )
    if word in TASKS:
        return UsageError(f"{word} is a task, and a command comes first. Type: coterie train {word}")
    if os.path.isfile(os.path.join(word, "config.yaml")):
        return UsageError(
            f"{word} is a run, and a command comes first. Type: coterie eval {word}, or coterie view {word}"
        )
    return UnknownName("command", word, COMMANDS)


def _import_what_is_named(words: Sequence[str]) -> None:
    """Let the games that are typed as pettingzoo:MODULE be made; modules in the current folder are found too."""
    named = [word.rpartition("=")[2] if word.startswith("--") else word for word in words]
    for name in named:
        if name.startswith(FOREIGN):
            from ..envs.foreign import register_pettingzoo

            register_pettingzoo(name.removeprefix(FOREIGN))
            if os.getcwd() not in sys.path:
                sys.path.append(os.getcwd())


def _missing_extra(error: ModuleNotFoundError) -> MissingExtra | None:
    """The error for a missing module that an extra installs, or None for any other module."""
    module = (error.name or "").split(".")[0]
    for extra, modules in EXTRAS.items():
        if module in modules:
            return MissingExtra("This command", module, extra)
    return None
