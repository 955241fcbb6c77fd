"""Positions: one table in the middle of a round as a JSON object, in both directions (the notation's page names every field).

A position that exceeds the pack or contradicts its rules is refused with a ValueError that names the card or the field.
"""

from __future__ import annotations

import copy
import math
import struct
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from itertools import islice
from typing import Any

import numpy as np

from rummy_env.cards import (
    KIND_TEXTS,
    NUM_KINDS,
    NUM_RANKS,
    NUM_SUITS,
    SUITS,
    WILD,
    cards_text,
    parse_cards,
    parse_kind,
)
from rummy_env.engine.contracts import KNOWN_RUNS, can_form
from rummy_env.engine.deal import clear_round
from rummy_env.engine.legal import blocked_starts, used_ranks
from rummy_env.engine.state import DRAW, LAYING, MAX_MELDS, OVER, PHASES, PLAY, STATE, WINDOW, new_states
from rummy_env.engine.tables import Tables, compile_tables, group_fill, run_fill
from rummy_env.engine.window import can_buy
from rummy_env.melds import Meld, Pack, pack_of, parse_meld
from rummy_env.rules import MOST_DEALS, PRESETS, Rules, resolve_rules, shown

FIELDS = (
    "rules", "overrides", "round", "dealer", "phase", "to_act", "turn", "discarder", "passed", "hands", "stock",
    "discards", "melds", "down", "laid_this_turn", "taken", "buys", "turns", "scores", "reshuffles", "acted",
    "acted_this_turn",
)  # fmt: skip
_REQUIRED = ("rules", "hands", "to_act")


def hand_text(pack: Pack, counts: Sequence[int] | np.ndarray) -> str:
    """A hand by suit c d h s, low to high in the rank order of the rules, wilds last."""
    return _hand_text(_hand_order(pack), counts.tolist() if isinstance(counts, np.ndarray) else counts)


def _hand_text(order: Sequence[int], numbers: Sequence[int]) -> str:
    return cards_text([kind for kind in order if numbers[kind] for _ in range(numbers[kind])])


@cache
def _hand_order(pack: Pack) -> tuple[int, ...]:
    """All kinds in the order of a hand's text."""
    ranks = dict.fromkeys(pack.places)
    return (*(suit * NUM_RANKS + rank for suit in range(NUM_SUITS) for rank in ranks), WILD)


def meld_of(pack: Pack, state: Any, index: int) -> Meld:
    """The meld in place `index` of a State or View."""
    return _meld_of(pack, *(int(state[name][index]) for name in _MELD))


_MELD = ("meld_run", "meld_suit", "meld_low", "meld_size", "meld_fill")


@lru_cache(maxsize=4096)
def _meld_of(pack: Pack, run: int, suit: int, low: int, size: int, fill: int) -> Meld:
    if run:
        places = pack.run_places(low, size)
        cards = tuple(WILD if fill >> place & 1 else pack.natural(suit, place) for place in places)
        return Meld(True, suit, low, cards)
    naturals = tuple(suit * NUM_RANKS + low for suit in range(NUM_SUITS) for _ in range(fill >> (4 * suit) & 15))
    return Meld(False, 0, low, naturals + (WILD,) * (size - len(naturals)))


def rules_fields(rules: Rules) -> dict[str, Any]:
    """The fields `rules` and `overrides` of a position: a preset's name and what differs from it."""
    name, overrides = _rules_fields(rules)
    return {"rules": name, "overrides": copy.deepcopy(overrides)}


@lru_cache(maxsize=64)
def _rules_fields(rules: Rules) -> tuple[str, dict[str, Any]]:
    name = rules.name if rules.name in PRESETS else "basic" if rules.contracts is None else "international"
    base, own = PRESETS[name].to_dict(), rules.to_dict()
    return name, {field: own[field] for field in own if own[field] != base[field]}


def _seats(bits: int) -> list[int]:
    return [seat for seat in range(int(bits).bit_length()) if int(bits) >> seat & 1]


def position_of(rules: Rules, state: Any) -> dict[str, Any]:
    """The full position of a State, with every field; after the game its phase is ``over``."""
    return {**rules_fields(rules), **table_fields(rules, state)}


