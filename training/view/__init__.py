"""The server of ``coterie view``: games to play in a browser, and the pages of runs, on loopback."""
