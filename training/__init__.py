"""Rollouts -> records -> credit -> loss -> adapters; schemes say who plays whom and who learns."""
