"""Sentences of Basic Rummy's rules that no position can state: the dealer of a game, larger melds, memory, who wins."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest

from rummy_env.cards import KIND_TEXTS, cards_text
from rummy_env.game import Game
from rummy_env.moves import MoveType
from rummy_env.rewards import rank_reward, utilities
from rummy_env.rules import preset

RANKS = "A23456789TJQK"


@pytest.mark.parametrize("players", [2, 3, 4, 5, 6])
def test_the_first_dealer_is_drawn_from_the_seed(players: int) -> None:
    """First dealer at random (from the seed); the player to the dealer's left begins, without a window."""
    dealers = []
    for seed in range(20 * players):
        game = Game("basic", players=players, seed=seed)
        position = game.position()
        dealers.append(position["dealer"])
        assert position == Game("basic", players=players, seed=seed).position()
        assert (position["to_act"], position["phase"]) == ((position["dealer"] + 1) % players, "draw")
        cards = " ".join([*position["hands"], position["stock"], position["discards"]]).split()
        assert sorted(cards) == sorted(rank + suit for rank in RANKS for suit in "cdhs")
        assert len(position["discards"].split()) == 1
    assert set(dealers) == set(range(players))


def larger_melds() -> list[tuple[str, list[str]]]:
    """Every group of four, and every run of four or more cards of one suit, with the text it has on the table."""
    groups = [(f"G{rank} " + "".join(rank + suit for suit in "cdhs"), [rank + suit for suit in "cdhs"]) for rank in RANKS]
    runs = []
    for low, high in combinations(range(14), 2):
        cards = [rank + "d" for rank in RANKS[low:high]]
        if len(cards) > 3:
            runs.append((f"R{cards[0]} " + "".join(cards), cards))
    return groups + runs


@pytest.mark.parametrize(
    ("text", "cards"), larger_melds(), ids=lambda value: value.split()[0] if isinstance(value, str) else ""
)
def test_smallest_melds_and_lay_offs_reach_every_larger_meld(text: str, cards: list[str]) -> None:
    """Three cards are laid, any that are a meld, and lay-offs of the same turn make it whole, from either end first."""
    spare = "Ks" if cards[0][0] in "A2" else "As"
    position = {"rules": "basic", "to_act": 0, "hands": [" ".join([*cards, spare]), "Jh" if cards[0] != "Jc" else "Qh"]}
    game = Game.from_position(position)
    lays = [move.text for move in game.moves() if move.text.startswith("lay")]
    assert len(lays) == (4 if text[0] == "G" else len(cards) - 2)
    assert all(len(lay.split()[2]) == 6 for lay in lays)
    for lay in lays:
        for first in ("high", "low"):
            game = Game.from_position(position)
            game.play(lay)
            while offs := [move.text for move in game.moves() if move.text.startswith("off")]:
                game.play(next((off for off in offs if off.endswith(first)), offs[0]))
            assert game.position()["melds"] == [{"owner": 0, "meld": text}]
            assert {move.text for move in game.moves()} == {f"discard {spare}"}


def test_no_larger_meld_is_laid() -> None:
    """The action set has three-card melds only."""
    moves = Game("basic", players=2, seed=0).table
    lays = [move.text for move in moves if move.type == MoveType.LAY]
    assert len(lays) == 96  # 13 ranks by four choices of suits, 11 runs in each of four suits
    assert all(len(lay.split()[2]) == 6 for lay in lays)


def draw(stock_out: str, **changes: Any) -> Game:
    """A table of three whose stock is empty, after a draw that formed a new one."""
    overrides = {"stock_out": stock_out, **changes}
    hands = ["5c Kd", "6s Tc", "4h 7h"]
    game = Game.from_position(
        {"rules": "basic", "overrides": overrides, "phase": "draw", "to_act": 0, "hands": hands, "discards": "2c 9h Qs 4d 8c"}
    )
    game.play("stock")
    return game


def known_to(game: Game, seat: int, other: int) -> str:
    """The cards that one seat has seen going into another's hand."""
    held = game.view(seat).known[(other - seat) % game.players]
    return cards_text(kind for kind in range(len(KIND_TEXTS)) for _ in range(held[kind]))


def test_the_order_of_a_stock_turned_over_is_known_to_all() -> None:
    """After the pile was turned over everybody knows the order, and sees what is drawn from it; also the second time."""
    game = draw("turn_over")
    for seat in range(3):
        view = game.view(seat)
        assert cards_text(view.stock[: view.num_stock]) == "8c 4d Qs 9h"
    assert known_to(game, 1, 0) == known_to(game, 2, 0) == "2c"
    for move in ("discard Kd", "stock", "discard Tc"):
        game.play(move)
    assert known_to(game, 0, 1) == known_to(game, 2, 1) == "9h"
    assert known_to(game, 1, 0) == "2c"
    view = game.view(2)
    assert cards_text(view.stock[: view.num_stock]) == "8c 4d Qs"


def test_after_a_shuffle_the_cards_of_the_stock_are_known_and_not_their_order() -> None:
    """The cards below the top discard form it; which of them is drawn nobody else knows."""
    game = draw("shuffle")
    for seat in range(3):
        view = game.view(seat)
        assert not view.stock.any() and not view.stock_public
        assert cards_text(kind for kind in range(len(KIND_TEXTS)) for _ in range(view.pool[kind])) == "2c 4d 9h Qs"
    assert known_to(game, 1, 0) == known_to(game, 2, 0) == ""


@pytest.mark.parametrize(("name", "ranks"), [("basic", [1, -1, 0]), ("basic_modern", [1, -1, 0]), ("block", [-1, 1, 0])])
def test_most_points_win_or_fewest(name: str, ranks: list[int]) -> None:
    """Most points wins; with losers_penalty fewest."""
    assert rank_reward(utilities(preset(name), [101, 0, 40])) == ranks
