"""Determinization: uniform over exactly the arrangements that a seat's View leaves open, and nothing but the View goes in.

On small packs all arrangements of physical cards are listed by plain Python and the kernel's draws compared with them; on
whole packs every fact that a drawn State must keep is checked over play of all kinds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import combinations, permutations, product
from math import factorial
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow
from scipy.stats import chisquare

from rummy_env.cards import WILD
from rummy_env.engine.apply import NO_ORDER, apply
from rummy_env.engine.determinize import determinize
from rummy_env.engine.legal import legal
from rummy_env.engine.state import DRAW, LAYING, OVER, PLAY, WINDOW, new_states, new_views
from rummy_env.engine.tables import PASS_MOVE, STOCK_MOVE, Tables, compile_tables
from rummy_env.engine.view import view
from rummy_env.game import Game
from rummy_env.moves import MoveType
from rummy_env.rules import Rules, preset
from tests.playing import STYLES, Driver, played
from tests.test_information import rearranged, seen_mask, seen_view

Outcome = tuple[tuple[tuple[int, ...], ...], tuple[int, ...]]
"""The hidden cards of every seat, sorted, none for one's own; then the stock in order."""


def drawn(tables: Tables, state: Any, seat: int, key: int) -> np.ndarray:
    """An array of one State, drawn for what `seat` knows."""
    views, states = new_views(1), new_states(1)
    view(state, seat, views[0])
    assert determinize(tables, views[0], np.uint64(key), states[0])
    return states


def hidden_kinds(state: Any, seat: int) -> tuple[int, ...]:
    """The cards of a hand of which nobody has seen that they went into it."""
    counts = (state.hand[seat].astype(int) - state.known[seat]).tolist()
    return tuple(kind for kind, count in enumerate(counts) for _ in range(count))


def outcome(state: Any, seat: int) -> Outcome:
    """How the cards lie that `seat` does not see."""
    hands = tuple(() if other == seat else hidden_kinds(state, other) for other in range(int(state.players)))
    return hands, tuple(state.stock[: state.num_stock].tolist())


# Small packs


def arrangements(
    tables: Tables, state: Any, seat: int, pool: bool = True, limits: bool = True, rest: bool = True
) -> Counter[Outcome]:
    """Every way in which physical cards can lie where `seat` does not see them: how many ways make each outcome.

    Which physical copies those are is part of a way. Of each kind the first `pool` copies went into the stock when it was
    last formed. `pool`, `limits` and `rest` leave out the facts that the stock comes from these, that no seat holds more of
    them than it has drawn, and that who is laying holds the rest of the contract. A stock that was turned over lies as it is.
    """
    hands, stock = outcome(state, seat)
    open_stock = stock if state.stock_public else None
    stock = () if state.stock_public else stock
    unseen = Counter(kind for part in (*hands, stock) for kind in part)
    choices = [
        combinations([(kind, copy) for copy in range(int(tables.copies[kind]))], unseen[kind]) for kind in sorted(unseen)
    ]
    found: Counter[Outcome] = Counter()
    for chosen in product(*choices):
        cards = [card for part in chosen for card in part]
        for dealt, left in deals(cards, [len(hand) for hand in hands]):
            pooled = [sum(copy < state.pool[kind] for kind, copy in hand) for hand in dealt]
            if limits and any(count > state.hidden_draws[other] for other, count in enumerate(pooled) if other != seat):
                continue
            if pool and any(copy >= state.pool[kind] for kind, copy in left):
                continue
            shown = tuple(tuple(sorted(kind for kind, _ in hand)) for hand in dealt)
            if rest and state.phase == LAYING and not holds_pair(state, shown):
                continue
            found[shown, tuple(sorted(kind for kind, _ in left))] += factorial(len(left))
    if open_stock is not None:
        return Counter({(hands, open_stock): count for (hands, _), count in found.items()})
    return Counter({
        (hands, order): count // len(orders)
        for (hands, stock), count in found.items()
        for orders in [set(permutations(stock))]
        for order in orders
    })  # fmt: skip


