"""A tournament as a page, as pictures and as text, from its results as plain data.

The page is one file without links to others: it opens from anywhere, follows the reader's light or dark setting, fits a
phone, and says in words and numbers what its colours show.
"""

from __future__ import annotations

import html
import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from ...envs.atomic import write_atomically
from ...errors import needs

__all__ = ["in_text", "page", "write_pages"]

Results: TypeAlias = Mapping[str, Any]

WON, LOST = (59, 111, 182), (200, 115, 30)
"""Blue and orange, which few people confuse."""

INK = "#123457"
"""Replaced in pictures of the page by the colour of its text."""

MOST = 12
"""Payoffs of more players are not printed in the terminal."""

LONGEST = 24
"""Characters of a name in a picture."""

STYLE = """
:root { color-scheme: light dark; --ink: #1c2330; --soft: #5b6575; --line: #d5dae2; --page: #fff; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ee; --soft: #a3adbc; --line: #3a4250; --page: #14181f; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 70rem; font: 16px/1.5 system-ui, sans-serif; color: var(--ink);
  background: var(--page); }
h1 { font-size: 1.5rem; line-height: 1.2; } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
p { max-width: 44rem; } .soft, small { color: var(--soft); }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
caption { position: sticky; left: 0; text-align: left; color: var(--soft); padding-bottom: .4rem; }
caption span { display: block; width: min(44rem, 100vw - 2rem); }
th, td { padding: .35rem .7rem; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--line); }
thead th { vertical-align: bottom; white-space: normal; min-width: 4.5rem; }
thead th:first-child { min-width: 0; }
thead small { font-weight: normal; display: block; } tbody th, .name { text-align: left; } td small { display: block; }
.heat td { text-align: center; min-width: 4.2rem; }
.heat small { color: inherit; }
.heat tbody th { position: sticky; left: 0; background: var(--page); }
figure { margin: 0; max-width: 34rem; } figure svg { width: 100%; height: auto; }
"""

COLUMNS = (
    ("Elo", "elo", "{:+.0f}", "0 is the mean"),
    ("OpenSkill", "openskill", "{:.1f}", "mu and two sigma"),
    ("Nash", "nash", "{:.2f}", "weight in Nash averaging"),
    ("against it", "against_nash", "{:+.3f}", "payoff against the Nash mixture"),
    ("alpha-rank", "alpha_rank", "{:.3f}", "share of the time"),
    ("points", "points", "{:.1%}", "a draw is half a point"),
    ("return", "score", "{:+.3f}", "mean of a game"),
    ("exploitability", "exploitability", "{:.4f}", "exact; 0 is perfect play"),
)
"""Heading, field, format, meaning; ``FIELD_interval`` is shown below, if there is one."""

EVEN = ("elo", "openskill")
"""Fields whose intervals reach as far to either side."""


def _shown(row: Results, field: str, form: str) -> tuple[str, str]:
    """A figure and its interval as text; empty where there is none."""
    value, interval = row.get(field), row.get(f"{field}_interval")
    if value is None:
        return "", ""
    if not interval:
        return form.format(value), ""
    if field in EVEN:
        return form.format(value), "+-" + form.replace("+", "").format((interval[1] - interval[0]) / 2)
    return form.format(value), "-".join(form.format(end) for end in interval)


def _joined(value: str, span: str) -> str:
    """A figure and its interval in one cell."""
    return f"{value} {span}" if span.startswith("+-") else f"{value} ({span})" if span else value


def _columns(results: Results) -> list[tuple[str, str, str, str]]:
    """The columns that some player has a figure for."""
    return [column for column in COLUMNS if any(row.get(column[1]) is not None for row in results["players"])]


