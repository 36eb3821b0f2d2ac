"""Builds players from names: a baseline, a human, a trained player of a run, a model without adapter."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from ...agents.core import Agent
from ...envs.core import Game
from ...envs.registry import make_game, presets, spec
from ...errors import ModelError, RunError, UnknownName, UsageError, did_you_mean, needs
from .config import AnyConfig, PolicyConfig, TrainConfig, is_net_run, load_config

if TYPE_CHECKING:
    from ...agents.llm.models import LoadedModel
    from ...agents.llm.policy import LLMAgent, LoraPolicy

_BASES: WeakValueDictionary[tuple[object, ...], LoadedModel] = WeakValueDictionary()
"""Base models in use, by name, dtype, device and the files of a folder."""

_SAVED: WeakValueDictionary[tuple[object, ...], LoraPolicy] = WeakValueDictionary()
"""Policies with the saved players of runs, by game, weights of the base model and settings."""

__all__ = [
    "as_recorded",
    "build_policy",
    "earlier",
    "is_net",
    "learners",
    "load_base",
    "load_player",
    "make_opponents",
    "make_player",
    "split",
]


def build_policy(config: PolicyConfig, players: Sequence[str] = ("main",), seed: int = 0) -> LoraPolicy:
    """Load the base model and give every player an adapter.

    Raises:
        ModelError, MissingExtra, UsageError: the model or the settings cannot be used.
    """
    with needs("Training and playing language models", "train"):
        import torch  # noqa: F401  # the first thing that a core install lacks
        from peft import LoraConfig
    from ...agents.bank.bank import LoraBank
    from ...agents.llm.policy import LoraPolicy

    loaded = load_base(config.model, config.dtype, config.device)
    modules = config.target_modules
    lora = LoraConfig(
        r=config.lora_r,
        lora_alpha=config.lora_alpha,
        target_modules=modules if modules == "all-linear" else [m.strip() for m in modules.split(",")],
        lora_dropout=0.0,
        task_type="CAUSAL_LM",
    )
    bank = LoraBank(loaded.model, lora, players, seed=seed)
    return LoraPolicy(
        loaded,
        bank,
        decode=config.decode,
        template=config.template,
        temperature=config.temperature,
        max_new_tokens=config.max_completion_length,
        batch_tokens=config.batch_tokens,
        think=config.think,
        gradient_checkpointing=config.gradient_checkpointing,
    )


def load_base(name: str, dtype: str = "auto", device: str = "cpu") -> LoadedModel:
    """A base model; while it is in use, further calls return the same object.

    Args:
        name: as for ``load_model``.
        dtype: as for ``load_model``.
        device: where it computes.
    """
    from ...agents.llm.models import auto_dtype, load_model

    path = Path(name)
    stamp = tuple((p.name, p.stat().st_mtime_ns, p.stat().st_size) for p in sorted(path.glob("*")))
    for known in ("float32", "bfloat16") if dtype == "auto" else (dtype,):
        found = _BASES.get((name, known, device, stamp))
        if found is not None and (dtype != "auto" or found.model.dtype == auto_dtype(found.model)):
            return found
    found = load_model(name, dtype, device)
    _BASES[name, str(found.model.dtype).removeprefix("torch."), device, stamp] = found
    return found


def load_player(
    spec: str, game: Game, *, greedy: bool = True, device: str = "", read: Callable[[Path], TrainConfig] = load_config
) -> LLMAgent:
    """A trained player: ``RUN``, ``RUN:player`` or ``RUN:player@version``; ``read`` reads the run's configuration.

    It computes on ``device``; if that is empty, on the device it was trained on, or on the CPU if there is no such
    device.

    Players with the same base model, adapters of the same shape and the same decoding share a bank: they answer in one
    batch, and each needs memory for its adapter only.

    Raises:
        RunError: no such run, player or version; a run of another game or of one with other arguments; the base model
            has other weights now.
    """
    from ...agents.llm.models import devices
    from ...agents.llm.policy import LLMAgent
    from .card import read_persona
    from .folder import Run, same_game, saved_version

    path, player, version = split(spec)
    if not (path / "config.yaml").is_file():
        raise RunError(f"{path} holds no run (no config.yaml).")
    config = read(path / "config.yaml")
    if not same_game(config.game, game.info.id):
        raise RunError(f"{path} was trained on {config.game}; it can't play {game.info.id}.")
    _check_arguments(config, game, path)
    folder = saved_version(path, player, version)
    trained_on = Run(path, config).model()
    wanted = as_recorded(config.policy, trained_on)
    wanted = dataclasses.replace(wanted, device=device or (wanted.device if wanted.device in devices() else "cpu"))
    try:
        base, name = load_base(wanted.model, wanted.dtype, wanted.device), str(folder.resolve())
    except ModelError as error:
        raise ModelError(f"{path} was trained on a model that can't be loaded: {error}") from error
    key = (game.info.id, base.hash, wanted)
    policy = _SAVED.get(key)
    if policy is None:
        policy = _SAVED[key] = build_policy(wanted, (name,), config.seed)
    assert policy.bank is not None
    if trained_on.get("hash", policy.loaded.hash) != policy.loaded.hash:
        raise RunError(
            f"{path} was trained on {trained_on['id']}, and {config.policy.model!r} now has other weights. "
            f"Set `model` in {path / 'config.yaml'} to the old model."
        )
    policy.bank.load_peft(name, folder)
    policy.personas[name] = read_persona(folder)
    return LLMAgent(policy, name, greedy=greedy, name=f"{path.name}:{player}")


def as_recorded(config: PolicyConfig, model: Mapping[str, str]) -> PolicyConfig:
    """``config`` with the built-in model that a run began with instead of ``tiny``, which means the newest one."""
    return dataclasses.replace(config, model=model["id"]) if config.model == "tiny" and "id" in model else config


def _check_arguments(config: TrainConfig, game: Game, path: Path) -> None:
    """Raise RunError if a run's game had other arguments; presets may change the world but not what agents see."""
    if spec(game.info.name).presets:
        other = presets(game.info.name).carried(config.game_arguments, game.config)
        if other:
            raise RunError(f"{path} was trained on {game.info.id} with {other}; set the same for the world to play in.")
        return
    trained = make_game(game.info.id, **config.game_arguments).config
    differ = [name for name in trained if trained[name] != game.config.get(name)]
    if differ:
        was = " ".join(f"{name}={trained[name]}" for name in differ)
        now = " ".join(f"{name}={game.config.get(name)}" for name in differ)
        raise RunError(f"{path} was trained on {game.info.id} with {was}, not {now}. Add --set {was}.")


