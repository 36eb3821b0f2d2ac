"""Code that is verified by running it: find a function from examples; hidden cases decide.

    python examples/train_code_generation.py --num-steps 50 --level 2
    python examples/train_code_generation.py --free --model-path smollm2

Code runs in a sandbox. Where the system has none, nothing is run unless you say --unsafe.
"""

import argparse

from coterie.training.episodes import Arena
from coterie.training.episodes.sandbox import isolation
from coterie.training.episodes.tasks import make_task
from coterie.training.runs.config import PolicyConfig
from coterie.training.runs.players import build_policy


def main(words: list[str] | None = None) -> list[float]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--num-steps", type=int, default=2, help="learner updates")
    parser.add_argument("--batch-size", type=int, default=2, help="functions to be found in an update")
    parser.add_argument("--rollouts", type=int, default=8, help="programs for each function")
    parser.add_argument("--level", type=int, default=1, help="of the functions, 1 to 3")
    parser.add_argument("--free", action="store_true", help="write programs; otherwise choose an expression")
    parser.add_argument("--model-path", default="tiny", help="tiny, smollm2, a folder or a hub id")
    parser.add_argument("--unsafe", action="store_true", help="run code without isolation where there is none")
    said = parser.parse_args(words)
    if isolation() and not said.unsafe:
        print(f"There is no sandbox on this machine: {isolation()}. Add --unsafe to run code with your own rights.")
        return []

    options = {"batch": said.batch_size, "rollouts": said.rollouts, "level": said.level, "free": said.free}
    task = make_task("code_generation", unsafe=said.unsafe, **options)
    arena = Arena(build_policy(PolicyConfig(model=said.model_path), players=()))
    task.join(arena)
    shares = []
    for step in range(said.num_steps):
        shares.append(arena.step()["reward"])
        print(f"step {step + 1}: {shares[-1]:.0%} of the hidden cases pass")
    best = max(arena.results, key=lambda result: result.rewards.get("Coder", 0.0))
    print(best.rollout.artifact["question"], best.rollout.extras["code"], sep="\n")
    return shares


if __name__ == "__main__":
    main()
