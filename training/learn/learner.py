"""One learner step: the decisions of a batch, scored again with gradients, and AdamW per player.

All players of the batch are trained by one backward pass; each player's loss is averaged over its own decisions, so
that a mixed
batch gives each player the gradient that a batch of its own would. Equal questions are scored once, whoever asked how
often.

Letters: D decisions, B decisions of one pack, T tokens of an answer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from ...agents.core import Tokens
from ...agents.llm.scoring.decoding import Scores, score
from ...agents.llm.scoring.forest import Pack, Question, pack_questions
from ...errors import CollapseError, UsageError
from ..runs.config import LossConfig, OptimizerConfig
from .objectives import policy_loss

if TYPE_CHECKING:
    from ...agents.bank.optimizer import BankAdamW
    from ...agents.llm.policy import LoraPolicy

__all__ = ["Learner"]


@dataclass
class _Part:
    """One player's decisions within one pack.

    Attributes:
        player: who learns from them.
        question: [B] row in the pack's questions. answer: [B] number among the pack's answers.
        old: [B, T] log-probs when they were made. advantages: [B].
        keep: [B] bool, whose group has variance; the others only take part in the entropy bonus.
        share: of the player's decisions. kept: of those that are kept. tokens: of the tokens of those.
        kept_rows, kept_tokens: how many there are in the player's whole batch (kept_rows: all, where none is kept).
    """

    player: str
    question: torch.Tensor
    answer: torch.Tensor
    old: torch.Tensor
    advantages: torch.Tensor
    keep: torch.Tensor
    share: float
    kept: float
    tokens: float
    kept_rows: float
    kept_tokens: float
    ref: torch.Tensor | None = None


class Learner:
    """Turns decisions with advantages into weights.

    Args:
        policy: base model, bank and decoding; the same object that sampled.
        optimizer: per-player AdamW over the bank.
        loss: the loss. schedule: learning rate and clipping.
        max_completion_length: dr_grpo's constant (free decoding).
    """

    def __init__(
        self,
        policy: LoraPolicy,
        optimizer: BankAdamW,
        loss: LossConfig,
        schedule: OptimizerConfig,
        *,
        max_completion_length: int = 1,
    ) -> None:
        if policy.bank is None:
            raise UsageError(
                "A policy without a bank has nothing to train: build it with LoraBank(model, LoraConfig(...))."
            )
        self.policy, self.bank, self.optimizer = policy, policy.bank, optimizer
        self.loss, self.schedule = loss, schedule
        self.length = max_completion_length if policy.decode == "free" else 1

    def rate(self, update: int) -> float:
        """Learning rate of an update: it rises, falls to a tenth, stays."""
        s = self.schedule
        rise = min(1.0, (update + 1) / max(1, s.warmup_updates))
        fall = max(0.1, 1.0 - 0.9 * update / s.decay_updates) if s.decay_updates else 1.0
        return s.learning_rate * rise * fall

    def entropy_coef(self, update: int) -> float:
        """Weight of the entropy bonus in an update."""
        loss = self.loss
        if not loss.entropy_decay_updates:
            return loss.entropy_coef
        done = min(1.0, update / loss.entropy_decay_updates)
        return loss.entropy_coef + (loss.entropy_final - loss.entropy_coef) * done

    def step(
        self, records: Sequence[Tokens], advantages: NDArray[np.float64], keep: NDArray[np.bool_], update: int
    ) -> dict[str, float]:
        """Train all players whose decisions are given.

        Args:
            records: D decisions.
            advantages: [D] float.
            keep: [D] bool; others take part in the entropy bonus alone, if there is one.
            update: number of this update, for the warm-up.

        Returns:
            loss, entropy, approx_kl, kl (beta > 0), clip_ratio/..., grad_norm, learning_rate, stale (share dropped),
            trained (decisions), cut_short (1.0, where ``target_kl`` ended the update). docs/training.md defines them.

        Raises:
            CollapseError: the loss or a gradient is not finite; no weight has been changed by that pass.
        """
        fresh = np.array([self.bank.versions[r.lora] - r.version <= self.loss.max_lag for r in records], np.bool_)
        kept = keep & fresh
        # Where the policy always plays the same there is no variance, and an entropy bonus is needed most.
        rate, bonus = self.rate(update), self.entropy_coef(update)
        rows = np.flatnonzero(fresh if bonus else kept)
        stats: dict[str, float] = {
            "learning_rate": rate,
            "stale": 1.0 - float(fresh.mean()) if len(records) else 0.0,
            "trained": float(kept.sum()),
        }
        if not kept.any():
            return stats
        parts = [
            self._pack([records[d] for d in rows[part].tolist()], advantages[rows[part]], kept[rows[part]])
            for part in self._split([records[d] for d in rows.tolist()], update)
        ]
        for _ in range(self.loss.num_iterations):
            shown = []
            for packs in parts:
                shown.append(self._descend(packs, rate, bonus, update))
                if "cut_short" in shown[-1]:
                    break
            names = {name: None for s in shown for name in s}  # a mini-batch of flat groups shows less
            stats |= {name: float(np.mean([s[name] for s in shown if name in s])) for name in names}
            if "cut_short" in stats:
                break
        return stats

    def _split(self, records: Sequence[Tokens], update: int) -> list[NDArray[np.int64]]:
        """Rows of each mini-batch. Rows with the same question stay together, so that it is still scored once."""
        count = self.loss.num_mini_batches
        if count == 1:
            return [np.arange(len(records))]
        numbers: dict[tuple[str, tuple[int, ...]], int] = {}
        question = np.array([numbers.setdefault((r.lora, r.prompt), len(numbers)) for r in records])
        part = np.random.default_rng([update]).permutation(len(numbers)) % count
        return [rows for m in range(count) if (rows := np.flatnonzero(part[question] == m)).size]

    def _descend(
        self, packs: Sequence[tuple[Pack, list[_Part]]], rate: float, bonus: float, update: int
    ) -> dict[str, float]:
        """One optimizer step; none where the steps before it have led too far."""
        active = sorted({part.player for _, parts in packs for part in parts})
        stats = self._pass(packs, bonus)
        if 0 < self.loss.target_kl < stats.get("approx_kl", 0.0):
            self.optimizer.zero_grad()
            return stats | {"cut_short": 1.0}
        norms = self.optimizer.clip_grad_norm(active, self.schedule.max_grad_norm or float("inf"))
        if not all(np.isfinite(norm) for norm in norms.values()):
            bad = ", ".join(f"{name}: {norm}" for name, norm in norms.items())
            raise CollapseError(f"A gradient is not finite ({bad}) at update {update}. Lower learning_rate, or resume.")
        stats["grad_norm"] = float(np.mean(list(norms.values())))
        self.optimizer.step(active, lr=rate)
        self.optimizer.zero_grad()
        return stats

    def _pass(self, packs: Sequence[tuple[Pack, list[_Part]]], bonus: float) -> dict[str, float]:
        """Forward and backward over the whole batch; gradients are left in the bank."""
        self.optimizer.zero_grad()
        sums: dict[str, float] = defaultdict(float)
        players = len({part.player for _, parts in packs for part in parts})
        for pack, parts in packs:
            scores = self._score(pack)
            total = torch.zeros((), device=scores.logprobs.device)
            for part in parts:
                if self.loss.beta and part.ref is None:
                    with torch.no_grad():
                        part.ref = self._score(pack, base=True).logprobs[part.answer]
                loss, shown = self._loss(scores, part, bonus)
                total = total + loss
                for name, value in shown.items():
                    sums[name] += value * (part.share if name == "entropy" else part.kept) / players
            total.backward()
        return dict(sums)

    def _score(self, pack: Pack, *, base: bool = False) -> Scores:
        policy = self.policy
        return score(policy.model, pack, policy.decode, bank=self.bank, temperature=policy.temperature, base=base)

    def _loss(self, scores: Scores, part: _Part, bonus: float) -> tuple[torch.Tensor, dict[str, float]]:
        config = self.loss
        mask = scores.mask[part.answer]
        width = mask.shape[1]
        loss, stats = policy_loss(
            scores.logprobs[part.answer],
            part.old[:, :width],
            part.advantages,
            mask,
            loss_type=config.loss_type,
            epsilon_low=config.epsilon,
            epsilon_high=config.epsilon_high or None,
            beta=config.beta,
            ref_logprobs=part.ref,
            level=config.importance_sampling_level,
            keep=part.keep,
            num_items=part.kept_tokens,
            max_completion_length=self.length,
        )
        # dapo and cispo divide by the whole batch's tokens, so that packs just add up.
        share = {"grpo": part.kept, "dr_grpo": part.kept, "bnpo": part.tokens}.get(config.loss_type, 1.0)
        entropy = scores.entropy[part.question]
        stats["entropy"] = float(entropy.detach().mean())
        return loss * share - bonus * entropy.sum() / part.kept_rows, stats

    def _pack(
        self, records: Sequence[Tokens], advantages: NDArray[np.float64], keep: NDArray[np.bool_]
    ) -> list[tuple[Pack, list[_Part]]]:
        """Distinct questions, packed, and which decisions each pack holds."""
        numbers: dict[tuple[int, tuple[int, ...], tuple[tuple[int, ...], ...]], int] = {}
        said: list[dict[tuple[int, ...], int]] = []  # free decoding: a question's answers are whatever was sampled
        question, answer = np.zeros(len(records), np.int64), np.zeros(len(records), np.int64)
        for d, r in enumerate(records):
            q = numbers.setdefault((self.policy.slot(r.lora), r.prompt, r.candidates), len(numbers))
            if q == len(said):
                said.append({})
            question[d] = q
            answer[d] = r.chosen if r.candidates else said[q].setdefault(r.completion, len(said[q]))
        questions = [
            Question(slot, prompt, candidates or tuple(said[q])) for (slot, prompt, candidates), q in numbers.items()
        ]
        lengths = np.array([len(r.logprobs) for r in records])
        names = np.array([r.lora for r in records])
        rows_of = {name: float((names == name).sum()) for name in set(names.tolist())}
        kept_of = {name: float(keep[names == name].sum()) for name in rows_of}
        tokens_of = {name: float(lengths[(names == name) & keep].sum()) for name in rows_of}
        out = []
        place = np.full(len(questions), -1)
        for pack in pack_questions(questions, batch_tokens=self.policy.batch_tokens):
            place[:] = -1
            place[pack.questions] = np.arange(len(pack.questions))
            here = np.flatnonzero(place[question] >= 0)
            width = pack.answer_edges.shape[1]
            parts = []
            for name in sorted(set(names[here].tolist())):
                mine = here[names[here] == name]
                at = torch.from_numpy(place[question[mine]])
                old = torch.zeros(len(mine), width)
                for b, d in enumerate(mine):
                    old[b, : lengths[d]] = torch.tensor(records[d].logprobs)
                parts.append(
                    _Part(
                        player=str(name),
                        question=at,
                        answer=pack.question_answers[at, torch.from_numpy(answer[mine])],
                        old=old,
                        advantages=torch.from_numpy(advantages[mine]).float(),
                        keep=torch.from_numpy(keep[mine]),
                        share=len(mine) / rows_of[name],
                        kept=float(keep[mine].sum()) / max(1.0, kept_of[name]),
                        tokens=float(lengths[mine][keep[mine]].sum()) / max(1.0, tokens_of[name]),
                        kept_rows=kept_of[name] or rows_of[name],
                        kept_tokens=tokens_of[name],
                    )
                )
            out.append((pack, parts))
        return out
