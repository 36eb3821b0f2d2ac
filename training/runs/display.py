"""Shows a run in progress: a live table on a terminal, plain lines elsewhere; curves, trackers."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

from ...errors import RunError, needs
from ..evaluation.intervals import wilson
from .curves import plot_curves, title
from .net_config import NetConfig
from .outcome import Watched, Watcher
from .trackers import Tracker, make_tracker, scalars

__all__ = ["Display", "Lines", "plain_line", "plot_curves", "watched"]


MOST_ROWS = 12
"""The most learners that the live table lists one by one."""


class Lines:
    """Prints one line per update, unbuffered; see ``outcome.Watcher``."""

    def start(self, trainer: Watched) -> None:
        """Print the headline."""
        for line in _headlines(trainer):
            print(line, flush=True)

    def update(self, row: Mapping[str, Any]) -> None:
        """Print a line of metrics."""
        for line in (*row.get("notes", ()), plain_line(row)):
            print(line, flush=True)

    def stop(self) -> None:
        """Do nothing: nothing is open."""


class Display:
    """Watches a run; see ``outcome.Watcher``.

    Args:
        report_to: also logs the metrics to tensorboard (files in the run) or wandb, or none.
        live: show a live table, otherwise one line per update; None: live on a terminal.
        curves: plot ``curves.png`` at the end.
    """

    def __init__(self, *, report_to: str = "tensorboard", live: bool | None = None, curves: bool = True) -> None:
        with needs("The live display", "train"):
            from rich.console import Console
        self.console = Console()
        self.live_wanted = self.console.is_terminal if live is None else live
        self.report_to, self.curves = report_to, curves
        self._live: Any = None
        self._tracker: Tracker | None = None
        self._trainer: Watched | None = None
        self._evals: list[dict[str, Any]] = []

    def start(self, trainer: Watched) -> None:
        """Show the headline, open the tracker."""
        self._trainer = trainer
        for line in _headlines(trainer):
            self._print(line)
        if trainer.run is not None:
            try:
                self._tracker = make_tracker(self.report_to, trainer.run.folder, trainer.config, trainer.updates)
            except OSError as error:  # the run goes on without
                self._print(f"The files of {self.report_to} can't be written: {error.strerror or error}.")
        if self.live_wanted:
            from rich.live import Live

            self._live = Live(console=self.console, refresh_per_second=4)
            self._live.start()

    def update(self, row: Mapping[str, Any]) -> None:
        """Show a line of metrics."""
        if "eval" in row:
            self._evals = list(row["eval"])
        if self._tracker is not None:
            try:
                self._tracker.log(scalars(row), row["update"])
            except OSError as error:  # a full disk must not cost the run its weights
                self._tracker = None
                self._print(f"The files of {self.report_to} can't be written: {error.strerror or error}.")
        for note in row.get("notes", ()):
            self._print(note)
        if self._live is not None:
            self._live.update(self._table(row))
        else:
            self._print(plain_line(row))

    def stop(self) -> None:
        """Close the tracker, plot the curves."""
        if self._live is not None:
            self._live.stop()
        run = self._trainer.run if self._trainer else None
        try:
            if self._tracker is not None:
                self._tracker.finish()
            if self.curves and run is not None and run.metrics():
                plot_curves(run.metrics(), run.folder / "curves.png")
        except OSError as error:
            self._print(f"curves.png can't be written: {error.strerror or error}.")
        except RunError as error:
            self._print(f"curves.png isn't written. {error}")

    def _print(self, line: str) -> None:
        self.console.print(line, highlight=False, markup=False, soft_wrap=True)
        self.console.file.flush()

    def _table(self, row: Mapping[str, Any]) -> Any:
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table

        assert self._trainer is not None
        config = self._trainer.config
        budget = config if isinstance(config, NetConfig) else config.budget
        done = row["update"] + 1
        share = done / budget.updates
        if budget.minutes:
            share = max(share, row["elapsed"] / (60 * budget.minutes))
        left = row["elapsed"] * (1 - share) / max(share, 1e-9)
        head = Table.grid(padding=(0, 2))
        head.add_row(
            f"update {done}",
            ProgressBar(total=1.0, completed=min(1.0, share), width=30),
            f"{_clock(row['elapsed'])} elapsed",
            f"at most {_clock(left)} to go",
            _rate(row),
        )
        body = Table(box=None, padding=(0, 2))
        for name in ("", "won", "drawn", "lost", "games"):
            body.add_column(name, justify="left" if not name else "right")
        if "games" in row:
            games = int(row["games"])
            won = (row[n] for n in ("win", "draw", "loss_share"))
            shares = (_percent(share, wilson(round(share * games), games)) for share in won)
            body.add_row("training (sampled)", *shares, str(games))
        learners = row.get("players", {})
        for name, own in list(learners.items())[:MOST_ROWS]:
            body.add_row(f"  {name}", *(f"{own[n]:6.1%}" for n in ("win", "draw", "loss_share") if n in own))
        if len(learners) > MOST_ROWS:
            body.add_row(f"  and {len(learners) - MOST_ROWS} more learners")
        for e in self._evals:
            whose = f"{e['player']} " if "player" in e else ""
            if "figures" in e:
                body.add_row("held out (sampled)", _held_out(e), "", "", str(e["episodes"]))
            elif "worlds" in e:
                body.add_row(f"{e['player']}, held-out worlds", _earned(e), "", "", str(e["worlds"]))
            elif "solved" in e:
                solved = _percent(e["solved"], e["solved_interval"])
                body.add_row(f"{whose}{title(e)}, held out (greedy)", solved, "", "", str(e["games"]))
            elif "exploitability" in e:
                body.add_row(f"{whose or 'itself '}(sampled)", "", "", "", _exploitable(e))
            else:
                cells = (_percent(e[n], e[f"{n}_interval"]) for n in ("win", "draw", "loss"))
                body.add_row(f"{whose}against {e['opponent']} (greedy)", *cells, str(e["games"]))
        foot = Table.grid(padding=(0, 2))
        foot.add_row(*_figures(row))
        return Group(head, body, foot, *([_mixture(row)] if "mixture" in row else []))


@contextlib.contextmanager
def watched(
    trainer: Watched, watcher: Watcher | Literal["lines"] | None
) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """Yields the function to call with every line of metrics; "lines" prints it, None is silent."""
    watcher = Lines() if watcher == "lines" else watcher
    if watcher is None:
        yield lambda row: None
        return
    watcher.start(trainer)
    try:
        yield watcher.update
    finally:
        watcher.stop()


def _headlines(trainer: Watched) -> list[str]:
    """The trainer's headline, and the run's folder."""
    if trainer.run is None:
        return [trainer.headline()]
    at = f"continues at update {trainer.updates}" if trainer.updates else "Ctrl-C saves and stops"
    return [trainer.headline(), f"run {trainer.run.folder}  {at}"]


_FIGURES = {
    "illegal": ("illegal", ".1%"),
    "entropy": ("entropy", ".3f"),
    "approx_kl": ("KL", ".4f"),
    "kept_groups": ("kept groups", ".0%"),
    "clip_ratio/region_mean": ("clipped", ".1%"),
}
"""Metric to show if present -> (label, format)."""


def _figures(row: Mapping[str, Any]) -> list[str]:
    digits = "+.3f" if "decisions_per_second" in row else ".5f"  # per game or episode, or per agent and tick
    known = (f"{word} {row[name]:{form}}" for name, (word, form) in _FIGURES.items() if name in row)
    own = (f"{name} {value:.3f}" for name, value in row.get("task", {}).items())
    return [f"reward {row['reward']:{digits}}", *own, *known]


def _rate(row: Mapping[str, Any]) -> str:
    what = "decisions" if "decisions_per_second" in row else "steps"
    return f"{row[f'{what}_per_second']:.0f} {what}/s"


def plain_line(row: Mapping[str, Any]) -> str:
    """An update in one line, for logs."""
    parts = [f"update {row['update'] + 1}", _clock(row["elapsed"]), *_figures(row), _rate(row)]
    if "mixture" in row and "eval" in row:
        parts.append(_mixture(row))
    for e in row.get("eval", ()):
        whose = f"{e['player']} " if "player" in e else ""
        if "figures" in e:
            parts.append(f"held out: {_held_out(e)}")
        elif "solved" in e:
            start = "".join(f" (at the start {b['solved']:.1%})" for b in row.get("before", ()) if _same(b, e))
            parts.append(f"{whose}{title(e)} solved {_percent(e['solved'], e['solved_interval']).strip()}{start}")
        elif "worlds" in e:
            parts.append(f"{whose}{_earned(e)}")
        elif "exploitability" in e:
            parts.append(f"{whose}{_exploitable(e)}")
        else:
            parts.append(f"{whose}vs {e['opponent']} {e['win']:.1%}/{e['draw']:.1%}/{e['loss']:.1%}")
    return "  ".join(parts)


def _mixture(row: Mapping[str, Any]) -> str:
    """The players with the largest shares of a scheme's mixture."""
    shares = sorted(row["mixture"].items(), key=lambda item: -item[1])
    return "mixture: " + ", ".join(f"{name} {share:.0%}" for name, share in shares[:5] if share >= 0.01)


def _same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two rows of evaluations have the same subject."""
    return title(one) == title(other) and one.get("player") == other.get("player")


def _percent(share: float, interval: Sequence[float]) -> str:
    low, high = interval
    return f"{share:6.1%} ±{50 * (high - low):.1f}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}:{rest:02d}"


def _held_out(row: Mapping[str, Any]) -> str:
    failed = f"  {row['failed']} of {row['episodes']} failed" if row["failed"] else ""
    return "  ".join([f"reward {row['reward']:+.3f}", *(f"{n} {v:.3f}" for n, v in row["figures"].items())]) + failed


def _exploitable(row: Mapping[str, Any]) -> str:
    known = row["exploitability"]
    return "exploitability unknown" if known is None else f"exploitability {known:.4f}"


def _earned(row: Mapping[str, Any]) -> str:
    interval = row["reward_interval"]  # None for few worlds
    return f"reward {row['reward']:.2f}" + (f" ({interval[0]:.2f} to {interval[1]:.2f})" if interval else "")
