"""Your own agent, measured against the built-in ones.

``act`` gets the turns of many games at once and returns a decision for each.
"""

from collections.abc import Sequence

from coterie.agents.baselines import make_baseline
from coterie.agents.core import Decision, Turn
from coterie.envs.registry import make_game
from coterie.training.evaluation.match import play_match

CENTRE_THEN_CORNERS = (4, 0, 2, 6, 8, 1, 3, 5, 7)


class Corners:
    """Takes the first free cell of a fixed list."""

    name = "corners"

    def act(self, turns: Sequence[Turn]) -> list[Decision]:
        return [Decision(next(a for a in CENTRE_THEN_CORNERS if turn.mask[a])) for turn in turns]


def main(games: int = 1000) -> dict[str, tuple[float, float, float]]:
    game = make_game("tictactoe")
    results = {}
    for name in ("random", "minimax"):
        result = play_match(game, (Corners(), make_baseline(name, game)), games, seed=0)
        results[name] = result.shares
        won, drawn, lost = result.shares
        print(f"against {name}: won {won:.1%}, drawn {drawn:.1%}, lost {lost:.1%}")
    return results


if __name__ == "__main__":
    main()
