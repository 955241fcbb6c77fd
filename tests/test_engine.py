"""The engine as a machine: equal seeds give equal games, no card is lost, what is beyond a count is zero, and what the
State remembers for everybody (known cards, pool, makers of discards, scores) is what a watcher would note down."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rummy_env.cards import KIND_TEXTS, WILD
from rummy_env.engine.apply import NO_ORDER, apply
from rummy_env.engine.deal import round_deck, start_game
from rummy_env.engine.legal import legal
from rummy_env.engine.random import below, mix
from rummy_env.engine.state import MAX_CARDS, MAX_MELDS, OVER, STATE, VIEW, WINDOW, new_states
from rummy_env.engine.tables import BUY_MOVE, PASS_MOVE, STOCK_MOVE, TAKE_MOVE, compile_tables
from rummy_env.game import Game, game_key
from rummy_env.melds import pack_of
from rummy_env.moves import MoveType, move_table
from rummy_env.position import meld_of, position_of
from rummy_env.rules import preset
from tests.playing import STYLES, Driver, digest, played

INTERNATIONAL = preset("international")
ROOT = Path(__file__).parent.parent


# Equal seeds, equal games


@pytest.fixture(scope="module")
def games_here() -> str:
    return digest()


def test_equal_seeds_give_equal_games_in_one_process(games_here: str) -> None:
    """It carries its own random generator, so equal seeds give equal games whatever else runs."""
    one, other = (Driver(INTERNATIONAL, 4, 77, "eager") for _ in range(2))
    disturbing = Driver(INTERNATIONAL, 6, 78, "buyer")
    for _ in range(600):
        disturbing.step()
        np.random.default_rng().random(3)
        assert one.step() == other.step()
        assert one.states.tobytes() == other.states.tobytes()
    assert digest() == games_here


@pytest.mark.parametrize("mode", ["0", "1"], ids=["compiled", "Python"])
def test_equal_seeds_give_equal_games_in_another_process(games_here: str, mode: str) -> None:
    """With ``NUMBA_DISABLE_JIT=1`` the kernels are ordinary Python with the same results."""
    out = subprocess.run(
        [sys.executable, "-m", "tests.playing"],
        cwd=ROOT,
        env={**os.environ, "NUMBA_DISABLE_JIT": mode, "PYTHONHASHSEED": "5"},
        capture_output=True,
        text=True,
    )
    assert out.stderr == ""
    assert out.stdout.strip() == games_here


def test_other_seeds_give_other_games() -> None:
    """The seed decides the deal."""
    assert len({Game(seed=seed).state.tobytes() for seed in range(200)}) == 200


def test_without_a_seed_games_differ() -> None:
    """None takes the system's entropy."""
    assert Game().position()["hands"] != Game().position()["hands"]


@pytest.mark.parametrize("seed", [-1, 1.5, "7", True])
def test_a_seed_that_is_no_whole_number_is_refused(seed: Any) -> None:
    """A ValueError names the seed."""
    with pytest.raises(ValueError, match="seed"):
        Game(seed=seed)


def test_a_copy_of_the_record_is_a_clone_of_the_game() -> None:
    """Copying the record is cloning the game; comparing bytes is comparing games."""
    game = Game(players=3, seed=5)
    other = game.clone()
    assert other.state.tobytes() == game.state.tobytes()
    game.play(game.moves()[0])
    assert other.state.tobytes() != game.state.tobytes()
    other.play(other.moves()[0])
    assert other.state.tobytes() == game.state.tobytes()


# The records


@pytest.mark.parametrize("dtype", [STATE, VIEW], ids=["State", "View"])
def test_records_have_no_padding(dtype: np.dtype[Any]) -> None:
    """The dtype has no implicit padding: every byte of a record belongs to a field."""
    assert dtype.names is not None
    covered = np.zeros(dtype.itemsize, int)
    for name in dtype.names:
        field, offset = dtype.fields[name][:2]  # type: ignore[index]
        assert offset % field.base.itemsize == 0, name
        covered[offset : offset + field.itemsize] += 1
    assert (covered == 1).all()
    assert dtype.itemsize % 8 == 0


