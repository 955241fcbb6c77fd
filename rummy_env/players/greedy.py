"""`greedy`: draws and buys what brings the contract nearer, lays down as soon as it can, lays off all it can, and
discards the dearest card that it needs least."""

from __future__ import annotations

import numpy as np

from rummy_env.cards import NUM_KINDS, NUM_RANKS, WILD
from rummy_env.engine.apply import DISCARD, LAY
from rummy_env.engine.state import DRAW, WINDOW
from rummy_env.engine.tables import BUY_MOVE, PASS_MOVE, STOCK_MOVE, TAKE_MOVE
from rummy_env.kernel import kernel
from rummy_env.melds import MAX_CONTRACT, contract_gap, mark_needed
from rummy_env.players.dumper import dearest_discard


@kernel
def cards_missing(tables, view, hand, picks):
    """How many cards a hand is away from the contract of the round; `picks` as for `contract_gap`."""
    contract = np.int64(view.round_number) - 1
    groups, runs = tables.contracts[contract, 0], tables.contracts[contract, 1]
    gap = contract_gap(tables, hand, groups, runs, 0, 0, picks)
    return max(np.int64(0), gap - np.int64(hand[WILD]))


@kernel
def accepted(tables, view, kind):
    """Whether some meld on the table would take a card of this kind from oneself."""
    places = tables.rule.num_places
    for index in range(view.num_melds):
        if tables.rule.layoff_own_only and view.meld_owner[index] != 0:
            continue
        low = np.int64(view.meld_low[index])
        size = np.int64(view.meld_size[index])
        if not view.meld_run[index]:
            if size < tables.rule.group_max and (kind == WILD or kind % NUM_RANKS == low):
                return True
            continue
        if size >= places:
            continue
        suit = np.int64(view.meld_suit[index])
        before = low - 1
        after = low + size
        if tables.rule.circular:
            before = (before + places) % places
            after = after % places
        if before >= 0 and (kind == WILD or tables.place_kinds[suit, before] == kind):
            return True
        if after < places and (kind == WILD or tables.place_kinds[suit, after] == kind):
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
def best_by_type(tables, mask):
    """The lay with the fewest wilds (of equals the dearest), else the dearest lay-off; -1 where neither is legal."""
    best = np.int64(-1)
    best_value = np.int64(-1)
    for move in range(mask.shape[0]):
        type_ = tables.move_type[move]
        if not mask[move] or type_ < LAY or type_ == DISCARD:
            continue
        if type_ == LAY:
            value = (100 - np.int64(tables.lay_wilds[move])) * 1000
            for at in range(tables.lay_cards.shape[1]):
                kind = np.int64(tables.lay_cards[move, at])
                if kind >= 0:
                    value += tables.points[kind]
        else:
            value = tables.points[tables.move_card[move]]
        if value > best_value:
            best = move
            best_value = value
    return best


@kernel
def greedy_discard(tables, view, mask):
    """The dearest card outside the best way to the contract; where all are needed, the dearest natural."""
    hand = view.hand.copy()
    if not view.down & 1:
        contract = np.int64(view.round_number) - 1
        groups, runs = tables.contracts[contract, 0], tables.contracts[contract, 1]
        picks = np.zeros(MAX_CONTRACT, np.int64)
        contract_gap(tables, hand, groups, runs, 0, 0, picks)
        needed = np.zeros(NUM_KINDS, np.int64)
        mark_needed(tables, hand, groups, runs, 0, picks, needed)
        for kind in range(WILD):
            hand[kind] -= needed[kind]
        hand[WILD] = 0
        move = dearest_discard(tables, mask, hand)
        if move >= 0:
            return move
        hand[:] = view.hand
        hand[WILD] = 0
        move = dearest_discard(tables, mask, hand)
        if move >= 0:
            return move
    return dearest_discard(tables, mask, view.hand)


@kernel
def greedy_move(tables, view, mask, stream):
    """One decision of the greedy player."""
    if view.phase == WINDOW:
        if not wants_discard(tables, view):
            return np.int64(PASS_MOVE)
        if mask[TAKE_MOVE]:
            return np.int64(TAKE_MOVE)
        down = view.down & 1
        return np.int64(PASS_MOVE if down or not mask[BUY_MOVE] else BUY_MOVE)
    if view.phase == DRAW:
        declining = view.num_stock == 0 and view.reshuffles >= tables.rule.max_recycles
        if mask[TAKE_MOVE] and (declining or not mask[STOCK_MOVE] or wants_discard(tables, view)):
            return np.int64(TAKE_MOVE)
        return np.int64(STOCK_MOVE)
    move = best_by_type(tables, mask)
    return move if move >= 0 else greedy_discard(tables, view, mask)
