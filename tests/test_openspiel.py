"""The bridge to OpenSpiel: its own checks, chance as the stock has it, information states, and the tiny game enumerated."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from rummy_env.cards import WILD, cards_text
from rummy_env.engine.tables import STOCK_MOVE
from rummy_env.game import Game
from rummy_env.rewards import points_reward
from rummy_env.rules import load_rules, preset

pyspiel = pytest.importorskip("pyspiel")
from rummy_env.bridges import openspiel  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
TINY = ROOT / "configs" / "tiny.yaml"

SMALL: dict[str, Any] = {"max_turns": 4}
ONE_DEAL: dict[str, Any] = {"game_end": {"deals": 1}}
GAMES: dict[str, dict[str, Any]] = {
    "tiny": {"rules": TINY},
    "tiny, new stocks": {"rules": TINY, "overrides": {"stock_out": "shuffle", "max_turns": 4}},
    "tiny, extra cards": {
        "rules": TINY,
        "overrides": {
            "buy_extra": 2,
            "max_buys": None,
            "turn_player_may_buy": True,
            "stock_out": "shuffle",
            "jokers": 4,
            "contracts": [[3, 0]],
            "max_turns": 4,
        },
    },
    "two rounds": {"rules": TINY, "overrides": {"rounds": [1, 1]}, "dealer": 1},
    "international": {"rules": "international", "rounds": [1, 3], "overrides": SMALL},
    "international, four players": {"rules": "international", "players": 4, "rounds": [2], "overrides": SMALL},
    "buying": {
        "rules": "international",
        "players": 3,
        "rounds": [1],
        "overrides": {**SMALL, "buy_extra": 2, "turn_player_may_buy": True},
    },
    "basic": {"rules": "basic", "players": 6, "overrides": {**ONE_DEAL, "max_turns": 8}},
    "basic, two deals": {"rules": "basic", "players": 3, "overrides": {"game_end": {"deals": 2}, "max_turns": 5}},
    "basic, buying": {"rules": "basic", "players": 3, "overrides": {**ONE_DEAL, "max_turns": 8, "max_buys": 9, "buy_extra": 2}},
    "basic_modern": {"rules": "basic_modern", "overrides": {**ONE_DEAL, "max_turns": 24}, "dealer": 1},
    "block": {"rules": "block", "players": 4, "overrides": {**ONE_DEAL, "max_turns": 14}},
}


def game_of(name: str) -> Any:
    return openspiel.load_game(**GAMES[name])


def playouts(game: Any, number: int, seed: int = 0) -> Iterator[Any]:
    """Every state of games in which chance and players choose at random; the same object is yielded again and again."""
    random = np.random.default_rng(seed)
    for _ in range(number):
        state = game.new_initial_state()
        yield state
        while not state.is_terminal():
            if state.is_chance_node():
                kinds, shares = zip(*state.chance_outcomes(), strict=True)
                state.apply_action(int(random.choice(kinds, p=shares)))
            else:
                state.apply_action(int(random.choice(state.legal_actions())))
            yield state


# What OpenSpiel wants


@pytest.mark.parametrize("name", GAMES)
def test_the_simulations_of_openspiel_pass(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    pyspiel.random_sim_test(game_of(name), num_sims=2 if "tiny" in name else 1, serialize=True, verbose=False)


def test_a_game_is_loaded_by_name_path_or_rules() -> None:
    assert pyspiel.load_game("rummy_env").rules == preset("international")
    game = pyspiel.load_game("rummy_env", {"rules": str(TINY), "dealer": 0})
    assert game.rules == load_rules(TINY) and game.num_distinct_actions() == len(game.table)
    rules = preset("international").replace(max_buys=2, points={"wild": 25}, name="a, (b)=c")
    game = openspiel.load_game(rules, players=3, rounds=[3], dealer=2)
    again = pyspiel.load_game(str(game))
    assert again.rules == game.rules == rules.replace(rounds=[3]) and str(again) == str(game)
    assert (again.num_players(), again.dealer) == (3, 2)
    assert openspiel.RummyGame().num_players() == 2


def test_a_state_survives_text() -> None:
    for state in playouts(game_of("two rounds"), 1):
        _, again = pyspiel.deserialize_game_and_state(pyspiel.serialize_game_and_state(state.get_game(), state))
        assert str(again) == str(state) and again.current_player() == state.current_player()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"rules": "nix"}, "rules must be one of"),
        ({"rules": "json:%7B"}, "rules: json: must be followed by JSON"),
        ({"rules": "basic", "rounds": "only 1"}, "rounds must be null where contracts is null"),
        ({"players": 7}, "players must be from 2 to 6, not 7"),
        ({"rules": str(TINY), "players": 3}, "players must be from 2 to 2, not 3"),
        ({"rounds": "3"}, None),
        ({"rounds": "some"}, "rounds must be 'all', or 'only ' and numbers"),
        ({"rounds": "only 9"}, "rounds names 9"),
        ({"dealer": 2}, "dealer must be a seat from 0 to 1, or -1 to draw it, not 2"),
    ],
)
def test_parameters_that_are_not_allowed_are_named(params: dict[str, Any], message: str | None) -> None:
    if message is None:
        assert pyspiel.load_game("rummy_env", params).rules.sequence == (3,)
        return
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        pyspiel.load_game("rummy_env", params)


def test_other_parameters_and_observers_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^no such parameter: deal; there are rules, players, rounds, dealer"):
        openspiel.RummyGame({"deal": 3})
    with pytest.raises(ValueError, match=r"^rules must be a preset's name"):
        openspiel.RummyGame({"rules": 3})
    with pytest.raises(ValueError, match=r"^dealer must be"):
        openspiel.RummyGame({"dealer": True})
    game = game_of("tiny")
    for private in (pyspiel.PrivateInfoType.NONE, pyspiel.PrivateInfoType.ALL_PLAYERS):
        with pytest.raises(ValueError, match=r"^the observer shows what one seat sees"):
            game.make_py_observer(pyspiel.IIGObservationType(perfect_recall=True, private_info=private))
    with pytest.raises(ValueError, match=r"^the observer takes no parameters, not colour"):
        game.make_py_observer(None, {"colour": 1})


# Chance


@pytest.mark.parametrize("name", GAMES)
def test_chance_is_what_is_hidden(name: str) -> None:
    """Every card of the pack that has not been dealt, and in play every card of the stock, or of the one to be formed."""
    game = game_of(name)
    pack = Counter({kind: int(count) for kind, count in enumerate(game.tables.copies) if count})
    seen: Counter[str] = Counter()
    for state in playouts(game, 300 if name == "tiny, extra cards" else 20 if game.rules.contracts else 5):
        if not state.is_chance_node():
            continue
        outcomes = dict(state.chance_outcomes())
        assert sum(outcomes.values()) == pytest.approx(1) and min(outcomes.values()) > 0
        table = state._states[0]
        if state._needs_dealer:
            assert outcomes == {seat: 1 / game.num_players() for seat in range(game.num_players())}
            continue
        if state._dealt is not None:
            hidden, what = pack - Counter(state._dealt), "dealt"
        else:
            stock = Counter(table.stock[: table.num_stock].tolist())
            below = Counter(table.discards[: max(0, table.num_discards - 1)].tolist())
            before = Counter(state._drawn)
            what = "drawn" if stock - before else "formed"
            hidden = stock - before if stock - before else below - (before - stock)
            what += " twice" if before else ""
        seen[what] += 1
        assert outcomes == pytest.approx({kind: count / hidden.total() for kind, count in hidden.items()})
    assert seen["dealt"] and seen["drawn"]
    if name == "tiny, extra cards":
        assert seen["formed"] and seen["drawn twice"] and seen["formed twice"], seen


def test_the_first_dealer_is_drawn_or_given() -> None:
    for seat in range(3):
        state = openspiel.load_game("international", players=3).new_initial_state()
        assert state.action_to_string(seat) == f"dealer {seat}"
        state.apply_action(seat)
        given = openspiel.load_game("international", players=3, dealer=seat).new_initial_state()
        for _ in range(31):
            for one in (state, given):
                one.apply_action(one.chance_outcomes()[0][0])
        assert state.current_player() == given.current_player() == (seat + 1) % 3
        assert str(state) == str(given)


def test_a_stock_that_everybody_knows_has_no_chance() -> None:
    for state in playouts(game_of("international"), 1):
        table = state._states[0]
        if not state.is_chance_node() and table.num_stock and STOCK_MOVE in state.legal_actions():
            again = state.clone()
            again._states[0].stock_public = 1
            seat, top = int(table.to_act), int(table.stock[table.num_stock - 1])
            again.apply_action(STOCK_MOVE)
            assert not again.is_chance_node() and again._states[0].hand[seat, top] == table.hand[seat, top] + 1
            return
    raise AssertionError


def test_a_pile_that_was_turned_over_has_no_chance() -> None:
    """Everybody knows what the next card is, and who draws it has it in both texts: the move alone tells."""
    drawn = 0
    for state in playouts(game_of("basic"), 6):
        table = state._states[0]
        if not table.stock_public or state._dealt is not None or state.is_terminal():
            continue
        assert not state.is_chance_node()
        if table.num_stock and STOCK_MOVE in state.legal_actions():
            seat, top = int(table.to_act), int(table.stock[table.num_stock - 1])
            after = state.child(STOCK_MOVE)
            assert after.current_player() == seat and after._states[0].hand[seat, top] == table.hand[seat, top] + 1
            assert after.information_state_string((seat + 1) % 6).endswith(f" | {seat} stock")
            drawn += 1
    assert drawn > 10


@pytest.mark.parametrize("name", [name for name in GAMES if name != "tiny, extra cards"])
def test_the_engine_plays_the_same_game(name: str) -> None:
    """The cards that chance gave, as decks and new stocks of a `Game`: the same moves, hands and points."""
    game = game_of(name)
    restocks = 0
    for seed in range(20 if "tiny" in name else 3):
        *_, last = playouts(game, 1, seed)
        history = [(item.player, item.action) for item in last.full_history()]
        dealer = history.pop(0)[1] if game.dealer < 0 else game.dealer
        stocks: list[list[int]] = []  # the cards that chance gave from each stock in turn, deals included
        state, begins = game.new_initial_state(), 0
        if game.dealer < 0:
            state.apply_action(dealer)
        for player, action in history:
            if player == pyspiel.PlayerId.CHANCE:
                table = state._states[0]
                begins = state._dealt == () or (state._dealt is None and len(state._drawn) == table.num_stock)
                if begins:
                    stocks.append([])
                stocks[-1].append(action)
            state.apply_action(action)
        whole = Counter({kind: int(count) for kind, count in enumerate(game.tables.copies)})
        plain = Game(game.rules, game.num_players(), seed=seed, dealer=dealer)

        def rest(pool: Counter[int], drawn: list[int]) -> str:
            return cards_text([*drawn, *sorted((pool - Counter(drawn)).elements())])

        plain.deal(rest(whole, stocks.pop(0)))
        done = 0
        for player, action in history:
            if player == pyspiel.PlayerId.CHANCE:
                continue
            assert plain.seat == player
            before = plain.clone()
            if plain.play(action) and not plain.state.stock_public:
                pool = Counter(before.state.discards[: before.state.num_discards - 1].tolist())
                plain, restocks = before, restocks + 1
                plain.play(action, rest(pool, stocks.pop(0)))
            if plain.state.rounds_done > done and not plain.over:
                plain.deal(rest(whole, stocks.pop(0)))
            done = int(plain.state.rounds_done)
        assert plain.over and not stocks
        assert plain.scores == tuple(last._states[0].scores[: game.num_players()])
        assert (plain.state.hand == last._states[0].hand).all()
    assert restocks or name != "tiny, new stocks"


# Information


@pytest.mark.parametrize("name", GAMES)
def test_information_states_are_what_a_seat_has_seen(name: str) -> None:
    """Equal texts, equal Views, moves and sequences of Views; equal sequences, equal texts."""
    game = game_of(name)
    known: dict[tuple[int, str], tuple[bytes, list[int], int]] = {}
    texts: dict[tuple[int, int], str] = {}
    again = 0
    sequences: list[int] = []
    for state in playouts(game, 800 if "tiny" in name else 10 if game.rules.contracts else 4):
        if not state.history():
            sequences = [seat for seat in range(game.num_players())]
        if state.is_chance_node() or state.is_terminal():
            continue
        for seat in range(game.num_players()):
            own = state.view(seat).tobytes()
            sequences[seat] = hash((sequences[seat], own))
            text = state.information_state_string(seat)
            found = own, state.legal_actions(seat), sequences[seat]
            again += (seat, text) in known
            assert known.setdefault((seat, text), found) == found
            assert texts.setdefault((seat, sequences[seat]), text) == text
    assert again > 500 or "tiny" not in name


def test_information_states_read_well() -> None:
    game = openspiel.load_game(TINY, dealer=0, overrides={"stock_out": "shuffle"})
    state = game.new_initial_state()
    three, four = 2, 3
    for action in (four, three, WILD, three):
        state.apply_action(action)
    assert state.information_state_string(0) == "round 1 dealer 0: 3c 3c"
    state.apply_action(four)
    for move in ("pass", "pass", "stock"):
        state.apply_action(game.table.id(move))
    assert state.is_chance_node() and state.chance_outcomes() == [(WILD, 1.0)]
    state.apply_action(WILD)
    shown = "round 1 dealer 0: {} up 4c | 1 pass | 0 pass | 1 stock{}"
    assert state.information_state_string(0) == shown.format("3c 3c", "")
    assert state.information_state_string(1) == shown.format("4c **", " **")
    for move in ("discard 4c", "take", "lay G3 3c3c", "discard 4c"):
        state.apply_action(game.table.id(move))
    assert state.is_terminal() and state.returns() == pytest.approx([0.3, -0.3])
    assert state.information_state_string(1).endswith(
        " | 1 stock ** | 1 discard 4c | 0 take | 0 lay G3 3c3c | 0 discard 4c | out 0 30"
    )


@pytest.mark.parametrize("name", ["tiny", "international, four players"])
def test_observations_are_those_of_the_package(name: str) -> None:
    game = game_of(name)
    checked = 0
    for state in playouts(game, 3):
        for seat in range(game.num_players()):
            vector, text = np.array(state.observation_tensor(seat), np.float32), state.observation_string(seat)
            if state.view(seat) is None:
                assert not vector.any() and text == ""
                continue
            plain = Game(game.rules, game.num_players(), seed=0)
            plain._states[:] = state._states
            assert np.array_equal(vector, plain.observation(seat)) and text
            checked += 1
    assert checked > 20


# Returns


@pytest.mark.parametrize("name", GAMES)
def test_returns_are_the_points_of_the_rounds(name: str) -> None:
    """Zero-sum, within the bounds, and the sum of what the engine's reward pays for each round."""
    game = game_of(name)
    paid, done, ends = np.zeros(game.num_players()), 0, 0
    games = 20 if game.rules.contracts else 6
    for state in playouts(game, games):
        table = state._states[0]
        if not state.history():
            paid[:], done = 0, 0
        if table.rounds_done > done:
            done = int(table.rounds_done)
            sign = -1 if game.rules.scoring == "losers_penalty" else 1
            paid += points_reward([sign * float(points) for points in table.last_points[: game.num_players()]])
        if not state.is_terminal():
            assert not any(state.returns())
            continue
        ends += 1
        assert state.returns() == pytest.approx(paid) and sum(state.returns()) == pytest.approx(0)
        assert game.min_utility() <= min(state.returns()) and max(state.returns()) <= game.max_utility()
        assert len(state.history()) <= game.max_history_length()
    assert ends == games and done == game.rules.game_rounds


