"""The `rummy` command: what it prints, as text and as JSON, what it refuses, and Ctrl-C."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from rummy_env.cli import main
from rummy_env.moves import move_table
from rummy_env.observation import layout
from rummy_env.players.learned import save_agent
from rummy_env.rules import preset

Captured = pytest.CaptureFixture[str]


def run(capsys: Captured, *words: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of `rummy` with these words."""
    code = main(words)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


# evaluate


def test_evaluate_prints_the_setting_the_table_and_the_command(capsys: Captured) -> None:
    code, out, err = run(capsys, "evaluate", "--players", "greedy", "--players", "random", "--games", "40", "--seed", "3")
    assert (code, err) == (0, "")
    for text in ("Rules international", "2 seats", "seed 3", "40 games", "20 deals in 2 seatings", "even share of wins 50.0 %"):
        assert text in out
    rows = [line.split() for line in out.splitlines() if line.strip().startswith(("greedy ", "random "))]
    assert [row[0] for row in rows] == ["greedy", "random", "greedy"]  # two rows of the table and the difference
    assert "greedy minus random: -" in out and "greedy is better" in out
    command = "rummy evaluate greedy random --rules international --rounds random --seats 2 --games 40 --seed 3"
    assert out.splitlines()[-1] == f"Again: {command}"


def test_the_command_that_is_printed_repeats_the_match(capsys: Captured) -> None:
    words = "evaluate --players greedy,random dumper --players random --games 10 --seats 3 --rounds 1,3"
    _, out, _ = run(capsys, *words.split(), "--overrides", "max_turns=9")
    again = shlex.split(out.splitlines()[-1].removeprefix("Again: "))
    assert again[:6] == ["rummy", "evaluate", "greedy", "random", "random", "dumper"]
    code, repeated, err = run(capsys, *again[1:])
    assert (code, err, repeated) == (0, "", out)


@pytest.mark.parametrize("words", [["greedy", "random"], ["--players", "greedy", "random"], ["--players", "greedy,random"]])
def test_players_are_listed_in_several_ways(capsys: Captured, words: list[str]) -> None:
    code, out, _ = run(capsys, "evaluate", *words, "--games", "4", "--json")
    assert code == 0 and [player["name"] for player in json.loads(out)["players"]] == ["greedy", "random"]


def test_evaluate_json(capsys: Captured) -> None:
    words = ["evaluate", "greedy", "random", "--seats", "3", "--games", "10", "--rounds", "all", "--json"]
    code, out, err = run(capsys, *words)
    assert (code, err) == (0, "note: 10 games rounded up to 12, 4 deals in 3 seatings each\n")
    found = json.loads(out)
    expected = {
        "seats": 3, "games": 12, "requested_games": 10, "planned_games": 12, "deals": 4, "games_per_deal": 3, "seed": 0,
        "rounds": "all", "complete": True, "confidence": 0.95, "fewest_points_win": True, "format": "rummy-evaluation/1",
    }  # fmt: skip
    assert {key: found[key] for key in expected} == expected
    assert found["rules"] == preset("international").to_dict()
    assert found["even_share"] == pytest.approx(1 / 3)
    assert found["command"].startswith("rummy evaluate greedy random --rules international --rounds all --seats 3")
    measures = {"name", "points", "win_share", "place", "laid_down", "went_out", "turns", "buys"}
    assert all(set(player) == measures for player in found["players"])
    assert all(set(player["points"]) == {"mean", "low", "high"} for player in found["players"])
    assert [(entry["first"], entry["second"]) for entry in found["differences"]] == [("greedy", "random")]


def test_evaluate_where_most_points_win(capsys: Captured) -> None:
    """Single deals and whole games of Basic; who has more points is better, and wins."""
    words = "evaluate greedy random dumper --rules basic --games 60"
    code, out, err = run(capsys, *words.split())
    assert (code, err) == (0, "") and "Rules basic, 3 seats, one deal a game, seed 0: 60 games" in out
    assert "Most points win; even share of wins 33.3 %" in out
    assert "greedy minus random: +" in out and "greedy minus dumper: +" in out and out.count("greedy is better") == 2
    code, out, _ = run(capsys, *words.split(), "--rounds", "all", "--json")
    found = json.loads(out)
    assert code == 0 and found["fewest_points_win"] is False and found["rounds"] == "all"
    assert found["players"][0]["win_share"]["mean"] > 0.7 and found["players"][0]["points"]["mean"] > 0
    _, out, _ = run(capsys, *words.replace("60", "3").split(), "--rounds", "all")
    assert "whole games (to 100 points, at most 100 deals)" in out


