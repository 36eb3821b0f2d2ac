"""A trainer of your own: a GANTrainer, whose forger learns to make coins that its rival takes for real ones."""

import sys
from dataclasses import dataclass
from functools import partial

import coterie
from coterie.agents.human.table import watch
from coterie.training.data.rollout import Seating

REAL = "2357"  # every other coin from 0 to 9 is forged


def coins(forger, judge, rng):
    """The judge is shown a coin and says whether it is real; the forger wins if the judge takes its coin for real."""
    forged = forger.choose("Forge a coin:", "0123456789")
    real = rng.random() < 0.5
    coin = REAL[rng.integers(len(REAL))] if real else forged
    right = (judge.choose(f"Coin {coin}:", ["real", "forged"]) == "real") == real
    return 0 if real else (-1 if right else 1), 1 if right else -1


@dataclass
class GAN:
    """The forger has the first seat, the judge the second; the newest of each meets all past selves of the other."""

    every: int
    learners: tuple[str, ...] = ("forger", "judge")
    opponents: tuple[str, ...] = ()

    def seats(self, update, groups, pool, rng):
        seatings = []
        for group in range(groups):
            learner, rival = self.learners[group % 2], self.learners[1 - group % 2]
            met = str(rng.choice([rival, *pool.past(rival)]))
            mine = learner == "forger"
            seatings.append(Seating((learner, met) if mine else (met, learner), (mine, not mine)))
        return seatings

    def update(self, done, results, pool):
        if done % self.every == 0:
            for name in self.learners:
                pool.snapshot(name, done)


def gan(config, players):
    return GAN(config.snapshot_every)


GANTrainer = partial(coterie.SelfPlayTrainer, scheme=gan)


def main(epochs: int = 2, rounds: int = 15) -> str:
    trainer = GANTrainer(coterie.SelfPlayConfig(epochs=epochs, rounds=rounds, threads=1))
    trainer.train("tiny", coins)
    forger, judge = (trainer.players[name] for name in GAN.learners)
    moments = list(watch(trainer.game, [forger, judge], seed=0))
    forged = moments[1].actions[0]
    print(f"The forger makes {forged}; real coins are {', '.join(REAL)}.")
    return forged


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
