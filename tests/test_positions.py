"""Positions: they are read back as they were written, impossible ones are refused, and so are illegal moves.

The refusals follow the list of fields.md, "A position is refused for".
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import numpy as np
import pytest

from rummy_env.engine.state import PHASES
from rummy_env.game import Game
from rummy_env.position import position_of, read_position
from rummy_env.rules import Rules, preset
from tests.playing import STYLES, played

Position = dict[str, Any]

# Reading back what was written


RULE_SETS: dict[str, dict[str, Any]] = {
    "default": {},
    "few turns": {"max_turns": 4},
    "switches": {
        "max_buys": 3, "turn_player_may_buy": True, "buy_extra": 2, "same_turn_layoff": True, "min_naturals": 0,
        "final_discard": True, "jokers": 2, "rounds": [3, 1, 7],
    },
    "limits": {
        "distinct_groups": True, "separate_runs": True, "max_wilds": 1, "uncovered_live": False, "redraw_ban": False,
        "stock_out": "end", "layoff_own_only": True, "buy_when_down": False, "max_turns": 20,
    },
}  # fmt: skip


@pytest.mark.parametrize("overrides", RULE_SETS.values(), ids=RULE_SETS)
def test_a_position_is_read_back_as_it_was_written(overrides: dict[str, Any]) -> None:
    """`Game.from_position(game.position()).position()` equals `game.position()`, in every phase and through JSON."""
    rules = preset("international").replace(**overrides)
    phases: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    for players, style in zip((3, 6, 2), STYLES, strict=True):
        for driver in played(rules, players, 5, style, 450):
            position = position_of(rules, driver.state)
            again = Game.from_position(json.loads(json.dumps(position)))
            assert again.position() == position
            assert again.rules == rules
            phases[position["phase"]] += 1
            for field in ("melds", "laid_this_turn", "taken", "discarder", "passed", "down", "reshuffles"):
                seen[field] += bool(position[field])
    for phase in PHASES[:4]:
        assert phases[phase] >= 8, phases
    expected = ["melds", "laid_this_turn", "discarder", "passed", "down"]
    expected += ["taken"] if rules.redraw_ban else []
    expected += ["reshuffles"] if rules.stock_out != "end" and rules.max_turns > 10 else []
    assert all(seen[field] >= 8 for field in expected), seen


def test_a_position_read_back_has_the_same_moves() -> None:
    """A position holds everything that decides what is legal."""
    rules = preset("international")
    for driver in played(rules, 5, 8, "eager", 1500):
        driver.choose()  # writes the mask of the seat to act
        again = Game.from_position(position_of(rules, driver.state))
        assert np.array_equal(again.mask(), driver.mask)


def test_a_position_has_every_field_and_nothing_else() -> None:
    """The full position of the notation: its fields in their order."""
    assert list(Game(seed=1).position()) == [
        "rules", "overrides", "round", "dealer", "phase", "to_act", "turn", "discarder", "passed", "hands", "stock",
        "discards", "melds", "down", "laid_this_turn", "taken", "buys", "turns", "scores", "reshuffles", "acted",
        "acted_this_turn",
    ]  # fmt: skip


def test_the_full_position_of_the_notation() -> None:
    """The example of the notation's page, with every field, is read and written unchanged."""
    position = {
        "rules": "international", "overrides": {}, "round": 1, "dealer": 0,
        "phase": "play", "to_act": 1, "turn": 1, "discarder": None, "passed": [],
        "hands": ["3c 4c", "7c 7d 7h 9s **"], "stock": "5h 9c", "discards": "8d Qs",
        "melds": [{"owner": 0, "meld": "G8 8c8h**"}, {"owner": 0, "meld": "GK KcKdKs"}],
        "down": [0], "laid_this_turn": [], "taken": None,
        "buys": [0, 0], "turns": [3, 3], "scores": [0, 0], "reshuffles": 0, "acted": [0], "acted_this_turn": False,
    }  # fmt: skip
    assert Game.from_position(position).position() == position


