"""`Game`: one table to drive by hand, for people, tests and tools, and `replay`, which plays a record as a Game.

It plays any rule set through the kernels, and keeps what a record needs: decks, moves and the order of new stocks.
"""

from __future__ import annotations

import copy
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from rummy_env.cards import cards_text
from rummy_env.engine.apply import NO_ORDER, apply_alone, form_stock, kept_discards
from rummy_env.engine.deal import deal_round, round_deck, start_game
from rummy_env.engine.determinize import determinize
from rummy_env.engine.legal import legal_alone
from rummy_env.engine.state import ENDS, MAX_CARDS, PHASES, new_states, new_views
from rummy_env.engine.tables import Tables, compile_tables, table_array
from rummy_env.engine.view import view as write_view
from rummy_env.explain import why_illegal
from rummy_env.melds import pack_of
from rummy_env.moves import Move, MoveTable, move_table
from rummy_env.observation import encode, observation_plan, observation_size
from rummy_env.position import position_of, read_position
from rummy_env.record import FORMAT, RESTOCK, Record, RecordedMove, check_deck, check_names, check_restock, parse_record
from rummy_env.rules import Rules, resolve_rules, shown

_SEED_BITS = 53
"""Of a seed that the system's entropy gives: every reader of JSON keeps so many."""


@dataclass(frozen=True)
class RoundResult:
    """How a round ended: ``out``, ``blocked`` or ``turn_limit``, and what it added to each seat's score."""

    end: str
    points: tuple[int, ...]


def game_key(seed: int | None) -> np.uint64:
    """The engine's 64-bit key for a seed; without one, a key from the operating system's entropy."""
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0):
        raise ValueError(f"seed must be a whole number from 0 up or None, not {seed!r}")
    return np.uint64(np.random.SeedSequence(None if seed is None else int(seed)).generate_state(1, np.uint64)[0])


def check_players(rules: Rules, players: int) -> int:
    """The number of players, if the rules allow it."""
    if isinstance(players, bool) or not isinstance(players, (int, np.integer)):
        raise ValueError(f"players must be a whole number, not {players!r}")
    if not rules.players_min <= players <= rules.players_max:
        raise ValueError(f"players must be from {rules.players_min} to {rules.players_max}, not {players}")
    return int(players)


@lru_cache(maxsize=256)
def _one_of_equal(rules: Rules) -> Rules:
    """The same object for equal rules, so that a look-up by rules need not compare field by field."""
    return rules


def _names(names: Sequence[str] | None, players: int) -> tuple[str, ...]:
    return tuple(f"player_{seat}" for seat in range(players)) if names is None else check_names(names, players)


def _listed(numbers: np.ndarray, players: int) -> list[int]:
    return [int(number) for number in numbers[:players]]


