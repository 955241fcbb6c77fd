"""`BatchGame`: every table is what one table alone would be, whatever the number of tables and threads."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from rummy_env.batch import BatchGame
from rummy_env.engine.apply import NO_ORDER, apply
from rummy_env.engine.deal import start_game
from rummy_env.engine.legal import legal
from rummy_env.engine.random import below, child_key
from rummy_env.engine.state import MAX_PLAYERS, OVER, new_states, new_views
from rummy_env.engine.tables import compile_tables
from rummy_env.engine.view import view
from rummy_env.game import Game, game_key
from rummy_env.moves import move_table
from rummy_env.observation import encode, layout, observation_plan
from rummy_env.players.scripted import SCRIPTED, scripted_move
from rummy_env.rewards import rewards_for
from rummy_env.rules import Rules, preset
from tests.faces import COPIES, eager

RULES = preset("international")
SHORT = RULES.replace(max_turns=4)
BASIC = preset("basic")
DEALS = BASIC.replace(max_turns=8, max_deals=2, blocked_scoring="lowest_takes_sum")

SETS: dict[str, dict[str, Any]] = {
    "default": {"opponent_pool": ["greedy"]},
    "mixed": {
        "players": [2, 3, 6], "opponent_pool": ["greedy", "dumper", "random", "greedy"], "rounds": [1, 7, 4],
        "skip_forced": False, "features": ["analysis"],
    },
    "whole games": {"players": [3], "opponent_pool": ["greedy", "random"], "rounds": "all", "rules": SHORT},
    "basic": {"players": [2, 4], "opponent_pool": ["greedy", "random"], "features": ["analysis"], "rules": BASIC},
    "basic, whole games": {"players": [2], "opponent_pool": ["greedy"], "rounds": "all", "rules": BASIC.replace(max_deals=3)},
}  # fmt: skip


def child(key: np.uint64, number: int) -> np.uint64:
    """`child_key` as uint64, which a kernel hands to Python as a plain number."""
    return np.uint64(child_key(key, np.uint64(number)))


class Plain:
    """One table of `BatchGame` as an ordinary loop over the kernels of one table, every draw in the order written there."""

    def __init__(
        self,
        seed: int,
        index: int,
        players: Sequence[int] = (4,),
        opponent_pool: Sequence[str] = ("greedy",),
        rounds: Sequence[int] | str = "random",
        skip_forced: bool = True,
        features: Sequence[str] = (),
        rules: Any = RULES,
    ):
        self.rules, self.tables = rules, compile_tables(rules)
        self.plan, self.size = observation_plan(rules, tuple(features)), layout(rules, tuple(features)).size
        self.players_list, self.opponents, self.skip_forced = list(players), list(opponent_pool), skip_forced
        self.whole = rounds == "all"
        self.rounds = list(rules.sequence or (1,)) if isinstance(rounds, str) else list(rounds)
        self.key, self.episode = child(game_key(seed), index), 0
        self.mask = np.zeros(len(move_table(rules)), np.int8)
        self.ended_by_others = 0
        self.begin()

    def begin(self) -> None:
        """The next episode in which the learner has a decision."""
        while True:
            key = child(self.key, self.episode)
            self.episode += 1
            draw = np.zeros(2, np.uint64)
            draw[0] = child(key, 0)
            self.players = self.players_list[below(draw, len(self.players_list))]
            number = self.rounds[below(draw, len(self.rounds))]
            first = last = self.rules.sequence.index(number) if self.rules.contracts else 0
            if self.whole:
                first, last = 0, self.rules.game_rounds - 1
            self.seat = int(below(draw, self.players))
            self.names = [
                None if other == self.seat else self.opponents[below(draw, len(self.opponents))] for other in range(MAX_PLAYERS)
            ]
            self.streams = np.zeros((MAX_PLAYERS, 2), np.uint64)
            self.streams[:, 0] = [child(key, other + 1) for other in range(MAX_PLAYERS)]
            self.states = new_states(1)
            start_game(self.tables, self.states[0], self.players, key, first, last, -1, NO_ORDER)
            if self.to_decision():
                return

    def view(self) -> Any:
        views = new_views(1)
        view(self.states[0], int(self.states[0].to_act), views[0])
        return views[0]

    def to_decision(self) -> bool:
        """Play on to the learner's next decision; whether there is one."""
        state = self.states[0]
        while True:
            legal(self.tables, state, self.mask)
            if state.phase == OVER:
                return False
            seat, ids = int(state.to_act), np.flatnonzero(self.mask)
            own = seat == self.seat
            if own and not (self.skip_forced and len(ids) == 1):
                return True
            move = int(ids[0])
            if len(ids) > 1:
                number = SCRIPTED.index(self.names[seat] or "")
                move = int(scripted_move(number, self.tables, self.view(), self.mask, self.streams[seat]))
            before = int(state.rounds_done)
            apply(self.tables, state, move, NO_ORDER)
            self.ended_by_others += not own and int(state.rounds_done) > before

    def scores(self) -> list[int]:
        """Of all seats, the learner's first."""
        return [int(self.states[0].scores[(self.seat + other) % self.players]) for other in range(self.players)]

    def observation(self) -> np.ndarray:
        views, out = new_views(1), np.zeros(self.size, np.float32)
        view(self.states[0], self.seat, views[0])
        encode(self.tables, self.plan, views[0], out)
        return out

    def step(self, move: int) -> tuple[float, dict[str, Any] | None]:
        """Points gained by a move and all that follows, and where the episode has ended how."""
        before, players = self.scores(), self.players
        apply(self.tables, self.states[0], move, NO_ORDER)
        going = self.to_decision()
        own, *others = np.array(self.scores()) - before
        gained = float(np.mean(others) - own) * (-1 if self.rules.scoring == "winner_takes_sum" else 1)
        if going:
            return gained, None
        down = bool(int(self.states[0].last_down) >> self.seat & 1)
        end = {"scores": self.scores(), "players": players, "down": down, "observation": self.observation()}
        self.begin()
        return gained, end


