"""Games by name: ``register``, ``spec``, ``presets``, ``list_envs``, ``make_game``. Environments: ``making.py``.

Entry points are strings, so a game's module is imported when the game is first made and ``import coterie`` stays
light.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import numpy as np

from ..errors import UnknownArgument, UnknownName, UsageError, did_you_mean
from .core import UNNAMED, Game
from .plain import parse_yaml, short

__all__ = [
    "GameSpec",
    "Presets",
    "factory",
    "game_arguments",
    "is_game",
    "list_envs",
    "make_game",
    "presets",
    "register",
    "register_elsewhere",
    "register_foreign",
    "spec",
]

_TALK = f"{__name__.rsplit('.', 1)[0]}.words.talk:talk"
_ID = re.compile(r"^([a-z][a-z0-9_]*)-v([0-9]+)$")
_FOREIGN = re.compile(r"^(pettingzoo|play):[\w.]+(:\w+)?(-v0)?$")
_PACKAGE = __name__.rsplit(".", 2)[0]
_FACE_ARGUMENTS = (
    "api",
    "render_mode",
    "text",
    "illegal",
    "illegal_reward",
    "max_cycles",
    "num_envs",
    "num_threads",
    "seed",
    "autoreset_mode",
    "layout",
    "mask",
    "idle",
    "infos",
)


@dataclass(frozen=True)
class GameSpec:
    """A registration.

    Attributes:
        id: ``"tictactoe-v0"``.
        entry_point: ``"package.module:factory"``; the factory returns a Game.
        draw: ``"package.module:function"`` that renders a state, or None.
        presets: ``"package.module:function"`` that returns the game's Presets, or None.
        given: the factory's first arguments. They are no arguments of the game: no file and no flag can set them.
    """

    id: str
    entry_point: str
    draw: str | None = None
    presets: str | None = None
    given: tuple[Any, ...] = ()

    @property
    def name(self) -> str:
        """Without version."""
        return self.id.rsplit("-v", 1)[0]

    @property
    def version(self) -> int:
        """The number after ``-v``."""
        return int(self.id.rsplit("-v", 1)[1])


@dataclass(frozen=True)
class Presets:
    """Named configurations of a game: values of its factory's argument ``preset``.

    Attributes:
        names: each preset's name -> a one-line description.
        table: the presets as rows of texts, headings first; each row begins with the preset's name.
        carried: (a run's arguments, another world's arguments) -> the changes to the other world that let the run's
            players observe and act in it as they learned to.
        to_yaml: (the game's arguments) -> the whole configuration, as a file for the argument ``config``; None in games
            without that argument.
    """

    names: Mapping[str, str]
    table: Sequence[Sequence[str]]
    carried: Callable[[Mapping[str, Any], Mapping[str, Any]], dict[str, Any]]
    to_yaml: Callable[[Mapping[str, Any]], str] | None = None


make: Callable[..., Any]
make_vec: Callable[..., Any]
"""Former members of this module; ``making`` sets them."""

_SPECS: dict[str, GameSpec] = {}
_TOLD: list[bool] = []  # not empty once our ids are in the registries of PettingZoo and Gymnasium


def register(id: str, entry_point: str, draw: str | None = None, presets: str | None = None) -> None:
    """Make a game reachable through every face.

    Args:
        id: ``"name-vN"``, lower case.
        entry_point: ``"package.module:factory"``.
        draw: ``"package.module:function"`` that renders a state.
        presets: ``"package.module:function"`` that returns Presets.

    Raises:
        UsageError: a malformed id or entry point, or an id that another game has.
    """
    if not _ID.match(id):
        raise UsageError(f"The game id {id!r} is not of the form name-vN, e.g. 'tictactoe-v0'.")
    for point in (entry_point, *(point for point in (draw, presets) if point)):
        if not re.match(r"^[\w.]+:\w+$", point):
            raise UsageError(f"register({id!r}, ...) needs package.module:name, not {point!r}.")
    new = GameSpec(id, entry_point, draw, presets)
    if _SPECS.get(id, new) != new:
        raise UsageError(
            f"{id!r} is registered already, as {_SPECS[id].entry_point!r}. Raise the version or choose another name."
        )
    if _TOLD and id not in _SPECS:
        _tell_others(id)
    _SPECS[id] = new


def register_foreign(name: str, entry_point: str, *given: Any) -> str:
    """Register a game whose code is not made for coterie, by ``envs.foreign``; a later call replaces an earlier one.

    Args:
        name: ``pettingzoo:MODULE``, ``pettingzoo:MODULE:FUNCTION`` or ``play:NAME``.
        entry_point: as for ``register``.
        *given: the factory's first arguments.

    Returns:
        The id: the name and ``-v0``.

    Raises:
        UsageError: a name of another form.
    """
    if not _FOREIGN.match(name) or name.endswith("-v0"):
        raise UsageError(
            f"{name!r} came; a game of other code is named pettingzoo:MODULE, pettingzoo:MODULE:FUNCTION or play:NAME, "
            "such as pettingzoo:pettingzoo.classic.tictactoe_v3."
        )
    id = f"{name}-v0"
    _SPECS[id] = GameSpec(id, entry_point, given=given)
    return id


def list_envs() -> list[str]:
    """Ids of all games of ``register``, sorted; games of other code (``envs.foreign``) are not listed."""
    return sorted(id for id, known in _SPECS.items() if not known.given)


def is_game(name: str) -> bool:
    """Whether ``register`` knows this id, or this name without version."""
    return any(name in (known.id, known.name) for known in _SPECS.values() if not known.given)


def spec(id: str) -> GameSpec:
    """The registration of an id; a name without version means its newest version.

    Raises:
        UnknownName: no such game; the message suggests the closest name.
        UsageError: the id is not a string, or names code that nobody has said to import.
    """
    if not isinstance(id, str):
        raise UsageError(f"{id!r} ({type(id).__name__}) came; environments have names such as 'tictactoe-v0'.")
    if id in _SPECS:
        return _SPECS[id]
    named = [s for s in _SPECS.values() if s.name == id]
    if named:
        return max(named, key=lambda s: s.version)
    if _FOREIGN.match(id):
        kind, name = id.removesuffix("-v0").split(":", 1)
        called = f"register_pettingzoo({name!r})" if kind == "pettingzoo" else f"register_play({name!r}, FUNCTION)"
        typed = (
            f"name the game in your command ({kind}:{name}; eval: --game {kind}:{name}), or in Python "
            if kind == "pettingzoo"
            else ""
        )
        raise UsageError(
            f"{kind}:{name} is code that is not part of coterie, and only you can say that it may run: {typed}call "
            f"coterie.envs.foreign.{called} first."
        )
    raise UnknownName("game", id, _SPECS)


def factory(id: str) -> Callable[..., Game]:
    """A game's factory; imports its module."""
    found = spec(id)
    return cast("Callable[..., Game]", partial(_load(found, found.entry_point), *found.given))


def presets(id: str) -> Presets:
    """The presets of a game.

    Raises:
        UsageError: it has none.
    """
    found = spec(id)
    if not found.presets:
        others = [other.name for other in _SPECS.values() if other.presets]
        having = f" Games with presets: {', '.join(others)}." if others else ""
        raise UsageError(f"{found.id} has no presets; `coterie envs {found.name}` lists its arguments.{having}")
    return cast("Presets", _load(found, found.presets)())


def _load(found: GameSpec, point: str) -> Any:
    module, _, name = point.partition(":")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"The entry point {module}:{name} of {found.id} cannot be loaded: {error}.") from error