def test_what_a_position_may_leave_out() -> None:
    """`rules`, `hands` and `to_act` are required; all else is empty, zero, null or `play`, and for `turn`, `to_act`."""
    position = Game.from_position({"rules": "international", "hands": ["3c", "4c 5c", "6c"], "to_act": 1}).position()
    assert position == {
        "rules": "international", "overrides": {}, "round": 1, "dealer": 0, "phase": "play", "to_act": 1, "turn": 1,
        "discarder": None, "passed": [], "hands": ["3c", "4c 5c", "6c"], "stock": "", "discards": "", "melds": [],
        "down": [], "laid_this_turn": [], "taken": None, "buys": [0, 0, 0], "turns": [0, 0, 0], "scores": [0, 0, 0],
        "reshuffles": 0, "acted": [], "acted_this_turn": False,
    }  # fmt: skip


def test_hands_are_printed_in_the_order_of_the_notation() -> None:
    """Hands are printed by suit c d h s, low to high in the rank order of the rules, wilds last."""
    given = {"rules": "international", "hands": ["** As 3s Kd Ac Tc 9c ** 3c", "4d"], "to_act": 0}
    assert Game.from_position(given).position()["hands"][0] == "3c 9c Tc Ac Kd 3s As ** **"


def test_overrides_are_what_differs_from_the_preset() -> None:
    """`rules` and `overrides` of a position name a preset and what differs from it, and are read back so."""
    rules = preset("international").replace(max_buys=2, points={"A": 20}, rounds=[2, 5])
    position = Game(rules, players=3, seed=4).position()
    assert (position["rules"], set(position["overrides"])) == ("international", {"max_buys", "points", "rounds"})
    assert read_position(position)[0] == rules
    named = Rules(name="ours", final_discard=True)
    position = Game(named, players=3, seed=4).position()
    assert position["overrides"] == {"name": "ours", "final_discard": True}
    assert read_position(position)[0] == named


# A position is refused for ...


HANDS = ["3c 4c", "7c 7d 7h 9s **", "Kc Kd"]
TABLE: Position = {"rules": "international", "round": 1, "dealer": 0, "hands": HANDS, "stock": "5h 9c", "discards": "8d Qs"}
PLAY: Position = {**TABLE, "phase": "play", "to_act": 1}
DRAW: Position = {**TABLE, "phase": "draw", "to_act": 1, "discarder": 0}
WINDOW: Position = {**TABLE, "phase": "window", "to_act": 1, "discarder": 0}
SECOND: Position = {**WINDOW, "to_act": 2, "turn": 1, "passed": [1]}  # seat 2 is asked after the player next in turn
LAYING: Position = {
    **TABLE, "phase": "laying", "to_act": 1, "hands": ["3c 4c", "8c 8d ** 9s", "Kc Kd"],
    "melds": [{"owner": 1, "meld": "G7 7c7d7h"}], "laid_this_turn": ["G7 7c7d7h"], "acted_this_turn": True,
}  # fmt: skip
LAID: Position = {
    **TABLE, "phase": "play", "to_act": 1, "hands": ["3c 4c", "9s Kh", "Kc Kd"],
    "melds": [{"owner": 1, "meld": "G7 7c7d7h"}, {"owner": 1, "meld": "G8 8c8h**"}],
    "laid_this_turn": ["G7 7c7d7h", "G8 8c8h**"], "down": [1], "acted_this_turn": True,
}  # fmt: skip


@pytest.mark.parametrize("position", [PLAY, DRAW, WINDOW, SECOND, LAYING, LAID])
def test_the_positions_from_which_the_refused_ones_are_made_are_accepted(position: Position) -> None:
    """What is changed below, and only that, makes a position impossible."""
    assert Game.from_position(position).moves()


def owned(*melds: str, owner: int = 0) -> list[dict[str, Any]]:
    return [{"owner": owner, "meld": meld} for meld in melds]


