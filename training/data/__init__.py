"""What is learned from: rollouts, their records, credit for each decision, positions to start from."""
