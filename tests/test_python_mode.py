"""Without compilation the kernels are ordinary Python, with the same results to the last bit.

Run as a module (``python -m tests.test_python_mode``) it prints digests of everything that kernels make of some games of
International and of Basic.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from rummy_env.engine.determinize import determinize
from rummy_env.engine.legal import legal
from rummy_env.engine.state import LAYING, new_states, new_views
from rummy_env.engine.tables import compile_tables
from rummy_env.engine.view import view
from rummy_env.game import Game
from rummy_env.moves import MoveType
from rummy_env.observation import encode, observation_plan, observation_size
from rummy_env.players.scripted import SCRIPTED, scripted_move
from rummy_env.rules import preset
from tests.playing import Driver

GAMES: tuple[tuple[dict[str, Any], int, str, int], ...] = (
    ({"rounds": [2]}, 3, "eager", 120),
    ({"rounds": [1], "decks": 1, "deal": "exact", "players_max": 4}, 4, "buyer", 160),
    ({"rounds": [6], "jokers": 8, "distinct_groups": True, "separate_runs": True, "deal": "flat_eleven"}, 2, "eager", 60),
    (
        {
            "contracts": [[1, 1]],
            "deal": [6],
            "ranks": list("345678"),
            "suits": ["c", "d"],
            "turn_player_may_buy": True,
            "players_max": 2,
        },
        2,
        "buyer",
        200,
    ),
    ({"rounds": [5], "min_naturals": 0, "jokers": 6, "same_turn_layoff": True, "going_rummy": "none"}, 6, "eager", 90),
)
"""Overrides, players, style and moves of each game."""
BASIC_GAMES: tuple[tuple[dict[str, Any], int, str, int], ...] = (
    ({"game_end": {"target": 50}}, 2, "eager", 260),
    (
        {
            "ranks": list("A23456"), "suits": ["c", "d"], "deal": {"2": 3}, "players_max": 2, "going_rummy": "double",
            "game_end": {"target": 15},
        },
        2, "random", 150,
    ),
    (
        {
            "ace": "corner", "ranks": list("A23456"), "suits": ["c", "d", "h"], "jokers": 1, "wild_rank": 2,
            "melds_per_turn": None, "deal": {"2": 5, "3": 5}, "players_max": 3, "scoring": "losers_penalty",
            "stock_out": "shuffle", "max_recycles": 3, "going_rummy": "plus_10", "game_end": {"deals": 5},
        },
        3, "random", 200,
    ),
    (
        {
            "ace": "high_or_low", "ranks": list("A23JQK"), "deal": {"5": 3}, "players_min": 5, "players_max": 5, "max_turns": 6,
            "max_buys": None, "buy_extra": 2, "blocked_scoring": "lowest_takes_sum", "game_end": {"deals": 5},
        },
        5, "buyer", 260,
    ),
    (
        {
            "stock_out": "end", "blocked_scoring": "all_penalty", "layoff_needs_own_meld": True, "layoff_own_only": True,
            "game_end": {"deals": 3},
        },
        4, "eager", 160,
    ),
    (
        {
            "stock_out": "end", "final_discard": True, "group_size": 2, "run_length": 2, "deal": {"6": 3}, "players_min": 6,
            "suits": ["c", "d"], "min_naturals": 0, "jokers": 8, "game_end": {"deals": 4},
        },
        6, "eager", 160,
    ),
)  # fmt: skip
"""The same for Basic; in the first four the pile becomes a new stock, and cards are known of it."""
OPTIONS: tuple[tuple[str, ...], ...] = ((), ("analysis",), ("history",))


APART = {"contracts": [[2, 1]], "deal": [12], "distinct_groups": True, "separate_runs": True, "min_naturals": 0}
POSITIONS: tuple[tuple[dict[str, Any], str], ...] = (
    (APART, "3c 3d 3h 4c 5c 6c 7c 8c 9c 9d 9h Kd ** ** ** **"),
    ({**APART, "contracts": [[1, 2]]}, "3c 4c 5c 6c 7c 8c 9c Tc Jc 9d 9h ** ** ** **"),
    ({**APART, "contracts": [[3, 0]]}, "3c 8d ** ** ** ** ** ** ** **"),
)
"""Overrides and the hand of the seat to act: contracts are laid from there, the last lay first and the first lay first."""


def positions_digest(whole: Any) -> None:
    """Masks in both lay orders, Views and observations while contracts are laid; and with a stock whose order is public."""
    for overrides, hand in POSITIONS:
        position = {"rules": "international", "overrides": overrides, "hands": [hand, "4d 5d"], "to_act": 0}
        game = Game.from_position({**position, "discards": "Qs", "stock": "5h 6h 8d"})
        tables, ascending = compile_tables(game.rules), compile_tables(game.rules, "ascending")
        plan, out = (
            observation_plan(game.rules, ("analysis",)),
            np.zeros(observation_size(game.rules, ("analysis",)), np.float32),
        )
        views, mask = new_views(1), np.zeros(int(tables.num_moves), np.int8)
        for end in (0, -1):
            other = game.clone()
            for _ in range(4):
                for order in (ascending, tables):
                    legal(order, other.state, mask)
                    whole.update(mask.tobytes())
                for public in (1, 0):
                    other.state.stock_public = public
                    view(other.state, 1, views[0])
                    whole.update(views.tobytes())
                    view(other.state, 0, views[0])
                    encode(tables, plan, views[0], out)
                    whole.update(out.tobytes())
                lays = [int(move) for move in np.flatnonzero(mask) if tables.move_type[move] == MoveType.LAY]
                if not lays:
                    break
                other.play(lays[end])
            assert other.position()["down"] == [0]


def digest() -> str:
    """Of States, masks in both lay orders, Views, observations, determinized games and the moves of scripted players."""
    whole = hashlib.sha256()
    positions_digest(whole)
    games_digest(whole, "international", GAMES)
    return whole.hexdigest()


def basic_digest() -> str:
    """The same of games of Basic."""
    whole = hashlib.sha256()
    games_digest(whole, "basic", BASIC_GAMES)
    return whole.hexdigest()


def games_digest(whole: Any, base: str, games: tuple[tuple[dict[str, Any], int, str, int], ...]) -> None:
    """All that kernels make of some games."""
    for number, (overrides, players, style, moves) in enumerate(games):
        rules = preset(base).replace(**overrides)
        tables, ascending = compile_tables(rules), compile_tables(rules, "ascending")
        plans = [
            (observation_plan(rules, options), np.zeros(observation_size(rules, options), np.float32)) for options in OPTIONS
        ]
        driver = Driver(rules, players, number, style)
        views, drawn, streams = new_views(1), new_states(1), np.zeros((len(SCRIPTED), 2), np.uint64)
        mask = np.zeros(int(tables.num_moves), np.int8)
        for move in range(moves):
            if driver.over:
                break
            state = driver.state
            legal(ascending, state, mask)
            whole.update(mask.tobytes())
            legal(tables, state, mask)
            whole.update(mask.tobytes())
            if move % 8 == 0 or state.phase == LAYING or state.reshuffles:
                seat = move % players
                view(state, seat, views[0])
                whole.update(views.tobytes())
                if move % 3 == 0:
                    assert determinize(tables, views[0], np.uint64(move), drawn[0])
                    whole.update(drawn.tobytes())
                for plan, out in plans:
                    encode(tables, plan, views[0], out)
                    whole.update(out.tobytes())
                view(state, int(state.to_act), views[0])
                chosen = [
                    int(scripted_move(player, tables, views[0], mask, streams[player])) for player in range(len(SCRIPTED))
                ]
                whole.update(str(chosen).encode())
            driver.step()
            whole.update(driver.states.tobytes())


def test_without_compilation_everything_is_the_same() -> None:
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "0" if os.environ.get("NUMBA_DISABLE_JIT") == "1" else "1"}
    other = subprocess.run(
        [sys.executable, "-m", "tests.test_python_mode"], env=environment, check=True, capture_output=True, text=True
    )
    assert other.stdout.split() == [digest(), basic_digest()]


def test_free_melds_that_have_no_room_are_refused() -> None:
    """A State has room for 37 melds: of two cards each they need 74, and a pack of 76 could make one more."""
    fields: dict[str, Any] = {"decks": 2, "ranks": list("A23456789"), "group_size": 2}
    compile_tables(preset("basic").replace(**fields, jokers=2))
    with pytest.raises(ValueError, match="the 76 cards could make 38 melds; where contracts is null at most 37"):
        compile_tables(preset("basic").replace(**fields, jokers=4))


def test_an_unknown_lay_order_is_refused() -> None:
    with pytest.raises(ValueError, match="lay_order must be one of any, ascending, not 'upward'"):
        compile_tables(preset("international"), "upward")


if __name__ == "__main__":
    print(digest(), basic_digest())
