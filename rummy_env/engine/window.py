"""The buy window: who may buy, who is asked next, and how the coming turn begins when it closes."""

from __future__ import annotations

import numpy as np

from rummy_env.engine.state import DRAW, WINDOW
from rummy_env.kernel import kernel


@kernel
def can_buy(tables, state, seat):
    """Whether a seat may buy the top discard that is on offer. Every reason is public."""
    if state.buys[seat] >= tables.rule.max_buys:
        return False
    if seat == state.discarder:
        return False
    if seat == state.turn and not tables.rule.turn_player_may_buy:
        return False
    if (state.down >> seat) & 1 and not tables.rule.buy_when_down:
        return False
    discards = np.int64(state.num_discards)
    if discards == 0:
        return False
    # the extra cards leave the stock first, while the bought card still lies on top of the pile
    stock = np.int64(state.num_stock)
    below = discards - 1
    if tables.rule.buy_extra <= stock:
        return stock - tables.rule.buy_extra + below > 0
    if state.reshuffles >= tables.rule.max_recycles:
        return False
    return stock + below > tables.rule.buy_extra


@kernel
def open_window(tables, state):
    """Offer the top discard to everybody, the player next in turn first; where nobody may buy it the turn begins."""
    state.passed = 0
    for seat in range(state.players):
        if can_buy(tables, state, seat):
            state.phase = WINDOW
            state.to_act = state.turn
            return
    begin_turn(state)


@kernel
def ask_next(tables, state):
    """After a pass: ask the next seat clockwise that may buy; where there is none the turn begins."""
    players = np.int64(state.players)
    turn = np.int64(state.turn)
    asked = (np.int64(state.to_act) - turn + players) % players
    for step in range(asked + 1, players):
        seat = (turn + step) % players
        if can_buy(tables, state, seat):
            state.to_act = seat
            return
    begin_turn(state)


@kernel
def begin_turn(state):
    """Let the player next in turn draw; nobody can buy from then on."""
    state.phase = DRAW
    state.to_act = state.turn
    state.passed = 0