def holds_pair(state: Any, hidden: tuple[tuple[int, ...], ...]) -> bool:
    """Whether the seat that is laying holds one more group of two, in a pack of one suit with wilds."""
    assert (state.groups_left, state.runs_left) == (1, 0)
    seat = int(state.to_act)
    hand = Counter({kind: int(count) for kind, count in enumerate(state.known[seat])}) + Counter(hidden[seat])
    naturals = [count for kind, count in hand.items() if kind != WILD]
    return max(naturals, default=0) > 1 or bool(naturals and hand[WILD])


Cards = list[tuple[int, int]]


def deals(cards: Cards, sizes: list[int]) -> Iterator[tuple[list[Cards], Cards]]:
    """Every way to give hands of these sizes, and what is left."""
    if not sizes:
        yield [], cards
        return
    for hand in combinations(cards, sizes[0]):
        for hands, rest in deals([card for card in cards if card not in hand], sizes[1:]):
            yield [list(hand), *hands], rest


def tiny(**fields: Any) -> Rules:
    """A small pack with melds of two; the contract is more than a hand ever holds unless it is given."""
    small: dict[str, Any] = {
        "decks": 1, "wild_rank": None, "suits": ("c", "d"), "group_size": 2, "run_length": 2, "contracts": ((3, 3),),
        "deal": (2,), "players_max": 2, "max_buys": 0, "max_turns": 40,
    }  # fmt: skip
    return Rules(name="tiny", **{**small, **fields})


PACKS: dict[str, Rules] = {
    "one pack": tiny(ranks=("3", "4", "5"), suits=("c", "d", "h")),
    "one pack, three players": tiny(ranks=("3", "4", "5", "6", "7"), players_max=3),
    "two packs": tiny(decks=2, ranks=("3", "4", "5", "6", "7"), suits=("c",)),
    "two packs, three players": tiny(decks=2, ranks=("3", "4", "5", "6", "7"), suits=("c",), players_max=3),
    "wilds": tiny(decks=2, wild_rank=2, ranks=("2", "3", "4"), suits=("c",), jokers=3, max_buys=1),
    "melds": tiny(decks=2, ranks=("3", "4"), contracts=((1, 0),), deal=(3,), jokers=2),
    "half laid": tiny(decks=2, ranks=("3", "4", "5", "6"), suits=("c",), contracts=((2, 0),), deal=(3,), jokers=2),
}  # fmt: skip
BASIC: dict[str, Any] = {
    "contracts": None, "deal": {3: 2}, "players_min": 3, "players_max": 3, "game_end": {"deals": 1}, "decks": 2,
    "ranks": ("3", "4", "5", "6", "7"), "suits": ("c",), "scoring": "winner_takes_sum",
}  # fmt: skip
PACKS |= {
    "turned over": tiny(**BASIC, stock_out="turn_over", group_size=4, run_length=4),
    "turned over, melds": tiny(**{**BASIC, "deal": {3: 3}, "max_buys": 1}, jokers=3, stock_out="turn_over", run_length=3),
    "shuffled": tiny(**BASIC, stock_out="shuffle", group_size=4, run_length=4),
    "shuffled, melds": tiny(**{**BASIC, "deal": {3: 2}}, jokers=2, stock_out="shuffle", run_length=3),
}  # fmt: skip


def met(situation: str, tables: Tables, state: Any, seat: int) -> bool:
    """Whether a position is of a kind that a test wants; the numbers of arrangements are looked at last, as they cost most."""
    others = [other for other in range(int(state.players)) if other != seat]
    if situation == "half laid":  # by another, whose hand and the stock are not known
        if state.phase != LAYING or state.to_act == seat:
            return False
        return 3 < len(arrangements(tables, state, seat)) < len(arrangements(tables, state, seat, rest=False))
    if situation == "turned over":  # and that the others have both known and hidden cards
        if not state.stock_public or not state.num_stock or not all(hidden_kinds(state, other) for other in others):
            return False
        return len(arrangements(tables, state, seat)) > 2
    if state.phase == LAYING or len(set(hidden_kinds(state, others[0]))) < 2:
        return False
    if situation == "deal":
        return not state.turns.any()
    if situation == "known cards":
        return bool(state.reshuffles == 0 and state.num_stock > 0 and state.known[others].any())
    if situation == "melds":
        return bool(state.num_melds > 0 and state.num_stock > 1)
    if situation == "melds, new stock":
        return bool(state.num_melds > 0 and state.num_stock and state.reshuffles and len(arrangements(tables, state, seat)) > 1)
    if state.reshuffles == 0 or state.num_stock == 0:
        return False
    ways = arrangements(tables, state, seat)
    if len(ways) < 4 or len(ways) == len(arrangements(tables, state, seat, pool=False)):
        return False
    if situation == "pool":
        return True
    if situation == "unsure wilds":  # several pool copies and several others, of which some lie hidden
        hands, stock = outcome(state, seat)
        hidden = sum(part.count(WILD) for part in (*hands, stock))
        pool, copies = int(state.pool[WILD]), int(tables.copies[WILD])
        return copies - pool > 1 and hidden > 1 and max(0, hidden - copies + pool) < min(pool, hidden)
    if len(ways) == len(arrangements(tables, state, seat, limits=False)):
        return False
    if situation == "limits":
        return True
    # copies of a kind of which some went into the stock and some did not, and outcomes that differ in their weight
    assert situation == "unsure copies"
    unsure = (state.pool > 0) & (state.pool < tables.copies)
    return len(set(ways.values())) > 1 and any(unsure[kind] for hands, stock in ways for kind in stock)


