"""Fair matches: every deal is played in all seatings, so that no player is measured by the cards or the seat it got.

The decks of a deal depend on its key and the round alone, so every seating of a deal meets the same cards, the same first
dealer and the same rounds. Scripted players play in compiled loops; every other player is asked for many tables at once.
This module plays and counts; what the counts mean is in `rummy_env.arena.stats`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from rummy_env.engine.apply import NO_ORDER
from rummy_env.engine.deal import start_game
from rummy_env.engine.random import below, child_key
from rummy_env.engine.state import MAX_PLAYERS, new_states, new_views
from rummy_env.engine.tables import Tables, compile_tables
from rummy_env.game import game_key
from rummy_env.moves import move_table
from rummy_env.players.base import MoveChooser, Player, make_player
from rummy_env.players.drive import TALLY, advance_all, new_tallies, play_all
from rummy_env.players.scripted import EXTERNAL
from rummy_env.rules import Rules, resolve_rules

Entrant = str | Path | Player | MoveChooser
Rounds = str | int | Sequence[int]
Progress = Callable[[int], None]
"""Called with the number of games finished so far."""

ROUND, ORDER, STREAMS = range(3)
"""What is drawn under a deal's key; the streams of its tables have the numbers from `STREAMS` up."""

COMPILED_CHUNK = 32
ASKED_CHUNK = 256
"""Tables played at once: few where nobody outside the compiled loops is asked, so that Ctrl-C is heard soon."""


@dataclass(frozen=True)
class MatchResult:
    """The counts of a match over the deals that are completed.

    Attributes:
        rules: the rules, with the rounds of the match.
        names: of the entrants, all different.
        seats: how many sat at each table.
        rounds: ``"random"``, ``"all"`` or the tuple of the rounds of a game.
        seed: what all deals derive from.
        planned_deals: deals that a complete match has.
        seating: int8 ``(deals, tables, seats)``, the entrant in each seat.
        tallies: int32 ``(deals, tables, seats, len(TALLY))``, see `rummy_env.players.drive.TALLY`.
    """

    rules: Rules
    names: tuple[str, ...]
    seats: int
    rounds: str | tuple[int, ...]
    seed: int
    planned_deals: int
    seating: np.ndarray
    tallies: np.ndarray

    @property
    def deals(self) -> int:
        """The number of deals completed."""
        return int(self.tallies.shape[0])

    @property
    def tables_per_deal(self) -> int:
        """Games that one deal is played in."""
        return int(self.seating.shape[1])

    @property
    def games(self) -> int:
        """The number of games completed."""
        return self.deals * self.tables_per_deal

    @property
    def complete(self) -> bool:
        """Whether all planned deals were played."""
        return self.deals == self.planned_deals


