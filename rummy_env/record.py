"""Records: whole games as JSON, in memory and in files of one game a line (the notation's page describes the form).

This module knows the form: it reads a record's fields, and refuses what no record can be with a ValueError that names the
line, the field or the card. Whether the moves are a game's is for `rummy_env.game.replay` to say, which plays them.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from rummy_env.cards import KIND_TEXTS, NUM_KINDS, cards_text, parse_cards
from rummy_env.engine.state import ENDS
from rummy_env.melds import Pack, pack_of
from rummy_env.position import check_fields
from rummy_env.rules import FIELDS as RULE_FIELDS
from rummy_env.rules import PRESETS, Rules, shown

FORMAT = "rummy-record/1"
FIELDS = ("format", "rules", "players", "seed", "rounds", "scores")
ROUND_FIELDS = ("round", "dealer", "deck", "position", "moves", "end", "points")
RESTOCK = "* restock "
"""How a line of `moves` begins that holds the cards of a new stock in drawing order."""

_MOVE = re.compile(r"([0-9]) (\S.*)", re.ASCII)


@dataclass(frozen=True)
class RecordedMove:
    """A move of a record: who made it, its text, and the cards of the new stock that it needed, if any.

    `line` is the number of its line in the round's `moves`, from 0.
    """

    line: int
    seat: int
    text: str
    restock: str | None = None


@dataclass(frozen=True)
class RecordedRound:
    """A round of a record. Either `deck` or `position` is there; `end` and `points` where the round has ended."""

    number: int
    dealer: int
    deck: str | None
    position: Mapping[str, Any] | None
    moves: tuple[RecordedMove, ...]
    end: str | None
    points: tuple[int, ...] | None


@dataclass(frozen=True)
class Record:
    """A record whose fields have been read. `seed` is None where the record does not know it."""

    rules: Rules
    names: tuple[str, ...]
    seed: int | None
    rounds: tuple[RecordedRound, ...]
    scores: tuple[int, ...]


# Parts that games check in the same way


def check_names(names: Sequence[str], players: int) -> tuple[str, ...]:
    """The names of the players, one for each seat; they need not differ."""
    if isinstance(names, str) or not isinstance(names, Sequence) or len(names) != players:
        raise ValueError(f"names must be a list of {players} texts, one for each player, not {shown(names)}")
    for name in names:
        if not isinstance(name, str) or not name.strip() or not name.isprintable():
            raise ValueError(f"every name must be a text that is not empty and can be printed, not {shown(name)}")
    return tuple(names)


def check_deck(pack: Pack, deck: str) -> np.ndarray:
    """The kinds of a deck, int8, in the order in which they leave it: all cards of the pack, each as often as there."""
    kinds = _cards(deck)
    _check_cards(kinds, pack.copies, "the deck", "the pack")
    return np.array(kinds, np.int8)


def check_restock(pile: Sequence[int] | np.ndarray, restock: str, turned_over: bool = False) -> np.ndarray:
    """The kinds of a new stock, int8, in drawing order: all cards of the discards that make it, `pile`, and no others.

    `pile` begins with the oldest; where it is `turned_over` unshuffled it is drawn in this order.
    """
    kinds, given = _cards(restock), np.asarray(pile, np.int64)
    counts = np.bincount(given, minlength=NUM_KINDS).tolist()
    _check_cards(kinds, counts, "the new stock", "the discards" if turned_over else "the discards below the top one")
    if turned_over and kinds != given.tolist():
        raise ValueError(f"the discards are turned over unshuffled, so the new stock is {cards_text(given)}, not {restock}")
    return np.array(kinds, np.int8)


def _cards(text: str) -> list[int]:
    if not isinstance(text, str):
        raise ValueError(f"must be a text of cards, not {shown(text)}")
    return parse_cards(text)


def _check_cards(kinds: Sequence[int], copies: Sequence[int], name: str, source: str) -> None:
    counts = np.bincount(np.asarray(kinds, np.int64), minlength=NUM_KINDS).tolist()
    for kind, (has, must) in enumerate(zip(counts, copies, strict=True)):
        if has != must:
            raise ValueError(f"{name} has {has} of the card {KIND_TEXTS[kind]}, {source} {must}")


# Reading the fields of a record


def parse_record(record: Mapping[str, Any]) -> Record:
    """The fields of a record, each checked by itself. Raises ValueError naming the field."""
    if not isinstance(record, Mapping):
        raise ValueError(f"a record must be a JSON object, not {type(record).__name__}")
    if record.get("format") != FORMAT:
        raise ValueError(f"format must be {FORMAT!r}, not {shown(record.get('format'))}")
    check_fields("a record", record, FIELDS, FIELDS)
    rules = _rules(record["rules"])
    names = record["players"]
    least, most = rules.players_min, rules.players_max
    if not isinstance(names, list) or not least <= len(names) <= most:
        raise ValueError(f"players must be a list of {least} to {most} names, not {shown(names)}")
    try:
        check_names(names, len(names))
    except ValueError as error:
        raise ValueError(f"players: {error}") from None
    seed = record["seed"]
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int) or seed < 0):
        raise ValueError(f"seed must be a whole number from 0 up or null, not {shown(seed)}")
    given = record["rounds"]
    if not isinstance(given, list) or not given:
        raise ValueError(f"rounds must be a list of at least one round, not {shown(given)}")
    last = len(given) - 1
    rounds = tuple(_round(f"rounds[{at}]", entry, rules, len(names), at, at == last) for at, entry in enumerate(given))
    return Record(rules, tuple(names), seed, rounds, _numbers("scores", record["scores"], len(names)))


def _rules(given: Any) -> Rules:
    """A record says every rule, so that no preset of a later version can change the game."""
    if not isinstance(given, Mapping):
        raise ValueError(f"rules must be an object with every rule field, not {shown(given)}")
    if missing := [name for name in RULE_FIELDS if name not in given]:
        raise ValueError(f"rules needs every rule field; missing: {', '.join(missing)}")
    try:
        if "preset" in given:
            raise ValueError("a record has no preset, but every rule field")
        return Rules.from_dict(given)
    except ValueError as error:
        raise ValueError(f"rules: {error}") from None


def _numbers(name: str, given: Any, players: int) -> tuple[int, ...]:
    whole = isinstance(given, list) and all(isinstance(item, int) and not isinstance(item, bool) for item in given)
    if not whole or len(given) != players:
        raise ValueError(f"{name} must be a list of {players} whole numbers, one for each player, not {shown(given)}")
    return tuple(given)


def _whole(name: str, given: Any, least: int, most: int) -> int:
    if isinstance(given, bool) or not isinstance(given, int) or not least <= given <= most:
        raise ValueError(f"{name} must be a whole number from {least} to {most}, not {shown(given)}")
    return given


def _round(where: str, given: Any, rules: Rules, players: int, index: int, is_last: bool) -> RecordedRound:
    if not isinstance(given, Mapping):
        raise ValueError(f"{where} must be an object, not {shown(given)}")
    check_fields(where, given, ROUND_FIELDS, ("round", "dealer", "moves"))
    number = _whole(f"{where} round", given["round"], 1, max(rules.sequence, default=rules.game_rounds))
    dealer = _whole(f"{where} dealer", given["dealer"], 0, players - 1)
    deck, position = given.get("deck"), given.get("position")
    if ("deck" in given) == ("position" in given):
        raise ValueError(f"{where} needs either the field deck or the field position")
    if "position" in given:
        if index:
            raise ValueError(f"{where} position: only the first round of a game can begin from a position")
        _check_position(f"{where} position", position)
    else:
        try:
            check_deck(pack_of(rules), given["deck"])
        except ValueError as error:
            raise ValueError(f"{where} deck: {error}") from None
    if ("end" in given) != ("points" in given):
        raise ValueError(f"{where} needs both the fields end and points, or none where the round has not ended")
    if "end" not in given and not is_last:
        raise ValueError(f"{where} needs the fields end and points, as another round follows")
    end, points = given.get("end"), None
    if "end" in given:
        if not isinstance(end, str) or end not in ENDS:
            raise ValueError(f"{where} end must be one of {', '.join(filter(None, ENDS))}, not {shown(end)}")
        points = _numbers(f"{where} points", given["points"], players)
    return RecordedRound(number, dealer, deck, position, _moves(f"{where} moves", given["moves"], players), end, points)


def _check_position(where: str, given: Any) -> None:
    """The rules of a position in a record are a preset's name or an object: a record says everything itself."""
    if not isinstance(given, Mapping):
        raise ValueError(f"{where} must be an object, not {shown(given)}")
    if isinstance(given.get("rules"), str) and given["rules"] not in PRESETS:
        raise ValueError(f"{where} rules must be one of {', '.join(PRESETS)}, not {shown(given['rules'])}")


