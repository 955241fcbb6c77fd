"""Many tables as a `gymnasium.vector.VectorEnv`, one learner at each; what `gymnasium.make_vec` gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import logger, spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from rummy_env.batch import OPTIONS, BatchGame
from rummy_env.batch_kernels import ILLEGAL
from rummy_env.episode import (
    RANDOM,
    RulesLike,
    check_choice,
    check_flag,
    check_names,
    check_number,
    check_seed,
    make_setting,
    round_summary,
    scores_of,
)
from rummy_env.explain import why_illegal
from rummy_env.moves import move_table
from rummy_env.observation import observation_space
from rummy_env.render.text import table_text

_KEY_BITS = 63


class RummyVectorEnv(VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """`num_envs` tables of `RummyEnv`, played by one call into compiled code a step.

    Table i of an environment that was reset with the seed s plays what a `RummyEnv` with the seed s + i plays: the same
    episodes, observations, masks, rewards, endings and infos. Arguments and rewards are those of `RummyEnv`; they differ in
    these:

    * `opponents`: scripted players by name only, one for all or a list of `players` - 1. Saved agents and functions sit at
      single tables: ``gymnasium.make_vec(..., vectorization_mode="sync")``.
    * `players` may be a list of numbers, of which one is drawn for every episode.
    * `opponent_pool`: instead of `opponents`, names of which one is drawn for each seat and episode.
    * `threads`: how many share the tables.
    * `copy`: with False, `reset` and `step` return the buffers themselves, which the next call writes again.
    * `render_mode`: None or "ansi"; `render` gives a text for each table.

    Finished tables are dealt anew within the step (``AutoresetMode.SAME_STEP``): the observation returned is the first of the
    next episode, the last one stands in ``infos["final_obs"]``, its info in ``infos["final_info"]``.
    ``infos["action_mask"]`` is int8 ``(num_envs, moves)``; `action_masks` gives the same as bool.

    ``reset(seed=...)`` takes a number, from which the tables count up, or a list of one seed for each table, None for a table
    whose stream is to go on. Its options, for the first episode of every table, are `round`, `dealer`, `scores` and `seat`.

    Raises ValueError for anything that is not allowed, naming it; nothing is changed then.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "autoreset_mode": AutoresetMode.SAME_STEP}

    def __init__(
        self,
        num_envs: int = 1,
        players: int | Sequence[int] = 4,
        opponents: str | Sequence[str] | None = None,
        seat: int | str = RANDOM,
        rules: RulesLike = "international",
        overrides: Mapping[str, Any] | None = None,
        rounds: Sequence[int] | str | None = RANDOM,
        reward: str = "points",
        illegal_action: str = "terminate",
        illegal_reward: float = -5.0,
        skip_forced: bool = True,
        max_moves: int | None = None,
        render_mode: str | None = None,
        features: Sequence[str] | str = (),
        obs_dtype: str = "float32",
        lay_order: str = "any",
        shaping: str | None = None,
        gamma: float = 1.0,
        opponent_pool: Sequence[str] | None = None,
        threads: int = 1,
        copy: bool = True,
    ):
        first = players[0] if isinstance(players, (list, tuple)) and players else players
        setting = make_setting(rules, overrides, first, rounds)  # type: ignore[arg-type]
        self._raises = check_choice("illegal_action", illegal_action, ("terminate", "raise")) == "raise"
        self._illegal_reward = check_number("illegal_reward", illegal_reward)
        self.render_mode = check_choice("render_mode", render_mode, (None, *self.metadata["render_modes"]))
        self.copy = check_flag("copy", copy)
        self.batch = BatchGame(
            setting.rules,
            num_envs,
            players,
            opponents="greedy" if opponents is None and opponent_pool is None else opponents,
            opponent_pool=opponent_pool,
            seat=seat,
            rounds=RANDOM if setting.one_round else "all",
            reward=reward,
            skip_forced=skip_forced,
            features=features,
            obs_dtype=obs_dtype,
            lay_order=lay_order,
            shaping=shaping,
            gamma=gamma,
            max_moves=max_moves,
            threads=threads,
        )
        self.num_envs = self.batch.num_tables
        self.single_observation_space = observation_space(setting.rules, self.batch.features, obs_dtype)
        self.single_action_space = spaces.Discrete(self.batch.masks.shape[1])
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._seeded = False
        self._all = np.ones(self.num_envs, np.bool_)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin an episode at every table; its first observations and `infos`, which also says the learners' seats."""
        check_names(options, OPTIONS)
        seeds = self._seeds(seed)
        opening = self.batch.read_options(options)
        if isinstance(seed, (int, np.integer)):
            super().reset(seed=int(seed))
        if seeds is not None:
            if not self._seeded:
                fresh = self.np_random.integers(0, 2**_KEY_BITS, self.num_envs)
                seeds = [int(own) if one is None else one for one, own in zip(seeds, fresh, strict=True)]
            self.batch.seed(seeds)
            self._seeded = True
        self.batch.begin(opening)
        return self._shown(self.batch.observations), {
            **self._masks(),
            "seat": self.batch.seats.copy(),
            "_seat": self._all.copy(),
        }

    def _seeds(self, seed: Any) -> list[int | None] | None:
        """A seed for each table; None where all streams go on."""
        if seed is None:
            return None if self._seeded else [None] * self.num_envs
        if not isinstance(seed, (list, tuple, np.ndarray)):
            first = check_seed(seed)
            assert first is not None
            return [first + index for index in range(self.num_envs)]
        if len(seed) != self.num_envs:
            raise ValueError(f"seed must be one number or a list of {self.num_envs}, one for each table, not {len(seed)}")
        return [check_seed(one) for one in seed]

    def step(self, actions: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Play the learners' moves and everything until their next decisions."""
        batch = self.batch
        moves, why = self._check(actions)
        batch.play(moves, self._illegal_reward)
        infos = self._masks()
        done = np.flatnonzero(batch.dones)
        if len(done):
            infos.update(self._endings(done, why))
        # a new array in either case: what shaping adds is no part of the batch's own rewards
        rewards = batch.own_rewards + batch.shaping
        flags = batch.terminated, batch.truncated
        return self._shown(batch.observations), rewards, self._shown(flags[0]), self._shown(flags[1]), infos

    def _check(self, actions: Any) -> tuple[np.ndarray, dict[int, str]]:
        """The moves with `ILLEGAL` in place of those that are not legal, and for each of these why."""
        batch = self.batch
        moves = batch.take(actions)
        wrong = batch.illegal_tables(moves)
        why: dict[int, str] = {}
        for index in wrong.tolist():
            move = int(moves[index])
            reason = why_illegal(batch.rules, batch.states[index], move)
            why[index] = f"{move_table(batch.rules).text(move)}: {reason}"
            if self._raises:
                raise ValueError(f"table {index}: {why[index]}")
        moves[wrong] = ILLEGAL
        return moves, why

    def _endings(self, done: np.ndarray, why: dict[int, str]) -> dict[str, Any]:
        """What infos say of the episodes that have ended, and of those that have begun at their tables."""
        batch, flags = self.batch, np.zeros(self.num_envs, np.bool_)
        flags[done] = True
        seats = np.where(flags, batch.seats, 0)
        finals = np.full(self.num_envs, None, object)
        final: dict[str, Any] = {}
        for index in done.tolist():
            finals[index] = batch.finals[index].copy()
            state = batch.final_states[index]
            info: dict[str, Any] = {"scores": scores_of(state)}
            if index in why:
                info["illegal_action"] = why[index]
            elif batch.terminated[index]:
                info["last_round"] = round_summary(batch.rules, state)
            final = self._add_info(final, info, index)
        final["action_mask"] = np.zeros_like(batch.masks)
        final["action_mask"][done] = 1
        final["_action_mask"] = flags.copy()
        shown = {"final_obs": finals, "final_info": final, "seat": seats}
        return {**shown, **{f"_{name}": flags.copy() for name in shown}}

    def _masks(self) -> dict[str, Any]:
        return {"action_mask": self._shown(self.batch.masks), "_action_mask": self._shown(self._all)}

    def _shown(self, array: np.ndarray) -> np.ndarray:
        return array.copy() if self.copy else array

    def action_masks(self) -> np.ndarray:
        """The legal moves of all tables, bool ``(num_envs, moves)``, a new array."""
        return self.batch.masks.view(np.bool_).copy()

    def render(self) -> tuple[str, ...] | None:
        """With "ansi" the text of every table, with all hands."""
        if self.render_mode is None:
            logger.warn("You are calling render method without specifying any render mode.")
            return None
        self.batch.check_started()
        return tuple(table_text(self.batch.rules, state) for state in self.batch.states)
