"""Many tables with one learner at each: the arrays and the compiled loop behind the vectorised environments.

Every table has a key of its own from the seed and its number, and from that the keys of its episodes; so what happens at
a table does not depend on how many others there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rummy_env.analysis import check_shaping, potential
from rummy_env.engine.apply import NO_ORDER
from rummy_env.engine.deal import start_game
from rummy_env.engine.random import below, child_key
from rummy_env.engine.state import MAX_PLAYERS, new_states, new_views
from rummy_env.engine.tables import LAY_ORDERS, compile_tables
from rummy_env.engine.view import view
from rummy_env.game import check_players, game_key
from rummy_env.kernel import kernel
from rummy_env.moves import move_table
from rummy_env.observation import check_features, check_obs_dtype, encode, layout, observation_plan
from rummy_env.players.drive import POINTS, advance, new_tallies, play_move
from rummy_env.players.scripted import EXTERNAL, SCRIPTED, scripted_move
from rummy_env.rules import Rules


@kernel
def deal_episode(tables, state, counts, rounds, opponents, setup, seating, streams, whole_games):
    """Deal a new episode at a table: its key, round, learner's seat and opponents come from the stream `setup`.

    `counts` are numbers of players and `rounds` indices into the sequence of rounds, of each of which one is drawn (for
    whole games all rounds are played); `opponents` are numbers of scripted players, of which one is drawn for each other
    seat. Returns the learner's seat.
    """
    key = child_key(setup[0], setup[1])
    setup[1] += np.uint64(1)
    draw = np.zeros(2, np.uint64)
    draw[0] = child_key(key, np.uint64(0))
    players = counts[below(draw, counts.shape[0])]
    first = rounds[below(draw, rounds.shape[0])]
    last = first
    if whole_games:
        first = np.int64(0)
        last = np.int64(tables.rule.game_rounds - 1)
    seat = below(draw, players)
    for other in range(MAX_PLAYERS):
        seating[other] = EXTERNAL if other == seat else opponents[below(draw, opponents.shape[0])]
        streams[other, 0] = child_key(key, np.uint64(other + 1))
        streams[other, 1] = 0
    start_game(tables, state, players, key, first, last, -1, NO_ORDER)
    return seat


@kernel
def begin_episode(
    tables, state, counts, rounds, opponents, setup, seating, streams, whole_games, skip_forced, scratch, mask, tally
):
    """Deal episodes until one reaches a decision of the learner; returns the learner's seat."""
    while True:
        tally[:] = 0
        seat = deal_episode(tables, state, counts, rounds, opponents, setup, seating, streams, whole_games)
        if advance(tables, state, seating, streams, skip_forced, scratch, mask, tally):
            return seat


@kernel
def points_reward(tables, tally, seat, players):
    """Sum over the rounds in a tally of (mean of the others' points - own points), turned round where most points win."""
    own = np.float64(tally[seat, POINTS])
    total = np.float64(0)
    for other in range(players):
        total += tally[other, POINTS]
    behind = (total - own) / (players - 1) - own
    return -behind if tables.rule.most_wins else behind


@kernel
def reset_all(
    tables, plan, states, counts, rounds, opponents, setups, seatings, streams, whole_games, skip_forced, scratch, masks,
    tallies, seats, observations,
):  # fmt: skip
    """Begin an episode at every table."""
    for index in range(states.shape[0]):
        seats[index] = begin_episode(
            tables, states[index], counts, rounds, opponents, setups[index], seatings[index], streams[index], whole_games,
            skip_forced, scratch, masks[index], tallies[index],
        )  # fmt: skip
        encode(tables, plan, scratch, observations[index])


@kernel
def step_all(
    tables, plan, states, counts, rounds, opponents, setups, seatings, streams, whole_games, skip_forced, scratch, masks,
    tallies, seats, observations, moves, rewards, dones, finals, final_scores, shaping, potentials, gamma,
):  # fmt: skip
    """Play one move of every learner, then all others until each learner must choose again; finished tables begin anew.

    `rewards` are the points gained on the others since the last decision; where a table is done, `finals` holds the
    learner's last observation and `final_scores` ``(tables, 8)`` the number of players, whether the learner had laid down in
    the last round, and the scores of the seats, the learner's first. Unless `gamma` is negative, `shaping` receives the
    change of the potential (Ng, Harada, Russell 1999: gamma times the new one, 0 at the end, minus the old one).
    """
    for index in range(states.shape[0]):
        state = states[index]
        tally = tallies[index]
        seat = np.int64(seats[index])
        players = np.int64(state.players)
        before = points_reward(tables, tally, seat, players)
        play_move(tables, state, moves[index], tally)
        going = advance(tables, state, seatings[index], streams[index], skip_forced, scratch, masks[index], tally)
        rewards[index] = points_reward(tables, tally, seat, players) - before
        dones[index] = not going
        if not going:
            view(state, seat, scratch)
            encode(tables, plan, scratch, finals[index])
            final_scores[index, :] = 0
            final_scores[index, 0] = players
            final_scores[index, 1] = (np.int64(state.last_down) >> seat) & 1
            for other in range(players):
                final_scores[index, 2 + other] = state.scores[(seat + other) % players]
            seats[index] = begin_episode(
                tables, state, counts, rounds, opponents, setups[index], seatings[index], streams[index], whole_games,
                skip_forced, scratch, masks[index], tally,
            )  # fmt: skip
        encode(tables, plan, scratch, observations[index])
        if gamma >= 0:
            value = potential(tables, scratch)
            shaping[index] = (gamma * value if going else 0.0) - potentials[index]
            potentials[index] = value


