"""`features="analysis"` and `shaping="distance"` where melds are free, against plain counts over all melds there are.

The distance is that to the next meld: the fewest cards that any group or run lacks, wilds filling places. Cards that make a
meld or wait for one are those with another of the rank, or with one of the suit within the length of a run.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from rummy_env import basic_v0
from rummy_env.analysis import completes_meld
from rummy_env.batch import BatchGame
from rummy_env.cards import KIND_TEXTS, NUM_RANKS, WILD, cards_text, parse_cards
from rummy_env.engine.tables import compile_tables
from rummy_env.game import Game
from rummy_env.gym_env import RummyEnv
from rummy_env.melds import catalogue, pack_of
from rummy_env.moves import MoveType, move_table
from rummy_env.observation import decode, layout
from rummy_env.players.base import make_player
from rummy_env.rules import Rules, preset
from tests.faces import eager
from tests.test_basic_game import takes

BASIC = preset("basic")
ANALYSIS = ("analysis",)

VARIANTS: dict[str, dict[str, Any]] = {
    "basic": {},
    "ace at both ends, jokers": {"ace": "high_or_low", "jokers": 3},
    "two packs, round the corner": {"ace": "corner", "decks": 2, "group_max": 4},
    "wild twos, melds of four": {"decks": 2, "wild_rank": 2, "group_size": 4, "run_length": 4},
    "a small pack": {"ranks": list("A23456"), "suits": ["c", "s"], "decks": 2, "deal": {"2": 5}, "players_max": 2},
    "own melds": {"layoff_own_only": True, "jokers": 1},
}


def shown(position: dict[str, Any]) -> dict[str, dict[str, int]]:
    """What the feature shows seat 0."""
    rules = BASIC.replace(**position.get("overrides", {}))
    env = basic_v0.raw_env(players=len(position["hands"]), rules=rules, features=ANALYSIS)
    env.reset(seed=0, options={"position": position})
    found = decode(rules, env.observe("player_0")["observation"], ANALYSIS)
    return {name: found.get(name, {}) for name in ("distance", "needed", "discard_accepted")}


def plain_distance(rules: Rules, hand: Counter[int]) -> int:
    """Over all groups and runs of the smallest size, whatever their wilds."""
    pack = pack_of(rules)
    lacks = [rules.group_size - sum(count for kind, count in hand.items() if kind != WILD and kind % NUM_RANKS == rank)
             for rank in pack.ranks]  # fmt: skip
    for suit in pack.suits:
        for low in pack.run_starts():
            places = [pack.natural(suit, place) for place in pack.run_places(low, rules.run_length)]
            lacks.append(sum(kind < 0 or not hand[kind] for kind in places))
    return max(0, min(lacks) - hand[WILD])


def plain_needed(rules: Rules, hand: Counter[int]) -> dict[str, int]:
    """Naturals with a companion (copies count as such in a group), and all wilds."""
    pack = pack_of(rules)
    needed = {KIND_TEXTS[WILD]: hand[WILD]} if hand[WILD] else {}
    size = len(pack.places)
    for kind in hand:
        if kind == WILD or not hand[kind]:
            continue
        of_rank = sum(count for other, count in hand.items() if other != WILD and other % NUM_RANKS == kind % NUM_RANKS)
        near = False
        for other in hand:
            if other in (WILD, kind) or not hand[other] or other // NUM_RANKS != kind // NUM_RANKS:
                continue
            for one in (place for place, rank in enumerate(pack.places) if rank == kind % NUM_RANKS):
                for two in (place for place, rank in enumerate(pack.places) if rank == other % NUM_RANKS):
                    apart = abs(one - two)
                    near |= (min(apart, size - apart) if pack.circular else apart) < rules.run_length
        if of_rank > 1 or near:
            needed[KIND_TEXTS[kind]] = hand[kind] if of_rank > 1 else 1
    return needed


HANDS: list[tuple[str, str, dict[str, Any]]] = [
    # the hand, the top discard, what is shown
    ("3c 4c 9d 9h Kd", "5c", {"distance": {"now": 1}, "needed": dict.fromkeys(("3c", "4c", "9d", "9h"), 1)}),
    (
        "3c 5c Jd Kd",
        "Qs",
        {"distance": {"now": 1, "with the top discard": 1}, "needed": dict.fromkeys(("3c", "5c", "Jd", "Kd"), 1)},
    ),
    ("3c 6c 9d Qh Ks", "3d", {"distance": {"now": 2, "with the top discard": 1}, "needed": {}}),
    ("Ac Kc 7d", "Qc", {"distance": {"now": 2, "with the top discard": 1}, "needed": {}}),  # the ace is low
    ("7c 7d 7h", "2s", {"distance": {}, "needed": dict.fromkeys(("7c", "7d", "7h"), 1)}),
]


@pytest.mark.parametrize(("hand", "top", "expected"), HANDS, ids=[row[0] for row in HANDS])
def test_hands(hand: str, top: str, expected: dict[str, Any]) -> None:
    position = {"rules": "basic", "to_act": 0, "phase": "draw", "hands": [hand, "8s"], "stock": "6s", "discards": top}
    assert shown(position) == {**expected, "discard_accepted": {}}


def test_the_distance_goes_on_after_a_meld() -> None:
    """Beside it stands whether a meld takes the top discard, for which no meld of the own is needed."""
    position = {
        "rules": "basic", "to_act": 0, "phase": "draw", "hands": ["3c 4c", "8s"], "stock": "6s", "discards": "9s",
        "melds": [{"owner": 0, "meld": "G9 9c9d9h"}], "down": [0],
    }  # fmt: skip
    own = shown(position)
    assert own["distance"] == {"now": 1, "with the top discard": 1} and own["discard_accepted"] == {"card": 1}
    other = {**position, "melds": [{"owner": 1, "meld": "G9 9c9d9h"}], "down": [1]}
    assert shown(other) == own
    assert shown({**other, "overrides": {"layoff_own_only": True}})["discard_accepted"] == {}


@pytest.mark.parametrize("name", VARIANTS)
def test_plain_counts_give_the_same(name: str) -> None:
    """Random hands, discards and melds, which fit together now and then."""
    rules, rng = BASIC.replace(**VARIANTS[name]), np.random.default_rng(len(name))
    pack, table = pack_of(rules), move_table(rules)
    melds = catalogue(pack)
    seen: Counter[str] = Counter()
    for _ in range(150):
        cards = [kind for kind, copies in enumerate(pack.copies) for _ in range(copies)]
        meld = melds[int(rng.integers(len(melds)))]
        for kind in meld.cards:
            cards.remove(kind)
        dealt = rng.permutation(cards).tolist()
        size = int(rng.integers(1, 9))
        hand, top = Counter(dealt[:size]), dealt[size]
        owner = int(rng.integers(2))
        position = {
            "rules": "basic", "overrides": VARIANTS[name], "to_act": 0, "phase": "draw", "stock": cards_text(dealt[-1:]),
            "hands": [cards_text(sorted(dealt[:size])), cards_text(dealt[-3:-1])], "discards": cards_text([top]),
            "melds": [{"owner": owner, "meld": meld.text(pack)}], "down": [owner],
        }  # fmt: skip
        found, game = shown(position), Game.from_position(position)
        now, then = plain_distance(rules, hand), plain_distance(rules, hand + Counter([top]))
        assert (found["distance"].get("now", 0), found["distance"].get("with the top discard", 0)) == (now, then), position
        assert found["needed"] == plain_needed(rules, hand), position
        offs = [move for move in table if move.cards == (top,) and MoveType.OFF_GROUP <= move.type <= MoveType.OFF_HIGH]
        accepted = any(takes(game, 0, move) for move in offs)
        assert found["discard_accepted"] == ({"card": 1} if accepted else {}), position
        counts = np.bincount(dealt[:size], minlength=WILD + 1).astype(np.int8)
        if hand[WILD] < size:
            fits = any(top in meld.cards and not Counter(meld.cards) - hand - Counter([top]) for meld in melds)
            assert completes_meld(compile_tables(rules), counts, top) == fits, position
            seen["completes"] += fits
        seen.update((f"now {now}", f"nearer {then < now}", f"accepted {accepted}"))
    assert (
        seen["now 1"] > 10 and seen["now 2"] > 3 and seen["nearer True"] > 3 and seen["accepted True"] > 1 < seen["completes"]
    ), seen


def test_the_meaning_of_the_blocks_is_that_of_free_melds() -> None:
    shape = layout(BASIC, ANALYSIS)
    assert "the next meld" in shape["distance"].meaning and "contract" not in shape["distance"].meaning
    assert "after laying down" not in shape["discard_accepted"].meaning


@pytest.mark.parametrize("rounds", ["random", "all"])
@pytest.mark.parametrize("gamma", [1.0, 0.9])
def test_shaping_in_batches(gamma: float, rounds: str) -> None:
    """Potentials are minus the distance over 12, all along; discounted, what is added makes minus the first potential."""
    number, rules = 8, BASIC.replace(max_deals=2)
    tables = BatchGame(rules, number, 2, "random", rounds=rounds, seed=4, shaping="distance", gamma=gamma)
    rng, seen, ends = np.random.default_rng(1), Counter[int](), 0
    tables.reset()

    def distances() -> list[int]:
        hands = [tables.states[index].hand[int(tables.seats[index])] for index in range(number)]
        return [plain_distance(rules, Counter(dict(enumerate(map(int, hand))))) for hand in hands]

    before = distances()
    first, sums, factors = [-number / 12 for number in before], np.zeros(number), np.ones(number)
    for _ in range(150):
        assert tables.arrays()["potentials"] == pytest.approx([-number / 12 for number in before])
        tables.step(np.array([eager(mask, rng, rules) for mask in tables.masks]))
        after = distances()
        for index in range(number):
            new = 0.0 if tables.dones[index] else -after[index] / 12
            assert tables.shaping[index] == pytest.approx(gamma * new + before[index] / 12, abs=1e-12)
            sums[index] += factors[index] * tables.shaping[index]
            factors[index] *= gamma
            if tables.dones[index]:
                assert sums[index] == pytest.approx(-first[index], abs=1e-9)
                first[index], sums[index], factors[index] = -after[index] / 12, 0, 1
                ends += 1
        seen.update(after)
        before = after
    assert ends >= 5 and {0, 1, 2} <= set(seen)


def test_shaping_in_the_gymnasium_environment() -> None:
    shaped, plain = (RummyEnv(players=2, rules="basic", features="analysis", shaping=one) for one in ("distance", None))
    rng = np.random.default_rng(3)

    def distance(vector: np.ndarray) -> int:
        return decode(BASIC, vector, ANALYSIS).get("distance", {}).get("now", 0)

    for seed in range(6):
        (observation, info), (other, _) = (env.reset(seed=seed) for env in (shaped, plain))
        before, over = distance(observation), False
        while not over:
            move = eager(info["action_mask"], rng, BASIC)
            (observation, reward, over, _, info), (other, pure, *_) = (env.step(move) for env in (shaped, plain))
            after = 0 if over else distance(observation)
            assert observation.tobytes() == other.tobytes()
            assert reward - pure == pytest.approx((before - after) / 12, abs=1e-9)
            before = after


def test_the_plain_counts_themselves() -> None:
    hand = Counter(parse_cards("3c 4c 9d 9h Kd"))
    assert plain_distance(BASIC, hand) == 1 and set(plain_needed(BASIC, hand)) == {"3c", "4c", "9d", "9h"}
    assert plain_distance(BASIC, Counter(parse_cards("3c 3d 3h"))) == 0
    assert plain_distance(BASIC.replace(jokers=2), Counter(parse_cards("3c **"))) == 1


# The greedy player, which decides by these

TABLE_NINES: dict[str, Any] = {"melds": [{"owner": 1, "meld": "G9 9c9d9h"}], "down": [1]}
GREEDY: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
    ("it takes what completes a group", {}, {"hands": ["7c 7d Kh", "8s"], "discards": "7h"}, "take"),
    ("it takes what completes a run", {}, {"hands": ["7c 9c Kh", "8s"], "discards": "8c"}, "take"),
    ("it leaves what makes only a pair", {}, {"hands": ["7c 9d Kh", "8s"], "discards": "7h"}, "stock"),
    ("it takes what it can lay off", {}, {"hands": ["3c Kh", "8s"], "discards": "9s", **TABLE_NINES}, "take"),
    ("but not without a meld of its own where one is needed", {"layoff_needs_own_meld": True},
     {"hands": ["3c Kh", "8s"], "discards": "9s", **TABLE_NINES}, "stock"),
    ("nor on melds of others where they are closed", {"layoff_own_only": True},
     {"hands": ["3c Kh", "8s"], "discards": "9s", **TABLE_NINES}, "stock"),
    ("where declining would block the deal it takes", {"stock_out": "end"},
     {"hands": ["3c Kh", "8s"], "discards": "9s", "stock": ""}, "take"),
    ("it lays the dearest meld", {}, {"phase": "play", "hands": ["3c 3d 3h Kc Kd Kh 4s", "8s"]}, "lay GK KcKdKh"),
    ("it lays off", {}, {"phase": "play", "hands": ["9s Kh 4s", "8s"], **TABLE_NINES}, "off 9s G"),
    ("it keeps pairs and neighbours", {}, {"phase": "play", "hands": ["Kc Kd Qh Jh 4s", "8s"]}, "discard 4s"),
    ("else it throws the dearest card", {}, {"phase": "play", "hands": ["Kc Kd Qh Jh", "8s"]}, "discard Kc"),
]  # fmt: skip


@pytest.mark.parametrize(("overrides", "fields", "move"), [row[1:] for row in GREEDY], ids=[row[0] for row in GREEDY])
def test_greedy(overrides: dict[str, Any], fields: dict[str, Any], move: str) -> None:
    phase = {"phase": "draw", "stock": "6s 5d", "discards": "2h", "turns": [1, 1]}
    game = Game.from_position({"rules": "basic", "overrides": overrides, "to_act": 0, **phase, **fields})
    assert game.table.text(make_player("greedy", game.rules).act(game.view(0), game.mask())) == move
