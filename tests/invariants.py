"""What holds of every State, as kernels: whole games played at random with all of it checked after every move.

`check` looks at a State alone, `check_step` at what one move made of it. They count for themselves and call no function of
the engine: from the tables they take only what the rules say (cards, sizes, limits) and what a move's cards are. Both hold
for rounds that were dealt; a position says neither what was drawn unseen nor what the stock was formed of.
"""

from __future__ import annotations

import numpy as np

from rummy_env.cards import NUM_KINDS, NUM_RANKS, NUM_SUITS, WILD
from rummy_env.engine.apply import NO_ORDER, apply
from rummy_env.engine.deal import start_game
from rummy_env.engine.legal import legal
from rummy_env.engine.random import below, child_key
from rummy_env.engine.state import (
    DRAW,
    END_BLOCKED,
    END_NONE,
    END_OUT,
    END_TURN_LIMIT,
    HISTORY,
    LAYING,
    MAX_CARDS,
    MAX_MELDS,
    MAX_PLAYERS,
    OVER,
    PLAY,
    WINDOW,
)
from rummy_env.engine.tables import BLOCKED_LOWEST, BLOCKED_NONE, MAX_LAY
from rummy_env.kernel import kernel, wrapping_kernel
from rummy_env.moves import MoveType

FAULTS = (
    "none", "players", "phase", "seats", "rounds", "last round", "counts", "beyond the players", "kinds", "cards", "hand size",
    "known", "beyond the stock", "beyond the discards", "beyond the melds", "discard makers", "discarded", "pool",
    "hidden draws", "meld owner", "group", "run", "flags", "seat bits", "passed", "window", "laid this turn", "contract",
    "taken", "discarder", "buys", "turns", "reshuffles", "empty hand", "acted", "history", "unused bytes", "mask",
    "mask count", "no move", "scores", "points", "step", "step hands", "target", "free melds", "melds per turn", "step known",
    "step piles", "lay-off",
)  # fmt: skip
"""What can be wrong, by number; 0 is nothing."""
(
    NONE, PLAYERS, PHASE, SEATS, ROUNDS, LAST_ROUND, COUNTS, BEYOND_PLAYERS, KINDS, CARDS, HAND_SIZE,
    KNOWN, BEYOND_STOCK, BEYOND_DISCARDS, BEYOND_MELDS, MAKERS, DISCARDED, POOL,
    HIDDEN_DRAWS, MELD_OWNER, GROUP, RUN, FLAGS, SEAT_BITS, PASSED, IN_WINDOW, LAID, CONTRACT,
    TAKEN, DISCARDER, BUYS, TURNS, RESHUFFLES, EMPTY_HAND, ACTED, IN_HISTORY, UNUSED, MASK,
    MASK_COUNT, NO_MOVE, SCORES, POINTS, STEP, STEP_HANDS, TARGET, FREE_MELDS, MELDS_PER_TURN, STEP_KNOWN,
    STEP_PILES, LAY_OFF,
) = range(len(FAULTS))  # fmt: skip

TALLY = (
    "moves", "games", "lays", "lay-offs", "buys", "takes", "new stocks", "declined", "ends out", "ends blocked",
    "ends turn_limit", "moves after a lay", "turned over", "rummies", "targets reached", "corners",
)  # fmt: skip
"""What `play_table` counts."""
(
    _MOVES,
    _GAMES,
    _LAYS,
    _OFFS,
    _BUYS,
    _TAKES,
    _STOCKS,
    _DECLINED,
    _END,
    _,
    _,
    _AFTER_LAY,
    _TURNED,
    _RUMMIES,
    _TARGETS,
    _CORNERS,
) = range(len(TALLY))
_STOCK, _TAKE, _BUY = int(MoveType.STOCK), int(MoveType.TAKE), int(MoveType.BUY)
_LAY, _DISCARD = int(MoveType.LAY), int(MoveType.DISCARD)
NO_HAND = 2**40
"""More points than any hand has."""
_ONES = np.uint64(0x0101010101010101)
_TOP = np.uint64(56)
_LOW_BYTE = np.uint64(255)
_EIGHT = np.uint64(8)
_ZERO = np.uint64(0)


@kernel
def check(tables, state, counts):
    """The number of the first fault of a State, 0 where all is well. `counts` is an int64 scratch array (53,)."""
    fault = check_numbers(tables, state)
    if fault == NONE:
        fault = check_cards(tables, state, counts)
    if fault == NONE:
        fault = check_melds(tables, state)
    if fault == NONE:
        fault = check_turn(tables, state)
    return fault


