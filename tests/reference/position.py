"""Positions as the notation writes them: reading one with all its checks.

`read_position` fills in what is not given and refuses what is no position of its rules by itself: kinds,
lengths, seats, cards and their number. What depends on the course of play (is this a window, a half-laid
contract?) the table checks, since the rules for it are there.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from .cards import WILD, Rules, in_print_order, pack, ranks_of, suits_of
from .melds import Meld, may_lie, parse_meld
from .ruleset import check_players, check_whole, free_melds, is_played, resolve, sequence

PHASES = ["window", "draw", "play", "laying"]

FIELDS = [
    "rules", "overrides", "round", "dealer", "phase", "to_act", "turn", "discarder", "passed", "hands",
    "stock", "discards", "melds", "down", "laid_this_turn", "taken", "buys", "turns", "scores",
    "reshuffles", "acted", "acted_this_turn",
]  # fmt: skip


def read_position(position: dict[str, Any]) -> dict[str, Any]:
    """Every field of the position, checked: hands, stock and discards as lists of cards, melds as `Meld`s,
    `rules` as the whole rule set, `laid_this_turn` as places in `melds`."""
    if not isinstance(position, dict):
        raise ValueError("a position is a map from fields to values")
    for field in position:
        if field not in FIELDS:
            raise ValueError(f"{field}: unknown field of a position")
    for field in ("rules", "hands", "to_act"):
        if field not in position:
            raise ValueError(f"{field}: missing in the position")
    overrides = position.get("overrides", {})
    if not isinstance(position["rules"], str) or not isinstance(overrides, dict):
        raise ValueError("rules, overrides: the name of a game and a map are needed")
    rules = resolve(position["rules"], overrides)

    found: dict[str, Any] = {"rules": rules}
    found["hands"] = [in_print_order(rules, read_cards(rules, text, "hands")) for text in read_list(position, "hands")]
    players = len(found["hands"])
    if not rules["players_min"] <= players <= rules["players_max"]:
        raise ValueError(f"hands: {players} players are outside players_min to players_max")
    check_players(rules, players)
    for seat, hand in enumerate(found["hands"]):
        if not hand:
            raise ValueError(f"hands: the hand of seat {seat} is empty")
    found["stock"] = read_cards(rules, position.get("stock", ""), "stock")
    found["discards"] = read_cards(rules, position.get("discards", ""), "discards")

    first = 1 if free_melds(rules) else sequence(rules)[0]
    found["round"] = check_whole(position.get("round", first), "round", 1)
    if not is_played(rules, found["round"]):
        raise ValueError(f"round: {found['round']} is not played under these rules")
    found["phase"] = position.get("phase", "play")
    if found["phase"] not in PHASES:
        raise ValueError(f"phase: {found['phase']!r} is unknown")
    found["to_act"] = read_seat(position["to_act"], "to_act", players)
    found["dealer"] = read_seat(position.get("dealer", 0), "dealer", players)
    found["turn"] = read_seat(position.get("turn", found["to_act"]), "turn", players)
    found["discarder"] = position.get("discarder")
    if found["discarder"] is not None:
        read_seat(found["discarder"], "discarder", players)
    for field in ("passed", "down", "acted"):
        found[field] = read_seats(position, field, players)
    for field in ("buys", "turns", "scores"):
        found[field] = read_numbers(position, field, players)
    found["reshuffles"] = check_whole(position.get("reshuffles", 0), "reshuffles", 0)
    found["acted_this_turn"] = position.get("acted_this_turn", False)
    if not isinstance(found["acted_this_turn"], bool):
        raise ValueError("acted_this_turn: true or false is needed")

    found["melds"] = read_melds(rules, position, players)
    found["laid_this_turn"] = read_laid(rules, position, found["melds"], found["to_act"])
    found["taken"] = position.get("taken")
    if found["taken"] is not None:
        read_cards(rules, found["taken"], "taken")
        if found["taken"] not in found["hands"][found["to_act"]]:
            raise ValueError(f"taken: {found['taken']} is not in the hand of the seat to act")
    check_copies(rules, found)
    return found


def read_list(position: dict[str, Any], field: str) -> list[Any]:
    """A field that is a list; an empty one where it is not given."""
    value = position.get(field, [])
    if not isinstance(value, list):
        raise ValueError(f"{field}: a list is needed, not {value!r}")
    return value


def read_cards(rules: Rules, text: Any, field: str) -> list[str]:
    """The cards of a text; ValueError naming one that is not in the pack."""
    if not isinstance(text, str):
        raise ValueError(f"{field}: a text of cards is needed, not {text!r}")
    cards = text.split()
    for card in cards:
        known = len(card) == 2 and card[0] in ranks_of(rules) and card[1] in suits_of(rules)
        if card != WILD and not known:
            raise ValueError(f"{field}: {card} is no card of this pack")
    return cards


def read_seat(value: Any, field: str, players: int) -> int:
    """A seat of the table."""
    return check_whole(value, field, 0, players - 1)


def read_seats(position: dict[str, Any], field: str, players: int) -> list[int]:
    """A list of different seats."""
    seats = [read_seat(value, field, players) for value in read_list(position, field)]
    if len(set(seats)) != len(seats):
        raise ValueError(f"{field}: a seat stands there twice")
    return seats


def read_numbers(position: dict[str, Any], field: str, players: int) -> list[Any]:
    """A number for each seat: zeros where the field is not given. Scores may be any number."""
    values = position.get(field, [0] * players)
    if not isinstance(values, list) or len(values) != players:
        raise ValueError(f"{field}: a number for each of the {players} seats is needed")
    for value in values:
        if field != "scores":
            check_whole(value, field, 0)
        elif isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(f"{field}: {value!r} is no number")
    return list(values)


def read_melds(rules: Rules, position: dict[str, Any], players: int) -> list[Meld]:
    """The melds on the table, oldest first."""
    melds = []
    for entry in read_list(position, "melds"):
        if not isinstance(entry, dict) or set(entry) != {"owner", "meld"}:
            raise ValueError(f"melds: {entry!r} is not an owner and a meld")
        if not isinstance(entry["meld"], str):
            raise ValueError(f"melds: {entry['meld']!r} is no meld")
        owner = read_seat(entry["owner"], "melds (owner)", players)
        meld = parse_meld(rules, entry["meld"], owner)
        if not may_lie(rules, meld):
            raise ValueError(f"melds: {meld.text} could not lie there under these rules")
        melds.append(meld)
    return melds


def read_laid(rules: Rules, position: dict[str, Any], melds: list[Meld], seat: int) -> list[int]:
    """The places in `melds` of what the seat to act has laid this turn: of like melds the youngest."""
    places: list[int] = []
    for text in read_list(position, "laid_this_turn"):
        if not isinstance(text, str):
            raise ValueError(f"laid_this_turn: {text!r} is no meld")
        wanted = parse_meld(rules, text, seat)
        fitting = [place for place, meld in enumerate(melds) if meld == wanted and place not in places]
        if not fitting:
            raise ValueError(f"laid_this_turn: {text} is not among the melds of seat {seat}")
        places.append(fitting[-1])
    return places


def check_copies(rules: Rules, found: dict[str, Any]) -> None:
    """Refuse more copies of a card than the pack has."""
    there = Counter(found["stock"] + found["discards"])
    for hand in found["hands"]:
        there.update(hand)
    for meld in found["melds"]:
        there.update(meld.cards)
    copies = Counter(pack(rules))
    for card, number in there.items():
        if number > copies[card]:
            raise ValueError(f"{card}: {number} copies in the position, the pack has {copies[card]}")
