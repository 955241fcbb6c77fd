"""`rummy replay`: everything at once, as JSON, step by step at a terminal, and what it refuses."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rummy_env.cli import main
from rummy_env.game import Game, replay_steps
from rummy_env.record import write_records
from rummy_env.render.text import table_text
from tests.recorded import play_on, restocks

Captured = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def records() -> list[dict[str, Any]]:
    """Three games: one of two rounds, one from a position, one unfinished with a new stock."""
    long = play_on(Game(players=3, seed=3, rounds=[1, 3], overrides={"max_turns": 6}, names=["ann", "bo", "cy"]), "eager", 3)
    hands = ["7c 7d 7h 9s 9h 9d", "3c 4c"]
    short = play_on(Game.from_position({"rules": "international", "to_act": 0, "hands": hands, "stock": "5h"}), "eager", 1, 3)
    unfinished = play_on(Game(players=6, seed=4, rounds=[2]), "late", 4, 700)
    return [long.record(), short.record(), unfinished.record()]


@pytest.fixture(scope="module")
def file(records: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of the records."""
    path = tmp_path_factory.mktemp("replay") / "games.jsonl"
    write_records(path, records)
    return path


def run(capsys: Captured, *words: str | Path) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of `rummy replay` with these words."""
    code = main(["replay", *map(str, words)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def moves_of(record: dict[str, Any]) -> list[str]:
    return [line for one in record["rounds"] for line in one["moves"] if not line.startswith("*")]


# All at once


def test_everything_is_printed_where_no_terminal_is(capsys: Captured, file: Path, records: list[dict[str, Any]]) -> None:
    """Every move, and the table after it."""
    code, out, err = run(capsys, file)
    assert (code, err) == (0, "")
    head, *steps = out.rstrip("\n").split("\n\nThe cards are dealt: ")
    assert head == "Game 1: 0 ann, 1 bo, 2 cy. Seed: 3." and [step[:9] for step in steps] == ["round 1.\n", "round 3.\n"]
    shown = re.findall(r"^(\d) (?:ann|bo|cy): (.+)$", out, re.MULTILINE)
    assert [f"{seat} {move}" for seat, move in shown] == moves_of(records[0])
    for game, move in replay_steps(records[0]):
        if move is None or not game.record()["rounds"][-1]["moves"]:
            continue  # what follows the end of a round is the next deal
        if not game.over:
            assert f": {move.text}\n{table_text(game.rules, game.state)}" in out
    assert (code, out, err) == run(capsys, file, "--all")


def test_the_last_table_of_every_round_is_shown(capsys: Captured, file: Path, records: list[dict[str, Any]]) -> None:
    """With the hands that were left, how the round ended and its points."""
    _, out, _ = run(capsys, file)
    words = {"out": r"Player \d is out\.", "blocked": r"The round is blocked\.", "turn_limit": r"The turn limit is reached\."}
    for one in records[0]["rounds"]:
        points = ", ".join(f"player {seat} {number}" for seat, number in enumerate(one["points"]))
        assert re.search(rf"round {one['round']}: .*\n{words[one['end']]} Points: {points}\.\n", out)
    assert [int(score) for score in re.findall(r"score +(-?\d+)", out)[-3:]] == records[0]["scores"]


def test_a_new_stock_is_told(capsys: Captured, file: Path, records: list[dict[str, Any]]) -> None:
    assert restocks(records[2])
    _, out, _ = run(capsys, file, "--game", "3")
    lines = [line.removeprefix("* restock ") for one in records[2]["rounds"] for line in one["moves"] if line.startswith("*")]
    assert re.findall(r"^A new stock, in drawing order: (.+)$", out, re.MULTILINE) == lines


def test_a_game_from_a_position(capsys: Captured, file: Path) -> None:
    code, out, _ = run(capsys, file, "--game", "2")
    assert code == 0 and out.startswith(
        "Game 2: 0 player_0, 1 player_1. Seed: unknown.\n\nThe game begins from a position: round 1.\n"
    )


def test_a_game_of_basic(capsys: Captured, tmp_path: Path) -> None:
    """Deals instead of rounds and contracts; every one ends with its points; piles that are turned over are told."""
    record = play_on(Game("basic", players=2, seed=5, overrides={"max_deals": 3}), "late", 5).record()
    path = tmp_path / "basic.jsonl"
    write_records(path, [record])
    code, out, err = run(capsys, path)
    assert (code, err) == (0, "") and restocks(record)
    shown = re.findall(r"^(\d) player_\d: (.+)$", out, re.MULTILINE)
    assert [f"{seat} {move}" for seat, move in shown] == moves_of(record)
    lines = [line.removeprefix("* restock ") for one in record["rounds"] for line in one["moves"] if line.startswith("*")]
    assert re.findall(r"^A new stock, in drawing order: (.+)$", out, re.MULTILINE) == lines
    ends = {"out": r"Player \d is out\.", "turn_limit": r"The turn limit is reached\."}
    for number, one in enumerate(record["rounds"], start=1):
        points = ", ".join(f"player {seat} {gained}" for seat, gained in enumerate(one["points"]))
        assert re.search(rf"^Basic, deal {number}\. Dealer.*\n{ends[one['end']]} Points: {points}\.\n", out, re.MULTILINE)
    assert "contract" not in out and "group" not in out
    assert [int(score) for score in re.findall(r"score +(-?\d+)", out)[-2:]] == record["scores"]
    code, out, _ = run(capsys, path, "--json", "--round", "2")
    steps = [json.loads(line) for line in out.splitlines()]
    assert code == 0 and {step["round"] for step in steps} == {2} and steps[-1]["end"] == record["rounds"][1]["end"]
    assert all(Game.from_position(step["position"]).position() == step["position"] for step in steps[:-1])


def test_one_round(capsys: Captured, file: Path, records: list[dict[str, Any]]) -> None:
    code, out, _ = run(capsys, file, "--round", "3")
    shown = re.findall(r"^(\d) (?:ann|bo|cy): (.+)$", out, re.MULTILINE)
    assert code == 0 and [f"{seat} {move}" for seat, move in shown] == records[0]["rounds"][1]["moves"]
    assert "round 1" not in out


def test_json(capsys: Captured, file: Path, records: list[dict[str, Any]]) -> None:
    """One object a line: the round, the move, the position after it, and how a round ended with it."""
    code, out, err = run(capsys, file, "--json")
    steps = [json.loads(line) for line in out.splitlines()]
    assert (code, err) == (0, "")
    assert [step["move"] for step in steps if step["move"]] == moves_of(records[0])
    assert [step["round"] for step in steps if step["move"] is None] == [1, 3]
    ends = [step for step in steps if "end" in step]
    assert [(step["end"], step["points"]) for step in ends] == [(one["end"], one["points"]) for one in records[0]["rounds"]]
    assert all(step["position"]["phase"] == "over" and step["position"]["to_act"] is None for step in ends)
    assert ends[0]["position"]["round"] == 1 and ends[1]["position"]["scores"] == records[0]["scores"]
    expected = [game.position() for game, _ in replay_steps(records[0])]
    assert [step["position"] for step in steps if "end" not in step] == [one for one in expected if one["phase"] != "over"]
    for step in steps:
        if "end" not in step:
            assert Game.from_position(step["position"]).position() == step["position"]


def test_json_of_one_round(capsys: Captured, file: Path, records: list[dict[str, Any]]) -> None:
    _, out, _ = run(capsys, file, "--json", "--round", "3")
    steps = [json.loads(line) for line in out.splitlines()]
    assert {step["round"] for step in steps} == {3} and len(steps) == 1 + len(records[0]["rounds"][1]["moves"])
    _, out, _ = run(capsys, file, "--json", "--game", "3")
    assert any("restock" in json.loads(line) for line in out.splitlines())


def test_a_reader_that_stops_early(file: Path) -> None:
    """As in a pipe to `head`: no traceback."""
    command = [sys.executable, "-m", "rummy_env.cli", "replay", str(file), "--game", "3"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline().startswith("Game 3")
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 1


def test_names_cannot_control_the_terminal(capsys: Captured, records: list[dict[str, Any]], tmp_path: Path) -> None:
    """A record from elsewhere may be called anything."""
    path = tmp_path / "games.jsonl"
    rules = {**records[0]["rules"], "name": "\x1b[2Jmine\n"}
    path.write_text(json.dumps({**records[0], "rules": rules}), encoding="utf-8")
    code, out, _ = run(capsys, path)
    assert code == 0 and "\x1b" not in out and "\n?[2jmine?, round 1: 2 groups. " in out
    path.write_text(json.dumps({**records[0], "players": ["a", "\x1b[2J", "c"]}), encoding="utf-8")
    code, out, err = run(capsys, path)
    assert (code, out) == (2, "") and "\x1b" not in err and "players" in err


# Refusals


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("FILE --game 4", r"game must be from 1 to 3, the games of .*games\.jsonl, not 4"),
        ("FILE --game 0", "game must be a whole number from 1 up, not '0'"),
        ("FILE --game first", "game must be a whole number from 1 up, not 'first'"),
        ("FILE --round 2", "round must be one of the game's, 1, 3, not 2"),
        ("FILE --round last", "round must be a whole number from 1 up, not 'last'"),
        ("missing.jsonl", "cannot read 'missing.jsonl': No such file"),
        ("tests", "cannot read 'tests': Is a directory"),
        ("FILE --fast", "No such option: --fast"),
        ("", "Missing argument 'FILE'"),
    ],
)
def test_bad_input_is_one_line_and_code_2(capsys: Captured, file: Path, words: str, message: str) -> None:
    code, out, err = run(capsys, *(str(file) if word == "FILE" else word for word in words.split()))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert re.match(f"rummy: {message}", err), err


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda text: "", "has no games"),
        (lambda text: text[: len(text) // 2], "line 1: not JSON"),
        (lambda text: text.replace("rummy-record/1", "rummy-record/9"), "line 1: format must be 'rummy-record/1'"),
        (lambda text: text.replace("1 take", "1 discard 7s", 1), r"line 1: rounds\[\d\] moves\[\d+\]"),
        (lambda text: text.replace('"scores": [', '"scores": [1'), "line 1: scores"),
    ],
)
def test_damaged_files_are_named_and_nothing_is_printed(
    capsys: Captured, records: list[dict[str, Any]], tmp_path: Path, damage: Any, message: str
) -> None:
    path = tmp_path / "damaged.jsonl"
    path.write_text(damage(json.dumps(records[0])), encoding="utf-8")
    code, out, err = run(capsys, path)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert re.match(f"rummy: {re.escape(str(path))}:? {message}", err), err


# At a terminal


PROGRAM = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever this process has inherited
from rummy_env.cli import main
sys.exit(main())
"""
PROMPT = "Enter next, b back, r next round, q quit "
LAST_PROMPT = "The record ends here. b back, Enter or q quit "


