"""The built-in models: how ``tiny-v0`` is made.

    python -m coterie.agents.tiny --out agents/weights/tiny-v0

A Llama of a third of a million parameters on bytes. It reads the text faces of every registered game, compact and
described, with one uniformly random legal action behind each position: the notation and which actions are legal,
nothing of what is good. No result, no value, no order in time is in its corpus: positions are shuffled and each stands
alone.

A retrained model gets a new id (``tiny-v1``, ...); runs record its hash. What was left out: any other text. It can't
talk.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..envs.registry import list_envs, make_vec
from .core import Turn
from .prompts import make_template, stop_token
from .tokenizer import BOS, PAD, VOCAB_SIZE, byte_tokenizer

if TYPE_CHECKING:
    import torch
    from transformers import LlamaForCausalLM

__all__ = ["Recipe", "build", "corpus", "main", "save", "train"]


@dataclass(frozen=True)
class Recipe:
    """Everything that the weights follow from.

    Attributes:
        width, layers, heads, inner: of the Llama.
        context: longest sequence in tokens (rotary positions).
        steps: optimiser steps. lines: positions a step. described: which share of them as chat, the others compact.
        rate: peak learning rate of AdamW; cosine to a tenth after ``warmup`` steps.
        prompt_weight: weight of prompt tokens in the loss; answers weigh 1.
        seed: of weights and corpus.
    """

    width: int = 96
    layers: int = 3
    heads: int = 4
    inner: int = 256
    context: int = 2048
    steps: int = 2000
    lines: int = 128
    described: float = 0.06
    rate: float = 3e-3
    warmup: int = 100
    prompt_weight: float = 0.1
    seed: int = 0


def build(recipe: Recipe) -> LlamaForCausalLM:
    """An untrained model of the recipe's shape."""
    import torch
    from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM

    torch.manual_seed(recipe.seed)
    tokenizer = byte_tokenizer(recipe.context)
    stop = stop_token(tokenizer)
    config = LlamaConfig(
        vocab_size=VOCAB_SIZE,
        hidden_size=recipe.width,
        intermediate_size=recipe.inner,
        num_hidden_layers=recipe.layers,
        num_attention_heads=recipe.heads,
        num_key_value_heads=recipe.heads,
        max_position_embeddings=recipe.context,
        tie_word_embeddings=True,
        bos_token_id=BOS,
        eos_token_id=stop,
        pad_token_id=PAD,
    )
    model = LlamaForCausalLM(config)
    model.generation_config = GenerationConfig(bos_token_id=BOS, eos_token_id=stop, pad_token_id=PAD)
    return model


