"""The engine and the reference side by side: one game, move by move, everything compared after each.

Both get the same deck and the same new stocks; the moves are legal ones that a `Style` picks. `mixed_setting` makes a whole
game of one number: rules with every switch of International or of Basic drawn at random, players, rounds and style.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from rummy_env.cards import KIND_TEXTS, RANKS, SUITS
from rummy_env.engine.apply import NO_ORDER, form_stock
from rummy_env.engine.deal import round_deck
from rummy_env.engine.state import MAX_CARDS
from rummy_env.engine.tables import compile_tables
from rummy_env.game import Game, check_players
from rummy_env.position import rules_fields, table_fields
from rummy_env.rules import resolve_rules
from tests.reference import ReferenceTable, next_round, resolve
from tests.reference.cards import places_of
from tests.reference.ruleset import free_melds

COMPARED = (
    "round", "dealer", "phase", "to_act", "turn", "discarder", "passed", "hands", "stock", "discards", "melds", "down",
    "laid_this_turn", "taken", "buys", "turns", "scores", "reshuffles", "acted", "acted_this_turn",
)  # fmt: skip
"""The fields of a position that both sides must agree on, besides the legal moves."""

MOST_MOVES = 3000
"""A game that is longer is cut off there, and counted as cut."""

Values = dict[str, Any]


@dataclass
class Difference:
    """Where the two part: a position, the move made there (None: the deal, or the position itself) and what came of it."""

    seed: int
    rules: str
    players: int
    overrides: Values
    reference_overrides: Values
    rounds: list[int]  # none where melds are free
    style: str
    played: list[str]  # every move of the round so far, with its seat
    position: Values | None  # before the move; the rules in it are the engine's
    move: str | None
    restock: list[str] | None  # the new stock that the move formed, in drawing order
    engine: Values  # the fields that differ
    reference: Values

    def save(self, path: Path) -> None:
        """Write it as JSON."""
        path.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")

    def __str__(self) -> str:
        lines = [
            f"{self.rules}, seed {self.seed}, {self.players} players, rounds {self.rounds}, style {self.style}, "
            f"move {len(self.played)} of the round",
            f"overrides {json.dumps(self.overrides)}",
        ]
        if self.reference_overrides != self.overrides:
            lines.append(f"the reference has {json.dumps(self.reference_overrides)}")
        lines += [f"position {json.dumps(self.position)}", f"move {self.move}", f"restock {self.restock}"]
        for name in self.engine:
            ours, theirs = self.engine[name], self.reference[name]
            if name == "legal":
                ours, theirs = sorted({*ours} - {*theirs}), sorted({*theirs} - {*ours})
                lines.append(f"legal only in the engine {ours}, only in the reference {theirs}")
            else:
                lines.append(f"{name}: engine {ours!r}, reference {theirs!r}")
        return "\n".join(lines)


@dataclass(frozen=True)
class Style:
    """How moves are picked: the chance of each kind where it is legal. A kind without a chance of its own is not asked
    for; what is left is drawn by kind, then by move.

    `tidy` is the chance to discard what fits the rest of the hand least, and to take or buy only what fits.
    """

    name: str
    lay: float = 0.0
    off: float = 0.0
    buy: float = 0.0
    take: float = 0.0
    tidy: float = 0.0

    def __call__(self, table: ReferenceTable, legal: Sequence[str], chance: random.Random) -> str:
        """One of the legal moves."""
        kinds: dict[str, list[str]] = {}
        for move in legal:
            kinds.setdefault(move.split()[0], []).append(move)
        tidy = chance.random() < self.tidy
        for kind in ("lay", "off", "buy", "take"):
            if kind not in kinds or getattr(self, kind) == 0:
                continue
            wanted = kind in ("lay", "off") or not tidy or _fit(table, table.discards[-1]) > 1
            if wanted and chance.random() < getattr(self, kind):
                return chance.choice(kinds[kind])
            if len(kinds) > 1:
                del kinds[kind]  # declined
        if tidy and "discard" in kinds:
            return min(kinds["discard"], key=lambda move: (_fit(table, move[8:]), chance.random()))
        return chance.choice(kinds[chance.choice(sorted(kinds))])


def _fit(table: ReferenceTable, card: str) -> int:
    """How many cards of the hand to act go with a card, roughly: of its rank, or near it in its suit."""
    if card == "**":
        return 99
    groups, runs = (1, 1) if free_melds(table.rules) else table.rules["contracts"][table.round - 1]
    places = places_of(table.rules)
    fit = 0
    for other in table.hands[table.to_act]:
        if groups and other[0] == card[0]:
            fit += 1
        if runs and other[1] == card[1] and other != card:
            fit += abs(places.index(other[0]) - places.index(card[0])) < table.rules["run_length"]
    return fit


STYLES = (
    Style("random"),
    Style("eager", lay=1.0, off=0.95, buy=0.3, take=0.5, tidy=0.9),
    Style("buyer", lay=0.8, off=0.7, buy=0.9, take=0.3, tidy=0.6),
    Style("slow", lay=0.3, off=0.4, buy=0.5, take=0.6, tidy=0.8),
)


@dataclass
class Tally:
    """What was visited: counts by name, among them the ends of rounds (``end out``) and the contracts laid down."""

    counts: Counter[str] = field(default_factory=Counter)

    def summary(self, seconds: float) -> str:
        """One line."""
        count = self.counts
        ends = ", ".join(f"{name[4:]} {count[name]}" for name in sorted(count) if name.startswith("end "))
        names = ("games", "rounds", "moves", "lay-downs", "lay-offs", "windows", "buys", "new stocks", "declined")
        return f"{', '.join(f'{count[name]} {name}' for name in names)}; ends: {ends or 'none'}; {seconds:.0f} s"


class _Disagree(Exception):
    """The two sides differ: what each has."""

    def __init__(self, engine: Values, reference: Values) -> None:
        super().__init__()
        self.engine, self.reference = engine, reference


def _error(error: Exception) -> Values:
    return {"error": f"{type(error).__name__}: {error}"}


def play_lockstep(
    seed: int,
    overrides: Mapping[str, Any],
    players: int,
    chooser: Callable[[ReferenceTable, Sequence[str], random.Random], str] = STYLES[1],
    rounds: Sequence[int] = (1,),
    reference_overrides: Mapping[str, Any] | None = None,
    tally: Tally | None = None,
    rules: str = "international",
) -> Difference | None:
    """Play one game on both sides and return the first difference, None where there is none.

    Args:
        seed: of the deal and of the moves.
        overrides: what differs from the rules; the engine has to accept it.
        players: how many sit at the table.
        chooser: picks a move of those that are legal.
        rounds: the rounds played, in order; without effect where melds are free.
        reference_overrides: other overrides for the reference, to see a difference found.
        tally: counts what was visited.
        rules: the preset that the overrides change.
    """
    return _Lockstep(seed, rules, overrides, players, chooser, rounds, reference_overrides, tally or Tally()).play()


class _Lockstep:
    """One game on both sides."""

    def __init__(
        self,
        seed: int,
        rules: str,
        overrides: Mapping[str, Any],
        players: int,
        chooser: Callable[[ReferenceTable, Sequence[str], random.Random], str],
        rounds: Sequence[int],
        reference_overrides: Mapping[str, Any] | None,
        tally: Tally,
    ) -> None:
        self.seed, self.preset, self.players, self.chooser = seed, rules, players, chooser
        self.overrides = dict(overrides)
        self.reference_overrides = self.overrides if reference_overrides is None else dict(reference_overrides)
        self.count = tally.counts
        self.chance = random.Random(f"moves {seed}")
        self.played: list[str] = []
        self.position: Values | None = None
        self.move: str | None = None
        self.restock: list[str] | None = None
        self.rounds = [] if free_melds(resolve(rules, self.overrides)) else list(rounds)
        self.game = Game(rules, players, seed, overrides, self.rounds or None)
        self.rules = rules_fields(self.game.rules)  # once a game: the rest of a position is compared after every move
        self.table: ReferenceTable

    def play(self) -> Difference | None:
        """The whole game, or up to the first difference."""
        try:
            self._play()
        except _Disagree as found:
            return Difference(
                self.seed, self.preset, self.players, self.overrides, self.reference_overrides, self.rounds,
                getattr(self.chooser, "name", "other"), self.played, self.position, self.move, self.restock,
                found.engine, found.reference,
            )  # fmt: skip
        return None

    def _play(self) -> None:
        self.count["games"] += 1
        self.position = self.game.position()
        self._deal(self.rounds[0] if self.rounds else 1, int(self.game.state.dealer), [0] * self.players)
        legal = self._compare()
        for _ in range(MOST_MOVES):
            if self.game.over:
                return
            self.move = self.chooser(self.table, legal, self.chance)
            self._make_move(self.move)
            legal = self._compare()
        self.count["end cut"] += 1

    def _deal(self, round_number: int, dealer: int, scores: list[int]) -> None:
        """Give the reference the deck that the engine has dealt."""
        deck = np.zeros(MAX_CARDS, np.int8)
        size = round_deck(compile_tables(self.game.rules), self.game.state, deck)
        cards = [KIND_TEXTS[kind] for kind in deck[:size]]
        self.played = []
        try:
            rules = resolve(self.preset, self.reference_overrides)
            rounds = self.rounds or None
            self.table = ReferenceTable.deal(rules, self.players, round_number, dealer, cards, scores, rounds)
        except ValueError as error:
            raise _Disagree({"error": None}, _error(error)) from error

    def _make_move(self, move: str) -> None:
        """The move on both sides. The end of a round is compared here, and the reference then deals the next."""
        game, table = self.game, self.table
        self.restock = None
        if table.needs_restock(move) is not None:
            again = game.clone()
            form_stock(compile_tables(game.rules), again.state, NO_ORDER)
            size = int(again.state.num_stock)
            self.restock = [KIND_TEXTS[kind] for kind in again.state.stock[:size][::-1]]
        self._count_move(move)
        rounds_done = int(game.state["rounds_done"])
        try:
            game.play(move)
        except Exception as error:
            raise _Disagree(_error(error), {"error": None}) from error
        self.played.append(f"{table.to_act} {move}")
        try:
            table.play(move, self.restock)
        except Exception as error:
            raise _Disagree({"error": None}, _error(error)) from error
        ended = int(game.state["rounds_done"]) > rounds_done
        if ended or table.end is not None:
            self._end_round(ended)

    def _end_round(self, ended: bool) -> None:
        game, table = self.game, self.table
        last = game.last_round
        ours: Values = {"end": None, "points": None}
        if ended and last is not None:
            ours = {"end": last.end, "points": list(last.points)}
        theirs: Values = {"end": table.end, "points": table.points}
        _check_equal(ours, theirs)
        self.count["rounds"] += 1
        self.count[f"end {table.end}"] += 1
        self.count["out in one turn"] += table.end == "out" and table.to_act not in table.acted
        assert table.points is not None
        scores = [score + points for score, points in zip(table.scores, table.points, strict=True)]
        _check_equal({"scores": list(game.scores)}, {"scores": scores})
        place = int(game.state["rounds_done"]) - 1
        following = next_round(table.rules, place, table.dealer, self.players, scores)
        _check_equal({"over": game.over}, {"over": following is None})
        if following is not None:
            self._deal(*following, scores)

    def _compare(self) -> list[str]:
        """Compare everything; the legal moves, of which there is one at least while the game lasts."""
        game, table = self.game, self.table
        legal = sorted(move.text for move in game.moves())
        if game.over:
            _check_equal({"legal": legal, "seat": game.seat}, {"legal": sorted(table.legal()), "seat": None})
            return legal
        ours, theirs = {**self.rules, **table_fields(game.rules, game.state)}, table.fields()
        theirs["passed"] = sorted(theirs["passed"])  # the order in which they passed is the seats' own
        _check_equal(
            {"legal": legal, **{name: ours[name] for name in COMPARED}},
            {"legal": sorted(table.legal()), **{name: theirs[name] for name in COMPARED}},
        )
        if not legal:
            raise _Disagree({"error": "no legal move"}, {"error": "no legal move"})
        self.position = ours  # before the next move
        if table.phase == "window" and not table.passed:
            self.count["windows"] += 1
        if self.chance.random() < 0.01:
            self._reopen(ours, legal)
        return legal

    def _reopen(self, position: Values, legal: list[str]) -> None:
        """The position as JSON sets up the same table again, on both sides."""
        text = json.dumps(position)
        _check_equal({"position": self.game.position()}, {"position": position})
        before, self.position, self.move = (self.position, self.move), position, None
        try:
            again = Game.from_position(json.loads(text))
            ours: Values = {**again.position(), "legal": sorted(move.text for move in again.moves())}
        except ValueError as error:
            raise _Disagree({"reopened": _error(error)}, {"reopened": None}) from error
        _check_equal(ours, {**position, "legal": legal})
        if self.reference_overrides == self.overrides:
            try:
                table = ReferenceTable.from_position(json.loads(text))
            except ValueError as error:
                raise _Disagree({"reopened": None}, {"reopened": _error(error)}) from error
            theirs = {**table.position(), "legal": sorted(table.legal())}
            expected = {name: position[name] for name in COMPARED}  # the rules may be written in another way
            _check_equal({**expected, "legal": legal}, theirs)
        self.position, self.move = before
        self.count["reopened"] += 1

    def _count_move(self, move: str) -> None:
        word = move.split()[0]
        self.count["moves"] += 1
        self.count["buys"] += word == "buy"
        self.count["lay-offs"] += word == "off"
        if word == "lay" and self.table.phase != "laying":
            self.count["lay-downs"] += 1
            if not free_melds(self.table.rules):
                self.count[f"contract {self.table.rules['contracts'][self.table.round - 1]}"] += 1
        self.count["new stocks"] += self.restock is not None
        self.count["declined"] += word == "stock" and not self.table.stock and self.restock is None


def _check_equal(ours: Values, theirs: Values) -> None:
    """Raise with the fields that differ."""
    names = [name for name in ours if ours[name] != theirs[name]]
    if names:
        raise _Disagree({name: ours[name] for name in names}, {name: theirs[name] for name in names})


# A game of one number


@dataclass(frozen=True)
class Setting:
    """A game to play in lockstep: what `mixed_setting` makes of a number."""

    seed: int
    rules: str
    overrides: Values
    players: int
    rounds: tuple[int, ...]
    style: Style

    def play(self, tally: Tally | None = None) -> Difference | None:
        """Play it."""
        return play_lockstep(self.seed, self.overrides, self.players, self.style, self.rounds, tally=tally, rules=self.rules)


RULES = ("international", "basic")
"""The games whose switches are mixed."""


def mixed_setting(seed: int, game: str = "international") -> Setting:
    """The game of a number: equal numbers give equal games. Rules that `Rules` refuses are drawn again."""
    chance = random.Random(f"rules {seed}" if game == "international" else f"{game} {seed}")
    while True:
        overrides = _draw_overrides(chance) if game == "international" else _draw_basic(chance)
        players = chance.randint(2, 6)
        overrides["players_max"] = players
        if players > 2 and chance.random() < 0.5:
            overrides["players_min"] = players
        count = len(overrides["contracts"]) if "contracts" in overrides else 7
        many = chance.choice([2, 3]) if chance.random() < 0.15 else 1
        rounds = tuple(chance.randint(1, count) for _ in range(many))
        style = chance.choices(STYLES, [2, 3, 3, 2])[0]
        try:
            rules = resolve_rules(game, overrides)
            if rules.contracts is None:
                rounds = ()
            else:
                rules = rules.replace(rounds=list(rounds))
            check_players(rules, players)
            compile_tables(rules)
        except ValueError:
            continue
        return Setting(seed, game, overrides, players, rounds, style)


def _draw_overrides(chance: random.Random) -> Values:
    """Overrides with any of the switches; a few games change few of them."""
    often = chance.choice([0.15, 0.4, 0.7])

    def changed() -> bool:
        return chance.random() < often

    found: Values = {}
    choices: dict[str, list[Any]] = {
        "max_buys": [0, 1, 2, None], "buy_when_down": [False], "turn_player_may_buy": [True], "uncovered_live": [False],
        "buy_first_upcard": [False], "buy_extra": [0, 2], "min_naturals": [0, 2], "max_wilds": [0, 1, 2],
        "distinct_groups": [True], "separate_runs": [True], "same_turn_layoff": [True], "layoff_own_only": [True],
        "redraw_ban": [False], "final_discard": [True], "stock_out": ["end"], "max_recycles": [0, 1, 2],
        "jokers": list(range(1, 9)), "points": ["home", {"3": 0, "A": 20}], "wild_rank": [None],
        "deal": ["pagat", "plus_one", "exact", "flat_eleven"], "group_max": [3, 4, 5],
    }  # fmt: skip
    for name, values in choices.items():
        if changed():
            found[name] = chance.choice(values)
    if found.get("stock_out") == "end":
        found.pop("max_recycles", None)
    if chance.random() < 0.3:
        found["group_size"] = chance.randint(2, 4)
    if chance.random() < 0.4:
        found["run_length"] = chance.randint(2, 4)
    if chance.random() < 0.2:
        found["decks"] = 1
    if chance.random() < 0.25:
        found["ranks"] = chance.sample(list(RANKS), chance.randint(4, 12))
    if chance.random() < 0.25:
        found["suits"] = chance.sample(list(SUITS), chance.randint(1, 3))
    short = not found.keys().isdisjoint(("decks", "ranks", "suits"))  # the stock may run out: give it time to
    most_turns = chance.choices([8, 30, 50], [2, 4, 4] if short else [5, 3, 2])[0]
    if most_turns < 50:
        found["max_turns"] = chance.randint(1, most_turns)
    if chance.random() < 0.5:
        found.update(_draw_rounds(chance, found))
    return found


def _draw_rounds(chance: random.Random, overrides: Values) -> Values:
    """Contracts of one's own, of 1 to 3 melds (seldom 4), each with about the cards that it takes."""
    contracts, deal = [], []
    for _ in range(chance.randint(1, 3)):
        melds = chance.choices([1, 2, 3, 4], [4, 4, 3, 1])[0]
        groups = chance.randint(0, melds)
        contracts.append([groups, melds - groups])
        cards = groups * overrides.get("group_size", 3) + (melds - groups) * overrides.get("run_length", 4)
        deal.append(max(1, cards + chance.randint(-2, 4)))
    return {"contracts": contracts, "deal": deal}


