"""Changing only what a seat cannot know changes not one bit of its View, its observation, and the mask when it is to act.

A State is rearranged: the hidden cards of other hands and the stock change places in a way that fits all public facts, the
random stream becomes another one. Whatever a seat sees must be the same before and after, and still after the next move.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rummy_env.engine.apply import NO_ORDER, apply
from rummy_env.engine.legal import legal
from rummy_env.engine.state import DRAW, LAYING, PHASES, PLAY, VIEW, new_states, new_views
from rummy_env.engine.tables import Tables, compile_tables
from rummy_env.engine.view import view
from rummy_env.moves import MoveType
from rummy_env.observation import encode, observation_plan, observation_size
from rummy_env.rules import Rules, preset
from tests.playing import STYLES, Driver, played

Seen = Callable[[Tables, Any, int], bytes]


def seen_view(tables: Tables, state: Any, seat: int) -> bytes:
    """The View as bytes."""
    views = new_views(1)
    view(state, seat, views[0])
    return views.tobytes()


def seen_mask(tables: Tables, state: Any, seat: int) -> bytes:
    """The mask of the seat where it is to act."""
    if state.to_act != seat:
        return b""
    mask = np.zeros(int(tables.num_moves), np.int8)
    legal(tables, state, mask)
    return mask.tobytes()


def observer(rules: Rules) -> list[Seen]:
    """Everything that a seat sees, as functions of a State; what is added here is compared in all tests below."""
    size, plan = observation_size(rules), observation_plan(rules)

    def seen_observation(tables: Tables, state: Any, seat: int) -> bytes:
        views, out = new_views(1), np.zeros(size, np.float32)
        view(state, seat, views[0])
        encode(tables, plan, views[0], out)
        return out.tobytes()

    return [seen_view, seen_mask, seen_observation]


def expanded(counts: np.ndarray) -> np.ndarray:
    """The kinds of 53 counts, one entry a card."""
    return np.repeat(np.arange(53, dtype=np.int8), counts)


def rearranged(tables: Tables, state: Any, seat: int, rng: np.random.Generator) -> np.ndarray:
    """An array of one State in which only what `seat` cannot know is different.

    Cards known to be in a hand stay. Before the first new stock any hidden card may lie anywhere. After one, kinds of which
    every copy went into it change places among hands and stock, and kinds of which none did among hands: so the stock
    still comes from the pool and no hand holds more pool cards than before. A stock whose order everybody knows stays, and
    what lies hidden then was never in it. The hand that is laying a contract stays, since everybody knows that it holds
    the rest.
    """
    states = new_states(1)
    states[0] = state
    other = states[0]
    others = [at for at in range(int(state.players)) if at != seat and not (state.phase == LAYING and at == state.to_act)]
    unknown = [expanded(state.hand[at] - state.known[at]) for at in others]
    parts = [*unknown, state.stock[: state.num_stock].copy()]
    owner = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    cards = np.concatenate(parts)
    in_stock = owner == len(parts) - 1
    if state.stock_public:
        classes = [~in_stock]
    elif state.reshuffles == 0:
        classes = [np.ones(len(cards), bool)]
    else:
        all_in_pool = (state.pool == tables.copies)[cards]
        classes = [all_in_pool, (state.pool == 0)[cards] & ~in_stock]
    for chosen in classes:
        cards[chosen] = rng.permutation(cards[chosen])
    for at, absolute in enumerate(others):
        other.hand[absolute] = state.known[absolute] + np.bincount(cards[owner == at], minlength=53)
    if not state.stock_public:
        other.stock[: state.num_stock] = rng.permutation(cards[in_stock])
    other.key, other.counter = rng.integers(2**63, dtype=np.uint64), rng.integers(100, dtype=np.uint64)
    return states


def facts_kept(tables: Tables, state: Any, other: Any) -> bool:
    """Whether counts, known cards and the pool's facts are the same in a rearranged State."""
    same_cards = np.array_equal(
        state.hand.sum(axis=0) + np.bincount(state.stock[: state.num_stock], minlength=53),
        other.hand.sum(axis=0) + np.bincount(other.stock[: other.num_stock], minlength=53),
    )
    sizes = np.array_equal(other.hand.sum(axis=1), state.hand_size) and (other.known <= other.hand).all()
    pool = (np.bincount(other.stock[: other.num_stock], minlength=53) <= state.pool).all()
    order = not state.stock_public or np.array_equal(other.stock, state.stock)
    return bool(same_cards and sizes and pool and order)


