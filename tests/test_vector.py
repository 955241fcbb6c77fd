"""The vector environment: every table is the single environment of its seed, and what the library expects of one."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import vector as wrappers

import rummy_env
from rummy_env.gym_env import RummyEnv
from rummy_env.moves import move_table
from rummy_env.observation import layout
from rummy_env.rules import preset
from rummy_env.vector import RummyVectorEnv
from tests.faces import COPIES, eager

RULES, BASIC = preset("international"), preset("basic")
NAMES = {"international": "rummy_env/International-v0", "basic": "rummy_env/Basic-v0"}


def same(one: Any, other: Any, where: str = "") -> None:
    """Equal in every type, byte and key."""
    assert type(one) is type(other), where
    if isinstance(one, dict):
        assert one.keys() == other.keys(), (where, one.keys() ^ other.keys())
        for name in one:
            same(one[name], other[name], f"{where}/{name}")
    elif isinstance(one, tuple) or (isinstance(one, np.ndarray) and one.dtype == object):
        assert len(one) == len(other), where
        for index, parts in enumerate(zip(one, other, strict=True)):
            same(*parts, f"{where}[{index}]")
    elif isinstance(one, np.ndarray):
        assert one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes(), where
    else:
        assert one == other, where


def choose(masks: np.ndarray, random: np.random.Generator, rules: Any = RULES) -> np.ndarray:
    return np.array([eager(mask, random, rules) for mask in masks])


SETS: dict[str, dict[str, Any]] = {
    "default": {},
    "whole games": {
        "players": 3, "opponents": ["random", "greedy"], "rounds": "all", "reward": "rank",
        "overrides": {"max_turns": 2}, "skip_forced": False,
    },
    "shaped": {"players": 2, "rounds": [1, 7], "shaping": "distance", "gamma": 0.9, "seat": 1, "overrides": {"max_turns": 4}},
    "basic": {
        "rules": "basic", "players": 2, "opponents": "random", "reward": "win", "features": ["analysis"], "max_moves": 8,
    },
    "raw": {"players": 6, "obs_dtype": "uint8", "lay_order": "ascending", "illegal_reward": -2.5, "max_moves": 7},
}  # fmt: skip


@pytest.mark.parametrize("illegal", [False, True], ids=["legal", "with illegal moves"])
@pytest.mark.parametrize("settings", SETS.values(), ids=SETS)
def test_table_i_is_the_single_environment_with_seed_plus_i(settings: dict[str, Any], illegal: bool) -> None:
    """Observations, rewards, endings and infos are those of `SyncVectorEnv` over single environments, to the byte."""
    number, rules = 4, preset(settings.get("rules", "international"))
    many = RummyVectorEnv(number, threads=2, **settings)
    single = SyncVectorEnv([lambda: RummyEnv(**settings)] * number, autoreset_mode=AutoresetMode.SAME_STEP)
    random, ends, wrong = np.random.default_rng(1), [0, 0], 0
    resets = (
        (7, None), (None, {"dealer": 1}), ([3, None, 2**63, 3], {"seat": 0, "round": 1, "scores": None}),
        (5, {"seat": "random"}),
    )  # fmt: skip
    for seed, options in resets:
        shown, expected = (env.reset(seed=seed, options=options) for env in (many, single))  # type: ignore[arg-type]
        same(shown, expected)
        for step in range(70):
            masks = many.action_masks()
            same(masks.astype(np.int8), shown[-1]["action_mask"])
            moves = choose(masks, random, rules)
            if illegal and step % 5 == 0:
                moves[step % number] = np.flatnonzero(~masks[step % number])[step]
                wrong += 1
            shown, expected = (env.step(moves) for env in (many, single))
            same(shown, expected)
            for name, count in enumerate((shown[2], shown[3])):
                ends[name] += int(count.sum())
    assert ends["max_moves" in settings] >= 6 and wrong == (56 if illegal else 0)


@pytest.mark.parametrize("game", NAMES)
def test_it_is_made_by_name(game: str) -> None:
    rules = preset(game)
    envs = gymnasium.make_vec(NAMES[game], num_envs=8, players=3, opponents="random")
    assert isinstance(envs, RummyVectorEnv) and envs.batch.rules == rules and envs.spec is not None
    assert rummy_env.RummyVectorEnv is RummyVectorEnv and envs.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    observations, infos = envs.reset(seed=3)
    assert observations.shape == (8, layout(rules).size) and observations in envs.observation_space
    assert infos["action_mask"].shape == (8, len(move_table(rules))) and infos["action_mask"].dtype == np.int8
    assert envs.action_space.shape == (8,) and envs.single_action_space.n == len(move_table(rules))  # type: ignore[attr-defined]
    observations, rewards, terminated, truncated, _ = envs.step(infos["action_mask"].argmax(axis=1))
    assert observations in envs.observation_space and rewards.dtype == np.float64
    assert terminated.dtype == truncated.dtype == np.bool_ and terminated.shape == truncated.shape == rewards.shape == (8,)
    again = gymnasium.make_vec(envs.spec)
    same(again.reset(seed=3)[0], envs.reset(seed=3)[0])
    envs.close(), again.close()


def test_a_reset_without_a_seed() -> None:
    """The first is of the system's entropy, later ones go on with the streams; a seed begins them anew."""
    one, other = RummyVectorEnv(3), RummyVectorEnv(3)
    assert not np.array_equal(one.reset()[0], other.reset()[0])
    first = one.reset(seed=4)[0]
    assert np.array_equal(other.reset(seed=4)[0], first) and one.np_random_seed == 4
    assert np.array_equal(one.reset(seed=np.int64(4))[0], first)  # type: ignore[arg-type]
    second = one.reset()[0]
    assert not np.array_equal(first, second) and np.array_equal(other.reset()[0], second)