def _moves(where: str, given: Any, players: int) -> tuple[RecordedMove, ...]:
    if not isinstance(given, list):
        raise ValueError(f"{where} must be a list of texts, not {shown(given)}")
    moves: list[RecordedMove] = []
    restock: str | None = None
    for line, text in enumerate(given):
        name = f"{where}[{line}]"
        if not isinstance(text, str):
            raise ValueError(f"{name} must be a text such as '1 pass' or '* restock 4h 9c', not {shown(text)}")
        if text.startswith("*"):
            if not text.startswith(RESTOCK):
                raise ValueError(f"{name} must be a move or '* restock' with cards, not {shown(text)}")
            if restock is not None:
                raise ValueError(f"{name}: a second restock before one move")
            restock = text.removeprefix(RESTOCK)
            continue
        parts = _MOVE.fullmatch(text)
        if parts is None or int(parts[1]) >= players or not text.isprintable():
            raise ValueError(f"{name} {shown(text)} must be a seat from 0 to {players - 1}, a space and a move")
        moves.append(RecordedMove(line, int(parts[1]), parts[2], restock))
        restock = None
    if restock is not None:
        raise ValueError(f"{where}[{len(given) - 1}]: a restock stands before the move that needs it; none follows")
    return tuple(moves)


# Files