def test_one_deal_has_no_intervals(capsys: Captured) -> None:
    _, out, _ = run(capsys, "evaluate", "greedy", "random", "--games", "2")
    assert "±" not in out.split("of rounds:")[1] and "one deal does not say how sure that is" in out
    _, out, _ = run(capsys, "evaluate", "greedy", "random", "--games", "2", "--json")
    assert json.loads(out)["players"][0]["points"]["low"] is None


def test_rules_files_and_overrides(capsys: Captured, tmp_path: Path) -> None:
    path = tmp_path / "my rules.yaml"
    path.write_text("preset: international\nname: mine\nmax_buys: 1\n")
    code, out, _ = run(
        capsys, "evaluate", "greedy", "random", "--games", "2", "--json",
        "--rules", str(path), "--overrides", "max_turns=7", "--overrides", "rounds=[2, 4]",
    )  # fmt: skip
    found = json.loads(out)
    rules = found["rules"]
    assert code == 0 and (rules["name"], rules["max_buys"], rules["max_turns"], rules["rounds"]) == ("mine", 1, 7, [2, 4])
    assert f"--rules {shlex.quote(str(path))} --overrides max_turns=7 --overrides 'rounds=[2, 4]'" in found["command"]


def test_a_saved_agent_is_a_player(capsys: Captured, tmp_path: Path) -> None:
    rules = preset("international")
    inputs, moves = layout(rules).size, len(move_table(rules))
    weights = np.random.default_rng(0).normal(size=(moves, inputs)).astype(np.float32)
    save_agent(tmp_path / "agent", rules, [(weights, np.zeros(moves, np.float32))])
    code, out, _ = run(capsys, "evaluate", "--players", str(tmp_path / "agent"), "dumper", "--games", "8", "--json")
    assert code == 0
    assert [player["name"] for player in json.loads(out)["players"]] == [str(tmp_path / "agent"), "dumper"]


# rules


def test_rules_in_words(capsys: Captured) -> None:
    code, out, err = run(capsys, "rules")
    assert (code, err) == (0, "")
    assert out.startswith(preset("international").describe())
    counts = "stock 1, take 1, buy 1, pass 1, lay 900, off_group 60, off_low 64, off_high 64, discard 49"
    assert "Moves: 1141 (fingerprint " in out and counts in out


def test_rules_of_free_melds_in_words(capsys: Captured) -> None:
    code, out, _ = run(capsys, "rules", "basic_modern")
    assert code == 0 and out.startswith(preset("basic_modern").describe())
    for text in (
        "Most new melds in a turn: no limit.",
        "Order in a run: A 2 3 4 5 6 7 8 9 T J Q K A.",
        "Lay-offs on all melds, before a meld of one's own too.",
        "No buying.",
        "When the stock is out, the discards below the top one are shuffled; new stocks: 2 times.",
        "Who goes out gets the points of all other hands; most points win.",
        "Going out in one turn: points doubled.",
        "The game ends when a score reaches 100; most deals: 100 deals.",
        "stock 1, take 1, lay 100, off_group 52, off_low 44, off_high 44, discard 52",
    ):
        assert text in out  # runs of three have 12 lowest places with an ace at either end, 11 places lie beyond one


def test_rules_with_the_move_table(capsys: Captured) -> None:
    _, out, _ = run(capsys, "rules", "basic", "--moves")
    lines = out.splitlines()
    assert [line.split(maxsplit=1)[1] for line in lines[-282:]] == [move.text for move in move_table(preset("basic"))]
    assert lines[-282].split() == ["0", "stock"]


def test_rules_json(capsys: Captured) -> None:
    code, out, _ = run(capsys, "rules", "international", "--overrides", "max_buys=3", "--json", "--moves")
    found = json.loads(out)
    rules = preset("international").replace(max_buys=3)
    assert code == 0 and found["rules"] == rules.to_dict() and found["description"] == rules.describe().splitlines()
    assert found["moves"]["number"] == 1141 == sum(found["moves"]["by_type"].values()) == len(found["table"])
    assert found["moves"]["fingerprint"] == move_table(rules).fingerprint


# Around the commands


def test_version_and_help(capsys: Captured) -> None:
    code, out, _ = run(capsys, "--version")
    assert code == 0 and re.fullmatch(r"rummy-env \d+\.\d+\.\d+\S*\n", out)
    for words in ([], ["--help"]):
        code, out, _ = run(capsys, *words)
        assert code == 0 and "evaluate" in out and "rules" in out


