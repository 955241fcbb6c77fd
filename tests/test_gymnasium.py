"""The Gymnasium environment: both libraries' checks, and what they do not look at."""

from __future__ import annotations

import json
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env as gymnasium_check

from rummy_env.game import Game
from rummy_env.gym_env import RummyEnv
from rummy_env.moves import move_table
from rummy_env.observation import decode, layout
from rummy_env.players.base import make_player
from rummy_env.rules import preset
from tests.faces import COPIES, PLAYERS, eager, phase_of, play_gym
from tests.test_pettingzoo import ENDING, SHORT

RULES = preset("international")
NAME = "rummy_env/International-v0"
NAMES = {"international": NAME, "basic": "rummy_env/Basic-v0"}


def move(text: str) -> int:
    return move_table(RULES).id(text)


def first_legal(view: Any, mask: np.ndarray) -> int:
    """An opponent outside the compiled loops."""
    assert view.to_act == 0
    return int(np.flatnonzero(mask)[0])


# The libraries' checks


@pytest.mark.parametrize(("game", "players", "opponents"), [
    *(("international", players, opponents) for players in PLAYERS for opponents in ("greedy", "random")),
    ("basic", 2, "greedy"), ("basic", 6, "random"),
])  # fmt: skip
def test_gymnasium_check(game: str, players: int, opponents: str, capsys: pytest.CaptureFixture[str]) -> None:
    gymnasium_check(gymnasium.make(NAMES[game], players=players, opponents=opponents).unwrapped)
    assert capsys.readouterr().out.count("player 0") >= 2  # rendered for people at the reset and by the call


@pytest.mark.parametrize("players", PLAYERS)
@pytest.mark.parametrize("game", NAMES)
def test_stable_baselines_check(game: str, players: int) -> None:
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    checker.check_env(gymnasium.make(NAMES[game], players=players).unwrapped)


@pytest.mark.parametrize("game", NAMES)
def test_it_is_made_by_name_with_the_module(game: str) -> None:
    env, rules = gymnasium.make(f"rummy_env:{NAMES[game]}", players=3, opponents=["random", "greedy"]), preset(game)
    env.reset(seed=0)
    assert env.spec is not None and env.spec.max_episode_steps is None and env.unwrapped.rules == rules  # type: ignore[attr-defined]
    assert env.get_wrapper_attr("action_masks")().dtype == bool
    envs = gymnasium.make_vec(NAMES[game], num_envs=3, players=2, vectorization_mode="sync")
    observations, infos = envs.reset(seed=0)
    assert observations.shape == (3, layout(rules).size) and infos["action_mask"].shape == (3, len(move_table(rules)))
    envs.close()


@pytest.mark.parametrize("game", NAMES)
def test_the_page_gives_the_true_sizes(game: str) -> None:
    page, env = RummyEnv.__doc__ or "", RummyEnv(rules=game)
    assert f"Box(0, 1, {env.observation_space.shape}, float32)" in page and f"Discrete({env.action_space.n})" in page


# Observation, mask, forced moves


@pytest.mark.parametrize("opponents", ["greedy", first_legal], ids=["compiled", "outside"])
def test_what_the_learner_sees(opponents: Any) -> None:
    """Its own hand and a mask with a choice at every decision; new arrays each time; ones at the end."""
    env, random = RummyEnv(players=3, opponents=opponents), np.random.default_rng(0)
    kept = []
    for _ in range(5):
        observation, info = env.reset(seed=int(random.integers(1000)))
        terminated = False
        while not terminated:
            mask = info["action_mask"]
            assert (env.action_masks() == mask).all() and mask.sum() > 1
            assert observation in env.observation_space
            game = Game.from_position(Game("international", players=3).position())
            game._states = env._table.states  # type: ignore[union-attr]
            assert game.seat == env.seat and (game.mask() == mask).all()
            assert decode(RULES, observation)["hand"].keys() == set(game.position()["hands"][env.seat].split())
            kept.append((observation, observation.copy()))
            observation, reward, terminated, truncated, info = env.step(eager(mask, random))
            assert type(terminated) is bool and truncated is False and type(reward) is float
        assert info["action_mask"].all() and env.action_masks().all()
        assert observation in env.observation_space
        with pytest.raises(ValueError, match="the episode is over"):
            env.step(0)
    assert all((one == other).all() for one, other in kept)


