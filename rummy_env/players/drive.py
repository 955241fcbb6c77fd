"""Compiled loops that play many tables on until somebody outside must decide, and keep count of what happened."""

from __future__ import annotations

import numpy as np

from rummy_env.engine.apply import NO_ORDER, apply
from rummy_env.engine.legal import legal
from rummy_env.engine.state import MAX_PLAYERS, OVER
from rummy_env.engine.view import view
from rummy_env.kernel import kernel
from rummy_env.players.scripted import EXTERNAL, scripted_move

TALLY = ("points", "rounds", "down", "out", "turns", "buys")
"""What is counted per table and seat over the rounds that end: points, rounds, rounds laid down in, rounds gone out in,
turns and buys (the last two only of the moves that the loops themselves see)."""
POINTS, ROUNDS, DOWN, OUT, TURNS, BUYS = range(len(TALLY))


@kernel
def play_move(tables, state, move, tally):
    """Apply a move and add what it ended or began to the tally ``(6, len(TALLY))`` of its table."""
    seat = np.int64(state.to_act)
    done = np.int64(state.rounds_done)
    turns = np.int64(state.turns[seat])
    buys = np.int64(state.buys[seat])
    apply(tables, state, move, NO_ORDER)
    if state.rounds_done == done:
        tally[seat, TURNS] += np.int64(state.turns[seat]) - turns
        tally[seat, BUYS] += np.int64(state.buys[seat]) - buys
        return
    for other in range(state.players):
        tally[other, POINTS] += state.last_points[other]
        tally[other, ROUNDS] += 1
        tally[other, DOWN] += (np.int64(state.last_down) >> other) & 1
        tally[other, OUT] += 1 if other == state.last_out else 0


@kernel
def advance(tables, state, seating, streams, skip_forced, out_view, mask, tally):
    """Play one table on until a seat of `EXTERNAL` must choose, or the game is over.

    `seating` holds the number of the scripted player of each seat, `streams` ``(6, 2)`` their random streams. With
    `skip_forced` a single legal move is played at once for external seats too. Returns whether somebody must choose; then
    `out_view` and `mask` are those of the seat to act. After the game the mask is all zeros.
    """
    while True:
        count = legal(tables, state, mask)
        if state.phase == OVER:
            return False
        seat = np.int64(state.to_act)
        number = np.int64(seating[seat])
        if count == 1 and (skip_forced or number != EXTERNAL):
            move = np.int64(0)
            while not mask[move]:
                move += 1
        else:
            view(state, seat, out_view)
            if number == EXTERNAL:
                return True
            move = scripted_move(number, tables, out_view, mask, streams[seat])
        play_move(tables, state, move, tally)


@kernel
def advance_all(tables, states, seatings, streams, skip_forced, views, masks, tallies, waiting):
    """`advance` for every table whose `waiting` is set; clears it where the game is over. Returns how many still wait."""
    count = 0
    for index in range(states.shape[0]):
        if not waiting[index]:
            continue
        if advance(
            tables, states[index], seatings[index], streams[index], skip_forced, views[index], masks[index], tallies[index]
        ):
            count += 1
        else:
            waiting[index] = False
    return count


@kernel
def play_all(tables, states, moves, tallies, waiting):
    """Play one chosen move at every table whose `waiting` is set."""
    for index in range(states.shape[0]):
        if waiting[index]:
            play_move(tables, states[index], moves[index], tallies[index])


def new_tallies(number: int) -> np.ndarray:
    """Zeros ``(number, 6, len(TALLY))`` int64."""
    return np.zeros((number, MAX_PLAYERS, len(TALLY)), np.int64)
