"""The move table: how many moves, in which order, which rule fields change it, texts, parsing, features.

The expected tables are written out here from the notation and the design, never taken from the module.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections import Counter
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pytest

from rummy_env.moves import Move, MoveTable, MoveType, move_table
from rummy_env.rules import FIELDS, preset

HIGH = "3456789TJQKA"  # international.md: rank order, low to high; every 2 is wild
SUITS = "cdhs"


def table(**overrides: Any) -> MoveTable:
    """International's table with some rule fields changed."""
    return move_table(preset("international").replace(**overrides))


def texts(**overrides: Any) -> list[str]:
    return [move.text for move in table(**overrides)]


def groups(rank: str) -> list[str]:
    """The lays of one rank from two packs: fewer wilds first, then by suits; no card more than twice."""
    found = []
    for wilds in (0, 1, 2):
        for suits in combinations_with_replacement(SUITS, 3 - wilds):
            if max(Counter(suits).values()) <= 2:
                found.append(f"lay G{rank} {''.join(rank + suit for suit in suits)}{'**' * wilds}")
    return found


def runs(suit: str, low: int) -> list[str]:
    """The lays of one run: which places are wild is a binary number, the lowest place its lowest bit; never all."""
    found = []
    for wild_places in range(15):
        cards = ["**" if wild_places >> step & 1 else HIGH[low + step] + suit for step in range(4)]
        found.append(f"lay R{HIGH[low]}{suit} {''.join(cards)}")
    return found


def international(all_wild_lays: bool = False) -> list[str]:
    """The whole table by the design page: 4 + 900 lays + 48 + 12 + 64 + 64 + 49."""
    moves = ["stock", "take", "buy", "pass"]
    moves += [text for rank in HIGH for text in groups(rank)]
    moves += [text for suit in SUITS for low in range(9) for text in runs(suit, low)]
    if all_wild_lays:
        moves += [f"lay G{rank} ******" for rank in HIGH]
        moves += [f"lay R{HIGH[low]}{suit} ********" for suit in SUITS for low in range(9)]
    moves += [f"off {rank}{suit} G" for rank in HIGH for suit in SUITS]
    moves += [f"off ** G{rank}" for rank in HIGH]
    for form in ("off {card} {end}", "off ** {end} {card}"):
        for suit in SUITS:
            moves += [form.format(card=rank + suit, end="low") for rank in HIGH[:8]]  # 3 .. T below the shortest run
            moves += [form.format(card=rank + suit, end="high") for rank in HIGH[4:]]  # 7 .. A above it
    moves += [f"discard {rank}{suit}" for suit in SUITS for rank in "A3456789TJQK"]
    return [*moves, "discard **"]


def kinds_of_move(moves: list[str]) -> dict[str, int]:
    """How many moves of each kind there are, by their text alone."""
    found: Counter[str] = Counter()
    for text in moves:
        words = text.split()
        if words[0] == "lay":
            found["group" if words[1][0] == "G" else "run"] += 1
        elif words[0] == "off":
            wild = words[1] == "**"
            found[f"off {'wild' if wild else 'natural'} {'group' if 'G' in text else 'run'}"] += 1
        elif words[0] == "discard":
            found["discard"] += 1
        else:
            found["draw or answer"] += 1
    return dict(found)


def counts(first: int, group: int, run: int, g: int, wild_g: int, r: int, wild_r: int, discard: int) -> dict[str, int]:
    names = (
        "draw or answer", "group", "run", "off natural group", "off wild group", "off natural run", "off wild run",
        "discard",
    )  # fmt: skip
    numbers = (first, group, run, g, wild_g, r, wild_r, discard)
    return {name: number for name, number in zip(names, numbers, strict=True) if number}


def test_international_has_1141_moves_in_the_documented_order() -> None:
    """International's default rules, 1,141 in all: 4 + 900 lay + 48 + 12 + 64 + 64 + 49."""
    expected = international()
    assert len(expected) == 1141
    assert kinds_of_move(expected) == counts(4, 360, 540, 48, 12, 64, 64, 49)
    assert texts() == expected


