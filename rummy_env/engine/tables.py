"""Rules compiled to arrays: everything that kernels ask about a rule set, so that no branch names a game."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from rummy_env.cards import NUM_KINDS, NUM_RANKS, NUM_SUITS, RANKS, WILD
from rummy_env.engine.state import MAX_MELDS, MAX_PLAYERS
from rummy_env.melds import MAX_CONTRACT, Pack, pack_of
from rummy_env.moves import MoveTable, MoveType, move_table
from rummy_env.rules import Rules

NO_LIMIT = 1_000_000
NO_TARGET = 2**60
"""A score that no game reaches."""
LAY_ORDERS = ("any", "ascending")

MAX_MOVES = 2048
MAX_PLACES = 14
MAX_STARTS = NUM_SUITS * MAX_PLACES
MAX_LAY = 4
"""The largest meld that can be laid at once."""
MAX_ROUNDS = 100
MAX_NATURALS = 2 * NUM_SUITS
"""Natural cards of a rank in two packs."""
LOW_RANKS = 7
"""So many ranks are looked up in `low_rank_places`, the others in `high_rank_places`."""

_RULE_NAMES = (
    "group_size", "run_length", "group_max", "group_naturals", "run_naturals", "min_naturals", "max_wilds",
    "distinct_groups", "separate_runs", "num_places", "circular", "max_buys", "buy_when_down", "turn_player_may_buy",
    "uncovered_live", "buy_first_upcard", "buy_extra", "same_turn_layoff", "layoff_own_only", "redraw_ban",
    "final_discard", "max_recycles", "max_turns", "players_min", "players_max", "pack_size", "free_melds",
    "melds_per_turn", "layoff_needs_own_meld", "turn_over", "least_restock", "most_wins", "blocked_scoring",
    "rummy_factor", "rummy_bonus", "target", "game_rounds",
)  # fmt: skip
"""The plain numbers of a rule set. `group_naturals` and `run_naturals` are the fewest naturals of a meld when laid, from
`min_naturals` and `max_wilds` together; `least_restock` is the fewest discards that a draw can make a new stock of;
`blocked_scoring` is its place in `BLOCKED_SCORINGS`; the points of who goes rummy are multiplied by `rummy_factor`, and
`rummy_bonus` is added; flags are 0 or 1; no limit is `NO_LIMIT`, no target `NO_TARGET`."""
_RULE = np.dtype([(name, "i8") for name in _RULE_NAMES])

_BY_PLACE = (NUM_SUITS, MAX_PLACES)
_FIELDS: list[tuple[Any, ...]] = [
    ("rule", _RULE),
    ("num_moves", "i8"),
    ("num_kinds", "i8"),
    ("first_discard", "i8"),  # discards stand last, in the order of `kinds`
    ("num_ranks", "i8"),
    ("num_starts", "i8"),
    ("num_rounds", "i8"),  # of the sequence
    ("first_lay", "i8"),
    ("last_lay", "i8"),  # one past it
    ("ascending", "i8"),  # 1: the melds of a contract are laid by rising move id
    ("copies", "i8", (NUM_KINDS,)),  # cards of each kind in the pack
    ("points", "i8", (NUM_KINDS,)),  # what a card left in hand counts
    ("kinds", "i8", (NUM_KINDS,)),  # those of the pack
    ("ranks", "i8", (NUM_RANKS,)),  # the ranks that groups have
    ("group_costs", "i8", (2, MAX_CONTRACT + 1, MAX_NATURALS + 1)),  # see `_group_costs`
    ("group_offsets", "i8", (MAX_LAY + 1,)),  # where those with 0, 1, 2 .. wilds begin among the lays of a group of a rank
    ("bit_counts", "i8", (2**MAX_LAY,)),
    ("low_rank_places", "i8", (2**LOW_RANKS,)),  # the places of the ranks in a bit set of the first `LOW_RANKS`
    ("high_rank_places", "i8", (2 ** (NUM_RANKS - LOW_RANKS),)),  # and of the others
    ("start_suit", "i8", (MAX_STARTS,)),
    ("start_low", "i8", (MAX_STARTS,)),  # the lowest place of the run that begins there
    ("run_twins", "i8", (MAX_STARTS,)),  # the bit of the last step where it holds the kind of the first, else 0
    ("run_kinds", "i8", (MAX_STARTS, MAX_LAY)),  # the kind at each place of each smallest run, -1 only a wild
    ("run_clashes", "i8", (MAX_STARTS,)),  # bit set of the starts that `separate_runs` keeps apart from this one
    ("place_kinds", "i8", _BY_PLACE),  # the natural of a place, -1 only a wild
    ("start_of", "i8", _BY_PLACE),  # index of the smallest run that begins there, -1 none
    ("contracts", "i8", (MAX_ROUNDS, 2)),  # groups and runs
    ("deal", "i8", (MAX_ROUNDS, MAX_PLAYERS + 1)),  # cards for so many players
    ("sequence", "i8", (MAX_ROUNDS,)),  # the numbers of the rounds played
    ("move_type", "i1", (MAX_MOVES,)),
    ("move_card", "i1", (MAX_MOVES,)),  # the one card that leaves the hand; -1 for draws, answers and lays
    ("move_suit", "i1", (MAX_MOVES,)),  # of the run that is laid or laid off on
    ("move_target", "i1", (MAX_MOVES,)),  # rank of a group; place of the card laid off; lowest place of a run laid
    ("lay_cards", "i1", (MAX_MOVES, MAX_LAY)),  # the cards of a lay, -1 beyond
    ("lay_wilds", "i1", (MAX_MOVES,)),
    ("lay_fill", "i2", (MAX_MOVES,)),  # as `State.meld_fill`
    ("group_lays", "i8", (NUM_RANKS, 2)),  # first and one past the last lay of a group of each rank, with naturals
    ("run_lays", "i8", (MAX_STARTS, 2**MAX_LAY)),  # the lay by the set of places with naturals, -1 none
    ("wild_group_lays", "i8", (NUM_RANKS,)),  # the lay of a group of wilds only, -1 none
    ("discard_moves", "i8", (NUM_KINDS,)),  # -1 for a kind that the pack lacks, as in all below
    ("off_group", "i8", (NUM_KINDS,)),
    ("off_group_wild", "i8", (NUM_RANKS,)),
    ("off_low", "i8", _BY_PLACE),
    ("off_high", "i8", _BY_PLACE),
    ("off_low_wild", "i8", _BY_PLACE),
    ("off_high_wild", "i8", _BY_PLACE),
]
TABLES = np.dtype((np.record, np.dtype(_FIELDS)))
"""The compiled form of one rule set, the first argument of every kernel: a record like State and View, of the same size for
every rule set, so that kernels are compiled once for all and are handed one pointer."""
assert not set(np.dtype(_FIELDS).names or ()) & set(dir(np.record))

Tables = Any
"""A record of the type `TABLES`."""


_COUNTS = (
    "copies", "points", "group_costs", "bit_counts", "low_rank_places", "high_rank_places", "run_twins", "run_clashes",
    "contracts", "deal", "lay_wilds", "lay_fill", "group_lays",
)  # fmt: skip
"""Arrays that hold 0, not -1, where there is nothing."""

STOCK_MOVE = 0
TAKE_MOVE = 1
BUY_MOVE = 2
PASS_MOVE = 3
"""The ids of draws and answers. Without buying 2 and 3 are other moves, so ask for the type of a move, not for these."""


BLOCKED_SCORINGS = ("none", "all_penalty", "lowest_takes_sum")
BLOCKED_NONE, BLOCKED_PENALTY, BLOCKED_LOWEST = range(len(BLOCKED_SCORINGS))
_RUMMY = {"none": (1, 0), "double": (2, 0), "plus_10": (1, 10)}


def _check_room(rules: Rules, pack: Pack) -> None:
    """A State has places for so many melds; only free melds of two cards from two packs could be more."""
    cards, smallest = sum(pack.copies), min(rules.group_size, rules.run_length)
    if rules.contracts is None and cards // smallest > MAX_MELDS:
        raise ValueError(
            f"group_size {rules.group_size} and run_length {rules.run_length} with decks {rules.decks}: the {cards} cards "
            f"could make {cards // smallest} melds; where contracts is null at most {MAX_MELDS} can lie on a table"
        )


def _rule_numbers(rules: Rules, pack: Pack) -> dict[str, int]:
    wilds_allowed = NO_LIMIT if rules.max_wilds is None else rules.max_wilds
    free = rules.contracts is None
    factor, bonus = _RUMMY[rules.going_rummy]
    values = {
        "group_size": rules.group_size,
        "run_length": rules.run_length,
        "group_max": NO_LIMIT if rules.group_limit is None else rules.group_limit,
        "group_naturals": max(rules.min_naturals, rules.group_size - wilds_allowed),
        "run_naturals": max(rules.min_naturals, rules.run_length - wilds_allowed),
        "min_naturals": rules.min_naturals,
        "max_wilds": wilds_allowed,
        "distinct_groups": rules.distinct_groups,
        "separate_runs": rules.separate_runs,
        "num_places": len(pack.places),
        "circular": pack.circular,
        "max_buys": NO_LIMIT if rules.max_buys is None else rules.max_buys,
        "buy_when_down": rules.buy_when_down,
        "turn_player_may_buy": rules.turn_player_may_buy,
        "uncovered_live": rules.uncovered_live,
        "buy_first_upcard": rules.buy_first_upcard,
        "buy_extra": rules.buy_extra,
        "same_turn_layoff": rules.same_turn_layoff,
        "layoff_own_only": rules.layoff_own_only,
        "redraw_ban": rules.redraw_ban,
        "final_discard": rules.final_discard,
        "max_recycles": 0 if rules.stock_out == "end" else NO_LIMIT if rules.max_recycles is None else rules.max_recycles,
        "max_turns": rules.max_turns,
        "players_min": rules.players_min,
        "players_max": rules.players_max,
        "pack_size": sum(pack.copies),
        "free_melds": free,
        "melds_per_turn": NO_LIMIT if rules.melds_per_turn is None else rules.melds_per_turn,
        "layoff_needs_own_meld": rules.layoff_needs_own_meld,
        "turn_over": rules.stock_out == "turn_over",
        "least_restock": 1 if rules.stock_out == "turn_over" else 2,
        "most_wins": rules.scoring == "winner_takes_sum",
        "blocked_scoring": BLOCKED_SCORINGS.index(rules.blocked_scoring),
        "rummy_factor": factor,
        "rummy_bonus": bonus,
        "target": (rules.game_end or {}).get("target", NO_TARGET),
        "game_rounds": rules.game_rounds,
    }
    assert set(values) == set(_RULE_NAMES)
    return {name: int(value) for name, value in values.items()}


def _sums_of(numbers: list[int]) -> np.ndarray:
    """int64: for every bit set of their places, the sum of the numbers in it."""
    return np.array([sum(number for at, number in enumerate(numbers) if bits >> at & 1) for bits in range(2 ** len(numbers))])


def _group_costs(rules: Rules, least: int) -> np.ndarray:
    """How many groups a rank gives at each cost in wilds, by how many are wanted at most and by the naturals held.

    Eight bits for each cost from 0 up. The groups of a rank share its naturals, and each needs `least` of them.
    """
    size = rules.group_size
    costs = np.zeros((MAX_CONTRACT + 1, MAX_NATURALS + 1), np.int64)
    for groups in range(MAX_CONTRACT + 1):
        for naturals in range(MAX_NATURALS + 1):
            limit = groups if least == 0 else min(groups, naturals // least)
            if rules.distinct_groups:
                limit = min(limit, 1)
            for index in range(limit):
                missing = min(size, max(0, size * (index + 1) - naturals))
                costs[groups, naturals] += 1 << (8 * missing)
    return costs


@lru_cache(maxsize=64)
def _run_arrays(pack: Pack, separate_runs: bool) -> dict[str, np.ndarray]:
    starts = [(suit, low) for suit in pack.suits for low in pack.run_starts()]
    places = len(pack.places)
    place_kinds = np.full((NUM_SUITS, places), -1, np.int64)
    for suit in pack.suits:
        for place in range(places):
            place_kinds[suit, place] = pack.natural(suit, place)
    start_of = np.full((NUM_SUITS, places), -1, np.int64)
    run_kinds = np.full((len(starts), pack.run_length), -1, np.int64)
    clashes = np.zeros(len(starts), np.int64)
    for index, (suit, low) in enumerate(starts):
        start_of[suit, low] = index
        for step, place in enumerate(pack.run_places(low, pack.run_length)):
            run_kinds[index, step] = place_kinds[suit, place]
        for other, (other_suit, other_low) in enumerate(starts):
            apart = abs(low - other_low)
            if pack.circular:
                apart = min(apart, places - apart)
            if separate_runs and suit == other_suit and apart <= pack.run_length:
                clashes[index] |= 1 << other
    bit_counts = np.array([bits.bit_count() for bits in range(2**pack.run_length)], np.int64)
    last = run_kinds[:, -1]
    rank_places = [sum(1 << at for at, place in enumerate(pack.places) if place == rank) for rank in range(NUM_RANKS)]
    return {
        "low_rank_places": _sums_of(rank_places[:LOW_RANKS]),
        "high_rank_places": _sums_of(rank_places[LOW_RANKS:]),
        "start_suit": np.array([suit for suit, _ in starts]),
        "start_low": np.array([low for _, low in starts]),
        "run_twins": np.where((last == run_kinds[:, 0]) & (last >= 0), 1 << (pack.run_length - 1), 0),
        "place_kinds": place_kinds,
        "start_of": start_of,
        "run_kinds": run_kinds,
        "run_clashes": clashes,
        "bit_counts": bit_counts,
    }


@lru_cache(maxsize=64)
def _move_arrays(table: MoveTable) -> dict[str, np.ndarray]:
    pack, start_of = table.pack, _run_arrays(table.pack, False)["start_of"]
    count, places = len(table), len(pack.places)
    by_move = {name: np.full(count, -1, np.int8) for name in ("move_type", "move_card", "move_suit", "move_target")}
    lay_cards = np.full((count, max(pack.group_size, pack.run_length)), -1, np.int8)
    lay_wilds = np.zeros(count, np.int8)
    lay_fill = np.zeros(count, np.int16)
    group_lays = np.zeros((NUM_RANKS, 2), np.int64)
    run_lays = np.full((int(start_of.max()) + 1, 2**pack.run_length), -1, np.int64)
    wild_group_lays = np.full(NUM_RANKS, -1, np.int64)
    kinds = [kind for kind in range(NUM_KINDS) if pack.copies[kind]]
    discard_moves = np.full(NUM_KINDS, -1, np.int64)
    off_group = np.full(NUM_KINDS, -1, np.int64)
    off_group_wild = np.full(NUM_RANKS, -1, np.int64)
    ends = {name: np.full((NUM_SUITS, places), -1, np.int64) for name in ("off_low", "off_high")}
    wild_ends = {name: np.full((NUM_SUITS, places), -1, np.int64) for name in ("off_low_wild", "off_high_wild")}
    for id_, move in enumerate(table):
        by_move["move_type"][id_] = move.type
        by_move["move_suit"][id_] = move.suit
        by_move["move_target"][id_] = move.target
        if move.meld is not None:
            meld = move.meld
            lay_cards[id_, : len(meld.cards)] = meld.cards
            lay_wilds[id_] = meld.wilds
            if meld.is_run:
                lay_fill[id_] = run_fill(pack, meld.low, meld.cards)
                naturals = sum(1 << step for step, kind in enumerate(meld.cards) if kind != WILD)
                run_lays[start_of[meld.suit, meld.low], naturals] = id_
            else:
                lay_fill[id_] = group_fill(meld.cards)
                if meld.wilds == len(meld.cards):
                    wild_group_lays[meld.low] = id_
                else:
                    if group_lays[meld.low, 1] == 0:
                        group_lays[meld.low, 0] = id_
                    group_lays[meld.low, 1] = id_ + 1
        elif move.cards:
            kind = move.cards[0]
            by_move["move_card"][id_] = kind
            if move.type == MoveType.DISCARD:
                discard_moves[kind] = id_
            elif move.type == MoveType.OFF_GROUP and kind == WILD:
                off_group_wild[move.target] = id_
            elif move.type == MoveType.OFF_GROUP:
                off_group[kind] = id_
            else:
                name = "off_low" if move.type == MoveType.OFF_LOW else "off_high"
                array = wild_ends[f"{name}_wild"] if kind == WILD else ends[name]
                array[move.suit, move.target] = id_
    first, stop = group_lays[pack.ranks[0]]
    offsets = np.searchsorted(lay_wilds[first:stop], np.arange(pack.group_size + 1))
    assert list(discard_moves[kinds]) == list(range(count - len(kinds), count))
    return {
        **by_move,
        "kinds": np.array(kinds),
        "group_offsets": offsets,
        "lay_cards": lay_cards,
        "lay_wilds": lay_wilds,
        "lay_fill": lay_fill,
        "group_lays": group_lays,
        "run_lays": run_lays,
        "wild_group_lays": wild_group_lays,
        "discard_moves": discard_moves,
        "off_group": off_group,
        "off_group_wild": off_group_wild,
        **ends,
        **wild_ends,
    }


def run_fill(pack: Pack, low: int, cards: tuple[int, ...]) -> int:
    """`State.meld_fill` of a run: the bit set of the places that wilds hold."""
    places = pack.run_places(low, len(cards))
    return sum(1 << place for place, kind in zip(places, cards, strict=True) if kind == WILD)


def group_fill(cards: tuple[int, ...]) -> int:
    """`State.meld_fill` of a group: how many naturals of each suit, four bits each."""
    return sum(1 << (4 * (kind // NUM_RANKS)) for kind in cards if kind != WILD)


@lru_cache(maxsize=64)
def table_array(rules: Rules, lay_order: str = "any") -> np.ndarray:
    """The compiled tables as an array of one record; the same for equal rules. ValueError for what has no room in a State.

    With the `lay_order` ``"ascending"`` the mask leaves one order in which the melds of a contract can be laid.
    """
    if lay_order not in LAY_ORDERS:
        raise ValueError(f"lay_order must be one of {', '.join(LAY_ORDERS)}, not {lay_order!r}")
    pack = pack_of(rules)
    _check_room(rules, pack)
    contracts = rules.contracts or ((0, 0),)  # where melds are free every deal is alike
    points = np.zeros(NUM_KINDS, np.int64)
    for kind in range(NUM_KINDS):
        points[kind] = rules.card_points["wild" if kind == WILD else RANKS[kind % NUM_RANKS]]
    deal = np.zeros((len(contracts), MAX_PLAYERS + 1), np.int64)
    for round_number in range(1, len(contracts) + 1):
        for players in range(rules.players_min, rules.players_max + 1):
            deal[round_number - 1, players] = rules.cards_dealt(round_number, players)
    runs = _run_arrays(pack, rules.separate_runs)
    table = move_table(rules)
    arrays = {
        "copies": np.array(pack.copies),
        "points": points,
        "ranks": np.array(pack.ranks),
        "contracts": np.array(contracts).reshape(len(contracts), 2),
        "deal": deal,
        "sequence": np.array(rules.sequence or (1,)),
        **runs,
        **_move_arrays(table),
    }
    record = np.zeros(1, TABLES)
    for name, number in _rule_numbers(rules, pack).items():
        record["rule"][name] = number
    least = int(record["rule"]["group_naturals"][0])
    arrays["group_costs"] = np.array([_group_costs(rules, 0), _group_costs(rules, least)])
    record["num_moves"] = len(table)
    record["num_kinds"] = len(arrays["kinds"])
    record["first_discard"] = len(table) - len(arrays["kinds"])
    record["num_ranks"] = len(pack.ranks)
    record["num_starts"] = len(runs["run_kinds"])
    record["num_rounds"] = len(rules.sequence or (1,))
    lays = [id_ for id_, move in enumerate(table) if move.type == MoveType.LAY]
    record["first_lay"], record["last_lay"] = lays[0], lays[-1] + 1
    record["ascending"] = lay_order == "ascending"
    for name, array in arrays.items():
        places: tuple[Any, ...] = tuple(slice(0, size) for size in array.shape)
        if name not in _COUNTS:
            record[name] = -1  # beyond what the rule set has
        record[name][(0, *places)] = array
    return record


@lru_cache(maxsize=64)
def compile_tables(rules: Rules, lay_order: str = "any") -> Tables:
    """The compiled tables of a rule set: a record of `TABLES`, the same object for equal rules.

    Raises ValueError for rules whose melds have no room in a State, naming the fields.
    """
    return table_array(rules, lay_order)[0]
