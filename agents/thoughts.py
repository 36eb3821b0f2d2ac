"""What a player thinks in the positions of a game: the probability of every legal action, its entropy, exact values.

Any agent that has ``policy(turns)`` can be asked: language models, nets, searches. Asking it changes nothing: no random
numbers are used up, and nothing is played.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..aliases import RUNNING, Action, Player, State
from ..envs.core import Game, GameRecord
from ..envs.replay.file import replay
from ..envs.words import TextGame
from ..errors import StateError, UsageError
from .core import Agent, Turn, seeded

__all__ = ["Thinker", "Value", "add_thoughts", "is_model", "policy_of", "thoughts", "value_of"]

BATCH: Final = 64
"""Positions that a player is asked about at once."""

MOST: Final = 400
"""Most actions of a thought that are kept, the likeliest ones."""

Value = Callable[[State, Player], float | None]
"""(one game, the seat to move) -> the return that this seat can expect from here on, None where nobody knows."""


@dataclass(frozen=True)
class Thinker:
    """Who is asked in a seat.

    Attributes:
        agent: the player; it has ``policy(turns)``.
        earlier: its earlier checkpoints by name, oldest first.
        who: its name, where it is not the player who sat there.
    """

    agent: Agent
    earlier: tuple[tuple[str, Agent], ...] = ()
    who: str = ""


def is_model(agent: object) -> bool:
    """Whether an agent is a language model or a net that can be asked for its probabilities."""
    return hasattr(agent, "policy") and (_is_language_model(agent) or hasattr(agent, "net"))


def _is_language_model(agent: object) -> bool:
    return hasattr(getattr(agent, "backend", None), "policy")


def policy_of(agent: Agent) -> Callable[[Sequence[Turn]], list[NDArray[np.float64]]]:
    """What gives an agent's probabilities; those of a language model that plays its likeliest action, too.

    Raises:
        UsageError: it has none to give.
    """
    asked: Any = agent
    if not hasattr(agent, "policy"):
        raise UsageError(
            f"{agent.name} does not say with which probabilities it acts. Ask a model, a run, or mcts:400, minimax, "
            "equilibrium, greedy, random."
        )
    if _is_language_model(agent):
        return lambda turns: list(asked.backend.policy(turns, getattr(agent, "player", None)))
    return lambda turns: list(asked.policy(turns))


def thoughts(agent: Agent, turns: Sequence[Turn]) -> list[dict[str, Any]]:
    """For each turn ``{"actions": [[text, probability, action], ...], "entropy": nats}``, likeliest first.

    A language model that plays its likeliest action is asked for the probabilities behind it. In games of words the
    actions are the messages that the game lists, numbered as in ``Turn.answers``. Of more than ``MOST`` actions the
    likeliest are kept; the entropy counts all.

    Raises:
        UsageError: the agent has no probabilities to give, or none in this game (free answers, talk).
    """
    policy = policy_of(agent)
    found: list[dict[str, Any]] = []
    for at in range(0, len(turns), BATCH):
        some = turns[at : at + BATCH]
        found += [_thought(turn, shares) for turn, shares in zip(some, policy(seeded(some)), strict=True)]
    return found


def _thought(turn: Turn, shares: NDArray[np.float64]) -> dict[str, Any]:
    """One turn's thought, from the probabilities of its actions."""
    legal = list(range(len(shares))) if isinstance(turn.game, TextGame) else turn.legal_actions
    given = np.array([shares[a] for a in legal])
    texts = turn.answers() or []
    order = np.argsort(-given, kind="stable")[:MOST]
    positive = given[given > 0]
    entropy = max(0.0, float(-(positive * np.log(positive)).sum()))
    actions = [[texts[k], round(float(given[k]), 6), int(legal[k])] for k in order]
    return {"actions": actions, "entropy": round(entropy, 6), "legal": len(legal)}


