"""Two debaters learn from a judge; both are one adapter, which plays both sides.

    python examples/train_debate.py --num-steps 100 --batch-size 4
    python examples/train_debate.py --model-path smollm2 --free --judge model

The tiny model knows no English: it chooses among sentences, good and bad, and the built-in rubric judges. With --free
debaters speak in their own words. The run is an ordinary folder: `coterie view`, `coterie train --resume` and peft can
read it.
"""

import argparse
import json
import os

from coterie.training.episodes.run import train_task
from coterie.training.episodes.tasks import task_defaults
from coterie.training.runs.config import TaskConfig
from coterie.training.runs.display import Display
from coterie.training.runs.fields import merge


def main(words: list[str] | None = None) -> list[dict[str, float]]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--num-steps", type=int, default=1, help="learner updates")
    parser.add_argument("--batch-size", type=int, default=2, help="topics of an update, each debated four times")
    parser.add_argument("--topics", default="", help="a field: cities, school, work, technology, ...")
    parser.add_argument("--free", action="store_true", help="debate in the model's own words")
    parser.add_argument("--judge", default="rubric", choices=("rubric", "model"), help="who decides")
    parser.add_argument("--model-path", "--model", default="tiny", help="tiny, smollm2, a folder or a hub id")
    parser.add_argument("--run", default=None, help="folder of the run (runs/debate-TIME)")
    parser.add_argument(
        "--wandb-project", default="", help="log to this project of wandb (pip install 'coterie[track]')"
    )
    said = parser.parse_args(words)

    options = {"batch": said.batch_size, "topics": said.topics, "judge": said.judge, "phrases": 0 if said.free else 8}
    config = merge(
        TaskConfig.preset("debate", task_defaults("debate")),
        {
            "set": tuple(f"{name}={value}" for name, value in options.items() if value != ""),
            "policy": {"model": said.model_path},
            "budget": {"updates": said.num_steps},
        },
    )
    if said.wandb_project:
        os.environ["WANDB_PROJECT"] = said.wandb_project
    watcher = Display(report_to="wandb" if said.wandb_project else "none")
    outcome = train_task(config, said.run, watcher=watcher)
    print(outcome.message)
    rows = [json.loads(line)["task"] for line in (outcome.run / "metrics.jsonl").read_text().splitlines()]
    print(f"A earns {rows[-1]['reward/A']:+.2f}; {rows[-1]['draw']:.0%} of the debates are draws")
    return rows


if __name__ == "__main__":
    main()