def split(spec: str) -> tuple[Path, str, str]:
    """Folder, player and version (empty: the newest) of ``RUN``, ``RUN:player`` or ``RUN:player@version``."""
    if Path(spec).exists():
        return Path(spec), "main", ""
    rest, _, version = spec.partition("@")
    path, _, player = rest.rpartition(":")
    return Path(path or rest), player if path else "main", version


def earlier(spec: str, count: int) -> list[tuple[str, str]]:
    """Earlier versions of a run's player, oldest first: what to call each, and the name that ``make_player`` takes.

    Args:
        spec: ``RUN``, ``RUN:player`` or ``RUN:player@version``; any other player has none.
        count: how many at most; they are spread evenly over the training, and the first version is among them.
    """
    path, player, version = split(spec.partition("?")[0] if not Path(spec).exists() else spec)
    if not (path / "config.yaml").is_file() or count <= 0:
        return []
    from .folder import saved_versions

    saved = sorted(saved_versions(path, player))
    now = int(version.removeprefix("v")) if version.removeprefix("v").isdigit() else max(saved, default=0)
    before = [update for update in saved if update < now]
    picked = [before[len(before) * k // count] for k in range(count)] if len(before) > count else before
    return [(f"update {update}", f"{path}:{player}@{update}") for update in picked]


def is_net(name: str) -> bool:
    """Whether a name means a small net: ``net`` (the one that ships), a run of one, or a folder that holds one."""
    folder = Path(name)
    return name == "net" or (folder / "net.json").is_file() or is_net_run(folder)


def learners(name: str, config: AnyConfig | None) -> list[str]:
    """The players that a name means: all learners of a run with several (a league's main agents), or the one it picks.

    Args:
        name: ``RUN``, ``RUN:player@version``, or any other player.
        config: the run's; None: not a run.
    """
    if isinstance(config, TrainConfig) and config.scheme.learners > 1 and Path(name).is_dir():
        return [f"{name}:{learner}" for learner in config.scheme.roles["main"]]
    return [name]


def make_opponents(specs: Sequence[str], game: Game, device: str = "") -> dict[str, Agent]:
    """The players that a run plays against.

    Raises:
        CoterieError: see ``make_player``.
    """
    made = {}
    for word in specs:
        try:
            made[word] = make_player(word, game, device=device)
        except UnknownName:  # which says enough
            raise
        except UsageError as error:
            raise UsageError(f"{error} {word} is one of --opponents ({', '.join(specs)}): name others.") from error
    return made


def _some(names: Sequence[str]) -> str:
    """The first few names."""
    return ", ".join([*names[:5], *(["..."] if len(names) > 5 else [])])


def make_player(
    spec: str, game: Game, *, greedy: bool = True, device: str = "", read: Callable[[Path], TrainConfig] = load_config
) -> Agent:
    """The player that ``spec`` names.

    Args:
        spec: a baseline (``random``, ``mcts:400``, see ``make_baseline``), ``human``; a run folder
            (``RUN:player@version``); ``net`` or a run of a net, which samples its actions; ``judge:MODEL``, which sits
            in the judge's seat of ``debate-v0``; otherwise a model without adapter. ``?sample`` after a run or a model
            makes it sample its answers: ``RUN:player@version?sample``.
        game: the game to play.
        greedy: models take their likeliest answer.
        device: where a language model computes; empty: see ``load_player``.
        read: reads the configurations of runs; ``episodes.playing.read_any`` also those of tasks that are games.

    Raises:
        UnknownName: it names none of these.
        CoterieError: the run or the model cannot be used.
    """
    from ...agents.baselines import BASELINES, is_baseline, make_baseline

    try:
        Path(spec).exists()
    except OSError as error:  # no file could have this name
        raise UsageError(f"The player {spec[:40] + '...'!r} cannot be: {error.strerror}. Name a shorter one.") from None
    if is_baseline(spec):
        return make_baseline(spec, game)
    if spec == "human":
        from ...agents.human.terminal import HumanAgent

        return HumanAgent()
    if spec.startswith("judge:"):
        from ...agents.llm.judge import JudgeAgent
        from ...agents.llm.policy import LoraPolicy

        return JudgeAgent(LoraPolicy(load_base(spec.removeprefix("judge:"), "auto", device or "cpu")))
    spec, how = (spec, "") if Path(spec).exists() else spec.partition("?")[::2]
    if how not in ("", "sample"):
        raise UsageError(f"{spec}?{how}: only `sample` may follow the question mark.")
    greedy = greedy and not how
    if is_net(spec.partition("@")[0]):
        from .nets import load_net_player

        return load_net_player(spec, game)
    path, _, _ = split(spec)
    if (path / "config.yaml").is_file():
        return load_player(spec, game, greedy=greedy, device=device, read=read)
    beside = sorted(found.parent.name for found in path.parent.glob("*/config.yaml")) if len(path.parts) > 1 else []
    if beside and not path.exists():
        raise RunError(f"There is no run {path}.{did_you_mean(path.name, beside)} {path.parent} has {_some(beside)}.")
    from ...agents.llm.models import model_names

    head, colon, _ = spec.partition(":")
    named = spec if not colon or path.exists() or "/" in head else head  # "mtcs:400", "ucci:/path/to/engine"
    if not (path.exists() or spec in model_names() or "/" in named or spec.startswith("tiny")):
        raise UnknownName("player", named, [*BASELINES, "human", "net", *model_names()])
    from ...agents.llm.policy import LLMAgent, LoraPolicy

    return LLMAgent(LoraPolicy(load_base(spec, "float32", device or "cpu")), None, greedy=greedy)
