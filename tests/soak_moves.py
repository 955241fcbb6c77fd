"""Random moves by the hundred million, with everything of `tests/invariants.py` checked in the kernels after each.

    python tests/soak_moves.py --moves 1_000_000_000 --threads 2 --tables 16 --seed 0 --out fault.json

Every 200,000 moves the rules are drawn anew, with any switch of International or, with `--rules`, of Basic or of each in
turn, for 2 to 6 players; half of the tables lay whenever they can. Rule set number n and its games depend on n, `--rules` and
the number of tables alone, so a run that was stopped goes on with the `--seed` and `--moves` that it prints, and the number of
threads changes nothing. The first fault is printed and written
as JSON: rules, table, the position before the move, the move. Exit status 1 means a fault.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import signal
import sys
import time
from collections import deque
from collections.abc import Generator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rummy_env.engine.random import child_key
from rummy_env.engine.state import new_states
from rummy_env.engine.tables import table_array
from rummy_env.game import game_key
from rummy_env.moves import move_table
from rummy_env.position import position_of
from rummy_env.rules import Rules, resolve_rules
from tests.invariants import FAULTS, TALLY, play_table
from tests.lockstep import RULES, Setting, mixed_setting
from tests.soak import SAY_EVERY, whole

PER_RULES = 200_000
"""Moves under one rule set; drawing and compiling one takes as long as some thousand."""
MIXED = "mixed"
"""For `--rules`: the rule sets are of the games in turn."""


@dataclass
class Fault:
    """What was found: where, under which rules, and how it came about."""

    name: str
    rules: str  # --rules
    rule_set: int  # the --seed that begins with it
    tables: int
    table: int
    players: int
    overrides: dict[str, Any]
    rounds: list[int]
    move_number: int  # of the table, from 1
    move: str | None  # None: the deal or the mask
    position: dict[str, Any] | None  # before the move; None where it cannot be written
    state: str  # the bytes of the State as hexadecimal digits
    before: str

    def __str__(self) -> str:
        lines = [f"fault: {self.name}"]
        lines += [f"--rules {self.rules} --seed {self.rule_set} --tables {self.tables}, table {self.table}"]
        lines += [f"{self.players} players, rounds {self.rounds}, overrides {json.dumps(self.overrides)}"]
        return "\n".join([*lines, f"position {json.dumps(self.position)}", f"move {self.move_number}: {self.move}"])


@dataclass
class Outcome:
    """What became of one rule set."""

    moves: int
    tally: np.ndarray  # by `TALLY`
    digest: bytes  # of the last State of every table
    fault: Fault | None


def setting_of(game: str, number: int) -> Setting:
    """The rule set of a number."""
    return mixed_setting(number, RULES[number % len(RULES)] if game == MIXED else game)


def play_rule_set(number: int, tables: int, moves: int, game: str = "international") -> Outcome:
    """Play so many moves in all at the tables of a rule set of a game, or up to the first fault."""
    setting = setting_of(game, number)
    rules = resolve_rules(setting.rules, setting.overrides)
    if setting.rounds:
        rules = rules.replace(rounds=list(setting.rounds))
    compiled = table_array(rules, "any")
    words = np.zeros(int(compiled[0].num_moves) // 8 + 1, np.uint64)
    tally, digest = np.zeros(len(TALLY), np.int64), hashlib.sha256()
    for table in range(tables):
        states, before = new_states(2), int(tally[0])
        share = moves // tables + (table < moves % tables)
        key = np.uint64(child_key(game_key(number), np.uint64(table)))
        words[:] = 0
        mask = words.view(np.int8)
        found, move = play_table(compiled, setting.players, key, table % 2, share, states, mask, words, tally)
        digest.update(states[0].tobytes())
        if found:
            made = int(tally[0]) - before
            fault = _describe(FAULTS[found], number, setting, rules, tables, table, states, made, int(move))
            return Outcome(int(tally[0]), tally, digest.digest(), fault)
    return Outcome(moves, tally, digest.digest(), None)


def _describe(
    name: str, number: int, setting: Setting, rules: Rules, tables: int, table: int, states: np.ndarray, made: int, move: int
) -> Fault:
    text = None if move < 0 else move_table(rules)[move].text
    try:
        position = position_of(rules, states[1 if move >= 0 else 0])
    except (ValueError, IndexError):
        position = None  # the State is damaged beyond that; its bytes are there
    after, before = (states[at].tobytes().hex() for at in (0, 1))
    overrides, rounds = setting.overrides, list(setting.rounds)
    return Fault(
        name, setting.rules, number, tables, table, setting.players, overrides, rounds, made, text, position, after, before
    )


def outcomes(first: int, moves: int, tables: int, threads: int, game: str) -> Generator[Outcome, None, None]:
    """What becomes of every rule set, in the order of their numbers."""
    shares = [PER_RULES] * (moves // PER_RULES) + ([moves % PER_RULES] if moves % PER_RULES else [])
    pool, waiting = ThreadPoolExecutor(threads), deque[Future[Outcome]]()
    try:
        for index, share in enumerate(shares):
            waiting.append(pool.submit(play_rule_set, first + index, tables, share, game))
            if len(waiting) > threads:  # one more than can be played, no thread waits
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


def summary(tally: np.ndarray, seconds: float) -> str:
    """One line."""
    counted = ", ".join(f"{int(count):,} {name}" for name, count in zip(TALLY, tally, strict=True))
    return f"{counted}; {seconds:.0f} s, {tally[0] / max(seconds, 1e-9):,.0f} moves a second"


def soak(first: int, moves: int, tables: int, threads: int, out: Path, console: Console, game: str = "international") -> int:
    """Play, show the progress, say what was done; the exit status."""
    tally, digest, done, sets = np.zeros(len(TALLY), np.int64), hashlib.sha256(), 0, 0
    started = said = time.monotonic()
    fault: Fault | None = None
    stopped = False
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    playing = outcomes(first, moves, tables, threads, game)
    with Progress(*columns, TextColumn("left"), TimeRemainingColumn(), console=console) as progress:
        task = progress.add_task("moves", total=moves)
        try:
            for outcome in playing:
                tally += outcome.tally
                digest.update(outcome.digest)
                done, sets, fault = done + outcome.moves, sets + 1, outcome.fault
                progress.update(task, completed=done, description=f"{done / 1e6:,.1f} million moves")
                if not console.is_terminal and time.monotonic() - said > SAY_EVERY:
                    said = time.monotonic()
                    left = (said - started) / done * (moves - done) / 60
                    line = f"{done:,}/{moves:,}, {left:.0f} minutes left: {summary(tally, said - started)}"
                    console.print(line, highlight=False, soft_wrap=True)
                if fault is not None:
                    break
        except KeyboardInterrupt:
            stopped = True
        finally:
            playing.close()  # waits for what is being played, below a second
    console.print(f"{sets} rule sets, {summary(tally, time.monotonic() - started)}", highlight=False, soft_wrap=True)
    console.print(f"digest {digest.hexdigest()[:16]}", highlight=False)
    if fault is not None:
        out.write_text(json.dumps(asdict(fault), indent=1) + "\n", encoding="utf-8")
        console.print(f"written to {out}:\n{fault}", highlight=False, markup=False, soft_wrap=True)
        return 1
    if stopped:
        rest = f"--seed {first + sets} --moves {moves - done} --tables {tables} --rules {game}"
        console.print(f"stopped; go on with {rest}", highlight=False, soft_wrap=True)
        return 130
    console.print("no fault", highlight=False)
    return 0


def main(arguments: list[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(description="Random moves under random rules, every State checked, until a fault.")
    parser.add_argument("--moves", type=lambda text: whole(1, text.replace("_", "")), default=10_000_000, help="(10000000)")
    parser.add_argument("--threads", type=lambda text: whole(1, text), default=1, help="(1)")
    parser.add_argument("--tables", type=lambda text: whole(1, text), default=16, help="of each rule set (16)")
    parser.add_argument("--rules", choices=(*RULES, MIXED), default=RULES[0], help=f"whose rule sets ({RULES[0]})")
    parser.add_argument("--seed", type=lambda text: whole(0, text), default=0, help="the first rule set's number (0)")
    parser.add_argument("--out", type=Path, default=Path("fault.json"), help="for the first fault found")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ended by a time limit: say what was done as well
    return soak(options.seed, options.moves, options.tables, options.threads, options.out, Console(), options.rules)


if __name__ == "__main__":
    sys.exit(main())
