"""The PettingZoo environment: the library's own tests, and what they do not look at."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pettingzoo
import pytest
from gymnasium.utils import seeding
from pettingzoo.test import api_test, parallel_api_test, render_test, seed_test
from pettingzoo.test.state_test import test_state as pettingzoo_state
from pettingzoo.test.state_test import test_state_space as pettingzoo_state_space
from pettingzoo.utils.conversions import turn_based_aec_to_parallel

import rummy_env
from rummy_env import basic_v0, international_v0
from rummy_env.cards import KIND_OF_TEXT, KIND_TEXTS
from rummy_env.engine.state import new_views
from rummy_env.engine.tables import compile_tables
from rummy_env.engine.view import view
from rummy_env.game import Game
from rummy_env.moves import move_table
from rummy_env.observation import decode, encode, layout, observation_plan
from rummy_env.render.text import table_text
from rummy_env.rewards import rewards_for
from rummy_env.rules import preset
from rummy_env.single import NEXT_CARDS, state_layout
from tests.faces import COPIES, PLAYERS, digest, eager, phase_of, play_aec

RULES = preset("international")
SHORT: dict[str, Any] = {"max_turns": 12}

# A position in which player 0 is to discard and player 1 goes out with its next turn.
ENDING: dict[str, Any] = {
    "rules": "international", "overrides": {"max_buys": 0}, "round": 1, "dealer": 1, "phase": "play", "to_act": 0,
    "hands": ["3c 4c", "8s", "Kd As"], "stock": "5h 9c", "discards": "8d Qs", "down": [0, 1],
    "melds": [{"owner": 0, "meld": "G8 8c8h**"}, {"owner": 0, "meld": "GK KcKdKs"},
              {"owner": 1, "meld": "G3 3c3d3h"}, {"owner": 1, "meld": "G5 5c5d5h"}],
    "turns": [4, 3, 3],
}  # fmt: skip


MODULES: dict[str, ModuleType] = {"international": international_v0, "basic": basic_v0}


def made(name: str, players: int, game: str = "international", **kwargs: Any) -> Any:
    """An environment by each of the ways to one."""
    if name == "make":
        return pettingzoo.make("aec", f"rummy_env/{game}-v0", players=players, **kwargs)
    return getattr(MODULES[game], name)(players=players, **kwargs)


@pytest.mark.parametrize(("name", "players", "game"), [
    *((name, players, "international") for name in ("raw_env", "env", "make") for players in PLAYERS),
    ("raw_env", 2, "basic"), ("env", 3, "basic"), ("make", 6, "basic"),
])  # fmt: skip
def test_api(name: str, players: int, game: str, capsys: pytest.CaptureFixture[str]) -> None:
    api_test(made(name, players, game), num_cycles=1000)
    assert "Passed API test" in capsys.readouterr().out


@pytest.mark.parametrize("game", MODULES)
def test_api_with_an_illegal_move_in_it(game: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The usual wrapper ends the episode, with -1 for who made the move."""
    env = made("env", 3, game)
    env.reset(seed=1)
    agent = env.agent_selection
    mask = env.last()[0]["action_mask"]
    env.step(int(np.flatnonzero(mask == 0)[0]))
    assert env.rewards == {other: (-1.0 if other == agent else 0) for other in env.possible_agents}
    assert all(env.terminations.values())
    while env.agents:
        assert env.last()[0]["action_mask"].all()
        env.step(None)
    env.reset(seed=1)
    assert not any(env.terminations.values()) and (env.last()[0]["action_mask"] == mask).all()


@pytest.mark.parametrize(("name", "players", "game"), [
    *((name, players, "international") for name in ("raw_env", "env") for players in PLAYERS),
    ("raw_env", 6, "basic"), ("env", 2, "basic"),
])  # fmt: skip
def test_seed(name: str, players: int, game: str) -> None:
    seed_test(lambda: made(name, players, game), num_cycles=500)


