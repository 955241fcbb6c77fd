"""`Game`: one table to drive by hand, for people, tests and tools. It plays any rule set through the kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rummy_env.engine.apply import NO_ORDER, apply
from rummy_env.engine.deal import start_game
from rummy_env.engine.legal import legal
from rummy_env.engine.state import ENDS, PHASES, new_states, new_views
from rummy_env.engine.tables import Tables, compile_tables
from rummy_env.engine.view import view as write_view
from rummy_env.explain import why_illegal
from rummy_env.moves import Move, MoveTable, move_table
from rummy_env.observation import encode, observation_plan, observation_size
from rummy_env.record import position_of, read_position
from rummy_env.rules import Rules, resolve_rules


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


class Game:
    """One table.

    Args:
        rules: a preset's name, the path of a YAML file, or `Rules`.
        players: how many sit at the table.
        seed: equal seeds give equal games; None takes the system's entropy.
        overrides: rule fields that differ.
        rounds: the rounds played, in order; None for those of the rules.
        dealer: who deals the first round; None lets the seed choose.

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
    ):
        self.rules = resolve_rules(rules, overrides)
        if rounds is not None:
            self.rules = self.rules.replace(rounds=list(rounds))
        players = check_players(self.rules, players)
        if dealer is not None and (isinstance(dealer, bool) or dealer not in range(players)):
            raise ValueError(f"dealer must be a seat from 0 to {players - 1} or None, not {dealer!r}")
        key = game_key(seed)
        self._states = new_states(1)
        first = -1 if dealer is None else int(dealer)
        last = len(self.rules.sequence) - 1
        start_game(self._tables, self.state, players, key, 0, last, first, NO_ORDER)

    @classmethod
    def from_position(cls, position: Mapping[str, Any]) -> Game:
        """A game that goes on from a position of the notation. Raises ValueError naming the card or field at fault."""
        game = cls.__new__(cls)
        game.rules, game._states = read_position(position)
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

    @property
    def players(self) -> int:
        """The number of seats."""
        return int(self.state.players)

    @property
    def seat(self) -> int | None:
        """The seat to act, None after the game."""
        return None if self.over else int(self.state.to_act)

    @property
    def phase(self) -> str:
        """``window``, ``draw``, ``play``, ``laying`` or ``over``."""
        return PHASES[self.state.phase]

    @property
    def over(self) -> bool:
        """Whether the game has ended."""
        return self.phase == "over"

    @property
    def round_number(self) -> int:
        """The number of the round being played, which names its contract."""
        return int(self.state.round_number)

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
        legal(self._tables, self.state, mask)
        return mask

    def moves(self) -> list[Move]:
        """The legal moves of the seat to act, in the table's order; none after the game."""
        return [self.table[int(id_)] for id_ in np.flatnonzero(self.mask())]

    def play(self, move: int | str | Move) -> None:
        """Play a move given by id, text or `Move`. An illegal one raises ValueError that says why, and changes nothing."""
        id_ = self.table.id(move)
        if not self.mask()[id_]:
            raise ValueError(f"{self.table.text(id_)}: {why_illegal(self.rules, self.state, id_)}")
        apply(self._tables, self.state, id_, NO_ORDER)

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

    def clone(self) -> Game:
        """An independent copy."""
        other = type(self).__new__(type(self))
        other.rules, other._states = self.rules, self._states.copy()
        return other

    def _check_seat(self, seat: int) -> int:
        if isinstance(seat, bool) or seat not in range(self.players):
            raise ValueError(f"seat must be from 0 to {self.players - 1}, not {seat!r}")
        return int(seat)
