"""Records: a game is replayed from its record to the same bytes, in any process; damaged records are refused.

The form is that of the notation's page, "Records".
"""

from __future__ import annotations

import copy
import hashlib
import json
import os
import pickle
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rummy_env
from rummy_env.cards import cards_text, parse_cards
from rummy_env.engine.apply import NO_ORDER, apply
from rummy_env.engine.deal import deal_round, round_deck
from rummy_env.engine.state import MAX_CARDS
from rummy_env.engine.tables import compile_tables
from rummy_env.game import Game, replay, replay_steps
from rummy_env.position import position_of
from rummy_env.record import FIELDS, parse_record, read_records, write_records
from rummy_env.rules import FIELDS as RULE_FIELDS
from rummy_env.rules import load_rules, preset
from tests.recorded import choose, play_on, restocks
from tests.reference.ruleset import resolve
from tests.reference.table import ReferenceTable

Record = dict[str, Any]

CONFIGS = Path(__file__).parent.parent / "configs"

GAMES: dict[str, tuple[int, str, dict[str, Any]]] = {
    "2 random": (2, "random", {"rounds": [1, 2], "max_turns": 20}),
    "3 eager": (3, "eager", {"rounds": [1, 4, 2]}),
    "6 late, two extra cards": (6, "late", {"rounds": [2, 1], "buy_extra": 2, "max_turns": 25}),
    "5 buyers, one new stock": (5, "buyer", {"rounds": [3, 3], "max_recycles": 1, "jokers": 2}),
    "6 random, no new stock": (6, "random", {"rounds": [7, 5], "stock_out": "end"}),
    "6 eager, other switches": (
        6, "eager",
        {"rounds": [1, 2, 3], "turn_player_may_buy": True, "same_turn_layoff": True, "min_naturals": 0, "buy_extra": 0},
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def games() -> dict[str, Game]:
    """The finished games."""
    return {
        name: play_on(Game(players=players, seed=at, overrides=overrides), style, at)
        for at, (name, (players, style, overrides)) in enumerate(GAMES.items(), start=20)
    }


# Round trips


def test_the_games_have_everything_that_a_record_must_keep(games: dict[str, Game]) -> None:
    """New stocks for a draw and for a buy, and every way in which a round ends."""
    needed: Counter[str] = Counter()
    ends: Counter[str] = Counter()
    for game in games.values():
        record = game.record()
        needed.update(restocks(record))
        ends.update(one["end"] for one in record["rounds"])
    assert needed["stock"] >= 5 and needed["buy"] >= 5 and set(needed) == {"stock", "buy"}
    assert min(ends[end] for end in ("out", "blocked", "turn_limit")) >= 2, ends


@pytest.mark.parametrize("name", GAMES)
def test_a_game_is_replayed_to_the_same_bytes(games: dict[str, Game], name: str) -> None:
    game = games[name]
    record = json.loads(json.dumps(game.record()))
    again = replay(record)
    assert again.over and again.state.tobytes() == game.state.tobytes()
    assert (again.rules, again.names, again.seed) == (game.rules, game.names, game.seed)
    assert again.record() == record


@pytest.mark.parametrize("name", GAMES)
def test_every_state_on_the_way_is_the_same(name: str) -> None:
    players, style, overrides = GAMES[name]
    game = Game(players=players, seed=77, overrides=overrides)
    rng = np.random.default_rng(77)
    states = [game.state.tobytes()]
    while not game.over:
        game.play(choose(game, style, rng))
        states.append(game.state.tobytes())
    assert [again.state.tobytes() for again, _ in replay_steps(game.record())] == states


def test_the_form_of_a_record() -> None:
    """The fields of the notation, in its order; every rule field; plain JSON."""
    game = play_on(Game(players=3, seed=7, names=["greedy", "random", "planner"], rounds=[1, 2]), "eager")
    record = game.record()
    assert list(record) == list(FIELDS) == ["format", "rules", "players", "seed", "rounds", "scores"]
    assert record["format"] == "rummy-record/1" and record["seed"] == 7
    assert record["players"] == ["greedy", "random", "planner"] == list(game.names)
    assert list(record["rules"]) == list(RULE_FIELDS) and record["rules"]["rounds"] == [1, 2]
    assert [list(one) for one in record["rounds"]] == [["round", "dealer", "deck", "moves", "end", "points"]] * 2
    assert [one["round"] for one in record["rounds"]] == [1, 2]
    first, second = record["rounds"]
    assert second["dealer"] == (first["dealer"] + 1) % 3
    assert record["scores"] == [sum(points) for points in zip(first["points"], second["points"], strict=True)]
    assert json.loads(json.dumps(record)) == record


def test_the_deck_is_in_the_order_in_which_cards_leave_the_pack() -> None:
    """Dealt one at a time, first to the seat after the dealer; then the up-card; then the stock from its top."""
    game = Game(players=4, seed=3, dealer=2)
    one = game.record()["rounds"][0]
    deck = one["deck"].split()
    position = game.position()
    assert one["dealer"] == 2 and len(deck) == 104
    for distance in range(1, 5):
        assert sorted(deck[distance - 1 : 40 : 4]) == sorted(position["hands"][(2 + distance) % 4].split())
    assert deck[40] == position["discards"]
    assert deck[41:] == position["stock"].split()[::-1]


def test_a_new_stock_stands_before_the_move_that_needed_it(games: dict[str, Game]) -> None:
    """Its cards in drawing order: the move takes the first of them (a buy perhaps after the last of the old stock)."""
    record = games["6 late, two extra cards"].record()
    before: dict[str, Any] = {}
    checked = 0
    for game, move in replay_steps(record):
        if move is not None and move.restock is not None:
            cards = move.restock.split()
            extra = 2 if move.text == "buy" else 1
            assert sorted(cards) == sorted(before["discards"].split()[:-1])
            drawn = extra - len(before["stock"].split())
            assert game.position()["stock"].split() == cards[drawn:][::-1]
            checked += 1
        before = game.position()
    assert checked >= 3


def test_the_reference_plays_a_record_to_the_same_end(games: dict[str, Game]) -> None:
    """Everything needed to replay a game is in its record: an implementation without this engine comes to the same points."""
    for name in ("3 eager", "6 late, two extra cards", "5 buyers, one new stock"):
        record = games[name].record()
        rules = resolve("international", {key: record["rules"][key] for key in GAMES[name][2]})
        scores = [0] * len(record["players"])
        for one in record["rounds"]:
            deck = one["deck"].split()
            table = ReferenceTable.deal(rules, len(scores), one["round"], one["dealer"], deck, scores)
            restock = None
            for line in one["moves"]:
                seat, move = line.split(" ", 1)
                if seat == "*":
                    restock = move.split()[1:]
                    continue
                assert table.to_act == int(seat)
                table.play(move, restock)
                restock = None
            assert (table.end, table.points) == (one["end"], one["points"])
            scores = [score + points for score, points in zip(scores, one["points"], strict=True)]
        assert scores == record["scores"]


PROGRAM = """
import hashlib, sys
import rummy_env
for record in rummy_env.read_records(sys.argv[1]):
    print(hashlib.sha256(rummy_env.replay(record).state.tobytes()).hexdigest())
"""


def test_another_process_replays_to_the_same_bytes(games: dict[str, Game], tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl"
    unfinished = play_on(Game(players=4, seed=9, rounds=[5]), "buyer", 9, 150)
    known = [*games.values(), unfinished]
    write_records(path, [game.record() for game in known])
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [hashlib.sha256(game.state.tobytes()).hexdigest() for game in known]


@pytest.mark.parametrize("moves", [0, 1, 2, 40, 250])
def test_an_unfinished_game_goes_on_after_its_replay(moves: int) -> None:
    """No end and points in its last round; the shuffles and decks to come are the same."""
    game = play_on(Game(players=4, seed=5, rounds=[1, 2], overrides={"max_turns": 20}), "late", 5, moves)
    record = game.record()
    last = record["rounds"][-1]
    assert not game.over and "end" not in last and "points" not in last
    again = replay(record)
    assert again.record() == record
    for one in (game, again):
        play_on(one, "buyer", 6)
    assert again.over and again.state.tobytes() == game.state.tobytes()


def test_a_game_at_the_beginning_of_a_round() -> None:
    """The next round is dealt at once, so its deck is in the record before anybody has moved in it."""
    game = Game(players=3, seed=2, rounds=[1, 2], overrides={"max_turns": 1})
    while game.round_number == 1:
        play_on(game, "random", 0, 1)
    record = game.record()
    assert [len(one["moves"]) > 0 for one in record["rounds"]] == [True, False]
    assert replay(record).state.tobytes() == game.state.tobytes()


def test_without_a_seed_one_is_drawn_and_recorded() -> None:
    game = play_on(Game(players=2, rounds=[1], overrides={"max_turns": 5}))
    seed = game.record()["seed"]
    assert seed == game.seed and 0 <= seed < 2**53
    assert replay(game.record()).state.tobytes() == game.state.tobytes()


# Positions


POSITION: dict[str, Any] = {
    "rules": "international", "overrides": {"rounds": [1, 2]}, "dealer": 1, "to_act": 0, "phase": "play", "taken": "7d",
    "hands": ["7c 7d 7h 9s 9h Kd", "3c 4c"], "stock": "5h", "discards": "8d Qs 9c Th Jh", "scores": [12, 30],
}  # fmt: skip


@pytest.mark.parametrize("seed", [None, 4])
def test_a_game_from_a_position(seed: int | None) -> None:
    """It has `position` in place of `deck`; scores go on from those of the position."""
    game = Game.from_position(POSITION, ["a", "b"], seed)
    start = game.position()
    play_on(game, "random", 1)
    record = game.record()
    first, second = record["rounds"]
    assert list(first) == ["round", "dealer", "position", "moves", "end", "points"] and "deck" in second
    assert (first["round"], first["dealer"], first["position"]) == (1, 1, start)
    assert record["players"] == ["a", "b"] and record["seed"] == seed
    assert record["scores"] == [
        score + sum(points) for score, *points in zip([12, 30], first["points"], second["points"], strict=True)
    ]
    again = replay(json.loads(json.dumps(record)))
    assert again.state.tobytes() == game.state.tobytes() and again.record() == record


def test_a_short_position_in_a_record_is_enough() -> None:
    record = play_on(Game.from_position(POSITION), "random", 1).record()
    assert replay({**record, "rounds": [{**record["rounds"][0], "position": POSITION}, record["rounds"][1]]}).over


# Records from elsewhere: their shuffles are not those of the seed


@pytest.mark.parametrize("seed", [None, 4321])
@pytest.mark.parametrize("name", ["3 eager", "6 late, two extra cards", "5 buyers, one new stock"])
def test_decks_and_new_stocks_of_a_record_are_those_that_are_played(
    games: dict[str, Game], name: str, seed: int | None
) -> None:
    """The seed is only information: every position is the same, whatever it is."""
    known = games[name].record()
    record = {**known, "seed": seed}
    expected = [game.position() for game, _ in replay_steps(known)]
    assert [game.position() for game, _ in replay_steps(record)] == expected
    assert replay(record).record() == record


def test_dealing_the_own_deck_again_changes_nothing(games: dict[str, Game]) -> None:
    """A prescribed deck consumes the game's random stream as the own one does, in every round."""
    for name, (players, style, overrides) in GAMES.items():
        game = Game(players=players, seed=1, overrides=overrides)
        tables = compile_tables(game.rules)
        seen = set()
        rng = np.random.default_rng(3)
        while not game.over:
            if not game.record()["rounds"][-1]["moves"]:
                before = game.state.tobytes()
                deck = np.zeros(MAX_CARDS, np.int8)
                deck = deck[: round_deck(tables, game.state, deck)].copy()
                game.deal(cards_text(deck))
                assert game.state.tobytes() == before, name
                states = game.state_copy()
                deal_round(tables, states[0], deck)
                assert states.tobytes() == before
                seen.add(int(game.state.round_index))
            game.play(choose(game, style, rng))
        assert len(seen) == len(overrides["rounds"])


def before_the_first_restock(record: Record) -> tuple[Game, list[str], str]:
    """The game of a record before the first move that needs a new stock, that stock, and the move."""
    lines = record["rounds"][0]["moves"]
    at = next(at for at, line in enumerate(lines) if line.startswith("*"))
    start = {name: record["rounds"][0][name] for name in ("round", "dealer", "deck")}
    scores = [0] * len(record["players"])
    game = replay({**record, "scores": scores, "rounds": [{**start, "moves": lines[:at]}]})
    return game, lines[at].split()[2:], lines[at + 1][2:]


def test_a_prescribed_new_stock_leaves_the_random_stream_as_a_shuffle_does(games: dict[str, Game]) -> None:
    game, cards, move = before_the_first_restock(games["6 late, two extra cards"].record())
    same, other = game.clone(), game.clone()
    assert game.play(move) and same.play(move, " ".join(cards)) and other.play(move, " ".join(cards[::-1]))
    assert game.state.tobytes() == same.state.tobytes() and game.record() == same.record()
    assert other.state.counter == game.state.counter and other.position()["stock"] != game.position()["stock"]
    assert other.record()["rounds"][0]["moves"][-2] == f"* restock {' '.join(cards[::-1])}"


# Copies


def copies(game: Game) -> list[Game]:
    return [game.clone(), copy.copy(game).clone(), copy.deepcopy(game), pickle.loads(pickle.dumps(game))]


def test_copies_keep_the_record_and_go_their_own_way() -> None:
    game = play_on(Game(players=3, seed=8, rounds=[1, 2], overrides={"max_turns": 8}, names=["x", "y", "z"]), "eager", 8, 120)
    record = game.record()
    assert len(record["rounds"]) == 2
    for other in copies(game):
        assert other.record() == record and other.state.tobytes() == game.state.tobytes()
        play_on(other, "eager", 1)
        assert other.over and replay(other.record()).state.tobytes() == other.state.tobytes()
        assert game.record() == record
    given = game.record()
    given["rounds"][0]["moves"].clear()
    given["rules"]["contracts"].clear()
    assert game.record() == record


def test_a_position_in_a_record_is_a_copy() -> None:
    game = Game.from_position(POSITION)
    game.record()["rounds"][0]["position"]["hands"].clear()
    assert game.record()["rounds"][0]["position"] == game.position()


# Names, decks and new stocks that are given to a game


@pytest.mark.parametrize("names", ["abc", ["a", "b"], ["a", "b", ""], ["a", "b", 3], ["a", "b", "\x1b[2J"], {"a": 1}])
def test_names_that_are_refused(names: Any) -> None:
    with pytest.raises(ValueError, match="name"):
        Game(players=3, names=names)


def test_default_names() -> None:
    assert Game(players=3).names == ("player_0", "player_1", "player_2")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda deck: deck[:-1], ("the deck has", "of the card", "the pack")),
        (lambda deck: [*deck, "7s"], ("the deck has 3 of the card 7s, the pack 2",)),
        (lambda deck: ["1s", *deck[1:]], ("no such card: '1s'",)),
    ],
)  # fmt: skip
def test_decks_that_are_refused(change: Callable[[list[str]], list[str]], words: tuple[str, ...]) -> None:
    game = Game(players=3, seed=1)
    deck = game.record()["rounds"][0]["deck"].split()
    before = game.record(), game.state.tobytes()
    refused(lambda: game.deal(" ".join(change(deck))), words)
    assert (game.record(), game.state.tobytes()) == before
    game.play(game.moves()[0])
    refused(lambda: game.deal(" ".join(deck)), ("only at the beginning of a round",))


