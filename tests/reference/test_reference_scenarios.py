"""The reference against the scenarios, and against itself.

Every entry of every scenario, at every depth, is played from its position afresh. The scenarios are data
beside the repository; where they are not there, these tests are skipped. Random rounds then check what no
scenario lists: that cards are never lost and that a position sets up the table it came from.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from itertools import combinations, product
from pathlib import Path
from typing import Any

import pytest

from . import INTERNATIONAL, ReferenceTable, next_round, pack, resolve
from .melds import LayDown, agree, groups_from, runs_from
from .ruleset import free_melds, place_of, sequence

SCENARIOS = Path(__file__).resolve().parents[2].parent / "shared" / "scenarios"
REGARDLESS_OF_ORDER = {"passed", "down", "acted"}

Moves = tuple[str, ...]


def load() -> list[dict[str, Any]]:
    """The scenarios of both games, or none where the folder does not exist."""
    files = [SCENARIOS / "international.jsonl", SCENARIOS / "basic.jsonl"]
    lines = [line for file in files if file.exists() for line in file.read_text(encoding="utf-8").splitlines()]
    return [json.loads(line) for line in lines if line.strip()]


ALL = load()
needs_scenarios = pytest.mark.skipif(not ALL, reason="the scenarios are not beside this repository")


def entries(stated: dict[str, Any], moves: Moves = ()) -> Iterator[tuple[Moves, dict[str, Any]]]:
    """Each entry with the moves that lead to it, the scenario itself first."""
    yield moves, stated
    for move, entry in stated.get("after", {}).items():
        yield from entries(entry, (*moves, move))


def next_table(table: ReferenceTable) -> ReferenceTable | None:
    """The round that follows a finished one, from a shuffled pack; None where the game is over."""
    assert table.points is not None
    scores = [score + points for score, points in zip(table.scores, table.points, strict=True)]
    place = place_of(table.rules, table.round)
    following = next_round(table.rules, place, table.dealer, table.players, scores)
    if following is None:
        return None
    deck = pack(table.rules)
    random.Random(1).shuffle(deck)
    return ReferenceTable.deal(table.rules, table.players, following[0], following[1], deck, scores)


def facts(table: ReferenceTable) -> dict[str, Any]:
    """What an entry may state of a table besides its moves."""
    position = table.position()
    return {
        "phase": table.phase,
        "to_act": table.to_act,
        "hand_sizes": [len(hand) for hand in table.hands],
        "stock_size": len(table.stock),
        "top_discard": table.discards[-1] if table.discards else None,
        "round": position["round"],
        "dealer": position["dealer"],
        "scores": position["scores"],
        "round_end": table.end,
        "points": table.points,
    }


def differences(table: ReferenceTable, stated: dict[str, Any]) -> list[str]:
    """All in which a table differs from what an entry states."""
    found = []
    legal = table.legal()
    known = facts(table)
    for key, value in stated.items():
        if key in ("id", "rule", "position", "after"):
            continue
        if key == "legal":
            if legal != set(value):
                found.append(f"legal: also {sorted(legal - set(value))}, not {sorted(set(value) - legal)}")
        elif key == "legal_includes":
            if not set(value) <= legal:
                found.append(f"legal misses {sorted(set(value) - legal)}")
        elif key == "legal_excludes":
            if set(value) & legal:
                found.append(f"legal should not have {sorted(set(value) & legal)}")
        elif key == "table":
            position = table.position()
            for field, wanted in value.items():
                got = position[field]
                if field in REGARDLESS_OF_ORDER:
                    got, wanted = sorted(got), sorted(wanted)
                if got != wanted:
                    found.append(f"table.{field}: {got}, not {wanted}")
        elif key == "game_over":
            if (next_table(table) is None) != value:
                found.append(f"game_over is not {value}")
        elif key == "next":
            following = next_table(table)
            found += ["no next round"] if following is None else differences(following, value)
        elif known[key] != value:
            found.append(f"{key}: {known[key]}, not {value}")
    return found


@needs_scenarios
@pytest.mark.parametrize("scenario", ALL, ids=[scenario["id"] for scenario in ALL])
def test_scenario(scenario: dict[str, Any]) -> None:
    """Every entry holds, and a position to be refused is refused with one of the words."""
    title = f"{scenario['id']}: {scenario['rule']}"
    if "refused" in scenario:
        with pytest.raises(ValueError) as refusal:
            ReferenceTable.from_position(scenario["position"])
        assert any(word in str(refusal.value) for word in scenario["refused"]), title
        return
    for moves, stated in entries(scenario):
        table = ReferenceTable.from_position(scenario["position"])
        for move in moves:
            table.play(move)
        assert differences(table, stated) == [], f"{title}\nafter {moves}"


VARIANTS: list[tuple[str, dict[str, Any]]] = [
    ("international", {}),
    ("international", {"turn_player_may_buy": True, "max_buys": 3, "same_turn_layoff": True, "jokers": 4}),
    ("international", {"uncovered_live": False, "buy_extra": 2, "max_recycles": 1, "distinct_groups": True,
                       "final_discard": True}),
    ("international", {"stock_out": "end", "buy_extra": 0, "separate_runs": True, "min_naturals": 2,
                       "buy_first_upcard": False}),
    ("international", {"decks": 1, "players_max": 3, "wild_rank": None, "jokers": 4, "min_naturals": 0,
                       "redraw_ban": False}),
    ("international", {"contracts": [[1, 0], [0, 1]], "deal": [5, 6], "points": "home", "max_turns": 9,
                       "layoff_own_only": True}),
    ("international", {"max_wilds": 1, "buy_when_down": False, "group_max": 4, "run_length": 3, "rounds": [2, 5],
                       "deal": "pagat"}),
    ("international", {"ace": "corner", "stock_out": "turn_over", "going_rummy": "double", "buy_extra": 2,
                       "blocked_scoring": "lowest_takes_sum", "scoring": "winner_takes_sum"}),
    ("basic", {}),
    ("basic", {"ace": "corner", "jokers": 4, "melds_per_turn": None, "suits": ["c", "d"], "players_max": 2}),
    ("basic", {"ace": "high_or_low", "wild_rank": 2, "decks": 2, "layoff_own_only": True, "max_recycles": 1}),
    ("basic", {"max_buys": None, "buy_extra": 2, "layoff_needs_own_meld": True, "final_discard": True}),
    ("basic_modern", {"redraw_ban": False, "max_turns": 12, "min_naturals": 0, "jokers": 8}),
    ("block", {"ranks": list("23456789"), "players_max": 4, "going_rummy": "plus_10"}),
]  # fmt: skip


@pytest.mark.parametrize(("game", "overrides"), VARIANTS, ids=range(len(VARIANTS)))
def test_random_rounds(game: str, overrides: dict[str, Any]) -> None:
    """Rounds of random moves: no card is lost, some move is legal until the end, and each position sets up a
    table with the same moves. Melding is preferred and pairs are kept, so that melds get on the table."""
    rules = resolve(game, overrides)
    chance = random.Random(str(overrides))
    players = chance.randint(2, min(4, rules["players_max"]))
    table: ReferenceTable | None = None
    for number in range(1, 6) if free_melds(rules) else sequence(rules):
        deck = pack(rules)
        chance.shuffle(deck)
        table = ReferenceTable.deal(rules, players, number, number % players, deck)
        for _ in range(250):
            if table.phase == "over":
                break
            legal = table.legal()
            assert legal
            again = ReferenceTable.from_position(json.loads(json.dumps(table.position())))
            assert again.position() == table.position()
            assert again.legal() == legal
            there = [*table.stock, *table.discards]
            for cards in [*table.hands, *(meld.cards for meld in table.melds)]:
                there += cards
            assert Counter(there) == Counter(pack(rules))
            table.play(choose(table, sorted(legal), chance))
        assert table.phase != "over" or (table.points is not None and table.end is not None)


def choose(table: ReferenceTable, legal: list[str], chance: random.Random) -> str:
    """A move: mostly melds where there are any, and discards that break no pair."""
    melding = [move for move in legal if move.startswith(("lay", "off"))]
    if melding and chance.random() < 0.8:
        return chance.choice(melding)
    ranks = Counter(card[0] for card in table.hands[table.to_act])
    lonely = [move for move in legal if move.startswith("discard") and ranks[move[8]] == 1 and move[8] != "*"]
    return chance.choice(lonely or legal)


LAY_VARIANTS: list[dict[str, Any]] = [
    {},
    {"max_wilds": 1, "distinct_groups": True},
    {"separate_runs": True, "min_naturals": 2},
    {"min_naturals": 0},
]


@pytest.mark.parametrize("overrides", LAY_VARIANTS, ids=range(len(LAY_VARIANTS)))
def test_lays_against_all_partitions(overrides: dict[str, Any]) -> None:
    """The lays of small hands against a search without shortcuts: every set of melds that fits the hand."""
    small = {"ranks": list("23456789"), "suits": ["c", "d"], "run_length": 3, "deal": [5] * 7}
    rules = resolve("international", {**overrides, **small})
    chance = random.Random(5)
    possible = 0
    for contract in ([2, 0], [1, 1], [0, 2], [3, 0], [2, 1], [1, 2]):
        for _ in range(6):
            hand = chance.sample(pack(rules), 3 * sum(contract) + chance.randint(0, 1))
            lays = LayDown(rules, hand, contract[0], contract[1], []).moves()
            assert {meld.text for meld in lays} == lays_by_partition(rules, hand, *contract)
            possible += bool(lays)
    assert possible


def lays_by_partition(rules: dict[str, Any], hand: list[str], groups: int, runs: int) -> set[str]:
    """The melds of all complete contracts: sets of cards are split off the hand until it is laid."""
    found: set[str] = set()

    def split(cards: list[str], laid: list[Any]) -> None:
        kinds = Counter(meld.kind for meld in laid)
        if kinds["G"] == groups and kinds["R"] == runs:
            found.update(meld.text for meld in laid)
            return
        for triple in sorted(set(combinations(sorted(cards), 3))):
            rest = list(cards)
            for card in triple:
                rest.remove(card)
            melds = [] if kinds["G"] == groups else list(groups_from(rules, triple))
            melds += [] if kinds["R"] == runs or kinds["G"] < groups else list(runs_from(rules, triple))
            for meld in melds:
                if all(agree(rules, meld, other) for other in laid):
                    split(rest, [*laid, meld])

    split(hand, [])
    return found


def test_full_hand_is_quick() -> None:
    """Twenty-five cards with eight wilds are answered, in the round with the most ways to lay."""
    deck = pack(resolve("international"))
    deck = [card for card in deck if card != "**"]
    naturals = random.Random(3).sample(deck, 17)
    for number in range(1, len(INTERNATIONAL["contracts"]) + 1):
        table = ReferenceTable.from_position(
            {"rules": "international", "round": number, "to_act": 0,
             "hands": [" ".join(naturals + ["**"] * 8), next(card for card in deck if card not in naturals)]}
        )  # fmt: skip
        assert any(move.startswith("lay") for move in table.legal())


ORDERS = {
    "high": ("23456789TJQKA", False),
    "low": ("A23456789TJQK", False),
    "high_or_low": ("A23456789TJQKA", False),
    "corner": ("A23456789TJQK", True),
}


def suit_of(card: str) -> int:
    """Its place in a group: by suit c d h s, wilds last."""
    return "cdhs*".index(card[1])


@pytest.mark.parametrize("ace", ORDERS)
@pytest.mark.parametrize("wild_rank", [None, 2])
@pytest.mark.parametrize(("min_naturals", "max_wilds"), [(1, None), (0, None), (2, None), (1, 1)])
def test_free_lays_against_all_patterns(ace: str, wild_rank: int | None, min_naturals: int, max_wilds: int | None) -> None:
    """The lays of free melds are all ways to fill three places with cards of the hand: place by place a natural or a wild."""
    rules = resolve(
        "basic", {"ace": ace, "wild_rank": wild_rank, "jokers": 3, "decks": 2, "min_naturals": min_naturals,
                  "max_wilds": max_wilds}
    )  # fmt: skip
    order, circle = ORDERS[ace]
    if wild_rank == 2 and ace == "high":
        order = order.replace("2", "")  # 3 4 .. K A
    naturals = [rank for rank in "A23456789TJQK" if wild_rank is None or rank != "2"]
    chance = random.Random(f"{ace} {wild_rank} {min_naturals} {max_wilds}")
    some = 0
    for wilds in (0, 1, 2, 3) * 4:
        hand = chance.sample([card for card in pack(rules) if card != "**" and card[0] in "A23QK"], 8) + ["**"] * wilds
        held = Counter(hand)
        expected = set()

        def add(name: str, places: list[list[str]], held: Counter[str] = held, expected: set[str] = expected) -> None:
            for cards in product(*places):
                count = cards.count("**")
                allowed = 3 - count >= min_naturals and (max_wilds is None or count <= max_wilds)
                if allowed and not Counter(cards) - held:
                    if name[0] == "G":
                        cards = tuple(sorted(cards, key=suit_of))
                    expected.add(f"lay {name} {''.join(cards)}")

        for rank in naturals:
            add(f"G{rank}", [[*(rank + suit for suit in "cdhs"), "**"]] * 3)
        for suit in "cdhs":
            for start in range(len(order) if circle else len(order) - 2):
                ranks = (order + order)[start : start + 3]
                add(f"R{ranks[0]}{suit}", [[rank + suit, "**"] if rank in naturals else ["**"] for rank in ranks])
        table = ReferenceTable.from_position(
            {"rules": "basic", "overrides": {name: rules[name] for name in ("ace", "wild_rank", "jokers", "decks",
             "min_naturals", "max_wilds")}, "to_act": 0, "hands": [" ".join(hand), "9c"]}
        )  # fmt: skip
        assert {move for move in table.legal() if move.startswith("lay")} == expected
        some += len(expected)
    assert some > 50


REFUSED_RULES: list[tuple[str, dict[str, Any], str]] = [
    ("basic", {"rounds": [1]}, "rounds"),
    ("basic", {"game_end": None}, "game_end"),
    ("basic", {"game_end": {"deals": 3, "target": 100}}, "game_end"),
    ("basic", {"game_end": {"rounds": 3}}, "game_end"),
    ("basic", {"game_end": {"deals": 0}}, "game_end"),
    ("basic", {"deal": [7]}, "deal"),
    ("basic", {"max_recycles": 1, "stock_out": "end"}, "max_recycles"),
    ("basic", {"group_max": 2}, "group_max"),
    ("basic", {"jokers": 9}, "jokers"),
    ("basic", {"ace": "middle"}, "ace"),
    ("basic", {"min_naturals": 4}, "min_naturals"),
    ("basic", {"contracts": [[1, 0]]}, "game_end"),
    ("international", {"game_end": {"deals": 3}}, "game_end"),
    ("international", {"max_deals": 3}, "max_deals"),
    ("international", {"contracts": None}, "deal"),
    ("international", {"deal": [10]}, "contracts"),
]


@pytest.mark.parametrize(("game", "overrides", "word"), REFUSED_RULES)
def test_rules_that_are_refused(game: str, overrides: dict[str, Any], word: str) -> None:
    """What the fields page refuses, with a message that names the field."""
    with pytest.raises(ValueError, match=word):
        resolve(game, overrides)


REFUSED_POSITIONS: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({}, {"phase": "laying"}, "phase"),
    ({}, {"phase": "window", "discards": "2c"}, "phase"),
    ({}, {"melds": [{"owner": 0, "meld": "R6c 6c7c8c"}, {"owner": 0, "meld": "G9 9c9d9h"}], "down": [0],
          "laid_this_turn": ["R6c 6c7c8c", "G9 9c9d9h"]}, "laid_this_turn"),
    ({"melds_per_turn": None}, {"melds": [{"owner": 0, "meld": "R6c 6c7c8c"}], "laid_this_turn": ["R6c 6c7c8c"]}, "down"),
    ({}, {"melds": [{"owner": 0, "meld": "RQc QcKcAc"}], "down": [0]}, "RQc"),
    ({"ace": "high_or_low"}, {"melds": [{"owner": 0, "meld": "RKc KcAc2c"}], "down": [0]}, "RKc"),
    ({"ace": "corner", "decks": 2}, {"melds": [{"owner": 0, "meld": "RAc Ac2c3c4c5c6c7c8c9cTcJcQcKcAc"}], "down": [0]}, "RAc"),
    ({"jokers": 3}, {"melds": [{"owner": 0, "meld": "G6 6c6d6h6s**"}], "down": [0]}, "G6"),
    ({"jokers": 3}, {"melds": [{"owner": 0, "meld": "G6 6s6c**"}], "down": [0]}, "by suit"),
    ({"wild_rank": 2}, {"melds": [{"owner": 0, "meld": "G2 ******"}], "down": [0]}, "G2"),
    ({"game_end": {"deals": 3}}, {"round": 4}, "round"),
    ({"max_deals": 2}, {"round": 3}, "round"),
    ({}, {"discarder": 1, "discards": ""}, "discarder"),
    ({"stock_out": "end"}, {"reshuffles": 1}, "reshuffles"),
    ({"max_recycles": 1}, {"reshuffles": 2}, "reshuffles"),
]  # fmt: skip


@pytest.mark.parametrize(("overrides", "fields", "word"), REFUSED_POSITIONS, ids=range(len(REFUSED_POSITIONS)))
def test_positions_that_are_refused(overrides: dict[str, Any], fields: dict[str, Any], word: str) -> None:
    """Positions of free melds that contradict their rules; without what contradicts them they are accepted."""
    base = {"rules": "basic", "overrides": overrides, "hands": ["5c Kd", "5d"], "to_act": 0}
    assert ReferenceTable.from_position(base).legal()
    with pytest.raises(ValueError, match=word):
        ReferenceTable.from_position({**base, **fields})


@pytest.mark.parametrize(
    ("overrides", "place", "scores", "expected"),
    [
        ({}, 0, [99, 0], (2, 1)),
        ({}, 0, [100, 0], None),
        ({}, 98, [99, -5], (100, 1)),
        ({}, 99, [99, -5], None),
        ({"max_deals": None}, 99, [99, -5], (101, 1)),
        ({"game_end": {"deals": 2}}, 0, [500, 0], (2, 1)),
        ({"game_end": {"deals": 2}}, 1, [0, 0], None),
        ({"game_end": {"deals": 5}, "max_deals": 2}, 1, [0, 0], None),
        ({"game_end": {"target": 7}, "scoring": "losers_penalty"}, 0, [0, 7], None),
    ],
)
def test_the_end_of_a_game(overrides: dict[str, Any], place: int, scores: list[int], expected: tuple[int, int] | None) -> None:
    """A fixed number of deals or up to a target, at most max_deals: what comes first ends the game."""
    assert next_round(resolve("basic", overrides), place, 0, 2, scores) == expected
