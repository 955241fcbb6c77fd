"""Kernels for one table driven from Python: everything that a step of a face needs in one call.

A call from Python costs more than the rules themselves, so applying a move, the next mask and the next observation go
together. Tables come as arrays of one State or View, which are handed over faster than single records.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from rummy_env.analysis import potential
from rummy_env.cards import KIND_TEXTS, NUM_KINDS
from rummy_env.dealing import deal_episode
from rummy_env.engine.apply import NO_ORDER, apply
from rummy_env.engine.legal import legal
from rummy_env.engine.state import MAX_PLAYERS, OVER
from rummy_env.engine.tables import table_array
from rummy_env.engine.view import view
from rummy_env.kernel import kernel
from rummy_env.melds import pack_of
from rummy_env.observation import Block, encode, layout, plan_array
from rummy_env.players.drive import advance, play_move
from rummy_env.rules import Rules

NO_MOVE = -1
"""Given in place of a move where none is to be played."""
REFUSED = -1
"""Returned for a move that the mask does not allow."""
NOBODY = 7
"""Returned in place of a seat when the game is over."""
ROUND_ENDED = 8
"""Added to the seat where the move has ended a round."""
NEXT_CARDS = 3
"""How many cards from the top of the stock the full table shows in order."""


class Compiled(NamedTuple):
    """What follows from the rules, as the first argument of the kernels: arrays of one record each, which cost a call from
    Python a thirtieth of what a record itself costs."""

    tables: np.ndarray
    plan: np.ndarray


@lru_cache(maxsize=64)
def compiled(rules: Rules, features: tuple[str, ...] = (), obs_dtype: str = "float32", lay_order: str = "any") -> Compiled:
    """What kernels need of the rules and of the options of a face; the same object for equal ones."""
    return Compiled(table_array(rules, lay_order), plan_array(rules, features, obs_dtype == "uint8"))


@kernel
def deal(compiled, draws, opening, states, setup, seating, streams):
    """Deal the next episode of a stream, see `dealing.deal_episode`; returns the learner's seat."""
    return np.int64(deal_episode(compiled.tables[0], draws, opening, states, 0, setup, seating, streams))


@kernel
def observe(compiled, states, seat, views, out):
    """The observation of a seat, through its View."""
    view(states[0], seat, views[0])
    encode(compiled.tables[0], compiled.plan[0], views[0], out)


@kernel
def step(compiled, states, move, views, mask, out):
    """Play a move, if there is one and `mask` allows it; then the mask and the observation of the seat to act.

    Returns that seat, with `ROUND_ENDED` where a round has ended; `REFUSED`, with nothing changed, for a move that is not
    allowed. After the game the mask is all zeros and there is no observation.
    """
    tables = compiled.tables[0]
    state = states[0]
    done = np.int64(state.rounds_done)
    if move != NO_MOVE:
        if not mask[move]:
            return np.int64(REFUSED)
        apply(tables, state, move, NO_ORDER)
    legal(tables, state, mask)
    ended = ROUND_ENDED if state.rounds_done != done else 0
    if state.phase == OVER:
        return np.int64(NOBODY + ended)
    seat = np.int64(state.to_act)
    view(state, seat, views[0])
    encode(tables, compiled.plan[0], views[0], out)
    return seat + ended


@kernel
def answer(compiled, states, move, seating, streams, skip_forced, views, mask, tallies, out):
    """Play the move of the seat that must choose, if there is one and `mask` allows it, then `drive.advance`, and observe.

    Returns the seat that must choose, of which are the View, the mask and the observation; or `NOBODY` or `REFUSED`.
    """
    tables = compiled.tables[0]
    state = states[0]
    if move != NO_MOVE:
        if not mask[move]:
            return np.int64(REFUSED)
        play_move(tables, state, move, tallies[0])
    if not advance(tables, state, seating, streams, skip_forced, views[0], mask, tallies[0]):
        return np.int64(NOBODY)
    encode(tables, compiled.plan[0], views[0], out)
    return np.int64(state.to_act)


@kernel
def state_potential(compiled, states, seat, views):
    """The potential of a seat for shaping, see `analysis.potential`."""
    view(states[0], seat, views[0])
    return potential(compiled.tables[0], views[0])


@kernel
def encode_state(compiled, states, views, out):
    """The full table, hidden cards included, as `state_layout` describes it."""
    copies, plan = compiled.tables[0].copies, compiled.plan[0]
    state = states[0]
    kinds = plan.num_kinds
    at = out.shape[0] - kinds * (MAX_PLAYERS + NEXT_CARDS)
    view(state, 0, views[0])
    encode(compiled.tables[0], plan, views[0], out[:at])
    out[at:] = 0
    for seat in range(1, MAX_PLAYERS):
        if seat < state.players:
            for index in range(kinds):
                kind = plan.kinds[index]
                out[at + index] = np.float32(np.int64(state.hand[seat, kind]) / copies[kind])
        at += kinds
    counts = np.zeros(NUM_KINDS, np.int64)
    size = np.int64(state.num_stock)
    for place in range(size):
        counts[state.stock[place]] += 1
    for index in range(kinds):
        kind = plan.kinds[index]
        out[at + index] = np.float32(counts[kind] / copies[kind])
    at += kinds
    for depth in range(min(size, np.int64(NEXT_CARDS))):
        out[at + depth * kinds + plan.index[state.stock[size - 1 - depth]]] = 1


@lru_cache(maxsize=64)
def state_layout(rules: Rules, features: tuple[str, ...] = ()) -> tuple[Block, ...]:
    """The blocks of the full table's vector, in order. The same for any number of players.

    The first is the observation of seat 0 as a whole (its parts: `observation.layout`); then come the hands of seats 1 to
    5, zeros for those absent, the cards in the stock, and the next cards to be drawn from it.
    """
    pack = pack_of(rules)
    shape = layout(rules, features)
    kinds = [kind for kind in range(NUM_KINDS) if pack.copies[kind]]
    names = tuple(KIND_TEXTS[kind] for kind in kinds)
    copies = tuple(pack.copies[kind] for kind in kinds)
    labels = tuple(f"{block.name} {label}" for block in shape.blocks for label in block.labels)
    scales = tuple(scale for block in shape.blocks for scale in block.scales)
    blocks = [Block("observation_0", 0, labels, scales, "the observation of seat 0")]

    def add(name: str, scales: tuple[int, ...], meaning: str) -> None:
        blocks.append(Block(name, blocks[-1].stop, names, scales, meaning))

    for seat in range(1, MAX_PLAYERS):
        add(f"hand_{seat}", copies, f"the cards of seat {seat}")
    add("stock", copies, "the cards in the stock")
    for depth in range(NEXT_CARDS):
        add(f"stock_{depth}", (1,) * len(names), f"the card {depth} below the top of the stock")
    return tuple(blocks)
