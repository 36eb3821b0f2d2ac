"""A run's metrics as a picture: results by opponent, held-out positions or worlds, tasks, reward, entropy."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from ...errors import RunError, needs
from ..evaluation.goal import POLICY

__all__ = ["plot_curves", "title"]


def title(row: Mapping[str, Any]) -> str:
    """The subject of a row of an evaluation: worlds, a curriculum, an opponent, or the policy itself."""
    if "worlds" in row:
        return "worlds"
    if "figures" in row:
        return "held_out"
    if "curriculum" not in row:
        return str(row["opponent"] or POLICY)
    return str(row["curriculum"]) + (f" against {row['opponent']}" if row["opponent"] else "")


Looked: TypeAlias = Sequence[tuple[float, Mapping[str, Any]]]
"""Pairs of minutes and a row of an evaluation."""

SUBJECTS = 24
"""Most subjects of evaluations that are drawn."""

FIGURES = 6
"""Most figures of a task that are drawn, such as a pass rate."""

GREEN, BLUE, RED = "#2a7f3f", "#3b6fb6", "#b63b3b"


def _line(axis: Any, looked: Looked, column: str, label: str = "", colour: str | None = None) -> None:
    """Plot the known values of one column over minutes, with their intervals if they have any."""
    known = [(m, e[column], e.get(f"{column}_interval") or [e[column]] * 2) for m, e in looked if e[column] is not None]
    minutes = [m for m, _, _ in known]
    axis.plot(minutes, [value for _, value, _ in known], color=colour, label=label)
    if colour is not None:
        bounds = [bound for _, _, bound in known]
        axis.fill_between(minutes, [low for low, _ in bounds], [high for _, high in bounds], color=colour, alpha=0.15)


def _plot_worlds(axis: Any, looked: Looked) -> None:
    """Plot the mean reward of an agent in held-out worlds, by player."""
    names = list(dict.fromkeys(e["player"] for _, e in looked))
    for name, colour in zip(names, (GREEN, "#888888", RED, BLUE) * len(names), strict=False):
        _line(axis, [(m, e) for m, e in looked if e["player"] == name], "reward", name, colour)
    axis.set(title=f"{looked[0][1]['worlds']} held-out worlds", xlabel="minutes", ylabel="reward of an agent")
    axis.set_ylim(bottom=min(0.0, axis.get_ylim()[0]))
    axis.legend()


def _plot_players(axis: Any, looked: Looked, name: str) -> None:
    """Plot several learners, a line each: against one opponent, on held-out positions, or their exploitability."""
    column = next(column for column in ("solved", "exploitability", "score") if column in looked[0][1])
    for player in dict.fromkeys(e["player"] for _, e in looked):
        _line(axis, [(m, e) for m, e in looked if e["player"] == player], column, player)
    axis.set(title=name, xlabel="minutes", ylabel=column)
    axis.legend(fontsize="small")


def _plot_solved(axis: Any, looked: Looked, name: str) -> None:
    """Plot the share of held-out positions solved."""
    _line(axis, looked, "solved", "likeliest answer", GREEN)
    if all("sampled" in e for _, e in looked):
        _line(axis, looked, "sampled", "sampled", BLUE)
    axis.set(title=f"{name}, {looked[0][1]['games']} held out", xlabel="minutes", ylabel="share solved")
    axis.set_ylim(bottom=0.0)
    axis.legend(loc="upper left")


def _plot_exploitability(axis: Any, looked: Looked) -> None:
    _line(axis, looked, "exploitability", colour="#7a3fb6")
    axis.set(title="exploitability (sampled)", xlabel="minutes", ylabel="gain of the best opponent")
    axis.set_ylim(bottom=0.0)


def _plot_games(axis: Any, looked: Looked, name: str) -> None:
    for column, label, colour in (("win", "won", GREEN), ("draw", "drawn", BLUE), ("loss", "lost", RED)):
        _line(axis, looked, column, label, colour)
    axis.set(title=f"greedy, against {name}", xlabel="minutes", ylabel="share of games", ylim=(-0.02, 1.02))
    axis.legend(loc="center right")


def _plot_held_out(axis: Any, known: Sequence[tuple[float, float | None]]) -> None:
    """Plot what roles reached on held-out requests, as points beside the line of training."""
    points = [(minutes, value) for minutes, value in known if value is not None]
    if points:
        axis.plot(*zip(*points, strict=True), color=BLUE, marker="o", markersize=3, label="held out")
        axis.legend()


def plot_curves(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Plot a run's metrics over minutes: evaluations by subject, reward and entropy.

    Args:
        rows: lines of metrics.jsonl.
        path: PNG to write.

    Raises:
        MissingExtra: matplotlib isn't installed.
        RunError: the metrics can't be drawn, as none that a run writes.
        OSError: the file can't be written.
    """
    with needs("Curves", "train"):
        import matplotlib.figure  # noqa: F401
    try:
        figure = _figure(rows)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise RunError(f"These metrics can't be drawn: {type(error).__name__}, {error}.") from None
    figure.savefig(path, dpi=110)


def _figure(rows: Sequence[Mapping[str, Any]]) -> Any:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    found = [(row["elapsed"] / 60, e) for row in rows for e in row.get("eval", ())]
    held_out = [(minutes, e) for minutes, e in found if "figures" in e]
    names = list(dict.fromkeys(title(e) for _, e in found if "figures" not in e))[:SUBJECTS]
    own = list(dict.fromkeys(name for row in rows for name in row.get("task", {}) if "/" not in name))[:FIGURES]
    panels = len(names) + len(own) + 2
    figure = Figure(figsize=(4.5 * panels, 3.4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, panels, squeeze=False)[0]
    for axis, name in zip(axes, names, strict=False):
        looked = [(minutes, e) for minutes, e in found if title(e) == name]
        first = looked[0][1]
        start = [(0.0, e) for row in rows for e in row.get("before", ()) if title(e) == name]
        if "worlds" in first:
            _plot_worlds(axis, [*start, *looked])
        elif "player" in first:
            _plot_players(axis, looked, name)
        elif "solved" in first:
            _plot_solved(axis, [*start, *looked], name)
        elif "exploitability" in first:
            _plot_exploitability(axis, looked)
        else:
            _plot_games(axis, looked, name)
    minutes = [row["elapsed"] / 60 for row in rows]
    for axis, name in zip(axes[len(names) :], own, strict=False):
        axis.plot(minutes, [row.get("task", {}).get(name, math.nan) for row in rows], color=GREEN)
        axis.set(title=name.replace("_", " "), xlabel="minutes")
        _plot_held_out(axis, [(at, e["figures"].get(name)) for at, e in held_out])
    _plot_held_out(axes[-2], [(at, e.get("reward")) for at, e in held_out])
    shown = (("reward", "#444444"), ("entropy", "#c08a1e"), ("explained_variance", BLUE))
    for name, colour in shown:
        if any(name in row for row in rows):
            axis = axes[-2 if name == "reward" else -1]
            axis.plot(minutes, [row.get(name, math.nan) for row in rows], color=colour, label=name.replace("_", " "))
    for axis, name in zip(axes[-2:], ("reward while training", "policy while training"), strict=True):
        axis.set(title=name, xlabel="minutes")
        if axis.lines:
            axis.legend()
    for axis in axes:
        axis.grid(alpha=0.25)
    return figure
