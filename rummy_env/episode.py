"""What an episode of the environments is: the rules and rounds of an environment, and the options of its `reset`.

Shared by the faces. Everything a user gives is checked here before anything changes.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rummy_env.engine.apply import NO_ORDER
from rummy_env.engine.deal import start_game
from rummy_env.engine.state import ENDS, OVER, new_states
from rummy_env.engine.tables import compile_tables
from rummy_env.game import check_players
from rummy_env.position import read_position
from rummy_env.rules import FIELDS, Rules, resolve_rules

RANDOM = "random"
OPTIONS = ("round", "dealer", "scores", "position")
_MOST_POINTS = 1_000_000

RulesLike = str | Path | Mapping[str, Any] | Rules


@dataclass(frozen=True)
class Setting:
    """The rules that an environment plays, and whether an episode is one round drawn at random or a whole game."""

    rules: Rules
    players: int
    one_round: bool


@dataclass(frozen=True)
class Start:
    """The checked options of a reset; None and -1 where they leave something open."""

    index: int | None = None
    dealer: int = -1
    scores: tuple[int, ...] | None = None
    position: np.ndarray | None = None


def make_setting(
    rules: RulesLike, overrides: Mapping[str, Any] | None, players: int, rounds: Sequence[int] | str | None
) -> Setting:
    """The setting of an environment's constructor. ValueError for anything that is not allowed.

    `rounds` is None or "all" for all rounds of the rules, a list of those played, or "random" for one at each reset.
    """
    found = resolve_rules(rules, overrides)
    if isinstance(rounds, str):
        if rounds not in (RANDOM, "all"):
            raise ValueError(f"rounds must be a list of rounds, 'random', 'all' or None, not {rounds!r}")
    elif rounds is not None:
        if not isinstance(rounds, (list, tuple, range, np.ndarray)):
            raise ValueError(f"rounds must be a list of rounds, 'random', 'all' or None, not {rounds!r}")
        found = found.replace(rounds=list(rounds))
    return Setting(found, check_players(found, players), rounds == RANDOM if isinstance(rounds, str) else False)


def check_seed(seed: object) -> int | None:
    """A seed as the libraries want it. ValueError for what is none."""
    if seed is None:
        return None
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise ValueError(f"seed must be a whole number from 0 up or None, not {seed!r}")
    return int(seed)


def check_choice(name: str, value: object, choices: Sequence[str | None]) -> Any:
    """A value, if it is one of the choices."""
    if isinstance(value, (str, type(None))) and value in choices:
        return value
    raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, not {value!r}")


def check_count(name: str, value: object) -> int | None:
    """A number from 1 up, or None for no limit."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ValueError(f"{name} must be a whole number from 1 up or None, not {value!r}")
    return int(value)


def check_number(name: str, value: object) -> float:
    """A finite number."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise ValueError(f"{name} must be a number, not {value!r}")
    if not np.isfinite(value):
        raise ValueError(f"{name} must be finite, not {value!r}")
    return float(value)


def check_flag(name: str, value: object) -> bool:
    """True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be True or False, not {value!r}")
    return bool(value)


def check_seat(name: str, value: object, players: int) -> int:
    """A seat of the table."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not 0 <= value < players:
        raise ValueError(f"{name} must be a seat from 0 to {players - 1}, not {value!r}")
    return int(value)


def check_action(action: object, moves: int) -> int:
    """The id of a move; whether it is legal now is for the mask to say."""
    try:
        if isinstance(action, (bool, np.bool_)):
            raise TypeError
        move = operator.index(action)  # type: ignore[arg-type]
    except TypeError:
        raise ValueError(f"an action must be a whole number from 0 to {moves - 1}, not {action!r}") from None
    if not 0 <= move < moves:
        raise ValueError(f"an action must be a whole number from 0 to {moves - 1}, not {move}")
    return move


def check_names(options: Mapping[str, Any] | None, allowed: Sequence[str]) -> Mapping[str, Any]:
    """The options of a reset, if all of their names are known."""
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise ValueError(f"options must be a dict with keys among {', '.join(allowed)}, or None, not {options!r}")
    for name in options:
        if name not in allowed:
            raise ValueError(f"unknown option {name!r}; allowed are {', '.join(allowed)}")
    return options


def read_options(setting: Setting, options: Mapping[str, Any]) -> Start:
    """The options of a reset, checked against the setting; None stands for an option that is not given."""
    given = {name: options[name] for name in OPTIONS if options.get(name) is not None}
    position = given.pop("position", None)
    if position is not None:
        if given:
            raise ValueError(f"a position already says the {', '.join(given)}: give either the position or the other options")
        return Start(position=_read_position(setting, position))
    index, scores = None, None
    if "round" in given:
        index = setting.rules.round_index(given["round"])
    dealer = check_seat("dealer", given["dealer"], setting.players) if "dealer" in given else -1
    if "scores" in given:
        scores = _read_scores(given["scores"], setting.players)
    return Start(index, dealer, scores)


def _read_scores(scores: Any, players: int) -> tuple[int, ...]:
    if not isinstance(scores, (list, tuple, np.ndarray)) or len(scores) != players:
        raise ValueError(f"scores must be a list of {players} numbers, one for each seat, not {scores!r}")
    for score in scores:
        if isinstance(score, bool) or not isinstance(score, (int, np.integer)) or not -_MOST_POINTS <= score <= _MOST_POINTS:
            raise ValueError(f"scores must be whole numbers from {-_MOST_POINTS} to {_MOST_POINTS}, not {score!r}")
    return tuple(int(score) for score in scores)


def _read_position(setting: Setting, position: Any) -> np.ndarray:
    rules, states = read_position(position)
    for name in FIELDS:
        own, other = getattr(setting.rules, name), getattr(rules, name)
        if name != "name" and own != other:
            raise ValueError(f"the position has other rules than the environment: {name} is {other!r}, not {own!r}")
    players = int(states[0].players)
    if players != setting.players:
        raise ValueError(f"the position has {players} players, the environment has {setting.players}")
    if setting.one_round:
        states[0].last_index = states[0].round_index
    return states


def new_key(generator: np.random.Generator) -> np.uint64:
    """A key for a game, drawn from an environment's generator."""
    return np.uint64(generator.integers(0, 2**64, dtype=np.uint64))


def deal(setting: Setting, start: Start, generator: np.random.Generator) -> np.ndarray:
    """An array of one State: the beginning of an episode, with a key from the environment's generator."""
    key = new_key(generator)
    if start.position is not None:
        states = start.position.copy()
        states["key"], states["counter"] = key, 0
        return states
    index, last = start.index or 0, setting.rules.game_rounds - 1
    if setting.one_round:
        last = index = int(generator.integers(setting.rules.kinds_of_round)) if start.index is None else start.index
    states = new_states(1)
    start_game(compile_tables(setting.rules), states[0], setting.players, key, index, last, start.dealer, NO_ORDER)
    if start.scores is not None:
        states["scores"][0, : setting.players] = start.scores
    return states


def round_summary(rules: Rules, state: Any) -> dict[str, Any]:
    """The round that ended last: its number, its end (`out`, `blocked`, `turn_limit`), what it added to the scores."""
    index = int(state.round_index) - (0 if state.phase == OVER else 1)
    return {"round": rules.round_at(index), "end": ENDS[int(state.last_end)], "points": points_of(state)}


def points_of(state: Any) -> list[int]:
    """What the last round added to each seat's score."""
    return [int(points) for points in state.last_points[: int(state.players)]]


def scores_of(state: Any) -> list[int]:
    """Every seat's score."""
    return [int(score) for score in state.scores[: int(state.players)]]
