"""What a hand can form: whether it can form what is left of a contract, and how far it is from it.

`hand` is a row of 53 counts; the kernels change it while they try and leave it as it was. `tables` are the compiled tables
of a rule set. Nothing here knows a State.
"""

from __future__ import annotations

import numpy as np

from rummy_env.cards import NUM_RANKS, NUM_SUITS, WILD
from rummy_env.engine.tables import MAX_STARTS
from rummy_env.kernel import kernel
from rummy_env.melds import MAX_CONTRACT

# what `form_greedily` finds
IMPOSSIBLE = 0
POSSIBLE = 1
UNDECIDED = 2

KNOWN_RUNS = (MAX_CONTRACT + 1, 2)
"""The shape of the runs of a contract that was formed: their number first, then the start and the natural places of each."""


@kernel
def rank_naturals(hand, rank):
    """How many natural cards of a rank a hand holds."""
    count = np.int64(0)
    for suit in range(NUM_SUITS):
        count += np.int64(hand[suit * NUM_RANKS + rank])
    return count


@kernel
def groups_by_cost(tables, hand, groups, strict, used_ranks):
    """How many groups can be had for 0, 1, 2 .. wilds each, eight bits a cost; `groups` of a rank at most.

    The groups of one rank with n naturals cost ``max(0, size * k - n)`` wilds for k of them, which is convex in k; so
    taking the cheapest next group again and again is exact. `strict` 1 has each group hold naturals of its own as the
    rules want, 0 does not look at that. `used_ranks` is a bit set of the ranks that `distinct_groups` rules out.
    """
    by_cost = np.int64(0)
    for index in range(tables.num_ranks):
        rank = tables.ranks[index]
        if not (used_ranks >> rank) & 1:
            by_cost += tables.group_costs[strict, groups, rank_naturals(hand, rank)]
    return by_cost


@kernel
def cheapest_groups(tables, by_cost, groups):
    """The fewest wilds that complete `groups` groups, or 99 where there are not so many."""
    wilds = np.int64(0)
    left = np.int64(groups)
    for cost in range(tables.rule.group_size + 1):
        found = min(left, (by_cost >> (8 * cost)) & 255)
        left -= found
        wilds += found * cost
    return wilds if left == 0 else np.int64(99)


@kernel
def fewest_group_wilds(tables, hand, groups, strict, used_ranks):
    """The fewest wilds that complete `groups` groups begun with a hand's naturals, or 99 where none can.

    The arguments are those of `groups_by_cost`.
    """
    if groups == 0:
        return np.int64(0)
    return cheapest_groups(tables, groups_by_cost(tables, hand, groups, strict, used_ranks), groups)


@kernel
def held_places(tables, hand, start):
    """A bit set: the places of the run that begins at `start` of which the hand holds the natural.

    A run with an ace at each end needs two of them; with one, the lower place has it.
    """
    held = np.int64(0)
    for step in range(tables.rule.run_length):
        kind = tables.run_kinds[start, step]
        if kind >= 0 and hand[kind] > 0:
            held |= 1 << step
    twin = tables.run_twins[start]
    if held & twin and hand[tables.run_kinds[start, 0]] < 2:
        held &= ~twin
    return held


@kernel
def suit_places(tables, hand, suit):
    """A bit set: the places of a suit of which the hand holds the natural, twice over where runs go round the corner."""
    ranks = np.int64(0)
    for rank in range(NUM_RANKS):
        if hand[suit * NUM_RANKS + rank] > 0:
            ranks |= 1 << rank
    places = tables.low_rank_places[ranks & 127] | tables.high_rank_places[ranks >> 7]
    return places | (places << tables.rule.num_places) if tables.rule.circular else places


@kernel
def spend_run(tables, hand, start, used, change):
    """Take the cards of a run out of a hand (`change` -1) or put them back (1): naturals at the places of `used`."""
    for step in range(tables.rule.run_length):
        kind = tables.run_kinds[start, step] if (used >> step) & 1 else WILD
        hand[kind] += change


