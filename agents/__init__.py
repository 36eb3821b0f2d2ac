"""Agents that choose actions: baselines, searching and scripted players, people, language models with adapters."""