def table_fields(rules: Rules, state: Any) -> dict[str, Any]:
    """The fields of a position that a State holds: all but `rules` and `overrides`."""
    pack = pack_of(rules)
    values = _RECORD.unpack(state.tobytes())  # at once: the fields of a record one by one take several times as long
    found: dict[str, Any] = {name: values[place] for name, place in _PLACES.items()}
    players, order = found["players"], _hand_order(pack)
    laid = islice(zip(*(found[name] for name in _MELD), strict=True), found["num_melds"])
    melds = [_meld_of(pack, *meld).text(pack) for meld in laid]
    return {
        "round": rules.round_at(found["round_index"]),
        "dealer": found["dealer"],
        "phase": PHASES[found["phase"]],
        "to_act": None if found["phase"] == OVER else found["to_act"],
        "turn": found["turn"],
        "discarder": None if found["discarder"] < 0 else found["discarder"],
        "passed": _seats(found["passed"]),
        "hands": [_hand_text(order, found["hand"][seat * NUM_KINDS :][:NUM_KINDS]) for seat in range(players)],
        "stock": cards_text(found["stock"][: found["num_stock"]]),
        "discards": cards_text(found["discards"][: found["num_discards"]]),
        "melds": [{"owner": owner, "meld": meld} for owner, meld in zip(found["meld_owner"], melds, strict=False)],
        "down": _seats(found["down"]),
        "laid_this_turn": [melds[index] for index in _seats(found["new_melds"])],
        "taken": None if found["taken"] < 0 else KIND_TEXTS[found["taken"]],
        "buys": list(found["buys"][:players]),
        "turns": list(found["turns"][:players]),
        "scores": list(found["scores"][:players]),
        "reshuffles": found["reshuffles"],
        "acted": _seats(found["acted"]),
        "acted_this_turn": bool(found["acted_now"]),
    }


_READ = frozenset({
    "round_index", "dealer", "phase", "to_act", "turn", "discarder", "passed", "hand", "stock", "num_stock", "discards",
    "num_discards", "num_melds", "meld_owner", "meld_run", "meld_suit", "meld_low", "meld_size", "meld_fill", "down",
    "new_melds", "taken", "buys", "turns", "scores", "reshuffles", "acted", "acted_now", "players",
})  # fmt: skip
_CODES = {"i1": "b", "i2": "h", "i4": "i", "i8": "q"}


def _layout() -> tuple[struct.Struct, dict[str, int | slice]]:
    """The bytes of a State as numbers: those that `table_fields` reads, and the place or places of each field."""
    text, size = "=", 0
    places: dict[str, int | slice] = {}
    for name in STATE.names or ():
        base, shape = STATE[name].base, STATE[name].shape
        count = math.prod(shape)
        if name in _READ:
            places[name] = slice(size, size + count) if shape else size
            text += f"{count}{_CODES[base.str[1:]]}"
            size += count
        else:
            text += f"{STATE[name].itemsize}x"
    return struct.Struct(text), places


_RECORD, _PLACES = _layout()


class _Reader:
    """Reads the fields of a position one by one, each with an error that names it."""

    def __init__(self, position: Mapping[str, Any]):
        self.fields = position

    def whole(self, name: str, default: int | None, least: int, most: int) -> int:
        value = self.fields.get(name, default)
        return self._whole(name, value, least, most)

    def _whole(self, name: str, value: Any, least: int, most: int) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise ValueError(f"{name} must be a whole number from {least} to {most}, not {shown(value)}")
        return value

    def seat_or_null(self, name: str, players: int) -> int:
        value = self.fields.get(name)
        return -1 if value is None else self._whole(name, value, 0, players - 1)

    def listed(self, name: str) -> list[Any]:
        value = self.fields.get(name, [])
        if not isinstance(value, list):
            raise ValueError(f"{name} must be a list, not {shown(value)}")
        return value

    def seats(self, name: str, players: int) -> int:
        bits = 0
        for value in self.listed(name):
            seat = self._whole(name, value, 0, players - 1)
            if bits >> seat & 1:
                raise ValueError(f"{name} names seat {seat} twice")
            bits |= 1 << seat
        return bits

    def numbers(self, name: str, players: int, least: int, most: int) -> list[int]:
        values = self.fields.get(name)
        if values is None:
            return [0] * players
        if not isinstance(values, list) or len(values) != players:
            raise ValueError(f"{name} must be a list of {players} numbers, one for each hand, not {shown(values)}")
        return [self._whole(name, value, least, most) for value in values]

    def cards(self, name: str, value: Any) -> list[int]:
        if not isinstance(value, str):
            raise ValueError(f"{name} must be a text of cards, not {shown(value)}")
        try:
            return parse_cards(value)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None


def check_fields(what: str, given: Mapping[str, Any], allowed: Sequence[str], needed: Sequence[str]) -> None:
    """ValueError for a field of a position, or of `what` else, that is unknown or missing."""
    for name in given:
        if name not in allowed:
            raise ValueError(f"unknown field of {what}: {shown(name)}; allowed are {', '.join(allowed)}")
    for name in needed:
        if name not in given:
            raise ValueError(f"{what} needs the field {name}")


