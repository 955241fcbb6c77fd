"""Many learner tables: the same as a plain loop over the single-table kernels, table by table; and as a `VecEnv`."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")
pytest.importorskip("sb3_contrib")

from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.evaluation import evaluate_policy
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3.common.vec_env import VecMonitor

from rummy_env.engine.apply import NO_ORDER, apply
from rummy_env.engine.deal import start_game
from rummy_env.engine.legal import legal
from rummy_env.engine.random import below, child_key
from rummy_env.engine.state import MAX_PLAYERS, OVER, new_states, new_views
from rummy_env.engine.tables import compile_tables
from rummy_env.engine.view import view
from rummy_env.game import game_key
from rummy_env.learners import LearnerTables
from rummy_env.moves import move_table
from rummy_env.observation import encode, layout, observation_plan
from rummy_env.players.scripted import SCRIPTED, scripted_move
from rummy_env.rules import Rules, preset
from rummy_env.sb3 import RummyVecEnv
from tests.faces import eager

RULES = preset("international")
SHORT = RULES.replace(max_turns=4)
BASIC = preset("basic")

SETS: dict[str, dict[str, Any]] = {
    "default": {},
    "mixed": {
        "players": [2, 3, 6], "opponents": ["greedy", "dumper", "random", "greedy"], "rounds": [1, 7, 4],
        "skip_forced": False, "features": ["analysis"],
    },
    "whole games": {"players": [3], "opponents": ["greedy", "random"], "rounds": "all", "rules": SHORT},
    "basic": {"players": [2, 4], "opponents": ["greedy", "random"], "features": ["analysis"], "rules": BASIC},
    "basic, whole games": {"players": [2], "opponents": ["greedy"], "rounds": "all", "rules": BASIC.replace(max_deals=3)},
}  # fmt: skip


def child(key: np.uint64, number: int) -> np.uint64:
    """`child_key` as uint64, which a kernel hands to Python as a plain number."""
    return np.uint64(child_key(key, np.uint64(number)))


class Plain:
    """One table of `LearnerTables` as an ordinary loop over the kernels of one table, every draw in the order written there."""

    def __init__(
        self,
        seed: int,
        index: int,
        players: Sequence[int] = (4,),
        opponents: Sequence[str] = ("greedy",),
        rounds: Sequence[int] | str = "random",
        skip_forced: bool = True,
        features: Sequence[str] = (),
        rules: Any = RULES,
    ):
        self.rules, self.tables = rules, compile_tables(rules)
        self.plan, self.size = observation_plan(rules, tuple(features)), layout(rules, tuple(features)).size
        self.players_list, self.opponents, self.skip_forced = list(players), list(opponents), skip_forced
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
    tables = LearnerTables(num_tables=number, seed=11, **settings)
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
        moves = policy(tables.masks)
        tables.step(moves)
        for index, table in enumerate(plain):
            before = table.ended_by_others
            gained, end = table.step(int(moves[index]))
            assert tables.rewards[index] == pytest.approx(gained, abs=1e-9)
            assert tables.dones[index] == (end is not None)
            paid += table.ended_by_others > before and gained != 0
            within += end is None and gained != 0
            if end is not None:
                ends += 1
                downs += end["down"]
                assert tables.finals[index].tobytes() == end["observation"].tobytes()
                players, down, *scores = tables.final_scores[index].tolist()
                assert (players, bool(down), scores[:players]) == (end["players"], end["down"], end["scores"])
                assert not any(scores[players:])
    assert paid >= 10, "the learner's reward arrives also when somebody else ends the round"
    assert ends >= (6 if settings.get("rounds") == "all" else 15) and (downs >= 1 or rules is SHORT)
    assert seen_players == set(plain[0].players_list)
    assert seen_seats >= set(range(min(seen_players)))
    assert seen_rounds == set(plain[0].rounds)
    assert (forced > 0) == (not settings.get("skip_forced", True))
    assert (within > 0) == (settings.get("rounds") == "all"), "rewards inside an episode come at the ends of its rounds"


def record(tables: LearnerTables, policy: Policy, steps: int) -> list[dict[str, np.ndarray]]:
    """All that steps show, and what a teacher would do."""
    shown = []
    for _ in range(steps):
        moves = policy(tables.masks)
        tables.step(moves)
        names = ("observations", "masks", "rewards", "dones", "finals", "final_scores", "seats")
        shown.append({name: getattr(tables, name).copy() for name in names})
        shown[-1]["taught"] = np.stack([tables.teach(name) for name in SCRIPTED])
    return shown


def test_a_table_does_not_depend_on_how_many_others_there_are() -> None:
    """The first 3 tables of 3 and of 20 are equal under the same policy."""
    runs = []
    for number in (3, 20):
        tables = LearnerTables(RULES, number, [2, 4, 5], ["greedy", "random"], seed=5, features=["analysis"])
        tables.reset()
        runs.append(record(tables, Policy(2, number), 120))
    assert sum(int(shown["dones"].sum()) for shown in runs[0]) >= 6
    for few, many in zip(*runs, strict=True):
        for name in few:
            own = many[name][:, :3] if name == "taught" else many[name][:3]
            assert np.array_equal(few[name], own), name


def test_equal_seeds_give_equal_episodes_and_others_do_not() -> None:
    tables = [LearnerTables(RULES, 5, seed=seed) for seed in (8, 8, 9)]
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
    tables = LearnerTables(RULES, 6, [2, 3], ["random", "greedy"], seed=1, features=["analysis"])
    tables.reset()
    record(tables, Policy(0, 6), 30)
    saved = {name: array.copy() for name, array in tables.arrays().items()}
    expected = record(tables, Policy(3, 6), 60)
    assert sum(int(shown["dones"].sum()) for shown in expected) >= 6
    other = LearnerTables(RULES, 6, [2, 3], ["random", "greedy"], seed=77, features=["analysis"])
    for target in (tables, other):
        for name, array in target.arrays().items():
            array[...] = saved[name]
        for before, after in zip(expected, record(target, Policy(3, 6), 60), strict=True):
            for name in before:
                if name in ("finals", "final_scores"):
                    assert np.array_equal(before[name][before["dones"]], after[name][before["dones"]]), name
                else:
                    assert np.array_equal(before[name], after[name]), name


def test_a_teacher_says_what_the_scripted_player_would_play() -> None:
    tables = LearnerTables(RULES, 12, seed=4)
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


# What is refused


def changed(tables: LearnerTables) -> bytes:
    arrays = [*tables.arrays().values(), tables.rewards, tables.dones, tables.finals, tables.final_scores]
    return b"".join(array.tobytes() for array in arrays)


def test_illegal_moves_are_refused_and_nothing_changes() -> None:
    """One illegal move among legal ones: no table is played."""
    tables = LearnerTables(RULES, 3, seed=2)
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
        LearnerTables(RULES, 1).step(np.zeros(1, np.int64))
    with pytest.raises(ValueError, match=r"^no episode is on: call reset first"):
        LearnerTables(RULES, 1).teach("greedy")


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
    ({"opponents": None}, "opponents must be a list of names .*not None"),
    ({"opponents": 5}, "opponents must be a list of names .*not 5"),
    ({"rounds": 5}, "rounds must be .*not 5"),
    ({"rounds": [True]}, r"rounds must be .*not \[True\]"),
    ({"rounds": [1.0]}, r"rounds must be .*not \[1.0\]"),
    ({"features": None}, "features must be a list out of analysis, history, not None"),
    ({"lay_order": ["ascending"]}, "lay_order must be one of any, ascending, not"),
    ({"shaping": "points"}, "shaping must be None or 'distance', not 'points'"),
    ({"gamma": 2}, "gamma must be a number from 0 to 1, not 2"),
    ({"obs_dtype": "float64"}, "obs_dtype must be one of float32, uint8, not 'float64'"),
    ({"opponents": []}, "opponents must be a list of names out of random, dumper, greedy"),
    ({"opponents": "greedy"}, "opponents must be a list of names"),
    ({"opponents": ["greedy", "nobody"]}, "opponents must be a list of names .*nobody"),
    ({"opponents": [["greedy"]]}, "opponents must be a list of names"),
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
    for make in (LearnerTables, RummyVecEnv):
        given = {"rules": RULES, "num_tables": 2, **wrong}
        if make is RummyVecEnv:
            given["num_envs"] = given.pop("num_tables")
        with pytest.raises(ValueError, match=message):
            make(**given)


# VecEnv


def run_vec(env: Any, policy: Policy, steps: int, see: Callable[..., None]) -> None:
    env.reset()
    for _ in range(steps):
        env.step_async(policy(np.stack(env.env_method("action_masks"))))
        see(*env.step_wait())


def places_reward(scores: list[int]) -> float:
    """The learner's place among the scores, fewest first, ties sharing the mean of their places, on a line from 1 to -1."""
    positions = [place for place, score in enumerate(sorted(scores)) if score == scores[0]]
    return 1 - 2 * float(np.mean(positions)) / (len(scores) - 1)


