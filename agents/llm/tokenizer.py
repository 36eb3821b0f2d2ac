"""The byte-level tokenizer of the built-in models: 256 bytes and a few special tokens. It never changes.

Numbering::

    0 .. 255   the byte itself, so an ASCII character's id is ord(character)
    256 <pad>  257 <bos>  258 <eos>  259 <system>  260 <user>  261 <assistant>  262 <end>  263 <unused>

Any text survives ``decode(encode(text))``. It is a plain ``tokenizer.json``, so ``AutoTokenizer`` loads it from a saved
folder without remote code. There are no merges, so that a move always has the same tokens, whatever precedes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from ...errors import needs

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

__all__ = [
    "ASSISTANT",
    "BOS",
    "BYTES",
    "CHAT_TEMPLATE",
    "END",
    "EOS",
    "PAD",
    "SPECIALS",
    "SYSTEM",
    "USER",
    "VOCAB_SIZE",
    "byte_tokenizer",
    "uncached",
]

BYTES = 256
"""Ids below this one are bytes."""

SPECIALS = ("<pad>", "<bos>", "<eos>", "<system>", "<user>", "<assistant>", "<end>", "<unused>")
"""The special tokens; their ids start at ``BYTES``, in this order."""

PAD, BOS, EOS, SYSTEM, USER, ASSISTANT, END, UNUSED = range(BYTES, BYTES + len(SPECIALS))

VOCAB_SIZE = BYTES + len(SPECIALS)
"""264."""

CHAT_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}"
    "{{ '<' + message['role'] + '>' + message['content'] + '<end>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<assistant>' }}{% endif %}"
)
"""``<bos><user>...<end><assistant>...<end>``: prefix-preserving, adds no spaces or newlines."""

# A byte-level tokenizer.json writes each byte as one printable character: printable Latin-1 bytes as themselves, all
# others as the characters from U+0100 on, in order of the byte.
_PRINTABLE = (range(0x21, 0x7F), range(0xA1, 0xAD), range(0xAE, 0x100))


def _byte_characters() -> list[str]:
    """256 characters: the one that represents each byte in tokenizer.json."""
    others = iter(range(0x100, 0x200))
    return [chr(b) if any(b in block for block in _PRINTABLE) else chr(next(others)) for b in range(BYTES)]


def uncached(tokenizer: Any) -> Any:
    """The same tokenizer; one of bytes no longer keeps the words that it has read.

    Without merges there is nothing to save, and tokenizers 0.23 doesn't free these words with the tokenizer: each
    loaded one left up to 10,000 texts behind.
    """
    resize = getattr(tokenizer.backend_tokenizer.model, "_resize_cache", None)  # absent in older versions
    if resize is not None and len(tokenizer) <= VOCAB_SIZE:
        resize(0)
    return tokenizer


def byte_tokenizer(model_max_length: int = 2048) -> PreTrainedTokenizerFast:
    """Build the tokenizer.

    ``encode`` adds no special tokens. A special token that is spelt out in a text becomes its id (and decodes to the
    same text again), as with every Hugging Face tokenizer.

    Args:
        model_max_length: in tokens; only a hint for users of the tokenizer.

    Raises:
        MissingExtra: transformers isn't installed.
    """
    with needs("The tokenizer of the built-in models", "train"):
        from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
        from transformers import PreTrainedTokenizerFast

    vocabulary = {character: b for b, character in enumerate(_byte_characters())}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(name, special=True, normalized=False) for name in SPECIALS])
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<pad>",
        bos_token="<bos>",
        eos_token="<eos>",
        extra_special_tokens=list(SPECIALS[3:]),
        clean_up_tokenization_spaces=False,
        model_max_length=model_max_length,
        padding_side="left",
    )
    fast.chat_template = CHAT_TEMPLATE
    return cast("PreTrainedTokenizerFast", uncached(fast))