def make_game(id: str, **config: Any) -> Game:
    """A registered game, configured.

    Fills in what the factory left out: name and version from the registration, ``config`` from the arguments. Every
    turn-based game takes ``talk``, the longest message in characters that may come with an action (``words.talk``); 0:
    players do not talk.

    Raises:
        UnknownName: no such game.
        UsageError: an argument that the game does not take, or a factory that does not return a Game.
    """
    maker = factory(id)
    length = 0 if "talk" in inspect.signature(maker).parameters else config.pop("talk", 0)
    taken = inspect.signature(maker).parameters
    known = list(taken)
    for name in config:
        if name not in known:
            takes = f"It takes {', '.join(known)}." if known else "It takes no arguments."
            hint = did_you_mean(name, [*known, *_FACE_ARGUMENTS], least=0.75) or did_you_mean(name, known)
            if name in _FACE_ARGUMENTS:
                hint = " Environments of another kind take it: see coterie.make, coterie.make_vec and gymnasium.make."
            raise UnknownArgument(f"{spec(id).id} got an unexpected keyword argument {name!r}.{hint} {takes}")
        if isinstance(config[name], dict) and not _takes_parts(taken[name].annotation):
            part = next(iter(config[name]), "")
            raise UsageError(f"{spec(id).id} has no {name}.{part}: its argument {name!r} is one value, without parts.")
    game = _completed(maker(**config), spec(id), taken, config)
    return cast("Game", _load(spec(id), _TALK)(game, length)) if length else game


def _completed(game: Game, found: GameSpec, taken: Mapping[str, inspect.Parameter], config: dict[str, Any]) -> Game:
    """The game, with its name and arguments filled in if the factory left them out."""
    if not isinstance(game, Game):
        raise UsageError(f"The factory {found.entry_point} of {found.id} returned {game!r}, which is not a Game.")
    if game.info.name == UNNAMED:
        game = replace(game, info=replace(game.info, name=found.name, version=found.version))
    if taken and not game.config:
        given = {name: config.get(name, parameter.default) for name, parameter in taken.items()}
        game = replace(game, config={k: v.item() if isinstance(v, np.generic) else v for k, v in given.items()})
    return game


def _takes_parts(annotation: Any) -> bool:
    return annotation is inspect.Parameter.empty or any(word in str(annotation) for word in ("Any", "Mapping", "dict"))