UNKNOWN_OR_TOO_MANY: list[tuple[Position, dict[str, Any], str]] = [
    (PLAY, {"hands": ["3c 4x", "7c", "Kc"]}, "4x"),
    (PLAY, {"hands": ["3c 2s", "7c", "Kc"]}, "2s"),  # every 2 is **
    (PLAY, {"hands": ["3c 4", "7c", "Kc"]}, "two characters"),
    (PLAY, {"stock": "5h 1c"}, "1c"),
    (PLAY, {"discards": "10s"}, "10s"),
    (PLAY, {"taken": "9x"}, "9x"),
    (PLAY, {"melds": owned("G5 5c5d5x")}, "5x"),
    (PLAY, {"hands": ["3c 3c 3c", "7c", "Kc"]}, "3c"),
    (PLAY, {"hands": ["3c", "7c", "7c"], "stock": "7c"}, "7c"),
    (PLAY, {"stock": "5h 5h", "discards": "5h"}, "5h"),
    (PLAY, {"hands": ["3c", "7c", "7c"], "melds": owned("G7 7c7d7h")}, "7c"),
    (PLAY, {"melds": owned("G9 9c9c9d"), "stock": "", "discards": "9c"}, "9c"),
    (PLAY, {"stock": "** ** ** ** ** ** ** **"}, "**"),  # eight 2s, one more in a hand
    (PLAY, {"overrides": {"decks": 1, "players_max": 4}, "stock": "7c"}, "7c"),
    (PLAY, {"overrides": {"wild_rank": None}}, "**"),
]
SEATS: list[tuple[Position, dict[str, Any], str]] = [
    (PLAY, {"to_act": 3}, "to_act"),
    (PLAY, {"to_act": -1}, "to_act"),
    (WINDOW, {"turn": 3}, "turn"),
    (PLAY, {"dealer": 3}, "dealer"),
    (WINDOW, {"discarder": 3}, "discarder"),
    (SECOND, {"passed": [1, 5]}, "passed"),
    (PLAY, {"down": [3]}, "down"),
    (PLAY, {"acted": [-1]}, "acted"),
    (PLAY, {"melds": owned("G5 5c5d5s", owner=3)}, "melds[0]"),
]
KINDS: list[tuple[Position, dict[str, Any], str]] = [
    (PLAY, {"hands": ["3c"], "to_act": 0}, "hands"),
    (PLAY, {"hands": ["3c"] * 2 + ["4c"] * 2 + ["5c"] * 2 + ["6c"]}, "hands"),  # seven players
    (PLAY, {"hands": "3c 4c"}, "hands"),
    (PLAY, {"hands": ["3c", ["4c"], "5c"]}, "hands[1]"),
    (PLAY, {"overrides": {"players_min": 4}}, "hands"),
    (PLAY, {"buys": [0, 0]}, "buys"),
    (PLAY, {"buys": [0, -1, 0]}, "buys"),
    (PLAY, {"turns": [1, 1, 1, 1]}, "turns"),
    (PLAY, {"turns": "3"}, "turns"),
    (PLAY, {"turns": [51, 50, 50]}, "turns"),  # max_turns is 50
    (PLAY, {"scores": [0, 0.5, 0]}, "scores"),
    (PLAY, {"scores": [0, True, 0]}, "scores"),
    (PLAY, {"stock": ["5h"]}, "stock"),
    (PLAY, {"discards": 5}, "discards"),
    (PLAY, {"melds": {}}, "melds"),
    (PLAY, {"melds": ["G5 5c5d5s"]}, "melds[0]"),
    (PLAY, {"melds": [{"owner": 0}]}, "melds[0]"),
    (PLAY, {"melds": [{"owner": 0, "meld": ["5c"]}]}, "melds[0]"),
    (PLAY, {"melds": [*owned("G5 5c5d5s"), {"owner": "0", "meld": "G6 6c6d6s"}]}, "melds[1]"),
    (LAYING, {"laid_this_turn": "G7 7c7d7h"}, "laid_this_turn"),
    (PLAY, {"taken": 7}, "taken"),
    (PLAY, {"phase": "over"}, "phase"),
    (PLAY, {"phase": 2}, "phase"),
    (PLAY, {"round": 0}, "round"),
    (PLAY, {"round": 8}, "round"),
    (PLAY, {"round": "1"}, "round"),
    (PLAY, {"round": True}, "round"),
    (PLAY, {"round": 2, "overrides": {"rounds": [1, 3]}}, "round"),
    (PLAY, {"to_act": True}, "to_act"),
    (PLAY, {"to_act": 1.0}, "to_act"),
    (PLAY, {"to_act": None}, "to_act"),
    (PLAY, {"dealer": "0"}, "dealer"),
    (PLAY, {"reshuffles": -1}, "reshuffles"),
    (PLAY, {"reshuffles": "no"}, "reshuffles"),
    (PLAY, {"acted_this_turn": 1}, "acted_this_turn"),
    (PLAY, {"down": 1}, "down"),
    (PLAY, {"colour": "red"}, "colour"),
    (PLAY, {"rules": "nonsense"}, "nonsense"),
    (PLAY, {"rules": None}, "rules"),
    (PLAY, {"rules": "no_such_file.yaml"}, "no_such_file.yaml"),
    (PLAY, {"overrides": "max_buys"}, "overrides"),
    (PLAY, {"overrides": []}, "overrides"),
    (PLAY, {"overrides": False}, "overrides"),
    (PLAY, {"overrides": {"max_buys": 1}, "buys": [0, 2, 0]}, "buys"),
    (PLAY, {"overrides": {"max_recycles": 1}, "reshuffles": 2}, "reshuffles"),
    (PLAY, {"overrides": {"stock_out": "end"}, "reshuffles": 1}, "reshuffles"),
    (PLAY, {"overrides": {"maxbuys": 1}}, "maxbuys"),
    (PLAY, {"overrides": {"max_buys": -1}}, "max_buys"),
]
EMPTY_HAND: list[tuple[Position, dict[str, Any], str]] = [
    (PLAY, {"hands": ["3c", "7c", ""]}, "hands[2]"),
    (DRAW, {"hands": ["3c", "  ", "Kc"]}, "hands[1]"),
]
MELDS: list[tuple[Position, dict[str, Any], str]] = [
    (PLAY, {"melds": owned("G5 5c5d")}, "melds[0]"),
    (PLAY, {"melds": owned("R5s 5s6s7s")}, "melds[0]"),
    (PLAY, {"melds": owned("G5 5c5d6h")}, "6h"),
    (PLAY, {"melds": owned("G2 ******")}, "melds[0]"),
    (PLAY, {"melds": owned("RQs QsKsAs**")}, "melds[0]"),  # a position inside 3..A only
    (PLAY, {"melds": owned("R2s **3s4s5s")}, "melds[0]"),
    (PLAY, {"melds": owned("G5 ******")}, "min_naturals"),
    (PLAY, {"melds": owned("R5s ********")}, "min_naturals"),
    (PLAY, {"melds": owned("G5 5c****"), "overrides": {"min_naturals": 2}}, "min_naturals"),
    (PLAY, {"melds": owned("G6 6c6d6h", "G5 5c****"), "overrides": {"max_wilds": 1}}, "melds[1]"),
    (PLAY, {"melds": owned("R5s 5s**7s**"), "overrides": {"max_wilds": 1}}, "max_wilds"),
    # however it grew, no four cards of it in a row have three naturals
    (PLAY, {"melds": owned("R5s 5s**7s****Ts"), "overrides": {"max_wilds": 1}}, "max_wilds"),
    (PLAY, {"melds": owned("G5 5c5d5h5s"), "overrides": {"group_max": 3}}, "group_max"),
    (PLAY, {"melds": owned("G5 5c5d5h5s**"), "hands": ["3c", "7c", "Kc"],
            "stock": "", "overrides": {"decks": 1, "players_max": 4}}, "group_max"),
]  # fmt: skip
TAKEN: list[tuple[Position, dict[str, Any], str]] = [
    (PLAY, {"taken": "Kc"}, "taken"),  # in another hand
    (PLAY, {"taken": "8d"}, "taken"),
    (DRAW, {"taken": "7c"}, "taken"),
    (WINDOW, {"taken": "7c"}, "taken"),
    (PLAY, {"taken": "7c", "overrides": {"redraw_ban": False}}, "taken"),
]
WINDOWS: list[tuple[Position, dict[str, Any], str]] = [
    (WINDOW, {"discards": "", "discarder": None}, "window"),
    (WINDOW, {"discards": ""}, "discarder"),
    (WINDOW, {"overrides": {"max_buys": 0}}, "window"),
    (WINDOW, {"overrides": {"max_buys": 2}, "buys": [0, 1, 2]}, "window"),  # seat 2 has none left, seat 0 discarded
    (WINDOW, {"overrides": {"buy_when_down": False}, "down": [2]}, "window"),
    (WINDOW, {"stock": "", "discards": "Qs"}, "window"),  # no card for a buy
    (WINDOW, {"stock": "5h", "discards": "Qs"}, "window"),  # a buy would leave nothing for the turn's draw
    (WINDOW, {"stock": "", "discards": "8d Qs"}, "window"),
    (WINDOW, {"stock": "", "discards": "8d 8h 9d Qs", "overrides": {"stock_out": "end"}}, "window"),
    (SECOND, {"to_act": 0, "passed": [1, 2]}, "to_act"),  # the one who made the fresh discard is not asked
    (SECOND, {"passed": []}, "passed"),
    (SECOND, {"passed": [1, 0]}, "passed"),
    (WINDOW, {"passed": [1]}, "passed"),
    (WINDOW, {"passed": [2]}, "passed"),
    # discarder null: the first up-card, or a card uncovered by a buy
    (WINDOW, {"overrides": {"uncovered_live": False, "buy_first_upcard": False}, "discarder": None}, "window"),
    (WINDOW, {"overrides": {"buy_first_upcard": False}, "discarder": None, "discards": "Qs"}, "window"),
    (WINDOW, {"overrides": {"uncovered_live": False}, "discarder": None, "buys": [1, 0, 0], "turns": [1, 1, 1]}, "window"),
    (WINDOW, {"discarder": 2}, "discarder"),  # who made the top discard in the turn before
    (WINDOW, {"discarder": 1}, "discarder"),
    (WINDOW, {"turns": [50, 50, 49]}, "turns"),  # the round would be over
    (DRAW, {"turns": [50, 50, 49]}, "turns"),
    (DRAW, {"passed": [2]}, "passed"),
    (PLAY, {"passed": [0]}, "passed"),
    (PLAY, {"turn": 2}, "turn"),
    (DRAW, {"turn": 0}, "turn"),
    (DRAW, {"stock": "", "discards": "", "discarder": None}, "stock"),  # the round would be blocked
]
THREE_GROUPS = {**LAYING, "round": 4, "overrides": {"distinct_groups": True}, "laid_this_turn": ["G7 7c7d7h", "G7 7c7d7s"],
                "melds": owned("G7 7c7d7h", "G7 7c7d7s", owner=1)}  # fmt: skip