def win_reward(scores: list[int]) -> float:
    return (scores[0] == min(scores)) / scores.count(min(scores))


def points_reward(scores: list[int]) -> float:
    return (float(np.mean(scores[1:])) - scores[0]) / 100


REWARDS = {"points": points_reward, "rank": places_reward, "win": win_reward}


@pytest.mark.parametrize("rounds", ["random", "all"])
@pytest.mark.parametrize("reward", REWARDS)
@pytest.mark.parametrize("name", ["international", "basic"])
def test_the_rewards_of_an_episode(name: str, reward: str, rounds: str) -> None:
    """They add up to what the final scores say; all but those of rounds come at the end; `episode` counts right.

    In Basic most points win.
    """
    number, basic = 12, name == "basic"
    rules = BASIC.replace(max_turns=5, max_deals=3, blocked_scoring="lowest_takes_sum") if basic else SHORT
    env = RummyVecEnv(rules, number, [2, 3, 4], ["random"], rounds, reward, seed=6)
    sums, lengths = np.zeros(number), np.zeros(number, int)
    ended: list[list[int]] = []

    def of_scores(scores: list[int]) -> float:
        return REWARDS[reward]([-score for score in scores] if basic else scores)

    def see(observations: np.ndarray, rewards: np.ndarray, dones: np.ndarray, infos: list[dict[str, Any]]) -> None:
        assert (observations.dtype, rewards.dtype, dones.dtype) == (np.float32, np.float32, np.bool_)
        nonlocal sums, lengths
        sums += rewards
        lengths += 1
        for index in range(number):
            if not dones[index]:
                assert infos[index] == {}
                assert reward == "points" or rewards[index] == 0
                continue
            info = infos[index]
            assert not info["TimeLimit.truncated"]
            assert sums[index] == pytest.approx(of_scores(info["scores"]), abs=1e-5)
            assert info["episode"]["r"] == pytest.approx(sums[index], abs=1e-5)
            assert info["episode"]["l"] == lengths[index]
            assert len(info["scores"]) in (2, 3, 4)
            ended.append(info["scores"])
            sums[index] = lengths[index] = 0

    run_vec(env, Policy(9, number, rules), 250 if rounds == "all" else 90, see)
    assert len(ended) >= 20
    assert len({np.sign(of_scores(scores)) for scores in ended}) >= 2  # learners both gain and lose