def test_help_loads_nothing_heavy() -> None:
    heavy = ("numba", "torch", "scipy", "rummy_env.arena")
    program = f"import sys, rummy_env.cli; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("evaluate", "no players are given; for example: rummy evaluate greedy random"),
        ("evaluate greedy nobody", "no such player: 'nobody'; players are random, dumper, greedy"),
        ("evaluate --players greedy,,random", "a player's name is empty"),
        ("evaluate greedy", "seats must be from 2 to 6, not 1 listed without a number of seats"),
        ("evaluate greedy random --seats 7", "seats must be from 2 to 6, not 7"),
        ("evaluate greedy random --seats two", "seats must be a whole number from 1 up, not 'two'"),
        ("evaluate greedy random --games 0", "games must be a whole number from 1 up, not '0'"),
        ("evaluate greedy random --games many", "games must be a whole number from 1 up, not 'many'"),
        ("evaluate greedy random --seed -1", "seed must be a whole number from 0 up, not '-1'"),
        ("evaluate greedy random --rounds 8", "rounds of the rules 'international' are 1 to 7, not 8"),
        ("evaluate greedy random --rules basic --rounds 3", "rounds must be random .* or all, not .3., for the rules 'basic'"),
        ("evaluate greedy random --rules basic --overrides rounds=[1]", "rounds must be null where contracts is null"),
        ("evaluate greedy random --rules basic --overrides group_size=2 --overrides decks=2", "group_size 2 and run_length 3"),
        ("evaluate greedy random --rounds some", "rounds must be random, all, or numbers such as 3 or 1,4, not 'some'"),
        ("evaluate greedy random --rules chess", "rules must be one of international, basic, .* not 'chess'"),
        ("evaluate greedy random --rules missing.yaml", "cannot read 'missing.yaml': No such file"),
        ("evaluate greedy random --overrides max_buyz=1", "unknown rule field 'max_buyz'; did you mean max_buys?"),
        ("evaluate greedy random --overrides max_buys=-1", "max_buys must be .* not -1"),
        ("evaluate greedy random --overrides max_buys", "overrides must be given as field=value, not 'max_buys'"),
        ("evaluate greedy random --overrides max_buys=[", r"the value of max_buys cannot be read: '\['"),
        ("evaluate greedy random --fast", "No such option: --fast"),
        ("rules chess", "rules must be one of international, basic, .* not 'chess'"),
        ("fly", "No such command 'fly'. Commands are evaluate, rules, replay."),
    ],
)  # fmt: skip
def test_bad_input_is_one_line_and_code_2(capsys: Captured, words: str, message: str) -> None:
    code, out, err = run(capsys, *words.split())
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert re.match(f"rummy: {message}", err), err


def test_damaged_files_are_named(capsys: Captured, tmp_path: Path) -> None:
    rules = tmp_path / "damaged.yaml"
    rules.write_text("preset: international\nmax_buys: [3\n")
    code, out, err = run(capsys, "evaluate", "greedy", "random", "--rules", str(rules))
    assert (code, out, err.count("\n")) == (2, "", 1) and str(rules) in err and "line 3" in err
    agent = tmp_path / "agent"
    agent.mkdir()
    (agent / "agent.json").write_text("{")
    code, out, err = run(capsys, "evaluate", str(agent), "random")
    assert (code, out, err.count("\n")) == (2, "", 1) and f"{agent / 'agent.json'} is damaged" in err


# Ctrl-C

PROGRAM = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever this process has inherited
from rummy_env.cli import main
sys.exit(main())
"""


def interrupted(*words: str) -> tuple[int, str, str]:
    """Run `rummy` with a terminal as stderr, press Ctrl-C once its bar counts games; exit code, stdout and the bar."""
    pty = pytest.importorskip("pty")
    leader, follower = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *words], stdout=subprocess.PIPE, stderr=follower, text=True, env=environment
    )
    os.close(follower)
    bar = ""
    deadline = time.monotonic() + 300
    try:
        while not re.search(r"[1-9]\d+/\d+", bar) and time.monotonic() < deadline:
            bar += os.read(leader, 4096).decode(errors="replace")
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=600)
    finally:
        process.kill()
        process.wait()
        os.close(leader)
    return process.returncode, out, bar


def test_ctrl_c_prints_what_is_known() -> None:
    code, out, bar = interrupted("evaluate", "greedy", "random", "--games", "10000000")
    assert code == 130 and "games" in bar
    found = re.search(r"interrupted after (\d+) of 10000000 games, (\d+) deals in 2 seatings", out)
    assert found and int(found[1]) == 2 * int(found[2]) > 0
    assert "greedy minus random" in out and "Again: rummy evaluate greedy random" in out


def test_ctrl_c_with_json() -> None:
    code, out, _ = interrupted("evaluate", "greedy", "random", "--games", "10000000", "--json")
    found = json.loads(out)
    assert code == 130 and found["complete"] is False and 0 < found["games"] < found["planned_games"] == 10_000_000
