"""A population of LoRA adapters in shared tensors: adapters, routing, optimizer, peft files."""

from __future__ import annotations

from .bank import LoraBank
from .optimizer import BankAdamW

__all__ = ["BankAdamW", "LoraBank"]