def _draw_basic(chance: random.Random) -> Values:
    """Overrides with any of Basic's switches, and now and then with contracts. A game is at most three deals, or short."""
    often = chance.choice([0.1, 0.3, 0.6])

    def changed() -> bool:
        return chance.random() < often

    found: Values = {}
    choices: dict[str, list[Any]] = {
        "melds_per_turn": [2, None], "layoff_needs_own_meld": [True], "layoff_own_only": [True],
        "going_rummy": ["double", "plus_10"], "ace": ["high", "high_or_low", "corner", "corner"],
        "points": ["home", {"A": 11}, {"3": 0, "K": -5, "2": 20}], "redraw_ban": [False],
        "stock_out": ["shuffle", "shuffle", "end"], "max_recycles": [0, 1, 2, 3],
        "blocked_scoring": ["all_penalty", "lowest_takes_sum"], "scoring": ["losers_penalty"], "final_discard": [True],
        "jokers": list(range(1, 9)), "wild_rank": [2], "min_naturals": [0, 2], "max_wilds": [0, 1, 2],
        "group_max": [3, 4, 5], "decks": [2], "run_length": [2, 4, 4], "group_size": [2, 4],
        "max_buys": [1, 2, None, None], "same_turn_layoff": [True], "distinct_groups": [True], "separate_runs": [True],
        "max_deals": [1, 2, 3],
    }  # fmt: skip
    for name, values in choices.items():
        if changed():
            found[name] = chance.choice(values)
    if "max_buys" in found:
        buying: dict[str, Any] = {
            "buy_when_down": False, "turn_player_may_buy": True, "uncovered_live": False, "buy_first_upcard": False,
            "buy_extra": chance.choice([0, 2]),
        }  # fmt: skip
        found.update({name: value for name, value in buying.items() if chance.random() < 0.4})
    if found.get("stock_out") == "end":
        found.pop("max_recycles", None)
    if chance.random() < 0.5:
        most = chance.choice([4, 7, 13])
        found["deal"] = {str(players): chance.randint(1, most) for players in range(2, 7)}
    around = found.get("ace") in ("corner", "high_or_low")
    if around and chance.random() < 0.4:  # so few ranks that runs come to their ends
        found["ranks"] = ["A", *chance.sample(list(RANKS[1:]), chance.randint(2, 5))]
    elif chance.random() < 0.25:
        found["ranks"] = chance.sample(list(RANKS), chance.randint(3, 12))
    if chance.random() < 0.25:
        found["suits"] = chance.sample(list(SUITS), chance.randint(1, 3))
    most_turns = chance.choices([6, 20, 50], [1, 2, 7])[0]
    if most_turns < 50:
        found["max_turns"] = chance.randint(1, most_turns)
    if chance.random() < 0.2:
        rounds = _draw_rounds(chance, {"run_length": 3, **found})
        if chance.random() < 0.4:
            del rounds["deal"]  # by players, in every round alike
        found.update(rounds, game_end=None, max_deals=None)
    else:
        found["game_end"] = {"deals": chance.randint(1, 3)} if chance.random() < 0.5 else {"target": chance.randint(1, 60)}
        if "target" in found["game_end"]:
            found.setdefault("max_deals", 6)
    return found