@pytest.mark.parametrize("game", MODULES)
def test_render(game: str, capsys: pytest.CaptureFixture[str]) -> None:
    render_test(MODULES[game].env)
    assert "Player 0" in capsys.readouterr().out


def test_rendering_shows_the_table() -> None:
    env = made("raw_env", 3, render_mode="ansi", overrides={"max_buys": 0})
    env.reset(options={"position": ENDING})
    text = env.render()
    for part in ("round 1: 2 groups", "Player 0 plays", "Top discard: Qs", "3c 4c", "8s", "Kd As", "G8 8c8h**"):
        assert part in text
    assert text.count("down") == 2
    own = table_text(env.rules, env._states[0], seat=2)
    assert "Kd As" in own and "3c 4c" not in own and own.count("cards  ") == text.count("cards  ")
    silent = made("raw_env", 3)
    silent.reset()
    with pytest.warns(UserWarning, match="without specifying any render mode"):
        assert silent.render() is None


@pytest.mark.parametrize(("name", "players", "game"), [
    *((name, players, "international") for name in ("raw_env", "env") for players in PLAYERS),
    ("raw_env", 2, "basic"), ("env", 4, "basic"),
])  # fmt: skip
def test_parallel_api(name: str, players: int, game: str) -> None:
    """Turn by turn, with an action for everybody of which that of the seat to act counts."""
    parallel_api_test(turn_based_aec_to_parallel(made(name, players, game, overrides=SHORT)), num_cycles=1000)


@pytest.mark.parametrize("game", MODULES)
def test_it_is_not_parallelizable(game: str) -> None:
    env = made("env", 4, game)
    assert env.metadata["is_parallelizable"] is False and env.metadata["name"] == f"{game}_v0"
    with pytest.raises(AssertionError, match="not generally safe"):
        pettingzoo.utils.conversions.aec_to_parallel(env)


def test_importing_twice_registers_once() -> None:
    """Without a warning, which would be an error here."""
    import importlib

    importlib.reload(rummy_env)
    assert rummy_env.__version__ and "Game" in dir(rummy_env)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = rummy_env.nothing


@pytest.mark.parametrize("game", MODULES)
def test_the_page_gives_the_true_sizes(game: str) -> None:
    """The spaces, and a table of actions that names every one of them once, with examples that stand where it says."""
    page = MODULES[game].__doc__ or ""
    env = made("raw_env", 4, game)
    env.reset()
    spaces = env.observation_space("player_0")
    assert f"Discrete({env.action_space('player_0').n})" in page
    for space in (spaces["observation"], spaces["action_mask"], env.state_space):
        assert f"Box(0, 1, {space.shape}, {space.dtype})" in page
    table = move_table(preset(game))
    following = 0
    for line in page.splitlines():
        if found := re.match(r"\| (\d+) (?:to|and) (\d+) \|", line):
            first, last = int(found[1]), int(found[2])
            assert first == following, line
            following = last + 1
            examples = line.split("`")[1::2]
            assert examples and all(first <= table.id(text) <= last for text in examples), line
    assert following == len(table)
    groups = sum(move.meld is not None and not move.meld.is_run for move in table)
    runs = sum(move.meld is not None and move.meld.is_run for move in table)
    assert f": {groups} groups, {runs} runs |" in page


# Spaces, masks, observations


@pytest.mark.parametrize("players", PLAYERS)
@pytest.mark.parametrize("game", MODULES)
def test_spaces_and_agents(game: str, players: int) -> None:
    env = made("raw_env", players, game)
    env.reset(seed=0)
    assert env.agents == env.possible_agents == [f"player_{seat}" for seat in range(players)]
    assert set(env.infos) == set(env.agents)
    for agent in env.agents:
        assert env.observation_space(agent) is env.observation_space(agent)
        assert env.action_space(agent) is env.action_space(agent)
        assert env.observe(agent) in env.observation_space(agent)
        assert type(env.terminations[agent]) is bool and type(env.truncations[agent]) is bool


