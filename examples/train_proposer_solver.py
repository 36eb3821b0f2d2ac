"""A proposer chooses how hard problems are, a solver answers them: both learn, with an adapter each.

    python examples/train_proposer_solver.py --n-solver-rollouts 8 --num-steps 200

The run is an ordinary folder: `coterie view`, `coterie train --resume` and peft can read it.
"""

import argparse
import json

from coterie.training.episodes.run import train_task
from coterie.training.episodes.tasks import task_defaults
from coterie.training.runs.config import TaskConfig
from coterie.training.runs.fields import merge


def main(words: list[str] | None = None) -> list[dict[str, float]]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--num-steps", type=int, default=10, help="learner updates")
    parser.add_argument("--batch-size", type=int, default=8, help="proposals of an update")
    parser.add_argument("--n-solver-rollouts", type=int, default=8, help="answers to each proposal")
    parser.add_argument("--levels", type=int, default=12, help="the hardest level")
    parser.add_argument("--model-path", default="tiny", help="tiny, smollm2, a folder or a hub id")
    parser.add_argument("--run", default=None, help="folder of the run (runs/proposer_solver-TIME)")
    said = parser.parse_args(words)

    config = merge(
        TaskConfig.preset("proposer_solver", task_defaults("proposer_solver")),
        {
            "set": (
                f"batch={said.batch_size}",
                f"n_solver_rollouts={said.n_solver_rollouts}",
                f"levels={said.levels}",
            ),
            "policy": {"model": said.model_path},
            "budget": {"updates": said.num_steps},
        },
    )
    outcome = train_task(config, said.run)
    print(outcome.message)
    rows = [json.loads(line)["task"] for line in (outcome.run / "metrics.jsonl").read_text().splitlines()]
    print(f"pass rate {rows[-1]['pass_rate']:.2f}, level {rows[-1]['level']:.1f}")
    return rows


if __name__ == "__main__":
    main()
