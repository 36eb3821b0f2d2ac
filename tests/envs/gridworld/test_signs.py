"""Which character stands for what."""

from __future__ import annotations

import string

from coterie.envs.gridworld.seen.signs import ARROWS, make_signs

from .conftest import config_of, drawn


def test_signs_never_mean_two_things():
    glyphs = {"wall": "\u2588", "vase": "v", "nut": "n", "Nut": "N", "one": "1", "tilde": "~", "up": "^"}
    objects = {name: {"glyph": glyph} for name, glyph in glyphs.items()}
    for name in ("nut", "Nut", "vase"):
        objects[name] |= {"outputs": {"r1": 1}, "cooldown": 3, "stock": 2}
    config = config_of(drawn("@n1", objects=objects)[0])
    signs = make_signs(config)
    pairs = [{idle, ready} for idle, ready in zip(signs.idle, signs.ready, strict=True)]
    assert [len(pair) for pair in pairs] == [1, 2, 2, 2, 1, 1, 1]
    used = [sign for pair in pairs for sign in pair]
    assert len(set(used)) == len(used)
    assert not set(used) & {*ARROWS, *signs.agents, *".~@? "}
    assert all(sign.isascii() and sign.isprintable() for sign in used)


def test_more_types_than_characters_still_have_texts():
    objects = {"wall": {"glyph": "#"}} | {
        f"thing_{k}": {"glyph": chr(0x4E00 + k), "outputs": {"r1": 1}, "cooldown": 2} for k in range(110)
    }
    text = "@" + "".join(kind["glyph"] for kind in list(objects.values())[-7:])
    game, state = drawn(text, objects=objects)
    assert "? other objects" in game.describe(state, 0, 0)
    assert "{108}Hm" in game.compact(state, 0, 0)
    assert set(game.describe(state, 0, 0)) <= set(string.printable)