@pytest.mark.parametrize("game", MODULES)
def test_every_observation_is_that_of_the_view(game: str) -> None:
    """`observe` of any seat equals the encoder on that seat's View, whoever acts; it never shows another's hand."""
    env = made("raw_env", 4, game, rounds=[3, 5] if game == "international" else None)
    random, plan, scratch = np.random.default_rng(5), observation_plan(env.rules), new_views(1)[0]
    env.reset(seed=11)
    for _ in range(400):
        if any(env.terminations.values()):
            break
        state = env._states[0]
        for seat, agent in enumerate(env.possible_agents):
            shown = env.observe(agent)
            view(state, seat, scratch)
            expected = np.zeros_like(shown["observation"])
            encode(compile_tables(env.rules), plan, scratch, expected)
            assert (shown["observation"] == expected).all()
            own = decode(env.rules, shown["observation"]).get("hand", {})
            assert own == {KIND_TEXTS[kind]: int(count) for kind, count in enumerate(state.hand[seat]) if count}
            assert shown["action_mask"].any() == (agent == env.agent_selection)
        env.step(eager(env.last()[0]["action_mask"], random, env.rules))


def test_hidden_cards_do_not_change_an_observation() -> None:
    """A card that a seat cannot know changes places with one of the stock: its observation stays, the full table's not."""
    env, random = made("raw_env", 4), np.random.default_rng(2)
    env.reset(seed=4)
    changed = 0
    for _ in range(150):
        states = env._states
        for seat, agent in enumerate(env.possible_agents):
            other = (seat + 1 + int(random.integers(3))) % 4
            hidden = np.flatnonzero(states["hand"][0, other] > states["known"][0, other])
            place = int(random.integers(states["num_stock"][0]))
            in_stock = int(states["stock"][0, place])
            in_hand = int(random.choice(hidden)) if len(hidden) else in_stock
            if in_hand == in_stock:
                continue
            before, whole = env.observe(agent)["observation"], env.state()
            kept = states.copy()
            states["hand"][0, other, in_hand] -= 1
            states["hand"][0, other, in_stock] += 1
            states["stock"][0, place] = in_hand
            after = env.observe(agent)["observation"]
            assert (before == after).all()
            assert (whole != env.state()).any()
            env._states[:] = kept
            changed += 1
        env.step(eager(env.last()[0]["action_mask"], random))
        if any(env.terminations.values()):
            env.reset()
    assert changed > 300


@pytest.mark.parametrize("game", MODULES)
def test_optional_blocks(game: str) -> None:
    """They stand at the end of the vector, which is otherwise the same."""
    plain, rich = made("raw_env", 3, game), made("raw_env", 3, game, features="analysis")
    for env in (plain, rich):
        env.reset(seed=3)
    short, long = (env.observe("player_1")["observation"] for env in (plain, rich))
    assert long in rich.observation_space("player_1")["observation"] and rich.state() in rich.state_space
    assert (long[: len(short)] == short).all() and "needed" in decode(rich.rules, long, ("analysis",))


def test_arrays_are_new_at_every_call() -> None:
    env = made("raw_env", 3)
    env.reset(seed=0)
    agent = env.agent_selection
    first, second = env.observe(agent), env.observe(agent)
    for name in first:
        assert not np.shares_memory(first[name], second[name]) and (first[name] == second[name]).all()
    legal = np.flatnonzero(first["action_mask"])
    first["action_mask"][:] = 1 - first["action_mask"]
    first["observation"][:] = 0.5
    env.step(int(legal[0]))
    assert not np.shares_memory(env.observe(agent)["observation"], first["observation"])


