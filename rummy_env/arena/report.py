"""The result of a match for people (a rich table) and for programs (a plain dictionary)."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from rummy_env.arena.match import MatchResult
from rummy_env.arena.stats import CONFIDENCE, Difference, Estimate, Summary, summarize
from rummy_env.rules import Rules

FORMAT = "rummy-evaluation/1"
WIDTH = 80


def to_dict(result: MatchResult, command: str | None = None) -> dict[str, Any]:
    """Everything that is reported, as plain values for JSON. Ends of intervals are null where there is but one deal."""
    found = summarize(result) if result.deals else Summary((), (), 1 / result.seats)
    return {
        "format": FORMAT,
        "command": command,
        "rules": result.rules.to_dict(),
        "rounds": list(result.rounds) if isinstance(result.rounds, tuple) else result.rounds,
        "seats": result.seats,
        "games": result.games,
        "deals": result.deals,
        "games_per_deal": result.tables_per_deal,
        "planned_games": result.planned_deals * result.tables_per_deal,
        "complete": result.complete,
        "seed": result.seed,
        "confidence": CONFIDENCE,
        "even_share": found.even_share,
        "fewest_points_win": _fewest_win(result),
        "players": [asdict(player) for player in found.players],
        "differences": [asdict(difference) for difference in found.differences],
    }


def print_report(result: MatchResult, console: Console, command: str | None = None) -> None:
    """Print the setting, a table of the players, their differences, and the command that repeats the match.

    The table wants a console of at least `WIDTH` columns.
    """

    def line(text: str) -> None:
        console.print(Text(text), soft_wrap=True)

    for text in describe(result):
        line(text)
    if result.deals:
        found = summarize(result)
        console.print(_player_table(found))
        for difference in found.differences:
            line(_difference(difference, _fewest_win(result)))
    else:
        line("No deal was completed.")
    if command is not None:
        line(f"Again: {command}")


def describe(result: MatchResult) -> list[str]:
    """The setting of a match in some lines."""
    if result.rules.contracts is None:
        rounds = "one deal a game" if result.rounds == "random" else f"whole games ({_game_end(result.rules)})"
    elif result.rounds == "random":
        rounds = f"one of rounds {_listed(result.rules.sequence)} drawn for each deal"
    else:
        rounds = f"games of rounds {_listed(result.rules.sequence)}"
    planned = result.planned_deals * result.tables_per_deal
    games = f"{result.games} games" if result.complete else f"interrupted after {result.games} of {planned} games"
    return [
        f"Rules {result.rules.name}, {result.seats} seats, {rounds}, seed {result.seed}: {games}, "
        f"{result.deals} deals in {result.tables_per_deal} seatings each.",
        f"{'Fewest' if _fewest_win(result) else 'Most'} points win; even share of wins {100 / result.seats:.1f} %; "
        f"± and brackets are {100 * CONFIDENCE:.0f} % intervals over deals.",
        "Wins and places are of games, all else of rounds: points, laid down, went out, turns, buys.",
    ]


def _game_end(rules: Rules) -> str:
    """When a game of free melds ends, in words."""
    most = f"{rules.game_rounds} deal{'s' if rules.game_rounds > 1 else ''}"
    target = (rules.game_end or {}).get("target")
    return most if target is None else f"to {target} points, at most {most}"


def _fewest_win(result: MatchResult) -> bool:
    return result.rules.scoring == "losers_penalty"


def _listed(numbers: tuple[int, ...]) -> str:
    return ", ".join(map(str, numbers))


def _player_table(found: Summary) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("player", overflow="fold", min_width=8)
    for head in ("points", "wins %", "place", "down %", "out %", "turns", "buys"):
        table.add_column(head, justify="right", no_wrap=True)
    for player in found.players:
        table.add_row(
            Text(player.name),
            _plus_minus(player.points, 1, 2),
            _plus_minus(player.win_share, 100, 1),
            f"{player.place.mean:.2f}",
            f"{100 * player.laid_down.mean:.1f}",
            f"{100 * player.went_out.mean:.1f}",
            f"{player.turns.mean:.1f}",
            f"{player.buys.mean:.2f}",
        )
    return table


def _plus_minus(value: Estimate, scale: float, digits: int) -> str:
    """The mean and half the width of its interval; of a lopsided one the wider half."""
    mean = f"{scale * value.mean:.{digits}f}"
    if value.low is None or value.high is None:
        return mean
    half = scale * max(value.high - value.mean, value.mean - value.low)
    return f"{mean} ±{half:.{digits}f}"


def _difference(difference: Difference, fewest_win: bool) -> str:
    points = difference.points
    text = f"{difference.first} minus {difference.second}: {points.mean:+.2f}"
    if points.low is None or points.high is None:
        return f"{text} points a round; one deal does not say how sure that is"
    if points.low <= 0 <= points.high:
        verdict = "no clear difference"
    else:
        verdict = f"{difference.first if (points.mean < 0) == fewest_win else difference.second} is better"
    return f"{text} [{points.low:+.2f}, {points.high:+.2f}] points a round; {verdict}"