@kernel
def first_potentials(tables, states, seats, scratch, potentials):
    """The potential at every learner's first decision."""
    for index in range(states.shape[0]):
        view(states[index], np.int64(seats[index]), scratch)
        potentials[index] = potential(tables, scratch)


@kernel
def teach_all(tables, states, seats, scratch, masks, teacher, streams, moves):
    """What a scripted player would choose in the learner's place at every table."""
    for index in range(states.shape[0]):
        view(states[index], np.int64(seats[index]), scratch)
        moves[index] = scripted_move(teacher, tables, scratch, masks[index], streams[index])


def _check_rounds(rules: Rules, rounds: object) -> tuple[np.ndarray, bool]:
    """The places in a game of the rounds to draw from, int64, and whether whole games are played."""
    whole = isinstance(rounds, str) and rounds == "all"
    if whole or (isinstance(rounds, str) and rounds == "random"):
        return np.arange(rules.kinds_of_round, dtype=np.int64), whole
    sequence = rules.sequence
    if isinstance(rounds, (list, tuple)) and rounds and all(type(one) is int and one in sequence for one in rounds):
        return np.array([sequence.index(number) for number in rounds], np.int64), False
    if rules.contracts is None:
        raise ValueError(f"rounds must be 'random' (one deal) or 'all' where contracts is null, not {rounds!r}")
    raise ValueError(f"rounds must be 'random', 'all' or a list out of {list(sequence)}, not {rounds!r}")


