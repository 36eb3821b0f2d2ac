"""Observations: planes, tokens and texts; infos; and the whole world's state."""
