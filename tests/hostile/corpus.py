"""Small hostile files: ``files()`` makes them all, always the same. None is larger than about 1.5 MB.

    python tests/hostile/corpus.py FOLDER      # writes them, to try by hand

Each aims at one weakness: memory out of proportion to the file, numbers and nesting without end, fields of wrong
types, texts that no encoding holds, code in data.
"""

from __future__ import annotations

import base64
import gzip
import json
import random
import struct
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

DIGITS = "9" * 5000
DEEP = 100_000


def zeros(megabytes: int) -> bytes:
    """So many megabytes of zeros as zlib packs them: about a thousandth."""
    packer = zlib.compressobj(9)
    return b"".join(packer.compress(bytes(1 << 20)) for _ in range(megabytes)) + packer.flush()


def anything() -> Iterator[tuple[str, bytes]]:
    """Files for every reader."""
    yield "empty", b""
    yield "newline", b"\n"
    yield "zeros", bytes(1000)
    yield "noise", random.Random(0).randbytes(4096)
    yield "latin", "é(;à".encode("latin-1")
    yield "mark", b"\xef\xbb\xbf"
    yield "digits", DIGITS.encode()
    yield "hexadecimal", b"0x" + b"f" * 5000
    yield "long-line", b"a" * 1_000_000
    yield "deep-lists", b"[" * DEEP
    yield "deep-lists-closed", b"[" * DEEP + b"]" * DEEP
    yield "deep-mappings", b'{"a":' * DEEP
    yield "brackets", b"(" * DEEP
    yield "null", b"null"
    yield "number", b"1e999"
    yield "not-a-number", b"NaN"
    yield "list", b"[1, 2]"
    yield "surrogate", b'"\\ud800"'
    yield "escapes", b"\x1b]0;owned\x07\x1b[2J"


def zipped() -> Iterator[tuple[str, bytes]]:
    """Gzip files."""
    whole = gzip.compress(b"4k3/8/8/8/8/8/4P3/4K3 w - - 0 1\n" * 50, mtime=0)
    yield "bomb.gz", gzip.compress(bytes(700 << 20), 9, mtime=0)
    yield "cut.gz", whole[:-9]
    for at in (0, 3, 12, len(whole) - 6, len(whole) - 2):
        yield f"flipped-{at}.gz", whole[:at] + bytes([whole[at] ^ 0x40]) + whole[at + 1 :]
    yield "trailing.gz", whole + b"rubbish"


BOARD = {
    "game": "tictactoe-v0",
    "config": {},
    "seed": 0,
    "actions": [4, 0],
    "players": ["a", "b"],
    "returns": [0, 0],
    "status": "running",
    "illegal": None,
    "comments": {"0": "hm"},
    "words": ["random", "random"],
}
WORLD = {
    "game": "gridworld-v0",
    "config": {"preset": "a3_9x9"},
    "seed": 1,
    "release": "0.1.0",
    "ticks": 2,
    "actions": base64.b64encode(zlib.compress(bytes(6))).decode(),
    "keys": base64.b64encode(zlib.compress(bytes(6))).decode(),
    "end": "0" * 16,
    "players": ["a", "b", "c"],
    "returns": [0, 0, 0],
    "status": "running",
    "checksum": 0,
}
ODD = {
    "null": "null",
    "true": "true",
    "negative": "-1",
    "huge": str(2**70),
    "long": "9" * 4000,
    "longer": DIGITS,
    "infinite": "1e999",
    "nan": "NaN",
    "text": '"x"',
    "path": '"/etc/passwd"',
    "surrogate": '"\\ud800"',
    "escape": '"\\u001b[2J"',
    "list": "[]",
    "mapping": '{"a": 1}',
    "lists": "[[[[1]]]]",
    "texts": '["a", "b"]',
    "many": "[" + "0," * 200_000 + "0]",
    "deep": "[" * 900 + "]" * 900,
}
"""JSON for the place of any field."""

