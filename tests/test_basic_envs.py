"""Basic Rummy through the environments: games of several deals, who is paid what where most points win, options of reset.

The libraries' own tests of these environments stand beside those of International. What is expected follows from the rules
page of Basic Rummy.
"""

from __future__ import annotations

import json
from collections import Counter
from itertools import product
from typing import Any

import gymnasium
import numpy as np
import pytest

from rummy_env import basic_v0
from rummy_env.batch import BatchGame
from rummy_env.batch_kernels import pay
from rummy_env.cards import KIND_TEXTS
from rummy_env.engine.state import MAX_PLAYERS, new_states
from rummy_env.engine.tables import compile_tables
from rummy_env.episode import scores_of
from rummy_env.game import Game
from rummy_env.gym_env import RummyEnv
from rummy_env.moves import move_table
from rummy_env.observation import decode
from rummy_env.players.drive import POINTS, ROUNDS, new_tallies
from rummy_env.rewards import REWARDS, rewards_for
from rummy_env.rules import PRESETS, preset
from tests.faces import COPIES, eager, play_aec, play_gym

BASIC = preset("basic")
TABLE = move_table(BASIC)
NAME = "rummy_env/Basic-v0"
FREE = [name for name, rules in PRESETS.items() if rules.contracts is None]

# Player 0 is to discard; then player 1 draws the 9c, lays off the 8s and is out with its discard: 4 points are left in the
# hand of player 0, and a king and an ace in that of player 2.
ENDING: dict[str, Any] = {
    "rules": "basic", "round": 1, "dealer": 1, "phase": "play", "to_act": 0, "hands": ["3c 4c", "8s", "Kd As"],
    "stock": "5h 9c", "discards": "7d Qs", "melds": [{"owner": 0, "meld": "G8 8c8d8h"}], "down": [0], "acted": [0],
    "turns": [4, 3, 3],
}  # fmt: skip
END = ("discard 3c", "stock", "off 8s G", "discard 9c")


def raw_env(**kwargs: Any) -> Any:
    """A PettingZoo environment without wrappers."""
    return basic_v0.raw_env(**kwargs)


def finish(env: Any, random: np.random.Generator) -> list[list[int]]:
    """Play a PettingZoo episode to its end; the points of each deal."""
    points = []
    while not any(env.terminations.values()):
        env.step(eager(env.last()[0]["action_mask"], random, env.rules))
        if last := env.infos[env.agents[0]].get("last_round"):
            points.append(last["points"])
    return points


def paid(reward: str, scores: Any, fewest_win: bool = False) -> list[float]:
    """What each seat is paid over a game that began at 0, from its scores alone."""
    gains = -np.array(scores) if fewest_win else np.array(scores)
    others = len(gains) - 1
    if reward == "points":
        return [float(own - (gains.sum() - own) / others) / 100 for own in gains]
    if reward == "rank":
        return [float(np.sum(gains < own) - np.sum(gains > own)) / others for own in gains]
    return [float(own == gains.max()) / float(np.sum(gains == gains.max())) for own in gains]


# Rewards


@pytest.mark.parametrize("players", [2, 3, 6])
@pytest.mark.parametrize("reward", REWARDS)
@pytest.mark.parametrize("name", ["basic", "block"])
def test_rewards_of_a_whole_game(name: str, reward: str, players: int) -> None:
    """They follow from the scores alone; most points win, in `block` fewest; they sum to 0, `win` to 1."""
    rules = preset(name).replace(max_deals=8)
    env = raw_env(players=players, rules=rules, reward=reward)
    env.reset(seed=players)
    sums, rewards, points = np.zeros(players), [], []
    random = np.random.default_rng(1)
    while not any(env.terminations.values()):
        env.step(eager(env.last()[0]["action_mask"], random, rules))
        rewards.append(list(env.rewards.values()))
        sums += rewards[-1]
        if last := env.infos["player_0"].get("last_round"):
            points.append(last["points"])
            assert rewards[-1] == pytest.approx(paid("points", last["points"], name == "block")) or reward != "points"
        else:
            assert not any(rewards[-1])
    scores = np.sum(points, axis=0)
    assert scores.any() and env.infos["player_0"]["scores"] == scores.tolist()
    assert sums == pytest.approx(paid(reward, scores, name == "block"))
    assert sum(sums) == pytest.approx(1 if reward == "win" else 0)
    assert reward == "points" or sums == pytest.approx(rewards[-1])


