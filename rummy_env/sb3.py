"""Many tables as a Stable-Baselines3 `VecEnv`, with the masks that sb3-contrib's MaskablePPO asks for in one call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces
from stable_baselines3.common.vec_env import VecEnv

from rummy_env.batch import BatchGame, check_pool
from rummy_env.episode import scores_of
from rummy_env.observation import observation_space
from rummy_env.rules import Rules


class RummyVecEnv(VecEnv):
    """One learner at each of `num_envs` tables against scripted opponents; see `BatchGame` for the arguments.

    `opponents` are names, of which each other seat draws one for every episode. Finished tables are dealt anew at once; their
    last observation is in ``infos[i]["terminal_observation"]``, the outcome in ``infos[i]["episode"]`` (without shaping),
    `scores` (the learner's first) and `down` (whether the learner has laid down in the last round).
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
        seat: int | str = "random",
        max_moves: int | None = None,
        threads: int = 1,
    ):
        self.tables = BatchGame(
            rules,
            num_envs,
            players,
            opponent_pool=check_pool("opponents", opponents),
            seat=seat,
            rounds=rounds,
            reward=reward,
            seed=seed,
            skip_forced=skip_forced,
            features=features,
            obs_dtype=obs_dtype,
            lay_order=lay_order,
            shaping=shaping,
            gamma=gamma,
            max_moves=max_moves,
            threads=threads,
            overrides=overrides,
        )
        self._returns = np.zeros(num_envs)
        self._lengths = np.zeros(num_envs, np.int64)
        self._moves = np.zeros(num_envs, np.int64)
        self.render_mode = None
        super().__init__(
            num_envs,
            observation_space(self.tables.rules, self.tables.features, obs_dtype),
            spaces.Discrete(self.tables.masks.shape[1]),
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
        self._returns += tables.own_rewards
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        done = np.flatnonzero(tables.dones)
        for index in done:
            state, seat = tables.final_states[index], int(tables.final_seats[index])
            scores = scores_of(state)
            infos[index] = {
                "terminal_observation": tables.finals[index].copy(),
                "TimeLimit.truncated": bool(tables.truncated[index]),
                "episode": {"r": float(self._returns[index]), "l": int(self._lengths[index]), "t": 0.0},
                "scores": scores[seat:] + scores[:seat],
                "down": bool(int(state["last_down"]) >> seat & 1),
            }
        self._returns[done] = 0
        self._lengths[done] = 0
        rewards = (tables.own_rewards + tables.shaping).astype(np.float32)
        return tables.observations.copy(), rewards, tables.dones.copy(), infos

    def action_masks(self) -> np.ndarray:
        """bool ``(num_envs, moves)``."""
        return self.tables.masks.view(np.bool_).copy()

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        if method_name != "action_masks":
            raise AttributeError(f"the tables have no method {method_name!r}; only 'action_masks'")
        masks = self.action_masks()
        return list(masks if indices is None else masks[list(self._indices(indices))])

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
