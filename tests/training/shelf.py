"""A bank of names alone, which schemes and pools can be tested with."""

from __future__ import annotations


class Shelf:
    """Notes who began anew."""

    def __init__(self):
        self.resets = []

    def add(self, name, init_from=None):
        return 0

    def remove(self, name):
        pass

    def reset(self, name):
        self.resets.append(name)
