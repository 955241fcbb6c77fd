"""Runs positions with expected moves and outcomes (the format of the scenario files) against the engine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rummy_env.game import Game

SEATS = ("passed", "down", "acted")


def load_scenarios(path: Path) -> list[dict[str, Any]]:
    """The entries of a JSON Lines file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def check_scenario(scenario: dict[str, Any]) -> None:
    """Check one entry at every depth; the failure names its id, its rule and the moves played."""
    label = f"{scenario['id']}: {scenario['rule']}"
    if "refused" in scenario:
        with pytest.raises(ValueError) as error:
            Game.from_position(scenario["position"])
        assert any(word in str(error.value) for word in scenario["refused"]), (label, str(error.value))
        return
    _check(scenario["position"], scenario, [], label)


def _check(position: dict[str, Any], expected: dict[str, Any], played: list[str], label: str) -> None:
    game = Game.from_position(position)
    for move in played:
        game.play(move)
    _compare(game, expected, f"{label} after {played}")
    for move, entry in expected.get("after", {}).items():
        _check(position, entry, [*played, move], label)


def _compare(game: Game, expected: dict[str, Any], label: str) -> None:
    now = game.position()
    legal = {move.text for move in game.moves()}
    state = game.state
    if "legal" in expected:
        assert legal == set(expected["legal"]), label
    assert set(expected.get("legal_includes", [])) <= legal, label
    assert not set(expected.get("legal_excludes", [])) & legal, label
    for key in ("phase", "to_act"):
        if key in expected:
            assert now[key] == expected[key], (label, key)
    if "hand_sizes" in expected:
        assert [len(hand.split()) for hand in now["hands"]] == expected["hand_sizes"], label
    if "stock_size" in expected:
        assert state.num_stock == expected["stock_size"], label
    if "top_discard" in expected:
        assert (now["discards"].split() or [None])[-1] == expected["top_discard"], label
    for key, value in expected.get("table", {}).items():
        given = sorted(now[key]) if key in SEATS else now[key]
        assert given == (sorted(value) if key in SEATS else value), (label, key)
    if "round_end" in expected:
        assert game.last_round is not None and game.last_round.end == expected["round_end"], label
    if "points" in expected:
        assert game.last_round is not None and list(game.last_round.points) == expected["points"], label
    if "game_over" in expected:
        assert game.over == expected["game_over"], label
    for key, value in expected.get("next", {}).items():
        found = {
            **now,
            "hand_sizes": [len(hand.split()) for hand in now["hands"]],
            "stock_size": int(state.num_stock),
        }
        assert found[key] == value, (label, "next", key)