def test_what_is_returned_is_not_changed_unless_buffers_are_asked_for() -> None:
    for copy in (True, False):
        envs, random, kept, changed = RummyVectorEnv(4, 2, max_moves=6, copy=copy), np.random.default_rng(0), [], 0
        shown = envs.reset(seed=3)
        for _ in range(20):
            infos = shown[-1]
            arrays = [*shown[:-1], infos["action_mask"], *(one for one in infos.get("final_obs", ()) if one is not None)]
            kept.append((arrays, [array.copy() for array in arrays]))
            shown = envs.step(choose(infos["action_mask"], random))
        for arrays, copies in kept:
            changed += sum(not np.array_equal(*pair) for pair in zip(arrays, copies, strict=True))
        assert (changed == 0) is copy
    assert envs.reset()[0] is envs.batch.observations


@pytest.mark.parametrize("wrapper", [
    wrappers.RecordEpisodeStatistics, wrappers.DictInfoToList, wrappers.NormalizeReward,
    lambda envs: wrappers.ClipReward(envs, -1, 1),
])  # fmt: skip
def test_the_wrappers_of_the_library_work_on_it(wrapper: Any) -> None:
    inner = RummyVectorEnv(3, 2, max_moves=15)
    envs, random, ends = wrapper(inner), np.random.default_rng(0), 0
    observations, _ = envs.reset(seed=1)
    for _ in range(40):
        assert observations in envs.observation_space
        observations, rewards, terminated, truncated, infos = envs.step(choose(inner.action_masks(), random))
        assert rewards.shape == (3,)
        done = terminated | truncated
        if done.any() and isinstance(envs, wrappers.RecordEpisodeStatistics):
            assert (infos["episode"]["l"][done] <= 15).all() and (infos["_episode"] == done).all()
        ends += int(done.sum())
    assert ends >= 6


