"""Speed of one table: decisions a second of the environments, each played by one process with legal moves at random.

The moves are chosen beforehand: games are played once to record them, and replayed from the same seeds under the clock. A
decision is a step and the observation with its mask after it.

    python benchmarks/single.py [--players 4] [--moves 20000] [--repeats 5] [--json]
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from rich.console import Console
from rich.table import Table

import rummy_env

Episodes = list[list[int]]


def record_aec(env: Any, moves: int) -> Episodes:
    """Random games on a PettingZoo environment, the moves of each; the seed of a game is its place in the list."""
    random, episodes = np.random.default_rng(0), []
    while sum(map(len, episodes)) < moves:
        env.reset(seed=len(episodes))
        played: list[int] = []
        while not any(env.terminations.values()):
            mask = env.last()[0]["action_mask"]
            played.append(int(random.choice(np.flatnonzero(mask))))
            env.step(played[-1])
        episodes.append(played)
    return episodes


def replay_aec(env: Any, episodes: Episodes) -> float:
    """The seconds that the recorded games take."""
    spent = 0.0
    for seed, played in enumerate(episodes):
        env.reset(seed=seed)
        env.last()
        begin = time.perf_counter()
        for move in played:
            env.step(move)
            env.last()
        spent += time.perf_counter() - begin
    return spent


def record_gym(env: Any, moves: int) -> Episodes:
    """The same for a Gymnasium environment."""
    random, episodes = np.random.default_rng(0), []
    while sum(map(len, episodes)) < moves:
        info = env.reset(seed=len(episodes))[1]
        played: list[int] = []
        done = False
        while not done:
            played.append(int(random.choice(np.flatnonzero(info["action_mask"]))))
            _, _, done, _, info = env.step(played[-1])
        episodes.append(played)
    return episodes


def replay_gym(env: Any, episodes: Episodes) -> float:
    """The seconds that the recorded games take."""
    spent = 0.0
    for seed, played in enumerate(episodes):
        env.reset(seed=seed)
        begin = time.perf_counter()
        for move in played:
            env.step(move)
        spent += time.perf_counter() - begin
    return spent


def measure(record: Callable[..., Episodes], replay: Callable[..., float], env: Any, moves: int, repeats: int) -> float:
    """Decisions a second, the median of the repeats; the first replay is not counted."""
    episodes = record(env, moves)
    count = sum(map(len, episodes))
    replay(env, episodes)
    return statistics.median(count / replay(env, episodes) for _ in range(repeats))


def results(players: int, moves: int, repeats: int) -> dict[str, float]:
    """Every environment's decisions a second."""
    pages = rummy_env.international_v0
    found = {
        "PettingZoo raw_env": measure(record_aec, replay_aec, pages.raw_env(players=players), moves, repeats),
        "PettingZoo env (wrapped)": measure(record_aec, replay_aec, pages.env(players=players), moves, repeats),
    }
    for opponents in ("random", "greedy"):
        env = gymnasium.make("rummy_env/International-v0", players=players, opponents=opponents)
        found[f"Gymnasium against {opponents} (made)"] = measure(record_gym, replay_gym, env, moves, repeats)
        found[f"Gymnasium against {opponents} (unwrapped)"] = measure(record_gym, replay_gym, env.unwrapped, moves, repeats)
    return found


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--players", type=int, default=4, help="seats at the table")
    parser.add_argument("--moves", type=int, default=20_000, help="decisions of one repeat, at least")
    parser.add_argument("--repeats", type=int, default=5, help="replays, of which the median counts")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    found = results(options.players, options.moves, options.repeats)
    if options.json:
        print(json.dumps({"players": options.players, "decisions_per_second": found}))
        return
    table = Table("environment", "decisions a second", title=f"One table, {options.players} players")
    for name, speed in found.items():
        table.add_row(name, f"{speed:,.0f}")
    Console().print(table)


if __name__ == "__main__":
    main()