def test_the_terminal_observation_is_that_of_the_final_state() -> None:
    """It has the scores of the end and is not the first observation of the next episode, which is returned."""
    env = RummyVecEnv(SHORT, 6, 3, ["dumper"], seed=3)
    shape = layout(RULES)
    behind = [label == "behind" for label in shape["seat_0"].labels].index(True)
    at = [shape[f"seat_{seat}"].start + behind for seat in range(3)]
    ends = 0

    def see(observations: np.ndarray, rewards: np.ndarray, dones: np.ndarray, infos: list[dict[str, Any]]) -> None:
        nonlocal ends
        for index in np.flatnonzero(dones):
            last, scores = infos[index]["terminal_observation"], infos[index]["scores"]
            assert env.observation_space.contains(last) and last.shape == observations[index].shape
            assert not np.array_equal(last, observations[index])
            expected = [min(score - min(scores), 200) for score in scores]
            assert np.rint(last[at] * 200).astype(int).tolist() == expected
            assert not observations[index][at].any()  # scores begin at zero
            phase = shape["phase"]
            assert not last[phase.start : phase.stop].any()  # over: none of the phases in which somebody acts
            ends += 1

    run_vec(env, Policy(0, 6), 60, see)
    assert ends >= 10


def test_what_is_returned_is_not_changed_by_later_steps() -> None:
    env = RummyVecEnv(RULES, 4, seed=3)
    kept: list[tuple[Any, Any]] = []

    def see(*results: Any) -> None:
        terminal = [info.get("terminal_observation") for info in results[3]]
        arrays = [*results[:3], *(array for array in terminal if array is not None), env.action_masks()]
        kept.append((arrays, [array.copy() for array in arrays]))

    run_vec(env, Policy(0, 4), 40, see)
    assert sum(len(arrays) for arrays, _ in kept) > 40 * 4
    for arrays, copies in kept:
        assert all(np.array_equal(array, copied) for array, copied in zip(arrays, copies, strict=True))


def test_a_seed_takes_effect_at_the_next_reset_and_only_then() -> None:
    env, other = RummyVecEnv(RULES, 3, seed=4), RummyVecEnv(RULES, 3, seed=0)
    first = env.reset()
    assert np.array_equal(first, RummyVecEnv(RULES, 3, seed=4).reset())
    assert not np.array_equal(first, other.reset())
    other.seed(4)
    assert not np.array_equal(first, other.tables.observations)
    assert np.array_equal(first, other.reset())
    assert not np.array_equal(first, other.reset())  # a seed serves once; then the episodes go on


