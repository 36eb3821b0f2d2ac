"""Who chooses an action: baselines, searching and scripted players, people, language models with adapters."""
