"""The players of a run, and their health."""