def read_position(position: Mapping[str, Any]) -> tuple[Rules, np.ndarray]:
    """Rules and an array of one State from a position. Raises ValueError naming the card or field that is wrong."""
    if not isinstance(position, Mapping):
        raise ValueError(f"a position must be a JSON object, not {type(position).__name__}")
    check_fields("a position", position, FIELDS, _REQUIRED)
    overrides = position.get("overrides", {})
    if not isinstance(overrides, Mapping):
        raise ValueError(f"overrides must be an object from rule fields to values, not {shown(overrides)}")
    try:
        rules = resolve_rules(position["rules"], overrides)
    except OSError as error:
        raise ValueError(f"rules: {error}") from None
    tables, pack = compile_tables(rules), pack_of(rules)
    read = _Reader(position)
    hands = read.listed("hands")
    if not rules.players_min <= len(hands) <= rules.players_max:
        raise ValueError(f"hands must be those of {rules.players_min} to {rules.players_max} players, not {len(hands)}")
    states = new_states(1)
    state = states[0]
    clear_round(state)
    _read_counters(read, rules, state, len(hands))
    _read_cards(read, pack, state, hands)
    _read_turn(read, rules, state)
    _check_phase(tables, state)
    return rules, states


def _read_counters(read: _Reader, rules: Rules, state: Any, players: int) -> None:
    state.players = players
    number = read.whole("round", rules.round_at(0), 1, MOST_DEALS)
    state.round_index = rules.round_index(number)
    state.round_number = 1 if rules.contracts is None else number
    state.last_index = rules.game_rounds - 1
    state.dealer = read.whole("dealer", 0, 0, players - 1)
    state.to_act = read.whole("to_act", None, 0, players - 1)
    state.turn = read.whole("turn", int(state.to_act), 0, players - 1)
    state.buys[:players] = read.numbers("buys", players, 0, 1000 if rules.max_buys is None else min(1000, rules.max_buys))
    state.turns[:players] = read.numbers("turns", players, 0, rules.max_turns)
    state.scores[:players] = read.numbers("scores", players, -1_000_000, 1_000_000)
    state.reshuffles = read.whole("reshuffles", 0, 0, min(10_000, int(compile_tables(rules).rule.max_recycles)))
    state.stock_public = rules.stock_out == "turn_over" and state.reshuffles > 0
    state.down = read.seats("down", players)
    state.acted = read.seats("acted", players)
    state.passed = read.seats("passed", players)
    state.discarder = read.seat_or_null("discarder", players)
    state.last_out = -1
    phase = read.fields.get("phase", "play")
    if phase not in PHASES[:OVER]:
        raise ValueError(f"phase must be one of {', '.join(PHASES[:OVER])}, not {shown(phase)}")
    state.phase = PHASES.index(phase)
    acted_now = read.fields.get("acted_this_turn", False)
    if not isinstance(acted_now, bool):
        raise ValueError(f"acted_this_turn must be true or false, not {shown(acted_now)}")
    state.acted_now = acted_now


def _read_cards(read: _Reader, pack: Pack, state: Any, hands: list[Any]) -> None:
    left = list(pack.copies)

    def use(name: str, kinds: Sequence[int]) -> None:
        for kind in kinds:
            left[kind] -= 1
            if left[kind] < 0:
                held = pack.copies[kind]
                raise ValueError(
                    f"{name}: {KIND_TEXTS[kind]} stands in the position more often than in the pack, which has {held}"
                )

    for seat, text in enumerate(hands):
        kinds = read.cards(f"hands[{seat}]", text)
        if not kinds:
            raise ValueError(f"hands[{seat}] is empty: the round would be over")
        use(f"hands[{seat}]", kinds)
        for kind in kinds:
            state.hand[seat, kind] += 1
        state.hand_size[seat] = len(kinds)
        state.hidden_draws[seat] = len(kinds)
    for name, pile, count in (("stock", state.stock, "num_stock"), ("discards", state.discards, "num_discards")):
        kinds = read.cards(name, read.fields.get(name, ""))
        use(name, kinds)
        pile[: len(kinds)] = kinds
        state[count] = len(kinds)
    state.pool[:] = pack.copies  # a position does not say what the stock was last formed of
    melds = read.listed("melds")
    if len(melds) > MAX_MELDS:
        raise ValueError(f"melds has {len(melds)} entries; at most {MAX_MELDS} can lie on a table")
    for index, entry in enumerate(melds):
        name = f"melds[{index}]"
        if not isinstance(entry, Mapping) or set(entry) != {"owner", "meld"} or not isinstance(entry["meld"], str):
            raise ValueError(f'{name} must be an object like {{"owner": 0, "meld": "G8 8c8h**"}}, not {shown(entry)}')
        owner = read._whole(f"{name} owner", entry["owner"], 0, len(hands) - 1)
        try:
            meld = parse_meld(entry["meld"], pack)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
        use(name, meld.cards)
        _place_meld(pack, state, owner, meld)