def position(rules: Rules, situation: str, number: int) -> tuple[Driver, int]:
    """The `number`-th game that comes to such a situation, and the seat that looks at it."""
    players = rules.players_max
    for seed in range(400):
        driver = Driver(rules, players, seed)
        for _ in range(60):
            if driver.over:
                break
            seat = (seed + int(driver.state.turns[0])) % players
            if met(situation, driver.tables, driver.state, seat):
                number -= 1
                break
            driver.step()
        if number < 0:
            return driver, seat
    raise AssertionError(f"no game of {rules.ranks} comes to {situation!r}")


def agreement(counts: Counter[Outcome], ways: dict[Outcome, float]) -> float:
    """The p-value of a chi-square test of what was drawn against weights; rare outcomes are counted together."""
    total, draws = sum(ways.values()), sum(counts.values())
    order = sorted(ways, key=lambda each: ways[each])
    expected, observed = [0.0], [0]
    for each in order:
        if expected[-1] >= 5:
            expected.append(0.0)
            observed.append(0)
        expected[-1] += draws * ways[each] / total
        observed[-1] += counts[each]
    if expected[-1] < 5:
        expected[-2:], observed[-2:] = [sum(expected[-2:])], [sum(observed[-2:])]
    assert len(expected) > 1
    return float(chisquare(observed, expected).pvalue)


def sample(driver: Driver, seat: int, draws: int) -> Counter[Outcome]:
    """How often each outcome is drawn."""
    views, empty, states = new_views(1), new_states(1), new_states(1)
    view(driver.state, seat, views[0])
    counts: Counter[Outcome] = Counter()
    for key in np.random.default_rng(17).integers(2**64, size=draws, dtype=np.uint64):
        states[:] = empty
        assert determinize(driver.tables, views[0], key, states[0])
        counts[outcome(states[0], seat)] += 1
    return counts


FIVE = list(PACKS)[:5]
CASES = [
    *((pack, situation, number) for pack in FIVE for situation in ("deal", "known cards", "pool") for number in (0, 1)),
    *((pack, "limits", 0) for pack in ("one pack, three players", "two packs, three players")),
    *((pack, "unsure copies", 0) for pack in ("two packs", "two packs, three players", "wilds")),
    *(("wilds", "unsure wilds", number) for number in (0, 1, 2)),
    *(("melds", situation, number) for situation in ("melds", "melds, new stock") for number in (0, 1)),
    *(("half laid", "half laid", number) for number in (0, 1)),
    *((pack, "turned over", number) for pack in ("turned over", "turned over, melds") for number in (0, 1, 2)),
    *(("turned over", situation, number) for situation in ("deal", "known cards") for number in (0, 1)),
    *(("shuffled", situation, number) for situation in ("deal", "known cards", "pool") for number in (0, 1)),
    *(("shuffled", situation, 0) for situation in ("limits", "unsure copies")),
    *(("shuffled, melds", situation, 0) for situation in ("melds", "melds, new stock")),
]  # fmt: skip


