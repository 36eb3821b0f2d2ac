"""The interfaces to games, each written once for all games: AEC, parallel, batched, Gymnasium and rendering."""