THREE_RUNS = {
    **LAYING, "round": 7, "overrides": {"separate_runs": True}, "hands": ["3c", "8c 9c Tc Jc 4d", "Kc"],
    "melds": owned("R3s 3s4s5s6s", "R7s 7s8s9sTs", owner=1), "laid_this_turn": ["R3s 3s4s5s6s", "R7s 7s8s9sTs"],
}  # fmt: skip
HALF_LAID: list[tuple[Position, dict[str, Any], str]] = [
    (LAYING, {"laid_this_turn": [], "melds": []}, "laid_this_turn"),
    (LAYING, {"laid_this_turn": ["G8 8c8d8h"]}, "laid_this_turn"),
    (LAYING, {"laid_this_turn": ["G7 7c7d7h", "G7 7c7d7h"]}, "laid_this_turn"),
    (LAYING, {"melds": owned("G7 7c7d7h")}, "laid_this_turn"),  # another seat's
    (LAYING, {"down": [1]}, "laid_this_turn"),
    (LAYING, {"hands": ["3c", "8c 8d 9s", "Kc"]}, "laid_this_turn"),  # the second group is not in the hand
    (LAYING, {"hands": ["3c", "8c ** **", "Kc"], "overrides": {"min_naturals": 2}}, "laid_this_turn"),
    (LAYING, {"hands": ["3c", "8c ** **", "Kc"], "overrides": {"max_wilds": 1}}, "laid_this_turn"),
    (LAYING, {"hands": ["3c", "8c 8d 8h", "Kc"], "overrides": {"final_discard": True}}, "laid_this_turn"),
    (LAYING, {"hands": ["3c", "7s 7s ** 9s", "Kc"], "overrides": {"distinct_groups": True}}, "laid_this_turn"),
    (LAYING, {"round": 3}, "laid_this_turn"),  # two runs
    (LAYING, {"round": 7, "melds": owned("R3s 3s4s5s6s", "R7d 7d8d9dTd", owner=1),
              "laid_this_turn": ["R3s 3s4s5s6s", "R7d 7d8d9dTd"], "hands": ["3c", "7s 8s ** **", "Kc"],
              "overrides": {"separate_runs": True, "min_naturals": 2}}, "laid_this_turn"),
    (LAID, {"phase": "laying", "down": []}, "laid_this_turn"),  # the contract is complete
    (LAID, {"down": []}, "down"),
    (LAID, {"laid_this_turn": ["G7 7c7d7h"]}, "laid_this_turn"),
    (LAID, {"round": 4}, "laid_this_turn"),
    (LAYING, {"turn": 0}, "turn"),
    (DRAW, {"melds": owned("G7 7c7d7h", owner=1), "hands": ["3c", "9s", "Kc"], "laid_this_turn": ["G7 7c7d7h"]},
     "laid_this_turn"),
    # the groups of one contract need different ranks
    (THREE_GROUPS, {}, "laid_this_turn"),
    (LAID, {"melds": owned("G7 7c7d7h", "G7 7c7d**", owner=1), "overrides": {"distinct_groups": True},
            "laid_this_turn": ["G7 7c7d7h", "G7 7c7d**"]}, "laid_this_turn"),
    # two runs of one contract in the same suit may not touch
    (THREE_RUNS, {}, "laid_this_turn"),
    (THREE_RUNS, {"round": 3, "phase": "play", "down": [1]}, "laid_this_turn"),
    # exactly its groups and runs, three and four cards each
    (LAYING, {"melds": owned("G7 7c7d7h7s", owner=1), "laid_this_turn": ["G7 7c7d7h7s"]}, "laid_this_turn"),
    (LAID, {"melds": owned("G7 7c7d7h7s", "G8 8c8h**", owner=1), "laid_this_turn": ["G7 7c7d7h7s", "G8 8c8h**"]},
     "laid_this_turn"),
]  # fmt: skip
REFUSED = {
    "an unknown card or more copies than the pack has": UNKNOWN_OR_TOO_MANY,
    "seats out of range": SEATS,
    "fields of the wrong length or kind": KINDS,
    "an empty hand": EMPTY_HAND,
    "a meld that the rules could not have": MELDS,
    "taken not in the hand": TAKEN,
    "a window that the rules would not have": WINDOWS,
    "a half-laid contract that the rules would not have": HALF_LAID,
}


