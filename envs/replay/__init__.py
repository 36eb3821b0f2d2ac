"""Played games in files: ``file`` writes and reads them, ``recorder`` notes worlds while they are played."""
