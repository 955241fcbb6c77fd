"""Rule sets: every rule of every game as one frozen, validated record, its presets, overrides and YAML files.

A game is a set of values, never a class or a branch. This module knows no melds, moves or tables: it says
what the rules are and refuses what cannot be played, naming the field, what was given and what is allowed.
The pages that comments name are those of the rules: international.md, basic.md and fields.md.
"""

from __future__ import annotations

import difflib
import json
import operator
import os
import reprlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

RANKS = "A23456789TJQK"  # the order of the kinds of card; the order of runs is `Rules.rank_order`
SUITS = "cdhs"
WILD = "**"

_MANY = 1_000_000  # "no limit" for a counter, so that any number given fits the engine's integers
_MAX_MELDS = 6  # of one contract
MOST_DEALS = 30_000
"""Deals of a game at most, also where no limit is set: what the engine counts."""
_MAX_ROUNDS = 100

K = TypeVar("K")
V = TypeVar("V")


class FrozenMap(Mapping[K, V]):
    """A small mapping that cannot change, so that rules with maps in them can be hashed and compared."""

    __slots__ = ("_hash", "_map")

    def __init__(self, items: Mapping[K, V] | Iterable[tuple[K, V]]) -> None:
        self._map: dict[K, V] = dict(items)
        self._hash: int | None = None  # worked out once: rules are looked up at every move

    def __getitem__(self, key: K) -> V:
        return self._map[key]

    def __iter__(self) -> Iterator[K]:
        return iter(self._map)

    def __len__(self) -> int:
        return len(self._map)

    def __eq__(self, other: object) -> bool:
        return self._map == (other._map if isinstance(other, FrozenMap) else other)

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self._map.items()))
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        return FrozenMap, (self._map,)  # without the hash: those of texts are another process's own

    def __repr__(self) -> str:
        return repr(self._map)


CONTRACTS = ((2, 0), (1, 1), (0, 2), (3, 0), (2, 1), (1, 2), (0, 3))  # (groups, runs)

DEALS: Mapping[str, tuple[int, ...]] = FrozenMap({  # by round; international.md, A game
    "books": (10, 10, 10, 10, 12, 12, 12),
    "pagat": (10, 10, 10, 12, 12, 12, 12),
    "plus_one": (7, 8, 9, 10, 11, 12, 13),
    "exact": (6, 7, 8, 9, 10, 11, 12),
    "flat_eleven": (11, 11, 11, 11, 11, 11, 11),
})  # fmt: skip

_FACE: dict[str, int] = {r: int(r) if r.isdigit() else 10 for r in RANKS}
_POINTS: FrozenMap[str, int | None] = FrozenMap({**_FACE, "A": 15, "wild": 15})

POINTS: Mapping[str, Mapping[str, int | None]] = FrozenMap({  # a named set changes the entries it names
    "home": FrozenMap({"wild": 20}),
})  # fmt: skip