class Policy:
    """Moves that depend on a table's number, mask and step alone."""

    def __init__(self, seed: int, number: int, rules: Rules = RULES):
        self.random, self.rules = [np.random.default_rng([seed, index]) for index in range(number)], rules

    def __call__(self, masks: np.ndarray) -> np.ndarray:
        return np.array([eager(mask, random, self.rules) for mask, random in zip(masks, self.random, strict=True)], np.int64)


@pytest.mark.parametrize("settings", SETS.values(), ids=SETS)
def test_every_table_is_what_the_kernels_of_one_table_make_of_it(settings: dict[str, Any]) -> None:
    """Observations, masks, rewards and endings agree, at every table and step, over many episodes."""
    settings = {"rules": RULES, **settings}
    rules, number, steps = settings["rules"], 4, 260
    tables = BatchGame(num_tables=number, seed=11, **settings)
    plain = [Plain(11, index, **settings) for index in range(number)]
    policy = Policy(1, number, rules)
    tables.reset()
    ends = paid = within = downs = 0
    forced = 0
    seen_players, seen_rounds, seen_seats = set(), set(), set()
    for _ in range(steps):
        for index, table in enumerate(plain):
            assert tables.observations[index].tobytes() == table.observation().tobytes()
            assert np.array_equal(tables.masks[index], table.mask)
            assert tables.states[index] == table.states[0]
            seen_players.add(table.players)
            seen_seats.add(table.seat)
            seen_rounds.add(int(table.states[0].round_number))
        legal_moves = tables.masks.sum(axis=1)
        assert (legal_moves >= (2 if settings.get("skip_forced", True) else 1)).all()
        forced += int((legal_moves == 1).sum())
        moves, seats = policy(tables.masks), tables.seats.copy()
        tables.step(moves)
        for index, table in enumerate(plain):
            before = table.ended_by_others
            gained, end = table.step(int(moves[index]))
            assert tables.own_rewards[index] == pytest.approx(gained / 100, abs=1e-9)
            assert tables.rewards[index, seats[index]] == tables.own_rewards[index] and abs(tables.rewards[index].sum()) < 1e-9
            assert tables.dones[index] == tables.terminated[index] == (end is not None) and not tables.truncated[index]
            paid += table.ended_by_others > before and gained != 0
            within += end is None and gained != 0
            if end is not None:
                ends += 1
                downs += end["down"]
                assert tables.finals[index].tobytes() == end["observation"].tobytes()
                state, seat = tables.final_states[index], int(tables.final_seats[index])
                players = int(state.players)
                scores = [int(state.scores[(seat + other) % players]) for other in range(players)]
                down = bool(int(state.last_down) >> seat & 1)
                assert (players, down, scores) == (end["players"], end["down"], end["scores"])
    assert paid >= 10, "the learner's reward arrives also when somebody else ends the round"
    assert ends >= (6 if settings.get("rounds") == "all" else 15) and (downs >= 1 or rules is SHORT)
    assert seen_players == set(plain[0].players_list)
    assert seen_seats >= set(range(min(seen_players)))
    assert seen_rounds == set(plain[0].rounds)
    assert (forced > 0) == (not settings.get("skip_forced", True))
    assert (within > 0) == (settings.get("rounds") == "all"), "rewards inside an episode come at the ends of its rounds"