def test_a_state_takes_at_most_1536_bytes() -> None:
    """State: a fixed-size NumPy record (at most 1.5 KB, no pointers)."""
    assert STATE.itemsize <= 1536
    assert not STATE.hasobject and not VIEW.hasobject


def cards_of(driver: Driver) -> np.ndarray:
    """All cards of a table by kind, wherever they lie."""
    state = driver.state
    found = state.hand.sum(axis=0).astype(int)
    for pile, count in ((state.stock, state.num_stock), (state.discards, state.num_discards)):
        found += np.bincount(pile[:count], minlength=53)
    pack = pack_of(driver.rules)
    for index in range(state.num_melds):
        found += np.bincount(meld_of(pack, state, index).cards, minlength=53)
    return found


def pack_counts(jokers: int = 0) -> np.ndarray:
    """Two packs: two copies of every card, but for the 2s, which are eight wilds, and the jokers, wild too."""
    counts = np.full(53, 2)
    counts[[1, 14, 27, 40]] = 0
    counts[WILD] = 8 + jokers
    return counts


PLAYS = [
    (2, "random", {}),
    (3, "eager", {"jokers": 4, "min_naturals": 0}),
    (4, "buyer", {"buy_extra": 2, "max_turns": 15}),
    (5, "eager", {"same_turn_layoff": True, "deal": "exact", "max_turns": 30}),
    (6, "buyer", {"turn_player_may_buy": True, "uncovered_live": False}),
]


@pytest.mark.parametrize(("players", "style", "overrides"), PLAYS)
def test_no_card_is_lost_and_nothing_lies_beyond_a_count(players: int, style: str, overrides: dict[str, Any]) -> None:
    """104 cards after every move, hand sizes as counted, and places beyond a count are zero."""
    rules = INTERNATIONAL.replace(**overrides)
    expected = pack_counts(overrides.get("jokers", 0))
    assert expected.sum() == 104 + overrides.get("jokers", 0)
    rounds = set()
    for driver in played(rules, players, 31, style, 1500):
        state = driver.state
        rounds.add(int(state.round_number))
        if driver.over:
            continue
        assert np.array_equal(cards_of(driver), expected)
        assert (state.hand >= 0).all() and (state.known >= 0).all() and (state.known <= state.hand).all()
        assert np.array_equal(state.hand.sum(axis=1), state.hand_size)
        assert (state.hand_size[:players] > 0).all()
        for name, count in (
            ("stock", state.num_stock),
            ("discards", state.num_discards),
            ("discard_by", state.num_discards),
            *((name, state.num_melds) for name in STATE.names or () if name.startswith("meld_")),
            *((name, players) for name in ("scores", "last_points", "turns", "buys", "hand", "known", "discarded")),
            *((name, players) for name in ("hand_size", "hidden_draws")),
        ):
            assert not state[name][int(count) :].any(), name
        assert not state.new_melds >> int(state.num_melds)
        assert not (state.down | state.acted | state.passed) >> players
        assert state.num_melds <= MAX_MELDS and state.num_stock + state.num_discards <= MAX_CARDS
    assert len(rounds) >= 2


# The deal


@pytest.mark.parametrize(
    ("deal", "cards"),
    [("books", (10, 10, 10, 10, 12, 12, 12)), ("pagat", (10, 10, 10, 12, 12, 12, 12)), ("plus_one", range(7, 14)),
     ("exact", range(6, 13)), ("flat_eleven", (11,) * 7), ([9, 8, 7, 6, 5, 4, 3], (9, 8, 7, 6, 5, 4, 3))],
)  # fmt: skip
def test_each_player_is_dealt_the_round_s_number_of_cards(deal: Any, cards: Any) -> None:
    """Each player is dealt the round's number of cards; one is turned up; the rest is the stock."""
    for number, each in enumerate(cards, start=1):
        for players in (2, 4, 6):
            state = Game(players=players, seed=number, overrides={"deal": deal, "rounds": [number]}).state
            assert state.round_number == number
            assert list(state.hand_size) == [each] * players + [0] * (6 - players)
            assert (state.num_discards, state.num_stock) == (1, 104 - players * each - 1)


