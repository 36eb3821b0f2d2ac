"""A run: its configuration and presets, its folder, what is shown of it, the players that it leaves."""