SETS: dict[str, tuple[str, dict[str, Any]]] = {
    "default": ("international", {}),
    "switches": ("international", {
        "buy_extra": 2, "turn_player_may_buy": True, "same_turn_layoff": True, "min_naturals": 0, "jokers": 4,
        "deal": "exact", "max_turns": 20,
    }),
}  # fmt: skip
BASIC_SETS: dict[str, tuple[str, dict[str, Any]]] = {
    "base game": ("basic", {}),
    "modern": ("basic_modern", {"ranks": list("A2345678"), "deal": {2: 6, 3: 5, 4: 4, 5: 4, 6: 3}}),
    "switches": ("basic", {
        "max_buys": None, "buy_extra": 2, "turn_player_may_buy": True, "jokers": 4, "wild_rank": 2, "ace": "corner",
        "melds_per_turn": 2, "deal": {2: 9, 3: 7, 4: 6, 5: 6, 6: 5},
    }),
}  # fmt: skip
BASIC_MINIMUM = {
    "window": 250, "draw": 1000, "play": 1000, "after a new stock": 500, "public stock": 250, "stock empty": 10,
    "known cards in other hands": 1000, "taken": 200, "down": 300, "melded this turn": 50, "round ends": 5,
    "other hands change": 3000, "to act": 1500, "the next move": 2500, "a card of the public stock drawn": 50,
}  # fmt: skip
MINIMUM = {
    "window": 1000, "draw": 1000, "play": 1000, "half laid, to act": 20, "half laid, by another": 15,
    "after a new stock": 300, "stock empty": 10, "known cards in other hands": 1000, "taken": 200, "down": 300,
    "round ends": 5, "other hands change": 5000, "to act": 3000, "the next move": 4000,
}  # fmt: skip


def kinds_of(state: Any, seat: int) -> list[str]:
    """What kinds of position this is, for the count of what was met."""
    other_known = np.delete(state.known, seat, axis=0).any()
    half_laid = "half laid, to act" if state.to_act == seat else "half laid, by another"
    return [
        half_laid if state.phase == LAYING else PHASES[state.phase],
        *(["to act"] if state.to_act == seat else []),
        *(["after a new stock"] if state.reshuffles else []),
        *(["stock empty"] if state.num_stock == 0 and state.phase <= DRAW else []),
        *(["known cards in other hands"] if other_known else []),
        *(["taken"] if state.taken >= 0 else []),
        *(["down"] if state.down else []),
        *(["public stock"] if state.stock_public and state.num_stock else []),
        *(["melded this turn"] if state.phase == PLAY and state.new_melds else []),
    ]


@pytest.mark.parametrize(
    ("sets", "minimum", "least"),
    [(SETS, MINIMUM, 10_000), (BASIC_SETS, BASIC_MINIMUM, 5_000)],
    ids=["international", "basic"],
)
def test_what_a_seat_cannot_know_changes_not_one_bit_of_what_it_sees(
    sets: dict[str, tuple[str, dict[str, Any]]], minimum: dict[str, int], least: int
) -> None:
    """15,000 positions from random and eager play: the View and the observation of a seat are the same, byte for byte,
    and its mask when it is to act; and after the next move, where the seat draws no hidden card, they are still."""
    met: Counter[str] = Counter()
    rng = np.random.default_rng(40)
    positions = 0
    for base, overrides in sets.values():
        rules = preset(base).replace(**overrides)
        tables, seen = compile_tables(rules), observer(rules)
        for players in range(2, 7):
            for style in STYLES:
                for driver in played(rules, players, 70 + players, style, 340 if base == "international" else 120):
                    if driver.over:
                        continue
                    positions += 1
                    state = driver.state
                    seat = int(state.to_act) if positions % 2 else int(rng.integers(players))
                    states = rearranged(tables, state, seat, rng)
                    other = states[0]
                    assert facts_kept(tables, state, other)
                    for function in seen:
                        assert function(tables, state, seat) == function(tables, other, seat), (positions, function)
                    met.update(kinds_of(state, seat))
                    met["other hands change"] += not np.array_equal(state.hand, other.hand)
                    met[after_the_next_move(tables, driver.states, states, seat, driver.choose(), seen)] += 1
    assert positions >= least
    assert all(met[kind] >= number for kind, number in minimum.items()), met


