"""Rollouts -> decisions -> credit -> loss -> adapters; schemes say who plays whom and who learns."""
