"""Players that look ahead: exact solvers, alpha-beta, MCTS, equilibria of games with hidden cards, UCI engines."""