def after_the_next_move(tables: Tables, states: np.ndarray, others: np.ndarray, seat: int, move: int, seen: list[Seen]) -> str:
    """Play a move in both States and compare again, unless what follows tells the seat something new."""
    actor = int(states[0].to_act)
    mask = np.zeros(int(tables.num_moves), np.int8)
    legal(tables, others[0], mask)
    if not mask[move]:
        assert actor != seat
        return "not possible there"
    type_ = int(tables.move_type[move])
    cards = 1 if type_ == MoveType.STOCK else int(tables.rule.buy_extra) if type_ == MoveType.BUY else 0
    hidden = cards if not states[0].stock_public else 0
    if not tables.rule.turn_over and actor == seat and cards:
        hidden = cards  # also those of a stock that has still to be shuffled
    elif actor == seat and cards:
        hidden = min(hidden, int(states[0].num_stock))  # beyond it the pile is turned over as it lies
    if actor == seat and hidden:
        return "hidden card drawn"
    pair = np.concatenate([states, others])
    for at in (0, 1):
        apply(tables, pair[at], move, NO_ORDER)
    if pair[0].rounds_done > states[0].rounds_done or pair[1].rounds_done > states[0].rounds_done:
        return "round ends"
    for function in seen:
        assert function(tables, pair[0], seat) == function(tables, pair[1], seat), (move, function)
    return "a card of the public stock drawn" if actor == seat and cards else "the next move"


def test_a_leak_would_be_seen() -> None:
    """The comparison notices it where another hand, the stock's order or the random stream is visible."""
    rules = preset("international")
    tables = compile_tables(rules)
    rng = np.random.default_rng(41)
    noticed: Counter[str] = Counter()
    for number, driver in enumerate(played(rules, 4, 90, "buyer", 400)):
        seat = number % 4
        state, other = driver.state, rearranged(tables, driver.state, seat, rng)[0]
        noticed["hand"] += not np.array_equal(state.hand[(seat + 1) % 4], other.hand[(seat + 1) % 4])
        noticed["stock"] += not np.array_equal(state.stock, other.stock)
        noticed["key"] += state.key != other.key
        noticed["own hand"] += not np.array_equal(state.hand[seat], other.hand[seat])
    assert noticed["own hand"] == 0
    assert min(noticed["hand"], noticed["stock"], noticed["key"]) > 300


def test_a_view_does_not_remember_what_the_record_held_before() -> None:
    """The View is written anew: one record used for seat after seat, game after game equals a fresh one."""
    used = new_views(1)
    rng = np.random.default_rng(42)
    for players in (6, 2, 4, 3, 5):
        for driver in played(preset("international"), players, 95, "eager", 400):
            seat = int(rng.integers(players))
            view(driver.state, seat, used[0])
            assert used.tobytes() == seen_view(driver.tables, driver.state, seat)