def _place_meld(pack: Pack, state: Any, owner: int, meld: Meld) -> None:
    index = int(state.num_melds)
    state.meld_owner[index] = owner
    state.meld_run[index] = meld.is_run
    state.meld_suit[index] = meld.suit
    state.meld_low[index] = meld.low
    state.meld_size[index] = len(meld.cards)
    state.meld_fill[index] = run_fill(pack, meld.low, meld.cards) if meld.is_run else group_fill(meld.cards)
    state.num_melds = index + 1


def _read_turn(read: _Reader, rules: Rules, state: Any) -> None:
    tables, pack = compile_tables(rules), pack_of(rules)
    seat = int(state.to_act)
    for index in range(state.num_melds):
        _check_meld(tables, rules, pack, meld_of(pack, state, index), f"melds[{index}]")
    laid = read.listed("laid_this_turn")
    if laid and state.phase not in (PLAY, LAYING):
        raise ValueError(f"laid_this_turn must be empty in the phase {PHASES[state.phase]}")
    for text in laid:
        mine = [
            index
            for index in range(state.num_melds)
            if state.meld_owner[index] == seat
            and not state.new_melds >> index & 1
            and meld_of(pack, state, index).text(pack) == text
        ]
        if not mine:
            raise ValueError(f"laid_this_turn: {shown(text)} does not stand in melds as one of seat {seat}")
        state.new_melds |= 1 << mine[-1]
    taken = read.fields.get("taken")
    if taken is not None:
        if not isinstance(taken, str):
            raise ValueError(f"taken must be a card or null, not {shown(taken)}")
        try:
            kind = parse_kind(taken)
        except ValueError as error:
            raise ValueError(f"taken: {error}") from None
        if state.phase not in (PLAY, LAYING) or not rules.redraw_ban:
            raise ValueError("taken must be null before the draw, and where redraw_ban is false")
        if not state.hand[seat, kind]:
            raise ValueError(f"taken: {taken} is not in the hand of seat {seat}")
        state.taken = kind
        state.known[seat, kind] = 1
    if state.num_discards == 0 and state.discarder >= 0:
        raise ValueError("discarder must be null where there is no discard")
    before = (int(state.turn) - 1) % int(state.players)
    if state.discarder not in (-1, before):
        raise ValueError(
            f"discarder must be null or {before}, the seat before turn {int(state.turn)}, not {int(state.discarder)}"
        )
    if state.discarder >= 0:
        top = int(state.num_discards) - 1
        state.discard_by[top] = state.discarder + 1
        state.discarded[state.discarder] |= np.uint64(1) << np.uint64(state.discards[top])


def _check_meld(tables: Tables, rules: Rules, pack: Pack, meld: Meld, name: str) -> None:
    naturals = [kind != WILD for kind in meld.cards]
    if meld.is_run:
        windows = [naturals[at : at + pack.run_length] for at in range(len(naturals) - pack.run_length + 1)]
        laid = any(sum(window) >= tables.rule.run_naturals for window in windows)
    else:
        laid = sum(naturals) >= tables.rule.group_naturals
        if rules.group_limit is not None and len(meld.cards) > rules.group_limit:
            raise ValueError(f"{name}: {meld.text(pack)} is larger than group_max {rules.group_limit}")
    if not laid:
        raise ValueError(
            f"{name}: {meld.text(pack)} could not have been laid with min_naturals {rules.min_naturals} "
            f"and max_wilds {rules.max_wilds}"
        )


