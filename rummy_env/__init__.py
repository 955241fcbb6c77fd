"""Rummy for reinforcement learning.

Importing the package registers its environments by name with Gymnasium and PettingZoo and loads nothing else; the names
below are loaded when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import gymnasium
import pettingzoo
from pettingzoo.env_registry.registration import aec_registry

if TYPE_CHECKING:
    from rummy_env import basic_v0 as basic_v0
    from rummy_env import international_v0 as international_v0
    from rummy_env.batch import BatchGame as BatchGame
    from rummy_env.game import Game as Game
    from rummy_env.game import RoundResult as RoundResult
    from rummy_env.game import replay as replay
    from rummy_env.gym_env import RummyEnv as RummyEnv
    from rummy_env.moves import move_table as move_table
    from rummy_env.observation import decode as decode
    from rummy_env.observation import layout as layout
    from rummy_env.players.base import Player as Player
    from rummy_env.players.base import make_player as make_player
    from rummy_env.players.base import player_names as player_names
    from rummy_env.record import read_records as read_records
    from rummy_env.record import write_records as write_records
    from rummy_env.rules import Rules as Rules
    from rummy_env.rules import load_rules as load_rules
    from rummy_env.rules import preset as preset
    from rummy_env.rules import resolve_rules as resolve_rules
    from rummy_env.rules import save_rules as save_rules
    from rummy_env.vector import RummyVectorEnv as RummyVectorEnv

    __version__: str

_HOMES = {
    "BatchGame": "batch",
    "Game": "game",
    "RoundResult": "game",
    "replay": "game",
    "RummyEnv": "gym_env",
    "move_table": "moves",
    "decode": "observation",
    "layout": "observation",
    "Player": "players.base",
    "make_player": "players.base",
    "player_names": "players.base",
    "read_records": "record",
    "write_records": "record",
    "Rules": "rules",
    "load_rules": "rules",
    "preset": "rules",
    "resolve_rules": "rules",
    "save_rules": "rules",
    "RummyVectorEnv": "vector",
}
_MODULES = ("basic_v0", "international_v0")
__all__ = [*_HOMES, *_MODULES, "__version__"]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"rummy_env.{name}")
    if name in _HOMES:
        value = getattr(importlib.import_module(f"rummy_env.{_HOMES[name]}"), name)
    elif name == "__version__":
        value = importlib.import_module("importlib.metadata").version("rummy-env")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _register() -> None:
    """Make the environments known by name; once, as the libraries warn of a name that is given twice."""
    for rules in ("international", "basic"):
        name = f"rummy_env/{rules.capitalize()}-v0"
        if name not in gymnasium.registry:
            gymnasium.register(
                name,
                entry_point="rummy_env.gym_env:RummyEnv",
                vector_entry_point="rummy_env.vector:RummyVectorEnv",
                kwargs={"rules": rules},
                disable_env_checker=True,
            )
        if (name := f"rummy_env/{rules}-v0") not in aec_registry:
            pettingzoo.register("aec", name, entry_point=f"rummy_env.{rules}_v0:env")


_register()
