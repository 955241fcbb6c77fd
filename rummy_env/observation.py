"""The observation vector: its named layout, its encoder, and a decoder for reading one.

One vector in [0, 1] with the same shape for 2 to 6 players. Seats are relative: 0 is oneself, then clockwise; the blocks
of absent seats are zeros. Every entry is a small whole number divided by its block's scale (larger numbers are cut off at
the scale), so a vector can be read back. A View is all that the encoder sees.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from gymnasium import spaces

from rummy_env.analysis import accepted, cards_missing, needed_cards
from rummy_env.cards import KIND_TEXTS, NUM_KINDS, NUM_RANKS, NUM_SUITS, RANKS, SUITS, WILD
from rummy_env.engine.legal import open_ends
from rummy_env.engine.state import HISTORY, MAX_PLAYERS, PHASES
from rummy_env.engine.tables import MAX_LAY, MAX_PLACES
from rummy_env.engine.view import count_melded, count_pile, count_unseen
from rummy_env.kernel import kernel
from rummy_env.melds import MAX_CONTRACT, Pack, pack_of
from rummy_env.memory import WORD, load_word, own_or, stack_bytes, store_word
from rummy_env.moves import MoveType
from rummy_env.rules import Rules

NUM_PHASES = 4
NUM_TYPES = len(MoveType)
_MELD_SCALE = 4
_HAND_SCALE = 30
_BUY_SCALE = 10
_SCORE_SCALE = 200
_SHUFFLE_SCALE = 4
_STOCK_PLACES = 3

_DISTANCE_SCALE = 12

FEATURES = ("analysis", "history")
"""Optional blocks: `analysis` is what a seat can work out from its own hand and the table, ready for use; `history` the last
public moves of the round, newest first."""
OBS_DTYPES = ("float32", "uint8")
"""float32 in [0, 1], or uint8 of the numbers before they are divided by their scales."""

SEAT_SCALARS = (
    ("hand_size", _HAND_SCALE), ("down", 1), ("acted_before", 1), ("acted_now", 1), ("buys", _BUY_SCALE),
    ("behind", _SCORE_SCALE), ("dealer", 1), ("turn", 1), ("to_act", 1), ("discarder", 1), ("passed", 1), ("present", 1),
)  # fmt: skip
"""The numbers known of every seat; `behind` is the points by which its score is worse than the best one."""


@dataclass(frozen=True)
class Block:
    """A named slice of the vector; `labels` name its entries and `scales` are what they are divided by."""

    name: str
    start: int
    labels: tuple[str, ...]
    scales: tuple[int, ...]
    meaning: str

    @property
    def size(self) -> int:
        return len(self.labels)

    @property
    def stop(self) -> int:
        return self.start + self.size


@dataclass(frozen=True)
class Layout:
    """All blocks in order."""

    blocks: tuple[Block, ...]

    @property
    def size(self) -> int:
        return self.blocks[-1].stop

    @property
    def scales(self) -> np.ndarray:
        """float32 ``(size,)``: what each entry is divided by."""
        return np.array([scale for block in self.blocks for scale in block.scales], np.float32)

    def __getitem__(self, name: str) -> Block:
        for block in self.blocks:
            if block.name == name:
                return block
        raise ValueError(f"no such block: {name!r}; blocks are {', '.join(block.name for block in self.blocks)}")

    def describe(self) -> list[dict[str, Any]]:
        """One JSON-able object per block: what a saved agent keeps to recognise the layout it was made for."""
        return [
            {"name": block.name, "start": block.start, "size": block.size, "scales": sorted(set(block.scales))}
            for block in self.blocks
        ]


def _kinds(pack: Pack) -> list[int]:
    return [kind for kind in range(NUM_KINDS) if pack.copies[kind]]


def _ends(pack: Pack) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """The places (suit, place) that a card laid off can come to stand at, below and above a run."""
    places = range(len(pack.places))
    low = [place for place in places if pack.circular or place < len(pack.places) - pack.run_length]
    high = [place for place in places if pack.circular or place >= pack.run_length]
    return [(suit, place) for suit in pack.suits for place in low], [(suit, place) for suit in pack.suits for place in high]


def check_features(features: Sequence[str] | str) -> tuple[str, ...]:
    """The optional blocks asked for, in their order. ValueError lists those there are."""
    if not isinstance(features, (str, list, tuple)):
        raise ValueError(f"features must be a list out of {', '.join(FEATURES)}, not {features!r}")
    given = (features,) if isinstance(features, str) else tuple(features)
    unknown = [name for name in given if name not in FEATURES]
    if unknown:
        raise ValueError(f"features must be out of {', '.join(FEATURES)}, not {unknown[0]!r}")
    return tuple(name for name in FEATURES if name in given)


@lru_cache(maxsize=64)
def layout(rules: Rules, features: tuple[str, ...] = ()) -> Layout:
    """The layout of a rule set's observation with the optional blocks named in `features`.

    It is the same for any number of players and for any choice of rounds.
    """
    pack = pack_of(rules)
    kinds = _kinds(pack)
    names = tuple(KIND_TEXTS[kind] for kind in kinds)
    copies = tuple(pack.copies[kind] for kind in kinds)
    ones = (1,) * len(kinds)
    rounds = len(rules.contracts or (1,))
    blocks: list[Block] = []

    def add(name: str, labels: tuple[str, ...], scales: tuple[int, ...] | int, meaning: str) -> None:
        start = blocks[-1].stop if blocks else 0
        scales = (scales,) * len(labels) if isinstance(scales, int) else scales
        blocks.append(Block(name, start, labels, scales, meaning))

    def cell(suit: int, place: int) -> str:
        return RANKS[pack.places[place]] + SUITS[suit]

    add("hand", names, copies, "own cards")
    add("discard_0", names, ones, "the top discard")
    add("discard_1", names, ones, "the discard below it")
    add("discard_2", names, ones, "the discard below that")
    add("older_discards", names, copies, "the other cards of the discard pile")
    if rules.stock_out == "turn_over":
        for place in range(_STOCK_PLACES):
            add(f"stock_{place}", names, ones, f"card {place + 1} of the stock from its top, where its order is public")
    add("melded", names, copies, "cards in melds on the table, wilds apart")
    low, high = _ends(pack)
    for owner, whose in (("own", "own melds"), ("other", "melds of others")):
        add(f"{owner}_groups", tuple(RANKS[rank] for rank in pack.ranks), _MELD_SCALE, f"{whose}: groups that accept the rank")
        add(f"{owner}_below", tuple(cell(*end) for end in low), _MELD_SCALE, f"{whose}: runs that accept the card below")
        add(f"{owner}_above", tuple(cell(*end) for end in high), _MELD_SCALE, f"{whose}: runs that accept the card above")
    for seat in range(MAX_PLAYERS):
        add(f"seat_{seat}_known", names, copies, f"cards that everybody knows to be in the hand of seat {seat}")
        add(f"seat_{seat}_discarded", names, ones, f"kinds that seat {seat} has discarded this round")
        labels, scales = zip(*SEAT_SCALARS, strict=True)
        add(f"seat_{seat}", labels, scales, f"what is public of seat {seat}")
    add("unseen", names, copies, "cards whose whereabouts this seat does not know")
    add("contract", ("groups", "runs"), MAX_CONTRACT, "the contract of the round")
    add("contract_left", ("groups", "runs"), MAX_CONTRACT, "what is left of it while it is being laid")
    number = "the number of the round" if rules.contracts else "always 1: without contracts all rounds are alike"
    add("round", tuple(str(number + 1) for number in range(rounds)), 1, number)
    add("rounds_left", ("rounds",), rounds, "rounds that follow this one in the game")
    add("phase", PHASES[:NUM_PHASES], 1, "the phase")
    add("stock_size", ("cards",), sum(pack.copies), "cards in the stock")
    add("reshuffles", ("stocks",), _SHUFFLE_SCALE, "new stocks formed this round")
    add("turns", ("turns",), min(rules.max_turns, 255), "turns that the seat whose turn it is has begun")
    add("banned", names, ones, "the card that may not be discarded this turn")
    if "analysis" in check_features(features):
        distances = ("now", "with the top discard")
        free = rules.contracts is None
        way, then = ("the next meld", "") if free else ("the contract", "; 0 after laying down")
        add("distance", distances, _DISTANCE_SCALE, f"cards that the hand is away from {way}{then}")
        uses = "own cards that make a meld or wait for one: with another of the rank, or near in the suit"
        nearest = "own cards that the nearest way to the contract uses; none after laying down"
        add("needed", names, copies, uses if free else nearest)
        taken = "whether some meld takes the top discard"
        add("discard_accepted", ("card",), 1, taken if free else f"after laying down: {taken}")
    if "history" in features:
        seats = tuple(f"seat {seat}" for seat in range(MAX_PLAYERS))
        types = tuple(type_.name.lower() for type_ in MoveType)
        for back in range(HISTORY):
            scales = (1,) * (len(seats) + len(types)) + copies
            add(
                f"history_{back}",
                (*seats, *types, *names),
                scales,
                f"the public move {back} before the last" if back else "the last public move",
            )
    return Layout(tuple(blocks))


def check_obs_dtype(name: object) -> str:
    """The name of an observation's type, if it is one. ValueError lists them."""
    if name not in OBS_DTYPES:
        raise ValueError(f"obs_dtype must be one of {', '.join(OBS_DTYPES)}, not {name!r}")
    return str(name)