def record(tables: BatchGame, policy: Policy, steps: int) -> list[dict[str, np.ndarray]]:
    """All that steps show, and what a teacher would do."""
    shown = []
    for _ in range(steps):
        moves = policy(tables.masks)
        tables.step(moves)
        names = ("observations", "masks", "rewards", "dones", "finals", "final_states", "seats")
        shown.append({name: getattr(tables, name).copy() for name in names})
        shown[-1]["taught"] = np.stack([tables.teach(name).copy() for name in SCRIPTED])
    return shown


@pytest.mark.parametrize("learner", [True, False], ids=["a learner", "self-play"])
def test_a_table_depends_neither_on_the_others_nor_on_the_threads(learner: bool) -> None:
    """The first tables of 1, 5 and 17 are equal under the same policy, by any number of threads."""
    settings: dict[str, Any] = {"players": [2, 4, 5], "seed": 5, "max_moves": 40}
    if learner:
        settings |= {"opponent_pool": ["greedy", "random"], "features": ["analysis"]}
    runs = {}
    for number, threads in ((17, 1), (17, 2), (17, 3), (5, 2), (1, 3)):
        tables = BatchGame(RULES, number, threads=threads, **settings)
        tables.reset()
        runs[number, threads] = record(tables, Policy(2, number), 100)
    whole = runs.pop((17, 1))
    assert sum(int(shown["dones"].sum()) for shown in whole) >= 30
    for (number, _), run in runs.items():
        for few, many in zip(run, whole, strict=True):
            for name in few:
                own = many[name][:, :number] if name == "taught" else many[name][:number]
                assert few[name].tobytes() == own.tobytes(), name


def test_a_seed_for_each_table() -> None:
    """Table i has the stream of its seed, wherever it stands; None leaves it the one it has."""
    tables = BatchGame(RULES, 3, opponents="greedy", seed=[7, 1, 9])
    other = BatchGame(RULES, 2, opponents="greedy", seed=[9, 7])
    for each in (tables, other):
        each.reset()
        record(each, Policy(0, each.num_tables), 20)
        each.reset()
    assert tables.arrays()["setups"][[2, 0], 0].tolist() == other.arrays()["setups"][:, 0].tolist()
    alone = BatchGame(RULES, 3, opponents="greedy", seed=[5, 1, 6])
    for name, array in alone.arrays().items():
        array[...] = tables.arrays()[name]
    alone.reset()
    tables.seed([7, None, 9])
    other.seed([9, 7])
    tables.reset(), other.reset()
    assert np.array_equal(tables.observations[[2, 0]], other.observations)
    assert np.array_equal(tables.observations[1], alone.observations[1])
    assert not np.array_equal(tables.observations[0], alone.observations[0])
    for seed, words in (([1, 2], "not 2"), ([1, 2, -3], "not -3"), (None, "not None"), ("1", "not '1'")):
        before = changed(tables)
        with pytest.raises(ValueError, match=f"^seed must be .*{words}"):
            tables.seed(seed)  # type: ignore[arg-type]
        assert changed(tables) == before


def test_equal_seeds_give_equal_episodes_and_others_do_not() -> None:
    tables = [BatchGame(RULES, 5, opponents="greedy", seed=seed) for seed in (8, 8, 9)]
    for each in tables:
        each.reset()
    assert np.array_equal(tables[0].observations, tables[1].observations)
    assert not (tables[0].states == tables[2].states).any()
    assert len({state.tobytes() for state in tables[0].states}) == 5  # nor do two tables play the same
    first = tables[0].observations.copy()
    tables[0].reset()
    assert not (tables[0].observations == first).all(axis=1).any()  # the next episodes
    tables[0].seed(8)
    tables[0].reset()
    assert np.array_equal(tables[0].observations, first)


