"""The golden games: played again from their settings and written as JSON, one move a line, so that a change can be read.

    python tests/golden/make.py          # writes what is new or different, and names it
    python tests/golden/make.py --check  # writes nothing; exit status 1 where something differs

Besides the record, each file keeps a SHA-256 over the bytes of the State after the deal and after every move. A changed file
means that the same seed no longer gives the same game: saved agents and published figures depend on that.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]
sys.path.insert(0, str(ROOT))

from rummy_env import Game, Rules, make_player  # noqa: E402
from tests.test_python_mode import basic_digest, digest  # noqa: E402

Record = Mapping[str, Any]
KERNELS = {"kernels.sha256": digest, "kernels_basic.sha256": basic_digest}
"""The digests of what all kernels make of some games: Views, observations and determinized games besides States."""


def ends(end: str) -> Callable[[Record], bool]:
    """Whether a game has a round that ended so."""
    return lambda record: any(one["end"] == end for one in record["rounds"])


round_out = ends("out")


def windows_of(record: Record) -> list[list[str]]:
    """The answers of every buy window of a game: moves from one discard, or the deal, to the next draw or discard."""
    windows = []
    for one in record["rounds"]:
        answers: list[str] = []
        for move in (*one["moves"], "end"):
            if move.endswith((" buy", " pass")):
                answers.append(move)
            elif not move.startswith("*"):
                windows.append(answers)
                answers = []
    return windows


def three_buys(record: Record) -> bool:
    """Whether three cards were bought in one window."""
    return any(sum(answer.endswith("buy") for answer in answers) >= 3 for answers in windows_of(record))


def moves_of(record: Record) -> list[str]:
    """All moves of a game, without their seats, and the lines before those that needed a new stock."""
    return [move.split(" ", 1)[1] for one in record["rounds"] for move in one["moves"]]


def new_stock(record: Record) -> bool:
    """Whether the discards were made a new stock."""
    return any(move.startswith("restock ") for move in moves_of(record))


def turned_over(record: Record) -> bool:
    """Whether ten cards and more were drawn after a pile was turned over, in a game that ended at its target."""
    ended = "target" in record["rules"]["game_end"] and max(record["scores"]) >= record["rules"]["game_end"]["target"]
    for one in record["rounds"]:
        lines = [line.split(" ", 1)[1] for line in one["moves"]]
        first = next((at for at, line in enumerate(lines) if line.startswith("restock ")), len(lines))
        if ended and lines[first:].count("stock") >= 10:
            return True
    return False


def melds_in_a_turn(record: Record) -> bool:
    """Whether two melds were laid in one turn, and a new stock was shuffled."""
    moves = moves_of(record)
    return new_stock(record) and any(one.startswith("lay ") and two.startswith("lay ") for one, two in pairwise(moves))


def house_rules(record: Record) -> bool:
    """Whether a card was bought, a wild laid, a run laid round the corner, and a pile turned over."""
    moves = moves_of(record)
    corner = any(move.startswith(("lay RQ", "lay RK")) for move in moves)
    return corner and "buy" in moves and new_stock(record) and any("**" in move and move.startswith("lay") for move in moves)


@dataclass(frozen=True)
class Golden:
    """One game: scripted players under a rule set."""

    name: str
    about: str
    players: Sequence[str]
    seed: int
    rules: str = "international"
    overrides: Mapping[str, Any] = field(default_factory=dict)
    rounds: Sequence[int] | None = None
    shows: Callable[[Record], bool] = round_out  # what the game is here for

    def play(self) -> Game:
        """The game, played to its end."""
        rules = str(ROOT / self.rules) if self.rules.endswith(".yaml") else self.rules
        game = Game(rules, len(self.players), self.seed, self.overrides, self.rounds, names=self.players)
        players = [make_player(name, game.rules, self.seed + seat) for seat, name in enumerate(self.players)]
        while game.seat is not None:
            game.play(players[game.seat].act(game.view(game.seat), game.mask()))
        return game

    def text(self) -> str:
        """The content of the file."""
        record = self.play().record()
        assert self.shows(record), f"{self.name} does not show what it is here for"
        whole = {"about": self.about, "states": states_digest(record), "record": record}
        return json.dumps(whole, indent=1) + "\n"

    @property
    def path(self) -> Path:
        return FOLDER / f"{self.name}.json"


def states_digest(record: Record) -> str:
    """SHA-256 over the bytes of all States of a game that is dealt from its seed and given the moves of its record."""
    first = record["rounds"][0]
    game = Game(
        Rules.from_dict(record["rules"]),
        len(record["players"]),
        record["seed"],
        dealer=first["dealer"],
        names=record["players"],
    )
    whole = hashlib.sha256(game.state.tobytes())
    for one in record["rounds"]:
        for move in one["moves"]:
            if not move.startswith("*"):
                game.play(move.split(" ", 1)[1])
                whole.update(game.state.tobytes())
    return whole.hexdigest()


GAMES = (
    Golden("two_players", "all seven rounds of two greedy players", ["greedy", "greedy"], 1),
    Golden(
        "three_players",
        "rounds of two and of three melds, three kinds of player",
        ["greedy", "random", "dumper"],
        2,
        rounds=[2, 5],
    ),
    Golden("four_players", "all seven rounds", ["greedy", "greedy", "random", "greedy"], 3),
    Golden(
        "six_players", "three runs with six players; new stocks are shuffled", ["greedy"] * 6, 4, rounds=[7], shows=new_stock
    ),
    Golden(
        "three_buys", "three buys in one window", ["random"] * 5, 1, overrides={"max_turns": 12}, rounds=[4], shows=three_buys
    ),
    Golden(
        "blocked",
        "the stock is never formed again, and runs out",
        ["dumper"] * 4,
        6,
        overrides={"stock_out": "end"},
        rounds=[1],
        shows=ends("blocked"),
    ),
    Golden(
        "turn_limit",
        "nobody lays down, and fifty turns are over",
        ["dumper", "dumper"],
        7,
        rounds=[3],
        shows=ends("turn_limit"),
    ),
    Golden(
        "two_buys", "house rules: two buys, a final discard", ["greedy"] * 3, 8, "configs/house_two_buys.yaml", rounds=[1, 2]
    ),
    Golden(
        "strict_melds",
        "house rules: few wilds, distinct groups, separate runs",
        ["greedy"] * 4,
        9,
        "configs/house_strict_melds.yaml",
        rounds=[1, 3, 6],
    ),
    Golden(
        "basic",
        "Basic Rummy up to its target, with a stock turned over",
        ["greedy", "random", "dumper"],
        50,
        "basic",
        shows=turned_over,
    ),
    Golden(
        "basic_modern",
        "its modern form: two melds in a turn, a shuffled stock",
        ["greedy", "greedy", "random", "greedy"],
        11,
        "basic_modern",
        overrides={"game_end": {"deals": 4}},
        shows=melds_in_a_turn,
    ),
    Golden(
        "block",
        "its form without a second stock: a blocked deal, penalties",
        ["greedy", "dumper"],
        30,
        "block",
        shows=ends("blocked"),
    ),
    Golden(
        "basic_house",
        "house rules of Basic: wild 2s and jokers, runs round the corner, buying, going rummy",
        ["greedy", "random", "greedy", "random", "greedy"],
        15,
        "basic",
        overrides={
            "jokers": 2,
            "wild_rank": 2,
            "ace": "corner",
            "max_buys": None,
            "going_rummy": "plus_10",
            "game_end": {"deals": 3},
        },
        shows=house_rules,
    ),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(description="Play the golden games again and write those that differ.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit status 1 where something differs")
    options = parser.parse_args(arguments)
    different = 0
    digests = ((FOLDER / name, make() + "\n") for name, make in KERNELS.items())
    for path, text in (*digests, *((golden.path, golden.text()) for golden in GAMES)):
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        different += 1
        print(path.name, "differs" if path.exists() else "is new")
        if not options.check:
            beside = path.with_suffix(".tmp")
            beside.write_text(text, encoding="utf-8")
            os.replace(beside, path)
    print(f"{len(GAMES)} games and {len(KERNELS)} digests, {different} of them new or different")
    return int(options.check and different > 0)


if __name__ == "__main__":
    sys.exit(main())