def test_melds_of_wilds_only_stand_at_the_end_of_the_lays() -> None:
    """The all-wild melds of `min_naturals: 0` (12 groups, 36 runs) stand appended at the end of the lays only."""
    expected = international(all_wild_lays=True)
    assert len(expected) == 1141 + 12 + 36
    assert texts(min_naturals=0) == expected


def test_basic_has_282_moves_in_the_documented_order() -> None:
    """Basic, default rules: 282 = 2 + 96 + 52 + 80 + 52."""
    low = "A23456789TJQK"
    expected = ["stock", "take"]
    for rank in low:
        for left_out in reversed(SUITS):  # the choices of three suits in their order: cdh, cds, chs, dhs
            expected.append(f"lay G{rank} {''.join(rank + suit for suit in SUITS if suit != left_out)}")
    for suit in SUITS:
        for at in range(11):
            expected.append(f"lay R{low[at]}{suit} {''.join(rank + suit for rank in low[at : at + 3])}")
    assert len(expected) == 2 + 96
    expected += [f"off {rank}{suit} G" for rank in low for suit in SUITS]
    for suit in SUITS:
        expected += [f"off {rank}{suit} low" for rank in low[:10]]
        expected += [f"off {rank}{suit} high" for rank in low[3:]]
    expected += [f"discard {rank}{suit}" for suit in SUITS for rank in low]
    assert len(expected) == 282
    assert [move.text for move in move_table(preset("basic"))] == expected


# Only packs, jokers, `wild_rank`, `ace`, smaller decks, `group_size` and `run_length` change the table.
CHANGES: list[tuple[dict[str, Any], dict[str, int]]] = [
    # one pack: 4 + 6 + 4 groups a rank
    ({"decks": 1, "players_max": 4}, counts(4, 168, 540, 48, 12, 64, 64, 49)),
    # no wilds and natural 2s: 13 places, 16 groups a rank, 10 runs a suit
    ({"wild_rank": None}, counts(4, 208, 40, 52, 0, 72, 0, 52)),
    # one joker: 16 + 10 groups a rank (one wild); a run whole or with one wild at one of four places
    ({"wild_rank": None, "jokers": 1}, counts(4, 13 * 26, 40 * 5, 52, 13, 72, 72, 53)),
    # ace low: 13 places; a 2's place can only be filled by a wild, so two of ten runs a suit have 7 forms
    ({"ace": "low"}, counts(4, 360, 4 * (8 * 15 + 2 * 7), 48, 12, 4 * (8 + 9), 4 * (9 + 9), 49)),
    # an ace at each end: 14 places, 11 runs a suit
    ({"ace": "high_or_low"}, counts(4, 360, 4 * (9 * 15 + 2 * 7), 48, 12, 4 * (9 + 10), 4 * (10 + 10), 49)),
    # round the corner: 13 runs a suit, four of them over the 2's place; both ends reach every place
    ({"ace": "corner"}, counts(4, 360, 4 * (9 * 15 + 4 * 7), 48, 12, 4 * (12 + 12), 4 * (13 + 13), 49)),
    # two suits: 2 + 3 + 2 groups a rank, 2 x 12 naturals and the wild
    ({"suits": ["c", "s"], "players_max": 2}, counts(4, 84, 270, 24, 12, 32, 32, 25)),
    # seven ranks: 4 runs a suit, lay-offs at 3 places of either end
    ({"ranks": list("3456789"), "jokers": 4, "players_max": 3}, counts(4, 210, 240, 28, 7, 24, 24, 29)),
    # groups of four: 19 + 16 + 10 + 4 a rank
    ({"group_size": 4}, counts(4, 588, 540, 48, 12, 64, 64, 49)),
    # runs of three: 10 a suit with 7 forms each, lay-offs at 9 places of either end
    ({"run_length": 3}, counts(4, 360, 280, 48, 12, 72, 72, 49)),
]


