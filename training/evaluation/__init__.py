"""Measures players: matches with intervals, exact values, held-out positions, worlds, goals."""
