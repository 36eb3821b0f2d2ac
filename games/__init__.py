"""Games as plain functions: ``from coterie.games.tictactoe import play``."""