def read_records(path: str | os.PathLike[str]) -> Iterator[dict[str, Any]]:
    """The records of a JSON Lines file, one by one; empty lines are skipped.

    Raises OSError without the file, and ValueError naming the file and the line where it is damaged, when it comes to it.
    `rummy_env.replay` then says whether the moves are a game's.
    """
    return (record for _, record in numbered_records(path))


def numbered_records(path: str | os.PathLike[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """As `read_records`, each with the number of its line, from 1."""
    with open(path, "rb") as file:
        for number, raw in enumerate(file, start=1):
            try:
                text = raw.decode("utf-8")
            except UnicodeDecodeError as error:
                raise ValueError(f"{os.fspath(path)}: line {number}: not UTF-8 text at byte {error.start + 1}") from None
            if not text.strip():
                continue
            try:
                record = _from_json(text)
                parse_record(record)
            except ValueError as error:
                raise ValueError(f"{os.fspath(path)}: line {number}: {error}") from None
            yield number, record


def _from_json(text: str) -> Any:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            names = [name for name, _ in pairs]
            raise ValueError(f"the field {next(name for name in names if names.count(name) > 1)!r} stands twice")
        return found

    def constant(name: str) -> NoReturn:
        raise ValueError(f"{name} is no number of JSON")

    try:
        return json.loads(text, object_pairs_hook=once, parse_constant=constant)
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error.msg} at column {error.colno}") from None
    except RecursionError:
        raise ValueError("not a record: nested too deep") from None


def write_records(path: str | os.PathLike[str], records: Iterable[Mapping[str, Any]], *, append: bool = False) -> None:
    """Write records as a JSON Lines file: beside it, and then moved into its place, so that no line is ever half there.

    Args:
        path: the file. It is replaced.
        records: what `Game.record` gives.
        append: keep what the file holds, if there is one, and add the records after it.

    Raises ValueError for what is no record, naming its place among those given, and OSError. The file then stays as it was.
    """
    target = Path(path)
    beside = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        with open(beside, "wb") as file:
            if append and target.exists():
                with open(target, "rb") as before:
                    shutil.copyfileobj(before, file)
                    if before.tell():
                        before.seek(-1, os.SEEK_END)
                        file.write(b"" if before.read(1) == b"\n" else b"\n")
            for index, record in enumerate(records):
                try:
                    parse_record(record)
                    line = json.dumps(record, ensure_ascii=False, allow_nan=False).encode()
                except (TypeError, ValueError) as error:
                    raise ValueError(f"records[{index}]: {error}") from None
                file.write(line + b"\n")
        os.replace(beside, target)
    finally:
        beside.unlink(missing_ok=True)
