"""The scripted players by number, so that compiled loops can seat any of them without going back to Python."""

from __future__ import annotations

import numpy as np

from rummy_env.kernel import kernel
from rummy_env.players.dumper import dumper_move
from rummy_env.players.greedy import greedy_move
from rummy_env.players.random import random_move

EXTERNAL = -1
"""A seat whose moves come from outside the compiled loop."""
SCRIPTED = ("random", "dumper", "greedy")
RANDOM, DUMPER, GREEDY = range(3)


@kernel
def scripted_move(number, tables, view, mask, stream):
    """The move of scripted player `number`; `stream` is the two uint64 of its own random stream."""
    if number == RANDOM:
        return np.int64(random_move(tables, view, mask, stream))
    if number == DUMPER:
        return np.int64(dumper_move(tables, view, mask, stream))
    return np.int64(greedy_move(tables, view, mask, stream))
