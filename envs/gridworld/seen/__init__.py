"""What an agent sees: planes, tokens, texts; and the world as a whole."""
