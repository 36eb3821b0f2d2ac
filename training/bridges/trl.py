"""The bridge to TRL, and the only file that imports it: it moves fast.

It works in two directions. ``from_grpo_config`` reads a ``GRPOConfig`` into our configuration: its values win, and an
error names any that cannot be honoured. ``GameBridge`` plugs any registered game into a plain ``GRPOTrainer``, for
those who want TRL's trainer and our games::

    bridge = GameBridge("tictactoe", opponent="minimax", tokenizer=tokenizer)
    bridge.trainer(model, openings=256, output_dir="out", max_steps=100).train()

The bridge leaves out choice decoding, state credit and several players; our own loop has them. The file is longer than
most because no other may import TRL.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from ...agents.baselines import make_baseline
from ...agents.core import Agent, Decision, Turn
from ...agents.engines.base import Ask, Context, Free
from ...agents.engines.protocol import Engine
from ...agents.llm.prompts import Template, make_template, stop_token
from ...envs.registry import make_game
from ...errors import ActionError, UsageError, needs
from ..data.rollout import Seating, opening_states, rollout
from ..learn.objectives import LOSS_TYPES, NOT_YET
from ..runs.config import BudgetConfig, TrainConfig, from_dict

if TYPE_CHECKING:
    from datasets import Dataset
    from peft import PeftConfig
    from transformers import PreTrainedModel, PreTrainedTokenizerBase
    from transformers.trainer_callback import TrainerCallback
    from trl.trainer.grpo_config import GRPOConfig
    from trl.trainer.grpo_trainer import GRPOTrainer

__all__ = ["HOUSEKEEPING", "MAPPED", "GameBridge", "from_grpo_config", "train_config"]

MAPPED = {
    "learning_rate": "optimizer.learning_rate",
    "weight_decay": "optimizer.weight_decay",
    "adam_beta1": "optimizer.beta1",
    "adam_beta2": "optimizer.beta2",
    "max_grad_norm": "optimizer.max_grad_norm",
    "num_generations": "rollout.num_generations",
    "temperature": "policy.temperature",
    "max_completion_length": "policy.max_completion_length",
    "beta": "loss.beta",
    "num_iterations": "loss.num_iterations",
    "epsilon": "loss.epsilon",
    "importance_sampling_level": "loss.importance_sampling_level",
    "loss_type": "loss.loss_type",
    "entropy_coef": "loss.entropy_coef",
    "seed": "seed",
}
"""GRPOConfig's field -> ours, where the value is copied unchanged."""

_TRANSLATED = (
    "bf16",
    "epsilon_high",
    "generation_batch_size",
    "gradient_accumulation_steps",
    "lr_scheduler_type",
    "max_steps",
    "optim",
    "per_device_train_batch_size",
    "scale_rewards",
    "steps_per_generation",
    "warmup_steps",
)
"""Fields that ``from_grpo_config`` translates; docs/losses.md explains how."""

HOUSEKEEPING = re.compile(
    r"output_dir|logging_.*|log_.*|include_num_input_tokens_seen|disable_tqdm|report_to|run_name|project|trackio_.*|"
    r"eval_.*|per_device_eval_batch_size|num_generations_eval|prediction_loss_only|include_for_metrics|"
    r"batch_eval_metrics|save_.*|hub_.*|metric_for_best_model|greater_is_better|ignore_data_skip|"
    r"restore_callback_states_from_checkpoint|use_cpu|accelerator_config|dataloader_.*|remove_unused_columns|"
    r"label_names|length_column_name|ddp_.*|skip_memory_metrics|do_.*|local_rank|gradient_checkpointing|"
    r"gradient_checkpointing_kwargs|activation_checkpointing|activation_checkpointing_kwargs|torch_empty_cache_steps|"
    r"use_cache|shuffle_dataset|data_seed|train_sampling_strategy|pad_to_multiple_of|ds3_gather_for_generation|"
    r"num_completions_to_print|average_tokens_across_devices"
)
"""Fields about the Trainer's logs, files, data loading and memory: ignored, as learning does not depend on them."""