def observation_space(rules: Rules, features: tuple[str, ...] = (), obs_dtype: str = "float32") -> spaces.Box:
    """The Gymnasium space of the vector: [0, 1] in float32, or 0 to each entry's scale in uint8."""
    shape = layout(rules, features)
    if check_obs_dtype(obs_dtype) == "uint8":
        return spaces.Box(np.zeros(shape.size, np.uint8), shape.scales.astype(np.uint8), dtype=np.uint8)
    return spaces.Box(0.0, 1.0, (shape.size,), np.float32)


def observation_size(rules: Rules, features: tuple[str, ...] = ()) -> int:
    """The length of the vector."""
    return layout(rules, features).size


MAX_SIZE = 4096
"""The longest vector that the encoder writes."""
_BY_PLACE = (NUM_SUITS, MAX_PLACES)
PLAN = np.dtype((
    np.record,
    np.dtype([
        ("starts", "i8", (32,)),  # of the blocks of `_PLAN_BLOCKS`, -1 for those left out
        ("units", "f4", (MAX_SIZE,)),  # one over the scale
        ("raw", "i8"),  # 1: the numbers themselves are wanted
        ("most_cards", "i8"),  # the scales at which the stock, the turns and the rounds that follow are cut off
        ("most_turns", "i8"),
        ("most_rounds", "i8"),
        ("num_kinds", "i8"),
        ("rows", "i8"),  # which ranks there are: see `put_counts`
        ("kinds", "u8", (NUM_KINDS,)),  # those of the pack; unsigned, as kernels then need not look for a sign
        ("index", "i8", (NUM_KINDS,)),  # place of a kind among them, -1 for none
        ("rank_index", "i8", (NUM_RANKS,)),  # place of a rank among the ranks of groups
        ("low_index", "i8", _BY_PLACE),  # place among the ends below runs, -1 none
        ("high_index", "i8", _BY_PLACE),
    ]),
))  # fmt: skip
"""The layout compiled for the encoder, a record like the tables of the rules."""


