"""Players: what chooses a move from a View and a mask. `make_player` finds them by name or path."""

from rummy_env.players.base import FunctionPlayer, Player, make_opponents, make_player, player_names

__all__ = ["FunctionPlayer", "Player", "make_opponents", "make_player", "player_names"]
