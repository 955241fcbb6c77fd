"""One order for laying a contract (`lay_order="ascending"`): its melds come by rising move id, which leaves one way of many.

A learner then does not meet the same lay-down in every order of its melds. The rules allow all orders; this is an option of
the training faces, compiled into the tables as `ascending`.
"""

from __future__ import annotations

import numpy as np

from rummy_env.engine.contracts import KNOWN_RUNS, can_form
from rummy_env.engine.tables import MAX_LAY
from rummy_env.kernel import kernel
from rummy_env.melds import MAX_CONTRACT

KEPT = 2
"""In a mask, while it is sifted."""


@kernel
def laid_move(tables, state, index):
    """The move id of a meld that has just been laid."""
    size = np.int64(state.meld_size[index])
    fill = np.int64(state.meld_fill[index])
    low = np.int64(state.meld_low[index])
    if state.meld_run[index]:
        naturals = np.int64(0)
        for step in range(size):
            if not (fill >> ((low + step) % tables.rule.num_places)) & 1:
                naturals |= 1 << step
        return tables.run_lays[tables.start_of[state.meld_suit[index], low], naturals]
    for move in range(tables.group_lays[low, 0], tables.group_lays[low, 1]):
        if tables.lay_fill[move] == fill:
            return np.int64(move)
    return tables.wild_group_lays[low]


@kernel
def take_lay(tables, hand, move, change):
    """Take the cards of a lay out of a hand (`change` -1) or put them back (1); False where one was not there to take."""
    held = True
    for at in range(MAX_LAY):
        kind = tables.lay_cards[move, at]
        if kind >= 0:
            hand[kind] += change
            if hand[kind] < 0:
                held = False
    return held


@kernel
def may_lay(tables, hand, move, groups, runs, used, blocked):
    """Whether the limits of the rules allow a lay as part of what is left of a contract, the hand aside."""
    is_run = tables.move_suit[move] >= 0
    wilds = np.int64(tables.lay_wilds[move])
    target = np.int64(tables.move_target[move])
    if is_run:
        start = tables.start_of[tables.move_suit[move], target]
        return runs > 0 and not (blocked >> start) & 1 and tables.rule.run_length - wilds >= tables.rule.run_naturals
    return groups > 0 and not (used >> target) & 1 and tables.rule.group_size - wilds >= tables.rule.group_naturals


@kernel
def used_after(tables, move, used):
    """`used_ranks` after a lay."""
    if tables.rule.distinct_groups and tables.move_suit[move] < 0:
        return used | (np.int64(1) << np.int64(tables.move_target[move]))
    return used


@kernel
def blocked_after(tables, move, blocked):
    """`blocked_starts` after a lay."""
    if tables.move_suit[move] >= 0:
        return blocked | tables.run_clashes[tables.start_of[tables.move_suit[move], tables.move_target[move]]]
    return blocked


@kernel
def can_complete(tables, hand, groups, runs, used, blocked, first):
    """Whether `groups` and `runs` can be formed by lays whose ids do not fall and begin at `first` or above.

    Backtracking over the lays in order; `can_form` cuts off what no order could complete.
    """
    if groups + runs == 0:
        return True
    wanted = groups + runs
    known = np.zeros(KNOWN_RUNS, np.int64)
    # a frame per lay: its move, groups and runs before it, and what was used and blocked then
    frames = np.empty((MAX_CONTRACT, 5), np.int64)
    depth = 0
    frames[0, 0] = first - 1
    frames[0, 1] = groups
    frames[0, 2] = runs
    frames[0, 3] = used
    frames[0, 4] = blocked
    while depth >= 0:
        frame = frames[depth]
        frame[0] += 1
        move = frame[0]
        if move >= tables.last_lay:
            depth -= 1
            if depth >= 0:
                take_lay(tables, hand, frames[depth, 0], 1)
            continue
        if not may_lay(tables, hand, move, frame[1], frame[2], frame[3], frame[4]):
            continue
        if not take_lay(tables, hand, move, -1):
            take_lay(tables, hand, move, 1)
            continue
        is_run = tables.move_suit[move] >= 0
        groups_left = frame[1] - (0 if is_run else 1)
        runs_left = frame[2] - (1 if is_run else 0)
        after_used = used_after(tables, move, frame[3])
        after_blocked = blocked_after(tables, move, frame[4])
        if not can_form(tables, hand, groups_left, runs_left, after_used, after_blocked, known):
            take_lay(tables, hand, move, 1)
            continue
        if depth + 1 == wanted:
            for at in range(depth + 1):
                take_lay(tables, hand, frames[at, 0], 1)
            return True
        depth += 1
        frames[depth, 0] = move - 1
        frames[depth, 1] = groups_left
        frames[depth, 2] = runs_left
        frames[depth, 3] = after_used
        frames[depth, 4] = after_blocked
    return False


@kernel
def keep_ascending(tables, state, hand, groups, runs, used, blocked, mask):
    """Clear the lays of a mask from which the contract cannot be completed in order; returns how many were cleared.

    Where none would be left, as in a position that was half laid in another order, all stay.
    """
    first = np.int64(0)
    for index in range(state.num_melds):
        if (state.new_melds >> index) & 1:
            first = max(first, laid_move(tables, state, index))
    cleared = 0
    kept = 0
    for move in range(tables.first_lay, tables.last_lay):
        if not mask[move] or move < first:
            continue
        is_run = tables.move_suit[move] >= 0
        take_lay(tables, hand, move, -1)
        completes = can_complete(
            tables, hand, groups - (0 if is_run else 1), runs - (1 if is_run else 0), used_after(tables, move, used),
            blocked_after(tables, move, blocked), move,
        )  # fmt: skip
        take_lay(tables, hand, move, 1)
        if completes:
            mask[move] = KEPT
            kept += 1
    cleared = 0
    for move in range(tables.first_lay, tables.last_lay):
        if mask[move] == KEPT:
            mask[move] = 1
        elif mask[move] and kept > 0:
            mask[move] = 0
            cleared += 1
    return cleared
