"""Engines that run a model: the protocol and its implementations."""
