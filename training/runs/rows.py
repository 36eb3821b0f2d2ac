"""Lines of metrics.jsonl: the figures of an update, in all and for each learner."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..data.credit import Credit
from ..data.records import Rollout

__all__ = ["means", "summary"]


def summary(
    update: int, batch: Rollout, credit: Credit, stats: Mapping[str, Mapping[str, float]], seconds: tuple[float, float]
) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """The line of an update, and the figures of each player who learned in it.

    ``stats`` are those of the learner step, by player; ``seconds`` of the rollout and of the rest.
    """
    whose = np.array(batch.whose(), np.str_)
    players = {
        name: _played(batch, np.flatnonzero(whose == name), name) | _worth(credit, whose == name) | dict(shown)
        for name, shown in stats.items()
    }
    everything = np.arange(len(whose))
    row: dict[str, Any] = {
        "update": update,
        **_played(batch, everything, None),
        "games": len(batch.episodes),
        "decisions_played": batch.decisions,
        "kept_groups": credit.kept_groups,
        **_worth(credit, np.ones(len(whose), np.bool_)),
        "decisions_per_second": len(whose) / sum(seconds),
        "step_time": sum(seconds),
        "rollout_seconds": seconds[0],
        "learn_seconds": seconds[1],
        **means(stats),
    }
    return row, players


def _played(batch: Rollout, rows: Any, name: str | None) -> dict[str, Any]:
    """Results of a player's games, or of all learners' if ``name`` is None."""
    results = batch.learner_results(name)
    visits, games = [batch.visits[d] for d in rows.tolist()], max(1, len(results))
    return {
        "reward": float(results.sum()) / games,
        "reward_std": float(results.std(ddof=1)) if len(results) > 1 else 0.0,
        "win": float((results > 0).sum()) / games,
        "draw": float((results == 0).sum()) / games,
        "loss_share": float((results < 0).sum()) / games,
        "illegal": sum(v.action is None for v in visits) / max(1, len(visits)),
        "decisions": len(visits),
        "completions/mean_length": sum(len(v.tokens.completion) for v in visits) / max(1, len(visits)),
    }


def _worth(credit: Credit, rows: Any) -> dict[str, float]:
    return {"frac_reward_zero_std": float(1.0 - credit.keep[rows].mean()) if rows.any() else 0.0}


def means(stats: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Means over the learners; ``trained`` is summed."""
    names = dict.fromkeys(key for shown in stats.values() for key in shown)
    values = {key: [shown[key] for shown in stats.values() if key in shown] for key in names}
    return {key: float(sum(v) if key == "trained" else np.mean(v)) for key, v in values.items()}
