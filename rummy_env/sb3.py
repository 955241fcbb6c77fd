"""Many tables as a Stable-Baselines3 `VecEnv`, with the masks that sb3-contrib's MaskablePPO asks for in one call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces
from stable_baselines3.common.vec_env import VecEnv

from rummy_env.learners import LearnerTables
from rummy_env.moves import move_table
from rummy_env.observation import observation_space
from rummy_env.rewards import POINTS_PER_REWARD, ROUND_SCHEMES, check_reward, rewards_for
from rummy_env.rules import Rules, resolve_rules


class RummyVecEnv(VecEnv):
    """One learner at each of `num_envs` tables against scripted opponents; see `LearnerTables` for the arguments.

    Rewards are as in the other environments (`reward`: points, rank or win). Finished tables are dealt anew at once; their
    last observation is in ``infos[i]["terminal_observation"]`` and the outcome in ``infos[i]["episode"]``.
    """

    def __init__(
        self,
        rules: str | Path | Rules,
        num_envs: int,
        players: int | Sequence[int] = 4,
        opponents: Sequence[str] = ("greedy",),
        rounds: str | Sequence[int] = "random",
        reward: str = "points",
        seed: int = 0,
        features: Sequence[str] = (),
        obs_dtype: str = "float32",
        lay_order: str = "any",
        shaping: str | None = None,
        gamma: float = 1.0,
        overrides: Mapping[str, Any] | None = None,
        skip_forced: bool = True,
    ):
        rules = resolve_rules(rules, overrides)
        self._reward = check_reward(reward)
        self.tables = LearnerTables(
            rules, num_envs, players, opponents, rounds, seed, skip_forced, features, obs_dtype, lay_order, shaping, gamma
        )
        self._returns = np.zeros(num_envs)
        self._lengths = np.zeros(num_envs, np.int64)
        self._moves = np.zeros(num_envs, np.int64)
        self.render_mode = None
        super().__init__(
            num_envs,
            observation_space(rules, self.tables.features, obs_dtype),
            spaces.Discrete(len(move_table(rules))),
        )

    def reset(self) -> np.ndarray:
        if self._seeds[0] is not None:
            self.tables.seed(self._seeds[0])
        self._reset_seeds()
        self._reset_options()
        self._returns[:] = 0
        self._lengths[:] = 0
        self.tables.reset()
        return self.tables.observations.copy()

    def step_async(self, actions: np.ndarray) -> None:
        moves = np.asarray(actions)
        if moves.dtype.kind not in "iu":
            raise ValueError(f"moves must be {self.num_envs} ids, whole numbers, not {actions!r}")
        self._moves = moves.astype(np.int64)

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        tables = self.tables
        tables.step(self._moves)
        self._lengths += 1
        by_round = self._reward in ROUND_SCHEMES
        rewards = tables.rewards / POINTS_PER_REWARD if by_round else np.zeros(self.num_envs)
        done = np.flatnonzero(tables.dones)
        if not by_round:
            for index in done:
                scores = [int(score) for score in tables.final_scores[index, 2 : 2 + tables.final_scores[index, 0]]]
                rewards[index] = rewards_for(self._reward, tables.rules, scores, scores, True)[0]
        self._returns += rewards
        rewards = rewards + tables.shaping
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for index in done:
            players, down, *scores = (int(number) for number in tables.final_scores[index])
            infos[index] = {
                "terminal_observation": tables.finals[index].copy(),
                "TimeLimit.truncated": False,
                "episode": {"r": float(self._returns[index]), "l": int(self._lengths[index]), "t": 0.0},
                "scores": scores[:players],
                "down": bool(down),
            }
        self._returns[done] = 0
        self._lengths[done] = 0
        return tables.observations.copy(), rewards.astype(np.float32), tables.dones.copy(), infos

    def action_masks(self) -> np.ndarray:
        """bool ``(num_envs, moves)``."""
        return self.tables.masks.astype(np.bool_)

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        if method_name != "action_masks":
            raise AttributeError(f"the tables have no method {method_name!r}; only 'action_masks'")
        return list(self.action_masks()[list(self._indices(indices))])

    def _indices(self, indices: int | Iterable[int] | None) -> Iterable[int]:
        return self._get_indices(indices)

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        if attr_name == "action_masks":
            return [self.action_masks for _ in self._indices(indices)]
        return [getattr(self, attr_name) for _ in self._indices(indices)]

    def has_attr(self, attr_name: str) -> bool:
        return hasattr(self, attr_name)

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        raise AttributeError(f"{attr_name!r} cannot be set: the tables are fixed when they are made")

    def env_is_wrapped(self, wrapper_class: type, indices: Any = None) -> list[bool]:
        return [False for _ in self._indices(indices)]

    def close(self) -> None:
        """Nothing to release."""
