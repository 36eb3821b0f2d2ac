"""Trees of episodes on the terminal: who said what, what was chosen, with which probabilities, and what it was paid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...errors import needs
from .transcripts import Told, walk

if TYPE_CHECKING:
    from rich.table import Table
    from rich.tree import Tree

__all__ = ["as_tree", "overview", "plain"]

SHOWN = 6
"""Most choices of an answer that are shown, the likeliest ones."""


def plain(text: object) -> str:
    """A text without characters that would steer the terminal: those are written out."""
    return "".join(c if c in "\n\t" or c.isprintable() else c.encode("unicode_escape").decode() for c in str(text))


def overview(trees: Sequence[Told]) -> Table:
    """A table of trees: place, type, episodes, rewards of all roles in them, first words."""
    with needs("Showing transcripts", "train"):
        from rich.table import Table
        from rich.text import Text
    table = Table(box=None, padding=(0, 2))
    for name in ("episode", "type", "episodes", "rewards", "first words"):
        table.add_column(name, justify="right" if name == "episodes" else "left")
    for tree in trees:
        nodes = list(walk(tree))
        paid: dict[str, list[float]] = {}
        for node in nodes:
            for role, reward in node["rewards"].items():
                paid.setdefault(role, []).append(reward)
        rewards = ", ".join(f"{role} {sum(r) / len(r):+.3g}" for role, r in paid.items())
        first = tree["steps"][0]["text"] if tree["steps"] else tree["error"]
        cells = (_place(tree), tree["episode_type"], str(len(nodes)), rewards or tree["error"][:60], first[:60])
        table.add_row(*(Text(plain(cell).replace("\n", " ")) for cell in cells))
    return table


def as_tree(tree: Told, *, prompts: bool = False) -> Tree:
    """One episode with everything that was said in it and below it.

    Args:
        tree: the episode.
        prompts: show what every role was shown, too.
    """
    with needs("Showing transcripts", "train"):
        from rich.text import Text
        from rich.tree import Tree
    head = Text.assemble((f"{_place(tree)} {plain(tree['episode_type'])}", "bold"))
    if tree["rewards"]:
        head.append("  " + ", ".join(f"{plain(role)} {reward:+.3g}" for role, reward in tree["rewards"].items()))
    if not tree["is_trainable"]:
        head.append("  (not learned from)", "dim")
    if tree["error"]:
        head.append(f"  failed: {plain(tree['error'])}", "red")
    shown = Tree(head, guide_style="dim")
    if tree["artifact"] not in (None, "", {}, []):
        shown.add(Text(f"about: {plain(tree['artifact'])[:400]}", "dim"))
    for step in [*tree["steps"], *tree["oracles"]]:
        branch = shown.add(_said(step))
        if prompts:
            for message in step["prompt"]:
                branch.add(Text(plain(f"{message['role']}: {message['content']}"), "dim"))
    extras = {name: value for name, value in tree["extras"].items() if value not in (None, "", {}, [])}
    if extras:
        shown.add(Text(", ".join(f"{plain(n)} {plain(value)[:80]}" for n, value in extras.items()), "dim"))
    for child in tree["children"]:
        shown.add(as_tree(child, prompts=prompts))
    return shown


def _said(step: Told) -> Any:
    from rich.text import Text

    line = Text.assemble((f"{plain(step['role'] or 'oracle')}: ", "bold cyan"), plain(step["text"]))
    if step["role"]:
        line.append(f"  advantage {step['advantage']:+.3f}", "green" if step["advantage"] > 0 else "dim")
    if step["reward"]:
        line.append(f"  paid {step['reward']:+.3g}")
    if step["probabilities"]:
        pairs = sorted(zip(step["probabilities"], step["choices"], strict=False), key=lambda pair: -pair[0])
        rest = f", {len(pairs) - SHOWN} more" if len(pairs) > SHOWN else ""
        line.append(f"\n{', '.join(f'{plain(c)} {p:.1%}' for p, c in pairs[:SHOWN])}{rest}", "dim")
    return line


def _place(tree: Told) -> str:
    return ".".join(map(str, tree["path"]))