@pytest.mark.parametrize(("overrides", "gained"), [
    ({}, 268), ({"going_rummy": "double"}, 2 * 268), ({"going_rummy": "plus_10"}, 278), ({"points": {"9": -90}}, 268 - 4 * 99),
])  # fmt: skip
def test_the_dearest_deal_is_within_the_bounds(overrides: dict[str, Any], gained: int) -> None:
    """One of six goes out in one turn, the others hold all cards from seven to king and two sixes."""
    game = openspiel.load_game("basic", players=6, overrides={**ONE_DEAL, **overrides})
    dear = [rank + suit for rank in "TJQK987" for suit in "cdhs"] + ["6c", "6d"]
    hands = ["3c 3d 3h", *(" ".join(dear[seat::5]) for seat in range(5))]
    position = {"rules": "basic", "overrides": {**ONE_DEAL, **overrides}, "to_act": 0, "hands": hands, "stock": "4c"}
    state = game.new_initial_state()
    state.apply_action(0)
    state._dealt, state._states[:] = None, Game.from_position(position)._states
    state.apply_action(game.table.id("lay G3 3c3d3h"))
    assert state.is_terminal() and state.returns() == pytest.approx([gained / 100, *[-gained / 500] * 5])
    assert game.min_utility() <= min(state.returns()) and max(state.returns()) <= game.max_utility()