class Terminal:
    """`rummy replay` at a pseudo-terminal."""

    def __init__(self, *words: str | Path):
        self.pty = pytest.importorskip("pty")
        self.termios = pytest.importorskip("termios")
        self.leader, follower = self.pty.openpty()
        self.before = self.termios.tcgetattr(follower)
        self.follower = follower
        command = [sys.executable, "-c", PROGRAM, "replay", *map(str, words)]
        environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
        self.process = subprocess.Popen(command, stdin=follower, stdout=follower, stderr=follower, env=environment)

    def read(self, prompt: str = PROMPT) -> str:
        """What is shown up to the next prompt."""
        shown = ""
        deadline = time.monotonic() + 300
        while not shown.endswith(prompt):
            assert time.monotonic() < deadline, shown
            shown += os.read(self.leader, 1).decode("ascii")
        return shown.removesuffix(prompt).replace("\r\n", "\n")

    def press(self, keys: str, prompt: str = PROMPT) -> str:
        """Press keys; what is shown up to the next prompt."""
        os.write(self.leader, keys.encode())
        return self.read(prompt)

    def rest(self, keys: str = "") -> int:
        """Press the last keys; the exit code. The terminal is then as it was."""
        os.write(self.leader, keys.encode())
        code = self.process.wait(timeout=600)
        assert self.termios.tcgetattr(self.follower) == self.before
        return code

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.leader)
        os.close(self.follower)