@kernel
def check_numbers(tables, state):
    """Numbers in their ranges, those first that others are counted with."""
    players = np.int64(state.players)
    phase = np.int64(state.phase)
    if players < max(2, tables.rule.players_min) or players > min(MAX_PLAYERS, tables.rule.players_max):
        return PLAYERS
    if phase < WINDOW or phase > OVER:
        return PHASE
    to_act = np.int64(state.to_act)
    turn = np.int64(state.turn)
    if turn < 0 or turn >= players or state.dealer < 0 or state.dealer >= players:
        return SEATS
    if phase == OVER:
        if to_act != -1:
            return SEATS
    elif to_act < 0 or to_act >= players or (phase != WINDOW and to_act != turn):
        return SEATS
    index = np.int64(state.round_index)
    if index < 0 or index > state.last_index or state.last_index >= tables.rule.game_rounds:
        return ROUNDS
    number = np.int64(1)  # of every deal where melds are free
    if not tables.rule.free_melds:
        if state.last_index >= tables.num_rounds:
            return ROUNDS
        number = tables.sequence[index]
    if state.round_number != number or state.rounds_done < 0 or state.rounds_done > index + (phase == OVER):
        return ROUNDS
    reached = target_reached(tables, state, players)
    if phase == OVER:
        if state.rounds_done < 1 or (index != state.last_index and not tables.rule.free_melds):
            return ROUNDS
        if index != state.last_index and not reached:
            return TARGET
    elif reached:
        return TARGET
    fault = check_last_round(tables, state, players)
    if fault:
        return fault
    return check_counters(tables, state, players)


@kernel
def target_reached(tables, state, players):
    """Whether a score is as high as the one that ends the game."""
    reached = False
    for seat in range(players):
        reached = reached or state.scores[seat] >= tables.rule.target
    return reached


@kernel
def check_last_round(tables, state, players):
    """How the last finished round ended, and whether its points can be of such an end."""
    end = np.int64(state.last_end)
    if end < END_NONE or end > END_TURN_LIMIT or (end == END_NONE) != (state.rounds_done == 0):
        return LAST_ROUND
    if end == END_OUT:
        if state.last_out < 0 or state.last_out >= players:
            return LAST_ROUND
        for seat in range(players):  # where most points win all are the winner's, else none
            if (seat == state.last_out) != tables.rule.most_wins and state.last_points[seat] != 0:
                return LAST_ROUND
    elif state.last_out != -1:
        return LAST_ROUND
    if end != END_NONE and end != END_OUT and tables.rule.blocked_scoring == BLOCKED_NONE:
        for seat in range(players):
            if state.last_points[seat] != 0:
                return LAST_ROUND
    if state.last_down & ~((np.int64(1) << players) - 1):
        return LAST_ROUND
    return NONE


@kernel
def check_counters(tables, state, players):
    """The rest of `check_numbers`: counts, flags, bit sets of seats, and what each seat has of them."""
    seats = (np.int64(1) << players) - 1
    pack = np.int64(tables.rule.pack_size)
    stock = np.int64(state.num_stock)
    discards = np.int64(state.num_discards)
    if stock < 0 or discards < 0 or stock + discards > pack or pack > MAX_CARDS:
        return COUNTS
    if state.num_melds < 0 or state.num_melds > MAX_MELDS:
        return COUNTS
    if state.acted_now < 0 or state.acted_now > 1:
        return FLAGS
    if state.stock_public != (1 if tables.rule.turn_over and state.reshuffles > 0 else 0):
        return FLAGS
    if (state.passed & ~seats) or (state.down & ~seats) or (state.acted & ~seats):
        return SEAT_BITS
    if state.reshuffles < 0 or state.reshuffles > tables.rule.max_recycles:
        return RESHUFFLES
    for seat in range(MAX_PLAYERS):
        if seat >= players:
            if state.hand_size[seat] or state.hidden_draws[seat] or state.turns[seat] or state.buys[seat]:
                return BEYOND_PLAYERS
            if state.scores[seat] or state.last_points[seat] or state.discarded[seat]:
                return BEYOND_PLAYERS
            continue
        if state.buys[seat] < 0 or state.buys[seat] > tables.rule.max_buys:
            return BUYS
        if state.hand_size[seat] < 0 or state.hand_size[seat] > pack:
            return COUNTS
        if state.hidden_draws[seat] < 0 or state.hidden_draws[seat] > pack:
            return HIDDEN_DRAWS
    for at in range(state.zeros.shape[0]):
        if state.zeros[at]:
            return UNUSED
    return check_history(tables, state)


@kernel
def check_history(tables, state):
    """Moves of the table by seats at the table, and nothing after the oldest."""
    ended = False
    for at in range(HISTORY):
        entry = np.int64(state.history[at])
        if entry == 0:
            ended = True
        elif ended or entry < 8 or (entry >> 3) > tables.num_moves or (entry & 7) >= state.players:
            return IN_HISTORY
    return NONE


