"""The bridge to TRL, and the only file that imports it: it moves fast.

Two ways across. ``from_grpo_config`` reads a ``GRPOConfig`` into our configuration: what it says wins, and what cannot
be honoured is an error that names it. ``GameBridge`` plugs any registered game into a plain ``GRPOTrainer``, for those
who want TRL's trainer and our games::

    bridge = GameBridge("tictactoe", opponent="minimax", tokenizer=tokenizer)
    bridge.trainer(model, openings=256, output_dir="out", max_steps=100).train()

What the bridge leaves out: choice decoding, state credit, several players, sharing of equal prompts. That is what our
own loop is for. The file is longer than most because no other may import TRL.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from ...agents.baselines import make_baseline
from ...agents.core import Agent, Turn
from ...agents.llm.prompts import Template, answer_text, make_template, stop_token
from ...agents.seeds import Seed, stream
from ...aliases import State
from ...envs.registry import make_game
from ...envs.state import put
from ...envs.vec import VecEnv
from ...errors import ActionError, MissingExtra, UsageError
from ..data.rollout import opening_states
from ..learn.objectives import LOSS_TYPES, NOT_YET
from ..runs.config import BudgetConfig, TrainConfig, from_dict

if TYPE_CHECKING:
    import torch
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
"""GRPOConfig's field -> ours, where the value is taken as it is."""

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
"""Fields that ``from_grpo_config`` reads in other ways; docs/losses.md tells how."""

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
"""Fields about the Trainer's logs, files, data loading and memory: passed over, for nothing learned depends on them."""


def from_grpo_config(config: GRPOConfig, updates: int = BudgetConfig.updates) -> dict[str, Any]:
    """Nested data for ``config.from_dict``: everything that a GRPOConfig says about learning.

    Every value counts, defaults too: whoever passes a GRPOConfig gets its learning rate of 1e-6.

    Args:
        config: TRL's.
        updates: over which the learning rate falls (linear, cosine) where ``max_steps`` says nothing.

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
    # What a preset may say beside these has no counterpart in a GRPOConfig.
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
    """``from_grpo_config`` on top of a configuration; the rest (game, scheme, adapters, goal) stays the base's."""
    base = TrainConfig() if base is None else base
    return from_dict(from_grpo_config(config, base.budget.updates), base)


def _schedule(config: GRPOConfig) -> str:
    return str(getattr(config.lr_scheduler_type, "value", config.lr_scheduler_type))


def _check_honoured(config: GRPOConfig) -> None:
    """Every field is taken over, passed over, or at its default."""
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
    try:
        from trl.trainer.grpo_config import GRPOConfig
    except ImportError:
        raise MissingExtra("GRPOConfig", "trl", "train") from None
    return GRPOConfig


def _int(value: Any) -> int:
    return int(value)


_PROMPT = re.compile(r"^(\S+) opening (\d+) seat (\d+)$")


