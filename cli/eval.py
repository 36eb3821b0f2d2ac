"""``coterie eval``: how good a player is."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from ..envs.arguments import wanted
from ..envs.registry import make_game, spec
from ..errors import UsageError
from . import tournament
from .arguments import Eval, parse
from .play import read_run

if TYPE_CHECKING:
    from ..agents.core import Agent
    from ..envs.core import Game

__all__ = ["run"]


# Longer than most: what goes together is checked before anything is played.
def run(words: list[str]) -> int:
    """Run the command; returns the exit code: 1 where a goal was missed.

    Raises:
        CoterieError: no such player, game or measure, or arguments that do not go together.
    """
    asked: Eval = parse(Eval, "eval", words)
    if asked.matrix:
        return _matrix(asked)
    if asked.others:
        raise UsageError(
            f"{' '.join(asked.others)}: coterie eval measures {asked.run} alone. Add --matrix to let all play each "
            f"other, or name opponents: --vs {' '.join(asked.others)}"
        )
    from ..training.evaluation.goal import Goal
    from ..training.evaluation.held_out import solve_held_out
    from ..training.evaluation.match import evaluate
    from ..training.evaluation.rows import in_words
    from ..training.runs.config import TaskConfig, config_of, preset
    from ..training.runs.players import learners, make_player

    if asked.games < 0:
        raise UsageError(f"--games is {asked.games}; it must be 0 (the default number of games) or more.")
    trained = config_of(asked.run)
    if trained is None and not asked.game:
        raise UsageError(
            f"{asked.run} is not a run folder. For any other player name the game too, e.g.: "
            "coterie eval minimax --game tictactoe"
        )
    measured = learners(asked.run, trained)
    if isinstance(trained, TaskConfig):
        from ..training.episodes.playing import as_game, players_of

        measured, trained = players_of(asked.run, trained), as_game(trained)
    played = asked.game or (trained.game if trained else "")
    own = trained is not None and spec(trained.game).name == spec(played).name
    arguments = wanted(played, asked.set, asked.preset, trained.game_arguments if trained and own else None)
    game = make_game(played, **arguments)
    worlds = game.info.is_world
    if asked.games == 1 and not worlds:
        raise UsageError("--games is 1; it must be at least 2, one from either seat.")
    if asked.opening_plies is not None and (asked.opening_plies < 0 or worlds or asked.curriculum):
        raise UsageError("--opening-plies must be 0 or more, and is only for matches, not for worlds or curricula.")
    if (asked.ticks or asked.save) and not worlds:
        flag = "ticks" if asked.ticks else "save"
        raise UsageError(f"--{flag} is only for worlds that many agents share; {game.info.id} is played to its end.")
    agents = {name: make_player(name, game, greedy=not asked.sample and not worlds, read=read_run) for name in measured}
    rollout = getattr(trained, "rollout", None)  # nets have none
    curriculum = asked.curriculum or (rollout.curriculum if rollout and not asked.vs else "")
    names = asked.vs or tuple(n for n in preset(game.info.name, curriculum).budget.eval_vs.split(",") if n)
    goal = Goal.parse(asked.goal)
    goal.check(names, curriculum, exact=True)
    opponents = {name: make_player(name, game, greedy=not worlds, read=read_run) for name in names}
    games = asked.games or (32 if worlds else 1000)
    rows = _worlds(game, {**agents, **opponents}, games, asked) if worlds and not curriculum else []
    for name, agent in agents.items() if curriculum or not worlds else ():
        if curriculum:
            found = solve_held_out(game, agent, opponents, curriculum, games, asked.seed)
        else:
            more: Any = {"limit": asked.limit, "opening_plies": asked.opening_plies}
            found = evaluate(game, agent, opponents, games, asked.seed, **more)
        rows += [{"player": name, **row} for row in found] if len(agents) > 1 else found
    for row in rows:
        print(json.dumps(row) if asked.json else in_words(row), flush=True)
    if not goal.terms:
        return 0
    reached = goal.reached(rows)
    verdict = f"reached: {goal.shown(rows)}" if reached else f"missed: {goal.missed(rows)}"
    # On stderr where a program reads the rows.
    print(f"The goal is {verdict}.", file=sys.stderr if asked.json else sys.stdout, flush=True)
    return 0 if reached else 1


def _matrix(asked: Eval) -> int:
    """All against all: ``coterie tournament`` with the options that both have."""
    from ..training.runs.tournament import Tournament

    own = ("game", "opening_plies", "seed", "sample", "set", "preset")
    usual = Eval(asked.run)
    for name in ("vs", "ticks", "save", "curriculum", "goal"):
        if getattr(asked, name) != getattr(usual, name):
            raise UsageError(f"--{name} has no meaning with --matrix, in which all players play each other; remove it.")
    given = {name: getattr(asked, name) for name in own}
    return tournament.show(Tournament((asked.run, *asked.others), games=asked.games or 200, **given), asked.json)


def _worlds(game: Game, agents: dict[str, Agent], worlds: int, asked: Eval) -> list[dict[str, Any]]:
    """Measure every player in the same held-out worlds, with progress on a terminal."""
    from ..training.evaluation.worlds import compare_worlds

    last = min(asked.ticks or game.info.max_cycles, game.info.max_cycles)
    shown = sys.stderr.isatty()

    def progress(name: str, tick: int) -> None:
        if tick % max(1, last // 100) == 0 or tick == last:
            print(f"\r\x1b[K{name}: tick {tick:,} of {last:,}", end="", file=sys.stderr, flush=True)

    rows = compare_worlds(
        game,
        agents,
        worlds,
        asked.seed,
        max_steps=asked.ticks or None,
        progress=progress if shown else None,
        save=asked.save,
    )
    if shown:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
    return rows