class Game:
    """One table.

    Args:
        rules: a preset's name, the path of a YAML file, or `Rules`.
        players: how many sit at the table.
        seed: equal seeds give equal games; None takes one from the system's entropy.
        overrides: rule fields that differ.
        rounds: the rounds played, in order; None for those of the rules.
        dealer: who deals the first round; None lets the seed choose.
        names: who sits at the table, for the record; None for ``player_0`` and so on.

    Raises ValueError for anything that is not allowed, naming it.
    """

    def __init__(
        self,
        rules: str | Path | Rules = "international",
        players: int = 4,
        seed: int | None = None,
        overrides: Mapping[str, Any] | None = None,
        rounds: Sequence[int] | None = None,
        dealer: int | None = None,
        names: Sequence[str] | None = None,
    ):
        self.rules = resolve_rules(rules, overrides)
        if rounds is not None:
            self.rules = self.rules.replace(rounds=list(rounds))
        self.rules = _one_of_equal(self.rules)
        players = check_players(self.rules, players)
        if dealer is not None and (isinstance(dealer, bool) or dealer not in range(players)):
            raise ValueError(f"dealer must be a seat from 0 to {players - 1} or None, not {dealer!r}")
        key = game_key(seed := secrets.randbits(_SEED_BITS) if seed is None else seed)
        self._seed: int | None = int(seed)
        self._names = _names(names, players)
        self._states = new_states(1)
        first = -1 if dealer is None else int(dealer)
        start_game(self._tables, self.state, players, key, 0, self.rules.game_rounds - 1, first, NO_ORDER)
        self._rounds = [self._new_round({"deck": self._own_deck()})]

    @classmethod
    def from_position(cls, position: Mapping[str, Any], names: Sequence[str] | None = None, seed: int | None = None) -> Game:
        """A game that goes on from a position of the notation, with names and a seed for the shuffles to come as in `Game`.

        Without a seed all games from a position shuffle alike. Raises ValueError naming the card or field at fault.
        """
        game = cls.__new__(cls)
        found, game._states = read_position(position)
        game.rules = _one_of_equal(found)
        game._names = _names(names, game.players)
        game._seed = None
        if seed is not None:
            game.state.key = game_key(seed)
            game._seed = int(seed)
        game._rounds = [game._new_round({"position": game.position()})]
        return game

    @property
    def _tables(self) -> Tables:
        return compile_tables(self.rules)

    @property
    def table(self) -> MoveTable:
        """The move table of the rules."""
        return move_table(self.rules)

    @property
    def state(self) -> Any:
        """The State record itself; it shows every hidden card."""
        return self._states[0]

    def state_copy(self) -> np.ndarray:
        """An array of one State, a copy."""
        return self._states.copy()

    @property
    def players(self) -> int:
        """The number of seats."""
        return int(self.state.players)

    @property
    def names(self) -> tuple[str, ...]:
        """Who sits at the table."""
        return self._names

    @property
    def seed(self) -> int | None:
        """The seed of the game; None for one from a position, or from a record that does not know it."""
        return self._seed

    @property
    def seat(self) -> int | None:
        """The seat to act, None after the game."""
        return None if self.over else int(self.state.to_act)

    @property
    def phase(self) -> str:
        """``window``, ``draw``, ``play``, ``laying`` or ``over``."""
        return PHASES[self.state["phase"]]

    @property
    def over(self) -> bool:
        """Whether the game has ended."""
        return self.phase == "over"

    @property
    def round_number(self) -> int:
        """The number of the round being played: of its contract, or where melds are free of the deal."""
        return self.rules.round_at(int(self.state.round_index))

    @property
    def scores(self) -> tuple[int, ...]:
        """Every seat's points over the rounds that have ended."""
        return tuple(int(score) for score in self.state.scores[: self.players])

    @property
    def last_round(self) -> RoundResult | None:
        """How the round before ended, None in the first."""
        end = ENDS[self.state.last_end]
        if end is None:
            return None
        return RoundResult(end, tuple(int(points) for points in self.state.last_points[: self.players]))

    def mask(self) -> np.ndarray:
        """The action mask of the seat to act: int8 ``(moves,)``; zeros after the game."""
        mask = np.zeros(len(self.table), np.int8)
        legal_alone(table_array(self.rules), self._states, mask)
        return mask

    def moves(self) -> list[Move]:
        """The legal moves of the seat to act, in the table's order; none after the game."""
        table = self.table
        return [table[id_] for id_ in np.flatnonzero(self.mask()).tolist()]

    def play(self, move: int | str | Move, restock: str | None = None) -> bool:
        """Play a move; whether it formed a new stock.

        Args:
            move: its id, its text or a `Move`.
            restock: the cards of the new stock that the move needs, in drawing order, as a record has them; None shuffles.

        An illegal move raises ValueError that says why, and so does a restock that the move does not need or that is not of
        the discards that make it (in their order, where they are turned over). Nothing is changed then.
        """
        table, tables, state = self.table, table_array(self.rules), self.state
        id_ = table.id(move)
        text = table[id_].text
        if not self.mask()[id_]:
            raise ValueError(f"{text}: {why_illegal(self.rules, state, id_)}")
        order = NO_ORDER if restock is None else self._order(text, restock)
        seat, done, formed = int(state["to_act"]), int(state["rounds_done"]), False
        if restock is not None or state["num_stock"] < max(1, self.rules.buy_extra):
            before = self._states.copy()
            apply_alone(tables, self._states, id_, order)
            formed = bool(state.rounds_done == done and state.reshuffles > before[0].reshuffles)
            if restock is not None and not formed:
                self._states[:] = before
                raise ValueError(f"{text}: restock: the move needs no new stock")
        else:
            apply_alone(tables, self._states, id_, order)
        moves = self._rounds[-1]["moves"]
        if formed:
            form_stock(self._tables, before[0], order)
            moves.append(RESTOCK + cards_text(before[0].stock[: before[0].num_stock][::-1]))
        moves.append(f"{seat} {text}")
        if state["rounds_done"] > done:
            self._rounds[-1].update(end=ENDS[state.last_end], points=_listed(state.last_points, self.players))
            if not self.over:
                self._rounds.append(self._new_round({"deck": self._own_deck()}))
        return formed

    def round_ended(self, index: int) -> bool:
        """Whether the round in this place of the record has ended."""
        return "end" in self._rounds[index]

    def deal(self, deck: str) -> None:
        """Deal the round again, from a deck of one's own: all cards of the pack, in the order in which they leave it.

        Raises ValueError after the first move of the round, and for a deck that is not the pack. Nothing is changed then.
        """
        if "position" in self._rounds[-1] or self._rounds[-1]["moves"] or self.over:
            raise ValueError("a deck can be dealt only at the beginning of a round")
        kinds = check_deck(pack_of(self.rules), deck)
        deal_round(self._tables, self.state, kinds)
        self._rounds[-1] = self._new_round({"deck": cards_text(kinds)})

    def view(self, seat: int) -> Any:
        """The View of a seat: a record of its own, not changed by later moves."""
        views = new_views(1)
        write_view(self.state, self._check_seat(seat), views[0])
        return views[0]

    def observation(self, seat: int) -> np.ndarray:
        """The observation vector of a seat, as `rummy_env.observation.layout` describes it."""
        out = np.zeros(observation_size(self.rules), np.float32)
        encode(self._tables, observation_plan(self.rules), self.view(seat), out)
        return out

    def position(self) -> dict[str, Any]:
        """The position of the notation, with every field."""
        return position_of(self.rules, self.state)

    def record(self) -> dict[str, Any]:
        """The record of the notation, of the game so far: everything needed to replay it, as plain lists and texts."""
        rounds = [{name: list(part) if isinstance(part, list) else part for name, part in one.items()} for one in self._rounds]
        if "position" in rounds[0]:
            rounds[0]["position"] = copy.deepcopy(rounds[0]["position"])
        return {
            "format": FORMAT,
            "rules": self.rules.to_dict(),
            "players": list(self._names),
            "seed": self._seed,
            "rounds": rounds,
            "scores": list(self.scores),
        }

    def determinize(self, seat: int, seed: int) -> Game:
        """A game drawn at random from all that agree with what a seat knows: see `engine.determinize`.

        It begins at this point: the rounds before it, and the record so far, are not in it. Equal seeds give equal games.
        """
        if self.over:
            raise ValueError("the game is over: there is nothing left to draw")
        if seed is None:
            raise ValueError("seed must be a whole number from 0 up, not None: a determinization can be repeated")
        key = game_key(seed)
        states = new_states(1)
        if not determinize(self._tables, self.view(seat), key, states[0]):
            raise ValueError(f"no arrangement of the cards agrees with what seat {seat} knows")
        other = type(self).__new__(type(self))
        other.rules, other._states, other._names, other._seed = self.rules, states, self._names, None
        other._rounds = [other._new_round({"position": other.position()})]
        return other

    def clone(self) -> Game:
        """An independent copy, with all that its record has."""
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._states = self.state_copy()
        last = self._rounds[-1]  # those before it do not change any more
        other._rounds = [*self._rounds[:-1], {**last, "moves": [*last["moves"]]}]
        return other

    def _new_round(self, start: dict[str, Any]) -> dict[str, Any]:
        """The entry of a record for the round that has just begun."""
        return {"round": self.round_number, "dealer": int(self.state.dealer), **start, "moves": []}

    def _order(self, text: str, restock: str) -> np.ndarray:
        size = max(0, int(self.state.num_discards) - int(kept_discards(self._tables, self.state)))
        try:
            return check_restock(self.state.discards[:size], restock, turned_over=self.rules.stock_out == "turn_over")
        except ValueError as error:
            raise ValueError(f"{text}: restock: {error}") from None

    def _own_deck(self) -> str:
        deck = np.zeros(MAX_CARDS, np.int8)
        return cards_text(deck[: round_deck(self._tables, self.state, deck)])

    def _check_seat(self, seat: int) -> int:
        if isinstance(seat, bool) or seat not in range(self.players):
            raise ValueError(f"seat must be from 0 to {self.players - 1}, not {seat!r}")
        return int(seat)


