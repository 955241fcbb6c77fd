"""Melds, and the question which of them may be laid: under contracts by trying all ways to complete the contract.

A meld is a list of (card, place) pairs. In a group every place is the rank; in a run the place is the card
that lies or is stood for there, so a wild has its place written beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Any

from .cards import ALL_SUITS, WILD, Rules, in_print_order, is_circle, places_of, ranks_of, suits_of, without
from .ruleset import group_limit


@dataclass(frozen=True)
class Meld:
    """A group or a run: `kind` is "G" or "R"; `spots` are its (card, place) pairs as they are printed."""

    kind: str
    spots: tuple[tuple[str, str], ...]
    owner: int | None = None

    @property
    def cards(self) -> list[str]:
        """The cards, as printed."""
        return [card for card, _ in self.spots]

    @property
    def name(self) -> str:
        """The rank of a group; the lowest place of a run."""
        return self.spots[0][1]

    @property
    def text(self) -> str:
        """As the notation writes it, without the word lay."""
        return f"{self.kind}{self.name} {''.join(self.cards)}"

    @property
    def wilds(self) -> int:
        """How many wild cards lie in it."""
        return self.cards.count(WILD)

    def __len__(self) -> int:
        return len(self.spots)


def make_group(rules: Rules, rank: str, cards: Iterable[str], owner: int | None = None) -> Meld:
    """A group of a rank: naturals by suit, then wilds."""
    return Meld("G", tuple((card, rank) for card in in_print_order(rules, cards)), owner)


def make_run(rules: Rules, lowest: str, cards: list[str], owner: int | None = None) -> Meld:
    """A run from its lowest place (a card) up; ValueError where it leaves the rank order or laps itself."""
    start, size = places_of(rules).index(lowest[0]), len(cards)
    ranks = ranks_from(rules, start)
    if size > len(ranks):
        raise ValueError(f"R{lowest} {''.join(cards)}: the run goes beyond the highest rank")
    return Meld("R", tuple((card, rank + lowest[1]) for card, rank in zip(cards, ranks, strict=False)), owner)


def ranks_from(rules: Rules, start: int) -> str:
    """The places of the longest run that begins at this place: to the last one, or once round the corner."""
    places = places_of(rules)
    return places[start:] + (places[:start] if is_circle(rules) else "")


def parse_meld(rules: Rules, text: str, owner: int | None = None) -> Meld:
    """A meld from its text; ValueError where a card does not fit its place."""
    head, _, tail = text.partition(" ")
    cards = [tail[i : i + 2] for i in range(0, len(tail), 2)]
    kind, name = head[:1], head[1:]
    ranks, suits = ranks_of(rules), suits_of(rules)
    for card in cards:
        if card != WILD and (len(card) != 2 or card[0] not in ranks or card[1] not in suits):
            raise ValueError(f"melds: {card!r} in {text!r} is no card of this pack")
    if cards and kind == "G" and len(name) == 1 and name in ranks:
        meld = make_group(rules, name, cards, owner)
        if meld.cards != cards:
            raise ValueError(f"melds: a group is written naturals by suit, then wilds, not {text!r}")
        fits = all(card == WILD or card[0] == name for card in cards)
    elif cards and kind == "R" and len(name) == 2 and name[0] in places_of(rules) and name[1] in suits:
        meld = make_run(rules, name, cards, owner)
        fits = all(card in (WILD, place) for card, place in meld.spots)
    else:
        raise ValueError(f"melds: {text!r} is no meld")
    if not fits:
        raise ValueError(f"melds: a card does not fit in {text!r}")
    return meld


def size_as_laid(rules: Rules, kind: str) -> int:
    """How many cards a meld of this kind has when it is laid."""
    return int(rules["group_size"] if kind == "G" else rules["run_length"])


def most_wilds(rules: Rules, kind: str) -> int:
    """How many wilds a meld may hold when it is laid: by `min_naturals` and `max_wilds`."""
    most = size_as_laid(rules, kind) - int(rules["min_naturals"])
    return most if rules["max_wilds"] is None else min(most, int(rules["max_wilds"]))


def may_lie(rules: Rules, meld: Meld) -> bool:
    """Whether such a meld can lie on a table: laid by the rules, then perhaps grown card by card."""
    size, wilds_allowed = size_as_laid(rules, meld.kind), most_wilds(rules, meld.kind)
    if meld.kind == "G":
        limit = group_limit(rules)
        if len(meld) < size or (limit is not None and len(meld) > limit):
            return False
        return len(meld) - meld.wilds >= size - wilds_allowed
    stretches = [meld.cards[i : i + size] for i in range(len(meld) - size + 1)]
    return any(stretch.count(WILD) <= wilds_allowed for stretch in stretches)


def groups_from(rules: Rules, cards: Iterable[str]) -> Iterator[Meld]:
    """Every group that may be laid with these cards, by rank."""
    cards = sorted(cards)
    size = rules["group_size"]
    wilds = min(cards.count(WILD), most_wilds(rules, "G"))
    for rank in ranks_of(rules):
        naturals = [card for card in cards if card[0] == rank]
        for number in range(min(size, len(naturals)), max(0, size - wilds) - 1, -1):
            for chosen in sorted(set(combinations(naturals, number))):
                yield make_group(rules, rank, list(chosen) + [WILD] * (size - number))


def runs_from(rules: Rules, cards: Iterable[str]) -> Iterator[Meld]:
    """Every run that may be laid with these cards, by suit and lowest place; any place may have a wild."""
    cards = list(cards)
    held = set(cards)
    wilds = min(cards.count(WILD), most_wilds(rules, "R"))
    for places, all_places in stretches(places_of(rules), is_circle(rules), suits_of(rules), rules["run_length"]):
        if len(all_places - held) > wilds:
            continue
        present = [at for at, place in enumerate(places) if place in held]
        for more in range(wilds - len(places) + len(present) + 1):
            for replaced in combinations(present, more):
                natural = set(present).difference(replaced)
                run = [place if at in natural else WILD for at, place in enumerate(places)]
                # a run from ace to ace needs two of them
                if len(all_places) == len(places) or all(run.count(card) <= cards.count(card) for card in run):
                    yield Meld("R", tuple(zip(run, places, strict=True)))


@cache
def stretches(order: str, circle: bool, suits: str, size: int) -> list[tuple[list[str], frozenset[str]]]:
    """The places of every run of that size, in order and as a set, by suit and lowest place."""
    starts = range(len(order) if circle else len(order) - size + 1)
    found = [[rank + suit for rank in (order * 2)[start : start + size]] for suit in suits for start in starts]
    return [(places, frozenset(places)) for places in found]


def melds_from(rules: Rules, kind: str, cards: Iterable[str]) -> Iterator[Meld]:
    """Every meld of one kind that may be laid with these cards."""
    return groups_from(rules, cards) if kind == "G" else runs_from(rules, cards)


def agree(rules: Rules, one: Meld, other: Meld) -> bool:
    """Whether two melds may stand in one contract, by `distinct_groups` and `separate_runs`."""
    if one.kind != other.kind:
        return True
    if one.kind == "G":
        return not rules["distinct_groups"] or one.name != other.name
    if not rules["separate_runs"] or one.name[1] != other.name[1]:
        return True
    places = places_of(rules)
    apart = abs(places.index(one.name[0]) - places.index(other.name[0]))
    if is_circle(rules):
        apart = min(apart, len(places) - apart)
    return apart > int(rules["run_length"])  # at just the length of a run they touch


class LayDown:
    """One player's chance to lay down: what of a contract can be laid with the cards of a hand.

    `laid` are the melds of the contract that lie already. Answers are kept for cards that come up again.
    """

    def __init__(self, rules: Rules, hand: list[str], groups: int, runs: int, laid: list[Meld]) -> None:
        self.rules, self.hand, self.groups, self.runs, self.laid = rules, hand, groups, runs, laid
        self.known: dict[Any, bool] = {}

    def possible(self) -> bool:
        """Whether all that is missing can be laid now."""
        needed = self.groups * self.rules["group_size"] + self.runs * self.rules["run_length"]
        if self.rules["final_discard"] and len(self.hand) <= needed:
            return False
        return self._fits(self.hand, self.groups, self.runs, self.laid, None)

    def moves(self) -> list[Meld]:
        """Every meld that may be laid next: one that is missing, after which the rest can still be laid."""
        if not self.possible():
            return []
        found = []
        for kind, number in (("G", self.groups), ("R", self.runs)):
            if number == 0:
                continue
            groups, runs = self.groups - (kind == "G"), self.runs - (kind == "R")
            for meld in melds_from(self.rules, kind, self.hand):
                if all(agree(self.rules, meld, other) for other in self.laid):
                    rest = without(self.hand, meld.cards)
                    if self._fits(rest, groups, runs, [*self.laid, meld], None):
                        found.append(meld)
        return found

    def _fits(self, cards: list[str], groups: int, runs: int, laid: list[Meld], last: Meld | None) -> bool:
        """Whether so many groups and runs can be laid with these cards beside what is laid.

        The order of laying does not matter to this question, so melds of one kind are tried in the order in
        which they are listed only: none before the `last` one tried.
        """
        rules = self.rules
        if groups + runs == 0:
            return True
        if len(cards) < groups * rules["group_size"] + runs * rules["run_length"]:
            return False
        matters = rules["distinct_groups"] or rules["separate_runs"]
        others = frozenset((meld.kind, meld.name) for meld in laid) if matters else None
        question = (tuple(sorted(cards)), groups, runs, others, last and last.name)
        if question not in self.known:
            self.known[question] = self._try(cards, groups, runs, laid, last)
        return self.known[question]

    def _try(self, cards: list[str], groups: int, runs: int, laid: list[Meld], last: Meld | None) -> bool:
        """The work of `_fits`: each kind must be possible alone; then groups are tried before runs."""
        rules = self.rules
        if groups and runs and not self._fits(cards, 0, runs, laid, None):
            return False
        if groups and runs and not self._fits(cards, groups, 0, laid, last):
            return False
        kind = "G" if groups else "R"
        for meld in melds_from(rules, kind, cards):
            if last is not None and self._place(meld) < self._place(last):
                continue
            if not all(agree(rules, meld, other) for other in laid):
                continue
            left = groups - 1 if kind == "G" else groups
            going_on = meld if kind == "R" or left else None  # the first run may be any
            rest = without(cards, meld.cards)
            if self._fits(rest, left, runs - (kind == "R"), [*laid, meld], going_on):
                return True
        return False

    def _place(self, meld: Meld) -> tuple[int, int]:
        """Where a meld comes in the listing of its kind."""
        if meld.kind == "G":
            return (0, ranks_of(self.rules).index(meld.name))
        return (ALL_SUITS.index(meld.name[1]), places_of(self.rules).index(meld.name[0]))