@kernel
def check_cards(tables, state, counts):
    """Every card of the pack lies in one place; known cards, the pool, and nothing beyond a count."""
    players = np.int64(state.players)
    for kind in range(NUM_KINDS):
        counts[kind] = 0
    hidden = np.int64(0)
    for seat in range(MAX_PLAYERS):
        size = np.int64(0)
        wrong = np.int64(0)
        most = np.int64(0)
        for kind in range(NUM_KINDS):
            held = np.int64(state.hand[seat, kind])
            known = np.int64(state.known[seat, kind])
            size += held
            counts[kind] += held
            wrong |= known | (held - known)  # negative where one of them is
            most |= held
        if seat >= players:
            if most or wrong:
                return BEYOND_PLAYERS
            continue
        if wrong < 0:
            return KNOWN if most >= 0 else CARDS
        if size != state.hand_size[seat]:
            return HAND_SIZE
        hidden += np.int64(state.hidden_draws[seat])
    discards = np.int64(state.num_discards)
    rest = np.int64(0)
    for at in range(MAX_CARDS):
        kind = np.int64(state.discards[at])
        maker = np.int64(state.discard_by[at])
        if at >= discards:
            rest |= kind | maker
            continue
        if kind < 0 or kind >= NUM_KINDS:
            return KINDS
        counts[kind] += 1
        if maker < 0 or maker > players:
            return MAKERS
        if maker > 0 and not (state.discarded[maker - 1] >> np.uint64(kind)) & np.uint64(1):
            return DISCARDED
    if rest:
        return BEYOND_DISCARDS
    return check_stock(tables, state, counts, hidden)


@kernel
def check_stock(tables, state, counts, hidden):
    """The rest of `check_cards`: the stock, what it was formed of, and the sum. `hidden` cards were drawn from it."""
    for index in range(state.num_melds):
        fault = count_meld_cards(tables, state, index, counts)
        if fault:
            return fault
    stock = np.int64(state.num_stock)
    rest = np.int64(0)
    for at in range(MAX_CARDS):
        kind = np.int64(state.stock[at])
        if at >= stock:
            rest |= kind
            continue
        if kind < 0 or kind >= NUM_KINDS:
            return KINDS
        counts[kind] += 1
    if rest:
        return BEYOND_STOCK
    differ = np.int64(0)
    out_of = np.int64(0)
    formed = np.int64(0)
    for kind in range(NUM_KINDS):
        pool = np.int64(state.pool[kind])
        differ |= counts[kind] ^ tables.copies[kind]
        out_of |= pool | (tables.copies[kind] - pool)
        formed += pool
    if differ:
        return CARDS
    if out_of < 0:
        return POOL
    if state.reshuffles == 0:
        if formed != tables.rule.pack_size:
            return POOL
        formed -= 1  # the up-card
    if state.stock_public:  # what was drawn since it was turned over is known in the hands
        if hidden or stock > formed:
            return HIDDEN_DRAWS
        for seat in range(state.players):
            for kind in range(NUM_KINDS):
                counts[kind] -= np.int64(state.hand[seat, kind]) - np.int64(state.known[seat, kind])
        for kind in range(NUM_KINDS):
            if counts[kind] < state.pool[kind]:  # the stock's cards among them: all others are seen
                return POOL
    elif stock + hidden != formed:
        return HIDDEN_DRAWS
    if state.reshuffles > 0:  # else the pool is the pack
        for kind in range(NUM_KINDS):
            counts[kind] = 0
        for at in range(stock):
            counts[np.int64(state.stock[at])] += 1
        for kind in range(NUM_KINDS):
            if counts[kind] > state.pool[kind]:
                return POOL
    return NONE


@kernel
def count_meld_cards(tables, state, index, counts):
    """Add the cards of a meld to the counts. Its form is looked at first: nothing may be counted outside the places."""
    low = np.int64(state.meld_low[index])
    size = np.int64(state.meld_size[index])
    suit = np.int64(state.meld_suit[index])
    fill = np.int64(state.meld_fill[index]) & 0xFFFF
    places = tables.rule.num_places
    if state.meld_run[index] == 0:
        if low < 0 or low >= NUM_RANKS or suit != 0 or size < tables.rule.group_size or size > tables.rule.group_max:
            return GROUP
        naturals = np.int64(0)
        for of in range(NUM_SUITS):
            count = (fill >> (4 * of)) & 15
            if count > tables.copies[of * NUM_RANKS + low]:
                return GROUP
            counts[of * NUM_RANKS + low] += count
            naturals += count
        if naturals > size or naturals < tables.rule.group_naturals:
            return GROUP
        counts[WILD] += size - naturals
        exists = False
        for at in range(tables.num_ranks):
            exists = exists or tables.ranks[at] == low
        return NONE if exists else GROUP
    if state.meld_run[index] != 1:
        return FLAGS
    length = tables.rule.run_length
    if suit < 0 or suit >= NUM_SUITS or low < 0 or low >= places or size < length or size > places:
        return RUN
    if not tables.rule.circular and low + size > places:
        return RUN
    covered = np.int64(0)
    best = np.int64(0)
    here = np.int64(0)  # naturals of the last `length` places: one such stretch is what was laid
    for step in range(size):
        place = (low + step) % places
        covered |= np.int64(1) << place
        if (fill >> place) & 1:
            counts[WILD] += 1
        else:
            kind = tables.place_kinds[suit, place]
            if kind < 0:
                return RUN
            counts[kind] += 1
            here += 1
        if step >= length:
            here -= 1 - ((fill >> ((low + step - length) % places)) & 1)
        if step >= length - 1:
            best = max(best, here)
    if (fill & ~covered) or best < tables.rule.run_naturals:
        return RUN
    return NONE


