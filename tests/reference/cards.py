"""Cards as texts: the pack of a rule set, its order, and what a card counts.

A card is "7s" (rank, suit) or "**" (any wild). Nothing here is clever, so that each line can be held against
the rules page.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cache
from typing import Any

Rules = dict[str, Any]

WILD = "**"
ALL_RANKS = "23456789TJQKA"  # low to high where the ace is high
ALL_SUITS = "cdhs"


def suits_of(rules: Rules) -> str:
    """The suits of the pack, in the order c d h s."""
    return ALL_SUITS if rules["suits"] is None else _listed(ALL_SUITS, tuple(rules["suits"]), "")


def ranks_of(rules: Rules) -> str:
    """The ranks of natural cards, low to high, the ace last where it is high, else first: a wild rank is not among them."""
    order = ALL_RANKS if rules["ace"] == "high" else "A" + ALL_RANKS[:-1]
    return _listed(order, tuple(rules["ranks"] or order), str(rules["wild_rank"]))


def places_of(rules: Rules) -> str:
    """The ranks that a run goes through, low to high.

    A wild 2 has no place where the ace is high (International: 3 to A); else its place stays, and only a wild can fill it.
    An ace that is high or low stands at both ends. Round the corner the last is followed by the first.
    """
    if rules["ace"] == "high":
        return ranks_of(rules)
    places = _listed("A" + ALL_RANKS[:-1], tuple(rules["ranks"] or ALL_RANKS), "")
    return places + "A" if rules["ace"] == "high_or_low" and places[0] == "A" else places


def is_circle(rules: Rules) -> bool:
    """Whether runs go round the corner."""
    return bool(rules["ace"] == "corner")


@cache
def _listed(known: str, listed: tuple[str, ...], wild: str) -> str:
    """Of the letters known those that are listed and not wild: asked at every move, so kept."""
    return "".join(letter for letter in known if letter in listed and letter != wild)


def is_wild_rank(rules: Rules, rank: str) -> bool:
    """Whether all cards of this rank are wild."""
    return rules["wild_rank"] is not None and rank == str(rules["wild_rank"])


def pack(rules: Rules) -> list[str]:
    """Every card of the pack, the wild ones as "**"."""
    listed = rules["ranks"]
    cards = []
    for _ in range(rules["decks"]):
        for suit in suits_of(rules):
            for rank in ALL_RANKS:
                if listed is None or rank in listed:
                    cards.append(WILD if is_wild_rank(rules, rank) else rank + suit)
    return cards + [WILD] * rules["jokers"]


def in_print_order(rules: Rules, cards: Iterable[str]) -> list[str]:
    """The cards by suit c d h s, low to high in the rank order, wilds last."""
    ranks = ranks_of(rules)

    def place(card: str) -> tuple[int, int]:
        if card == WILD:
            return (len(ALL_SUITS), 0)
        return (ALL_SUITS.index(card[1]), ranks.index(card[0]))

    return sorted(cards, key=place)


def card_points(rules: Rules, card: str) -> Any:
    """What one card left in the hand counts."""
    points = rules["points"]
    if card == WILD:
        return points["wild"]
    rank = card[0]
    if points.get(rank) is not None:
        return points[rank]
    if rank == "A":
        return 1 if rules["ace"] == "low" else 15  # null for the ace
    return int(rank)  # a natural 2 in a rule set that names no points for it: face value


def hand_points(rules: Rules, hand: Iterable[str]) -> Any:
    """What a whole hand counts."""
    return sum(card_points(rules, card) for card in hand)


def without(cards: Iterable[str], gone: Iterable[str]) -> list[str]:
    """The cards that remain when `gone` leave, in the same order; every one of `gone` has to be there."""
    remaining = list(cards)
    for card in gone:
        remaining.remove(card)
    return remaining


def same_cards(one: Iterable[str], other: Iterable[str]) -> bool:
    """Whether both hold the same cards, in any order."""
    return Counter(one) == Counter(other)
