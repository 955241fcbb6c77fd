"""The State of one table and the View of one seat: fixed-size records without pointers.

Copying a record is cloning the game, comparing bytes is comparing games, an array of records is many games. So there is
no padding that NumPy adds by itself, and whatever lies beyond a count is zero. What has no value is -1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rummy_env.cards import NUM_KINDS

MAX_PLAYERS = 6
MAX_CARDS = 112
"""Two packs and eight jokers."""
MAX_MELDS = 37
"""As many melds of three as `MAX_CARDS` make."""
HISTORY = 32
"""How many public moves are remembered."""

# phases
WINDOW = 0
DRAW = 1
PLAY = 2
LAYING = 3
OVER = 4
PHASES = ("window", "draw", "play", "laying", "over")

# how a round ended
END_NONE = 0
END_OUT = 1
END_BLOCKED = 2
END_TURN_LIMIT = 3
ENDS = (None, "out", "blocked", "turn_limit")

_MELDS: list[tuple[Any, ...]] = [
    ("meld_owner", "i1", (MAX_MELDS,)),
    ("meld_run", "i1", (MAX_MELDS,)),  # 1: a run, 0: a group
    ("meld_suit", "i1", (MAX_MELDS,)),  # of a run
    ("meld_low", "i1", (MAX_MELDS,)),  # the rank of a group, the lowest place of a run
    ("meld_size", "i1", (MAX_MELDS,)),
]

STATE_FIELDS: list[tuple[Any, ...]] = [
    ("key", "u8"),  # the random stream of this game: see engine/random.py
    ("counter", "u8"),
    ("discarded", "u8", (MAX_PLAYERS,)),  # bit set: kinds that the seat has discarded this round
    ("new_melds", "i8"),  # bit set: melds that to_act has laid this turn
    ("scores", "i4", (MAX_PLAYERS,)),
    ("last_points", "i4", (MAX_PLAYERS,)),  # what the last finished round added to the scores
    (
        "meld_fill",
        "i2",
        (MAX_MELDS,),
    ),  # run: bit set of places held by wilds; group: naturals by suit, 4 bits each
    ("history", "i2", (HISTORY,)),  # newest first: (move + 1) * 8 + seat
    ("turns", "i2", (MAX_PLAYERS,)),  # turns begun this round (a turn counts at its draw)
    ("buys", "i2", (MAX_PLAYERS,)),
    ("reshuffles", "i2"),
    ("round_index", "i2"),  # which of the rounds played, from 0
    ("last_index", "i2"),  # the game ends after this one
    ("rounds_done", "i2"),
    ("hand", "i1", (MAX_PLAYERS, NUM_KINDS)),
    ("known", "i1", (MAX_PLAYERS, NUM_KINDS)),  # cards of a hand that everybody has seen going into it
    ("hand_size", "i1", (MAX_PLAYERS,)),
    ("hidden_draws", "i1", (MAX_PLAYERS,)),  # cards drawn unseen since the stock was last formed
    (
        "pool",
        "i1",
        (NUM_KINDS,),
    ),  # the kinds that the stock was last formed of; at the deal the whole pack
    ("stock", "i1", (MAX_CARDS,)),  # the last is the top
    ("discards", "i1", (MAX_CARDS,)),  # the last is the top
    ("discard_by", "i1", (MAX_CARDS,)),  # seat + 1; 0 for the first up-card
    *_MELDS,
    ("num_stock", "i1"),
    ("num_discards", "i1"),
    ("num_melds", "i1"),
    ("stock_public", "i1"),  # 1: the order of the stock is known to all
    ("players", "i1"),
    ("round_number", "i1"),  # of the contract; 1 where melds are free
    ("dealer", "i1"),
    ("phase", "i1"),
    ("to_act", "i1"),  # -1 when the game is over
    ("turn", "i1"),  # whose turn it is, or comes next in a window
    ("discarder", "i1"),  # who made the top discard in the turn before
    ("passed", "i1"),  # bit set: seats that have passed on the top discard
    ("taken", "i1"),  # the kind that may not be discarded this turn
    ("down", "i1"),  # bit set: seats that have laid down; where melds are free, that have laid a meld
    ("acted", "i1"),  # bit set: seats that melded or laid off before this turn
    ("acted_now", "i1"),  # 1: to_act has melded or laid off this turn
    ("groups_left", "i1"),  # of the contract that is being laid
    ("runs_left", "i1"),
    ("last_end", "i1"),
    ("last_down", "i1"),  # bit set: seats that had laid down when the last round ended
    ("last_out", "i1"),  # the seat that went out, -1
]

VIEW_FIELDS: list[tuple[Any, ...]] = [
    ("discarded", "u8", (MAX_PLAYERS,)),
    ("new_melds", "i8"),
    ("scores", "i4", (MAX_PLAYERS,)),
    ("meld_fill", "i2", (MAX_MELDS,)),
    ("history", "i2", (HISTORY,)),
    ("turns", "i2", (MAX_PLAYERS,)),
    ("buys", "i2", (MAX_PLAYERS,)),
    ("reshuffles", "i2"),
    ("round_index", "i2"),
    ("last_index", "i2"),
    ("hand", "i1", (NUM_KINDS,)),  # one's own
    ("known", "i1", (MAX_PLAYERS, NUM_KINDS)),  # 0: one's own cards that the others have seen
    ("hand_size", "i1", (MAX_PLAYERS,)),
    ("hidden_draws", "i1", (MAX_PLAYERS,)),
    ("pool", "i1", (NUM_KINDS,)),
    ("stock", "i1", (MAX_CARDS,)),  # zero unless stock_public
    ("discards", "i1", (MAX_CARDS,)),
    ("discard_by", "i1", (MAX_CARDS,)),  # relative seat + 1
    *_MELDS,
    ("num_stock", "i1"),
    ("num_discards", "i1"),
    ("num_melds", "i1"),
    ("stock_public", "i1"),
    ("players", "i1"),
    ("seat", "i1"),  # the absolute seat of whom this View is
    ("round_number", "i1"),
    ("dealer", "i1"),  # from here on seats are relative, 0 is oneself
    ("phase", "i1"),
    ("to_act", "i1"),
    ("turn", "i1"),
    ("discarder", "i1"),
    ("passed", "i1"),
    ("taken", "i1"),
    ("down", "i1"),
    ("acted", "i1"),
    ("acted_now", "i1"),
    ("groups_left", "i1"),
    ("runs_left", "i1"),
]


def _packed(fields: list[tuple[Any, ...]]) -> np.dtype[Any]:
    """The record type, rounded up to whole 8-byte words by a named field of zeros."""
    size = np.dtype(fields).itemsize
    if size % 8:
        fields = [*fields, ("zeros", "i1", (8 - size % 8,))]
    plain = np.dtype(fields)
    names = plain.names or ()
    assert not set(names) & set(dir(np.record))  # such a field could not be read as an attribute in Python mode
    assert plain.itemsize == sum(plain[name].itemsize for name in names) and plain.itemsize % 8 == 0
    return np.dtype((np.record, plain))


STATE = _packed(STATE_FIELDS)
VIEW = _packed(VIEW_FIELDS)
assert STATE.itemsize <= 1536


def new_states(number: int) -> np.ndarray:
    """An array of `number` empty States; ``states[i]`` is a record that shares its memory."""
    return np.zeros(number, STATE)


def new_views(number: int) -> np.ndarray:
    """An array of `number` empty Views."""
    return np.zeros(number, VIEW)
