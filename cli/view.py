"""``coterie view``: read what was said in a run on a task."""

from __future__ import annotations

import json
from typing import Literal

from ..errors import UsageError, needs
from .arguments import View, parse

__all__ = ["run"]


def run(words: list[str]) -> int:
    """Run the command; returns the exit code.

    Raises:
        CoterieError: a bad argument, or a run without transcripts.
    """
    asked: View = parse(View, "view", words)
    from ..training.episodes.show import as_tree, overview
    from ..training.episodes.transcripts import examples, find, read_transcript, transcript_updates

    if asked.chat or asked.trl:
        if asked.chat and asked.trl:
            raise UsageError("--chat and --trl write different columns: name one of them.")
        form: Literal["chat", "trl"] = "chat" if asked.chat else "trl"
        path = asked.chat or asked.trl
        assert path is not None
        updates = transcript_updates(asked.run) if asked.update is None else [asked.update]
        if not updates:
            read_transcript(asked.run)  # says that there are none
        count = 0
        with path.open("w", encoding="utf-8", errors="backslashreplace") as file:
            for update in updates:
                for example in examples(read_transcript(asked.run, update), form):
                    file.write(json.dumps({"update": update, **example}, ensure_ascii=False) + "\n")
                    count += 1
        print(f"Wrote {count:,} answers of {len(updates):,} updates to {path}")
        return 0
    trees = read_transcript(asked.run, asked.update)
    with needs("Showing transcripts", "train"):
        from rich.console import Console
    console = Console(highlight=False)
    if asked.episode:
        console.print(as_tree(find(trees, asked.episode), prompts=asked.prompts))
        return 0
    kept = transcript_updates(asked.run)
    console.print(f"update {trees[0]['update'] if trees else 0} of {kept[0]} to {kept[-1]}", markup=False)
    console.print(overview(trees))
    if trees:
        first = ".".join(map(str, trees[0]["path"]))
        console.print(f"One of them: coterie view {asked.run} --episode {first}", markup=False, soft_wrap=True)
    return 0
