"""The stepping engine of all faces: compilation (``jit``), random numbers (``rng``), loops over rows (``drivers``)."""
