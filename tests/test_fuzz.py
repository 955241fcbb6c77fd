"""Damaged input for every reader, a few seconds of it, and what was found that way; the fuzzer sees planted faults."""

from __future__ import annotations

import json
import random
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rummy_env import cli
from rummy_env.game import Game, replay
from rummy_env.players.learned import DESCRIPTION, load_agent
from rummy_env.record import read_records
from rummy_env.rules import Rules, load_rules, resolve_rules, shown
from tests import fuzz
from tests.test_wrong_calls import POSITION

HUGE = 10**5000
"""A number that Python does not write: `repr` raises."""


@pytest.fixture(scope="module", autouse=True)
def warm() -> None:
    """What is not damaged is accepted, and nothing has to be compiled within the time of a reader."""
    fuzz.warm_up()


@pytest.mark.parametrize("reader", fuzz.READERS)
def test_damaged_input(reader: str) -> None:
    if reader in fuzz.SLOW:
        pytest.importorskip("sb3_contrib")
    outcomes = set()
    for number in range(10 if reader == "checkpoint" else 120):
        finding, outcome = fuzz.attempt(reader, number)
        assert finding is None, str(finding)
        outcomes.add(outcome)
    assert outcomes - {"refused"} or reader in ("checkpoint", "overrides")  # few of these can be used
    assert outcomes - {"accepted"} or reader == "command"  # which says so itself


def test_a_number_makes_one_input(tmp_path: Path) -> None:
    for folder in (tmp_path / "a", tmp_path / "b"):
        folder.mkdir()
        for number in range(5):
            fuzz.fuzz_agent(random.Random(f"agent {number}"), folder)
    for name in fuzz.agent_files():
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


# The fuzzer itself: a reader that does what it may not do


def _type_error(folder: Path) -> None:
    raise TypeError("unhashable type")


def _no_message(folder: Path) -> None:
    raise ValueError


def _hang(folder: Path) -> None:
    time.sleep(5)


def _write(folder: Path) -> None:
    (folder / "left.tmp").write_bytes(b"")


def _warn(folder: Path) -> None:
    warnings.warn("overflow encountered", RuntimeWarning, stacklevel=1)


def _missing_file(folder: Path) -> None:
    (folder / "none").read_bytes()


@pytest.mark.parametrize(
    ("reader", "words"),
    [
        (_type_error, "TypeError: unhashable type"),
        (_no_message, "an unclear message"),
        (_hang, "Hangs"),
        (_write, "files written: ['left.tmp']"),
        (_warn, "RuntimeWarning: overflow"),
        (_missing_file, "FileNotFoundError"),
    ],
)
def test_faults_are_seen(reader: Callable[[Path], None], words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz, "SECONDS", 0.2)
    monkeypatch.setitem(fuzz.READERS, "planted", lambda chance, folder: lambda: reader(folder))
    finding, _ = fuzz.attempt("planted", 0)
    assert finding is not None and words in str(finding) and "planted --seed 0" in str(finding)


# What was found


def refused(call: Callable[[], Any], *words: str) -> None:
    """ValueError whose message has the words, and is of a length that can be read."""
    with pytest.raises(ValueError) as caught:
        call()
    assert all(word in str(caught.value) for word in words), str(caught.value)
    assert len(str(caught.value)) < 2000


def test_values_that_cannot_be_shown() -> None:
    loop: list[Any] = []
    loop.append(loop)
    for value in (HUGE, [HUGE], fuzz.deep(5000), {"a": fuzz.deep(5000)}, loop, "x" * 10**6, [1] * 10**6):
        assert 0 < len(shown(value)) < 500
    assert shown([1, "é", None]) == "[1, 'é', None]"


@pytest.mark.parametrize("value", [HUGE, [HUGE], fuzz.deep(5000)], ids=["huge", "huge in a list", "deep"])
def test_numbers_too_large_and_lists_too_deep(value: Any) -> None:
    """They used to end in a message about the conversion of integers, or in a RecursionError."""
    for name in ("to_act", "hands", "stock", "melds", "laid_this_turn", "taken", "buys", "phase", "overrides", "down"):
        refused(lambda name=name: Game.from_position({**POSITION, name: value}), name)  # type: ignore[misc]
    for name in ("decks", "deal", "points", "ranks", "name", "final_discard", "stock_out", "game_end"):
        refused(lambda name=name: resolve_rules("international", {name: value}), name)  # type: ignore[misc]
    record = fuzz.sample_games()[0].record()
    for name in ("format", "rules", "players", "rounds", "scores"):
        refused(lambda name=name: replay({**record, name: value}), name)  # type: ignore[misc]
    for name in ("round", "dealer", "deck", "moves", "end"):
        rounds = [{**record["rounds"][0], "points": [0, 0, 0], name: value}]
        refused(lambda rounds=rounds: replay({**record, "rounds": rounds}), "rounds[0]")  # type: ignore[misc]


