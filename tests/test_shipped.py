"""The shipped players: found by name, made for the present rules and observation, as strong as they should be, in the wheel."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from rummy_env.arena import play_match, summarize
from rummy_env.players.base import make_player
from rummy_env.rules import preset

ROOT = Path(__file__).parents[1]
GAMES = ("international",)


@pytest.mark.parametrize("game", GAMES)
def test_the_card_says_what_the_description_says(game: str) -> None:
    folder = ROOT / "models" / game
    training = json.loads((folder / "agent.json").read_text())["training"]
    card = (folder / "README.md").read_text()
    assert f"{training['imitation_decisions']:,} decisions" in card
    assert f"seed {training['options']['seed']}" in card
    assert f"{training['seconds']} seconds" in card


@pytest.mark.parametrize("opponent", ["random", "dumper"])
@pytest.mark.parametrize("seats", [2, 4])
@pytest.mark.parametrize("game", GAMES)
def test_the_shipped_player_beats_the_weak_ones(game: str, seats: int, opponent: str) -> None:
    """Far below the strength on the card, so that only a fault of the code makes it fail."""
    learned, _ = summarize(play_match(game, ["learned", opponent], seats=seats, games=400, seed=11)).players
    assert learned.win_share.mean > 0.9
    assert learned.laid_down.mean > 0.9


def test_it_holds_its_own_against_its_teacher() -> None:
    difference = summarize(play_match("international", ["learned", "greedy"], games=1000, seed=11)).differences[0].points
    assert difference.mean < 5  # points of penalty a round more; a player that forgot half of it loses dozens


def test_rules_without_a_shipped_player_are_refused() -> None:
    with pytest.raises(ValueError, match="another observation layout"):
        make_player("learned", preset("international").replace(jokers=2))


def test_the_wheel_holds_them_and_plays_them(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "installed")
    for game in GAMES:
        assert (tmp_path / "installed/rummy_env/models" / game / "weights.safetensors").is_file()
    code = (
        "import rummy_env; from rummy_env.players.learned import shipped_agent; rules = rummy_env.preset('international');"
        "print(rummy_env.__file__, shipped_agent(rules), rummy_env.make_player('learned', rules).name)"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "installed")}
    answer = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, check=True, capture_output=True, text=True
    ).stdout.split()
    installed = tmp_path / "installed" / "rummy_env"
    assert answer == [str(installed / "__init__.py"), str(installed / "models" / "international"), "learned"]
