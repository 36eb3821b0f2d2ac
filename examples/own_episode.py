"""Your own episode: a speaker sees a colour and may say one sign; a listener hears the sign and names the colour.

Nothing says which sign means what. Both are paid if the listener is right, and both learn: a language comes about.
"""

import sys

from coterie.training.episodes import Arena, Episode, EpisodeRequest, GRPOCredit, Role, Rubric
from coterie.training.runs.config import PolicyConfig
from coterie.training.runs.players import build_policy

COLOURS, SIGNS = ["red", "green", "blue"], ["ka", "po", "mi"]


def understood(rollout, arena):
    return dict.fromkeys(("Speaker", "Listener"), float(rollout.extras["heard"] == rollout.extras["seen"]))


class Signals(Episode):
    """One colour, one sign, one guess."""

    rubric = Rubric(understood)

    async def rollout(self, arena, artifact, state):
        seen = COLOURS[state.rng.integers(3)]
        sign = await self.call_model("Speaker", f"{seen} is", arena, choices=SIGNS)
        heard = await self.call_model("Listener", f"{sign.text} is", arena, choices=COLOURS)
        state.data = {"seen": seen, "heard": heard.text}
        return state

    def get_extras(self, state):
        return state.data


def main(updates: int = 30, games: int = 96) -> float:
    arena = Arena(build_policy(PolicyConfig(), players=()), seed=0, credit=GRPOCredit())
    arena.add_role(Role("Speaker"))
    arena.add_role(Role("Listener"))
    arena.add_episode("signals", Signals())
    for _ in range(updates):
        row = arena.step([EpisodeRequest("signals")] * games)
        print(f"update {row['update'] + 1}: understood {row['reward']:.0%}")
    return float(row["reward"])


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
