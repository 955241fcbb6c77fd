"""The reference's names in one place: the rule set as data, and the table that plays one round."""

from __future__ import annotations

from .cards import pack
from .ruleset import INTERNATIONAL, next_round, resolve, sequence
from .table import ReferenceTable

__all__ = ["INTERNATIONAL", "ReferenceTable", "next_round", "pack", "resolve", "sequence"]
