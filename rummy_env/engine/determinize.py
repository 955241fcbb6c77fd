"""Determinization: a full State drawn at random from all that agree with a View.

Uniform over the arrangements of physical cards (the copies of a kind told apart) that give the View and these facts: known
cards stay in their hands, a public stock keeps its order, stock cards come from the pool that the stock was last formed
of, no seat holds more unseen pool cards than it has drawn unseen since, and who is laying a contract holds the rest of it.
What the others' choices suggest is not weighed.

Which copies of a kind were in the pool is itself unknown where only some were. So the number of pool copies among the
unseen cards of each kind is drawn first, weighed by how many arrangements it leaves (sums by kind and by seat, exact up to
the rounding of doubles); then each seat's number of pool cards; then the cards are dealt out.
"""

from __future__ import annotations

import math

import numpy as np

from rummy_env.cards import NUM_KINDS
from rummy_env.engine.contracts import KNOWN_RUNS, can_form
from rummy_env.engine.legal import blocked_starts, used_ranks
from rummy_env.engine.random import child_key, mix, shuffle
from rummy_env.engine.state import HISTORY, LAYING, MAX_CARDS, MAX_PLAYERS
from rummy_env.engine.view import count_melded, count_pile, count_unseen
from rummy_env.kernel import kernel

MOST_DRAWS = 100_000
"""Draws that are thrown away at most until a seat that is laying a contract can go on with it."""


@kernel
def log_choose(n, k):
    """The logarithm of n over k."""
    return math.lgamma(n + 1.0) - math.lgamma(k + 1.0) - math.lgamma(n - k + 1.0)


@kernel
def uniform(stream):
    """A number in [0, 1) from 53 bits; moves the stream on."""
    number = mix(stream[0], stream[1])
    stream[1] += np.uint64(1)
    return np.float64(number >> np.uint64(11)) / 9007199254740992.0


@kernel
def draw_index(stream, weights, count):
    """An index below `count` with a probability in proportion to its weight; -1 where all weights are zero."""
    total = 0.0
    for index in range(count):
        total += weights[index]
    if total <= 0:  # never where the weights were checked first
        return -1  # pragma: no cover
    mark = uniform(stream) * total
    chosen = -1
    for index in range(count):
        if weights[index] > 0:
            chosen = index
            if mark < weights[index]:
                return index
            mark -= weights[index]
    return chosen  # pragma: no cover - only where sums of floats are rounded


@kernel
def absolute(view, relative):
    """The seat of the table that a View calls `relative`; what is no seat stays as it is."""
    if relative < 0:
        return np.int64(relative)
    return (np.int64(relative) + np.int64(view.seat)) % np.int64(view.players)


@kernel
def absolute_bits(view, bits):
    """A bit set of seats of a View as seats of the table."""
    found = np.int64(0)
    for other in range(view.players):
        if (np.int64(bits) >> other) & 1:
            found |= 1 << absolute(view, other)
    return found


@kernel
def seat_ways(view, hidden, ways):
    """Fill ``ways[seat, n]``: in how many ways the hidden places of the seats from `seat` on can be divided so that n of
    them hold pool cards, no seat more than it has drawn."""
    players = np.int64(view.players)
    ways[:] = 0
    ways[players, 0] = 1
    for seat in range(players - 1, 0, -1):
        most = min(hidden[seat], np.int64(view.hidden_draws[seat]))
        for total in range(MAX_CARDS + 1):
            for own in range(min(most, total) + 1):
                ways[seat, total] += math.exp(log_choose(hidden[seat], own)) * ways[seat + 1, total - own]


@kernel
def kind_ways(tables, view, unseen, ways):
    """Fill ``ways[kind, n]``: in how many ways n of the unseen cards of the kinds from `kind` on can be pool copies."""
    ways[:] = 0
    ways[NUM_KINDS, 0] = 1
    for kind in range(NUM_KINDS - 1, -1, -1):
        pool = np.int64(view.pool[kind])
        others = tables.copies[kind] - pool
        left = unseen[kind]
        for own in range(max(0, left - others), min(pool, left) + 1):
            factor = math.exp(log_choose(pool, own) + log_choose(others, left - own))
            for total in range(own, MAX_CARDS + 1):
                ways[kind, total] += factor * ways[kind + 1, total - own]


