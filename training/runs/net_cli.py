"""``coterie train GAME --policy net``: the words of that command, and what they start."""

from __future__ import annotations

import dataclasses
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_type_hints

import tyro

from ...arguments import parse, with_preset
from ...envs.registry import spec
from ...errors import UsageError
from .net_config import NetConfig, is_net_run, read_net_config
from .net_run import need_planes, train_net

__all__ = ["asks_for_net", "train"]


@dataclasses.dataclass(frozen=True)
class TrainNet:
    """Let a small net learn a gridworld by PPO: one net plays every agent of many worlds.

    Attributes:
        game: what is learned.
        run: the run's folder; runs/GAME-net-TIME by default.
        resume: go on with the run in --run; only --minutes, --updates, --threads and
            when it is measured and kept may differ.
        preset: short for --set preset=...; `coterie envs GAME --presets` lists them.
    """

    game: tyro.conf.Positional[str]
    run: Path | None = None
    resume: bool = False
    preset: str = ""


def asks_for_net(words: list[str]) -> tuple[bool, list[str]]:
    """Whether the words of ``coterie train`` are about a net, and the words without ``--policy net``.

    Raises:
        UsageError: another policy than ``net`` or ``llm``.
    """
    left, policy = list(words), ""
    for k, word in enumerate(words):
        if word == "--policy":
            policy = words[k + 1] if k + 1 < len(words) else ""
            left = words[:k] + words[k + 2 :]
        elif word.startswith("--policy="):
            policy = word.partition("=")[2]
            left = words[:k] + words[k + 1 :]
    if policy not in ("", "net", "llm") or (not policy and left != words):
        raise UsageError(f"--policy is {policy!r}; it is llm (a language model, the default) or net (a small net).")
    run = words[words.index("--run") + 1] if "--run" in words[:-1] else ""
    return policy == "net" or bool(not policy and "--resume" in words and run and is_net_run(Path(run))), left


def _arguments() -> Any:
    """``TrainNet`` with the fields of ``NetConfig`` beside its own."""
    hints = get_type_hints(TrainNet, include_extras=True)
    fields: list[Any] = [
        (f.name, hints[f.name], dataclasses.field(default=f.default)) for f in dataclasses.fields(TrainNet)
    ]
    fields += [(name, hint) for name, hint in get_type_hints(NetConfig).items() if name != "game"]
    made = dataclasses.make_dataclass("Arguments", fields, frozen=True, kw_only=True)
    told = (NetConfig.__doc__ or "").partition("Attributes:\n")[2].splitlines()
    made.__doc__ = "\n".join(
        [(TrainNet.__doc__ or "").rstrip(), *(line for line in told if not line.strip().startswith("game:"))]
    )
    return made


def _printer() -> Callable[[str], None]:
    """One line that is written over on a terminal; elsewhere every tenth, and those with an evaluation."""
    live, count = sys.stdout.isatty(), [0]

    def tell(line: str) -> None:
        count[0] += 1
        looked = "forager" in line or "checkpoint" in line
        if live:
            print(f"\r\x1b[K{line}", end="\n" if looked else "", flush=True)
        elif looked or count[0] % 10 == 1:
            print(line, flush=True)

    return tell


def train(words: list[str]) -> int:
    """Run the command; returns the exit code.

    Raises:
        CoterieError: a bad word, setting or folder.
    """
    kind = _arguments()
    names = [f.name for f in dataclasses.fields(NetConfig) if f.name != "game"]

    def laid_over(base: NetConfig) -> Any:
        return parse(kind, "train", words, kind(game=base.game, **{name: getattr(base, name) for name in names}))

    asked = laid_over(NetConfig())
    base = NetConfig(game=asked.game)
    if asked.resume:
        if asked.run is None:
            raise UsageError("--resume goes on with a run of a net; say with which: --run RUN.")
        if not is_net_run(asked.run):
            raise UsageError(f"--resume goes on with a run of a net; {asked.run} is none.")
        base = read_net_config(asked.run / "config.yaml")
        asked = laid_over(base)
    chosen = {name: getattr(asked, name) for name in names}
    if asked.preset:
        chosen["set"] = with_preset(asked.game, asked.set, asked.preset, base.set)
    if spec(asked.game).name != spec(NetConfig.game).name and chosen["set"] == NetConfig.set:
        chosen["set"] = ()  # that world is the gridworld's
    config = NetConfig(game=spec(asked.game).id, **chosen)
    need_planes(config.make_game())
    folder = asked.run or Path("runs") / f"{spec(asked.game).name}-net-{time.strftime('%Y%m%d-%H%M%S')}"
    print(f"{config.game} {' '.join(config.set)}  run {folder}  Ctrl-C saves and stops", flush=True)
    message = train_net(config, folder, resume=asked.resume, tell=_printer())
    print(("\n" if sys.stdout.isatty() else "") + message)
    return 130 if message.startswith("Interrupted") else 0
