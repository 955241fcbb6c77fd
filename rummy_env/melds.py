"""Which melds exist and which fit a hand: the catalogue of melds at their smallest size, contract feasibility, distance.

The catalogue is data for people and for the move table; the kernels below it answer, millions of times a second,
whether a hand can form what is left of a contract and how far it is from it. Nothing here knows a State.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations_with_replacement

import numpy as np

from rummy_env.cards import (
    NUM_KINDS,
    NUM_RANKS,
    NUM_SUITS,
    RANKS,
    SUITS,
    WILD,
    cards_text,
    parse_cards,
    parse_kind,
)
from rummy_env.kernel import kernel
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


# Kernels. `hand` is a row of 53 counts; they change it while they try and leave it as it was. `tables` are the compiled
# tables of a rule set (engine/tables.py).


@kernel
def rank_naturals(hand, rank):
    """How many natural cards of a rank a hand holds."""
    count = np.int64(0)
    for suit in range(NUM_SUITS):
        count += np.int64(hand[suit * NUM_RANKS + rank])
    return count


@kernel
def fewest_group_wilds(tables, hand, groups, least, used_ranks):
    """The fewest wilds that complete `groups` groups begun with a hand's naturals, or 99 where none can.

    The groups of one rank with n naturals cost ``max(0, size * k - n)`` wilds for k of them, which is convex in k; so
    taking the cheapest next group again and again is exact. Each group needs `least` naturals of its own. `used_ranks`
    is a bit set of the ranks that `distinct_groups` rules out.
    """
    if groups == 0:
        return np.int64(0)
    size = tables.rule.group_size
    by_cost = np.int64(0)  # how many groups can be had for 0, 1, 2 .. wilds each: eight bits a cost
    for index in range(tables.num_ranks):
        rank = tables.ranks[index]
        if (used_ranks >> rank) & 1:
            continue
        naturals = rank_naturals(hand, rank)
        limit = groups if least == 0 else min(groups, naturals // least)
        if tables.rule.distinct_groups:
            limit = min(limit, 1)
        whole = min(limit, naturals // size)
        rest = naturals % size
        partial = 1 if rest > 0 and whole < limit else 0
        by_cost += whole + (partial << (8 * (size - rest))) + ((limit - whole - partial) << (8 * size))
    wilds = np.int64(0)
    left = np.int64(groups)
    for cost in range(size + 1):
        found = min(left, (by_cost >> (8 * cost)) & 255)
        left -= found
        wilds += found * cost
    return wilds if left == 0 else np.int64(99)


@kernel
def held_places(tables, hand, start):
    """A bit set: the places of the run that begins at `start` of which the hand holds the natural."""
    held = np.int64(0)
    for step in range(tables.rule.run_length):
        kind = tables.run_kinds[start, step]
        if kind >= 0 and hand[kind] > 0:
            held |= 1 << step
    return held


@kernel
def spend_run(tables, hand, start, used, change):
    """Take the cards of a run out of a hand (`change` -1) or put them back (1): naturals at the places of `used`."""
    for step in range(tables.rule.run_length):
        kind = tables.run_kinds[start, step] if (used >> step) & 1 else WILD
        hand[kind] += change


@kernel
def can_form(tables, hand, groups, runs, used_ranks, blocked):
    """Whether a hand can form `groups` groups and `runs` runs, exactly, under the limits of the rule set.

    Backtracking: runs are tried in the order of their starts, each with every choice of naturals that the wilds allow (a
    natural may be needed elsewhere), and the groups are then settled by `fewest_group_wilds`. `used_ranks` and `blocked`
    are bit sets of the ranks and the starts that `distinct_groups` and `separate_runs` rule out.
    """
    least_group = tables.rule.group_naturals
    if fewest_group_wilds(tables, hand, groups, least_group, used_ranks) > hand[WILD]:
        return False
    if runs == 0:
        return True
    number = tables.num_starts
    # a frame per run: its start, the natural places held there, those used (-1: start not looked at), blocked starts
    frames = np.empty((MAX_CONTRACT, 4), np.int64)
    depth = 0
    frames[0, 0] = 0
    frames[0, 2] = -1
    frames[0, 3] = blocked
    while depth >= 0:
        frame = frames[depth]
        least = max(tables.rule.run_naturals, tables.rule.run_length - np.int64(hand[WILD]))
        found = False
        while frame[0] < number:
            if frame[2] < 0:
                held = np.int64(0)
                if not (frame[3] >> frame[0]) & 1:
                    held = held_places(tables, hand, frame[0])
                frame[1] = held
                frame[2] = held
            elif frame[2] == 0:
                frame[0] += 1
                frame[2] = -1
                continue
            else:
                frame[2] = (frame[2] - 1) & frame[1]
            if tables.bit_counts[frame[2]] >= least and not (frame[3] >> frame[0]) & 1:
                found = True
                break
            if tables.bit_counts[frame[1]] < least:
                frame[2] = 0
        if not found:
            depth -= 1
            if depth >= 0:
                spend_run(tables, hand, frames[depth, 0], frames[depth, 2], 1)
            continue
        spend_run(tables, hand, frame[0], frame[2], -1)
        if fewest_group_wilds(tables, hand, groups, least_group, used_ranks) > hand[WILD]:
            spend_run(tables, hand, frame[0], frame[2], 1)
            continue
        if depth + 1 == runs:
            for index in range(runs):
                spend_run(tables, hand, frames[index, 0], frames[index, 2], 1)
            return True
        frames[depth + 1, 0] = frame[0]
        frames[depth + 1, 2] = -1
        frames[depth + 1, 3] = frame[3] | tables.run_clashes[frame[0]]
        depth += 1
    return False


@kernel
def move_naturals(tables, hand, start, held, change):
    """Take the naturals of a run out of a hand (`change` -1) or put them back (1), leaving wilds alone."""
    for step in range(tables.rule.run_length):
        if (held >> step) & 1:
            hand[tables.run_kinds[start, step]] += change


@kernel
def contract_gap(tables, hand, groups, runs, used_ranks, blocked, picks):
    """How many places of the best `groups` groups and `runs` runs a hand's naturals leave empty, wilds not counted.

    The hand is ``max(0, gap - wilds)`` cards from the contract, the limits on wilds per meld not looked at. Branch and
    bound over the starts of the runs. A run takes every natural it can: with the places of all runs fixed that wastes
    nothing, and a natural that a group could use as well is worth one card to either. `picks` (`MAX_CONTRACT` numbers)
    receives the starts of the best runs. At most 98 can be missing.
    """
    best = np.int64(98)
    floor = fewest_group_wilds(tables, hand, groups, 0, used_ranks)
    if runs == 0:
        return min(best, floor)
    number = tables.num_starts
    length = tables.rule.run_length
    # a frame per run: its start, the natural places it took, blocked starts, missing so far, the least in all from here
    frames = np.empty((MAX_CONTRACT, 5), np.int64)
    depth = 0
    frames[0, 0] = -1
    frames[0, 2] = blocked
    frames[0, 3] = 0
    frames[0, 4] = floor
    while depth >= 0:
        frame = frames[depth]
        frame[0] += 1
        if frame[0] >= number:
            depth -= 1
            if depth >= 0:
                move_naturals(tables, hand, frames[depth, 0], frames[depth, 1], 1)
            continue
        start = frame[0]
        if (frame[2] >> start) & 1:
            continue
        held = held_places(tables, hand, start)
        missing = length - tables.bit_counts[held]
        if frame[4] + missing >= best:
            continue
        frame[1] = held
        move_naturals(tables, hand, start, held, -1)
        spent = frame[3] + missing
        floor = spent + fewest_group_wilds(tables, hand, groups, 0, used_ranks)
        if floor < best and depth + 1 < runs:
            depth += 1
            frames[depth, 0] = start - 1
            frames[depth, 2] = frame[2] | tables.run_clashes[start]
            frames[depth, 3] = spent
            frames[depth, 4] = floor
            continue
        if floor < best:
            best = floor
            for index in range(runs):
                picks[index] = frames[index, 0]
        move_naturals(tables, hand, start, held, 1)
    return best


@kernel
def mark_needed(tables, hand, groups, runs, used_ranks, picks, needed):
    """Count into `needed` (53) the naturals that the runs of `picks` and the best groups from the rest would use."""
    size = tables.rule.group_size
    needed[:] = 0
    for index in range(runs):
        for step in range(tables.rule.run_length):
            kind = tables.run_kinds[picks[index], step]
            if kind >= 0 and hand[kind] > needed[kind]:
                needed[kind] += 1
    for _ in range(groups):
        best_rank = np.int64(-1)
        best_count = np.int64(0)
        for index in range(tables.num_ranks):
            rank = tables.ranks[index]
            if (used_ranks >> rank) & 1:
                continue
            count = min(size, rank_naturals(hand, rank) - rank_naturals(needed, rank))
            # of equal ranks the dearer: it is the one that hurts in the hand
            if count > best_count or (count == best_count and count > 0 and tables.points[rank] > tables.points[best_rank]):
                best_rank = rank
                best_count = count
        if best_rank < 0:
            break
        for suit in range(NUM_SUITS):
            kind = suit * NUM_RANKS + best_rank
            spare = min(np.int64(hand[kind] - needed[kind]), best_count)
            needed[kind] += spare
            best_count -= spare
        if tables.rule.distinct_groups:
            used_ranks |= 1 << best_rank
