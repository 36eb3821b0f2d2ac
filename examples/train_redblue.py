"""Red against blue: an attacker learns to get a secret out of a defender, who learns to keep it. An adapter each.

    python examples/train_redblue.py --batch-size 8 --verbose
    python examples/train_redblue.py --model-path smollm2 --free --frozen attacker

No judge decides: whether a reply gives the secret away is checked exactly, in any disguise that the game knows.
"""

import argparse

from coterie.training.episodes import Arena
from coterie.training.episodes.tasks import make_task
from coterie.training.runs.config import PolicyConfig
from coterie.training.runs.players import build_policy


def main(words: list[str] | None = None) -> list[dict[str, float]]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--num-steps", type=int, default=1, help="learner updates")
    parser.add_argument("--batch-size", type=int, default=2, help="secrets of an update, each attacked four times")
    parser.add_argument("--secrets", type=int, default=8, help="words that the secret is drawn from")
    parser.add_argument("--turns", type=int, default=3, help="messages of the attacker")
    parser.add_argument("--free", action="store_true", help="both sides speak in their own words")
    parser.add_argument("--frozen", default="", choices=("", "attacker", "defender"), help="this side does not learn")
    parser.add_argument("--model-path", "--model", default="tiny", help="tiny, smollm2, a folder or a hub id")
    parser.add_argument("--verbose", action="store_true", help="print a conversation of each update")
    said = parser.parse_args(words)

    options = {"batch": said.batch_size, "secrets": said.secrets, "turns": said.turns}
    task = make_task("redblue", free=said.free, frozen=said.frozen, **options)
    arena = Arena(build_policy(PolicyConfig(model=said.model_path), players=()))
    task.join(arena)
    rows = []
    for step in range(said.num_steps):
        rows.append(arena.step()["task"])
        shares = ", ".join(f"{name} {rows[-1][name]:.0%}" for name in ("leaked", "guessed", "kept"))
        print(f"step {step + 1}: {shares}")
        if said.verbose:
            for answer in arena.results[0].rollout.steps:
                print(f"  {answer.role_id}: {answer.text!r}")
            print(f"  {arena.results[0].rewards}")
    return rows


if __name__ == "__main__":
    main()