SIZES = {
    "tictactoe": {},
    "highest_number": {"players": 2**31, "rounds": 2**31, "numbers": 10**9, "cards": 10**9},
    "highest_string": {"players": 10**9, "rounds": 10**9, "length": 10**12},
    "word_chain": {"players": 10**9, "turns": 10**12, "words": ["a" * 10**6, "b"]},
    "twenty_questions": {"things": 10**9, "turns": 10**12},
    "redblue": {"secrets": 10**9, "turns": 10**12, "length": 10**12},
    "liars_dice": {"players": 10**9, "dice": 10**9, "faces": 10**9},
    "bluff": {"players": 10**9, "dice": 10**9, "talk": 10**12},
    "connect_four": {"rows": 10**9, "columns": 10**9},
    "hex": {"size": 10**9},
    "dark_hex": {"num_cols": 10**9, "num_rows": 10**9},
    "go": {"size": 10**9, "max_moves": 10**12, "handicap": 10**9, "komi": 1e300},
    "kuhn_poker": {"players": 10**9},
    "matrix": {"rounds": 2**31, "memory": 10**9, "payoffs": [[[1, 1]] * 400] * 300},
    "gridworld": {
        "preset": "/etc/passwd",
        "config": "/etc/passwd",
        "map": {"height": 10**6, "width": 10**6},
        "max_steps": 10**12,
        "agents": 10**9,
        "num_agents": 10**9,
        "observation": {"height": 10**6, "width": 10**6},
    },
}
"""Arguments of games that ask for all memory, or for another file."""


def saved() -> Iterator[tuple[str, bytes]]:
    """Saved games."""
    for kind, sound in (("board", BOARD), ("world", WORLD)):
        for field in sound:
            for odd, text in ODD.items():
                line = json.dumps({**sound, field: "@"}).replace('"@"', text)
                yield f"{kind}-{field}-{odd}.json", line.encode()
            yield f"{kind}-without-{field}.json", json.dumps({k: v for k, v in sound.items() if k != field}).encode()
    for game, sizes in SIZES.items():
        for name, value in sizes.items():
            line = json.dumps({**BOARD, "game": game + "-v0", "config": {name: value}})
            yield f"size-{game}-{name}.json", line.encode()
    blown = base64.b64encode(zeros(60)).decode()
    bomb = json.dumps({**WORLD, "ticks": 20 << 20, "actions": blown, "keys": ...}, default=lambda _: blown)
    yield "bomb.json", bomb.encode()
    without = {k: v for k, v in WORLD.items() if k not in ("keys", "end", "checksum")}
    yield "bomb-without-keys.json", json.dumps({**without, "ticks": 20 << 20, "actions": blown}).encode()
    yield "bombs.json", "\n".join([json.dumps({**without, "ticks": 20 << 20, "actions": blown})] * 8).encode()
    yield "bomb-start.json", json.dumps({**BOARD, "seed": None, "start": blown}).encode()
    big = state({"rows": 10**12})
    start = base64.b64encode(zlib.compress(big)).decode()
    yield "rows-start.json", json.dumps({**BOARD, "seed": None, "start": start}).encode()
    yield "many-lines.json", (json.dumps(BOARD) + "\n").encode() * 2000
    yield "cut.json", json.dumps(BOARD).encode()[:-20]


def state(head: dict[str, object], payload: bytes = b"") -> bytes:
    """Bytes that look like ``to_bytes``, with some of the header changed."""
    usual = {"id": "tictactoe-v0", "kind": "state", "config": {}, "layout": "0" * 16, "rows": 1}
    return b"COTERIE-STATE-1\n" + json.dumps({**usual, "crc": zlib.crc32(payload), **head}).encode() + b"\n" + payload


def states() -> Iterator[tuple[str, bytes]]:
    """Bytes of states."""
    for game in ("tictactoe-v0", "chess-v0", "go-v0", "gridworld-v0", "highest_string-v0"):
        yield f"{game}-rows.state", state({"id": game, "rows": 10**6}, bytes(10**6))
        yield f"{game}-no-rows.state", state({"id": game, "rows": -1})
        yield f"{game}-deep.state", state({"id": game, "plain": [DEEP]}, b"[" * DEEP)
    for field in ("id", "kind", "config", "layout", "rows", "crc", "plain"):
        for odd, text in ODD.items():
            yield f"{field}-{odd}.state", state({field: "@"}, b"[1]").replace(b'"@"', text.encode())
    yield "cut.state", state({})[:30]


