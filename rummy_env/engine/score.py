"""Scoring: what the end of a round adds to each seat's score."""

from __future__ import annotations

import numpy as np

from rummy_env.cards import NUM_KINDS
from rummy_env.kernel import kernel


@kernel
def hand_points(tables, hand):
    """The points of the cards of a hand (53 counts)."""
    total = np.int64(0)
    for kind in range(NUM_KINDS):
        total += np.int64(hand[kind]) * tables.points[kind]
    return total


@kernel
def score_round(tables, state):
    """Write every seat's points of the finished round into `last_points` and add them to the scores.

    Each is charged the own hand: nothing for who is out, and everybody where the round was blocked.
    """
    for seat in range(state.players):
        points = hand_points(tables, state.hand[seat])
        state.last_points[seat] = points
        state.scores[seat] += points
