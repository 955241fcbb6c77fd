"""What a player is, and how players are found by name or path.

A player sees Views and masks, never a State. Scripted players are also kernels, which compiled loops can seat by number;
every other player is asked for many decisions at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rummy_env.engine.random import child_key
from rummy_env.engine.tables import compile_tables
from rummy_env.players.scripted import EXTERNAL, SCRIPTED, scripted_move
from rummy_env.rules import Rules

LEARNED = "learned"
"""The name of the shipped player of a rule set."""

MoveChooser = Callable[[Any, np.ndarray], int]
"""A function from a View and a mask to the id of a legal move."""


class Player:
    """Chooses moves. Subclasses override `act`, or `act_many` where deciding many tables at once is faster.

    `number` is the scripted player's number for compiled loops, `EXTERNAL` for every other player.
    """

    number: int = EXTERNAL

    def __init__(self, name: str):
        self.name = name

    def act(self, view: Any, mask: np.ndarray) -> int:
        """The id of a legal move for a View and its mask (int8 ``(moves,)``)."""
        raise NotImplementedError

    def act_many(self, views: np.ndarray, masks: np.ndarray) -> np.ndarray:
        """int64 ``(n,)`` moves for an array of Views and their masks ``(n, moves)``."""
        return np.array([self.act(views[index], masks[index]) for index in range(len(views))], np.int64)


class ScriptedPlayer(Player):
    """A scripted player outside the compiled loops, with a random stream of its own."""

    def __init__(self, name: str, rules: Rules, seed: int = 0):
        super().__init__(name)
        self.number = SCRIPTED.index(name)
        self._tables = compile_tables(rules)
        self._stream = np.zeros(2, np.uint64)
        self._stream[0] = child_key(np.uint64(seed), np.uint64(self.number))

    def act(self, view: Any, mask: np.ndarray) -> int:
        return int(scripted_move(self.number, self._tables, view, mask, self._stream))


class FunctionPlayer(Player):
    """A player made of a function from a View and a mask to a move."""

    def __init__(self, function: MoveChooser, name: str | None = None):
        super().__init__(name or str(getattr(function, "__name__", type(function).__name__)))
        self._function = function

    def act(self, view: Any, mask: np.ndarray) -> int:
        return int(self._function(view, mask))


def player_names() -> tuple[str, ...]:
    """The names that `make_player` knows; besides them it takes the path of a model folder."""
    return (*SCRIPTED, LEARNED)


def make_player(spec: str | Path | Player | MoveChooser, rules: Rules, seed: int = 0) -> Player:
    """A player for a rule set.

    Args:
        spec: a name of `player_names`, the path of a saved agent's folder, a `Player`, or a function from a View and a
            mask to a move.
        rules: the rules that it will play.
        seed: for scripted players that throw dice outside compiled loops.

    Raises ValueError for an unknown name, and for an agent that was made for another move table or observation.
    """
    if isinstance(spec, Player):
        return spec
    if isinstance(spec, str) and spec in SCRIPTED:
        return ScriptedPlayer(spec, rules, seed)
    if isinstance(spec, (str, Path)):
        from rummy_env.players.learned import load_agent, shipped_agent

        if spec == LEARNED:
            return load_agent(shipped_agent(rules), rules, name=LEARNED)
        if str(spec) and Path(spec).is_dir():
            return load_agent(Path(spec), rules)
        raise ValueError(
            f"no such player: {str(spec)!r}; players are {', '.join(player_names())}, or the path of a saved agent's folder"
        )
    if callable(spec):
        return FunctionPlayer(spec)
    raise ValueError(f"no such player: {spec!r}; give a name, a path, a Player or a function of a View and a mask")


def make_opponents(
    specs: str | Path | Player | MoveChooser | Sequence[Any], number: int, rules: Rules, seed: int = 0
) -> list[Player]:
    """`number` opponents: one specification for all, or a list of exactly that many."""
    if isinstance(specs, (str, Path, Player)) or callable(specs):
        return [make_player(specs, rules, seed + index) for index in range(number)]
    specs = list(specs)
    if len(specs) != number:
        raise ValueError(f"opponents must be one player or a list of {number} (players - 1), not {len(specs)}")
    return [make_player(spec, rules, seed + index) for index, spec in enumerate(specs)]
