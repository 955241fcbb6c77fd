"""What the counts of a match say: means per entrant with intervals, and differences between entrants.

The seatings of one deal share their cards, so they are not independent; the deals are. Every figure is therefore a mean over
deals of what an entrant got on average over its seats in that deal, and the number of observations is that of the deals.
Intervals are 95 % t intervals over them. Shares and rates stay within 0 and 1; where every deal gave 0, or every one 1, the
t interval would have no width, and the exact bound of that case stands for it: 1 - 0.025 ** (1 / deals) away.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from rummy_env.arena.match import MatchResult
from rummy_env.players.drive import BUYS, DOWN, OUT, POINTS, ROUNDS, TURNS

CONFIDENCE = 0.95
_TAIL = (1 - CONFIDENCE) / 2


@dataclass(frozen=True)
class Estimate:
    """A mean and the ends of its interval; these are None where one deal alone says nothing of the spread."""

    mean: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class PlayerStats:
    """One entrant. All but `win_share` and `place`, which are of games, are per round."""

    name: str
    points: Estimate
    win_share: Estimate
    place: Estimate
    laid_down: Estimate
    went_out: Estimate
    turns: Estimate
    buys: Estimate


@dataclass(frozen=True)
class Difference:
    """Points per round of the first entrant minus those of the second, over the tables where both sat."""

    first: str
    second: str
    points: Estimate


@dataclass(frozen=True)
class Summary:
    """Everything that is reported of a match. `even_share` is the win share of a seat where all play alike."""

    players: tuple[PlayerStats, ...]
    differences: tuple[Difference, ...]
    even_share: float


def estimate(values: np.ndarray) -> Estimate:
    """Mean and t interval of independent observations ``(n,)``, n at least 1."""
    from scipy.special import stdtrit

    values = np.asarray(values, np.float64)
    number, mean = len(values), float(values.mean())
    if number == 1:
        return Estimate(mean, None, None)
    half = float(stdtrit(number - 1, 1 - _TAIL) * values.std(ddof=1) / np.sqrt(number))
    return Estimate(mean, mean - half, mean + half)


def share_estimate(values: np.ndarray) -> Estimate:
    """`estimate` of observations that lie from 0 to 1."""
    found = estimate(values)
    if found.low is None or found.high is None:
        return found
    bound = 1 - _TAIL ** (1 / len(values))
    if np.all(values == 0):
        return Estimate(found.mean, 0.0, bound)
    if np.all(values == 1):
        return Estimate(found.mean, 1 - bound, 1.0)
    return Estimate(found.mean, max(0.0, found.low), min(1.0, found.high))


def places(points: np.ndarray, fewest_win: bool) -> tuple[np.ndarray, np.ndarray]:
    """Places from 1 and shares of the win at tables ``(..., seats)`` of points; ties share both evenly.

    Two seats that tie for the first place both have place 1.5 and half a win.
    """
    order = points if fewest_win else -points
    better = (order[..., None, :] < order[..., :, None]).sum(axis=-1)
    equal = (order[..., None, :] == order[..., :, None]).sum(axis=-1)
    return better + (equal + 1) / 2, np.where(better == 0, 1 / equal, 0.0)


def by_entrant(values: np.ndarray, seating: np.ndarray, entrants: int) -> np.ndarray:
    """Mean of ``(deals, tables, seats)`` over the seats that each entrant has in a deal: ``(deals, entrants)``."""
    return np.stack([_mean_where(values, seating == entrant) for entrant in range(entrants)], axis=1)


def paired(values: np.ndarray, weights: np.ndarray, seating: np.ndarray, first: int, second: int) -> np.ndarray:
    """Per deal ``(deals,)``: value per weight of the first entrant minus that of the second, where both sit at a table."""
    both = (seating == first).any(axis=2, keepdims=True) & (seating == second).any(axis=2, keepdims=True)
    rates = []
    for entrant in (first, second):
        own = (seating == entrant) & both
        rates.append(_mean_where(values, own) / _mean_where(weights, own))
    return np.asarray(rates[0] - rates[1])


def _mean_where(values: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Per deal: the mean over chosen seats. Sums of whole numbers are exact, so equal players come out exactly equal."""
    return np.asarray((values * chosen).sum(axis=(1, 2)) / chosen.sum(axis=(1, 2)))


def summarize(result: MatchResult) -> Summary:
    """All figures of a match of at least one deal."""
    if result.deals == 0:
        raise ValueError("no deal of the match was completed")
    tallies, seating, number = result.tallies.astype(np.float64), result.seating, len(result.names)
    points, rounds = tallies[..., POINTS], tallies[..., ROUNDS]
    place, share = places(points, result.rules.scoring == "losers_penalty")

    def per_round(what: int) -> np.ndarray:
        return np.asarray(by_entrant(tallies[..., what], seating, number) / by_entrant(rounds, seating, number))

    means = {
        "points": per_round(POINTS),
        "win_share": by_entrant(share, seating, number),
        "place": by_entrant(place, seating, number),
        "laid_down": per_round(DOWN),
        "went_out": per_round(OUT),
        "turns": per_round(TURNS),
        "buys": per_round(BUYS),
    }
    shares = ("win_share", "laid_down", "went_out")
    players = tuple(
        PlayerStats(
            name,
            **{key: (share_estimate if key in shares else estimate)(value[:, at]) for key, value in means.items()},
        )
        for at, name in enumerate(result.names)
    )
    differences = tuple(
        Difference(result.names[first], result.names[second], estimate(paired(points, rounds, seating, first, second)))
        for first, second in combinations(range(number), 2)
    )
    return Summary(players, differences, 1 / result.seats)
