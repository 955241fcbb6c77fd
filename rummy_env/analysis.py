"""What a seat can work out from its View: the distance to the contract, the cards it needs, what the table takes."""

from __future__ import annotations

import numpy as np

from rummy_env.cards import NUM_KINDS, NUM_RANKS, WILD
from rummy_env.engine.legal import open_ends
from rummy_env.engine.state import LAYING
from rummy_env.kernel import kernel
from rummy_env.melds import MAX_CONTRACT, contract_gap, mark_needed


@kernel
def contract_left(tables, view):
    """Groups and runs that oneself has still to lay: those of the contract, or what is left of it while laying."""
    if view.phase == LAYING and view.to_act == 0:
        return np.int64(view.groups_left), np.int64(view.runs_left)
    contract = np.int64(view.round_number) - 1
    return tables.contracts[contract, 0], tables.contracts[contract, 1]


@kernel
def cards_missing(tables, view, hand, picks):
    """How many cards a hand is away from the contract of the round; `picks` as for `contract_gap`."""
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
def wants_discard(tables, view):
    """Whether the top discard helps: nearer to the contract, or after laying down a card that can be laid off."""
    kind = np.int64(view.discards[np.int64(view.num_discards) - 1])
    if view.down & 1:
        return accepted(tables, view, kind)
    picks = np.zeros(MAX_CONTRACT, np.int64)
    hand = view.hand.copy()
    before = cards_missing(tables, view, hand, picks)
    hand[kind] += 1
    return cards_missing(tables, view, hand, picks) < before


@kernel
def needed_cards(tables, view, hand, needed):
    """Count into `needed` (53) the cards of a hand that the nearest way to the contract uses, all wilds among them."""
    groups, runs = contract_left(tables, view)
    picks = np.zeros(MAX_CONTRACT, np.int64)
    gap = contract_gap(tables, hand, groups, runs, 0, 0, picks)
    mark_needed(tables, hand, groups, runs, 0, picks, needed)
    needed[WILD] = hand[WILD]
    return max(np.int64(0), gap - np.int64(hand[WILD]))


GREATEST_DISTANCE = 12
"""Cards of the largest of the seven contracts."""
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
    """Minus the distance to the contract as a share of the greatest, 0 after laying down: for potential-based shaping."""
    if view.down & 1:
        return 0.0
    hand = view.hand.copy()
    return -cards_missing(tables, view, hand, np.zeros(MAX_CONTRACT, np.int64)) / GREATEST_DISTANCE


assert NUM_KINDS == WILD + 1