@kernel
def determinize(tables, view, key, state):
    """Write into a cleared State one that agrees with the View, drawn with `key`, which also becomes its key.

    Returns False, with the State unfinished, where no arrangement agrees.
    """
    stream = np.zeros(2, np.uint64)
    stream[0] = child_key(key, np.uint64(0))  # not the drawn game's own stream, which its next new stock will use
    players = np.int64(view.players)
    unseen = np.zeros(NUM_KINDS, np.int64)
    melded = np.zeros(NUM_KINDS, np.int64)
    count_melded(tables, view, melded)
    count_pile(view, unseen)
    count_unseen(tables, view, melded, unseen)
    total = np.int64(0)
    for kind in range(NUM_KINDS):
        if unseen[kind] < 0:
            return False
        total += unseen[kind]
    hidden = np.zeros(MAX_PLAYERS, np.int64)
    places = np.int64(0)
    for other in range(1, players):
        hidden[other] = np.int64(view.hand_size[other])
        for kind in range(NUM_KINDS):
            hidden[other] -= np.int64(view.known[other, kind])
        if hidden[other] < 0:
            return False
        places += hidden[other]
    in_stock = np.int64(0) if view.stock_public else np.int64(view.num_stock)
    if places + in_stock != total:
        return False
    by_kind = np.zeros((NUM_KINDS + 1, MAX_CARDS + 1))
    by_seat = np.zeros((MAX_PLAYERS + 1, MAX_CARDS + 1))
    kind_ways(tables, view, unseen, by_kind)
    seat_ways(view, hidden, by_seat)
    # with A pool cards and B others: A! B! ways to tell them apart, times the ways to choose their places
    weights = np.full(MAX_CARDS + 1, -np.inf)
    largest = -np.inf
    for pooled in range(in_stock, total + 1):
        if by_kind[0, pooled] > 0 and by_seat[1, pooled - in_stock] > 0:
            weights[pooled] = (
                math.log(by_kind[0, pooled]) + math.log(by_seat[1, pooled - in_stock])
                + math.lgamma(pooled + 1.0) + math.lgamma(total - pooled + 1.0)
            )  # fmt: skip
            largest = max(largest, weights[pooled])
    if largest == -np.inf:
        return False
    for pooled in range(MAX_CARDS + 1):
        weights[pooled] = math.exp(weights[pooled] - largest)
    for _ in range(MOST_DRAWS):
        deal_unseen(tables, view, unseen, hidden, by_kind, by_seat, weights, total, stream, state)
        state.key = key
        if lays_on(tables, state):
            return True
    return False  # pragma: no cover - a hundred thousand draws without one that can lay on


@kernel
def lays_on(tables, state):
    """Whether a seat that is laying a contract holds the rest of it, which everybody knows; True in all other phases."""
    if state.phase != LAYING:
        return True
    seat = np.int64(state.to_act)
    groups = np.int64(state.groups_left)
    runs = np.int64(state.runs_left)
    hand = state.hand[seat].copy()
    known = np.zeros(KNOWN_RUNS, np.int64)
    return can_form(tables, hand, groups, runs, used_ranks(tables, state), blocked_starts(tables, state), known)


@kernel
def deal_unseen(tables, view, unseen, hidden, by_kind, by_seat, weights, total, stream, state):
    """One draw: copy what is public into the State and deal the unseen cards to the stock and the others' hands."""
    players = np.int64(view.players)
    in_stock = np.int64(0) if view.stock_public else np.int64(view.num_stock)
    pooled = np.int64(draw_index(stream, weights, MAX_CARDS + 1))
    pool_cards = np.zeros(MAX_CARDS, np.int8)
    other_cards = np.zeros(MAX_CARDS, np.int8)
    split_kinds(tables, view, unseen, by_kind, pooled, stream, pool_cards, other_cards)
    shuffle(stream, pool_cards, pooled)
    shuffle(stream, other_cards, total - pooled)
    copy_public(view, state)
    pool_at = np.int64(0)
    if not view.stock_public:
        for place in range(in_stock):
            state.stock[place] = pool_cards[place]
        pool_at = in_stock
    left = pooled - in_stock
    other_at = np.int64(0)
    for other in range(1, players):
        seat = absolute(view, other)
        share = np.zeros(MAX_CARDS + 1)
        most = min(hidden[other], np.int64(view.hidden_draws[other]))
        for own in range(min(most, left) + 1):
            share[own] = math.exp(log_choose(hidden[other], own)) * by_seat[other + 1, left - own]
        own = np.int64(draw_index(stream, share, MAX_CARDS + 1))
        for _ in range(own):
            state.hand[seat, pool_cards[pool_at]] += 1
            pool_at += 1
        for _ in range(hidden[other] - own):
            state.hand[seat, other_cards[other_at]] += 1
            other_at += 1
        left -= own