def test_forced_moves_are_shown_when_wanted() -> None:
    env, random = RummyEnv(players=2, skip_forced=False, opponents="random"), np.random.default_rng(0)
    env.reset(seed=0)
    choices = []
    for _ in range(300):
        choices.append(int(env.action_masks().sum()))
        if env.step(eager(env.action_masks(), random))[2]:
            env.reset()
    assert min(choices) == 1


def test_opponents_sit_clockwise_from_the_learner() -> None:
    asked: list[tuple[int, int]] = []

    def opponent(number: int) -> Any:
        def choose(view: Any, mask: np.ndarray) -> int:
            asked.append((number, int(view.seat)))
            return first_legal(view, mask)

        return choose

    env = RummyEnv(players=4, opponents=[opponent(0), "greedy", opponent(2)], seat=2)
    for seed in range(5):
        assert env.reset(seed=seed)[1]["seat"] == 2
        play_gym(env, np.random.default_rng(0), 30)
    assert set(asked) == {(0, 3), (2, 1)}


def test_an_opponent_is_the_same_compiled_or_outside() -> None:
    """The greedy player as a function of what it sees plays the same game."""
    player = make_player("greedy", RULES)
    seen = []
    for opponents in ("greedy", lambda view, mask: player.act(view, mask)):
        env = RummyEnv(players=4, opponents=opponents, rounds=[1, 6])
        env.reset(seed=8)
        seen.append(play_gym(env, np.random.default_rng(0)))
    assert seen[0] == seen[1]


# Rewards and ends


@pytest.mark.parametrize("players", PLAYERS)
@pytest.mark.parametrize("reward", ["points", "rank", "win"])
def test_rewards_of_a_whole_game(reward: str, players: int) -> None:
    """All that the learner is paid over a game follows from the scores alone."""
    env = RummyEnv(players=players, opponents="random", rounds="all", reward=reward, overrides=SHORT)
    for seed in range(4):
        env.reset(seed=seed)
        total, terminated = 0.0, False
        while not terminated:
            _, paid, terminated, _, info = env.step(eager(env.action_masks(), np.random.default_rng(0)))
            total += paid
        scores = np.array(info["scores"])
        own = scores[env.seat]
        if reward == "points":
            assert total == pytest.approx(((scores.sum() - own) / (players - 1) - own) / 100)
        elif reward == "rank":
            assert total == pytest.approx((np.sum(scores > own) - np.sum(scores < own)) / (players - 1))
        else:
            assert total == pytest.approx((own == scores.min()) / np.sum(scores == scores.min()))
        assert info["last_round"]["round"] == 7 and len(info["last_round"]["points"]) == players


@pytest.mark.parametrize("opponents", ["greedy", ["greedy", first_legal]], ids=["compiled", "outside"])
@pytest.mark.parametrize(("reward", "paid"), [("points", 0.085), ("rank", 0.0), ("win", 0.0)])
def test_the_reward_arrives_when_somebody_else_goes_out(reward: str, paid: float, opponents: Any) -> None:
    """The learner discards and the next player goes out: 4 points against 0 and 25."""
    env = RummyEnv(players=3, opponents=opponents, seat=0, reward=reward, overrides={"max_buys": 0})
    env.reset(seed=0, options={"position": ENDING})
    observation, reward_paid, terminated, truncated, info = env.step(move("discard 3c"))
    assert reward_paid == pytest.approx(paid) and terminated and not truncated
    assert info["scores"] == [4, 0, 25] and info["last_round"] == {"round": 1, "end": "out", "points": [4, 0, 25]}
    assert decode(RULES, observation)["hand"] == {"4c": 1}


