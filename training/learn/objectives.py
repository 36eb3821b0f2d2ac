"""The clipped policy-gradient family in GRPOConfig's words: grpo, bnpo, dr_grpo, dapo, cispo; by token or by sequence.

Letters: B rows, T tokens of the answer, padded. A ``choice`` decision is a row with T = 1, whose one log-probability is
normalised over the legal actions. Tests compare values and gradients with TRL's ``GRPOTrainer._compute_loss``;
docs/losses.md lists the differences. One changes the meaning: a row that is not kept (its group had no variance) counts
nowhere, as if it were not in the batch, while in TRL it still adds to the KL term and the denominators.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor

from ...agents.engines.learning import Terms
from ...errors import CollapseError, UnknownName, UsageError

__all__ = ["LOSS_TYPES", "Clipped", "Level", "LossType", "policy_loss"]

LossType = Literal["grpo", "bnpo", "dr_grpo", "dapo", "cispo"]
"""How to clip and average the terms of a batch; see ``policy_loss``."""

Level = Literal["token", "sequence"]
"""GRPOConfig's ``importance_sampling_level``: a ratio for each token, or one per row (GSPO)."""

LOSS_TYPES: tuple[str, ...] = get_args(LossType)

NOT_YET = ("sapo", "luspo", "vespo")
"""GRPOConfig's loss types that are not implemented here."""


@dataclass(frozen=True)
class Clipped:
    """``policy_loss`` as an ``Objective``: added up over a player's packs, the loss and statistics of its whole batch.

    Attributes:
        loss_type, epsilon_low, epsilon_high, beta, level, max_completion_length: as in ``policy_loss``.
        bonus: weight of the mean entropy over *all* decisions, kept or not (a policy that always plays the same has no
            variance, and needs the bonus most); every sampled row counts.
        cover: weight of the mean log-prob of all answers of a decision, over all decisions: up to a constant, minus the
            KL from the uniform choice to the policy. Unlike that of entropy, its gradient doesn't vanish where the
            policy is certain, so no answer is lost for good before its value is known.
        imitation: weight of the cross-entropy to the teacher's answers, over all decisions.
        magnet: weight of the KL from the policy to the player's magnet (a past self of it), over all decisions: the
            whole sum over answers, not an estimate from the one that was sampled.
    """

    loss_type: str = "dapo"
    epsilon_low: float = 0.2
    epsilon_high: float | None = None
    beta: float = 0.0
    level: str = "token"
    max_completion_length: int = 1
    bonus: float = 0.0
    cover: float = 0.0
    imitation: float = 0.0
    magnet: float = 0.0

    def __call__(self, terms: Terms) -> tuple[Tensor, dict[str, float]]:
        """[] this pack's share of the loss, and of its statistics.

        Raises:
            CollapseError: the loss is not finite.
        """
        whole = terms.whole
        loss, stats = policy_loss(
            terms.logprobs,
            terms.old,
            terms.advantages,
            terms.mask,
            loss_type=self.loss_type,
            epsilon_low=self.epsilon_low,
            epsilon_high=self.epsilon_high,
            beta=self.beta,
            ref_logprobs=terms.reference() if self.beta else None,
            level=self.level,
            keep=terms.keep,
            weights=terms.weights,
            sampled=None if terms.explored is None else ~terms.explored,
            num_items=whole.tokens,
            max_completion_length=self.max_completion_length,
        )
        kept = float(terms.keep.sum()) / max(1, whole.kept)
        tokens = float((terms.mask[terms.keep] != 0).sum()) / max(1, whole.tokens)
        # dapo and cispo divide by the whole batch's tokens: their parts add up as they are.
        share = {"grpo": kept, "dr_grpo": kept, "bnpo": tokens}.get(self.loss_type, 1.0)
        entropy = terms.entropies.sum() / whole.rows
        loss = loss * share - self.bonus * entropy
        if self.cover:
            table = terms.distributions[terms.question]
            there = torch.isfinite(table)
            loss = loss - self.cover * (table.masked_fill(~there, 0.0).sum(1) / there.sum(1)).sum() / whole.rows
        if self.imitation and terms.taught is not None:
            rows = torch.nonzero(terms.taught >= 0).squeeze(1)
            distance = -terms.distributions[terms.question[rows], terms.taught[rows]].sum() / whole.rows
            loss = loss + self.imitation * distance
            stats["imitation"] = float(distance.detach())
        if self.magnet:
            ours, theirs = terms.distributions[terms.question], terms.magnet()[terms.question]
            there = torch.isfinite(ours)
            gap = torch.where(there, ours, 0.0) - torch.where(there, theirs, 0.0)
            distance = (ours.exp() * gap).sum() / whole.rows
            loss = loss + self.magnet * distance
            stats["magnet_kl"] = float(distance.detach())
        stats |= {"loss": float(loss.detach()), "entropy": float(entropy.detach())}
        shares = {
            "magnet_kl": 1.0,
            "loss": 1.0,
            "entropy": 1.0,
            "policy_loss": share,
            "kept": terms.keep.numel() / whole.rows,
        }
        own = terms.keep if terms.explored is None else terms.keep & ~terms.explored
        shares |= {"imitation": 1.0, "approx_kl": float((terms.mask[own] != 0).sum()) / max(1, whole.sampled)}
        if self.level == "sequence":  # one ratio a row
            shares |= dict.fromkeys(("ratio", *(name for name in stats if name.startswith("clip_ratio/"))), kept)
        return loss, {name: value * shares.get(name, tokens) for name, value in stats.items()}