@pytest.mark.parametrize("game", MODULES)
def test_state_has_the_full_table(game: str) -> None:
    env = made("raw_env", 3, game)
    env.reset(seed=0)
    play_aec(env, np.random.default_rng(0), 60)
    state, vector = env._states[0], env.state()
    assert vector in env.state_space and vector.dtype == np.float32
    blocks = {block.name: block for block in state_layout(env.rules)}
    kinds = [KIND_OF_TEXT[label] for label in blocks["stock"].labels]

    def counts(name: str) -> list[int]:
        block = blocks[name]
        return [int(count) for count in np.rint(vector[block.start : block.stop] * block.scales)]

    assert (vector[: layout(env.rules).size] == env.observe("player_0")["observation"]).all()
    for seat in range(1, 6):
        held = [int(state.hand[seat, kind]) for kind in kinds]
        assert counts(f"hand_{seat}") == held and (sum(held) > 0) == (seat < 3)
    stock = [int(kind) for kind in state.stock[: int(state.num_stock)]]
    assert counts("stock") == [stock.count(kind) for kind in kinds]
    for depth in range(NEXT_CARDS):
        assert counts(f"stock_{depth}") == [int(kind == stock[-1 - depth]) for kind in kinds]
    pettingzoo_state_space(env)
    pettingzoo_state(made("env", 3, game), 10)  # it plays illegal moves


# Copies, seeds


@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("name", ["raw_env", "env"])
def test_a_copy_keeps_the_game_in_every_phase(name: str, how: str) -> None:
    """Byte for byte, and both go on alike, into the next episode too."""
    env, random = made(name, 3, rounds="random", overrides=SHORT), np.random.default_rng(1)
    env.reset(seed=2)
    seen: set[str] = set()
    while seen != {"window", "draw", "play", "laying", "over"}:
        phase = phase_of(env)
        if phase not in seen:
            seen.add(phase)
            other = COPIES[how](env)
            assert other.unwrapped._states.tobytes() == env.unwrapped._states.tobytes()
            assert other.unwrapped._generator.bit_generator.state == env.unwrapped._generator.bit_generator.state
            assert (other.agents, other.rewards, other.infos) == (env.agents, env.rewards, env.infos)
            twin = COPIES[how](other)
            assert play_aec(other, np.random.default_rng(3)) == play_aec(twin, np.random.default_rng(3))
            other.reset()
            twin.reset()
            assert play_aec(other, np.random.default_rng(3), 40) == play_aec(twin, np.random.default_rng(3), 40)
            assert phase_of(env) == phase
        if phase == "over":
            env.reset()
        else:
            env.step(eager(env.last()[0]["action_mask"], random))


def test_equal_seeds_in_two_processes() -> None:
    """Both faces show the same, byte for byte."""
    found = subprocess.run(
        [sys.executable, "-m", "tests.faces"],
        capture_output=True, text=True, check=True, cwd=Path(__file__).resolve().parents[1],
    )  # fmt: skip
    assert found.stdout.strip() == digest()


def test_a_reset_without_a_seed_goes_on_with_the_generator() -> None:
    def games(*seeds: int | None) -> list[bytes]:
        env, found = made("raw_env", 3, rounds="random"), []
        for seed in seeds:
            env.reset(seed=seed)
            found.append(env._states.tobytes())
        return found

    assert games(5, None, None) == games(5, None, None)
    assert len(set(games(5, None, None, 6))) == 4
    assert games(5, 5) == games(5) * 2
    assert games(None) != games(None)


# Rewards, ends


def round_results(env: Any, random: np.random.Generator) -> tuple[list[dict[str, float]], list[list[int]], dict[str, float]]:
    """Play a game: the rewards of each step, the points of each round, the sum of what `last` shows each agent."""
    rewards, points, shown = [], [], dict.fromkeys(env.possible_agents, 0.0)
    while not any(env.terminations.values()):
        observation, reward, *_ = env.last()
        shown[env.agent_selection] += reward
        env.step(eager(observation["action_mask"], random))
        rewards.append(dict(env.rewards))
        last = env.infos[env.agents[0]].get("last_round")
        if last is not None:
            points.append(last["points"])
            assert all(info["last_round"] == last for info in env.infos.values())
    for agent in env.agents:
        shown[agent] += env._cumulative_rewards[agent]
    return rewards, points, shown


