"""Negotiation: offers, accept or deny, over items or issues with hidden values. ``game.negotiation`` makes one."""
