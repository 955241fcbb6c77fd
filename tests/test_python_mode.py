"""Without compilation the kernels are ordinary Python, with the same results to the last bit.

Run as a module (``python -m tests.test_python_mode``) it prints a digest of everything that kernels make of some games.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from typing import Any

import numpy as np

from rummy_env.engine.determinize import determinize
from rummy_env.engine.legal import legal
from rummy_env.engine.state import LAYING, new_states, new_views
from rummy_env.engine.tables import compile_tables
from rummy_env.engine.view import view
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
OPTIONS: tuple[tuple[str, ...], ...] = ((), ("analysis",), ("history",))


def digest() -> str:
    """Of States, masks in both lay orders, Views, observations, determinized games and the moves of scripted players."""
    whole = hashlib.sha256()
    for number, (overrides, players, style, moves) in enumerate(GAMES):
        rules = preset("international").replace(**overrides)
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
    return whole.hexdigest()


def test_without_compilation_everything_is_the_same() -> None:
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "0" if os.environ.get("NUMBA_DISABLE_JIT") == "1" else "1"}
    other = subprocess.run(
        [sys.executable, "-m", "tests.test_python_mode"], env=environment, check=True, capture_output=True, text=True
    )
    assert other.stdout.strip() == digest()


if __name__ == "__main__":
    print(digest())