@kernel
def can_form(tables, hand, groups, runs, used_ranks, blocked, known):
    """Whether a hand can form `groups` groups and `runs` runs, exactly, under the limits of the rule set.

    `used_ranks` and `blocked` are bit sets of the ranks and the starts that `distinct_groups` and `separate_runs` rule
    out. `known` (`KNOWN_RUNS`) are the runs with which it was possible before, from a hand with perhaps other cards: they
    are tried first. It receives those with which it is possible now.
    """
    if runs > 0 and known[0, 0] == runs and fits_again(tables, hand, groups, runs, used_ranks, blocked, known):
        return True
    if fewest_group_wilds(tables, hand, groups, 1, used_ranks) > hand[WILD]:
        return False
    if runs == 0:
        return True
    found = form_greedily(tables, hand, groups, runs, used_ranks, blocked, known)
    if found == UNDECIDED:
        return form_exactly(tables, hand, groups, runs, used_ranks, blocked)
    return found == POSSIBLE


@kernel
def fits_again(tables, hand, groups, runs, used_ranks, blocked, known):
    """Whether the runs of `known` and the groups can be formed from this hand."""
    taken = 0
    fits = True
    while fits and taken < runs:
        start = known[taken + 1, 0]
        if (blocked >> start) & 1:
            fits = False
            break
        spend_run(tables, hand, start, known[taken + 1, 1], -1)
        taken += 1
        for step in range(tables.rule.run_length):
            kind = tables.run_kinds[start, step]
            if kind >= 0 and hand[kind] < 0:
                fits = False
    if fits:
        fits = fewest_group_wilds(tables, hand, groups, 1, used_ranks) <= hand[WILD]
    for index in range(taken):
        spend_run(tables, hand, known[index + 1, 0], known[index + 1, 1], 1)
    return fits


@kernel
def nearest_starts(tables, hand, blocked, most, nearest):
    """Write the starts of runs that lack `most` places at most, those that lack least first; returns how many there are.

    `nearest` ``(3, MAX_STARTS)`` receives the starts and how many places each of them lacks at least (a run with an ace at
    each end may lack one more); its third row is for the work.
    """
    length = tables.rule.run_length
    within = (1 << length) - 1
    by_lack = np.int64(0)  # how many lack 0, 1, 2 .. places: eight bits each
    suit = np.int64(-1)
    places = np.int64(0)
    for start in range(tables.num_starts):
        if tables.start_suit[start] != suit:
            suit = tables.start_suit[start]
            places = suit_places(tables, hand, suit)
        lack = length - tables.bit_counts[(places >> tables.start_low[start]) & within]
        if (blocked >> start) & 1:
            lack = length + 1
        nearest[2, start] = lack
        by_lack += 1 << (8 * lack)
    count = 0
    for lack in range(min(most, length) + 1):
        if (by_lack >> (8 * lack)) & 255:
            for start in range(tables.num_starts):
                if nearest[2, start] == lack:
                    nearest[0, count] = start
                    nearest[1, count] = lack
                    count += 1
    return count