@pytest.mark.parametrize("players", PLAYERS)
@pytest.mark.parametrize("reward", ["points", "rank", "win"])
def test_rewards_of_a_whole_game(reward: str, players: int) -> None:
    """What each seat is paid over the game follows from the scores alone, and sums to 0 (`win`: to 1)."""
    env = made("raw_env", players, reward=reward, overrides=SHORT)
    env.reset(seed=players)
    rewards, points, shown = round_results(env, np.random.default_rng(0))
    scores = np.sum(points, axis=0)
    assert len(points) == 7 and env.infos["player_0"]["scores"] == scores.tolist()
    sums = [sum(step[agent] for step in rewards) for agent in env.possible_agents]
    if reward == "points":
        expected = [((scores.sum() - own) / (players - 1) - own) / 100 for own in scores]
        assert sum(any(step.values()) for step in rewards) == 7
    else:
        assert sum(any(step.values()) for step in rewards) == 1 and any(rewards[-1].values())
        ahead = [(np.sum(scores > own) - np.sum(scores < own)) / (players - 1) for own in scores]
        winners = scores == scores.min()
        expected = ahead if reward == "rank" else list(winners / winners.sum())
    assert sums == pytest.approx(expected)
    assert sum(sums) == pytest.approx(1 if reward == "win" else 0)
    assert shown == pytest.approx(dict(zip(env.possible_agents, sums, strict=True)))


@pytest.mark.parametrize(("points", "expected"), [
    ([0, 30, 60], {"points": [0.45, 0, -0.45], "rank": [1, 0, -1], "win": [1, 0, 0]}),
    ([5, 5, 20, 40], {"points": [0.5 / 3, 0.5 / 3, -0.1 / 3, -0.9 / 3], "rank": [2 / 3, 2 / 3, -1 / 3, -1],
                      "win": [0.5, 0.5, 0, 0]}),
    ([9, 9], {"points": [0, 0], "rank": [0, 0], "win": [0.5, 0.5]}),
])  # fmt: skip
def test_schemes(points: list[int], expected: dict[str, list[float]]) -> None:
    """Few points are good; tied seats get the mean of their places, and share a win."""
    for reward, paid in expected.items():
        assert rewards_for(reward, RULES, points, points, over=True) == pytest.approx(paid)
        unpaid = [0.0] * len(points)
        assert rewards_for(reward, RULES, points, points, over=False) == pytest.approx(paid if reward == "points" else unpaid)


def test_rewards_reach_those_who_did_not_act() -> None:
    """Player 1 goes out; the others are told when their turn to look comes."""
    env = made("raw_env", 3, overrides={"max_buys": 0}, rounds="random")
    env.reset(options={"position": ENDING})
    for move in ("discard 3c", "stock", "off 8s G", "discard 9c"):
        env.step(move_table(env.rules).id(move))
    # what is left in hand: 4, nothing, 10 and 15
    assert env.rewards == pytest.approx({"player_0": 0.085, "player_1": 0.145, "player_2": -0.23})
    assert all(env.terminations.values()) and not any(env.truncations.values())
    for agent in ("player_0", "player_1", "player_2"):
        assert env.agent_selection == agent
        observation, reward, terminated, truncated, info = env.last()
        assert reward == pytest.approx({"player_0": 0.085, "player_1": 0.145, "player_2": -0.23}[agent])
        assert terminated and not truncated and observation["action_mask"].all()
        assert info == {"last_round": {"round": 1, "end": "out", "points": [4, 0, 25]}, "scores": [4, 0, 25]}
        env.step(None)
        assert set(env.infos) == set(env.agents)
    assert env.agents == []