def test_the_reward_of_a_round_comes_with_the_next_decision() -> None:
    """In a whole game the same end of round 1 is paid at the learner's first decision in round 2."""
    env = RummyEnv(players=3, seat=0, rounds="all", overrides={"max_buys": 0})
    env.reset(seed=0, options={"position": ENDING})
    observation, paid, terminated, _, info = env.step(move("discard 3c"))
    assert paid == pytest.approx(0.085) and not terminated and "scores" not in info
    shown = decode(RULES, observation)
    assert shown["round"] == {"2": 1} and shown["seat_0"].get("behind") == 4
    _, paid, *_ = env.step(eager(info["action_mask"], np.random.default_rng(0)))
    assert paid == 0


def test_the_learner_going_out_itself() -> None:
    env = RummyEnv(players=3, seat=1, overrides={"max_buys": 0})
    position = {**ENDING, "to_act": 1, "hands": ["3c 4c", "8s 9c", "Kd As"], "stock": "5h"}
    env.reset(options={"position": position})
    assert env.step(move("off 8s G"))[1:3] == (pytest.approx(0.16), True)


def test_an_end_before_the_learner_acts() -> None:
    """Is dealt again; from a position, which would only repeat it, it is refused."""
    env = RummyEnv(players=2, opponents="random", rounds=[1], overrides={"max_turns": 1, "max_buys": 0}, seat=1)
    seen = set()
    for seed in range(20):
        env.reset(seed=seed)
        seen.add(int(env._table.states[0].dealer))  # type: ignore[union-attr]
        assert env.action_masks().sum() > 1
    assert seen == {0, 1}
    env = RummyEnv(players=3, seat=2, overrides={"max_buys": 0})
    env.reset(seed=4)
    kept = COPIES["deepcopy"](env)
    with pytest.raises(ValueError, match=r"before the learner, seat 2, has a choice"):
        env.reset(seed=1, options={"position": {**ENDING, "to_act": 1, "hands": ["3c 4c", "8s 9c", "Kd As"]}})
    assert play_gym(env, np.random.default_rng(0)) == play_gym(kept, np.random.default_rng(0))
    assert (env.reset()[0] == kept.reset()[0]).all()


def test_a_cap_truncates() -> None:
    env = RummyEnv(players=3, max_moves=3)
    env.reset(seed=0)
    ends = [env.step(eager(env.action_masks(), np.random.default_rng(0)))[2:4] for _ in range(3)]
    assert ends == [(False, False), (False, False), (False, True)] and env.action_masks().all()


def test_an_illegal_action() -> None:
    """Ends the episode with its reward, or is refused with nothing changed."""
    env = RummyEnv(players=3, illegal_reward=-2, rounds=[2])
    _, info = env.reset(seed=0)
    wrong = int(np.flatnonzero(info["action_mask"] == 0)[3])
    observation, reward, terminated, truncated, info = env.step(wrong)
    assert (reward, terminated, truncated) == (-2.0, True, False) and observation in env.observation_space
    assert info["action_mask"].all() and info["illegal_action"].startswith(move_table(RULES).text(wrong))
    env = RummyEnv(players=3, illegal_action="raise", rounds=[2])
    env.reset(seed=0)
    kept = COPIES["deepcopy"](env)
    with pytest.raises(ValueError, match=move_table(RULES).text(wrong).replace("*", r"\*")):
        env.step(wrong)
    assert play_gym(env, np.random.default_rng(0)) == play_gym(kept, np.random.default_rng(0))