def test_a_view_holds_what_its_seat_may_know() -> None:
    """Everything public and its own cards, and nothing else; seats are relative, 0 is oneself."""
    assert VIEW.names is not None
    for number, driver in enumerate(played(preset("international"), 5, 96, "buyer", 1500)):
        state = driver.state
        seat = number % 5
        views = new_views(1)
        view(state, seat, views[0])
        mine = views[0]
        order = [(seat + step) % 5 for step in range(5)]
        assert np.array_equal(mine.hand, state.hand[seat])
        assert mine.seat == seat and mine.players == 5
        assert not mine.stock.any() and not mine.stock_public  # the order of the stock is hidden
        for name in ("known", "hand_size", "hidden_draws", "scores", "turns", "buys", "discarded"):
            assert np.array_equal(mine[name][:5], state[name][order]), name
        for name in ("pool", "discards", "num_stock", "num_discards", "num_melds", "meld_run", "meld_suit", "meld_low",
                     "meld_size", "meld_fill", "reshuffles", "round_number", "phase", "taken", "acted_now", "groups_left",
                     "runs_left", "new_melds", "round_index", "last_index"):  # fmt: skip
            assert np.array_equal(mine[name], state[name]), name
        for name in ("dealer", "to_act", "turn", "discarder"):
            assert state[name] == (-1 if mine[name] < 0 else order[mine[name]]), name
        for name in ("down", "acted", "passed"):
            assert {order[bit] for bit in range(5) if int(mine[name]) >> bit & 1} == {
                bit for bit in range(5) if int(state[name]) >> bit & 1
            }, name
        for at in range(state.num_melds):
            assert order[mine.meld_owner[at]] == state.meld_owner[at]
        for at in range(state.num_discards):
            assert state.discard_by[at] == (order[mine.discard_by[at] - 1] + 1 if mine.discard_by[at] else 0)
        for at in range(32):
            theirs, own = int(state.history[at]), int(mine.history[at])
            assert theirs >> 3 == own >> 3
            assert not theirs or theirs & 7 == order[own & 7]


@pytest.mark.parametrize("players", [2, 3, 5])
def test_everybody_knows_the_order_of_a_stock_that_was_turned_over(players: int) -> None:
    """basic.md: the whole pile, its top included, is turned over unshuffled, the oldest discard is drawn first, everybody
    knows the order, and a card drawn is seen going into that hand. Before that the stock is hidden."""
    turned = drawn = 0
    for driver in played(preset("basic"), players, 98, "random", 4000 if players == 2 else 1500):
        before = driver.states.copy()[0]
        own_views = [np.frombuffer(seen_view(driver.tables, before, seat), VIEW)[0] for seat in range(players)]
        for own in own_views:
            assert own["stock_public"] == (before.reshuffles > 0)
            stock = before.stock if before.reshuffles else np.zeros_like(before.stock)
            assert np.array_equal(own["stock"], stock)
            assert not before.reshuffles or not own["hidden_draws"].any()
        if driver.over or driver.choose() or before.phase != DRAW:
            continue  # another move than `stock`, which is 0
        after, seat = driver.states.copy()[0], int(before.to_act)
        apply(driver.tables, after, 0, NO_ORDER)
        if after.rounds_done > before.rounds_done:
            continue
        pile = before.discards[: before.num_discards].tolist()
        known, hidden = before.known[seat].copy(), before.hidden_draws.copy()
        if before.num_stock == 0:
            turned += 1
            known[pile[0]] += 1
            hidden[:] = 0
            assert after.num_discards == 0 and after.discarder == -1 and not after.discards.any()
            assert after.stock[: after.num_stock][::-1].tolist() == pile[1:]
            assert np.array_equal(after.pool, np.bincount(pile, minlength=53))
        elif before.stock_public:
            drawn += 1
            known[before.stock[before.num_stock - 1]] += 1
        else:
            hidden[seat] += 1
        assert np.array_equal(after.known[seat], known) and np.array_equal(after.hidden_draws, hidden)
    assert turned > 5 and drawn > 50


def test_the_history_is_the_moves_newest_first() -> None:
    """The last 32 public moves, newest first: (move + 1) * 8 + seat."""
    driver = Driver(preset("international"), 3, 97, "eager")
    moves: list[int] = []
    while driver.state.rounds_done == 0:
        assert list(driver.state.history) == [*moves[::-1], *[0] * 32][:32]
        seat = int(driver.state.to_act)
        moves.append((driver.step() + 1) * 8 + seat)
    assert len(moves) > 40
    assert not driver.state.history.any()  # another round has begun


@pytest.mark.parametrize("wrong", [-1, 4, True, "0", None, 1.5])
def test_a_seat_that_is_not_at_the_table_has_no_view(wrong: Any) -> None:
    """A ValueError says which seats there are."""
    from rummy_env.game import Game

    with pytest.raises(ValueError, match="seat"):
        Game(players=4, seed=1).view(wrong)