@pytest.mark.parametrize("pack,situation,number", CASES, ids=[", ".join(map(str, case)) for case in CASES])
def test_the_draws_are_uniform_over_all_arrangements(pack: str, situation: str, number: int) -> None:
    """All arrangements are listed; the kernel draws each of them and no other, as often as it should."""
    driver, seat = position(PACKS[pack], situation, number)
    ways = arrangements(driver.tables, driver.state, seat)
    assert outcome(driver.state, seat) in ways  # the list has the truth in it
    assert len(ways) > 1 and driver.state.num_stock > 0
    counts = sample(driver, seat, min(4000, 25 * len(ways) + 1000))
    assert set(counts) <= set(ways)
    assert agreement(counts, dict(ways)) > 1e-4


def test_other_distributions_would_be_noticed() -> None:
    """Outcomes alike whatever their number of arrangements, a limit left out, the pool left out: each is rejected."""
    driver, seat = position(PACKS["two packs, three players"], "unsure copies", 0)
    ways = arrangements(driver.tables, driver.state, seat)
    counts = sample(driver, seat, 6000)
    assert agreement(counts, dict.fromkeys(ways, 1.0)) < 1e-9
    assert agreement(counts, dict(arrangements(driver.tables, driver.state, seat, limits=False))) < 1e-9
    assert agreement(counts, dict(arrangements(driver.tables, driver.state, seat, pool=False))) < 1e-9


# Whole packs


def pool_fits(tables: Tables, state: Any, seat: int) -> bool:
    """Whether copies can be named pool copies or others so that the stock has pool copies only and no seat more than it drew.

    A kind of which n cards lie hidden in hands and of which m copies did not go into the stock forces n - m pool copies
    upon hands; a flow from kinds to seats says whether these fit the seats' draws.
    """
    others = [other for other in range(int(state.players)) if other != seat]
    stock = np.bincount(state.stock[: state.num_stock], minlength=53)
    if (stock > state.pool).any():
        return False
    held = np.stack([(state.hand[other] - state.known[other]).astype(np.int32) for other in others])
    forced = np.maximum(0, held.sum(axis=0) - (tables.copies - state.pool)).astype(np.int32)
    graph = np.zeros((55 + len(others),) * 2, np.int32)  # source, kinds, seats, sink
    graph[0, 1:54] = forced
    graph[1:54, 54:-1] = held.T
    graph[54:-1, -1] = state.hidden_draws[others]
    return bool(maximum_flow(csr_array(graph), 0, len(graph) - 1).flow_value == forced.sum())


def check_drawn(tables: Tables, state: Any, seat: int, other: Any) -> None:
    """Everything that a State drawn for `seat` has in common with the true one."""
    assert seen_view(tables, other, seat) == seen_view(tables, state, seat)
    assert seen_mask(tables, other, seat) == seen_mask(tables, state, seat)
    assert np.array_equal(other.hand.sum(axis=1), state.hand_size) and (other.hand >= other.known).all()
    cards = [each.hand.sum(axis=0) + np.bincount(each.stock[: each.num_stock], minlength=53) for each in (state, other)]
    assert np.array_equal(*cards) and not other.stock[other.num_stock :].any()
    assert pool_fits(tables, other, seat)
    assert other.counter == 0


class Drawer(Driver):
    """A game in which cards are drawn from the stock and discarded, so that large new stocks are formed."""

    def choose(self) -> int:
        move = super().choose()
        if self.mask[STOCK_MOVE] and self.rng.random() < 0.9:
            return STOCK_MOVE
        passes = self.tables.move_type[PASS_MOVE] == MoveType.PASS and self.mask[PASS_MOVE]
        return PASS_MOVE if passes and self.rng.random() < 0.9 else move


def positions(rules: Rules, players: int, seed: int) -> Iterator[tuple[int, Driver]]:
    """Numbered positions: play of all styles, every fourth move; then late ones of games with large new stocks."""
    for style in STYLES:
        for number, driver in enumerate(played(rules, players, seed, style, 420)):
            if not driver.over and (number % 4 == 0 or driver.state.phase == LAYING):
                yield number, driver
    driver = Drawer(rules, players, seed, "eager")
    for number in range(1400):
        if driver.over:
            break
        if number % 9 == 0 and driver.state.reshuffles:
            yield number, driver
        driver.step()


