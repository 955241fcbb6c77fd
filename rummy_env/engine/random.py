"""The random streams of the engine: SplitMix64 with a counter, so that a stream is a key and a position in it.

Every game has one stream of its own (`State.key`, `State.counter`) for the first dealer and for new stocks; the deck of
each round comes from a stream of its own that depends on the key and the round only. So equal keys give equal decks
whatever was played before, which duplicate matches need.
"""

from __future__ import annotations

import numpy as np

from rummy_env.kernel import kernel, wrapping_kernel

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_DECKS = np.uint64(0xD1B54A32D192ED03)
_S27, _S30, _S31, _S32 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)
_ONE = np.uint64(1)


@wrapping_kernel
def mix(key, counter):
    """The number at a position of a stream: 64 bits (Steele, Lea, Flood 2014, with Stafford's variant 13)."""
    z = np.uint64(key) + (np.uint64(counter) + _ONE) * _GOLDEN  # from Python a key may come as a plain int
    z = (z ^ (z >> _S30)) * _MIX_1
    z = (z ^ (z >> _S27)) * _MIX_2
    return z ^ (z >> _S31)


@kernel
def child_key(key, number):
    """The key of a stream of its own for the `number`-th thing (a table, a seat, an episode) under a key."""
    return mix(mix(key, np.uint64(number)), np.uint64(number))


@kernel
def deck_key(key, round_index):
    """The key of the stream that shuffles a round's deck."""
    return mix(key ^ _DECKS, np.uint64(round_index))


@kernel
def below(stream, bound):
    """A number from 0 to bound - 1, all equally likely (Lemire's method on 32 bits); moves the stream on.

    `stream` is an array of two uint64: key and counter.
    """
    wide = np.uint64(bound)
    threshold = ((np.uint64(1) << _S32) - wide) % wide
    low_half = (np.uint64(1) << _S32) - np.uint64(1)
    while True:
        number = mix(stream[0], stream[1]) >> _S32
        stream[1] += _ONE
        product = number * wide
        if (product & low_half) >= threshold:
            return np.int64(product >> _S32)


@kernel
def shuffle(stream, cards, count):
    """Shuffle the first `count` entries of `cards` in place (Fisher-Yates)."""
    for last in range(count - 1, 0, -1):
        other = below(stream, last + 1)
        card = cards[last]
        cards[last] = cards[other]
        cards[other] = card