def test_sums_too_large_in_a_record() -> None:
    """Scores and points are compared with those of the game, and the message about the difference could not be written."""
    game = Game(players=2, seed=1, rounds=[1], overrides={"max_turns": 1})
    while not game.over:
        game.play(game.moves()[-1])
    record = game.record()
    assert replay(record).over
    for value in (HUGE, -HUGE):
        refused(lambda value=value: replay({**record, "scores": [value, 0]}), "scores")  # type: ignore[misc]
        rounds = [{**record["rounds"][0], "points": [0, value]}]
        refused(lambda rounds=rounds: replay({**record, "rounds": rounds}), "rounds[0] points")  # type: ignore[misc]
        rounds = [{**record["rounds"][0], "round": value}]
        refused(lambda rounds=rounds: replay({**record, "rounds": rounds}), "rounds[0] round")  # type: ignore[misc]


def test_keys_too_large() -> None:
    refused(lambda: Rules.from_dict({"points": {HUGE: 5}}), "points has the unknown key")
    refused(lambda: Rules.from_dict({"ranks": [HUGE]}), "ranks must be")


def test_files_with_numbers_too_large(tmp_path: Path) -> None:
    path = tmp_path / "rules.yaml"
    path.write_bytes(b"decks: 0x" + b"f" * 5000)
    refused(lambda: load_rules(path), "rules.yaml", "decks")
    path.write_bytes(b'{"format": ' + b"9" * 5000 + b"}")
    refused(lambda: list(read_records(path)), "rules.yaml: line 1")
    for name, data in fuzz.agent_files().items():
        (tmp_path / name).write_bytes(data)
    description = json.loads((tmp_path / DESCRIPTION).read_text(encoding="utf-8"))
    text = json.dumps({**description, "seed": "?"}).replace('"?"', "9" * 5000)
    (tmp_path / DESCRIPTION).write_text(text, encoding="utf-8")
    refused(lambda: load_agent(tmp_path, fuzz.RULES), "agent.json is damaged")


def test_a_rule_file_of_many_keys(tmp_path: Path) -> None:
    """Looking for keys that stand twice took a time that grew with the square of their number."""
    path = tmp_path / "rules.yaml"
    path.write_text("".join(f"key{number}: 1\n" for number in range(20_000)), encoding="utf-8")
    with fuzz.time_limit():
        refused(lambda: load_rules(path), "unknown rule field 'key0'")
    path.write_text("max_buys: 1\n? [a, b]\n: 2\nmax_buys: 2\n", encoding="utf-8")
    refused(lambda: load_rules(path), "line 4", "'max_buys' stands twice")


@pytest.mark.parametrize(
    "value",
    ["[" * 5000, "2001-99-99", "!!int x", "!!timestamp x", "\ud800"],
    ids=["deep", "no day", "no number", "no date", "no text"],
)
def test_overrides_of_the_command(value: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["rules", "--overrides", f"max_buys={value}"]) == cli.BAD_INPUT
    said = capsys.readouterr().err
    assert "the value of max_buys cannot be read" in said and len(said) < 500


@pytest.fixture
def train() -> Any:
    """The training script as a module."""
    pytest.importorskip("sb3_contrib")
    return fuzz.training()


def test_a_bomb_in_a_training_configuration(tmp_path: Path, train: Any) -> None:
    """Twelve lines that stand for a million million entries, all of which used to go into the message."""
    path = tmp_path / "config.yaml"
    path.write_bytes(fuzz.bomb().replace(b"l11:", b"steps:").replace(b"l0:", b"lr:"))
    refused(lambda: train.read_options(path, []), "config.yaml", "lr must be of type float")
    path.write_bytes(b"steps: 0x" + b"f" * 5000)
    refused(lambda: train.read_options(path, []), "config.yaml")
    path.write_bytes(b"lr: 0.1\nsteps: !!timestamp x\n")  # PyYAML raises AttributeError
    refused(lambda: train.read_options(path, []), "config.yaml: line 2", "timestamp")
    path.write_bytes(b"lr: 0.1\nlr: 0.2\n")
    refused(lambda: train.read_options(path, []), "config.yaml: line 2", "'lr' stands twice")
    lines = fuzz.bomb().splitlines()
    lines[-1] = lines[-1].replace(b"l11:", b"gamma:")
    path.write_bytes(b"overrides: {" + b", ".join(lines[:-1]) + b"}\n" + lines[-1])
    refused(lambda: train.read_options(path, []), "config.yaml: gamma must be of type float")


def test_every_bit_of_a_checkpoint_counts(tmp_path: Path, train: Any) -> None:
    """A flipped bit in the tables used to reach the compiled kernels, which trust a State."""
    options = train.Options(tables=2, players=[2], opponents=["random"], hidden=[2], seed=1)
    run = train.Run(options, tmp_path, True)
    data = fuzz.run_files()[train.CHECKPOINT]
    path = tmp_path / train.CHECKPOINT
    path.write_bytes(data)
    run.load_checkpoint()
    start = 8 + int.from_bytes(data[:8], "little")
    for at in range(start, len(data), (len(data) - start) // 20):
        path.write_bytes(data[:at] + bytes([data[at] ^ 16]) + data[at + 1 :])
        refused(run.load_checkpoint, train.CHECKPOINT, "cannot be resumed from", "not those that were written")
