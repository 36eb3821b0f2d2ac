"""Losses against TRL's own ``GRPOTrainer._compute_loss``: values, gradients and what it logs."""

from __future__ import annotations

import itertools
from collections import defaultdict
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")
trl = pytest.importorskip("trl")

from coterie.errors import CollapseError, UnknownName, UsageError  # noqa: E402
from coterie.training.data import credit  # noqa: E402
from coterie.training.learn.objectives import LOSS_TYPES, policy_loss  # noqa: E402

B, T = 8, 5


def batch(seed: int = 0, spread: float = 0.4, rows: int = B, tokens: int = T) -> dict[str, Any]:
    """Rows in groups of four with variance, off policy, answers of different length."""
    g = torch.Generator().manual_seed(seed)
    rewards = torch.randint(-1, 2, (rows,), generator=g).double()
    rewards[0::4], rewards[1::4] = 1.0, -1.0
    lengths = torch.randint(1, tokens + 1, (rows,), generator=g)
    logprobs = -torch.rand(rows, tokens, generator=g, dtype=torch.float64) * 3
    return {
        "logprobs": logprobs,
        "old": logprobs + spread * torch.randn(rows, tokens, generator=g, dtype=torch.float64),
        "ref": logprobs + spread * torch.randn(rows, tokens, generator=g, dtype=torch.float64),
        "entropies": torch.rand(rows, tokens, generator=g, dtype=torch.float64),
        "mask": (torch.arange(tokens)[None] < lengths[:, None]).long(),
        "advantages": torch.tensor(credit.grpo(rewards.numpy(), (torch.arange(rows) // 4).numpy()).advantages),
    }


def trl_loss(data: dict[str, Any], *, on_policy: bool = False, **fields: Any) -> tuple[Any, Any, dict[str, Any]]:
    """TRL's loss, its gradient in the log-probs, and its metrics: the method itself on the fields that it reads."""
    logprobs = data["logprobs"].clone().requires_grad_()
    entropies = data["entropies"].clone()
    defaults: dict[str, Any] = {
        "loss_type": "dapo", "epsilon": 0.2, "epsilon_high": None, "beta": 0.0, "delta": None, "entropy_coef": 0.0,
        "importance_sampling_level": "token", "use_bias_correction_kl": True, "max_completion_length": 7,
        "steps_per_generation": 1,
    }  # fmt: skip
    args = SimpleNamespace(**(defaults | fields))
    metrics: dict[str, Any] = defaultdict(list)
    trainer = SimpleNamespace(
        args=args,
        loss_type=args.loss_type,
        beta=args.beta,
        importance_sampling_level=args.importance_sampling_level,
        epsilon_low=args.epsilon,
        epsilon_high=args.epsilon if args.epsilon_high is None else args.epsilon_high,
        max_completion_length=args.max_completion_length,
        model=SimpleNamespace(training=True),
        current_gradient_accumulation_steps=1,
        accelerator=SimpleNamespace(
            num_processes=1, device="cpu", gather=lambda x: x, reduce=lambda x, reduction: x, sync_gradients=True
        ),
        aux_loss_enabled=False,
        top_entropy_quantile=1.0,
        off_policy_mask_threshold=None,
        use_vllm=False,
        vllm_importance_sampling_correction=False,
        use_adaptive_entropy=False,
        _entropy_bonus_enabled=args.entropy_coef != 0.0,
        entropy_coef=args.entropy_coef,
        _metrics={"train": metrics},
        _get_per_token_logps_and_entropies=lambda *a, **k: (logprobs, entropies, None),
    )
    rows, tokens = logprobs.shape
    inputs = {
        "prompt_ids": torch.zeros(rows, 1).long(),
        "prompt_mask": torch.ones(rows, 1).long(),
        "completion_ids": torch.zeros(rows, tokens).long(),
        "completion_mask": data["mask"],
        "advantages": data["advantages"],
        "num_items_in_batch": data["mask"].sum(),
        "ref_per_token_logps": data["ref"],
    }
    if not on_policy:
        inputs["old_per_token_logps"] = data["old"]
    loss = trl.GRPOTrainer._compute_loss(trainer, trainer.model, inputs)
    (gradient,) = torch.autograd.grad(loss, logprobs)
    return loss.detach(), gradient, {name: values[0] for name, values in metrics.items()}


def our_loss(data: dict[str, Any], *, on_policy: bool = False, **fields: Any) -> tuple[Any, Any, dict[str, float]]:
    logprobs = data["logprobs"].clone().requires_grad_()
    names = {"epsilon": "epsilon_low", "importance_sampling_level": "level"}
    ours = {"max_completion_length": 7} | {names.get(name, name): value for name, value in fields.items()}
    loss, stats = policy_loss(
        logprobs,
        None if on_policy else data["old"],
        data["advantages"],
        data["mask"],
        ref_logprobs=data["ref"],
        entropies=data["entropies"],
        **ours,
    )
    (gradient,) = torch.autograd.grad(loss, logprobs)
    return loss.detach(), gradient, stats


def assert_same(data: dict[str, Any], **fields: Any) -> None:
    theirs, their_gradient, metrics = trl_loss(data, **fields)
    ours, our_gradient, stats = our_loss(data, **fields)
    assert float(their_gradient.abs().max()) > 1e-4, "a parity test on a dead batch proves nothing"
    torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(our_gradient, their_gradient, rtol=1e-10, atol=1e-12)
    for name in ("kl", "entropy", "clip_ratio/low_mean", "clip_ratio/high_mean", "clip_ratio/region_mean"):
        if name in metrics:
            assert stats[name] == pytest.approx(float(metrics[name]), abs=1e-6), name


@pytest.mark.parametrize("level", ["token", "sequence"])
@pytest.mark.parametrize(("loss_type", "beta"), list(itertools.product(LOSS_TYPES, [0.0, 0.1])))
def test_parity_with_trl(loss_type: str, beta: float, level: str) -> None:
    high = {"epsilon_high": 1.3} if loss_type == "cispo" else {}
    for seed in range(3):
        assert_same(batch(seed), loss_type=loss_type, beta=beta, importance_sampling_level=level, **high)


@pytest.mark.parametrize("loss_type", LOSS_TYPES)
def test_parity_with_trl_on_policy(loss_type: str) -> None:
    assert_same(batch(), loss_type=loss_type, beta=0.05, on_policy=True, epsilon_high=5.0)


@pytest.mark.parametrize("loss_type", LOSS_TYPES)
@pytest.mark.parametrize(
    "fields",
    [
        {"epsilon": 0.1, "epsilon_high": 0.4},
        {"epsilon": 0.4, "epsilon_high": 0.1},
        {"epsilon": 0.2, "epsilon_high": 0.28, "delta": 1.5},
        {"beta": 0.2, "use_bias_correction_kl": False},
        {"entropy_coef": 0.01, "beta": 0.1},
        {"max_completion_length": 64},
    ],
    ids=lambda fields: "-".join(fields),
)
def test_parity_with_trl_on_every_knob(loss_type: str, fields: dict[str, Any]) -> None:
    assert_same(batch(7, spread=0.8), loss_type=loss_type, **fields)


def test_choice_decisions_are_rows_of_one_token() -> None:
    for loss_type in LOSS_TYPES:
        assert_same(batch(3, tokens=1), loss_type=loss_type, max_completion_length=1, beta=0.1)


def test_advantages_may_be_given_for_every_token() -> None:
    data = batch(4)
    data["advantages"] = torch.randn(B, T, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    for loss_type in LOSS_TYPES:
        assert_same(data, loss_type=loss_type, beta=0.1)


def test_asymmetric_clipping_bites_where_it_should() -> None:
    data = batch()
    data["old"] = data["logprobs"] - torch.log(torch.tensor(1.3))  # every ratio is 1.3
    up = data["advantages"] > 0
    _, tight, stats = our_loss(data, loss_type="grpo", epsilon=0.5, epsilon_high=0.2)
    _, loose, _ = our_loss(data, loss_type="grpo", epsilon=0.2, epsilon_high=0.5)
    assert not tight[up].any()
    assert tight[data["advantages"] < 0].any()
    assert loose[up].any()
    assert stats["clip_ratio/high_mean"] == pytest.approx(float(data["mask"][up].sum() / data["mask"].sum()))
    assert stats["clip_ratio/low_mean"] == 0


def flat_batch() -> tuple[dict[str, Any], Any]:
    """The second group of four has one reward: no variance."""
    data = batch(5)
    got = credit.grpo([1, -1, 0, 0, 1, 1, 1, 1], [0, 0, 0, 0, 1, 1, 1, 1])
    data["advantages"], keep = torch.tensor(got.advantages), torch.tensor(got.keep)
    assert keep.tolist() == [True] * 4 + [False] * 4
    return data, keep


@pytest.mark.parametrize("loss_type", LOSS_TYPES)
def test_groups_without_variance_give_neither_policy_gradient_nor_kl(loss_type: str) -> None:
    data, keep = flat_batch()
    _, theirs, _ = trl_loss(data, loss_type=loss_type, beta=0.1)
    _, ours, stats = our_loss(data, loss_type=loss_type, beta=0.1, keep=keep)
    assert theirs[~keep].abs().max() > 1e-4, "TRL's KL moves the weights where nothing was to be learned"
    assert not ours[~keep].any()
    assert ours[keep].any()
    assert stats["kept"] == 0.5


@pytest.mark.parametrize("loss_type", LOSS_TYPES)
def test_rows_that_are_not_kept_count_nowhere(loss_type: str) -> None:
    data, keep = flat_batch()
    loss, gradient, stats = our_loss(data, loss_type=loss_type, beta=0.1, entropy_coef=0.1, keep=keep)
    small = {name: value[keep] for name, value in data.items()}
    less, less_gradient, less_stats = our_loss(small, loss_type=loss_type, beta=0.1, entropy_coef=0.1)
    torch.testing.assert_close(loss, less)
    torch.testing.assert_close(gradient[keep], less_gradient)
    assert {**stats, "kept": 1.0} == pytest.approx(less_stats)
    assert_same(small, loss_type=loss_type, beta=0.1)


def test_nothing_kept_is_a_loss_of_zero_with_a_gradient_of_zero() -> None:
    data = batch()
    loss, gradient, stats = our_loss(data, loss_type="grpo", beta=0.1, keep=torch.zeros(B, dtype=torch.bool))
    assert float(loss) == 0
    assert not gradient.any()
    assert stats["kept"] == 0


@pytest.mark.parametrize("garbage", [float("inf"), float("-inf"), float("nan"), 1e30])
def test_padding_is_never_read(garbage: float) -> None:
    data = batch(6)
    expected, expected_gradient, _ = our_loss(data, loss_type="dapo", beta=0.1)
    for name in ("logprobs", "old", "ref", "entropies"):
        data[name] = torch.where(data["mask"] == 0, torch.tensor(garbage).double(), data[name])
    loss, gradient, _ = our_loss(data, loss_type="dapo", beta=0.1)
    torch.testing.assert_close(loss, expected)
    torch.testing.assert_close(gradient, expected_gradient)


@pytest.mark.parametrize("loss_type", ["dapo", "cispo"])
def test_micro_batches_add_up_with_num_items(loss_type: str) -> None:
    data = batch(8)
    whole, gradient, _ = our_loss(data, loss_type=loss_type, epsilon_high=1.2)
    items = float(data["mask"].sum())
    parts = [{name: value[rows] for name, value in data.items()} for rows in (slice(0, 3), slice(3, B))]
    results = [our_loss(part, loss_type=loss_type, epsilon_high=1.2, num_items=items) for part in parts]
    torch.testing.assert_close(sum(loss for loss, _, _ in results), whole)
    torch.testing.assert_close(torch.cat([g for _, g, _ in results]), gradient)


def test_weights_scale_the_policy_term_alone() -> None:
    data = batch(9)
    _, plain, _ = our_loss(data, loss_type="bnpo")
    _, halved, _ = our_loss(data, loss_type="bnpo", weights=torch.full((B,), 0.5).double())
    torch.testing.assert_close(halved, plain / 2)
    _, only_kl, _ = our_loss(data, loss_type="bnpo", beta=0.1, weights=torch.zeros(B, T).double())
    data["advantages"] = torch.zeros(B).double()
    torch.testing.assert_close(only_kl, our_loss(data, loss_type="bnpo", beta=0.1)[1])


@pytest.mark.parametrize("loss_type", ["sapo", "luspo", "vespo"])
def test_trls_other_losses_are_refused_by_name(loss_type: str) -> None:
    with pytest.raises(UsageError, match=f"{loss_type}.* isn't implemented yet"):
        our_loss(batch(), loss_type=loss_type)


def test_bad_input_is_named() -> None:
    data = batch()
    with pytest.raises(UnknownName, match="Did you mean 'dapo'"):
        our_loss(data, loss_type="dapa")
    with pytest.raises(UnknownName, match="Did you mean 'token'"):
        our_loss(data, importance_sampling_level="tokens")
    with pytest.raises(UsageError, match="no ref_logprobs"):
        policy_loss(data["logprobs"], data["old"], data["advantages"], data["mask"], beta=0.1)
    with pytest.raises(UsageError, match="no entropies"):
        policy_loss(data["logprobs"], data["old"], data["advantages"], data["mask"], entropy_coef=0.1)
    with pytest.raises(UsageError, match=r"mask has shape \[8, 4\]"):
        policy_loss(data["logprobs"], data["old"], data["advantages"], data["mask"][:, :4])
    with pytest.raises(UsageError, match=r"advantages has shape \[3\]"):
        policy_loss(data["logprobs"], data["old"], data["advantages"][:3], data["mask"])
    with pytest.raises(UsageError, match=r"keep has shape \[3\]"):
        our_loss(data, keep=torch.ones(3))
    with pytest.raises(UsageError, match=r"logprobs has shape \[5\]"):
        policy_loss(data["logprobs"][0], None, data["advantages"], data["mask"])


def test_a_loss_that_is_not_finite_stops_training() -> None:
    data = batch()
    data["logprobs"][0, 0] = float("nan")
    with pytest.raises(CollapseError, match=r"The loss is nan over 8 rows.*Lower the learning rate"):
        our_loss(data, loss_type="grpo")
