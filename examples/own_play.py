"""A game as a plain function: produce a number that's larger than the opponent's. A model learns to play it."""

import sys

import coterie


def play(player_a, player_b):
    """Say a number of one or two digits. The larger one wins."""
    a, b = (int(player.say("A number:", letters="0123456789", max_length=2)) for player in (player_a, player_b))
    return (a > b) - (a < b), (b > a) - (b < a)


def main(epochs: int = 2, rounds: int = 10) -> list[dict]:
    trainer = coterie.SelfPlayTrainer(coterie.SelfPlayConfig(epochs=epochs, rounds=rounds, threads=1))
    trainer.train("tiny", play)
    for row in trainer.leaderboard:
        print(f"{row['player']:<10} {row['elo']:+5.0f} Elo, {row['points']:.0%} of {row['games']} games")
    return trainer.leaderboard


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