def value_of(game: Game) -> tuple[str, Value] | None:
    """The exact value of positions, and who says it; None where no solver knows it within seconds.

    ``minimax`` is the return of the seat to move under perfect play. Where information is hidden, ``equilibrium`` is
    its expected return, given what it knows, if all play the equilibrium.
    """
    if isinstance(game, TextGame) or game.info.simultaneous:
        return None
    try:
        return ("equilibrium", _expected(game)) if game.info.hidden else ("minimax", _perfect(game))
    except UsageError:
        return None


def _perfect(game: Game) -> Value:
    from .search.solver import solve

    solution = solve(game)

    def value(state: State, player: Player) -> float | None:
        try:
            return solution.value(state, 0)
        except StateError:  # a position that play from the start never reaches
            return None

    return value


def _expected(game: Game) -> Value:
    from .search.equilibrium import solve_hidden

    found = solve_hidden(game)
    tree, table = found.tree, found.table
    value = np.zeros((len(tree.movers), game.info.players))
    for level in reversed(tree.levels):
        value[level] = np.einsum("na,nap->np", table[tree.sets[level]], tree.ahead(value, level))
    reach = tree.reach(table)
    reach[np.arange(len(reach)), tree.movers] = 1.0  # a player's own choices say nothing about what the others hold
    weight = tree.chances * reach.prod(1)
    nodes = np.arange(len(tree.movers))
    total = np.bincount(tree.sets, weight, len(tree))
    summed = np.bincount(tree.sets, weight * value[nodes, tree.movers], len(tree))

    def expected(state: State, player: Player) -> float | None:
        try:
            at = tree.find(state, 0, player)
        except StateError:
            return None
        return float(summed[at] / total[at]) if total[at] > 0 else None

    return expected


def add_thoughts(
    frames: Sequence[dict[str, Any]],
    game: Game,
    record: GameRecord,
    thinkers: Mapping[Player, Thinker],
    cells: Callable[[State, Action], Sequence[int]],
) -> None:
    """Add to the frames of a played game what players think where they are to move.

    Args:
        frames: of the game's show; a frame gets the key ``thoughts``.
        game: the game.
        record: what was played.
        thinkers: whom to ask, by seat.
        cells: (one game, action) -> the cells that the action touches.

    Raises:
        UsageError: a player has no probabilities to give in this game.
    """
    turns: list[Turn] = []
    places: list[int] = []
    for k, (state, _, status) in enumerate(replay(game, record)):
        if status != RUNNING:
            break
        for seat in thinkers:
            mask = game.legal_mask(state, 0, seat)
            if mask.any():
                turns.append(Turn(game, state, 0, seat, mask, game.key(state, 0)))
                places.append(k)
    known = value_of(game)
    for seat, thinker in thinkers.items():
        mine = [n for n, turn in enumerate(turns) if turn.player == seat]
        asked = [turns[n] for n in mine]
        now = thoughts(thinker.agent, asked)
        before = [(name, thoughts(agent, asked)) for name, agent in thinker.earlier]
        for n, (turn, thought) in enumerate(zip(asked, now, strict=True)):
            touched = _cells(turn, thought, cells)
            thought = {"seat": seat, "who": thinker.who or record.players[seat], **_with(thought, touched)}
            if before:
                thought["earlier"] = [{"name": name, **_with(other[n], touched)} for name, other in before]
            if known is not None and (value := known[1](turn.state, seat)) is not None:
                thought |= {"value": round(value, 6), "value_of": known[0]}
            frames[places[mine[n]]].setdefault("thoughts", []).append(thought)


def _cells(
    turn: Turn, thought: dict[str, Any], cells: Callable[[State, Action], Sequence[int]]
) -> dict[int, list[int]]:
    """Action -> cells, for a board's legal actions."""
    if isinstance(turn.game, TextGame):
        return {}
    return {action: list(cells(turn.state, action)) for action in turn.legal_actions}


def _with(thought: dict[str, Any], touched: Mapping[int, list[int]]) -> dict[str, Any]:
    """A thought whose actions name their cells instead of their numbers."""
    actions = [[text, share, touched.get(action, [])] for text, share, action in thought["actions"]]
    return {**thought, "actions": actions}