def test_arrays_saved_and_written_back_go_on_identically() -> None:
    tables = BatchGame(RULES, 6, [2, 3], opponent_pool=["random", "greedy"], seed=1, features=["analysis"])
    tables.reset()
    record(tables, Policy(0, 6), 30)
    saved = {name: array.copy() for name, array in tables.arrays().items()}
    expected = record(tables, Policy(3, 6), 60)
    assert sum(int(shown["dones"].sum()) for shown in expected) >= 6
    other = BatchGame(RULES, 6, [2, 3], opponent_pool=["random", "greedy"], seed=77, features=["analysis"])
    for target in (tables, other):
        for name, array in target.arrays().items():
            array[...] = saved[name]
        for before, after in zip(expected, record(target, Policy(3, 6), 60), strict=True):
            for name in before:
                if name in ("finals", "final_states"):
                    assert np.array_equal(before[name][before["dones"]], after[name][before["dones"]]), name
                else:
                    assert np.array_equal(before[name], after[name]), name


def test_a_teacher_says_what_the_scripted_player_would_play() -> None:
    tables = BatchGame(RULES, 12, opponents="greedy", seed=4)
    tables.reset()
    compiled, unused = compile_tables(RULES), np.zeros(2, np.uint64)
    kinds = set()
    for _ in range(30):
        before = tables.states.copy()
        for name in ("greedy", "dumper"):
            moves = tables.teach(name)
            for index in range(12):
                views = new_views(1)
                view(tables.states[index], int(tables.seats[index]), views[0])
                number = SCRIPTED.index(name)
                assert moves[index] == scripted_move(number, compiled, views[0], tables.masks[index], unused)
            kinds.update((name, move_table(RULES)[int(move)].type) for move in moves)
        assert np.array_equal(tables.states, before)
        tables.step(tables.teach("random"))
    assert len(kinds) >= 6


# Self-play


def only_move(game: Game, skip: bool) -> bool:
    return skip and not game.over and int(game.mask().sum()) == 1


@pytest.mark.parametrize(("settings", "reward"), [
    ({"players": 3, "skip_forced": False}, "points"), ({"players": 4, "rounds": [2, 5]}, "points"),
    ({"players": 3, "rounds": "all"}, "rank"), ({"players": 2, "rounds": "all"}, "win"),
    ({"players": 2, "rules": DEALS, "rounds": "all"}, "points"),
], ids=["forced moves too", "two rounds", "whole games", "wins", "basic"])  # fmt: skip
def test_self_play_is_a_game_played_move_by_move(settings: dict[str, Any], reward: str) -> None:
    """Every decision of every seat in the order of play, everybody's rewards with each, the last observations of all seats.

    The games are positions of the batch's own deals, played by `Game` from there.
    """
    settings = {"rules": SHORT, **settings}
    rules, number, skip = settings["rules"], 3, settings.get("skip_forced", True)
    batch, policy = BatchGame(num_tables=number, seed=4, reward=reward, **settings), Policy(6, number, settings["rules"])
    players, ends, paid, movers = settings["players"], 0, 0, set()

    def game_at(index: int) -> Game:
        """A game with the State of a table just dealt."""
        game = Game(rules, players, seed=0)
        game._states[:] = batch.states[index : index + 1]
        return game

    batch.observe()
    games = [game_at(index) for index in range(number)]
    for _ in range(400):
        observations, masks, seats = batch.observe()
        for index, game in enumerate(games):
            seat = game.seat
            assert seat is not None and seats[index] == seat
            assert (
                np.array_equal(masks[index], game.mask()) and observations[index].tobytes() == game.observation(seat).tobytes()
            )
        movers.update(seats.tolist())
        moves, before = policy(masks), seats.copy()
        rewards, terminated, truncated, finals = batch.step(moves)
        for index, game in enumerate(games):
            scores = game.scores
            game.play(int(moves[index]))
            while only_move(game, skip):
                game.play(game.moves()[0])
            over = game.over
            assert terminated[index] == batch.dones[index] == over and not truncated[index]
            gained = np.subtract(game.scores, scores).tolist()
            expected = rewards_for(reward, rules, gained, game.scores, over)
            assert rewards[index, :players] == pytest.approx(expected, abs=1e-12) and not rewards[index, players:].any()
            assert batch.own_rewards[index] == rewards[index, before[index]]
            assert reward == "win" or abs(rewards[index].sum()) < 1e-9
            paid += bool(rewards[index].any())
            if over:
                ends += 1
                assert batch.final_states[index].tobytes() == game.state.tobytes() and batch.final_seats[index] == before[index]
                everybody = batch.last_observations([index])[0]
                assert finals[index].tobytes() == everybody[before[index]].tobytes() and not everybody[players:].any()
                for seat in range(players):
                    assert everybody[seat].tobytes() == game.observation(seat).tobytes()
                games[index] = game_at(index)
    assert ends >= 3 and paid >= ends and movers == set(range(players))


