"""Applying a move: one function per kind of move, the end of a turn and the end of a round.

A move is taken to be legal; the faces look at the mask first. `order` is the order of a new stock in which its cards are
drawn, where a record prescribes one, or an empty array for the game's own shuffle.
"""

from __future__ import annotations

import numpy as np

from rummy_env.cards import NUM_SUITS, WILD
from rummy_env.engine.deal import deal_round
from rummy_env.engine.random import shuffle
from rummy_env.engine.score import score_round
from rummy_env.engine.state import (
    DRAW,
    END_BLOCKED,
    END_OUT,
    END_TURN_LIMIT,
    HISTORY,
    LAYING,
    OVER,
    PLAY,
    WINDOW,
)
from rummy_env.engine.tables import MAX_LAY
from rummy_env.engine.window import ask_next, begin_turn, open_window
from rummy_env.kernel import kernel
from rummy_env.moves import MoveType

STOCK = int(MoveType.STOCK)
TAKE = int(MoveType.TAKE)
BUY = int(MoveType.BUY)
PASS = int(MoveType.PASS)
LAY = int(MoveType.LAY)
DISCARD = int(MoveType.DISCARD)
OFF_GROUP = int(MoveType.OFF_GROUP)
OFF_LOW = int(MoveType.OFF_LOW)
NO_ORDER = np.zeros(0, np.int8)
"""For `order` and `deck` arguments: none is prescribed."""


@kernel
def apply(tables, state, move, order):
    """Play one legal move; a round that ends is scored and the next one dealt at once."""
    remember(state, move)
    type_ = tables.move_type[move]  # ids do not tell: without buying the ids of buy and pass are those of melds
    if type_ == PASS:
        state.passed |= 1 << np.int64(state.to_act)
        ask_next(tables, state)
    elif type_ == BUY:
        apply_buy(tables, state, order)
    elif type_ == TAKE:
        apply_take(tables, state)
    elif type_ == STOCK:
        apply_stock(tables, state, order)
    elif type_ == LAY:
        apply_lay(tables, state, move)
    elif type_ == DISCARD:
        apply_discard(tables, state, np.int64(tables.move_card[move]))
    else:
        apply_layoff(tables, state, move)


@kernel
def apply_alone(tables, states, move, order):
    """`apply` for arrays of one record, which Python hands over in less than a tenth of the time of a record."""
    apply(tables[0], states[0], move, order)


@kernel
def remember(state, move):
    """Put a move at the front of the public history."""
    for at in range(HISTORY - 1, 0, -1):
        state.history[at] = state.history[at - 1]
    state.history[0] = (move + 1) * 8 + np.int64(state.to_act)


@kernel
def kept_discards(tables, state):
    """How many discards do not go into a new stock: the top one, unless a draw turns the whole pile over.

    A buy keeps it also then: it is the card that is bought.
    """
    return 0 if tables.rule.turn_over and state.phase == DRAW else 1


@kernel
def form_stock(tables, state, order):
    """Make the discards, but for a top one that is kept, a new stock and note what everybody then knows of it.

    They are shuffled, or turned over as they lie: then the oldest is drawn first, and everybody knows the order.
    """
    kept = kept_discards(tables, state)
    count = np.int64(state.num_discards) - kept
    state.hidden_draws[:] = 0
    state.pool[:] = 0
    for at in range(count):
        state.stock[at] = state.discards[at]
        state.pool[state.discards[at]] += 1
    if tables.rule.turn_over:
        for at in range(count):
            state.stock[count - 1 - at] = state.discards[at]
        state.stock_public = 1
    else:
        stream = np.zeros(2, np.uint64)
        stream[0] = state.key
        stream[1] = state.counter
        shuffle(stream, state.stock, count)
        state.counter = stream[1]
        if order.shape[0] > 0:
            for at in range(count):
                state.stock[at] = order[count - 1 - at]
    state.num_stock = count
    if kept:
        state.discards[0] = state.discards[count]
        state.discard_by[0] = state.discard_by[count]
    else:
        state.discarder = -1
    state.discards[kept : count + kept] = 0
    state.discard_by[kept : count + kept] = 0
    state.num_discards = kept
    state.reshuffles += 1


