"""Damaged input for every reader, until one of them answers with anything but a clear error.

    python tests/fuzz.py --minutes 10 --seed 0 [--only position]

A reader accepts what it is given, and then that is usable, or it raises ValueError with a message. Anything else is a
finding: another exception, a warning, an empty message, an accepted value that cannot be used, more than ten seconds, a
file that was written. Input number n depends on n alone; each finding is printed with the number that repeats it. Exit
status 1 means a finding.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from io import StringIO
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import yaml
from rich.console import Console

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rummy_env import cli
from rummy_env.cards import parse_cards, parse_kind
from rummy_env.engine.tables import compile_tables
from rummy_env.game import Game, replay
from rummy_env.melds import pack_of, parse_meld
from rummy_env.moves import move_table
from rummy_env.players.learned import DESCRIPTION, WEIGHTS, load_agent, save_agent
from rummy_env.record import read_records
from rummy_env.rules import FIELDS, Rules, load_rules, preset, resolve_rules
from tests.lockstep import mixed_setting
from tests.playing import Driver
from tests.soak import whole

ROOT = Path(__file__).resolve().parents[1]
RULES = preset("international")
BASIC = ("basic", "basic_modern", "block")
SECONDS = 10
"""A reader that takes longer hangs."""

JUNK: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 7, 127, 128, 255, 2**15, 2**31, 2**63, 2**64, 10**30, -(10**30), 10**5000, 1.5, -0.0,
    1e308, float("nan"), float("inf"), "", " ", "x", "0", "7", "\0", "\ud800", "\u202e7c", "é", "**", "7c", "7c 7d", "7c7",
    "G7 7c7d7h", "R5s 5s6s7s8s", "lay G7 7c7d7h", "stock", "international", "basic", "no.yaml", "a\0b.yaml", ".", "/",
    "x" * 5000 + ".yaml", [], [[]], [None], [0, 0], ["7c"], {}, {"": 0}, {"rules": {}}, {"target": 5}, {"A": None},
)  # fmt: skip
TOKENS = (
    *b"\0|\xff|\xed\xa0\x80|\xef\xbb\xbf|\r|\n|\t|{|}|[|]|:|: |- |,|\"|'|&a |*a|!!python/name:os.system |!!int ".split(b"|"),
    *b"!!binary |!!set |!!timestamp |2001-99-99|? |<<: |%YAML 9\n|---\n|...\n|nan|NaN|Infinity|-Infinity|1e999".split(b"|"),
    *b"0x1f|0b2|1:99|~|null|true|7c|**|F64|BF16|F8_E4M3|U16|I8|BOOL|__metadata__|data_offsets|[0,0]".split(b"|"),
    b"9" * 20, b"9" * 5000, b"0x" + b"f" * 5000, b"[" * 5000, b"{" * 3000, b'{"a":' * 3000, b"- " * 2000, b"\0" * 7 + b"\x7f",
)  # fmt: skip
"""What readers stumble over."""


def deep(levels: int) -> Any:
    """A list in a list in a list."""
    value: Any = []
    for _ in range(levels):
        value = [value]
    return value


def junk(chance: random.Random) -> Any:
    """A value that belongs nowhere, or only by luck."""
    return copy.deepcopy(chance.choice(JUNK))


def mutate(chance: random.Random, value: Any) -> Any:
    """A JSON-like value with a few things changed, most of them deep inside."""
    holder = [copy.deepcopy(value)]
    for _ in range(chance.choice([1, 1, 1, 2, 4])):
        _change(chance, holder)
    if chance.random() < 0.03 and (where := _places(holder)):
        inner, key = chance.choice(where)
        inner[key] = deep(chance.choice([50, 500, 5000]))
    return holder[0] if holder else None


def _places(holder: Any) -> list[tuple[Any, Any]]:
    """Every list and map in a value with every key, the whole value included."""
    where: list[tuple[Any, Any]] = []
    waiting = [holder]
    while waiting:
        inner = waiting.pop()
        for key in inner if isinstance(inner, dict) else range(len(inner)):
            where.append((inner, key))
            if isinstance(inner[key], (dict, list)):
                waiting.append(inner[key])
    return where


def _change(chance: random.Random, holder: Any) -> None:
    """One change somewhere in a list or a map."""
    where = _places(holder)
    if not where:
        return
    inner, key = chance.choice(where)
    value, kind = inner[key], chance.random()
    if kind < 0.35:
        inner[key] = junk(chance)
    elif kind < 0.5:
        del inner[key]
    elif kind < 0.6 and isinstance(inner, dict):
        inner[chance.choice([str(key) + "x", "", "rules", "\0", "preset"])] = copy.deepcopy(value)
    elif kind < 0.6:
        inner.insert(key, junk(chance) if chance.random() < 0.5 else copy.deepcopy(value))
    elif kind < 0.7:
        other, place = chance.choice(where)  # the value of another place
        inner[key] = copy.deepcopy(
            other.get(place) if isinstance(other, dict) else other[min(place, len(other) - 1)] if other else 0
        )
    elif isinstance(value, bool) or value is None:
        inner[key] = chance.choice([True, False, None, 1])
    elif isinstance(value, int):
        inner[key] = value + chance.choice([-1, 1, 2, -value * 2, 100, 0.0])
    elif isinstance(value, str):
        inner[key] = damage(chance, value.encode(errors="replace")[:4000]).decode(errors="replace")
    elif isinstance(value, list):
        inner[key] = chance.choice([value[::-1], value[:1], value * 2, value[1:], dict(enumerate(value)), tuple(value)])
    else:
        inner[key] = chance.choice([list(value) if isinstance(value, dict) else value, "{}", [value]])


def damage(chance: random.Random, data: bytes) -> bytes:
    """Bytes with a few flipped, left out, doubled or put in."""
    found = bytearray(data)
    for _ in range(chance.choice([1, 1, 2, 3, 8])):
        at = chance.randint(0, len(found))
        if chance.random() < 0.4:
            at = chance.randint(0, min(len(found), 300))  # where headers are
        end, kind = min(len(found), at + chance.choice([1, 2, 5, 40, 1000])), chance.random()
        if kind < 0.25 and at < len(found):
            found[at] ^= 1 << chance.randint(0, 7)
        elif kind < 0.4 and at < len(found):
            found[at] = chance.randint(0, 255)
        elif kind < 0.55:
            del found[at:end]
        elif kind < 0.6:
            del found[at:]
        elif kind < 0.7:
            found[at:at] = found[at:end]
        elif kind < 0.95:
            found[at:at] = chance.choice(TOKENS)
        else:
            found[at:end] = chance.choice(TOKENS)
    return bytes(found)


# What is damaged


@cache
def sample_games() -> tuple[Game, ...]:
    """Games of some rule sets, each in the middle, played by eager players."""
    games = []
    for number in range(8):
        setting = mixed_setting(number) if number else None
        rules = resolve_rules("international", setting.overrides if setting else None)
        games.append(_begun(Game(rules, setting.players if setting else 3, number), number))
    for number in range(6):  # the presets of Basic, then rule sets with any of its switches
        mixed = mixed_setting(number, "basic")
        rules = preset(BASIC[number]) if number < len(BASIC) else resolve_rules("basic", mixed.overrides)
        games.append(_begun(Game(rules, 3 if number < len(BASIC) else mixed.players, number), number))
    return tuple(games)


def _begun(game: Game, number: int) -> Game:
    """The game in the middle, or at its end, played by eager players."""
    chance = random.Random(number)
    for _ in range(40 + 12 * number):
        moves = [move.text for move in game.moves()]
        laid = [move for move in moves if move.startswith(("lay", "off"))]
        if game.over:
            break
        game.play(chance.choice(laid or moves))
    return game


@cache
def sample_positions() -> tuple[dict[str, Any], ...]:
    """Positions of every phase, and in Basic with a stock turned over."""
    found = [game.position() for game in sample_games() if not game.over]
    found += [_turned_over(seed) for seed in range(3)]
    for phase in ("window", "draw", "play", "laying"):
        for seed in range(20):
            driver = Driver(RULES.replace(jokers=8, max_turns=20), 3, seed, "eager")
            game = Game(driver.rules, 3, seed)
            for _ in range(200):
                moves = [move.text for move in game.moves()]
                laid = [move for move in moves if move.startswith(("lay", "off"))]
                if game.over or game.phase == phase:
                    break
                game.play(laid[0] if laid else moves[seed % len(moves)])
            if not game.over and game.phase == phase:
                found.append(game.position())
                break
    return tuple(found)


def _turned_over(seed: int) -> dict[str, Any]:
    """A position of Basic some draws after the pile was turned over."""
    game = Game("basic", 3, seed)
    while game.state.reshuffles == 0 or game.state.num_discards < 3:
        moves = [move.text for move in game.moves()]
        game.play(moves[0] if game.phase == "draw" else moves[-1])  # `stock`, and no meld
    return game.position()


@cache
def sample_rules() -> tuple[dict[str, Any], ...]:
    """Rules as maps: whole ones, and only what differs."""
    found: list[dict[str, Any]] = [preset(name).to_dict() for name in ("international", *BASIC)]
    found += [mixed_setting(number).overrides for number in range(30)]
    found += [{"preset": "basic", **mixed_setting(number, "basic").overrides} for number in range(15)]
    return (*found, {"preset": "basic", "max_buys": 2}, {"deal": "pagat", "points": "home"}, {"points": {"A": 20, 7: 5}})


@cache
def agent_files() -> dict[str, bytes]:
    """The files of a small saved agent."""
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        size = len(Game(RULES, 2, 0).observation(0))
        layers = [(rng.normal(size=(out, into)), np.zeros(out)) for into, out in pairwise([size, 2, len(move_table(RULES))])]
        save_agent(folder, RULES, layers)
        return {file.name: file.read_bytes() for file in folder.iterdir()}


# Readers: each makes an input in an empty folder and returns what is to be called


Call = Callable[[], object]


def damaged_json(chance: random.Random, value: Any) -> bytes:
    """A value as JSON, changed before or after it is written."""
    if chance.random() < 0.5:
        return damage(chance, json.dumps(value).encode())
    try:
        return json.dumps(mutate(chance, value)).encode()
    except (RecursionError, ValueError):  # too deep or too large to write
        return damage(chance, json.dumps(value).encode())


def bomb(levels: int = 12) -> bytes:
    """A few lines of YAML that stand for a list of more entries than fit into memory."""
    lines = ["l0: &l0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"l{at}: &l{at} [{', '.join([f'*l{at - 1}'] * 10)}]" for at in range(1, levels)]
    return "\n".join(lines).encode()


def damaged_yaml(chance: random.Random, value: Any) -> bytes:
    """A value as YAML, changed before or after it is written."""
    if chance.random() < 0.02:
        key = chance.choice(list(value)) if isinstance(value, dict) and value else "x"
        lines = bomb().replace(b"l11:", f"{key}:".encode())
        return lines if chance.random() < 0.5 else b"x: {" + lines.replace(b"\n", b", ") + b"}"
    if chance.random() < 0.01:
        return b"".join(b"key%d: 1\n" % number for number in range(20_000))
    if chance.random() < 0.4:
        try:
            return yaml.safe_dump(mutate(chance, value)).encode(errors="surrogatepass")
        except (yaml.YAMLError, RecursionError, ValueError):
            pass
    return damage(chance, yaml.safe_dump(value, sort_keys=False, default_flow_style=None).encode())


def use_rules(rules: Rules) -> None:
    """Rules that were accepted can be written, read, described and compiled; some games are not played yet."""
    assert Rules.from_dict(json.loads(json.dumps(rules.to_dict()))) == rules and hash(rules) == hash(rules)
    rules.describe()
    move_table(rules)
    try:
        compile_tables(rules)
    except ValueError as error:
        assert "can lie on a table" in str(error), error


def fuzz_rules(chance: random.Random, folder: Path) -> Call:
    given = mutate(chance, chance.choice(sample_rules()))
    return lambda: use_rules(Rules.from_dict(given))


def fuzz_overrides(chance: random.Random, folder: Path) -> Call:
    given: Any = {chance.choice(FIELDS): junk(chance) for _ in range(chance.choice([1, 1, 2]))}
    base: Any = junk(chance) if chance.random() < 0.2 else "international"
    if isinstance(base, str) and base.endswith(".yaml"):
        base = "international"
    return lambda: use_rules(resolve_rules(base, given))


def fuzz_yaml(chance: random.Random, folder: Path) -> Call:
    path = folder / "rules.yaml"
    path.write_bytes(damaged_yaml(chance, chance.choice(sample_rules())))
    return lambda: use_rules(load_rules(path))


def use_position(position: Any) -> None:
    """An accepted position is written as one that is read to the same State, and can be played on from."""
    game = Game.from_position(position)
    again = Game.from_position(json.loads(json.dumps(game.position())))
    assert again.position() == game.position(), "another position when read again"
    assert again.state.tobytes() == game.state.tobytes(), "another State when read again"
    for _ in range(25):
        if game.over:
            break
        moves = game.moves()
        assert moves, "no legal move"
        assert np.isfinite(game.observation(int(game.state.to_act))).all()
        game.play(moves[len(moves) // 2])
    replay(json.loads(json.dumps(game.record())))


def fuzz_position(chance: random.Random, folder: Path) -> Call:
    given = mutate(chance, chance.choice(sample_positions()))
    return lambda: use_position(given)


def fuzz_record(chance: random.Random, folder: Path) -> Call:
    record = chance.choice(sample_games()).record()
    if chance.random() < 0.2:
        game = Game.from_position(chance.choice(sample_positions()))
        game.play(game.moves()[0])
        record = game.record()
    if chance.random() < 0.3:
        given = mutate(chance, record)
        return lambda: replay(given)
    path = folder / "games.jsonl"
    path.write_bytes(damaged_json(chance, record) + b"\n" + json.dumps(record).encode())

    def read() -> None:
        for found in read_records(path):
            game = replay(found)
            assert replay(game.record()).state.tobytes() == game.state.tobytes()

    return read


def fuzz_agent(chance: random.Random, folder: Path) -> Call:
    files = dict(agent_files())
    if chance.random() < 0.5:
        files[DESCRIPTION] = damaged_json(chance, json.loads(files[DESCRIPTION]))
    else:
        files[WEIGHTS] = damage(chance, files[WEIGHTS])
    for name, data in files.items():
        (folder / name).write_bytes(data)

    def load() -> None:
        player, game = load_agent(folder, RULES), sample_games()[0]
        assert game.mask()[player.act(game.view(int(game.state.to_act)), game.mask())]

    return load


def fuzz_texts(chance: random.Random, folder: Path) -> Call:
    rules = chance.choice(sample_games()).rules
    table, pack = move_table(rules), pack_of(rules)
    text = damage(chance, chance.choice(table.moves).text.encode()).decode(errors="replace")
    text = chance.choice([text, text.removeprefix("lay "), text[:2], text * 50, "** " * 99, "\0", "\ud800", ""])
    parser: Callable[[str], Any] = chance.choice([table.id, parse_kind, parse_cards, lambda given: parse_meld(given, pack)])
    return lambda: parser(text)


def fuzz_command(chance: random.Random, folder: Path) -> Call:
    """The `rummy` command: what it cannot use is exit code 2 with one line."""
    path = folder / "given.yaml"
    kind = chance.randint(0, 3)
    if kind == 0:
        path.write_bytes(damaged_yaml(chance, chance.choice(sample_rules())))
        words = ["rules", str(path)]
    elif kind == 1:
        path.write_bytes(damaged_json(chance, chance.choice(sample_games()).record()))
        words = ["replay", str(path), "--all"]
    elif kind == 2:
        field, value = chance.choice(FIELDS), damage(chance, b"[3]").decode(errors="replace")
        words = ["rules", "--overrides", f"{field}={value}"]
    else:
        words = ["evaluate", str(folder), "random", "--games", "2", "--rules", chance.choice(["international", str(folder)])]
        (folder / DESCRIPTION).write_bytes(damaged_json(chance, json.loads(agent_files()[DESCRIPTION])))
        (folder / WEIGHTS).write_bytes(agent_files()[WEIGHTS])

    def call() -> None:
        out, err = StringIO(), StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            code = cli.main(words)
        assert code in (0, cli.BAD_INPUT), code
        if code:
            said = err.getvalue()
            assert said.startswith("rummy: ") and said.count("\n") == 1 and len(said) > 12, said

    return call


@cache
def training() -> Any:
    """The training script as a module."""
    sys.path.insert(0, str(ROOT / "training"))
    import train

    return train


def fuzz_training(chance: random.Random, folder: Path) -> Call:
    train = training()

    path = folder / "config.yaml"
    config = yaml.safe_load((ROOT / "configs" / "train" / "demo.yaml").read_text(encoding="utf-8"))
    path.write_bytes(damaged_yaml(chance, config))
    return lambda: train.read_options(path, [])


@cache
def run_files() -> dict[str, bytes]:
    """The files of a run that has just begun."""
    train = training()

    with tempfile.TemporaryDirectory() as name:
        run = train.Run(train.Options(tables=2, players=[2], opponents=["random"], hidden=[2], seed=1), Path(name), True)
        run.save_checkpoint()
        run.close()
        return {file.name: file.read_bytes() for file in Path(name).iterdir() if file.is_file()}


def fuzz_checkpoint(chance: random.Random, folder: Path) -> Call:
    train = training()

    run = train.Run(train.Options(tables=2, players=[2], opponents=["random"], hidden=[2], seed=1), folder, True)
    data = run_files()[train.CHECKPOINT]
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    if chance.random() < 0.5:
        facts = damaged_json(chance, json.loads(header["__metadata__"]["rummy-run/1"])).decode(errors="replace")
        header["__metadata__"]["rummy-run/1"] = facts
        head = json.dumps(header).encode()
        data = len(head).to_bytes(8, "little") + head + data[8 + size :]
    else:
        data = damage(chance, data)
    (folder / train.CHECKPOINT).write_bytes(data)

    def load() -> None:
        run.load_checkpoint()
        assert type(run.imitated) is int and run.seconds >= 0

    return load


READERS: dict[str, Callable[[random.Random, Path], Call]] = {
    "rules": fuzz_rules, "overrides": fuzz_overrides, "yaml": fuzz_yaml, "position": fuzz_position, "record": fuzz_record,
    "agent": fuzz_agent, "texts": fuzz_texts, "command": fuzz_command, "training": fuzz_training, "checkpoint": fuzz_checkpoint,
}  # fmt: skip
SLOW = ("training", "checkpoint")
"""Readers that need torch."""


# Trying


class Hangs(BaseException):
    """A reader took too long."""


@contextmanager
def time_limit() -> Iterator[None]:
    """Raise `Hangs` after `SECONDS`; only in the main thread, and where the system has alarms."""

    def ring(number: int, frame: FrameType | None) -> None:
        raise Hangs

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@dataclass(frozen=True)
class Finding:
    """What a reader did that it may not do."""

    reader: str
    number: int
    what: str
    where: str  # the innermost line of the project

    def __str__(self) -> str:
        return f"{self.reader} --seed {self.number}: {self.what[:300]} ({self.where})"


def attempt(reader: str, number: int) -> tuple[Finding | None, str]:
    """Give a reader the input of a number: a finding, or None, and whether it was accepted."""
    chance = random.Random(f"{reader} {number}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        call = READERS[reader](chance, folder)
        before = _files(folder)
        outcome = "accepted"
        try:
            with time_limit(), warnings.catch_warnings():
                warnings.simplefilter("error")
                call()
        except ValueError as error:
            outcome = "refused"
            message = str(error)
            if len(message) < 8 or "Exceeds the limit" in message[:20]:
                return Finding(reader, number, f"an unclear message: {message!r}", _where(error)), outcome
        except (Exception, Hangs) as error:
            return Finding(reader, number, f"{type(error).__name__}: {error}", _where(error)), outcome
        if _files(folder) != before:
            return Finding(reader, number, f"files written: {sorted(_files(folder).keys() ^ before.keys())}", ""), outcome
        return None, outcome


def _where(error: BaseException) -> str:
    try:
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if str(ROOT) in frame.filename]
    except RecursionError:
        return "?"
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno} {frames[-1].name}" if frames else "?"


def warm_up() -> None:
    """What is not damaged is accepted; and all kernels are compiled before anything is timed."""
    for position in sample_positions():
        use_position(position)
    for game in sample_games():
        replay(game.record())
    for given in sample_rules():
        use_rules(Rules.from_dict(given))
    with tempfile.TemporaryDirectory() as name, redirect_stdout(StringIO()):
        for file, data in agent_files().items():
            (Path(name) / file).write_bytes(data)
        assert cli.main(["evaluate", name, "random", "--games", "2"]) == 0


def main(arguments: list[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(description="Damaged input for every reader.")
    parser.add_argument("--minutes", type=float, default=1.0, help="how long (1)")
    parser.add_argument("--seed", type=lambda text: whole(0, text), default=0, help="the first input's number (0)")
    parser.add_argument("--only", choices=READERS, help="one reader")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ended by a time limit: say what was done as well
    console = Console()
    readers = [options.only] if options.only else list(READERS)
    counts: Counter[str] = Counter()
    findings: dict[tuple[str, str, str], Finding] = {}
    warm_up()
    number, end = options.seed, time.monotonic() + 60 * options.minutes
    said = time.monotonic()
    try:
        while time.monotonic() < end:
            for reader in readers:
                if reader == "checkpoint" and number % 10:
                    continue  # builds a network
                found, outcome = attempt(reader, number)
                counts[f"{reader} {outcome}"] += 1
                if found and (key := (reader, found.where, found.what[:25])) not in findings:
                    findings[key] = found
                    console.print(str(found), highlight=False, markup=False, soft_wrap=True)
            number += 1
            if time.monotonic() - said > 60:
                said = time.monotonic()
                left = (end - said) / 60
                console.print(f"{sum(counts.values()):,} inputs, {left:.0f} minutes left", highlight=False)
    except KeyboardInterrupt:
        console.print(f"stopped; go on with --seed {number}", highlight=False)
    console.print(", ".join(f"{count:,} {name}" for name, count in sorted(counts.items())), highlight=False, soft_wrap=True)
    console.print(f"{len(findings)} findings; inputs {options.seed} to {number - 1}", highlight=False)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
