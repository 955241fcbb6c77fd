"""Kinds of card and their text.

A kind is a number: ``suit * 13 + rank`` with suits c d h s = 0 .. 3 and ranks A 2 .. K = 0 .. 12, and 52 for any wild
card, because all wilds of a rule set count alike. Which kinds a pack holds is for `rules.Rules` to say.
"""

from __future__ import annotations

from collections.abc import Iterable

SUITS = "cdhs"
RANKS = "A23456789TJQK"
NUM_SUITS = 4
NUM_RANKS = 13
WILD = 52
"""The kind of every wild card."""
NUM_KINDS = 53
WILD_TEXT = "**"


def kind_text(kind: int) -> str:
    """Two characters for a kind: ``7s``, ``Td``, ``**``."""
    if kind == WILD:
        return WILD_TEXT
    if not 0 <= kind < WILD:
        raise ValueError(f"no such kind of card: {kind}; kinds are 0 to {WILD}")
    return RANKS[kind % NUM_RANKS] + SUITS[kind // NUM_RANKS]


KIND_TEXTS = tuple(kind_text(kind) for kind in range(NUM_KINDS))
KIND_OF_TEXT = {text: kind for kind, text in enumerate(KIND_TEXTS)}


def parse_kind(text: str) -> int:
    """The kind written as `text`; ``ValueError`` names anything that is not a card."""
    kind = KIND_OF_TEXT.get(text)
    if kind is None:
        raise ValueError(
            f"no such card: {text!r}; a card is a rank of {RANKS} then a suit of {SUITS}, or {WILD_TEXT} for a wild"
        )
    return kind


def parse_cards(text: str) -> list[int]:
    """The kinds of a list of cards, with or without spaces between them: ``"7c 7d **"``, ``"7c7d**"``."""
    kinds: list[int] = []
    for word in text.split():
        if len(word) % 2:
            raise ValueError(f"no such card: {word!r}; every card has two characters")
        kinds.extend(parse_kind(word[at : at + 2]) for at in range(0, len(word), 2))
    return kinds


def cards_text(kinds: Iterable[int], separator: str = " ") -> str:
    """The cards in the order given."""
    return separator.join(KIND_TEXTS[kind] for kind in kinds)
