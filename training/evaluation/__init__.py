"""How good a player is: matches with intervals, exact values, held-out positions, worlds, goals."""
