"""Benchmarks: one file a room; each prints JSON lines for `coterie bench`."""
