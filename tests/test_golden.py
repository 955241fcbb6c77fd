"""The golden games are still the same, byte for byte, and they show what they are here for."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rummy_env.game import replay
from rummy_env.record import parse_record
from tests.golden.make import (
    FOLDER,
    GAMES,
    KERNELS,
    Golden,
    house_rules,
    main,
    melds_in_a_turn,
    new_stock,
    states_digest,
    turned_over,
    windows_of,
)


def read(golden: Golden) -> dict[str, Any]:
    return json.loads(golden.path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("golden", GAMES, ids=lambda golden: golden.name)
def test_the_same_players_play_the_same_game_again(golden: Golden) -> None:
    assert golden.text() == golden.path.read_text(encoding="utf-8")


@pytest.mark.parametrize("golden", GAMES, ids=lambda golden: golden.name)
def test_a_golden_game_is_replayed_byte_for_byte(golden: Golden) -> None:
    """From its decks alone, and from its seed: the same record, the same scores, the same bytes of every State."""
    whole = read(golden)
    record = whole["record"]
    parse_record(record)
    again = replay(record)
    assert again.record() == record and list(again.scores) == record["scores"] and again.over
    assert states_digest(record) == whole["states"]
    assert golden.shows(record)


@pytest.mark.parametrize("name", KERNELS)
def test_the_kernels_make_the_same_of_some_games(name: str) -> None:
    assert KERNELS[name]() == (FOLDER / name).read_text(encoding="utf-8").strip()


def test_nothing_else_lies_in_the_folder() -> None:
    assert {path.stem for path in FOLDER.glob("*.json")} == {golden.name for golden in GAMES}


def test_the_games_cover_what_they_should() -> None:
    records = [read(golden)["record"] for golden in GAMES]
    assert {len(record["players"]) for record in records} >= {2, 3, 4, 6}
    assert {one["end"] for record in records for one in record["rounds"]} == {"out", "blocked", "turn_limit"}
    assert {one["round"] for record in records for one in record["rounds"]} == set(range(1, 8))
    assert {record["rules"]["name"] for record in records} >= {"international", "basic", "basic_modern", "block"}
    free = [record for record in records if record["rules"]["contracts"] is None]
    assert {record["rules"]["scoring"] for record in free} == {"winner_takes_sum", "losers_penalty"}
    assert {record["rules"]["stock_out"] for record in free} == {"turn_over", "shuffle", "end"}
    assert {one["end"] for record in free for one in record["rounds"]} >= {"out", "blocked"}


def test_what_a_game_shows_is_not_in_every_game() -> None:
    records = {golden.name: read(golden)["record"] for golden in GAMES}
    basic, modern, house = (records[name] for name in ("basic", "basic_modern", "basic_house"))
    assert not any(shows(records["block"]) for shows in (new_stock, turned_over, melds_in_a_turn, house_rules))
    assert not turned_over(modern) and not melds_in_a_turn(basic) and not house_rules(modern)
    assert not turned_over({**basic, "scores": [99, 99, 99]}) and turned_over({**basic, "scores": [0, 0, 100]})
    for word in ("buy", "restock", "**", "lay R"):
        rounds = [{**one, "moves": [move for move in one["moves"] if word not in move]} for one in house["rounds"]]
        assert not house_rules({**house, "rounds": rounds}), word


def test_windows_are_told_apart() -> None:
    moves = ["1 pass", "2 buy", "* restock 3c", "1 buy", "0 buy", "1 take", "1 discard 4c", "2 buy", "2 stock"]
    assert windows_of({"rounds": [{"moves": moves}]})[:2] == [["1 pass", "2 buy", "1 buy", "0 buy"], []]


def test_the_check_notices_a_difference(monkeypatch: pytest.MonkeyPatch, tmp_path: Any, capsys: Any) -> None:
    monkeypatch.setattr("tests.golden.make.FOLDER", tmp_path)
    monkeypatch.setattr("tests.golden.make.GAMES", GAMES[6:7])
    assert main(["--check"]) == 1 and not list(tmp_path.iterdir())
    assert main([]) == 0 and {path.name for path in tmp_path.iterdir()} == {"turn_limit.json", *KERNELS}
    assert main(["--check"]) == 0
    (tmp_path / "turn_limit.json").write_text("{}")
    assert main(["--check"]) == 1
    assert "differs" in capsys.readouterr().out
