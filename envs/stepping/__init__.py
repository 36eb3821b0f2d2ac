"""One stepping engine for all faces: compilation (``jit``), chance (``rng``), loops over rows (``drivers``)."""
