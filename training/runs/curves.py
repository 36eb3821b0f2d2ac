"""A run's metrics as a picture: results by opponent, held-out positions or worlds, reward, entropy."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...errors import MissingExtra
from ..evaluation.goal import POLICY

__all__ = ["plot_curves", "title"]


def title(row: Mapping[str, Any]) -> str:
    """Whom or what a row of an evaluation is about."""
    if "worlds" in row:
        return "worlds"
    if "curriculum" not in row:
        return str(row["opponent"] or POLICY)
    return str(row["curriculum"]) + (f" against {row['opponent']}" if row["opponent"] else "")


def _plot_worlds(axis: Any, looked: Sequence[tuple[float, Mapping[str, Any]]]) -> None:
    """What an agent earns in held-out worlds, over minutes, by player."""
    names = list(dict.fromkeys(e["player"] for _, e in looked))
    for name, colour in zip(names, ("#2a7f3f", "#888888", "#b63b3b", "#3b6fb6") * len(names), strict=False):
        minutes = [m for m, e in looked if e["player"] == name]
        rows = [e for _, e in looked if e["player"] == name]
        bounds = [e["reward_interval"] for e in rows]
        axis.plot(minutes, [e["reward"] for e in rows], color=colour, label=name)
        axis.fill_between(minutes, [b[0] for b in bounds], [b[1] for b in bounds], color=colour, alpha=0.15)
    axis.set(title=f"{looked[0][1]['worlds']} held-out worlds", xlabel="minutes", ylabel="reward of an agent")
    axis.set_ylim(bottom=min(0.0, axis.get_ylim()[0]))
    axis.legend()


def _plot_players(axis: Any, looked: Sequence[tuple[float, Mapping[str, Any]]], name: str) -> None:
    """Several learners against one opponent, in one set of positions or by themselves: a line each, over minutes."""
    column = next(column for column in ("solved", "exploitability", "score") if column in looked[0][1])
    for player in dict.fromkeys(e["player"] for _, e in looked):
        known = [(m, e[column]) for m, e in looked if e["player"] == player and e[column] is not None]
        axis.plot([m for m, _ in known], [value for _, value in known], label=player)
    axis.set(title=name, xlabel="minutes", ylabel=column)
    axis.legend(fontsize="small")


def _plot_solved(axis: Any, looked: Sequence[tuple[float, Mapping[str, Any]]], name: str) -> None:
    """Share of held-out positions solved, over minutes."""
    minutes = [m for m, _ in looked]
    bounds = [e["solved_interval"] for _, e in looked]
    axis.plot(minutes, [e["solved"] for _, e in looked], color="#2a7f3f", label="likeliest answer")
    axis.fill_between(minutes, [b[0] for b in bounds], [b[1] for b in bounds], color="#2a7f3f", alpha=0.15)
    if all("sampled" in e for _, e in looked):
        axis.plot(minutes, [e["sampled"] for _, e in looked], color="#3b6fb6", label="sampled")
    axis.set(title=f"{name}, {looked[0][1]['games']} held out", xlabel="minutes", ylabel="share solved")
    axis.set_ylim(bottom=0.0)
    axis.legend(loc="upper left")


def plot_curves(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Draw a run's metrics: greedy results by opponent, reward and entropy, over updates and minutes.

    Args:
        rows: lines of metrics.jsonl.
        path: PNG to write.

    Raises:
        MissingExtra: matplotlib isn't installed.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("Curves", error.name or "matplotlib", "train") from None
    names = list(dict.fromkeys(title(e) for row in rows for e in row.get("eval", ())))
    figure = Figure(figsize=(4.5 * (len(names) + 2), 3.4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, len(names) + 2, squeeze=False)[0]
    for axis, name in zip(axes, names, strict=False):
        looked = [(row["elapsed"] / 60, e) for row in rows for e in row.get("eval", ()) if title(e) == name]
        if "player" in looked[0][1] and "worlds" not in looked[0][1]:
            _plot_players(axis, looked, name)
            continue
        if "solved" in looked[0][1]:
            start = [(0.0, e) for row in rows for e in row.get("before", ()) if title(e) == name]
            _plot_solved(axis, [*start, *looked], name)
            continue
        if "worlds" in looked[0][1]:
            start = [(0.0, e) for row in rows for e in row.get("before", ()) if "worlds" in e]
            _plot_worlds(axis, [*start, *looked])
            continue
        if "exploitability" in looked[0][1]:
            known = [(m, e["exploitability"]) for m, e in looked if e["exploitability"] is not None]
            axis.plot([m for m, _ in known], [value for _, value in known], color="#7a3fb6")
            axis.set(title="exploitability (sampled)", xlabel="minutes", ylabel="won of it by the best opponent")
            axis.set_ylim(bottom=0.0)
            continue
        minutes = [m for m, _ in looked]
        for column, colour in (("win", "#2a7f3f"), ("draw", "#3b6fb6"), ("loss", "#b63b3b")):
            shares = [e[column] for _, e in looked]
            bounds = [e[f"{column}_interval"] for _, e in looked]
            axis.plot(minutes, shares, color=colour, label={"win": "won", "draw": "drawn", "loss": "lost"}[column])
            axis.fill_between(minutes, [b[0] for b in bounds], [b[1] for b in bounds], color=colour, alpha=0.15)
        axis.set(title=f"greedy, against {name}", xlabel="minutes", ylabel="share of games", ylim=(-0.02, 1.02))
        axis.legend(loc="center right")
    minutes = [row["elapsed"] / 60 for row in rows]
    shown = (("reward", "#444444"), ("entropy", "#c08a1e"), ("explained_variance", "#3b6fb6"))
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
    figure.savefig(path, dpi=110)
