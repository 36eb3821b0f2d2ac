"""Compatibility with peft: the supported fields of ``LoraConfig``, the layers they select, and the file format.

A saved player is an ordinary peft adapter: ``adapter_config.json`` and ``adapter_model.safetensors``.
``PeftModel.from_pretrained`` loads it, and the bank loads adapters that peft saved.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from ...errors import ModelError, UsageError, needs
from ..sums import check_finite, check_sums, write_sums

if TYPE_CHECKING:
    from peft import LoraConfig

__all__ = ["check_config", "read_adapter", "scaling", "target_layers", "write_adapter"]

PREFIX = "base_model.model."
"""Peft's prefix of module names in its files."""

HONOURED = (
    "r",
    "target_modules",
    "exclude_modules",
    "layers_to_transform",
    "layers_pattern",
    "lora_alpha",
    "use_rslora",
    "init_lora_weights",
)
"""Fields of LoraConfig that the bank follows."""

INERT = (
    "task_type",
    "peft_type",
    "auto_mapping",
    "peft_version",
    "base_model_name_or_path",
    "revision",
    "inference_mode",
    "fan_in_fan_out",
)
"""Fields that describe rather than configure; peft sets them itself."""


def check_config(config: LoraConfig) -> None:
    """Refuse every LoraConfig field that the bank would otherwise silently ignore.

    Raises:
        UsageError: a field has a value that the bank doesn't support; the message names it.
    """
    from peft import LoraConfig as Reference

    if not isinstance(config, Reference):
        raise UsageError(f"The LoRA bank needs a peft.LoraConfig, not {type(config).__name__}.")
    default = Reference()
    for field in dataclasses.fields(config):
        if field.name in HONOURED or field.name in INERT:
            continue
        value = getattr(config, field.name)
        if value != getattr(default, field.name, None) and value not in ([], {}, 0, 0.0):
            raise UsageError(
                f"LoraConfig.{field.name}={value!r} is not supported by the LoRA bank: leave it at "
                f"{getattr(default, field.name, None)!r}, or train with peft itself."
            )
    if config.task_type not in (None, "CAUSAL_LM"):
        raise UsageError(
            f"LoraConfig.task_type={config.task_type!r} is not supported by the LoRA bank: use 'CAUSAL_LM'."
        )
    if config.init_lora_weights not in (True, False, "gaussian"):
        raise UsageError(
            f"LoraConfig.init_lora_weights={config.init_lora_weights!r} is not supported by the LoRA bank: "
            "use True, False or 'gaussian'."
        )
    if not isinstance(config.r, int) or config.r < 1:
        raise UsageError(f"LoraConfig.r={config.r!r} is no rank: use a whole number of at least 1.")
    if not isinstance(config.lora_alpha, int | float):
        raise UsageError(f"LoraConfig.lora_alpha={config.lora_alpha!r} is no number: use one, such as {2 * config.r}.")


def scaling(config: LoraConfig) -> float:
    """The factor of the adapters' output: alpha / r, or alpha / sqrt(r) for rank-stabilised LoRA."""
    return float(config.lora_alpha / (config.r**0.5 if config.use_rslora else config.r))


def target_layers(model: nn.Module, config: LoraConfig) -> dict[str, tuple[nn.Module, int, int]]:
    """The layers that peft would adapt, in the model's order.

    Returns:
        Module name -> (module, in features, out features).

    Raises:
        UsageError: no layer matches, or a match is not a linear layer of the model's body.
    """
    from peft.tuners.tuners_utils import check_target_module_exists
    from transformers.pytorch_utils import Conv1D

    wanted, head = _resolved_targets(model, config), _output_head(model)
    found: dict[str, tuple[nn.Module, int, int]] = {}
    for name, module in model.named_modules():
        if not check_target_module_exists(wanted, name):
            continue
        if module is head:
            raise UsageError(
                f"LoraConfig.target_modules matches the output head {name!r}, which the LoRA bank doesn't adapt."
            )
        if isinstance(module, nn.Linear):
            found[name] = module, module.in_features, module.out_features
        elif isinstance(module, Conv1D):
            found[name] = module, module.weight.shape[0], module.weight.shape[1]
        else:
            raise UsageError(
                f"LoraConfig.target_modules matches {name!r}, a {type(module).__name__}: "
                "the LoRA bank adapts only linear layers."
            )
    if not found:
        linears = sorted({name.rsplit(".", 1)[-1] for name in _linears(model)})
        raise UsageError(
            f"LoraConfig.target_modules={config.target_modules!r} matches no layer of {type(model).__name__}. "
            f"Its linear layers are called: {', '.join(linears)}."
        )
    return found


def _resolved_targets(model: nn.Module, config: LoraConfig) -> LoraConfig:
    """The config with explicit target modules."""
    if isinstance(config.target_modules, str) and config.target_modules.lower() == "all-linear":
        return dataclasses.replace(config, target_modules=_linears(model))
    if config.target_modules is not None:
        return config
    from peft.utils import TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING as KNOWN

    kind = getattr(getattr(model, "config", None), "model_type", None)
    if kind not in KNOWN:
        raise UsageError(f"peft knows no target_modules for models of type {kind!r}: give LoraConfig.target_modules.")
    return dataclasses.replace(config, target_modules=sorted(KNOWN[kind]))


