"""A slow, obvious second implementation of rummy, written from the rules pages alone: rule sets as data, and one table."""

from __future__ import annotations

from .cards import pack
from .ruleset import BASIC, INTERNATIONAL, PRESETS, next_round, resolve
from .table import ReferenceTable

__all__ = ["BASIC", "INTERNATIONAL", "PRESETS", "ReferenceTable", "next_round", "pack", "resolve"]