SETS: dict[str, dict[str, Any]] = {
    "default": {},
    "switches": {"buy_extra": 2, "turn_player_may_buy": True, "min_naturals": 0, "jokers": 4, "deal": "exact", "max_turns": 20},
    "one pack": {"decks": 1, "jokers": 2, "deal": [6] * 7, "group_size": 2, "run_length": 3, "max_turns": 25},
}  # fmt: skip


BASIC_SETS: dict[str, dict[str, Any]] = {
    "basic": {"name": "basic"},
    "basic_modern": {"name": "basic_modern", "ranks": list("A2345678"), "deal": {2: 6, 3: 5, 4: 4, 5: 4, 6: 3}},
    "switches": {
        "name": "basic", "max_buys": None, "buy_extra": 2, "jokers": 4, "wild_rank": 2, "ace": "corner", "melds_per_turn": 2,
        "deal": {2: 9, 3: 7, 4: 6, 5: 6, 6: 5},
    },
    "two packs": {"name": "basic", "decks": 2, "ranks": list("A23456"), "deal": {2: 9, 3: 7, 4: 6, 5: 6, 6: 5}},
}  # fmt: skip


@pytest.mark.parametrize("overrides", SETS.values(), ids=SETS)
def test_a_drawn_game_is_the_same_for_the_seat_that_knows_no_more(overrides: dict[str, Any]) -> None:
    """2 to 6 players, play of all styles: the View byte for byte, the mask, cards, hands, the stock and its pool."""
    seen = compare_drawn(preset("international").replace(**overrides), range(2, 7))
    assert min(seen[f"phase {phase}"] for phase in (DRAW, PLAY, WINDOW)) > 150, seen
    assert seen[f"phase {LAYING}"] > 10 and seen["reshuffled"] > 40 and seen["known"] > 200, seen
    assert min(seen["not the true one"], seen["seeds differ"]) > 0.95 * seen["positions"], seen


@pytest.mark.parametrize("overrides", BASIC_SETS.values(), ids=BASIC_SETS)
def test_the_same_in_basic(overrides: dict[str, Any]) -> None:
    """The same; where two play, a stock that was turned over leaves nothing to draw: all other cards are the other's."""
    rules = preset(overrides["name"]).replace(**overrides)
    seen = compare_drawn(rules, [3, 6])
    assert min(seen[f"phase {phase}"] for phase in (DRAW, PLAY)) > 100, seen
    assert seen["reshuffled"] > 40 and seen["known"] > 200 and seen["melds"] > 100, seen
    assert (seen["public"] > 40) == (rules.stock_out == "turn_over"), seen
    hidden = seen["positions"] - seen["public"]  # where few cards are hidden many draws hit the truth
    assert min(seen["not the true one"], seen["seeds differ"]) > 0.95 * hidden, seen
    assert seen["public"] == 0 or seen["public"] - seen["public, the true one"] > 20, seen
    two = compare_drawn(rules, [2])
    assert two["public"] == two["public, the true one"] and (two["public"] > 0) == (rules.stock_out == "turn_over"), two


def compare_drawn(rules: Rules, tables_of: Iterable[int]) -> Counter[str]:
    """Draw States for seats of tables of so many players, compare what they know, and count what was met."""
    rng = np.random.default_rng(3)
    seen: Counter[str] = Counter()
    for players in tables_of:
        for number, driver in positions(rules, players, 40 + players):
            state = driver.state
            seat = int(rng.integers(players)) if number % 8 else int(state.to_act)
            key = int(rng.integers(2**64, dtype=np.uint64))
            states = drawn(driver.tables, state, seat, key)
            check_drawn(driver.tables, state, seat, states[0])
            assert pool_fits(driver.tables, state, seat)  # the true State keeps the facts too
            assert states[0].key == key and states.tobytes() == drawn(driver.tables, state, seat, key).tobytes()
            another = drawn(driver.tables, state, seat, key ^ 1)[0]
            seen["positions"] += 1
            seen[f"phase {int(state.phase)}"] += 1
            seen["reshuffled"] += bool(state.reshuffles and state.num_stock)
            seen["known"] += bool(np.delete(state.known, seat, axis=0).any())
            seen["not the true one"] += outcome(states[0], seat) != outcome(state, seat)
            seen["seeds differ"] += outcome(states[0], seat) != outcome(another, seat)
            seen["melds"] += state.num_melds > 0
            if state.stock_public and state.num_stock:
                seen["public"] += 1
                seen["public, the true one"] += outcome(states[0], seat) == outcome(state, seat)
    return seen