@pytest.mark.parametrize(
    ("position", "change", "word"),
    [pytest.param(*case, id=f"{sentence}-{number}") for sentence, cases in REFUSED.items()
     for number, case in enumerate(cases)],
)  # fmt: skip
def test_a_position_is_refused_for(position: Position, change: dict[str, Any], word: str) -> None:
    """The list of fields.md; the message names the card or the field."""
    with pytest.raises(ValueError) as error:
        Game.from_position({**position, **change})
    assert word in str(error.value)


@pytest.mark.parametrize("field", ["rules", "hands", "to_act"])
def test_a_required_field_that_is_missing(field: str) -> None:
    """`rules`, `hands` and `to_act` are required."""
    with pytest.raises(ValueError, match=field):
        Game.from_position({name: value for name, value in PLAY.items() if name != field})


@pytest.mark.parametrize("wrong", [None, [], "{}", 5])
def test_what_is_no_object_is_refused(wrong: Any) -> None:
    """A position is a JSON object."""
    with pytest.raises(ValueError, match="object"):
        Game.from_position(wrong)


@pytest.mark.parametrize(
    ("position", "change"),
    [
        (PLAY, {"melds": owned("G5 5c5c5d5h5s****")}),  # no group is limited in size
        (PLAY, {"melds": owned("R3s 3s**5s6s7s8s9sTsJsQsKsAs")}),  # a run grows to 3..A at most
        (PLAY, {"melds": owned("R5s **6s7s8s**"), "overrides": {"max_wilds": 1}}),  # laid with one wild, then grown
        (PLAY, {"melds": owned("G5 5c5d******"), "overrides": {"max_wilds": 1}}),
        (PLAY, {"melds": owned("G5 ******"), "overrides": {"min_naturals": 0}}),
        (PLAY, {"taken": "**"}),
        (DRAW, {"stock": ""}),
        (DRAW, {"discards": "", "discarder": None}),
        (WINDOW, {"discarder": None, "turns": [1, 1, 1], "buys": [1, 0, 0]}),  # uncovered by a buy
        (WINDOW, {"stock": "", "discards": "8d 9d Qs"}),  # a new stock of two: one with the buy, one for the draw
        (PLAY, {"scores": [-5, 100, 0], "turns": [50, 50, 50]}),
    ],
)
def test_a_position_that_the_rules_can_have_is_accepted(position: Position, change: dict[str, Any]) -> None:
    """What lies just inside the limits is a position."""
    game = Game.from_position({**position, **change})
    assert Game.from_position(game.position()).position() == game.position()
    assert game.moves()