def rounds_of_a_game(players: int, seed: int, style: str, **settings: Any) -> list[Any]:
    """The States in which the rounds of a game begin."""
    driver = Driver(INTERNATIONAL.replace(max_turns=2, **settings), players, seed, style)
    starts = [driver.states.copy()]
    while not driver.over:
        done = int(driver.state.rounds_done)
        driver.step()
        if driver.state.rounds_done > done and not driver.over:
            starts.append(driver.states.copy())
    return [start[0] for start in starts]


def test_the_deal_moves_one_seat_to_the_left_each_round() -> None:
    """The deal moves one seat to the left; the player to the dealer's left takes the first turn."""
    for players in (2, 3, 5):
        starts = rounds_of_a_game(players, 9, "random")
        assert [int(state.round_number) for state in starts] == [1, 2, 3, 4, 5, 6, 7]
        first = int(starts[0].dealer)
        for number, state in enumerate(starts):
            assert state.dealer == (first + number) % players
            assert state.turn == state.to_act == (state.dealer + 1) % players
            assert state.discarder == -1 and state.discard_by[0] == 0


def test_the_rounds_played_are_those_given_in_order() -> None:
    """The rounds played, in order; a number may repeat."""
    game = Game(players=3, seed=3, rounds=[6, 2, 2], overrides={"max_turns": 1})
    rng = np.random.default_rng(0)
    numbers = []
    while not game.over:
        if len(numbers) == game.state.rounds_done:
            numbers.append(game.round_number)
        game.play(int(rng.choice(np.flatnonzero(game.mask()))))
    assert numbers == [6, 2, 2]


@pytest.mark.parametrize("players", [2, 3, 4, 5, 6])
def test_the_first_dealer_is_chosen_by_the_seed(players: int) -> None:
    """First dealer: seat chosen by the seed; all seats are equally likely."""
    number = 300 * players
    dealers = Counter(int(Game(players=players, seed=seed).state.dealer) for seed in range(number))
    assert set(dealers) == set(range(players))
    assert all(225 <= count <= 375 for count in dealers.values())  # 300 expected, deviation at most 16
    for dealer in range(players):
        assert Game(players=players, seed=0, dealer=dealer).state.dealer == dealer


def deck_of(state: Any) -> list[int]:
    deck = np.zeros(MAX_CARDS, np.int8)
    count = round_deck(compile_tables(INTERNATIONAL), state, deck)
    return [int(kind) for kind in deck[:count]]


def test_the_deck_of_a_round_depends_on_the_seed_and_the_round_alone() -> None:
    """Equal keys give equal decks whatever was played before, by however many players."""
    games = [rounds_of_a_game(players, 12, style) for players, style in ((2, "random"), (4, "buyer"), (4, "eager"))]
    decks = [[deck_of(state) for state in starts] for starts in games]
    assert decks[0] == decks[1] == decks[2]
    assert len(set(map(tuple, decks[0]))) == 7
    assert all(np.array_equal(np.bincount(deck, minlength=53), pack_counts()) for deck in decks[0])
    others = [deck_of(state) for state in rounds_of_a_game(4, 13, "random")]
    assert all(deck not in decks[0] for deck in others)
    for one, other in zip(games[1], games[2], strict=True):  # equal players, equal dealer: equal hands
        assert np.array_equal(one.hand, other.hand) and np.array_equal(one.stock, other.stock)


@pytest.mark.parametrize("players", [2, 3, 6])
def test_cards_are_dealt_one_at_a_time(players: int) -> None:
    """Cards are dealt one at a time, first to the seat after the dealer; then the up-card; then the stock from its top."""
    for state in rounds_of_a_game(players, 21, "random"):
        deck = deck_of(state)
        hands = np.zeros((6, 53), int)
        each = (10, 10, 10, 10, 12, 12, 12)[int(state.round_number) - 1]
        for at in range(each * players):
            hands[(int(state.dealer) + 1 + at) % players, deck[at]] += 1
        assert np.array_equal(state.hand, hands)
        rest = deck[each * players :]
        assert state.discards[0] == rest[0]
        assert list(state.stock[: state.num_stock]) == rest[:0:-1]


