"""`greedy`: draws and buys what brings the contract nearer, lays down as soon as it can, lays off all it can, and
discards the dearest card that it needs least. Where melds are free it takes what completes a meld or can be laid off, melds
and lays off what counts most, and keeps pairs and neighbours."""

from __future__ import annotations

import numpy as np

from rummy_env.analysis import needed_cards, wants_discard
from rummy_env.cards import NUM_KINDS, WILD
from rummy_env.engine.apply import DISCARD, LAY
from rummy_env.engine.state import DRAW, WINDOW
from rummy_env.engine.tables import BUY_MOVE, MAX_LAY, PASS_MOVE, STOCK_MOVE, TAKE_MOVE
from rummy_env.kernel import kernel
from rummy_env.players.dumper import dearest_discard


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
            for at in range(MAX_LAY):
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
    """The dearest card outside the best way to the contract, or of those that stand alone; else the dearest natural."""
    hand = view.hand.copy()
    if tables.rule.free_melds or not view.down & 1:
        needed = np.zeros(NUM_KINDS, np.int64)
        needed_cards(tables, view, hand, needed)
        for kind in range(NUM_KINDS):
            hand[kind] -= needed[kind]
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