class LearnerTables:
    """`num_tables` tables, a learner at each, scripted opponents at the other seats.

    Args:
        rules: what is played.
        num_tables: how many tables.
        players: seats at each, or a list of numbers of which one is drawn for every episode.
        opponents: names of scripted players; each opponent's seat draws one of them for every episode.
        rounds: ``"random"`` for episodes of one round drawn from all, a list of round numbers to draw from, or ``"all"``
            for whole games.
        seed: equal seeds give equal episodes.
        skip_forced: play the learner's single legal moves by itself.
        features: optional blocks of the observation, see `observation.FEATURES`.
        obs_dtype: ``"float32"``, or ``"uint8"`` for the numbers before they are divided by their scales.
        lay_order: ``"ascending"`` leaves one order in which a contract can be laid, to everybody at the table.
        shaping: ``"distance"`` fills `shaping` with the change of a potential, minus the distance to the contract; add it
            to the rewards. `gamma` is the learner's discount.

    Attributes:
        observations: float32 ``(tables, size)``, or uint8; masks: int8 ``(tables, moves)``; of the present decisions.
        rewards: float64 ``(tables,)`` points gained on the mean of the others by the last step; dones: bool ``(tables,)``.
        finals, final_scores: of the tables that are done, see `step_all`.
        shaping: float64 ``(tables,)``, zeros without `shaping`.
    """

    def __init__(
        self,
        rules: Rules,
        num_tables: int,
        players: int | Sequence[int] = 4,
        opponents: Sequence[str] = ("greedy",),
        rounds: str | Sequence[int] = "random",
        seed: int = 0,
        skip_forced: bool = True,
        features: Sequence[str] = (),
        obs_dtype: str = "float32",
        lay_order: str = "any",
        shaping: str | None = None,
        gamma: float = 1.0,
    ):
        if not isinstance(rules, Rules):
            raise ValueError(f"rules must be Rules (see rules.resolve_rules), not {rules!r}")
        self.rules, self.features = rules, check_features(features)
        self._gamma = check_shaping(shaping, gamma)
        if lay_order not in LAY_ORDERS:
            raise ValueError(f"lay_order must be one of {', '.join(LAY_ORDERS)}, not {lay_order!r}")
        if not isinstance(skip_forced, bool):
            raise ValueError(f"skip_forced must be True or False, not {skip_forced!r}")
        raw = check_obs_dtype(obs_dtype) == "uint8"
        counts: list[Any] = list(players) if isinstance(players, (list, tuple)) else [players]
        if not counts:
            raise ValueError("players must be a number or a list of numbers, not an empty list")
        self._counts = np.array([check_players(rules, number) for number in counts], np.int64)
        if isinstance(num_tables, bool) or not isinstance(num_tables, int) or num_tables < 1:
            raise ValueError(f"num_tables must be a whole number from 1 up, not {num_tables!r}")
        named = isinstance(opponents, (list, tuple)) and opponents and all(name in SCRIPTED for name in opponents)
        if not named:
            raise ValueError(f"opponents must be a list of names out of {', '.join(SCRIPTED)}, not {opponents!r}")
        self._rounds, self._whole_games = _check_rounds(rules, rounds)
        self._opponents = np.array([SCRIPTED.index(name) for name in opponents], np.int64)
        self._skip_forced = skip_forced
        self._tables = compile_tables(rules, lay_order)
        self._plan = observation_plan(rules, self.features, raw)
        moves, size = len(move_table(rules)), layout(rules, self.features).size
        self.states = new_states(num_tables)
        self._scratch = new_views(1)
        self._seatings = np.zeros((num_tables, MAX_PLAYERS), np.int8)
        self._streams = np.zeros((num_tables, MAX_PLAYERS, 2), np.uint64)
        self._tallies = new_tallies(num_tables)
        self._setups = np.zeros((num_tables, 2), np.uint64)
        self._teacher_streams = np.zeros((num_tables, 2), np.uint64)
        self.seats = np.zeros(num_tables, np.int64)
        self.observations = np.zeros((num_tables, size), obs_dtype)
        self.masks = np.zeros((num_tables, moves), np.int8)
        self.rewards = np.zeros(num_tables, np.float64)
        self.dones = np.zeros(num_tables, np.bool_)
        self.finals = np.zeros((num_tables, size), obs_dtype)
        self.shaping = np.zeros(num_tables, np.float64)
        self._potentials = np.zeros(num_tables, np.float64)
        self.final_scores = np.zeros((num_tables, 8), np.int64)
        self.seed(seed)

    def seed(self, seed: int) -> None:
        """Start every table's stream of episodes anew; takes effect at the next `reset`."""
        key = game_key(seed)
        for index in range(len(self._setups)):
            self._setups[index] = (child_key(key, np.uint64(index)), 0)
            self._teacher_streams[index] = (child_key(self._setups[index, 0], np.uint64(1)), 0)

    def _common(self) -> tuple[Any, ...]:
        return (
            self._tables, self._plan, self.states, self._counts, self._rounds, self._opponents, self._setups, self._seatings,
            self._streams, self._whole_games, self._skip_forced, self._scratch[0], self.masks, self._tallies, self.seats,
            self.observations,
        )  # fmt: skip

    def reset(self) -> None:
        """Begin an episode at every table."""
        reset_all(*self._common())
        if self._gamma >= 0:
            first_potentials(self._tables, self.states, self.seats, self._scratch[0], self._potentials)

    def step(self, moves: np.ndarray) -> None:
        """Play one legal move at every table. ValueError where one is not legal; then nothing is changed."""
        given = np.asarray(moves)
        if given.dtype.kind not in "iu" or given.shape != self.seats.shape:
            raise ValueError(f"moves must be {len(self.seats)} whole numbers, one for each table, not {moves!r}")
        if (given < 0).any() or (given >= self.masks.shape[1]).any():
            raise ValueError(f"moves must be ids below {self.masks.shape[1]}, not {moves!r}")
        self._check_started()
        moves = given.astype(np.int64)
        illegal = np.flatnonzero(self.masks[np.arange(len(moves)), moves] == 0)
        if len(illegal):
            text = move_table(self.rules).text(int(moves[illegal[0]]))
            raise ValueError(f"table {illegal[0]}: {text} is not legal now")
        outcomes = (self.rewards, self.dones, self.finals, self.final_scores)
        shaping = (self.shaping, self._potentials, self._gamma)
        arguments: tuple[Any, ...] = (*self._common(), moves, *outcomes, *shaping)
        step_all(*arguments)

    def teach(self, teacher: str) -> np.ndarray:
        """int64 ``(tables,)``: what the scripted player `teacher` would choose in each learner's place."""
        if teacher not in SCRIPTED:
            raise ValueError(f"teacher must be one of {', '.join(SCRIPTED)}, not {teacher!r}")
        self._check_started()
        moves = np.zeros(len(self.seats), np.int64)
        number = SCRIPTED.index(teacher)
        teach_all(self._tables, self.states, self.seats, self._scratch[0], self.masks, number, self._teacher_streams, moves)
        return moves

    def _check_started(self) -> None:
        if not self.states[0].players:
            raise ValueError("no episode is on: call reset first")

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything that changes, by name: save copies of these and write them back to go on exactly from here."""
        return {
            "states": self.states, "seatings": self._seatings, "streams": self._streams, "tallies": self._tallies,
            "setups": self._setups, "teacher_streams": self._teacher_streams, "seats": self.seats,
            "observations": self.observations, "masks": self.masks, "potentials": self._potentials,
        }  # fmt: skip