SOME_RANKS = 0
ALL_RANKS = 1
WITHOUT_TWOS = 2
_WHOLE_ROWS = {
    ALL_RANKS: list(range(NUM_KINDS)),
    WITHOUT_TWOS: [kind for kind in range(NUM_KINDS) if kind == WILD or kind % NUM_RANKS != 1],
}
"""The kinds of the usual packs with wilds, whose counts are copied in words."""

_PLAN_BLOCKS = (
    "hand", "discard_0", "older_discards", "stock_0", "melded", "own_groups", "own_below", "own_above", "other_groups",
    "other_below", "other_above", "seat_0_known", "seat_1_known", "unseen", "contract", "contract_left", "round",
    "rounds_left", "phase", "stock_size", "reshuffles", "turns", "banned", "distance", "needed", "discard_accepted",
    "history_0",
)  # fmt: skip
(
    _HAND, _DISCARD, _OLDER, _STOCK, _MELDED, _OWN_GROUPS, _OWN_BELOW, _OWN_ABOVE, _OTHER_GROUPS, _OTHER_BELOW,
    _OTHER_ABOVE, _SEAT, _NEXT_SEAT, _UNSEEN, _CONTRACT, _LEFT, _ROUND, _ROUNDS_LEFT, _PHASE, _STOCK_SIZE, _RESHUFFLES,
    _TURNS, _BANNED, _DISTANCE, _NEEDED, _ACCEPTED,
    _HISTORY,
) = range(len(_PLAN_BLOCKS))  # fmt: skip