def test_new_stocks_that_are_refused(games: dict[str, Game]) -> None:
    """A refused restock changes nothing."""
    game, cards, move = before_the_first_restock(games["6 late, two extra cards"].record())
    early = Game(players=3, seed=1, overrides={"buy_first_upcard": False})
    for table, text, given, words in (
        (game, move, cards[:-1], ("restock: the new stock has", "of the card", "the discards below the top one")),
        (game, move, [*cards, "7s", "7s"], ("restock: the new stock has", "7s")),
        (game, move, ["0s"], ("restock", "'0s'")),
        (game, move, [], ("restock",)),
        (early, "stock", [], ("stock: restock: the move needs no new stock",)),
        (early, "stock", ["7s"], ("stock: restock: the new stock has 1 of the card 7s",)),
    ):
        before = table.record(), table.state.tobytes()
        refused(lambda table=table, text=text, given=given: table.play(text, " ".join(given)), words)  # type: ignore[misc]
        assert (table.record(), table.state.tobytes()) == before
    assert game.play(move, " ".join(cards))


# Damages


@pytest.fixture(scope="module")
def sound() -> Record:
    """The record of a finished game of two rounds, with a new stock in the first."""
    for seed in range(100):
        game = play_on(Game(players=3, seed=seed, rounds=[4, 1], overrides={"max_turns": 27}), "late", seed)
        record = game.record()
        if any(line.startswith("*") for line in record["rounds"][0]["moves"]):
            return record
    raise AssertionError("no game with a new stock")


