"""What an agent is told of the rules before it plays."""

from __future__ import annotations

import string

from coterie.envs import make_game


def test_the_rules_tell_recipes_and_ranges():
    rules = make_game("gridworld", preset="a20_40x40_rich").rules
    for told in (
        "one of 20 agents on a map of 40 x 40 cells and see the 11 x 11 around you",
        "3 to 10 of each item",
        "converter: 1 r1 -> 1 r2 + 100 energy, then busy for 2 to 10 ticks",
        "altar: 50 to 250 energy -> reward 1",
        "frozen for 5 to 20 ticks",
        "Teams of 1 to 5 share 0 to 1 of what each earns",
        "attack 1/2/3/4/5/6/7/8/9, shield, swap, gift r1/r2/r3.",
    ):
        assert told in rules
    assert set(rules) <= set(string.printable)
    drawn = {"agent.max_energy": [100, 300], "trait.max_energy": [50, 60], "objects.altar.cooldown": [1, 2]}
    drawn |= {"objects.*.cooldown": [4, 5], "objects.converter.energy_gain": [1, 1_000_000]}
    last = make_game("gridworld", preset="a5_25x25", randomize=drawn).rules
    assert "at most 50 to 60 energy" in last, "of two ranges for one number, the later one is drawn last"
    assert "altar: 100 energy -> reward 1, then busy for 4 to 5 ticks" in last
    assert "1 to 1000000 energy" in last
    mortal = make_game("gridworld", agent={"upkeep": 2}, death={"energy": True, "max_age": 90}).rules
    assert "Every tick costs you 2 energy. You die when your energy is 0 or at the age of 90 ticks." in mortal