@kernel
def form_greedily(tables, hand, groups, runs, used_ranks, blocked, known):
    """Whether a contract can be formed where each run takes every natural it can: POSSIBLE, IMPOSSIBLE or UNDECIDED.

    With the places of all runs fixed that wastes nothing, as a natural is worth one wild wherever it lies. So where even
    this needs too many wilds nothing helps; but a meld left with too few naturals of its own might get one from another,
    which is for `form_exactly` to find. Branch and bound over the starts, those that lack least first. Where it is possible
    `known` receives the runs.
    """
    wilds = np.int64(hand[WILD])
    floor = fewest_group_wilds(tables, hand, groups, 0, used_ranks)
    least = tables.rule.run_naturals
    length = tables.rule.run_length
    nearest = np.empty((3, MAX_STARTS), np.int16)
    number = nearest_starts(tables, hand, blocked, min(wilds - floor, length - least), nearest)
    undecided = False
    # a frame per run: its place in `nearest`, the natural places it took, blocked starts, wilds for the runs before it, the
    # least for the groups
    frames = np.empty((MAX_CONTRACT, 5), np.int64)
    depth = 0
    frames[0, 0] = -1
    frames[0, 2] = blocked
    frames[0, 3] = 0
    frames[0, 4] = floor
    while depth >= 0:
        frame = frames[depth]
        frame[0] += 1
        at = frame[0]
        # all that follow lack as many or more
        if at >= number or frame[3] + frame[4] + (runs - depth) * np.int64(nearest[1, at]) > wilds:
            depth -= 1
            if depth >= 0:
                move_naturals(tables, hand, nearest[0, frames[depth, 0]], frames[depth, 1], 1)
            continue
        start = np.int64(nearest[0, at])
        if (frame[2] >> start) & 1:
            continue
        held = held_places(tables, hand, start)
        spent = frame[3] + length - tables.bit_counts[held]
        if spent + frame[4] + (runs - depth - 1) * np.int64(nearest[1, at]) > wilds:
            continue
        frame[1] = held
        move_naturals(tables, hand, start, held, -1)
        floor = fewest_group_wilds(tables, hand, groups, 0, used_ranks)
        if spent + floor <= wilds:
            if depth + 1 < runs:
                depth += 1
                frames[depth, 0] = at - 1
                frames[depth, 2] = frame[2] | tables.run_clashes[start]
                frames[depth, 3] = spent
                frames[depth, 4] = floor
                continue
            whole = spent + fewest_group_wilds(tables, hand, groups, 1, used_ranks) <= wilds
            for index in range(runs):
                if tables.bit_counts[frames[index, 1]] < least:
                    whole = False
            if whole:
                known[0, 0] = runs
                for index in range(runs):
                    known[index + 1, 0] = nearest[0, frames[index, 0]]
                    known[index + 1, 1] = frames[index, 1]
                    move_naturals(tables, hand, known[index + 1, 0], known[index + 1, 1], 1)
                return POSSIBLE
            undecided = True
        move_naturals(tables, hand, start, held, 1)
    return UNDECIDED if undecided else IMPOSSIBLE


@kernel
def form_exactly(tables, hand, groups, runs, used_ranks, blocked):
    """`can_form` with at least one run, by trying everything.

    Runs are tried in the order of their starts, each with every choice of naturals that the wilds allow (a natural may be
    needed elsewhere), and the groups are then settled by `fewest_group_wilds`.
    """
    number = tables.num_starts
    # a frame per run: its start, the natural places held there, those used (-1: start not looked at), blocked starts
    frames = np.empty((MAX_CONTRACT, 4), np.int64)
    depth = 0
    frames[0, 0] = 0
    frames[0, 2] = -1
    frames[0, 3] = blocked
    while depth >= 0:
        frame = frames[depth]
        least = max(tables.rule.run_naturals, tables.rule.run_length - np.int64(hand[WILD]))
        found = False
        while frame[0] < number:
            if frame[2] < 0:
                held = np.int64(0)
                if not (frame[3] >> frame[0]) & 1:
                    held = held_places(tables, hand, frame[0])
                frame[1] = held
                frame[2] = held
            elif frame[2] == 0:
                frame[0] += 1
                frame[2] = -1
                continue
            else:
                frame[2] = (frame[2] - 1) & frame[1]
            if tables.bit_counts[frame[2]] >= least and not (frame[3] >> frame[0]) & 1:
                found = True
                break
            if tables.bit_counts[frame[1]] < least:
                frame[2] = 0
        if not found:
            depth -= 1
            if depth >= 0:
                spend_run(tables, hand, frames[depth, 0], frames[depth, 2], 1)
            continue
        spend_run(tables, hand, frame[0], frame[2], -1)
        if fewest_group_wilds(tables, hand, groups, 1, used_ranks) > hand[WILD]:
            spend_run(tables, hand, frame[0], frame[2], 1)
            continue
        if depth + 1 == runs:
            for index in range(runs):
                spend_run(tables, hand, frames[index, 0], frames[index, 2], 1)
            return True
        frames[depth + 1, 0] = frame[0]
        frames[depth + 1, 2] = -1
        frames[depth + 1, 3] = frame[3] | tables.run_clashes[frame[0]]
        depth += 1
    return False


