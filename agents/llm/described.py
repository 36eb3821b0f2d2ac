"""Checks what a model's configuration describes, before any of its weights are read."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from ...envs.plain import limit
from ...errors import MissingExtra, ModelError, UsageError

__all__ = ["LAYERS", "LEAST_BITS", "as_model_error", "check_causal", "check_size", "first_line"]

LEAST_BITS = 1.5
"""Bits that a weight takes at least, in any format: files of few bytes can't hold many weights."""

LAYERS = 1000
"""Most layers of a model in a folder or a GGUF file. ``COTERIE_LIMITS`` raises it."""


def check_size(name: str, size: int, *source: str, **where: Any) -> None:
    """Raise a ModelError if a configuration asks for more weights than ``size`` bytes can hold; allocates none."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    where = dict(where, trust_remote_code=False, local_files_only=True)
    with as_model_error(f"The configuration of the model {name!r} can't be read"):
        config = AutoConfig.from_pretrained(*source, **where)
    check_causal(config, name)
    with as_model_error(f"The model {name!r} can't be built from its configuration"):
        layers = getattr(config.get_text_config(), "num_hidden_layers", 1)
        if isinstance(layers, int) and layers > limit(LAYERS):
            raise ValueError(
                f"{layers} layers are more than {limit(LAYERS)}; COTERIE_LIMITS=10 allows ten times as many"
            )
        with torch.device("meta"):
            model = AutoModelForCausalLM.from_config(config, trust_remote_code=False)
    weights = sum(part.numel() for part in (*model.parameters(), *model.buffers()))
    if weights * LEAST_BITS > 8 * size:
        raise ModelError(
            f"The model {name!r} is incomplete: its configuration describes {weights:,} weights, and its files have "
            f"only {size:,} bytes."
        )


def check_causal(config: Any, name: str) -> None:
    """Raise a ModelError unless the configuration describes a decoder that predicts the next token."""
    from transformers.models.auto.modeling_auto import (
        MODEL_FOR_CAUSAL_LM_MAPPING_NAMES as CAUSAL,
    )
    from transformers.models.auto.modeling_auto import (
        MODEL_FOR_MASKED_LM_MAPPING_NAMES as MASKED,
    )

    causal = config.model_type in CAUSAL and not config.is_encoder_decoder
    listed = config.architectures if isinstance(config.architectures, list) else [str(config.architectures)]
    if config.architectures:
        causal = causal and any(a in CAUSAL.values() for a in listed)
    elif config.model_type in MASKED:  # encoders that could be turned into decoders
        causal = causal and bool(getattr(config, "is_decoder", False))
    if not causal:
        what = listed[0] if config.architectures else config.model_type
        raise ModelError(
            f"The model {name!r} is a {what}, not a causal language model: choose one that generates text."
        )


@contextlib.contextmanager
def as_model_error(what: str) -> Iterator[None]:
    """Turn any exception of transformers into a ModelError or MissingExtra with a one-line message."""
    try:
        yield
    except UsageError:
        raise
    except ImportError as error:
        raise MissingExtra(what, error.name or "transformers", "train") from error
    except BaseException as error:
        # Tokenizers are written in Rust, whose panics are no Exception.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise ModelError(f"{what}: {first_line(error)}") from error


def first_line(error: BaseException) -> str:
    """The first line of a message, in at most 200 characters."""
    text = (str(error).strip() or type(error).__name__).splitlines()[0]
    return text if len(text) <= 200 else text[:197] + "..."