def replay(record: Mapping[str, Any]) -> Game:
    """The game of a record, played to where the record ends; unfinished ones can go on from there.

    The State has the same bytes as that of the recorded game where its shuffles were those of the seed. A record without
    a seed goes on with the shuffles of the seed 0.

    Raises ValueError for a damaged or contradictory record, naming the field, the card or the move.
    """
    game, _ = list(replay_steps(record))[-1]
    return game


def replay_steps(record: Mapping[str, Any]) -> Iterator[tuple[Game, RecordedMove | None]]:
    """The game of a record step by step: as it begins, with None, and after every move, with the move.

    It is the same Game at every step. Where a move ends a round, the next one has been dealt. Raises as `replay`, but only
    when it comes to the fault.
    """
    found = parse_record(record)
    rules, first = found.rules, found.rounds[0]
    if first.position is not None:
        try:
            game = Game.from_position(first.position, found.names, found.seed)
        except ValueError as error:
            raise ValueError(f"rounds[0] position: {error}") from None
        if game.rules != rules:
            raise ValueError("rounds[0] position: its rules are not those of the record")
    else:
        game = Game(rules, len(found.names), 0 if found.seed is None else found.seed, dealer=first.dealer, names=found.names)
    game._seed = found.seed
    _begin_round(game, found, 0)
    yield game, None
    for index, recorded in enumerate(found.rounds):
        for move in recorded.moves:
            _play_recorded(game, index, move)
            if game.round_ended(index):
                _end_round(game, found, index)
            yield game, move
        if recorded.end is not None and not game.round_ended(index):
            raise ValueError(f"rounds[{index}] end: {recorded.end!r} is given, but the moves do not end the round")
    if game.scores != found.scores:
        raise ValueError(f"scores: {shown(list(found.scores))} are given, but the game comes to {list(game.scores)}")