@kernel
def draw_stock(tables, state, seat, order):
    """Move the top of the stock into a hand, forming a new stock where there is none."""
    if state.num_stock == 0:
        form_stock(tables, state, order)
    top = np.int64(state.num_stock) - 1
    kind = np.int64(state.stock[top])
    state.stock[top] = 0
    state.num_stock = top
    state.hand[seat, kind] += 1
    state.hand_size[seat] += 1
    if state.stock_public:
        state.known[seat, kind] += 1
    else:
        state.hidden_draws[seat] += 1


@kernel
def take_top_discard(state, seat):
    """Move the top discard into a hand, where everybody has seen it going; returns its kind."""
    top = np.int64(state.num_discards) - 1
    kind = np.int64(state.discards[top])
    state.discards[top] = 0
    state.discard_by[top] = 0
    state.num_discards = top
    state.discarder = -1
    state.hand[seat, kind] += 1
    state.hand_size[seat] += 1
    state.known[seat, kind] += 1
    return kind


@kernel
def leave_hand(state, seat, kind):
    """Take a card out of a hand; everybody sees it leaving."""
    state.hand[seat, kind] -= 1
    state.hand_size[seat] -= 1
    if state.known[seat, kind] > 0:
        state.known[seat, kind] -= 1


@kernel
def apply_buy(tables, state, order):
    """The extra cards leave the stock first, then the bought card the pile; what that uncovers opens a fresh window."""
    seat = np.int64(state.to_act)
    for _ in range(tables.rule.buy_extra):
        draw_stock(tables, state, seat, order)
    take_top_discard(state, seat)
    state.buys[seat] += 1
    if tables.rule.uncovered_live:
        open_window(tables, state)
    else:
        begin_turn(state)


@kernel
def apply_take(tables, state):
    """The draw of the turn from the pile: in a window it closes the window."""
    seat = np.int64(state.to_act)
    kind = take_top_discard(state, seat)
    if tables.rule.redraw_ban:
        state.taken = kind
    begin_play(state, seat)


@kernel
def apply_stock(tables, state, order):
    """The draw of the turn from the stock, or declining the discard where no new stock may be formed."""
    seat = np.int64(state.to_act)
    renewable = state.reshuffles < tables.rule.max_recycles and state.num_discards >= tables.rule.least_restock
    if state.num_stock == 0 and not renewable:
        end_round(tables, state, END_BLOCKED, -1, False)
        return
    draw_stock(tables, state, seat, order)
    begin_play(state, seat)


@kernel
def begin_play(state, seat):
    """After the draw, at which a turn counts."""
    state.turns[seat] += 1
    state.phase = PLAY
    state.passed = 0


@kernel
def apply_lay(tables, state, move):
    """Lay one meld. Under a contract the player has laid down with the last one; a free meld stands by itself."""
    seat = np.int64(state.to_act)
    free = tables.rule.free_melds
    if not free and state.phase != LAYING:
        contract = np.int64(state.round_number) - 1
        state.groups_left = tables.contracts[contract, 0]
        state.runs_left = tables.contracts[contract, 1]
        state.phase = LAYING
    size = np.int64(0)
    for at in range(MAX_LAY):
        kind = np.int64(tables.lay_cards[move, at])
        if kind >= 0:
            leave_hand(state, seat, kind)
            end_ban(state, kind)
            size += 1
    is_run = tables.move_suit[move] >= 0
    index = np.int64(state.num_melds)
    state.meld_owner[index] = seat
    state.meld_run[index] = is_run
    state.meld_suit[index] = max(0, np.int64(tables.move_suit[move]))
    state.meld_low[index] = tables.move_target[move]
    state.meld_size[index] = size
    state.meld_fill[index] = tables.lay_fill[move]
    state.num_melds = index + 1
    state.new_melds |= np.int64(1) << index
    state.acted_now = 1
    if not free:
        if is_run:
            state.runs_left -= 1
        else:
            state.groups_left -= 1
    if state.groups_left == 0 and state.runs_left == 0:
        state.down |= 1 << seat
        state.phase = PLAY
        end_if_out(tables, state, seat, goes_rummy(state, seat))


@kernel
def end_ban(state, kind):
    """The ban on discarding the taken card ends when a card of that kind is melded or laid off."""
    if state.taken == kind:
        state.taken = -1