def from_grpo_config(config: GRPOConfig, updates: int = BudgetConfig.updates) -> dict[str, Any]:
    """Nested data for ``config.from_dict``: all the settings of a GRPOConfig that affect learning.

    Every value counts, defaults included: a plain GRPOConfig sets the learning rate to 1e-6.

    Args:
        config: TRL's.
        updates: number of updates over which the learning rate falls (linear, cosine) if ``max_steps`` is not set.

    Raises:
        UsageError: names every field whose value cannot be honoured.
        MissingExtra: TRL is not installed.
    """
    _check_honoured(config)
    steps, iterations = _int(config.max_steps), _int(config.num_iterations)
    total = steps if steps > 0 else updates * iterations
    flat: dict[str, Any] = {ours: getattr(config, theirs) for theirs, ours in MAPPED.items()}
    flat["policy.dtype"] = "bfloat16" if config.bf16 else "float32"
    flat["loss.epsilon_high"] = config.epsilon_high or 0.0
    flat["rollout.games"] = config.generation_batch_size
    flat["credit.credit"] = "group"
    # A preset may set these two, but GRPOConfig has no counterpart for them.
    flat["loss.num_mini_batches"] = 1
    flat["loss.entropy_decay_updates"] = 0
    flat["credit.scale_rewards"] = config.scale_rewards
    warmup = float(config.warmup_steps)
    flat["optimizer.warmup_updates"] = -(-int(warmup * total if 0 < warmup < 1 else warmup) // iterations)
    if steps > 0:
        flat["budget.updates"] = updates = -(-steps // iterations)
    flat["optimizer.lr_scheduler_type"] = schedule = _schedule(config)
    flat["optimizer.decay_updates"] = updates if schedule in ("linear", "cosine") else 0
    nested: dict[str, Any] = {}
    for name, value in flat.items():
        section, _, field = name.rpartition(".")
        (nested.setdefault(section, {}) if section else nested)[field] = value
    return nested


def train_config(config: GRPOConfig, base: TrainConfig | None = None) -> TrainConfig:
    """``from_grpo_config`` on top of ``base``, which keeps its game, scheme, adapters, goal and so on."""
    base = TrainConfig() if base is None else base
    return from_dict(from_grpo_config(config, base.budget.updates), base)


def _schedule(config: GRPOConfig) -> str:
    return str(getattr(config.lr_scheduler_type, "value", config.lr_scheduler_type))


def _check_honoured(config: GRPOConfig) -> None:
    """Check that every field is translated, ignored, or at its default."""
    plain = _grpo_config_class()(output_dir="unused", use_cpu=True, bf16=False)
    wrong = []
    for field in dataclasses.fields(config):
        name, value = field.name, getattr(config, field.name)
        if name in MAPPED or name in _TRANSLATED or HOUSEKEEPING.fullmatch(name):
            continue
        if value != field.default and value != getattr(plain, name):
            wrong.append(f"{name}={value!r} (leave it at {field.default!r})")
    if config.loss_type in NOT_YET:
        wrong.append(f"loss_type={config.loss_type!r} (choose one of {', '.join(LOSS_TYPES)})")
    if str(getattr(config.optim, "value", config.optim)) not in ("adamw_torch", "adamw_torch_fused"):
        wrong.append(f"optim={config.optim!r} (only adamw_torch)")
    schedules = ("linear", "cosine", "constant", "constant_with_warmup")
    if _schedule(config) not in schedules:
        wrong.append(f"lr_scheduler_type={_schedule(config)!r} (choose one of {', '.join(schedules)})")
    if config.scale_rewards not in ("group", "batch", "none"):
        wrong.append(f"scale_rewards={config.scale_rewards!r} (say 'group', 'batch' or 'none')")
    if config.steps_per_generation != config.gradient_accumulation_steps:
        wrong.append(
            f"steps_per_generation={config.steps_per_generation} with gradient_accumulation_steps="
            f"{config.gradient_accumulation_steps} (each pass over a batch is one optimizer step: set them equal)"
        )
    if wrong:
        raise UsageError(f"This GRPOConfig cannot be honoured: {'; '.join(wrong)}. docs/losses.md lists what can.")


def _grpo_config_class() -> type[GRPOConfig]:
    with needs("GRPOConfig", "train"):
        from trl.trainer.grpo_config import GRPOConfig
    return GRPOConfig


def _int(value: Any) -> int:
    return int(value)


_PROMPT = re.compile(r"^(\S+) opening (\d+) seat (\d+)$")


class GameBridge:
    """A game for TRL's trainer: ``dataset``, ``rollout`` (its ``rollout_func``) and ``reward`` (its reward function).

    A row is one whole game as the trained seat sees it: its first prompt, then its answers and the later prompts, which
    have ``env_mask`` 0. The rows of a group share opening and seat, because the dataset's prompt names both. In a
    turn-based game the trained seat is the one to move after the opening.

    Args:
        game: registered name.
        opponent: a baseline's name or an agent, for all other seats.
        tokenizer: of the model that will be trained.
        template: ``auto``, ``compact`` or ``chat``, see ``agents.prompts``.
        opening_plies: each opening has 0 to this many uniformly random plies.
        answer_tokens: the most tokens in an answer.
        illegal: what an illegal answer does: ``lose`` ends the game; ``resample`` plays a random legal action instead.
        illegal_penalty: the reward for each illegal answer.
        seed: of the opponent's choices.
        config: arguments of the game.

    Attributes:
        answers: how many answers the model has given.

    Raises:
        UnknownName: no such game, baseline or template.
    """

    def __init__(
        self,
        game: str,
        *,
        tokenizer: PreTrainedTokenizerBase,
        opponent: str | Agent = "random",
        template: str = "auto",
        opening_plies: int = 1,
        answer_tokens: int = 8,
        illegal: str = "lose",
        illegal_penalty: float = -1.0,
        seed: int = 0,
        **config: Any,
    ) -> None:
        self.game = make_game(game, **config)
        self.opponent = make_baseline(opponent, self.game) if isinstance(opponent, str) else opponent
        self.template: Template = make_template(template, tokenizer)
        self.stop = stop_token(tokenizer)
        self.opening_plies, self.answer_tokens = opening_plies, answer_tokens
        self.illegal, self.illegal_penalty = illegal, illegal_penalty
        self.seed, self._played = seed, 0
        self.answers = 0

    def trainer(
        self,
        model: PreTrainedModel,
        *,
        openings: int = 256,
        peft_config: PeftConfig | None = None,
        callbacks: Sequence[TrainerCallback] = (),
        **fields: Any,
    ) -> GRPOTrainer:
        """A plain GRPOTrainer for this game.

        Args:
            model: the model to train.
            openings: rows of the dataset.
            peft_config: of its adapter; None trains the whole model.
            callbacks: passed to the trainer.
            fields: of ``GRPOConfig``. By default training runs on the CPU in float32, without reports.

        Raises:
            MissingExtra: TRL is not installed.
        """
        plain: dict[str, Any] = {"use_cpu": True, "bf16": False, "gradient_checkpointing": False, "report_to": []}
        args = _grpo_config_class()(**(plain | fields))
        from trl.trainer.grpo_trainer import GRPOTrainer

        return GRPOTrainer(
            model=model,
            reward_funcs=cast("Any", self.reward),
            args=args,
            train_dataset=self.dataset(openings),
            processing_class=self.template.tokenizer,
            rollout_func=self.rollout,
            peft_config=peft_config,
            callbacks=list(callbacks),
        )

    def dataset(self, openings: int, seed: int = 0) -> Dataset:
        """Rows with one column, ``prompt``: an opening and a seat. Openings are numbered from ``seed`` on."""
        from datasets import Dataset

        numbers = range(seed, seed + openings)
        states, info = opening_states(self.game, numbers, self.opening_plies)[0], self.game.info
        names = [
            f"{info.id} opening {number} seat "
            f"{number % info.players if info.simultaneous else self.game.mover(states.state, row)}"
            for row, number in enumerate(numbers)
        ]
        return Dataset.from_dict({"prompt": names})

    @staticmethod
    def reward(completions: Sequence[Any], game_reward: Sequence[float], **_: Any) -> list[float]:
        """The return of the trained seat in each game, from ``rollout``."""
        return list(game_reward)

    def rollout(self, prompts: Sequence[str], trainer: GRPOTrainer) -> dict[str, list[Any]]:
        """Play one game for each prompt with the trainer's current model.

        Returns:
            ``prompt_ids``, ``completion_ids``, ``logprobs`` (0 for tokens the model did not choose), ``env_mask`` (1:
            chosen by the model) and ``game_reward``, one row per prompt.

        Raises:
            UsageError: a prompt not from ``dataset``; a game longer than ``max_completion_length``.
        """
        numbers, seats = zip(*map(self._opening, prompts), strict=True)
        starts, _ = opening_states(self.game, numbers, self.opening_plies)
        model = _Trained(self, trainer)
        played = rollout(
            self.game,
            {"model": model, "opponent": self.opponent},
            [self._seating(seat) for seat in seats],
            seed=self.seed,
            numbers=range(self._played, self._played + len(prompts)),
            starts=starts,
            illegal=self.illegal,
            illegal_penalty=self.illegal_penalty,
        )
        self._played += len(prompts)
        rows = [_row(model.contexts[k]) for k in range(len(prompts))]
        self._check_length(rows, trainer)
        return {
            **{name: [row[name] for row in rows] for name in ("prompt_ids", "completion_ids", "logprobs", "env_mask")},
            "game_reward": [game.returns[seat] for game, seat in zip(played.episodes, seats, strict=True)],
        }

    def _seating(self, seat: int) -> Seating:
        mine = tuple(player == seat for player in range(self.game.info.players))
        return Seating(tuple("model" if own else "opponent" for own in mine), mine)

    def _opening(self, prompt: str) -> tuple[int, int]:
        """The opening's number and the seat that a prompt names."""
        match = _PROMPT.match(str(prompt))
        if match is None or match[1] != self.game.info.id:
            raise UsageError(f"The prompt {prompt!r} does not come from this bridge. Train on bridge.dataset(...).")
        return int(match[2]), int(match[3])

    def _check_length(self, rows: Sequence[Mapping[str, list[Any]]], trainer: GRPOTrainer) -> None:
        args: Any = trainer.args
        longest, limit = max(len(row["completion_ids"]) for row in rows), args.max_completion_length
        if limit is not None and longest > limit:
            raise UsageError(
                f"A game of {self.game.info.id} took {longest} tokens, prompts between the answers included; "
                f"max_completion_length is {limit}. Raise it, or use the compact template."
            )


class _Trained:
    """The model in training as a player: each game is one conversation.

    Attributes:
        contexts: by game, the prompts so far and the model's answers.
    """

    name = "model"

    def __init__(self, bridge: GameBridge, trainer: GRPOTrainer) -> None:
        self.bridge, self.engine = bridge, _engine(trainer, bridge.template.tokenizer)
        args: Any = trainer.args
        self.temperature = float(args.temperature)
        self.contexts: dict[int, Context] = {}

    def act(self, turns: Sequence[Turn]) -> list[Decision]:
        """Sample the model's answers, add prompts and answers to ``contexts``, and parse the answers into actions."""
        bridge, form = self.bridge, Free(self.bridge.answer_tokens, (self.bridge.stop,))
        for turn in turns:
            shown = bridge.template.encode(turn, bridge.template.text(turn))
            past = self.contexts.get(turn.row)
            self.contexts[turn.row] = past.extend(shown) if past else Context(shown)
        asks = [Ask(self.contexts[turn.row], form, None, turn.seed, self.temperature) for turn in turns]
        bridge.answers += len(asks)
        decisions = []
        for turn, answer in zip(turns, self.engine.sample(asks), strict=True):
            self.contexts[turn.row] = self.contexts[turn.row].extend(answer.ids, self.name, answer.logprobs)
            said = [token for token in answer.ids if token != bridge.stop]
            text = str(bridge.template.tokenizer.decode(said, skip_special_tokens=False))
            try:
                decisions.append(Decision(turn.parse_action(text), text))
            except ActionError:
                decisions.append(Decision(None, text))
        return decisions


def _row(context: Context) -> dict[str, list[Any]]:
    """One game of the trained seat in TRL's columns: the first prompt, and everything after it."""
    first, *rest = context.segments()
    return {
        "prompt_ids": list(first.ids),
        "completion_ids": [token for segment in rest for token in segment.ids],
        "logprobs": [x for segment in rest for x in segment.logprobs or [0.0] * len(segment.ids)],
        "env_mask": [int(bool(segment.logprobs)) for segment in rest for _ in segment.ids],
    }


def _engine(trainer: GRPOTrainer, tokenizer: Any) -> Engine:
    """An engine that samples from the trainer's current model, adapter included."""
    from ...agents.engines.local import LocalEngine
    from ...agents.llm.models import LoadedModel

    model: Any = trainer.accelerator.unwrap_model(trainer.model)
    inner = model.get_base_model() if hasattr(model, "get_base_model") else model
    return LocalEngine(LoadedModel(inner, tokenizer, "in training", ""))
