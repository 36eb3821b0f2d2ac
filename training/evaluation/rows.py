"""Rows of evaluations as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["in_words"]


def in_words(row: Mapping[str, Any]) -> str:
    """A row of ``evaluate``, ``solve_held_out`` or ``compare_worlds`` as text, with its player if it has one."""
    if "player" in row and "worlds" not in row:
        return f"{row['player']}: {in_words({name: value for name, value in row.items() if name != 'player'})}"
    if "worlds" in row:
        parts = [f"{row['player']}, {row['worlds']} held-out world{'s' * (row['worlds'] > 1)}, {row['ticks']} ticks:"]
        interval = row["reward_interval"]  # None for few worlds
        told = f" ({interval[0]:.3f} to {interval[1]:.3f})" if interval else ""
        parts.append(f"reward of an agent {row['reward']:.3f}{told}")
        parts += [f"{share:.1%} of {name}'s{_percent(span)}" for name, (share, *span) in row["share"].items()]
        return "  ".join([*parts, f"illegal {row['illegal']:.1%}"])
    if "curriculum" in row:
        against = f" against {row['opponent']}" if row["opponent"] else ""
        parts = [f"{row['curriculum']}, {row['games']} held-out positions{against}: "]
        parts.append(f"solved {row['solved']:.1%}{_percent(row['solved_interval'])}")
        if "sampled" in row:
            parts.append(f"when it samples {row['sampled']:.1%}  entropy {row['entropy']:.1%} of a uniform choice's")
        return "  ".join([*parts, f"illegal {row['illegal']:.1%}"])
    if row["opponent"] is None:
        who = "the mixture" if row.get("policy") == "mixture" else "the policy itself"
        if row["exploitability"] is None:
            return f"{who}: {row['why']}"
        if row["optimal_share"] is None:
            return (
                f"{who}: exploitability {row['exploitability']:.4f} (0 is perfect play) over all "
                f"{row['positions']} information sets"
            )
        return (
            f"the policy itself: exploitability {row['exploitability']:.4f} (0 is perfect play); an optimal move in "
            f"{row['optimal_share']:.1%} of all {row['positions']} positions, in {row['optimal_share_on_path']:.1%} of "
            "those that its own play leads to"
        )
    parts = [f"against {row['opponent']}, {row['games']} games, {row['distinct']} different:"]
    for words, name in (("won", "win"), ("drawn", "draw"), ("lost", "loss")):
        parts.append(f"{words} {row[name]:.1%}{_percent(row[f'{name}_interval'])}")
    low, high = row["score_interval"]
    parts.append(f"score {row['score']:+.3f} ({low:+.3f} to {high:+.3f})")
    return "  ".join([*parts, f"illegal {row['illegal']:.1%}"])


def _percent(interval: Sequence[float | None]) -> str:
    """An interval of shares in percent; empty if there is none."""
    low, high = interval
    return "" if low is None or high is None else f" ({100 * low:.1f} to {100 * high:.1f})"