@pytest.fixture
def terminals() -> Iterator[list[Terminal]]:
    """Terminals that are closed after the test."""
    opened: list[Terminal] = []
    yield opened
    for terminal in opened:
        terminal.close()


def test_step_by_step(file: Path, records: list[dict[str, Any]], terminals: list[Terminal]) -> None:
    """Enter next, b back, r next round, q quit; other keys do nothing. A key counts as it is pressed."""
    terminals.append(terminal := Terminal(file))
    total = len(moves_of(records[0])) + 2
    first = terminal.read()
    assert (
        first.startswith("Game 1: 0 ann, 1 bo, 2 cy. Seed: 3.\n\n[1 of ")
        and f"[1 of {total}] The cards are dealt: round 1." in first
    )
    names = ["ann", "bo", "cy"]
    lines = [f"{line[0]} {names[int(line[0])]}:{line[1:]}" for line in records[0]["rounds"][0]["moves"]]
    assert terminal.press("\n").startswith(f"\n\n[2 of {total}] {lines[0]}\nInternational, round 1")
    assert f"[3 of {total}] {lines[1]}\n" in terminal.press(" ")
    assert f"[2 of {total}] {lines[0]}\n" in terminal.press("b")
    assert f"[1 of {total}] The cards are dealt" in terminal.press("xyzb")
    assert terminal.press("b") == "\n"  # there is nothing before the first
    assert f"[2 of {total}]" in terminal.press("\x1b[C") and f"[1 of {total}]" in terminal.press("\x1b[D")  # arrows
    later = len(lines) + 2
    assert f"[{later} of {total}] The cards are dealt: round 3." in terminal.press("r")
    assert terminal.press("r") == "\n"  # no round follows
    assert f"[{later - 1} of {total}] {lines[-1]}\n" in terminal.press("b")
    assert terminal.rest("q") == 0