@pytest.mark.parametrize("name", ["max_moves", "max_cycles"])
def test_a_cap_truncates(name: str) -> None:
    env = made("raw_env", 3, "international", **{name: 5})
    env.reset(seed=0)
    for _ in range(5):
        assert not any(env.truncations.values())
        env.step(eager(env.last()[0]["action_mask"], np.random.default_rng(0)))
    assert all(env.truncations.values()) and not any(env.terminations.values())
    assert all(env.observe(agent)["action_mask"].all() for agent in env.agents)
    assert made("make", 3, max_cycles=5).unwrapped.max_moves == 5


def test_an_end_at_the_cap_is_no_truncation() -> None:
    env = made("raw_env", 3, overrides={"max_buys": 0}, rounds="random", max_moves=4)
    env.reset(options={"position": ENDING})
    for move in ("discard 3c", "stock", "off 8s G", "discard 9c"):
        env.step(move_table(env.rules).id(move))
    assert all(env.terminations.values()) and not any(env.truncations.values())


# Options of reset


def test_rounds() -> None:
    """All rounds, those given, or one at random; an option names the first."""
    for rounds, option, played in (
        (None, None, [1, 2, 3, 4, 5, 6, 7]), ("all", 6, [6, 7]), ([3, 1], None, [3, 1]), ([3, 1], 1, [1]),
        ("random", 4, [4]),
    ):  # fmt: skip
        env = made("raw_env", 2, rounds=rounds, overrides={"max_turns": 2})
        env.reset(seed=1, options=None if option is None else {"round": option})
        found = [int(env._states[0].round_number)]
        while not any(env.terminations.values()):
            env.step(eager(env.last()[0]["action_mask"], np.random.default_rng(0)))
            found.append(int(env._states[0].round_number))
        assert list(dict.fromkeys(found)) == played
    drawn = set()
    env = made("raw_env", 2, rounds="random")
    for seed in range(60):
        env.reset(seed=seed)
        drawn.add(int(env._states[0].round_number))
    assert drawn == set(range(1, 8))


def test_dealer_and_scores() -> None:
    env = made("raw_env", 4, reward="rank", rounds=[2], overrides={"max_turns": 2})
    env.reset(seed=0, options={"dealer": 2, "scores": [500, 0, -3, 2000], "round": None})
    assert env._states[0].dealer == 2 and env.agent_selection == "player_3"
    shown = decode(env.rules, env.observe("player_1")["observation"])
    assert shown["seat_2"]["behind"] == 200 and shown["seat_0"].get("behind") == 3
    round_results(env, np.random.default_rng(0))
    assert env.rewards["player_3"] == -1
    assert {env._states[0].dealer for _ in range(40) if env.reset() is None} == {0, 1, 2, 3}


def test_a_position_goes_on() -> None:
    """Later rounds are dealt from the environment's generator, so a seed fixes them."""
    position = Game("international", players=3, seed=5).position()

    def play(seed: int, rounds: Any = None) -> tuple[list[int], bytes]:
        env = made("raw_env", 3, rounds=rounds, overrides={"max_turns": 3})
        env.reset(seed=seed, options={"position": {**position, "overrides": {"max_turns": 3}, "scores": [3, 2, 1]}})
        assert env._states[0].scores[:3].tolist() == [3, 2, 1]
        _, points, _ = round_results(env, np.random.default_rng(0))
        return [len(points)], env._states.tobytes()

    assert play(1) == play(1) and play(1) != play(2) and play(1)[0] == [7]
    assert play(1, "random")[0] == [1]


def test_a_refused_reset_changes_nothing() -> None:
    env = made("raw_env", 3)
    env.reset(seed=3)
    kept, states = COPIES["deepcopy"](env), env._states.tobytes()
    for wrong in ({"nothing": 1}, {"round": 9}, {"position": {**ENDING}}):
        with pytest.raises(ValueError):
            env.reset(seed=99, options=wrong)
        assert env._states.tobytes() == states
    env.reset()
    kept.reset()
    assert env._states.tobytes() == kept._states.tobytes()
    assert seeding.np_random(3)[0].bit_generator.state != env._generator.bit_generator.state