@kernel
def split_kinds(tables, view, unseen, by_kind, pooled, stream, pool_cards, other_cards):
    """Draw how many unseen cards of each kind are pool copies, `pooled` in all, and list both sorts."""
    left = pooled
    pool_at = np.int64(0)
    other_at = np.int64(0)
    share = np.zeros(MAX_CARDS + 1)
    for kind in range(NUM_KINDS):
        pool = np.int64(view.pool[kind])
        others = tables.copies[kind] - pool
        share[:] = 0
        for own in range(max(0, unseen[kind] - others), min(pool, unseen[kind], left) + 1):
            ways = log_choose(pool, own) + log_choose(others, unseen[kind] - own)
            share[own] = math.exp(ways) * by_kind[kind + 1, left - own]
        own = np.int64(draw_index(stream, share, MAX_CARDS + 1))
        for _ in range(own):
            pool_cards[pool_at] = kind
            pool_at += 1
        for _ in range(unseen[kind] - own):
            other_cards[other_at] = kind
            other_at += 1
        left -= own


@kernel
def copy_public(view, state):
    """Write everything that a View says into a State, its seats turned back."""
    players = np.int64(view.players)
    for other in range(players):
        seat = absolute(view, other)
        state.discarded[seat] = view.discarded[other]
        state.scores[seat] = view.scores[other]
        state.turns[seat] = view.turns[other]
        state.buys[seat] = view.buys[other]
        state.hand_size[seat] = view.hand_size[other]
        state.hidden_draws[seat] = view.hidden_draws[other]
        state.known[seat] = view.known[other]
        state.hand[seat] = view.known[other]
    state.hand[view.seat] = view.hand
    state.pool[:] = view.pool
    state.stock[:] = view.stock
    for at in range(view.num_discards):
        state.discards[at] = view.discards[at]
        state.discard_by[at] = absolute(view, np.int64(view.discard_by[at]) - 1) + 1
    for at in range(view.num_melds):
        state.meld_owner[at] = absolute(view, view.meld_owner[at])
        state.meld_run[at] = view.meld_run[at]
        state.meld_suit[at] = view.meld_suit[at]
        state.meld_low[at] = view.meld_low[at]
        state.meld_size[at] = view.meld_size[at]
        state.meld_fill[at] = view.meld_fill[at]
    for at in range(HISTORY):
        entry = np.int64(view.history[at])
        state.history[at] = (entry >> 3 << 3) + absolute(view, entry & 7) if entry else 0
    state.new_melds = view.new_melds
    state.num_stock = view.num_stock
    state.num_discards = view.num_discards
    state.num_melds = view.num_melds
    state.stock_public = view.stock_public
    state.reshuffles = view.reshuffles
    state.round_index = view.round_index
    state.last_index = view.last_index
    state.players = players
    state.round_number = view.round_number
    state.dealer = absolute(view, view.dealer)
    state.phase = view.phase
    state.to_act = absolute(view, view.to_act)
    state.turn = absolute(view, view.turn)
    state.discarder = absolute(view, view.discarder)
    state.passed = absolute_bits(view, view.passed)
    state.taken = view.taken
    state.down = absolute_bits(view, view.down)
    state.acted = absolute_bits(view, view.acted)
    state.acted_now = view.acted_now
    state.groups_left = view.groups_left
    state.runs_left = view.runs_left
    state.last_out = -1