@pytest.mark.parametrize(("overrides", "expected"), CHANGES, ids=lambda value: "-".join(value)[:30])
def test_fields_that_change_the_table(overrides: dict[str, Any], expected: dict[str, int]) -> None:
    """Packs, jokers, `wild_rank`, `ace`, smaller decks, `group_size` and `run_length` change the table."""
    changed = texts(**overrides)
    assert kinds_of_move(changed) == expected
    assert len(set(changed)) == len(changed)
    assert changed != international()


SAME: dict[str, list[dict[str, Any]]] = {
    "name": [{"name": "ours"}],
    "players_min": [{"players_min": 4}],
    "players_max": [{"players_max": 3}],
    "group_max": [{"group_max": 3}, {"group_max": 5}],
    "contracts": [{"contracts": [[1, 0]], "deal": [10]}, {"contracts": [[0, 3]], "deal": [13]}],
    "rounds": [{"rounds": [3]}, {"rounds": [1, 1, 7]}],
    "deal": [{"deal": "exact"}],
    "points": [{"points": "home"}],
    "max_buys": [{"max_buys": 0}, {"max_buys": 3}],
    "buy_when_down": [{"buy_when_down": False}],
    "turn_player_may_buy": [{"turn_player_may_buy": True}],
    "uncovered_live": [{"uncovered_live": False}],
    "buy_first_upcard": [{"buy_first_upcard": False}],
    "buy_extra": [{"buy_extra": 0}, {"buy_extra": 2}],
    "min_naturals": [{"min_naturals": 2}],
    "max_wilds": [{"max_wilds": 0}, {"max_wilds": 1}],
    "distinct_groups": [{"distinct_groups": True}],
    "separate_runs": [{"separate_runs": True}],
    "same_turn_layoff": [{"same_turn_layoff": True}],
    "layoff_own_only": [{"layoff_own_only": True}],
    "melds_per_turn": [{"melds_per_turn": 1}],
    "layoff_needs_own_meld": [{"layoff_needs_own_meld": True}],
    "redraw_ban": [{"redraw_ban": False}],
    "final_discard": [{"final_discard": True}],
    "going_rummy": [{"going_rummy": "double"}],
    "stock_out": [{"stock_out": "turn_over"}, {"stock_out": "end"}],
    "max_recycles": [{"max_recycles": 1}],
    "max_turns": [{"max_turns": 3}],
    "scoring": [{"scoring": "winner_takes_sum"}],
    "blocked_scoring": [{"blocked_scoring": "none"}],
}


@pytest.mark.parametrize(
    "overrides", [change for changes in SAME.values() for change in changes], ids=lambda change: str(change)[1:30]
)
def test_fields_that_do_not_change_the_table(overrides: dict[str, Any]) -> None:
    """`max_wilds`, `min_naturals` and `max_buys` only clear bits of the mask; nor does any other field change it."""
    assert texts(**overrides) == international()


def test_more_wilds_than_any_meld_needs_change_nothing() -> None:
    """All wilds of a rule set count alike: jokers beside the 2s add no move."""
    assert texts(jokers=4) == international()


def test_every_rule_field_is_in_one_of_the_two_lists() -> None:
    """Only packs, jokers, `wild_rank`, `ace`, smaller decks, `group_size` and `run_length` change the table."""
    changing = {"decks", "jokers", "wild_rank", "ace", "ranks", "suits", "group_size", "run_length"}
    assert {field for overrides, _ in CHANGES for field in overrides} - {"players_max"} == changing
    # game_end and max_deals are refused under contracts
    assert changing | set(SAME) | {"game_end", "max_deals"} == set(FIELDS)
    assert not changing & set(SAME)


TABLES: dict[str, dict[str, Any]] = {
    "default": {},
    "all wild": {"min_naturals": 0},
    "ace low": {"ace": "low"},
    "either end": {"ace": "high_or_low"},
    "corner": {"ace": "corner"},
    "natural 2s": {"wild_rank": None},
    "groups of four": {"group_size": 4},
    "runs of three": {"run_length": 3},
}


