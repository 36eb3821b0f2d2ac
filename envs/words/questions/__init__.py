"""Twenty questions: the table of things and properties, the search for good questions, and the game."""