# Longer than most: two thirds of it are its arguments and what they mean.
def policy_loss(
    logprobs: Tensor,
    old_logprobs: Tensor | None,
    advantages: Tensor,
    mask: Tensor,
    *,
    loss_type: str = "dapo",
    epsilon_low: float = 0.2,
    epsilon_high: float | None = None,
    delta: float | None = None,
    beta: float = 0.0,
    ref_logprobs: Tensor | None = None,
    use_bias_correction_kl: bool = True,
    level: str = "token",
    keep: Tensor | None = None,
    weights: Tensor | None = None,
    sampled: Tensor | None = None,
    entropies: Tensor | None = None,
    entropy_coef: float = 0.0,
    num_items: float | None = None,
    max_completion_length: int | None = None,
) -> tuple[Tensor, dict[str, float]]:
    """[] the loss to minimise, and its statistics.

    With ratio r = pi / pi_old, the term of a token is -min(r A, clip(r, 1 - epsilon_low, 1 + epsilon_high) A); cispo's
    is -min(r, epsilon_high) A log pi with the ratio detached. Averaged over: grpo, tokens of a row and then rows; bnpo,
    all tokens; dr_grpo, B x ``max_completion_length``; dapo and cispo, ``num_items``.

    Args:
        logprobs: [B, T] of the learning policy, with gradient, nats.
        old_logprobs: [B, T] of the policy that sampled; None: on policy, the ratio is 1 (its gradient stays).
        advantages: [B] or [B, T].
        mask: [B, T] 1 where the policy chose the token; values elsewhere are never read.
        loss_type: one of ``LOSS_TYPES``.
        epsilon_low: GRPOConfig's ``epsilon``.
        epsilon_high: None: as ``epsilon_low``. For cispo the bound of the ratio itself, not its distance from 1.
        delta: upper bound of the unclipped ratio (two-sided clipping); None: none.
        beta: weight of the KL to the reference policy, estimated by exp(d) - d - 1 with d = log ref - log pi.
        ref_logprobs: [B, T] of the reference policy, needed where ``beta`` is not 0.
        use_bias_correction_kl: multiply the KL term by the ratio, GRPOConfig's default.
        level: "token", or "sequence" for one ratio a row: the mean over its tokens, exponentiated.
        keep: [B] bool, rows that count; None: all. See ``credit.Credit.keep``.
        weights: [B] or [B, T] detached factors on the policy term, e.g. truncated importance sampling; None: 1.
        sampled: [B] bool, rows that the policy sampled, over which ``approx_kl`` is a mean; None: all.
        entropies: [B, T] of the policy at each token, with gradient, nats; needed where ``entropy_coef`` is not 0.
        entropy_coef: weight of the mean entropy over kept tokens, subtracted from the loss.
        num_items: tokens that count in the whole optimizer step (dapo, cispo); None: those of this call.
        max_completion_length: dr_grpo's constant; None: T.

    Returns:
        (loss, stats): ``kept`` share of rows; ``ratio`` mean; ``clip_ratio/low_mean``, ``clip_ratio/high_mean`` and
        ``clip_ratio/region_mean``, shares of tokens (rows at level "sequence"); ``approx_kl`` from the sampling policy;
        ``kl`` from the reference if ``beta`` is not 0; ``entropy`` if given; ``policy_loss`` without the entropy term;
        ``loss``. With no row kept the loss is 0, and so is its gradient.

    Raises:
        UnknownName, UsageError: no such loss type or level; a shape that does not fit; a tensor that is missing.
        CollapseError: the loss is not finite.

    Source: Shao et al. 2024 (grpo), Liu et al. 2025 (dr_grpo), Yu et al. 2025 (dapo), MiniMax 2025 (cispo), Zheng et
    al. 2025 (GSPO), INTELLECT-2 2025 (delta), DeepSeek-V3.2 2025 (KL correction).
    """
    _check_names(loss_type, level)
    alike = {"old_logprobs": old_logprobs, "mask": mask, "ref_logprobs": ref_logprobs, "entropies": entropies}
    rows = _check_shapes(logprobs, keep, alike, {"advantages": advantages, "weights": weights})
    advantages = advantages.unsqueeze(1) if advantages.dim() == 1 else advantages
    if beta != 0.0 and ref_logprobs is None:
        raise UsageError(f"beta is {beta} but there are no ref_logprobs: pass the reference policy's, or beta=0.")
    if entropy_coef != 0.0 and entropies is None:
        raise UsageError(f"entropy_coef is {entropy_coef} but there are no entropies: pass them, or entropy_coef=0.")
    if not rows.numel():
        return _only(logprobs, torch.zeros_like(mask, dtype=torch.bool)).sum(), {
            "kept": 0.0,
            "loss": 0.0,
            "policy_loss": 0.0,
        }

    real = mask[rows] != 0
    count = real.to(logprobs.dtype)
    new = _only(logprobs[rows], real)
    old = new.detach() if old_logprobs is None else _only(old_logprobs[rows], real)
    advantage = torch.where(real, advantages[rows], 0.0) if advantages.size(1) > 1 else advantages[rows]
    high = epsilon_low if epsilon_high is None else epsilon_high

    ratio = torch.exp(_log_weights(new - old, count, level))
    term = _policy_term(loss_type, ratio, new, advantage, epsilon_low, high, delta)
    if weights is not None:
        term = term * (weights.unsqueeze(1) if weights.dim() == 1 else weights)[rows]
    stats = {"kept": rows.numel() / logprobs.size(0)}
    if beta != 0.0 and ref_logprobs is not None:
        gap = _only(ref_logprobs[rows], real) - new
        kl = torch.exp(gap) - gap - 1.0
        kl = kl * ratio if use_bias_correction_kl else kl
        term = term + beta * kl
        stats["kl"] = _mean(kl, count)
    loss = _aggregate(loss_type, term, count, num_items, max_completion_length)
    stats["policy_loss"] = float(loss.detach())
    if entropies is not None:
        entropy = (_only(entropies[rows], real)).sum() / count.sum().clamp(min=1.0)
        loss = loss - entropy_coef * entropy
        stats["entropy"] = float(entropy.detach())
    stats |= _ratio_stats(loss_type, ratio, advantage, count, epsilon_low, high)
    own = count if sampled is None else count * sampled[rows].unsqueeze(1)
    stats["approx_kl"] = _mean((torch.exp(new - old) - (new - old) - 1.0).detach(), own)
    stats["loss"] = float(loss.detach())
    if not torch.isfinite(loss.detach()):
        raise CollapseError(
            f"The loss is {stats['loss']} over {rows.numel()} rows (mean ratio {stats['ratio']:.3g}, largest "
            f"advantage {float(advantage.detach().abs().max()):.3g}). Lower the learning rate or resume "
            "from an earlier checkpoint."
        )
    return loss, stats