@pytest.mark.parametrize("overrides", TABLES.values(), ids=TABLES)
def test_id_text_and_move_name_each_other(overrides: dict[str, Any]) -> None:
    """parse(text(x)) == x for each move, whether it is given by id, by NumPy integer, by text or as a Move."""
    moves = table(**overrides)
    assert len({move.text for move in moves}) == len(moves)
    for id_, move in enumerate(moves):
        assert moves.id(id_) == moves.id(np.int16(id_)) == moves.id(move) == moves.id(move.text) == id_
        assert moves.text(id_) == str(move) == move.text
        assert moves[id_] is move
        assert moves.id(f"  {'   '.join(move.text.split())} ") == id_


def test_moves_of_another_table_with_the_same_text_are_the_same_move() -> None:
    """A move is known by its text: one of another table stands at the place that it has here."""
    other, own = table(min_naturals=0), table()
    assert own.id(other[len(other) - 1]) == 1140
    assert other.id(own[own.id("discard **")]) == 1140 + 48


@pytest.mark.parametrize(
    ("text", "type_", "cards", "suit", "target"),
    [
        ("stock", MoveType.STOCK, "", "", None),
        ("take", MoveType.TAKE, "", "", None),
        ("buy", MoveType.BUY, "", "", None),
        ("pass", MoveType.PASS, "", "", None),
        ("lay G7 7c7h**", MoveType.LAY, "7c 7h **", "", 6),  # ranks A 2 .. K are 0 .. 12
        ("lay R5s 5s**7s8s", MoveType.LAY, "5s ** 7s 8s", "s", 2),  # the places are 3 .. A, 5 the third
        ("off 7d G", MoveType.OFF_GROUP, "7d", "d", 6),
        ("off ** G7", MoveType.OFF_GROUP, "**", "", 6),
        ("off 4s low", MoveType.OFF_LOW, "4s", "s", 1),
        ("off 9s high", MoveType.OFF_HIGH, "9s", "s", 6),
        ("off ** low 4s", MoveType.OFF_LOW, "**", "s", 1),
        ("off ** high Ah", MoveType.OFF_HIGH, "**", "h", 11),
        ("discard 7d", MoveType.DISCARD, "7d", None, None),
        ("discard **", MoveType.DISCARD, "**", None, None),
    ],
)
def test_what_a_move_says(text: str, type_: MoveType, cards: str, suit: str | None, target: int | None) -> None:
    """Every row of the notation's table of moves: its type, the cards that leave the hand, the suit and the place."""
    kinds = {f"{rank}{suit}": s * 13 + r for s, suit in enumerate(SUITS) for r, rank in enumerate("A23456789TJQK")}
    move = table()[table().id(text)]
    assert move.type == type_
    assert list(move.cards) == [{**kinds, "**": 52}[card] for card in cards.split()]
    if suit is not None:
        assert move.suit == (SUITS.index(suit) if suit else -1)
    if target is not None:
        assert move.target == target


@pytest.mark.parametrize(
    "wrong",
    [
        "", "draw", "STOCK", "lay", "lay G7", "lay G7 7c7h", "lay G7 7h7c**", "lay G7 **7c7h", "lay G7 7c7c7c",
        "lay G7 ******", "lay G2 ******", "lay R5s 5s6s7s", "lay R5s ********", "lay RKs KsAs****", "lay R5s 5s6s7s8d",
        "off 7d", "off 7d G7", "off ** G", "off ** G2", "off Js low", "off 6s high", "off ** low Js", "off ** high 6s",
        "off 2s low", "discard 2s", "discard 7x", "discard", "discard 7d 7d", "1", "7d", "lay G7 7c7h** pass",
    ],
)  # fmt: skip
def test_a_text_that_is_no_move_is_refused_by_name(wrong: str) -> None:
    """A ValueError says what was given and how moves are written."""
    with pytest.raises(ValueError, match="no such move") as error:
        table().id(wrong)
    assert repr(wrong) in str(error.value)
    assert "discard 7d" in str(error.value)


@pytest.mark.parametrize("wrong", [-1, 1141, 10**9, np.int64(-5)])
def test_an_id_outside_the_table_is_refused_with_the_range(wrong: int) -> None:
    """A ValueError says what was given and what is allowed."""
    with pytest.raises(ValueError, match=rf"no such move: {int(wrong)}; .*0 to 1140"):
        table().id(wrong)