def corpus(recipe: Recipe) -> Iterator[list[tuple[tuple[int, ...], tuple[int, ...]]]]:
    """Endless batches of (prompt ids, answer ids), ``recipe.lines`` each.

    Uniformly random games of every registered game run for ever; every batch takes one position of each row, so that
    neighbours in a batch come from different games. All rows begin
    with an opening; games of different lengths soon bring them out of step.
    """
    rng = np.random.default_rng(recipe.seed)
    tokenizer = byte_tokenizer(recipe.context)
    templates = [make_template("compact", tokenizer), make_template("chat", tokenizer)]
    stop = stop_token(tokenizer)
    names = list_envs()
    rows = max(1, recipe.lines // len(names))
    vecs = [make_vec(name, num_envs=rows, seed=recipe.seed + k) for k, name in enumerate(names)]
    for vec in vecs:
        vec.reset(seed=recipe.seed)
    while True:
        lines = []
        for vec in vecs:
            actions = vec.sample_actions().copy()
            for row in range(rows):
                seats = range(vec.game.info.players) if vec.game.info.simultaneous else [int(vec.player[row])]
                player = int(rng.choice(list(seats)))
                mask = vec.game.legal_mask(vec.state, row, player)
                turn = Turn(vec.game, vec.state, row, player, mask, 0)
                template = templates[int(rng.random() < recipe.described)]
                action = int(actions[row, player] if vec.game.info.simultaneous else actions[row])
                prompt = template.encode(turn, template.text(turn))
                lines.append((prompt, (*template.answer(turn.action_to_text(action)), stop)))
            vec.step(actions)
        rng.shuffle(lines)
        yield lines


def batches(lines: list[tuple[tuple[int, ...], tuple[int, ...]]], weight: float) -> Iterator[tuple[torch.Tensor, ...]]:
    """Padded (ids [B, T], weights [B, T]) of similar lengths; weights are 0 on padding and on the first token."""
    import torch

    lines = sorted(lines, key=lambda line: len(line[0]) + len(line[1]))
    while lines:
        longest = 2 * (len(lines[0][0]) + len(lines[0][1]))
        part = [line for line in lines if len(line[0]) + len(line[1]) <= longest]
        lines = lines[len(part) :]
        width = max(len(p) + len(a) for p, a in part)
        ids = torch.full((len(part), width), PAD)
        weights = torch.zeros(len(part), width)
        for row, (prompt, answer) in enumerate(part):
            ids[row, : len(prompt) + len(answer)] = torch.tensor(prompt + answer)
            weights[row, 1 : len(prompt)] = weight
            weights[row, len(prompt) : len(prompt) + len(answer)] = 1.0
        yield ids, weights


def train(recipe: Recipe, *, log_every: int = 100) -> LlamaForCausalLM:
    """Train a model from nothing; prints one line every ``log_every`` steps."""
    import torch

    model = build(recipe)
    optimizer = torch.optim.AdamW(model.parameters(), lr=recipe.rate, betas=(0.9, 0.99), weight_decay=0.01)
    lines = corpus(recipe)
    started = time.monotonic()
    for step in range(recipe.steps):
        done = max(0.0, (step - recipe.warmup) / max(1, recipe.steps - recipe.warmup))
        rate = recipe.rate * min(1.0, (step + 1) / recipe.warmup) * (0.55 + 0.45 * math.cos(math.pi * done))
        for group in optimizer.param_groups:
            group["lr"] = rate
        batch = next(lines)
        total = 0.0
        for ids, weights in batches(batch, recipe.prompt_weight):
            logits = model(input_ids=ids, use_cache=False).logits[:, :-1]
            loss = torch.nn.functional.cross_entropy(logits.transpose(1, 2), ids[:, 1:], reduction="none")
            loss = (loss * weights[:, 1:]).sum() / len(batch)
            loss.backward()
            total += loss.item()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        if log_every and (step % log_every == 0 or step == recipe.steps - 1):
            print(f"step {step:5d}  loss {total:.4f} nats a line  {time.monotonic() - started:.0f} s", flush=True)
    return model


def save(model: LlamaForCausalLM, recipe: Recipe, folder: Path) -> None:
    """Write model (fp16), tokenizer and recipe in Hugging Face format."""
    import torch

    torch.nn.Module.to(model, torch.float16)  # in place; the stub of the method of the same name is too narrow
    model.save_pretrained(folder)
    byte_tokenizer(recipe.context).save_pretrained(folder)
    facts = {**asdict(recipe), "games": list_envs(), "parameters": sum(p.numel() for p in model.parameters())}
    (folder / "recipe.json").write_text(json.dumps(facts, indent=1) + "\n")


def main(argv: list[str] | None = None) -> None:
    """Command line of the recipe."""
    import torch

    parser = argparse.ArgumentParser(prog="python -m coterie.agents.tiny", description="Make the built-in model.")
    parser.add_argument("--out", type=Path, required=True, help="folder to write, e.g. agents/weights/tiny-v0")
    parser.add_argument(
        "--threads", type=int, default=2, help="torch threads; the weights depend on it in the last bits"
    )
    for name, value in asdict(Recipe()).items():
        parser.add_argument(f"--{name}", type=type(value), default=value)
    options = vars(parser.parse_args(argv))
    out, threads = options.pop("out"), options.pop("threads")
    torch.set_num_threads(threads)
    recipe = Recipe(**options)
    save(train(recipe), recipe, out)
    print(f"wrote {out}")


if __name__ == "__main__":
    main()