# Illegal moves


DOWN: Position = {
    **TABLE, "phase": "play", "to_act": 1, "hands": ["3c 4c", "7s 9s Kh ** Qc", "Kc Kd"],
    "melds": owned("G7 7c7d7h", "GK KcKs**", owner=1) + owned("R8d 8d9dTdJd", owner=0), "down": [0, 1],
}  # fmt: skip
ILLEGAL: list[tuple[Position, dict[str, Any], str, str]] = [
    # window
    (WINDOW, {}, "stock", "window is open"),
    (WINDOW, {}, "discard 7c", "window is open"),
    (WINDOW, {}, "lay G7 7c7d7h", "window is open"),
    (WINDOW, {}, "buy", "seat 1, whose turn comes next, takes or passes"),
    (SECOND, {}, "take", "only seat 1"),
    (SECOND, {}, "stock", "window is open"),
    (WINDOW, {"overrides": {"turn_player_may_buy": True, "max_buys": 1}, "buys": [0, 1, 0]}, "buy", "takes or passes"),
    # draw
    (DRAW, {}, "pass", "no buy window"),
    (DRAW, {}, "buy", "no buy window"),
    (DRAW, {}, "discard 7c", "begins with a draw"),
    (DRAW, {}, "lay G7 7c7d7h", "begins with a draw"),
    (DRAW, {"discards": "", "discarder": None}, "take", "discard pile is empty"),
    (DRAW, {"stock": "", "discards": "Qs"}, "stock", "stock is empty"),
    # play
    (PLAY, {}, "stock", "has drawn"),
    (PLAY, {}, "take", "has drawn"),
    (PLAY, {}, "buy", "no buy window"),
    (PLAY, {}, "pass", "no buy window"),
    (PLAY, {}, "discard Kc", "Kc is not in the hand of seat 1"),
    (PLAY, {}, "lay G7 7c7d7s", "7s is not in the hand of seat 1"),
    (PLAY, {}, "lay G7 7c7c7d", "the hand of seat 1 holds 1 of 7c; the move needs 2"),
    (PLAY, {}, "lay G7 7c****", "holds 1 of **; the move needs 2"),
    (PLAY, {}, "lay G7 7c7d7h", "rest of the contract"),
    (PLAY, {"hands": ["3c", "6s 7s 8s 9s", "Kc"]}, "lay R6s 6s7s8s9s", "contract asks for 2 more groups and 0 more runs"),
    (PLAY, {"hands": ["3c", "7c 7d 7h 8c ** **", "Kc"], "overrides": {"min_naturals": 2}}, "lay G8 8c****", "min_naturals"),
    (PLAY, {"hands": ["3c", "7c 7d 7h 8c ** **", "Kc"], "overrides": {"max_wilds": 1}}, "lay G8 8c****", "max_wilds"),
    (PLAY, {"hands": ["3c", "7c 7d 7h 8c 8d **", "Kc"], "overrides": {"final_discard": True}}, "lay G7 7c7d7h", "rest"),
    (PLAY, {"taken": "7c"}, "discard 7c", "taken from the pile this turn"),
    (PLAY, {"hands": ["3c", "7c 7c 9s", "Kc"], "taken": "7c"}, "discard 7c", "taken from the pile this turn"),
    (PLAY, {"taken": "**"}, "discard **", "taken from the pile this turn"),
    (PLAY, {"melds": owned("G7 7c7d7s")}, "off 7h G", "has not laid down"),
    # laying
    (LAYING, {}, "discard 9s", "half laid"),
    (LAYING, {"melds": owned("G7 7c7d7h", owner=1) + owned("G9 9c9d9h")}, "off 9s G", "half laid"),
    (LAYING, {}, "stock", "has drawn"),
    (LAYING, {}, "lay G8 8c8d8h", "8h is not in the hand"),
    (LAYING, {"hands": ["3c", "8c 8d 8h ** **", "Kc"], "overrides": {"min_naturals": 2}}, "lay G8 8c****", "min_naturals"),
    # down
    (DOWN, {"hands": ["3c", "8c 8h 8s Qs", "Kc"]}, "lay G8 8c8h8s", "seat 1 has laid down"),
    (DOWN, {}, "off 9s G", "no meld on the table takes that card"),
    (DOWN, {}, "off Qc high", "no meld on the table"),  # the run is one of diamonds
    (DOWN, {}, "off ** high Qs", "no meld on the table"),
    (DOWN, {"overrides": {"layoff_own_only": True}}, "off ** low 7d", "no own meld"),
    (DOWN, {"overrides": {"group_max": 3}}, "off 7s G", "no meld"),
    (DOWN, {"hands": ["3c", "7s", "Kc"], "overrides": {"final_discard": True}}, "off 7s G", "final_discard"),
    (LAID, {"hands": ["3c 4c", "7s Kh", "Kc Kd"]}, "off 7s G", "laid down in this turn"),
]  # fmt: skip