@pytest.mark.parametrize("how", COPIES)
def test_a_copy_goes_on_alike(how: str) -> None:
    envs, random = RummyVectorEnv(3, 3, "random", threads=2), np.random.default_rng(2)
    envs.reset(seed=2)
    for _ in range(10):
        envs.step(choose(envs.action_masks(), random))
    other = COPIES[how](envs)
    for _ in range(30):
        moves = choose(envs.action_masks(), random)
        same(envs.step(moves), other.step(moves))
    same(envs.reset(), other.reset())


def test_texts_of_the_tables() -> None:
    envs = RummyVectorEnv(3, 2, render_mode="ansi")
    with pytest.raises(ValueError, match="call reset first"):
        envs.render()
    envs.reset(seed=1)
    texts = envs.render()
    assert texts is not None and len(texts) == 3 and all("player 1" in text for text in texts)
    with pytest.warns(UserWarning, match="without specifying any render mode"):
        assert RummyVectorEnv(1).render() is None


def state_of(envs: RummyVectorEnv) -> bytes:
    return b"".join(array.tobytes() for array in envs.batch.arrays().values())


def test_what_is_refused_changes_nothing() -> None:
    envs = RummyVectorEnv(3, illegal_action="raise")
    with pytest.raises(ValueError, match=r"^no episode is on: call reset first"):
        envs.step(np.zeros(3, np.int64))
    envs.reset(seed=2)
    good = envs.action_masks().argmax(axis=1)
    bad = good.copy()
    bad[1] = np.flatnonzero(~envs.action_masks()[1])[0]
    before = state_of(envs)
    with pytest.raises(ValueError, match=f"^table 1: {move_table(RULES).text(int(bad[1]))}: "):
        envs.step(bad)
    number = len(move_table(RULES))
    for moves, words in (
        (good[:2], "moves must be 3 whole numbers"), (good + 0.5, "moves must be 3 whole numbers"), (None, "moves must be 3"),
        ([-1, *good[1:]], f"moves must be ids below {number}"), ([*good[:2], number], f"moves must be ids below {number}"),
        (np.array([2**64 - 1] * 3, np.uint64), f"moves must be ids below {number}"),
    ):  # fmt: skip
        for each in (envs, RummyVectorEnv(3)):
            if each is not envs:
                each.reset(seed=2)
            with pytest.raises(ValueError, match=f"^{words}"):
                each.step(moves)
            assert each is not envs or state_of(each) == before
    for given, words in (
        ({"seed": -1}, "seed must be"), ({"seed": [1, 2]}, "seed must be one number or a list of 3"),
        ({"seed": 1.5}, "seed must be"),
        ({"seed": [1, 2, "3"]}, "seed must be"), ({"options": {"rounds": 1}}, "unknown option 'rounds'"),
        ({"seed": 3, "options": {"round": 8}}, "round must be"), ({"seed": 3, "options": {"seat": 4}}, "seat must be"),
        ({"seed": 3, "options": 5}, "options must be"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=f"^{words}"):
            envs.reset(**given)
    assert state_of(envs) == before


@pytest.mark.parametrize(("wrong", "message"), [
    ({"num_envs": 0}, "num_tables must be a whole number from 1 up, not 0"), ({"copy": 1}, "copy must be True or False, not 1"),
    ({"render_mode": "human"}, "render_mode must be one of None, 'ansi', not 'human'"),
    ({"illegal_action": "stop"}, "illegal_action must be one of 'terminate', 'raise', not 'stop'"),
    ({"illegal_reward": float("nan")}, "illegal_reward must be finite, not nan"),
    ({"opponents": "learned"}, "opponents must be a name or a list .*not 'learned'; other players sit at single tables only"),
    ({"opponents": [lambda view, mask: 0] * 3}, "opponents must be a name or a list"), ({"rounds": 5}, "rounds must be"),
    ({"players": 7}, "players must be from 2 to 6, not 7"), ({"players": []}, "players must be"),
    ({"reward": "score"}, "reward must be one of points, rank, win, not 'score'"),
])  # fmt: skip
def test_wrong_arguments_are_named(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        RummyVectorEnv(**{"num_envs": 2, **wrong})