def _output_head(model: nn.Module) -> nn.Module | None:
    get = getattr(model, "get_output_embeddings", None)
    head = get() if callable(get) else None
    return head if isinstance(head, nn.Module) else None


def _linears(model: nn.Module) -> list[str]:
    """The names of all linear layers but the output head."""
    from transformers.pytorch_utils import Conv1D

    head = _output_head(model)
    return [n for n, m in model.named_modules() if isinstance(m, nn.Linear | Conv1D) and m is not head]


def _short_targets(model: nn.Module, names: Sequence[str]) -> list[str]:
    """The last parts of the names if they match exactly ``names`` (most tools expect this), else the full names."""
    head = _output_head(model)
    short = {name.rsplit(".", 1)[-1] for name in names}
    meant = {n for n, m in model.named_modules() if n.rsplit(".", 1)[-1] in short}
    return sorted(short) if meant == set(names) and head is not None else sorted(names)


def write_adapter(
    folder: str | os.PathLike[str],
    model: nn.Module,
    config: LoraConfig,
    tensors: Mapping[str, tuple[torch.Tensor, torch.Tensor]],
) -> None:
    """Write one player as a peft adapter.

    Args:
        folder: created if necessary. ``adapter_model.safetensors`` is replaced atomically; ``SHA256SUMS`` comes last.
        model: the base model.
        config: the bank's config.
        tensors: module name -> (A [r, in], B [out, r]).
    """
    from safetensors.torch import save_file

    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    saved = dataclasses.replace(
        config,
        target_modules=_short_targets(model, list(tensors)),
        exclude_modules=None,
        layers_to_transform=None,
        layers_pattern=None,
        task_type="CAUSAL_LM",
        base_model_name_or_path=_portable(str(getattr(model, "name_or_path", "") or "")),
        inference_mode=True,
    )
    state = {}
    for name, (A, B) in tensors.items():
        state[f"{PREFIX}{name}.lora_A.weight"] = A.detach().cpu().contiguous().clone()
        state[f"{PREFIX}{name}.lora_B.weight"] = B.detach().cpu().contiguous().clone()
    part = folder / "adapter_model.safetensors.part"
    save_file(state, part, metadata={"format": "pt"})
    part.replace(folder / "adapter_model.safetensors")
    saved.save_pretrained(str(folder))
    write_sums(folder, ("adapter_config.json", "adapter_model.safetensors"))


def _portable(name: str) -> str | None:
    """A model's name; of a local path only the last part."""
    return (Path(name).name if Path(name).exists() else name) or None


def read_adapter(
    folder: str | os.PathLike[str], config: LoraConfig, names: Sequence[str]
) -> dict[str, tuple[torch.Tensor, torch.Tensor]]:
    """Read a peft adapter that fits a bank.

    Args:
        folder: holds ``adapter_config.json`` and ``adapter_model.safetensors``.
        config: of the bank; rank and scale must be the same.
        names: of the bank's layers; the adapter must have exactly these.

    Returns:
        Module name -> (A [r, in], B [out, r]), float32.

    Raises:
        ModelError: the folder contains no readable adapter, or one that is damaged or not finite.
        UsageError: the adapter doesn't fit the bank; the message names the difference.
    """
    folder = Path(folder)
    with needs("Reading adapters", "train"):
        from peft import LoraConfig as Reference
        from safetensors.torch import load_file
    for file in ("adapter_config.json", "adapter_model.safetensors"):
        if not (folder / file).is_file():
            raise ModelError(f"{str(folder)!r} is no peft adapter: it has no {file}.")
    try:
        check_sums(folder)
        theirs: Any = Reference.from_pretrained(str(folder))
        state = load_file(folder / "adapter_model.safetensors")
    except Exception as error:  # json, safetensors and peft each have their own ways to fail
        raise ModelError(f"The peft adapter in {str(folder)!r} can't be read: {_first_line(error)}") from error
    check_finite(state, f"The adapter in {str(folder)!r}")
    check_config(theirs)
    if theirs.r != config.r:
        raise UsageError(f"The adapter in {str(folder)!r} has rank {theirs.r}, the bank {config.r}: they must agree.")
    if scaling(theirs) != scaling(config):
        raise UsageError(
            f"The adapter in {str(folder)!r} scales by {scaling(theirs):g}, the bank by {scaling(config):g}: "
            "lora_alpha and use_rslora must agree."
        )
    expected = {f"{PREFIX}{name}.lora_{part}.weight" for name in names for part in "AB"}
    different = sorted(expected ^ set(state))
    if different:
        whose = "lacks" if different[0] in expected else "has"
        raise UsageError(
            f"The adapter in {str(folder)!r} {whose} {different[0]!r}, unlike the bank ({len(different)} differences): "
            "target_modules must agree."
        )
    return {
        name: (state[f"{PREFIX}{name}.lora_A.weight"].float(), state[f"{PREFIX}{name}.lora_B.weight"].float())
        for name in names
    }


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
