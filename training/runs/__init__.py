"""A run: its configuration and presets, its folder, its display, and the players that it saves."""