def _sentences(results: Results) -> list[str]:
    """What the figures mean for this table."""
    told = []
    if results["parts"] is None:
        told.append("Not every pair has met, so only Elo and OpenSkill are known: the other ratings need all payoffs.")
    elif len(results["players"]) > 2:
        parts = results["parts"]
        told.append(
            f"{parts['share']:.1%} of the payoff (squares) fits no rating of one number per player; "
            f"chance alone would make that {parts['noise']:.1%}."
        )
    found = results["cycles"]
    for three in found[:3]:
        told.append(f"A cycle: {' beats '.join([*three, three[0]])}.")
    if results["parts"] is not None and len(results["players"]) > 2 and not found:
        told.append("No three players clearly beat each other in a circle.")
    if len(found) > 3:
        told.append(f"In all, there are {len(found)} such cycles of three.")
    if results["misfit"] > max(0.05, 2 * results["misfit_noise"]):
        told.append(
            f"Elo misses the points of a pair by {results['misfit']:.0%} on average (chance alone: "
            f"{results['misfit_noise']:.0%}): read the payoffs, not the order of the ratings."
        )
    return told


def _headline(results: Results) -> str:
    pairs, games = len(results["meetings"]), results["games"]
    return (
        f"{results['game']}: {len(results['players'])} players, {pairs} pair{'s' * (pairs != 1)} of up to {games:,} "
        f"games, seed {results['seed']}"
    )


def in_text(results: Results) -> str:
    """The leaderboard and, for up to 12 players, the payoffs, as text for a terminal."""
    columns = _columns(results)
    lines = [["", "player", *(heading for heading, *_ in columns)]]
    for rank, row in enumerate(results["players"], 1):
        cells = [_shown(row, field, form) for _, field, form, _ in columns]
        lines.append([str(rank), row["player"], *(_joined(value, span) for value, span in cells)])
    blocks = [_headline(results), _aligned(lines)]
    if len(results["players"]) <= MOST:
        lines = [["", "payoff of", *(f"{k}" for k in range(1, len(results["players"]) + 1))]]
        for rank, row in enumerate(results["payoff"], 1):
            name = results["players"][rank - 1]["player"]
            lines.append([str(rank), name, *("-" if v is None else f"{v:+.3f}" for v in row)])
        blocks.append(_aligned(lines))
    return "\n\n".join([*blocks, "\n".join(_sentences(results))])


