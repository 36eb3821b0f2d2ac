"""Scripted players: greedy; in the gridworld forager, raider and altruist."""
