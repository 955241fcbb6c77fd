"""The exact action mask: what is set is legal, what is legal is set. One function per phase."""

from __future__ import annotations

import numpy as np

from rummy_env.cards import NUM_RANKS, NUM_SUITS, WILD
from rummy_env.engine.contracts import (
    KNOWN_RUNS,
    can_form,
    cheapest_groups,
    groups_by_cost,
    rank_naturals,
    suit_places,
)
from rummy_env.engine.order import keep_ascending
from rummy_env.engine.state import DRAW, LAYING, OVER, WINDOW
from rummy_env.engine.tables import BUY_MOVE, MAX_LAY, PASS_MOVE, STOCK_MOVE, TAKE_MOVE
from rummy_env.engine.window import can_buy
from rummy_env.kernel import kernel


@kernel
def legal(tables, state, mask):
    """Write the mask of the seat to act (all moves, 0 or 1) and return how many moves are legal; 0 after the game."""
    mask[:] = 0
    if state.phase == OVER:
        return 0
    if state.phase == WINDOW:
        return legal_window(tables, state, mask)
    if state.phase == DRAW:
        return legal_draw(tables, state, mask)
    if state.phase == LAYING:
        return legal_lays(tables, state, np.int64(state.groups_left), np.int64(state.runs_left), mask)
    return legal_play(tables, state, mask)


@kernel
def legal_alone(tables, states, mask):
    """`legal` for arrays of one record, which Python hands over in less than a tenth of the time of a record."""
    return legal(tables[0], states[0], mask)


@kernel
def legal_window(tables, state, mask):
    """Take, buy or pass: the player next in turn is asked because taking keeps the card from the others."""
    seat = np.int64(state.to_act)
    count = 1
    mask[PASS_MOVE] = 1
    if seat == state.turn:
        mask[TAKE_MOVE] = 1
        count += 1
    if can_buy(tables, state, seat):
        mask[BUY_MOVE] = 1
        count += 1
    return count


@kernel
def legal_draw(tables, state, mask):
    """The top of the stock, or the top discard.

    With an empty stock `stock` forms a new one from the discards; where a new stock is barred it means declining the
    discard. Where none is barred but the discards are too few for one, taking is the only draw; where there is no discard
    either, `stock` is the one move left and finds that the round is blocked.
    """
    count = 0
    discards = np.int64(state.num_discards)
    barred = state.reshuffles >= tables.rule.max_recycles
    if state.num_stock > 0 or barred or discards >= tables.rule.least_restock or discards == 0:
        mask[STOCK_MOVE] = 1
        count += 1
    if discards > 0:
        mask[TAKE_MOVE] = 1
        count += 1
    return count


@kernel
def legal_play(tables, state, mask):
    """After the draw: lay down, lay off, discard."""
    seat = np.int64(state.to_act)
    down = (state.down >> seat) & 1
    count = 0
    if tables.rule.free_melds:
        if bits_set(state.new_melds) < tables.rule.melds_per_turn:
            count += legal_free_lays(tables, state, seat, mask)
        if down or state.new_melds != 0 or not tables.rule.layoff_needs_own_meld:
            count += legal_layoffs(tables, state, seat, mask)
    elif not down:
        contract = np.int64(state.round_number) - 1
        count += legal_lays(tables, state, tables.contracts[contract, 0], tables.contracts[contract, 1], mask)
    elif state.new_melds == 0 or tables.rule.same_turn_layoff:
        count += legal_layoffs(tables, state, seat, mask)
    return count + legal_discards(tables, state, seat, mask)


@kernel
def bits_set(bits):
    """How many bits of a bit set are set."""
    left = np.int64(bits)
    count = 0
    while left:
        left &= left - 1
        count += 1
    return count


@kernel
def legal_free_lays(tables, state, seat, mask):
    """Every single meld that the hand holds, where melds are free."""
    hand = state.hand[seat].copy()
    spare = np.int64(state.hand_size[seat]) - tables.rule.final_discard
    known = np.zeros(KNOWN_RUNS, np.int64)
    count = 0
    if spare >= tables.rule.group_size:
        count += legal_groups(tables, hand, 1, 0, 0, 0, known, mask)
    if spare >= tables.rule.run_length:
        count += legal_runs(tables, hand, 0, 1, 0, 0, known, mask)
    return count