def test_a_failing_opponent_changes_nothing() -> None:
    """The move that led to it is taken back as well."""
    fails = [False]

    def opponent(view: Any, mask: np.ndarray) -> int:
        return int(np.flatnonzero(mask == 0)[0]) if fails[0] else first_legal(view, mask)

    env, random = RummyEnv(players=3, opponents=[opponent, "random"]), np.random.default_rng(0)
    env.reset(seed=0)
    fails[0] = True
    for _ in range(30):
        kept = COPIES["deepcopy"](env._table)
        try:
            env.step(eager(env.action_masks(), random))
        except ValueError as error:
            assert "opponent 'opponent' in seat" in str(error)
            for name in ("states", "streams", "tallies", "mask"):
                assert getattr(env._table, name).tobytes() == getattr(kept, name).tobytes()
            break
    else:
        raise AssertionError("the opponent was never asked")
    with pytest.raises(ValueError, match="opponent 'opponent'"):
        for _ in range(20):
            env.reset()


# Copies, seeds, options


@pytest.mark.parametrize("how", COPIES)
def test_a_copy_keeps_the_game_in_every_phase(how: str) -> None:
    """With the streams of the opponents, byte for byte; both go on alike, into the next episode too."""
    env, random = RummyEnv(players=3, opponents=["random", "greedy"], overrides=SHORT), np.random.default_rng(1)
    env.reset(seed=2)
    seen: set[str] = set()
    while seen != {"window", "draw", "play", "laying", "over"}:
        phase = phase_of(env)
        done = phase == "over"
        if phase not in seen:
            seen.add(phase)
            other = COPIES[how](env)
            for name in ("states", "streams", "tallies", "mask", "seating"):
                assert getattr(other._table, name).tobytes() == getattr(env._table, name).tobytes()
            twin = COPIES[how](other)
            if not done:
                assert play_gym(other, np.random.default_rng(3)) == play_gym(twin, np.random.default_rng(3))
            assert (other.reset()[0] == twin.reset()[0]).all()
            assert play_gym(other, np.random.default_rng(3)) == play_gym(twin, np.random.default_rng(3))
            assert phase_of(env) == phase
        if done:
            env.reset()
        else:
            env.step(eager(env.action_masks(), random))


def test_a_reset_without_a_seed_goes_on_with_the_generator() -> None:
    def games(*seeds: int | None) -> list[Any]:
        env, found = RummyEnv(opponents="random"), []
        for seed in seeds:
            env.reset(seed=seed)
            found.append(env._table.states.tobytes() + env._table.streams.tobytes())  # type: ignore[union-attr]
        return found

    assert games(5, None, None) == games(5, None, None) and len(set(games(5, None, None, 6))) == 4
    assert games(5, 5) == games(5) * 2 and games(None) != games(None)


def test_options_of_reset() -> None:
    env = RummyEnv(players=4, opponents="greedy")
    for seat in range(4):
        observation, info = env.reset(seed=seat, options={"round": 5, "dealer": 1, "seat": seat, "scores": [0, 90, 0, 0]})
        shown = decode(RULES, observation)
        assert info["seat"] == env.seat == seat and shown["round"] == {"5": 1}
        assert shown[f"seat_{(1 - seat) % 4}"]["dealer"] == 1 and shown[f"seat_{(1 - seat) % 4}"]["behind"] == 90
    assert {env.reset(seed=seed)[1]["seat"] for seed in range(40)} == {0, 1, 2, 3}
    assert {int(env._table.states[0].round_number) for _ in range(80) if env.reset()} == set(range(1, 8))  # type: ignore[union-attr]
    game = Game("international", players=4, seed=3, dealer=3)
    observation, info = env.reset(seed=0, options={"position": json.loads(json.dumps(game.position())), "seat": 0})
    assert decode(RULES, observation)["hand"].keys() == set(game.position()["hands"][0].split())
    assert (info["action_mask"] == game.mask()).all()


def test_rendering(capsys: pytest.CaptureFixture[str]) -> None:
    env = RummyEnv(players=2, render_mode="ansi")
    env.reset(seed=0)
    assert str(env.render()).count("player") >= 3 and capsys.readouterr().out == ""
    silent = RummyEnv(players=2)
    silent.reset()
    with pytest.warns(UserWarning, match="without specifying any render mode"):
        assert silent.render() is None
