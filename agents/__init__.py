"""Who chooses an action: baselines, a person at the terminal, language models and their bank of LoRA adapters."""