def test_a_position_after_a_turned_over_stock() -> None:
    """Its stock is public, also where the position says no more than that one was formed: it lies as it does, and only the
    others' hands are drawn, all ways to part their cards alike."""
    position: dict[str, Any] = {
        "rules": "basic", "hands": ["Ac 4d", "3c Ah", "2d 2c"], "to_act": 0, "phase": "draw", "stock": "3d 4c 3h",
        "discards": "Ad 4h 2h", "reshuffles": 1,
        "overrides": {
            "ranks": list("A234"), "suits": ["c", "d", "h"], "deal": {"3": 2}, "players_min": 3, "players_max": 3,
        },
    }  # fmt: skip
    game = Game.from_position(position)
    for seat in range(3):
        assert game.view(seat).stock_public and np.array_equal(game.view(seat).stock, game.state.stock)
    counts: Counter[tuple[str, ...]] = Counter()
    for seed in range(600):
        other = game.determinize(0, seed).position()
        assert {**other, "hands": 0} == {**game.position(), "hands": 0}
        counts[tuple(other["hands"])] += 1
        assert other["hands"][0] == "Ac 4d"
    assert len(counts) == 6 and chisquare(list(counts.values())).pvalue > 1e-4  # 4 cards to two hands of two
    hidden = Game.from_position({**position, "overrides": {**position["overrides"], "stock_out": "shuffle"}})
    assert not hidden.view(0).stock_public and not hidden.view(0).stock.any()
    assert len({hidden.determinize(0, seed).position()["stock"] for seed in range(30)}) > 20


def play_to_the_end(tables: Tables, states: np.ndarray, seed: int) -> int:
    """Random moves to the end of the game, all cards of the pack in it throughout; the number of moves."""
    rng, mask, count = np.random.default_rng(seed), np.zeros(int(tables.num_moves), np.int8), 0
    state = states[0]
    while state.phase != OVER:
        assert legal(tables, state, mask) == mask.sum() > 0
        apply(tables, state, int(rng.choice(np.flatnonzero(mask))), NO_ORDER)
        assert (
            (state.hand >= state.known).all() and (state.known >= 0).all() and (state.hand.sum(axis=1) == state.hand_size).all()
        )
        count += 1
        assert count < 5000
    return count


def test_a_drawn_game_can_be_played_to_its_end() -> None:
    """From windows, before and after the draw, in the middle of one's own contract, and after new stocks."""
    rules = preset("international").replace(max_turns=40, rounds=[1, 6])
    ends: Counter[int] = Counter()
    reshuffled = 0
    for players in (2, 4, 6):
        for number, driver in positions(rules, players, players):
            state = driver.state
            if ends[int(state.phase)] > 12 and (not state.reshuffles or reshuffled > 12):
                continue
            states = drawn(driver.tables, state, number % players, number)
            assert play_to_the_end(driver.tables, states, number) > 0
            ends[int(state.phase)] += 1
            reshuffled += int(state.reshuffles) > 0
    assert set(ends) == {WINDOW, DRAW, PLAY, LAYING} and reshuffled > 3, (ends, reshuffled)


def test_a_seat_that_is_laying_holds_the_rest_of_its_contract() -> None:
    """That is public, as a contract is begun only by who can lay all of it: the drawn game always has a legal move."""
    rules = preset("international")
    mask = np.zeros(int(compile_tables(rules).num_moves), np.int8)
    laying: Counter[tuple[bool, int]] = Counter()
    for number, driver in enumerate(played(rules, 3, 5, "eager", 4000)):
        state = driver.state
        if state.phase == LAYING:
            for seat in range(3):
                states = drawn(driver.tables, state, seat, number)
                check_drawn(driver.tables, state, seat, states[0])
                assert legal(driver.tables, states[0], mask) > 0
                laying[seat == state.to_act, int(state.round_number)] += 1
    assert len(laying) >= 4 and sum(laying.values()) > 30, laying


# As `Game.determinize`


