"""Options of the training faces: `lay_order`, `obs_dtype`, `features="history"`, `shaping` and `skip_forced`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env as gymnasium_check
from pettingzoo.test import api_test

from rummy_env import basic_v0, international_v0
from rummy_env.batch import BatchGame
from rummy_env.cards import KIND_TEXTS, WILD
from rummy_env.engine.apply import NO_ORDER, apply
from rummy_env.engine.legal import legal
from rummy_env.engine.state import LAYING, PLAY, new_views
from rummy_env.engine.tables import Tables, compile_tables
from rummy_env.engine.view import view
from rummy_env.game import Game
from rummy_env.gym_env import RummyEnv
from rummy_env.moves import MoveType, move_table
from rummy_env.observation import decode, encode, layout, observation_plan, observation_space
from rummy_env.rules import Rules, preset
from tests.faces import eager
from tests.playing import STYLES, Driver, played
from tests.test_information import rearranged

RULES = preset("international")
SHORT = RULES.replace(max_turns=5)
BASIC = preset("basic")
BOTH = ("analysis", "history")


# lay_order


def lay_downs(tables: Tables, states: np.ndarray, most: int = 4000) -> Counter[tuple[int, ...]] | None:
    """In how many orders each lay-down, as a sorted tuple of moves, is reached from here; None for more than `most` in all."""
    found: Counter[tuple[int, ...]] = Counter()
    mask = np.zeros(int(tables.num_moves), np.int8)
    stack: list[tuple[np.ndarray, tuple[int, ...]]] = [(states, ())]
    total = 0
    while stack:
        here, laid = stack.pop()
        count = legal(tables, here[0], mask)
        moves = np.flatnonzero(mask)
        lays = moves[(moves >= tables.first_lay) & (moves < tables.last_lay)]
        assert count == len(moves) > 0
        assert here[0].phase != LAYING or len(lays) == count
        for move in lays:
            after = here.copy()
            apply(tables, after[0], int(move), NO_ORDER)
            done = (*laid, int(move))
            if after[0].phase == LAYING:
                stack.append((after, done))
            else:
                found[tuple(sorted(done))] += 1
                total += 1
        if total + len(stack) > most:
            return None
    return found


def random_hand(rules: Rules, tables: Tables, number: int, rng: np.random.Generator) -> np.ndarray:
    """A hand after the draw: mostly the cards of a contract, some of them as wilds, and others that may go with them."""
    groups, runs = (rules.contracts or ())[number - 1]
    cards: list[int] = []
    for _ in range(groups):
        rank = int(rng.choice(tables.ranks[: tables.num_ranks]))
        cards += [int(suit) * 13 + rank for suit in rng.choice(4, rules.group_size)]
    for start in rng.choice(int(tables.num_starts), runs):
        cards += tables.run_kinds[start, : rules.run_length].tolist()
    wilds = int(rng.integers(0, 4))
    cards = [card if at >= wilds else WILD for at, card in enumerate(rng.permutation(cards).tolist())]
    natural = np.flatnonzero(tables.copies[:WILD])
    cards += rng.choice(natural, int(rng.integers(0, 4))).tolist()
    return np.minimum(np.bincount(cards, minlength=53), tables.copies).astype(np.int8)


def holding(rules: Rules, hand: np.ndarray) -> np.ndarray:
    """An array of one State in which seat 0 has drawn and holds these cards."""
    states = Game(rules, 2, seed=1, dealer=1).state_copy()
    state = states[0]
    state.phase, state.turn, state.to_act, state.passed = PLAY, 0, 0, 0
    state.turns[0], state.hand[0], state.hand_size[0] = 1, hand, hand.sum()
    return states


VARIANTS: dict[str, dict[str, Any]] = {
    "default": {},
    "apart": {"distinct_groups": True, "separate_runs": True, "final_discard": True},
    "wilds alone": {"min_naturals": 0, "jokers": 2},
    "few wilds": {"max_wilds": 1},
}


@pytest.mark.parametrize("number", [1, 2, 4, 5, 6, 7])
@pytest.mark.parametrize("variant", VARIANTS)
def test_ascending_leaves_one_order_of_every_lay_down(variant: str, number: int) -> None:
    """On random hands: the lay-downs reached are those of `any`, each by exactly one sequence, which rises."""
    rules = RULES.replace(rounds=[number], **VARIANTS[variant])
    any_order, ascending = compile_tables(rules), compile_tables(rules, "ascending")
    rng = np.random.default_rng([number, len(variant)])
    compared: Counter[str] = Counter()
    for _ in range(36):
        states = holding(rules, random_hand(rules, any_order, number, rng))
        every = lay_downs(any_order, states, 600)
        if every is None:
            compared["too many"] += 1
            continue
        before = states.tobytes()
        ordered = lay_downs(ascending, states, 600)
        assert ordered == dict.fromkeys(every, 1)
        assert states.tobytes() == before
        compared["some" if every else "none"] += 1
        compared["orders"] += max(every.values(), default=0) > 1
        compared["wilds"] += any(any_order.lay_wilds[move] > 0 for lay_down in every for move in lay_down)
    assert compared["some"] >= 6 and compared["orders"] >= 6 and compared["wilds"] >= 2, compared


@pytest.mark.parametrize("number", [1, 2, 4, 6, 7])
def test_after_a_half_laid_contract(number: int) -> None:
    """From every first meld, laid in any order: only what rises from it follows, and where nothing does (as in a position
    half laid in another order), everything that the rules allow."""
    rules = RULES.replace(rounds=[number])
    any_order, ascending = compile_tables(rules), compile_tables(rules, "ascending")
    rng = np.random.default_rng(number)
    masks = np.zeros((2, int(any_order.num_moves)), np.int8)
    met: Counter[str] = Counter()
    for _ in range(30):
        states = holding(rules, random_hand(rules, any_order, number, rng))
        if not lay_downs(any_order, states, 300):
            continue
        legal(any_order, states[0], masks[0])
        for first in np.flatnonzero(masks[0]):
            if not any_order.first_lay <= first < any_order.last_lay:
                continue
            half = states.copy()
            apply(any_order, half[0], int(first), NO_ORDER)
            assert half[0].phase == LAYING
            every, ordered = lay_downs(any_order, half), lay_downs(ascending, half)
            assert every and ordered
            rising = [rest for rest in every if min(rest) >= first]
            if rising:
                assert ordered == dict.fromkeys(rising, 1)
            else:
                counts = [legal(tables, half[0], mask) for tables, mask in zip((any_order, ascending), masks, strict=True)]
                assert counts[0] == counts[1] > 0 and np.array_equal(*masks)
                legal(any_order, states[0], masks[0])
            met["rising" if rising else "none rises"] += 1
    assert min(met["rising"], met["none rises"]) >= 4, met


class Ascending(Driver):
    """Play with the masks of `lay_order="ascending"`."""

    def __init__(self, rules: Rules, players: int, seed: int, style: str):
        super().__init__(rules, players, seed, style)
        self.tables = compile_tables(rules, "ascending")


def lay_pairs(state: Any) -> Iterator[tuple[int, int]]:
    """Moves by which a seat has laid one meld after another, older first, as far as the history goes back."""
    table = move_table(RULES)
    entries = [(int(entry) & 7, (int(entry) >> 3) - 1) for entry in state.history[::-1] if entry]
    for (seat, move), (other, following) in pairwise(entries):
        if seat == other and table[move].type == table[following].type == MoveType.LAY:
            yield move, following


def test_in_play_a_mask_is_never_empty_and_differs_only_in_lays() -> None:
    """`Driver` asserts that somebody to act has a legal move. Everything but lays is as under `any`."""
    laid = fewer = 0
    any_order = compile_tables(RULES)
    mask = np.zeros(int(any_order.num_moves), np.int8)
    for players, style in ((2, "eager"), (3, "buyer"), (5, "eager"), (4, "random")):
        driver = Ascending(RULES, players, 4, style)
        for _ in range(1500):
            if driver.over:
                break
            driver.choose()
            legal(any_order, driver.state, mask)
            lost = np.flatnonzero(mask != driver.mask)
            assert all(any_order.first_lay <= move < any_order.last_lay and mask[move] for move in lost)
            fewer += len(lost) > 0
            before = int(driver.state.phase)
            driver.step()
            laid += before == LAYING
            assert all(one <= two for one, two in lay_pairs(driver.state))
    assert laid > 20 and fewer > 20


def table_states(env: Any) -> np.ndarray:
    """The States of any face."""
    if isinstance(env, BatchGame):
        return env.states
    inner = env.unwrapped
    return inner._states if hasattr(inner, "_states") else inner._table.states


def run_batch(order: str, seed: int) -> Iterator[Any]:
    tables = BatchGame(RULES, 4, [2, 4], opponent_pool=["random", "greedy"], seed=seed, lay_order=order)
    rng = np.random.default_rng(seed)
    tables.reset()
    for _ in range(120):
        for index in range(4):
            yield tables.states[index], tables.masks[index]
        tables.step(np.array([eager(mask, rng) for mask in tables.masks]))


def run_gym(order: str, seed: int) -> Iterator[Any]:
    env, rng = RummyEnv(players=3, opponents=["random", "greedy"], lay_order=order), np.random.default_rng(seed)
    for _ in range(12):
        _, info = env.reset(seed=int(rng.integers(1000)))
        over = False
        while not over:
            yield table_states(env)[0], info["action_mask"]
            _, _, over, _, info = env.step(eager(info["action_mask"], rng))


def run_aec(order: str, seed: int) -> Iterator[Any]:
    env, rng = international_v0.env(players=3, rounds=[1, 2, 4], lay_order=order), np.random.default_rng(seed)
    for _ in range(4):
        env.reset(seed=int(rng.integers(1000)))
        for _ in range(600):
            observation, _, over, _, _ = env.last()
            if over:
                break
            yield table_states(env)[0], observation["action_mask"]
            env.step(eager(observation["action_mask"], rng))


FACES: dict[str, Callable[[str, int], Iterator[Any]]] = {"batch": run_batch, "gym": run_gym, "aec": run_aec}


@pytest.mark.parametrize("face", FACES)
def test_every_face_asks_in_ascending_order(face: str) -> None:
    """Its masks are those of the compiled tables; at the whole table nobody lays a meld below one before it."""
    tables = {order: compile_tables(RULES, order) for order in ("any", "ascending")}
    mask = np.zeros(int(tables["any"].num_moves), np.int8)
    falls: Counter[str] = Counter()
    for order in tables:
        for state, shown in FACES[face](order, 6):
            legal(tables[order], state, mask)
            assert np.array_equal(mask, shown)
            for one, two in lay_pairs(state):
                falls[f"{order} pairs"] += 1
                falls[order] += one > two
    assert falls["ascending"] == 0
    assert falls["ascending pairs"] > 20 and falls["any"] > 20, falls


HALF_LAID = {
    "rules": "international", "round": 1, "phase": "laying", "to_act": 0, "hands": ["3c 3c 3h Js 9s", "8c Qc"],
    "stock": "Kh Tc Kc 4d", "discards": "7c", "melds": [{"owner": 0, "meld": "G5 5d5s**"}],
    "laid_this_turn": ["G5 5d5s**"], "turns": [1, 0],
}  # fmt: skip
"""The only meld that can follow has a lower id."""


def test_a_position_half_laid_in_another_order_can_be_laid_on() -> None:
    lay = move_table(RULES).id("lay G3 3c3c3h")
    aec = international_v0.raw_env(players=2, lay_order="ascending")
    aec.reset(seed=1, options={"position": HALF_LAID})
    assert np.flatnonzero(aec.last()[0]["action_mask"]).tolist() == [lay]
    aec.step(lay)
    gym = RummyEnv(players=2, seat=0, skip_forced=False, lay_order="ascending")
    _, info = gym.reset(seed=1, options={"position": HALF_LAID})
    assert np.flatnonzero(info["action_mask"]).tolist() == [lay]
    other = RummyEnv(players=2, seat=1, opponents="random", lay_order="ascending")
    _, info = other.reset(seed=1, options={"position": HALF_LAID})
    assert info["action_mask"].sum() > 1 and int(table_states(other)[0].down) & 1


def test_a_lay_refused_by_the_order_alone_says_so() -> None:
    env, rng = international_v0.raw_env(players=3, rounds=[1], lay_order="ascending"), np.random.default_rng(0)
    any_order = compile_tables(RULES.replace(rounds=[1]))
    mask, refused = np.zeros(int(any_order.num_moves), np.int8), 0
    for seed in range(6):
        env.reset(seed=seed)
        while not any(env.terminations.values()):
            shown = env.last()[0]["action_mask"]
            legal(any_order, table_states(env)[0], mask)
            lost = np.flatnonzero(mask & (1 - shown))
            if len(lost):
                refused += 1
                with pytest.raises(ValueError, match=r"by rising move id \(lay_order ascending\)"):
                    env.step(int(lost[0]))
            env.step(eager(shown, rng))
    assert refused >= 3


# obs_dtype


def observed(rules: Rules, state: Any, seat: int, features: tuple[str, ...], raw: bool) -> np.ndarray:
    out = np.zeros(layout(rules, features).size, np.uint8 if raw else np.float32)
    views = new_views(1)
    view(state, seat, views[0])
    encode(compile_tables(rules), observation_plan(rules, features, raw), views[0], out)
    return out


def same_numbers(numbers: np.ndarray, vector: np.ndarray, scales: np.ndarray) -> bool:
    """Whether a uint8 vector holds exactly the numbers behind a float32 vector."""
    product = vector.astype(np.float64) * scales
    return bool(np.array_equal(numbers, np.rint(product)) and np.abs(product - numbers).max() < 1e-4)


@pytest.mark.parametrize("features", [(), BOTH], ids=["plain", "all features"])
@pytest.mark.parametrize("overrides", [{}, {"jokers": 8, "max_turns": 400, "min_naturals": 0}], ids=["default", "jokers"])
def test_uint8_holds_the_numbers_behind_float32(overrides: dict[str, Any], features: tuple[str, ...]) -> None:
    """Over play of all styles: the same numbers to the last, within the space of either type."""
    rules = RULES.replace(**overrides)
    scales = layout(rules, features).scales
    spaces = [observation_space(rules, features, name) for name in ("float32", "uint8")]
    assert spaces[1].high.tolist() == scales.tolist() and not spaces[1].low.any()
    largest = np.zeros(len(scales), np.uint8)
    for players, style in zip((2, 4, 6), STYLES, strict=True):
        for number, driver in enumerate(played(rules, players, 7, style, 700)):
            if driver.over or number % 3:
                continue
            vector, numbers = (observed(rules, driver.state, number % players, features, raw) for raw in (False, True))
            assert numbers in spaces[1] and vector in spaces[0]
            assert same_numbers(numbers, vector, scales)
            largest = np.maximum(largest, numbers)
    assert (largest > 1).sum() > 40 and (largest == scales).mean() > 0.3


PAIR = ("float32", "uint8")


@pytest.mark.parametrize("features", [[], list(BOTH)], ids=["plain", "all features"])
@pytest.mark.parametrize("rules", [RULES, BASIC], ids=["international", "basic"])
def test_uint8_in_batches(rules: Rules, features: list[str]) -> None:
    scales = layout(rules, tuple(features)).scales
    pair = [BatchGame(rules, 5, [2, 3], "greedy", seed=3, features=features, obs_dtype=name) for name in PAIR]
    rng, ends = np.random.default_rng(0), 0
    for tables in pair:
        tables.reset()
    one, two = pair
    for _ in range(60):
        assert two.observations.dtype == two.finals.dtype == np.uint8
        assert same_numbers(two.observations, one.observations, scales)
        assert np.array_equal(one.masks, two.masks) and np.array_equal(one.states, two.states)
        moves = np.array([eager(mask, rng, rules) for mask in one.masks])
        for tables in pair:
            tables.step(moves)
        assert np.array_equal(one.rewards, two.rewards) and np.array_equal(one.dones, two.dones)
        assert not one.dones.any() or same_numbers(two.finals[one.dones], one.finals[one.dones], scales)
        ends += int(one.dones.sum())
    assert ends >= 5


@pytest.mark.parametrize("opponents", ["greedy", lambda view, mask: int(np.flatnonzero(mask)[0])], ids=["compiled", "outside"])
def test_uint8_in_the_gymnasium_environment(opponents: Any) -> None:
    scales = layout(RULES, BOTH).scales
    pair = [RummyEnv(players=3, opponents=opponents, features=BOTH, obs_dtype=name) for name in PAIR]
    rng = np.random.default_rng(0)
    for seed in range(4):
        shown = [env.reset(seed=seed) for env in pair]
        over = False
        while not over:
            (one, info), (two, other) = (part[:1] + part[-1:] for part in shown)
            assert two.dtype == np.uint8 and same_numbers(two, one, scales)
            assert two in pair[1].observation_space and one in pair[0].observation_space
            assert np.array_equal(info["action_mask"], other["action_mask"])
            move = eager(info["action_mask"], rng)
            shown = [env.step(move) for env in pair]
            assert shown[0][1:4] == shown[1][1:4]
            over = shown[0][2]
        assert same_numbers(shown[1][0], shown[0][0], scales)
    pair[1].reset(seed=1)
    illegal = int(np.flatnonzero(~pair[1].action_masks())[0])
    assert pair[1].step(illegal)[0].dtype == np.uint8


def test_uint8_in_the_aec_environment() -> None:
    """Of the seat to act and of all others, and at the end; the full table stays float32."""
    scales = layout(SHORT).scales
    pair = [international_v0.env(players=3, rounds=[1, 6], overrides={"max_turns": 5}, obs_dtype=name) for name in PAIR]
    rng = np.random.default_rng(0)
    for env in pair:
        env.reset(seed=3)
    while True:
        for agent in pair[0].possible_agents:
            one, two = (env.observe(agent) for env in pair)
            assert two["observation"].dtype == np.uint8 and same_numbers(two["observation"], one["observation"], scales)
            assert two in pair[1].observation_space(agent) and np.array_equal(one["action_mask"], two["action_mask"])
        assert pair[1].state().dtype == np.float32 and np.array_equal(pair[0].state(), pair[1].state())
        if any(pair[0].terminations.values()):
            break
        move = eager(pair[0].last()[0]["action_mask"], rng)
        for env in pair:
            env.step(move)
        assert pair[0].rewards == pair[1].rewards
    assert pair[0].terminations == pair[1].terminations


@pytest.mark.parametrize("features", [(), BOTH], ids=["plain", "all features"])
@pytest.mark.parametrize("game", ["international", "basic"])
def test_the_libraries_accept_it(game: str, features: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    name, module = f"rummy_env/{game.capitalize()}-v0", {"international": international_v0, "basic": basic_v0}[game]
    gymnasium_check(gymnasium.make(name, players=3, obs_dtype="uint8", features=features, lay_order="ascending").unwrapped)
    gymnasium_check(gymnasium.make(name, players=2, shaping="distance", gamma=0.99, features=features).unwrapped)
    api_test(module.env(players=3, obs_dtype="uint8", features=features, lay_order="ascending"), num_cycles=80)
    assert "Passed API test" in capsys.readouterr().out


def test_uint8_in_the_vecenv() -> None:
    sb3 = pytest.importorskip("rummy_env.sb3")
    pair = [sb3.RummyVecEnv(RULES, 4, 3, seed=2, features=BOTH, obs_dtype=name) for name in PAIR]
    assert pair[1].observation_space == observation_space(RULES, BOTH, "uint8")
    scales, rng, ends = layout(RULES, BOTH).scales, np.random.default_rng(0), 0
    one, two = (env.reset() for env in pair)
    for _ in range(40):
        assert two.dtype == np.uint8 and same_numbers(two, one, scales)
        moves = np.array([eager(mask, rng) for mask in pair[0].action_masks()])
        (one, rewards, dones, infos), (two, *rest) = (env.step(moves) for env in pair)
        assert np.array_equal(rewards, rest[0]) and np.array_equal(dones, rest[1])
        for index in np.flatnonzero(dones):
            last = [shown[index]["terminal_observation"] for shown in (infos, rest[2])]
            assert last[1].dtype == np.uint8 and same_numbers(last[1], last[0], scales)
            ends += 1
    assert ends >= 3


# features="history"


def history_of(vector: np.ndarray, rules: Rules) -> list[dict[str, int]]:
    """The blocks of the history that are not all zeros, newest first; those after the first empty one must be empty."""
    found = decode(rules, vector, ("history",))
    blocks = [found.get(f"history_{back}", {}) for back in range(32)]
    filled = [block for block in blocks if block]
    assert blocks == filled + [{}] * (32 - len(filled))
    return filled


@pytest.mark.parametrize("raw", [False, True], ids=PAIR)
@pytest.mark.parametrize("players", [2, 3, 6])
def test_the_history_decodes_to_the_last_moves(players: int, raw: bool) -> None:
    """The last 32 public moves of the round, newest first: who (0 is oneself), what, and which cards left the hand."""
    table, scales = move_table(RULES), layout(RULES, ("history",)).scales
    moves: list[tuple[int, int]] = []
    met: Counter[str] = Counter()
    driver = Driver(RULES, players, 3, "buyer")
    for number in range(900):
        seat = number % players
        vector = observed(RULES, driver.state, seat, ("history",), raw)
        if raw:
            vector = (vector / scales).astype(np.float32)
        expected = []
        for actor, move in moves[::-1][:32]:
            entry = table[move]
            cards = Counter(KIND_TEXTS[kind] for kind in entry.cards)
            expected.append({f"seat {(actor - seat) % players}": 1, entry.type.name.lower(): 1, **cards})
            met[entry.type.name] += 1
            met["two of a kind"] += max(cards.values(), default=0) > 1
            if entry.type in (MoveType.STOCK, MoveType.TAKE, MoveType.BUY, MoveType.PASS):
                assert not cards
        assert history_of(vector, RULES) == expected
        done, actor = int(driver.state.rounds_done), int(driver.state.to_act)
        moves.append((actor, driver.step()))
        if int(driver.state.rounds_done) > done:
            moves = []
            met["rounds"] += 1
    assert all(met[type_.name] for type_ in (MoveType.STOCK, MoveType.BUY, MoveType.LAY, MoveType.DISCARD)), met
    assert met["two of a kind"] and met["rounds"] >= 1 and max(len(moves), 32) >= 32


def test_optional_blocks_show_nothing_hidden() -> None:
    """Another arrangement of what a seat cannot see gives the same vector, and the blocks without options are untouched."""
    rng, differ = np.random.default_rng(5), 0
    plain, full = layout(RULES), layout(RULES, BOTH)
    assert [block.name for block in full.blocks[: len(plain.blocks)]] == [block.name for block in plain.blocks]
    for players, style in ((3, "eager"), (5, "buyer")):
        for number, driver in enumerate(played(RULES, players, 14, style, 500)):
            if driver.over:
                continue
            seat = number % players
            other = rearranged(driver.tables, driver.state, seat, rng)[0]
            one, two = (observed(RULES, state, seat, BOTH, False) for state in (driver.state, other))
            assert one.tobytes() == two.tobytes()
            assert one[: plain.size].tobytes() == observed(RULES, driver.state, seat, (), False).tobytes()
            differ += not np.array_equal(driver.state.hand, other.hand)
    assert differ > 600


# shaping="distance"


def potentials_seen(vectors: np.ndarray, rules: Rules = RULES) -> list[float]:
    """Minus the distance to the contract over 12, read from the analysis features: 0 after laying down."""
    return [-decode(rules, vector, ("analysis",)).get("distance", {}).get("now", 0) / 12 for vector in vectors]


@pytest.mark.parametrize("rounds", ["random", "all"])
@pytest.mark.parametrize("gamma", [1.0, 0.9, 0.0])
def test_shaping_telescopes_in_batches(gamma: float, rounds: str) -> None:
    """Every step adds gamma times the new potential minus the old one, 0 at the end; discounted they add up to minus the
    first potential of the episode. Nothing else changes."""
    number = 8
    rules = SHORT if rounds == "all" else RULES
    arguments: dict[str, Any] = {
        "players": [2, 3],
        "opponents": "greedy",
        "rounds": rounds,
        "seed": 4,
        "features": ["analysis"],
    }
    tables = BatchGame(rules, number, **arguments, shaping="distance", gamma=gamma)
    plain = BatchGame(rules, number, **arguments, gamma=gamma)
    rng = np.random.default_rng(2)
    for each in (tables, plain):
        each.reset()
    before = potentials_seen(tables.observations, rules)
    first, sums, factors = list(before), np.zeros(number), np.ones(number)
    ends = changes = 0
    for _ in range(170 if rounds == "all" else 60):
        moves = np.array([eager(mask, rng) for mask in tables.masks])
        for each in (tables, plain):
            each.step(moves)
        assert np.array_equal(tables.states, plain.states) and np.array_equal(tables.rewards, plain.rewards)
        assert np.array_equal(tables.observations, plain.observations) and not plain.shaping.any()
        after = potentials_seen(tables.observations, rules)
        for index in range(number):
            new = 0.0 if tables.dones[index] else after[index]
            assert tables.shaping[index] == pytest.approx(gamma * new - before[index], abs=1e-12)
            sums[index] += factors[index] * tables.shaping[index]
            factors[index] *= gamma
            changes += before[index] != new
            if tables.dones[index]:
                assert sums[index] == pytest.approx(-first[index], abs=1e-9)
                first[index], sums[index], factors[index] = after[index], 0, 1
                ends += 1
        before = after
    assert ends >= 8 and changes > 40 and min(first) < 0


def test_the_potential_in_round_1_is_what_a_plain_count_gives() -> None:
    """Two groups of three: the naturals that the best two (while laying: what is left of them) lack, less the
    wilds, over 12; 0 after laying down."""
    tables = BatchGame(RULES, 10, 3, "greedy", rounds=[1], seed=8, shaping="distance")
    rng, seen = np.random.default_rng(1), Counter()  # type: ignore[var-annotated]
    tables.reset()
    for _ in range(60):
        for index in range(10):
            state, seat = tables.states[index], int(tables.seats[index])
            hand = state.hand[seat].astype(int)
            counts = hand[:WILD].reshape(4, 13).sum(axis=0)
            lacks = sorted(max(0, 3 - count) for count in [*counts, *(count - 3 for count in counts if count >= 3)])
            left = int(state.groups_left) if state.phase == LAYING else 2
            expected = 0.0 if state.down >> seat & 1 else -max(0, sum(lacks[:left]) - hand[WILD]) / 12
            assert tables.arrays()["potentials"][index] == pytest.approx(expected)
            seen[round(expected * 12)] += 1
        tables.step(np.array([eager(mask, rng) for mask in tables.masks]))
    assert {0, -1, -2} <= set(seen)


@pytest.mark.parametrize("max_moves", [None, 4])
def test_shaping_in_the_gymnasium_environment(max_moves: int | None) -> None:
    """What it adds to the rewards; at a truncation the potential of the last decision counts."""
    arguments: dict[str, Any] = {"players": 3, "features": "analysis", "max_moves": max_moves}
    gamma, rng, ended = 0.95, np.random.default_rng(3), Counter()  # type: ignore[var-annotated]
    shaped, plain, one = (
        RummyEnv(**arguments, shaping="distance", gamma=gamma), RummyEnv(**arguments),
        RummyEnv(**arguments, shaping="distance"),
    )  # fmt: skip
    for seed in range(12):
        shown = [env.reset(seed=seed) for env in (shaped, plain, one)]
        (before,) = potentials_seen(shown[0][0][None])
        first, total, terminated, truncated, info = before, 0.0, False, False, shown[0][1]
        while not terminated and not truncated:
            move = eager(info["action_mask"], rng)
            steps = [env.step(move) for env in (shaped, plain, one)]
            assert steps[0][0].tobytes() == steps[1][0].tobytes() and steps[0][2:4] == steps[1][2:4]
            _, reward, terminated, truncated, info = steps[0]
            after = 0.0 if terminated else potentials_seen(steps[0][0][None])[0]
            assert type(reward) is float and reward - steps[1][1] == pytest.approx(gamma * after - before, abs=1e-9)
            total += steps[2][1] - steps[1][1]
            before = after
        assert total == pytest.approx(before - first, abs=1e-9)
        ended["truncated" if truncated else "terminated"] += 1
    assert ended["terminated" if max_moves is None else "truncated"] >= 6, ended


def test_shaping_in_the_vecenv() -> None:
    """It is in the rewards, and not in what `episode` counts."""
    sb3 = pytest.importorskip("rummy_env.sb3")
    shaped, plain = (sb3.RummyVecEnv(RULES, 5, 2, seed=2, shaping=shaping, gamma=0.9) for shaping in ("distance", None))
    rng, ends = np.random.default_rng(0), 0
    shaped.reset(), plain.reset()
    for _ in range(50):
        moves = np.array([eager(mask, rng) for mask in shaped.action_masks()])
        (_, rewards, dones, infos), (_, other, _, others) = shaped.step(moves), plain.step(moves)
        assert rewards - other == pytest.approx(shaped.tables.shaping, abs=1e-5)
        for index in np.flatnonzero(dones):
            assert infos[index]["episode"] == others[index]["episode"]
            ends += 1
    assert ends >= 3 and shaped.tables.shaping.any()


# skip_forced


def unforced(mask: np.ndarray, rng: np.random.Generator) -> int:
    """A move; where there is only one, no random number is used."""
    return int(mask.argmax()) if mask.sum() == 1 else eager(mask, rng)


@pytest.mark.parametrize("rounds", ["random", "all"])
def test_without_skip_forced_the_same_games_are_played(rounds: str) -> None:
    """With it no decision has one legal move, without it some have; all others come in the same positions."""
    number, rules = 6, SHORT if rounds == "all" else RULES
    decisions: dict[bool, list[list[bytes]]] = {}
    gained: dict[bool, list[list[float]]] = {}
    for skip in (True, False):
        tables = BatchGame(rules, number, [2, 4], opponent_pool=["random", "greedy"], rounds=rounds, seed=6, skip_forced=skip)
        random = [np.random.default_rng([1, index]) for index in range(number)]
        tables.reset()
        decisions[skip], gained[skip] = [[] for _ in range(number)], [[] for _ in range(number)]
        forced = 0
        for _ in range(120):
            counts = tables.masks.sum(axis=1)
            forced += int((counts == 1).sum())
            for index in np.flatnonzero(counts > 1):
                shown = tables.states[index].tobytes() + tables.observations[index].tobytes() + tables.masks[index].tobytes()
                decisions[skip][index].append(shown)
                gained[skip][index].append(0.0)
            tables.step(np.array([unforced(mask, rng) for mask, rng in zip(tables.masks, random, strict=True)]))
            for index in range(number):
                if gained[skip][index]:
                    gained[skip][index][-1] += tables.own_rewards[index]
        assert (forced > 0) is not skip
    for index in range(number):
        pairs = [*zip(*(decisions[skip][index] for skip in (True, False)), strict=False)]
        assert len(pairs) > 40 and all(one == two for one, two in pairs)
        assert gained[True][index][: len(pairs) - 1] == pytest.approx(gained[False][index][: len(pairs) - 1])


def test_skip_forced_in_the_gymnasium_environment() -> None:
    forced, compared = 0, 0
    for seed in range(8):
        ways = []
        for skip in (True, False):
            env, rng = RummyEnv(players=2, opponents="random", skip_forced=skip), np.random.default_rng(seed)
            _, info = env.reset(seed=seed)
            seen, total, over = [], 0.0, False
            while not over:
                if info["action_mask"].sum() > 1:
                    seen.append(table_states(env).tobytes())
                else:
                    assert not skip and info["action_mask"].sum() == 1
                    forced += 1
                _, reward, over, _, info = env.step(unforced(info["action_mask"], rng))
                total += reward
            ways.append((seen, round(total, 9), info["scores"]))
        assert ways[0] == ways[1]
        compared += len(ways[0][0])
    assert forced > 8 and compared > 80


# What is refused

WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("lgav", {"obs_dtype": "float64"}, "^obs_dtype must be one of float32, uint8, not 'float64'"),
    ("lgav", {"obs_dtype": None}, "^obs_dtype must be one of float32, uint8, not None"),
    ("lgav", {"obs_dtype": np.uint8}, "^obs_dtype must be one of float32, uint8, not <class"),
    ("lgav", {"obs_dtype": ["uint8"]}, r"^obs_dtype must be one of float32, uint8, not \['uint8'\]"),
    ("lgav", {"lay_order": "descending"}, "^lay_order must be one of .*any.*, .*ascending.*, not 'descending'"),
    ("lgav", {"lay_order": None}, "^lay_order must be one of .*, not None"),
    ("lgav", {"lay_order": ["ascending"]}, r"^lay_order must be one of .*, not \['ascending'\]"),
    ("lgav", {"features": "histories"}, "^features must be out of analysis, history, not 'histories'"),
    ("lgav", {"features": ["history", "x"]}, "^features must be out of analysis, history, not 'x'"),
    ("lgav", {"features": [1]}, "^features must be out of analysis, history, not 1"),
    ("lgav", {"features": None}, "^features must be a list out of analysis, history, not None"),
    ("lgav", {"features": 5}, "^features must be a list out of analysis, history, not 5"),
    ("lgav", {"features": {"history": True}}, "^features must be a list out of analysis, history, not {"),
    ("lgv", {"shaping": "points"}, "^shaping must be None or 'distance', not 'points'"),
    ("lgv", {"shaping": True}, "^shaping must be None or 'distance', not True"),
    ("lgv", {"shaping": ""}, "^shaping must be None or 'distance', not ''"),
    ("lgv", {"shaping": ["distance"]}, r"^shaping must be None or 'distance', not \['distance'\]"),
    ("lgv", {"shaping": "distance", "gamma": 1.01}, "^gamma must be a number from 0 to 1, not 1.01"),
    ("lgv", {"shaping": "distance", "gamma": -0.1}, "^gamma must be a number from 0 to 1, not -0.1"),
    ("lgv", {"shaping": "distance", "gamma": float("nan")}, "^gamma must be a number from 0 to 1, not nan"),
    ("lgv", {"gamma": None}, "^gamma must be a number from 0 to 1, not None"),
    ("lgv", {"gamma": True}, "^gamma must be a number from 0 to 1, not True"),
    ("lgv", {"gamma": "1"}, "^gamma must be a number from 0 to 1, not '1'"),
    ("lg", {"skip_forced": "no"}, "^skip_forced must be True or False, not 'no'"),
    ("lg", {"skip_forced": 1}, "^skip_forced must be True or False, not 1"),
    ("lg", {"skip_forced": None}, "^skip_forced must be True or False, not None"),
]
"""Of BatchGame, the Gymnasium environment, the AEC environment and the VecEnv."""


@pytest.mark.parametrize("faces,wrong,message", WRONG, ids=[str(wrong) for _, wrong, _ in WRONG])
def test_wrong_options_are_named(faces: str, wrong: dict[str, Any], message: str) -> None:
    makers: dict[str, Callable[..., Any]] = {
        "l": lambda **kwargs: BatchGame(RULES, 1, opponents="greedy", **kwargs),
        "g": RummyEnv,
        "a": international_v0.raw_env,
        "v": lambda **kwargs: pytest.importorskip("rummy_env.sb3").RummyVecEnv(RULES, 1, **kwargs),
    }
    for face in faces:
        with pytest.raises(ValueError, match=message):
            makers[face](**wrong)


def test_options_that_are_accepted() -> None:
    """Features in any order and twice, NumPy numbers as discount; the space says what comes."""
    for gamma in (0, 1, 0.5, np.float32(0.5), np.float64(1)):
        BatchGame(RULES, 1, opponents="greedy", shaping="distance", gamma=gamma)  # type: ignore[arg-type]
    one, two = (RummyEnv(features=features) for features in (["history", "analysis", "history"], BOTH))
    assert one.observation_space == two.observation_space
    assert one.reset(seed=1)[0].tobytes() == two.reset(seed=1)[0].tobytes()
    with pytest.raises(ValueError, match="lay_order must be one of any, ascending, not 'x'"):
        compile_tables(RULES, "x")
