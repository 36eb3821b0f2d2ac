"""PPO of TorchRL: two independent players learn to coordinate in a matrix game, through TorchRL's PettingZoo wrapper.

``pip install torchrl`` first. The wrapper takes the mask from observations or from infos, but not from both.
"""

import argparse

import torch
from tensordict.nn import TensorDictModule
from torchrl.collectors import Collector
from torchrl.envs import PettingZooWrapper
from torchrl.modules import MaskedCategorical, MultiAgentMLP, ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss, ValueEstimators

import coterie

GROUP = "player"


def main(steps: int = 8000, batch: int = 500) -> tuple[float, float]:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    game = coterie.make("matrix-v0", game="coordination", memory=1, api="parallel", mask="observation")
    env = PettingZooWrapper(game, categorical_actions=True, return_state=False, seed=0)
    seen = (GROUP, "observation", "observation")
    inputs = env.observation_spec[seen].shape[-1]

    def net(outputs: int) -> MultiAgentMLP:
        return MultiAgentMLP(inputs, outputs, n_agents=2, centralised=False, share_params=False, depth=1, num_cells=32)

    actor = ProbabilisticActor(
        TensorDictModule(net(2), in_keys=[seen], out_keys=[(GROUP, "logits")]),
        in_keys={"logits": (GROUP, "logits"), "mask": (GROUP, "action_mask")},
        out_keys=[(GROUP, "action")],
        distribution_class=MaskedCategorical,
        return_log_prob=True,
        log_prob_key=(GROUP, "log_prob"),
    )
    critic = ValueOperator(net(1), in_keys=[seen], out_keys=[(GROUP, "state_value")])
    loss = ClipPPOLoss(actor, critic, normalize_advantage=True, normalize_advantage_exclude_dims=(-1,))
    names = {"value": "state_value", "sample_log_prob": "log_prob"}
    names |= {name: name for name in ("action", "reward", "done", "terminated")}
    loss.set_keys(**{name: (GROUP, key) for name, key in names.items()})
    loss.make_value_estimator(ValueEstimators.GAE, gamma=0.9, lmbda=0.9)
    optimizer = torch.optim.Adam(loss.parameters(), 3e-3)
    scores = []
    for data in Collector(env, actor, frames_per_batch=batch, total_frames=steps):
        scores.append(10 * float(data["next", GROUP, "reward"].mean()))
        with torch.no_grad():
            loss.value_estimator(data)
        for _ in range(4):
            for part in data[torch.randperm(batch)].split(100):
                told = loss(part)
                (told["loss_objective"] + told["loss_critic"] + told["loss_entropy"]).backward()
                optimizer.step()
                optimizer.zero_grad()
    print(f"a game's mean reward in {batch} rounds: {scores[0]:.2f} at first, {scores[-1]:.2f} after {steps:,} rounds")
    return scores[0], scores[-1]


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=8000)
    main(**vars(parser.parse_args()))
