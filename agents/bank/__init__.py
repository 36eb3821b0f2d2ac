"""The population as one tensor a layer: adapters, routing, an optimizer a player, peft's files."""

from __future__ import annotations

from .bank import LoraBank
from .optimizer import BankAdamW

__all__ = ["BankAdamW", "LoraBank"]