@lru_cache(maxsize=64)
def plan_array(rules: Rules, features: tuple[str, ...] = (), raw: bool = False) -> np.ndarray:
    """The compiled layout as an array of one record, for float32 vectors or (`raw`) for uint8 vectors of the numbers."""
    shape, pack = layout(rules, features), pack_of(rules)
    kinds = _kinds(pack)
    index = np.full(NUM_KINDS, -1, np.int64)
    index[kinds] = np.arange(len(kinds))
    rank_index = np.full(NUM_RANKS, -1, np.int64)
    rank_index[list(pack.ranks)] = np.arange(len(pack.ranks))
    low, high = _ends(pack)
    starts = {block.name: block.start for block in shape.blocks}
    record = np.zeros(1, PLAN)
    plan = record[0]
    plan.starts[:] = -1
    plan.starts[: len(_PLAN_BLOCKS)] = [starts.get(name, -1) for name in _PLAN_BLOCKS]
    plan.units[: shape.size] = 1 / shape.scales
    plan.raw = raw
    plan.most_cards, plan.most_turns = shape["stock_size"].scales[0], shape["turns"].scales[0]
    plan.most_rounds = shape["rounds_left"].scales[0]
    plan.num_kinds = len(kinds)
    plan.rows = next((rows for rows, whole in _WHOLE_ROWS.items() if kinds == whole), SOME_RANKS)
    plan.kinds[: len(kinds)] = kinds
    plan.index[:] = index
    plan.rank_index[:] = rank_index
    for grid, ends in ((plan.low_index, low), (plan.high_index, high)):
        grid[:] = -1
        for at, end in enumerate(ends):
            grid[end] = at
    return record


@lru_cache(maxsize=64)
def observation_plan(rules: Rules, features: tuple[str, ...] = (), raw: bool = False) -> Any:
    """The record of `plan_array`; the same object for equal arguments."""
    return plan_array(rules, features, raw)[0]


def decode(rules: Rules, vector: np.ndarray, features: tuple[str, ...] = ()) -> dict[str, dict[str, int]]:
    """The numbers behind a float32 vector, by block and label, zeros left out. ``ValueError`` for another length."""
    shape = layout(rules, features)
    if vector.shape != (shape.size,):
        raise ValueError(f"an observation of these rules has the shape {(shape.size,)}, not {vector.shape}")
    numbers = np.rint(vector * shape.scales).astype(int)
    found: dict[str, dict[str, int]] = {}
    for block in shape.blocks:
        entries = {
            label: int(number) for label, number in zip(block.labels, numbers[block.start : block.stop], strict=True) if number
        }
        if entries:
            found[block.name] = entries
    return found


@kernel
def encode(tables, plan, view, out):
    """Write the observation of a View into `out` (the whole vector).

    The small numbers are written first, densely and mostly without branches; then all are divided by their scales in one go.
    """
    size = out.shape[0]
    numbers = own_or(out, stack_bytes(MAX_SIZE))[:size]
    numbers[:] = 0
    encode_numbers(tables, plan, view, numbers)
    if not plan.raw:
        for at in range(size):
            out[at] = np.float32(numbers[at]) * plan.units[at]