def test_opponents_sit_clockwise_from_the_learner_and_the_seat_may_be_fixed() -> None:
    batch = BatchGame(RULES, 30, 4, opponents=["random", "dumper", "greedy"], seed=2)
    batch.observe()
    assert set(batch.seats.tolist()) == {0, 1, 2, 3}
    for seat, seating in zip(batch.seats, batch.arrays()["seatings"], strict=True):
        assert [SCRIPTED[seating[(seat + 1 + other) % 4]] for other in range(3)] == ["random", "dumper", "greedy"]
        assert seating[seat] == -1
    fixed = BatchGame(RULES, 30, [4, 2], opponents="greedy", seat=1, seed=2)
    fixed.observe()
    assert set(fixed.seats.tolist()) == {1}


def test_a_cap_truncates() -> None:
    """After so many decisions of an episode; the last observation is that of the decision that would come next."""
    capped, free = (BatchGame(RULES, 6, 3, "greedy", seed=3, max_moves=cap) for cap in (4, None))
    capped.observe(), free.observe()
    policy, alive, cuts = Policy(1, 6), np.ones(6, bool), 0
    for step in range(4):
        moves = policy(free.masks)
        capped.step(moves), free.step(moves)
        assert np.array_equal(capped.terminated[alive], free.terminated[alive])
        assert capped.truncated[alive].any() == (step == 3)
        for index in np.flatnonzero(capped.truncated & alive):
            assert capped.finals[index].tobytes() == free.observations[index].tobytes() and not free.dones[index]
            assert capped.final_states[index].tobytes() == free.states[index].tobytes()
            assert capped.states[index].tobytes() != free.states[index].tobytes()
            cuts += 1
        alive &= ~free.dones
        if step < 3:
            assert np.array_equal(capped.observations[alive], free.observations[alive])
    assert cuts >= 3


