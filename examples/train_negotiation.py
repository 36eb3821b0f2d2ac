"""Two players trade Wood and Gold, each knowing only its own values; both learn from what they gain.

    python examples/train_negotiation.py --max-turns 10
    python examples/train_negotiation.py --score joint --talk 40 --num-steps 100
    python examples/train_negotiation.py --opponent bargainer

By choice among the legal offers, or with --free as text: "I like gold. [Offer: 4 Wood -> 2 Gold]".
"""

import argparse

from coterie.training.episodes import Arena
from coterie.training.episodes.tasks import make_task
from coterie.training.runs.config import PolicyConfig
from coterie.training.runs.players import build_policy


def main(words: list[str] | None = None) -> list[dict[str, float]]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--num-steps", type=int, default=1, help="learner updates")
    parser.add_argument("--batch-size", type=int, default=1, help="beginnings of an update, each played four times")
    parser.add_argument("--max-turns", type=int, default=4, help="of a negotiation")
    parser.add_argument("--preset", default="trade", help="trade, deal_or_no_deal, ultimatum or issues")
    parser.add_argument("--score", default="", help="own, joint or win; by default the preset's own")
    parser.add_argument("--talk", type=int, default=0, help="characters of a message that goes with an action")
    parser.add_argument("--opponent", default="", help="bargainer or random; by default both sides learn")
    parser.add_argument("--free", action="store_true", help="answer in text with an action in brackets")
    parser.add_argument("--model-path", "--model", default="tiny", help="tiny, smollm2, a folder or a hub id")
    said = parser.parse_args(words)

    options = {"batch": said.batch_size, "max_turns": said.max_turns, "talk": said.talk, "opponent": said.opponent}
    task = make_task("negotiation", preset=said.preset, score=said.score, free=said.free, **options)
    arena = Arena(build_policy(PolicyConfig(model=said.model_path), players=()))
    task.join(arena)
    rows = []
    for step in range(said.num_steps):
        rows.append(arena.step()["task"])
        row = rows[-1]
        print(f"step {step + 1}: {row['surplus']:.0%} of the possible gains, {row['illegal']:.1f} illegal answers")
    return rows


if __name__ == "__main__":
    main()
