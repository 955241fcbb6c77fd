"""The one PettingZoo environment behind the modules of the games: it holds one State and calls kernels.

The pages of the environments are those of `international_v0` and `basic_v0`; this file says only how the API is met.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import logger, spaces
from gymnasium.utils import seeding
from pettingzoo import AECEnv
from pettingzoo.utils import wrappers

from rummy_env.engine.state import new_views
from rummy_env.engine.tables import LAY_ORDERS
from rummy_env.episode import (
    OPTIONS,
    RulesLike,
    check_action,
    check_choice,
    check_count,
    check_names,
    check_seed,
    deal,
    make_setting,
    points_of,
    read_options,
    round_summary,
    scores_of,
)
from rummy_env.explain import why_illegal
from rummy_env.moves import move_table
from rummy_env.observation import check_features, check_obs_dtype, observation_size, observation_space
from rummy_env.render.text import table_text
from rummy_env.rewards import check_reward, rewards_for
from rummy_env.rules import Rules
from rummy_env.single import NO_MOVE, NOBODY, REFUSED, ROUND_ENDED, compiled, encode_state, observe, state_layout, step

_TESTED_OPTION = "options"
"""PettingZoo's `api_test` passes ``{"options": 1}`` to any environment; this name is ignored for it."""


def wrapped(env: AECEnv) -> Any:  # type: ignore[type-arg, unused-ignore]
    """An environment with PettingZoo's usual wrappers: an illegal move ends the episode with a reward of -1."""
    inner: Any = wrappers.TerminateIllegalWrapper(env, illegal_reward=-1)
    return wrappers.OrderEnforcingWrapper(wrappers.AssertOutOfBoundsWrapper(inner))