def test_options_of_a_reset_hold_for_its_first_episodes() -> None:
    batch = BatchGame(RULES, 8, 3, opponents="greedy", seed=1)
    batch.reset(options={"round": 6, "dealer": 2, "seat": 0, "scores": [0, 50, 10]})
    assert set(batch.seats.tolist()) == {0} and set(batch.states["round_number"].tolist()) == {6}
    assert set(batch.states["dealer"].tolist()) == {2} and batch.states["scores"][:, :3].tolist() == [[0, 50, 10]] * 8
    batch.reset()
    assert len(set(batch.states["round_number"].tolist())) > 1 and not batch.states["scores"].any()
    before = changed(batch)
    for options, words in (
        ({"round": 9}, "round"), ({"dealer": 3}, "dealer"), ({"seat": 3}, "seat"), ({"scores": [1]}, "scores"),
        ({"position": {}}, "unknown option 'position'"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=f"^{words}"):
            batch.reset(seed=5, options=options)
    assert changed(batch) == before
    with pytest.raises(ValueError, match=r"^unknown option 'seat'"):
        BatchGame(RULES).reset(options={"seat": 0})
    with pytest.raises(ValueError, match=r"^scores can be given only where players is one number"):
        BatchGame(RULES, 1, [2, 3]).reset(options={"scores": [0, 0]})


@pytest.mark.parametrize("how", COPIES)
def test_a_copy_goes_on_alike(how: str) -> None:
    batch = BatchGame(RULES, 4, 3, "random", seed=3, threads=2)
    batch.observe()
    record(batch, Policy(1, 4), 10)
    other = COPIES[how](batch)
    one, two = (record(each, Policy(2, 4), 30) for each in (batch, other))
    for shown, same in zip(one, two, strict=True):
        assert all(shown[name].tobytes() == same[name].tobytes() for name in shown)


# What is refused


def changed(tables: BatchGame) -> bytes:
    arrays = [*tables.arrays().values(), tables.rewards, tables.dones, tables.finals, tables.final_states]
    return b"".join(array.tobytes() for array in arrays)


def test_illegal_moves_are_refused_and_nothing_changes() -> None:
    """One illegal move among legal ones: no table is played."""
    tables = BatchGame(RULES, 3, opponents="greedy", seed=2)
    tables.reset()
    tables.step(tables.masks.argmax(axis=1))
    good = tables.masks.argmax(axis=1)
    bad = int(np.flatnonzero(tables.masks[1] == 0)[-1])
    before = changed(tables)
    text = re.escape(move_table(RULES).text(bad))
    with pytest.raises(ValueError, match=f"^table 1: {text} is not legal now$"):
        tables.step(np.array([good[0], bad, good[2]]))
    for moves in ([good[0], -1, good[2]], [good[0], tables.masks.shape[1], good[2]]):
        with pytest.raises(ValueError, match=f"^moves must be ids below {len(move_table(RULES))}"):
            tables.step(np.array(moves))
    for moves in (good[:2], [good], int(good[0]), good + 0.5, good > 0):
        with pytest.raises(ValueError, match=r"^moves must be 3 whole numbers, one for each table"):
            tables.step(np.array(moves))
    with pytest.raises(ValueError, match=r"^teacher must be one of random, dumper, greedy, not 'planner'"):
        tables.teach("planner")
    assert changed(tables) == before
    tables.step(good)
    assert changed(tables) != before


def test_before_the_first_reset_no_move_is_legal() -> None:
    with pytest.raises(ValueError, match=r"^no episode is on: call reset first"):
        BatchGame(RULES, 1).step(np.zeros(1, np.int64))
    with pytest.raises(ValueError, match=r"^no episode is on: call reset first"):
        BatchGame(RULES, 1).teach("greedy")


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"num_tables": 0}, "num_tables must be a whole number from 1 up, not 0"),
    ({"num_tables": True}, "num_tables must be .*not True"),
    ({"num_tables": 2.0}, "num_tables must be .*not 2.0"),
    ({"players": 1}, "players must be from 2 to 6, not 1"),
    ({"players": [4, 7]}, "players must be from 2 to 6, not 7"),
    ({"players": []}, "players must be a number or a list of numbers, not an empty list"),
    ({"players": "4"}, "players must be a whole number, not '4'"),
    ({"players": [4.0]}, "players must be a whole number, not 4.0"),
    ({"players": True}, "players must be a whole number, not True"),
    ({"players": 4.0}, "players must be a whole number, not 4.0"),
    ({"players": None}, "players must be a whole number, not None"),
    ({"opponents": 5}, "opponents must be a name or a list of names .*not 5"),
    ({"opponents": ["greedy"] * 2}, r"opponents must be one name or a list of 3 \(players - 1\), not 2"),
    ({"opponents": "greedy", "opponent_pool": ["greedy"]}, "give opponents or an opponent_pool, not both"),
    ({"opponent_pool": "greedy"}, "opponent_pool must be a list of names out of random, dumper, greedy, not 'greedy'"),
    ({"opponent_pool": []}, "opponent_pool must be a list of names"),
    ({"opponent_pool": ["nobody"]}, "opponent_pool must be a list of names .*nobody"),
    ({"opponent_pool": [["greedy"]]}, "opponent_pool must be a list of names"),
    ({"seat": 1}, "seat is the learner's: .* so it cannot be 1"),
    ({"seat": 4, "opponents": "greedy"}, "seat must be a seat from 0 to 3, not 4"),
    ({"seat": "left", "opponents": "greedy"}, "seat must be 'random' or a seat from 0 to 3, not 'left'"),
    ({"shaping": "distance"}, "shaping is for a learner: it needs opponents or an opponent_pool"),
    ({"threads": 0}, "threads must be a whole number from 1 up, not 0"),
    ({"threads": 1.0}, "threads must be a whole number from 1 up, not 1.0"),
    ({"max_moves": 0}, "max_moves must be a whole number from 1 up or None, not 0"),
    ({"reward": "score"}, "reward must be one of points, rank, win, not 'score'"),
    ({"rules": "rummy"}, "rummy"),
    ({"seed": [1]}, "seed must be one number or a list of 2, one for each table, not 1"),
    ({"rounds": 5}, "rounds must be .*not 5"),
    ({"rounds": [True]}, r"rounds must be .*not \[True\]"),
    ({"rounds": [1.0]}, r"rounds must be .*not \[1.0\]"),
    ({"features": None}, "features must be a list out of analysis, history, not None"),
    ({"lay_order": ["ascending"]}, "lay_order must be one of any, ascending, not"),
    ({"shaping": "points"}, "shaping must be None or 'distance', not 'points'"),
    ({"gamma": 2}, "gamma must be a number from 0 to 1, not 2"),
    ({"obs_dtype": "float64"}, "obs_dtype must be one of float32, uint8, not 'float64'"),
    ({"opponents": []}, "opponents must be a name or a list of names out of random, dumper, greedy"),
    ({"opponents": ["greedy", "nobody"]}, "opponents must be a name or a list of names .*nobody"),
    ({"opponents": [["greedy"]]}, "opponents must be a name or a list of names"),
    ({"rounds": "some"}, "rounds must be 'random', 'all' or a list out of .*not 'some'"),
    ({"rounds": []}, "rounds must be 'random', 'all' or a list"),
    ({"rounds": [1, 8]}, r"rounds must be .*not \[1, 8\]"),
    ({"rounds": None}, "rounds must be .*not None"),
    ({"seed": -1}, "seed must be a whole number from 0 up"),
    ({"seed": 1.5}, "seed must be .*not 1.5"),
    ({"features": ["x"]}, "features must be out of analysis.*, not 'x'"),
]


