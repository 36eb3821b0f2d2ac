"""Players whose behaviour is written down: greedy; in the gridworld forager, raider and altruist."""
