"""What a seat can work out from its View: the distance to the contract, the cards it needs, what the table takes."""

from __future__ import annotations

import numpy as np

from rummy_env.cards import NUM_KINDS, NUM_RANKS, WILD
from rummy_env.engine.contracts import contract_gap, held_places, mark_needed, rank_naturals
from rummy_env.engine.legal import open_ends
from rummy_env.engine.state import LAYING
from rummy_env.kernel import kernel
from rummy_env.melds import MAX_CONTRACT


@kernel
def contract_left(tables, view):
    """Groups and runs that oneself has still to lay: those of the contract, or what is left of it while laying."""
    if view.phase == LAYING and view.to_act == 0:
        return np.int64(view.groups_left), np.int64(view.runs_left)
    contract = np.int64(view.round_number) - 1
    return tables.contracts[contract, 0], tables.contracts[contract, 1]


@kernel
def cards_missing(tables, view, hand, picks):
    """How many cards a hand is away from the contract of the round, or where melds are free from the next meld.

    `picks` as for `contract_gap`.
    """
    if tables.rule.free_melds:
        group = contract_gap(tables, hand, 1, 0, 0, 0, picks)
        gap = min(group, contract_gap(tables, hand, 0, 1, 0, 0, picks))
    else:
        groups, runs = contract_left(tables, view)
        gap = contract_gap(tables, hand, groups, runs, 0, 0, picks)
    return max(np.int64(0), gap - np.int64(hand[WILD]))


@kernel
def accepted(tables, view, kind):
    """Whether some meld on the table would take a card of this kind from oneself."""
    for index in range(view.num_melds):
        if tables.rule.layoff_own_only and view.meld_owner[index] != 0:
            continue
        low = np.int64(view.meld_low[index])
        size = np.int64(view.meld_size[index])
        if not view.meld_run[index]:
            if size < tables.rule.group_max and (kind == WILD or kind % NUM_RANKS == low):
                return True
            continue
        suit = np.int64(view.meld_suit[index])
        before, after = open_ends(tables, view, index)
        if before >= 0 and (kind == WILD or tables.place_kinds[suit, before] == kind):
            return True
        if after >= 0 and (kind == WILD or tables.place_kinds[suit, after] == kind):
            return True
    return False


@kernel
def may_lay_off(tables, view):
    """Whether oneself may lay off in the coming turn, if some meld takes the card."""
    return view.down & 1 or (tables.rule.free_melds and not tables.rule.layoff_needs_own_meld)


@kernel
def completes_meld(tables, hand, kind):
    """Whether a hand can lay a meld with one more card of a kind in it, which it could not lay without that card."""
    hand[kind] += 1
    found = False
    if kind == WILD:
        picks = np.zeros(MAX_CONTRACT, np.int64)
        gap = min(contract_gap(tables, hand, 1, 0, 0, 0, picks), contract_gap(tables, hand, 0, 1, 0, 0, picks))
        found = gap <= np.int64(hand[WILD])
    else:
        found = tables.rule.group_size - rank_naturals(hand, kind % NUM_RANKS) <= np.int64(hand[WILD])
        for start in range(tables.num_starts):
            within = False
            for step in range(tables.rule.run_length):
                within = within or tables.run_kinds[start, step] == kind
            held = tables.bit_counts[held_places(tables, hand, start)]
            if within and tables.rule.run_length - held <= np.int64(hand[WILD]):
                found = True
    hand[kind] -= 1
    return found


@kernel
def wants_discard(tables, view):
    """Whether the top discard helps: nearer to the contract, a card that can be laid off, or a free meld with it."""
    kind = np.int64(view.discards[np.int64(view.num_discards) - 1])
    if may_lay_off(tables, view) and accepted(tables, view, kind):
        return True
    if tables.rule.free_melds:
        return completes_meld(tables, view.hand.copy(), kind)
    if view.down & 1:
        return False
    picks = np.zeros(MAX_CONTRACT, np.int64)
    hand = view.hand.copy()
    before = cards_missing(tables, view, hand, picks)
    hand[kind] += 1
    return cards_missing(tables, view, hand, picks) < before


@kernel
def mark_companions(tables, hand, needed):
    """Count into `needed` (53) the naturals of a hand that another one may make a meld with: of the rank, or near in the suit.

    Copies of one kind are companions in a group only where a group may hold both, which with two packs it may.
    """
    needed[:] = 0
    for kind in range(NUM_KINDS - 1):
        if hand[kind] > 0 and rank_naturals(hand, kind % NUM_RANKS) > 1:
            needed[kind] = hand[kind]
    for start in range(tables.num_starts):
        if tables.bit_counts[held_places(tables, hand, start)] > 1:
            for step in range(tables.rule.run_length):
                place = tables.run_kinds[start, step]
                if place >= 0 and hand[place] > 0:
                    needed[place] = max(needed[place], np.int64(1))


@kernel
def needed_cards(tables, view, hand, needed):
    """Count into `needed` (53) the cards of a hand that the nearest way to the contract uses, all wilds among them.

    Where melds are free these are pairs and neighbours. Returns `cards_missing`.
    """
    if tables.rule.free_melds:
        mark_companions(tables, hand, needed)
        needed[WILD] = hand[WILD]
        return cards_missing(tables, view, hand, np.zeros(MAX_CONTRACT, np.int64))
    groups, runs = contract_left(tables, view)
    picks = np.zeros(MAX_CONTRACT, np.int64)
    gap = contract_gap(tables, hand, groups, runs, 0, 0, picks)
    mark_needed(tables, hand, groups, runs, 0, picks, needed)
    needed[WILD] = hand[WILD]
    return max(np.int64(0), gap - np.int64(hand[WILD]))


GREATEST_DISTANCE = 12
"""Cards of the largest of International's seven contracts."""
SHAPINGS = (None, "distance")


def check_shaping(shaping: object, gamma: object) -> float:
    """The discount of potential-based shaping, or -1 for none. ValueError for what is not allowed."""
    if shaping not in SHAPINGS:
        raise ValueError(f"shaping must be None or 'distance', not {shaping!r}")
    if isinstance(gamma, bool) or not isinstance(gamma, (int, float, np.floating)) or not 0 <= gamma <= 1:
        raise ValueError(f"gamma must be a number from 0 to 1, not {gamma!r}")
    return float(gamma) if shaping else -1.0


@kernel
def potential(tables, view):
    """Minus the distance to the contract as a share of the greatest, 0 after laying down: for potential-based shaping.

    Where melds are free it is the distance to the next meld all along.
    """
    if view.down & 1 and not tables.rule.free_melds:
        return 0.0
    hand = view.hand.copy()
    return -cards_missing(tables, view, hand, np.zeros(MAX_CONTRACT, np.int64)) / GREATEST_DISTANCE


assert NUM_KINDS == WILD + 1
