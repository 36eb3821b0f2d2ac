"""Reinforcement learning on a table: questions in one column, answers in another, and a reward of your own.

    python examples/train_dataset_rl.py --data my.csv --question q --answer a --model-path smollm2 --num-steps 100

Without --data it writes a small table of sums and learns them with the tiny model, by choice.
"""

import argparse
import json
from pathlib import Path

from coterie.training.episodes import Arena, Rollout, Rubric
from coterie.training.episodes.tasks import make_task
from coterie.training.episodes.tasks.single_turn import is_right
from coterie.training.runs.config import PolicyConfig
from coterie.training.runs.players import build_policy


def write_sums(path: Path) -> str:
    rows = [{"q": f"{a} + {b} =", "a": a + b, "c": [0, 1, 2, 3, 4]} for a in range(3) for b in range(3)]
    path.write_text("\n".join(map(json.dumps, rows)))
    return str(path)


def is_short(rollout: Rollout, arena: Arena) -> dict[str, float]:
    """A reward function: from a rollout to what each role is paid."""
    return {"Solver": 1.0 if len(rollout.steps[-1].text) < 200 else 0.0}


def main(words: list[str] | None = None) -> list[float]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="", help=".jsonl, .csv, a folder of datasets or a hub name (openai/gsm8k)")
    parser.add_argument("--question", default="question", help="column")
    parser.add_argument("--answer", default="answer", help="column")
    parser.add_argument("--config", default="", help="configuration of a data set of the hub (gsm8k: main)")
    parser.add_argument("--num-steps", type=int, default=10, help="learner updates")
    parser.add_argument("--batch-size", type=int, default=8, help="problems of an update")
    parser.add_argument("--model-path", default="tiny", help="tiny, smollm2, a folder or a hub id")
    said = parser.parse_args(words)

    table = {"data": said.data, "question": said.question, "answer": said.answer, "config": said.config}
    if not said.data:
        table = {"data": write_sums(Path("sums.jsonl")), "question": "q", "answer": "a", "choices": "c"}
    task = make_task("dataset_rl", batch=said.batch_size, free=bool(said.data), **table)
    task.episodes["dataset"].rubric = Rubric([is_right, is_short], weights=[1.0, 0.1])

    arena = Arena(build_policy(PolicyConfig(model=said.model_path), players=()))
    task.join(arena)
    rewards = []
    for step in range(said.num_steps):
        rewards.append(arena.step()["reward"])
        print(f"step {step + 1}: reward {rewards[-1]:.2f} of 1.1")
    return rewards


if __name__ == "__main__":
    main()