def test_a_prescribed_deck_is_dealt_as_it_is() -> None:
    """`deck`: all cards in the order in which they leave the pack."""
    deck = np.array([kind for kind, number in enumerate(pack_counts()) for _ in range(number)], np.int8)
    states = new_states(1)
    tables = compile_tables(INTERNATIONAL)
    start_game(tables, states[0], 2, game_key(1), 0, 6, 1, deck)
    dealt = [Counter(int(kind) for kind in deck[seat:20:2]) for seat in (0, 1)]  # the dealer is seat 1
    assert [Counter({k: int(n) for k, n in enumerate(states[0].hand[seat]) if n}) for seat in (0, 1)] == dealt
    assert states[0].discards[0] == deck[20]
    assert list(states[0].stock[:83]) == list(deck[:20:-1])


def test_every_card_is_equally_likely_to_be_turned_up() -> None:
    """The dealer shuffles: over many seeds each kind is turned up as often as the pack holds it."""
    number = 3000
    states = new_states(1)
    tables = compile_tables(INTERNATIONAL)
    found: Counter[int] = Counter()
    for seed in range(number):
        start_game(tables, states[0], 4, np.uint64(seed * 977 + 1), 0, 6, 0, NO_ORDER)
        found[int(states[0].discards[0])] += 1
    expected = pack_counts() * number / 104
    kinds = expected > 0
    seen = np.array([found[kind] for kind in range(53)])
    chi = ((seen[kinds] - expected[kinds]) ** 2 / expected[kinds]).sum()
    assert seen[~kinds].sum() == 0
    assert 20 < chi < 93  # 48 degrees of freedom: beyond either end once in ten thousand