@kernel
def encode_numbers(tables, plan, view, numbers):
    """Write the numbers of an observation, none above its scale, over zeros."""
    starts = plan.starts
    melded, pile = stack_bytes(NUM_KINDS), stack_bytes(NUM_KINDS)
    count_melded(tables, view, melded)
    count_pile(view, pile)
    encode_piles(tables, plan, view, melded, pile, numbers)
    encode_melds(tables, plan, view, melded, numbers)
    encode_seats(tables, plan, view, numbers)
    contract = np.int64(view.round_number) - 1
    for part in range(2):
        numbers[starts[_CONTRACT] + part] = tables.contracts[contract, part]
    numbers[starts[_LEFT]] = view.groups_left
    numbers[starts[_LEFT] + 1] = view.runs_left
    numbers[starts[_ROUND] + contract] = 1
    numbers[starts[_ROUNDS_LEFT]] = min(np.int64(view.last_index) - np.int64(view.round_index), plan.most_rounds)
    if view.phase < NUM_PHASES:
        numbers[starts[_PHASE] + np.int64(view.phase)] = 1
    numbers[starts[_STOCK_SIZE]] = min(np.int64(view.num_stock), plan.most_cards)
    numbers[starts[_RESHUFFLES]] = min(np.int64(view.reshuffles), _SHUFFLE_SCALE)
    numbers[starts[_TURNS]] = min(np.int64(view.turns[view.turn]), plan.most_turns)
    if view.taken >= 0:
        numbers[starts[_BANNED] + plan.index[view.taken]] = 1
    if starts[_DISTANCE] >= 0:
        encode_analysis(tables, plan, view, numbers)
    if starts[_HISTORY] >= 0:
        encode_history(tables, plan, view, numbers)


@kernel
def encode_history(tables, plan, view, numbers):
    """Who made the last moves, of what type, with which cards."""
    stride = MAX_PLAYERS + NUM_TYPES + plan.num_kinds
    for back in range(HISTORY):
        entry = np.int64(view.history[back])
        if entry == 0:
            return
        start = plan.starts[_HISTORY] + back * stride
        move = (entry >> 3) - 1
        numbers[start + (entry & 7)] = 1
        numbers[start + MAX_PLAYERS + np.int64(tables.move_type[move])] = 1
        cards = start + MAX_PLAYERS + NUM_TYPES
        if tables.move_card[move] >= 0:
            numbers[cards + plan.index[tables.move_card[move]]] = 1
        for at in range(MAX_LAY):
            kind = np.int64(tables.lay_cards[move, at])
            if kind >= 0:
                numbers[cards + plan.index[kind]] += 1


@kernel
def encode_analysis(tables, plan, view, numbers):
    """Distance to the contract, now and with the top discard, and the cards it needs; then what the melds take.

    Where melds are free a seat may be at both at the same time.
    """
    starts = plan.starts
    free = tables.rule.free_melds
    top = np.int64(-1)
    if view.num_discards > 0:
        top = np.int64(view.discards[np.int64(view.num_discards) - 1])
    if free or view.down & 1:
        if top >= 0 and accepted(tables, view, top):
            numbers[starts[_ACCEPTED]] = 1
        if not free:
            return
    hand = view.hand.copy()
    needed = stack_bytes(NUM_KINDS)
    distance = needed_cards(tables, view, hand, needed)
    numbers[starts[_DISTANCE]] = min(distance, _DISTANCE_SCALE)
    put_counts(plan, numbers, starts[_NEEDED], needed)
    if top >= 0:
        hand[top] += 1
        distance = cards_missing(tables, view, hand, np.zeros(MAX_CONTRACT, np.int64))
    numbers[starts[_DISTANCE] + 1] = min(distance, _DISTANCE_SCALE)


@kernel
def put_counts(plan, numbers, start, counts):
    """Write the cards of each kind of the pack, none of which are more than the copies that they are divided by."""
    if plan.rows == ALL_RANKS:
        for at in range(0, NUM_KINDS - WORD, WORD):
            store_word(numbers, start + at, load_word(counts, at))
        store_word(numbers, start + NUM_KINDS - WORD, load_word(counts, NUM_KINDS - WORD))
        return
    if plan.rows == WITHOUT_TWOS:
        # from each suit the three to the king in two words that overlap, over the last place of which the ace goes first
        for suit in range(NUM_SUITS):
            source = suit * NUM_RANKS
            place = start + suit * (NUM_RANKS - 1)
            low = load_word(counts, source + 1)
            high = load_word(counts, source + NUM_RANKS - WORD)
            store_word(numbers, place, low)
            store_word(numbers, place + NUM_RANKS - 1 - WORD, high)
            numbers[place] = counts[source]
        numbers[start + 4 * (NUM_RANKS - 1)] = counts[WILD]
        return
    for at in range(plan.num_kinds):
        numbers[start + at] = counts[plan.kinds[at]]


