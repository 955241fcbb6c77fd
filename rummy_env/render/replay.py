"""A record as tables to look at one after another: as text, as JSON, and step by step at a terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from rummy_env.engine.apply import NO_ORDER, apply
from rummy_env.engine.state import ENDS
from rummy_env.engine.tables import compile_tables
from rummy_env.game import replay_steps
from rummy_env.moves import move_table
from rummy_env.position import position_of
from rummy_env.record import RecordedMove
from rummy_env.render.text import table_text
from rummy_env.rules import Rules

KEYS = "Enter next, b back, r next round, q quit"
_LAST_KEYS = "The record ends here. b back, Enter or q quit"
_ENDS = {"out": "Player {} is out.", "blocked": "The round is blocked.", "turn_limit": "The turn limit is reached."}
_ARROWS = {"\x1b[A": "b", "\x1b[D": "b", "\x1b[B": "\n", "\x1b[C": "\n"}


@dataclass(frozen=True)
class Step:
    """One table of a record: as a round begins (`move` is None), or after a move.

    After the move that ends a round it is that round's last table, in the phase ``over``; the next round's first follows.
    """

    rules: Rules
    names: tuple[str, ...]
    round_index: int
    states: np.ndarray
    move: RecordedMove | None
    from_position: bool = False

    @property
    def state(self) -> Any:
        """The State record."""
        return self.states[0]

    @property
    def round_number(self) -> int:
        """The number of the round, as records have it."""
        return self.rules.round_at(int(self.state.round_index))

    @property
    def end(self) -> str | None:
        """How the round has ended with this move, None where it has not."""
        return ENDS[self.state.last_end] if self.state.to_act < 0 else None

    @property
    def points(self) -> list[int]:
        """What the round has added to each seat's score, where it has ended with this move."""
        return [int(points) for points in self.state.last_points[: len(self.names)]]

    def text(self) -> str:
        """What happened, and the table after it with all hands."""
        named = self.rules.name.isprintable()
        rules = self.rules if named else self.rules.replace(name=_printable(self.rules.name))
        lines = table_text(rules, self.state).split("\n")
        if self.end is not None:
            points = ", ".join(f"player {seat} {number}" for seat, number in enumerate(self.points))
            lines[1] = f"{_ENDS[self.end].format(int(self.state.last_out))} Points: {points}."
        return "\n".join((*self._happened(), *lines))

    def _happened(self) -> Iterator[str]:
        if self.move is None:
            how = "The game begins from a position" if self.from_position else "The cards are dealt"
            yield f"{how}: round {self.round_number}."
            return
        yield f"{self.move.seat} {self.names[self.move.seat]}: {self.move.text}"
        if self.move.restock is not None:
            yield f"A new stock, in drawing order: {self.move.restock}"

    def to_dict(self) -> dict[str, Any]:
        """The same for JSON: the round, the move, how the round ended with it if it did, and the position."""
        found: dict[str, Any] = {"round": self.round_number, "move": None}
        if self.move is not None:
            found["move"] = f"{self.move.seat} {self.move.text}"
            if self.move.restock is not None:
                found["restock"] = self.move.restock
        if self.end is not None:
            found |= {"end": self.end, "points": self.points}
        return found | {"position": position_of(self.rules, self.state)}


def steps_of(record: Mapping[str, Any]) -> list[Step]:
    """Every table of a record, in order. Raises ValueError as `rummy_env.replay`."""
    steps: list[Step] = []
    for game, move in replay_steps(record):
        rules, names, states = game.rules, game.names, game.state_copy()
        if move is None:
            steps.append(Step(rules, names, 0, states, None, "position" in record["rounds"][0]))
            continue
        index = steps[-1].round_index
        if not game.round_ended(index):
            steps.append(Step(rules, names, index, states, move))
            continue
        last = steps[-1].states.copy()
        last[0].last_index = last[0].round_index  # so that the round's last table stays, as after a game
        apply(compile_tables(rules), last[0], move_table(rules).id(move.text), NO_ORDER)
        steps.append(Step(rules, names, index, last, move))
        if not game.over:
            steps.append(Step(rules, names, index + 1, states, None))
    return steps


def step_through(steps: Sequence[Step], first: int, write: Callable[[str], None]) -> None:
    """Show the steps at a terminal from the one with the index `first`, as its keys say."""
    at, shown = first, -1
    with _keys() as next_key:
        while True:
            if at != shown:
                write(f"\n[{at + 1} of {len(steps)}] {steps[at].text()}\n")
                shown = at
            is_last = at == len(steps) - 1
            key = next_key(_LAST_KEYS if is_last else KEYS)
            if key == "q" or (key == "\n" and is_last):
                return
            if key == "\n":
                at += 1
            elif key == "b":
                at = max(0, at - 1)
            elif key == "r":
                later = (index for index in range(at, len(steps)) if steps[index].round_index > steps[at].round_index)
                at = next(later, at)


@contextmanager
def _keys() -> Iterator[Callable[[str], str]]:
    """A function that shows a prompt and waits for a key: Enter and space are a line feed, the end of the input is q.

    A key counts as it is pressed. Where the system knows no such terminals, a line is read and its first letter counts.
    """
    try:
        import termios
        import tty
    except ImportError:
        yield _line
        return
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    waiting: list[str] = []

    def pressed(prompt: str) -> str:
        print(prompt, end=" ", flush=True)
        while True:
            while not waiting:
                try:
                    text = os.read(terminal, 64).decode(errors="replace")
                except OSError:  # the terminal is gone
                    text = ""
                waiting.extend(["q"] if not text else [_ARROWS.get(text, "")] if text[0] == "\x1b" else text)
            key = waiting.pop(0).replace("\r", "\n").replace(" ", "\n").replace("\x04", "q")
            if key and key in "\nbrq":
                print()
                return key

    try:
        tty.setcbreak(terminal, termios.TCSADRAIN)
        yield pressed
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def _line(prompt: str) -> str:
    try:
        return (input(f"{prompt} ").strip().lower() or "\n")[0]
    except EOFError:
        return "q"


def _printable(text: str) -> str:
    """A text without what could control a terminal: it comes from a file."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)
