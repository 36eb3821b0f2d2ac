"""Saved games: ``file`` writes and reads them, ``recorder`` records worlds while they are played."""
