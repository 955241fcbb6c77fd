"""A table as text in the notation's words."""

from __future__ import annotations

from typing import Any

from rummy_env.cards import KIND_TEXTS
from rummy_env.engine.state import DRAW, LAYING, OVER, WINDOW
from rummy_env.melds import pack_of
from rummy_env.position import hand_text, meld_of
from rummy_env.rules import Rules

_ASKS = {WINDOW: "may have the discard", DRAW: "draws", LAYING: "lays the rest of the contract"}


def table_text(rules: Rules, state: Any, seat: int | None = None) -> str:
    """A State as lines of text: the round, whose turn it is, the piles, every seat, the melds by owner.

    Args:
        rules: those of the State.
        state: the State of the table.
        seat: whose hand is shown; None shows all hands, as a spectator sees them.
    """
    pack, players = pack_of(rules), int(state.players)
    lines = [_round(rules, state), _turn(state), _piles(state), ""]
    for other in range(players):
        hand = hand_text(pack, state.hand[other]) if seat is None or seat == other else ""
        lines.append(f"{_seat(state, other)}   {hand}".rstrip())
    for owner in range(players):
        melds = [meld_of(pack, state, at).text(pack) for at in range(int(state.num_melds)) if state.meld_owner[at] == owner]
        if melds:
            lines += ["", f"Melds of player {owner}:", *(f"  {meld}" for meld in melds)]
    return "\n".join(lines)


def _plural(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _round(rules: Rules, state: Any) -> str:
    number = rules.round_at(int(state.round_index))
    text = f"{rules.name.capitalize()}, {'deal' if rules.contracts is None else 'round'} {number}"
    if rules.contracts is not None:
        groups, runs = rules.contracts[number - 1]
        asked = [_plural(count, word) for count, word in ((groups, "group"), (runs, "run")) if count]
        text += f": {' and '.join(asked)}"
    return f"{text}. Dealer: player {int(state.dealer)}."


def _turn(state: Any) -> str:
    if state.phase == OVER:
        return "The game is over."
    seat, turn = int(state.to_act), int(state.turn)
    asks = _ASKS.get(int(state.phase), "plays")
    whose = f", next turn: player {turn}" if state.phase == WINDOW and turn != seat else ""
    return f"Player {seat} {asks}{whose}."


def _piles(state: Any) -> str:
    size = int(state.num_discards)
    top = KIND_TEXTS[int(state.discards[size - 1])] if size else "none"
    return f"Top discard: {top}. Discard pile: {_plural(size, 'card')}. Stock: {_plural(int(state.num_stock), 'card')}."


def _seat(state: Any, seat: int) -> str:
    mark = ">" if seat == int(state.to_act) else " "
    down = "down" if int(state.down) >> seat & 1 else "    "
    hand = _plural(int(state.hand_size[seat]), "card")
    numbers = f"{hand:>8}  {down}  {int(state.buys[seat])} bought  score {int(state.scores[seat]):4d}"
    return f"{mark} player {seat}  {numbers}"