@kernel
def move_naturals(tables, hand, start, held, change):
    """Take the naturals of a run out of a hand (`change` -1) or put them back (1), leaving wilds alone."""
    for step in range(tables.rule.run_length):
        if (held >> step) & 1:
            hand[tables.run_kinds[start, step]] += change


@kernel
def contract_gap(tables, hand, groups, runs, used_ranks, blocked, picks):
    """How many places of the best `groups` groups and `runs` runs a hand's naturals leave empty, wilds not counted.

    The hand is ``max(0, gap - wilds)`` cards from the contract, the limits on wilds per meld not looked at. Branch and
    bound over the starts of the runs. A run takes every natural it can: with the places of all runs fixed that wastes
    nothing, and a natural that a group could use as well is worth one card to either. `picks` (`MAX_CONTRACT` numbers)
    receives the starts of the best runs. At most 98 can be missing.
    """
    best = np.int64(98)
    floor = fewest_group_wilds(tables, hand, groups, 0, used_ranks)
    if runs == 0:
        return min(best, floor)
    number = tables.num_starts
    length = tables.rule.run_length
    # a frame per run: its start, the natural places it took, blocked starts, missing so far, the least in all from here
    frames = np.empty((MAX_CONTRACT, 5), np.int64)
    depth = 0
    frames[0, 0] = -1
    frames[0, 2] = blocked
    frames[0, 3] = 0
    frames[0, 4] = floor
    while depth >= 0:
        frame = frames[depth]
        frame[0] += 1
        if frame[0] >= number:
            depth -= 1
            if depth >= 0:
                move_naturals(tables, hand, frames[depth, 0], frames[depth, 1], 1)
            continue
        start = frame[0]
        if (frame[2] >> start) & 1:
            continue
        held = held_places(tables, hand, start)
        missing = length - tables.bit_counts[held]
        if frame[4] + missing >= best:
            continue
        frame[1] = held
        move_naturals(tables, hand, start, held, -1)
        spent = frame[3] + missing
        floor = spent + fewest_group_wilds(tables, hand, groups, 0, used_ranks)
        if floor < best and depth + 1 < runs:
            depth += 1
            frames[depth, 0] = start - 1
            frames[depth, 2] = frame[2] | tables.run_clashes[start]
            frames[depth, 3] = spent
            frames[depth, 4] = floor
            continue
        if floor < best:
            best = floor
            for index in range(runs):
                picks[index] = frames[index, 0]
        move_naturals(tables, hand, start, held, 1)
    return best


@kernel
def mark_needed(tables, hand, groups, runs, used_ranks, picks, needed):
    """Count into `needed` (53) the naturals that the runs of `picks` and the best groups from the rest would use."""
    size = tables.rule.group_size
    needed[:] = 0
    for index in range(runs):
        for step in range(tables.rule.run_length):
            kind = tables.run_kinds[picks[index], step]
            if kind >= 0 and hand[kind] > needed[kind]:
                needed[kind] += 1
    for _ in range(groups):
        best_rank = np.int64(-1)
        best_count = np.int64(0)
        for index in range(tables.num_ranks):
            rank = tables.ranks[index]
            if (used_ranks >> rank) & 1:
                continue
            count = min(size, rank_naturals(hand, rank) - rank_naturals(needed, rank))
            # of equal ranks the dearer: it is the one that hurts in the hand
            if count > best_count or (count == best_count and count > 0 and tables.points[rank] > tables.points[best_rank]):
                best_rank = rank
                best_count = count
        if best_rank < 0:
            break
        for suit in range(NUM_SUITS):
            kind = suit * NUM_RANKS + best_rank
            spare = min(np.int64(hand[kind] - needed[kind]), best_count)
            needed[kind] += spare
            best_count -= spare
        if tables.rule.distinct_groups:
            used_ranks |= 1 << best_rank
