"""What a run looks like while it goes on: a live table on a terminal, plain lines elsewhere; curves, TensorBoard."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import MissingExtra
from ..evaluation.goal import POLICY
from ..evaluation.match import wilson

if TYPE_CHECKING:
    from ..loop import Trainer

__all__ = ["Display", "plain_line", "plot_curves"]

_SCALARS = (
    *("reward", "reward_std", "frac_reward_zero_std", "kept_groups", "win", "draw", "loss_share", "illegal"),
    *("loss", "entropy", "kl", "approx_kl", "grad_norm", "learning_rate", "cut_short", "stale"),
    *("clip_ratio/low_mean", "clip_ratio/high_mean", "clip_ratio/region_mean"),
    *("completions/mean_length", "step_time", "decisions_per_second"),
)


class Display:
    """Watches a run; see ``loop.Watcher``.

    Args:
        tensorboard: also write TensorBoard's event files into the run.
        live: a table that redraws itself; None asks the terminal.
        curves: draw ``curves.png`` at the end.
    """

    def __init__(self, *, tensorboard: bool = True, live: bool | None = None, curves: bool = True) -> None:
        try:
            from rich.console import Console
        except ImportError as error:
            raise MissingExtra("The live display", error.name or "rich", "train") from None
        self.console = Console()
        self.live_wanted = self.console.is_terminal if live is None else live
        self.tensorboard, self.curves = tensorboard, curves
        self._live: Any = None
        self._writer: Any = None
        self._trainer: Trainer | None = None
        self._evals: list[dict[str, Any]] = []

    def start(self, trainer: Trainer) -> None:
        """Show what begins, open the writers."""
        self._trainer = trainer
        config, loaded = trainer.config, trainer.policy.loaded
        run = trainer.run
        trained = sum(p[0].numel() for p in trainer.bank.parameters())
        self.console.print(
            f"[bold]{trainer.game.info.id}[/bold]  model {loaded.id}  "
            f"LoRA r {config.policy.lora_r} ({trained:,} weights a player)  "
            f"{config.policy.decode} decoding  scheme {config.scheme.scheme}  seed {config.seed}",
            soft_wrap=True,
        )
        if run is not None:
            at = f"going on at update {trainer.updates}" if trainer.updates else "Ctrl-C saves and stops"
            self.console.print(f"run [bold]{run.folder}[/bold]  {at}", soft_wrap=True)
        if self.tensorboard and run is not None:
            try:
                from torch.utils.tensorboard import SummaryWriter
            except ImportError as error:
                raise MissingExtra("TensorBoard's files", error.name or "tensorboard", "train") from None
            self._writer = SummaryWriter(str(run.folder / "tensorboard"), purge_step=trainer.updates)
        if self.live_wanted:
            from rich.live import Live

            self._live = Live(console=self.console, refresh_per_second=4)
            self._live.start()

    def update(self, row: Mapping[str, Any]) -> None:
        """Show a line of metrics."""
        if "eval" in row:
            self._evals = list(row["eval"])
        try:
            self._write(row)
        except OSError as error:  # a full disk must not cost the run its weights
            self._writer = None
            self.console.print(f"TensorBoard's files can't be written: {error.strerror}.", soft_wrap=True)
        for note in row.get("notes", ()):
            self.console.print(f"[yellow]{note}[/yellow]")
        if self._live is not None:
            self._live.update(self._table(row))
        elif "eval" in row:
            self.console.print(plain_line(row), highlight=False, soft_wrap=True)

    def stop(self) -> None:
        """Close the writers, draw the curves."""
        if self._live is not None:
            self._live.stop()
        run = self._trainer.run if self._trainer else None
        try:
            if self._writer is not None:
                self._writer.close()
            if self.curves and run is not None and run.metrics():
                plot_curves(run.metrics(), run.folder / "curves.png")
        except OSError as error:
            self.console.print(f"curves.png can't be drawn: {error.strerror}.", soft_wrap=True)

    def _write(self, row: Mapping[str, Any]) -> None:
        """One row for TensorBoard."""
        if self._writer is None:
            return
        for name in _SCALARS:
            if name in row:
                self._writer.add_scalar(name, row[name], row["update"])
        for e in row.get("eval", ()):
            for name in ("win", "draw", "loss", "solved", "sampled", "entropy", "exploitability", "reward"):
                if e.get(name) is not None:
                    whose = f"{name}_{e['player']}" if "player" in e else name
                    self._writer.add_scalar(f"eval_{_title(e)}/{whose}", e[name], row["update"])

    def _table(self, row: Mapping[str, Any]) -> Any:
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table

        assert self._trainer is not None
        budget = self._trainer.config.budget
        done = row["update"] + 1
        share = done / budget.updates
        if budget.minutes:
            share = max(share, row["elapsed"] / (60 * budget.minutes))
        left = row["elapsed"] * (1 - share) / max(share, 1e-9)
        head = Table.grid(padding=(0, 2))
        head.add_row(
            f"update {done}",
            ProgressBar(total=1.0, completed=min(1.0, share), width=30),
            f"{_clock(row['elapsed'])} gone",
            f"at most {_clock(left)} to go",
            f"{row['decisions_per_second']:.0f} decisions/s",
        )
        body = Table(box=None, padding=(0, 2))
        for name in ("", "won", "drawn", "lost", "games"):
            body.add_column(name, justify="left" if not name else "right")
        games = int(row["games"])
        body.add_row(
            "training (sampled)", *(_percent(row[n], games) for n in ("win", "draw", "loss_share")), str(games)
        )
        for e in self._evals:
            if "solved" in e:
                body.add_row(
                    f"{_title(e)}, held out (greedy)", _percent(e["solved"], e["games"]), "", "", str(e["games"])
                )
                continue
            if "player" in e:
                body.add_row(f"{e['player']}, held-out worlds", _earned(e), "", "", str(e["worlds"]))
                continue
            if "exploitability" in e:
                body.add_row("itself (sampled)", "", "", "", _exploitable(e))
                continue
            cells = (_percent(e[n], int(e["games"])) for n in ("win", "draw", "loss"))
            body.add_row(f"against {e['opponent']} (greedy)", *cells, str(e["games"]))
        foot = Table.grid(padding=(0, 2))
        foot.add_row(
            f"reward {row['reward']:+.3f}",
            f"illegal {row['illegal']:.1%}",
            f"entropy {row.get('entropy', math.nan):.3f}",
            f"KL {row.get('approx_kl', math.nan):.4f}",
            f"kept groups {row['kept_groups']:.0%}",
            f"clipped {row.get('clip_ratio/region_mean', 0.0):.1%}",
        )
        return Group(head, body, foot)


def plain_line(row: Mapping[str, Any]) -> str:
    """One evaluation in one line, for logs."""
    parts = [
        f"update {row['update'] + 1}", _clock(row["elapsed"]), f"reward {row['reward']:+.3f}",
        f"entropy {row.get('entropy', math.nan):.3f}", f"KL {row.get('approx_kl', math.nan):.4f}",
        f"illegal {row['illegal']:.1%}", f"kept {row['kept_groups']:.0%}",
        f"{row['decisions_per_second']:.0f} decisions/s",
    ]  # fmt: skip
    for e in row.get("eval", ()):
        if "solved" in e:
            start = "".join(
                f" (at the start {b['solved']:.1%})" for b in row.get("before", ()) if _title(b) == _title(e)
            )
            parts.append(f"{_title(e)} solved {_percent(e['solved'], e['games']).strip()}{start}")
        elif "player" in e:
            parts.append(f"{e['player']} {_earned(e)}")
        elif "exploitability" in e:
            parts.append(_exploitable(e))
        else:
            parts.append(f"vs {e['opponent']} {e['win']:.1%}/{e['draw']:.1%}/{e['loss']:.1%}")
    return "  ".join(parts)


def _title(row: Mapping[str, Any]) -> str:
    """Whom or what a row of an evaluation is about."""
    if "player" in row:
        return "worlds"
    if "curriculum" not in row:
        return str(row["opponent"] or POLICY)
    return str(row["curriculum"]) + (f" against {row['opponent']}" if row["opponent"] else "")


def _percent(share: float, games: int) -> str:
    low, high = wilson(round(share * games), games)
    return f"{share:6.1%} ±{50 * (high - low):.1f}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}:{rest:02d}"


def _exploitable(row: Mapping[str, Any]) -> str:
    known = row["exploitability"]
    return "exploitability unknown" if known is None else f"exploitability {known:.4f}"


def _earned(row: Mapping[str, Any]) -> str:
    low, high = row["reward_interval"]
    return f"reward {row['reward']:.2f} ({low:.2f} to {high:.2f})"


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
    names = list(dict.fromkeys(_title(e) for row in rows for e in row.get("eval", ())))
    figure = Figure(figsize=(4.5 * (len(names) + 1), 3.4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, len(names) + 1, squeeze=False)[0]
    for axis, name in zip(axes, names, strict=False):
        looked = [(row["elapsed"] / 60, e) for row in rows for e in row.get("eval", ()) if _title(e) == name]
        if "solved" in looked[0][1]:
            start = [(0.0, e) for row in rows for e in row.get("before", ()) if _title(e) == name]
            _plot_solved(axis, [*start, *looked], name)
            continue
        if "player" in looked[0][1]:
            start = [(0.0, e) for row in rows for e in row.get("before", ()) if "player" in e]
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
            bounds = [wilson(round(e[column] * e["games"]), int(e["games"])) for _, e in looked]
            axis.plot(minutes, shares, color=colour, label={"win": "won", "draw": "drawn", "loss": "lost"}[column])
            axis.fill_between(minutes, [b[0] for b in bounds], [b[1] for b in bounds], color=colour, alpha=0.15)
        axis.set(title=f"greedy, against {name}", xlabel="minutes", ylabel="share of games", ylim=(-0.02, 1.02))
        axis.legend(loc="center right")
    last = axes[-1]
    minutes = [row["elapsed"] / 60 for row in rows]
    last.plot(minutes, [row["reward"] for row in rows], color="#444444", label="reward (sampled)")
    last.plot(minutes, [row.get("entropy", math.nan) for row in rows], color="#c08a1e", label="entropy (nats)")
    last.set(title="training", xlabel="minutes")
    last.legend()
    for axis in axes:
        axis.grid(alpha=0.25)
    figure.savefig(path, dpi=110)
