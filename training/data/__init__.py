"""The data to learn from: rollouts, their episodes, credit for each decision, positions to start from."""