@pytest.mark.parametrize("wrong,message", WRONG, ids=[str(wrong) for wrong, _ in WRONG])
def test_wrong_arguments_are_named(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        BatchGame(**{"rules": RULES, "num_tables": 2, **wrong})


# Threads and forks

FORK = """
import json, multiprocessing, os, sys, threading
import numpy as np
import gymnasium
import rummy_env
from rummy_env.batch import BatchGame

def go_on(tables, steps):
    for _ in range(steps):
        tables.step(tables.masks.argmax(axis=1))
    return tables.states.tobytes()

def play(seed, steps=60):
    tables = BatchGame("international", 8, opponents="greedy", seed=seed, threads=2)
    tables.reset()
    return go_on(tables, steps)

def child(seed, pipe):
    pipe.send(play(seed))
    pipe.close()

threaded = {}
def work(seed):
    threaded[seed] = play(seed, 400)
threads = [threading.Thread(target=work, args=(seed,)) for seed in (1, 2)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert threaded[1] == play(1, 400) and threaded[2] == play(2, 400) != threaded[1]
expected = play(3)
kept = BatchGame("international", 8, opponents="greedy", seed=3, threads=2)
kept.reset()
go_on(kept, 30)  # its threads are there before the fork, and not after it in the child

read, write = os.pipe()
pid = os.fork()
if pid == 0:
    try:
        os.write(write, b"same" if play(3) == go_on(kept, 30) == expected else b"different")
    finally:
        os._exit(0)
os.close(write)
assert go_on(kept, 30) == expected
forked = os.read(read, 100).decode()
status = os.waitpid(pid, 0)[1]

here, there = multiprocessing.Pipe()
process = multiprocessing.get_context("fork").Process(target=child, args=(3, there))
process.start()
spawned = here.poll(60) and here.recv() == expected
process.join(60)

from stable_baselines3.common.vec_env import SubprocVecEnv
make = lambda: gymnasium.make("rummy_env/International-v0", players=3)
many = SubprocVecEnv([make, make], start_method="fork")
observations = many.reset()
for _ in range(30):
    masks = np.stack(many.env_method("action_masks"))
    observations, *_ = many.step(masks.argmax(axis=1))
shape = list(observations.shape)
many.close()
print(json.dumps([forked, status, spawned, process.exitcode, shape]))
"""


def test_a_process_forked_after_threaded_use_still_works() -> None:
    """Batches with threads of their own, two at once, give what each gives alone; a child forked after that plays on, and so
    does one of Stable-Baselines3's `SubprocVecEnv`."""
    out = subprocess.run([sys.executable, "-W", "error", "-c", FORK], capture_output=True, text=True, timeout=900)
    assert out.returncode == 0, out.stderr
    assert json.loads(out.stdout) == ["same", 0, True, 0, [2, layout(RULES).size]]
