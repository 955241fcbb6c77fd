"""The shared scenario files, where they lie beside the repository: every entry at every depth."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.positions_runner import check_scenario, load_scenarios

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "scenarios"
SCENARIOS = load_scenarios(FOLDER / "international.jsonl") if FOLDER.is_dir() else []


@pytest.mark.skipif(not SCENARIOS, reason="the shared scenarios are not on this machine")
def test_the_folder_holds_scenarios() -> None:
    assert len(SCENARIOS) > 100


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario["id"])
def test_scenario(scenario: dict) -> None:
    check_scenario(scenario)
