"""What the end of a round adds to each seat's score: the table of the Basic page, which holds for both games."""

from __future__ import annotations

from typing import Any

from .cards import Rules


def points_when_out(rules: Rules, hands: list[Any], winner: int, going_rummy: bool) -> list[Any]:
    """Somebody is out. `hands` are the points in each hand; `going_rummy`: the whole hand went in one turn."""

    def with_bonus(points: Any) -> Any:
        if not going_rummy or rules["going_rummy"] == "none":
            return points
        return 2 * points if rules["going_rummy"] == "double" else points + 10

    others = [seat for seat in range(len(hands)) if seat != winner]
    points: list[Any] = [0] * len(hands)
    if rules["scoring"] == "winner_takes_sum":
        points[winner] = with_bonus(sum(hands[seat] for seat in others))
    else:
        for seat in others:
            points[seat] = with_bonus(hands[seat])
    return points


def points_when_blocked(rules: Rules, hands: list[Any]) -> list[Any]:
    """Nobody is out: the round is blocked, or has come to the limit of turns."""
    nothing = [0] * len(hands)
    if rules["blocked_scoring"] == "none":
        return nothing
    takes_sum = rules["scoring"] == "winner_takes_sum"
    if rules["blocked_scoring"] == "all_penalty":
        return [-points if takes_sum else points for points in hands]
    lowest = min(hands)
    if hands.count(lowest) > 1:
        return nothing
    best = hands.index(lowest)
    if takes_sum:
        return [sum(hands) - lowest if seat == best else 0 for seat in range(len(hands))]
    return [0 if seat == best else points for seat, points in enumerate(hands)]
