"""Whole training steps: games, credit, loss, AdamW; compared with the same work in TRL's GRPOTrainer.

The workload: tic-tac-toe against random, 64 games per step from the empty board, a Llama of 3 layers, 128 wide, on
bytes, prompts of 36 characters, LoRA r 16 on all linear layers, one pass over each batch, one thread. TRL plays through
``training.bridges.trl.GameBridge``: the same games and prompts, free decoding of one token, which is all it has, and a
random legal action if the token is not one, so that games last as long as ours. The bridge plays all games of a step in
batches and keeps what the model has read of a conversation; TRL then learns from each whole conversation.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from . import Measurement

__all__ = ["measurements"]

GAMES, STEPS = 64, 20
FRAME = "tictactoe: mark, board: "


def measurements() -> Iterator[Measurement]:
    """64 games per step, compared with TRL; then in self-play; then 1,024, where equal prompts are more frequent."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        ours, shown = _ours(GAMES, 1, STEPS)
        trl = _trl(5)
        more = {"games a step": GAMES, **shown}
        yield Measurement("GRPO step, 128-wide Llama", ours, "decisions/s", 1, "trl GRPOTrainer", trl, more)
        every, shown = _ours(GAMES, 1, STEPS, "self=1")
        yield Measurement("GRPO step, self-play", every, "decisions/s", 1, more={"games a step": GAMES, **shown})
        large, shown = _ours(1024, 1, 3)
        yield Measurement("GRPO step, 128-wide Llama", large, "decisions/s", 1, more={"games a step": 1024, **shown})
    finally:
        torch.set_num_threads(threads)


def _model_folder(folder: Path) -> Path:
    from ..agents.llm.tiny import Recipe, build, save

    recipe = Recipe(width=128, layers=3, heads=4, inner=344)
    save(build(recipe), recipe, folder)
    return folder


def _framed(template: Any) -> Any:
    """The template with a fixed prefix before each line, up to ~35 tokens."""
    from ..agents.core import Turn
    from ..agents.llm.prompts import Template

    class Framed(Template):
        def text(self, turn: Turn) -> str:
            return FRAME + super().text(turn)

    return Framed(template.name, template.tokenizer)


def _ours(games: int, passes: int, steps: int, opponents: str = "random=1") -> tuple[float, dict[str, int]]:
    """Learner decisions per second over whole updates; prompt tokens, and decisions per second of CPU time."""
    from dataclasses import replace

    from ..training.loop import Trainer
    from ..training.runs.config import TrainConfig

    with tempfile.TemporaryDirectory() as folder:
        start = TrainConfig(game="tictactoe")
        config = replace(
            start,
            policy=replace(start.policy, model=str(_model_folder(Path(folder)))),
            rollout=replace(start.rollout, games=games, opening_plies=0),
            scheme=replace(start.scheme, opponents=opponents),
            loss=replace(start.loss, num_iterations=passes),
        )
        trainer = Trainer(config)
    trainer.policy.template = _framed(trainer.policy.template)
    trainer.step()
    began, worked, decisions = time.perf_counter(), time.process_time(), 0
    for _ in range(steps):
        decisions += int(trainer.step()["decisions"])
    seconds, worked = time.perf_counter() - began, time.process_time() - worked
    prompt = max(len(prompt) for prompt, _ in trainer.policy.asked())
    return decisions / seconds, {"prompt tokens": prompt, "decisions a CPU second": round(decisions / worked)}


def _trl(steps: int) -> float | None:
    """Decisions per second of TRL's GRPOTrainer on the same games; None if it isn't installed."""
    try:
        from peft import LoraConfig
        from transformers import AutoModelForCausalLM, AutoTokenizer
        from transformers.trainer_callback import TrainerCallback
    except ImportError:
        return None
    from ..errors import MissingExtra
    from ..training.bridges.trl import GameBridge

    stamps: list[tuple[float, int]] = []

    class Clock(TrainerCallback):
        def on_step_end(self, *_: Any, **__: Any) -> None:
            stamps.append((time.perf_counter(), bridge.answers))

    with tempfile.TemporaryDirectory() as folder:
        path = _model_folder(Path(folder) / "model")
        # An untrained model rarely answers legally: without "resample" TRL's games would be one decision long.
        tokenizer = AutoTokenizer.from_pretrained(path)
        bridge = GameBridge("tictactoe", tokenizer=tokenizer, opening_plies=0, illegal="resample")
        bridge.template = _framed(bridge.template)
        bridge.answer_tokens = 1
        try:
            trainer = bridge.trainer(
                AutoModelForCausalLM.from_pretrained(path),
                openings=8,
                peft_config=LoraConfig(r=16, lora_alpha=32, target_modules="all-linear", task_type="CAUSAL_LM"),
                callbacks=[Clock()],
                output_dir=folder,
                per_device_train_batch_size=GAMES,
                num_generations=8,
                max_completion_length=512,
                max_steps=steps + 1,
                gradient_checkpointing=False,  # TRL's default computes every layer twice
                logging_strategy="no",
                save_strategy="no",
                disable_tqdm=True,
            )
        except MissingExtra:
            return None
        trainer.train()
    (began, before), (ended, after) = stamps[0], stamps[-1]
    return (after - before) / (ended - began)