@pytest.mark.parametrize("wrong", [True, False, None, 1.0, np.float64(3), b"stock", ["stock"], ("stock",), {}])
def test_what_is_neither_id_nor_text_nor_move_is_refused(wrong: Any) -> None:
    """A ValueError says what was given; true is not the move 1, and 1.0 is not either."""
    with pytest.raises(ValueError, match="no such move"):
        table().id(wrong)


def test_a_move_that_this_table_lacks_is_refused() -> None:
    """Basic has no buying, so `buy` is no move of its table."""
    basic = move_table(preset("basic"))
    with pytest.raises(ValueError, match="buy"):
        basic.id(Move(MoveType.BUY, "buy"))


@pytest.mark.parametrize("moves", [*(table(**o) for o in TABLES.values()), move_table(preset("basic"))])
def test_features_describe_every_move_differently(moves: MoveTable) -> None:
    """The feature matrix: float32, one row a move and one column a name, in [0, 1], different for different moves."""
    features = moves.features
    assert features.dtype == np.float32
    assert features.shape == (len(moves), len(moves.feature_names))
    assert len(set(moves.feature_names)) == len(moves.feature_names)
    assert features.min() == 0 and features.max() == 1
    assert len(np.unique(features, axis=0)) == len(moves)


def test_features_say_what_their_names_say() -> None:
    """Some rows of International's table read by the names of their columns."""
    moves = table()
    names = moves.feature_names
    assert len(set(names)) == len(names)
    rows = {
        "stock": {"type stock": 1},
        "pass": {"type pass": 1},
        "lay G7 7c7c**": {
            "type lay": 1, "cards 7c": 0.5, "cards **": 0.25, "cards in all": 0.75, "meld is a group": 1,
            "group of 7": 1,
        },
        "lay R5s 5s**7s8s": {
            "type lay": 1, "cards 5s": 0.25, "cards 7s": 0.25, "cards 8s": 0.25, "cards **": 0.25, "cards in all": 1,
            "meld is a run": 1, "run of s": 1, "run covers place 2 (5)": 1, "run covers place 3 (6)": 1,
            "run covers place 4 (7)": 1, "run covers place 5 (8)": 1,
        },
        "off ** G7": {
            "type off_group": 1, "cards **": 0.25, "cards in all": 0.25, "meld is a group": 1, "group of 7": 1,
        },
        "off Ad high": {
            "type off_high": 1, "cards Ad": 0.25, "cards in all": 0.25, "meld is a run": 1, "run of d": 1,
            "run covers place 11 (A)": 1,
        },
        "off ** low 3h": {
            "type off_low": 1, "cards **": 0.25, "cards in all": 0.25, "meld is a run": 1, "run of h": 1,
            "run covers place 0 (3)": 1,
        },
        "discard **": {"type discard": 1, "cards **": 0.25, "cards in all": 0.25},
    }  # fmt: skip
    for text, expected in rows.items():
        row = moves.features[moves.id(text)]
        assert {names[at]: float(row[at]) for at in np.flatnonzero(row)} == expected, text


def test_fingerprint_names_the_table() -> None:
    """Equal fingerprints mean equal tables: sixteen digits over the texts in order, the same in every process."""
    expected = hashlib.sha256("\n".join(international()).encode()).hexdigest()[:16]
    assert table().fingerprint == table(max_buys=2, max_wilds=1).fingerprint == expected
    others = [table(**overrides).fingerprint for overrides, _ in CHANGES] + [table(min_naturals=0).fingerprint]
    assert len({expected, *others}) == len(others) + 1
    code = "from rummy_env import moves, rules; print(moves.move_table(rules.preset('international')).fingerprint)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == expected


def test_equal_rules_share_one_table() -> None:
    """The same table object for equal rules, another for others."""
    rules = preset("international")
    assert move_table(rules) is move_table(rules.replace())
    assert move_table(rules) is not move_table(rules.replace(min_naturals=0))
