"""The gridworld: resources, kinship, procedural maps; see docs/games/gridworld.md."""
