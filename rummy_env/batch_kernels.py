"""The compiled loops behind `BatchGame`: each goes over a range of tables, with a scratch View of its own.

Nothing that a loop writes belongs to another range, so that ranges may be played by several threads at once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rummy_env.analysis import potential
from rummy_env.dealing import NO_CHOICE, begin_episode
from rummy_env.engine.random import child_key
from rummy_env.engine.view import view
from rummy_env.kernel import kernel
from rummy_env.observation import encode
from rummy_env.players.drive import POINTS, ROUNDS, advance, play_move
from rummy_env.players.scripted import scripted_move
from rummy_env.rewards import POINTS_PER_REWARD

ILLEGAL = -1
"""In place of a move: the episode ends here, with `illegal_reward` for the seat to act."""
PAY_POINTS, PAY_RANK, PAY_WIN = range(3)
"""The schemes of `rewards.REWARDS`, in that order."""


class Arrays(NamedTuple):
    """What belongs to the tables; the first axis of every array is the table."""

    states: np.ndarray
    seats: np.ndarray  # int64: who must choose
    seatings: np.ndarray  # int8 (6,): the scripted player of each seat
    streams: np.ndarray  # uint64 (6, 2): theirs
    setups: np.ndarray  # uint64 (2,): the stream of episodes
    tallies: np.ndarray  # what the rounds that ended since the last decision have brought
    played: np.ndarray  # int64: decisions in this episode
    potentials: np.ndarray  # float64: of the last decision, for shaping
    masks: np.ndarray
    observations: np.ndarray
    rewards: np.ndarray  # float64 (6,)
    own_rewards: np.ndarray  # float64: of the seat that moved
    shaping: np.ndarray  # float64
    terminated: np.ndarray
    truncated: np.ndarray
    dones: np.ndarray  # one of the two
    finals: np.ndarray  # the last observation of an episode, of the seat that moved
    final_seats: np.ndarray  # int64: that seat
    final_states: np.ndarray


@kernel
def seed_tables(key, setups, teacher_streams):
    """Give every table the stream of its number under a key."""
    for index in range(setups.shape[0]):
        setups[index, 0] = child_key(key, np.uint64(index))
        setups[index, 1] = 0
        seed_teacher(setups[index], teacher_streams[index])


@kernel
def seed_teacher(setup, teacher_stream):
    """The random stream of a teacher at a table, from the key of its episodes."""
    teacher_stream[0] = child_key(setup[0], np.uint64(1))
    teacher_stream[1] = 0


@kernel
def first_illegal(masks, moves):
    """The first table whose move is not legal, -1 if all are."""
    for index in range(moves.shape[0]):
        move = moves[index]
        if move < 0 or move >= masks.shape[1] or not masks[index, move]:
            return index
    return -1


@kernel
def pay(tables, scheme, state, tally, over, out):
    """What a scheme pays every seat for the rounds in a tally, which then begins anew; the same as `rewards.rewards_for`."""
    out[:] = 0
    players = np.int64(state.players)
    sign = 1 if tables.rule.most_wins else -1
    if scheme == PAY_POINTS:
        if not tally[0, ROUNDS]:
            return
        total = np.int64(0)
        for seat in range(players):
            total += sign * tally[seat, POINTS]
        for seat in range(players):
            own = sign * tally[seat, POINTS]
            out[seat] = (own - (total - own) / (players - 1)) / POINTS_PER_REWARD
    elif over:
        for seat in range(players):
            own = sign * np.int64(state.scores[seat])
            ahead, equal = 0, 0
            for other in range(players):
                score = sign * np.int64(state.scores[other])
                ahead += score > own
                equal += score == own
            if scheme == PAY_RANK:
                out[seat] = (players - equal - 2 * ahead) / (players - 1)
            elif not ahead:
                out[seat] = 1 / equal
    tally[:] = 0


@kernel
def begin_table(compiled, draws, opening, arrays, index, skip_forced, gamma, scratch):
    """Begin an episode at a table, up to its first decision and with the observation of that; whether there is one."""
    tables = compiled.tables[0]
    seat = begin_episode(
        tables, draws, opening, arrays.states, index, arrays.setups[index], arrays.seatings[index], arrays.streams[index],
        skip_forced, scratch, arrays.masks[index], arrays.tallies[index],
    )  # fmt: skip
    arrays.played[index] = 0
    if seat == NO_CHOICE:
        return False
    arrays.seats[index] = seat
    if gamma >= 0:
        arrays.potentials[index] = potential(tables, scratch)
    encode(tables, compiled.plan[0], scratch, arrays.observations[index])
    return True


@kernel
def begin_range(compiled, draws, opening, arrays, skip_forced, gamma, scratches, part, first, stop):
    """Begin an episode at every table of a range; returns a table where nobody outside ever has a choice, or -1."""
    for index in range(first, stop):
        if not begin_table(compiled, draws, opening, arrays, index, skip_forced, gamma, scratches[part]):
            return index
    return -1


@kernel
def play_table(compiled, arrays, index, move, skip_forced, max_moves, scheme, gamma, scratch):
    """Play a move and all that follows up to the next decision outside, and pay for it."""
    tables = compiled.tables[0]
    state = arrays.states[index]
    tally = arrays.tallies[index]
    seat = arrays.seats[index]
    play_move(tables, state, move, tally)
    going = advance(
        tables, state, arrays.seatings[index], arrays.streams[index], skip_forced, scratch, arrays.masks[index], tally
    )
    arrays.played[index] += 1
    arrays.terminated[index] = not going
    arrays.truncated[index] = going and arrays.played[index] == max_moves
    pay(tables, scheme, state, tally, not going, arrays.rewards[index])
    arrays.own_rewards[index] = arrays.rewards[index, seat]
    if gamma >= 0:
        after = potential(tables, scratch) if going else 0.0
        arrays.shaping[index] = gamma * after - arrays.potentials[index]
        arrays.potentials[index] = after
    if going:
        arrays.seats[index] = state.to_act
    if arrays.terminated[index] or arrays.truncated[index]:
        view(state, seat, scratch)
        encode(tables, compiled.plan[0], scratch, arrays.finals[index])
    else:
        encode(tables, compiled.plan[0], scratch, arrays.observations[index])


@kernel
def end_table(arrays, index, illegal_reward):
    """End an episode in which an illegal move was chosen."""
    arrays.terminated[index] = True
    arrays.truncated[index] = False
    arrays.rewards[index] = 0
    arrays.rewards[index, arrays.seats[index]] = illegal_reward
    arrays.own_rewards[index] = illegal_reward
    arrays.shaping[index] = 0
    arrays.finals[index] = arrays.observations[index]


@kernel
def step_range(
    compiled, draws, opening, arrays, moves, skip_forced, max_moves, scheme, gamma, illegal_reward, scratches, part, first, stop
):
    """Play one move at every table of a range, then on to the next decision outside; finished tables begin anew.

    Returns a table where nobody outside ever has a choice again, or -1.
    """
    scratch = scratches[part]
    for index in range(first, stop):
        seat = arrays.seats[index]
        if moves[index] == ILLEGAL:
            end_table(arrays, index, illegal_reward)
        else:
            play_table(compiled, arrays, index, moves[index], skip_forced, max_moves, scheme, gamma, scratch)
        done = arrays.terminated[index] or arrays.truncated[index]
        arrays.dones[index] = done
        if done:
            arrays.final_seats[index] = seat
            arrays.final_states[index] = arrays.states[index]
            if not begin_table(compiled, draws, opening, arrays, index, skip_forced, gamma, scratch):
                return index
    return -1


@kernel
def teach_range(compiled, arrays, teacher, teacher_streams, moves, scratches, part, first, stop):
    """What a scripted player would choose at every table of a range in place of the seat to act."""
    tables = compiled.tables[0]
    for index in range(first, stop):
        view(arrays.states[index], arrays.seats[index], scratches[part])
        moves[index] = scripted_move(teacher, tables, scratches[part], arrays.masks[index], teacher_streams[index])
    return -1


@kernel
def observe_seats(compiled, states, which, scratch, out):
    """The observation of every seat at some tables, zeros for seats that are absent."""
    for place in range(which.shape[0]):
        state = states[which[place]]
        for seat in range(out.shape[1]):
            if seat < state.players:
                view(state, seat, scratch[0])
                encode(compiled.tables[0], compiled.plan[0], scratch[0], out[place, seat])
            else:
                out[place, seat] = 0
