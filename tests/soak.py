"""Many mixed games of the engine and the reference in lockstep, until one differs.

    python tests/soak.py --games 3000 --workers 2 --seed 0 --rules basic --out difference.json

Game number n depends on n and on the rules alone, so a run that was stopped goes on with the options that it prints. The
first difference is written as JSON: a position, the move made there, and what each side made of it. Exit status 1 means a
difference.
"""

from __future__ import annotations

import argparse
import multiprocessing
import signal
import sys
import time
from collections.abc import Generator
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.lockstep import RULES, Difference, Tally, mixed_setting

Result = tuple[int, Difference | None, Tally]

SAY_EVERY = 60.0
"""Seconds between lines where no progress bar can be shown, as in a log."""


def play_one(rules: str, seed: int) -> Result:
    """The game of a number; where the rules are mixed those of one game follow those of the other."""
    tally = Tally()
    game = RULES[seed % len(RULES)] if rules == "mixed" else rules
    return seed, mixed_setting(seed, game).play(tally), tally


def results(rules: str, first: int, games: int, workers: int) -> Generator[Result, None, None]:
    """Every game's result, in the order of their numbers."""
    seeds, play = range(first, first + games), partial(play_one, rules)
    if workers == 1:
        yield from map(play, seeds)
        return
    # spawned, not forked: the progress bar runs a thread. Workers inherit that Ctrl-C is ignored; the parent ends them.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    pool = multiprocessing.get_context("spawn").Pool(workers)
    signal.signal(signal.SIGINT, before)
    with pool:
        yield from pool.imap(play, seeds, chunksize=4)


def soak(rules: str, first: int, games: int, workers: int, out: Path, console: Console) -> int:
    """Play, show the progress, say what was done; the exit status."""
    tally, done, started = Tally(), 0, time.monotonic()
    said = started
    difference: Difference | None = None
    stopped = False
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    playing = results(rules, first, games, workers)
    with Progress(*columns, TextColumn("left"), TimeRemainingColumn(), console=console) as progress:
        task = progress.add_task("games", total=games)
        try:
            for _seed, difference, counted in playing:
                tally.counts.update(counted.counts)
                done += 1
                progress.update(task, advance=1, description=f"games ({tally.counts['moves']} moves)")
                if not console.is_terminal and time.monotonic() - said > SAY_EVERY:
                    said = time.monotonic()
                    console.print(f"{done}/{games}: {tally.summary(said - started)}", highlight=False, soft_wrap=True)
                if difference is not None:
                    break
        except KeyboardInterrupt:
            stopped = True
        finally:
            playing.close()  # ends the workers
    console.print(tally.summary(time.monotonic() - started), highlight=False, soft_wrap=True)
    if difference is not None:
        difference.save(out)
        console.print(f"a difference, written to {out}:", highlight=False)
        console.print(str(difference), highlight=False, markup=False, soft_wrap=True)
        return 1
    if stopped:
        left = f"--rules {rules} --seed {first + done} --games {games - done}"
        console.print(f"stopped; go on with {left}", highlight=False)
        return 130
    console.print("no difference", highlight=False)
    return 0


def whole(least: int, text: str) -> int:
    """A whole number of at least `least`."""
    if not text.isdecimal() or int(text) < least:
        raise argparse.ArgumentTypeError(f"a whole number from {least} up is needed, not {text!r}")
    return int(text)


def main(arguments: list[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(description="The engine and the reference in lockstep, until they differ.")
    parser.add_argument("--games", type=lambda text: whole(1, text), default=1000, help="how many (1000)")
    parser.add_argument("--workers", type=lambda text: whole(1, text), default=1, help="processes (1)")
    parser.add_argument("--seed", type=lambda text: whole(0, text), default=0, help="the first game's number (0)")
    parser.add_argument("--rules", choices=(*RULES, "mixed"), default=RULES[0], help="whose switches (international)")
    parser.add_argument("--out", type=Path, default=Path("difference.json"), help="for the first difference found")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ended by a time limit: say what was done as well
    return soak(options.rules, options.seed, options.games, options.workers, options.out, Console())


if __name__ == "__main__":
    sys.exit(main())