def refused(call: Callable[[], object], words: tuple[str, ...]) -> None:
    with pytest.raises(ValueError) as error:
        call()
    for word in words:
        assert word in str(error.value), (word, str(error.value))


def lines_of(record: Record, index: int = 0) -> list[str]:
    found: list[str] = record["rounds"][index]["moves"]
    return found


def restock_at(record: Record) -> int:
    return next(at for at, line in enumerate(lines_of(record)) if line.startswith("*"))


def swap_deck(record: Record) -> None:
    cards = record["rounds"][1]["deck"].split()
    at = next(at for at, card in enumerate(cards) if card != "7s")
    cards[at] = "7s"
    record["rounds"][1]["deck"] = " ".join(cards)


def other_seat(record: Record) -> None:
    line = lines_of(record)[4]
    lines_of(record)[4] = f"{(int(line[0]) + 1) % 3}{line[1:]}"


def change_restock(record: Record) -> None:
    at = restock_at(record)
    cards = lines_of(record)[at].split()
    cards[2] = "As" if cards[2] != "As" else "Ks"
    lines_of(record)[at] = " ".join(cards)


def change_move(record: Record, text: str) -> None:
    lines_of(record)[0] = lines_of(record)[0][:2] + text


def replace_restock(record: Record, text: str) -> None:
    lines_of(record)[restock_at(record)] = text


