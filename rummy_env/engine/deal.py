"""Dealing: a game's beginning, the deck of a round, a round's deal."""

from __future__ import annotations

import numpy as np

from rummy_env.cards import NUM_KINDS
from rummy_env.engine.random import below, deck_key, shuffle
from rummy_env.engine.state import END_NONE, MAX_CARDS, MAX_PLAYERS
from rummy_env.engine.window import begin_turn, open_window
from rummy_env.kernel import kernel


@kernel
def start_game(tables, state, players, key, first_index, last_index, dealer, deck):
    """Begin a game in a cleared State and deal its first round.

    The rounds played are those from `first_index` to `last_index` of the sequence; `dealer` -1 lets the key choose. `deck`
    as for `deal_round`.
    """
    state.key = key
    state.counter = np.uint64(0)
    state.players = players
    state.round_index = first_index
    state.last_index = last_index
    state.rounds_done = 0
    state.last_end = END_NONE
    state.last_down = 0
    state.last_out = -1
    for seat in range(MAX_PLAYERS):
        state.scores[seat] = 0
        state.last_points[seat] = 0
    stream = np.zeros(2, np.uint64)
    stream[0] = key
    chosen = below(stream, players)
    state.counter = stream[1]
    state.dealer = chosen if dealer < 0 else dealer
    deal_round(tables, state, deck)


@kernel
def round_deck(tables, state, deck):
    """Write the deck of the State's present round into `deck`, in the order in which the cards leave it.

    Returns the number of cards. It depends on the game's key and the round alone.
    """
    count = 0
    for kind in range(NUM_KINDS):
        for _ in range(tables.copies[kind]):
            deck[count] = kind
            count += 1
    stream = np.zeros(2, np.uint64)
    stream[0] = deck_key(state.key, state.round_index)
    shuffle(stream, deck, count)
    return count


@kernel
def clear_round(state):
    """Set everything that belongs to one round to nothing."""
    state.discarded[:] = 0
    state.new_melds = 0
    state.meld_fill[:] = 0
    state.history[:] = 0
    state.turns[:] = 0
    state.buys[:] = 0
    state.reshuffles = 0
    state.hand[:] = 0
    state.known[:] = 0
    state.hand_size[:] = 0
    state.hidden_draws[:] = 0
    state.pool[:] = 0
    state.stock[:] = 0
    state.discards[:] = 0
    state.discard_by[:] = 0
    state.meld_owner[:] = 0
    state.meld_run[:] = 0
    state.meld_suit[:] = 0
    state.meld_low[:] = 0
    state.meld_size[:] = 0
    state.num_stock = 0
    state.num_discards = 0
    state.num_melds = 0
    state.stock_public = 0
    state.discarder = -1
    state.passed = 0
    state.taken = -1
    state.down = 0
    state.acted = 0
    state.acted_now = 0
    state.groups_left = 0
    state.runs_left = 0


@kernel
def deal_round(tables, state, deck):
    """Deal the round `State.round_index` from a deck: one card at a time from the dealer's left, the up-card, the stock.

    `deck` holds the cards in the order in which they leave it; an empty array has the game's own shuffled.
    """
    clear_round(state)
    players = np.int64(state.players)
    state.round_number = tables.sequence[min(np.int64(state.round_index), tables.num_rounds - 1)]
    own = np.zeros(MAX_CARDS, np.int8)
    count = round_deck(tables, state, own)
    if deck.shape[0] > 0:
        own[:count] = deck[:count]
    each = tables.deal[np.int64(state.round_number) - 1, players]
    first = (np.int64(state.dealer) + 1) % players
    for at in range(each * players):
        state.hand[(first + at) % players, own[at]] += 1
    for seat in range(players):
        state.hand_size[seat] = each
        state.hidden_draws[seat] = each
    at = each * players
    up_card = own[at]
    state.discards[0] = up_card
    state.num_discards = 1
    for kind in range(NUM_KINDS):
        state.pool[kind] = tables.copies[kind]
    size = count - at - 1
    for place in range(size):
        state.stock[place] = own[count - 1 - place]
    state.num_stock = size
    state.turn = first
    if tables.rule.buy_first_upcard:
        open_window(tables, state)
    else:
        begin_turn(state)
