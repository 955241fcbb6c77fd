"""Driving the PettingZoo and Gymnasium environments in tests.

Run as a module (``python -m tests.faces``) it prints a digest of seeded episodes, so that another process can be compared
with this one.
"""

from __future__ import annotations

import copy
import hashlib
import pickle
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from rummy_env import international_v0
from rummy_env.engine.state import PHASES
from rummy_env.gym_env import RummyEnv
from rummy_env.moves import MoveType, move_table
from rummy_env.rules import Rules, preset

PLAYERS = (2, 3, 4, 6)
INTERNATIONAL = preset("international")
COPIES: dict[str, Callable[[Any], Any]] = {
    "deepcopy": copy.deepcopy,
    "pickle": lambda env: pickle.loads(pickle.dumps(env)),
}


@lru_cache(maxsize=8)
def types_of(rules: Rules) -> np.ndarray:
    """The types of the moves of a table."""
    return np.array([move.type for move in move_table(rules)])


def eager(mask: np.ndarray, random: np.random.Generator, rules: Rules = INTERNATIONAL) -> int:
    """A random legal move; lays down and off as soon as it can, so that rounds end and every phase comes up."""
    legal = np.flatnonzero(mask)
    types = types_of(rules)[legal]
    for wanted in (types == MoveType.LAY, (types >= MoveType.OFF_GROUP) & (types <= MoveType.OFF_HIGH)):
        if wanted.any():
            legal = legal[wanted]
            break
    return int(random.choice(legal))


def phase_of(env: Any) -> str:
    """The phase of an environment's table."""
    inner = env.unwrapped
    states = inner._states if hasattr(inner, "_states") else inner._table.states
    return PHASES[int(states[0].phase)]


def play_aec(env: Any, random: np.random.Generator, steps: int = 1_000_000) -> list[tuple[Any, ...]]:
    """Play an AEC environment on by `eager`; everything that each agent selected is shown, as bytes and numbers."""
    seen: list[tuple[Any, ...]] = []
    for _ in range(steps):
        if not env.agents:
            break
        agent = env.agent_selection
        observation, reward, terminated, truncated, info = env.last()
        shown = (observation["observation"].tobytes(), observation["action_mask"].tobytes())
        seen.append((agent, *shown, reward, terminated, truncated, repr(info)))
        env.step(None if terminated or truncated else eager(observation["action_mask"], random, env.unwrapped.rules))
    return seen


def play_gym(env: Any, random: np.random.Generator, steps: int = 1_000_000) -> list[tuple[Any, ...]]:
    """Play a Gymnasium environment on by `eager` to the end of the episode."""
    seen: list[tuple[Any, ...]] = []
    mask = env.unwrapped.action_masks()
    for _ in range(steps):
        observation, reward, terminated, truncated, info = env.step(eager(mask, random, env.unwrapped.rules))
        mask = info.pop("action_mask")
        seen.append((observation.tobytes(), mask.tobytes(), reward, terminated, truncated, repr(info)))
        if terminated or truncated:
            break
    return seen


def digest() -> str:
    """A hash over everything that seeded episodes of both faces show."""
    whole = hashlib.sha256()
    for players in PLAYERS:
        aec = international_v0.env(players=players, rounds=[1, 6])
        gym = RummyEnv(players=players, opponents=["random", *["greedy"] * (players - 2)])
        for seed in (3, None):
            aec.reset(seed=seed)
            whole.update(repr(play_aec(aec, np.random.default_rng(1))).encode())
            observation, info = gym.reset(seed=seed)
            whole.update(observation.tobytes() + repr(info["seat"]).encode())
            whole.update(repr(play_gym(gym, np.random.default_rng(1))).encode())
    return whole.hexdigest()


if __name__ == "__main__":
    print(digest())