def extra_round(record: Record) -> None:
    record["rounds"].append(copy.deepcopy(record["rounds"][1]))


def without(record: Record, *names: str) -> None:
    for name in names:
        del record["rounds"][1][name]


DAMAGES: list[tuple[str, Callable[[Record], object], tuple[str, ...]]] = [
    ("no format", lambda r: r.pop("format"), ("format must be 'rummy-record/1'", "None")),
    ("another format", lambda r: r.update(format="rummy-record/2"), ("format must be 'rummy-record/1'", "'rummy-record/2'")),
    ("an unknown field", lambda r: r.update(date="today"), ("unknown field of a record: 'date'", "scores")),
    ("no scores", lambda r: r.pop("scores"), ("a record needs the field scores",)),
    ("no seed", lambda r: r.pop("seed"), ("a record needs the field seed",)),
    ("a negative seed", lambda r: r.update(seed=-1), ("seed", "-1")),
    ("a seed that is text", lambda r: r.update(seed="7"), ("seed", "'7'")),
    ("a rule missing", lambda r: r["rules"].pop("max_buys"), ("rules needs every rule field", "max_buys")),
    ("an unknown rule", lambda r: r["rules"].update(max_buyz=1), ("rules: unknown rule field 'max_buyz'",)),
    ("a preset", lambda r: r["rules"].update(preset="basic"), ("rules", "preset")),
    ("a wrong rule", lambda r: r["rules"].update(ace="middle"), ("rules: ace", "'middle'")),
    ("rules by name", lambda r: r.update(rules="international"), ("rules must be an object", "'international'")),
    ("a player too few", lambda r: r.update(players=["a", "b"]), ("points must be a list of 2 whole numbers",)),
    ("no players", lambda r: r.update(players=[]), ("players must be a list of 2 to 6 names",)),
    ("a name that is no text", lambda r: r.update(players=["a", "b", 3]), ("players: every name", "3")),
    ("no rounds", lambda r: r.update(rounds=[]), ("rounds must be a list of at least one round",)),
    ("a round that is no object", lambda r: r.update(rounds=[1]), ("rounds[0] must be an object, not 1",)),
    ("an unknown field of a round", lambda r: r["rounds"][1].update(winner=0), ("rounds[1]", "'winner'")),
    ("another round number", lambda r: r["rounds"][1].update(round=4), ("rounds[1] round: 4 is given, but it is 1",)),
    ("a round beyond the contracts", lambda r: r["rounds"][1].update(round=9), ("rounds[1] round", "9")),
    ("a dealer beyond the seats", lambda r: r["rounds"][0].update(dealer=3), ("rounds[0] dealer", "0 to 2", "3")),
    (
        "another dealer of the next round",
        lambda r: r["rounds"][1].update(dealer=r["rounds"][0]["dealer"]),
        ("rounds[1] dealer", "is given, but it is"),
    ),
    (
        "another first dealer",
        lambda r: r["rounds"][0].update(dealer=(r["rounds"][0]["dealer"] + 1) % 3),
        ("rounds[0] moves[0]", "is to act"),
    ),
    ("no deck", lambda r: r["rounds"][0].pop("deck"), ("rounds[0] needs either the field deck or the field position",)),
    ("a deck and a position", lambda r: r["rounds"][0].update(position={}), ("rounds[0] needs either",)),
    (
        "a later position",
        lambda r: (without(r, "deck"), r["rounds"][1].update(position=POSITION)),
        ("rounds[1] position: only the first",),
    ),
    (
        "an unknown card in a deck",
        lambda r: r["rounds"][0].update(deck="1c " + r["rounds"][0]["deck"][3:]),
        ("rounds[0] deck", "'1c'"),
    ),
    (
        "a card too many",
        lambda r: r["rounds"][0].update(deck=r["rounds"][0]["deck"] + " As"),
        ("rounds[0] deck", "3 of the card As, the pack 2"),
    ),
    ("a card too few", lambda r: r["rounds"][0].update(deck=r["rounds"][0]["deck"][:-3]), ("rounds[0] deck", "the deck has")),
    ("a wrong card in a later deck", swap_deck, ("rounds[1] deck", "of the card")),
    ("a deck that is a list", lambda r: r["rounds"][0].update(deck=["As"]), ("rounds[0] deck: must be a text", "['As']")),
    (
        "other cards dealt",
        lambda r: r["rounds"][0].update(deck=" ".join(sorted(r["rounds"][0]["deck"].split()))),
        ("rounds[0]", "moves["),
    ),
    ("moves that are text", lambda r: r["rounds"][0].update(moves="0 pass"), ("rounds[0] moves must be a list of texts",)),
    ("a move that is a number", lambda r: lines_of(r).insert(2, 3), ("rounds[0] moves[2]", "not 3")),  # type: ignore[arg-type]
    (
        "a move without a seat",
        lambda r: lines_of(r).insert(2, "pass"),
        ("rounds[0] moves[2] 'pass' must be a seat from 0 to 2",),
    ),
    ("a seat that is not there", lambda r: lines_of(r).insert(2, "4 pass"), ("rounds[0] moves[2] '4 pass' must be a seat",)),
    (
        "a move with a control character",
        lambda r: change_move(r, "\x1b[2J"),
        ("rounds[0] moves[0]", r"\x1b[2J' must be a seat"),
    ),
    ("the wrong seat", other_seat, ("rounds[0] moves[4]", "is to act")),
    ("no such move", lambda r: change_move(r, "fold"), ("rounds[0] moves[0]: no such move: 'fold'",)),
    ("an illegal move", lambda r: change_move(r, "discard As"), ("rounds[0] moves[0]: discard As: the buy window is open",)),
    ("a move twice", lambda r: lines_of(r).insert(5, lines_of(r)[5]), ("rounds[0] moves[6]",)),
    ("a move left out", lambda r: lines_of(r).pop(7), ("rounds[0] moves[",)),
    ("a restock left out", lambda r: lines_of(r).pop(restock_at(r)), ("rounds[0] moves[", "needs a new stock", "* restock")),
    ("a restock too early", lambda r: lines_of(r).insert(0, "* restock 4h"), ("rounds[0] moves[1]", "restock")),
    (
        "a restock twice",
        lambda r: lines_of(r).insert(restock_at(r), lines_of(r)[restock_at(r)]),
        ("a second restock before one move",),
    ),
    ("another card in a restock", change_restock, ("rounds[0] moves[", "restock: the new stock has", "of the card")),
    ("an unknown card in a restock", lambda r: replace_restock(r, "* restock 4x"), ("rounds[0] moves[", "'4x'")),
    ("an empty restock", lambda r: replace_restock(r, "* restock "), ("rounds[0] moves[", "restock")),
    ("a restock at the end", lambda r: lines_of(r).append("* restock 4h"), ("rounds[0] moves[", "none follows")),
    ("another line with a star", lambda r: lines_of(r).insert(1, "* shuffle"), ("rounds[0] moves[1]", "'* shuffle'")),
    (
        "moves after the end of a round",
        lambda r: lines_of(r).append("0 pass"),
        ("rounds[0] moves[", "'0 pass': the round has ended"),
    ),
    ("moves after the end of the game", lambda r: lines_of(r, 1).append("0 pass"), ("rounds[1] moves[", "the round has ended")),
    ("a move of the last round missing", lambda r: lines_of(r, 1).pop(), ("rounds[1] end", "the moves do not end the round")),
    ("a move of an earlier round missing", lambda r: lines_of(r).pop(), ("rounds[0] end", "the moves do not end the round")),
    ("no end", lambda r: without(r, "end"), ("rounds[1] needs both the fields end and points",)),
    ("no points", lambda r: without(r, "points"), ("rounds[1] needs both the fields end and points",)),
    (
        "no end of the last round",
        lambda r: without(r, "end", "points"),
        ("rounds[1] needs the fields end and points", "its moves end the round"),
    ),
    (
        "no end of an earlier round",
        lambda r: (r["rounds"][0].pop("end"), r["rounds"][0].pop("points")),
        ("rounds[0] needs the fields end and points, as another round follows",),
    ),
    (
        "another end",
        lambda r: r["rounds"][0].update(end="blocked"),
        ("rounds[0] end: 'blocked' is given, but the moves end the round with",),
    ),
    (
        "an unknown end",
        lambda r: r["rounds"][0].update(end="gin"),
        ("rounds[0] end must be one of out, blocked, turn_limit, not 'gin'",),
    ),
    ("an end of null", lambda r: r["rounds"][1].update(end=None), ("rounds[1] end must be one of", "None")),
    ("other points", lambda r: r["rounds"][0]["points"].__setitem__(1, 7777), ("rounds[0] points", "7777")),
    (
        "points of a player too few",
        lambda r: r["rounds"][0]["points"].pop(),
        ("rounds[0] points must be a list of 3 whole numbers",),
    ),
    ("points that are true", lambda r: r["rounds"][0].update(points=[True, 1, 2]), ("rounds[0] points", "True")),
    ("other scores", lambda r: r["scores"].__setitem__(0, 5555), ("scores", "5555", "but the game comes to")),
    ("scores of a player too many", lambda r: r["scores"].append(0), ("scores must be a list of 3 whole numbers",)),
    ("a round too many", extra_round, ("rounds[2]: the game has ended with rounds[1]",)),
    ("a round too few", lambda r: r["rounds"].pop(), ("rounds ends with rounds[0], but the game goes on with round 1",)),
    ("the first round missing", lambda r: r["rounds"].pop(0), ("rounds[0] round: 1 is given, but it is 4",)),
]


