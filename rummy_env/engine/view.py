"""The View of a seat: everything it may know, written from the State by one kernel. Seats in it are relative: 0 is oneself."""

from __future__ import annotations

import numpy as np

from rummy_env.cards import NUM_KINDS, NUM_RANKS, NUM_SUITS, WILD
from rummy_env.engine.state import HISTORY, MAX_PLAYERS
from rummy_env.kernel import kernel
from rummy_env.memory import LOW_BITS, WORD, load_word, store_word

EACH_SEAT = LOW_BITS & ((1 << 8 * MAX_PLAYERS) - 1)
"""One in each of the eight bits of a seat."""


@kernel
def relative(state, seat, other):
    """The seat `other` as seen from `seat`; what is no seat stays as it is."""
    distance = np.int64(other) - seat
    if other < 0:
        return np.int64(other)
    return distance if distance >= 0 else distance + np.int64(state.players)


@kernel
def relative_bits(state, seat, bits):
    """A bit set of seats as seen from `seat`."""
    players = np.int64(state.players)
    wide = np.int64(bits)
    return ((wide >> seat) | (wide << (players - seat))) & ((1 << players) - 1)


@kernel
def copy_bytes(source, out, count):
    """Copy the first `count` bytes of a row, and some that follow, to a row of the same size (8 at least)."""
    last = source.shape[0] - WORD
    for at in range(0, count, WORD):
        place = min(at, last)
        store_word(out, place, load_word(source, place))


@kernel
def relative_seats(state, seat):
    """Eight bits for each seat from 0 up: the same seat as seen from `seat`."""
    packed = np.int64(0)
    for other in range(state.players):
        packed |= relative(state, seat, other) << (8 * other)
    return packed


@kernel
def view(state, seat, out):
    """Write what `seat` may know of a table into the View `out`: public facts and its own cards, nothing else."""
    players = np.int64(state.players)
    for other in range(MAX_PLAYERS):
        if other >= players:
            out.discarded[other] = 0
            out.scores[other] = 0
            out.turns[other] = 0
            out.buys[other] = 0
            out.hand_size[other] = 0
            out.hidden_draws[other] = 0
            out.known[other] = 0
            continue
        source = seat + other
        if source >= players:
            source -= players
        out.discarded[other] = state.discarded[source]
        out.scores[other] = state.scores[source]
        out.turns[other] = state.turns[source]
        out.buys[other] = state.buys[source]
        out.hand_size[other] = state.hand_size[source]
        out.hidden_draws[other] = state.hidden_draws[source]
        copy_bytes(state.known[source], out.known[other], NUM_KINDS)
    copy_bytes(state.hand[seat], out.hand, NUM_KINDS)
    copy_bytes(state.pool, out.pool, NUM_KINDS)
    seats = relative_seats(state, seat)
    copy_piles(state, seats, out)
    copy_melds(state, seats, out)
    for at in range(HISTORY):
        entry = np.int64(state.history[at])
        out.history[at] = ((entry & ~7) | ((seats >> (8 * (entry & 7))) & 7)) if entry else 0
    out.new_melds = state.new_melds
    out.reshuffles = state.reshuffles
    out.round_index = state.round_index
    out.last_index = state.last_index
    out.players = players
    out.seat = seat
    out.round_number = state.round_number
    out.dealer = relative(state, seat, state.dealer)
    out.phase = state.phase
    out.to_act = relative(state, seat, state.to_act)
    out.turn = relative(state, seat, state.turn)
    out.discarder = relative(state, seat, state.discarder)
    out.passed = relative_bits(state, seat, state.passed)
    out.taken = state.taken
    out.down = relative_bits(state, seat, state.down)
    out.acted = relative_bits(state, seat, state.acted)
    out.acted_now = state.acted_now
    out.groups_left = state.groups_left
    out.runs_left = state.runs_left


@kernel
def copy_piles(state, seats, out):
    """The discard pile with its makers; the stock only where its order is public. `seats` is of `relative_seats`."""
    # what lies beyond a count is zero, so that copying as far as the View was written before clears it as well
    count = max(np.int64(state.num_discards), np.int64(out.num_discards))
    copy_bytes(state.discards, out.discards, count)
    makers = seats + EACH_SEAT
    for at in range(count):
        maker = np.int64(state.discard_by[at])
        out.discard_by[at] = (makers << 8 >> (8 * maker)) & 7
    out.num_discards = state.num_discards
    if state.stock_public:
        out.stock[:] = state.stock
    elif out.stock_public:
        out.stock[:] = 0
    out.num_stock = state.num_stock
    out.stock_public = state.stock_public


@kernel
def copy_melds(state, seats, out):
    """The melds on the table and their owners. `seats` is of `relative_seats`."""
    melds = np.int64(state.num_melds)
    count = max(melds, np.int64(out.num_melds))
    copy_bytes(state.meld_run, out.meld_run, count)
    copy_bytes(state.meld_suit, out.meld_suit, count)
    copy_bytes(state.meld_low, out.meld_low, count)
    copy_bytes(state.meld_size, out.meld_size, count)
    for at in range(count):
        out.meld_fill[at] = state.meld_fill[at]
        owner = np.int64(state.meld_owner[at])
        out.meld_owner[at] = (seats >> (8 * owner)) & 7 if at < melds else 0
    out.num_melds = melds


@kernel
def count_meld(tables, view, index, counts, change):
    """Add the cards of a meld, `change` for each, to counts by kind."""
    low = np.int64(view.meld_low[index])
    size = np.int64(view.meld_size[index])
    fill = np.int64(view.meld_fill[index])
    if not view.meld_run[index]:
        wilds = size
        for suit in range(NUM_SUITS):
            naturals = (fill >> (4 * suit)) & 15
            counts[suit * NUM_RANKS + low] += naturals * change
            wilds -= naturals
        counts[WILD] += wilds * change
        return
    suit = np.int64(view.meld_suit[index])
    for step in range(size):
        place = low + step
        if place >= tables.rule.num_places:  # round the corner; a division would cost more than all the rest
            place -= tables.rule.num_places
        kind = WILD if (fill >> place) & 1 else tables.place_kinds[suit, place]
        counts[kind] += change


@kernel
def count_melded(tables, view, counts):
    """Write into `counts` (53) how many cards of each kind lie in melds on the table."""
    counts[:] = 0
    for index in range(view.num_melds):
        count_meld(tables, view, index, counts, 1)


@kernel
def count_pile(view, counts):
    """Write into `counts` (53) how many cards of each kind lie in the discard pile."""
    counts[:] = 0
    for place in range(view.num_discards):
        counts[view.discards[place]] += 1


@kernel
def count_unseen(tables, view, melded, unseen):
    """Write how many cards of each kind lie where the View does not say into `unseen` (53), which holds the discard pile.

    `melded` is of `count_melded`, what `unseen` holds at first of `count_pile`.
    """
    for kind in range(NUM_KINDS):
        seen = np.int64(view.hand[kind]) + np.int64(melded[kind]) + np.int64(unseen[kind])
        for other in range(1, MAX_PLAYERS):
            seen += np.int64(view.known[other, kind])  # zeros of seats that are not there
        unseen[kind] = tables.copies[kind] - seen
    if view.stock_public:
        for place in range(view.num_stock):
            unseen[view.stock[place]] -= 1
