"""Many tables as a `VecEnv` of Stable-Baselines3: rewards, endings, masks, and that its algorithms learn on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")
pytest.importorskip("sb3_contrib")

from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.evaluation import evaluate_policy
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3.common.vec_env import VecCheckNan, VecMonitor, VecNormalize

from rummy_env.batch import BatchGame
from rummy_env.observation import layout
from rummy_env.rules import Rules, preset
from rummy_env.sb3 import RummyVecEnv
from tests.test_batch import Policy, changed

RULES = preset("international")
SHORT = RULES.replace(max_turns=4)
BASIC = preset("basic")


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


def test_it_shows_what_a_batch_shows() -> None:
    """Observations, rewards with shaping, endings and last observations, truncations included."""
    settings: dict[str, Any] = {"players": [2, 3], "seed": 5, "max_moves": 25, "shaping": "distance", "gamma": 0.9, "seat": 1}
    env = RummyVecEnv("international", 6, opponents=["random", "greedy"], threads=2, **settings)
    batch = BatchGame("international", 6, opponent_pool=["random", "greedy"], **settings)
    assert np.array_equal(env.reset(), batch.observe()[0])
    policy, ends = Policy(4, 6), [0, 0]
    for _ in range(120):
        moves = policy(batch.masks)
        observations, rewards, dones, infos = env.step(moves)
        _, terminated, truncated, finals = batch.step(moves)
        assert np.array_equal(observations, batch.observations) and np.array_equal(dones, terminated | truncated)
        assert np.array_equal(rewards, (batch.own_rewards + batch.shaping).astype(np.float32))
        assert np.array_equal(env.action_masks(), batch.masks == 1)
        for index in np.flatnonzero(dones):
            assert infos[index]["TimeLimit.truncated"] is bool(truncated[index])
            assert np.array_equal(infos[index]["terminal_observation"], finals[index])
            ends[int(truncated[index])] += 1
    assert min(ends) >= 3


@pytest.mark.parametrize(("wrong", "message"), [
    ({"opponents": None}, "opponents must be a list of names out of random, dumper, greedy, not None"),
    ({"opponents": ["nobody"]}, "opponents must be a list of names"), ({"num_envs": 0}, "num_tables must be"),
    ({"rounds": [8]}, "rounds must be"), ({"features": ["x"]}, "features must be"), ({"seed": -1}, "seed must be"),
])  # fmt: skip
def test_wrong_arguments_are_named(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        RummyVecEnv(**{"rules": RULES, "num_envs": 2, **wrong})


@pytest.mark.parametrize("wrapper", [VecCheckNan, VecNormalize, VecMonitor])
def test_the_wrappers_of_the_library_work_on_it(wrapper: Callable[[Any], Any]) -> None:
    env = wrapper(RummyVecEnv(RULES, 3, 2, seed=2))
    shown, policy, ends = env.reset(), Policy(1, 3), 0
    for _ in range(40):
        shown, rewards, dones, _ = env.step(policy(np.stack(env.env_method("action_masks"))))
        assert np.isfinite(shown).all() and np.isfinite(rewards).all() and shown.shape == (3, *env.observation_space.shape)
        ends += int(dones.sum())
    assert ends >= 2