class GameBridge:
    """A game for TRL's trainer: ``dataset``, ``rollout`` (its ``rollout_func``) and ``reward`` (its reward function).

    A row is one whole game of the trained seat: its first prompt, then answers and, with ``env_mask`` 0, the prompts
    that followed. The rows of a group share opening and seat, for both stand in the dataset's prompt. In a turn-based
    game the trained seat is the one to move after the opening.

    Args:
        game: registered name.
        opponent: who fills the other seats: a baseline's name or an agent.
        tokenizer: of the model that will be trained.
        template: ``auto``, ``compact`` or ``chat``, see ``agents.prompts``.
        opening_plies: each opening has 0 to this many uniformly random plies.
        answer_tokens: longest answer.
        illegal: what an illegal answer does: ``lose`` ends the game; ``resample`` plays a random legal action instead.
        illegal_penalty: what each illegal answer pays.
        seed: of the opponent's choices.
        config: of the game.

    Attributes:
        answers: how often the model has been asked.

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
        """A plain GRPOTrainer of this game.

        Args:
            model: what learns.
            openings: rows of the dataset.
            peft_config: of its adapter; None trains the whole model.
            callbacks: as the trainer takes them.
            fields: of ``GRPOConfig``. Where they don't say otherwise: on the CPU in float32, without reports.

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
        """Rows with one column, ``prompt``: which opening and which seat. Openings are numbered from ``seed`` up."""
        from datasets import Dataset

        names = []
        for number in range(seed, seed + openings):
            state = self._opening(number)
            seat = number % self.game.info.players if self.game.info.simultaneous else self.game.mover(state.state, 0)
            names.append(f"{self.game.info.id} opening {number} seat {seat}")
        return Dataset.from_dict({"prompt": names})

    @staticmethod
    def reward(completions: Sequence[Any], game_reward: Sequence[float], **_: Any) -> list[float]:
        """What the trained seat got in each game, as ``rollout`` found it."""
        return list(game_reward)

    def rollout(self, prompts: Sequence[str], trainer: GRPOTrainer) -> dict[str, list[Any]]:
        """Play one game for each prompt with the trainer's model as it stands.

        Returns:
            ``prompt_ids``, ``completion_ids``, ``logprobs`` (0 at tokens that were not chosen), ``env_mask`` (1:
            chosen by the model) and ``game_reward``, a row each.

        Raises:
            UsageError: a prompt that ``dataset`` didn't make; a game longer than ``max_completion_length``.
        """
        vec, seats = self._begin(prompts)
        streams = [stream(self.seed, self._played + row) for row in range(len(prompts))]
        self._played += len(prompts)
        rows = [_Row() for _ in prompts]
        running = np.arange(len(prompts))
        actions = np.zeros_like(vec.sample_actions())
        while running.size:
            turns = self._turns(vec, running, streams)
            mine = [turn for turn in turns if turn.player == seats[turn.row]]
            others = [turn for turn in turns if turn.player != seats[turn.row]]
            answered = self._answer(mine, rows, trainer)
            replies = self.opponent.act(others) if others else []
            played = [*answered, *(decision.action for decision in replies)]
            for turn, action in zip([*mine, *others], played, strict=True):
                at = (turn.row, turn.player) if self.game.info.simultaneous else turn.row
                actions[at] = -1 if action is None else action
            _, rewards, terminated, truncated, _ = vec.step(actions)
            over: NDArray[np.bool_] = (terminated | truncated).reshape(len(rows), -1).min(axis=1)
            for row in running.tolist():
                rows[row].reward += float(rewards[row, seats[row]])
            running = running[~over[running]]
        self._check_length(rows, trainer)
        return {
            "prompt_ids": [row.prompt for row in rows],
            "completion_ids": [row.completion for row in rows],
            "logprobs": [row.logprobs for row in rows],
            "env_mask": [row.chosen for row in rows],
            "game_reward": [row.reward for row in rows],
        }

    def _opening(self, number: int) -> State:
        return opening_states(self.game, [number], self.opening_plies)[0]

    def _begin(self, prompts: Sequence[str]) -> tuple[VecEnv, list[int]]:
        vec = VecEnv(
            self.game,
            len(prompts),
            autoreset_mode="Disabled",
            illegal=self.illegal,
            illegal_reward=self.illegal_penalty,
        )
        vec.reset(seed=0)
        state, seats, known = vec.get_state(), [], dict[int, State]()
        for row, prompt in enumerate(prompts):
            match = _PROMPT.match(str(prompt))
            if match is None or match[1] != self.game.info.id:
                raise UsageError(f"The prompt {prompt!r} is none of this bridge's. Train on bridge.dataset(...).")
            number = int(match[2])
            if number not in known:
                known[number] = self._opening(number)
            put(state, known[number], row)
            seats.append(int(match[3]))
        vec.set_state(state)
        return vec, seats

    def _turns(self, vec: VecEnv, running: Any, streams: list[int]) -> list[Turn]:
        game, state, masks = self.game, vec.state, vec.action_mask
        players, together = game.info.players, game.info.simultaneous
        pairs = [(r, p) for r in running.tolist() for p in (range(players) if together else [int(vec.player[r])])]
        return [
            Turn(
                game,
                state,
                r,
                p,
                masks[r, p] if together else masks[r],
                game.key(state, r),
                Seed(streams[r], int(vec.cycles[r]) * players + p),
            )
            for r, p in pairs
        ]

    def _answer(self, turns: Sequence[Turn], rows: Sequence[_Row], trainer: GRPOTrainer) -> list[int | None]:
        """Ask the model; write down what it was shown and said; say which actions that means."""
        if not turns:
            return []
        for turn in turns:
            rows[turn.row].show(self.template.encode(turn, self.template.text(turn)))
        contexts = [[*rows[turn.row].prompt, *rows[turn.row].completion] for turn in turns]
        said, logprobs = _sample(trainer, contexts, self.answer_tokens, self.stop)
        self.answers += len(said)
        actions: list[int | None] = []
        for turn, ids, logps in zip(turns, said, logprobs, strict=True):
            rows[turn.row].say(ids, logps)
            text = self.template.tokenizer.decode([t for t in ids if t != self.stop], skip_special_tokens=False)
            try:
                actions.append(turn.parse_action(answer_text(str(text))))
            except ActionError:
                actions.append(None)
        return actions

    def _check_length(self, rows: Sequence[_Row], trainer: GRPOTrainer) -> None:
        args: Any = trainer.args
        longest, limit = max(len(row.completion) for row in rows), args.max_completion_length
        if limit is not None and longest > limit:
            raise UsageError(
                f"A game of {self.game.info.id} took {longest} tokens, prompts between the answers included; "
                f"max_completion_length is {limit}. Raise it, or use the compact template."
            )


