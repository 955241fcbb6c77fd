"""The engine and the reference in lockstep over mixed rules, and that the comparison sees every switch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rummy_env.game import Game
from rummy_env.rules import FIELDS
from tests.lockstep import RULES, STYLES, Difference, Tally, mixed_setting, play_lockstep
from tests.reference import ReferenceTable

RANDOM, EAGER, BUYER, SLOW = STYLES
CHUNKS = [("international", chunk, 60) for chunk in range(5)] + [("basic", chunk, 40) for chunk in range(4)]


@pytest.mark.parametrize(("game", "chunk", "games"), CHUNKS)
def test_mixed_games(game: str, chunk: int, games: int) -> None:
    """No difference in hundreds of games of random rules, and no part of them leaves out what is hard."""
    tally = Tally()
    for seed in range(chunk * games, (chunk + 1) * games):
        difference = mixed_setting(seed, game).play(tally)
        assert difference is None, f"\n{difference}"
    count = tally.counts
    for name in ("lay-downs", "lay-offs", "windows", "buys", "new stocks", "reopened", "end out", "end turn_limit"):
        assert count[name] > 0, (name, count)
    if game == "basic":
        assert count["out in one turn"] > 0 and count["rounds"] > count["games"]


@pytest.mark.parametrize("game", RULES)
def test_a_number_makes_one_game(game: str) -> None:
    """Rules, players, rounds and moves follow from the number alone."""
    assert mixed_setting(11, game) == mixed_setting(11, game)
    tallies = [Tally(), Tally()]
    for tally in tallies:
        mixed_setting(11, game).play(tally)
    assert tallies[0] == tallies[1]


# The engine plays the first overrides, the reference the first with the second: the difference has to be seen.
SMALL: dict[str, Any] = {
    "players_max": 3, "ranks": list("23456789"), "suits": list("cd"), "contracts": [[1, 0]], "deal": [6],
}  # fmt: skip
RUNS: dict[str, Any] = {"contracts": [[0, 2]], "deal": [14], "jokers": 8}
GROUPS: dict[str, Any] = {"contracts": [[2, 0]], "deal": [12], "jokers": 8}
SWITCHES: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {"max_buys": 0}),
    ({}, {"max_buys": 2}),
    (SMALL, {"buy_when_down": False}),
    ({}, {"turn_player_may_buy": True}),
    ({}, {"uncovered_live": False}),
    ({}, {"buy_first_upcard": False}),
    ({}, {"buy_extra": 0}),
    ({}, {"buy_extra": 2}),
    (GROUPS, {"min_naturals": 0}),
    (GROUPS, {"min_naturals": 2}),
    (GROUPS, {"max_wilds": 0}),
    (RUNS, {"max_wilds": 2}),
    (GROUPS, {"distinct_groups": True}),
    (RUNS, {"separate_runs": True}),
    (GROUPS, {"same_turn_layoff": True}),
    (SMALL, {"layoff_own_only": True}),
    ({}, {"redraw_ban": False}),
    ({**SMALL, "deal": [2]}, {"final_discard": True}),
    (SMALL, {"stock_out": "end"}),
    (SMALL, {"max_recycles": 1}),
    ({}, {"max_turns": 3}),
    ({"max_turns": 5}, {"points": "home"}),
    ({"max_turns": 5}, {"points": {"K": 11}}),
    (SMALL, {"group_max": 4}),
    (GROUPS, {"group_size": 4}),
    (RUNS, {"run_length": 3}),
    ({}, {"wild_rank": None}),
    ({}, {"jokers": 1}),
    ({}, {"deal": "exact"}),
    (GROUPS, {"contracts": [[3, 0]]}),
]


DEAL: dict[str, Any] = {"players_min": 3, "players_max": 3, "deal": {"3": 7}, "game_end": {"deals": 1}}
FEW: dict[str, Any] = {**DEAL, "ranks": list("A23456789"), "suits": list("cd"), "deal": {"3": 4}}
WILD: dict[str, Any] = {**DEAL, "jokers": 8}
BUYS: dict[str, Any] = {**FEW, "max_buys": None}
TARGET: dict[str, Any] = {**FEW, "game_end": {"target": 10}}
BASIC_SWITCHES: list[tuple[dict[str, Any], dict[str, Any]]] = [
    (DEAL, {"melds_per_turn": None}),
    (DEAL, {"melds_per_turn": 2}),
    (DEAL, {"layoff_needs_own_meld": True}),
    (DEAL, {"layoff_own_only": True}),
    (FEW, {"going_rummy": "double"}),
    (FEW, {"going_rummy": "plus_10"}),
    (DEAL, {"ace": "high"}),
    (DEAL, {"ace": "high_or_low"}),
    ({**DEAL, "ace": "high_or_low"}, {"ace": "corner"}),
    (DEAL, {"points": {"A": 15}}),
    ({**DEAL, "ace": "corner"}, {"points": {"A": 1}}),
    (DEAL, {"redraw_ban": False}),
    (FEW, {"stock_out": "shuffle"}),
    (FEW, {"stock_out": "end"}),
    ({**FEW, "stock_out": "shuffle"}, {"stock_out": "turn_over"}),
    (FEW, {"max_recycles": 0}),
    (FEW, {"max_recycles": 1}),
    ({**FEW, "max_turns": 2}, {"blocked_scoring": "all_penalty"}),
    ({**FEW, "max_turns": 2}, {"blocked_scoring": "lowest_takes_sum"}),
    ({**FEW, "max_turns": 2, "blocked_scoring": "all_penalty"}, {"scoring": "losers_penalty"}),
    (FEW, {"scoring": "losers_penalty"}),
    (FEW, {"final_discard": True}),
    (DEAL, {"max_turns": 3}),
    (DEAL, {"jokers": 1}),
    (DEAL, {"wild_rank": 2}),
    (DEAL, {"decks": 2}),
    (WILD, {"min_naturals": 0}),
    (WILD, {"min_naturals": 2}),
    (WILD, {"max_wilds": 0}),
    (WILD, {"group_max": 3}),
    (WILD, {"group_max": 5}),
    (DEAL, {"group_size": 2}),
    (DEAL, {"run_length": 4}),
    (DEAL, {"deal": {"3": 8}}),
    (FEW, {"max_buys": None}),
    (BUYS, {"max_buys": 1}),
    ({**DEAL, "max_buys": None}, {"buy_extra": 2}),
    (BUYS, {"buy_when_down": False}),
    (BUYS, {"turn_player_may_buy": True}),
    (FEW, {"game_end": {"deals": 2}}),
    (TARGET, {"game_end": {"target": 30}}),
    (TARGET, {"max_deals": 1}),
    (FEW, {"contracts": [[1, 0]], "deal": [4], "game_end": None, "max_deals": None}),
]
CASES = [("international", *case) for case in SWITCHES] + [("basic", *case) for case in BASIC_SWITCHES]


@pytest.mark.parametrize(("game", "overrides", "changed"), CASES, ids=[f"{case[0]} {json.dumps(case[2])}" for case in CASES])
def test_a_difference_is_found(game: str, overrides: dict[str, Any], changed: dict[str, Any], tmp_path: Path) -> None:
    """A reference with one rule changed parts from the engine within a few games, and the report is of use."""
    difference = first_difference(game, overrides, {**overrides, **changed})
    assert difference is not None
    assert difference.engine.keys() == difference.reference.keys() and difference.engine != difference.reference
    assert all(name in str(difference) for name in difference.engine)
    difference.save(tmp_path / "difference.json")
    saved = json.loads((tmp_path / "difference.json").read_text(encoding="utf-8"))
    assert saved["move"] == difference.move
    if saved["move"] is not None:
        game = Game.from_position(saved["position"])
        table = ReferenceTable.from_position(saved["position"])
        assert saved["move"] in {move.text for move in game.moves()} == table.legal()
        table.play(saved["move"], saved["restock"])


def first_difference(game: str, overrides: dict[str, Any], reference_overrides: dict[str, Any]) -> Difference | None:
    """Of a few games, of buyers and of players who lay down as soon as they can."""
    for seed in range(60):
        style = (EAGER, BUYER)[seed % 2]
        found = play_lockstep(seed, overrides, 3, style, reference_overrides=reference_overrides, rules=game)
        if found is not None:
            return found
    return None


@pytest.mark.parametrize(
    ("game", "overrides", "changed"),
    [
        ("basic", FEW, {"same_turn_layoff": True, "distinct_groups": True, "separate_runs": True}),
        ("basic", FEW, {"buy_when_down": False, "turn_player_may_buy": True, "buy_extra": 2}),
        ("basic", FEW, {"uncovered_live": False, "buy_first_upcard": False}),
        ("international", SMALL, {"melds_per_turn": 1, "layoff_needs_own_meld": True}),
    ],
)
def test_what_has_no_effect(game: str, overrides: dict[str, Any], changed: dict[str, Any]) -> None:
    """Fields that the fields page calls without effect: a reference that has them changed plays the same games."""
    assert first_difference(game, overrides, {**overrides, **changed}) is None


@pytest.mark.parametrize("game", RULES)
def test_every_switch_is_drawn(game: str) -> None:
    """The mixed games change every field that the game has a choice of."""
    fixed = {"name", "rounds"}
    if game == "international":
        fixed |= {
            "ace", "melds_per_turn", "layoff_needs_own_meld", "going_rummy", "scoring", "blocked_scoring", "game_end",
            "max_deals",
        }  # fmt: skip
    drawn: set[str] = set()
    for seed in range(150):
        drawn |= mixed_setting(seed, game).overrides.keys()
    assert drawn == set(FIELDS) - fixed