@kernel
def check_melds(tables, state):
    """Owners: who has laid down owns the contract, who is laying a part of it, all others nothing; or as for free melds."""
    melds = np.int64(state.num_melds)
    rest = np.int64(0)
    for at in range(melds, MAX_MELDS):
        rest |= np.int64(state.meld_owner[at]) | np.int64(state.meld_run[at]) | np.int64(state.meld_suit[at])
        rest |= np.int64(state.meld_low[at]) | np.int64(state.meld_size[at]) | np.int64(state.meld_fill[at])
    if rest:
        return BEYOND_MELDS
    fresh = np.int64(state.new_melds)
    if fresh >> melds:
        return LAID
    if tables.rule.free_melds:
        return check_free_melds(tables, state)
    groups = tables.contracts[np.int64(state.round_number) - 1, 0]
    runs = tables.contracts[np.int64(state.round_number) - 1, 1]
    owned = np.int64(0)  # eight bits a seat: groups, and from bit 4 runs
    laid = np.int64(0)
    for index in range(melds):
        owner = np.int64(state.meld_owner[index])
        if owner < 0 or owner >= state.players:
            return MELD_OWNER
        one = np.int64(16 if state.meld_run[index] else 1)
        owned += one << (8 * owner)
        if (fresh >> index) & 1:
            if owner != state.turn:
                return LAID
            laid += one
    whole = groups + 16 * runs
    laying = state.phase == LAYING
    for seat in range(state.players):
        has = (owned >> (8 * seat)) & 255
        down = (state.down >> seat) & 1
        if laying and seat == state.turn:
            left = np.int64(state.groups_left) + 16 * np.int64(state.runs_left)
            if down or state.groups_left < 0 or state.runs_left < 0 or left == 0:
                return CONTRACT
            if has + left != whole or has == 0:
                return CONTRACT
        elif has != (whole if down else 0):
            return CONTRACT
    if not laying and (state.groups_left or state.runs_left):
        return CONTRACT
    if laying:
        return NONE if laid == ((owned >> (8 * np.int64(state.turn))) & 255) else LAID
    if laid and (laid != whole or (state.phase != PLAY and state.phase != OVER)):
        return LAID
    return NONE


@kernel
def check_free_melds(tables, state):
    """Where melds are free nothing is ever half laid: who owns a meld is down, and a turn makes so many at most."""
    if state.phase == LAYING or state.groups_left or state.runs_left:
        return FREE_MELDS
    owners = np.int64(0)
    made = np.int64(0)
    for index in range(state.num_melds):
        owner = np.int64(state.meld_owner[index])
        if owner < 0 or owner >= state.players:
            return MELD_OWNER
        owners |= np.int64(1) << owner
        if (np.int64(state.new_melds) >> index) & 1:
            if owner != state.turn:
                return LAID
            made += 1
    if owners != state.down:
        return FREE_MELDS
    if made > tables.rule.melds_per_turn:
        return MELDS_PER_TURN
    return NONE if made == 0 or state.phase == PLAY or state.phase == OVER else LAID