def records() -> Iterator[tuple[str, bytes]]:
    """SGF, PGN and FEN."""
    for name in ("SZ", "HA", "KM", "GM", "FF", "PL", "AB", "B"):
        yield f"{name}.sgf", f"(;{name}[{DIGITS}])".encode()
        yield f"{name}-unicode.sgf", f"(;{name}[²٣])".encode()
    yield "size-two.sgf", f"(;SZ[{DIGITS}:{DIGITS}])".encode()
    for name in ("punycode", "idna", "undefined", "zlib_codec", "utf-7", "utf-16", "rot13", "unicode_escape", "mbcs"):
        yield f"encoding-{name}.sgf", f"(;CA[{name}]SZ[9];B[aa]C[\\x]\xff)".encode("latin-1")
    yield "deep.sgf", b"(;SZ[9]" + b"(;B[aa]" * DEEP
    yield "open.sgf", b"(;C[" + b"\\" * 100_000
    yield "comments.sgf", b"(;SZ[9]" + b";C[x]" * 150_000 + b")"
    yield "stones.sgf", b"(;SZ[19]AB" + b"[aa:ss]" * 20_000 + b")"
    yield "set-ups.sgf", b"(;SZ[19]" + b";AB[aa]AW[bb]" * 40_000 + b")"
    yield "moves.sgf", b"(;SZ[9]" + b";B[];W[]" * 60_000 + b")"
    yield "properties.sgf", b"(;SZ[9]" + b"".join(b"A%s[1]" % bytes([65 + k % 26]) for k in range(90_000)) + b")"
    yield "glyph.pgn", f"1. e4 ${DIGITS}".encode()
    yield "number.pgn", f"{DIGITS}. e4".encode()
    yield "result.pgn", f"1. e4 {DIGITS}-0".encode()
    yield "variations.pgn", b"1. e4 " + b"( 1. d4 " * 50_000
    yield "comments.pgn", b"1. e4 " + b"{x} " * 150_000
    yield "comment.pgn", b"1. e4 {" + b"x\n" * 300_000
    yield "tags.pgn", b"".join(b'[T%d "x"]\n' % k for k in range(40_000))
    yield "tag.pgn", b'[T "' + b"\\" * 500_000
    yield "glyphs.pgn", b"1. e4 " + b"$1 " * 200_000
    yield "move.pgn", b"1. " + b"N" * 500_000
    yield "games.pgn", b"1. e4 *\n\n" * 10_000
    fen = "4k3/8/8/8/8/8/4P3/4K3 w - - {} {}"
    yield "clock.fen", fen.format(DIGITS, 1).encode()
    yield "clock-unicode.fen", fen.format("²", "٣").encode()
    yield "ranks.fen", b"/" * 100_000 + b" w - - 0 1"
    yield "fields.fen", b"8 " * 100_000
    yield "placement.fen", b"k" * 1_000_000 + b" w - - 0 1"
    yield "moves.txt", ("a" + DIGITS).encode()
    yield "moves-unicode.txt", "a² a٣ ²".encode()
    yield "moves-many.txt", b"a1 " * 100_000
    yield "positions.txt", b"4k3/8/8/8/8/8/4P3/4K3 w - - 0 1\n" * 2000 + b"nonsense\n"