def test_the_end_of_the_record(file: Path, records: list[dict[str, Any]], terminals: list[Terminal]) -> None:
    """Keys pressed ahead are not lost; Enter at the end quits."""
    terminals.append(terminal := Terminal(file, "--round", "3"))
    moves = records[0]["rounds"][1]["moves"]
    total = len(moves_of(records[0])) + 2
    assert f"[{total - len(moves)} of {total}] The cards are dealt: round 3." in terminal.read()
    shown = terminal.press("\n" * len(moves), LAST_PROMPT)
    assert shown.count(PROMPT) == len(moves) - 1 and f"[{total} of {total}]" in shown
    assert f"[{total - 1} of {total}]" in terminal.press("b")
    assert f"[{total} of {total}]" in terminal.press("\n", LAST_PROMPT)
    assert terminal.rest("\n") == 0


@pytest.mark.parametrize("key", ["q", "\x04"])
def test_leaving_at_once(file: Path, terminals: list[Terminal], key: str) -> None:
    terminals.append(terminal := Terminal(file))
    terminal.read()
    assert terminal.rest(key) == 0


def test_ctrl_c(file: Path, terminals: list[Terminal]) -> None:
    """Code 130, and the terminal is left as it was."""
    terminals.append(terminal := Terminal(file))
    terminal.read()
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.rest() == 130


def test_all_at_a_terminal(capsys: Captured, file: Path, terminals: list[Terminal]) -> None:
    """The same as where no terminal is."""
    _, expected, _ = run(capsys, file, "--all", "--game", "2")
    terminals.append(terminal := Terminal(file, "--all", "--game", "2"))
    shown = ""
    while len(shown.replace("\r\n", "\n")) < len(expected):
        shown += os.read(terminal.leader, 4096).decode()
    assert terminal.rest() == 0 and shown.replace("\r\n", "\n") == expected