@pytest.mark.parametrize(("damage", "words"), [row[1:] for row in DAMAGES], ids=[row[0] for row in DAMAGES])
def test_damaged_records_are_refused(
    sound: Record, damage: Callable[[Record], object], words: tuple[str, ...], tmp_path: Path
) -> None:
    """The message names the field, the card or the move; from a file also its line."""
    record = copy.deepcopy(sound)
    damage(record)
    given = copy.deepcopy(record)
    refused(lambda: replay(record), words)
    assert record == given
    path = tmp_path / "games.jsonl"
    path.write_text(f"{json.dumps(sound)}\n{json.dumps(record)}\n", encoding="utf-8")
    found = read_records(path)
    assert replay(next(found)).over
    try:
        second = next(found)
    except ValueError as error:
        assert str(error).startswith(f"{path}: line 2: ") and all(word in str(error) for word in words)
    else:
        refused(lambda: replay(second), words)


@pytest.mark.parametrize("record", [None, 3, "text", [], ["format"]])
def test_what_is_no_object_is_no_record(record: Any) -> None:
    refused(lambda: replay(record), ("a record must be a JSON object",))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"rules": "house.yaml"}, ("rounds[0] position rules", "'house.yaml'")),
        ({"overrides": {"rounds": [1, 2], "max_buys": 3}}, ("rounds[0] position: its rules are not those of the record",)),
        ({"hands": ["7c 7c 7c 7d", "3c"]}, ("rounds[0] position: hands[0]", "7c")),
        ({"hands": ["7c 1c", "3c"]}, ("rounds[0] position: hands[0]", "'1c'")),
        ({"dealer": 0}, ("rounds[0] dealer: 1 is given, but it is 0",)),
        ({"round": 2}, ("rounds[0] round: 1 is given, but it is 2",)),
        ({"taken": None, "hand": ""}, ("rounds[0] position: unknown field of a position: 'hand'",)),
        ({"scores": [0, 0]}, ("scores", "the game comes to")),
    ],
)  # fmt: skip
def test_damaged_positions_in_records_are_refused(change: dict[str, Any], words: tuple[str, ...]) -> None:
    record = play_on(Game.from_position(POSITION), "random", 1).record()
    record["rounds"][0]["position"] = {**POSITION, **change}
    refused(lambda: replay(record), words)