@kernel
def layoff_meld(tables, state, move):
    """Which meld takes a card laid off: of those that accept it the shortest, of equals the oldest; -1 where none does."""
    seat = np.int64(state.to_act)
    type_ = tables.move_type[move]
    suit = tables.move_suit[move]
    target = np.int64(tables.move_target[move])
    places = tables.rule.num_places
    best = np.int64(-1)
    for index in range(state.num_melds):
        if tables.rule.layoff_own_only and state.meld_owner[index] != seat:
            continue
        low = np.int64(state.meld_low[index])
        size = np.int64(state.meld_size[index])
        if type_ == OFF_GROUP:
            accepts = not state.meld_run[index] and low == target and size < tables.rule.group_max
        elif not state.meld_run[index] or state.meld_suit[index] != suit or size >= places:
            accepts = False
        elif type_ == OFF_LOW:
            accepts = (target + 1) % places == low if tables.rule.circular else target + 1 == low
        else:
            accepts = (low + size) % places == target if tables.rule.circular else low + size == target
        if accepts and (best < 0 or size < state.meld_size[best]):
            best = index
    return best


@kernel
def apply_layoff(tables, state, move):
    """Add one card to a meld on the table."""
    seat = np.int64(state.to_act)
    kind = np.int64(tables.move_card[move])
    index = layoff_meld(tables, state, move)
    leave_hand(state, seat, kind)
    end_ban(state, kind)
    state.meld_size[index] += 1
    if state.meld_run[index]:
        place = np.int64(tables.move_target[move])
        if tables.move_type[move] == OFF_LOW:
            state.meld_low[index] = place
        if kind == WILD:
            state.meld_fill[index] |= 1 << place
    elif kind != WILD:
        state.meld_fill[index] += 1 << (4 * (kind // 13))
    state.acted_now = 1
    end_if_out(tables, state, seat, goes_rummy(state, seat))


@kernel
def goes_rummy(state, seat):
    """Whether a seat that now has no card left melds or lays off for the first time in this turn."""
    return state.acted_now == 1 and not (state.acted >> seat) & 1


@kernel
def end_if_out(tables, state, seat, rummy):
    """End the round where a seat has no card left; whether it has ended."""
    if state.hand_size[seat] > 0:
        return False
    end_round(tables, state, END_OUT, seat, rummy)
    return True


@kernel
def apply_discard(tables, state, kind):
    """End the turn; then the next player has the turn limit behind, or the fresh discard is offered."""
    seat = np.int64(state.to_act)
    leave_hand(state, seat, kind)
    top = np.int64(state.num_discards)
    state.discards[top] = kind
    state.discard_by[top] = seat + 1
    state.num_discards = top + 1
    state.discarder = seat
    state.discarded[seat] |= np.uint64(1) << np.uint64(kind)
    rummy = goes_rummy(state, seat)
    if state.acted_now:
        state.acted |= 1 << seat
    state.acted_now = 0
    state.new_melds = 0
    state.taken = -1
    if end_if_out(tables, state, seat, rummy):
        return
    following = (seat + 1) % np.int64(state.players)
    state.turn = following
    if state.turns[following] >= tables.rule.max_turns:
        end_round(tables, state, END_TURN_LIMIT, -1, False)
        return
    open_window(tables, state)


@kernel
def end_round(tables, state, end, out, rummy):
    """Score the round; deal the next one or end the game, whose last State then stays as it is.

    The game ends with its last round, or when a score reaches the target. `out` and `rummy` as for `score_round`.
    """
    score_round(tables, state, out, rummy)
    state.last_end = end
    state.last_down = state.down
    state.last_out = out
    state.rounds_done += 1
    reached = False
    for seat in range(state.players):
        if state.scores[seat] >= tables.rule.target:
            reached = True
    if reached or state.round_index >= state.last_index:
        state.phase = OVER
        state.to_act = -1
        return
    state.round_index += 1
    state.dealer = (np.int64(state.dealer) + 1) % np.int64(state.players)
    deal_round(tables, state, NO_ORDER)


assert NUM_SUITS == 4 and WINDOW == 0  # `meld_fill` keeps four bits for each of four suits
