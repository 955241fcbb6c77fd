"""Fair matches between players, and what they show."""

from rummy_env.arena.match import Match, MatchResult, play_match
from rummy_env.arena.stats import Difference, Estimate, PlayerStats, Summary, summarize

__all__ = ["Difference", "Estimate", "Match", "MatchResult", "PlayerStats", "Summary", "play_match", "summarize"]
