"""How episodes of the training faces are dealt: everything is drawn from a table's own stream.

Shared by single tables and batches, so that a table of a batch plays what a single environment of the same seed plays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from rummy_env.engine.apply import NO_ORDER
from rummy_env.engine.deal import start_game
from rummy_env.engine.random import below, child_key
from rummy_env.engine.state import MAX_PLAYERS, new_states
from rummy_env.kernel import kernel
from rummy_env.players.drive import advance
from rummy_env.players.scripted import EXTERNAL

MOST_DEALS = 1000
"""An episode in which nobody outside has a choice is dealt again, so often at most."""
NO_CHOICE = -1
"""Returned in place of a seat where that was not often enough."""

SELF_PLAY, FIXED, POOL = range(3)
"""Who sits at the other seats: nobody but the caller, named opponents clockwise from the learner, any out of a pool."""

AS_SET, DRAWN = -1, -2
"""In place of the learner's seat in an `Opening`: that of all episodes, or a random one."""
START_ROUND, START_DEALER, START_SEAT, START_SCORED, START_SCORES = range(5)
"""Places in the numbers of a `Opening`."""


class Draws(NamedTuple):
    """What episodes are drawn from; arrays of int64."""

    counts: np.ndarray  # numbers of players, of which one is drawn
    rounds: np.ndarray  # places in the sequence of rounds, of which one is drawn unless whole games are played
    opponents: np.ndarray  # numbers of scripted players: clockwise from the learner's left, or to draw from
    whole: np.ndarray  # one number: whether whole games are played
    seat: np.ndarray  # one number: the learner's seat, -1 where it is drawn
    others: np.ndarray  # one number: SELF_PLAY, FIXED or POOL


def make_draws(
    counts: Sequence[int], rounds: Sequence[int], whole: bool, seat: int | None, others: int, opponents: Sequence[int]
) -> Draws:
    """The arrays for the kernels; FIXED opponents may be more than there are seats."""
    numbers = (counts, rounds, opponents, [whole], [-1 if seat is None else seat], [others])
    return Draws(*(np.array(part, np.int64) for part in numbers))


class Opening(NamedTuple):
    """What the options of a reset say of the first episode."""

    numbers: np.ndarray  # int64: the START_ numbers
    positions: np.ndarray  # the State to go on from instead of a deal, or none


def make_opening(
    index: int | None = None,
    dealer: int = -1,
    seat: int = AS_SET,
    scores: Sequence[int] | None = None,
    position: np.ndarray | None = None,
) -> Opening:
    """The arrays for the kernels; what is not given is as in all episodes."""
    numbers = np.zeros(START_SCORES + MAX_PLAYERS, np.int64)
    numbers[START_ROUND] = -1 if index is None else index
    numbers[START_DEALER] = dealer
    numbers[START_SEAT] = seat
    if scores is not None:
        numbers[START_SCORED] = 1
        numbers[START_SCORES : START_SCORES + len(scores)] = scores
    return Opening(numbers, new_states(0) if position is None else position)


NO_OPENING = make_opening()


@kernel
def deal_episode(tables, draws, opening, states, index, setup, seating, streams):
    """Deal the next episode of the stream `setup` (key, number of the episode) into ``states[index]``.

    Its key, players, round, learner's seat and opponents come from the stream, and as many numbers are drawn
    whatever `opening` says. Returns the learner's seat, in self-play a seat without a meaning.
    """
    key = child_key(setup[0], setup[1])
    setup[1] += np.uint64(1)
    draw = np.zeros(2, np.uint64)
    draw[0] = child_key(key, np.uint64(0))
    players = draws.counts[below(draw, draws.counts.shape[0])]
    first = draws.rounds[below(draw, draws.rounds.shape[0])]
    if opening.numbers[START_ROUND] >= 0:
        first = opening.numbers[START_ROUND]
    last = first
    if draws.whole[0]:
        first = max(opening.numbers[START_ROUND], np.int64(0))
        last = np.int64(tables.rule.game_rounds) - 1
    seat = below(draw, players)
    if draws.seat[0] >= 0 and opening.numbers[START_SEAT] == AS_SET:
        seat = draws.seat[0]
    if opening.numbers[START_SEAT] >= 0:
        seat = opening.numbers[START_SEAT]
    for other in range(MAX_PLAYERS):
        seating[other] = EXTERNAL
        if draws.others[0] == POOL and other != seat:
            seating[other] = draws.opponents[below(draw, draws.opponents.shape[0])]
        streams[other, 0] = child_key(key, np.uint64(other + 1))
        streams[other, 1] = 0
    if draws.others[0] == FIXED:
        for other in range(players - 1):
            seating[(seat + 1 + other) % players] = draws.opponents[other]
    if opening.positions.shape[0]:
        states[index] = opening.positions[0]
        states[index].key = key
        states[index].counter = np.uint64(0)
        return seat
    state = states[index]
    start_game(tables, state, players, key, first, last, opening.numbers[START_DEALER], NO_ORDER)
    if opening.numbers[START_SCORED]:
        for other in range(players):
            state.scores[other] = opening.numbers[START_SCORES + other]
    return seat


@kernel
def begin_episode(tables, draws, opening, states, index, setup, seating, streams, skip_forced, scratch, mask, tally):
    """Deal episodes until one reaches a decision outside; returns whose, or `NO_CHOICE`.

    `scratch` and `mask` are then of that seat.
    """
    for _ in range(MOST_DEALS):
        tally[:] = 0
        deal_episode(tables, draws, opening, states, index, setup, seating, streams)
        if advance(tables, states[index], seating, streams, skip_forced, scratch, mask, tally):
            return np.int64(states[index].to_act)
    return np.int64(NO_CHOICE)


def stream_of(key: np.uint64) -> np.ndarray:
    """A table's stream of episodes: uint64 ``(2,)``, its key and the number of the next episode."""
    stream: np.ndarray[Any, Any] = np.zeros(2, np.uint64)
    stream[0] = key
    return stream