@kernel
def check_turn(tables, state):
    """The parts of a turn: turns in order, the window, the banned card, who has melded, no empty hand."""
    players = np.int64(state.players)
    phase = np.int64(state.phase)
    turn = np.int64(state.turn)
    out = np.int64(state.last_out) if phase == OVER else np.int64(-1)
    drawn = phase in (PLAY, LAYING) or (phase == OVER and state.last_end == END_OUT)
    first = (np.int64(state.dealer) + 1) % players
    behind = (turn - first + players) % players
    full = np.int64(state.turns[turn]) - drawn
    for seat in range(players):
        if (state.hand_size[seat] == 0) != (seat == out):
            return EMPTY_HAND
        before = (seat - first + players) % players
        turns = np.int64(state.turns[seat])
        if turns < 0 or turns > tables.rule.max_turns or turns != full + (before < behind or (drawn and before == behind)):
            return TURNS
    if phase != OVER and not drawn and full >= tables.rule.max_turns:
        return TURNS
    taken = np.int64(state.taken)
    if taken != -1 and phase != OVER:
        if taken < 0 or taken >= NUM_KINDS or not drawn or not tables.rule.redraw_ban or state.hand[turn, taken] < 1:
            return TAKEN
    discarder = np.int64(state.discarder)
    discards = np.int64(state.num_discards)
    if discarder != -1 and (discarder < 0 or discarder >= players or discards == 0):
        return DISCARDER
    if discarder >= 0 and state.discard_by[discards - 1] != discarder + 1:
        return DISCARDER
    if phase in (WINDOW, DRAW) and discarder >= 0 and discarder != (turn - 1 + players) % players:
        return DISCARDER
    if phase == WINDOW:
        fault = check_window(tables, state, players, turn)
        if fault:
            return fault
    elif state.passed:
        return PASSED
    acted = np.int64(state.acted)
    down = np.int64(state.down)
    now = np.int64(state.acted_now)
    free_layoffs = tables.rule.free_melds and not tables.rule.layoff_needs_own_meld and not tables.rule.layoff_own_only
    if acted & ~down and not free_layoffs:
        return ACTED
    if now and not free_layoffs and phase != LAYING and not (down >> turn) & 1:
        return ACTED
    if now and not drawn:
        return ACTED
    before_now = down if phase != OVER and not drawn else down & ~(np.int64(1) << turn)
    if before_now & ~acted:
        return ACTED
    if state.new_melds and not now and phase != OVER:
        return ACTED
    if phase == LAYING and (acted >> turn) & 1:
        return ACTED
    return NONE


@kernel
def check_window(tables, state, players, turn):
    """Something is offered; who passed was asked before, and who is asked may answer."""
    to_act = np.int64(state.to_act)
    asked = (to_act - turn + players) % players
    for seat in range(players):
        passed = (state.passed >> seat) & 1
        at = (seat - turn + players) % players
        if passed and at >= asked:
            return PASSED
        if passed and at > 0 and state.buys[seat] >= tables.rule.max_buys:
            return PASSED
    if asked > 0 and not (state.passed >> turn) & 1:
        return PASSED
    if state.num_discards == 0:
        return IN_WINDOW
    if to_act != turn:
        if to_act == state.discarder or state.buys[to_act] >= tables.rule.max_buys:
            return IN_WINDOW
        if (state.down >> to_act) & 1 and not tables.rule.buy_when_down:
            return IN_WINDOW
    made = np.int64(0)
    for seat in range(players):
        made += np.int64(state.turns[seat]) + np.int64(state.buys[seat])
    if state.discarder < 0:
        first = made == 0 and state.num_discards == 1
        if not (tables.rule.buy_first_upcard if first else tables.rule.uncovered_live):
            return IN_WINDOW
    return NONE


@kernel
def points_left(tables, state, seat, move):
    """The points of a seat's hand, for the seat to act without the cards of the move."""
    total = np.int64(0)
    for kind in range(NUM_KINDS):
        total += np.int64(state.hand[seat, kind]) * tables.points[kind]
    if seat == state.to_act:
        if tables.move_card[move] >= 0:
            total -= tables.points[np.int64(tables.move_card[move])]
        for at in range(MAX_LAY):
            if tables.lay_cards[move, at] >= 0:
                total -= tables.points[np.int64(tables.lay_cards[move, at])]
    return total


