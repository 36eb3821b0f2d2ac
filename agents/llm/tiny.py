"""The built-in models: how ``tiny-v2`` is made.

    python -m coterie.agents.llm.tiny --out agents/weights/tiny-v2 --threads 1

A byte-level Llama with a third of a million parameters. It is trained on the text faces, compact and described, of
every registered game with actions to choose from, to give every legal action the same probability: it learns the
notation and which actions are legal, but not which are good. Its corpus has no results, values or sequences:
positions come from uniformly random games, are shuffled, and each is a sample of its own.

All legal answers of a position are learned at once, by the packed tries that decoding uses: the expected gradient of
uniformly sampled answers, without its noise. Muon trains the hidden matrices, and one of its steps was worth two of
AdamW's here; AdamW trains the rest.

A retrained model gets a new id (``tiny-v3``, ...); runs save its hash. ``tiny-v0`` knows only tic-tac-toe and
highest_number, ``tiny-v1`` all games but the gridworld; their recipes are older versions of this file. It was trained
on no other text, and can't talk.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...envs.making import make_vec
from ...envs.registry import list_envs, make_game, spec
from ...envs.words import TextGame
from ...errors import UsageError
from ..core import Turn
from .prompts import make_template, stop_token
from .scoring.forest import Pack, Question, pack_questions
from .scoring.logprobs import Head, edge_logprobs
from .scoring.passes import parent_states
from .tokenizer import BOS, PAD, VOCAB_SIZE, byte_tokenizer

if TYPE_CHECKING:
    import torch
    from transformers import LlamaForCausalLM

__all__ = ["PRESETS", "WEIGHTS", "Recipe", "Rehearsal", "answer_shares", "build", "corpus", "main", "save", "train"]

WEIGHTS = {"chess": 16, "tictactoe": 12, "connect_four": 6, "go": 2, "hex": 2}
"""Sampling weights of games, by how hard and how long their notation is; 1 for all others except ``PRESETS``."""

PRESETS = {
    "gridworld": {
        "a3_9x9": 8,
        "a3_11x11": 3,
        "a5_25x25_simple": 1,
        "a5_25x25": 1,
        "a20_40x40_rich": 1,
        "bench_24_48x48": 2,
    }
}
"""Sampling weights of the presets of a game; those in which small models will learn count most."""

POOL = 256
"""Parallel games of each kind; a batch takes its positions from a few of them."""


@dataclass(frozen=True)
class Recipe:
    """All settings that determine the weights.

    Attributes:
        width, layers, heads, inner: of the Llama.
        context: longest sequence in tokens (rotary positions).
        steps: optimiser steps. lines: positions per step. described: the share of them as chat; the others are compact.
        rate: peak learning rate of AdamW, for embeddings and norms. muon: that of Muon, for all other weights. After
            ``warmup`` steps both decay by a cosine to a twenty-fifth.
        seed: of weights and corpus.
    """

    width: int = 96
    layers: int = 3
    heads: int = 4
    inner: int = 256
    context: int = 2048
    steps: int = 1200
    lines: int = 42
    described: float = 0.02
    rate: float = 4e-3
    muon: float = 0.02
    warmup: int = 20
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


def corpus(recipe: Recipe) -> Iterator[list[Question]]:
    """Endless batches of ``recipe.lines`` positions, each with all its legal answers, which end with a stop token.

    ``POOL`` uniformly random games of each kind run for ever; a batch takes positions from a few of them. All start at
    the same time, but soon get out of step, since games differ in length.
    """
    rng = np.random.default_rng(recipe.seed)
    tokenizer = byte_tokenizer(recipe.context)
    templates = [make_template("compact", tokenizer), make_template("chat", tokenizer)]
    stop = stop_token(tokenizer)
    kinds = _kinds()
    weights = np.array([weight for _, _, weight in kinds], np.float64)
    vecs = [make_vec(id, num_envs=POOL, seed=recipe.seed + k, **words) for k, (id, words, _) in enumerate(kinds)]
    for vec in vecs:
        vec.reset(seed=recipe.seed)
    while True:
        counts = np.bincount(rng.choice(len(kinds), recipe.lines, p=weights / weights.sum()), minlength=len(kinds))
        lines = []
        for vec, count in zip(vecs, counts.tolist(), strict=True):
            for row in rng.choice(POOL, count, replace=False).tolist():
                turn = _turn(vec, row, rng)
                template = templates[int(rng.random() < recipe.described)]
                prompt = template.encode(turn, template.text(turn))
                answers = [template.answer(turn.action_to_text(action)) for action in turn.legal_actions]
                lines.append(Question(-1, prompt, tuple((*answer, stop) for answer in answers)))
            vec.step(vec.sample_actions())
        yield lines


def _kinds() -> list[tuple[str, dict[str, Any], int]]:
    """Id, arguments and sampling weight of every kind of game in the corpus."""
    kinds: list[tuple[str, dict[str, Any], int]] = []
    for id in list_envs():
        name = spec(id).name
        if isinstance(make_game(id), TextGame):
            continue  # no actions to choose from
        if name in PRESETS:
            kinds += [(id, {"preset": preset}, weight) for preset, weight in PRESETS[name].items()]
        else:
            kinds.append((id, {}, WEIGHTS.get(name, 1)))
    return kinds


def _turn(vec: Any, row: int, rng: np.random.Generator) -> Turn:
    """The turn of a seat in a running game: the current player, or a random one in simultaneous games."""
    player = int(rng.integers(vec.game.info.players)) if vec.game.info.simultaneous else int(vec.player[row])
    return Turn(vec.game, vec.state, row, player, vec.game.legal_mask(vec.state, row, player), 0)


def answer_shares(pack: Pack) -> torch.Tensor:
    """[E] the share of its question's answers that go through each edge.

    These are the weights of the edges' log-probabilities in the mean log-probability of a question's answers.
    """
    import torch

    there = pack.question_answers >= 0
    each = torch.empty(len(pack.answer_edges))
    each[pack.question_answers[there]] = (1.0 / there.sum(1))[:, None].expand_as(there)[there]
    taken = pack.answer_edges >= 0
    shares = torch.zeros(len(pack.edge_parent))
    return shares.index_add_(0, pack.answer_edges[taken], each[:, None].expand_as(taken)[taken])


class Rehearsal:
    """A model under training, and its two optimisers.

    Args:
        model: untrained.
        recipe: its recipe.

    Raises:
        UsageError: torch is older than 2.9 and has no Muon.
    """

    def __init__(self, model: LlamaForCausalLM, recipe: Recipe) -> None:
        import torch

        if not hasattr(torch.optim, "Muon"):
            raise UsageError(f"Making the built-in model takes torch 2.9 or later; this is {torch.__version__}.")
        inner = [p for name, p in model.named_parameters() if p.dim() == 2 and "embed" not in name]
        outer = [p for name, p in model.named_parameters() if p.dim() != 2 or "embed" in name]
        self.model, self.recipe = model, recipe
        self.optimizers: list[torch.optim.Optimizer] = [
            torch.optim.Muon(inner, lr=recipe.muon, weight_decay=0.01),
            torch.optim.AdamW(outer, lr=recipe.rate, betas=(0.9, 0.99), weight_decay=0.01),
        ]
        self.rates = [recipe.muon, recipe.rate]

    def step(self, number: int, lines: Sequence[Question]) -> float:
        """One optimiser step; returns the loss in nats per position, above that of a uniform model of legal answers."""
        import torch

        recipe = self.recipe
        done = max(0.0, (number - recipe.warmup) / max(1, recipe.steps - recipe.warmup))
        height = min(1.0, (number + 1) / max(1, recipe.warmup)) * (0.52 + 0.48 * math.cos(math.pi * done))
        distinct = list(dict.fromkeys(lines))
        total = -sum(math.log(len(question.answers)) for question in distinct)
        for pack in pack_questions(distinct, row_tokens=128):
            hidden = parent_states(self.model, pack)
            edge, _ = edge_logprobs(Head(self.model), hidden, pack.edge_parent, pack.edge_token)
            loss = -(edge * answer_shares(pack)).sum()
            (loss / len(distinct)).backward()
            total += loss.item()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        for optimizer, rate in zip(self.optimizers, self.rates, strict=True):
            for group in optimizer.param_groups:
                group["lr"] = rate * height
            optimizer.step()
            optimizer.zero_grad()
        return total / len(distinct)


def train(recipe: Recipe, *, log_every: int = 100) -> LlamaForCausalLM:
    """Train a model from scratch; prints one line every ``log_every`` steps (0: none)."""
    rehearsal = Rehearsal(build(recipe), recipe)
    lines = corpus(recipe)
    started, shown = time.monotonic(), []
    for step in range(recipe.steps):
        shown.append(rehearsal.step(step, next(lines)))
        if log_every and ((step + 1) % log_every == 0 or step == recipe.steps - 1):
            mean, shown = float(np.mean(shown)), []
            print(f"step {step + 1:5d}  {mean:.4f} nats above uniform  {time.monotonic() - started:.0f} s", flush=True)
    rehearsal.model.eval()
    return rehearsal.model


def save(model: LlamaForCausalLM, recipe: Recipe, folder: Path) -> None:
    """Write model (fp16), tokenizer and recipe in Hugging Face format."""
    import torch

    torch.nn.Module.to(model, torch.float16)  # in place; the stub of the method of the same name is too narrow
    model.save_pretrained(folder)
    byte_tokenizer(recipe.context).save_pretrained(folder)
    facts = {**asdict(recipe), "games": list_envs(), "parameters": sum(p.numel() for p in model.parameters())}
    (folder / "recipe.json").write_text(json.dumps(facts, indent=1) + "\n")


def main(argv: list[str] | None = None) -> None:
    """The command line of this file."""
    import torch

    parser = argparse.ArgumentParser(prog="python -m coterie.agents.llm.tiny", description="Make the built-in model.")
    parser.add_argument("--out", type=Path, required=True, help="folder to write, e.g. agents/weights/tiny-v2")
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
