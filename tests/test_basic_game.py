"""Basic Rummy through `Game`: its move table, records, positions, and what is said of moves that are not legal.

What is expected follows from the rules page of Basic Rummy.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import numpy as np
import pytest

from rummy_env.cards import cards_text
from rummy_env.explain import why_illegal
from rummy_env.game import Game, replay, replay_steps
from rummy_env.moves import Move, MoveType, move_table
from rummy_env.position import meld_of
from rummy_env.record import parse_record
from rummy_env.rules import PRESETS, preset
from tests.recorded import play_on, restocks

BASIC = preset("basic")
FREE = [name for name, rules in PRESETS.items() if rules.contracts is None]


# The move table


def test_the_table_has_282_moves() -> None:
    """2 draws, 13 x 4 groups of three and 11 x 4 runs, each card on a group, 10 places x 4 suits at either end, 52 discards."""
    counts = [sum(move.type == type_ for move in move_table(BASIC)) for type_ in MoveType]
    assert counts == [1, 1, 0, 0, 13 * 4 + 11 * 4, 52, 40, 40, 52] and len(move_table(BASIC)) == 2 + 96 + 52 + 80 + 52 == 282


SAME: list[dict[str, Any]] = [
    {"melds_per_turn": None}, {"layoff_needs_own_meld": True}, {"going_rummy": "double"}, {"stock_out": "shuffle"},
    {"final_discard": True}, {"scoring": "losers_penalty"}, {"redraw_ban": False}, {"max_wilds": 1}, {"min_naturals": 2},
    {"group_max": 3}, {"points": {"A": 15}}, {"layoff_own_only": True}, {"game_end": {"deals": 1}},
]  # fmt: skip
OTHERS: list[tuple[dict[str, Any], int]] = [
    ({"max_buys": 1}, 2),  # buy and pass
    ({"ace": "high_or_low"}, 4 + 8),  # a run of three ends with the ace; two more places at either end
    ({"ace": "corner"}, 8 + 24),  # a run begins, is extended downward and upward at any of 13 places
    ({"decks": 2}, 13 * 12),  # groups with two cards of one suit and one of another
    ({"run_length": 4}, -4 - 8),
]


def test_what_changes_the_table() -> None:
    """The pack, the places of a run, the sizes of melds, and whether there is buying; no other house rule."""
    found = move_table(BASIC).fingerprint
    assert move_table(preset("block")).fingerprint == found
    for overrides in SAME:
        assert move_table(BASIC.replace(**overrides)).fingerprint == found, overrides
    for overrides, more in OTHERS:
        table = move_table(BASIC.replace(**overrides))
        assert table.fingerprint != found and len(table) == 282 + more, overrides
    assert [move_table(BASIC.replace(max_buys=1)).text(id_) for id_ in range(4)] == ["stock", "take", "buy", "pass"]


@pytest.mark.parametrize("name", FREE)
def test_every_meld_of_the_table_is_laid_by_its_own_move(name: str) -> None:
    """Whatever its number: without buying the first melds have those that buy and pass have with it."""
    for move in move_table(preset(name)):
        if move.meld is None:
            continue
        cards = cards_text(move.cards)
        spare, other = [card for card in ("Kc", "9h", "2s") if card not in cards.split()][:2]
        game = Game.from_position({"rules": name, "to_act": 0, "hands": [f"{cards} {spare}", other], "turns": [1, 0]})
        game.play(move)
        found = game.position()
        assert found["hands"] == [spare, other] and found["melds"] == [{"owner": 0, "meld": move.text.removeprefix("lay ")}]
        assert (found["to_act"], found["phase"], found["buys"]) == (0, "play", [0, 0])


# Records


RECORDED: dict[str, tuple[str, int, str, dict[str, Any]]] = {
    "basic, random": ("basic", 2, "random", {"max_deals": 5}),
    "basic, late": ("basic", 4, "late", {"max_deals": 3}),
    "basic, eager": ("basic", 6, "eager", {}),
    "basic with buying": ("basic", 3, "late", {"max_buys": None, "buy_extra": 2, "max_deals": 4}),
    "basic_modern": ("basic_modern", 3, "late", {"max_deals": 5}),
    "block": ("block", 5, "eager", {"max_deals": 5}),
    "block, two packs": ("block", 6, "random", {"decks": 2, "jokers": 2, "max_turns": 20, "max_deals": 3, "ace": "corner"}),
}


@pytest.fixture(scope="module")
def games() -> dict[str, Game]:
    """Finished games."""
    return {
        name: play_on(Game(rules, players, seed=at, overrides=overrides), style, at)
        for at, (name, (rules, players, style, overrides)) in enumerate(RECORDED.items(), start=5)
    }


@pytest.mark.parametrize("name", RECORDED)
def test_a_game_is_replayed_to_the_same_bytes(games: dict[str, Game], name: str) -> None:
    game = games[name]
    record = json.loads(json.dumps(game.record()))
    parse_record(record)
    again = replay(record)
    assert again.over and again.state.tobytes() == game.state.tobytes() and again.record() == record
    assert [one["round"] for one in record["rounds"]] == list(range(1, len(record["rounds"]) + 1))
    assert list(game.scores) == np.sum([one["points"] for one in record["rounds"]], axis=0).tolist()
    expected = [one.position() for one, _ in replay_steps(record)]
    for seed in (None, 4321):  # the seed is only information
        assert [one.position() for one, _ in replay_steps({**record, "seed": seed})] == expected


def test_the_games_have_everything_that_a_record_must_keep(games: dict[str, Game]) -> None:
    records = {name: game.record() for name, game in games.items()}
    assert {one["end"] for record in records.values() for one in record["rounds"]} == {"out", "blocked", "turn_limit"}
    assert "buy" in restocks(records["basic with buying"])
    assert min(len(restocks(records[name])) for name in ("basic, random", "basic, late", "basic_modern")) >= 3
    assert not restocks(records["block"]) and len(records["basic, eager"]["rounds"]) > 1


@pytest.mark.parametrize("name", [name for name in RECORDED if not name.startswith("block")])
def test_a_new_stock_is_drawn_from_the_oldest_discard_on(games: dict[str, Game], name: str) -> None:
    """A draw turns the whole pile over; a buy, for which the top discard is wanted, and a shuffle leave that one."""
    before: dict[str, Any] = {}
    checked, turned_over = 0, games[name].rules.stock_out == "turn_over"
    for game, move in replay_steps(games[name].record()):
        after = game.position()
        if move is not None and move.restock is not None:
            cards, pile = move.restock.split(), before["discards"].split()
            if turned_over:
                assert cards == (pile[:-1] if move.text == "buy" else pile)
            else:
                assert sorted(cards) == sorted(pile[:-1])
            drawn = (2 if move.text == "buy" else 1) - len(before["stock"].split())
            assert after["stock"].split() == cards[drawn:][::-1] and after["reshuffles"] == before["reshuffles"] + 1
            kept = [] if turned_over or move.text == "buy" else pile[-1:]
            assert after["discards"].split() == kept
            checked += 1
        before = after
    assert checked >= 3


EMPTY: dict[str, Any] = {
    "rules": "basic", "to_act": 0, "phase": "draw", "hands": ["3c 8d", "Kd"], "discards": "9s 4h 7c", "turns": [4, 4],
}  # fmt: skip
"""The stock is out."""


def test_a_pile_is_turned_over_in_its_order_and_no_other() -> None:
    game = Game.from_position(EMPTY)
    before = game.state.tobytes()
    for given, message in (
        ("4h 9s 7c", r"^stock: restock: the discards are turned over unshuffled, so the new stock is 9s 4h 7c, not 4h 9s 7c$"),
        ("9s 4h", r"^stock: restock: the new stock has 0 of the card 7c, the discards 1$"),
        ("9s 4h 7c Ks", r"^stock: restock: the new stock has 1 of the card Ks, the discards 0$"),
    ):
        with pytest.raises(ValueError, match=message):
            game.play("stock", given)
        assert game.state.tobytes() == before
    other = game.clone()
    assert game.play("stock", "9s 4h 7c") and other.play("stock")
    assert game.state.tobytes() == other.state.tobytes() and game.record() == other.record()
    assert game.record()["rounds"][0]["moves"] == ["* restock 9s 4h 7c", "0 stock"]
    found = game.position()
    assert (found["hands"][0], found["stock"], found["discards"], found["reshuffles"]) == ("3c 8d 9s", "7c 4h", "", 1)


def test_a_shuffled_pile_may_come_in_any_order() -> None:
    """But of its cards alone, the top one left."""
    game = Game.from_position({**EMPTY, "rules": "basic_modern"})
    with pytest.raises(
        ValueError, match=r"^stock: restock: the new stock has 1 of the card 7c, the discards below the top one 0$"
    ):
        game.play("stock", "9s 4h 7c")
    for order in ("9s 4h", "4h 9s"):
        other = game.clone()
        assert other.play("stock", order)
        first, second = order.split()
        assert first in other.position()["hands"][0] and (other.position()["stock"], other.position()["discards"]) == (
            second,
            "7c",
        )
        assert replay(other.record()).position() == other.position()


def test_a_draw_that_needs_no_new_stock_takes_none() -> None:
    for fields, cards in (({"stock": "Ah"}, "9s 4h 7c"), ({"rules": "block"}, "9s 4h")):
        game = Game.from_position({**EMPTY, **fields})
        with pytest.raises(ValueError, match=r"^stock: restock: the move needs no new stock$"):
            game.play("stock", cards)
    assert not game.play("stock") and game.last_round is not None and game.last_round.end == "blocked"


@pytest.mark.parametrize("name", FREE)
def test_records_of_games_from_positions(name: str) -> None:
    """They have the position in place of the deck, and go on to the end of the game."""
    game = Game.from_position({**EMPTY, "rules": name, "round": 3, "scores": [60, 20], "dealer": 1})
    start = game.position()
    play_on(game, "eager", 2)
    record = json.loads(json.dumps(game.record()))
    assert record["rounds"][0]["position"] == start and record["rounds"][0]["round"] == 3
    assert record["scores"] == np.sum([[60, 20], *(one["points"] for one in record["rounds"])], axis=0).tolist()
    again = replay(record)
    assert again.over and max(again.scores) >= 100 and again.state.tobytes() == game.state.tobytes()


# Positions


@pytest.mark.parametrize("name", RECORDED)
def test_every_position_of_a_game_is_read_back(games: dict[str, Game], name: str) -> None:
    """With the same legal moves."""
    phases = set()
    for number, (game, _) in enumerate(replay_steps(games[name].record())):
        if number % 5 or game.over:
            continue
        position = json.loads(json.dumps(game.position()))
        again = Game.from_position(position)
        assert again.position() == position and (again.mask() == game.mask()).all()
        phases.add(again.phase)
    assert phases == ({"window", "draw", "play"} if "buying" in name else {"draw", "play"})


# Why a move is not legal


PLAY: dict[str, Any] = {
    "rules": "basic", "to_act": 0, "phase": "play", "stock": "2c", "discards": "5s", "turns": [1, 1],
    "hands": ["7c 7d 7h 9c 9d 9h Kd", "3c 4c"],
}  # fmt: skip
WILD: dict[str, Any] = {**PLAY, "hands": ["7c 7d ** ** Kd", "3c 4c"]}
REASONS: list[tuple[dict[str, Any], dict[str, Any], str, str, str]] = [
    # the rules that differ, the position, moves before, the move, why it is not legal
    ({}, PLAY, "lay G7 7c7d7h", "lay G9 9c9d9h", "1 meld laid this turn, no more are allowed (melds_per_turn)"),
    ({"melds_per_turn": 2}, {**PLAY, "hands": ["7c 7d 7h 9c 9d 9h Kc Kd Kh As", "3c"]}, "lay G7 7c7d7h, lay G9 9c9d9h",
     "lay GK KcKdKh", "2 melds laid this turn, no more are allowed (melds_per_turn)"),
    ({"layoff_needs_own_meld": True}, {**PLAY, "melds": [{"owner": 1, "meld": "GK KcKhKs"}], "down": [1]}, "", "off Kd G",
     "seat 0 has no meld of its own yet (layoff_needs_own_meld)"),
    ({"final_discard": True}, {**PLAY, "hands": ["7c 7d 7h", "3c"]}, "", "lay G7 7c7d7h",
     "the last card must be discarded (final_discard)"),
    ({"final_discard": True}, {**PLAY, "hands": ["Kd", "3c"], "melds": [{"owner": 1, "meld": "GK KcKhKs"}]}, "", "off Kd G",
     "the last card must be discarded (final_discard)"),
    ({"jokers": 2, "max_wilds": 1}, WILD, "", "lay G7 7c****", "a meld has at most 1 wild when laid (max_wilds)"),
    ({"jokers": 2, "max_wilds": 1}, WILD, "", "lay R7c 7c****", "a meld has at most 1 wild when laid (max_wilds)"),
    ({"jokers": 2, "min_naturals": 2}, WILD, "", "lay G7 7d****", "a meld needs 2 naturals when laid (min_naturals)"),
    ({}, PLAY, "", "off Kd G", "no meld on the table takes that card"),
    ({}, {**PLAY, "melds": [{"owner": 1, "meld": "GK KcKhKs"}]}, "", "off 9c G", "no meld on the table takes that card"),
    ({}, {**PLAY, "melds": [{"owner": 1, "meld": "R9d 9dTdJdQd"}], "hands": ["7c 8d Kd", "3c"]}, "off 8d low, off Kd high",
     "off 7c G", "no meld on the table takes that card"),
    ({"jokers": 2}, {**WILD, "melds": [{"owner": 1, "meld": "G5 5c5d5h5s"}], "discards": "6s"}, "", "off ** G5",
     "no meld on the table takes that card"),
    ({"layoff_own_only": True}, {**PLAY, "melds": [{"owner": 1, "meld": "GK KcKhKs"}]}, "", "off Kd G",
     "no own meld on the table takes that card"),
    ({}, PLAY, "", "discard As", "As is not in the hand of seat 0"),
    ({}, PLAY, "", "lay GK KcKdKh", "Kc is not in the hand of seat 0"),
    ({"decks": 2}, PLAY, "", "lay G7 7c7d7d", "the hand of seat 0 holds 1 of 7d; the move needs 2"),
    ({}, {**PLAY, "taken": "Kd"}, "", "discard Kd", "taken from the pile this turn"),
    ({}, PLAY, "", "stock", "seat 0 has drawn"),
    ({}, PLAY, "", "take", "seat 0 has drawn"),
    ({"max_buys": 2}, PLAY, "", "buy", "no buy window is open and seat 0 has drawn"),
    ({}, {**PLAY, "phase": "draw"}, "", "discard Kd", "the turn begins with a draw: stock or take"),
    ({}, {**PLAY, "phase": "draw"}, "", "lay G7 7c7d7h", "the turn begins with a draw: stock or take"),
    ({}, {**PLAY, "phase": "draw", "discards": ""}, "", "take", "the discard pile is empty"),
    ({"stock_out": "shuffle"}, {**PLAY, "phase": "draw", "stock": ""}, "", "stock",
     "the stock is empty and no card lies below the top discard to form a new one"),
    ({"max_deals": 1}, {**PLAY, "hands": ["Kd", "3c"]}, "discard Kd", "stock", "the game is over"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("rules", "position", "before", "move", "why"), REASONS, ids=[f"{row[3]}: {row[4]}" for row in REASONS]
)
def test_why_a_move_is_not_legal(rules: dict[str, Any], position: dict[str, Any], before: str, move: str, why: str) -> None:
    game = Game.from_position({**position, "overrides": rules})
    for earlier in filter(None, before.split(", ")):
        game.play(earlier)
    with pytest.raises(ValueError) as error:
        game.play(move)
    assert str(error.value) == f"{move}: {why}"


def takes(game: Game, index: int, move: Move) -> bool:
    """Whether a meld takes a card: one more of its rank, or the next at an end of the run."""
    pack, meld = game.table.pack, meld_of(game.table.pack, game.state, index)
    if game.rules.layoff_own_only and game.state.meld_owner[index] != game.seat:
        return False
    if move.type == MoveType.OFF_GROUP:
        limit = game.rules.group_limit
        return not meld.is_run and meld.low == move.target and (limit is None or len(meld.cards) < limit)
    if not meld.is_run or meld.suit != move.suit or len(meld.cards) == len(pack.places):
        return False
    size = len(pack.places)
    end = meld.low - 1 if move.type == MoveType.OFF_LOW else meld.low + len(meld.cards)
    return bool((end % size if pack.circular else end) == move.target)


def is_true(game: Game, move: Move, why: str) -> bool:
    """Whether a reason holds, as the position says."""
    seat, hand = game.seat or 0, game.state.hand[game.seat].astype(int)
    laid, melds = game.position()["laid_this_turn"], game.position()["melds"]
    if "is not in the hand" in why or "the move needs" in why:
        return any(hand[kind] < move.cards.count(kind) for kind in move.cards)
    if "(melds_per_turn)" in why:
        return move.meld is not None and len(laid) == game.rules.melds_per_turn
    if "(layoff_needs_own_meld)" in why:
        return game.rules.layoff_needs_own_meld and all(meld["owner"] != seat for meld in melds)
    if "(final_discard)" in why:
        return game.rules.final_discard and hand.sum() == len(move.cards) and move.type != MoveType.DISCARD
    if "(max_wilds)" in why:
        return move.meld is not None and move.meld.wilds > (game.rules.max_wilds or 0)
    if "(min_naturals)" in why:
        return move.meld is not None and len(move.cards) - move.meld.wilds < game.rules.min_naturals
    if "taken from the pile" in why:
        return bool(game.position()["taken"] == move.text.removeprefix("discard ") and hand.sum() > hand[move.cards[0]])
    if "meld on the table takes" in why:
        return not any(takes(game, index, move) for index in range(len(melds)))
    if "has drawn" in why:
        return game.phase == "play" and move.type in (MoveType.STOCK, MoveType.TAKE, MoveType.BUY, MoveType.PASS)
    return game.phase == "draw" and why == "the turn begins with a draw: stock or take" and bool(move.cards)


VARIANTS: list[tuple[str, int, dict[str, Any]]] = [
    ("basic", 2, {"jokers": 4, "max_wilds": 1, "melds_per_turn": 2, "deal": {"2": 14}, "players_max": 2}),
    ("basic_modern", 3, {"decks": 2, "wild_rank": 2, "min_naturals": 2, "layoff_needs_own_meld": True, "final_discard": True}),
    ("block", 2, {"ace": "corner", "layoff_own_only": True, "jokers": 2, "final_discard": True, "group_max": 3}),
]


@pytest.mark.parametrize(("name", "players", "overrides"), VARIANTS, ids=[row[0] for row in VARIANTS])
def test_every_reason_in_play_is_true(name: str, players: int, overrides: dict[str, Any]) -> None:
    rng, found = np.random.default_rng(1), Counter[str]()
    for seed in range(3):
        game = Game(name, players, seed=seed, overrides=overrides)
        while not game.over and game.round_number == 1:
            held = game.state.hand[game.seat].astype(int)
            refused = [id_ for id_ in np.flatnonzero(game.mask() == 0).tolist() if id_ > 1]
            own = [
                id_ for id_ in refused if all(held[kind] >= game.table[id_].cards.count(kind) for kind in game.table[id_].cards)
            ]
            for id_ in [*rng.choice(refused, 3), *rng.permutation(own)[:6]]:
                why = why_illegal(game.rules, game.state, int(id_))
                assert is_true(game, game.table[int(id_)], why), (game.position(), game.table.text(int(id_)), why)
                found[why.rsplit("(")[-1] if "(" in why else why.split()[-1]] += 1
            play_on(game, "eager", int(rng.integers(1000)), 3)
    assert len(found) >= 6, found