@kernel
def check_step(tables, before, move, after):
    """The number of the first fault in what a move has changed, 0 where all is well."""
    players = np.int64(before.players)
    ended = after.rounds_done != before.rounds_done
    if after.players != before.players or after.key != before.key or after.last_index != before.last_index:
        return STEP
    if ended:
        if after.rounds_done != before.rounds_done + 1:
            return STEP
        over = before.round_index == before.last_index or target_reached(tables, after, players)
        if over != (after.phase == OVER) or after.round_index != np.int64(before.round_index) + (not over):
            return ROUNDS
        if after.dealer != (np.int64(before.dealer) + (not over)) % players:
            return SEATS
        return check_end(tables, before, move, after)
    if after.phase == OVER or after.round_index != before.round_index or after.dealer != before.dealer:
        return STEP
    seat = np.int64(before.to_act)
    if after.history[0] != (np.int64(move) + 1) * 8 + seat:
        return IN_HISTORY
    type_ = tables.move_type[move]
    draws = type_ in (_STOCK, _TAKE)
    gained = np.int64(0)
    if draws:
        gained = 1
    elif type_ == _BUY:
        gained = 1 + tables.rule.buy_extra
    elif tables.move_card[move] >= 0:
        gained = -1
    else:
        for at in range(MAX_LAY):
            gained -= tables.lay_cards[move, at] >= 0
    for other in range(players):
        mine = other == seat
        if after.scores[other] != before.scores[other] or after.last_points[other] != before.last_points[other]:
            return SCORES
        if after.hand_size[other] != np.int64(before.hand_size[other]) + (gained if mine else 0):
            return STEP_HANDS
        if after.turns[other] != np.int64(before.turns[other]) + (mine and draws):
            return TURNS
        if after.buys[other] != np.int64(before.buys[other]) + (mine and type_ == _BUY):
            return BUYS
        if not mine:
            differ = np.int64(0)
            for kind in range(NUM_KINDS):
                differ |= np.int64(after.hand[other, kind]) ^ np.int64(before.hand[other, kind])
                differ |= np.int64(after.known[other, kind]) ^ np.int64(before.known[other, kind])
            if differ:
                return STEP_HANDS
    formed = np.int64(after.reshuffles) - np.int64(before.reshuffles)
    shuffled = formed and not tables.rule.turn_over
    if formed != (1 if draws_from_empty(tables, before, move) else 0) or ((after.counter != before.counter) and not shuffled):
        return RESHUFFLES
    fault = check_hand(tables, before, move, after)
    if fault == NONE:
        fault = check_piles(tables, before, move, after, formed)
    if fault == NONE and _LAY < type_ < _DISCARD:
        fault = check_layoff(tables, before, after)
    return fault


@kernel
def check_end(tables, before, move, after):
    """How a round may end, and what it adds to the scores by the table of basic.md, which International's fields are in too."""
    players = np.int64(before.players)
    actor = np.int64(before.to_act)
    type_ = tables.move_type[move]
    plays = type_ >= _LAY
    cards = np.int64(tables.move_card[move] >= 0)
    for at in range(MAX_LAY):
        cards += tables.lay_cards[move, at] >= 0
    out = plays and cards == before.hand_size[actor]
    if out:
        if after.last_end != END_OUT or after.last_out != actor:
            return LAST_ROUND
        if tables.rule.final_discard and type_ != _DISCARD:
            return STEP
    elif type_ == _STOCK:
        barred = before.reshuffles >= tables.rule.max_recycles
        if after.last_end != END_BLOCKED or before.num_stock > 0 or not (barred or before.num_discards == 0):
            return LAST_ROUND
    else:
        following = (actor + 1) % players
        if after.last_end != END_TURN_LIMIT or type_ != _DISCARD:
            return LAST_ROUND
        if before.turns[following] < tables.rule.max_turns:
            return LAST_ROUND
    rummy = out and goes_rummy(tables, before, move)
    total = np.int64(0)
    lowest = NO_HAND
    holders = np.int64(0)  # of the lowest hand
    for seat in range(players):
        hand = points_left(tables, before, seat, move)
        total += hand
        if hand < lowest:
            lowest = hand
            holders = 0
        holders += hand == lowest
    for seat in range(players):
        hand = points_left(tables, before, seat, move)
        if out or tables.rule.blocked_scoring == BLOCKED_LOWEST:
            wins = seat == actor if out else hand == lowest
            points = np.int64(0)
            if tables.rule.most_wins and wins:
                points = total - hand
            elif not tables.rule.most_wins and not wins:
                points = hand
            if rummy and wins == tables.rule.most_wins:
                points = points * tables.rule.rummy_factor + tables.rule.rummy_bonus
            if not out and holders > 1:
                points = np.int64(0)
        elif tables.rule.blocked_scoring == BLOCKED_NONE:
            points = np.int64(0)
        else:
            points = -hand if tables.rule.most_wins else hand
        if after.last_points[seat] != points:
            return POINTS
        if after.scores[seat] != before.scores[seat] + points:
            return SCORES
    return NONE


@kernel
def goes_rummy(tables, before, move):
    """Whether the seat to act had neither melded nor laid off before this turn, and has in it, this move included."""
    fresh = not (np.int64(before.acted) >> np.int64(before.to_act)) & 1
    return fresh and (before.acted_now == 1 or _LAY <= tables.move_type[move] < _DISCARD)