# Files

LINES: list[tuple[str, bytes, tuple[str, ...]]] = [
    ("half a record", b'{"format": "rummy-record/1", "rules": {', ("not JSON",)),
    ("trailing garbage", b"{} x", ("not JSON: Extra data at column 4",)),
    ("two records in a line", b"{}{}", ("not JSON: Extra data",)),
    ("no JSON at all", b"7s Td", ("not JSON",)),
    ("not UTF-8", b'{"format": "\xff"}', ("not UTF-8 text at byte 13",)),
    ("UTF-16", '{"format": 1}'.encode("utf-16"), ("not UTF-8",)),
    ("a field twice", b'{"format": 1, "format": "rummy-record/1"}', ("the field 'format' stands twice",)),
    ("a number that is none", b'{"format": NaN}', ("NaN",)),
    ("nested too deep", b"[" * 100_000, ("nested too deep",)),
    ("a list", b"[1]", ("a record must be a JSON object, not list",)),
    ("an enormous number", b'{"seed": ' + b"9" * 5000 + b"}", ("limit",)),
]


@pytest.mark.parametrize(("line", "words"), [row[1:] for row in LINES], ids=[row[0] for row in LINES])
def test_damaged_lines_are_named(sound: Record, line: bytes, words: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl"
    path.write_bytes(json.dumps(sound).encode() + b"\n\n" + line + b"\n")
    found = read_records(path)
    assert next(found) == sound
    refused(lambda: next(found), (f"{path}: line 3: ", *words))


def test_files_are_written_and_read_back(games: dict[str, Game], tmp_path: Path) -> None:
    records = [game.record() for game in games.values()]
    records[0]["players"] = ["Zoë", "李"]
    path = tmp_path / "games.jsonl"
    rummy_env.write_records(path, iter(records[:2]))
    assert path.read_bytes().count(b"\n") == 2 and "Zoë".encode() in path.read_bytes()
    assert list(rummy_env.read_records(path)) == records[:2]
    write_records(path, records[2:3], append=True)
    assert list(read_records(str(path))) == records[:3]
    path.write_bytes(path.read_bytes().rstrip(b"\n"))  # as some editors leave it
    write_records(path, records[3:], append=True)
    assert list(read_records(path)) == records
    write_records(path, records[:1])
    assert list(read_records(path)) == records[:1]
    write_records(tmp_path / "new.jsonl", records[:1], append=True)
    write_records(tmp_path / "empty.jsonl", [])
    assert list(read_records(tmp_path / "new.jsonl")) == records[:1] and list(read_records(tmp_path / "empty.jsonl")) == []
    assert sorted(os.listdir(tmp_path)) == ["empty.jsonl", "games.jsonl", "new.jsonl"]


@pytest.mark.parametrize("append", [False, True])
def test_nothing_is_half_written(sound: Record, tmp_path: Path, append: bool) -> None:
    """Where writing fails, the file is as before and no other file is left."""
    path = tmp_path / "games.jsonl"
    write_records(path, [sound])
    before = path.read_bytes()

    def failing() -> Any:
        yield sound
        raise RuntimeError("the game has crashed")

    with pytest.raises(RuntimeError, match="crashed"):
        write_records(path, failing(), append=append)
    refused(lambda: write_records(path, [sound, {**sound, "seed": -1}], append=append), ("records[1]: seed",))
    refused(
        lambda: write_records(path, [{**sound, "rules": sound["rules"] | {"name": "\ud800"}}], append=append), ("records[0]",)
    )
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["games.jsonl"]
    with pytest.raises(OSError):
        write_records(tmp_path / "no folder" / "games.jsonl", [sound], append=append)


def test_a_missing_file() -> None:
    with pytest.raises(FileNotFoundError):
        next(read_records("missing.jsonl"))


def test_parsing_leaves_the_cards_as_they_are(sound: Record) -> None:
    found = parse_record(sound)
    assert found.rounds[0].deck == sound["rounds"][0]["deck"] and len(parse_cards(found.rounds[0].deck)) == 104
    assert found.rules == preset("international").replace(rounds=[4, 1], max_turns=27)


# The house rules in configs/

HOUSES = sorted(path.name for path in CONFIGS.glob("house_*.yaml"))


def test_there_are_house_rules() -> None:
    assert HOUSES == ["house_short.yaml", "house_strict_melds.yaml", "house_two_buys.yaml"]


@pytest.mark.parametrize("name", HOUSES)
def test_house_rules_are_played_and_replayed(name: str) -> None:
    """Whole games of 2 and 5 players under the rules of the file, each replayed from its record."""
    rules = load_rules(CONFIGS / name)
    for players in (2, 5):
        game = play_on(Game(CONFIGS / name, players, seed=6, overrides={"max_turns": 25}), "eager", 6)
        record = json.loads(json.dumps(game.record()))
        assert [one["round"] for one in record["rounds"]] == list(rules.sequence)
        assert replay(record).state.tobytes() == game.state.tobytes()
        assert any(move.startswith("lay", 2) for one in record["rounds"] for move in one["moves"])


def test_what_the_house_rules_change() -> None:
    two, strict, short = (load_rules(CONFIGS / f"house_{name}.yaml") for name in ("two_buys", "strict_melds", "short"))
    assert (two.max_buys, two.card_points["wild"], two.final_discard) == (2, 20, True)
    assert strict.distinct_groups and strict.separate_runs and strict.same_turn_layoff and strict.min_naturals == 2
    assert (short.jokers, short.wild_rank, short.sequence, short.pack().count("**")) == (4, None, (1, 2, 3, 3), 4)
    base = preset("international").to_dict()
    changed = [{name for name, value in rules.to_dict().items() if value != base[name]} for rules in (two, strict, short)]
    assert changed == [
        {"name", "max_buys", "points", "final_discard"},
        {"name", "distinct_groups", "separate_runs", "min_naturals", "same_turn_layoff"},
        {"name", "wild_rank", "jokers", "run_length", "contracts", "deal", "rounds"},
    ]


def test_the_engine_plays_moves_of_a_record_alone(sound: Record) -> None:
    """A record is enough for the kernels too: the last State of a replay comes from decks, moves and orders alone."""
    game = replay({**sound, "seed": None})
    expected = position_of(game.rules, game.state)
    states = None
    for again, move in replay_steps({**sound, "seed": 31}):
        if states is not None and move is not None and move.restock is None and not again.round_ended(0):
            id_ = again.table.id(move.text)
            apply(compile_tables(again.rules), states[0], id_, NO_ORDER)
            assert position_of(again.rules, states[0]) == again.position()
        states = again.state_copy()
    assert position_of(again.rules, again.state) == expected
