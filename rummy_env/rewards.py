"""The reward schemes, by name: small functions from utilities to one reward for each seat.

A utility is what a seat gains: points where most points win, minus points where fewest win. `points` pays at the end of
each round, `rank` and `win` at the end of the game; nothing is paid between.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from rummy_env.rules import Rules

POINTS_PER_REWARD = 100
"""So many points make a reward of one."""


def points_reward(utilities: Sequence[float]) -> list[float]:
    """The own utility minus the mean of the others', over `POINTS_PER_REWARD`; zero-sum."""
    total, others = sum(utilities), len(utilities) - 1
    return [(own - (total - own) / others) / POINTS_PER_REWARD for own in utilities]


def rank_reward(utilities: Sequence[float]) -> list[float]:
    """The place, 1 for the first to -1 for the last; tied seats get the mean of their places; zero-sum.

    The places are evenly spaced, so this is how many seats one is ahead of minus how many are ahead, over all others.
    """
    others = len(utilities) - 1
    return [(sum(own > other for other in utilities) - sum(own < other for other in utilities)) / others for own in utilities]


def win_reward(utilities: Sequence[float]) -> list[float]:
    """1, shared evenly among the seats with the most; 0 for the others."""
    best = max(utilities)
    share = 1 / sum(own == best for own in utilities)
    return [share if own == best else 0.0 for own in utilities]


Scheme = Callable[[Sequence[float]], list[float]]

ROUND_SCHEMES: Mapping[str, Scheme] = {"points": points_reward}
"""Paid at the end of each round, from the utilities of the round."""
GAME_SCHEMES: Mapping[str, Scheme] = {"rank": rank_reward, "win": win_reward}
"""Paid once at the end of the game, from the utilities of the final scores."""
REWARDS = (*ROUND_SCHEMES, *GAME_SCHEMES)


def check_reward(name: object) -> str:
    """The name of a scheme, if there is one. ValueError lists them."""
    if not isinstance(name, str) or name not in REWARDS:
        raise ValueError(f"reward must be one of {', '.join(REWARDS)}, not {name!r}")
    return name


def utilities(rules: Rules, points: Sequence[float]) -> list[float]:
    """Utilities from points or scores of a rule set."""
    sign = -1 if rules.scoring == "losers_penalty" else 1
    return [sign * number for number in points]


def rewards_for(reward: str, rules: Rules, points: Sequence[float], scores: Sequence[float], over: bool) -> list[float]:
    """What a scheme pays each seat for rounds that have ended.

    Args:
        reward: the name of the scheme.
        rules: they say who wins.
        points: what the rounds added to each seat's score; as the scheme is linear in them, several may be taken together.
        scores: the scores after them.
        over: whether the game has ended with them.
    """
    if reward in ROUND_SCHEMES:
        return ROUND_SCHEMES[reward](utilities(rules, points))
    if over:
        return GAME_SCHEMES[reward](utilities(rules, scores))
    return [0.0] * len(points)
