"""Decisions per second of the kernels over many tables on one core: legal moves, View, observation, a random move, apply.

    python benchmarks/kernels.py [--tables 1024] [--players 4] [--seconds 2] [--json]

A decision is one move of one seat, forced moves included; finished rounds are dealt anew. Choosing the random move is part
of the time. One line for each contract, with uint8 and float32 observations, in the same run.
"""

from __future__ import annotations

import argparse
import json
import time

import numba
import numpy as np
from rich.console import Console
from rich.table import Table

from rummy_env.engine.apply import NO_ORDER, apply
from rummy_env.engine.deal import start_game
from rummy_env.engine.legal import legal
from rummy_env.engine.random import child_key
from rummy_env.engine.state import OVER, new_states, new_views
from rummy_env.engine.tables import table_array
from rummy_env.engine.view import view
from rummy_env.moves import move_table
from rummy_env.observation import encode, observation_size, plan_array
from rummy_env.players.random import random_move
from rummy_env.rules import preset


@numba.njit(nogil=True)
def play_steps(tables, plans, states, views, masks, observations, streams, round_index, steps, watch):
    """`steps` decisions at every table; `watch` 0: apply and mask alone, 1: View and observation too."""
    table, plan = tables[0], plans[0]
    for _ in range(steps):
        for index in range(states.shape[0]):
            state = states[index]
            if state.phase == OVER:
                players = np.int64(state.players)
                key = child_key(state.key, np.uint64(1))
                start_game(table, state, players, key, round_index, round_index, -1, NO_ORDER)
            legal(table, state, masks[index])
            if watch:
                view(state, np.int64(state.to_act), views[0])
                encode(table, plan, views[0], observations[index])
            apply(table, state, random_move(table, views[0], masks[index], streams[index]), NO_ORDER)


def measure(tables: int, players: int, round_index: int, dtype: str | None, seconds: float) -> float:
    """Decisions per second, the median of five stretches."""
    rules = preset("international")
    compiled = table_array(rules)
    plans = plan_array(rules, (), dtype == "uint8")
    states, views = new_states(tables), new_views(1)
    streams = np.zeros((tables, 2), np.uint64)
    for index in range(tables):
        key = np.uint64(child_key(np.uint64(7), np.uint64(index)))
        start_game(compiled[0], states[index], players, key, round_index, round_index, -1, NO_ORDER)
        streams[index, 0] = key
    masks = np.zeros((tables, len(move_table(rules))), np.int8)
    observations = np.zeros((tables, observation_size(rules)), dtype or "uint8")
    arguments = (compiled, plans, states, views, masks, observations, streams, round_index)
    play_steps(*arguments, 50, dtype is not None)
    rates = []
    for _ in range(5):
        steps, started = 0, time.perf_counter()
        while time.perf_counter() - started < seconds / 5:
            play_steps(*arguments, 5, dtype is not None)
            steps += 5
        rates.append(steps * tables / (time.perf_counter() - started))
    return float(np.median(rates))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=1024)
    parser.add_argument("--players", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each measurement")
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    kinds = {"apply + mask": None, "with View and uint8": "uint8", "with View and float32": "float32"}
    rows = [
        {name: measure(chosen.tables, chosen.players, index, dtype, chosen.seconds) for name, dtype in kinds.items()}
        for index in range(7)
    ]
    mean = {name: float(np.mean([row[name] for row in rows])) for name in kinds}
    if chosen.json:
        print(json.dumps({"tables": chosen.tables, "players": chosen.players, "rounds": rows, "mean": mean}))
        return
    table = Table(title=f"Decisions per second, {chosen.tables} tables, {chosen.players} players, one core")
    table.add_column("round")
    for name in kinds:
        table.add_column(name, justify="right")
    for number, row in enumerate([*rows, mean], 1):
        table.add_row(str(number) if number < 8 else "mean", *(f"{row[name]:,.0f}" for name in kinds))
    Console().print(table)


if __name__ == "__main__":
    main()