class raw_env(AECEnv):  # type: ignore[misc, type-arg, unused-ignore]
    """A table of rummy as an agent-environment cycle, without wrappers.

    Args:
        players: how many sit at the table.
        rules: a preset's name, the path of a YAML file, a map of fields, or `Rules`.
        overrides: rule fields that differ.
        rounds: None or "all" for all rounds of the rules, a list of those played, or "random" for one at each reset.
        reward: "points", "rank" or "win", see `rummy_env.rewards`.
        render_mode: None, "ansi" or "human".
        max_moves: moves after which an episode is truncated; None for no limit.
        max_cycles: another name for `max_moves`, which `pettingzoo.make` uses.
        features: optional blocks of the observation, see `rummy_env.observation.FEATURES`.
        obs_dtype: "float32", or "uint8" for the numbers before they are divided by their scales.
        lay_order: "ascending" leaves one order in which the melds of a contract can be laid.

    Raises ValueError for anything that is not allowed, naming it. So does `step`, for a move that is not legal, and
    `reset`, for an option; nothing is changed then.
    """

    metadata: dict[str, Any] = {
        "render_modes": ["human", "ansi"],
        "name": "rummy",
        "is_parallelizable": False,
        "render_fps": 2,
    }

    def __init__(
        self,
        players: int = 4,
        rules: RulesLike = "international",
        overrides: Mapping[str, Any] | None = None,
        rounds: Sequence[int] | str | None = None,
        reward: str = "points",
        render_mode: str | None = None,
        max_moves: int | None = None,
        max_cycles: int | None = None,
        features: Sequence[str] | str = (),
        obs_dtype: str = "float32",
        lay_order: str = "any",
    ):
        super().__init__()
        self._setting = make_setting(rules, overrides, players, rounds)
        self._reward = check_reward(reward)
        self.render_mode: str | None = check_choice("render_mode", render_mode, (None, *self.metadata["render_modes"]))
        moves, cycles = check_count("max_moves", max_moves), check_count("max_cycles", max_cycles)
        if moves is not None and cycles is not None and moves != cycles:
            raise ValueError(f"max_moves and max_cycles are two names of one limit; give one, not {moves} and {cycles}")
        self.max_moves = cycles if moves is None else moves
        self._features = check_features(features)
        self._obs_dtype = check_obs_dtype(obs_dtype)
        self._lay_order = check_choice("lay_order", lay_order, LAY_ORDERS)
        self._compile()
        self.possible_agents = [f"player_{seat}" for seat in range(self._setting.players)]
        self._seats = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        self.agents: list[str] = []
        self.observation_spaces = {agent: self._observation_space() for agent in self.possible_agents}
        self.action_spaces = {agent: spaces.Discrete(self._num_moves) for agent in self.possible_agents}
        self.state_space = spaces.Box(0, 1, (state_layout(self.rules, self._features)[-1].stop,), np.float32)
        self._generator: np.random.Generator | None = None
        self._states: np.ndarray | None = None

    @property
    def rules(self) -> Rules:
        """The rules that are played."""
        return self._setting.rules

    def _compile(self) -> None:
        """Keep what follows from the rules alone; looking it up by the rules at each step would cost more than the step."""
        self._compiled = compiled(self.rules, self._features, self._obs_dtype, self._lay_order)
        self._num_moves = len(move_table(self.rules))
        self._size = observation_size(self.rules, self._features)
        self._views = new_views(1)
        self._ready: np.ndarray | None = None  # the observation of the seat to act, until somebody asks for it

    def __getstate__(self) -> dict[str, Any]:
        left_out = ("_compiled", "_views", "_ready")
        return {name: value for name, value in self.__dict__.items() if name not in left_out}

    def __setstate__(self, values: dict[str, Any]) -> None:
        self.__dict__.update(values)
        self._compile()

    def _observation_space(self) -> spaces.Dict:
        return spaces.Dict({
            "observation": observation_space(self.rules, self._features, self._obs_dtype),
            "action_mask": spaces.Box(0, 1, (self._num_moves,), np.int8),
        })  # fmt: skip

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """The same object at every call."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """The same object at every call."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Deal a new episode. Without a seed the generator goes on; options: `round`, `dealer`, `scores`, `position`."""
        seed = check_seed(seed)
        names = check_names(options, (*OPTIONS, _TESTED_OPTION))
        start = read_options(self._setting, names)
        if seed is not None or self._generator is None:
            self._generator, _ = seeding.np_random(seed)
        self._states = deal(self._setting, start, self._generator)
        self._mask = np.empty(self._num_moves, np.int8)
        self._ready = np.empty(self._size, self._obs_dtype)
        self._to_act = int(step(self._compiled, self._states, NO_MOVE, self._views, self._mask, self._ready))
        self._played = 0
        self.agents = list(self.possible_agents)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self.agent_selection = self.possible_agents[self._to_act]
        self._skip_agent_selection: str | None = None
        if self.render_mode == "human":
            self.render()

    def step(self, action: Any) -> None:
        """Play the move of the agent selected; None for an agent that is done."""
        if not self.agents:
            raise ValueError("no episode is on: call reset first")
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        move = check_action(action, self._num_moves)
        ready = np.empty(self._size, self._obs_dtype)
        seat = int(step(self._compiled, self._states, move, self._views, self._mask, ready))
        if seat == REFUSED:
            state = self._table()[0]
            raise ValueError(f"{move_table(self.rules).text(move)}: {why_illegal(self.rules, state, move)}")
        self._ready = ready
        self._played += 1
        self._cumulative_rewards[agent] = 0.0
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self.infos = {agent: {} for agent in self.agents}
        self._to_act = seat & ~ROUND_ENDED
        over = self._to_act == NOBODY
        if seat & ROUND_ENDED:
            self._end_round(over)
        if over:
            self.terminations = dict.fromkeys(self.agents, True)
            self._deads_step_first()
        else:
            self.agent_selection = self.possible_agents[self._to_act]
            if self._played == self.max_moves:
                self.truncations = dict.fromkeys(self.agents, True)
                self._deads_step_first()
        if self.render_mode == "human":
            self.render()

    def _end_round(self, over: bool) -> None:
        state = self._table()[0]
        self._ready = None if over else self._ready
        rewards = rewards_for(self._reward, self.rules, points_of(state), scores_of(state), over)
        self.rewards = dict(zip(self.agents, rewards, strict=True))
        self._accumulate_rewards()
        for info in self.infos.values():
            info["last_round"] = round_summary(self.rules, state)
            if over:
                info["scores"] = scores_of(state)

    def observe(self, agent: str) -> dict[str, np.ndarray]:
        """The observation of any seat at any time; the mask is that of the seat to act, and zeros for the others.

        When the episode is over all masks are ones. The arrays are new ones at each call.
        """
        states = self._table()
        seat = self._seats.get(agent)
        if seat is None:
            raise ValueError(f"no such agent: {agent!r}; agents are {', '.join(self.possible_agents)}")
        acts = seat == self._to_act
        if acts and self._ready is not None:
            observation, self._ready = self._ready, None
        else:
            observation = np.empty(self._size, self._obs_dtype)
            observe(self._compiled, states, seat, self._views, observation)
        if self.terminations.get(agent, True) or self.truncations.get(agent, True):
            mask = np.ones(self._num_moves, np.int8)
        else:
            mask = self._mask.copy() if acts else np.zeros(self._num_moves, np.int8)
        return {"observation": observation, "action_mask": mask}

    def state(self) -> np.ndarray:
        """The full table with every hidden card, for central critics: float32 in [0, 1], see `single.state_layout`."""
        out = np.empty(self.state_space.shape, np.float32)
        encode_state(compiled(self.rules, self._features), self._table(), self._views, out)
        return out

    def render(self) -> str | None:
        """The table with all hands: its text with "ansi"; printed with "human"."""
        if self.render_mode is None:
            logger.warn("You are calling render method without specifying any render mode.")
            return None
        text = table_text(self.rules, self._table()[0])
        if self.render_mode == "ansi":
            return text
        print(text)
        return None

    def close(self) -> None:
        """There is nothing to release."""

    def _table(self) -> np.ndarray:
        if self._states is None:
            raise ValueError("no episode is on: call reset first")
        return self._states