@kernel
def check_hand(tables, before, move, after):
    """The hand of who moves, and what is known of it, card by card: known is what comes from the pile or a public stock."""
    seat = np.int64(before.to_act)
    hand = np.zeros(NUM_KINDS, np.int64)
    known = np.zeros(NUM_KINDS, np.int64)
    for kind in range(NUM_KINDS):
        hand[kind] = before.hand[seat, kind]
        known[kind] = before.known[seat, kind]
    unseen = np.int64(0)  # cards from a stock that has just been shuffled
    draws = stock_draws(tables, move)
    stock = np.int64(before.num_stock)
    turned = np.int64(0)
    for _ in range(draws):
        kind = np.int64(-1)
        if stock > 0:
            stock -= 1
            kind = np.int64(before.stock[stock])
        elif tables.rule.turn_over:  # the oldest discard is drawn first
            kind = np.int64(before.discards[turned])
            turned += 1
        if kind < 0:
            unseen += 1
            continue
        hand[kind] += 1
        known[kind] += before.stock_public or turned > 0
    if tables.move_type[move] in (_TAKE, _BUY):
        kind = np.int64(before.discards[np.int64(before.num_discards) - 1])
        hand[kind] += 1
        known[kind] += 1
    for at in range(MAX_LAY + 1):
        kind = np.int64(tables.move_card[move] if at == MAX_LAY else tables.lay_cards[move, at])
        if kind >= 0:
            hand[kind] -= 1
            known[kind] = max(0, known[kind] - 1)
    for kind in range(NUM_KINDS):
        more = np.int64(after.hand[seat, kind]) - hand[kind]
        if after.known[seat, kind] != known[kind]:
            return STEP_KNOWN
        if more < 0:
            return STEP_HANDS
        unseen -= more
    return STEP_HANDS if unseen != 0 else NONE


@kernel
def check_piles(tables, before, move, after, formed):
    """The stock and the discards, card by card, but for the order of a shuffled stock."""
    draws = stock_draws(tables, move)
    stock = np.int64(before.num_stock)
    discards = np.int64(before.num_discards)
    type_ = tables.move_type[move]
    kept = np.int64(0)  # the discards that stay begin here
    if formed:
        # a draw turns the whole pile over; a buy keeps the card bought, a shuffle the top one
        whole = tables.rule.turn_over and type_ == _STOCK
        kept = discards if whole else discards - 1
        stock += kept
        for kind in range(NUM_KINDS):
            left = np.int64(after.pool[kind])
            for at in range(kept):
                left -= before.discards[at] == kind
            if left:
                return STEP_PILES
    if after.num_stock != stock - draws:
        return STEP_PILES
    if not formed or tables.rule.turn_over:
        for at in range(stock - draws):
            kind = before.discards[kept - 1 - at] if formed else before.stock[at]
            if after.stock[at] != kind:
                return STEP_PILES
    left = discards - kept - (1 if type_ in (_TAKE, _BUY) else 0)
    made = type_ == _DISCARD
    if after.num_discards != left + made:
        return STEP_PILES
    for at in range(left):
        if after.discards[at] != before.discards[kept + at] or after.discard_by[at] != before.discard_by[kept + at]:
            return STEP_PILES
    if made and (after.discards[left] != tables.move_card[move] or after.discard_by[left] != np.int64(before.to_act) + 1):
        return STEP_PILES
    return NONE


@kernel
def check_layoff(tables, before, after):
    """One meld has one card more, and it is one that the seat may use."""
    seat = np.int64(before.to_act)
    grown = np.int64(-1)
    for index in range(before.num_melds):
        more = np.int64(after.meld_size[index]) - np.int64(before.meld_size[index])
        if more != 0:
            if more != 1 or grown >= 0:
                return LAY_OFF
            grown = np.int64(index)
    if grown < 0 or after.num_melds != before.num_melds:
        return LAY_OFF
    if tables.rule.layoff_own_only and before.meld_owner[grown] != seat:
        return LAY_OFF
    if (tables.rule.layoff_needs_own_meld or not tables.rule.free_melds) and not (np.int64(before.down) >> seat) & 1:
        return LAY_OFF
    if before.new_melds != 0 and not tables.rule.free_melds and not tables.rule.same_turn_layoff:
        return LAY_OFF
    return NONE


@kernel
def draws_from_empty(tables, before, move):
    """Whether a move needs more stock cards than there are."""
    return np.int64(before.num_stock) < stock_draws(tables, move)


@kernel
def stock_draws(tables, move):
    """How many stock cards a move draws."""
    if tables.move_type[move] == _STOCK:
        return np.int64(1)
    return tables.rule.buy_extra if tables.move_type[move] == _BUY else np.int64(0)


@wrapping_kernel
def check_mask(words, count, over):
    """The number of the first fault of a mask as words of eight moves: of what `legal` wrote and counted."""
    found = np.int64(0)
    bits = _ZERO
    for at in range(words.shape[0]):
        bits |= words[at]
        found += np.int64((words[at] * _ONES) >> _TOP)  # sums the eight bytes
    if bits & ~_ONES:
        return MASK
    if found != count:
        return MASK_COUNT
    return NO_MOVE if (found == 0) != over else NONE


