"""Players that search: exact solvers, alpha-beta, MCTS, equilibria of games with hidden information, UCI engines."""
