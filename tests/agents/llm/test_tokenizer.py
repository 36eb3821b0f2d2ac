"""The byte-level tokenizer: bytes are ids, any text survives, transformers loads it without remote code."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("transformers")

from coterie.agents.llm import tokenizer as tok


@pytest.fixture(scope="module")
def fast():
    return tok.byte_tokenizer()


def test_numbering_is_fixed(fast) -> None:
    assert len(fast) == tok.VOCAB_SIZE == 264
    assert fast.encode("X O 12>") == list(b"X O 12>")
    assert fast.convert_tokens_to_ids(list(tok.SPECIALS)) == list(range(256, 264))
    assert (fast.pad_token_id, fast.bos_token_id, fast.eos_token_id) == (tok.PAD, tok.BOS, tok.EOS) == (256, 257, 258)


def test_dropped_tokenizers_leave_nothing_behind() -> None:
    """Each reads 3,000 texts of 100 characters. These used to stay: 8 MB of each, where 2 in all are measured now."""
    psutil = pytest.importorskip("psutil")
    before = 0
    for number in range(7):
        tokenizer = tok.byte_tokenizer()
        tokenizer([f"{text:07d}{number:03d}" * 10 for text in range(3000)])
        del tokenizer
        gc.collect()
        if number == 2:
            before = psutil.Process().memory_info().rss
    assert psutil.Process().memory_info().rss - before < 20e6


def test_every_byte_has_its_own_id(fast) -> None:
    text = "".join(chr(c) for c in range(0x80)) + "é€😀\u2028\uffff"
    assert fast.encode(text) == list(text.encode())
    # The bytes that are never part of valid UTF-8 have ids too.
    assert sorted(fast.get_vocab().values()) == list(range(264))


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=80))
def test_any_text_survives(text: str) -> None:
    fast = tok.byte_tokenizer()
    assert fast.decode(fast.encode(text)) == text


@pytest.mark.parametrize(
    "text", ["<pad>", "a <bos>b<eos>", " leading", "trailing ", "a  b\n\n\tc", "", "don't , stop .", "\u0301e"]
)
def test_awkward_texts_survive(fast, text: str) -> None:
    assert fast.decode(fast.encode(text)) == text


def test_broken_bytes_decode_without_error(fast) -> None:
    assert fast.decode([0x61, 0xFF, 0xC3, 0x62]).startswith("a")


def test_folder_is_loaded_by_auto_tokenizer_without_remote_code(fast, tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    fast.save_pretrained(tmp_path)
    again = AutoTokenizer.from_pretrained(tmp_path, trust_remote_code=False)
    text = "X XO.....X.> Grüße 😀 <end>"
    assert again.encode(text) == fast.encode(text)
    assert again.decode(again.encode(text)) == text
    assert again.get_vocab() == fast.get_vocab()
    assert (again.pad_token_id, again.eos_token_id, again.padding_side) == (256, 258, "left")
    assert again.chat_template == tok.CHAT_TEMPLATE


def test_chat_template_is_plain_and_prefix_preserving(fast) -> None:
    ask = [{"role": "user", "content": "your move"}]
    prompt = fast.apply_chat_template(ask, add_generation_prompt=True, tokenize=False)
    assert prompt == "<bos><user>your move<end><assistant>"
    both = fast.apply_chat_template([*ask, {"role": "assistant", "content": "4"}], tokenize=False)
    assert both == prompt + "4<end>"
    assert fast.encode(prompt)[:2] == [tok.BOS, tok.USER]
    assert fast.encode(prompt)[-1] == tok.ASSISTANT