def _check_phase(tables: Tables, state: Any) -> None:
    """Refuse a window or a half-laid contract that the rules would not have."""
    seat, turn, players = int(state.to_act), int(state.turn), int(state.players)
    down = state.down >> seat & 1
    if state.phase in (WINDOW, DRAW) and state.turns[turn] >= tables.rule.max_turns:
        raise ValueError(f"turns: seat {turn} has had max_turns {tables.rule.max_turns} turns, so the round would be over")
    if state.phase == WINDOW:
        if state.discarder < 0:
            _check_offer(tables, state)
        asked = [(turn + step) % players for step in range(players)]
        buyers = [other for other in asked if can_buy(tables, state, other)]
        if not buyers:
            raise ValueError("phase window: nobody may buy the top discard, so there is no window")
        before = asked[: asked.index(seat)]
        if seat != turn and seat not in buyers:
            raise ValueError(f"to_act {seat} may not buy the top discard and is not asked in the window")
        expected = [other for other in before if other == turn or other in buyers]
        if sorted(expected) != _seats(state.passed):
            raise ValueError(
                f"passed must name the seats asked before seat {seat}, {sorted(expected)}, not {_seats(state.passed)}"
            )
        return
    if state.passed:
        raise ValueError(f"passed must be empty in the phase {PHASES[state.phase]}")
    if turn != seat:
        raise ValueError(f"turn {turn} must be to_act {seat} in the phase {PHASES[state.phase]}")
    if state.phase == DRAW and state.num_stock + state.num_discards == 0:
        raise ValueError("stock and discards are both empty in the phase draw: the round would be blocked")
    if tables.rule.free_melds:
        _check_free(tables, state)
        return
    groups, runs = (int(number) for number in tables.contracts[int(state.round_number) - 1])
    for index in _seats(state.new_melds):
        if state.meld_run[index]:
            runs -= 1
        else:
            groups -= 1
    if state.new_melds:
        _check_laid(tables, state)
    if state.phase == LAYING:
        if not state.new_melds:
            raise ValueError("phase laying needs laid_this_turn: at least one meld of the contract")
        if down or groups < 0 or runs < 0 or groups + runs == 0:
            raise ValueError("laid_this_turn is not part of a contract that seat to_act is laying")
        state.groups_left, state.runs_left = groups, runs
        left = state.hand_size[seat] - groups * tables.rule.group_size - runs * tables.rule.run_length
        hand = state.hand[seat].copy()
        ranks, starts = used_ranks(tables, state), blocked_starts(tables, state)
        known = np.zeros(KNOWN_RUNS, np.int64)
        if left < tables.rule.final_discard or not can_form(tables, hand, groups, runs, ranks, starts, known):
            raise ValueError(f"laid_this_turn: the hand of seat {seat} cannot form the rest of the contract")
    elif state.new_melds and (groups, runs) != (0, 0):
        raise ValueError("laid_this_turn is not the whole contract of the round; the phase would be laying")
    elif state.new_melds and not down:
        raise ValueError(f"down must name seat {seat}, which has laid the contract this turn")


def _check_free(tables: Tables, state: Any) -> None:
    """Where melds are free none is ever half laid, and a turn has so many at most."""
    if state.phase == LAYING:
        raise ValueError("phase laying: melds are free (contracts is null), so no contract is being laid")
    laid = _seats(state.new_melds)
    if len(laid) > tables.rule.melds_per_turn:
        raise ValueError(f"laid_this_turn has {len(laid)} melds, melds_per_turn allows {tables.rule.melds_per_turn}")


def _check_offer(tables: Tables, state: Any) -> None:
    """The top discard of a window without a discarder is the first up-card, or a buy has uncovered it."""
    first = state.num_discards == 1 and not state.turns.any() and not state.buys.any()
    if first and not tables.rule.buy_first_upcard:
        raise ValueError("phase window: the first up-card is not for sale (buy_first_upcard), so there is no window")
    if not first and not tables.rule.uncovered_live:
        raise ValueError("phase window: an uncovered card is not for sale (uncovered_live), so there is no window")


def _check_laid(tables: Tables, state: Any) -> None:
    """The melds laid this turn, among themselves and in their size."""
    laid = _seats(state.new_melds)
    if state.phase == LAYING or not tables.rule.same_turn_layoff:
        for index in laid:
            size = tables.rule.run_length if state.meld_run[index] else tables.rule.group_size
            if state.meld_size[index] != size:
                raise ValueError(f"laid_this_turn: melds[{index}] has {state.meld_size[index]} cards; it is laid with {size}")
    ranks = [int(state.meld_low[index]) for index in laid if not state.meld_run[index]]
    if tables.rule.distinct_groups and len(set(ranks)) < len(ranks):
        raise ValueError("laid_this_turn: the groups of one contract need different ranks (distinct_groups)")
    if tables.rule.separate_runs and not (state.phase == PLAY and tables.rule.same_turn_layoff):
        starts = [int(tables.start_of[state.meld_suit[at], state.meld_low[at]]) for at in laid if state.meld_run[at]]
        for position, start in enumerate(starts):
            if any(tables.run_clashes[start] >> other & 1 for other in starts[position + 1 :]):
                raise ValueError("laid_this_turn: the runs of one contract and suit may not touch or overlap (separate_runs)")


assert NUM_KINDS == WILD + 1 and len(SUITS) == NUM_SUITS
