"""The move table: id <-> `Move` <-> text, and a feature matrix that describes every move.

The order of the table is fixed, because saved policies depend on it: draws and answers, lays in the order of
`melds.catalogue`, naturals laid off on groups, wilds laid off on groups, naturals laid off on runs, wilds laid off on
runs, discards. Only packs, jokers, `wild_rank`, `ace`, smaller decks, `group_size` and `run_length` change it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property, lru_cache

import numpy as np

from rummy_env.cards import KIND_TEXTS, NUM_KINDS, NUM_RANKS, NUM_SUITS, RANKS, SUITS, WILD
from rummy_env.melds import Meld, Pack, catalogue, pack_of
from rummy_env.rules import Rules


class MoveType(IntEnum):
    """What a move does."""

    STOCK = 0
    TAKE = 1
    BUY = 2
    PASS = 3
    LAY = 4
    OFF_GROUP = 5
    OFF_LOW = 6
    OFF_HIGH = 7
    DISCARD = 8


@dataclass(frozen=True)
class Move:
    """One entry of the table.

    `cards` are the kinds that leave the hand. For `LAY`, `meld` is what is laid. For `OFF_GROUP`, `target` is the rank
    of the group; for `OFF_LOW` and `OFF_HIGH` it is the place that the card comes to stand at, in `suit`.
    """

    type: MoveType
    text: str
    cards: tuple[int, ...] = ()
    meld: Meld | None = None
    suit: int = -1
    target: int = -1

    def __str__(self) -> str:
        return self.text


def _low_places(pack: Pack) -> range:
    return range(len(pack.places) if pack.circular else len(pack.places) - pack.run_length)


def _high_places(pack: Pack) -> range:
    return range(0 if pack.circular else pack.run_length, len(pack.places))


def _all_moves(pack: Pack, with_buying: bool) -> Iterator[Move]:
    yield Move(MoveType.STOCK, "stock")
    yield Move(MoveType.TAKE, "take")
    if with_buying:
        yield Move(MoveType.BUY, "buy")
        yield Move(MoveType.PASS, "pass")
    for meld in catalogue(pack):
        suit = meld.suit if meld.is_run else -1
        yield Move(MoveType.LAY, f"lay {meld.text(pack)}", meld.cards, meld, suit, meld.low)
    for rank in pack.ranks:
        for suit in pack.suits:
            kind = suit * NUM_RANKS + rank
            if pack.copies[kind]:
                yield Move(MoveType.OFF_GROUP, f"off {KIND_TEXTS[kind]} G", (kind,), None, suit, rank)
    if pack.wilds:
        for rank in pack.ranks:
            yield Move(MoveType.OFF_GROUP, f"off ** G{RANKS[rank]}", (WILD,), None, -1, rank)
    for wild in (False, True) if pack.wilds else (False,):
        for suit in pack.suits:
            for type_, word, places in (
                (MoveType.OFF_LOW, "low", _low_places(pack)),
                (MoveType.OFF_HIGH, "high", _high_places(pack)),
            ):
                for place in places:
                    card = RANKS[pack.places[place]] + SUITS[suit]
                    if wild:
                        yield Move(type_, f"off ** {word} {card}", (WILD,), None, suit, place)
                    elif (kind := pack.natural(suit, place)) >= 0:
                        yield Move(type_, f"off {card} {word}", (kind,), None, suit, place)
    for kind in range(NUM_KINDS):
        if pack.copies[kind]:
            yield Move(MoveType.DISCARD, f"discard {KIND_TEXTS[kind]}", (kind,))


class MoveTable:
    """All moves with a pack, in order, those of a buy window only where there is buying.

    ``len(table)`` is the size of the action space.
    """

    def __init__(self, pack: Pack, with_buying: bool):
        self.pack = pack
        self.moves: tuple[Move, ...] = tuple(_all_moves(pack, with_buying))
        self._id_of_text = {move.text: id_ for id_, move in enumerate(self.moves)}

    def __len__(self) -> int:
        return len(self.moves)

    def __getitem__(self, id_: int) -> Move:
        return self.moves[id_]

    def __iter__(self) -> Iterator[Move]:
        return iter(self.moves)

    def id(self, move: int | str | Move) -> int:
        """The id of a move given by id, text or `Move`; ``ValueError`` for anything that is no move of this table."""
        if isinstance(move, Move):
            move = move.text
        if isinstance(move, str):
            found = self._id_of_text.get(" ".join(move.split()))
            if found is None:
                raise ValueError(
                    f"no such move: {move!r}; moves are written like 'stock', 'take', 'buy', 'pass', 'lay G7 7c7h**', "
                    "'lay R5s 5s**7s8s', 'off 7d G', 'off ** G7', 'off 4s low', 'off ** high 9s', 'discard 7d'"
                )
            return found
        if isinstance(move, (int, np.integer)) and not isinstance(move, bool):
            if not 0 <= move < len(self.moves):
                raise ValueError(f"no such move: {int(move)}; ids are 0 to {len(self.moves) - 1}")
            return int(move)
        raise ValueError(f"no such move: {move!r}; give an id, a text or a Move")

    def text(self, id_: int) -> str:
        """The text of the move with this id."""
        return self.moves[self.id(id_)].text

    @cached_property
    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits of the texts in order: equal fingerprints mean equal tables."""
        return hashlib.sha256("\n".join(move.text for move in self.moves).encode()).hexdigest()[:16]

    @cached_property
    def feature_names(self) -> tuple[str, ...]:
        """The columns of `features`."""
        return (
            *(f"type {type_.name.lower()}" for type_ in MoveType),
            *(f"cards {text}" for text in KIND_TEXTS),
            "cards in all",
            "meld is a group",
            "meld is a run",
            *(f"group of {rank}" for rank in RANKS),
            *(f"run of {suit}" for suit in SUITS),
            *(f"run covers place {place} ({RANKS[rank]})" for place, rank in enumerate(self.pack.places)),
        )

    @cached_property
    def features(self) -> np.ndarray:
        """What each move is, for policies that score moves: float32 ``(len(table), len(feature_names))`` in [0, 1].

        Counts of cards are divided by the size of the largest meld that can be laid.
        """
        largest = max(self.pack.group_size, self.pack.run_length)
        types, kinds, rest = len(MoveType), NUM_KINDS, len(MoveType) + NUM_KINDS
        matrix = np.zeros((len(self.moves), len(self.feature_names)), np.float32)
        for row, move in zip(matrix, self.moves, strict=True):
            row[move.type] = 1
            for kind in move.cards:
                row[types + kind] += 1 / largest
            row[rest] = len(move.cards) / largest
            on_run = move.type in (MoveType.OFF_LOW, MoveType.OFF_HIGH) or (move.meld is not None and move.meld.is_run)
            on_group = move.type == MoveType.OFF_GROUP or (move.meld is not None and not move.meld.is_run)
            row[rest + 1], row[rest + 2] = on_group, on_run
            if on_group:
                row[rest + 3 + move.target] = 1
            if on_run:
                row[rest + 3 + NUM_RANKS + move.suit] = 1
                size = 1 if move.meld is None else len(move.meld.cards)
                for place in self.pack.run_places(move.target, size):
                    row[rest + 3 + NUM_RANKS + NUM_SUITS + place] = 1
        assert types + kinds == rest
        return matrix


@lru_cache(maxsize=256)
def move_table(rules: Rules) -> MoveTable:
    """The move table of a rule set; the same object for rules that have the same moves."""
    return _move_table(pack_of(rules), rules.contracts is not None or rules.max_buys != 0)


_move_table = lru_cache(maxsize=64)(MoveTable)
