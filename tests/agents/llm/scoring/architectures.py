"""Small random models of many architectures, and log-probabilities the plain way."""

from __future__ import annotations

import contextlib

import torch
import transformers

V = 40
SMALL = {
    "vocab_size": V,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 128,
    "initializer_range": 0.3,
}
WINDOW = 6
MODELS = {
    "llama": ("Llama", SMALL, {}),
    "llama eager": ("Llama", SMALL, {"attn_implementation": "eager"}),
    "mistral, window of 6": ("Mistral", SMALL | {"sliding_window": WINDOW}, {}),
    "mistral, window of 6, eager": ("Mistral", SMALL | {"sliding_window": WINDOW}, {"attn_implementation": "eager"}),
    "qwen2": ("Qwen2", SMALL, {}),
    "qwen3": ("Qwen3", SMALL | {"head_dim": 8}, {}),
    "gemma2": ("Gemma2", SMALL | {"head_dim": 8, "sliding_window": WINDOW, "final_logit_softcapping": 3.0}, {}),
    "gemma3": (
        "Gemma3",
        SMALL | {"head_dim": 8, "sliding_window": WINDOW, "layer_types": ["sliding_attention", "full_attention"]},
        {},
    ),
    "gpt2": ("GPT2", {"vocab_size": V, "n_embd": 32, "n_layer": 2, "n_head": 4, "initializer_range": 0.3}, {}),
    "opt": (
        "OPT",
        {
            "vocab_size": V,
            "hidden_size": 32,
            "word_embed_proj_dim": 32,
            "ffn_dim": 48,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "init_std": 0.3,
        },
        {},
    ),
    "phi": ("Phi", {k: v for k, v in SMALL.items() if k != "num_key_value_heads"}, {}),
    "lfm2": ("Lfm2", SMALL | {"layer_types": ["conv", "full_attention"], "block_auto_adjust_ff_dim": False}, {}),
    "bloom": ("Bloom", {"vocab_size": V, "hidden_size": 32, "n_layer": 2, "n_head": 4, "initializer_range": 0.3}, {}),
    "gpt neo, local window": (
        "GPTNeo",
        {
            "vocab_size": V,
            "hidden_size": 32,
            "num_layers": 2,
            "num_heads": 4,
            "attention_types": [[["global", "local"], 1]],
            "window_size": WINDOW,
            "initializer_range": 0.3,
        },
        {},
    ),
    "granite": ("Granite", SMALL | {"logits_scaling": 4.0}, {}),
    "cohere": ("Cohere", SMALL | {"logit_scale": 0.25}, {}),
}
FIXED = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}


def build(name, dtype=torch.float32):
    """A model with random weights."""
    kind, config, more = MODELS[name]
    torch.manual_seed(0)
    config_class = {"GPT2": "GPT2Config", "Gemma3": "Gemma3TextConfig"}.get(kind, f"{kind}Config")
    model_class = {"GPT2": "GPT2LMHeadModel"}.get(kind, f"{kind}ForCausalLM")
    made = getattr(transformers, config_class)(**(FIXED | config), **more)
    return getattr(transformers, model_class)(made).to(dtype).eval()


def logprobs_alone(model, ids, bank=None, slot=0, temperature=1.0):
    """[V] what the model itself says behind a sequence that is fed alone, without masks or caches."""
    with torch.no_grad(), bank.route([slot]) if bank is not None else contextlib.nullcontext():
        logits = model(input_ids=torch.tensor([ids]), use_cache=False).logits[0, -1]
    return torch.log_softmax(logits.double() / temperature, -1)