def _policy_term(
    loss_type: str, ratio: Tensor, new: Tensor, advantage: Tensor, low: float, high: float, delta: float | None
) -> Tensor:
    """[B, T], or [B, 1] at level "sequence": a token's term before averaging."""
    if loss_type == "cispo":
        return -torch.clamp(ratio, max=high).detach() * advantage * new
    clipped = torch.clamp(ratio, 1.0 - low, 1.0 + high)
    free = ratio if delta is None else torch.clamp(ratio, max=delta)
    return -torch.min(free * advantage, clipped * advantage)


def _aggregate(loss_type: str, term: Tensor, count: Tensor, num_items: float | None, length: int | None) -> Tensor:
    """[] the average over tokens and rows, by loss type."""
    total = (term * count).sum(-1)
    if loss_type == "grpo":
        return (total / count.sum(-1).clamp(min=1.0)).mean()
    if loss_type == "bnpo":
        return total.sum() / count.sum().clamp(min=1.0)
    if loss_type == "dr_grpo":
        return total.sum() / (count.size(0) * (length or count.size(1)))
    return total.sum() / (count.sum().clamp(min=1.0) if num_items is None else max(float(num_items), 1.0))


def _log_weights(log_ratio: Tensor, count: Tensor, level: str) -> Tensor:
    """[B, T] log ratios; at level "sequence" [B, 1], their means over the tokens."""
    if level == "token":
        return log_ratio
    return ((log_ratio * count).sum(-1) / count.sum(-1).clamp(min=1.0)).unsqueeze(-1)