def game_arguments(words: Iterable[str]) -> dict[str, Any]:
    """``["size=9", "map.height=30"]`` -> ``{"size": 9, "map": {"height": 30}}``; values are read as YAML.

    Raises:
        UsageError: a text not of the form name=value, or a name with both a value and parts.
    """
    found: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        *sections, last = name.split(".")
        if not equals or not all(part.isidentifier() or part == "*" for part in (*sections, last)):
            raise UsageError(f"{word!r} is not of the form name=value (size=9); `coterie envs GAME` lists the names.")
        read = parse_yaml(value, f"The value of {short(word)!r}")
        for part in reversed((*sections, last)):
            read = {part: read}
        _add(found, read, word)
    return found


def _add(found: dict[str, Any], more: Mapping[str, Any], word: str) -> None:
    """Merge a nested mapping into another, in place."""
    for name, value in more.items():
        old = found.get(name)
        if isinstance(old, dict) and isinstance(value, dict):
            _add(old, value, word)
        elif isinstance(old, dict) or (isinstance(value, dict) and name in found):
            raise UsageError(f"{word!r} and {name}={old!r} came together; give {name} a value or its parts, not both.")
        else:
            found[name] = value


def register_elsewhere() -> None:
    """Register our ids (``coterie/tictactoe-v0``) with PettingZoo and Gymnasium as string entry points.

    It imports nothing heavy. Games registered later are added to both registries too.
    """
    _TOLD.append(True)
    for id in list_envs():
        _tell_others(id)


def _tell_others(id: str) -> None:
    import gymnasium
    import pettingzoo

    name = id.replace("-", "_")
    apis = (("aec", "env"), ("parallel", "parallel_env")) if hasattr(pettingzoo, "register") else ()  # from 1.27 on
    for api, attribute in apis:
        pettingzoo.register(api, id=f"coterie/{id}", entry_point=f"{_PACKAGE}.envs.versioned:{name}__{attribute}")
    faces = f"{_PACKAGE}.envs.faces"
    gymnasium.register(
        f"coterie/{id}",
        entry_point=f"{faces}.gym_env:SoloEnv",
        vector_entry_point=f"{faces}.gym_vector:vector_entry",
        kwargs={"game": id},
    )


register("tictactoe-v0", f"{_PACKAGE}.envs.tictactoe:tictactoe", draw=f"{_PACKAGE}.renderers.tictactoe:draw")
register("highest_number-v0", f"{_PACKAGE}.envs.highest_number:highest_number")
register(
    "connect_four-v0", f"{_PACKAGE}.envs.connect_four:connect_four", draw=f"{_PACKAGE}.renderers.connect_four:draw"
)
register("hex-v0", f"{_PACKAGE}.envs.hex:hex", draw=f"{_PACKAGE}.renderers.hex:draw")
register("chess-v0", f"{_PACKAGE}.envs.chess:chess", draw=f"{_PACKAGE}.renderers.chess:draw")
register("kuhn_poker-v0", f"{_PACKAGE}.envs.kuhn_poker:kuhn_poker", draw=f"{_PACKAGE}.renderers.kuhn_poker:draw")
register("liars_dice-v0", f"{_PACKAGE}.envs.liars_dice:liars_dice")
register(
    "phantom_tictactoe-v0",
    f"{_PACKAGE}.envs.phantom_tictactoe:phantom_tictactoe",
    draw=f"{_PACKAGE}.renderers.tictactoe:draw",
)
register("dark_hex-v0", f"{_PACKAGE}.envs.dark_hex:dark_hex", draw=f"{_PACKAGE}.renderers.hex:draw")
register("leduc_poker-v0", f"{_PACKAGE}.envs.leduc_poker:leduc_poker", draw=f"{_PACKAGE}.renderers.leduc_poker:draw")
register("highest_string-v0", f"{_PACKAGE}.envs.words.highest_string:highest_string")
register("debate-v0", f"{_PACKAGE}.envs.words.debate.game:debate")
register("word_chain-v0", f"{_PACKAGE}.envs.words.word_chain:word_chain")
register("twenty_questions-v0", f"{_PACKAGE}.envs.words.questions.game:twenty_questions")
register(
    "negotiation-v0",
    f"{_PACKAGE}.envs.negotiation.game:negotiation",
    draw=f"{_PACKAGE}.renderers.negotiation:draw",
    presets=f"{_PACKAGE}.envs.negotiation.game:named",
)
register("bluff-v0", f"{_PACKAGE}.envs.words.bluff:bluff")
register("redblue-v0", f"{_PACKAGE}.envs.words.redblue:redblue")
register("matrix-v0", f"{_PACKAGE}.envs.matrix:matrix", draw=f"{_PACKAGE}.renderers.matrix:draw")
register("go-v0", f"{_PACKAGE}.envs.go:go", draw=f"{_PACKAGE}.renderers.go:draw")
register(
    "gridworld-v0",
    f"{_PACKAGE}.envs.gridworld.game:gridworld",
    draw=f"{_PACKAGE}.renderers.gridworld:draw",
    presets=f"{_PACKAGE}.envs.gridworld.config.presets:named",
)