@kernel
def encode_piles(tables, plan, view, melded, pile, numbers):
    """Own hand, discard pile, known stock, and what is unseen."""
    starts = plan.starts
    kinds = plan.num_kinds
    put_counts(plan, numbers, starts[_HAND], view.hand)
    put_counts(plan, numbers, starts[_OLDER], pile)
    top = np.int64(view.num_discards) - 1
    for depth in range(min(top + 1, 3)):
        place = plan.index[view.discards[top - depth]]
        numbers[starts[_DISCARD] + depth * kinds + place] = 1
        numbers[starts[_OLDER] + place] -= 1
    if view.stock_public and starts[_STOCK] >= 0:
        for depth in range(min(np.int64(view.num_stock), _STOCK_PLACES)):
            kind = np.int64(view.stock[np.int64(view.num_stock) - 1 - depth])
            numbers[starts[_STOCK] + depth * kinds + plan.index[kind]] = 1
    put_counts(plan, numbers, starts[_MELDED], melded)
    count_unseen(tables, view, melded, pile)
    put_counts(plan, numbers, starts[_UNSEEN], pile)


@kernel
def encode_melds(tables, plan, view, melded, numbers):
    """What the melds on the table accept; wilds are counted apart from the cards in them."""
    starts = plan.starts
    for index in range(view.num_melds):
        own = view.meld_owner[index] == 0
        low = np.int64(view.meld_low[index])
        size = np.int64(view.meld_size[index])
        if not view.meld_run[index]:
            if size < tables.rule.group_max:
                add_one(numbers, starts[_OWN_GROUPS if own else _OTHER_GROUPS] + plan.rank_index[low])
            continue
        suit = np.int64(view.meld_suit[index])
        before, after = open_ends(tables, view, index)
        if before >= 0:
            add_one(numbers, starts[_OWN_BELOW if own else _OTHER_BELOW] + plan.low_index[suit, before])
        if after >= 0:
            add_one(numbers, starts[_OWN_ABOVE if own else _OTHER_ABOVE] + plan.high_index[suit, after])


@kernel
def add_one(numbers, at):
    """Count one meld more, up to the scale."""
    numbers[at] = min(np.int64(numbers[at]) + 1, _MELD_SCALE)


@kernel
def encode_seats(tables, plan, view, numbers):
    """What is public of every seat."""
    kinds = plan.num_kinds
    stride = plan.starts[_NEXT_SEAT] - plan.starts[_SEAT]
    worse = -1 if tables.rule.most_wins else 1
    leader = np.int64(view.scores[0]) * worse
    for seat in range(1, view.players):
        leader = min(leader, np.int64(view.scores[seat]) * worse)
    for seat in range(view.players):
        start = plan.starts[_SEAT] + seat * stride
        put_counts(plan, numbers, start, view.known[seat])
        discarded = np.uint64(view.discarded[seat])
        block = numbers[start + kinds : start + 2 * kinds]
        for at in range(kinds):
            block[at] = (discarded >> plan.kinds[at]) & np.uint64(1)
        scalars = numbers[start + 2 * kinds : start + stride]
        scalars[0] = min(np.int64(view.hand_size[seat]), _HAND_SCALE)
        scalars[1] = (np.int64(view.down) >> seat) & 1
        scalars[2] = (np.int64(view.acted) >> seat) & 1
        scalars[3] = view.acted_now if seat == view.turn else 0
        scalars[4] = min(np.int64(view.buys[seat]), _BUY_SCALE)
        scalars[5] = min(np.int64(view.scores[seat]) * worse - leader, _SCORE_SCALE)
        scalars[6] = seat == view.dealer
        scalars[7] = seat == view.turn
        scalars[8] = seat == view.to_act
        scalars[9] = seat == view.discarder
        scalars[10] = (np.int64(view.passed) >> seat) & 1
        scalars[11] = 1
