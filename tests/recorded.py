"""Games played for their records, in several styles through `Game`."""

from __future__ import annotations

from typing import Any

import numpy as np

from rummy_env.game import Game
from rummy_env.moves import Move, MoveType

_LAYOFFS = (MoveType.OFF_GROUP, MoveType.OFF_LOW, MoveType.OFF_HIGH)


def choose(game: Game, style: str, rng: np.random.Generator) -> Move:
    """The move of a style.

    `random` takes any legal move; `eager` lays down and off and seldom buys; `buyer` does so too, and buys much; `late`
    draws from the stock and buys when it is empty, so that buys need new stocks.
    """
    moves = game.moves()
    of = {type_: [move for move in moves if move.type == type_] for type_ in MoveType}
    late = style == "late"
    buying = {"random": 0.5, "eager": 0.05, "buyer": 0.6, "late": 0.9 if game.state.num_stock < 2 else 0.02}[style]
    for wanted, chance in (
        (of[MoveType.LAY], 0 if style == "random" else 0.2 if late else 1),
        ([move for move in moves if move.type in _LAYOFFS], 0 if style == "random" else 0.8),
        (of[MoveType.BUY], 0 if style == "random" else buying),
        (of[MoveType.PASS], 1 if late or (style != "random" and of[MoveType.BUY]) else 0),
        (of[MoveType.STOCK], 1 if late else 0),
    ):
        if wanted and rng.random() < chance:
            return wanted[int(rng.integers(len(wanted)))]
    return moves[int(rng.integers(len(moves)))]


def play_on(game: Game, style: str = "random", seed: int = 0, moves: int = 100_000) -> Game:
    """Play at most so many moves of a style, or to the end; the same game."""
    rng = np.random.default_rng(seed)
    for _ in range(moves):
        if game.over:
            break
        game.play(choose(game, style, rng))
    return game


def restocks(record: dict[str, Any]) -> list[str]:
    """The kinds of the moves that needed a new stock."""
    found = []
    for one in record["rounds"]:
        lines = one["moves"]
        found += [lines[at + 1][2:] for at, line in enumerate(lines) if line.startswith("*")]
    return found
