"""Gymnasium: one learner at a table, against opponents that play by themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium import logger, spaces

from rummy_env.analysis import check_shaping
from rummy_env.dealing import AS_SET, DRAWN, FIXED, MOST_DEALS, Opening, make_draws, make_opening, stream_of
from rummy_env.engine.state import MAX_PLAYERS, new_states, new_views
from rummy_env.engine.tables import LAY_ORDERS
from rummy_env.episode import (
    OPTIONS,
    RANDOM,
    RulesLike,
    Setting,
    check_action,
    check_choice,
    check_count,
    check_flag,
    check_names,
    check_number,
    check_seat,
    check_seed,
    make_setting,
    new_key,
    read_options,
    round_summary,
    scores_of,
)
from rummy_env.explain import why_illegal
from rummy_env.game import game_key
from rummy_env.moves import move_table
from rummy_env.observation import check_features, check_obs_dtype, observation_size, observation_space
from rummy_env.players.base import MoveChooser, Player, make_opponents
from rummy_env.players.drive import POINTS, ROUNDS, new_tallies
from rummy_env.players.scripted import EXTERNAL
from rummy_env.render.text import table_text
from rummy_env.rewards import check_reward, rewards_for
from rummy_env.rules import Rules
from rummy_env.single import NO_MOVE, NOBODY, answer, compiled, deal, observe, state_potential

Opponents = str | Path | Player | MoveChooser | Sequence[Any]


@dataclass
class _Table:
    """One table in play: what changes during an episode."""

    states: np.ndarray
    seat: int  # of the learner
    seating: np.ndarray  # the number of the scripted player of each seat
    streams: np.ndarray  # their random streams
    tallies: np.ndarray  # what has happened since the learner's last decision
    mask: np.ndarray  # of the seat that must choose
    to_act: int  # the seat that must choose, or NOBODY
    played: int = 0  # the learner's decisions
    done: bool = False
    potential: float = 0.0  # of the learner's last decision, for shaping

    def copy(self) -> _Table:
        """An independent copy."""
        arrays = {name: getattr(self, name).copy() for name in ("states", "seating", "streams", "tallies", "mask")}
        return replace(self, **arrays)


class RummyEnv(gymnasium.Env[np.ndarray, np.int64]):
    """One learner against opponents.

    ## Description
    A table of rummy for 2 to 6 players, seen from one seat: of International Rummy (contract rummy with buying) as
    `rummy_env/International-v0`, of Basic Rummy as `rummy_env/Basic-v0`. The environment plays the other seats; a step is
    one decision of the learner and everything that follows until its next. The rules, and the same tables for several
    agents, are described in `rummy_env.international_v0` and `rummy_env.basic_v0`.

    ## Observation
    `Box(0, 1, (1223,), float32)`, in Basic Rummy `Box(0, 1, (1467,), float32)`: what the learner's seat may know.
    `rummy_env.observation.layout` names every block, and `rummy_env.observation.decode` reads a vector back.

    ## Action
    `Discrete(1141)`, in Basic Rummy `Discrete(282)`: the moves of `rummy_env.moves.move_table`. Few are legal at a time:
    `info["action_mask"]` (int8, 1 where legal) and `action_masks()` (the same as bool) tell which. When the episode has
    ended the mask is all ones.

    ## Rewards
    Everything the learner's seat is paid since its last decision, whoever acts last. `reward="points"`: at the end of each
    round (mean of the others' points - own points) / 100, turned round where most points win, as in Basic Rummy. `"rank"`:
    at the end of the game 1 for the first place to -1 for the last. `"win"`: at the end of the game 1, shared by equal
    winners.

    ## Episodes
    One round drawn at random (`rounds="random"`; in Basic Rummy one deal), a list of rounds, or the whole game
    (`rounds="all"`). The episode terminates with it, and is truncated after `max_moves` decisions of the learner. An episode
    that ends before the learner acts is dealt again within `reset`. At the end `info` holds `scores` and `last_round` (its
    number, its end, the points).

    ## Arguments
    * `players`: how many sit at the table.
    * `opponents`: a name of `rummy_env.players.base.player_names`, the path of a saved agent, a `Player`, a function of a
      View and a mask; or a list of `players - 1` of these, clockwise from the learner's left.
    * `seat`: the learner's, or "random" for one drawn at each reset.
    * `rules`, `overrides`: a preset's name, a YAML file's path or `Rules`, and fields that differ.
    * `rounds`, `reward`, `max_moves`: see above.
    * `illegal_action`: "terminate" ends the episode with `illegal_reward`; "raise" raises ValueError and changes nothing.
    * `skip_forced`: a single legal move is played without asking the learner.
    * `render_mode`: None, "ansi" for the text of the table with all hands, or "human" to print it at every step.
    * `features`: optional blocks of the observation, see `rummy_env.observation.FEATURES`.
    * `obs_dtype`: "float32", or "uint8" for the numbers before they are divided by their scales.
    * `lay_order`: "ascending" leaves one order in which the melds of a contract can be laid.
    * `shaping`: "distance" adds potential-based shaping to the rewards: the potential is minus the cards that the hand is
      away from the contract (in Basic Rummy from the next meld), as a share of 12; `gamma` is the learner's discount.

    ## Options of `reset`
    `round`, `dealer`, `scores`, `seat`, or `position` (to go on from there). A seed begins a new stream of episodes, of which
    come deals, seats and the opponents' random streams; without one the stream goes on. A table of
    `rummy_env.vector.RummyVectorEnv` with the same seed plays the same episodes.

    Raises ValueError for anything that is not allowed, naming it; nothing is changed then.

    ## Version history
    * v0: the first.
    """

    metadata: dict[str, Any] = {"render_modes": ["human", "ansi"], "render_fps": 2}

    def __init__(
        self,
        players: int = 4,
        opponents: Opponents = "greedy",
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
    ):
        self._setting: Setting = make_setting(rules, overrides, players, rounds)
        self._opponents = make_opponents(opponents, self._setting.players - 1, self.rules)
        self._outside = any(player.number == EXTERNAL for player in self._opponents)
        self._own_seat = self._check_seat(seat)
        self._reward = check_reward(reward)
        self._raises = check_choice("illegal_action", illegal_action, ("terminate", "raise")) == "raise"
        self._illegal_reward = check_number("illegal_reward", illegal_reward)
        self._skip_forced = check_flag("skip_forced", skip_forced)
        self.max_moves = check_count("max_moves", max_moves)
        self.render_mode = check_choice("render_mode", render_mode, (None, *self.metadata["render_modes"]))
        self._features = check_features(features)
        self._obs_dtype = check_obs_dtype(obs_dtype)
        self._lay_order = check_choice("lay_order", lay_order, LAY_ORDERS)
        self._gamma = check_shaping(shaping, gamma)
        self._compile()
        self.observation_space = observation_space(self.rules, self._features, self._obs_dtype)
        self.action_space = spaces.Discrete(self._num_moves)
        self._table: _Table | None = None
        self._stream: np.ndarray | None = None  # of the episodes

    @property
    def rules(self) -> Rules:
        """The rules that are played."""
        return self._setting.rules

    @property
    def seat(self) -> int:
        """The learner's seat in this episode."""
        return self._current().seat

    def _check_seat(self, seat: object) -> int | None:
        if isinstance(seat, str):
            if seat == RANDOM:
                return None
            raise ValueError(f"seat must be 'random' or a seat from 0 to {self._setting.players - 1}, not {seat!r}")
        return check_seat("seat", seat, self._setting.players)

    def _compile(self) -> None:
        """Keep what follows from the rules alone; looking it up by the rules at each step would cost more than the step."""
        self._compiled = compiled(self.rules, self._features, self._obs_dtype, self._lay_order)
        self._num_moves = len(move_table(self.rules))
        self._size = observation_size(self.rules, self._features)
        self._views = new_views(1)
        setting = self._setting
        numbers = [player.number for player in self._opponents]
        whole, own = not setting.one_round, self._own_seat
        self._draws = make_draws([setting.players], range(self.rules.kinds_of_round), whole, own, FIXED, numbers)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_compiled", "_views", "_draws")}

    def __setstate__(self, values: dict[str, Any]) -> None:
        self.__dict__.update(values)
        self._compile()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict[str, Any]]:
        """Deal a new episode and play it on to the learner's first decision."""
        seed = check_seed(seed)
        names = check_names(options, (*OPTIONS, "seat"))
        found = read_options(self._setting, names)
        given = names.get("seat")
        own = AS_SET if given is None else self._check_seat(given)
        start = make_opening(found.index, found.dealer, DRAWN if own is None else own, found.scores, found.position)
        before = self._np_random, self._np_random_seed, self.np_random.bit_generator.state
        try:
            super().reset(seed=seed)
            stream = self._next_stream(seed)
            table, observation = self._first_decision(start, stream)
        except BaseException:
            self._np_random, self._np_random_seed = before[:2]
            self.np_random.bit_generator.state = before[2]
            raise
        self._table, self._stream = table, stream
        if self.render_mode == "human":
            self.render()
        return observation, {"action_mask": table.mask.copy(), "seat": table.seat}

    def _next_stream(self, seed: int | None) -> np.ndarray:
        """A copy of the stream that the next episode comes from."""
        if seed is not None:
            return stream_of(game_key(seed))
        return stream_of(new_key(self.np_random)) if self._stream is None else self._stream.copy()

    def _first_decision(self, start: Opening, stream: np.ndarray) -> tuple[_Table, np.ndarray]:
        from_position = len(start.positions) > 0
        for _ in range(1 if from_position else MOST_DEALS):
            table = self._deal(start, stream)
            observation = self._play_on(table)
            if table.to_act != NOBODY:
                self._shape(table, over=False)
                return table, observation
        if from_position:
            raise ValueError(f"the position is played to the end before the learner, seat {table.seat}, has a choice")
        raise ValueError(f"the learner, seat {table.seat}, had no choice in any of {MOST_DEALS} episodes")

    def _deal(self, start: Opening, stream: np.ndarray) -> _Table:
        states = new_states(1)
        seating = np.zeros(MAX_PLAYERS, np.int8)
        streams = np.zeros((MAX_PLAYERS, 2), np.uint64)
        seat = deal(self._compiled, self._draws, start, states, stream, seating, streams)
        return _Table(states, int(seat), seating, streams, new_tallies(1), np.zeros(self._num_moves, np.int8), NOBODY)

    def _play_on(self, table: _Table, move: int = NO_MOVE) -> np.ndarray:
        """Play the learner's move, if there is one, and all that follows; the observation at its next decision or the end.

        The move is a legal one. The table's `to_act` is then the learner's seat or `NOBODY`.
        """
        out = np.empty(self._size, self._obs_dtype)
        rest = (table.seating, table.streams, self._skip_forced, self._views, table.mask, table.tallies, out)
        table.to_act = int(answer(self._compiled, table.states, move, *rest))
        while table.to_act not in (table.seat, NOBODY):
            table.to_act = int(answer(self._compiled, table.states, self._ask(table), *rest))
        if table.to_act == NOBODY:
            observe(self._compiled, table.states, table.seat, self._views, out)
        return out

    def _ask(self, table: _Table) -> int:
        """The move of an opponent outside the compiled loops."""
        player = self._opponents[(table.to_act - table.seat - 1) % self._setting.players]
        move = player.act(self._views.copy()[0], table.mask.copy())
        try:
            move = check_action(move, self._num_moves)
        except ValueError as error:
            raise ValueError(f"opponent {player.name!r} in seat {table.to_act}: {error}") from None
        if not table.mask[move]:
            text = move_table(self.rules).text(move)
            why = why_illegal(self.rules, table.states[0], move)
            raise ValueError(f"opponent {player.name!r} in seat {table.to_act}: {text}: {why}")
        return move

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Play the learner's move and everything until its next decision."""
        table = self._current()
        if table.done:
            raise ValueError("the episode is over: call reset")
        move = check_action(action, self._num_moves)
        if not table.mask[move]:
            return self._illegal(table, move)
        if self._outside:
            table = table.copy()  # players outside may fail, and then nothing is to be changed
        observation = self._play_on(table, move)
        table.played += 1
        over = table.to_act == NOBODY
        truncated = not over and table.played == self.max_moves
        reward = self._collect(table, over) + self._shape(table, over)
        info: dict[str, Any] = {}
        if over or truncated:
            self._finish(table)
            info["scores"] = scores_of(table.states[0])
            if over:
                info["last_round"] = round_summary(self.rules, table.states[0])
        info["action_mask"] = table.mask.copy()
        self._table = table
        if self.render_mode == "human":
            self.render()
        return observation, reward, over, truncated, info

    def _collect(self, table: _Table, over: bool) -> float:
        """The learner's reward for all that the tally has counted, which begins anew."""
        tally = table.tallies[0]
        if not over and not tally[table.seat, ROUNDS]:
            return 0.0
        points = [int(number) for number in tally[: self._setting.players, POINTS]]
        tally[:] = 0
        return rewards_for(self._reward, self.rules, points, scores_of(table.states[0]), over)[table.seat]

    def _shape(self, table: _Table, over: bool) -> float:
        """The change of the potential since the last decision (0 at the end), which shaping adds to the reward."""
        if self._gamma < 0:
            return 0.0
        before = table.potential
        table.potential = 0.0 if over else float(state_potential(self._compiled, table.states, table.seat, self._views))
        return self._gamma * table.potential - before

    def _finish(self, table: _Table) -> None:
        table.done = True
        table.mask = np.ones(self._num_moves, np.int8)

    def _illegal(self, table: _Table, move: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        why = f"{move_table(self.rules).text(move)}: {why_illegal(self.rules, table.states[0], move)}"
        if self._raises:
            raise ValueError(why)
        observation = np.empty(self._size, self._obs_dtype)
        observe(self._compiled, table.states, table.seat, self._views, observation)
        self._finish(table)
        info = {"scores": scores_of(table.states[0]), "illegal_action": why, "action_mask": table.mask.copy()}
        return observation, self._illegal_reward, True, False, info

    def action_masks(self) -> np.ndarray:
        """The legal moves as bool ``(moves,)``, what sb3-contrib asks for; all ones when the episode has ended."""
        return self._current().mask.astype(bool)

    def render(self) -> str | None:
        """The table with all hands: its text with "ansi"; printed with "human"."""
        if self.render_mode is None:
            logger.warn("You are calling render method without specifying any render mode.")
            return None
        text = table_text(self.rules, self._current().states[0])
        if self.render_mode == "ansi":
            return text
        print(text)
        return None

    def _current(self) -> _Table:
        if self._table is None:
            raise ValueError("no episode is on: call reset first")
        return self._table
