"""What a game looks like from outside, each written once for all games: AEC, parallel, batched, Gymnasium, drawn."""