def _begin_round(game: Game, record: Record, index: int) -> None:
    """Deal the round from the deck of the record, if it is another than the game's own."""
    recorded, where = record.rounds[index], f"rounds[{index}]"
    for name, given, found in (
        ("round", recorded.number, game.round_number),
        ("dealer", recorded.dealer, int(game.state.dealer)),
    ):
        if given != found:
            raise ValueError(f"{where} {name}: {shown(given)} is given, but it is {found}")
    if recorded.deck is not None:
        game.deal(recorded.deck)


def _play_recorded(game: Game, index: int, move: RecordedMove) -> None:
    where = f"rounds[{index}] moves[{move.line}]"
    if game.round_ended(index):
        raise ValueError(f"{where} '{move.seat} {move.text}': the round has ended before")
    if game.seat != move.seat:
        raise ValueError(f"{where} '{move.seat} {move.text}': seat {game.seat} is to act")
    try:
        formed = game.play(move.text, move.restock)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
    if formed and move.restock is None:
        raise ValueError(f"{where} '{move.seat} {move.text}': needs a new stock; '* restock' with its cards must stand before")


def _end_round(game: Game, record: Record, index: int) -> None:
    """Compare the end of a round with the record, and begin the next one."""
    recorded, where = record.rounds[index], f"rounds[{index}]"
    result = game.last_round
    assert result is not None
    if recorded.end is None:
        raise ValueError(f"{where} needs the fields end and points: its moves end the round ({result.end})")
    if recorded.end != result.end:
        raise ValueError(f"{where} end: {recorded.end!r} is given, but the moves end the round with {result.end!r}")
    if recorded.points != result.points:
        raise ValueError(f"{where} points: {shown(list(recorded.points or ()))} are given, but they are {list(result.points)}")
    if index + 1 == len(record.rounds):
        if not game.over:
            raise ValueError(f"rounds ends with {where}, but the game goes on with round {game.round_number}")
    elif game.over:
        raise ValueError(f"rounds[{index + 1}]: the game has ended with {where}")
    else:
        _begin_round(game, record, index + 1)