@pytest.mark.parametrize(("position", "change", "move", "words"), ILLEGAL)
def test_an_illegal_move_is_refused_with_its_reason(position: Position, change: dict[str, Any], move: str, words: str) -> None:
    """A ValueError has the text of the move and why it is not legal now. Nothing is changed by a refused call."""
    game = Game.from_position({**position, **change})
    before = game.state.tobytes()
    with pytest.raises(ValueError) as error:
        game.play(move)
    message = str(error.value)
    assert message.startswith(f"{move}: ")
    assert words in message.removeprefix(f"{move}: ")
    assert game.state.tobytes() == before
    assert move not in [legal.text for legal in game.moves()]


def test_after_the_game_no_move_is_legal() -> None:
    """The game is over: every move is refused, the State stays, and nobody is to act."""
    last: Position = {**PLAY, "round": 7, "hands": ["3c 4c", "9s", "Kc Kd"], "down": [1]}
    game = Game.from_position(last)
    game.play("discard 9s")
    assert game.over and game.seat is None and game.moves() == []
    assert game.scores == (7, 0, 20)
    before = game.state.tobytes()
    for move in ("stock", "pass", "discard 3c", 0):
        with pytest.raises(ValueError, match="the game is over"):
            game.play(move)
    assert game.state.tobytes() == before
    assert (game.position()["phase"], game.position()["to_act"]) == ("over", None)


@pytest.mark.parametrize("wrong", ["discard 2s", "fold", 1141, -1, None, True, 1.5])
def test_what_is_no_move_changes_nothing(wrong: Any) -> None:
    """Nothing is changed by a refused call, whatever was given for a move."""
    game = Game.from_position(PLAY)
    before = game.state.tobytes()
    with pytest.raises(ValueError, match="no such move"):
        game.play(wrong)
    assert game.state.tobytes() == before