@pytest.mark.parametrize(("reward", "expected"), [
    ("points", [-0.075, 0.15, -0.075]), ("rank", [-0.5, 1, -0.5]), ("win", [0, 1, 0]),
])  # fmt: skip
def test_who_is_out_gets_the_cards_of_the_others(reward: str, expected: list[float]) -> None:
    """4 + 10 + 1 = 15 points, an ace being 1."""
    env = raw_env(players=3, rounds="random", reward=reward)
    env.reset(options={"position": ENDING})
    for move in END:
        env.step(TABLE.id(move))
    assert list(env.rewards.values()) == pytest.approx(expected)
    assert all(env.terminations.values()) and not any(env.truncations.values())
    last = {"round": 1, "end": "out", "points": [0, 15, 0]}
    assert env.infos == {agent: {"last_round": last, "scores": [0, 15, 0]} for agent in env.agents}
    gym = RummyEnv(players=3, rules="basic", seat=0, opponents="greedy", reward=reward)
    gym.reset(seed=0, options={"position": ENDING})
    observation, got, terminated, truncated, info = gym.step(TABLE.id("discard 3c"))
    assert got == pytest.approx(expected[0]) and terminated and not truncated
    assert (info["last_round"], info["scores"]) == (last, [0, 15, 0])
    assert decode(BASIC, observation)["hand"] == {"4c": 1} and info["action_mask"].all()


def test_the_reward_of_a_deal_comes_with_the_next_decision() -> None:
    """The game goes on: the learner is then 15 points behind, in the second deal."""
    env: Any = gymnasium.make(NAME, players=3, seat=0, rounds="all").unwrapped
    env.reset(seed=0, options={"position": ENDING})
    observation, reward, terminated, _, info = env.step(TABLE.id("discard 3c"))
    shown = decode(BASIC, observation)
    assert reward == pytest.approx(-0.075) and not terminated and "scores" not in info
    assert shown["seat_0"]["behind"] == 15 and "behind" not in shown["seat_1"] and shown["seat_2"]["behind"] == 15
    assert int(env._table.states[0].round_index) == 1 and shown["round"] == {"1": 1}
    assert env.step(eager(info["action_mask"], np.random.default_rng(0), BASIC))[1] == 0


@pytest.mark.parametrize("name", PRESETS)
def test_the_compiled_rewards_are_those_of_the_schemes(name: str) -> None:
    """Of all seats, whoever wins, ties, charges and negative points included; paid when they are due and once."""
    rules, random = preset(name), np.random.default_rng(0)
    tables, tally, states, found = compile_tables(rules), new_tallies(1)[0], new_states(1), np.ones(MAX_PLAYERS)
    for players, scheme, over in product((2, 3, 6), range(len(REWARDS)), (True, False)):
        states["players"] = players
        for scores in (random.integers(-200, 200, players), random.integers(0, 2, players)):
            points = random.integers(-200, 200, players)
            states["scores"][0, :players] = scores
            tally[:players, POINTS], tally[:players, ROUNDS] = points, 1
            pay(tables, scheme, states[0], tally, over, found)
            expected = rewards_for(REWARDS[scheme], rules, points.tolist(), scores.tolist(), over)
            assert found[:players].tolist() == expected and not found[players:].any()
            if REWARDS[scheme] == "points":
                assert np.argmax(found[:players]) == (np.argmin if rules.scoring == "losers_penalty" else np.argmax)(points)
            pay(tables, scheme, states[0], tally, False, found)
            assert not found.any()


@pytest.mark.parametrize("reward", REWARDS)
@pytest.mark.parametrize("name", ["basic", "block"])
def test_rewards_of_the_learner(name: str, reward: str) -> None:
    """All that it is paid over a game follows from the scores."""
    rules = preset(name).replace(max_deals=4)
    opponents = ["random", "random" if name == "basic" else "greedy"]  # so that it both gains and loses
    env = RummyEnv(players=3, rules=rules, opponents=opponents, rounds="all", reward=reward)
    random, signs = np.random.default_rng(2), set()
    for seed in range(10):
        env.reset(seed=seed)
        total, over = 0.0, False
        while not over:
            _, got, over, _, info = env.step(eager(env.action_masks(), random, rules))
            total += got
        expected = paid(reward, info["scores"], name == "block")[env.seat]
        assert total == pytest.approx(expected)
        signs.add(np.sign(expected))
    assert len(signs) >= 2