# The allowed values of the fields that stand alone: (least, most, whether null is allowed) ...
_WHOLE: dict[str, tuple[int, int, bool]] = {
    "players_min": (2, 6, False), "players_max": (2, 6, False),
    "decks": (1, 2, False), "jokers": (0, 8, False),
    "group_size": (2, 4, False), "run_length": (2, 4, False), "group_max": (1, _MANY, True),
    "max_buys": (0, _MANY, True), "buy_extra": (0, 2, False),
    "min_naturals": (0, _MANY, False), "max_wilds": (0, _MANY, True), "melds_per_turn": (1, _MANY, True),
    "max_recycles": (0, _MANY, True), "max_turns": (1, 10_000, False), "max_deals": (1, MOST_DEALS, True),
}  # fmt: skip
# ... the names ...
_CHOICES: dict[str, tuple[str, ...]] = {
    "ace": ("high", "low", "high_or_low", "corner"),
    "going_rummy": ("none", "double", "plus_10"),
    "stock_out": ("turn_over", "shuffle", "end"),
    "scoring": ("winner_takes_sum", "losers_penalty"),
    "blocked_scoring": ("none", "all_penalty", "lowest_takes_sum"),
}
# ... and true or false.
_FLAGS = (
    "buy_when_down", "turn_player_may_buy", "uncovered_live", "buy_first_upcard",
    "distinct_groups", "separate_runs", "same_turn_layoff", "layoff_own_only", "layoff_needs_own_meld",
    "redraw_ban", "final_discard",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """One rule set. The defaults are International's; every field is named and explained in fields.md.

    Lists may be given for tuples, dicts for maps, names of presets for `deal` and `points`; they are stored
    resolved and immutable. `points` given here are complete; `replace` takes those that change.
    Raises ValueError for a value that is not allowed and for a combination that cannot be played.
    """

    name: str = "international"
    # Players and cards (international.md, Cards; basic.md, House rules)
    players_min: int = 2
    players_max: int = 6
    decks: int = 2  # packs of 52
    jokers: int = 0  # wild cards added to the packs together
    wild_rank: int | None = 2  # 2: every 2 is wild and never natural; null: only jokers are
    ranks: tuple[str, ...] | None = None  # a smaller pack: only these ranks; runs close the gaps
    suits: tuple[str, ...] | None = None  # a smaller pack: only these suits
    ace: str = "high"  # its place in runs: high, low, high_or_low (either end), corner (runs wrap: K A 2)
    # Melds (international.md, Cards; basic.md, Base game)
    group_size: int = 3  # cards of a group as it is laid; melds grow by lay-offs
    run_length: int = 4  # cards of a run as it is laid
    group_max: int | None = None  # most cards of a group; null: 4 with one pack, no limit with two
    # Rounds (international.md, A game; fields.md)
    contracts: tuple[tuple[int, int], ...] | None = CONTRACTS  # (groups, runs); null: melds are free
    rounds: tuple[int, ...] | None = None  # those played, in order, from 1; null: all
    deal: tuple[int, ...] | Mapping[int, int] = DEALS["books"]  # by round, or by players; free melds: by players
    points: Mapping[str, int | None] = _POINTS  # by rank and "wild"; A null: see `card_points`
    # Buying (international.md, The buy window)
    max_buys: int | None = None  # per player and round; 0: no buy windows
    buy_when_down: bool = True  # false: who has laid down cannot buy
    turn_player_may_buy: bool = False  # true: the player whose turn comes may also buy, and still draws
    uncovered_live: bool = True  # false: a card that a buy uncovers cannot be bought
    buy_first_upcard: bool = True  # false: no window before the first turn
    buy_extra: int = 1  # stock cards that come with a buy
    # Laying down and off (international.md, The turn; basic.md, House rules)
    min_naturals: int = 1  # natural cards that a meld needs when laid; 0: wilds alone will do
    max_wilds: int | None = None  # most wilds of a meld when laid
    distinct_groups: bool = False  # true: groups of one contract differ in rank
    separate_runs: bool = False  # true: runs of one contract and suit neither touch nor overlap
    same_turn_layoff: bool = False  # true: also in the turn of laying down; these three only under contracts
    layoff_own_only: bool = False  # true: lay-offs on one's own melds only
    melds_per_turn: int | None = None  # most new melds in a turn; only where melds are free
    layoff_needs_own_meld: bool = False  # true: only after a meld of one's own; always so under contracts
    # The end of a turn, of the stock, of a round (international.md, Out of cards; basic.md, House rules)
    redraw_ban: bool = True  # a card taken as the draw may not be the discard of the same turn
    final_discard: bool = False  # true: the last card must be discarded
    going_rummy: str = "none"  # bonus for going out in one turn: none, double, plus_10
    stock_out: str = "shuffle"  # the discards become the stock: turn_over, shuffle (top stays), end (never)
    max_recycles: int | None = None  # how often that happens in a round
    max_turns: int = 50  # per player and round; then the round ends as blocked
    scoring: str = "losers_penalty"  # losers_penalty: own hand, fewest wins; winner_takes_sum: most wins
    blocked_scoring: str = "all_penalty"  # of a blocked round: none, all_penalty, lowest_takes_sum
    game_end: Mapping[str, int] | None = None  # {"target": n} or {"deals": n}; null with contracts
    max_deals: int | None = None  # the game ends after so many deals at the latest; only where melds are free

    def __post_init__(self) -> None:
        def put(name: str, value: object) -> None:
            object.__setattr__(self, name, value)

        if not isinstance(self.name, str) or not self.name.strip():
            raise _wrong("name", "a text that is not empty", self.name)
        for name, (least, most, nullable) in _WHOLE.items():
            put(name, _whole(name, getattr(self, name), least, most, nullable))
        for name, choices in _CHOICES.items():
            if not isinstance(getattr(self, name), str) or getattr(self, name) not in choices:
                raise _wrong(name, f"one of {', '.join(choices)}", getattr(self, name))
        for name in _FLAGS:
            if type(getattr(self, name)) is not bool:
                raise _wrong(name, "true or false", getattr(self, name))
        put("wild_rank", _whole("wild_rank", self.wild_rank, 2, 2, True))
        put("ranks", _letters("ranks", self.ranks, RANKS))
        put("suits", _letters("suits", self.suits, SUITS))
        put("contracts", _contracts(self.contracts))
        if self.rounds is not None:
            put("rounds", _whole_list("rounds", self.rounds, 1, _MANY))
        put("deal", _deal(self.deal))
        put("points", _points(self.points))
        put("game_end", _game_end(self.game_end))
        self._check_combinations()

    def _check_combinations(self) -> None:
        if self.players_min > self.players_max:
            raise ValueError(f"players_min {self.players_min} is above players_max {self.players_max}")
        if self.group_max is not None and self.group_max < self.group_size:
            raise ValueError(f"group_max {self.group_max} is below group_size {self.group_size}")
        if self.max_recycles is not None and self.stock_out == "end":
            raise ValueError(f"max_recycles {self.max_recycles} cannot stand with stock_out end; use null")
        if self.contracts is None:
            if self.rounds is not None:
                raise ValueError("rounds must be null where contracts is null: melds are free")
            if self.game_end is None:
                raise ValueError('game_end must be {"target": n} or {"deals": n} where contracts is null')
            if not isinstance(self.deal, Mapping):
                raise ValueError("deal must be a map from players to cards where contracts is null")
        else:
            for name in ("game_end", "max_deals"):
                if getattr(self, name) is not None:
                    raise ValueError(f"{name} must be null where contracts are given")
            if not isinstance(self.deal, Mapping) and len(self.deal) != len(self.contracts):
                raise ValueError(f"deal has {len(self.deal)} rounds but contracts has {len(self.contracts)}")
            if (number := max(self.rounds or (1,))) > len(self.contracts):
                raise ValueError(f"rounds names {number}, contracts has only {len(self.contracts)} rounds")
        if self.run_length > len(self.rank_order):
            raise ValueError(f"run_length {self.run_length} is longer than the {len(self.rank_order)} places of the ranks")
        if self.min_naturals > min(self.group_size, self.run_length):
            raise ValueError(
                f"min_naturals {self.min_naturals} is above the meld size "
                f"(group_size {self.group_size}, run_length {self.run_length})"
            )
        self._check_melds_exist()
        self._check_pack_serves()

    def _check_melds_exist(self) -> None:
        """A small pack with few wilds may have no group or no run: refused if nobody could ever lay down."""
        wilds = self.pack().count(WILD)
        usable = wilds if self.max_wilds is None else min(wilds, self.max_wilds)
        per_rank = self.decks * len(self.suits or SUITS)
        group = max(self.min_naturals, self.group_size - usable) <= per_rank
        places = self.rank_order + (self.rank_order[: self.run_length - 1] if self.ace == "corner" else ())
        natural = [place != str(self.wild_rank) for place in places]
        most = max(sum(natural[i : i + self.run_length]) for i in range(len(places) - self.run_length + 1))
        run = max(self.min_naturals, self.run_length - usable) <= most
        why = (
            f"can be laid with decks {self.decks}, ranks {' '.join(self.ranks or RANKS)}, "
            f"suits {' '.join(self.suits or SUITS)}, {_count(wilds, 'wild card')}, "
            f"min_naturals {self.min_naturals} and max_wilds {_show(self.max_wilds)}"
        )
        asks = [any(column) for column in zip(*(self.contracts or [(not run, False)]), strict=True)]
        if asks[0] and not group:
            raise ValueError(f"no group of group_size {self.group_size} {why}")
        if asks[1] and not run:
            raise ValueError(f"no run of run_length {self.run_length} {why}")

    def _check_pack_serves(self) -> None:
        size = len(self.pack())
        for players in range(self.players_min, self.players_max + 1):
            if isinstance(self.deal, Mapping) and players not in self.deal:
                raise ValueError(
                    f"deal says nothing for {players} players (players_min {self.players_min}, players_max {self.players_max})"
                )
            cards = self.deal[players] if isinstance(self.deal, Mapping) else max(self.deal)
            if players * cards + 2 > size:
                raise ValueError(
                    f"deal of {cards} cards to {players} players (players_max {self.players_max}) needs "
                    f"{players * cards + 2} cards with the up-card and one stock card; the pack has {size} "
                    f"(decks {self.decks}, jokers {self.jokers}, ranks, suits)"
                )

    # What the other modules ask

    @property
    def rank_order(self) -> tuple[str, ...]:
        """The ranks of the pack, low to high, as places of a run; with `corner` the first follows the last.

        Where 2s are wild, a 2 has no place when aces are high (international.md); else its place stays and
        only a wild can fill it (basic.md). `high_or_low` has the ace at both ends.
        """
        ranks = tuple(self.ranks or RANKS)
        ace = tuple(rank for rank in ranks if rank == "A")
        rest = ranks[len(ace) :]
        if self.ace == "high":
            return tuple(rank for rank in rest if rank != str(self.wild_rank)) + ace
        return ace + rest + (ace if self.ace == "high_or_low" else ())

    @property
    def sequence(self) -> tuple[int, ...]:
        """The numbers of the rounds played, in order; empty where melds are free (see `game_end`)."""
        return self.rounds or tuple(range(1, len(self.contracts or ()) + 1))

    @property
    def game_rounds(self) -> int:
        """How many rounds a game has: exactly, or where melds are free at most (a target may end it before)."""
        if self.contracts is not None:
            return len(self.sequence)
        return min((self.game_end or {}).get("deals", MOST_DEALS), self.max_deals or MOST_DEALS)

    @property
    def kinds_of_round(self) -> int:
        """Of how many rounds a single one is drawn: those played; where melds are free all deals are alike."""
        return len(self.sequence) or 1

    def round_at(self, index: int) -> int:
        """The number of the round in that place of a game, from 0: of its contract, or where melds are free of the deal."""
        return self.sequence[index] if self.contracts is not None else index + 1

    def round_index(self, number: object) -> int:
        """The place in a game, from 0, of the first round with that number. ValueError where there is none."""
        last = self.game_rounds
        known: Sequence[int]
        known, allowed = range(1, last + 1), f"a deal from 1 to {last}"
        if self.contracts is not None:
            known, allowed = self.sequence, f"one of the rounds played, {list(self.sequence)}"
        if not isinstance(number, bool) and hasattr(number, "__index__") and number in known:
            return known.index(operator.index(number))
        raise ValueError(f"round must be {allowed}, not {shown(number)}")

    @property
    def card_points(self) -> dict[str, int]:
        """Points by rank and "wild"; an ace of null is resolved: 1 where `ace` is low, else 15."""
        ace = 1 if self.ace == "low" else 15
        return {rank: ace if number is None else number for rank, number in self.points.items()}

    @property
    def group_limit(self) -> int | None:
        """Most cards of a group: `group_max`, where that is null 4 with one pack, else None."""
        return 4 if self.group_max is None and self.decks == 1 else self.group_max

    def cards_dealt(self, round_number: int, players: int) -> int:
        """Cards dealt to each player in that round, from 1; where they go by players every deal is alike.

        Raises ValueError for a number of players or a round that the rules do not have.
        """
        if not self.players_min <= players <= self.players_max:
            raise ValueError(f"players must be {self.players_min}..{self.players_max}, not {_show(players)}")
        if isinstance(self.deal, Mapping):
            return self.deal[players]
        if not 1 <= round_number <= len(self.deal):
            raise ValueError(f"round must be 1..{len(self.deal)}, not {_show(round_number)}")
        return self.deal[round_number - 1]

    def pack(self) -> list[str]:
        """The text of every card: pack after pack by suit and rank, then all wilds as `**`."""
        cards = [rank + suit for suit in self.suits or SUITS for rank in self.ranks or RANKS] * self.decks
        natural = [card for card in cards if card[0] != str(self.wild_rank)]
        return natural + [WILD] * (len(cards) - len(natural) + self.jokers)

    def replace(self, **overrides: Any) -> Rules:
        """These rules with some fields changed; the same as `apply_overrides`."""
        return apply_overrides(self, overrides)

    def to_dict(self) -> dict[str, Any]:
        """Every field as plain lists, numbers and texts for JSON and YAML; keys of maps are texts."""
        return {name: _plain(getattr(self, name)) for name in FIELDS}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Rules:
        """Rules from a map of fields; what it leaves out is as in the preset that it names.

        The preset is that of the key `preset`, else of `name` where that is a preset's, else International.
        Raises ValueError for what is no map, and for an unknown field or preset.
        """
        if not isinstance(given, Mapping):
            raise ValueError(f"rules must be a map from fields to values, not {_show(given)}")
        changes = dict(given)
        name = changes.get("name")
        base = changes.pop("preset", name if isinstance(name, str) and name in PRESETS else "international")
        return apply_overrides(preset(base), changes)

    def describe(self) -> str:
        """The rule set in plain words, some twenty lines; the last say what differs from a preset."""
        return "\n".join(_describe(self))


FIELDS: tuple[str, ...] = tuple(f.name for f in fields(Rules))


# Reading values


_LONGEST = 400  # letters of a value in a message
_SHOWN = reprlib.Repr()
_SHOWN.maxlevel, _SHOWN.maxstring, _SHOWN.maxlong, _SHOWN.maxother = 3, 200, 60, 200
_SHOWN.maxlist = _SHOWN.maxtuple = _SHOWN.maxdict = _SHOWN.maxset = 12


def shown(value: object, cut: reprlib.Repr = _SHOWN) -> str:
    """A value for a message, much as `repr` has it: cut where it is long, deep or refers to itself; it never fails."""
    try:
        text = cut.repr(value)
        return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
    except (ValueError, RecursionError):  # Python writes no whole number of more than some thousand digits
        return f"a value of type {type(value).__name__} that is too large to show"


def _show(value: object) -> str:
    """A value as the person who wrote it in YAML or JSON knows it, cut short."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return shown(value, reprlib.aRepr)


def _count(number: int | None, one: str) -> str:
    """Like `no limit`, `no jokers`, `1 card`, `3 cards`."""
    return "no limit" if number is None else f"{number or 'no'} {one if number == 1 else one + 's'}"


def _wrong(name: str, allowed: str, given: object) -> ValueError:
    return ValueError(f"{name} must be {allowed}, not {_show(given)}")


def _whole(name: str, value: object, least: int, most: int, nullable: bool = False) -> int | None:
    """A whole number in a range, or None where that is allowed. True is not 1, and 1.0 is not either."""
    if value is None and nullable:
        return None
    number = None
    if hasattr(value, "__index__") and not isinstance(value, bool):
        number = int(operator.index(value))
    if number is None or not least <= number <= most:
        bounds = f"{least}..{most}" if most < _MANY or (number or 0) > most else f">= {least}"
        allowed = f"the number {least}" if least == most else f"a whole number {bounds}"
        raise _wrong(name, f"null or {allowed}" if nullable else allowed, value)
    return number


def _listed(name: str, value: object, what: str) -> list[Any]:
    if not isinstance(value, list | tuple) or not 1 <= len(value) <= _MAX_ROUNDS:
        raise _wrong(name, f"a list of {what} (1 to {_MAX_ROUNDS})", value)
    return list(value)


def _whole_list(name: str, value: object, least: int, most: int) -> tuple[int, ...]:
    items = _listed(name, value, "whole numbers")
    return tuple(_whole(f"every entry of {name}", item, least, most) or 0 for item in items)


def _key(key: object) -> object:
    """A key of a map as text: YAML reads 7 as a number where JSON has "7"."""
    small = isinstance(key, int) and not isinstance(key, bool) and -_MANY <= key <= _MANY
    return str(key) if small else key


def _keyed(name: str, given: Mapping[Any, Any], known: Iterable[str]) -> dict[str, Any]:
    """The map with its keys as texts, all of them known and none twice."""
    known = tuple(known)
    found: dict[str, Any] = {}
    for key, value in given.items():
        text = _key(key)
        if not isinstance(text, str) or text not in known:
            raise ValueError(f"{name} has the unknown key {_show(key)}; allowed are {' '.join(known)}")
        if text in found:
            raise ValueError(f"{name} names {text} twice")
        found[text] = value
    return found


def _letters(name: str, value: object, known: str) -> tuple[str, ...] | None:
    if value is None:
        return None
    given = [_key(item) for item in _listed(name, value, f"letters of {known}")]
    for item in given:
        if not isinstance(item, str) or len(item) != 1 or item not in known:
            raise _wrong(name, f"null or a list of letters of {known}", item)
        if given.count(item) > 1:
            raise ValueError(f"{name} names {item} twice")
    return tuple(letter for letter in known if letter in given)


def _contracts(value: object) -> tuple[tuple[int, int], ...] | None:
    if value is None:
        return None
    pairs = []
    for item in _listed("contracts", value, "pairs [groups, runs]"):
        if not isinstance(item, list | tuple) or len(item) != 2:
            raise _wrong("every entry of contracts", "a pair [groups, runs]", item)
        groups, runs = _whole_list("contracts", item, 0, _MAX_MELDS)
        if not 1 <= groups + runs <= _MAX_MELDS:
            raise _wrong("every entry of contracts", f"1 to {_MAX_MELDS} melds together", item)
        pairs.append((groups, runs))
    return tuple(pairs)


def _deal(value: object) -> tuple[int, ...] | FrozenMap[int, int]:
    if isinstance(value, str):
        if value not in DEALS:
            raise _wrong("deal", f"a list, a map or one of {', '.join(DEALS)}", value)
        return DEALS[value]
    if not isinstance(value, Mapping):
        return _whole_list("deal", value, 1, _MANY)
    found = _keyed("deal", value, "23456")
    cards = _whole_list("deal", list(found.values()), 1, _MANY)
    return FrozenMap(sorted(zip(map(int, found), cards, strict=True)))


def _points(value: object, base: Mapping[str, int | None] | None = None) -> FrozenMap[str, int | None]:
    """The points of every rank and of "wild"; what is not given is as in `base`, a 2 without one counts 2."""
    if isinstance(value, str):
        if value not in POINTS:
            raise _wrong("points", f"a map or one of {', '.join(POINTS)}", value)
        value, base = POINTS[value], base or _POINTS
    if not isinstance(value, Mapping):
        raise _wrong("points", f"a map from rank to number or one of {', '.join(POINTS)}", value)
    keys = [*RANKS, "wild"]
    found = {"2": 2, **(base or {}), **_keyed("points", value, keys)}
    if missing := [key for key in keys if key not in found]:
        raise ValueError(f"points must give every rank and wild; missing: {' '.join(missing)}")
    return FrozenMap({key: _whole(f"points {key}", found[key], -1000, 1000, key == "A") for key in keys})


def _game_end(value: object) -> FrozenMap[str, int] | None:
    if value is None:
        return None
    if not isinstance(value, Mapping) or len(value) != 1 or next(iter(value)) not in ("target", "deals"):
        raise _wrong("game_end", 'null, {"target": n} or {"deals": n}', value)
    ((kind, number),) = value.items()
    return FrozenMap({kind: _whole(f"game_end {kind}", number, 1, MOST_DEALS if kind == "deals" else _MANY) or 1})


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


# Presets, overrides, files


def apply_overrides(rules: Rules, overrides: Mapping[str, Any]) -> Rules:
    """The rules with some fields changed: `points` in the entries that are named, all else wholly.

    Raises ValueError for unknown fields and for rules that are then refused.
    """
    if not isinstance(overrides, Mapping):
        raise ValueError(f"overrides must be a map from fields to values, not {_show(overrides)}")
    for name in overrides:
        if not isinstance(name, str) or name not in FIELDS:
            near = difflib.get_close_matches(str(name), FIELDS, 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise ValueError(f"unknown rule field {_show(name)}{hint}")
    values = {name: getattr(rules, name) for name in FIELDS} | dict(overrides)
    if "points" in overrides:
        values["points"] = _points(overrides["points"], rules.points)
    return Rules(**values)


def _presets() -> FrozenMap[str, Rules]:
    basic = Rules(
        name="basic",
        decks=1, wild_rank=None, ace="low", run_length=3, contracts=None,
        deal={2: 10, 3: 7, 4: 7, 5: 6, 6: 6}, points={**_POINTS, "A": None},
        max_buys=0, melds_per_turn=1, stock_out="turn_over",
        scoring="winner_takes_sum", blocked_scoring="none", game_end={"target": 100}, max_deals=100,
    )  # fmt: skip
    modern = basic.replace(
        name="basic_modern",
        melds_per_turn=None, ace="high_or_low", going_rummy="double", stock_out="shuffle", max_recycles=2,
    )  # fmt: skip
    block = basic.replace(
        name="block",
        stock_out="end", blocked_scoring="all_penalty", scoring="losers_penalty",
    )  # fmt: skip
    return FrozenMap({rules.name: rules for rules in (Rules(), basic, modern, block)})


PRESETS: Mapping[str, Rules] = _presets()


def preset(name: str) -> Rules:
    """The preset of that name. Raises ValueError that lists the names where there is none."""
    if not isinstance(name, str) or name not in PRESETS:
        raise _wrong("preset", f"one of {', '.join(PRESETS)}", name)
    return PRESETS[name]


def resolve_rules(
    rules: str | os.PathLike[str] | Mapping[str, Any] | Rules, overrides: Mapping[str, Any] | None = None
) -> Rules:
    """Rules from what a user may give, with the overrides applied.

    That is the name of a preset, the path of a YAML file (a text ends in .yaml or .yml), a map of fields as
    `Rules.from_dict` takes it, or Rules. Raises ValueError for what is none of these, OSError without a file.
    """
    if isinstance(rules, os.PathLike) or (isinstance(rules, str) and rules.endswith((".yaml", ".yml"))):
        found = load_rules(rules)
    elif isinstance(rules, str):
        if rules not in PRESETS:
            raise _wrong("rules", f"one of {', '.join(PRESETS)} or a path ending in .yaml", rules)
        found = PRESETS[rules]
    elif isinstance(rules, Rules):
        found = rules
    else:
        found = Rules.from_dict(rules)
    return apply_overrides(found, overrides) if overrides is not None else found


def load_rules(path: str | os.PathLike[str]) -> Rules:
    """The rules of a YAML file, a map as for `Rules.from_dict`.

    Raises ValueError that names the file, and the line where it is damaged; OSError without the file.
    """
    try:
        return Rules.from_dict(read_yaml(Path(path).read_bytes()))
    except ValueError as error:
        raise ValueError(f"{os.fspath(path)}: {error}") from None


def read_yaml(raw: bytes) -> Any:
    """What a text in YAML says. ValueError names the line where it is damaged, or says a thing twice."""
    import yaml  # type: ignore[import-untyped, unused-ignore]

    def refuse(line: int, why: object) -> ValueError:
        return ValueError(f"line {line}: {why}")

    def check(node: Any) -> None:
        """Refuse keys given twice (YAML would keep the last) and texts that their tag does not fit."""
        line = node.start_mark.line + 1
        if isinstance(node, yaml.ScalarNode):
            try:
                loader.construct_object(node)
            except Exception:  # the constructors of tags raise what they like
                raise refuse(line, f"{node.value!r} cannot be read as {node.tag}") from None
        elif node not in seen:
            seen.add(node)
            pairs = node.value if isinstance(node, yaml.MappingNode) else [(item,) for item in node.value]
            for part in (part for pair in pairs for part in pair):
                check(part)
            keys: set[str] = set()
            for key in (pair[0] for pair in pairs if len(pair) == 2 and isinstance(pair[0], yaml.ScalarNode)):
                if key.value in keys:
                    raise refuse(key.start_mark.line + 1, f"the key {_show(key.value)} stands twice")
                keys.add(key.value)

    seen: set[Any] = set()
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise refuse(raw.count(b"\n", 0, error.start) + 1, "not UTF-8 text") from None
    try:
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
        if node is None:
            return None
        check(node)
        return loader.construct_document(node)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line if mark else text.count("\n", 0, getattr(error, "position", 0))
        raise refuse(line + 1, getattr(error, "problem", None) or getattr(error, "reason", error)) from None
    except RecursionError:
        raise refuse(1, "nested too deep") from None


def save_rules(rules: Rules, path: str | os.PathLike[str]) -> None:
    """Write every field as YAML, beside the file and then moved into its place. Raises OSError."""
    import yaml  # type: ignore[import-untyped, unused-ignore]

    target = Path(path)
    beside = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        text = yaml.safe_dump(rules.to_dict(), sort_keys=False, allow_unicode=True, default_flow_style=None)
        beside.write_text(text, encoding="utf-8")
        os.replace(beside, target)
    finally:
        beside.unlink(missing_ok=True)


# In words


def _describe(r: Rules) -> Iterator[str]:
    base = PRESETS.get(r.name) or PRESETS["basic" if r.contracts is None else "international"]
    fewest = r.scoring == "losers_penalty"
    yield f"{r.name}: rummy for {r.players_min} to {r.players_max} players"
    wild = "every 2 is wild" if r.wild_rank else "2s are natural cards"
    yield f"Cards: {len(r.pack())}, from {_count(r.decks, 'pack')} and {_count(r.jokers, 'joker')}; {wild}."
    corner = ", and on to the first again" if r.ace == "corner" else ""
    yield f"Suits: {' '.join(r.suits or SUITS)}. Order in a run: {' '.join(r.rank_order)}{corner}."
    yield (
        f"Melds: a group is laid with {r.group_size} cards of a rank (most after lay-offs: "
        f"{_count(r.group_limit, 'card')}), a run with {r.run_length} cards of a suit."
    )
    yield f"In a meld as laid: least naturals: {r.min_naturals}; most wilds: {_count(r.max_wilds, 'wild')}."
    if isinstance(r.deal, Mapping):
        yield "Cards dealt: " + ", ".join(f"{cards} with {n} players" for n, cards in r.deal.items()) + "."
    if r.contracts is None:
        since = "after a meld of one's own" if r.layoff_needs_own_meld else "before a meld of one's own too"
        yield f"Most new melds in a turn: {_count(r.melds_per_turn, 'meld')}."
    else:
        for number in r.sequence:
            groups, runs = r.contracts[number - 1]
            parts = [_count(n, word) for n, word in ((groups, "group"), (runs, "run")) if n]
            size = groups * r.group_size + runs * r.run_length
            dealt = "" if isinstance(r.deal, Mapping) else f", {r.deal[number - 1]} cards dealt"
            yield f"Round {number}: {' and '.join(parts)} ({size} cards){dealt}"
        since = "in the turn of laying down or later" if r.same_turn_layoff else "in turns after laying down"
        if r.distinct_groups:
            yield "The groups of one contract differ in rank."
        if r.separate_runs:
            yield "The runs of one contract in one suit neither touch nor overlap."
    yield f"Lay-offs on {'own' if r.layoff_own_only else 'all'} melds, {since}."
    if r.max_buys == 0:
        yield "No buying."
    else:
        yield (
            f"Buying: {_count(r.max_buys, 'buy')} a round, with {_count(r.buy_extra, 'stock card')}; "
            f"after laying down: {_yes(r.buy_when_down)}; by the player whose turn comes: "
            f"{_yes(r.turn_player_may_buy)};\n  what a buy uncovers: {_yes(r.uncovered_live)}; "
            f"the first up-card: {_yes(r.buy_first_upcard)}."
        )
    yield f"The card taken from the discards may be discarded in the same turn: {_yes(not r.redraw_ban)}."
    yield f"The last card must be discarded: {_yes(r.final_discard)}."
    stock = {
        "turn_over": "the discards are turned over",
        "shuffle": "the discards below the top one are shuffled",
        "end": "there is no other",
    }
    yield f"When the stock is out, {stock[r.stock_out]}; new stocks: {_count(r.max_recycles, 'time')}."
    yield f"A round ends as blocked when a player has had {_count(r.max_turns, 'turn')}."
    points = {key: number for key, number in r.card_points.items() if key != str(r.wild_rank)}
    yield "Points: " + ", ".join(f"{key} {number}" for key, number in points.items()) + "."
    yield (
        "Losers are charged the own hands; fewest points win."
        if fewest
        else "Who goes out gets the points of all other hands; most points win."
    )
    bonus = {"none": "no bonus", "double": "points doubled", "plus_10": "10 points more"}
    yield f"Going out in one turn: {bonus[r.going_rummy]}."
    blocked = {
        "none": "nobody scores",
        "all_penalty": f"everybody {'is charged' if fewest else 'loses'} the own hand",
        "lowest_takes_sum": "the lowest hand wins, a tie scores nothing",
    }
    yield f"In a blocked round {blocked[r.blocked_scoring]}."
    for kind, number in (r.game_end or {}).items():
        end = f"a score reaches {number}" if kind == "target" else f"{_count(number, 'deal')} are played"
        yield f"The game ends when {end}; most deals: {_count(r.max_deals, 'deal')}."
    for name, old in base.to_dict().items():
        new = r.to_dict()[name]
        if name == "points":
            new, old = ({key: n for key, n in a.items() if b[key] != n} for a, b in ((new, old), (old, new)))
        if new != old and name != "name":
            yield f"Other than in {base.name}: {name} {json.dumps(new)}, not {json.dumps(old)}"


def _yes(flag: bool) -> str:
    return "yes" if flag else "no"