@kernel
def legal_discards(tables, state, seat, mask):
    """Every card held, but for the one that was taken from the pile this turn (unless the hand holds nothing else)."""
    hand = state.hand[seat]
    first = tables.first_discard
    count = np.int64(0)
    for at in range(tables.num_kinds):
        held = hand[tables.kinds[at]] > 0
        mask[first + at] = held
        count += held
    taken = np.int64(state.taken)
    if taken >= 0 and hand[taken] > 0 and hand[taken] < state.hand_size[seat]:
        mask[tables.discard_moves[taken]] = 0
        count -= 1
    return count


@kernel
def open_ends(tables, table, index):
    """The places of the cards that a run accepts below and above it, each -1 where it accepts none.

    `table` is a State or a View. A run grows to all places of its suit at most.
    """
    places = tables.rule.num_places
    low = np.int64(table.meld_low[index])
    size = np.int64(table.meld_size[index])
    if size >= places:
        return np.int64(-1), np.int64(-1)
    before = low - 1
    after = low + size
    if tables.rule.circular:
        return (before + places) % places, after % places
    return before, after if after < places else np.int64(-1)


@kernel
def legal_layoffs(tables, state, seat, mask):
    """The cards that melds on the table accept: a card of the rank, the next at either end, a wild in its place."""
    hand = state.hand[seat]
    if tables.rule.final_discard and state.hand_size[seat] == 1:
        return 0
    count = 0
    for index in range(state.num_melds):
        if tables.rule.layoff_own_only and state.meld_owner[index] != seat:
            continue
        low = np.int64(state.meld_low[index])
        size = np.int64(state.meld_size[index])
        if not state.meld_run[index]:
            if size >= tables.rule.group_max:
                continue
            for suit in range(NUM_SUITS):
                kind = suit * NUM_RANKS + low
                if hand[kind] > 0:
                    count += set_bit(mask, tables.off_group[kind])
            if hand[WILD] > 0:
                count += set_bit(mask, tables.off_group_wild[low])
            continue
        suit = np.int64(state.meld_suit[index])
        before, after = open_ends(tables, state, index)
        if before >= 0:
            kind = tables.place_kinds[suit, before]
            if kind >= 0 and hand[kind] > 0:
                count += set_bit(mask, tables.off_low[suit, before])
            if hand[WILD] > 0:
                count += set_bit(mask, tables.off_low_wild[suit, before])
        if after >= 0:
            kind = tables.place_kinds[suit, after]
            if kind >= 0 and hand[kind] > 0:
                count += set_bit(mask, tables.off_high[suit, after])
            if hand[WILD] > 0:
                count += set_bit(mask, tables.off_high_wild[suit, after])
    return count


@kernel
def set_bit(mask, move):
    """Set a bit of the mask; 1 where it was not set before."""
    if mask[move]:
        return 0
    mask[move] = 1
    return 1


@kernel
def used_ranks(tables, state):
    """Bit set of the ranks of groups of the contract being laid, where they must differ."""
    used = np.int64(0)
    if tables.rule.distinct_groups:
        for index in range(state.num_melds):
            if (state.new_melds >> index) & 1 and not state.meld_run[index]:
                used |= 1 << np.int64(state.meld_low[index])
    return used


@kernel
def blocked_starts(tables, state):
    """Bit set of the starts that runs of the contract being laid keep others from, where they must stand apart."""
    blocked = np.int64(0)
    if tables.rule.separate_runs:
        for index in range(state.num_melds):
            if (state.new_melds >> index) & 1 and state.meld_run[index]:
                blocked |= tables.run_clashes[tables.start_of[state.meld_suit[index], state.meld_low[index]]]
    return blocked


@kernel
def legal_lays(tables, state, groups, runs, mask):
    """The melds of the `groups` and `runs` still to lay that leave the rest of the contract possible."""
    seat = np.int64(state.to_act)
    cards = groups * tables.rule.group_size + runs * tables.rule.run_length
    if state.hand_size[seat] < cards + tables.rule.final_discard:
        return 0
    # the hand is changed while trying and put back: a copy costs less than the care that a shared one would need
    hand = state.hand[seat].copy()
    used = used_ranks(tables, state)
    blocked = blocked_starts(tables, state)
    known = np.zeros(KNOWN_RUNS, np.int64)
    if not can_form(tables, hand, groups, runs, used, blocked, known):
        return 0
    count = 0
    if groups > 0:
        count += legal_groups(tables, hand, groups, runs, used, blocked, known, mask)
    if runs > 0:
        known[0, 0] = 0
        count += legal_runs(tables, hand, groups, runs, used, blocked, known, mask)
    if tables.ascending:
        count -= keep_ascending(tables, state, hand, groups, runs, used, blocked, mask)
    return count


