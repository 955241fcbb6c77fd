"""Scoring: what the end of a round adds to each seat's score."""

from __future__ import annotations

import numpy as np

from rummy_env.cards import NUM_KINDS
from rummy_env.engine.state import MAX_PLAYERS
from rummy_env.engine.tables import BLOCKED_LOWEST, BLOCKED_PENALTY
from rummy_env.kernel import kernel


@kernel
def hand_points(tables, hand):
    """The points of the cards of a hand (53 counts)."""
    total = np.int64(0)
    for kind in range(NUM_KINDS):
        total += np.int64(hand[kind]) * tables.points[kind]
    return total


@kernel
def score_round(tables, state, out, rummy):
    """Write every seat's points of the finished round into `last_points` and add them to the scores.

    `out` is the seat that is out, -1 where the round was blocked; `rummy` whether it went out in one turn. The table of
    basic.md (House rules) has all cases.
    """
    players = np.int64(state.players)
    hands = np.zeros(MAX_PLAYERS, np.int64)
    total = np.int64(0)
    for seat in range(players):
        hands[seat] = hand_points(tables, state.hand[seat])
        total += hands[seat]
    winner = np.int64(out)
    charged = True  # the losers, where fewest points win
    if out < 0 and tables.rule.blocked_scoring != BLOCKED_PENALTY:
        winner = lowest_hand(hands, players) if tables.rule.blocked_scoring == BLOCKED_LOWEST else np.int64(-1)
        charged = winner >= 0
    factor = tables.rule.rummy_factor if rummy else np.int64(1)
    bonus = tables.rule.rummy_bonus if rummy else np.int64(0)
    for seat in range(players):
        points = np.int64(0)
        if not tables.rule.most_wins:
            if charged and seat != winner:
                points = hands[seat] * factor + bonus
        elif seat == winner:
            points = (total - hands[seat]) * factor + bonus
        elif winner < 0 and charged:
            points = -hands[seat]
        state.last_points[seat] = points
        state.scores[seat] += points


@kernel
def lowest_hand(hands, players):
    """The seat whose hand counts least, -1 where several do."""
    best = np.int64(0)
    tied = False
    for seat in range(1, players):
        if hands[seat] < hands[best]:
            best = np.int64(seat)
            tied = False
        elif hands[seat] == hands[best]:
            tied = True
    return np.int64(-1) if tied else best