def test_rewards_of_many_learners() -> None:
    """The same of `BatchGame`, over whole games, most points winning."""
    tables = BatchGame(BASIC.replace(max_deals=3), 12, [2, 3, 4], opponent_pool=["greedy", "random"], rounds="all", seed=3)
    random, sums, ends, signs = np.random.default_rng(0), np.zeros(12), 0, set()
    tables.reset()
    while ends < 30:
        tables.step(np.array([eager(mask, random, BASIC) for mask in tables.masks]))
        sums += tables.own_rewards
        for index in np.flatnonzero(tables.dones):
            scores, seat = scores_of(tables.final_states[index]), int(tables.final_seats[index])
            assert sums[index] == pytest.approx(paid("points", scores)[seat]) and min(scores) >= 0
            signs.add(np.sign(sums[index]))
            sums[index] = 0
            ends += 1
    assert signs >= {-1, 1}


# Episodes


@pytest.mark.parametrize(("overrides", "deals"), [
    ({"game_end": {"deals": 3}}, 3), ({"game_end": {"deals": 3}, "max_deals": 2}, 2),
    ({"game_end": {"target": 1_000_000}, "max_deals": 4}, 4), ({"game_end": {"target": 1_000_000}, "max_deals": 1}, 1),
])  # fmt: skip
@pytest.mark.parametrize("rounds", [None, "all"])
def test_a_game_of_so_many_deals(overrides: dict[str, Any], deals: int, rounds: Any) -> None:
    """What comes first ends the game; the deal passes one seat clockwise."""
    env = raw_env(players=3, overrides={**overrides, "max_turns": 3}, rounds=rounds)
    env.reset(seed=1, options={"dealer": 2})
    dealers, numbers, random = [], [], np.random.default_rng(0)
    while not any(env.terminations.values()):
        dealers.append(int(env._states[0].dealer))
        env.step(eager(env.last()[0]["action_mask"], random, env.rules))
        if last := env.infos["player_0"].get("last_round"):
            numbers.append(last["round"])
    assert numbers == list(range(1, deals + 1)) and list(dict.fromkeys(dealers)) == [2, 0, 1][:deals]
    assert ("scores" in env.infos["player_0"]) and all(env.terminations.values())


@pytest.mark.parametrize("name", FREE)
def test_a_game_to_the_target(name: str) -> None:
    """Nobody had 100 before the last deal; somebody has after it, whoever wins."""
    env, random = raw_env(players=4, rules=name), np.random.default_rng(0)
    seen = set()
    for seed in range(3):
        env.reset(seed=seed)
        points = finish(env, random)
        assert max(np.sum(points[:-1], axis=0, initial=0)) < 100 <= max(np.sum(points, axis=0))
        seen.add(len(points))
    assert max(seen) > 1


@pytest.mark.parametrize("face", ["aec", "gymnasium", "batch"])
def test_an_episode_of_one_deal(face: str) -> None:
    """With rounds="random", which the training faces have as their default."""
    random, deals = np.random.default_rng(0), set()
    if face == "aec":
        env = raw_env(players=2, rounds="random")
        for seed in range(4):
            env.reset(seed=seed)
            finish(env, random)
            deals.add((int(env._states[0].rounds_done), env.infos["player_0"]["last_round"]["round"]))
    elif face == "gymnasium":
        gym: Any = gymnasium.make(NAME, players=2, opponents="random").unwrapped
        for seed in range(4):
            gym.reset(seed=seed)
            play_gym(gym, random)
            deals.add((int(gym._table.states[0].rounds_done), gym._table.states[0].round_index + 1))
    else:
        tables = BatchGame(BASIC, 6, 2, "greedy")
        tables.reset()
        for _ in range(60):
            tables.step(tables.masks.argmax(axis=1))
            deals.update((int(state.rounds_done) + 1, int(state.round_index) + 1) for state in tables.states)
    assert deals == {(1, 1)}