@wrapping_kernel
def nth_move(words, skip, first, end):
    """The move with `skip` legal ones before it, of those from `first` to before `end`; -1 where there are not so many."""
    for at in range(first >> 3, (end + 7) >> 3):
        word = words[at]
        if word == _ZERO:
            continue
        if at > (first >> 3) and at + 1 < (end + 7) >> 3:
            here = np.int64((word * _ONES) >> _TOP)
            if skip >= here:
                skip -= here
                continue
        for byte in range(8):
            move = at * 8 + byte
            if (word & _LOW_BYTE) != _ZERO and first <= move < end:
                if skip == 0:
                    return move
                skip -= 1
            word >>= _EIGHT
    return np.int64(-1)


@wrapping_kernel
def count_moves(words, first, end):
    """How many moves from `first` to before `end` are legal."""
    found = np.int64(0)
    for at in range(first >> 3, (end + 7) >> 3):
        word = words[at]
        if word == _ZERO:
            continue
        if at > (first >> 3) and at + 1 < (end + 7) >> 3:
            found += np.int64((word * _ONES) >> _TOP)
            continue
        for byte in range(8):
            if (word & _LOW_BYTE) != _ZERO and first <= at * 8 + byte < end:
                found += 1
            word >>= _EIGHT
    return found


@kernel
def choose(tables, words, count, eager, stream):
    """A legal move, all equally likely; an `eager` table mostly lays down or off where it can."""
    if eager:
        first = tables.first_lay
        end = np.int64(0)
        for kind in range(NUM_KINDS):
            if tables.discard_moves[kind] >= 0:
                end = tables.discard_moves[kind]
                break
        lays = count_moves(words, first, end)
        if lays > 0 and below(stream, 8) > 0:
            return nth_move(words, below(stream, lays), first, end)
    return nth_move(words, below(stream, count), np.int64(0), np.int64(words.shape[0]) * 8)


@kernel
def round_the_corner(tables, state):
    """Whether the meld laid last is a run that goes on from the last place to the first."""
    index = np.int64(state.num_melds) - 1
    return state.meld_run[index] and np.int64(state.meld_low[index]) + state.meld_size[index] > tables.rule.num_places


@kernel
def play_table(table, players, key, eager, moves, states, mask, words, tally):
    """Play `moves` random moves at one table, game after game, each checked; returns fault and move, 0 and -1 for none.

    `table` is an array of one record of compiled tables, `states` one of two States: that of the table and, where a fault
    was found, the one before the move. `mask` and `words` are the same bytes, some moves beyond the table's included.
    """
    tables = table[0]
    state = states[0]
    counts = np.zeros(NUM_KINDS, np.int64)
    stream = np.zeros(2, np.uint64)
    stream[0] = key
    last = tables.rule.game_rounds - 1
    start_game(tables, state, players, child_key(key, np.uint64(0)), 0, last, -1, NO_ORDER)
    fault = check(tables, state, counts)
    move = np.int64(-1)
    for made in range(moves):
        if fault:
            return fault, move
        if state.phase == OVER:
            tally[_GAMES] += 1
            start_game(tables, state, players, child_key(key, np.uint64(made + 1)), 0, last, -1, NO_ORDER)
            fault = check(tables, state, counts)
            if fault:
                return fault, np.int64(-1)
        count = legal(tables, state, mask)
        fault = check_mask(words, count, False)
        states[1] = states[0]
        if fault:
            return fault, np.int64(-1)
        move = choose(tables, words, count, eager, stream)
        type_ = np.int64(tables.move_type[move])
        ended = np.int64(state.rounds_done)
        had = np.int64(state.reshuffles)
        tally[_MOVES] += 1
        tally[_AFTER_LAY] += state.num_melds > 0
        tally[_LAYS] += type_ == _LAY
        tally[_OFFS] += _LAY < type_ < _DISCARD
        tally[_BUYS] += type_ == _BUY
        tally[_TAKES] += type_ == _TAKE
        apply(tables, state, move, NO_ORDER)
        if state.rounds_done != ended:
            tally[_END - 1 + np.int64(state.last_end)] += 1
            tally[_DECLINED] += type_ == _STOCK
            tally[_RUMMIES] += state.last_end == END_OUT and goes_rummy(tables, states[1], move)
            tally[_TARGETS] += state.phase == OVER and state.round_index < state.last_index
        else:
            tally[_STOCKS] += state.reshuffles - had
            tally[_TURNED] += state.stock_public * (state.reshuffles - had)
            tally[_CORNERS] += type_ == _LAY and round_the_corner(tables, state)
        fault = check(tables, state, counts)
        if fault == NONE:
            fault = check_step(tables, states[1], move, state)
    if fault == NONE:
        fault = check_mask(words, legal(tables, state, mask), state.phase == OVER)
        move = np.int64(-1)
    return fault, move
