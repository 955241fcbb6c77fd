"""`dumper`: never buys, never lays down, draws from the stock and throws its dearest card. It only keeps its hand cheap."""

from __future__ import annotations

import numpy as np

from rummy_env.cards import NUM_KINDS
from rummy_env.engine.state import DRAW, WINDOW
from rummy_env.engine.tables import PASS_MOVE, STOCK_MOVE, TAKE_MOVE
from rummy_env.kernel import kernel


@kernel
def dearest_discard(tables, mask, spare):
    """The legal discard of the most points among the kinds that `spare` (53 counts) allows, -1 for none."""
    best = np.int64(-1)
    for kind in range(NUM_KINDS):
        move = tables.discard_moves[kind]
        if move < 0 or not mask[move] or spare[kind] <= 0:
            continue
        if best < 0 or tables.points[kind] > tables.points[best]:
            best = kind
    return np.int64(-1) if best < 0 else tables.discard_moves[best]


@kernel
def dumper_move(tables, view, mask, stream):
    """Pass, draw from the stock where that is possible, discard the dearest card."""
    if view.phase == WINDOW:
        return np.int64(PASS_MOVE)
    if view.phase == DRAW:
        return np.int64(STOCK_MOVE if mask[STOCK_MOVE] else TAKE_MOVE)
    return dearest_discard(tables, mask, view.hand)