def test_the_first_deal_can_be_named() -> None:
    """A game that begins with deal 3 of 4 has two; a single deal may be any."""
    for rounds, played in ((None, [3, 4]), ("random", [3])):
        env = raw_env(players=2, rounds=rounds, overrides={"game_end": {"deals": 4}, "max_turns": 2})
        env.reset(seed=0, options={"round": 3})
        numbers, random = [], np.random.default_rng(0)
        shown = decode(env.rules, env.observe("player_0")["observation"])
        assert "rounds_left" not in shown if rounds else shown["rounds_left"] == {"rounds": 1}
        while not any(env.terminations.values()):
            env.step(eager(env.last()[0]["action_mask"], random, env.rules))
            if last := env.infos["player_0"].get("last_round"):
                numbers.append(last["round"])
        assert numbers == played


def test_scores_that_reach_the_target_end_the_game_after_the_next_deal() -> None:
    for scores, deals in (([0, 100, 0], 1), ([0, 85, 0], 1), ([0, 84, 0], 2)):
        env = raw_env(players=3)
        position = {**ENDING, "scores": scores}
        env.reset(seed=0, options={"position": position})
        for move in END:
            env.step(TABLE.id(move))
        assert all(env.terminations.values()) == (deals == 1)
        assert env.infos["player_0"]["last_round"]["points"] == [0, 15, 0]
        assert env._states[0].scores[:3].tolist() == [0, scores[1] + 15, 0]
    env.reset(seed=3, options={"scores": [0, 100, -3]})
    assert len(finish(env, np.random.default_rng(0))) == 1 and env.infos["player_0"]["scores"][1] >= 100


def test_a_position_of_a_later_deal_goes_on() -> None:
    """In a game of three deals; its third is the last, as an episode of one deal it is the only one."""
    overrides = {"game_end": {"deals": 3}, "max_turns": 2}
    position = json.loads(json.dumps({**ENDING, "overrides": overrides, "round": 2, "turns": [1, 1, 1], "scores": [5, 0, 7]}))
    for rounds, deals in ((None, 2), ("random", 1)):
        env = raw_env(players=3, overrides=overrides, rounds=rounds)
        env.reset(seed=2, options={"position": position})
        points = finish(env, np.random.default_rng(0))
        assert len(points) == deals and env.infos["player_0"]["last_round"]["round"] == 1 + deals
        assert env.infos["player_0"]["scores"] == np.sum([*points, [5, 0, 7]], axis=0).tolist()


@pytest.mark.parametrize("how", COPIES)
def test_copies_go_on_alike_after_the_pile_was_turned_over(how: str) -> None:
    env = raw_env(players=2, overrides={"max_deals": 2})
    env.reset(seed=1)
    stocks = 0
    while not any(env.terminations.values()):
        if env._states[0].stock_public and (stocks := stocks + 1) % 40 == 1:
            one, two = COPIES[how](env), COPIES[how](env)
            assert one._states.tobytes() == env._states.tobytes()
            assert play_aec(one, np.random.default_rng(3)) == play_aec(two, np.random.default_rng(3))
        mask = env.last()[0]["action_mask"]
        env.step(TABLE.id("stock") if mask[TABLE.id("stock")] else int(mask.nonzero()[0][-1]))  # hoarding, so that it is needed
    assert stocks > 1


# Options and arguments that are refused

RESETS: list[tuple[dict[str, Any], str]] = [
    ({"round": 101}, r"^round must be a deal from 1 to 100, not 101"),
    ({"round": 0}, r"^round must be a deal from 1 to 100, not 0"),
    ({"round": True}, r"^round must be a deal from 1 to 100, not True"),
    ({"round": 1.0}, r"^round must be a deal from 1 to 100, not 1.0"),
    ({"dealer": 3}, r"^dealer must be a seat from 0 to 2, not 3"),
    ({"position": {**ENDING, "rules": "basic_modern"}}, r"^the position has other rules than the environment: "),
    ({"position": {**ENDING, "round": 101}}, r"^round must be "),
    ({"position": {**ENDING, "phase": "laying"}}, r"^phase laying: melds are free \(contracts is null\)"),
]


@pytest.mark.parametrize(("options", "message"), RESETS, ids=[str(row[0])[:40] for row in RESETS])
def test_options_that_are_refused(options: dict[str, Any], message: str) -> None:
    for env in (basic_v0.raw_env(players=3), RummyEnv(players=3, rules="basic")):
        env.reset(seed=0)
        with pytest.raises(ValueError, match=message):
            env.reset(seed=1, options=options)