def _aligned(lines: Sequence[Sequence[str]]) -> str:
    """Columns, the first two to the left."""
    widths = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
    return "\n".join(
        "  ".join(
            c.ljust(w) if k == 1 else c.rjust(w) for k, (c, w) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def page(results: Results) -> str:
    """The tournament as one HTML file."""
    title = html.escape(_headline(results))
    told = "".join(f"<p>{html.escape(line)}</p>" for line in _sentences(results))
    whys = {row["why"] for row in results["players"] if row.get("why")}
    why = "".join(f'<p class="soft">No exact figure: {html.escape(text)}</p>' for text in sorted(whys))
    figures = "".join(
        f'<h2>{heading}</h2><figure role="img" aria-label="{label}">{_svg(figure, heading)}</figure>'
        f'<p class="soft">{label}</p>'
        for heading, label, figure in _figures(results)
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{STYLE}</style></head><body><main><h1>{title}</h1>{told}"
        f"<h2>Leaderboard</h2>{_leaderboard(results)}{why}<h2>Who beats whom</h2>{_heat(results)}{figures}"
        f"</main></body></html>\n"
    )


def _leaderboard(results: Results) -> str:
    columns, plus_minus = _columns(results), "± "
    head = "".join(f'<th scope="col">{heading}<small>{meaning}</small></th>' for heading, _, _, meaning in columns)
    rows = []
    for rank, row in enumerate(results["players"], 1):
        cells = [_shown(row, field, form) for _, field, form, _ in columns]
        small = [f"<small>{span.replace('+-', plus_minus)}</small>" if span else "" for _, span in cells]
        told = "".join(f"<td>{value}{below}</td>" for (value, _), below in zip(cells, small, strict=True))
        rows.append(f'<tr><td>{rank}</td><th scope="row">{html.escape(row["player"])}</th>{told}</tr>')
    head = f'<th scope="col">#</th><th scope="col" class="name">player</th>{head}'
    return _wide("Leaderboard", "By Elo. Small print: 95 % intervals.", head, rows)


def _wide(name: str, caption: str, head: str, rows: Sequence[str], kind: str = "") -> str:
    """A table that scrolls within itself where it is wider than the page."""
    return (
        f'<div class="wide" role="region" aria-label="{name}" tabindex="0"><table class="{kind}">'
        f"<caption><span>{caption}</span></caption><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _heat(results: Results) -> str:
    """The payoffs as a table whose cells are coloured."""
    payoff, names = results["payoff"], [html.escape(row["player"]) for row in results["players"]]
    most = max((abs(v) for row in payoff for v in row if v is not None), default=0.0) or 1.0
    head = "".join(f'<th scope="col">{name}</th>' for name in names)
    rows = []
    for name, line, spans in zip(names, payoff, results["payoff_interval"], strict=True):
        cells = []
        for value, span in zip(line, spans, strict=True):
            if value is None:
                cells.append("<td>&ndash;</td>")
                continue
            red, green, blue = WON if value > 0 else LOST
            colour = f"rgba({red}, {green}, {blue}, {0.6 * abs(value) / most:.2f})"
            span = f"{span[0]:+.2f} to {span[1]:+.2f}"
            cells.append(f'<td style="background: {colour}">{value:+.2f}<small>{span}</small></td>')
        rows.append(f'<tr><th scope="row">{name}</th>{"".join(cells)}</tr>')
    caption = (
        "Half of what the player of the row gets more than that of the column, per game (its mean return if the game "
        "is zero-sum): blue and + where the row is ahead, orange and - where the column is. 95 % intervals."
    )
    return _wide("Payoffs", caption, f'<th scope="col" class="name">player</th>{head}', rows, "heat")


PARTS = (
    "The payoff as a sum. Left, what one number for each player explains: the difference of their mean payoffs. Right, "
    "the rest, which is cyclic. Numbers are ranks in the leaderboard; blue: the row is ahead."
)


def _figures(results: Results) -> list[tuple[str, str, Any]]:
    """(Heading, what it shows in a sentence, picture)."""
    found = [("Elo", "Elo ratings with 95 % intervals; 0 is the mean of the players.", _draw_elo(results))]
    if results["parts"] and results["parts"]["share"] > 1e-9 and len(results["players"]) > 2:
        label = (
            "The cyclic part of the payoff: seen from the centre, each player beats those that lie clockwise of it, "
            f"most of all those a quarter turn away. This plane holds {results['parts']['flat']:.0%} of the cyclic "
            f"part, which is {results['parts']['share']:.1%} of the payoff."
        )
        found.append(("Parts", PARTS, _draw_parts(results)))
        found.append(("Cycles", label, _draw_cycles(results)))
    return found


def _figure(width: float, height: float, columns: int = 1) -> tuple[Any, list[Any]]:
    """A figure and its axes side by side, in the page's ink."""
    with needs("Pictures", "train"):
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, columns, squeeze=False)[0].tolist()
    for axis in axes:
        axis.tick_params(colors=INK)
        for spine in axis.spines.values():
            spine.set_edgecolor(INK)
    return figure, axes


def _shade(axis: Any, table: Sequence[Sequence[float]], labels: Sequence[str], most: float, numbers: bool) -> None:
    """Draw a matrix in blue and orange."""
    from matplotlib.colors import LinearSegmentedColormap

    shades = ["#{:02x}{:02x}{:02x}".format(*colour) for colour in (LOST, (255, 255, 255), WON)]
    axis.imshow(table, cmap=LinearSegmentedColormap.from_list("payoff", shades), vmin=-most, vmax=most)
    for i, row in enumerate(table):
        for j, value in enumerate(row):
            if numbers and i != j and value == value:
                axis.text(j, i, f"{value:+.2f}", ha="center", va="center", fontsize=8, color="#111111")
    axis.set_xticks(range(len(labels)), labels, rotation=90 if max(map(len, labels)) > 2 else 0)
    axis.set_yticks(range(len(labels)), labels)


def _label(name: str) -> str:
    """A player's name for a picture: not too long, and no formula whatever its signs."""
    name = name if len(name) <= LONGEST else f"{name[: LONGEST // 2 - 2]}...{name[-LONGEST // 2 + 1 :]}"
    return name.replace("$", r"\$")


def _draw_elo(results: Results) -> Any:
    rows = results["players"]
    figure, [axis] = _figure(5.5, 0.9 + 0.34 * len(rows))
    at = range(len(rows), 0, -1)
    for y, row in zip(at, rows, strict=True):
        axis.plot(row["elo_interval"], [y, y], color="#7f9fcf", linewidth=5, solid_capstyle="round")
        axis.plot(row["elo"], y, "o", color="#3b6fb6")
    axis.set_yticks(list(at), [_label(row["player"]) for row in rows])
    axis.set_ylim(0.4, len(rows) + 0.6)
    axis.grid(axis="x", alpha=0.3)
    axis.set_xlabel("Elo", color=INK)
    return figure


def _draw_cycles(results: Results) -> Any:
    figure, [axis] = _figure(5.5, 5)
    most = max(x * x + y * y for x, y in results["parts"]["disc"]) ** 0.5
    axis.axhline(0, color="#888888", alpha=0.4, linewidth=0.8)
    axis.axvline(0, color="#888888", alpha=0.4, linewidth=0.8)
    for row, (x, y) in zip(results["players"], results["parts"]["disc"], strict=True):
        axis.plot([0, x], [0, y], color="#7f9fcf", linewidth=1)
        axis.plot(x, y, "o", color="#3b6fb6")
        side = "left" if x >= 0 else "right"
        axis.annotate(
            _label(row["player"]), (x, y), (6 if x >= 0 else -6, 4), textcoords="offset points", ha=side, color=INK
        )
    axis.set(xlim=(-1.5 * most, 1.5 * most), ylim=(-1.2 * most, 1.2 * most), aspect="equal", xticks=[], yticks=[])
    return figure


def _draw_parts(results: Results) -> Any:
    table = [[value or 0.0 for value in row] for row in results["payoff"]]
    strength = results["parts"]["strength"]
    transitive = [[a - b for b in strength] for a in strength]
    cyclic = [[v - t for v, t in zip(*rows, strict=True)] for rows in zip(table, transitive, strict=True)]
    most = max(abs(v) for part in (transitive, cyclic) for row in part for v in row)
    figure, axes = _figure(6.8, 3.9, 2)
    ranks = [str(k) for k in range(1, len(table) + 1)]
    for axis, part, name in zip(axes, (transitive, cyclic), ("transitive", "cyclic"), strict=True):
        _shade(axis, part, ranks, most, len(table) <= 6)
        axis.set_title(name, color=INK)
    return figure


def _draw_payoff(results: Results) -> Any:
    table = [[float("nan") if v is None else v for v in row] for row in results["payoff"]]
    side = 2.2 + 0.62 * len(table)
    figure, [axis] = _figure(side, side)
    most = max((abs(v) for row in table for v in row if v == v), default=0.0) or 1.0
    _shade(axis, table, [_label(row["player"]) for row in results["players"]], most, len(table) <= 2 * MOST)
    axis.set_title("payoff of the row player")
    return figure


def _svg(figure: Any, name: str) -> str:
    """A picture as part of a page, in the colour of its text; its ids begin with ``name``."""
    import matplotlib

    out = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "coterie", "font.family": "sans-serif"}):
        figure.savefig(out, format="svg", transparent=True, metadata={"Date": None})
    drawn = out.getvalue()
    drawn = re.sub(r'(id="|url\(#|href="#)', rf"\g<1>{name}-", drawn[drawn.index("<svg") :])
    return drawn.replace(INK, "currentColor")


def write_pages(results: Results, folder: Path) -> list[Path]:
    """Write leaderboard.html, elo.png, payoff.png and, if not all is transitive, parts.png and cycles.png.

    Raises:
        OSError: a file can't be written.
    """
    written = [folder / "leaderboard.html"]
    write_atomically(written[0], page(results))
    drawn = {heading.lower(): figure for heading, _, figure in _figures(results)} | {"payoff": _draw_payoff(results)}
    for name, figure in drawn.items():
        written.append(folder / f"{name}.png")
        figure.savefig(written[-1], dpi=130)
    return written
