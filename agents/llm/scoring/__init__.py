"""Log-probabilities of answers: packed prefix trees, three decodings, free generation."""
