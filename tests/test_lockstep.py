"""The engine and the reference in lockstep over mixed rules, and that the comparison sees every switch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rummy_env.game import Game
from rummy_env.rules import FIELDS
from tests.lockstep import STYLES, Difference, Tally, mixed_setting, play_lockstep
from tests.reference import ReferenceTable

RANDOM, EAGER, BUYER, SLOW = STYLES
CHUNKS, GAMES = 5, 60


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_mixed_games(chunk: int) -> None:
    """No difference in 300 games of random rules, and none of them leaves out what is hard."""
    tally = Tally()
    for seed in range(chunk * GAMES, (chunk + 1) * GAMES):
        difference = mixed_setting(seed).play(tally)
        assert difference is None, f"\n{difference}"
    count = tally.counts
    for name in ("lay-downs", "lay-offs", "windows", "buys", "reshuffles", "reopened", "end out", "end turn_limit"):
        assert count[name] > 0, (name, count)


def test_a_number_makes_one_game() -> None:
    """Rules, players, rounds and moves follow from the number alone."""
    assert mixed_setting(11) == mixed_setting(11)
    tallies = [Tally(), Tally()]
    for tally in tallies:
        mixed_setting(11).play(tally)
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


@pytest.mark.parametrize(("overrides", "changed"), SWITCHES, ids=[json.dumps(changed) for _, changed in SWITCHES])
def test_a_difference_is_found(overrides: dict[str, Any], changed: dict[str, Any], tmp_path: Path) -> None:
    """A reference with one rule changed parts from the engine within a few games, and the report is of use."""
    difference = first_difference(overrides, {**overrides, **changed})
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


def first_difference(overrides: dict[str, Any], reference_overrides: dict[str, Any]) -> Difference | None:
    """Of a few games, of buyers and of players who lay down as soon as they can."""
    for seed in range(60):
        style = (EAGER, BUYER)[seed % 2]
        found = play_lockstep(seed, overrides, 3, style, reference_overrides=reference_overrides)
        if found is not None:
            return found
    return None


def test_every_switch_is_drawn() -> None:
    """The mixed games change every field that International has a choice of."""
    fixed = {
        "name", "ace", "melds_per_turn", "layoff_needs_own_meld", "going_rummy", "scoring", "blocked_scoring",
        "game_end", "max_deals", "rounds",
    }  # fmt: skip
    drawn: set[str] = set()
    for seed in range(150):
        drawn |= mixed_setting(seed).overrides.keys()
    assert drawn == set(FIELDS) - fixed
