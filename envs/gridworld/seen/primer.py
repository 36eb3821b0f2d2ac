"""The rules of a gridworld as text for agents, written from the configuration alone."""

from __future__ import annotations

from collections.abc import Mapping

from ..config import GridworldConfig, ObjectType
from ..config.world import sizes
from .answers import action_names, choices, listed

__all__ = ["goal", "rules"]


def goal(config: GridworldConfig) -> str:
    """What earns reward, in one sentence."""
    paying = [name.replace("_", " ") for name, kind in config.objects.items() if kind.usable and kind.reward > 0]
    by = f" by using the {' or the '.join(paying)}" if paying else ""
    kin = {"none": "", "teams": ", for yourself and your team", "families": ", for yourself and your family"}
    return f"Earn as much reward as you can{by}{kin.get(config.kinship.mode, ', for yourself and your kin')}."


def rules(config: GridworldConfig) -> str:
    """One paragraph; numbers that each episode samples are given as ranges."""
    parts = (_begin(config), _verbs(config), _objects(config), _others(config), _events(config), _kinship(config))
    names = listed(action_names(config), choices(config))
    return " ".join(part for part in parts if part) + f" Actions: {names}."


def range_of(config: GridworldConfig, names: tuple[str, ...], default: float) -> tuple[float, float]:
    """A number's lowest and highest value, under one of its names in ``randomize`` (the last one's sample stays)."""
    return [(default, default), *(bounds for name, bounds in config.randomize.items() if name in names)][-1]


def _drawn(config: GridworldConfig, names: tuple[str, ...], usual: float) -> str:
    """A number, or its range."""
    low, high = range_of(config, names, usual)
    return f"{low:.10g}" if low == high else f"{low:.10g} to {high:.10g}"


def _trait(config: GridworldConfig, fact: str) -> str:
    """A number that can differ from agent to agent, or its range."""
    return _drawn(config, (f"agent.{fact}", f"trait.{fact}"), getattr(config.agent, fact))


def _begin(config: GridworldConfig) -> str:
    here, seen = config.map, config.observation
    count = sizes(config).slots
    who = "the only agent" if count == 1 else f"one of {count} agents"
    turned = ", turned until you look up" if seen.rotate else ""
    return (
        f"Gridworld: you are {who} on a map of {here.height} x {here.width} cells and see the {seen.height} x "
        f"{seen.width} around you{turned}. All act at the same time, for {config.max_steps} ticks. You hold at most "
        f"{_trait(config, 'max_energy')} energy and {_trait(config, 'max_items')} of each item."
    )


def _cost(config: GridworldConfig, verb: str) -> str:
    energy = config.actions.costs.get(verb, 0)
    return f" ({energy} energy)" if energy else ""


def _verbs(config: GridworldConfig) -> str:
    return (
        f"forward and back move you one cell without turning{_cost(config, 'move')}; face up, down, left or right "
        f"turns you to that side of the map{_cost(config, 'rotate')}; use works the object ahead of you"
        f"{_cost(config, 'use')}."
    )


def _amounts(amounts: Mapping[str, int]) -> list[str]:
    return [f"{n} {item}" for item, n in amounts.items()]


def _objects(config: GridworldConfig) -> str:
    told = [_recipe(config, name, kind) for name, kind in config.objects.items() if kind.usable]
    return f"Objects: {'; '.join(told)}." if told else ""


def _recipe(config: GridworldConfig, name: str, kind: ObjectType) -> str:
    def number(fact: str) -> str:
        return _drawn(config, (f"objects.{name}.{fact}", f"objects.*.{fact}"), getattr(kind, fact))

    takes, gives = _amounts(kind.inputs), _amounts(kind.outputs)
    if number("energy_cost") != "0":
        takes.append(f"{number('energy_cost')} energy")
    if number("energy_gain") != "0":
        gives.append(f"{number('energy_gain')} energy")
    if kind.reward:
        gives.append(f"reward {kind.reward:g}")
    told = f"{name.replace('_', ' ')}: {' + '.join(takes)}{' -> ' if takes else 'gives '}{' + '.join(gives)}"
    if number("cooldown") != "0":
        told += f", then busy for {number('cooldown')} ticks"
    return told + (f", {number('stock')} times in all" if number("stock") != "-1" else "")


def _others(config: GridworldConfig) -> str:
    actions, told = config.actions, []
    if actions.attack:
        freeze = _drawn(config, ("agent.freeze",), config.agent.freeze)
        loot = "its items go to you" if actions.loot == "attack" else "a use of it takes its items"
        told.append(
            f"attack 1 to 9{_cost(config, 'attack')} strikes one of the 3 x 3 cells ahead (1 2 3 near, 7 8 9 far, each "
            f"from left to right): an agent there is frozen for {freeze} ticks, loses its energy, and {loot}"
        )
    if actions.shield:
        told.append(
            f"shield turns a shield on or off{_cost(config, 'shield')}; it costs {config.agent.shield_upkeep} energy a "
            "tick and takes the blows while there is energy"
        )
    if actions.swap:
        told.append(f"swap changes places with a frozen agent ahead{_cost(config, 'swap')}")
    if actions.gift:
        told.append(f"gift gives one item to the agent ahead{_cost(config, 'gift')}")
    return "; ".join(told) + "." if told else ""


def _events(config: GridworldConfig) -> str:
    upkeep, death = _trait(config, "upkeep"), config.death
    told = [f"Every tick costs you {upkeep} energy."] if upkeep != "0" else []
    ways = ["when your energy is 0"] * death.energy + [f"after {config.agent.hp} hits"] * death.hp
    ways += [f"at the age of {death.max_age} ticks"] if death.max_age else []
    return " ".join(told + ([f"You die {' or '.join(ways)}."] if ways else []))


def _kinship(config: GridworldConfig) -> str:
    kin = config.kinship
    share = _drawn(config, ("kinship.share",), kin.share)
    size = _drawn(config, ("kinship.size",), kin.size)
    part = f"share {share} of what each earns"
    told = {
        "none": "",
        "teams": f"Teams{'' if kin.labels else f' of {size}'} {part}.",
        "families": f"Families of {size} {part}.",
        "groups": "The agents of a group share a part of what each earns.",
        "matrix": "You receive a part of what other agents earn; the texts tell it as share.",
        "relatedness": "What your kin earn is yours as well, in proportion to relatedness.",
    }[kin.mode]
    return told
