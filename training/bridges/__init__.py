"""Our games in other people's trainers."""