FACES: dict[str, Any] = {
    "game": lambda **given: Game("basic", 2, **given),
    "aec": lambda **given: basic_v0.env(**given),
    "gymnasium": lambda **given: gymnasium.make(NAME, **given),
    "batch": lambda overrides=None, **given: BatchGame("basic", overrides=overrides, **given),
}
NO_ROOM = (
    r"^group_size 2 and run_length 3 with decks 2: the 104 cards could make 52 melds; "
    r"where contracts is null at most 37 can lie on a table$"
)


@pytest.mark.parametrize("face", FACES)
def test_what_cannot_be_played_is_named(face: str) -> None:
    """Single rounds are for contracts; more melds than a table has room for."""
    rounds = r"^rounds must be (null where contracts is null|'random' \(one deal\) or 'all' where contracts is null, not \[1\])"
    with pytest.raises(ValueError, match=rounds):
        FACES[face](rounds=[1])
    with pytest.raises(ValueError, match=NO_ROOM):
        FACES[face](overrides={"group_size": 2, "decks": 2})


# What is shown


def test_the_history_shows_the_moves() -> None:
    """Who, what and with which cards, newest first; without buying the numbers of moves begin with the melds."""
    env, random = raw_env(players=3, rounds="random", features="history"), np.random.default_rng(0)
    env.reset(seed=2)
    moves: list[tuple[int, Any]] = []
    types = set()
    while not any(env.terminations.values()):
        agent = env.agent_selection
        for seat in range(3):
            found = decode(BASIC, env.observe(f"player_{seat}")["observation"], ("history",))
            for back, (actor, move) in enumerate(moves[:-33:-1]):
                cards = Counter(KIND_TEXTS[kind] for kind in move.cards)
                assert found[f"history_{back}"] == {f"seat {(actor - seat) % 3}": 1, move.type.name.lower(): 1, **cards}
        action = eager(env.last()[0]["action_mask"], random, BASIC)
        moves.append((int(agent[-1]), TABLE[action]))
        types.add(TABLE[action].type.name)
        env.step(action)
    assert types >= {"STOCK", "TAKE", "LAY", "DISCARD"}


def test_the_next_cards_are_shown_once_the_pile_was_turned_over() -> None:
    """To everybody, in order; and what is drawn from them is known to be in that hand."""
    env = raw_env(players=2, rounds="random")
    position = {
        "rules": "basic", "to_act": 0, "phase": "draw", "hands": ["3c 8d", "Kd"], "discards": "9s 4h 7c 2s 2d", "turns": [4, 4],
    }  # fmt: skip
    env.reset(options={"position": position})
    for agent in env.agents:
        shown = decode(BASIC, env.observe(agent)["observation"])
        assert "stock_0" not in shown and shown["discard_0"] == {"2d": 1}
    env.step(TABLE.id("stock"))
    for seat, agent in enumerate(env.agents):
        shown = decode(BASIC, env.observe(agent)["observation"])
        assert [shown[f"stock_{place}"] for place in range(3)] == [{"4h": 1}, {"7c": 1}, {"2s": 1}]
        assert shown[f"seat_{seat}_known"] == {"9s": 1} and shown["reshuffles"] == {"stocks": 1} and "discard_0" not in shown


def test_the_table_as_text() -> None:
    """The deal, whose turn it is, what lies there; no contract."""
    env = raw_env(players=3, render_mode="ansi")
    env.reset(options={"position": {**ENDING, "round": 4, "scores": [3, 60, 0]}})
    lines = env.render().split("\n")
    assert lines[0] == "Basic, deal 4. Dealer: player 1." and lines[1] == "Player 0 plays."
    assert lines[2] == "Top discard: Qs. Discard pile: 2 cards. Stock: 2 cards."
    assert lines[4].startswith("> player 0") and lines[4].endswith("3c 4c") and "down" in lines[4] and "score    3" in lines[4]
    assert lines[5].endswith("8s") and "down" not in lines[5] and "score   60" in lines[5]
    assert lines[-2:] == ["Melds of player 0:", "  G8 8c8d8h"]
    for move in END[:2]:
        env.step(TABLE.id(move))
    assert env.render().split("\n")[1] == "Player 1 plays."
    one = raw_env(players=3, render_mode="ansi", rounds="random")
    one.reset(options={"position": ENDING})
    for move in END:
        one.step(TABLE.id(move))
    assert one.render().split("\n")[:2] == ["Basic, deal 1. Dealer: player 1.", "The game is over."]