@dataclasses.dataclass
class _Row:
    """One game of the trained seat, token-exactly; ``chosen`` is 1 where the model chose."""

    prompt: list[int] = dataclasses.field(default_factory=list)
    completion: list[int] = dataclasses.field(default_factory=list)
    logprobs: list[float] = dataclasses.field(default_factory=list)
    chosen: list[int] = dataclasses.field(default_factory=list)
    reward: float = 0.0

    def show(self, ids: Sequence[int]) -> None:
        if not self.prompt:
            self.prompt = list(ids)
            return
        self.completion += ids
        self.logprobs += [0.0] * len(ids)
        self.chosen += [0] * len(ids)

    def say(self, ids: Sequence[int], logprobs: Sequence[float]) -> None:
        self.completion += ids
        self.logprobs += logprobs
        self.chosen += [1] * len(ids)


def _sample(
    trainer: GRPOTrainer, contexts: Sequence[Sequence[int]], limit: int, stop: int
) -> tuple[list[list[int]], list[list[float]]]:
    """Answers of up to ``limit`` tokens, the stop token included, and their log-probs at the trainer's temperature."""
    import torch

    model: Any = trainer.accelerator.unwrap_model(trainer.model)
    args: Any = trainer.args
    width, was_training = max(map(len, contexts)), model.training
    ids = torch.full((len(contexts), width), stop)
    mask = torch.zeros(len(contexts), width, dtype=torch.long)
    for row, context in enumerate(contexts):
        ids[row, width - len(context) :] = torch.tensor(context)
        mask[row, width - len(context) :] = 1
    model.eval()
    with torch.no_grad():
        out = model.generate(
            input_ids=ids.to(model.device),
            attention_mask=mask.to(model.device),
            do_sample=True,
            temperature=args.temperature,
            top_k=0,
            top_p=1.0,
            max_new_tokens=limit,
            eos_token_id=stop,
            pad_token_id=stop,
            output_scores=True,
            return_dict_in_generate=True,
        )
    model.train(was_training)
    tokens = out.sequences[:, width:]
    scores = torch.stack(out.scores, 1).float().log_softmax(-1)
    chosen = scores.gather(2, tokens[..., None])[..., 0]
    return _until(tokens, chosen, stop)


def _until(tokens: torch.Tensor, logprobs: torch.Tensor, stop: int) -> tuple[list[list[int]], list[list[float]]]:
    """Cut each row behind its first stop token."""
    said, logps = [], []
    for row, values in zip(tokens.tolist(), logprobs.tolist(), strict=True):
        end = row.index(stop) + 1 if stop in row else len(row)
        said.append(row[:end])
        logps.append(values[:end])
    return said, logps
