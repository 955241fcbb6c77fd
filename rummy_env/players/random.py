"""`random`: any legal move, all equally likely."""

from __future__ import annotations

import numpy as np

from rummy_env.engine.random import below
from rummy_env.kernel import kernel


@kernel
def random_move(tables, view, mask, stream):
    """Choose among the set bits of the mask with the player's own stream."""
    count = np.int64(0)
    for move in range(mask.shape[0]):
        count += mask[move]
    skip = below(stream, count)
    for move in range(mask.shape[0]):
        if mask[move]:
            if skip == 0:
                return move
            skip -= 1
    return -1
