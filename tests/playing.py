"""Driving the engine in tests: seeded play on a bare State in several styles, and a digest of whole games.

Run as a module (``python -m tests.playing``) it prints that digest, so that another process can be compared with this one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from rummy_env.engine.apply import NO_ORDER, apply
from rummy_env.engine.deal import start_game
from rummy_env.engine.legal import legal
from rummy_env.engine.state import OVER, new_states
from rummy_env.engine.tables import BUY_MOVE, PASS_MOVE, compile_tables
from rummy_env.game import game_key
from rummy_env.moves import MoveType
from rummy_env.rules import Rules, preset

STYLES = ("random", "eager", "buyer")


class Driver:
    """One game played by a seeded policy.

    `random` takes any legal move; `eager` lays down as soon as it can and then lays off; `buyer` does so too and buys
    much, which empties the stock.
    """

    def __init__(self, rules: Rules, players: int, seed: int, style: str = "random"):
        self.rules, self.style = rules, style
        self.tables = compile_tables(rules)
        self.states = new_states(1)
        self.mask = np.zeros(int(self.tables.num_moves), np.int8)
        self.rng = np.random.default_rng([seed, STYLES.index(style)])
        start_game(self.tables, self.state, players, game_key(seed), 0, rules.game_rounds - 1, -1, NO_ORDER)

    @property
    def state(self) -> Any:
        return self.states[0]

    @property
    def over(self) -> bool:
        return bool(self.state.phase == OVER)

    def choose(self) -> int:
        """The move that the style plays now; the mask of the seat to act stands in `mask` afterwards."""
        count = legal(self.tables, self.state, self.mask)
        ids = np.flatnonzero(self.mask)
        assert count == len(ids) > 0
        if self.style != "random":
            types = self.tables.move_type[ids]
            lays = ids[types == MoveType.LAY]
            offs = ids[(types >= MoveType.OFF_GROUP) & (types <= MoveType.OFF_HIGH)]
            if len(lays):
                ids = lays
            elif len(offs) and self.rng.random() < 0.8:
                ids = offs
            elif MoveType.BUY in types:
                ids = np.array([BUY_MOVE if self.rng.random() < (0.5 if self.style == "buyer" else 0.05) else PASS_MOVE])
        return int(ids[self.rng.integers(len(ids))])

    def step(self) -> int:
        """Play one move of the style and return it."""
        move = self.choose()
        apply(self.tables, self.state, move, NO_ORDER)
        return move


def played(rules: Rules, players: int, seed: int, style: str, moves: int) -> Iterator[Driver]:
    """A driver before each of at most `moves` moves; new games follow with the next seeds."""
    driver = Driver(rules, players, seed, style)
    for _ in range(moves):
        if driver.over:
            seed += 1_000_003
            driver = Driver(rules, players, seed, style)
        yield driver
        driver.step()


def digest(moves: int = 450) -> str:
    """A hash over the bytes of every State of games of 2 to 6 players, some thousand moves in all."""
    whole = hashlib.sha256()
    rules = preset("international").replace(max_turns=20)
    for players in range(2, 7):
        for style in STYLES:
            driver = Driver(rules, players, 11 * players, style)
            whole.update(driver.states.tobytes())
            for _ in range(moves):
                if driver.over:
                    break
                driver.step()
                whole.update(driver.states.tobytes())
            whole.update(f"{players} {style} {driver.state.rounds_done}".encode())
    return whole.hexdigest()


if __name__ == "__main__":
    print(digest())
