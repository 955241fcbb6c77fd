"""The checks of `tests/invariants.py` see every damage and name it; random play under random rules shows none."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from rummy_env.cards import NUM_KINDS, NUM_RANKS, WILD
from rummy_env.engine.apply import NO_ORDER, apply
from rummy_env.engine.legal import legal
from rummy_env.engine.state import (
    DRAW,
    END_BLOCKED,
    END_TURN_LIMIT,
    LAYING,
    OVER,
    PHASES,
    PLAY,
    WINDOW,
    new_states,
)
from rummy_env.engine.tables import BUY_MOVE, STOCK_MOVE, TAKE_MOVE, table_array
from rummy_env.game import Game
from rummy_env.kernel import PYTHON_MODE
from rummy_env.moves import MoveType
from rummy_env.rules import Rules, preset
from tests import soak_moves
from tests.invariants import FAULTS, TALLY, check, check_mask, check_step
from tests.lockstep import mixed_setting
from tests.playing import STYLES, Driver

RULES = preset("international").replace(rounds=[2, 2], players_max=3, decks=1, jokers=8, max_turns=60)
TABLE = table_array(RULES)[0]
PLAYERS = 3


def found(state: Any) -> str:
    """The name of the first fault of a State."""
    return FAULTS[check(TABLE, state, np.zeros(NUM_KINDS, np.int64))]


# A State of every kind


def _melds(state: Any, is_run: int) -> list[int]:
    return [index for index in range(state.num_melds) if state.meld_run[index] == is_run]


WANTED: dict[str, Callable[[Any], Any]] = {
    "window": lambda s: s.phase == WINDOW and s.passed and s.discarder >= 0 and s.to_act != s.turn and s.num_melds,
    "draw": lambda s: s.phase == DRAW and s.discarder >= 0 and s.num_melds >= 2 and s.num_discards > 3,
    "play": lambda s: s.phase == PLAY and s.taken >= 0 and _melds(s, 0) and _melds(s, 1) and not s.down >> s.turn & 1,
    "laid": lambda s: s.phase == PLAY and s.new_melds,
    "laying": lambda s: s.phase == LAYING,
    "new stock": lambda s: s.phase != OVER and s.reshuffles and s.num_stock > 3,
    "over": lambda s: s.phase == OVER and s.last_out >= 0,
}


def games() -> Iterator[Driver]:
    """A driver before every move of seeded games, and after each game."""
    for seed in range(60):
        driver = Driver(RULES, PLAYERS, seed, STYLES[seed % len(STYLES)])
        while not driver.over:
            yield driver
            driver.step()
        yield driver


@cache
def _states() -> dict[str, bytes]:
    """The bytes of the first State of each kind."""
    states: dict[str, bytes] = {}
    for driver in games():
        for name, wanted in WANTED.items():
            if name not in states and wanted(driver.state):
                states[name] = driver.states.tobytes()
        if len(states) == len(WANTED):
            break
    return states


def example(name: str) -> Any:
    """A State of a kind."""
    states = new_states(1)
    states[:] = np.frombuffer(_states()[name], states.dtype)
    return states[0]


# Damages: the kind of State, what is done to it, and what is found


def _held(state: Any, seat: int = 0) -> int:
    """A natural card that a seat holds unseen."""
    return int(np.flatnonzero(state.hand[seat][:WILD] > state.known[seat][:WILD])[0])


def lose_a_card(s: Any) -> None:
    s.num_stock -= 1
    s.stock[s.num_stock] = 0
    s.hidden_draws[0] += 1


def swap_a_card(s: Any) -> None:
    s.stock[0] = (s.stock[0] + 1) % NUM_KINDS


def double_a_card(s: Any) -> None:
    kind = _held(s)
    s.hand[0, kind] += 1
    s.hand_size[0] += 1


def trade_a_card(s: Any) -> None:
    """From the stock of a new stock into a hand, and one that was not in the stock back."""
    strange = next(kind for kind in range(NUM_KINDS) if not s.pool[kind] and s.hand[0, kind] > s.known[0, kind])
    kind = int(s.stock[0])
    s.stock[0] = strange
    s.hand[0, strange] -= 1
    s.hand[0, kind] += 1


def group(name: str, value: Callable[[Any, int], int]) -> Callable[[Any], None]:
    """A change of a field of the first group."""
    return lambda s: s[name].__setitem__(at := _melds(s, 0)[0], value(s, at))


def run(name: str, value: Callable[[Any, int], int]) -> Callable[[Any], None]:
    """A change of a field of the first run."""
    return lambda s: s[name].__setitem__(at := _melds(s, 1)[0], value(s, at))


def field(name: str, value: Any, at: int | None = None) -> Callable[[Any], None]:
    """A field set, one entry of it where `at` is given."""

    def damage(state: Any) -> None:
        if at is None:
            state[name] = value
        else:
            state[name][at] = value

    return damage


def all_wild(s: Any, at: int) -> int:
    return sum(1 << (int(s.meld_low[at]) + step) for step in range(s.meld_size[at]))


DAMAGES: list[tuple[str, Callable[[Any], Any], str]] = [
    ("play", field("players", 1), "players"),
    ("play", field("players", 7), "players"),
    ("play", field("phase", 5), "phase"),
    ("play", field("phase", -1), "phase"),
    ("play", field("turn", PLAYERS), "seats"),
    ("play", field("dealer", -1), "seats"),
    ("play", lambda s: s.__setattr__("to_act", (s.turn + 1) % PLAYERS), "seats"),
    ("window", field("to_act", PLAYERS), "seats"),
    ("play", field("to_act", -1), "seats"),
    ("over", field("to_act", 0), "seats"),
    ("play", field("round_number", 1), "rounds"),
    ("play", field("round_index", 2), "rounds"),
    ("play", field("last_index", 2), "rounds"),
    ("play", field("rounds_done", 9), "rounds"),
    ("over", field("rounds_done", 0), "rounds"),
    ("play", field("last_end", 4), "last round"),
    ("over", field("last_end", 0), "last round"),
    ("over", field("last_out", -1), "last round"),
    ("over", lambda s: s.last_points.__setitem__(s.last_out, 5), "last round"),
    ("over", field("last_down", 1 << PLAYERS), "last round"),
    ("play", field("num_stock", -1), "counts"),
    ("play", field("num_stock", 112), "counts"),
    ("play", field("num_discards", -1), "counts"),
    ("play", field("num_melds", 38), "counts"),
    ("play", field("hand_size", -1, 0), "counts"),
    ("play", field("hand_size", 120, 0), "counts"),
    ("play", field("hand_size", 1, PLAYERS), "beyond the players"),
    ("play", field("hidden_draws", 1, PLAYERS), "beyond the players"),
    ("play", field("turns", 1, 5), "beyond the players"),
    ("play", field("buys", 1, 5), "beyond the players"),
    ("play", field("scores", 1, 5), "beyond the players"),
    ("play", field("last_points", 1, 5), "beyond the players"),
    ("play", field("discarded", 1, 5), "beyond the players"),
    ("play", lambda s: s.hand[PLAYERS].__setitem__(7, 1), "beyond the players"),
    ("play", lambda s: s.known[5].__setitem__(7, 1), "beyond the players"),
    ("play", field("stock", NUM_KINDS, 0), "kinds"),
    ("play", field("stock", -1, 0), "kinds"),
    ("play", field("discards", NUM_KINDS, 0), "kinds"),
    ("play", lose_a_card, "cards"),
    ("play", swap_a_card, "cards"),
    ("play", double_a_card, "cards"),
    ("play", lambda s: s.hand[0].__setitem__(_held(s), s.hand[0, _held(s)] - 1), "hand size"),
    ("play", lambda s: s.hand[0].__setitem__(_held(s), -1), "cards"),
    ("play", lambda s: s.hand_size.__setitem__(1, s.hand_size[1] + 1), "hand size"),
    ("play", lambda s: s.known[0].__setitem__(_held(s), s.hand[0, _held(s)] + 1), "known"),
    ("play", lambda s: s.known[0].__setitem__(_held(s), -1), "known"),
    ("play", lambda s: s.stock.__setitem__(s.num_stock, 3), "beyond the stock"),
    ("play", field("stock", 1, 111), "beyond the stock"),
    ("play", lambda s: s.discards.__setitem__(s.num_discards, 3), "beyond the discards"),
    ("play", field("discard_by", 1, 111), "beyond the discards"),
    ("play", lambda s: s.meld_fill.__setitem__(s.num_melds, 3), "beyond the melds"),
    ("play", field("meld_owner", 1, 36), "beyond the melds"),
    ("draw", field("discard_by", PLAYERS + 1, 1), "discard makers"),
    ("draw", field("discard_by", -1, 1), "discard makers"),
    ("draw", lambda s: s.discarded.__setitem__(slice(None), 0), "discarded"),
    ("play", field("pool", -1, 7), "pool"),
    ("play", field("pool", 9, 7), "pool"),
    ("play", field("pool", 0, 7), "pool"),
    ("new stock", trade_a_card, "pool"),
    ("new stock", lambda s: s.hidden_draws.__setitem__(0, s.hidden_draws[0] + 1), "hidden draws"),
    ("play", lambda s: s.hidden_draws.__setitem__(0, s.hidden_draws[0] - 1), "hidden draws"),
    ("play", field("hidden_draws", -1, 0), "hidden draws"),
    ("play", field("meld_owner", PLAYERS, 0), "meld owner"),
    ("play", field("meld_owner", -1, 0), "meld owner"),
    ("play", group("meld_low", lambda s, at: 13), "group"),
    ("play", group("meld_low", lambda s, at: 1), "group"),  # 2s are wild
    ("play", group("meld_suit", lambda s, at: 1), "group"),
    ("play", group("meld_size", lambda s, at: 2), "group"),
    ("play", group("meld_fill", lambda s, at: 0), "group"),
    ("play", group("meld_fill", lambda s, at: 3), "group"),  # three of a card
    ("play", group("meld_fill", lambda s, at: 0x2222), "group"),  # more naturals than cards
    ("play", group("meld_size", lambda s, at: s.meld_size[at] + 1), "cards"),
    ("play", run("meld_low", lambda s, at: -1), "run"),
    ("play", run("meld_low", lambda s, at: 12), "run"),  # places are 0 to 11
    ("play", run("meld_low", lambda s, at: 10), "run"),  # beyond the ace
    ("play", run("meld_suit", lambda s, at: 4), "run"),
    ("play", run("meld_size", lambda s, at: 3), "run"),
    ("play", run("meld_size", lambda s, at: 13), "run"),
    ("play", run("meld_fill", lambda s, at: s.meld_fill[at] | 1 << 14), "run"),  # a wild outside the run
    ("play", run("meld_fill", all_wild), "run"),  # no natural
    ("play", field("meld_run", 2, 0), "flags"),
    ("play", field("acted_now", 2), "flags"),
    ("play", field("stock_public", 1), "flags"),
    ("window", field("passed", 1 << PLAYERS), "seat bits"),
    ("play", field("down", -1), "seat bits"),
    ("play", field("acted", 1 << PLAYERS), "seat bits"),
    ("draw", field("passed", 1), "passed"),
    ("window", field("passed", 7), "passed"),
    ("window", field("passed", 0), "passed"),
    ("window", lambda s: s.__setattr__("discarder", s.to_act), "discarder"),
    ("window", lambda s: s.__setattr__("discarder", -2), "discarder"),
    ("draw", lambda s: s.__setattr__("discarder", (s.discarder + 1) % PLAYERS), "discarder"),
    ("draw", lambda s: s.discard_by.__setitem__(s.num_discards - 1, 0), "discarder"),
    ("laid", lambda s: s.__setattr__("new_melds", s.new_melds & (s.new_melds - 1)), "laid this turn"),
    ("laid", lambda s: s.__setattr__("new_melds", s.new_melds | 1 << 36), "laid this turn"),
    ("laying", field("new_melds", 0), "laid this turn"),
    ("draw", field("new_melds", 1), "laid this turn"),
    ("play", field("groups_left", 1), "contract"),
    ("laying", field("groups_left", 2), "contract"),
    ("laying", lambda s: (s.__setattr__("groups_left", 0), s.__setattr__("runs_left", 0)), "contract"),
    ("laying", lambda s: s.__setattr__("down", s.down | 1 << s.turn), "contract"),
    ("play", lambda s: s.__setattr__("down", s.down | 1 << s.turn), "contract"),
    ("draw", field("down", 0), "contract"),
    ("draw", lambda s: s.meld_owner.__setitem__(0, (s.meld_owner[0] + 1) % PLAYERS), "contract"),
    ("play", field("taken", NUM_KINDS), "taken"),
    ("play", lambda s: s.__setattr__("taken", np.flatnonzero(s.hand[s.turn] == 0)[0]), "taken"),
    ("draw", lambda s: s.__setattr__("taken", _held(s, s.turn)), "taken"),
    ("play", field("buys", -1, 0), "buys"),
    ("play", lambda s: s.turns.__setitem__(0, s.turns[0] + 1), "turns"),
    ("play", field("turns", 61, 0), "turns"),
    ("draw", lambda s: s.turns.__setitem__(s.turn, s.turns[s.turn] + 1), "turns"),
    ("draw", lambda s: s.turns.__setitem__(slice(0, PLAYERS), 61), "turns"),
    ("play", field("reshuffles", -1), "reshuffles"),
    ("play", field("acted", 7), "acted"),
    ("draw", field("acted_now", 1), "acted"),
    ("laid", field("acted_now", 0), "acted"),
    ("play", field("history", 8 * 5 + PLAYERS, 0), "history"),
    ("play", field("history", 7, 0), "history"),
    ("play", field("history", 0, 1), "history"),
    ("play", lambda s: s.history.__setitem__(0, (TABLE.num_moves + 1) * 8), "history"),
    ("play", lambda s: s.zeros.__setitem__(0, 1), "unused bytes"),
]


@pytest.mark.parametrize("name", WANTED)
def test_sound_states(name: str) -> None:
    assert found(example(name)) == "none"


@pytest.mark.parametrize("index", range(len(DAMAGES)), ids=lambda index: f"{DAMAGES[index][2]}-{index}")
def test_damages(index: int) -> None:
    name, damage, expected = DAMAGES[index]
    state = example(name)
    before = state.tobytes()
    damage(state)
    assert state.tobytes() != before
    assert found(state) == expected


def test_an_empty_hand() -> None:
    """The cards of a hand on the pile: everything is there, but the round should have ended."""
    state = example("draw")
    seat, at = int(state.turn), int(state.num_discards)
    kinds = np.repeat(np.arange(NUM_KINDS), state.hand[seat])
    state.discards[at : at + len(kinds)] = kinds
    state.discards[:at], state.discards[at : at + len(kinds)] = state.discards[:at].copy(), kinds
    piled = np.concatenate([kinds, state.discards[:at]])  # below the rest, so that the top and its maker stay
    makers = np.concatenate([np.zeros(len(kinds), np.int8), state.discard_by[:at]])
    state.discards[: len(piled)], state.discard_by[: len(piled)] = piled, makers
    state.num_discards = len(piled)
    state.hand[seat], state.known[seat], state.hand_size[seat] = 0, 0, 0
    assert found(state) == "empty hand"


def test_limits_of_the_rules() -> None:
    """What is sound under some rules is not under others."""
    table = TABLE.copy()
    counts = np.zeros(NUM_KINDS, np.int64)
    for name, rule, value, expected in (
        ("new stock", "max_recycles", 0, "reshuffles"),
        ("window", "max_buys", 0, "window"),
        ("play", "redraw_ban", 0, "taken"),
        ("play", "group_max", 2, "group"),
        ("play", "group_naturals", 9, "group"),
        ("play", "run_naturals", 9, "run"),
        ("draw", "max_turns", 1, "turns"),
        ("play", "players_min", 4, "players"),
    ):
        state = example(name)
        state.buys[:] = 0
        before, table.rule[rule] = int(table.rule[rule]), value
        assert FAULTS[check(table, state, counts)] == expected, rule
        table.rule[rule] = before
        assert FAULTS[check(table, state, counts)] == "none", rule


def test_masks() -> None:
    driver = Driver(RULES, PLAYERS, 5)
    words = np.zeros(int(TABLE.num_moves) // 8 + 1, np.uint64)
    mask = words.view(np.int8)
    count = legal(TABLE, driver.state, mask)
    assert FAULTS[check_mask(words, count, False)] == "none"
    assert FAULTS[check_mask(words, count, True)] == "no move"
    assert FAULTS[check_mask(words, count + 1, False)] == "mask count"
    for value in (2, -1):
        mask[700] = value
        assert FAULTS[check_mask(words, count, False)] == "mask"
    mask[:] = 0
    assert FAULTS[check_mask(words, 0, False)] == "no move"
    assert FAULTS[check_mask(words, 0, True)] == "none"
    mask[-1] = 1  # beyond the table
    assert FAULTS[check_mask(words, 0, False)] == "mask count"


# Steps


@cache
def _first_steps() -> dict[str, tuple[Any, int, Any]]:
    """A State, a move and the State after it: the first of each kind."""
    kinds: dict[str, tuple[Any, int, Any]] = {}
    names = {STOCK_MOVE: "stock", TAKE_MOVE: "take", BUY_MOVE: "buy"}
    for driver in islice((driver for driver in games() if not driver.over), 3000):
        before, move, after = driver.states.copy()[0], driver.choose(), driver.states.copy()[0]
        apply(TABLE, after, move, NO_ORDER)
        assert FAULTS[check_step(TABLE, before, move, after)] == "none"
        kind = names.get(move, MoveType(int(TABLE.move_type[move])).name.lower())
        if after.rounds_done != before.rounds_done:
            kind = "end" if after.phase == OVER else "next round"
        kinds.setdefault(kind, (before, move, after))
    return kinds


def spare(before: Any, after: Any) -> int:
    """A seat that did not move."""
    return (int(before.to_act) + 1) % PLAYERS


STEPS: list[tuple[str, Callable[[Any, Any], Any], str]] = [
    ("end", lambda b, a: a.__setattr__("rounds_done", a.rounds_done + 1), "step"),
    ("end", lambda b, a: a.__setattr__("phase", PLAY), "rounds"),
    ("next round", lambda b, a: a.__setattr__("dealer", b.dealer), "seats"),
    ("next round", lambda b, a: a.__setattr__("round_index", b.round_index), "rounds"),
    ("end", lambda b, a: a.last_points.__setitem__(0, a.last_points[0] + 1), "points"),
    ("next round", lambda b, a: a.scores.__setitem__(1, a.scores[1] + 1), "scores"),
    ("discard", lambda b, a: a.scores.__setitem__(1, a.scores[1] + 1), "scores"),
    ("discard", lambda b, a: a.last_points.__setitem__(1, a.last_points[1] + 1), "scores"),
    ("discard", lambda b, a: a.__setattr__("key", 1), "step"),
    ("discard", lambda b, a: a.__setattr__("dealer", (a.dealer + 1) % PLAYERS), "step"),
    ("discard", lambda b, a: a.history.__setitem__(0, 0), "history"),
    ("discard", lambda b, a: a.hand_size.__setitem__(b.to_act, b.hand_size[b.to_act]), "step hands"),
    ("lay", lambda b, a: a.hand_size.__setitem__(b.to_act, b.hand_size[b.to_act]), "step hands"),
    ("stock", lambda b, a: a.hand_size.__setitem__(spare(b, a), a.hand_size[spare(b, a)] + 1), "step hands"),
    ("stock", lambda b, a: a.hand[spare(b, a)].__setitem__(7, a.hand[spare(b, a), 7] + 1), "step hands"),
    ("stock", lambda b, a: a.known[spare(b, a)].__setitem__(7, 2 - a.known[spare(b, a), 7]), "step hands"),
    ("stock", lambda b, a: a.turns.__setitem__(b.to_act, b.turns[b.to_act]), "turns"),
    ("take", lambda b, a: a.turns.__setitem__(b.to_act, b.turns[b.to_act]), "turns"),
    ("pass", lambda b, a: a.turns.__setitem__(b.to_act, 9), "turns"),
    ("buy", lambda b, a: a.buys.__setitem__(b.to_act, b.buys[b.to_act]), "buys"),
    ("pass", lambda b, a: a.buys.__setitem__(b.to_act, 9), "buys"),
    ("pass", lambda b, a: a.__setattr__("reshuffles", b.reshuffles + 1), "reshuffles"),
    ("pass", lambda b, a: a.__setattr__("counter", b.counter + np.uint64(1)), "reshuffles"),
    ("pass", lambda b, a: a.__setattr__("phase", OVER), "step"),
]


@pytest.mark.parametrize("index", range(len(STEPS)), ids=lambda index: f"{STEPS[index][0]}-{STEPS[index][2]}-{index}")
def test_damaged_steps(index: int) -> None:
    kind, damage, expected = STEPS[index]
    before, move, after = (part.copy() if isinstance(part, np.record) else part for part in _first_steps()[kind])
    was = after.tobytes()
    damage(before, after)
    assert after.tobytes() != was
    assert FAULTS[check_step(TABLE, before, move, after)] == expected


# Basic: the same checks, a State of every kind, damages and steps


BASIC = preset("basic").replace(
    jokers=2, melds_per_turn=2, ace="corner", going_rummy="plus_10", game_end={"target": 60}, max_deals=40, players_max=PLAYERS
)
FREE = table_array(BASIC)[0]


def found_free(state: Any) -> str:
    """The name of the first fault of a State of `BASIC`."""
    return FAULTS[check(FREE, state, np.zeros(NUM_KINDS, np.int64))]


def _corner(state: Any) -> list[int]:
    """The runs round the corner: there are 13 places."""
    return [at for at in _melds(state, 1) if state.meld_low[at] + state.meld_size[at] > 13]


WANTED_FREE: dict[str, Callable[[Any], Any]] = {
    "draw": lambda s: s.phase == DRAW and s.num_melds >= 2 and s.num_discards > 3 and s.down,
    "laid": lambda s: s.phase == PLAY and s.new_melds and s.down != 7,
    "turned over": lambda s: s.phase == DRAW and s.num_stock > 3 and s.num_discards > 1 and _drawn_openly(s),
    "corner": lambda s: s.phase == PLAY and _corner(s),
    "next deal": lambda s: s.phase == DRAW and s.last_out >= 0 and s.round_index > 0,
    "target": lambda s: s.phase == OVER and s.last_out >= 0 and s.round_index < s.last_index,
}


def _drawn_openly(s: Any) -> list[tuple[int, int]]:
    """Seat and kind of the cards that were drawn from a turned-over stock and are held."""
    stock = s.stock[: s.num_stock] if s.reshuffles else np.arange(NUM_KINDS)
    return [(seat, kind) for seat in range(PLAYERS) for kind in np.flatnonzero(s.known[seat] * s.pool) if kind not in stock]


def free_games() -> Iterator[Driver]:
    """A driver before every move of seeded games of `BASIC`, and after each game."""
    for seed in range(60):
        driver = Driver(BASIC, PLAYERS, seed, ("random", "eager")[seed % 2])
        while not driver.over:
            yield driver
            driver.step()
        yield driver


@cache
def _free_states() -> dict[str, bytes]:
    """The bytes of the first State of each kind."""
    states: dict[str, bytes] = {}
    for driver in free_games():
        for name, wanted in WANTED_FREE.items():
            if name not in states and wanted(driver.state):
                states[name] = driver.states.tobytes()
        if len(states) == len(WANTED_FREE):
            break
    return states


def free_example(name: str) -> Any:
    """A State of a kind."""
    states = new_states(1)
    states[:] = np.frombuffer(_free_states()[name], states.dtype)
    return states[0]


def forget_a_card(s: Any) -> None:
    """A card that was drawn from the turned-over stock is known no more."""
    s.known[_drawn_openly(s)[0]] -= 1


def hide_a_card(s: Any) -> None:
    """A card of a hand and one of the turned-over stock change places: the first was never on the pile."""
    hidden = s.hand[:PLAYERS] > s.known[:PLAYERS]
    seat, kind = np.argwhere(hidden & (s.pool == 0))[0]
    s.hand[seat, kind] -= 1
    s.hand[seat, s.stock[0]] += 1
    s.stock[0] = kind


FREE_DAMAGES: list[tuple[str, Callable[[Any], Any], str]] = [
    ("draw", field("phase", LAYING), "free melds"),
    ("draw", field("groups_left", 1), "free melds"),
    ("draw", field("runs_left", -1), "free melds"),
    ("draw", field("down", 0), "free melds"),
    ("laid", field("down", 7), "free melds"),
    ("draw", field("meld_owner", PLAYERS, 0), "meld owner"),
    ("laid", lambda s: s.__setattr__("new_melds", 7), "laid this turn"),
    ("draw", field("new_melds", 1), "laid this turn"),
    ("laid", field("acted_now", 0), "acted"),
    ("draw", field("acted", 0), "acted"),
    ("draw", field("round_number", 2), "rounds"),
    ("draw", field("last_index", 40), "rounds"),
    ("draw", field("round_index", 40), "rounds"),
    ("draw", lambda s: s.scores.__setitem__(1, 60), "target"),
    ("target", lambda s: s.scores.__setitem__(slice(0, PLAYERS), 59), "target"),
    ("target", lambda s: s.last_points.__setitem__((s.last_out + 1) % PLAYERS, 1), "last round"),
    ("next deal", lambda s: s.last_points.__setitem__((s.last_out + 1) % PLAYERS, -1), "last round"),
    ("next deal", lambda s: (s.__setattr__("last_out", -1), s.__setattr__("last_end", END_BLOCKED)), "last round"),
    ("draw", field("stock_public", 1), "flags"),
    ("turned over", field("stock_public", 0), "flags"),
    ("turned over", field("reshuffles", 0), "flags"),
    ("turned over", field("hidden_draws", 1, 0), "hidden draws"),
    ("turned over", lambda s: s.pool.__setitem__(slice(None), 0), "hidden draws"),
    ("turned over", forget_a_card, "pool"),
    ("turned over", hide_a_card, "pool"),
    ("corner", lambda s: s.meld_low.__setitem__(_corner(s)[0], 13), "run"),
    ("corner", lambda s: s.meld_size.__setitem__(_corner(s)[0], 14), "run"),
    ("corner", lambda s: s.meld_suit.__setitem__(_corner(s)[0], 1 ^ s.meld_suit[_corner(s)[0]]), "cards"),
]


@pytest.mark.parametrize("name", WANTED_FREE)
def test_sound_states_of_basic(name: str) -> None:
    assert found_free(free_example(name)) == "none"


@pytest.mark.parametrize("index", range(len(FREE_DAMAGES)), ids=lambda index: f"{FREE_DAMAGES[index][2]}-{index}")
def test_damages_in_basic(index: int) -> None:
    name, damage, expected = FREE_DAMAGES[index]
    state = free_example(name)
    before = state.tobytes()
    damage(state)
    assert state.tobytes() != before
    assert found_free(state) == expected


def test_limits_of_basic_rules() -> None:
    """What is sound under some rules is not under others: a run round the corner, two melds in a turn, lay-offs of one who
    owns no meld, points for who is out, a turned-over stock."""
    table = FREE.copy()
    counts = np.zeros(NUM_KINDS, np.int64)
    owns_none = next(
        driver.states.copy()[0] for driver in free_games() if driver.state.acted & ~driver.state.down and not driver.over
    )
    for state, rule, value, expected in (
        (free_example("corner"), "circular", 0, "run"),
        (free_example("laid"), "melds_per_turn", 0, "melds per turn"),
        (owns_none, "layoff_needs_own_meld", 1, "acted"),
        (owns_none, "layoff_own_only", 1, "acted"),
        (free_example("next deal"), "most_wins", 0, "last round"),
        (free_example("turned over"), "turn_over", 0, "flags"),
        (free_example("target"), "target", 10**6, "target"),
        (free_example("draw"), "game_rounds", 39, "rounds"),
    ):
        before, table.rule[rule] = int(table.rule[rule]), value
        assert FAULTS[check(table, state, counts)] == expected, rule
        table.rule[rule] = before
        assert FAULTS[check(table, state, counts)] == "none", rule


FreeStep = tuple[Any, int, Any]


def _steps_of(
    rules: Rules, styles: tuple[str, ...], kind_of: Callable[[Any, Any, str], str], wanted: int
) -> dict[str, FreeStep]:
    """A State, a move and the State after it: the first of each kind in seeded games; `kind_of` names it."""
    kinds: dict[str, FreeStep] = {}
    tables = table_array(rules)[0]
    for seed in range(200):
        driver = Driver(rules, PLAYERS, seed, styles[seed % len(styles)])
        while not driver.over and len(kinds) < wanted:
            before, move = driver.states.copy()[0], driver.step()
            after = driver.states.copy()[0]
            assert FAULTS[check_step(tables, before, move, after)] == "none"
            kinds.setdefault(kind_of(before, after, MoveType(int(tables.move_type[move])).name.lower()), (before, move, after))
    assert len(kinds) == wanted, kinds.keys()
    return kinds


def _free_kind(before: Any, after: Any, move: str) -> str:
    if after.rounds_done != before.rounds_done:
        return "end" if after.phase == OVER else "next deal"
    if move.startswith("off"):
        return "off" if before.num_melds > 1 else "other"
    return (
        "turned over" if after.reshuffles != before.reshuffles else "public" if move == "stock" and after.stock_public else move
    )


@cache
def _free_steps() -> dict[str, FreeStep]:
    """Of `BASIC`: a discard, a lay, a lay-off, draws from a hidden, a public, a turned-over stock, the ends; and others."""
    return _steps_of(BASIC, ("eager", "random"), _free_kind, 10)


def _drawn_kind(before: Any, after: Any) -> int:
    """What the seat to act has drawn."""
    return int(np.flatnonzero(after.hand[before.to_act] > before.hand[before.to_act])[0])


def _swap_stock(b: Any, a: Any) -> None:
    """Two cards of the stock change places."""
    other = next(at for at in range(1, int(a.num_stock)) if a.stock[at] != a.stock[0])
    a.stock[0], a.stock[other] = int(a.stock[other]), int(a.stock[0])


def _other_card(b: Any, a: Any) -> None:
    """The top of the stock is drawn, but it is taken for another card; the other lies in the stock then."""
    seat, kind, other = int(b.to_act), _drawn_kind(b, a), int(a.stock[0])
    a.hand[seat, kind] -= 1
    a.hand[seat, other] += 1
    a.stock[0] = kind


def _other_meld_grows(b: Any, a: Any) -> None:
    """Another meld has the card."""
    grown = int(np.flatnonzero(a.meld_size[: a.num_melds] != b.meld_size[: a.num_melds])[0])
    a.meld_size[grown] -= 1
    a.meld_size[(grown + 1) % int(a.num_melds)] += 2


FREE_STEPS: list[tuple[str, Callable[[Any, Any], Any], str]] = [
    ("end", lambda b, a: a.__setattr__("phase", PLAY), "rounds"),
    ("next deal", lambda b, a: a.scores.__setitem__(0, 60), "rounds"),  # the game should have ended
    ("next deal", lambda b, a: a.__setattr__("last_end", END_TURN_LIMIT), "last round"),
    ("next deal", lambda b, a: a.__setattr__("last_out", (a.last_out + 1) % PLAYERS), "last round"),
    ("next deal", lambda b, a: a.last_points.__setitem__(a.last_out, a.last_points[a.last_out] + 10), "points"),
    ("next deal", lambda b, a: a.last_points.__setitem__((a.last_out + 1) % PLAYERS, 1), "points"),
    ("end", lambda b, a: a.scores.__setitem__(0, a.scores[0] + 1), "scores"),
    ("turned over", _swap_stock, "step piles"),
    ("turned over", lambda b, a: a.pool.__setitem__(0, a.pool[0] ^ 1), "step piles"),
    ("turned over", lambda b, a: a.__setattr__("num_discards", 1), "step piles"),
    ("turned over", lambda b, a: a.__setattr__("num_stock", a.num_stock - 1), "step piles"),
    ("turned over", lambda b, a: a.__setattr__("counter", b.counter + np.uint64(1)), "reshuffles"),
    ("turned over", lambda b, a: a.__setattr__("reshuffles", b.reshuffles), "reshuffles"),
    ("turned over", lambda b, a: a.known[b.to_act].__setitem__(_drawn_kind(b, a), 0), "step known"),
    ("public", lambda b, a: a.known[b.to_act].__setitem__(_drawn_kind(b, a), 0), "step known"),
    ("stock", lambda b, a: a.known[b.to_act].__setitem__(_drawn_kind(b, a), 1), "step known"),
    ("public", _swap_stock, "step piles"),
    ("stock", _swap_stock, "step piles"),
    ("stock", _other_card, "step hands"),
    ("take", lambda b, a: a.known[b.to_act].__setitem__(_drawn_kind(b, a), 0), "step known"),
    (
        "discard",
        lambda b, a: a.discards.__setitem__(a.num_discards - 1, (a.discards[a.num_discards - 1] + 1) % WILD),
        "step piles",
    ),
    ("discard", lambda b, a: a.discard_by.__setitem__(a.num_discards - 1, 0), "step piles"),
    ("discard", lambda b, a: a.discards.__setitem__(0, (a.discards[0] + 1) % WILD), "step piles"),
    ("off", _other_meld_grows, "lay-off"),
    ("off", lambda b, a: a.__setattr__("meld_size", b.meld_size), "lay-off"),
    ("off", lambda b, a: a.__setattr__("num_melds", a.num_melds + 1), "lay-off"),
]


@pytest.mark.parametrize(
    "index", range(len(FREE_STEPS)), ids=lambda index: f"{FREE_STEPS[index][0]}-{FREE_STEPS[index][2]}-{index}"
)
def test_damaged_steps_in_basic(index: int) -> None:
    kind, damage, expected = FREE_STEPS[index]
    before, move, after = (part.copy() if isinstance(part, np.record) else part for part in _free_steps()[kind])
    was = after.tobytes()
    damage(before, after)
    assert after.tobytes() != was
    assert FAULTS[check_step(FREE, before, move, after)] == expected


def test_steps_that_other_rules_do_not_allow() -> None:
    """A lay-off of one who owns no meld, on a meld of another; the last card laid, going rummy without its bonus; all is
    sound under the rules of the game, and not under rules that differ in one field."""
    offs = _steps_of(
        BASIC,
        ("eager", "random"),
        lambda b, a, move: "own none" if move.startswith("off") and not b.down >> b.to_act & 1 and a.phase == PLAY else "other",
        2,
    )
    short = BASIC.replace(deal={2: 2, 3: 2})  # three cards after the draw: a single meld ends the deal
    ends = _steps_of(
        short,
        ("eager",),
        lambda b, a, move: "laid" if a.rounds_done > b.rounds_done and (b.acted, move) == (0, "lay") else "other",
        2,
    )
    for (before, move, after), rules, rule, value, expected in (
        (offs["own none"], BASIC, "layoff_needs_own_meld", 1, "lay-off"),
        (offs["own none"], BASIC, "layoff_own_only", 1, "lay-off"),
        (ends["laid"], short, "final_discard", 1, "step"),
        (ends["laid"], short, "rummy_bonus", 0, "points"),
        (ends["laid"], short, "rummy_factor", 2, "points"),
        (ends["laid"], short, "most_wins", 0, "points"),
    ):
        table = table_array(rules)[0].copy()
        assert FAULTS[check_step(table, before, move, after)] == "none"
        table.rule[rule] = value
        assert FAULTS[check_step(table, before, move, after)] == expected, rule


@pytest.mark.parametrize("scoring", ["winner_takes_sum", "losers_penalty"])
@pytest.mark.parametrize("blocked", ["none", "all_penalty", "lowest_takes_sum"])
def test_points_of_blocked_rounds(blocked: str, scoring: str) -> None:
    """The table of basic.md, written out for three hands of 5, 9 and 9 points and for three of 9 points: its own row gives no
    fault, every other distinct row does."""
    rows = {
        ("winner_takes_sum", "none"): ((0, 0, 0), (0, 0, 0)),
        ("winner_takes_sum", "all_penalty"): ((-5, -9, -9), (-9, -9, -9)),
        ("winner_takes_sum", "lowest_takes_sum"): ((18, 0, 0), (0, 0, 0)),
        ("losers_penalty", "none"): ((0, 0, 0), (0, 0, 0)),
        ("losers_penalty", "all_penalty"): ((5, 9, 9), (9, 9, 9)),
        ("losers_penalty", "lowest_takes_sum"): ((0, 9, 9), (0, 0, 0)),
    }
    overrides = {"stock_out": "end", "blocked_scoring": blocked, "scoring": scoring, "game_end": {"deals": 1}}
    for at, hand in enumerate(("5c", "9c")):
        game = Game.from_position({
            "rules": "basic", "overrides": overrides, "hands": [hand, "9d", "9h"], "to_act": 0, "phase": "draw",
            "discards": "Kc",
        })  # fmt: skip
        tables = table_array(game.rules)[0]
        before = game.state_copy()[0]
        game.play("stock")  # declined: the deal is blocked
        for key, points in rows.items():
            after = game.state_copy()[0]
            after.last_points[:3] = points[at]
            after.scores[:3] = points[at]
            same = points[at] == rows[scoring, blocked][at]
            assert FAULTS[check_step(tables, before, STOCK_MOVE, after)] == ("none" if same else "points"), (key, hand)


def test_every_fault_is_shown() -> None:
    rows = (*DAMAGES, *STEPS, *FREE_DAMAGES, *FREE_STEPS)
    seen = {row[2] for row in rows} | {"none", "empty hand", "window", "melds per turn"}
    assert set(FAULTS) - seen == {"mask", "mask count", "no move"}  # see test_masks
    assert len(set(FAULTS)) == len(FAULTS) and PHASES[OVER] == "over" and NUM_RANKS == 13


# The soak


@pytest.mark.skipif(PYTHON_MODE, reason="a hundred thousand moves are for compiled kernels")
@pytest.mark.parametrize("game", ["international", "basic"])
def test_random_moves_under_random_rules(game: str) -> None:
    tally = np.zeros(len(TALLY), np.int64)
    for number in range(20):
        outcome = soak_moves.play_rule_set(number, 4, 5000, game)
        assert outcome.fault is None, str(outcome.fault)
        assert outcome.moves == outcome.tally[0] == 5000
        tally += outcome.tally
    only_basic = ("turned over", "targets reached", "corners") if game == "international" else ()
    counted = dict(zip(TALLY, tally.tolist(), strict=True))
    assert all((counted[name] > 0) != (name in only_basic) for name in TALLY), counted
    assert len({mixed_setting(number, game).players for number in range(20)}) == 5


def test_mixed_rule_sets_are_of_both_games() -> None:
    settings = [soak_moves.setting_of(soak_moves.MIXED, number) for number in range(4)]
    assert [setting.rules for setting in settings] == ["international", "basic"] * 2
    assert settings == [soak_moves.setting_of(setting.rules, number) for number, setting in enumerate(settings)]


def soak(moves: int, out: Path, threads: int = 1, game: str = "international") -> tuple[int, str]:
    """The exit status of a run from rule set 3 on, and what it says."""
    text = io.StringIO()
    status = soak_moves.soak(3, moves, 3, threads, out, Console(file=text, width=200), game)
    return status, text.getvalue()


@pytest.mark.parametrize("game", ["international", "mixed"])
def test_threads_change_nothing(game: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soak_moves, "PER_RULES", 200)
    said = [soak(700, tmp_path / "fault.json", threads, game) for threads in (1, 3)]
    lines = [[line for line in text.splitlines() if line.startswith("digest")] for _, text in said]
    assert [status for status, _ in said] == [0, 0] and lines[0] == lines[1] != []
    assert "4 rule sets, 700 moves" in said[0][1] and "no fault" in said[0][1]
    assert not list(tmp_path.iterdir())


def test_a_fault_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that forgets which places of a meld wilds hold, as its tables say: the run ends and shows how."""

    def forgetful(*arguments: Any) -> np.ndarray:
        tables = table_array(*arguments).copy()
        tables["lay_fill"] = 0
        return tables

    monkeypatch.setattr(soak_moves, "table_array", forgetful)
    status, text = soak(500_000, tmp_path / "fault.json")
    assert status == 1 and "written to" in text and "no fault" not in text
    fault = json.loads((tmp_path / "fault.json").read_text(encoding="utf-8"))
    assert fault["name"] in ("cards", "group", "run") and fault["move"].startswith("lay ")
    assert f"--rules international --seed {fault['rule_set']} --tables 3, table {fault['table']}" in text
    game = Game.from_position(fault["position"])  # the damage came with the move
    game.play(fault["move"])
    assert game.players == fault["players"]
    assert soak(500_000, tmp_path / "again.json")[0] == 1
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "fault.json").read_bytes()


def test_ctrl_c_says_how_to_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soak_moves, "PER_RULES", 100)
    whole = soak_moves.outcomes

    def interrupted(*arguments: Any) -> Iterator[soak_moves.Outcome]:
        playing = whole(*arguments)
        yield next(playing)
        yield next(playing)
        playing.close()
        raise KeyboardInterrupt

    monkeypatch.setattr(soak_moves, "outcomes", interrupted)
    status, text = soak(1000, tmp_path / "fault.json")
    assert status == 130
    assert "stopped; go on with --seed 5 --moves 800 --tables 3 --rules international" in text
