"""Which melds exist: the catalogue of melds at their smallest size, data for people and for the move table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations_with_replacement

from rummy_env.cards import (
    NUM_KINDS,
    NUM_RANKS,
    RANKS,
    SUITS,
    WILD,
    cards_text,
    parse_cards,
    parse_kind,
)
from rummy_env.rules import Rules

NO_KIND = -1
MAX_CONTRACT = 6
"""The most melds one contract may ask for (kept by `Rules`)."""


@dataclass(frozen=True)
class Pack:
    """What a rule set's pack and rank order mean for melds.

    `copies[kind]` counts the cards of each kind; `places` are the ranks a run goes through from low to high
    (International: 3 .. A); `circular` runs go on from the last place to the first.
    """

    copies: tuple[int, ...]
    suits: tuple[int, ...]
    places: tuple[int, ...]
    circular: bool
    group_size: int
    run_length: int
    min_naturals: int

    @property
    def wilds(self) -> int:
        return self.copies[WILD]

    @property
    def ranks(self) -> tuple[int, ...]:
        """The ranks that groups can have, low to high."""
        ranks = dict.fromkeys(self.places)
        return tuple(rank for rank in ranks if any(self.copies[suit * NUM_RANKS + rank] for suit in self.suits))

    def natural(self, suit: int, place: int) -> int:
        """The kind that fills a place of a run, or -1 where only a wild can."""
        kind = suit * NUM_RANKS + self.places[place]
        return kind if self.copies[kind] else NO_KIND

    def run_starts(self) -> range:
        """The places at which a run of the smallest size can begin."""
        return range(len(self.places) if self.circular else len(self.places) - self.run_length + 1)

    def run_places(self, low: int, size: int) -> tuple[int, ...]:
        return tuple((low + step) % len(self.places) for step in range(size))


@lru_cache(maxsize=256)
def pack_of(rules: Rules) -> Pack:
    """The pack of a rule set."""
    copies = [0] * NUM_KINDS
    for card in rules.pack():
        copies[parse_kind(card)] += 1
    return Pack(
        copies=tuple(copies),
        suits=tuple(SUITS.index(suit) for suit in (rules.suits or tuple(SUITS))),
        places=tuple(RANKS.index(rank) for rank in rules.rank_order),
        circular=rules.ace == "corner",
        group_size=rules.group_size,
        run_length=rules.run_length,
        min_naturals=rules.min_naturals,
    )


@dataclass(frozen=True)
class Meld:
    """A group or run of any size. `low` is the rank of a group, or the lowest place of a run (an index into places)."""

    is_run: bool
    suit: int
    low: int
    cards: tuple[int, ...]

    @property
    def wilds(self) -> int:
        return self.cards.count(WILD)

    def text(self, pack: Pack) -> str:
        """``G7 7c7h**`` or ``R5s 5s**7s8s``."""
        if self.is_run:
            return f"R{RANKS[pack.places[self.low]]}{SUITS[self.suit]} {cards_text(self.cards, '')}"
        return f"G{RANKS[self.low]} {cards_text(self.cards, '')}"


def parse_meld(text: str, pack: Pack) -> Meld:
    """A meld of any size from its text; ``ValueError`` says what the pack has against it."""
    words = text.split()
    if len(words) != 2 or not words[0] or words[0][0] not in "GR":
        raise ValueError(f"no such meld: {text!r}; melds are written like 'G7 7c7h**' or 'R5s 5s**7s8s'")
    head, cards = words[0], tuple(parse_cards(words[1]))
    if head[0] == "G":
        return _parse_group(text, head, cards, pack)
    return _parse_run(text, head, cards, pack)


def _parse_group(text: str, head: str, cards: tuple[int, ...], pack: Pack) -> Meld:
    if len(head) != 2 or head[1] not in RANKS or RANKS.index(head[1]) not in pack.ranks:
        raise ValueError(f"no such meld: {text!r}; {head!r} names no rank of which groups exist here")
    rank = RANKS.index(head[1])
    for kind in cards:
        if kind != WILD and kind % NUM_RANKS != rank:
            raise ValueError(f"no such meld: {text!r}; {cards_text([kind])} is not of rank {RANKS[rank]}")
    if len(cards) < pack.group_size:
        raise ValueError(f"no such meld: {text!r}; a group has at least {pack.group_size} cards")
    if list(cards) != sorted(cards):
        raise ValueError(f"no such meld: {text!r}; a group is written naturals by suit c d h s, then wilds")
    return Meld(False, 0, rank, cards)


def _parse_run(text: str, head: str, cards: tuple[int, ...], pack: Pack) -> Meld:
    if len(head) != 3 or head[1] not in RANKS or head[2] not in SUITS or SUITS.index(head[2]) not in pack.suits:
        raise ValueError(f"no such meld: {text!r}; {head!r} names no card that a run can begin with here")
    suit, places = SUITS.index(head[2]), len(pack.places)
    starts = [place for place in range(places) if pack.places[place] == RANKS.index(head[1])]
    if len(cards) < pack.run_length:
        raise ValueError(f"no such meld: {text!r}; a run has at least {pack.run_length} cards")
    for low in starts:
        if len(cards) > (places if pack.circular else places - low):
            continue
        wanted = [pack.natural(suit, place) for place in pack.run_places(low, len(cards))]
        if all(kind in (WILD, want) for kind, want in zip(cards, wanted, strict=True)):
            return Meld(True, suit, low, cards)
    raise ValueError(f"no such meld: {text!r}; the cards are not consecutive from {head[1:]} up in that suit")


def catalogue(pack: Pack) -> list[Meld]:
    """Every meld that can be laid, in the order of the move table.

    Groups by rank, fewer wilds first, then by suits; runs by suit, by lowest place, then by which places are wild (a
    binary number, lowest place = lowest bit). Melds of wilds only stand last, and only with ``min_naturals`` 0.
    """
    melds = [*_groups(pack), *_runs(pack)]
    if pack.min_naturals == 0:
        if pack.wilds >= pack.group_size:
            melds.extend(Meld(False, 0, rank, (WILD,) * pack.group_size) for rank in pack.ranks)
        if pack.wilds >= pack.run_length:
            melds.extend(Meld(True, suit, low, (WILD,) * pack.run_length) for suit in pack.suits for low in pack.run_starts())
    return melds


def _groups(pack: Pack) -> Iterator[Meld]:
    for rank in pack.ranks:
        for wilds in range(min(pack.group_size - 1, pack.wilds) + 1):
            for suits in combinations_with_replacement(pack.suits, pack.group_size - wilds):
                naturals = tuple(suit * NUM_RANKS + rank for suit in suits)
                if all(naturals.count(kind) <= pack.copies[kind] for kind in naturals):
                    yield Meld(False, 0, rank, naturals + (WILD,) * wilds)


def _runs(pack: Pack) -> Iterator[Meld]:
    for suit in pack.suits:
        for low in pack.run_starts():
            naturals = [pack.natural(suit, place) for place in pack.run_places(low, pack.run_length)]
            for wild_places in range(2**pack.run_length - 1):
                cards = tuple(WILD if wild_places >> step & 1 else kind for step, kind in enumerate(naturals))
                if NO_KIND not in cards and cards.count(WILD) <= pack.wilds:
                    yield Meld(True, suit, low, cards)
