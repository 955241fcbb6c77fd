"""Why a move is not legal now, in words for a person. The mask decides; this only explains what it has refused."""

from __future__ import annotations

from typing import Any

import numpy as np

from rummy_env.cards import KIND_TEXTS, WILD
from rummy_env.engine.legal import legal
from rummy_env.engine.state import DRAW, LAYING, OVER, WINDOW
from rummy_env.engine.tables import compile_tables
from rummy_env.engine.window import can_buy
from rummy_env.moves import Move, MoveType, move_table
from rummy_env.rules import Rules

_ANSWERS = (MoveType.TAKE, MoveType.BUY, MoveType.PASS)


def why_illegal(rules: Rules, state: Any, move: int) -> str:
    """The reason why the seat to act may not play a move that the mask refuses."""
    entry = move_table(rules)[move]
    seat = int(state.to_act)
    if state.phase == OVER:
        return "the game is over"
    if state.phase == WINDOW:
        return _in_window(rules, state, entry, seat)
    if state.phase == DRAW:
        return _before_draw(state, entry)
    if entry.type in (MoveType.STOCK, *_ANSWERS):
        return f"seat {seat} has drawn" if rules.max_buys == 0 else f"no buy window is open and seat {seat} has drawn"
    missing = [kind for kind in set(entry.cards) if state.hand[seat, kind] < entry.cards.count(kind)]
    if missing:
        kind = min(missing)
        held, wanted = int(state.hand[seat, kind]), entry.cards.count(kind)
        if held == 0:
            return f"{KIND_TEXTS[kind]} is not in the hand of seat {seat}"
        return f"the hand of seat {seat} holds {held} of {KIND_TEXTS[kind]}; the move needs {wanted}"
    if entry.type == MoveType.LAY:
        return _lay(rules, state, entry, seat)
    if state.phase == LAYING:
        return "the contract is half laid; only its other melds may follow"
    if entry.type == MoveType.DISCARD:
        return "taken from the pile this turn"
    return _layoff(rules, state, seat)


def _in_window(rules: Rules, state: Any, entry: Move, seat: int) -> str:
    if entry.type not in _ANSWERS:
        return f"the buy window is open; seat {seat} answers first"
    if entry.type == MoveType.TAKE:
        return f"only seat {int(state.turn)}, whose turn comes next, may take; others buy"
    if seat == state.turn and not can_buy(compile_tables(rules), state, seat):
        return f"seat {seat}, whose turn comes next, takes or passes"
    return f"seat {seat} may not buy this card"


def _before_draw(state: Any, entry: Move) -> str:
    if entry.type in (MoveType.BUY, MoveType.PASS):
        return "no buy window is open"
    if entry.type == MoveType.TAKE:
        return "the discard pile is empty"
    if entry.type == MoveType.STOCK:
        return "the stock is empty and no card lies below the top discard to form a new one"
    return "the turn begins with a draw: stock or take"


def _lay(rules: Rules, state: Any, entry: Move, seat: int) -> str:
    tables = compile_tables(rules)
    if rules.contracts is None:
        return _free_lay(rules, state, entry)
    if state.phase != LAYING and state.down >> seat & 1:
        return f"seat {seat} has laid down this round"
    groups, runs = (int(number) for number in tables.contracts[int(state.round_number) - 1])
    if state.phase == LAYING:
        groups, runs = int(state.groups_left), int(state.runs_left)
    assert entry.meld is not None
    if (runs if entry.meld.is_run else groups) == 0:
        return f"the contract asks for {groups} more groups and {runs} more runs"
    if why := _too_wild(rules, entry):
        return why
    mask = np.zeros(len(move_table(rules)), np.int8)
    legal(tables, state, mask)
    if mask[move_table(rules).id(entry)]:
        return "the melds of a contract are laid by rising move id (lay_order ascending)"
    return "the rest of the contract could not be laid with what would remain"


def _too_wild(rules: Rules, entry: Move) -> str | None:
    """Whether a meld has too many wilds to be laid, in words."""
    wilds = entry.cards.count(WILD)
    if len(entry.cards) - wilds < rules.min_naturals:
        return f"a meld needs {_count(rules.min_naturals, 'natural')} when laid (min_naturals)"
    if rules.max_wilds is not None and wilds > rules.max_wilds:
        return f"a meld has at most {_count(rules.max_wilds, 'wild')} when laid (max_wilds)"
    return None


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _free_lay(rules: Rules, state: Any, entry: Move) -> str:
    laid = int(state.new_melds).bit_count()
    if rules.melds_per_turn is not None and laid >= rules.melds_per_turn:
        return f"{_count(laid, 'meld')} laid this turn, no more are allowed (melds_per_turn)"
    return _too_wild(rules, entry) or "the last card must be discarded (final_discard)"


def _layoff(rules: Rules, state: Any, seat: int) -> str:
    if rules.contracts is None:
        if rules.layoff_needs_own_meld and not state.down >> seat & 1 and not state.new_melds:
            return f"seat {seat} has no meld of its own yet (layoff_needs_own_meld)"
    elif not state.down >> seat & 1:
        return f"seat {seat} has not laid down"
    elif state.new_melds and not rules.same_turn_layoff:
        return f"seat {seat} laid down in this turn; lay-offs begin in the next"
    if rules.final_discard and state.hand_size[seat] == 1:
        return "the last card must be discarded (final_discard)"
    whose = "own meld" if rules.layoff_own_only else "meld"
    return f"no {whose} on the table takes that card"