def key_beginning_with(number: int) -> int:
    """The key whose stream begins with a number of 64 bits: every step of SplitMix64 undone."""

    def unshift(value: int, by: int) -> int:
        found = value
        for _ in range(64 // by):
            found = value ^ (found >> by)
        return found

    whole = 2**64
    found = unshift(number, 31) * pow(0x94D049BB133111EB, -1, whole) % whole
    found = unshift(found, 27) * pow(0xBF58476D1CE4E5B9, -1, whole) % whole
    return (unshift(found, 30) - 0x9E3779B97F4A7C15) % whole


@pytest.mark.parametrize("bound", [3, 6, 104])
def test_as_many_numbers_lead_to_every_result(bound: int) -> None:
    """The 2**32 numbers are shared out in stretches of one result each. Where a stretch is one longer than the shortest, its
    first number is drawn again; no other is, nor any of a shortest one."""
    stretches = [range(-(-result * 2**32 // bound), -(-(result + 1) * 2**32 // bound)) for result in range(bound)]
    fewest = 2**32 // bound
    assert {len(stretch) for stretch in stretches} == {fewest, fewest + 1}
    for result, stretch in enumerate(stretches):
        for number in (stretch[0], stretch[1], stretch[-1]):
            key = key_beginning_with(number << 32)
            assert int(mix(np.uint64(key), np.uint64(0))) == number << 32
            stream = np.array([key, 0], np.uint64)
            found = below(stream, bound)
            again = len(stretch) > fewest and number == stretch[0]
            assert (int(stream[1]) > 1) == again, (result, number)
            assert again or found == result


# What a watcher notes down


POINTS = {**{rank: int(rank) for rank in "3456789"}, **dict.fromkeys("TJQK", 10), "A": 15, "*": 15}


def points_of(hand: np.ndarray) -> int:
    """3-10 face value, J Q K 10, A 15, a wild 15."""
    return sum(int(number) * POINTS[KIND_TEXTS[kind][0]] for kind, number in enumerate(hand) if number)


class Watcher:
    """Notes what everybody sees, from the moves and the top discards alone, and hands where a round ends."""

    def __init__(self, driver: Driver):
        self.driver = driver
        self.seen: Counter[str] = Counter()
        self.scores = np.zeros(6, int)
        self.begin()

    def begin(self) -> None:
        state = self.driver.state
        self.players = int(state.players)
        self.known = np.zeros((6, 53), int)
        self.pile = [(int(state.discards[0]), 0)]
        self.pool = pack_counts(self.driver.rules.jokers)
        self.draws = [int(size) for size in state.hand_size]
        self.stock = int(state.num_stock)
        self.turns, self.buys, self.reshuffles = [0] * 6, [0] * 6, 0
        self.discarded = [set[int]() for _ in range(6)]

    def draw(self, seat: int) -> None:
        """A stock card; from an empty stock the pile below its top is shuffled into a new one."""
        if self.stock == 0:
            *below, top = self.pile
            self.pool = np.bincount([kind for kind, _ in below], minlength=53)
            self.draws = [0] * 6
            self.stock, self.pile = len(below), [top]
            self.reshuffles += 1
            self.seen["reshuffle"] += 1
        self.stock -= 1
        self.draws[seat] += 1

    def take(self, seat: int) -> None:
        self.known[seat, self.pile.pop()[0]] += 1

    def move(self, seat: int, move: int) -> None:
        entry = move_table(self.driver.rules)[move]
        if move == STOCK_MOVE:
            self.turns[seat] += 1
            self.draw(seat)
        elif move == TAKE_MOVE:
            self.turns[seat] += 1
            self.take(seat)
        elif move == BUY_MOVE:
            for _ in range(self.driver.rules.buy_extra):
                self.draw(seat)
            self.take(seat)
            self.buys[seat] += 1
        for kind in entry.cards:
            if self.known[seat, kind]:
                self.known[seat, kind] -= 1
                self.seen["known card leaves"] += 1
        if entry.type == MoveType.DISCARD:
            self.pile.append((entry.cards[0], seat + 1))
            self.discarded[seat].add(entry.cards[0])
        self.seen[entry.type.name] += 1

    def check(self) -> None:
        state = self.driver.state
        assert np.array_equal(state.known, self.known)
        assert [(int(state.discards[at]), int(state.discard_by[at])) for at in range(state.num_discards)] == self.pile
        assert np.array_equal(state.pool, self.pool)
        assert list(state.hidden_draws) == self.draws
        assert (state.num_stock, state.reshuffles) == (self.stock, self.reshuffles)
        assert (list(state.turns), list(state.buys)) == (self.turns, self.buys)
        for seat in range(self.players):
            assert {kind for kind in range(53) if int(state.discarded[seat]) >> kind & 1} == self.discarded[seat]

    def check_end(self, before: Any, seat: int, move: int) -> None:
        """The round is over: nobody scores anything but the hand that is left."""
        state = self.driver.state
        hands = before.hand.astype(int)
        for kind in move_table(self.driver.rules)[move].cards:
            hands[seat, kind] -= 1
        points = [points_of(hand) for hand in hands]
        assert list(state.last_points) == points
        out = points[seat] == 0 and not hands[seat].any()
        assert state.last_end == (1 if out else 2 if move == STOCK_MOVE else 3)
        assert state.last_out == (seat if out else -1)
        self.scores += points
        assert list(state.scores) == list(self.scores)
        self.seen[f"end {state.last_end}"] += 1


WATCHED = [
    (3, "eager", {"deal": "exact"}),
    (4, "eager", {"max_turns": 12}),
    (6, "buyer", {}),
    (5, "buyer", {"buy_extra": 2, "redraw_ban": False}),
    (6, "buyer", {"max_recycles": 1, "max_turns": 400}),
    (2, "buyer", {"stock_out": "end", "max_turns": 400}),
]


def test_the_state_remembers_what_everybody_has_seen() -> None:
    """Cards seen going into a hand are public until they are seen leaving it; after a reshuffle everybody knows which
    cards formed the new stock; every discard and who made it; the scores are the sums of the rounds' points."""
    seen: Counter[str] = Counter()
    for number, (players, style, overrides) in enumerate(WATCHED):
        driver = Driver(INTERNATIONAL.replace(**overrides), players, 50 + number, style)
        watcher = Watcher(driver)
        watcher.check()
        for _ in range(1600):
            before, seat = driver.states.copy()[0], int(driver.state.to_act)
            done = int(driver.state.rounds_done)
            move = driver.step()
            if driver.state.rounds_done > done:
                watcher.check_end(before, seat, move)
                if driver.over:
                    break
                watcher.begin()
            else:
                watcher.move(seat, move)
            watcher.check()
        seen += watcher.seen
    for what in ("reshuffle", "known card leaves", "BUY", "TAKE", "LAY", "OFF_GROUP", "OFF_LOW", "OFF_HIGH"):
        assert seen[what] >= 20, seen
    assert all(seen[f"end {end}"] >= 3 for end in (1, 2, 3)), seen


# The mask


@pytest.mark.parametrize(("players", "style", "overrides"), PLAYS)
def test_somebody_who_must_act_has_a_move(players: int, style: str, overrides: dict[str, Any]) -> None:
    """At least one bit is set whenever somebody must act; `legal` returns how many are."""
    rules = INTERNATIONAL.replace(**overrides)
    mask = np.ones(len(move_table(rules)), np.int8)
    phases: Counter[int] = Counter()
    for driver in played(rules, players, 61, style, 1500):
        mask[:] = 7  # whatever stood there before is overwritten
        count = legal(driver.tables, driver.state, mask)
        assert count == mask.sum() > 0
        assert set(np.unique(mask)) <= {0, 1}
        assert 0 <= driver.state.to_act < players
        phases[int(driver.state.phase)] += 1
        if driver.state.phase == WINDOW:
            assert not mask[PASS_MOVE + 1 :].any()
    assert all(phases[phase] for phase in range(4))


def test_after_the_game_the_mask_is_empty() -> None:
    """0 after the game, and the last State stays as it is."""
    driver = Driver(INTERNATIONAL.replace(max_turns=1), 2, 1)
    while not driver.over:
        driver.step()
    assert driver.state.phase == OVER and driver.state.to_act == -1
    assert legal(driver.tables, driver.state, driver.mask) == 0 == driver.mask.sum()


def test_every_move_that_the_mask_leaves_out_is_refused() -> None:
    """The mask is exact: what is not set is refused, with a reason, and changes nothing; what is set can be played."""
    sampled: Counter[str] = Counter()
    rng = np.random.default_rng(4)
    while min((sampled[phase] for phase in ("window", "draw", "play", "laying")), default=0) < 4:
        rounds = [int(rng.integers(1, 8))]
        driver = Driver(INTERNATIONAL.replace(rounds=rounds), int(rng.integers(2, 7)), int(rng.integers(10**6)), "eager")
        for _ in range(int(rng.integers(5, 200))):
            if driver.over:
                break
            driver.step()
        if driver.over:
            continue
        game = Game.from_position(position_of(driver.rules, driver.state))
        if sampled[game.phase] >= 6:
            continue
        sampled[game.phase] += 1
        mask, before = game.mask(), game.state.tobytes()
        for move in range(len(mask)):
            if mask[move]:
                other = game.clone()
                other.play(move)
                assert other.state.tobytes() != before
            else:
                with pytest.raises(ValueError, match=r": .") as error:
                    game.play(move)
                assert str(error.value).startswith(f"{game.table.text(move)}: ")
        assert game.state.tobytes() == before


def test_apply_with_a_prescribed_order_draws_in_that_order() -> None:
    """`restock`: the cards of a new stock in drawing order."""
    position = {
        "rules": "international", "to_act": 0, "phase": "draw", "hands": ["3c 4c", "5c 6c"], "stock": "",
        "discards": "7c 8d 9h Ts", "round": 1,
    }  # fmt: skip
    game = Game.from_position(position)
    order = np.array([21 + 13, 6, 20], np.int8)  # 9h 7c 8d
    apply(compile_tables(INTERNATIONAL), game.state, STOCK_MOVE, order)
    after = game.position()
    assert (after["hands"][0], after["stock"], after["discards"], after["reshuffles"]) == ("3c 4c 9h", "8d 7c", "Ts", 1)


def test_the_styles_of_play_are_different() -> None:
    """The tests above rest on three styles of play that go different ways."""
    ends = set()
    for style in STYLES:
        driver = Driver(INTERNATIONAL, 4, 3, style)
        for _ in range(200):
            driver.step()
        ends.add(driver.states.tobytes())
    assert len(ends) == 3