class Harm:
    """Unpickling it writes a file."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (__import__("os").system, ("touch /tmp/coterie-was-harmed",))


def pickled() -> bytes:
    """A pickle that runs a command, if anyone loads it."""
    import pickle

    return pickle.dumps(Harm())


def tensors(**header: object) -> bytes:
    """A safetensors file with a header and eight bytes."""
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + bytes(8)


def weights() -> Iterator[tuple[str, bytes]]:
    """Files of runs and models."""
    yield "harm.pt", pickled()
    yield "harm.safetensors", pickled()
    yield "length.safetensors", (2**60).to_bytes(8, "little") + b"{}"
    yield "shape.safetensors", tensors(w={"dtype": "F32", "shape": [2**40, 2**20], "data_offsets": [0, 8]})
    yield "offsets.safetensors", tensors(w={"dtype": "F32", "shape": [2], "data_offsets": [0, 2**50]})
    yield "names.safetensors", tensors(w={"dtype": "F32", "shape": [2], "data_offsets": [0, 8]})
    yield "kind.safetensors", tensors(w={"dtype": "F999", "shape": [2], "data_offsets": [0, 8]})
    yield "deep.safetensors", len(b"[" * DEEP).to_bytes(8, "little") + b"[" * DEEP
    for name in ("shape", "actions", "hidden"):
        for value in (10**12, -1, 0, "x", [10**6] * 3, None, 1.5):
            net = {"shape": [24, 11, 11], "actions": 20, "hidden": 8, name: value}
            yield f"net-{name}-{str(value)[:9]}.json", json.dumps(net).encode()
    sizes = ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "vocab_size")
    for name in (*sizes, "max_position_embeddings"):
        for value in (10**6, 2**31, -1, 0, "x", None):
            config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64, name: value}
            config = {"num_attention_heads": 2, "num_hidden_layers": 2, "vocab_size": 200, **config}
            yield f"model-{name}-{value}.json", json.dumps(config).encode()
    yield "model-architectures.json", json.dumps({"model_type": "llama", "architectures": 5}).encode()
    code = {"model_type": "own", "auto_map": {"AutoConfig": "own.Own", "AutoModelForCausalLM": "own.Own"}}
    yield "model-code.json", json.dumps(code).encode()
    yield "sums-outside", b"0" * 64 + b"  ../../../etc/passwd\n"
    yield "sums-zero", b"0" * 64 + b"  \0\n"
    rows = ({}, [], 1, {"update": "x"}, {"update": 0, "elapsed": "x"}, {"update": 0, "elapsed": None, "eval": 3})
    for k, row in enumerate((*rows, {"update": 0, "elapsed": 1, "eval": [{}]}, {"update": 10**400, "elapsed": 1e308})):
        yield f"row-{k}.jsonl", json.dumps(row).encode() + b"\n"
    many = [{"opponent": f"o{k}", "win": 1} for k in range(3000)]
    yield "row-many.jsonl", json.dumps({"update": 0, "elapsed": 1.0, "eval": many}).encode() + b"\n"
    yield "rows.jsonl", b'{"update": 0, "elapsed": 1}\n' * 50_000
    for k, state in enumerate(({}, [], {"config": 3}, {"config": {}, "long": False}, {"update": -1, "long": 3})):
        yield f"state-{k}.json", json.dumps(state).encode()
    for k, own in enumerate(({"r": 2**40}, {"r": -1}, {"peft_type": "OWN"}, {"target_modules": "("}, {"r": "x"}, [])):
        base = {"peft_type": "LORA", "r": 2, "lora_alpha": 4, "target_modules": ["0"], "task_type": "CAUSAL_LM"}
        yield f"adapter-{k}.json", json.dumps({**base, **own} if isinstance(own, dict) else own).encode()


def gguf(*keys: tuple[str, object], tensors: int = 0, count: int | None = None) -> bytes:
    """A GGUF file without tensors: magic, version 3, counts, keys."""

    def text(value: str) -> bytes:
        return struct.pack("<Q", len(value)) + value.encode()

    out = b"GGUF" + struct.pack("<IQQ", 3, tensors, len(keys) if count is None else count)
    for name, value in keys:
        out += text(name)
        out += struct.pack("<I", 8) + text(value) if isinstance(value, str) else struct.pack("<IQ", 10, value)
    return out


def ggufs() -> Iterator[tuple[str, bytes]]:
    """GGUF files."""
    own = ("general.architecture", "llama")
    yield "bare.gguf", gguf(own)
    yield "tensors.gguf", gguf(own, tensors=2**60)
    yield "keys.gguf", gguf(own, count=2**60)
    yield "string.gguf", b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 2**62) + b"x"
    yield "layers.gguf", gguf(own, ("llama.block_count", 2**31))
    yield "width.gguf", gguf(own, ("llama.block_count", 1), ("llama.embedding_length", 2**40))
    yield "magic.gguf", b"GGUF"


def worlds() -> Iterator[tuple[str, bytes]]:
    """Configurations; what YAML itself can hold is tried elsewhere."""
    yield "map.yaml", b"map: {height: 1000000, width: 1000000}\n"
    yield "map-float.yaml", b"map: {height: 1.0e+300, width: 30}\n"
    yield "run.yaml", b"game: tictactoe\nbudget: {updates: 99999999999999999999}\nrollout: {games: 999999999999}\n"
    yield "run-path.yaml", b"game: ../../etc/passwd\n"
    yield "run-zero.yaml", b'policy: {model: "a\\0b"}\n'


def files() -> Iterator[tuple[str, bytes]]:
    """All of them: name and content."""
    for part in (anything, zipped, saved, states, records, weights, ggufs, worlds):
        yield from part()


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    for name, content in files():
        (target / name).write_bytes(content)