def test_illegal_moves_are_refused_by_the_vecenv() -> None:
    env = RummyVecEnv(RULES, 3, seed=4)
    env.reset()
    good = env.action_masks().argmax(axis=1)
    bad = good.copy()
    bad[2] = int(np.flatnonzero(~env.action_masks()[2])[0])
    before = changed(env.tables)
    with pytest.raises(ValueError, match=r"^table 2: .* is not legal now"):
        env.step(bad)
    for wrong in (good.astype(np.float32), good[:2], good.astype(str), None, good == 0):
        with pytest.raises(ValueError, match=r"^moves must be 3"):
            env.step(wrong)  # type: ignore[arg-type]
    assert changed(env.tables) == before
    env.step(good)
    assert env._lengths.tolist() == [1, 1, 1]
    with pytest.raises(ValueError, match=r"^reward must be one of points, rank, win, not 'score'"):
        RummyVecEnv(RULES, 2, reward="score")
    with pytest.raises(AttributeError, match="no method 'render'"):
        env.env_method("render")
    with pytest.raises(AttributeError, match="'tables' cannot be set"):
        env.set_attr("tables", 0)
    with pytest.raises(AttributeError, match="nonsense"):
        env.get_attr("nonsense")


def test_masks_reach_sb3_contrib() -> None:
    env = RummyVecEnv(RULES, 5, seed=4)
    env.reset()
    for _ in range(10):
        masks = env.tables.masks.astype(bool)
        for wrapped in (env, VecMonitor(env)):
            assert is_masking_supported(wrapped)
            assert np.array_equal(get_action_masks(wrapped), masks)
        assert np.array_equal(env.env_method("action_masks", indices=[3, 1]), masks[[3, 1]])
        assert np.array_equal(env.env_method("action_masks", indices=2), masks[[2]])
        assert [function().shape for function in env.get_attr("action_masks", 0)] == [masks.shape]
        env.step(masks.argmax(axis=1))
    assert env.env_is_wrapped(VecMonitor) == [False] * 5
    assert not env.has_attr("nonsense")
    env.close()


@pytest.mark.parametrize(("wrapper", "rules"), [
    (lambda env: env, SHORT), (VecMonitor, SHORT), (VecMonitor, BASIC.replace(max_turns=6)),
], ids=["alone", "VecMonitor", "basic"])  # fmt: skip
def test_maskable_ppo_learns_and_is_evaluated(wrapper: Callable[[Any], Any], rules: Rules) -> None:
    """Illegal moves would raise; so all that it plays follows the masks. Warnings are errors."""
    env = wrapper(RummyVecEnv(rules, 4, [2, 3], ["greedy", "dumper"], seed=1))
    model = MaskablePPO(
        "MlpPolicy", env, n_steps=32, batch_size=32, n_epochs=1, seed=0, device="cpu", policy_kwargs={"net_arch": [8]}
    )
    before = {name: tensor.clone() for name, tensor in model.policy.state_dict().items()}
    model.learn(512)
    assert model.num_timesteps == 512
    assert any(not (before[name] == tensor).all() for name, tensor in model.policy.state_dict().items())
    finished = [episode["r"] for episode in model.ep_info_buffer or []]
    assert len(finished) >= 2 and all(-4 < value < 4 for value in finished)
    seen: list[float] = []

    def callback(local: dict[str, Any], _: dict[str, Any]) -> None:
        if local["done"]:
            seen.append(points_reward(local["info"]["scores"]) * (1 if rules is SHORT else -1))

    returns, lengths = evaluate_policy(model, env, 10, warn=False, callback=callback, return_episode_rewards=True)
    assert len(returns) == len(lengths) == 10
    assert returns == pytest.approx(seen, abs=1e-5)
    assert min(lengths) >= 1


# Threads and forks

FORK = """
import json, multiprocessing, os, sys, threading
import numpy as np
import gymnasium
import rummy_env
from rummy_env.learners import LearnerTables
from rummy_env.rules import preset

def play(seed, steps=60):
    tables = LearnerTables(preset("international"), 8, seed=seed)
    tables.reset()
    for _ in range(steps):
        tables.step(tables.masks.argmax(axis=1))
    return tables.states.tobytes()

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

read, write = os.pipe()
pid = os.fork()
if pid == 0:
    try:
        os.write(write, b"same" if play(3) == expected else b"different")
    finally:
        os._exit(0)
os.close(write)
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
    """Kernels in two threads at once give what each gives alone; a child forked after that plays on, and so does one of
    Stable-Baselines3's `SubprocVecEnv`."""
    out = subprocess.run([sys.executable, "-W", "error", "-c", FORK], capture_output=True, text=True, timeout=900)
    assert out.returncode == 0, out.stderr
    assert json.loads(out.stdout) == ["same", 0, True, 0, [2, layout(RULES).size]]
