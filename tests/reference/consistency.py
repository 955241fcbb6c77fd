"""Whether a position agrees with the course of play: is there such a window, such a half-laid contract?

These checks ask the table itself, so a position is refused exactly where play could not stand there by the
rules that the table follows. `down` and `acted` are taken as given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .melds import agree, size_as_laid
from .ruleset import free_melds

if TYPE_CHECKING:
    from .table import ReferenceTable


def check_course(table: ReferenceTable) -> None:
    """Refuse a position that contradicts the course of play; the message names the field."""
    rules = table.rules
    if rules["max_buys"] is not None and max(table.buys) > rules["max_buys"]:
        raise ValueError("buys: more than max_buys")
    if rules["max_turns"] is not None and max(table.turns) > rules["max_turns"]:
        raise ValueError("turns: more than max_turns")
    if table.barred() and table.reshuffles > (rules["max_recycles"] or 0):
        raise ValueError("reshuffles: more new stocks than the rules allow")
    if table.phase != "window" and table.turn != table.to_act:
        raise ValueError("turn: outside a window it is the turn of the seat to act")
    if table.discarder is not None and not table.discards:
        raise ValueError("discarder: there is no discard")
    if table.discarder is not None and (table.discarder + 1) % table.players != table.turn:
        raise ValueError("discarder: not the seat before the turn")
    if table.phase in ("window", "draw"):
        if table.laid:
            raise ValueError("laid_this_turn: the turn has not begun")
        if table.taken is not None:
            raise ValueError("taken: the turn has not begun")
        if table.acted_this_turn:
            raise ValueError("acted_this_turn: the turn has not begun")
        if rules["max_turns"] is not None and table.turns[table.turn] >= rules["max_turns"]:
            raise ValueError("turns: the round would have ended at max_turns")
    if table.taken is not None and not rules["redraw_ban"]:
        raise ValueError("taken: there is no redraw_ban")
    if table.phase == "window":
        check_window(table)
    elif table.passed:
        raise ValueError("passed: there is no window")
    if table.phase == "draw" and not table.stock and not table.discards:
        raise ValueError("stock, discards: both empty before a draw, so the round would be blocked")
    check_laid(table)


def check_window(table: ReferenceTable) -> None:
    """The seats that have passed must be those asked before the seat to act."""
    asked = table.asked()
    if not asked:
        raise ValueError("phase: nobody may buy here, so there is no window")
    if table.to_act not in asked:
        raise ValueError(f"to_act: seat {table.to_act} is not asked in this window")
    if set(table.passed) != set(asked[: asked.index(table.to_act)]):
        raise ValueError("passed: not the seats that are asked before the seat to act")


def check_laid(table: ReferenceTable) -> None:
    """What is laid this turn must be a part of the contract while laying, and all of it in play.

    Where melds are free it is what a turn allows, and no contract is ever half laid.
    """
    laid = [table.melds[place] for place in table.laid]
    if free_melds(table.rules):
        if table.phase == "laying":
            raise ValueError("phase: without contracts there is no phase laying")
        if not table.may_meld(len(laid) - 1):
            raise ValueError("laid_this_turn: more than melds_per_turn")
        check_down(table)
        return
    missing = table.lay_down()
    if missing.groups < 0 or missing.runs < 0:
        raise ValueError("laid_this_turn: more than the contract")
    complete = missing.groups + missing.runs == 0
    if table.phase == "play" and laid and not complete:
        raise ValueError("laid_this_turn: half a contract is laid, which is the phase laying")
    check_down(table)
    grown = [meld for meld in laid if len(meld) > size_as_laid(table.rules, meld.kind)]
    if grown and (table.phase == "laying" or not table.rules["same_turn_layoff"]):
        raise ValueError(f"laid_this_turn: {grown[0].text} has too many cards for a lay")
    if table.phase == "laying":
        if not laid or complete:
            raise ValueError("laid_this_turn: a part of the contract is laid in the phase laying")
        if table.to_act in table.down:
            raise ValueError("down: the seat to act is still laying")
        if not all(agree(table.rules, one, other) for one in laid for other in laid if one is not other):
            raise ValueError("laid_this_turn: melds that may not stand in one contract")
        if not missing.possible():
            raise ValueError("hands: the rest of the contract cannot be laid")


def check_down(table: ReferenceTable) -> None:
    """Who has laid all of it this turn, or a meld where they are free, has laid down."""
    if table.laid and table.phase == "play" and table.to_act not in table.down:
        raise ValueError("down: the seat to act has laid down this turn")