@kernel
def legal_groups(tables, hand, groups, runs, used, blocked, known, mask):
    """The groups among `legal_lays`, with the runs that `can_form` found possible in `known`."""
    size = tables.rule.group_size
    most_wilds = min(np.int64(hand[WILD]), size - tables.rule.group_naturals)
    by_cost = groups_by_cost(tables, hand, groups - 1, 1, used)
    count = 0
    for index in range(tables.num_ranks):
        rank = tables.ranks[index]
        if (used >> rank) & 1:
            continue
        after = used | (1 << rank) if tables.rule.distinct_groups else used
        naturals = rank_naturals(hand, rank)
        suits = suits_held(hand, rank)
        for wilds in range(max(0, size - naturals), min(most_wilds, size - 1) + 1):
            first = tables.group_lays[rank, 0] + tables.group_offsets[wilds]
            stop = tables.group_lays[rank, 0] + tables.group_offsets[wilds + 1]
            if runs > 0:
                for move in range(first, stop):
                    if within(tables.lay_fill[move], suits):
                        count += try_lay(tables, hand, move, groups - 1, runs, after, blocked, known, mask)
                continue
            # whether the other groups are possible then hangs only on how many naturals of the rank are left
            rest = by_cost - tables.group_costs[1, groups - 1, naturals]
            if not tables.rule.distinct_groups:
                rest += tables.group_costs[1, groups - 1, naturals - size + wilds]
            if cheapest_groups(tables, rest, groups - 1) <= np.int64(hand[WILD]) - wilds:
                for move in range(first, stop):
                    fits = within(tables.lay_fill[move], suits)
                    mask[move] = fits
                    count += fits
        move = tables.wild_group_lays[rank]
        if move >= 0 and most_wilds == size:
            count += try_lay(tables, hand, move, groups - 1, runs, after, blocked, known, mask)
    return count


@kernel
def suits_held(hand, rank):
    """How many cards of a rank a hand holds of each suit: four bits each, as in `meld_fill` of a group."""
    held = np.int64(0)
    for suit in range(NUM_SUITS):
        held |= np.int64(hand[suit * NUM_RANKS + rank]) << (4 * suit)
    return held


@kernel
def within(fill, held):
    """Whether the naturals of a group, four bits for each suit, are among those held (7 at most of each)."""
    return (((held | 0x8888) - np.int64(fill)) & 0x8888) == 0x8888


@kernel
def legal_runs(tables, hand, groups, runs, used, blocked, known, mask):
    """The runs among `legal_lays`."""
    length = tables.rule.run_length
    most_wilds = min(np.int64(hand[WILD]), length - tables.rule.run_naturals)
    suit = np.int64(-1)
    places = np.int64(0)
    count = 0
    for start in range(tables.num_starts):
        if tables.start_suit[start] != suit:
            suit = tables.start_suit[start]
            places = suit_places(tables, hand, suit)
        held = (places >> tables.start_low[start]) & ((1 << length) - 1)
        if length - tables.bit_counts[held] > most_wilds or (blocked >> start) & 1:
            continue
        after = blocked | tables.run_clashes[start]
        naturals = held
        while True:
            move = tables.run_lays[start, naturals]
            if move >= 0 and length - tables.bit_counts[naturals] <= most_wilds:
                count += try_lay(tables, hand, move, groups, runs - 1, used, after, known, mask)
            if naturals == 0:
                break
            naturals = (naturals - 1) & held
    return count


@kernel
def try_lay(tables, hand, move, groups, runs, used, blocked, known, mask):
    """Set the bit of a lay if the hand holds its cards and can form `groups` and `runs` from what remains.

    `known` as for `can_form`.
    """
    cards = tables.lay_cards[move]
    fits = True
    for at in range(MAX_LAY):
        if cards[at] >= 0:
            hand[cards[at]] -= 1
            if hand[cards[at]] < 0:
                fits = False
    if fits:
        fits = can_form(tables, hand, groups, runs, used, blocked, known)
    for at in range(MAX_LAY):
        if cards[at] >= 0:
            hand[cards[at]] += 1
    if not fits:
        return 0
    mask[move] = 1
    return 1