class Match:
    """A match between entrants, ready to be played.

    Seatings: with as many entrants as seats, each deal is played in all rotations, so each entrant sits in every seat once;
    who follows whom is drawn anew for each deal. With fewer entrants than seats, copies of the last one fill the table.
    With more, every choice of entrants plays the deal in all rotations.

    Args:
        rules: a preset's name, the path of a YAML file, or `Rules`.
        entrants: players as `rummy_env.players.make_player` takes them. One that is not scripted must decide by View and
            mask alone, else its result depends on which tables it is asked about together.
        games: how many games to play, rounded up to whole deals; or
        deals: how many deals to play.
        seed: a whole number from 0 up; equal seeds give equal matches.
        seats: players at a table; None for as many as entrants.
        rounds: ``"random"`` for one round a game, drawn by the deal out of those of the rules; ``"all"`` for whole games; a
            number or list for games of those rounds, where there are contracts.
        names: of the entrants, instead of their own.
        chunk: how many tables to play at once; changes speed and memory, never the result.

    Raises ValueError for anything that is not allowed, naming it.
    """

    def __init__(
        self,
        rules: str | Path | Rules,
        entrants: Sequence[Entrant],
        *,
        games: int | None = None,
        deals: int | None = None,
        seed: int = 0,
        seats: int | None = None,
        rounds: Rounds = "random",
        names: Sequence[str] | None = None,
        chunk: int | None = None,
    ):
        self.rules, self.rounds = _with_rounds(resolve_rules(rules), rounds)
        self.players = [make_player(entrant, self.rules) for entrant in entrants]
        self.seats = _check_seats(self.rules, len(self.players), seats)
        if names is not None and len(names) != len(self.players):
            raise ValueError(f"names must be one for each of the {len(self.players)} players, not {len(names)}")
        self.names = _distinct(names if names is not None else [player.name for player in self.players])
        if seed is None:
            raise ValueError("seed must be a whole number from 0 up, not None: a match can be repeated")
        self.seed, self._key = int(seed), game_key(seed)
        self.tables_per_deal = len(self._choices()) * self.seats
        if (games is None) == (deals is None):
            raise ValueError(f"give either games or deals, not games {games!r} and deals {deals!r}")
        if games is not None:
            deals = -(-_at_least_one("games", games) // self.tables_per_deal)
        self.deals = _at_least_one("deals", deals)
        asked = any(player.number == EXTERNAL for player in self.players)
        chunk = (ASKED_CHUNK if asked else COMPILED_CHUNK) if chunk is None else _at_least_one("chunk", chunk)
        self._chunk = max(1, chunk // self.tables_per_deal)
        self._tables: Tables = compile_tables(self.rules)
        self._played: list[tuple[np.ndarray, np.ndarray]] = []  # seating and tallies of each chunk of deals

    @property
    def games(self) -> int:
        """The number of games of the whole match."""
        return self.deals * self.tables_per_deal

    def play(self, progress: Progress | None = None) -> MatchResult:
        """Play the match, or what is left of it after an interruption, and return its result.

        An exception, KeyboardInterrupt too, leaves `result` with the chunks of deals that were completed before.
        """
        done = sum(len(seating) for seating, _ in self._played)
        for first in range(done, self.deals, self._chunk):
            self._played.append(self._play_deals(range(first, min(first + self._chunk, self.deals)), progress))
        return self.result()

    def result(self) -> MatchResult:
        """The result over the deals completed so far."""
        played = list(self._played)
        shape = (0, self.tables_per_deal, self.seats)
        return MatchResult(
            rules=self.rules,
            names=self.names,
            seats=self.seats,
            rounds=self.rounds,
            seed=self.seed,
            planned_deals=self.deals,
            seating=np.concatenate([np.zeros(shape, np.int8), *(seating for seating, _ in played)]),
            tallies=np.concatenate([np.zeros((*shape, len(TALLY)), np.int32), *(tallies for _, tallies in played)]),
        )

    def _choices(self) -> list[tuple[int, ...]]:
        """Which slots sit down together. Slots are the entrants and, where these are too few, copies of the last one."""
        return list(combinations(range(max(len(self.players), self.seats)), self.seats))

    def _slots(self, deal_key: np.uint64) -> np.ndarray:
        """int64 ``(tables, seats)``: the slot in each seat at each table of a deal."""
        stream = _stream(deal_key, ORDER)
        order = list(range(self.seats))
        for last in range(self.seats - 1, 0, -1):
            other = below(stream, last + 1)
            order[last], order[other] = order[other], order[last]
        rows: list[list[int]] = []
        for choice in self._choices():
            circle = [choice[place] for place in order]
            rows.extend(circle[shift:] + circle[:shift] for shift in range(self.seats))
        return np.array(rows, np.int64)

    def _round_range(self, deal_key: np.uint64) -> tuple[int, int]:
        """The first and the last index of the rounds played."""
        if self.rounds != "random":
            return 0, self.rules.game_rounds - 1
        index = int(below(_stream(deal_key, ROUND), self.rules.kinds_of_round))
        return index, index

    def _play_deals(self, deals: range, progress: Progress | None) -> tuple[np.ndarray, np.ndarray]:
        """Play all tables of some deals; returns their seating and tallies."""
        number = len(deals) * self.tables_per_deal
        states = new_states(number)
        numbers = np.full((number, MAX_PLAYERS), EXTERNAL, np.int8)
        streams = np.zeros((number, MAX_PLAYERS, 2), np.uint64)
        seating = np.zeros((number, self.seats), np.int8)
        table = 0
        for deal in deals:
            deal_key = _child(self._key, deal)
            first, last = self._round_range(deal_key)
            for at, slots in enumerate(self._slots(deal_key)):
                table_key = _child(deal_key, STREAMS + at)
                for seat, slot in enumerate(slots):
                    entrant = min(int(slot), len(self.players) - 1)
                    seating[table, seat] = entrant
                    numbers[table, seat] = self.players[entrant].number
                    streams[table, seat, 0] = _child(table_key, int(slot))
                start_game(self._tables, states[table], self.seats, deal_key, first, last, -1, NO_ORDER)
                table += 1
        tallies = self._play_tables(states, numbers, streams, seating, deals.start * self.tables_per_deal, progress)
        shape = (len(deals), self.tables_per_deal, self.seats)
        return seating.reshape(shape), tallies[:, : self.seats].astype(np.int32).reshape(*shape, len(TALLY))

    def _play_tables(
        self,
        states: np.ndarray,
        numbers: np.ndarray,
        streams: np.ndarray,
        seating: np.ndarray,
        before: int,
        progress: Progress | None,
    ) -> np.ndarray:
        """Play dealt tables to their end; returns the tallies."""
        number = len(states)
        views, tallies = new_views(number), new_tallies(number)
        masks = np.zeros((number, len(move_table(self.rules))), np.int8)
        moves = np.zeros(number, np.int64)
        waiting = np.ones(number, np.bool_)
        while True:
            left = int(advance_all(self._tables, states, numbers, streams, True, views, masks, tallies, waiting))
            if progress is not None:
                progress(before + number - left)
            if not left:
                return tallies
            rows = np.flatnonzero(waiting)
            asked = seating[rows, states["to_act"][rows]]
            for entrant in np.unique(asked):
                chosen = rows[asked == entrant]
                moves[chosen] = self._ask(int(entrant), views[chosen], masks[chosen])
            play_all(self._tables, states, moves, tallies, waiting)

    def _ask(self, entrant: int, views: np.ndarray, masks: np.ndarray) -> np.ndarray:
        """The moves of an entrant outside the compiled loops. ValueError for one that is not legal."""
        name = self.names[entrant]
        moves = np.asarray(self.players[entrant].act_many(views, masks))
        if moves.shape != (len(views),) or moves.dtype.kind not in "iu":
            raise ValueError(
                f"player {name!r} must answer each of {len(views)} Views with a whole number, not all with "
                f"{moves.dtype} of shape {moves.shape}"
            )
        for move, mask in zip(moves, masks, strict=True):
            if not 0 <= move < len(mask) or not mask[move]:
                text = move_table(self.rules).text(int(move)) if 0 <= move < len(mask) else f"move {int(move)}"
                raise ValueError(f"player {name!r} chose {text}, which is not legal there ({int(mask.sum())} moves are)")
        return moves.astype(np.int64)


def play_match(
    rules: str | Path | Rules,
    players: Sequence[Entrant],
    *,
    games: int | None = None,
    deals: int | None = None,
    seed: int = 0,
    seats: int | None = None,
    rounds: Rounds = "random",
    names: Sequence[str] | None = None,
    chunk: int | None = None,
    progress: Progress | None = None,
) -> MatchResult:
    """Play a whole match; the arguments are those of `Match`."""
    match = Match(
        rules,
        players,
        games=games,
        deals=deals,
        seed=seed,
        seats=seats,
        rounds=rounds,
        names=names,
        chunk=chunk,
    )
    return match.play(progress)


def _child(key: np.uint64, number: int) -> np.uint64:
    """`child_key` from Python, where compiled kernels return integers without their type."""
    return np.uint64(child_key(key, np.uint64(number)))


def _stream(key: np.uint64, number: int) -> np.ndarray:
    """The stream of what has a number under a key."""
    return np.array([_child(key, number), 0], np.uint64)


def _with_rounds(rules: Rules, rounds: Rounds) -> tuple[Rules, str | tuple[int, ...]]:
    """The rules with the rounds of the match, and `rounds` in one form."""
    if isinstance(rounds, str):
        if rounds not in ("random", "all"):
            raise ValueError(f"rounds must be random, all, a round's number or a list of numbers, not {rounds!r}")
        return rules, rounds
    numbers = [rounds] if isinstance(rounds, int) else list(rounds)
    if rules.contracts is None:
        raise ValueError(
            f"rounds must be random (one deal a game) or all, not {rounds!r}, for the rules {rules.name!r}: melds are free "
            "(contracts is null)"
        )
    known = range(1, len(rules.contracts) + 1)
    for number in numbers:
        if isinstance(number, bool) or number not in known:
            raise ValueError(f"rounds of the rules {rules.name!r} are 1 to {len(known)}, not {number!r}")
    return rules.replace(rounds=numbers), tuple(numbers)


def _check_seats(rules: Rules, entrants: int, seats: int | None) -> int:
    if entrants == 0:
        raise ValueError("a match needs players, none are given")
    if seats is not None and (isinstance(seats, bool) or not isinstance(seats, int)):
        raise ValueError(f"seats must be a whole number, not {seats!r}")
    number = entrants if seats is None else seats
    if not rules.players_min <= number <= rules.players_max:
        given = f"{entrants} listed without a number of seats" if seats is None else str(seats)
        raise ValueError(f"seats must be from {rules.players_min} to {rules.players_max}, not {given}")
    return number


def _at_least_one(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{name} must be a whole number from 1 up, not {value!r}")
    return value


def _distinct(names: Sequence[str]) -> tuple[str, ...]:
    """The names, those that stand several times numbered: ``greedy``, ``greedy #2``."""
    found: list[str] = []
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
        found.append(name if counts[name] == 1 else f"{name} #{counts[name]}")
    return tuple(found)