@torch.no_grad()
def _ratio_stats(
    loss_type: str, ratio: Tensor, advantage: Tensor, count: Tensor, low: float, high: float
) -> dict[str, float]:
    """The mean ratio, and how often it is clipped."""
    below = (ratio < 1.0 - low) & (advantage < 0) if loss_type != "cispo" else torch.zeros_like(ratio, dtype=torch.bool)
    above = (ratio > (high if loss_type == "cispo" else 1.0 + high)) & (advantage > 0)
    return {
        "ratio": _mean(ratio, count),
        "clip_ratio/low_mean": _mean(below, count),
        "clip_ratio/high_mean": _mean(above, count),
        "clip_ratio/region_mean": _mean(below | above, count),
    }


@torch.no_grad()
def _mean(value: Tensor, count: Tensor) -> float:
    """Mean over real tokens, or over rows if there is one value per row."""
    value = value.to(count.dtype)
    if value.size(1) == 1 and count.size(1) > 1:
        return float(value.mean())
    return float((value * count).sum() / count.sum().clamp(min=1.0))


def _only(value: Tensor, real: Tensor) -> Tensor:
    """``value`` with 0 in padding, so that no infinity there is multiplied by the mask's 0."""
    return torch.where(real, value, torch.zeros((), dtype=value.dtype, device=value.device))


def _check_names(loss_type: str, level: str) -> None:
    if loss_type in NOT_YET:
        raise UsageError(f"TRL's loss_type {loss_type!r} isn't implemented yet: choose one of {', '.join(LOSS_TYPES)}.")
    if loss_type not in LOSS_TYPES:
        raise UnknownName("loss_type", loss_type, LOSS_TYPES)
    if level not in get_args(Level):
        raise UnknownName("importance sampling level", level, get_args(Level))


def _check_shapes(
    logprobs: Tensor, keep: Tensor | None, alike: dict[str, Tensor | None], by_row: dict[str, Tensor | None]
) -> Tensor:
    """Indices of the rows that count; ``alike`` must have logprobs' shape, ``by_row`` may have one value per row."""
    if logprobs.dim() != 2:
        raise UsageError(f"logprobs has shape {list(logprobs.shape)}: expected [B, T]; a choice decision has T = 1.")
    rows, whole = logprobs.size(0), tuple(logprobs.shape)
    by_row_or_token: list[tuple[int, ...]] = [whole, (rows,), (rows, 1)]
    for given, shapes in ((alike, [whole]), (by_row, by_row_or_token), ({"keep": keep}, [(rows,)])):
        for name, value in given.items():
            if value is not None and tuple(value.shape) not in shapes:
                wanted = " or ".join(str(list(shape)) for shape in shapes)
                raise UsageError(f"{name} has shape {list(value.shape)}, logprobs {list(whole)}: expected {wanted}.")
    if keep is None:
        return torch.arange(rows, device=logprobs.device)
    return keep.to(logprobs.device).bool().nonzero().squeeze(1)