# The tiny game


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    spec = importlib.util.spec_from_file_location("exploitability", ROOT / "benchmarks" / "exploitability.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def tree(benchmark: Any) -> Any:
    return benchmark.extensive_form(load_rules(TINY))


def test_the_tiny_game_is_enumerated(tree: Any) -> None:
    """Some thousand information states, the probabilities of all ends sum to one, and OpenSpiel reads the same game."""
    assert len(tree.decisions) == 6516 and sum(len(one.moves) > 1 for one in tree.decisions.values()) == 3647
    words = Counter(tree.game.table.text(move).split()[0] for one in tree.decisions.values() for move in one.moves)
    assert set(words) == {"stock", "take", "buy", "pass", "lay", "off", "discard"}
    game = pyspiel.load_efg_game(tree.text())
    names, total, stack = set(), 0.0, [(game.new_initial_state(), 1.0)]
    while stack:
        state, chance = stack.pop()
        if state.is_terminal():
            total += chance
            assert sum(state.returns()) == 0
            continue
        if state.is_chance_node():
            outcomes = state.chance_outcomes()
            assert sum(share for _, share in outcomes) == pytest.approx(1)
        else:
            names.add(state.information_state_string())
            moves = state.legal_actions()
            outcomes = [(move, 1 / len(moves)) for move in moves]
        stack += [(state.child(action), chance * share) for action, share in outcomes]
    assert total == pytest.approx(1) and names == {one.name for one in tree.decisions.values()}


def test_random_play_is_worth_the_same_in_both_forms(tree: Any, benchmark: Any) -> None:
    """Sampled on the bridge and computed on the extensive form."""
    game = pyspiel.load_efg_game(tree.text())
    policy = pyspiel.TabularPolicy(benchmark.scripted_policy(tree, "random"))
    value = pyspiel.expected_returns(game.new_initial_state(), policy, -1, True)[0]
    ends = [state.returns()[0] for state in playouts(tree.game, 1500) if state.is_terminal()]
    assert abs(np.mean(ends) - value) < 4 * np.std(ends) / np.sqrt(len(ends))


def test_cfr_comes_near_an_equilibrium_as_the_page_says(tree: Any, benchmark: Any) -> None:
    """The scripted players' numbers are those of the page; a few iterations of CFR are enough to get below a hundredth."""
    found = benchmark.results(tree, 40)
    cfr = found["nash_conv"]["CFR+"]
    assert cfr < 0.01 * found["scale"] and cfr < benchmark.results(tree, 2)["nash_conv"]["CFR+"] / 10
    page = (ROOT / "docs" / "openspiel.md").read_text(encoding="utf-8")
    for name in ("random", "dumper", "greedy"):
        points = found["nash_conv"][name]
        assert f"| `{name}` | {points:.2f} | {points / found['scale']:.3f} |" in page
        assert points > 10 * cfr
    for text in (f"{found['information_states']:,} information states", f"scale of {found['scale']:.0f} points"):
        assert text in page


def test_rules_of_other_small_packs_are_enumerated_too(benchmark: Any) -> None:
    """Two suits, one copy of each card, runs of two naturals, new stocks, a hand of one card."""
    rules = load_rules(TINY).replace(
        suits=["c", "d"], decks=1, jokers=0, contracts=[[0, 1]], deal=[1], stock_out="shuffle", min_naturals=2, max_turns=1
    )
    found = benchmark.extensive_form(rules)
    assert 100 < len(found.decisions) < 10_000 and found.lowest < 0 < found.highest
