"""The `rummy` command. Each command imports what it needs when it runs, so that help and mistakes are answered at once.

Bad input ends with one line on stderr and exit code 2, Ctrl-C with what is known by then and 130.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rummy_env.arena.match import Match

INTERRUPTED = 130
BAD_INPUT = 2

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


class BadInput(Exception):
    """What the user gave cannot be used; the message is one line."""


@contextmanager
def _refusing() -> Iterator[None]:
    """Turn the errors that the library raises for bad input into `BadInput`."""
    try:
        yield
    except OSError as error:
        raise BadInput(f"cannot read {str(error.filename)!r}: {error.strerror}") from None
    except ValueError as error:
        raise BadInput(" ".join(str(error).split())) from None


def _version(value: bool) -> None:
    if value:
        from importlib.metadata import version

        typer.echo(f"rummy-env {version('rummy-env')}")
        raise typer.Exit()


@app.callback(invoke_without_command=True)
def rummy(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Rummy for reinforcement learning: measure players, look at rules and at recorded games."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


RULES_HELP = "A rule set: a preset's name, or the path of a YAML file."
OVERRIDES_HELP = "A rule field that differs, such as max_buys=3; may be given several times."
JSON_HELP = "Print one JSON object and nothing else."


@app.command()
def evaluate(
    entrants: Annotated[
        list[str] | None,
        typer.Argument(metavar="PLAYER", show_default=False, help="Names, or paths of saved agents' folders."),
    ] = None,
    players: Annotated[
        list[str] | None,
        typer.Option(show_default=False, help="More players: several times, or separated by commas."),
    ] = None,
    rules: Annotated[str, typer.Option(help=RULES_HELP)] = "international",
    overrides: Annotated[list[str] | None, typer.Option(metavar="FIELD=VALUE", show_default=False, help=OVERRIDES_HELP)] = None,
    rounds: Annotated[
        str,
        typer.Option(
            help="random: one round a game, drawn for each deal; all: whole games; numbers such as 3 or 1,4: those rounds."
        ),
    ] = "random",
    seats: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER",
            show_default=False,
            help="Players at a table; without it as many as listed. Copies of the last player fill a larger table; at a "
            "smaller one, every choice of players meets.",
        ),
    ] = None,
    games: Annotated[str, typer.Option(metavar="NUMBER", help="Games to play, rounded up to whole deals.")] = "1000",
    seed: Annotated[str, typer.Option(metavar="NUMBER", help="Equal seeds give equal matches.")] = "0",
    as_json: Annotated[bool, typer.Option("--json", help=JSON_HELP)] = False,
) -> None:
    """Play players against each other and measure them: points, wins, rates, with 95 % intervals.

    Every deal is played in all seatings, so cards and seats favour nobody. For example:

    rummy evaluate greedy random --games 400
    """
    with _refusing():
        specs = _player_specs(players or [], entrants or [])
        from rummy_env.arena.match import Match
        from rummy_env.rules import resolve_rules

        wanted = _whole("games", games, 1)
        match = Match(
            resolve_rules(rules, _overrides(overrides)),
            specs,
            games=wanted,
            seed=_whole("seed", seed, 0),
            seats=None if seats is None else _whole("seats", seats, 1),
            rounds=_rounds(rounds),
            names=specs,
        )
    if match.games != wanted:
        typer.echo(
            f"note: {wanted} games rounded up to {match.games}, {match.deals} deals in {match.tables_per_deal} seatings each",
            err=True,
        )
    interrupted = False
    try:
        _play_with_progress(match)
    except KeyboardInterrupt:
        interrupted = True
    words = ["rummy", "evaluate", *specs, "--rules", rules]
    for override in overrides or []:
        words += ["--overrides", override]
    words += ["--rounds", rounds, "--seats", str(match.seats), "--games", str(match.games), "--seed", str(match.seed)]
    command = shlex.join(words)

    from rummy_env.arena.report import WIDTH, print_report, to_dict

    result = match.result()
    if as_json:
        _print_json(to_dict(result, command) | {"requested_games": wanted})
    else:
        from rich.console import Console

        width = max(WIDTH, Console().width) if sys.stdout.isatty() else 120
        print_report(result, Console(width=width), command)
    if interrupted:
        raise typer.Exit(INTERRUPTED)


@app.command("rules")
def show_rules(
    rules: Annotated[str, typer.Argument(help=RULES_HELP)] = "international",
    overrides: Annotated[list[str] | None, typer.Option(metavar="FIELD=VALUE", show_default=False, help=OVERRIDES_HELP)] = None,
    moves: Annotated[bool, typer.Option("--moves", help="List the whole move table as well.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help=JSON_HELP)] = False,
) -> None:
    """Say what a rule set is, in plain words, and how many moves of each type its table has."""
    with _refusing():
        from rummy_env.rules import resolve_rules

        chosen = resolve_rules(rules, _overrides(overrides))
        from rummy_env.moves import move_table

        table = move_table(chosen)
    counts = Counter(move.type.name.lower() for move in table)
    if as_json:
        found = {"rules": chosen.to_dict(), "description": chosen.describe().splitlines()}
        found["moves"] = {"number": len(table), "fingerprint": table.fingerprint, "by_type": dict(counts)}
        if moves:
            found["table"] = [move.text for move in table]
        _print_json(found)
        return
    typer.echo(chosen.describe())
    listed = ", ".join(f"{name} {count}" for name, count in counts.items())
    typer.echo(f"Moves: {len(table)} (fingerprint {table.fingerprint}): {listed}.")
    if moves:
        for id_, move in enumerate(table):
            typer.echo(f"{id_:5}  {move.text}")


@app.command()
def replay(
    file: Annotated[str, typer.Argument(metavar="FILE", show_default=False, help="A file of records, one game a line.")],
    game: Annotated[str, typer.Option(metavar="NUMBER", help="Which game of the file, from 1.")] = "1",
    round_number: Annotated[
        str | None,
        typer.Option("--round", metavar="NUMBER", show_default=False, help="Begin with this round; print only this round."),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Print every step at once, as where no terminal is.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print every step as a JSON object a line, with its position, and nothing else.")
    ] = False,
) -> None:
    """Step through a recorded game: every move and the table after it, with all hands.

    At a terminal: Enter or space next, b back, r next round, q quit. For example:

    rummy replay games.jsonl --game 3
    """
    with _refusing():
        wanted = _whole("game", game, 1)
        number = None if round_number is None else _whole("round", round_number, 1)
        from rummy_env.record import numbered_records
        from rummy_env.render.replay import step_through, steps_of

        line, record = _nth(numbered_records(file), wanted, file)
        try:
            steps = steps_of(record)
        except ValueError as error:
            raise ValueError(f"{file}: line {line}: {error}") from None
        numbers = [step.round_number for step in steps]
        if number is not None and number not in numbers:
            known = ", ".join(str(known) for known in dict.fromkeys(numbers))
            raise ValueError(f"round must be one of the game's, {known}, not {number}")
    first = 0 if number is None else numbers.index(number)
    chosen = [step for step, of in zip(steps, numbers, strict=True) if number in (None, of)]
    if as_json:
        for step in chosen:
            typer.echo(json.dumps(step.to_dict(), ensure_ascii=False, allow_nan=False))
        return
    seats = ", ".join(f"{seat} {name}" for seat, name in enumerate(steps[0].names))
    typer.echo(f"Game {wanted}: {seats}. Seed: {'unknown' if record['seed'] is None else record['seed']}.")
    if not everything and sys.stdin.isatty() and sys.stdout.isatty():
        step_through(steps, first, typer.echo)
        return
    for step in chosen:
        typer.echo(f"\n{step.text()}")


def _nth(records: Iterator[tuple[int, dict[str, Any]]], wanted: int, file: str) -> tuple[int, dict[str, Any]]:
    """The wanted record of a file, from 1, with the number of its line."""
    count = 0
    for found in records:
        count += 1
        if count == wanted:
            return found
    raise ValueError(f"game must be from 1 to {count}, the games of {file}, not {wanted}" if count else f"{file} has no games")


def _player_specs(options: Sequence[str], arguments: Sequence[str]) -> list[str]:
    """The players listed: those of options, which may have commas, then the arguments."""
    specs: list[str] = []
    for option in options:
        specs.extend([option] if Path(option).exists() else option.split(","))
    specs = [spec.strip() for spec in [*specs, *arguments]]
    if not all(specs):
        raise ValueError("a player's name is empty")
    if not specs:
        raise ValueError("no players are given; for example: rummy evaluate greedy random")
    return specs


def _overrides(given: Sequence[str] | None) -> dict[str, Any] | None:
    """Rule fields from texts ``field=value``, the values as in YAML."""
    if not given:
        return None
    from rummy_env.rules import read_yaml, shown

    found: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals:
            raise ValueError(f"overrides must be given as field=value, not {text!r}")
        try:
            found[name.strip()] = read_yaml(value.encode())
        except ValueError:
            raise ValueError(f"the value of {name.strip()} cannot be read: {shown(value)}") from None
    return found


def _whole(name: str, given: str, least: int) -> int:
    try:
        number = int(given)
    except ValueError:
        number = least - 1
    if number < least:
        raise ValueError(f"{name} must be a whole number from {least} up, not {given!r}")
    return number


def _rounds(given: str) -> str | list[int]:
    if given in ("random", "all"):
        return given
    try:
        return [int(number) for number in given.split(",")]
    except ValueError:
        raise ValueError(f"rounds must be random, all, or numbers such as 3 or 1,4, not {given!r}") from None


def _play_with_progress(match: Match) -> None:
    """Play, with a bar and the time left on stderr where that is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task("games", total=match.games)
        match.play(lambda finished: progress.update(task, completed=finished))


def _print_json(found: dict[str, Any]) -> None:
    typer.echo(json.dumps(found, ensure_ascii=False, allow_nan=False, indent=1))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    command = typer.main.get_command(app)
    try:
        given = None if arguments is None else list(arguments)
        code = command.main(args=given, prog_name="rummy", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except BadInput as error:
        message = str(error)
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left in the buffer goes nowhere
        return 1
    except Exception as error:
        # Usage errors of the command line library, whose classes have moved between its versions.
        if not hasattr(error, "format_message"):
            raise
        message = " ".join(str(error.format_message()).split())
        if message.startswith("No such command"):
            message = f"{message} Commands are {', '.join(getattr(command, 'commands', ()))}."
    typer.echo(f"rummy: {message}", err=True)
    return BAD_INPUT


if __name__ == "__main__":
    sys.exit(main())
