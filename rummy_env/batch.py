"""`BatchGame`: many tables at once, every seat the caller's or one learner at each against scripted opponents."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from rummy_env.analysis import check_shaping
from rummy_env.batch_kernels import (
    Arrays,
    begin_range,
    first_illegal,
    observe_seats,
    seed_tables,
    seed_teacher,
    step_range,
    teach_range,
)
from rummy_env.dealing import AS_SET, DRAWN, FIXED, MOST_DEALS, NO_OPENING, POOL, SELF_PLAY, Opening, make_draws, make_opening
from rummy_env.engine.state import MAX_PLAYERS, new_states, new_views
from rummy_env.engine.tables import LAY_ORDERS
from rummy_env.episode import RANDOM, Setting, check_count, check_flag, check_names, check_seat, read_options
from rummy_env.game import check_players, game_key
from rummy_env.moves import move_table
from rummy_env.observation import check_features, check_obs_dtype, observation_size
from rummy_env.players.drive import new_tallies
from rummy_env.players.scripted import SCRIPTED
from rummy_env.rewards import REWARDS, check_reward
from rummy_env.rules import Rules, resolve_rules
from rummy_env.single import compiled

OPTIONS = ("round", "dealer", "scores", "seat")
"""Of a reset; they hold for the first episode of every table."""


class BatchGame:
    """`num_tables` tables, played by one call into compiled code a step; finished tables are dealt anew at once.

    Without opponents every decision of every seat comes out, in the order of play. With `opponents` or an `opponent_pool`
    one seat of each table is the learner's, and only its decisions come out.

    Every table has a stream of its own, from the seed and its number (or from its own seed), and of that come the keys of
    its episodes, their players, rounds, seats and opponents. So what happens at a table depends neither on how many others
    there are nor on the number of threads.

    Args:
        rules: a preset's name, the path of a YAML file, or `Rules`; `overrides` are fields that differ.
        num_tables: how many tables.
        players: seats at each, or a list of numbers of which one is drawn for every episode.
        opponents: the name of a scripted player for all other seats, or a list of `players` - 1 names clockwise from the
            learner's left.
        opponent_pool: names, of which one is drawn for each other seat and episode.
        seat: the learner's, or ``"random"`` for one drawn for each episode.
        rounds: ``"random"`` for episodes of one round drawn from all, a list of rounds to draw from, or ``"all"`` for whole
            games.
        reward: ``"points"``, ``"rank"`` or ``"win"``, see `rewards`.
        seed: one for all tables, or a list of one for each.
        skip_forced: single legal moves of the caller's seats are played without asking.
        features, obs_dtype, lay_order: as in the other environments.
        shaping: ``"distance"`` fills `shaping` with the change of the learner's potential; add it to the rewards. `gamma` is
            the learner's discount.
        max_moves: an episode is truncated after so many decisions (in self-play: of all seats together).
        threads: how many share the tables.

    Attributes:
        All are buffers that the next `reset` or `step` writes again; copy what is to be kept.

        states: the States of the tables, hidden cards included.
        observations: float32 or uint8 ``(tables, size)``; masks: int8 ``(tables, moves)``; seats: int64 ``(tables,)``; of the
            present decisions.
        rewards: float64 ``(tables, 6)``, what the last step has brought every seat, 0 for absent ones; own_rewards: float64
            ``(tables,)``, that of the seat that moved; shaping: float64 ``(tables,)``.
        terminated, truncated, dones: bool ``(tables,)``, of the last step; dones is one of the two.
        finals, final_seats, final_states: of the tables that are done, the last observation of the seat that moved, which
            seat that was, and the last State. See also `last_observations`.

    Raises ValueError for anything that is not allowed, naming it; nothing is changed then.
    """

    def __init__(
        self,
        rules: str | Path | Rules = "international",
        num_tables: int = 1,
        players: int | Sequence[int] = 4,
        opponents: str | Sequence[str] | None = None,
        opponent_pool: Sequence[str] | None = None,
        seat: int | str = RANDOM,
        rounds: str | Sequence[int] = RANDOM,
        reward: str = "points",
        seed: int | Sequence[int] = 0,
        skip_forced: bool = True,
        features: Sequence[str] | str = (),
        obs_dtype: str = "float32",
        lay_order: str = "any",
        shaping: str | None = None,
        gamma: float = 1.0,
        max_moves: int | None = None,
        threads: int = 1,
        overrides: Mapping[str, Any] | None = None,
    ):
        self.rules = resolve_rules(rules, overrides)
        self.num_tables = _check_count_of("num_tables", num_tables)
        self.features = check_features(features)
        self._scheme = REWARDS.index(check_reward(reward))
        self._skip_forced = check_flag("skip_forced", skip_forced)
        self._max_moves = check_count("max_moves", max_moves) or -1
        self._gamma = check_shaping(shaping, gamma)
        check_obs_dtype(obs_dtype)
        if lay_order not in LAY_ORDERS:
            raise ValueError(f"lay_order must be one of {', '.join(LAY_ORDERS)}, not {lay_order!r}")
        counts = _check_counts(self.rules, players)
        self._least = min(counts)
        others, numbers = _check_opponents(opponents, opponent_pool, counts)
        self.self_play = others == SELF_PLAY
        if self.self_play and self._gamma >= 0:
            raise ValueError("shaping is for a learner: it needs opponents or an opponent_pool")
        own = self._check_seat(seat)
        places, self._whole = _check_rounds(self.rules, rounds)
        self._draws = make_draws(counts, places, self._whole, own, others, numbers)
        self._parts = _split(self.num_tables, _check_count_of("threads", threads))
        self._compiled = compiled(self.rules, self.features, obs_dtype, lay_order)
        self._scratches = new_views(len(self._parts))
        self._pool: tuple[int, ThreadPoolExecutor] | None = None
        self._make_arrays(obs_dtype)
        self.seed(seed)

    def _make_arrays(self, obs_dtype: str) -> None:
        number, size = self.num_tables, observation_size(self.rules, self.features)
        arrays = self._arrays = Arrays(
            states=new_states(number),
            seats=np.zeros(number, np.int64),
            seatings=np.zeros((number, MAX_PLAYERS), np.int8),
            streams=np.zeros((number, MAX_PLAYERS, 2), np.uint64),
            setups=np.zeros((number, 2), np.uint64),
            tallies=new_tallies(number),
            played=np.zeros(number, np.int64),
            potentials=np.zeros(number, np.float64),
            masks=np.zeros((number, len(move_table(self.rules))), np.int8),
            observations=np.zeros((number, size), obs_dtype),
            rewards=np.zeros((number, MAX_PLAYERS), np.float64),
            own_rewards=np.zeros(number, np.float64),
            shaping=np.zeros(number, np.float64),
            terminated=np.zeros(number, np.bool_),
            truncated=np.zeros(number, np.bool_),
            dones=np.zeros(number, np.bool_),
            finals=np.zeros((number, size), obs_dtype),
            final_seats=np.zeros(number, np.int64),
            final_states=new_states(number),
        )
        self.states, self.seats, self.masks, self.observations = arrays.states, arrays.seats, arrays.masks, arrays.observations
        self.rewards, self.own_rewards, self.shaping = arrays.rewards, arrays.own_rewards, arrays.shaping
        self.terminated, self.truncated, self.dones = arrays.terminated, arrays.truncated, arrays.dones
        self.finals, self.final_seats, self.final_states = arrays.finals, arrays.final_seats, arrays.final_states
        self._teacher_streams = np.zeros((number, 2), np.uint64)
        self._moves, self._rows = np.zeros(number, np.int64), np.arange(number)
        self._taught = np.zeros(number, np.int64)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_pool": None}

    def __setstate__(self, values: dict[str, Any]) -> None:
        self.__dict__.update(values)
        # the attributes are the same arrays as those of the tuple also where a copy was made by pickling
        for name in Arrays._fields:
            if name in self.__dict__:
                setattr(self, name, getattr(self._arrays, name))

    # what is played

    def seed(self, seed: int | Sequence[int | None]) -> None:
        """Opening the tables' streams of episodes anew; takes effect at the next `reset`.

        In a list of one seed for each table, None leaves the table's stream as it is.
        """
        setups, teacher_streams = self._arrays.setups, self._teacher_streams
        if not isinstance(seed, (list, tuple, np.ndarray)):
            if seed is None:
                raise ValueError("seed must be a whole number from 0 up, or a list of one for each table, not None")
            seed_tables(game_key(seed), setups, teacher_streams)  # type: ignore[arg-type]
            return
        if len(seed) != self.num_tables:
            raise ValueError(f"seed must be one number or a list of {self.num_tables}, one for each table, not {len(seed)}")
        keys = [None if one is None else game_key(one) for one in seed]
        for index, key in enumerate(keys):
            if key is not None:
                setups[index] = key, 0
                seed_teacher(setups[index], teacher_streams[index])

    def reset(self, seed: int | Sequence[int | None] | None = None, options: Mapping[str, Any] | None = None) -> None:
        """Begin the next episode at every table, with `seed` the first of new streams.

        `options` hold for these episodes: `round`, `dealer`, `scores` and, with opponents, `seat`. ValueError where a learner
        has no choice in any of very many episodes; then no episode is on.
        """
        opening = self.read_options(options)
        if seed is not None:
            self.seed(seed)
        self.begin(opening)

    def begin(self, opening: Opening) -> None:
        """Begin the next episode at every table, the first as `read_options` has read it."""
        stuck = self._run(begin_range, self._compiled, self._draws, opening, self._arrays, self._skip_forced, self._gamma)
        self._check_choice(stuck)

    def observe(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The present decisions: `observations`, `masks` and `seats`, the buffers themselves.

        Before the first `reset` this begins an episode at every table.
        """
        if not self.states[0]["players"]:
            self.reset()
        return self.observations, self.masks, self.seats

    def step(self, moves: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Play one legal move at every table, and all that follows up to its next decision.

        Args:
            moves: ids, whole numbers ``(tables,)``.

        Returns `rewards`, `terminated`, `truncated` and `finals`, the buffers themselves. Tables that are done have been dealt
        anew, and `observe` shows the first decision of their next episode. Where one is not done its row of `finals` has no
        meaning.

        Raises ValueError naming the table and the move where one is not legal; nothing is changed then.
        """
        chosen = self.take(moves)
        self.check_started()
        if first_illegal(self.masks, chosen) >= 0:
            wrong = int(self.illegal_tables(chosen)[0])
            raise ValueError(f"table {wrong}: {move_table(self.rules).text(int(chosen[wrong]))} is not legal now")
        return self.play(chosen)

    def illegal_tables(self, moves: np.ndarray) -> np.ndarray:
        """The tables whose moves, ids of the table, are not legal. ValueError for what is no id."""
        self.check_started()
        number = self.masks.shape[1]
        if (moves < 0).any() or (moves >= number).any():
            raise ValueError(f"moves must be ids below {number}, not {moves.tolist()}")
        return np.flatnonzero(self.masks[self._rows, moves] == 0)

    def take(self, moves: Any) -> np.ndarray:
        """Moves of any whole type in the batch's own buffer. ValueError for another type or number."""
        given = np.asarray(moves)
        if given.dtype.kind not in "iu" or given.shape != self.seats.shape:
            raise ValueError(f"moves must be {self.num_tables} whole numbers, one for each table, not {moves!r}")
        self._moves[:] = given  # what is too great for int64 becomes negative, and is refused as such
        return self._moves

    def play(self, moves: np.ndarray, illegal_reward: float = 0.0) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """A step with moves that were checked, see `take` and `illegal_tables`.

        `ILLEGAL` in place of one ends the episode with `illegal_reward`.
        """
        stuck = self._run(
            step_range, self._compiled, self._draws, NO_OPENING, self._arrays, moves, self._skip_forced, self._max_moves,
            self._scheme, self._gamma, illegal_reward,
        )  # fmt: skip
        self._check_choice(stuck)
        return self.rewards, self.terminated, self.truncated, self.finals

    def last_observations(self, tables: Sequence[int] | np.ndarray) -> np.ndarray:
        """The last observations of all seats at tables that were done in the last step.

        Returns a new array ``(len(tables), 6, size)``, zeros for absent seats. ValueError for a table that was not done.
        """
        which = np.asarray(tables)
        sound = which.ndim == 1 and which.dtype.kind in "iu" and ((which >= 0) & (which < self.num_tables)).all()
        if which.size and not (sound and self.dones[which].all()):
            raise ValueError(f"tables must be a list of those that were done in the last step, not {tables!r}")
        out = np.zeros((which.size, MAX_PLAYERS, self.observations.shape[1]), self.observations.dtype)
        observe_seats(self._compiled, self.final_states, which.astype(np.int64), self._scratches, out)
        return out

    def teach(self, teacher: str) -> np.ndarray:
        """int64 ``(tables,)``, a buffer: what the scripted player `teacher` would choose in place of the seats to act."""
        if teacher not in SCRIPTED:
            raise ValueError(f"teacher must be one of {', '.join(SCRIPTED)}, not {teacher!r}")
        self.check_started()
        number = SCRIPTED.index(teacher)
        self._run(teach_range, self._compiled, self._arrays, number, self._teacher_streams, self._taught)
        return self._taught

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything that changes, by name: save copies of these and write them back to go on exactly from here."""
        names = ("states", "seats", "seatings", "streams", "setups", "tallies", "played", "potentials", "masks", "observations")
        return {**{name: getattr(self._arrays, name) for name in names}, "teacher_streams": self._teacher_streams}

    # checks and threads

    def read_options(self, options: Mapping[str, Any] | None) -> Opening:
        """The options of a `reset`, checked."""
        names = check_names(options, OPTIONS[:-1] if self.self_play else OPTIONS)
        if not names:
            return NO_OPENING
        start = read_options(Setting(self.rules, self._least, not self._whole), names)
        if start.scores is not None and len(self._draws.counts) > 1:
            raise ValueError("scores can be given only where players is one number")
        given = names.get("seat")
        own = AS_SET if given is None else self._check_seat(given)
        return make_opening(start.index, start.dealer, DRAWN if own is None else own, start.scores)

    def _check_seat(self, seat: object) -> int | None:
        if isinstance(seat, str):
            if seat == RANDOM:
                return None
            raise ValueError(f"seat must be 'random' or a seat from 0 to {self._least - 1}, not {seat!r}")
        if self.self_play:
            raise ValueError(f"seat is the learner's: without opponents every seat is the caller's, so it cannot be {seat!r}")
        return check_seat("seat", seat, self._least)

    def check_started(self) -> None:
        """ValueError where no episode is on."""
        if not self.states[0]["players"]:
            raise ValueError("no episode is on: call reset first")

    def _check_choice(self, stuck: int) -> None:
        if stuck >= 0:
            self.states[:] = 0
            raise ValueError(f"table {stuck}: nobody outside had a choice in any of {MOST_DEALS} episodes")

    def _run(self, loop: Callable[..., int], *arguments: Any) -> int:
        """Run a loop over all tables, by the threads; the greatest of what the parts return."""
        if len(self._parts) == 1:
            return int(loop(*arguments, self._scratches, *self._parts[0]))
        if self._pool is None or self._pool[0] != os.getpid():  # threads do not live on in a forked process
            self._pool = os.getpid(), ThreadPoolExecutor(len(self._parts) - 1, "rummy_env")
        futures = [self._pool[1].submit(loop, *arguments, self._scratches, *part) for part in self._parts[1:]]
        own = int(loop(*arguments, self._scratches, *self._parts[0]))
        return max(own, *(int(future.result()) for future in futures))


def _check_count_of(name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ValueError(f"{name} must be a whole number from 1 up, not {value!r}")
    return int(value)


def _split(tables: int, threads: int) -> list[tuple[int, int, int]]:
    """Ranges of tables of about equal size: number of the range, first table, one after the last."""
    parts = min(tables, threads)
    edges = [tables * part // parts for part in range(parts + 1)]
    return [(part, edges[part], edges[part + 1]) for part in range(parts)]


def _check_counts(rules: Rules, players: object) -> list[int]:
    counts: list[Any] = list(players) if isinstance(players, (list, tuple)) else [players]
    if not counts:
        raise ValueError("players must be a number or a list of numbers, not an empty list")
    return [check_players(rules, number) for number in counts]


def _check_rounds(rules: Rules, rounds: object) -> tuple[list[int], bool]:
    """The places in a game of the rounds to draw from, and whether whole games are played."""
    whole = isinstance(rounds, str) and rounds == "all"
    if whole or (isinstance(rounds, str) and rounds == RANDOM):
        return list(range(rules.kinds_of_round)), whole
    sequence = rules.sequence
    if isinstance(rounds, (list, tuple)) and rounds and all(type(one) is int and one in sequence for one in rounds):
        return [sequence.index(number) for number in rounds], False
    if rules.contracts is None:
        raise ValueError(f"rounds must be 'random' (one deal) or 'all' where contracts is null, not {rounds!r}")
    raise ValueError(f"rounds must be 'random', 'all' or a list out of {list(sequence)}, not {rounds!r}")


def _is_names(names: object) -> bool:
    listed = isinstance(names, (list, tuple)) and names
    return bool(listed) and all(isinstance(name, str) and name in SCRIPTED for name in names)  # type: ignore[attr-defined]


def check_pool(name: str, pool: Any) -> list[str]:
    """Names of scripted players to draw from. ValueError calls the argument by its name."""
    if not _is_names(pool):
        raise ValueError(f"{name} must be a list of names out of {', '.join(SCRIPTED)}, not {pool!r}")
    return list(pool)


def _check_opponents(opponents: Any, pool: Any, counts: list[int]) -> tuple[int, list[int]]:
    """Who sits at the other seats (see `dealing`), and the numbers of the scripted players."""
    if opponents is not None and pool is not None:
        raise ValueError("give opponents or an opponent_pool, not both")
    if pool is not None:
        return POOL, [SCRIPTED.index(name) for name in check_pool("opponent_pool", pool)]
    if opponents is None:
        return SELF_PLAY, []
    names = [opponents] * (MAX_PLAYERS - 1) if isinstance(opponents, str) else opponents
    if not _is_names(names):
        raise ValueError(
            f"opponents must be a name or a list of names out of {', '.join(SCRIPTED)}, not {opponents!r}; "
            "other players sit at single tables only"
        )
    if not isinstance(opponents, str) and any(number - 1 != len(names) for number in counts):
        wanted = " or ".join(str(number - 1) for number in counts)
        raise ValueError(f"opponents must be one name or a list of {wanted} (players - 1), not {len(names)}")
    return FIXED, [SCRIPTED.index(name) for name in names]