def games(players: int, style: str, moves: int, every: int) -> Iterator[Game]:
    """Games at positions of seeded play."""
    rules = preset("international").replace(max_turns=20)
    for number, driver in enumerate(played(rules, players, 60 + players, style, moves)):
        if number % every == 0 and not driver.over and driver.state.phase != LAYING:
            game = Game(rules, players, seed=0)
            game._states = driver.states.copy()
            yield game


def test_hidden_cards_and_the_random_stream_do_not_go_in() -> None:
    """Two games that differ only in what a seat cannot know are the same for `determinize`, byte for byte."""
    rng = np.random.default_rng(2)
    differ = positions = 0
    for players in (2, 4, 6):
        for game in games(players, "buyer", 1500, 15):
            for seat in range(players):
                other = game.clone()
                other._states = rearranged(compile_tables(game.rules), game.state, seat, rng)
                other.state.last_points[0] += 5
                assert other.state_copy().tobytes() != game.state_copy().tobytes()
                differ += outcome(game.state, seat) != outcome(other.state, seat)
                positions += 1
                seed = int(rng.integers(1000))
                one, two = (each.determinize(seat, seed) for each in (game, other))
                assert one.state_copy().tobytes() == two.state_copy().tobytes()
    assert differ > 0.8 * positions > 300


def test_determinize_gives_a_game_of_its_own() -> None:
    """The one it comes from stays as it is; positions of the drawn one are accepted, and it plays on."""
    for game in games(4, "buyer", 600, 40):
        before = game.state_copy().tobytes(), game.record()
        seat = game.seat
        assert seat is not None
        one, same, another = (game.determinize(seat, seed) for seed in (1, 1, 2))
        assert one.state_copy().tobytes() == same.state_copy().tobytes() != another.state_copy().tobytes()
        assert one.view(seat) == game.view(seat) and [*map(str, one.moves())] == [*map(str, game.moves())]
        assert one.names == game.names and one.rules == game.rules and one.seed is None
        again = Game.from_position(one.position())
        assert again.state.hand.tobytes() == one.state.hand.tobytes() and again.moves() == one.moves()
        assert one.position()["hands"][seat] == game.position()["hands"][seat]
        one.play(one.moves()[0])
        assert (game.state_copy().tobytes(), game.record()) == before
        assert one.record()["rounds"][0]["moves"] and not same.record()["rounds"][0]["moves"]


@pytest.mark.parametrize("seat", [-1, 3, True, "0", None, 1.5])
def test_a_seat_that_is_not_at_the_table_is_refused(seat: Any) -> None:
    with pytest.raises(ValueError, match=r"^seat must be from 0 to 2, not "):
        Game(players=3, seed=1).determinize(seat, 1)


@pytest.mark.parametrize("seed", [-1, True, "0", 1.5, [1], None])
def test_a_seed_that_is_none_is_refused(seed: Any) -> None:
    with pytest.raises(ValueError, match=r"^seed must be a whole number from 0 up"):
        Game(players=3, seed=1).determinize(0, seed)


def test_a_finished_game_is_refused() -> None:
    game = Game(players=2, seed=1, rounds=[1], overrides={"max_turns": 1})
    while not game.over:
        game.play(game.moves()[-1])
    with pytest.raises(ValueError, match=r"^the game is over"):
        game.determinize(0, 1)


def test_what_no_arrangement_agrees_with_is_refused() -> None:
    """A stock of no kinds, hands that are larger or smaller than the cards left, a card that is seen too
    often, more known cards in a hand than it holds."""

    def pool(state: Any) -> None:
        state.pool[:] = 0

    def draws(state: Any) -> None:
        state.hidden_draws[:] = 0

    def larger(state: Any) -> None:
        state.hand_size[1] += 1

    def smaller(state: Any) -> None:
        state.hand_size[1] = 0

    def twice(state: Any) -> None:
        kind = int(state.discards[0])
        state.hand[0, kind] = 2

    def known(state: Any) -> None:
        state.known[1], state.hand_size[1] = state.hand[1], 0

    for damage in (pool, draws, larger, smaller, twice, known):
        game = Game(players=3, seed=1)
        damage(game.state)
        with pytest.raises(ValueError, match=r"^no arrangement of the cards agrees with what seat 0 knows"):
            game.determinize(0, 1)
