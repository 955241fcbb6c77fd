"""Basic Rummy through `Game`: its move table, records, positions, and what is said of moves that are not legal.

What is expected follows from the rules page of Basic Rummy.
"""

from __future__ import annotations

import pytest

from rummy_env.cards import cards_text
from rummy_env.game import Game
from rummy_env.moves import MoveType, move_table
from rummy_env.rules import PRESETS, preset

BASIC = preset("basic")
FREE = [name for name, rules in PRESETS.items() if rules.contracts is None]


# The move table


def test_the_table_has_282_moves() -> None:
    """2 draws, 13 x 4 groups of three and 11 x 4 runs, each card on a group, 10 places x 4 suits at either end, 52 discards."""
    counts = [sum(move.type == type_ for move in move_table(BASIC)) for type_ in MoveType]
    assert counts == [1, 1, 0, 0, 13 * 4 + 11 * 4, 52, 40, 40, 52] and len(move_table(BASIC)) == 2 + 96 + 52 + 80 + 52 == 282


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
