"""A small Llama with random weights."""

from __future__ import annotations

from typing import Any


def llama(vocabulary: int, width: int = 16, seed: int = 0, **more: Any) -> Any:
    """Two layers; a head has eight dimensions, and two heads share keys and values."""
    import torch
    import transformers

    torch.manual_seed(seed)
    usual = {
        "hidden_size": width,
        "intermediate_size": 3 * width // 2,
        "num_hidden_layers": 2,
        "num_attention_heads": width // 8,
        "num_key_value_heads": width // 16,
        "initializer_range": 0.3,
    }
    config = transformers.LlamaConfig(vocab_size=vocabulary, **(usual | more))
    return transformers.LlamaForCausalLM(config).eval()
