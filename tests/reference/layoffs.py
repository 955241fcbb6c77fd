"""Laying off: what one meld on the table takes, and what it becomes."""

from __future__ import annotations

from .cards import WILD, Rules, is_circle, places_of
from .melds import Meld, make_group, make_run
from .ruleset import group_limit


def texts_on(rules: Rules, meld: Meld, card: str) -> list[str]:
    """The moves with which this card could be laid off on this meld."""
    if meld.kind == "G":
        limit = group_limit(rules)
        if limit is not None and len(meld) >= limit:
            return []
        if card == WILD:
            return [f"off ** G{meld.name}"]
        return [f"off {card} G"] if card[0] == meld.name else []
    texts = []
    for end, place in free_ends(rules, meld).items():
        if card == WILD:
            texts.append(f"off ** {end} {place}")
        elif card == place:
            texts.append(f"off {card} {end}")
    return texts


def free_ends(rules: Rules, run: Meld) -> dict[str, str]:
    """The ends at which a run can grow ("low", "high"), each with the card whose place comes next.

    Round the corner both ends are free until the run has all ranks.
    """
    places, suit = places_of(rules), run.name[1]
    start = places.index(run.name[0])
    after = start + len(run)
    ends = {}
    if is_circle(rules):
        if len(run) < len(places):
            ends = {"low": places[start - 1] + suit, "high": places[after % len(places)] + suit}
        return ends
    if start > 0:
        ends["low"] = places[start - 1] + suit
    if after < len(places):
        ends["high"] = places[after] + suit
    return ends


def grown(rules: Rules, meld: Meld, card: str, low: bool) -> Meld:
    """The meld with one card more: a run grows at its low end or at its high end."""
    if meld.kind == "G":
        return make_group(rules, meld.name, [*meld.cards, card], meld.owner)
    if low:
        return make_run(rules, free_ends(rules, meld)["low"], [card, *meld.cards], meld.owner)
    return make_run(rules, meld.name, [*meld.cards, card], meld.owner)
